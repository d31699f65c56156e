"""Swim for Your Life from its table in words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from benchmarks.text_players.reading import TableInWords, Zone, number
from card_envs.games.swim_for_your_life.actions import ACT, ACTIONS
from card_envs.games.swim_for_your_life.cards import (
    ANIMAL_NAMES,
    HARE,
    NUM_ANIMALS,
    NUM_ROWS,
    NUM_SETS,
)
from card_envs.games.swim_for_your_life.state import IN_GAME, NO_ACTION, NOBODY
from card_envs.games.swim_for_your_life.text import PLURALS

_ANIMALS = {name: k for names in (ANIMAL_NAMES, PLURALS) for k, name in enumerate(names)}


def fill(s: Any, table: TableInWords) -> None:
    """Fill a blank record in."""
    s["round"] = int(re.findall(r"round (\d+)", table.title)[0]) - 1
    s["expert"] = table.find("Expert variant") is not None
    s["tapper"] = s["sudden_death"] = NOBODY
    for row in range(NUM_ROWS):
        s["row"][row] = table.zones[f"Row {row + 1}"].counts(_ANIMALS)
    s["hand"][table.me] = table.zone(table.me, "hand").counts(_ANIMALS)
    for seat in table.seats:
        s["lives"][seat.player] = int(seat.cells["lives"])
        out = re.match(r"out in round (\d+)", seat.cells["last turn"])
        s["standing"][seat.player] = int(out[1]) - 1 if out else IN_GAME
        if seat.sign == "T":
            s["tapper"] = seat.player
        _fill_last_turn(s, seat.player, seat.cells["last turn"])
    started = table.find(r"^(You|Player \d) started the round; it has lasted (\d+) turn")
    assert started is not None
    s["starter"], s["turns"] = table.player(started[1]), int(started[2])
    _fill_hands(s, table)


def _fill_last_turn(s: Any, player: int, text: str) -> None:
    s["last_action"][player] = ACT.tap if text == "tapped" else NO_ACTION
    match = re.match(r"row (\d): laid down (.*); took (.*)", text)
    if match:
        row, laid_down, taken = match.groups()
        s["last_action"][player] = ACTIONS.index("exchange", row=int(row), cards=laid_down)
        s["last_taken"][player] = Zone(taken.split(", ")).counts(_ANIMALS)
    s["has_exchanged"][player] = s["last_action"][player] != NO_ACTION


def _fill_hands(s: Any, table: TableInWords) -> None:
    """What is known of all hands, and cards that the others' may hold beyond that."""
    rows = table.grids[0].rows
    unseen = np.array([number(cell) for cell in rows["unseen by you"]])
    left = unseen.copy()
    for seat in table.seats:
        q = seat.player
        label = "you (known to all)" if q == table.me else f"player {q} at least"
        if label not in rows:  # they are out
            continue
        *cells, unknown = rows[label]
        free = unseen.copy()
        if q == table.me:  # for all others the cards of this hand are unseen too
            free = free + s["hand"][q] - [number(cell.split("-")[0]) for cell in cells]
        for animal, cell in enumerate(cells):
            least, _, most = cell.partition("-")
            s["least"][q, animal] = number(least)
            if HARE <= animal < HARE + NUM_SETS:
                able = number(least) + min(number(unknown), int(free[animal]))
                s["most"][q, animal - HARE] = int(most) if most else able
        if q != table.me:
            s["hand"][q] = s["least"][q]
            _deal(s, q, number(unknown), left)
    s["left_over"] = left


def _deal(s: Any, q: int, count: int, left: Any) -> None:
    """Deal unseen cards to a hand, whichever: it is their number that counts."""
    for animal in range(NUM_ANIMALS):
        dealt = min(count, int(left[animal]))
        s["hand"][q, animal] += dealt
        left[animal] -= dealt
        count -= dealt
