"""Swim for Your Life in words: the actions, and the table as one player sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.outcome import MEMORY_PERFECT
from card_envs.games.swim_for_your_life.rules import (
    ANIMAL_NAMES,
    DECK_COUNTS,
    HARE,
    IN_GAME,
    LAID_DOWN,
    NO_ACTION,
    NUM_ACTIONS,
    NUM_ANIMALS,
    NUM_ROWS,
    NUM_SETS,
    ROW_OF,
    TAP,
    VALUES,
    is_set,
    players_left,
    unknown_cards,
)
from card_envs.render import cell, counted, last_lap, listed, name_of, seats, standing, table

_PLURALS = tuple({"sheep": "sheep", "mouse": "mice"}.get(name, "") for name in ANIMAL_NAMES)


def action_name(action: int) -> str:
    """An action in words; ValueError if there is none of that number."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action == TAP:
        return "tap"
    return f"exchange row {ROW_OF[action] + 1}: lay down {_animals(LAID_DOWN[action])}"


def public_action_name(states: NDArray[np.void], i: int, action: int) -> str:
    """What the player to move does, as the others learn it: no action hides anything."""
    return action_name(action)


def describe(states: NDArray[np.void], i: int, player: int) -> str:
    """The table of ``states[i]`` in words: all that the player can know, and nothing else.

    With ``memory="none"`` it is what he sees at this moment. No line passes 100 characters.
    """
    s = states[i]
    parts = [_course(s, player), _players(s, player), *_cards(s, player)]
    if s["was_in_round"].any():
        parts.append(_last_round(s, player))
    if s["terminated"] or s["truncated"]:
        fates = [_fate(s, owner) for owner in range(s["num_players"])]
        parts.append(standing(s, player, fates, wins="the last one left"))
    else:
        parts.append(_tapping(s, player) + "\n" + _decision(s, player))
    return "\n\n".join(parts)


def _animals(counts: NDArray[np.integer[Any]]) -> str:
    """E.g. ``2 bears, 1 mole``."""
    return listed(counts, ANIMAL_NAMES, _PLURALS)


# ---------------------------------------------------------------------------------------------
# The players
# ---------------------------------------------------------------------------------------------


def _course(s: Any, player: int) -> str:
    left = players_left(s)
    if s["terminated"]:
        text = f"Swim for Your Life, after {counted(s['round'], 'round')}."
    else:
        text = (
            f"Swim for Your Life, round {s['round'] + 1}, started by "
            f"{name_of(s['starter'], player)}. Players left: {left} of {s['num_players']}."
        )
        if left == 2:
            text += "\nWith two players left a majority takes at least two cards."
    if s["expert"]:
        text += "\nExpert variant: sudden death by all hares or all pigs only, and it gains a life."
    return text


def _players(s: Any, player: int) -> str:
    """The players with their lives and last turns."""

    def cells(owner: int) -> list[str]:
        return [str(s["lives"][owner]), _last_turn(s, owner)]

    return seats(s, player, ["lives", "last turn"], cells, marked=s["tapper"], mark="T")


def _last_turn(s: Any, owner: int) -> str:
    action = int(s["last_action"][owner])
    if action == TAP:
        return "tapped"
    if action != NO_ACTION:
        laid_down, taken = _animals(LAID_DOWN[action]), _animals(s["last_taken"][owner])
        return f"row {ROW_OF[action] + 1}: laid down {laid_down}; took {taken}"
    return "none yet" if s["lives"][owner] else _fate(s, owner)


def _fate(s: Any, owner: int) -> str:
    """How far a player has come."""
    if s["standing"][owner] < IN_GAME:
        return f"out in round {s['standing'][owner] + 1}"
    return counted(s["lives"][owner], "life", "lives")


# ---------------------------------------------------------------------------------------------
# The cards
# ---------------------------------------------------------------------------------------------


def _cards(s: Any, player: int) -> list[str]:
    """The rows, the player's hand and what he knows of the others' cards; and what signs mean."""
    has_memory = s["memory"] == MEMORY_PERFECT
    public = DECK_COUNTS - s["row"].sum(axis=0) - (s["least"].sum(axis=0) if has_memory else 0)
    unseen = public - s["hand"][player]
    lines = [["", *ANIMAL_NAMES, ""], ["value", *map(str, VALUES), ""]]
    lines += [[f"row {row + 1}", *map(cell, s["row"][row]), ""] for row in range(NUM_ROWS)]
    if s["hand"][player].any():
        lines.append(["your hand", *map(cell, s["hand"][player]), ""])
    if has_memory:
        unseen += s["least"][player]
        lines[0][-1] = "unknown"
        if s["hand"][player].any():
            lines.append(["  known to all", *_bounds(s, player, public)])
        for seat in range(1, s["num_players"]):
            owner = (player + seat) % s["num_players"]
            if s["hand"][owner].any():
                lines.append([f"player {owner} at least", *_bounds(s, owner, unseen)])
    lines.append(["unseen by you", *map(cell, unseen), ""])
    text = table(lines, align="<" + ">" * (NUM_ANIMALS + 1))

    signs = ["> to move"] if not (s["terminated"] or s["truncated"]) else []
    if s["tapper"] >= 0:
        signs.append("T tapped")
    signs.append(". none")
    if "-" in text:
        signs.append("1-4 at least 1 and at most 4")
    return [text, f"({', '.join(signs)})"]


