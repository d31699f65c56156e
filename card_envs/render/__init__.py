"""Plain text that the games and the command line share."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

#: No line of a table in words is longer.
WIDTH = 100

_GAP = "  "
_NUMBER = re.compile(r"\d+")


def table(rows: Sequence[Sequence[str]], align: str = "") -> str:
    """The rows in columns; a last column that would pass ``WIDTH`` goes on in further lines.

    Args:
        rows: Rows of cells, all of one length.
        align: One ``<`` or ``>`` for each column; columns beyond its length are left-aligned.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    indent = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    lines = []
    for row in rows:
        cells = [
            f"{cell:{side}{width}}"
            for cell, side, width in zip(row, align.ljust(len(row), "<"), widths, strict=True)
        ]
        first, *more = textwrap.wrap(row[-1], max(WIDTH - indent, 20)) or [""]
        if not more:
            lines.append(_GAP.join(cells).rstrip())
            continue
        lines.append(_GAP.join([*cells[:-1], first]).rstrip())
        lines += [" " * indent + line for line in more]
    return "\n".join(lines)


def ranges(numbers: Sequence[int]) -> str:
    """Ascending whole numbers in short, e.g. ``0-3, 5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def counted(number: int, noun: str, plural: str = "") -> str:
    """So many of something, e.g. ``1 card`` or ``2 cards``; ``plural`` where an s does not do."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(counts: Iterable[int], nouns: Sequence[str], plurals: Sequence[str]) -> str:
    """What there is of several things, e.g. ``2 bears, 1 mole``; as ``counted``, thing by thing."""
    return ", ".join(
        counted(count, noun, plural)
        for count, noun, plural in zip(counts, nouns, plurals, strict=True)
        if count
    )


def cell(count: int) -> str:
    """A count in a table: a dot for none."""
    return str(count) if count else "."


def kind_of(action_name: str) -> str:
    """What an action's name has in common with those of its kind, with ... or # for the rest.

    Names of one kind differ in what follows a colon, or else in their numbers.
    """
    head, colon, _ = action_name.partition(": ")
    return f"{head}: ..." if colon else _NUMBER.sub("#", action_name)


def by_kind(action_names: Mapping[int, str]) -> dict[str, list[int]]:
    """The actions of each kind."""
    kinds: dict[str, list[int]] = {}
    for action, name in action_names.items():
        kinds.setdefault(kind_of(name), []).append(action)
    return kinds


# ---------------------------------------------------------------------------------------------
# What the descriptions of all games say in the same way; ``s`` is a record of any game
# ---------------------------------------------------------------------------------------------


def name_of(player: int, observer: int) -> str:
    """How the observer calls a player."""
    return "you" if player == observer else f"player {player}"


def seats(
    s: Any,
    observer: int,
    head: Sequence[str],
    cells: Callable[[int], Sequence[str]],
    *,
    marked: int = -1,
    mark: str = "",
    align: str = ">",
) -> str:
    """One line for each player, the observer first, then clockwise; > marks who is to move.

    Args:
        s: The record.
        observer: Who looks at the table.
        head: The heads of the game's own columns.
        cells: Gives a player's cells in these columns.
        marked: A player with a mark of his own (while he is not to move), or -1.
        mark: That mark.
        align: One ``<`` or ``>`` for each of the game's own columns, as in ``table``.
    """
    n = int(s["num_players"])
    lines = [["", "player", "seat", *head]]
    for seat in range(n):
        player = (observer + seat) % n
        sign = mark if player == marked else ""
        if player == s["current_player"] and not (s["terminated"] or s["truncated"]):
            sign = ">"
        place = f"{seat} left" if seat else "you"
        lines.append([sign, f"player {player}", place, *cells(player)])
    return table(lines, align=f"<<<{align}")


def last_lap(player: int, observer: int, did: str) -> str:
    """That the player began the last lap, and how: he ``did`` it."""
    return (
        f"{name_of(player, observer).capitalize()} {did}: "
        "the last lap, one turn for each of the others."
    )


def standing(s: Any, observer: int, notes: Sequence[str], *, wins: str, align: str = "<") -> str:
    """The final standing, or how a game stood that was stopped: the game's field ``standing``.

    Args:
        s: The record.
        observer: Who looks at the table.
        notes: What to say beside each player.
        wins: Who wins a game.
        align: ``<`` or ``>``: how the notes are aligned.
    """
    values = s["standing"][: s["num_players"]].tolist()
    places = [1 + sum(other > value for other in values) for value in values]
    lines = [
        [f"  {place}.", name_of(player, observer), notes[player]]
        for place, player in sorted(zip(places, range(len(values)), strict=True))
    ]
    head = f"The game is over. The final standing ({wins} wins):"
    if s["truncated"]:
        head = f"The game was stopped after {counted(s['steps'], 'decision')}. The standing so far:"
    return head + "\n" + table(lines, align=f"<<{align}")
