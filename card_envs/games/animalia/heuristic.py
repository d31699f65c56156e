"""A player of Animalia that follows simple rules."""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.games.animalia.cards import first_of
from card_envs.games.animalia.legal import legal_actions


@jit
def heuristic(states, i):
    """The action of the player to move."""
    return first_of(legal_actions(states[i]))
