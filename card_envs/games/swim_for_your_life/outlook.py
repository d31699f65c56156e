"""What a standing between rounds is worth, for search: nothing here is a rule."""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.engine.outlook import promise

# Among good players: of the difference between the lives that two lose in a round, and their mean.
_VARIANCE = 1.6
_LOSS = 0.8


@jit
def round_of(states, i):
    """How many rounds are finished."""
    return int(states[i]["round"])


@jit
def outlook(states, i, player):
    """The rank reward that the lives promise, at the end of a round."""
    s = states[i]
    total = 0.0
    for other in range(s.num_players):
        if other != player:
            fewer = min(int(s.lives[player]), int(s.lives[other]))
            lead = float(s.lives[player]) - float(s.lives[other])
            if fewer == 0:  # who is out is behind, and of two the one who was out first
                lead = float(s.standing[player]) - float(s.standing[other])
            total += promise(lead, fewer / _LOSS * _VARIANCE)
    return total / (s.num_players - 1)