def _bounds(s: Any, owner: int, unseen: NDArray[np.integer[Any]]) -> list[str]:
    """What is known of a hand: at least so many of each animal, and how many are unknown.

    A range where it is also known that there cannot be as many as there are unseen cards.
    """
    unknown = unknown_cards(s, owner)
    cells = list(map(cell, s["least"][owner]))
    for k in range(NUM_SETS):
        least, most = s["least"][owner, HARE + k], s["most"][owner, k]
        if most < least + min(unknown, unseen[HARE + k]):
            cells[HARE + k] = f"{least}-{most}"
    return [*cells, str(unknown)]


# ---------------------------------------------------------------------------------------------
# The end of a round
# ---------------------------------------------------------------------------------------------


def _last_round(s: Any, player: int) -> str:
    """How the last round ended, and what it cost."""
    in_round = np.flatnonzero(s["was_in_round"]).tolist()
    winner = int(s["sudden_death"])
    head, lines = _counted_hands(s, in_round) if winner < 0 else _sudden_death(s, in_round, player)
    rows = [["", *ANIMAL_NAMES, "total", "lives"]]
    for owner, line in zip(in_round, lines, strict=True):
        lost = s["lives_lost"][owner]
        rows.append([f"  {name_of(owner, player)}", *line, f"{-lost:+d}" if lost else "0"])
    return f"Round {s['round']}{head}:\n" + table(rows, align="<" + ">" * (NUM_ANIMALS + 2))


def _counted_hands(s: Any, in_round: Sequence[int]) -> tuple[str, list[list[str]]]:
    """SW-11 to SW-13: the hands with their majorities, and the totals."""
    head = ", as it was counted (* a majority"
    head += ", of two cards at least)" if len(in_round) == 2 else ")"
    totals = s["totals"][in_round]
    if (totals == totals[0]).all():
        head += ", all level"
    hands = s["revealed"][in_round]
    lines = []
    for k, total in enumerate(totals):
        others = np.delete(hands, k, axis=0).max(axis=0, initial=0)
        has_majority = hands[k] > np.maximum(others, 1 if len(in_round) == 2 else 0)
        marks = np.where(has_majority, "*", " ")
        cells = [cell(count) + mark for count, mark in zip(hands[k], marks, strict=True)]
        lines.append([*cells, str(total)])
    return head, lines


def _sudden_death(s: Any, in_round: Sequence[int], player: int) -> tuple[str, list[list[str]]]:
    """SW-9: the hand that ended the round; nobody else's was shown."""
    winner = int(s["sudden_death"])
    hand = s["revealed"][winner]
    sets = " and ".join(
        f"all {_animals(np.where(np.arange(NUM_ANIMALS) == animal, hand, 0))}"
        for animal in range(NUM_ANIMALS)
        if is_set(s, animal) and hand[animal] == DECK_COUNTS[animal]
    )
    head = f" ended by sudden death, {name_of(winner, player)} had {sets}"
    hidden = [""] * (NUM_ANIMALS + 1)
    return head, [[*map(cell, hand), ""] if owner == winner else hidden for owner in in_round]


# ---------------------------------------------------------------------------------------------
# What is to be decided
# ---------------------------------------------------------------------------------------------


def _tapping(s: Any, player: int) -> str:
    if s["tapper"] >= 0:
        return last_lap(s["tapper"], player, "tapped")
    return "Nobody has tapped; whoever has exchanged in this round may."


def _decision(s: Any, player: int) -> str:
    mover = s["current_player"]
    may_tap = bool(s["has_exchanged"][mover])
    if mover != player:
        return f"Player {mover} is to exchange a row{' or to tap' if may_tap else ''}."
    if s["tapper"] >= 0:
        return "Your last turn of the round: exchange a row, or tap to change nothing."
    if may_tap:
        return "Your turn: exchange a row, or tap and begin the last lap."
    return "Your turn: exchange a row."
