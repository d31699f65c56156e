"""Frank's Zoo from its table in words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from benchmarks.text_players.reading import TableInWords, Zone, number
from card_envs.games.franks_zoo.actions import ACT, ACTIONS
from card_envs.games.franks_zoo.cards import NO_LAY, NUM_KINDS
from card_envs.games.franks_zoo.state import ANSWER, EXCHANGE, NO_CARD, NOBODY, TURN
from card_envs.games.franks_zoo.text import KIND_NAMES, PLURALS

_KINDS = {name: kind for names in (KIND_NAMES, PLURALS) for kind, name in enumerate(names)}


def fill(s: Any, table: TableInWords) -> None:
    """Fill a blank record in."""
    s["hand_number"] = int(re.findall(r"hand (\d+)", table.title)[0])
    s["target_score"] = int(_found(table, r"(\d+) points?\.$"))
    s["partners"] = table.find("^The simple game") is None
    s["alone"] = s["asker"] = s["owner"] = NOBODY
    s["last_set"] = s["request"] = NO_LAY
    s["gift"] = NO_CARD
    for seat in table.seats:
        _fill_seat(s, table, seat.player, seat.cells)
    _fill_trick(s, table)
    _fill_gifts(s, table)
    _fill_counts(s, table)
    _fill_last_hand(s, table)
    if re.search(r"(give away|lay down) the (first|second) of two cards", table.prompt):
        s["phase"] = EXCHANGE
        first = re.search(r"the first is 1 (.+)\.$", table.prompt)
        if first:
            s["gift"] = _KINDS[first[1]]
    else:
        s["phase"] = ANSWER if "Your turn: help" in table.prompt else TURN


def _found(table: TableInWords, pattern: str) -> str:
    match = table.find(pattern)
    assert match is not None
    return match[1]


def _fill_seat(s: Any, table: TableInWords, q: int, cells: dict[str, str]) -> None:
    s["totals"][q], s["rank"][q] = int(cells["points"]), int(cells["rank"]) - 1
    s["hand_size"][q] = int(cells["cards"])
    s["place"][q] = 0 if cells["place"] == "-" else int(cells["place"])
    s["partner"][q] = NOBODY
    role = cells.get("partner", "")
    if " of " in role:
        s["partner"][q] = table.player(role)
        s["is_senior"][q] = role.startswith("senior")
    elif role == "alone":
        s["alone"] = q
    note = cells.get("last turn", "")
    if note == "passed":
        s["has_passed"][q] = 1
    if note == "asks for help":
        s["asker"] = q
    captured = table.zone(q, "captured cards")
    if captured.cards:
        s["captured"][q] = captured.counts(_KINDS)
    hand = table.zone(q, "hand")
    if hand.cards:
        s["hand"][q] = hand.counts(_KINDS)
        if q != table.me:
            s["known"][q] = s["hand"][q]


def _fill_trick(s: Any, table: TableInWords) -> None:
    last_set = table.zones.get("Last set")
    if last_set is None:
        return
    cards = np.array(last_set.counts(_KINDS))
    s["last_set"] = _lay(last_set)
    s["owner"] = table.player(last_set.note.split(";")[0])
    beneath = table.zones.get("Trick beneath it", Zone([]))
    s["trick"] = cards + np.array(beneath.counts(_KINDS))
    request = table.zones.get("Request")
    if request is not None:
        s["request"] = _lay(request)


def _lay(zone: Zone) -> int:
    return int(ACTIONS.index("play", cards=", ".join(zone.cards)) - ACT.play)


def _fill_gifts(s: Any, table: TableInWords) -> None:
    me = table.me
    partner = int(s["partner"][me])
    given = table.find(r"^You gave (.*) to player \d\.$")
    if given:
        s["given"][me] = Zone(given[1].split(", ")).counts(_KINDS)
    received = table.find(r"^Player \d gave you (.*)\.$")
    if received:
        s["given"][partner] = Zone(received[1].split(", ")).counts(_KINDS)
    laid_down = table.zone(me, "cards laid down")
    if laid_down.cards:
        s["given"][me] = laid_down.counts(_KINDS)
    holds = table.find(r"^Everybody knows that you hold (.*)\.$")
    if holds:
        s["known"][me] = Zone(holds[1].split(", ")).counts(_KINDS)
    if partner != NOBODY:  # what is left of the gift is shown: the rest has been played
        left = s["given"][me] - s["known"][partner]
        if s["is_senior"][partner]:
            left = left - s["given"][partner]
        s["played_by"][partner] = np.maximum(left, 0)


def _fill_counts(s: Any, table: TableInWords) -> None:
    """What has been played, and cards that the others may hold beyond those that are known."""
    rows = table.grids[0].rows
    s["played"] = [number(rows[name][2]) for name in KIND_NAMES]
    elsewhere = np.array([number(rows[name][3]) for name in KIND_NAMES])
    for q in range(len(table.seats)):
        if q != table.me:
            elsewhere -= s["hand"][q]
    pool = [kind for kind in range(NUM_KINDS) for _ in range(int(elsewhere[kind]))]
    for q in range(len(table.seats)):
        if q != table.me:
            for _ in range(int(s["hand_size"][q] - s["hand"][q].sum())):
                s["hand"][q, pool.pop()] += 1
            if q == s["alone"] and table.zone(q, "cards laid down").cards:
                for _ in range(2):
                    s["given"][q, pool.pop()] += 1


def _fill_last_hand(s: Any, table: TableInWords) -> None:
    names = ["last_place", "place_points", "lion_points", "hedgehog_points", "hand_points"]
    for grid in table.grids[1:]:
        for label, cells in grid.rows.items():
            q = table.player(label)
            numbers = [number(cell) for cell in cells[:-1]]  # the total is in the table of seats
            columns = names if len(numbers) == len(names) else [names[0], names[1], names[4]]
            for name, value in zip(columns, numbers, strict=True):
                s[name][q] = value
