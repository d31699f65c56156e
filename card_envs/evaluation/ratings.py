"""Ratings from whole rankings, ties included: Plackett-Luce in Davidson's form, by maximum
likelihood.

Places are given out from the first on. Of the players that have none yet, a set S is the next to
share one with a probability in proportion to ``d(|S|)`` times the geometric mean of the strengths
in S; ``d(1)`` is 1, and the others are fitted with the strengths. Without ties this is the
Plackett-Luce model, with two players Davidson's model of paired comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.sparse import csgraph

#: What a factor of e in strength is on Elo's scale: 400 points are ten to one.
ELO = 400.0 / np.log(10.0)

# Keeps the fit finite where one agent is always ahead; it weighs far less than one game.
_RIDGE = 1e-3
# A number of players of one agent has four bits of a code.
_BITS = 4


class Rankings:
    """What some agents' games say about their strengths, deal by deal.

    Args:
        num_agents: How many agents there are, at most 15.
        tables: For each table the agents on its places (n,), and their standings, float64
            (deals, seatings, n): the higher the better, equal is level. The numbers of deals are
            equal; the same row of two tables is the same deal.
    """

    def __init__(
        self,
        num_agents: int,
        tables: Sequence[tuple[Sequence[int], NDArray[np.float64]]],
    ) -> None:
        self.num_agents = num_agents
        self.num_deals = tables[0][1].shape[0]
        deals, remaining, placed, weights = [], [], [], []
        for agents, standing in tables:
            codes = np.array([1 << _BITS * agent for agent in agents], np.int64)
            level = standing[..., None, :] == standing[..., :, None]
            behind = standing[..., None, :] <= standing[..., :, None]
            # Those who share a place tell of it together.
            weight = 1.0 / level.sum(axis=-1)
            told = behind.sum(axis=-1) > 1  # the last one's place says nothing
            deal = np.broadcast_to(np.arange(self.num_deals)[:, None, None], told.shape)
            deals.append(deal[told])
            remaining.append((behind @ codes)[told])
            placed.append((level @ codes)[told])
            weights.append(weight[told])
        events, index = np.unique(
            np.stack([np.concatenate(remaining), np.concatenate(placed)]),
            axis=1,
            return_inverse=True,
        )
        count = events.shape[1]
        self._events = events
        #: How often each event happened in each deal (deals, events).
        self.counts = np.bincount(
            np.concatenate(deals) * count + index.ravel(),
            np.concatenate(weights),
            self.num_deals * count,
        ).reshape(self.num_deals, count)
        self._make_choices(events)

    def _make_choices(self, events: NDArray[np.int64]) -> None:
        """What could have happened instead of each event, and what speaks for it."""
        sizes = sorted({int(self._players(code).sum()) for code in events[1]} | {1})
        self._num_ties = len(sizes) - 1
        rows: list[NDArray[np.float64]] = []
        offsets: list[float] = []
        starts: list[int] = []
        number: dict[tuple[int, int], int] = {}
        groups, self._group_of = np.unique(events[0], return_inverse=True)
        for remaining in groups.tolist():
            starts.append(len(rows))
            there = self._players(remaining)
            for placed in product(*(range(n + 1) for n in there)):
                size = sum(placed)
                if size not in sizes:
                    continue
                code = sum(n << _BITS * agent for agent, n in enumerate(placed))
                number[remaining, code] = len(rows)
                tie = np.zeros(self._num_ties)
                tie[sizes.index(size) - 1 : sizes.index(size)] = 1.0
                rows.append(np.concatenate([np.array(placed) / size, tie]))
                ways = [comb(int(n), k) for n, k in zip(there, placed, strict=True)]
                offsets.append(float(np.log(ways).sum()))
        self._features = np.array(rows)
        self._offsets = np.array(offsets)
        self._starts = np.array(starts)
        lengths = np.diff([*starts, len(rows)])
        self._group = np.repeat(np.arange(len(lengths)), lengths)
        self._row_of = np.array([number[r, p] for r, p in events.T.tolist()])

    def _players(self, code: int) -> NDArray[np.int64]:
        return code >> _BITS * np.arange(self.num_agents) & (1 << _BITS) - 1

    def fit(self, weights: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithms of strengths and of ``d``, given how often each event happened."""
        happened = weights @ self._features[self._row_of]
        in_group = np.bincount(self._group_of, weights, len(self._starts))
        group = self._group

        def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            utility = self._offsets + self._features @ x
            highest = np.maximum.reduceat(utility, self._starts)
            odds = np.exp(utility - highest[group])
            total = np.add.reduceat(odds, self._starts)
            expected = (odds * (in_group / total)[group]) @ self._features
            value = in_group @ (np.log(total) + highest) - happened @ x + _RIDGE / 2 * x @ x
            return value, expected - happened + _RIDGE * x

        found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-6})
        return found.x

    def ratings(
        self, bootstraps: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Ratings on Elo's scale, and the lower and upper ends of their 95% intervals.

        The intervals are from a bootstrap over deals. The mean is 0 over the largest group of
        agents each of whom was level with or ahead of each other one, directly or by way of
        others. Nothing in the games says how far the others are from that group: they are as far
        as a weak prior lets them be, and their intervals are open.
        """
        compared = self._compared()
        center = compared if compared.any() else np.ones(self.num_agents, bool)

        def on_elos_scale(x: NDArray[np.float64]) -> NDArray[np.float64]:
            strengths = x[: self.num_agents]
            return ELO * (strengths - strengths[center].mean())

        x = self.fit(self.counts.sum(axis=0), np.zeros(self._features.shape[1]))
        samples = []
        for _ in range(bootstraps):
            drawn = rng.integers(self.num_deals, size=self.num_deals)
            samples.append(on_elos_scale(self.fit(self.counts[drawn].sum(axis=0), x)))
        low, high = np.quantile(samples, [0.025, 0.975], axis=0)
        low[~compared], high[~compared] = -np.inf, np.inf
        return on_elos_scale(x), low, high

    def _compared(self) -> NDArray[np.bool_]:
        """Which agents are of the largest group whose strengths can be compared; nobody, if there
        is none of two."""
        reached = np.zeros((self.num_agents, self.num_agents), bool)
        for remaining, placed in self._events.T.tolist():
            first, there = self._players(placed) > 0, self._players(remaining) > 0
            reached |= first[:, None] & there
        _, group = csgraph.connected_components(reached, connection="strong")
        sizes = np.bincount(group)
        if sizes.max() == 1:
            return np.zeros(self.num_agents, bool)
        return group == group[sizes[group].argmax()]
