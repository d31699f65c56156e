"""Frank's Zoo in words: cards and actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.games.franks_zoo.cards import ANIMAL_NAMES, LAY_CARDS
from card_envs.games.franks_zoo.state import ASK, GIVE, NUM_ACTIONS, PASS
from card_envs.render.words import listed

#: The kinds in words, one card and several.
KIND_NAMES = (*ANIMAL_NAMES, "joker")
_UNUSUAL_PLURALS = {
    "fish": "fish",
    "fox": "foxes",
    "mosquito": "mosquitoes",
    "mouse": "mice",
    "perch": "perches",
}
PLURALS = tuple(_UNUSUAL_PLURALS.get(name, f"{name}s") for name in KIND_NAMES)


def action_name(action: int) -> str:
    """An action in words.

    Raises:
        ValueError: There is no action of that number.
    """
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action == PASS:
        return "pass"
    if action >= GIVE:
        return f"give away: 1 {KIND_NAMES[action - GIVE]}"
    if action >= ASK:
        return f"ask for help with: {in_words(LAY_CARDS[action - ASK])}"
    return f"play: {in_words(LAY_CARDS[action])}"


def public_action_name(states: NDArray[np.void], i: int, action: int) -> str:
    """The action as the others learn it: they do not see which card is given (FZ-18)."""
    return "give away a card" if GIVE <= action < PASS else action_name(action)


def in_words(counts: Sequence[int] | NDArray[np.integer[Any]]) -> str:
    """Cards of each kind, e.g. ``2 elephants, 1 joker``."""
    return listed(counts, KIND_NAMES, PLURALS)
