"""Deviation ratings: ratings that no number of copies of an agent can move.

How far each agent falls short of the best mixture of agents to meet it, found as an equilibrium of
the zero-sum game in which two sides each send an agent (Marris et al., "Deviation ratings", 2025;
for this game, the nucleolus of its equilibria). A copy of an agent adds a choice that was there
already. Elo's ratings, which are fitted to how often each table was played, have no such property.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from card_envs.evaluation.statistics import FEWEST_VALUES, MeanEstimate, student
from card_envs.utils.extras import import_extra

# What the solver's numbers may be off by: less than results of thousands of deals differ.
_TOLERANCE = 1e-9
# What shares and payoffs must differ from 0 by for a mixture to be known as the only best one.
_CLEAR = 1e-6
# Enough for a standard error.
_BOOTSTRAPS = 50


def deviation_ratings(payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The deviation rating of each agent.

    Among all mixtures of agents, one is found against which the best agent gets as little as
    possible, then the next best, and so on; an agent's rating is what it gets against that mixture.

    Args:
        payoffs: float64 (agents, agents), what the row's agent gets from the column's; the other
            gets the opposite.

    Returns:
        float64 (agents,), at most 0, which those of the mixture have.

    Raises:
        ValueError: The payoffs are not square and antisymmetric.
        MissingExtraError: scipy is not installed.
    """
    count = len(payoffs)
    if payoffs.shape != (count, count) or not np.allclose(payoffs, -payoffs.T, equal_nan=False):
        raise ValueError("payoffs must be a square antisymmetric matrix")
    return _ratings(payoffs, [])


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
    """Deviation ratings with 95% intervals: Student's t, with the standard errors of a bootstrap
    over deals.

    Args:
        payoffs: float64 (agents, agents, deals), see :func:`deviation_ratings`, of each deal; NaN
            where two agents did not meet.
        rng: The generator of the bootstrap's samples.

    Returns:
        An estimate of each agent, without an interval below 5 deals; None if two agents did not
        meet.
    """
    if np.isnan(payoffs).any():
        return None
    deals = payoffs.shape[-1]
    mixtures: list[NDArray[np.bool_]] = []
    ratings = _ratings(payoffs.mean(axis=-1), mixtures).tolist()
    if deals < FEWEST_VALUES:
        return [MeanEstimate(rating, None, None) for rating in ratings]
    samples = [
        _ratings(payoffs[..., rng.integers(deals, size=deals)].mean(axis=-1), mixtures)
        for _ in range(_BOOTSTRAPS)
    ]
    half = student(deals - 1) * (deals / (deals - 1)) ** 0.5 * np.std(samples, axis=0, ddof=1)
    return [
        MeanEstimate(rating, max(-1.0, rating - h), min(0.0, rating + h))
        for rating, h in zip(ratings, half.tolist(), strict=True)
    ]
