"""Drawings: rectangles, lines and texts at places, and how they are put side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from card_envs.render.glyphs import width_of

#: Of a line of text, in sizes of its font: its height, and where its baseline is.
LINE, BASELINE = 1.3, 0.98


@dataclass(frozen=True)
class Rect:
    """A rectangle with round corners; its edge lies within it."""

    width: float
    height: float
    fill: str
    radius: float = 0
    edge: str = ""
    thickness: float = 0


@dataclass(frozen=True)
class Line:
    """A line by (width, height), from where it is placed."""

    width: float
    height: float
    colour: str
    thickness: float = 1


@dataclass(frozen=True)
class Text:
    """A line of text."""

    text: str
    size: float
    colour: str
    is_bold: bool = False

    @property
    def width(self) -> float:
        """Its width."""
        return width_of(self.text, self.size, self.is_bold)

    @property
    def height(self) -> float:
        """Its height, which depends on the size alone."""
        return self.size * LINE


@dataclass(frozen=True)
class Drawing:
    """Things at places.

    Args:
        width: Its width, in the pixels of a picture that is not scaled.
        height: Its height.
        parts: What is drawn, in this order, each with its left and its upper edge.
        is_kept: Whether it is likely to occur again as it is, such as a card.
    """

    width: float
    height: float
    parts: tuple[tuple[float, float, Part], ...]
    is_kept: bool = False

    @cached_property
    def _hash(self) -> int:
        return hash((self.width, self.height, self.parts))

    def __hash__(self) -> int:
        return self._hash


Part = Rect | Line | Text | Drawing


def column(parts: Iterable[Part | None], gap: float, *, is_centred: bool = False) -> Drawing:
    """Parts on top of each other; None and what is empty take no room."""
    shown = [part for part in parts if part is not None and part.height]
    width = max((part.width for part in shown), default=0)
    places, y = [], 0.0
    for part in shown:
        places.append(((width - part.width) / 2 if is_centred else 0.0, y, part))
        y += part.height + gap
    return Drawing(width, max(y - gap, 0), tuple(places))


def flow(
    parts: Sequence[Part],
    width: float,
    gap: float,
    line_gap: float,
    *,
    is_centred: bool = False,
    is_level: bool = False,
) -> Drawing:
    """Parts side by side, in as many lines as they need; only a single part can be wider.

    Args:
        parts: The parts.
        width: The room for a line.
        gap: Between two parts of a line.
        line_gap: Between two lines.
        is_centred: Whether shorter lines stand in the middle of the longest.
        is_level: Whether lower parts stand half way up the highest of their line.
    """
    lines: list[list[Part]] = []
    room = -1.0
    for part in parts:
        if part.width > room:
            lines.append([])
            room = width
        lines[-1].append(part)
        room -= part.width + gap
    rows = []
    for line in lines:
        tallest = max(part.height for part in line)
        x, places = 0.0, []
        for part in line:
            places.append((x, (tallest - part.height) / 2 if is_level else 0.0, part))
            x += part.width + gap
        rows.append(Drawing(x - gap, tallest, tuple(places)))
    return column(rows, line_gap, is_centred=is_centred)


@lru_cache(4096)
def wrapped(
    text: str,
    size: float,
    colour: str,
    width: float,
    *,
    is_bold: bool = False,
    is_centred: bool = False,
) -> Drawing:
    """A text in lines of at most this width; only a single word can be wider."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size, is_bold) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    shown = [Text(line, size, colour, is_bold) for line in lines if line]
    return column(shown, 0, is_centred=is_centred)


def centred(part: Part, width: float, height: float) -> Drawing:
    """A part in the middle of a room."""
    return Drawing(width, height, (((width - part.width) / 2, (height - part.height) / 2, part),))


def boxed(part: Part, box: Rect, padding: float, *, is_centred: bool = False) -> Drawing:
    """A part on a rectangle, which grows if it has to."""
    box = replace(
        box,
        width=max(box.width, part.width + 2 * padding),
        height=max(box.height, part.height + 2 * padding),
    )
    inner = (padding, padding, part)
    if is_centred:
        inner = (0, 0, centred(part, box.width, box.height))
    return Drawing(box.width, box.height, ((0, 0, box), inner))
