"""Draws a scene as a picture. It knows no game: what cards look like is the game's ``Style``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.scene import Card, Grid, Scene, Seat, Zone
from card_envs.contract.style import Style
from card_envs.render import sprites
from card_envs.render.sprites import BOLD, GOLD, REGULAR, WHITE, line, mixed, shortened
from card_envs.utils.words import capitalized

if TYPE_CHECKING:
    from PIL.Image import Image

#: Pixels of every picture.
WIDTH, HEIGHT = 960, 720

_GAP = 8
#: The height of the strip with the title.
HEADER = 40
_FOOTER = 54
_ONE_ROW, _TWO_ROWS = 176, 146  # the height of the other seats' boxes
_OWN = 180
_TITLE_OF_SEAT = 32
_ZONE_GAP = 14
_SHORT = 5  # letters of a counter that needs its name
_MUTED = "#d8e2de"
_SHADE = "#00000038"
# Colours of players that people with any colour vision can tell apart (Okabe and Ito).
_PLAYERS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1")


@dataclass(frozen=True)
class _Box:
    x: int
    y: int
    width: int
    height: int

    def inset(self, margin: int) -> _Box:
        return _Box(
            self.x + margin, self.y + margin, self.width - 2 * margin, self.height - 2 * margin
        )


def draw(scene: Scene, style: Style) -> NDArray[np.uint8]:
    """The table as a picture, uint8 (HEIGHT, WIDTH, 3).

    Raises:
        MissingExtraError: Pillow, of the extra ``render``, is not installed.
    """
    return np.array(_Picture(scene, style).image)


class _Picture:
    """One picture, drawn when it is made."""

    def __init__(self, scene: Scene, style: Style) -> None:
        self.scene, self.style = scene, style
        self.image: Image = _background(style.table).copy()
        others = scene.seats[1:]
        half = (len(others) + 1) // 2
        rows = [others] if len(others) <= 3 else [others[:half], others[half:]]
        self._header()
        top = HEADER + _GAP
        for row in rows:
            height = _ONE_ROW if len(rows) == 1 else _TWO_ROWS
            self._seats(row, _Box(_GAP, top, WIDTH - 2 * _GAP, height))
            top += height + _GAP
        bottom = HEIGHT - _FOOTER - _OWN
        free = [
            self._middle(_Box(_GAP, top, WIDTH - 2 * _GAP, bottom - top - _GAP)),
            self._seat(scene.seats[0], _Box(_GAP, bottom, WIDTH - 2 * _GAP, _OWN - _GAP)),
        ]
        self._grids(free)
        self._footer(_Box(_GAP, HEIGHT - _FOOTER, WIDTH - 2 * _GAP, _FOOTER))

    def _put(self, image: Image, x: int, y: int) -> None:
        self.image.paste(image, (x, y), image)

    def _text(self, text: str, x: int, y: int, font: str, size: int, colour: str) -> None:
        self._put(line(text, font, size, colour), x, y)

    # -----------------------------------------------------------------------------------------
    # The edges
    # -----------------------------------------------------------------------------------------

    def _header(self) -> None:
        self._text(self.scene.title, 14, 8, BOLD, 19, WHITE)
        mover = next((seat for seat in self.scene.seats if seat.to_move), None)
        if mover is not None:
            text = "your turn" if mover.label == "you" else f"{mover.label} to move"
            width = sprites.width_of(text, BOLD, 15)
            self._text(text, WIDTH - width - 16, 10, BOLD, 15, GOLD)

    def _footer(self, box: _Box) -> None:
        """The prompt, and what the signs mean."""
        y = box.y
        for row in sprites.wrapped(self.scene.prompt, BOLD, 14, box.width - 12, 2):
            self._text(row, box.x + 6, y, BOLD, 14, WHITE)
            y += 17
        legend = [f"{sign} {meaning}" for sign, meaning in self.scene.legend if sign != "."]
        text = shortened(", ".join(legend), REGULAR, 12, box.width - 12)
        self._text(text, box.x + 6, y, REGULAR, 12, _MUTED)

    # -----------------------------------------------------------------------------------------
    # The seats
    # -----------------------------------------------------------------------------------------

    def _seats(self, seats: Sequence[Seat], box: _Box) -> None:
        for k, seat in enumerate(seats):
            left = box.x + k * (box.width + _GAP) // len(seats)
            right = box.x + (k + 1) * (box.width + _GAP) // len(seats) - _GAP
            self._seat(seat, _Box(left, box.y, right - left, box.height))

    def _seat(self, seat: Seat, box: _Box) -> _Box:
        """A seat; returns the room that is left beside its cards."""
        edge = (GOLD, 3) if seat.to_move else (mixed(self.style.table, "#000000", 0.45), 1)
        fill = mixed(self.style.table, "#000000", 0.22)
        self._put(sprites.box(box.width, box.height, fill, 10, *edge), box.x, box.y)
        colour = _PLAYERS[seat.player % len(_PLAYERS)]
        self._put(sprites.box(22, 22, colour, 11), box.x + 8, box.y + 6)
        number = str(seat.player)
        x = box.x + 19 - sprites.width_of(number, BOLD, 14) // 2
        self._text(number, x, box.y + 8, BOLD, 14, WHITE)
        x, y = box.x + 38, box.y + 6
        self._text(seat.label, x, y, BOLD, 15, GOLD if seat.to_move else WHITE)
        x += sprites.width_of(seat.label, BOLD, 15) + 8
        if seat.mark:
            tag = sprites.pill(seat.mark, "")
            self._put(tag, x, y - 1)
            x += tag.width + 4
        inner = box.inset(8)
        top = self._counters(seat, x, y - 1, inner)
        bottom = inner.y + inner.height
        if seat.note:
            rows = sprites.wrapped(seat.note, REGULAR, 13, inner.width, 2)
            bottom -= 17 * len(rows)
            for k, row in enumerate(rows):
                self._text(row, inner.x, bottom + 2 + 17 * k, REGULAR, 13, _MUTED)
        return self._zones(seat.zones, _Box(inner.x, top, inner.width, bottom - top))

    def _counters(self, seat: Seat, left: int, y: int, inner: _Box) -> int:
        """Points and the like beside the name, and below it if need be; returns where they end."""
        pills = [
            sprites.pill(*_counter(self.style, name, value))
            for name, value in seat.counters
            if value != "-"
        ]
        right = inner.x + inner.width
        x = max(right - sum(pill.width + 4 for pill in pills) + 4, left)
        below = y + _TITLE_OF_SEAT - 8
        for pill in pills:
            if x + pill.width > right and y < below:
                x, y = inner.x, below
            if x + pill.width <= right:
                self._put(pill, x, y)
                x += pill.width + 4
        return y + _TITLE_OF_SEAT - 5

    # -----------------------------------------------------------------------------------------
    # Cards
    # -----------------------------------------------------------------------------------------

    def _zones(self, zones: Sequence[Zone], box: _Box) -> _Box:
        """The zones, as large as they fit into the box; returns the room that is left beside."""
        for size in _SIZES:
            blocks = [_block(zone, self.style, size, box.width) for zone in zones]
            shapes = [(block.width, block.height) for block in blocks]
            places, height = _flow(shapes, box.width, _ZONE_GAP, 4)
            if height <= box.height:
                break
        for block, (x, y) in zip(blocks, places, strict=True):
            for image, dx, dy in block.images:
                if y + dy + image.height <= box.height + _GAP:
                    self._put(image, box.x + x + dx, box.y + y + dy)
        used = max(
            (x + width for (x, _), (width, _) in zip(places, shapes, strict=True)), default=0
        )
        used += _ZONE_GAP
        return _Box(box.x + used, box.y, box.width - used, box.height)

    # -----------------------------------------------------------------------------------------
    # The middle
    # -----------------------------------------------------------------------------------------

    def _middle(self, box: _Box) -> _Box:
        """What belongs to nobody, and sentences below; returns the room that is left beside."""
        if self.scene.standing:
            return self._standing(box)
        rows = [
            row
            for note in self.scene.notes
            for row in sprites.wrapped(note, REGULAR, 13, box.width - 12, 2)
        ]
        needed = _SIZES[0].height + 24 if self.scene.zones else 0
        rows = rows[: max((box.height - needed) // 17, 1)]
        top = box.y + box.height - 17 * len(rows)
        for k, row in enumerate(rows):
            self._text(row, box.x + 6, top + 17 * k, REGULAR, 13, _MUTED)
        inner = _Box(box.x + 6, box.y, box.width - 12, top - box.y - 4)
        return self._zones(self.scene.zones, inner)

    def _grids(self, free: Sequence[_Box]) -> None:
        """Numbers, where there is room for them; the rest is told by the text alone."""
        for grid in map(_grid, self.scene.grids):
            for k, box in enumerate(free):
                if grid.width <= box.width and grid.height <= box.height:
                    self._put(grid, box.x + box.width - grid.width, box.y)
                    used = grid.height + _GAP
                    below = _Box(box.x, box.y + used, box.width, box.height - used)
                    free = [*free[:k], below, *free[k + 1 :]]
                    break

    def _standing(self, box: _Box) -> _Box:
        y = box.y + 2
        used = 0
        for row in sprites.wrapped(self.scene.standing_title, BOLD, 16, box.width - 12, 2):
            self._text(row, box.x + 6, y, BOLD, 16, GOLD)
            y += 22
        step = min(24, (box.y + box.height - y) // max(len(self.scene.standing), 1))
        first = y
        for place in self.scene.standing:
            font = BOLD if place.place == 1 else REGULAR
            columns = ((14, f"{place.place}."), (44, capitalized(place.label)), (150, place.result))
            for x, text in columns:
                text = shortened(text, font, 15, box.width - x - 12)
                self._text(text, box.x + x, y, font, 15, WHITE)
                used = max(used, x + sprites.width_of(text, font, 15) + 2 * _GAP)
            y += step
        return _Box(box.x + used, first, box.width - used, box.y + box.height - first)


# ---------------------------------------------------------------------------------------------
# Zones as blocks of pictures
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Size:
    """How large cards are drawn; no width: as chips, with their names or without."""

    width: int = 0
    height: int = 0
    named: bool = True


_SIZES = (_Size(72, 98), _Size(64, 84), _Size(60, 68), _Size(), _Size(named=False))


@dataclass(frozen=True)
class _Block:
    width: int
    height: int
    images: tuple[tuple[Image, int, int], ...]


@lru_cache(1024)
def _block(zone: Zone, style: Style, size: _Size, most: int) -> _Block:
    """A zone: its name and note above its cards."""
    # A pile of many known kinds is a list, not something to look at.
    is_list = not size.width or (zone.layout == "pile" and len(zone.cards) > 3)
    name = capitalized(zone.name) + ("" if zone.cards else ": empty")
    heading = line(name, BOLD, 13, GOLD if zone.highlight else WHITE)
    if is_list:
        chips = [_chip(card, style, size.named) for card in zone.cards]
        pictures = [heading, *chips]
        places, height = _flow([(p.width, p.height) for p in pictures], most, 4, 3)
        width = max(x + p.width for p, (x, _) in zip(pictures, places, strict=True))
        images = [(p, x, y) for p, (x, y) in zip(pictures, places, strict=True)]
        return _Block(width, height, tuple(images))
    images = [(heading, 0, 0)]
    width = heading.width
    if zone.note:
        room = most - width - 4
        if room > 40:
            note = line(shortened(zone.note, REGULAR, 12, room - 6), REGULAR, 12, _MUTED)
            images.append((note, width + 4, 1))
            width += note.width + 4
    pictures = [_card(card, style, size) for card in zone.cards]
    places, height = _flow([(p.width, p.height) for p in pictures], most, 4, 4)
    for picture, (x, y) in zip(pictures, places, strict=True):
        images.append((picture, x, y + heading.height))
        width = max(width, x + picture.width)
    return _Block(min(width, most), heading.height + height, tuple(images))


def _flow(
    shapes: Sequence[tuple[int, int]], width: int, gap: int, line_gap: int
) -> tuple[list[tuple[int, int]], int]:
    """Places for boxes side by side, in as many lines as they need; and the height."""
    places = []
    x = y = tallest = 0
    for w, h in shapes:
        if x and x + w > width:
            x, y, tallest = 0, y + tallest + line_gap, 0
        places.append((x, y))
        x += w + gap
        tallest = max(tallest, h)
    return places, y + tallest


def _card(card: Card, style: Style, size: _Size) -> Image:
    face = style.face(card.name) if card.name else None
    return sprites.card(
        face, card.name, card.count, card.marks, card.highlight, style.back, size.width, size.height
    )


def _chip(card: Card, style: Style, named: bool) -> Image:
    face = style.face(card.name) if card.name else None
    return sprites.chip(face, card.name, card.count, card.marks, card.highlight, style.back, named)


# ---------------------------------------------------------------------------------------------
# Counters and numbers
# ---------------------------------------------------------------------------------------------


def _counter(style: Style, name: str, value: str | int) -> tuple[str, str]:
    """A counter's text and symbol; words that are long enough say themselves what they are."""
    if name in style.faces:
        return str(value), style.faces[name].symbol
    return (str(value) if len(str(value)) > _SHORT else f"{name} {value}"), ""


