"""Letters and symbols: how wide they are and what they look like, from the package's fonts."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from card_envs.utils.extras import import_extra

FONTS = Path(__file__).parent / "fonts"
_REGULAR, _BOLD, SYMBOLS = "Inter-Regular", "Inter-Bold", "NotoEmoji-Bold"
#: Units of outlines and widths: the size of a font.
EM = 1000


@cache
def _font(name: str) -> Any:
    return import_extra("fontTools.ttLib", "render").TTFont(FONTS / f"{name}.ttf")


@cache
def characters(font: str) -> dict[int, str]:
    """The characters that a font has, each with its glyph's name."""
    found: dict[int, str] = _font(font).getBestCmap()
    return found


@cache
def font_of(character: str, is_bold: bool) -> str:
    """The font that a character is taken from."""
    letters = _BOLD if is_bold else _REGULAR
    is_symbol = ord(character) in characters(SYMBOLS) and ord(character) not in characters(letters)
    return SYMBOLS if is_symbol else letters


@cache
def _scale(font: str) -> float:
    return EM / float(_font(font)["head"].unitsPerEm)


@cache
def advance(character: str, font: str) -> float:
    """How far the next character is from this one."""
    name = characters(font).get(ord(character), ".notdef")
    return float(_font(font)["hmtx"][name][0]) * _scale(font)


@lru_cache(1 << 14)
def width_of(text: str, size: float, is_bold: bool = False) -> float:
    """The width of a line of text."""
    return sum(advance(char, font_of(char, is_bold)) for char in text) * size / EM


@cache
def outline(character: str, font: str) -> str:
    """The shape of a character as the data of an SVG path, the baseline at 0."""
    glyphs = _font(font).getGlyphSet()
    pen = import_extra("fontTools.pens.svgPathPen", "render").SVGPathPen(
        glyphs, ntos=lambda value: str(round(value))
    )
    scale = _scale(font)
    turned = import_extra("fontTools.pens.transformPen", "render").TransformPen(
        pen, (scale, 0, 0, -scale, 0, 0)
    )
    glyphs[characters(font).get(ord(character), ".notdef")].draw(turned)
    return str(pen.getCommands())
