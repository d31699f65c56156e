"""Beaver Gang in words: a player's last turn, and cards."""

from __future__ import annotations

from card_envs.games.beaver_gang.cards import KIND_NAMES
from card_envs.games.beaver_gang.state import (
    DISCARDED,
    EXCHANGED,
    NO_TURN,
    PEEKED,
    SWAPPED,
    TOOK,
)

_TURNS = {
    NO_TURN: "no turn yet",
    TOOK: "took the discard into slot {slot}",
    EXCHANGED: "exchanged slot {slot}",
    SWAPPED: "swapped slot {slot} with {other_card}",
    PEEKED: "peeked at slot {slot}",
    DISCARDED: "discarded the drawn card",
}


def turn_name(turn: int, other_card: str) -> str:
    """A player's last turn in words.

    Args:
        turn: One of ``NO_TURN``, ``TOOK``, … ``DISCARDED``, plus the slot.
        other_card: The other card of a swap, in words.
    """
    first = max(first for first in _TURNS if first <= turn)
    return _TURNS[first].format(slot=turn - first, other_card=other_card)


def a_card(kind: int) -> str:
    """A card with its article."""
    return f"{'an' if kind == 8 else 'a'} {KIND_NAMES[kind]}"


def slot_of(owner: int, slot: int, observer: int) -> str:
    """A card in a row, such as ``your slot 1``."""
    whose = "your" if owner == observer else f"player {owner}'s"
    return f"{whose} slot {slot}"
