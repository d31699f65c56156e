"""Animalia in words: the actions, and the table as one player sees it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.outcome import MEMORY_PERFECT
from card_envs.games.animalia.cards import (
    ANIMAL_NAMES,
    FAMILY_NAMES,
    MEMBER_NAMES,
    NUM_CARDS,
    NUM_FAMILIES,
    NUM_MEMBERS,
    OWL,
    count,
    elegance_of,
)
from card_envs.games.animalia.knowledge import can_be_at, is_hidden
from card_envs.games.animalia.state import (
    BRING_IN,
    CARD,
    EXCELLENCE,
    GIVE,
    LOT,
    MAX_LOT,
    NAME,
    NO_FAMILY,
    NOBODY,
    NUM_ACTIONS,
    OWL_FAMILY,
    PASS,
    RECEIVE,
    RECEIVER,
    STEAL,
    TAKE,
    TAKE_OUT,
    collections_each,
    first_collection,
    group_size,
    groups_of,
    next_dealer,
    num_collections,
    owner_of,
    points_of,
    receiver,
    room_in,
    room_of,
)
from card_envs.render import WIDTH, cell, counted, name_of, seats, standing, table

_STARS = "(champion +3, elegant +2, lousy -1)"

# ---------------------------------------------------------------------------------------------
# Actions
# ---------------------------------------------------------------------------------------------


def action_name(action: int) -> str:
    """An action in words; ValueError if there is none of that number."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action == PASS:
        return "pass"
    if action < CARD:
        return f"take the lot into collection {action - TAKE + 1}"
    if action < RECEIVER:
        return f"card: {_card(action - CARD)}"
    if action < NAME:
        return f"give it to collection {action - RECEIVER + 1} to the left"
    return f"the owl counts as: {FAMILY_NAMES[action - NAME]}"


def public_action_name(states: NDArray[np.void], i: int, action: int) -> str:
    """What the player to move does, as the others learn it: AN-17, which bonus card is brought in
    only when it has replaced another card."""
    s = states[i]
    phase = s["phase"]
    if phase == LOT:
        if action == PASS:
            return f"pass on {_list(s['lot'])}"
        where = f" into collection {action - TAKE + 1}" if collections_each(s) > 1 else ""
        return f"take {_list(s['lot'])}{where}"
    if phase == BRING_IN:
        return "exchange no more cards" if action == PASS else "bring in a bonus card"
    if phase == TAKE_OUT:
        return f"take out the {_card(action - CARD)} for the {_card(s['chosen'])}"
    if phase == OWL_FAMILY:
        return action_name(action)
    if phase == RECEIVE:
        place = receiver(s, int(s["current_player"]), action - RECEIVER)
        return f"to {_collection(s, place)}"
    if action == PASS:
        return "steal nothing" if phase == STEAL else "give nothing away"
    if phase == GIVE:
        return f"give away the {_card(action - CARD)}"
    (place,) = (p for p in range(num_collections(s)) if s["collection"][p] >> action - CARD & 1)
    return f"steal the {_card(action - CARD)} of {_collection(s, place)}"


def _card(card: int) -> str:
    """E.g. ``champion cat``."""
    if card == OWL:
        return "owl"
    family, member = divmod(int(card), NUM_MEMBERS)
    return f"{MEMBER_NAMES[member]} {ANIMAL_NAMES[family]}"


def _each(cards: int) -> Iterator[int]:
    """The cards of a set."""
    return (card for card in range(NUM_CARDS) if cards >> card & 1)


def _list(cards: int) -> str:
    """A set of cards one by one, e.g. ``champion cat, owl``."""
    return ", ".join(map(_card, _each(cards)))


def _families(cards: int) -> list[int]:
    """The cards of each family in a set; last the owl."""
    family = (1 << NUM_MEMBERS) - 1
    return [int(cards) & family << NUM_MEMBERS * k for k in range(NUM_FAMILIES + 1)]