def _grid(grid: Grid) -> Image:
    """Rows of numbers."""
    rows = [
        grid.head,
        *(tuple("·" if cell == 0 else str(cell).strip() for cell in row) for row in grid.rows),
    ]
    widths = tuple(
        max(sprites.width_of(row[k], REGULAR if n else BOLD, 12) for n, row in enumerate(rows))
        for k in range(len(grid.head))
    )
    title = 18 if grid.title else 0
    width = max(sum(widths) + 9 * len(widths), sprites.width_of(grid.title, BOLD, 12)) + 12
    image = sprites.box(width, title + 17 * len(rows) + 8, _SHADE, 8).copy()
    if title:
        image.alpha_composite(line(capitalized(grid.title), BOLD, 12, WHITE), (7, 4))
    for n, row in enumerate(rows):
        cells = _row(row, widths, len(widths) - grid.text_columns, BOLD if n == 0 else REGULAR)
        image.alpha_composite(cells, (8, title + 4 + 17 * n))
    return image


@lru_cache(256)
def _row(row: tuple[str, ...], widths: tuple[int, ...], numbers: int, font: str) -> Image:
    """A row of a grid: its label, numbers flush right, and words."""
    shape = (sum(widths) + 9 * len(widths), 17)
    image: Image = sprites.pillow("Image").new("RGBA", shape, f"{WHITE}00")
    x = 0
    for k, (cell, width) in enumerate(zip(row, widths, strict=True)):
        text = line(cell, font, 12, WHITE if k else _MUTED)
        flush = width - text.width + 2 if 0 < k < numbers else 0
        image.alpha_composite(text, (x + flush, 0))
        x += width + 9
    return image


@cache
def _background(table: str) -> Image:
    image: Image = sprites.pillow("Image").new("RGB", (WIDTH, HEIGHT), table)
    image.paste(mixed(table, "#000000", 0.35), (0, 0, WIDTH, HEADER))
    return image
