"""The learning-curve picture of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from card_envs.evaluation.display import write_picture


def plot_learning_curve(entries: Sequence[dict[str, Any]], picture: Path, title: str) -> None:
    """Draw the periodic evaluations of a run with their 95% intervals, where they have some.

    Args:
        entries: The lines of progress.jsonl.
        picture: The file to write.
        title: The game's title.
    """
    decisions = [entry["decisions"] / 1e6 for entry in entries]
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    measured = [key for key in entries[0] if key.startswith("vs_") and f"{key}_ci95" in entries[0]]
    has_intervals = False
    for k, key in enumerate(measured):
        color = f"C{k}"
        means = [entry[key] for entry in entries]
        ends = np.array([entry[f"{key}_ci95"] or [np.nan, np.nan] for entry in entries])
        label = f"against {key.removeprefix('vs_')}"
        axes.plot(decisions, means, color=color, marker=".", label=label)
        if not np.isnan(ends).all():
            has_intervals = True
            axes.fill_between(decisions, ends[:, 0], ends[:, 1], color=color, alpha=0.2)
    axes.axhline(0.0, color="gray", linewidth=0.8)
    axes.set_xlabel("learner decisions (millions)")
    axes.set_ylabel("rank reward of one learner")
    axes.set_ylim(-1.05, 1.05)
    axes.set_title(f"{title}: learning curve{', 95% intervals' if has_intervals else ''}")
    axes.legend(loc="lower right")
    write_picture(figure, picture)
