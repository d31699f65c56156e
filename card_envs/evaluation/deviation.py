"""Deviation ratings: ratings that no number of copies of an agent can move.

How far each agent falls short of the best mixture of agents to meet it, found as an equilibrium of
the zero-sum game in which two sides each send an agent (Marris et al., "Deviation ratings", 2025;
for this game, the nucleolus of its equilibria). A copy of an agent adds a choice that was there
already. Elo's ratings, which are fitted to how often each table was played, have no such property.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.evaluation.statistics import FEWEST_VALUES, MeanEstimate, estimate_mean
from card_envs.utils.extras import import_extra

# What the solver's numbers may be off by: less than results of thousands of deals differ.
_TOLERANCE = 1e-9
# What shares and payoffs must differ from 0 by for a mixture to be known as the only best one.
_CLEAR = 1e-6
# How far 95% of a normal distribution reach, in standard deviations.
_NORMAL = 1.959964
# Enough for the ends of an interval.
_SAMPLES = 200


def deviation_ratings(payoffs: ArrayLike) -> NDArray[np.float64]:
    """The deviation rating of each agent.

    Among all mixtures of agents, one is found against which the best agent gets as little as
    possible, then the next best, and so on; an agent's rating is what it gets against that mixture.

    Args:
        payoffs: Numbers (agents, agents), what the row's agent gets from the column's; the other
            gets the opposite.

    Returns:
        float64 (agents,), at most 0, which those of the mixture have.

    Raises:
        ValueError: The payoffs are not finite, square and antisymmetric.
        MissingExtraError: scipy is not installed.
    """
    matrix = np.asarray(payoffs, np.float64)
    is_finite = matrix.ndim == 2 and np.isfinite(matrix).all()
    if not is_finite or matrix.shape != matrix.T.shape or not np.allclose(matrix, -matrix.T):
        raise ValueError("payoffs must be a square antisymmetric matrix of finite numbers")
    return _ratings(matrix, [])


def _ratings(
    payoffs: NDArray[np.float64], mixtures: list[NDArray[np.bool_]]
) -> NDArray[np.float64]:
    """The deviation ratings; ``mixtures`` tells who is in the best mixture of similar payoffs, each
    bool (agents,). They are tried before a linear program is solved, and what it finds is added."""
    for members in mixtures:
        ratings = _ratings_against(payoffs, members)
        if ratings is not None:
            return ratings
    optimize = import_extra("scipy.optimize", "evaluation")
    count = len(payoffs)
    shares, ratings = np.zeros((2, count))
    is_open = np.ones(count, bool)
    while is_open.any():
        # The unknowns: each agent's share of the mixture, and the most that an open agent gets.
        found = optimize.linprog(
            np.r_[np.zeros(count), 1.0],
            A_ub=np.c_[payoffs, -is_open.astype(float)],
            b_ub=np.where(is_open, 0.0, ratings + _TOLERANCE),
            A_eq=np.r_[np.ones(count), 0.0][None],
            b_eq=[1.0],
            bounds=[(0.0, None)] * count + [(None, None)],
        )
        if not found.success:  # the last mixture is the only one left, but for rounding
            ratings[is_open] = (payoffs @ shares)[is_open]
            break
        shares = found.x[:-1]
        members = shares > _CLEAR
        of_only = _ratings_against(payoffs, members)
        if of_only is not None:
            mixtures.append(members)
            return of_only
        # A multiplier tells that no best mixture gives the agent less.
        multipliers = np.where(is_open, -found.ineqlin.marginals, 0.0)
        settled = multipliers >= min(_TOLERANCE, multipliers.max())
        settled &= is_open
        ratings[settled] = found.x[-1]
        is_open &= ~settled
    return np.minimum(ratings, 0.0) + 0.0  # no -0.0


def _ratings_against(
    payoffs: NDArray[np.float64], members: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """What each agent gets against the best mixture if it is the only one and mixes just these
    agents, bool (agents,); else None.

    Each of them then gets 0 against it and any other agent less, so that every best mixture is of
    these agents and gives each of them 0.
    """
    count = members.sum()
    equations = np.r_[payoffs[np.ix_(members, members)], np.ones((1, count))]
    shares, _, rank, _ = np.linalg.lstsq(equations, np.r_[np.zeros(count), 1.0], rcond=_CLEAR)
    ratings = payoffs[:, members] @ shares
    is_only = (
        rank == count
        and shares.min() > _CLEAR
        and np.abs(ratings[members]).max() <= _TOLERANCE
        and ratings[~members].max(initial=-1.0) < -_CLEAR
    )
    return np.where(members, 0.0, ratings) if is_only else None


def estimate_deviation_ratings(
    payoffs: NDArray[np.float64], rng: np.random.Generator
) -> list[MeanEstimate] | None:
    """Deviation ratings with 95% intervals.

    The payoff of each pair is drawn many times as its own interval has it (:func:`estimate_mean`),
    the pairs together as they vary over the deals; an interval holds the middle 95% of the ratings.
    Two agents that are level on every deal are taken for copies.

    Args:
        payoffs: float64 (agents, agents, deals), see :func:`deviation_ratings`, of each deal, from
            -1 to 1; NaN where two agents did not meet.
        rng: The generator of the draws.

    Returns:
        An estimate of each agent, without an interval below 5 deals; None if two agents did not
        meet.
    """
    if np.isnan(payoffs).any():
        return None
    count, _, deals = payoffs.shape
    mixtures: list[NDArray[np.bool_]] = []
    ratings = _ratings(payoffs.mean(axis=-1), mixtures)
    if deals < FEWEST_VALUES:
        return [MeanEstimate(rating, None, None) for rating in ratings.tolist()]
    pairs = np.triu_indices(count, 1)
    values = payoffs[pairs]
    intervals = np.array([estimate_mean(of_pair).interval for of_pair in values], float)
    ends = np.where((values == 0.0).all(axis=1, keepdims=True), 0.0, intervals)
    off = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt((off**2).sum(axis=1))
    varies = spread > _TOLERANCE
    off[varies] /= spread[varies, None]
    samples = []
    for _ in range(_SAMPLES):
        # Each is standard normal; where no deal differs from another, independent of all else.
        drawn = np.where(varies, off @ rng.standard_normal(deals), rng.standard_normal(len(values)))
        sample = np.zeros((count, count))
        sample[pairs] = (ends.sum(axis=1) + np.diff(ends)[:, 0] * drawn / _NORMAL) / 2.0
        sample = np.clip(sample, -1.0, 1.0)
        samples.append(_ratings(sample - sample.T, mixtures))
    low, high = np.quantile(samples, (0.025, 0.975), axis=0)
    return [
        MeanEstimate(rating, min(least, rating), max(most, rating))
        for rating, least, most in zip(ratings.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
