"""``Tables``: who sits where in each of many games."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: The learner among the agents.
LEARNER = 0


class Tables:
    """Who sits where: in the first games the learner holds every seat, in the others one.

    The others lie in contiguous blocks, each with one table: a number of players, the learner's
    seat and the agents in the other seats. A block can be redrawn once all its games play its
    present table; each game takes the new one when it is next reset.

    Args:
        num_games: Number of games N.
        sizes: The possible numbers of players.
        shares: How often each of them is played; they add up to 1.
        own_games: The number of games in which the learner holds every seat.
        block_size: Games of a block; the last block may have fewer.
        max_players: P, the size of a row of seats.
        seed: Of all draws.

    Attributes:
        sizes, shares: int64 and float64 (K,), the possible numbers of players, and their shares.
        num_players: int64 (N,), the number of players of each game's table.
        seating: int64 (N, P), the agent in each seat of it: an index, ``LEARNER`` for the learner.
        is_present: bool (N,), whether the game plays this table, or takes it at its next reset.
    """

    def __init__(
        self,
        num_games: int,
        sizes: Sequence[int],
        shares: NDArray[np.float64],
        *,
        own_games: int,
        block_size: int,
        max_players: int,
        seed: int,
    ) -> None:
        self.rng = np.random.default_rng([seed, 1])
        self.sizes = np.array(sizes)
        self.shares = shares
        self.num_players = np.zeros(num_games, np.int64)
        self.seating = np.full((num_games, max_players), LEARNER, np.int64)
        self.is_present = np.ones(num_games, np.bool_)
        last = np.round(np.cumsum(shares) * own_games)
        of_game = np.searchsorted(last, np.arange(own_games), side="right")
        self.num_players[:own_games] = self.sizes[of_game]
        self.blocks = [
            slice(first, min(first + block_size, num_games))
            for first in range(own_games, num_games, block_size)
        ]

    def redraw(self, weights: Sequence[float], agents: Sequence[int], same_agent: float) -> None:
        """Draw new tables for the blocks of which all games play their present one: of agents by
        their weights, in a share of the blocks one agent in all seats but the learner's."""
        shares = np.array(weights, float) / sum(weights)
        for block in self.blocks:
            if not self.is_present[block].all():
                continue
            num_players = int(self.rng.choice(self.sizes, p=self.shares))
            drawn = self.rng.choice(agents, self.seating.shape[1], p=shares)
            if self.rng.random() < same_agent:
                drawn[:] = drawn[0]
            drawn[self.rng.integers(num_players)] = LEARNER
            drawn[num_players:] = LEARNER  # nobody's networks are asked for absent seats
            self.num_players[block], self.seating[block] = num_players, drawn
            self.is_present[block] = False
