"""Cards and small labels as drawings."""

from __future__ import annotations

from functools import lru_cache

from card_envs.contract.scene import Card
from card_envs.contract.style import Face
from card_envs.render.colours import INK, PAPER, WHITE, Look, mixed, on, readable
from card_envs.render.drawing import (
    BASELINE,
    LINE,
    Drawing,
    Line,
    Part,
    Rect,
    Text,
    boxed,
    flow,
    wrapped,
)
from card_envs.render.glyphs import width_of

#: Widths of cards; only the large ones and wider have their names on them beside a symbol.
LARGE, SMALL, TINY = 64, 46, 36
_TALL = 1.36  # heights
_STACK = 3
_LETTERS = (13, 12, 11)


@lru_cache(4096)
def draw_card(card: Card, look: Look, size: int) -> Drawing:
    """A card, or several of a kind: a stack with their number. It grows with what is on it."""
    face = look.style.face(card.name) if card.name else None
    count = _tag(f"×{card.count}", INK, WHITE, 13) if card.count > 1 else None
    marks = _tag(card.marks, INK, WHITE, 12) if card.marks else None
    label = face.lettering(card.name) if face and (size >= LARGE or not face.symbol) else ""
    lettering = _lettering(label, size - 7, max(size / LARGE, 1))
    tags = sum(tag.width for tag in (count, marks) if tag)
    width = max(size, lettering.width + 7, tags)
    height = max(size * _TALL, lettering.height + 8)
    fill = mixed(face.colour, PAPER, 0.86) if face else look.style.back
    edge = look.accent if card.highlight else mixed(fill, INK, 0.6 if face else 0.35)
    outline = Rect(width, height, fill, size / 9, edge, 3.5 if card.highlight else 1.5)
    parts: list[tuple[float, float, Part]] = []
    if count:
        parts.append((_STACK, _STACK, Rect(width, height, fill, size / 9, edge, 1.5)))
    parts.append((0, 0, outline))
    parts += _front(face, lettering, width, height) if face else _back(fill, width, height)
    stack = _STACK if count else 0
    if marks:
        parts.append((0, 0, marks))
    if count:
        parts.append((width + stack - count.width, 0, count))
    return Drawing(width + stack, height + stack, tuple(parts), is_kept=True)


def _front(
    face: Face, lettering: Drawing, width: float, height: float
) -> list[tuple[float, float, Part]]:
    colour = readable(face.colour, mixed(face.colour, PAPER, 0.86))
    if not face.symbol:
        top = (height - lettering.height) / 2
        return [((width - lettering.width) / 2, top, lettering)]
    room = height - lettering.height
    parts: list[tuple[float, float, Part]] = []
    x, y, share = width / 2, room / 2, 0.62
    if face.badge and lettering.parts:
        x, y, share = width * 0.37, room * 0.58, 0.48
        parts.append(_centred(face.badge, colour, width * 0.78, room * 0.45, width * 0.3))
    elif face.badge:
        y, share = height * 0.31, 0.56
        parts.append(_centred(face.badge, colour, width / 2, height * 0.76, width * 0.46))
    parts.append(_centred(face.symbol, colour, x, y, min(width * share, room * 0.8)))
    if lettering.parts:
        parts.append(((width - lettering.width) / 2, room - 3, lettering))
    return parts


def _centred(
    symbol: str, colour: str, x: float, y: float, width: float
) -> tuple[float, float, Text]:
    """A symbol around a point, at most this wide and not much higher."""
    size = width / max(width_of(symbol, 1, True), 1)
    text = Text(symbol, round(size, 1), colour, True)
    return x - text.width / 2, y - size * (BASELINE - 0.36), text


def _lettering(label: str, width: float, scale: float) -> Drawing:
    """A label in letters as large as fit into two lines; a long word makes them wider."""
    for size in _LETTERS:
        drawing = wrapped(label, size * scale, INK, width, is_bold=True, is_centred=True)
        if drawing.width <= width and len(drawing.parts) <= 2:
            break
    return drawing


def _back(fill: str, width: float, height: float) -> list[tuple[float, float, Part]]:
    """A frame with a lattice in it."""
    left, step = 6.0, 10.0
    wide, high = width - 2 * left, height - 2 * left
    light = mixed(fill, WHITE, 0.28)
    parts: list[tuple[float, float, Part]] = []
    corner = step
    while corner < wide + high:
        # From the left or lower edge up to the upper or right one, and its mirror image.
        x, y = max(0.0, corner - high), min(corner, high)
        length = min(corner, wide) - x
        parts.append((left + x, left + y, Line(length, -length, light)))
        parts.append((left + wide - x, left + y, Line(-length, -length, light)))
        corner += step
    parts.append((left, left, Rect(wide, high, "", 4, mixed(fill, WHITE, 0.4), 1)))
    return parts


def _tag(text: str, fill: str, colour: str, size: float) -> Drawing:
    label = Text(text, size, colour, True)
    return boxed(label, Rect(label.width + 8, size * LINE, fill, 5), 0, is_centred=True)


@lru_cache(1024)
def pill(name: str, text: str, look: Look, fill: str, colour: str) -> Drawing:
    """A counter: what is counted, as a symbol if the style has one, and the number."""
    face = look.style.faces.get(name)
    parts = [Text(text, 13, colour, True)] if text else []
    if name:
        symbol = Text(face.symbol, 14, colour, True) if face else Text(name, 13, colour)
        parts.insert(0, symbol)
    row = flow(parts, 1e9, 4, 0, is_level=True)
    box = Rect(row.width + 14, 21, fill, 10.5)
    return boxed(row, box, 0, is_centred=True)


@lru_cache(64)
def dot(number: int, colour: str) -> Drawing:
    """A number in a coloured circle."""
    label = Text(str(number), 13, on(colour), True)
    return boxed(label, Rect(21, 21, colour, 10.5), 0, is_centred=True)
