"""What cells and notes of tables are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from card_envs.evaluation.display import short_names


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


def plus_minus(row: Mapping[str, Any], key: str, style: str) -> str:
    """A value of a row, and half the width of its 95% interval."""
    low, high = row[f"{key}_ci95"]
    return f"{row[key]:{style}} ± {(high - low) / 2:.3f}"


def spread(values: Iterable[Any], sign: str = "+") -> str:
    """The mean over seeds, with the lowest and the highest."""
    found = [float(value) for value in values]
    low, high = (f"{value:{sign}.3f}" for value in (min(found), max(found)))
    return f"{np.mean(found):{sign}.3f} ({low} … {high})"


def half_width(rows: Sequence[Mapping[str, Any]]) -> str:
    """The mean half width of the rows' 95% intervals of the rank reward."""
    widths = [high - low for low, high in (row["rank_ci95"] for row in rows)]
    return f"±{sum(widths) / (2 * len(widths)):.3f}"


def three_digits(value: float) -> str:
    """A number with three significant digits."""
    return f"{float(f'{value:.3g}'):,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"
