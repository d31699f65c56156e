"""Frank's Zoo in words: the actions, and the table as one player sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.games.franks_zoo.cards import ANIMAL_NAMES, LAY_CARDS
from card_envs.games.franks_zoo.state import ASK, GIVE, NUM_ACTIONS, PASS
from card_envs.render import counted

_KIND_NAMES = (*ANIMAL_NAMES, "joker")
_PLURALS = tuple(
    {"fish": "fish", "mouse": "mice", "fox": "foxes", "perch": "perches"}.get(name, "")
    for name in _KIND_NAMES
)


def action_name(action: int) -> str:
    """An action in words; ValueError if there is none of that number."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action == PASS:
        return "pass"
    if action >= GIVE:
        return f"give 1 {_KIND_NAMES[action - GIVE]}"
    if action >= ASK:
        return f"ask for help with {_cards(LAY_CARDS[action - ASK])}"
    return f"play {_cards(LAY_CARDS[action])}"


def describe(states: NDArray[np.void], i: int, player: int) -> str:
    """The table of ``states[i]`` in words: all that the player can know, and nothing else."""
    return str(states[i])


def _cards(counts: NDArray[np.integer[Any]]) -> str:
    """E.g. ``2 elephants, 1 joker``."""
    return ", ".join(
        counted(count, name, plural)
        for count, name, plural in zip(counts, _KIND_NAMES, _PLURALS, strict=True)
        if count
    )
