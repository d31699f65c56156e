"""Frank's Zoo in words: the actions, and the table as one player sees it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.outcome import MEMORY_PERFECT
from card_envs.games.franks_zoo.cards import (
    ANIMAL_NAMES,
    BEATEN_BY,
    HEDGEHOG,
    JOKER,
    KIND_BITS,
    LAY_ANIMAL,
    LAY_CARDS,
    LAY_SIZE,
    LION,
    MAY_PLAY,
    NO_LAY,
    NUM_KINDS,
)
from card_envs.games.franks_zoo.knowledge import count_elsewhere, known_of
from card_envs.games.franks_zoo.rules import first_leader, may_ask
from card_envs.games.franks_zoo.state import (
    ANSWER,
    ASK,
    EXCHANGE,
    GIVE,
    NO_CARD,
    NOBODY,
    NUM_ACTIONS,
    PASS,
    counts_animals,
    has_pairs,
    packed,
)
from card_envs.render import WIDTH, cell, counted, listed, name_of, seats, standing, table

_KIND_NAMES = (*ANIMAL_NAMES, "joker")
_PLURALS = tuple(
    {
        "fish": "fish",
        "fox": "foxes",
        "mosquito": "mosquitoes",
        "mouse": "mice",
        "perch": "perches",
    }.get(name, "")
    for name in _KIND_NAMES
)


def action_name(action: int) -> str:
    """An action in words; ValueError if there is none of that number."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action == PASS:
        return "pass"
    if action >= GIVE:
        return f"give away: 1 {_KIND_NAMES[action - GIVE]}"
    if action >= ASK:
        return f"ask for help with: {_kinds(LAY_CARDS[action - ASK])}"
    return f"play: {_kinds(LAY_CARDS[action])}"


def public_action_name(states: NDArray[np.void], i: int, action: int) -> str:
    """What the player to move does, as the others learn it: FZ-18, but for the card he gives."""
    return "give away a card" if GIVE <= action < PASS else action_name(action)


def describe(states: NDArray[np.void], i: int, player: int) -> str:
    """The table of ``states[i]`` in words: all that the player can know, and nothing else.

    With ``memory="none"`` it is what he sees at this moment. No line passes 100 characters.
    """
    s = states[i]
    parts = [_course(s), _players(s, player), _cards(s, player), _knowledge(s, player)]
    if s["last_place"].any():
        parts.append(_last_hand(s, player))
    if not s["terminated"]:
        parts.append(_trick(s, player))
    if s["terminated"] or s["truncated"]:
        totals = [str(total) for total in s["totals"][: s["num_players"]]]
        parts.append(standing(s, player, totals, wins="the highest total", align=">"))
    else:
        parts[-1] += "\n" + _decision(s, player)
    return "\n\n".join(part for part in parts if part)


def _kinds(counts: Sequence[int] | NDArray[np.integer[Any]]) -> str:
    """E.g. ``2 elephants, 1 joker``."""
    return listed(counts, _KIND_NAMES, _PLURALS)


def _animals(animal: int, count: int) -> str:
    return counted(count, ANIMAL_NAMES[animal], _PLURALS[animal])


# ---------------------------------------------------------------------------------------------
# The course of the game, and the players
# ---------------------------------------------------------------------------------------------


def _course(s: Any) -> str:
    if s["terminated"]:
        return f"Frank's Zoo, after {counted(s['hand_number'], 'hand')}."
    enough = "a player has" if s["num_players"] == 3 else "two players have"
    text = (
        f"Frank's Zoo, hand {s['hand_number']}. "
        f"The game ends when {enough} {counted(s['target_score'], 'point')}.\n"
    )
    if counts_animals(s):
        return text + "Lions and hedgehogs count in this hand."
    if s["partners"]:
        return text + "The first hand: no partners, and lions and hedgehogs do not count."
    return text + "The simple game: no partners, and lions and hedgehogs do not count."


