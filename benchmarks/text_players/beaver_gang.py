"""Beaver Gang from its table in words."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.text_players.reading import TableInWords, number
from card_envs.games.beaver_gang.cards import DECK_SIZE, KIND_NAMES, NO_CARD, SWAP
from card_envs.games.beaver_gang.state import (
    DISCARDED,
    DRAWN,
    EXCHANGED,
    KNOCK,
    NO_TURN,
    PEEKED,
    SLOTS,
    SWAPPED,
    TOOK,
    TURN,
)

_KINDS = {name: kind for kind, name in enumerate(KIND_NAMES)}
_CARD = re.compile(r"^(\?|[a-z ]+|\d)([+#*]*)(?:'(\d*))?$")
_TURNS = (
    (r"took the discard into slot (\d)", TOOK),
    (r"exchanged slot (\d)", EXCHANGED),
    (r"swapped slot (\d)", SWAPPED),
    (r"peeked at slot (\d)", PEEKED),
)


def fill(s: Any, table: TableInWords) -> None:
    """Fill a blank record in."""
    n, me = len(table.seats), table.me
    round_number, rounds = map(int, re.findall(r"\d+", table.title))
    s["round"], s["rounds"] = round_number - 1, rounds
    ages = _fill_rows(s, table)
    _fill_piles(s, table)
    _deal_hidden_cards(s, table, ages)
    s["knocker"] = -1
    may_knock = table.find("a player whose turn ends now may") is not None
    for seat in table.seats:
        if seat.sign == "K":
            s["knocker"] = seat.player
    s["turns"] = n if may_knock or s["knocker"] >= 0 else 0
    if table.prompt.startswith("Your turn is done"):
        s["phase"] = KNOCK
    else:
        s["phase"] = DRAWN if table.prompt.startswith("You have drawn") else TURN
    for seat in table.seats:
        s["scores"][seat.player] = int(seat.cells["total"])
        _fill_last_turn(s, table, seat.player, seat.cells["last turn"])
    for grid in table.grids:
        if grid.title.startswith("Round"):
            for label, cells in grid.rows.items():
                s["round_scores"][table.player(label)] = int(cells[-1])
                s["revealed"][table.player(label)] = [int(cell) for cell in cells[:SLOTS]]
    for match in (re.match(r"Player (\d) also knows (.*)\.", text) for text in table.sentences):
        if match:
            for whose, slot in re.findall(r"(your|player \d's) slot (\d)", match[2]):
                place = SLOTS * (me if whose == "your" else table.player(whose)) + int(slot)
                s["known"][int(match[1])] |= 1 << place


def _fill_rows(s: Any, table: TableInWords) -> dict[int, int]:
    """What is said of the cards in the rows; returns the age of each hidden card by its place."""
    n, me = len(table.seats), table.me
    ages = {}
    hidden = {}
    for seat in table.seats:
        for slot in range(SLOTS):
            place = SLOTS * seat.player + slot
            match = _CARD.match(seat.cells[f"slot {slot}"])
            assert match is not None
            name, marks, age = match.groups()
            ages[place] = 0 if age is None else int(age or 1)
            if name == "?":
                hidden[place] = ages[place]
            else:
                s["row"][seat.player, slot] = _KINDS[name]
                s["known"][me] |= 1 << place
            if "*" in marks:
                s["known"][seat.player] |= 1 << place
            if "+" in marks:
                for player in range(n):
                    s["known"][player] |= 1 << place
            if "#" in marks or ("+" in marks and _KINDS.get(name, SWAP) < SWAP):
                s["is_number"] |= 1 << place
    s["filling"] = max(ages.values())
    for place, years in ages.items():
        s["filling_of"][place // SLOTS, place % SLOTS] = s["filling"] - years
    return hidden


def _fill_piles(s: Any, table: TableInWords) -> None:
    s["draw_size"] = table.zones["Draw pile"].hidden
    discard_pile = table.zones["Discard pile"]
    s["discard_top"] = NO_CARD
    if discard_pile.cards:
        s["discard_top"] = _KINDS[discard_pile.cards[0]]
        below = re.search(r"\d+", discard_pile.note)
        s["discard_size"] = 1 + (int(below[0]) if below else 0)
    s["discard_counts"] = [number(cell) for cell in table.grids[0].rows["in the discard pile"]]
    s["drawn"] = NO_CARD
    drawn = table.zone(table.me, "drawn card")
    if drawn.cards:
        s["drawn"] = _KINDS[drawn.cards[0]]
        s["first_of_pair"] = drawn.note == "the first of two"
    for under_way in table.zone(table.me, "cards under way").cards:
        s["draw_twos"] = int(under_way.split()[0])


def _deal_hidden_cards(s: Any, table: TableInWords, ages: dict[int, int]) -> None:
    """Lay hidden cards where they can be: those of each age, numbers first where it must be one."""
    pools: dict[int, list[int]] = {}
    for label, cells in table.grids[0].rows.items():
        if "unseen" in label:
            mark = re.search(r"marked '(\d*)", label)
            age = 0 if mark is None else int(mark[1] or 1)
            pools[age] = [kind for kind, cell in enumerate(cells) for _ in range(number(cell))]
    must_be_numbers = sorted(ages, key=lambda place: not int(s["is_number"]) >> place & 1)
    for place in must_be_numbers:
        s["row"][place // SLOTS, place % SLOTS] = pools[ages[place]].pop(0)
    s["draw_pile"] = [*pools[0], *[NO_CARD] * (DECK_SIZE - len(pools[0]))]


def _fill_last_turn(s: Any, table: TableInWords, player: int, text: str) -> None:
    s["last_turn"][player] = DISCARDED if text.startswith("discarded") else NO_TURN
    for pattern, kind in _TURNS:
        match = re.match(pattern, text)
        if match:
            s["last_turn"][player] = kind + int(match[1])
    other = re.search(r"with (your|player \d's) slot (\d)", text)
    if other:
        owner = table.me if other[1] == "your" else table.player(other[1])
        s["swapped_with"][player], s["swapped_slot"][player] = owner, int(other[2])