def _members(cards: int) -> str:
    """The members in a set of cards of one family, e.g. ``champion, thief``; none for the owl."""
    return ", ".join(MEMBER_NAMES[card % NUM_MEMBERS] for card in _each(cards) if card != OWL)


def _by_family(cards: int) -> str:
    """A set of cards by families, e.g. ``2 cats (champion, thief), 1 owl``."""
    *families, owl = _families(cards)
    texts = [
        f"{counted(count(own), animal)} ({_members(own)})"
        for animal, own in zip(ANIMAL_NAMES, families, strict=True)
        if own
    ]
    return ", ".join([*texts, "1 owl"] if owl else texts)


def _collection(s: Any, place: int) -> str:
    """A collection of another player."""
    number, owner = _number(s, place), f"player {owner_of(s, place)}"
    return f"collection {number} of {owner}" if number else owner


def _number(s: Any, place: int) -> str:
    """AN-18: the number of a collection among its owner's, if he has two."""
    if collections_each(s) == 1:
        return ""
    return str(1 + place - first_collection(s, owner_of(s, place)))


# ---------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------


def describe(states: NDArray[np.void], i: int, player: int) -> str:
    """The table of ``states[i]`` in words: all that the player can know, and nothing else.

    With ``memory="none"`` it is what he sees at this moment, and what his spies saw in the draw
    pile. No line passes 100 characters.
    """
    s = states[i]
    parts = [_course(s), _players(s, player), _collections(s, player), _elsewhere(s, player)]
    if s["season"] > 1 or s["terminated"]:
        parts.append(_last_season(s, player))
    if s["terminated"] or s["truncated"]:
        parts.append(standing(s, player, _totals(s), wins="the highest total"))
    else:
        parts.append(_decision(s, player))
    return "\n\n".join(parts)


def _filled(lines: list[str]) -> str:
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines)


def _course(s: Any) -> str:
    size = group_size(s)
    if s["terminated"]:
        text = f"Animalia, after {counted(s['season'], 'season')}."
    else:
        phase = "collections" if s["phase"] < BRING_IN else "medals"
        text = f"Animalia, season {s['season']} of {s['seasons']}, {phase}."
    return f"{text} At the end each {size} medals of a family bring {EXCELLENCE} points more."


def _players(s: Any, player: int) -> str:
    """The players with their medals, if they are remembered, and their bonus cards."""

    def cells(owner: int) -> list[str]:
        medals = ["?"] * (NUM_FAMILIES + 1)
        if owner == player or s["memory"] == MEMORY_PERFECT:
            medals = [*map(cell, s["medals"][owner]), str(points_of(s, owner))]
        return [*medals, cell(count(s["bonus"][owner])), cell(_spied(s, owner))]

    head = [*FAMILY_NAMES, "points", "bonus", "spied"]
    text = seats(s, player, head, cells, align=">" * len(head))
    signs = [] if s["terminated"] or s["truncated"] else ["> to move"]
    signs += [". none", "cats to parrots: medals, points: with excellence", "bonus: bonus cards"]
    signs.append("spied: cards on top of the draw pile that his spies saw")
    if s["memory"] != MEMORY_PERFECT:
        signs.append("? not remembered")
    return f"{text}\n\n" + _filled([f"({', '.join(signs)})"])


def _spied(s: Any, player: int) -> int:
    """How many cards on top of the draw pile the player's spies saw."""
    return int((s["seen"][s["drawn"] : s["deck_size"]] >> player & 1).sum())


def _collections(s: Any, player: int) -> str:
    rows = [["Collections:", "cards", "elegance", _STARS]]
    first = first_collection(s, player)
    for k in range(num_collections(s)):
        place = (first + k) % num_collections(s)
        cards = s["collection"][place]
        name = name_of(owner_of(s, place), player)
        if number := _number(s, place):
            name += f", collection {number}"
        size = cell(count(cards))
        rows.append([f"  {name}", size, str(elegance_of(cards)), _by_family(cards)])
    return table(rows, align="<>><")


