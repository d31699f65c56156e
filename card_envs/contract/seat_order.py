"""The order of seats around the table."""

from __future__ import annotations

from card_envs.kernels.jit import jit


@jit
def to_the_left(s, player):
    """The next seat clockwise (a division would take longer)."""
    return player + 1 if player + 1 < s.num_players else 0
