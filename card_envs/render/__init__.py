"""Plain text that the games and the command line share."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

#: No line of a table in words is longer.
WIDTH = 100

_GAP = "  "


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
