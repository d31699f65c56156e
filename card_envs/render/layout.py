"""The layout of a scene: the seats round the table, what belongs to nobody in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from card_envs.contract.scene import Grid, Scene, Seat, Zone
from card_envs.render.cards import LARGE, SMALL, TINY, dot, draw_card, pill
from card_envs.render.colours import Look, player_colour
from card_envs.render.drawing import (
    Drawing,
    Part,
    Rect,
    Text,
    boxed,
    centred,
    column,
    flow,
    wrapped,
)
from card_envs.utils.words import capitalized

_GAP, _PADDING = 8, 9
_TITLE, _NAME, _BODY, _SMALL = 18, 15, 13, 12
_WIDE = 700  # from here on seats are beside the middle, and not only above it
_SIDE = 0.25  # their width
_NOTES = 250  # the least width of sentences beside numbers
_WORDS = 110  # the least width of words in a grid
_EXTRA = (36, 18, 0)  # how much wider large cards can be where there is room
_SHORT = 5  # letters of a counter that needs its name


def page(
    scene: Scene,
    look: Look,
    width: float,
    height: float = 0,
    *,
    grids: Sequence[Grid] = (),
    caption: str = "",
    is_brief: bool = False,
) -> Drawing:
    """A table with all that is said about it.

    Args:
        scene: The table.
        look: Its colours.
        width: The width; the drawing is wider if something in it is.
        height: The least height, which the middle of the table fills.
        grids: The numbers to be shown.
        caption: A line below it.
        is_brief: Whether it is the title and the table alone.
    """
    while True:
        room = width - 2 * _GAP
        head, foot = _head(scene, look, room), None
        if not is_brief:
            text = wrapped(caption, _BODY, look.ink, room - 2 * _PADDING, is_bold=True)
            line = boxed(text, Rect(room, 0, look.pill, 6), _PADDING / 2) if caption else None
            foot = column([_foot(scene, look, room, grids), line], _GAP)
        for extra in (0,) if is_brief or not height else _EXTRA:
            whole = column([head, _table(scene, look, room, extra, 0), foot], _GAP)
            slack = height - 2 * _GAP - whole.height
            if slack >= 0 and whole.width <= room + 1:
                whole = column([head, _table(scene, look, room, extra, slack), foot], _GAP)
                break
        if whole.width <= room + 1:
            return boxed(whole, Rect(width, 0, look.ground), _GAP)
        width = whole.width + 2 * _GAP


def _head(scene: Scene, look: Look, width: float) -> Drawing:
    title = wrapped(scene.title, _TITLE, look.ink, width, is_bold=True)
    mover = next((seat for seat in scene.seats if seat.to_move), None)
    if mover is None:
        return title
    words = "Your turn" if mover.label == "you" else f"{capitalized(mover.label)} to move"
    turn = Text(words, _NAME, look.accent, True)
    if title.width + turn.width + 3 * _GAP > width:
        return column([title, turn], 0)
    return Drawing(width, title.height, ((0, 0, title), (width - turn.width, 2, turn)))


# ---------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------


def _table(scene: Scene, look: Look, width: float, extra: int, slack: float) -> Drawing:
    """The seats clockwise from the left of one's own, which is below the middle.

    Args:
        scene: The scene.
        look: Its colours.
        width: The width.
        extra: How much wider one's own cards are, and those in the middle, than they must be.
        slack: How much higher the middle is.
    """
    room = width - 2 * _GAP
    own, *others = scene.seats
    half = len(others) // 2
    is_wide = width >= _WIDE
    sides = others[:: len(others) - 1] if is_wide and half else []
    side = round(room * _SIDE)
    between = room - 2 * (side + _GAP) if sides else room
    if is_wide:
        rows = [others[1:-1] if half else others]
    else:
        rows = [
            others[half : len(others) - half],
            *([others[k], others[-1 - k]] for k in range(half)[::-1]),
        ]
    # Few stand between those at the sides, many above them.
    is_above = not sides or len(rows[0]) > 2
    above = [
        _row(row, look, room if is_above else between, SMALL, is_centred=len(row) == 1)
        for row in rows
        if row
    ]
    panels = [_row([seat], look, side, SMALL) for seat in sides]
    middle = _middle(scene, look, between - 2 * _PADDING, LARGE + extra)
    taken = 2 * _PADDING if is_above else sum(part.height + _GAP for part in above)
    height = max(middle.height + taken, *(panel.height for panel in panels), 0) + slack
    free = height if is_above else height - taken
    centre = centred(middle, max(between, middle.width), free)
    if not is_above:
        centre = column([*above, centre], _GAP, is_centred=True)
        above = []
    if panels:
        centre = flow([panels[0], centre, panels[1]], 1e9, _GAP, 0, is_level=True)
    parts = [*above, centre, _row([own], look, room, LARGE + extra, is_centred=True)]
    return boxed(column(parts, _GAP), Rect(width, 0, look.table, 14, look.line, 2), _GAP)


def _row(
    seats: Sequence[Seat],
    look: Look,
    width: float,
    size: int,
    *,
    is_centred: bool = False,
) -> Drawing:
    """Seats side by side, of one size."""
    each = (width - _GAP * (len(seats) - 1)) / len(seats)
    drawn = [_seat(seat, look, size, each, is_centred) for seat in seats]
    height = max(seat.height for seat in drawn)
    edges = [(look.accent, 3) if seat.to_move else (look.line, 1) for seat in seats]
    panels = [
        boxed(part, Rect(each, height, look.panel, 10, *edge), 0, is_centred=is_centred)
        for part, edge in zip(drawn, edges, strict=True)
    ]
    return flow(panels, 1e9, _GAP, 0)


@lru_cache(512)
def _seat(seat: Seat, look: Look, size: int, width: float, is_centred: bool) -> Drawing:
    """A seat, with the room around it."""
    room = width - 2 * _PADDING
    colour = look.accent if seat.to_move else look.ink
    name = Text(capitalized(seat.label), _NAME, colour, True)
    parts: list[Part] = [dot(seat.player, player_colour(seat.player)), name]
    if seat.mark:
        parts.append(pill("", seat.mark, look, look.ink, look.panel))
    if seat.to_move:
        parts.append(pill("", "to move", look, look.accent, look.panel))
    parts += [
        pill(*_counter(look, counter, str(value)), look, look.pill, look.ink)
        for counter, value in seat.counters
        if value != "-"
    ]
    drawn = [_zone(zone, look, size, room) for zone in seat.zones]
    zones = flow(drawn, room, 14, 8, is_centred=is_centred)
    note = wrapped(seat.note, _SMALL, look.muted, room)
    head = flow(parts, room, 5, 4, is_centred=is_centred, is_level=True)
    content = column([head, zones, note], 6, is_centred=is_centred)
    return centred(content, content.width + 2 * _PADDING, content.height + 2 * _PADDING)


def _counter(look: Look, name: str, value: str) -> tuple[str, str]:
    """Words that are long enough say themselves what they are."""
    is_plain = len(value) > _SHORT and name not in look.style.faces
    return ("", value) if is_plain else (name, value)


@lru_cache(1024)
def _zone(zone: Zone, look: Look, size: int, width: float) -> Drawing:
    """A zone: its name and note above its cards."""
    # A pile of many known kinds is a list, not something to look at.
    if zone.layout == "pile" and len(zone.cards) > 3:
        size = min(size, TINY)
    room = width - 2 * _PADDING if zone.highlight else width
    drawn: list[Part] = [draw_card(card, look, size) for card in zone.cards]
    name = capitalized(zone.name) + ("" if drawn else ": empty")
    heading = Text(name, _BODY, look.accent if zone.highlight else look.ink, True)
    if zone.layout == "slots":
        drawn = [
            column([card, Text(str(slot), _SMALL, look.muted)], 0, is_centred=True)
            for slot, card in enumerate(drawn)
        ]
    cards = flow(drawn, room, 4, 4)
    note = wrapped(zone.note, _SMALL, look.muted, min(room, max(cards.width, 230)))
    parts = [None if zone.layout == "slots" and drawn else heading, note, cards]
    content = column(parts, 3)
    if not zone.highlight:
        return content
    return boxed(content, Rect(0, 0, "", 8, look.accent, 1.5), 6)


def _middle(scene: Scene, look: Look, width: float, size: int) -> Drawing:
    """What belongs to nobody, or the standing."""
    zones = flow(
        [_zone(zone, look, size, width) for zone in scene.zones], width, 20, 10, is_centred=True
    )
    if not scene.standing:
        return zones
    rows = [(f"{place.place}.", capitalized(place.label), place.result) for place in scene.standing]
    cells = [
        [wrapped(cell, 15, look.ink, width / 2, is_bold=place.place == 1) for cell in row]
        for place, row in zip(scene.standing, rows, strict=True)
    ]
    title = wrapped(scene.standing_title, 16, look.accent, width, is_bold=True)
    return column([title, _columns(cells, 14, 2, "<<<"), zones], 12, is_centred=True)


# ---------------------------------------------------------------------------------------------
# Below the table
# ---------------------------------------------------------------------------------------------


def _foot(scene: Scene, look: Look, width: float, grids: Sequence[Grid]) -> Drawing:
    """What is to be decided, what is known, and what the signs mean."""
    numbers = flow(
        [_grid(grid, look, width) for grid in grids],
        width - _NOTES - _GAP if width > _WIDE else width,
        14,
        _GAP,
    )
    beside = width - numbers.width - 14
    beside = beside if beside >= _NOTES else width
    legend: list[Part] = [
        flow(
            [pill("", sign, look, look.ink, look.ground), Text(meaning, _SMALL, look.ink)],
            beside,
            5,
            0,
            is_level=True,
        )
        for sign, meaning in scene.drawn_legend
    ]
    notes = [wrapped(note, _BODY, look.ink, beside) for note in scene.notes]
    known = column([*notes, flow(legend, beside, 12, 4)], 4)
    prompt = wrapped(scene.prompt, 15, look.ink, width, is_bold=True)
    blocks = [part for part in (known, numbers) if part.height]
    return column([prompt, flow(blocks, width, 14, _GAP)], _GAP)


@lru_cache(256)
def _grid(grid: Grid, look: Look, width: float) -> Drawing:
    """Rows of numbers; with symbols for names if they are too wide."""
    rows = [[str(cell).strip() if cell != 0 else "·" for cell in row] for row in grid.rows]
    numbers = len(grid.head) - grid.text_columns
    for is_short in (False, True):
        faces = look.style.faces if is_short else {}
        head: list[Part] = [
            Text(faces[name].symbol or name if name in faces else name, _SMALL, look.ink, True)
            for name in grid.head
        ]
        cells: list[list[Part]] = [head]
        cells += [
            [Text(cell, _SMALL, look.ink if k else look.muted) for k, cell in enumerate(row)]
            for row in rows
        ]
        taken = sum(max(row[k].width for row in cells) + 9 for k in range(numbers))
        words = max(_WORDS, (width - 2 * _PADDING - taken) / max(grid.text_columns, 1))
        for row in cells[1:]:
            row[numbers:] = [
                wrapped(cell.text, _SMALL, look.ink, words)
                for cell in row[numbers:]
                if isinstance(cell, Text)
            ]
        table = _columns(cells, 9, 0, "<" + ">" * (numbers - 1) + "<" * grid.text_columns)
        if table.width + 2 * _PADDING <= width:
            break
    title = wrapped(capitalized(grid.title), _BODY, look.ink, max(table.width, 200), is_bold=True)
    return boxed(column([title, table], 2), Rect(0, 0, look.table, 8, look.line, 1), _PADDING)


def _columns(rows: Sequence[Sequence[Part]], gap: float, line_gap: float, align: str) -> Drawing:
    """Rows of parts in columns, each to the left or to the right (``<`` and ``>``)."""
    widths = [max(part.width for part in column) for column in zip(*rows, strict=True)]
    lines: list[Part] = []
    for row in rows:
        x, places = 0.0, []
        for part, width, side in zip(row, widths, align, strict=True):
            places.append((x + (width - part.width) * (side == ">"), 0.0, part))
            x += width + gap
        lines.append(Drawing(x - gap, max(part.height for part in row), tuple(places)))
    return column(lines, line_gap)
