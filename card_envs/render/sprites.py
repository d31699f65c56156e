"""Cards, chips and lines of text as small pictures, each drawn once and kept."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from card_envs.contract.style import Face
from card_envs.utils.extras import import_extra

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

REGULAR, BOLD, EMOJI = "Inter-Regular", "Inter-Bold", "NotoEmoji-Bold"
INK, PAPER, GOLD, WHITE = "#1d2326", "#fdfaf2", "#ffc533", "#ffffff"

_FONTS = Path(__file__).parent / "fonts"
_SCALE = 3  # shapes are drawn larger than they are shown, which smooths their edges
_KEPT = 4096  # sprites; each has a few kilobytes


def pillow(module: str) -> Any:
    """A module of Pillow.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    return import_extra(f"PIL.{module}", "render")


@cache
def font(name: str, size: int) -> FreeTypeFont:
    """A font of the package."""
    fonts = pillow("ImageFont")
    path = _FONTS / f"{name}.ttf"
    loaded: FreeTypeFont = fonts.truetype(path, size, layout_engine=fonts.Layout.BASIC)
    return loaded


@cache
def symbols() -> frozenset[int]:
    """The characters of the font of symbols."""
    characters = (_FONTS / "NotoEmoji.characters.txt").read_text(encoding="utf-8")
    return frozenset(map(ord, characters.strip()))


def _symbol_font(symbol: str) -> str:
    return EMOJI if symbol and ord(symbol[0]) in symbols() else BOLD


def width_of(text: str, name: str, size: int) -> int:
    """The width of a line of text."""
    words = text.split(" ")
    return sum(_width(word, name, size) for word in words) + _space(name, size) * (len(words) - 1)


@lru_cache(_KEPT)
def _width(word: str, name: str, size: int) -> int:
    return round(font(name, size).getlength(word))


@cache
def _space(name: str, size: int) -> int:
    return round(font(name, size).getlength(" "))


def line(text: str, name: str, size: int, colour: str) -> Image:
    """A line of text on nothing; its height depends on the font alone."""
    words = text.split(" ")
    if len(words) == 1:
        return _word(text, name, size, colour)
    image = _blank(width_of(text, name, size), name, size, colour)
    x = 0
    for word in words:  # which recur, while sentences change
        image.paste(_word(word, name, size, colour), (x, 0))
        x += _width(word, name, size) + _space(name, size)
    return image


@lru_cache(_KEPT)
def _word(word: str, name: str, size: int, colour: str) -> Image:
    image = _blank(_width(word, name, size), name, size, colour)
    pillow("ImageDraw").Draw(image).text((1, 0), word, colour, font(name, size))
    return image


def _blank(width: int, name: str, size: int, colour: str) -> Image:
    shape = (width + 2, sum(font(name, size).getmetrics()))
    image: Image = pillow("Image").new("RGBA", shape, f"{colour}00")
    return image


def shortened(text: str, name: str, size: int, width: int) -> str:
    """The text, cut if it is too wide, which three dots say."""
    if width_of(text, name, size) <= width:
        return text
    while text and width_of(f"{text}…", name, size) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrapped(text: str, name: str, size: int, width: int, lines: int) -> tuple[str, ...]:
    """The text in at most ``lines`` lines of at most ``width``; the last one may be cut."""
    rows = [""]
    for word in text.split():
        longer = f"{rows[-1]} {word}".strip()
        if width_of(longer, name, size) <= width or not rows[-1]:
            rows[-1] = longer
        else:
            rows.append(word)
    kept = rows[: lines - 1]
    rest = " ".join(rows[lines - 1 :])
    return tuple(shortened(row, name, size, width) for row in (*kept, rest) if row)


