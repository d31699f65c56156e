"""Drawings as SVG, with the shapes of letters in it: it looks the same without any font."""

from __future__ import annotations

import hashlib
from html import escape

from card_envs.render.drawing import BASELINE, Drawing, Line, Part, Rect, Text
from card_envs.render.glyphs import EM, advance, font_of, outline


def write(drawing: Drawing, width: float, title: str, description: str) -> str:
    """A drawing as the text of an SVG file.

    Args:
        drawing: The drawing.
        width: The width at which it is shown.
        title: What it shows, for those who cannot see it.
        description: The same at length.
    """
    defs: dict[str, str] = {}
    body = _drawn(drawing, 0, 0, defs)
    height = _n(width * drawing.height / drawing.width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{height}" '
        f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" role="img">\n'
        f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n"
        f"<defs>\n{''.join(defs.values())}</defs>\n{body}</svg>\n"
    )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _drawn(part: Part, x: float, y: float, defs: dict[str, str]) -> str:
    if isinstance(part, Rect):
        half = part.thickness / 2 if part.edge else 0
        edge = f' stroke="{part.edge}" stroke-width="{_n(part.thickness)}"' if part.edge else ""
        return (
            f'<rect x="{_n(x + half)}" y="{_n(y + half)}" width="{_n(part.width - 2 * half)}" '
            f'height="{_n(part.height - 2 * half)}" rx="{_n(max(part.radius - half, 0))}" '
            f'fill="{part.fill or "none"}"{edge}/>\n'
        )
    if isinstance(part, Line):
        return (
            f'<path d="M{_n(x)} {_n(y)}l{_n(part.width)} {_n(part.height)}" '
            f'stroke="{part.colour}" stroke-width="{_n(part.thickness)}"/>\n'
        )
    if isinstance(part, Text):
        return _letters(part, x, y, defs)
    if part.is_kept:
        name = _defined("c", "".join(_drawn(p, dx, dy, defs) for dx, dy, p in part.parts), defs)
        return f'<use href="#{name}" x="{_n(x)}" y="{_n(y)}"/>\n'
    return "".join(_drawn(p, x + dx, y + dy, defs) for dx, dy, p in part.parts)


def _letters(text: Text, x: float, y: float, defs: dict[str, str]) -> str:
    at, uses = 0.0, []
    for char in text.text:
        font = font_of(char, text.is_bold)
        if shape := outline(char, font):
            name = _defined("g", f'<path d="{shape}"/>\n', defs)
            uses.append(f'<use href="#{name}" x="{round(at)}"/>')
        at += advance(char, font)
    where = f"translate({_n(x)} {_n(y + text.size * BASELINE)}) scale({text.size / EM:.5g})"
    return f'<g transform="{where}" fill="{text.colour}">{"".join(uses)}</g>\n'


def _defined(kind: str, content: str, defs: dict[str, str]) -> str:
    """The name of something that is drawn repeatedly.

    It follows from the content, since a page may hold several pictures, whose names must not clash.
    """
    name = kind + hashlib.blake2b(content.encode(), digest_size=4).hexdigest()
    defs.setdefault(name, f'<g id="{name}">{content}</g>\n')
    return name
