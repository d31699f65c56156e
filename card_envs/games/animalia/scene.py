"""The table of Animalia as data, as one player may know it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract import (
    MEMORY_PERFECT,
    Card,
    Grid,
    Scene,
    Seat,
    Zone,
    capitalized,
    clockwise,
    counted,
    is_over,
    label_of,
    request,
    scene_of,
    seat_of,
)
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
    EXCELLENCE,
    GIVE,
    LOT,
    NO_CARD,
    NO_FAMILY,
    NOBODY,
    OWL_FAMILY,
    RECEIVE,
    STEAL,
    TAKE_OUT,
    collections_each,
    first_collection,
    group_size,
    groups_of,
    is_lot_final,
    next_dealer,
    num_receivers,
    points_of,
    receiver,
    room_in,
)
from card_envs.games.animalia.text import card_name, card_names, collection_number, each_card

# Marks of the dealer, and of cards that a player's spies saw: with the player's number.
_DEALER, _SPIED = "D", "^"


def scene(
    states: NDArray[np.void], i: int, player: int, memory: int, is_open: bool = False
) -> Scene:
    """The table of ``states[i]``: all that the player can know, and nothing else.

    With ``memory="none"`` it is what they see at this moment, and what their spies saw in the draw
    pile. With ``is_open`` everybody's cards are face up.
    """
    s = states[i]
    player = int(player)
    remembers = memory == MEMORY_PERFECT
    grids = [_unseen(s, player, remembers)] if _unseen_cards(s, player, remembers) else []
    if s["season"] > 1 or s["terminated"]:
        grids.append(_last_season(s, player, remembers))
    seats = [_seat(s, player, q, remembers, is_open) for q in clockwise(s, player)]
    zones = _table(s, player)
    return scene_of(
        s,
        player,
        title=_title(s),
        seats=seats,
        zones=zones,
        grids=grids,
        notes=[_course(s, player), *(_kept_bonus_cards(s, player) if remembers else ())],
        legend=_legend(s, player, [*zones, *(z for seat in seats for z in seat.zones)], remembers),
        prompt=_prompt,
        results=_totals(s),
        wins="the highest total",
    )


def _title(s: Any) -> str:
    if s["terminated"]:
        return f"Animalia, after {counted(s['season'], 'season')}"
    phase = "collections" if s["phase"] < BRING_IN else "medals"
    return f"Animalia, season {s['season']} of {s['seasons']}, {phase}"


def _legend(s: Any, player: int, zones: list[Zone], remembers: bool) -> list[tuple[str, str]]:
    """The signs that occur."""
    signs = [(_DEALER, "dealer")]
    if not remembers:
        signs.append(("?", "not remembered"))
    marks = "".join(card.marks for zone in zones for card in zone.cards)
    for q in clockwise(s, player):
        if f"{_SPIED}{q}" in marks:
            whose = "your" if q == player else f"player {q}'s"
            signs.append((f"{_SPIED}{q}", f"seen by {whose} spies"))
    return signs


# ---------------------------------------------------------------------------------------------
# Cards on the table
# ---------------------------------------------------------------------------------------------


def _table(s: Any, player: int) -> list[Zone]:
    """The draw pile, the lot, and the replaced cards."""
    places = range(s["drawn"], s["deck_size"])
    pile = _together([_hidden_card(s, player, place, marks=True) for place in places])
    is_next_known = bool(pile) and bool(pile[0].name)
    zones = [Zone("draw pile", pile, "pile", "the next card first" if is_next_known else "")]
    if s["lot"]:
        is_open = not is_over(s)  # to a decision
        cards = tuple(Card(card_name(card), highlight=is_open) for card in _turned_up(s))
        note = f"turned up by {label_of(s['dealer'], player)}"
        zones.append(Zone("lot", cards, note=note, highlight=is_open))
    if s["replaced"]:
        zones.append(Zone("replaced cards", _face_up(s["replaced"]), "pile"))
    return zones


def _face_up(cards: int, chosen: int = NO_CARD) -> tuple[Card, ...]:
    return tuple(Card(card_name(card), highlight=card == chosen) for card in each_card(cards))


def _hidden_card(
    s: Any,
    player: int,
    place: int,
    *,
    marks: bool,
    is_open: bool = False,
    chosen: int = NO_CARD,
) -> Card:
    """The card at a place of the deck, face down unless the player knows it.

    Args:
        s: The record.
        player: The observer.
        place: A place of the draw pile or of a bonus card.
        marks: Whether the players remember whose spies saw it.
        is_open: Whether it is face up in any case.
        chosen: The card that the decision is about, if the player knows that.
    """
    card, holder = int(s["deck"][place]), int(s["holder"][place])
    is_known = is_open or holder == player or (marks and s["seen"][place] >> player & 1)
    signs = ""
    for q in clockwise(s, player):
        if marks and q != holder and s["seen"][place] >> q & 1:
            signs += f"{_SPIED}{q}"
    if is_known:
        return Card(card_name(card), marks=signs, highlight=card == chosen)
    return Card(marks=signs)


def _together(cards: list[Card]) -> tuple[Card, ...]:
    """The cards, with adjacent identical face-down ones merged into one."""
    together: list[Card] = []
    for card in cards:
        last = together[-1] if together else None
        if last is not None and not card.name and (last.name, last.marks) == ("", card.marks):
            together[-1] = Card(count=last.count + 1, marks=card.marks)
        else:
            together.append(card)
    return tuple(together)


# ---------------------------------------------------------------------------------------------
# Players
# ---------------------------------------------------------------------------------------------


def _seat(s: Any, player: int, q: int, remembers: bool, is_open: bool) -> Seat:
    values: list[str | int] = ["?"] * (NUM_FAMILIES + 1)
    if q == player or remembers:
        values = [*s["medals"][q].tolist(), int(points_of(s, q))]
    return seat_of(
        s,
        q,
        player,
        mark=_DEALER if q == s["dealer"] else "",
        counters=zip((*FAMILY_NAMES, "points"), values, strict=True),
        zones=_collections(s, player, q) + _bonus_cards(s, player, q, remembers, is_open),
    )


def _collections(s: Any, player: int, q: int) -> list[Zone]:
    """A player's collections, each with what it is called in the observer's actions."""
    zones = []
    others = [receiver(s, player, number) for number in range(num_receivers(s))]
    first = first_collection(s, q)
    for place in range(first, first + collections_each(s)):
        cards = s["collection"][place]
        is_it = bool(place == s["taken_into"]) and not is_over(s)
        chosen = int(s["chosen"]) if s["phase"] == RECEIVE and not is_over(s) else NO_CARD
        note = f"{counted(count(cards), 'card')}, elegance {elegance_of(cards)}" if cards else ""
        name = f"collection {collection_number(s, place) or ''}".strip()
        called = ("collection", 1 + place - first)
        if q != player:
            called = ("receiver", 1 + others.index(place))
        zones.append(
            Zone(name, _face_up(cards, chosen), note=note, highlight=is_it, stands_for=called)
        )
    return zones


def _bonus_cards(s: Any, player: int, q: int, remembers: bool, is_open: bool) -> list[Zone]:
    """Face down before their holder, those of each season by themselves.

    Without memory players do not know which of their own cards is from which season.
    """
    is_own_exchange = s["phase"] == TAKE_OUT and s["current_player"] == player == q
    chosen = int(s["chosen"]) if is_own_exchange else NO_CARD
    zones, kept = [], []
    for season in range(int(s["season"]), 0, -1):
        cards = [
            _hidden_card(s, player, int(place), marks=remembers, is_open=is_open, chosen=chosen)
            for place in np.flatnonzero((s["holder"] == q) & (s["since"] == season))
        ]
        if cards:
            since = "" if season == s["season"] else f" from season {season}"
            zones.append(Zone(f"bonus cards{since}", _together(cards)))
            kept += [f"{len(cards)}{since}"] if since else []
    if zones and q == player and not remembers:
        return [Zone("bonus cards", _face_up(s["bonus"][q], chosen), note=", ".join(kept))]
    return zones


# ---------------------------------------------------------------------------------------------
# What is known besides
# ---------------------------------------------------------------------------------------------


def _course(s: Any, player: int) -> str:
    """What is not seen on the cards: who deals, and what points are."""
    points = (
        "A player's numbers are the medals of each family so far, and points: all medals, and "
        f"{EXCELLENCE} more for each {group_size(s)} of one family."
    )
    if is_over(s):
        return points
    is_dealer = s["dealer"] == player
    dealer = "You are" if is_dealer else f"{capitalized(label_of(s['dealer'], player))} is"
    if s["phase"] < BRING_IN:
        return f"{dealer} the dealer. {points}"
    first = label_of(next_dealer(s), player)
    return f"{dealer} the last dealer; cards are exchanged clockwise from {first}. {points}"


def _unseen_cards(s: Any, player: int, remembers: bool) -> int:
    """The set of cards that the player has not located: in the draw pile, or bonus cards."""
    cards = 0
    for place in range(NUM_CARDS):
        is_forgotten = not remembers and s["holder"][place] not in (NOBODY, player)
        if is_forgotten or is_hidden(s, player, place):
            cards |= 1 << int(s["deck"][place])
    return cards


def _unseen(s: Any, player: int, remembers: bool) -> Grid:
    """The cards that the player has not located, family by family."""
    unseen = _unseen_cards(s, player, remembers)
    rows: list[tuple[str | int, ...]] = []
    for family, name in enumerate(FAMILY_NAMES):
        own = [card for card in each_card(unseen) if card // NUM_MEMBERS == family]
        if own:
            members = ", ".join(MEMBER_NAMES[card % NUM_MEMBERS] for card in own)
            rows.append((f"  {name}", len(own), members))
    if unseen >> OWL & 1:
        rows.append(("  owl", 1, ""))
    return Grid("not seen", ("", "cards", "which"), tuple(rows), text_columns=1)


def _kept_bonus_cards(s: Any, player: int) -> list[str]:
    """What the others' bonus cards from earlier seasons can be that the player has not seen.

    They are the same for all players, since it is the season that counts.
    """
    notes = []
    left = unseen = _unseen_cards(s, player, True)
    hidden = 0
    for season in range(1, int(s["season"])):
        places = np.flatnonzero(s["since"] == season).tolist()
        found = sum(is_hidden(s, player, place) for place in places)
        able = sum(1 << c for c in each_card(left) if can_be_at(s, player, c, season))
        if found and able != unseen:
            notes.append(
                f"A bonus card from season {season} that you have not seen "
                f"can only be: {card_names(able)}."
            )
        hidden += found
        if able.bit_count() == hidden:  # these are all of them, so later ones are others
            left, hidden = left & ~able, 0
    return notes[::-1]


def _last_season(s: Any, player: int, remembers: bool) -> Grid:
    """AN-17, AN-19: the medals of the last season, and what they brought."""
    number = int(s["season"]) - (0 if s["terminated"] else 1)
    excellence = ("excellence",) if s["terminated"] else ()
    rows = []
    for q in clockwise(s, player):
        row: list[str | int] = [f"  {label_of(q, player)}", *s["season_medals"][q].tolist()]
        if s["terminated"]:
            row.append(EXCELLENCE * int(groups_of(s, q)))
        total = (int(points_of(s, q)),) if remembers else ()
        rows.append((*row, int(s["season_points"][q]), *total))
    owl = ""
    if s["owl_family"] != NO_FAMILY:
        owl = f", with the owl as a {ANIMAL_NAMES[s['owl_family']]}"
    head = ("", *FAMILY_NAMES, *excellence, "points", *(("total",) if remembers else ()))
    return Grid(f"the medals of season {number}{owl}", head, tuple(rows))


def _totals(s: Any) -> list[str]:
    """AN-19: points, and what decides between players who are level."""
    return [
        f"{counted(int(points_of(s, q)), 'point')}, "
        f"{counted(int(max(s['medals'][q])), 'medal')} of the best family"
        for q in range(s["num_players"])
    ]


# ---------------------------------------------------------------------------------------------
# What is to be decided
# ---------------------------------------------------------------------------------------------


def _prompt(s: Any, player: int) -> str:
    """What is to be decided and by whom, and what follows."""
    what, more = _decision(s, player, bool(s["current_player"] == player))
    return f"{request(s, player, what)} {more}".rstrip()


def _decision(s: Any, player: int, is_own: bool) -> tuple[str, str]:
    """What the player to move may do, and a sentence on what follows."""
    phase = s["phase"]
    whose, number = "your" if is_own else "their", collection_number(s, s["taken_into"])
    into = f"{whose} collection {number or ''}".rstrip()
    if phase == LOT:
        lot = ", ".join(map(card_name, _turned_up(s)))
        what = f"take the lot ({lot}){_where_there_is_room(s, is_own)}"
        return what + ("" if s["must_take"] else ", or pass"), _if_it_comes_back(s, player)
    if phase == STEAL:
        follows = "The power of a prankster follows." if s["may_give"] else ""
        return f"use the power of a thief: steal a card into {into}, or pass", follows
    if phase == GIVE:
        return f"use the power of a prankster: give away a card of {into}, or pass", ""
    if phase == RECEIVE:
        gift = f"the {card_name(s['chosen'])} of {into}"
        return f"choose who gets {gift}{_to_the_left(s, player)}", ""
    if phase == OWL_FAMILY:
        return "name the family that the owl counts as", ""
    if phase == TAKE_OUT:
        chosen = f"the {card_name(s['chosen'])}" if is_own else "a bonus card"
        return f"take out a card for {chosen}", ""
    return "bring in a bonus card, or pass", ""


def _to_the_left(s: Any, player: int) -> str:
    """AN-18: which collections the actions of a gift name, if the receiver has two."""
    if collections_each(s) == 1:
        return ""
    other = label_of(1 - int(s["current_player"]), player)
    whose = "your" if other == "you" else f"{other}'s"
    return f": {whose} collection 1 is the first to the left, collection 2 the second"


def _turned_up(s: Any) -> Any:
    """The lot's cards, in order."""
    return s["deck"][s["drawn"] - count(s["lot"]) : s["drawn"]]


def _if_it_comes_back(s: Any, player: int) -> str:
    """AN-5, AN-6: what happens to a lot that nobody takes."""
    if s["must_take"]:
        return ""
    then = "must take it" if is_lot_final(s) else "must turn up another card"
    dealer = label_of(s["dealer"], player)
    they = "you" if s["dealer"] == player else "they"
    return f"If it comes back to {dealer}, {they} {then}."


def _where_there_is_room(s: Any, is_own: bool) -> str:
    """AN-18: into which collections the lot can be taken, if the player has two."""
    if collections_each(s) == 1:
        return ""
    first = first_collection(s, s["current_player"])
    able = [k for k in range(2) if room_in(s, first + k) >= count(s["lot"])]
    numbers = " or ".join(str(1 + k) for k in able)
    return f" into {'your' if is_own else 'their'} collection {numbers}"