def mixed(colour: str, other: str, share: float) -> str:
    """A colour with a share of another one."""
    pairs = zip(_rgb(colour), _rgb(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _rgb(colour: str) -> Iterable[int]:
    return (int(colour[k : k + 2], 16) for k in (1, 3, 5))


@lru_cache(_KEPT)
def box(
    width: int, height: int, fill: str, radius: int, outline: str = "", thickness: int = 0
) -> Image:
    """A rounded rectangle."""
    shape = (width * _SCALE, height * _SCALE)
    image = pillow("Image").new("RGBA", shape, f"{(outline or fill)[:7]}00")
    pillow("ImageDraw").Draw(image).rounded_rectangle(
        (0, 0, width * _SCALE - 1, height * _SCALE - 1),
        radius * _SCALE,
        fill,
        outline or None,
        thickness * _SCALE,
    )
    reduced: Image = image.reduce(_SCALE)
    return reduced


# ---------------------------------------------------------------------------------------------
# Cards
# ---------------------------------------------------------------------------------------------


@lru_cache(_KEPT)
def card(
    face: Face | None,
    name: str,
    count: int,
    marks: str,
    highlight: bool,
    back: str,
    width: int,
    height: int,
) -> Image:
    """A card, or several of a kind: a stack with their number.

    Args:
        face: The front; None: it lies face down.
        name: What is written on it if the face does not say.
        count: How many there are.
        marks: Signs in the corner.
        highlight: Whether it has a golden edge.
        back: The colour of the back.
        width: Of the card itself; the picture is two pixels larger for a stack.
        height: As the width.
    """
    stack = 4 if count > 1 else 0
    image: Image = pillow("Image").new("RGBA", (width + stack, height + stack))
    edge = GOLD if highlight else mixed(face.colour if face else back, INK, 0.25)
    thickness = 3 if highlight else 2
    fill = mixed(face.colour, PAPER, 0.86) if face else back
    radius = max(4, width // 9)
    if stack:
        image.alpha_composite(box(width, height, fill, radius, edge, 1), (stack, stack))
    image.alpha_composite(box(width, height, fill, radius, edge, thickness), (0, 0))
    if face:
        _draw_face(image, face, name, width, height)
    else:
        _draw_back(image, back, width, height)
    if marks:
        _tag(image, marks, 2, 2, INK, PAPER)
    if count > 1:
        text = f"×{count}"
        wide = width_of(text, BOLD, 14) + 10
        _tag(image, text, width + stack - wide, 0, INK, WHITE, 14)
    return image


def _draw_face(image: Image, face: Face, name: str, width: int, height: int) -> None:
    label = face.lettering(name)
    rows, size = _lettering(label, width - 7)
    text_height = (size + 1) * len(rows) + (6 if rows else 0)
    room = height - text_height
    if face.symbol:
        points = min(room - 10, round(width * (0.52 if face.badge else 0.62)))
        left = width / 2 - (width / 9 if face.badge else 0)
        _centred(image, face.symbol, points, face.colour, left, 3 + room / 2)
    else:
        text_height = (height + text_height) // 2
    if face.badge:
        points = width // 4
        _centred(image, face.badge, points, face.colour, width - 5 - points / 2, 6 + points / 2)
    top = height - text_height
    for row in rows:
        x = (width - width_of(row, BOLD, size)) // 2
        image.alpha_composite(line(row, BOLD, size, INK), (max(x - 1, 0), top - 2))
        top += size + 1


def _lettering(label: str, width: int) -> tuple[tuple[str, ...], int]:
    """A label in at most two lines, in letters as large as fit."""
    for size in (14, 13, 12, 11):
        rows = wrapped(label, BOLD, size, width, 2)
        if not any(row.endswith("…") for row in rows):
            break
    return rows, size


def _draw_back(image: Image, back: str, width: int, height: int) -> None:
    inner = box(width - 12, height - 12, mixed(back, WHITE, 0.12), 4, mixed(back, WHITE, 0.45), 1)
    image.alpha_composite(inner, (6, 6))
    _centred(image, "?", width // 3, mixed(back, WHITE, 0.55), width / 2, height / 2)


def _centred(image: Image, symbol: str, size: int, colour: str, x: float, y: float) -> None:
    used = font(_symbol_font(symbol), size)
    pillow("ImageDraw").Draw(image).text((x, y), symbol, colour, used, anchor="mm")


def _tag(image: Image, text: str, x: int, y: int, fill: str, colour: str, size: int = 11) -> None:
    """Text in a small rounded box."""
    wide = width_of(text, BOLD, size) + 10
    image.alpha_composite(box(wide, size + 5, fill, 6), (max(x, 0), max(y, 0)))
    image.alpha_composite(line(text, BOLD, size, colour), (max(x, 0) + 4, max(y, 0) + 1))


@lru_cache(_KEPT)
def chip(
    face: Face | None, name: str, count: int, marks: str, highlight: bool, back: str, named: bool
) -> Image:
    """A card in a line of text's height: its symbol, its name if ``named``, and how many."""
    size, height = 12, 21
    label = face.lettering(name) if face else ""
    parts: list[tuple[str, str, int, str]] = []
    if face is None:
        parts.append(("?", BOLD, size, WHITE))
    elif face.symbol:
        parts.append((face.symbol, _symbol_font(face.symbol), 14, face.colour))
    if face and face.badge and not named:
        parts.append((face.badge, _symbol_font(face.badge), 12, face.colour))
    if face and label and (named or not face.symbol):
        parts.append((label, BOLD, size, INK))
    if count > 1:
        parts.append((f"×{count}", BOLD, size, INK if face else WHITE))
    if marks:
        parts.append((marks, REGULAR, 11, INK if face else WHITE))
    width = 6 + sum(width_of(text, used, points) + 4 for text, used, points, _ in parts)
    fill = mixed(face.colour, PAPER, 0.82) if face else back
    edge = GOLD if highlight else mixed(face.colour if face else back, INK, 0.25)
    image = box(width, height, fill, 6, edge, 2 if highlight else 1).copy()
    draw = pillow("ImageDraw").Draw(image)
    x = 5
    for text, used, points, colour in parts:
        draw.text((x, height / 2), text, colour, font(used, points), anchor="lm")
        x += width_of(text, used, points) + 4
    return image


@lru_cache(_KEPT)
def pill(text: str, symbol: str, size: int = 13) -> Image:
    """A counter of a seat."""
    height = size + 9
    used = _symbol_font(symbol)
    wide = width_of(symbol, used, size) + 4 if symbol else 0
    width = wide + width_of(text, BOLD, size) + 14
    image = box(width, height, "#00000055", height // 2).copy()
    draw = pillow("ImageDraw").Draw(image)
    if symbol:
        draw.text((7, height / 2), symbol, WHITE, font(used, size), anchor="lm")
    draw.text((7 + wide, height / 2), text, WHITE, font(BOLD, size), anchor="lm")
    return image
