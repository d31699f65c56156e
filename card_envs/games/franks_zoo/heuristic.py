"""A sensible scripted player of Frank's Zoo, who uses only what his seat knows."""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.games.franks_zoo.state import PASS


@jit
def heuristic(states, i):
    """An action for the player to move."""
    return PASS