def _players(s: Any, player: int) -> str:
    """The players with what lies open of them; what they have captured, if it is remembered."""
    counts_captured = counts_animals(s) and s["memory"] == MEMORY_PERFECT
    columns = {"points": ">", "rank": ">"}
    if has_pairs(s):
        columns["partner"] = "<"
    columns["cards"] = ">"
    if counts_captured:
        columns |= {"lions": ">", "hedgehogs": ">"}
    columns |= {"place": ">", "": "<"}

    def cells(owner: int) -> list[str]:
        line = [str(s["totals"][owner]), str(s["rank"][owner] + 1)]
        if has_pairs(s):
            line.append(_role(s, owner, player))
        line.append(cell(s["hand_size"][owner]))
        if counts_captured:
            captured = s["captured"][owner]
            line += [cell(captured[LION]), cell(captured[HEDGEHOG])]
        return [*line, cell(s["place"][owner]), _last_deed(s, owner)]

    text = seats(s, player, list(columns), cells, align="".join(columns.values()))
    signs = [] if s["terminated"] or s["truncated"] else ["> to move"]
    signs.append(". none")
    if counts_captured:
        signs.append("lions and hedgehogs: captured in this hand")
    return f"{text}\n\n({', '.join(signs)})"


def _role(s: Any, owner: int, player: int) -> str:
    if s["partner"][owner] == NOBODY:
        return "alone"
    role = "senior" if s["is_senior"][owner] else "junior"
    return f"{role} of {name_of(s['partner'][owner], player)}"


def _last_deed(s: Any, owner: int) -> str:
    """What a player has done in the trick, or before it."""
    if s["phase"] == EXCHANGE:
        return "has given" if s["given"][owner].any() else ""
    if s["asker"] == owner:
        return "asks for help"
    if s["owner"] == owner:
        return "last set"
    return "passed" if s["has_passed"][owner] else ""


# ---------------------------------------------------------------------------------------------
# The cards
# ---------------------------------------------------------------------------------------------


def _cards(s: Any, player: int) -> str:
    """Where the cards of each kind are, as far as the player knows, and what beats them."""
    has_memory = s["memory"] == MEMORY_PERFECT
    head = ["", "your hand", "trick"]
    head += ["played", "elsewhere"] if has_memory else ["out of sight"]
    elsewhere = count_elsewhere(s, player, packed(s["hand"], player), has_memory)
    rows = [[*head, "beaten by"]]
    for kind, name in enumerate(_KIND_NAMES):
        counts = [s["hand"][player, kind], s["trick"][kind]]
        if has_memory:
            counts.append(s["played"][kind])
        counts.append(elsewhere >> KIND_BITS * kind & 7)
        beaters = "like what it is added to"
        if kind != JOKER:
            beaters = ", ".join(BEATEN_BY[name]) or "nothing"
        rows.append([name, *map(cell, counts), beaters])
    return table(rows, align="<" + ">" * (len(head) - 1) + "<")


def _knowledge(s: Any, player: int) -> str:
    """The gifts, what is known of the hands, and the hands that are shown at the end."""
    has_memory = s["memory"] == MEMORY_PERFECT
    lines = _gifts(s, player) if has_memory else []
    if has_memory or s["terminated"]:
        for seat in range(1, s["num_players"]):
            q = (player + seat) % s["num_players"]
            known = [known_of(s, player, q, kind) for kind in range(NUM_KINDS)]
            if any(known):
                at_least = "" if sum(known) == s["hand_size"][q] else " at least"
                lines.append(f"Player {q} holds{at_least} {_kinds(known)}.")
    if has_memory and s["known"][player].any() and not s["terminated"]:
        lines.append(f"Everybody knows that you hold {_kinds(s['known'][player])}.")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines)


def _gifts(s: Any, player: int) -> list[str]:
    """FZ-18: what the player gave and got, and that somebody else has laid down cards."""
    lines = []
    partner, alone = int(s["partner"][player]), int(s["alone"])
    if s["given"][player].any():
        cards = _kinds(s["given"][player])
        if partner == NOBODY:
            lines.append(f"You have laid {cards} before you; they count as captured.")
        else:
            lines.append(f"You gave {cards} to player {partner}.")
    if partner != NOBODY and s["given"][partner].any():
        lines.append(f"Player {partner} gave you {_kinds(s['given'][partner])}.")
    if alone not in (NOBODY, player) and s["given"][alone].any():
        lines.append(f"Player {alone} has laid 2 cards before him; they are counted as elsewhere.")
    return lines


