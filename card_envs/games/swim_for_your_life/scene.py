"""The table of Swim for Your Life as data, as one player may know it."""

from __future__ import annotations

from collections.abc import Sequence
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
    cards_of,
    clockwise,
    counted,
    hand_of,
    is_over,
    label_of,
    request,
    scene_of,
    seat_of,
    to_move,
)
from card_envs.games.swim_for_your_life.actions import ACT
from card_envs.games.swim_for_your_life.cards import (
    ANIMAL_NAMES,
    DECK_COUNTS,
    HARE,
    LAID_DOWN,
    NUM_ANIMALS,
    NUM_ROWS,
    NUM_SETS,
    ROW_OF,
    VALUES,
)
from card_envs.games.swim_for_your_life.knowledge import unknown_cards
from card_envs.games.swim_for_your_life.state import (
    IN_GAME,
    NO_ACTION,
    NOBODY,
    least_majority,
    means_sudden_death,
    players_left,
)
from card_envs.games.swim_for_your_life.text import PLURALS, in_words

_TAPPED = "T"


def scene(
    states: NDArray[np.void], i: int, player: int, memory: int, is_open: bool = False
) -> Scene:
    """The table of ``states[i]``: all that the player can know, and nothing else.

    With ``is_open`` everybody's cards are face up.
    """
    s = states[i]
    grids = [_counts(s, player, memory)]
    if s["was_in_round"].any():
        grids.append(_last_round(s, player))
    return scene_of(
        s,
        player,
        title=_title(s),
        seats=[_seat(s, player, q, memory, is_open) for q in clockwise(s, player)],
        zones=_zones(s),
        grids=grids,
        notes=_notes(s, player),
        legend=_legend(s, grids[0]),
        prompt=_prompt,
        results=[_fate(s, q) for q in range(s["num_players"])],
        wins="the last one left",
    )


def _title(s: Any) -> str:
    if s["terminated"]:
        return f"Swim for Your Life, after {counted(s['round'], 'round')}"
    left = f"{players_left(s)} of {counted(s['num_players'], 'player')} left"
    return f"Swim for Your Life, round {s['round'] + 1}, {left}"


# ---------------------------------------------------------------------------------------------
# Cards
# ---------------------------------------------------------------------------------------------


def _zones(s: Any) -> list[Zone]:
    """The rows, and how many cards are out of the round."""
    zones = [
        Zone(f"row {row + 1}", _cards(s["row"][row]), highlight=not is_over(s))
        for row in range(NUM_ROWS)
    ]
    if s["left_over"].any():
        cards = (Card(count=int(s["left_over"].sum())),)
        zones.append(Zone("out of the round", cards, "pile"))
    return zones


def _cards(counts: Sequence[int]) -> tuple[Card, ...]:
    return cards_of(counts, ANIMAL_NAMES, PLURALS)


def _seat(s: Any, observer: int, q: int, memory: int, is_open: bool) -> Seat:
    return seat_of(
        s,
        q,
        observer,
        mark=_TAPPED if s["tapper"] == q else "",
        counters=[("lives", int(s["lives"][q]))],
        zones=_hand(s, observer, q, memory, is_open),
        note=_last_turn(s, q),
    )


def _hand(s: Any, observer: int, q: int, memory: int, is_open: bool) -> list[Zone]:
    """A hand, if there is one: the observer's own, or what they know of another."""
    size = int(s["hand"][q].sum())
    if size == 0:
        return []
    if q == observer or is_open:
        return [Zone("hand", _cards(s["hand"][q]), highlight=to_move(s, q))]
    return [hand_of(_cards(s["least"][q]) if memory == MEMORY_PERFECT else (), size)]


def _last_turn(s: Any, q: int) -> str:
    action = int(s["last_action"][q])
    if action == ACT.tap:
        return "tapped"
    if action != NO_ACTION:
        laid_down, taken = in_words(LAID_DOWN[action]), in_words(s["last_taken"][q])
        return f"row {ROW_OF[action] + 1}: laid down {laid_down}; took {taken}"
    return "no turn yet" if s["lives"][q] else _fate(s, q)


def _fate(s: Any, q: int) -> str:
    """How far a player has come."""
    if s["standing"][q] < IN_GAME:
        return f"out in round {s['standing'][q] + 1}"
    return counted(s["lives"][q], "life", "lives")


# ---------------------------------------------------------------------------------------------
# What is known of the cards, in numbers
# ---------------------------------------------------------------------------------------------


def _counts(s: Any, observer: int, memory: int) -> Grid:
    """The animals' values, what is known of each hand, and the cards that are not located."""
    remembers = memory == MEMORY_PERFECT
    public = DECK_COUNTS - s["row"].sum(axis=0) - (s["least"].sum(axis=0) if remembers else 0)
    unseen = public - s["hand"][observer]
    rows: list[tuple[str | int, ...]] = [("value", *VALUES)]
    if remembers:
        unseen += s["least"][observer]
        for q in clockwise(s, observer):
            if s["hand"][q].any():
                label = "you (known to all)" if q == observer else f"player {q} at least"
                rows.append((label, *_bounds(s, q, public if q == observer else unseen)))
    rows.append(("unseen by you", *unseen.tolist()))
    if remembers:
        head = ("", *ANIMAL_NAMES, "unknown")
        return Grid("", head, tuple((*row, *[""] * (len(head) - len(row))) for row in rows))
    return Grid("", ("", *ANIMAL_NAMES), tuple(rows))


