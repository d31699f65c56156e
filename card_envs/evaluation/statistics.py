"""Means of bounded values and their confidence intervals."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from card_envs.utils.extras import import_extra

#: The range of rank rewards, and of their means.
RANK_BOUNDS = (-1.0, 1.0)
#: The range of shares of victories.
WIN_BOUNDS = (0.0, 1.0)
#: The range of differences between two rank rewards.
DIFFERENCE_BOUNDS = (-2.0, 2.0)
#: The fewest values that give an interval.
FEWEST_VALUES = 5
#: Why there is a dash in place of an interval.
NO_INTERVAL = f"No 95% interval (–): that takes at least {FEWEST_VALUES} deals."

# Equal values may differ in their last digits, depending on the order in which they were summed.
_DIGITS = 9
# How fast pseudo-observations lose weight, and come nearer, as more values differ from the most
# common one. Found by simulation (benchmarks/coverage.py): with less, some intervals cover less
# than 93%; with more, some are more than 10% wider than Student's t where that holds.
_WEIGHT = 4.0
_FEW = 14.0
_LEVEL = 1e-9
_REACH = 12.0


class MeanEstimate(NamedTuple):
    """A mean and its confidence interval, of 95% unless said otherwise, whose ends are None below 5
    values."""

    mean: float
    low: float | None
    high: float | None

    @property
    def interval(self) -> list[float] | None:
        """The interval, ``[low, high]``, or None."""
        return None if self.low is None or self.high is None else [self.low, self.high]

    def to_json(self, key: str) -> dict[str, Any]:
        """As JSON data: the mean as ``key``, and the interval as ``key_ci95``."""
        return {key: self.mean, f"{key}_ci95": self.interval}


def estimate_mean(
    values: ArrayLike,
    bounds: tuple[float, float] = RANK_BOUNDS,
    confidence: float = 0.95,
) -> MeanEstimate:
    """The mean of independent bounded values and its confidence interval.

    The interval is Student's t with two pseudo-observations, one at each end of the values' range,
    as Agresti and Coull (1998) add successes and failures to a proportion; it is clipped to the
    range. They stand for rare results that did not occur. The more values differ from the most
    common one, k of N, the less such results can matter: each pseudo-observation weighs
    4 b / k + (14 / N)**2, at most 1, where b is 1 if the k lie on one side of the most common
    value, and 0 if they balance (b = abs(sum(sign(d) * d**4)) / sum(d**4) over their distances d);
    and it is no farther from that value than 1 + (12 / k)**2 times the farthest of them.

    Args:
        values: Numbers (N,), at least 1; below 5 there is no interval.
        bounds: The least and the greatest possible value: ``RANK_BOUNDS`` (-1, 1),
            ``WIN_BOUNDS`` (0, 1) or ``DIFFERENCE_BOUNDS`` (-2, 2, of two rank rewards), or others.
        confidence: How likely the interval is to hold the mean: 0.95, or, where k means are to be
            held by all of their intervals at once, ``1 - 0.05 / k``.

    Raises:
        ValueError: The values are not a row of at least 1 number, or outside the bounds; these are
            not two numbers that rise; or the confidence is not between 0 and 1.
        MissingExtraError: scipy is not installed.
    """
    import_extra("scipy.stats", "evaluation")
    if len(bounds) != 2 or not bounds[0] < bounds[1]:
        raise ValueError(f"bounds must be the least and the greatest possible value, got {bounds}")
    least, most = bounds
    values = np.asarray(values)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "iuf":
        raise ValueError(
            f"values must be one or more numbers (N,), got {values.dtype} {values.shape}"
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
    rounded = np.round(values, _DIGITS)
    if not (least <= rounded.min() and rounded.max() <= most):  # nan, too
        raise ValueError(
            f"values must be from {least} to {most}, got {values.min()} to {values.max()}: bounds "
            "gives their possible range"
        )
    mean = float(np.clip(values.mean(), least, most))
    count = len(values)
    if count < FEWEST_VALUES:
        return MeanEstimate(mean, None, None)
    distinct, counts = np.unique(rounded, return_counts=True)
    modes = distinct[counts == counts.max()]
    apart = np.abs(modes - mean)
    middle = float(modes[apart <= apart.min() + _LEVEL].mean())  # so that mirrored values are alike
    different = count - int(counts.max())
    weight, reach = 1.0, most - least
    if different:
        away = values - middle
        one_sided = abs(float((away**3 * np.abs(away)).sum())) / float((away**4).sum())
        weight = min(1.0, _WEIGHT * one_sided / different + (_FEW / count) ** 2)
        reach = float(np.abs(away).max()) * (1.0 + (_REACH / different) ** 2)
    added = np.array([max(least, middle - reach), min(most, middle + reach)])
    total = count + 2.0 * weight
    center = (count * mean + weight * float(added.sum())) / total
    squares = float(((values - center) ** 2).sum() + weight * ((added - center) ** 2).sum())
    half = student(count - 1, confidence) * (squares / (total - 1.0) / total) ** 0.5
    return MeanEstimate(mean, max(least, center - half), min(most, center + half))


@cache
def student(degrees: int, confidence: float = 0.95) -> float:
    """How far Student's t is from 0 at most, at this confidence."""
    t = import_extra("scipy.stats", "evaluation").t
    return float(t.ppf(0.5 + confidence / 2.0, degrees))