# ---------------------------------------------------------------------------------------------
# The end of a hand
# ---------------------------------------------------------------------------------------------


def _last_hand(s: Any, player: int) -> str:
    """FZ-12, FZ-21 to FZ-23: how the last hand ended, and what it brought."""
    number = int(s["hand_number"]) - (0 if s["terminated"] else 1)
    n = int(s["num_players"])
    columns = {"place": "last_place", "for places": "place_points"}
    if n == 3 or (s["partners"] and number > 1):
        columns |= {"lions": "lion_points", "hedgehogs": "hedgehog_points"}
    columns |= {"points": "hand_points", "total": "totals"}
    rows = [["", *columns]]
    for owner in range(n):
        numbers = [str(s[name][owner]) for name in columns.values()]
        rows.append([f"  {name_of(owner, player)}", *numbers])
    return f"Hand {number}, as it ended:\n" + table(rows, align="<" + ">" * len(columns))


# ---------------------------------------------------------------------------------------------
# The trick, and what is to be decided
# ---------------------------------------------------------------------------------------------


def _trick(s: Any, player: int) -> str:
    """The last set and what would beat it, and what is asked for."""
    if s["phase"] == EXCHANGE:
        leader = name_of(first_leader(s), player)
        return f"Cards are exchanged; then {leader} {_verb(leader, 'lead')} the first trick."
    last_set = int(s["last_set"])
    if last_set == NO_LAY:
        return "No set lies in the trick."
    animal, size = int(LAY_ANIMAL[last_set]), int(LAY_SIZE[last_set])
    whole = _animals(animal, size)
    cards = _kinds(LAY_CARDS[last_set])
    text = f"The last set: {cards}{'' if cards == whole else f', which are {whole}'}"
    text += f", of {name_of(s['owner'], player)}.\n{_beaters(last_set)}"
    if s["asker"] != NOBODY:
        junior = name_of(s["asker"], player)
        senior = name_of(s["partner"][s["asker"]], player)
        cards = _kinds(LAY_CARDS[s["request"]])
        text += f"\n{junior.capitalize()} {_verb(junior, 'ask')} {senior} for help with {cards}."
    return text


def _verb(name: str, verb: str) -> str:
    return verb if name == "you" else verb + "s"


def _beaters(last_set: int) -> str:
    """FZ-8: what may be played on a set."""
    sets = np.flatnonzero(MAY_PLAY[last_set])
    better = dict.fromkeys(zip(LAY_ANIMAL[sets].tolist(), LAY_SIZE[sets].tolist(), strict=True))
    if not better:
        return "Nothing beats it."
    *others, last = (_animals(animal, size) for animal, size in better)
    return f"It is beaten by {', '.join(others)}{' or ' if others else ''}{last}."


def _decision(s: Any, player: int) -> str:
    """What is to be decided, and by whom."""
    mover = int(s["current_player"])
    is_own = mover == player
    phase = s["phase"]
    if phase == EXCHANGE:
        what = _gift(s, player)
    elif phase == ANSWER:
        asker = f"player {s['asker']}" if s["asker"] != player else "you"
        what = f"help {asker} with cards that complete the set, or refuse: pass"
    elif s["last_set"] == NO_LAY:
        what = "lead with any set"
        if is_own and s["hand_size"][mover] == s["hand"][mover, JOKER]:
            what = "pass; the joker alone cannot lead"
    else:
        what = "beat the last set, or pass"
        if may_ask(s, mover):
            senior = name_of(s["partner"][mover], player)
            what = f"beat the last set, ask {senior} for help, or pass"
    return f"Your turn: {what}." if is_own else f"Player {mover} is to {what}."


def _gift(s: Any, player: int) -> str:
    """FZ-18: what the player to move gives away, and to whom."""
    mover = int(s["current_player"])
    number = "first" if s["gift"] == NO_CARD else "second"
    if s["partner"][mover] == NOBODY:
        what = f"lay the {number} of two cards before {'you' if mover == player else 'him'}"
    else:
        partner = name_of(s["partner"][mover], player)
        what = f"give away the {number} of two cards, to {partner}"
    if mover == player and s["gift"] != NO_CARD:
        what += f"; the first is 1 {_KIND_NAMES[s['gift']]}"
    return what
