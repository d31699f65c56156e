"""Draws a scene as plain text of at most 100 characters a line. It knows no game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.game import Game
from card_envs.contract.scene import Card, Grid, Scene, Seat, Zone
from card_envs.utils.words import capitalized, counted, filled, table

_TO_MOVE = ">"
_NONE = "."


def describe(game: Game, states: NDArray[np.void], i: int, player: int, memory: int = 0) -> str:
    """The table of ``states[i]`` in words, as a player sees it.

    Args:
        game: The game.
        states: Its records.
        i: The index of the game described.
        player: The observing player.
        memory: ``MEMORY_PERFECT`` or ``MEMORY_NONE``.
    """
    return draw(game.scene(game.as_states(states), i, player, memory, False))


def draw(scene: Scene) -> str:
    """The table in words."""
    sections = [
        _lines([f"{scene.title}.", *(_sentence(_zone(zone)) for zone in scene.zones)]),
        _seats(scene.seats),
        _legend(scene),
        _lines([_sentence(text) for seat in scene.seats for text in _zones_of(seat)]),
        *map(_grid, scene.grids),
        _lines(scene.notes),
        filled(scene.prompt),
        _standing(scene),
    ]
    return "\n\n".join(section for section in sections if section)


def _lines(texts: Sequence[str]) -> str:
    return "\n".join(map(filled, texts))


def _sentence(text: str) -> str:
    return f"{capitalized(text)}."


# ---------------------------------------------------------------------------------------------
# Cards and zones
# ---------------------------------------------------------------------------------------------


def _card(card: Card) -> str:
    if not card.name:
        return counted(card.count, "face-down card") + card.marks
    if card.count == 1:
        return f"1 {card.name}{card.marks}" if card.plural else f"{card.name}{card.marks}"
    return counted(card.count, card.name, card.plural) + card.marks


def _zone(zone: Zone) -> str:
    """E.g. ``row 1: 2 bears, 1 mole``."""
    cards = ", ".join(map(_card, zone.cards)) or "empty"
    return f"{zone.name}: {cards}" + (f" ({zone.note})" if zone.note else "")


def _zones_of(seat: Seat) -> list[str]:
    """A seat's zones; those with slots are columns of the table of seats instead."""
    owner = "your" if seat.label == "you" else f"{seat.label}'s"
    return [f"{owner} {_zone(zone)}" for zone in seat.zones if zone.layout != "slots"]


# ---------------------------------------------------------------------------------------------
# The seats
# ---------------------------------------------------------------------------------------------


def _seats(seats: Sequence[Seat]) -> str:
    """One line for each seat: counters, cards in slots, and what its player did last."""
    counters = [name for name, _ in seats[0].counters]
    slots = [
        f"{zone.name} {slot}"
        for zone in seats[0].zones
        if zone.layout == "slots"
        for slot in range(len(zone.cards))
    ]
    has_notes = any(seat.note for seat in seats)
    rows = [["", "player", "seat", *counters, *slots, *["last turn"] * has_notes]]
    for seat in seats:
        cards = [card for zone in seat.zones if zone.layout == "slots" for card in zone.cards]
        rows.append(
            [
                _TO_MOVE * seat.to_move + seat.mark,
                f"player {seat.player}",
                seat.place,
                *(str(value) for _, value in seat.counters),
                *(f"{card.name or '?'}{card.marks}" for card in cards),
                *[seat.note] * has_notes,
            ]
        )
    sides = [">" if isinstance(value, int) else "<" for _, value in seats[0].counters]
    return table(rows, align="<<<" + "".join(sides))


def _legend(scene: Scene) -> str:
    """What the signs that occur mean."""
    signs = [(_TO_MOVE, "to move")] if any(seat.to_move for seat in scene.seats) else []
    signs += scene.legend
    return filled(f"({', '.join(f'{sign} {meaning}' for sign, meaning in signs)})") if signs else ""


# ---------------------------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------------------------


def _grid(grid: Grid) -> str:
    columns = len(grid.head)
    rows = [list(grid.head)]
    rows += [[_NONE if cell == 0 else str(cell) for cell in row] for row in grid.rows]
    sides = "<" + ">" * (columns - 1 - grid.text_columns)
    text = table(rows, align=sides)
    return f"{capitalized(grid.title)}:\n{text}" if grid.title else text


def _standing(scene: Scene) -> str:
    if not scene.standing:
        return ""
    rows = [[f"  {place.place}.", place.label, place.result] for place in scene.standing]
    return f"{scene.standing_title}\n{table(rows)}"
