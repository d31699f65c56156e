"""What a standing between hands is worth, for search: nothing here is a rule."""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.engine.outlook import promise

# Among good players: of the difference between two players' points in a hand, and their mean.
_VARIANCE = 13.7
_POINTS_OF_THREE, _POINTS = 2.1, 4.8


@jit
def round_of(states, i):
    """The number of the hand."""
    return int(states[i].hand_number)


@jit
def outlook(states, i, player):
    """The rank reward that the totals promise, at the end of a hand."""
    s = states[i]
    first = second = 0
    for other in range(s.num_players):
        points = int(s.totals[other])
        if points > first:
            first, second = points, first
        elif points > second:
            second = points
    # FZ-21, FZ-23: whose total ends the game.
    deciding, each = (first, _POINTS_OF_THREE) if s.num_players == 3 else (second, _POINTS)
    left = 0.0
    if deciding < s.target_score:
        left = max(1.0, (int(s.target_score) - deciding) / each)
    total = 0.0
    for other in range(s.num_players):
        if other != player:
            lead = float(s.totals[player]) - float(s.totals[other])
            total += promise(lead, left * _VARIANCE)
    return total / (s.num_players - 1)
