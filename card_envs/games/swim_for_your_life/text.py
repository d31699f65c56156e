"""Swim for Your Life in words: the actions, and the table as one player sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.games.swim_for_your_life.rules import (
    ANIMAL_NAMES,
    LAID_DOWN,
    NUM_ACTIONS,
    ROW_OF,
    TAP,
)


def action_name(action: int) -> str:
    """An action in words; ValueError if there is none of that number."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action == TAP:
        return "tap"
    return f"lay down {LAID_DOWN[action]} for row {ROW_OF[action] + 1}"


def describe(states: NDArray[np.void], i: int, player: int) -> str:
    """The table."""
    return str(states[i])
