"""Ratings from whole rankings, ties included: Plackett-Luce in Davidson's form, by maximum
likelihood.

Ranks are assigned from the first down. Among the players without one, a set S is the next to share
a rank with a probability proportional to ``d(|S|)`` times the geometric mean of the strengths
in S; ``d(1)`` is 1, and the others are fitted with the strengths. Without ties this is the
Plackett-Luce model, with two players Davidson's model of paired comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.evaluation.statistics import student
from card_envs.utils.extras import import_extra

#: What a factor of e in strength is on Elo's scale: 400 points are ten to one.
ELO = 400.0 / np.log(10.0)

# Keeps the fit finite where one agent is always ahead; it weighs far less than one game.
_RIDGE = 1e-3
# The fit ends where another step would change the loss by less than this share of it.
_TOLERANCE = 1e-9
_MOST_STEPS = 200
# What 95% intervals leave out at each end.
_TAIL = 0.025
# In a code, the number of players of each agent takes four bits.
_BITS = 4

#: The greatest number of agents that can be rated together.
MAX_AGENTS = (1 << _BITS) - 1


class RatingEstimates(NamedTuple):
    """Ratings on Elo's scale (400 points: ten to one) and their 95% intervals, float64 (agents,).

    The ends of an interval are infinite where the games do not bound the rating.
    """

    rating: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Rankings:
    """The evidence of some agents' games about their strengths, deal by deal.

    Args:
        num_agents: The number of agents, at most 15.
        tables: For each table the agents in its seats (n,), whole numbers below ``num_agents``,
            and their standings, float64 (deals, seatings, n): higher is better, equal is a
            tie. All tables have the same number of deals; the same row of two tables is the same
            deal.

    Raises:
        ValueError: There are no tables, more than 15 agents, an agent out of range, or different
            numbers of deals.
    """

    def __init__(
        self,
        num_agents: int,
        tables: Sequence[tuple[Sequence[int], NDArray[np.float64]]],
    ) -> None:
        if num_agents > MAX_AGENTS:
            raise ValueError(f"at most {MAX_AGENTS} agents can be rated, got {num_agents}")
        for agent in (agent for agents, _ in tables for agent in agents):
            if not 0 <= agent < num_agents:
                raise ValueError(f"agents must be from 0 to {num_agents - 1}, got {agent}")
        if len({standing.shape[0] for _, standing in tables}) != 1:
            raise ValueError("tables with the same number of deals are needed")
        self.num_agents = num_agents
        self.num_deals = tables[0][1].shape[0]
        deals, remaining, placed, weights = [], [], [], []
        for agents, standing in tables:
            codes = np.array([1 << _BITS * agent for agent in agents], np.int64)
            level = standing[..., None, :] == standing[..., :, None]
            behind = standing[..., None, :] <= standing[..., :, None]
            # Players who share a place report one event together.
            weight = 1.0 / level.sum(axis=-1)
            told = behind.sum(axis=-1) > 1  # the last player's place says nothing
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
        self._there, self._placed = (
            np.array([self._players(code) > 0 for code in codes]) for codes in events
        )
        #: How often each event happened in each deal (deals, events).
        self.counts = np.bincount(
            np.concatenate(deals) * count + index.ravel(),
            np.concatenate(weights),
            self.num_deals * count,
        ).reshape(self.num_deals, count)
        self._make_choices(events)

    def _make_choices(self, events: NDArray[np.int64]) -> None:
        """The alternatives to each event, and their features."""
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
        """The maximum-likelihood parameters.

        Args:
            weights: float64 (events,), how often each event happened: a sum of rows of ``counts``.
            start: float64 (num_agents + ties,), the starting point; zeros will do.

        Returns:
            float64 (num_agents + ties,): the logarithms of the agents' strengths, then those of
            ``d`` for each size of a tie that happened.
        """
        happened = weights @ self._features[self._row_of]
        in_group = np.bincount(self._group_of, weights, len(self._starts)).astype(np.float64)
        x = start.astype(np.float64)
        for _ in range(_MOST_STEPS):
            loss, odds = self._loss(x, happened, in_group)
            mean = np.add.reduceat(odds[:, None] * self._features, self._starts)
            gradient = in_group @ mean - happened + _RIDGE * x
            hessian = self._features.T @ ((in_group[self._group] * odds)[:, None] * self._features)
            hessian -= mean.T @ (in_group[:, None] * mean)
            step = np.linalg.solve(hessian + _RIDGE * np.eye(len(x)), gradient)
            decrement = float(gradient @ step)
            if decrement <= _TOLERANCE * (1.0 + abs(loss)):
                return x - step
            scale = 1.0  # Newton's method, with shorter steps where the loss is far from quadratic
            while (
                self._loss(x - scale * step, happened, in_group)[0] > loss - scale / 4 * decrement
            ):
                scale /= 2
            x = x - scale * step
        return x

    def _loss(
        self, x: NDArray[np.float64], happened: NDArray[np.float64], in_group: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """The negative log-likelihood, and the probability of each choice."""
        utility = self._offsets + self._features @ x
        highest = np.maximum.reduceat(utility, self._starts)
        odds = np.exp(utility - highest[self._group])
        total = np.add.reduceat(odds, self._starts)
        loss = in_group @ (np.log(total) + highest) - happened @ x + _RIDGE / 2 * x @ x
        return float(loss), odds / total[self._group]

    def ratings(self, bootstraps: int, rng: np.random.Generator) -> RatingEstimates:
        """Ratings on Elo's scale, with 95% intervals from a bootstrap over deals.

        Strengths can be compared in the largest group of agents each of whom was level with or
        ahead of each other one, directly or through others. Nothing in the games says how far the
        other agents are from that group: a weak prior bounds their ratings, and their intervals are
        open. Where that depends on a few deals, which more than 2.5% of the bootstrap samples lack,
        the interval is open on that side; where all deals are alike, a bootstrap says nothing of
        what others might bring, and it is open on both. The mean is 0 over the agents whose
        intervals are closed, or over those that can be compared.

        Args:
            bootstraps: The number of bootstrap samples, at least 1.
            rng: The generator of the samples.
        """
        count = self.num_agents
        whole = self.counts.sum(axis=0)
        x = self.fit(whole, np.zeros(self._features.shape[1]))
        compared = self._compared(whole)
        strengths = np.empty((bootstraps, count))
        is_bounded = np.empty((bootstraps, count), bool)
        for k in range(bootstraps):
            drawn = rng.integers(self.num_deals, size=self.num_deals)
            sample = self.counts[drawn].sum(axis=0)
            strengths[k] = self.fit(sample, x)[:count]
            is_bounded[k] = self._compared(sample)
        closed = compared & (is_bounded.mean(axis=0) >= 1.0 - _TAIL)
        center = next((c for c in (closed, compared) if c.sum() > 1), np.ones(count, bool))
        rating = ELO * (x[:count] - x[:count][center].mean())
        samples = ELO * (strengths - strengths[:, center].mean(axis=1, keepdims=True))
        quantiles = np.quantile(samples, [_TAIL, 1.0 - _TAIL], axis=0)
        low, high = rating + _widening(self.num_deals) * (quantiles - rating)
        is_below = ~is_bounded & (samples < 0.0)
        unbounded = ~compared | (np.ptp(samples, axis=0) == 0.0)
        low[unbounded | (is_below.mean(axis=0) > _TAIL)] = -np.inf
        high[unbounded | ((~is_bounded & ~is_below).mean(axis=0) > _TAIL)] = np.inf
        return RatingEstimates(rating, low, high)

    def _compared(self, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which agents are in the largest group whose strengths can be compared, bool (agents,);
        none of them if no group has two.

        Args:
            weights: float64 (events,), how often each event happened.
        """
        happened = weights > 0.0
        first, there = self._placed[happened], self._there[happened]
        reached = np.eye(self.num_agents, dtype=bool) | (first.T.astype(int) @ there > 0)
        for through in range(self.num_agents):
            reached |= reached[:, through, None] & reached[through]
        group = reached & reached.T  # each row is the group of an agent
        sizes = group.sum(axis=1)
        if sizes.max() == 1:
            return np.zeros(self.num_agents, bool)
        return np.asarray(group[sizes.argmax()])


def _widening(deals: int) -> float:
    """The factor by which a bootstrap interval of a mean is too narrow for this number of deals."""
    if deals < 2:
        return 1.0
    normal = import_extra("scipy.stats", "evaluation").norm.ppf(1.0 - _TAIL)
    return float(student(deals - 1) / normal * np.sqrt(deals / (deals - 1)))