# ---------------------------------------------------------------------------------------------
# Cards that do not lie open
# ---------------------------------------------------------------------------------------------


def _elsewhere(s: Any, player: int) -> str:
    """The draw pile, bonus cards and replaced cards, as far as the player knows them."""
    lines = [f"The draw pile: {counted(s['deck_size'] - s['drawn'], 'card')}."]
    if spied := _spied(s, player):
        seen = map(_card, s["deck"][s["drawn"] : s["drawn"] + spied])
        lines[0] += f" Your spies saw the next: {', '.join(seen)}."
    if s["bonus"][player]:
        lines.append(f"Your bonus cards: {_list(s['bonus'][player])}.")
    unseen = _unseen(s, player)
    if s["memory"] == MEMORY_PERFECT:
        lines += _kept_bonus_cards(s, player, unseen)
        lines += _seen_bonus_cards(s, player)
    if s["replaced"]:
        lines.append(f"Replaced by bonus cards: {_list(s['replaced'])}.")
    if unseen:
        rows = [
            [f"  {name}", str(count(cards)), _members(cards)]
            for name, cards in zip((*FAMILY_NAMES, "owl"), _families(unseen), strict=True)
            if cards
        ]
        return f"{_filled(lines)}\nNot seen:\n{table(rows, align='<><')}"
    return _filled(lines)


def _unseen(s: Any, player: int) -> int:
    """The set of cards that the player has not located: in the draw pile, or bonus cards."""
    cards = 0
    for place in range(NUM_CARDS):
        is_forgotten = s["memory"] != MEMORY_PERFECT and s["holder"][place] not in (NOBODY, player)
        if is_forgotten or is_hidden(s, player, place):
            cards |= 1 << int(s["deck"][place])
    return cards


def _kept_bonus_cards(s: Any, player: int, unseen: int) -> list[str]:
    """The bonus cards of others from earlier seasons, and what those can be that the player has not
    seen."""
    lines = []
    for seat in range(1, s["num_players"]):
        holder = (player + seat) % s["num_players"]
        for season in range(1, s["season"]):
            places = np.flatnonzero((s["holder"] == holder) & (s["since"] == season))
            if not len(places):
                continue
            kept = counted(len(places), "bonus card")
            line = f"Player {holder} has kept {kept} since season {season}"
            if any(is_hidden(s, player, place) for place in places):
                able = sum(1 << c for c in _each(unseen) if can_be_at(s, player, c, season))
                line += f", of these that you have not seen: {_by_family(able)}"
            lines.append(f"{line}.")
    return lines


def _seen_bonus_cards(s: Any, player: int) -> list[str]:
    """Whose spies saw which bonus cards of others; the cards where the player knows them."""
    lines = []
    n = int(s["num_players"])
    for k in range(n * n):
        spy, holder = ((player + seat) % n for seat in divmod(k, n))
        places = np.flatnonzero((s["holder"] == holder) & (s["seen"] >> spy & 1 == 1))
        if spy == holder or not len(places):
            continue
        cards = sorted(s["deck"][places].tolist())
        spies = "Your spies" if spy == player else f"Player {spy}'s spies"
        what = counted(len(cards), "bonus card")
        whose = "yours" if holder == player else f"player {holder}"
        names = f": {', '.join(map(_card, cards))}" if player in (spy, holder) else ""
        lines.append(f"{spies} saw {what} of {whose}{names}.")
    return lines


# ---------------------------------------------------------------------------------------------
# The end of a season
# ---------------------------------------------------------------------------------------------


