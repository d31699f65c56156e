"""Drawings as pixels. Pieces are drawn once and kept."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from card_envs.render.drawing import BASELINE, Drawing, Line, Part, Rect, Text
from card_envs.render.glyphs import EM, FONTS, advance, font_of
from card_envs.utils.extras import import_extra

if TYPE_CHECKING:
    from PIL.Image import Image

_SMOOTH = 3  # shapes are drawn larger than they are shown, which smooths their edges


def pillow(module: str) -> Any:
    """A module of Pillow.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    return import_extra(f"PIL.{module}", "render")


def paint(drawing: Drawing, width: int, height: int, ground: str) -> NDArray[np.uint8]:
    """A drawing in the middle of a picture, as large as fits; uint8 (height, width, 3)."""
    scale = min(width / drawing.width, height / drawing.height)
    image: Image = pillow("Image").new("RGB", (width, height), ground)
    left, top = (width - drawing.width * scale) / 2, (height - drawing.height * scale) / 2
    _paint(image, drawing, left, top, scale)
    return np.array(image)


def _paint(image: Image, part: Part, left: float, top: float, scale: float) -> None:
    if isinstance(part, Drawing) and not part.is_kept:
        for x, y, inner in part.parts:
            _paint(image, inner, left + x * scale, top + y * scale, scale)
        return
    x, y = round(left), round(top)
    if isinstance(part, Rect) and part.fill:
        corner = math.ceil(max(part.radius, part.thickness) * scale) + 1
        if 2 * corner < min(part.width, part.height) * scale - 1:
            _paint_large(image, part, x, y, corner, scale)
            return
    sprite = _sprite(part, scale)
    image.paste(sprite, (x, y), sprite)


def _paint_large(image: Image, rect: Rect, x: int, y: int, corner: int, scale: float) -> None:
    """A rectangle of which the corners alone are smoothed and kept."""
    width, height = round(rect.width * scale), round(rect.height * scale)
    edge = max(round(rect.thickness * scale), 1) if rect.edge else 0
    for inset, colour in ((0, rect.edge or rect.fill), (edge, rect.fill)):
        for dx, dy in ((corner, inset), (inset, corner)):
            image.paste(colour, (x + dx, y + dy, x + width - dx, y + height - dy))
    sprite = _sprite(replace(rect, width=2 * corner / scale, height=2 * corner / scale), scale)
    for left, top in product((0, width - corner), (0, height - corner)):
        first, upper = min(left, corner), min(top, corner)
        piece = sprite.crop((first, upper, first + corner, upper + corner))
        image.paste(piece, (x + left, y + top), piece)


@lru_cache(4096)
def _sprite(part: Part, scale: float) -> Image:
    """A part on nothing."""
    size = (round(part.width * scale) + 1, round(part.height * scale) + 1)
    # What is smoothed must not become darker towards nothing.
    ground = f"{part.colour}00" if isinstance(part, Text) else "#00000000"
    image = pillow("Image").new("RGBA", (size[0] * _SMOOTH, size[1] * _SMOOTH), ground)
    _draw(image, part, 0, 0, scale * _SMOOTH)
    smooth: Image = image.reduce(_SMOOTH)
    return smooth


def _draw(image: Image, part: Part, x: float, y: float, scale: float) -> None:
    if isinstance(part, Drawing):
        for dx, dy, inner in part.parts:
            _draw(image, inner, x + dx * scale, y + dy * scale, scale)
    elif isinstance(part, Text):
        size = part.size * scale
        # Letter by letter, since hinting would make words wider or narrower.
        for char in part.text:
            font = font_of(char, part.is_bold)
            letter = _letter(char, font, round(size))
            place = (round(x), round(y + BASELINE * size) - letter.height // 2)
            image.paste(part.colour, place, letter)
            x += advance(char, font) * size / EM
    else:
        draw = pillow("ImageDraw").Draw(image)
        end = (x + part.width * scale, y + part.height * scale)
        if isinstance(part, Line):
            draw.line(((x, y), end), part.colour, round(part.thickness * scale))
            return
        draw.rounded_rectangle(
            (x, y, end[0] - 1, end[1] - 1),
            part.radius * scale,
            part.fill or None,
            part.edge or None,
            round(part.thickness * scale),
        )


@lru_cache(4096)
def _letter(char: str, font: str, size: int) -> Image:
    """A character as a mask, whose middle is the baseline's height."""
    fonts = pillow("ImageFont")
    loaded = fonts.truetype(FONTS / f"{font}.ttf", size, layout_engine=fonts.Layout.BASIC)
    mask: Image = pillow("Image").new("L", (round(advance(char, font) * size / EM) + 4, 3 * size))
    pillow("ImageDraw").Draw(mask).text((0, mask.height // 2), char, 255, loaded, anchor="ls")
    return mask
