"""Means of bounded values and their confidence intervals."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.extras import import_extra

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
# With up to this many values that differ from the most common one, a pseudo-observation counts in
# full. Found by simulation (benchmarks/coverage.py): with 3.5 some intervals cover less than 93%.
_FULL_WEIGHT = 4


class MeanEstimate(NamedTuple):
    """A mean and its 95% confidence interval, whose ends are None below 5 values."""

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
    values: NDArray[np.float64], bounds: tuple[float, float] = RANK_BOUNDS
) -> MeanEstimate:
    """The mean of independent bounded values and its 95% confidence interval.

    The interval is Student's t over the values and a pseudo-observation at each end of their range,
    as Agresti and Coull (1998) add successes and failures to a proportion, cut off at the range.
    Unlike theirs, the pseudo-observations count the less the more values differ from the most
    common one, k of them: 1 each up to k = 4, then 4 / k. So the interval allows for rare results
    that did not occur, and approaches Student's t otherwise.

    Args:
        values: float64 (N,), at least 1; below 5 there is no interval.
        bounds: The least and the greatest possible value: ``RANK_BOUNDS`` (-1, 1),
            ``WIN_BOUNDS`` (0, 1) or ``DIFFERENCE_BOUNDS`` (-2, 2, of two rank rewards), or others.

    Raises:
        ValueError: The values are not a row of at least 1, or outside the bounds.
        MissingExtraError: scipy is not installed.
    """
    import_extra("scipy.stats", "evaluation")
    least, most = bounds
    if values.ndim != 1 or not len(values):
        raise ValueError(f"at least 1 value (N,) is needed, got the shape {values.shape}")
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
    different = count - int(np.unique(rounded, return_counts=True)[1].max())
    weight = min(1.0, _FULL_WEIGHT / max(different, 1))
    total = count + 2.0 * weight
    center = (count * mean + weight * (least + most)) / total
    squares = float(((values - center) ** 2).sum())
    squares += weight * ((least - center) ** 2 + (most - center) ** 2)
    half = _student(count - 1) * (squares / (total - 1.0) / total) ** 0.5
    return MeanEstimate(mean, max(least, center - half), min(most, center + half))


@cache
def _student(degrees: int) -> float:
    """The 97.5% quantile of Student's t."""
    return float(import_extra("scipy.stats", "evaluation").t.ppf(0.975, degrees))
