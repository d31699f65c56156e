"""What cells and notes of tables are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from card_envs.evaluation.display import short_names
from card_envs.evaluation.statistics import FEWEST_VALUES


def origin(measured: dict[str, Any]) -> str:
    """One line that says where and how the results were measured."""
    machine = measured["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"`{measured['command']}` on {measured['date']}: {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}, {versions}."
    )


def names(agents: Sequence[Mapping[str, Any]]) -> list[str]:
    """The agents' short names."""
    return short_names([row["name"] for row in agents])


def spread(values: Iterable[Any]) -> str:
    """The mean over seeds, with the lowest and the highest if there are several."""
    found = [float(value) for value in values]
    mean, low, high = (f"{x:+.3f}" for x in (np.mean(found), min(found), max(found)))
    return f"{mean} ({low} … {high})" if len(found) > 1 else mean


def half_width(rows: Sequence[Mapping[str, Any]]) -> str:
    """The mean half width of the rows' 95% intervals of the rank reward; a dash, and why, if there
    are none."""
    widths = [ends[1] - ends[0] for row in rows if (ends := row["rank_ci95"]) is not None]
    if not widths:
        return f"– (fewer than {FEWEST_VALUES} deals)"
    return f"±{sum(widths) / (2 * len(widths)):.3f}"


def three_digits(value: float) -> str:
    """A number with three significant digits."""
    return f"{float(f'{value:.3g}'):,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"
