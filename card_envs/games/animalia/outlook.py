"""What a standing between seasons is worth, for search: nothing here is a rule.

The numbers are means over games of good players: what the medals of an incomplete group add to the
points at the end, and how much the rest of a lead still changes.
"""

import numpy as np

from card_envs.contract import jit, promise
from card_envs.games.animalia.cards import NUM_FAMILIES
from card_envs.games.animalia.state import collections_each, group_size, points_of

# Points that the medals beyond full groups will add: by how many these are, from 0, with one season
# left and with more.
_PROMISED = np.array([[0.0, 0.1, 0.8, 2.6, 2.9], [0.0, 0.6, 1.7, 3.3, 4.0]])
_PROMISED_TO_TWO = np.array(
    [[0.0, 0.2, 0.3, 0.8, 1.9, 3.6, 3.8], [0.0, 0.6, 1.5, 2.9, 3.6, 4.5, 5.5]]
)
# The variance of the change of a lead in the last season and in each one before it, and what it is
# multiplied by where each player has two collections.
_LAST_VARIANCE, _VARIANCE, _TWICE = 16.0, 9.0, 1.8


@jit
def round_of(states, i):
    """The season."""
    return int(states[i].season)


@jit
def outlook(states, i, player):
    """The rank reward that points and medals promise, at the end of a season."""
    s = states[i]
    left = 0 if s.terminated else int(s.seasons) - int(s.season) + 1
    variance = 0.0
    if left > 0:
        variance = _LAST_VARIANCE + (left - 1) * _VARIANCE
        if collections_each(s) == 2:
            variance *= _TWICE
    own = expected_points(s, player, left)
    total = 0.0
    for other in range(s.num_players):
        if other != player:
            total += promise(own - expected_points(s, other, left), variance)
    return total / (s.num_players - 1)


@jit
def expected_points(s, player, left):
    """A player's points, with what their incomplete groups promise in the seasons that are left."""
    points = float(points_of(s, player))
    if left > 0:
        later = min(left, 2) - 1
        for family in range(NUM_FAMILIES):
            beyond = s.medals[player, family] % group_size(s)
            if collections_each(s) == 2:
                points += _PROMISED_TO_TWO[later, beyond]
            else:
                points += _PROMISED[later, beyond]
    return points
