"""Means and their confidence intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.extras import import_extra


class MeanEstimate(NamedTuple):
    """A mean and its 95% confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def interval(self) -> list[float]:
        """The interval, ``[low, high]``."""
        return [self.low, self.high]

    def to_json(self, key: str) -> dict[str, Any]:
        """As JSON data: the mean as ``key``, and the interval as ``key_ci95``."""
        return {key: self.mean, f"{key}_ci95": self.interval}


def estimate_mean(values: NDArray[np.float64]) -> MeanEstimate:
    """The mean of independent values and its 95% confidence interval (Student's t).

    Args:
        values: float64 (N,), at least 2.

    Raises:
        ValueError: The values are not a row of at least 2.
        MissingExtraError: scipy is not installed.
    """
    stats = import_extra("scipy.stats", "evaluation")
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"at least 2 values (N,) are needed, got the shape {values.shape}")
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    half = float(stats.t.ppf(0.975, len(values) - 1)) * error
    return MeanEstimate(mean, mean - half, mean + half)