def _last_season(s: Any, player: int) -> str:
    """AN-17, AN-19: the medals of the last season, and what they brought."""
    number = int(s["season"]) - (0 if s["terminated"] else 1)
    head = ["", *FAMILY_NAMES]
    if s["terminated"]:
        head.append("excellence")
    rows = [[*head, "points"]]
    for owner in range(s["num_players"]):
        row = [f"  {name_of(owner, player)}", *map(cell, s["season_medals"][owner])]
        if s["terminated"]:
            row.append(cell(EXCELLENCE * groups_of(s, owner)))
        rows.append([*row, str(s["season_points"][owner])])
    owl = ""
    if s["owl_family"] != NO_FAMILY:
        owl = f", with the owl as a {ANIMAL_NAMES[s['owl_family']]}"
    return f"The medals of season {number}{owl}:\n" + table(rows, align="<" + ">" * len(head))


def _totals(s: Any) -> list[str]:
    """AN-19: points, and what decides between players who are level."""
    return [
        f"{points_of(s, q)}, at most {counted(max(s['medals'][q]), 'medal')} of one family"
        for q in range(s["num_players"])
    ]


# ---------------------------------------------------------------------------------------------
# What is to be decided
# ---------------------------------------------------------------------------------------------


def _decision(s: Any, player: int) -> str:
    """The lot or the card in question, and what is to be decided by whom."""
    mover = int(s["current_player"])
    is_own = mover == player
    phase = s["phase"]
    if phase == LOT:
        about = _lot(s, player)
        what = f"take the lot{_into_with_room(s, mover, is_own)}"
        what += "" if s["must_take"] else ", or pass"
    elif phase == STEAL:
        about = "The power of a thief" + (", then that of a prankster." if s["may_give"] else ".")
        what = f"steal a card, into {_own(s, s['taken_into'], is_own)}, or pass"
    elif phase == GIVE:
        about = "The power of a prankster."
        what = f"give away a card of {_own(s, s['taken_into'], is_own)}, or pass"
    elif phase == RECEIVE:
        about = "The power of a prankster."
        what = f"say who gets the {_card(s['chosen'])}"
    elif phase == OWL_FAMILY:
        about = "All cards are exchanged."
        what = "say which family the owl counts as"
    else:
        first = name_of(next_dealer(s), player)
        about = f"Cards are exchanged for bonus cards, clockwise from {first}."
        what = "bring in a bonus card, or pass"
        if phase == TAKE_OUT:
            chosen = f"the {_card(s['chosen'])}" if is_own else "a bonus card"
            what = f"take out a card for {chosen}"
    turn = f"Your turn: {what}." if is_own else f"Player {mover} is to {what}."
    return f"{about}\n{turn}"


def _lot(s: Any, player: int) -> str:
    """AN-4 to AN-6, AN-8: the lot, and what happens if it comes back to the dealer."""
    dealer = name_of(s["dealer"], player)
    whose = "Your" if s["dealer"] == player else f"{dealer.capitalize()}'s"
    lines = [f"{whose} lot: {_list(s['lot'])}."]
    if not s["must_take"]:
        size = count(s["lot"])
        must_take = size == MAX_LOT or size == room_of(s, s["dealer"])
        then = "must take it" if must_take else "must turn up another card"
        he = "you" if s["dealer"] == player else "he"
        lines.append(f"If it comes back to {dealer}, {he} {then}.")
    return "\n".join(lines)


def _into_with_room(s: Any, player: int, is_own: bool) -> str:
    """AN-18: into which collections the lot can be taken, if the player has two."""
    if collections_each(s) == 1:
        return ""
    first = first_collection(s, player)
    size = count(s["lot"])
    able = [k for k in range(2) if room_in(s, first + k) >= size]
    numbers = " or ".join(str(1 + k) for k in able)
    return f" into {'your' if is_own else 'his'} collection {numbers}"


def _own(s: Any, place: int, is_own: bool) -> str:
    """A collection of the player to move."""
    number = _number(s, place)
    return f"{'your' if is_own else 'his'} collection{number and ' ' + number}"
