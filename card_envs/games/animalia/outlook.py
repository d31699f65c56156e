"""What a standing between seasons is worth, for search: nothing here is a rule."""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.engine.outlook import promise
from card_envs.games.animalia.state import points_of

# Of the difference between two players' points in a season, among good players.
_VARIANCE = 19.0


@jit
def round_of(states, i):
    """The season."""
    return int(states[i].season)


@jit
def outlook(states, i, player):
    """The rank reward that the points promise, at the end of a season."""
    s = states[i]
    left = 0 if s.terminated else int(s.seasons) - int(s.season) + 1
    total = 0.0
    for other in range(s.num_players):
        if other != player:
            lead = float(points_of(s, player)) - float(points_of(s, other))
            total += promise(lead, left * _VARIANCE)
    return total / (s.num_players - 1)
