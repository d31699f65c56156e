"""Swim for Your Life in words: the actions, and sets of cards."""

from __future__ import annotations

from collections.abc import Sequence

from card_envs.games.swim_for_your_life.cards import (
    ANIMAL_NAMES,
    LAID_DOWN,
    NUM_ACTIONS,
    ROW_OF,
    TAP,
)
from card_envs.render.words import listed

PLURALS = tuple({"sheep": "sheep", "mouse": "mice"}.get(name, f"{name}s") for name in ANIMAL_NAMES)


def action_name(action: int) -> str:
    """An action in words.

    Raises:
        ValueError: There is no such action.
    """
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action == TAP:
        return "tap"
    return f"exchange row {ROW_OF[action] + 1}: lay down {in_words(LAID_DOWN[action])}"


def in_words(counts: Sequence[int]) -> str:
    """A number of cards of each animal, e.g. ``2 bears, 1 mole``."""
    return listed(counts, ANIMAL_NAMES, PLURALS)