def _bounds(s: Any, q: int, unseen: NDArray[np.integer[Any]]) -> list[str | int]:
    """What is known of a hand: the fewest cards of each animal, and how many are unknown.

    A range where it is also known that there cannot be as many as there are unseen cards.
    """
    unknown = int(unknown_cards(s, q))
    cells: list[str | int] = s["least"][q].tolist()
    for k in range(NUM_SETS):
        least, most = s["least"][q, HARE + k], s["most"][q, k]
        if most < least + min(unknown, unseen[HARE + k]):
            cells[HARE + k] = f"{least}-{most}"
    return [*cells, unknown]


def _legend(s: Any, counts: Grid) -> tuple[tuple[str, str], ...]:
    legend = [(_TAPPED, "tapped")] if s["tapper"] != NOBODY else []
    legend.append((".", "none"))
    if any("-" in str(cell) for row in counts.rows for cell in row):
        legend.append(("1-4", "at least 1 and at most 4"))
    return tuple(legend)


# ---------------------------------------------------------------------------------------------
# The end of a round
# ---------------------------------------------------------------------------------------------


def _last_round(s: Any, observer: int) -> Grid:
    """How the last round ended, and what it cost."""
    in_round = [q for q in clockwise(s, observer) if s["was_in_round"][q]]
    winner = int(s["sudden_death"])
    if winner == NOBODY:
        title, lines = _counted_hands(s, in_round)
    else:
        title, lines = _sudden_death(s, in_round, observer)
    rows: list[tuple[str | int, ...]] = []
    if winner == NOBODY:
        rows.append(("value", *(f"{value} " for value in VALUES), "", ""))
    for q, line in zip(in_round, lines, strict=True):
        lost = int(s["lives_lost"][q])
        rows.append((label_of(q, observer), *line, f"{-lost:+d}" if lost else "0"))
    head = ("", *ANIMAL_NAMES, "total", "lives")
    return Grid(f"round {s['round']}{title}", head, tuple(rows))


def _counted_hands(s: Any, in_round: Sequence[int]) -> tuple[str, list[list[str | int]]]:
    """SW-11 to SW-13: the hands with their majorities, and the totals."""
    title = ", as it was counted (* a majority"
    least = least_majority(len(in_round))
    title += ", of at least two cards)" if least == 2 else ")"
    totals = s["totals"][in_round]
    if (totals == totals[0]).all():
        title += ", all level"
    hands = s["revealed"][in_round]
    lines = []
    for k, total in enumerate(totals):
        others = np.delete(hands, k, axis=0).max(axis=0, initial=0)
        has_majority = hands[k] > np.maximum(others, least - 1)
        # A blank where there is no star keeps the numbers in line.
        cells = [
            f"{count}{'*' if has else ' '}" if count else 0
            for count, has in zip(hands[k].tolist(), has_majority, strict=True)
        ]
        lines.append([*cells, str(total)])
    return title, lines


def _sudden_death(
    s: Any, in_round: Sequence[int], observer: int
) -> tuple[str, list[list[str | int]]]:
    """SW-9: the hand that ended the round; nobody else's was shown."""
    winner = int(s["sudden_death"])
    hand = s["revealed"][winner]
    sets = " and ".join(
        f"all {hand[animal]} {PLURALS[animal]}"
        for animal in range(NUM_ANIMALS)
        if means_sudden_death(s, animal) and hand[animal] == DECK_COUNTS[animal]
    )
    title = f", ended by sudden death: {label_of(winner, observer)} had {sets}"
    shown = [*hand.tolist(), ""]
    return title, [shown if q == winner else [""] * (NUM_ANIMALS + 1) for q in in_round]


# ---------------------------------------------------------------------------------------------
# The course of the round, and what is to be decided
# ---------------------------------------------------------------------------------------------


def _notes(s: Any, observer: int) -> list[str]:
    notes = []
    if not s["terminated"]:
        starter = capitalized(label_of(int(s["starter"]), observer))
        turns = counted(s["turns"], "turn")
        notes.append(f"{starter} started the round; it has lasted {turns} so far.")
        if players_left(s) == 2:
            notes.append("With two players left a majority takes at least two cards.")
    if s["expert"]:
        notes.append(
            "Expert variant: sudden death only by all hares or all pigs; its player gains a life."
        )
    if not is_over(s):
        notes.append(_tapping(s, observer))
    return notes


def _tapping(s: Any, observer: int) -> str:
    if s["tapper"] == NOBODY:
        return "Nobody has tapped; a player who has exchanged in this round may tap."
    who = capitalized(label_of(int(s["tapper"]), observer))
    return f"{who} tapped: the last lap, one turn for each of the others."


def _prompt(s: Any, observer: int) -> str:
    is_own, is_last = s["current_player"] == observer, s["tapper"] != NOBODY
    tap = ", or tap to change nothing" if is_last else ", or tap and begin the last lap"
    what = "exchange a row"
    if s["has_exchanged"][s["current_player"]]:
        what += tap if is_own else " or to tap"
    if is_own and is_last:
        return f"Your last turn of the round: {what}."
    return request(s, observer, what)
