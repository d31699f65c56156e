"""Words and plain tables that scenes, the text renderer and the command line share."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable, Sequence

#: No line of a table in words is longer.
WIDTH = 100

#: What players to the left and the like are called in order.
ORDINALS = ("first", "second", "third", "fourth", "fifth")

_GAP = "  "


def printable(text: str) -> str:
    """The text without characters that could control a terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)


def table(rows: Sequence[Sequence[str]], align: str = "") -> str:
    """The rows in columns; a last column that would exceed ``WIDTH`` continues on further lines.

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
        room = max(WIDTH - indent, 20)
        if len(row[-1]) <= room:
            lines.append(_GAP.join(cells).rstrip())
            continue
        first, *more = textwrap.wrap(row[-1], room)
        lines.append(_GAP.join([*cells[:-1], first]).rstrip())
        lines += [" " * indent + line for line in more]
    return "\n".join(lines)


def filled(text: str, indent: str = "  ") -> str:
    """The text in lines of at most ``WIDTH``, all but the first indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


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
    """A number of things, e.g. ``1 card`` or ``2 cards``; ``plural`` where an s is not enough."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(counts: Iterable[int], nouns: Sequence[str], plurals: Sequence[str]) -> str:
    """Numbers of several things, e.g. ``2 bears, 1 mole``; zeros are left out."""
    return ", ".join(
        counted(count, noun, plural)
        for count, noun, plural in zip(counts, nouns, plurals, strict=True)
        if count
    )


def capitalized(text: str) -> str:
    """The text with its first letter in upper case, and nothing else changed."""
    return text[:1].upper() + text[1:]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``" (did you mean 'ppo'?)"`` for a word that is nearly one of those known, else ``""``."""
    by_lower = {name.lower(): name for name in known if name != word}
    near = [by_lower[name] for name in difflib.get_close_matches(word.lower(), by_lower, 1)]
    return f" (did you mean {near[0]!r}?)" if near else ""
