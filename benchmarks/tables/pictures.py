"""Pictures of results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tables.games import title_of
from card_envs.evaluation.display import plot_ratings, write_picture
from card_envs.utils.extras import import_extra


def _ratings(measured: dict[str, Any], picture: Path, title: str) -> None:
    plot_ratings(measured["overall"], picture, f"{title}, all table sizes")


def _ratings_of_all(measured: dict[str, Any], picture: Path, title: str) -> None:
    players = measured["settings"]["num_players"]
    plot_ratings(measured["results"], picture, f"{title}, {players} players")


def _algorithms(measured: dict[str, Any], picture: Path, title: str) -> None:
    """Every run as a point, and beside them the interquartile mean over all games."""
    figures = import_extra("matplotlib.figure", "evaluation")
    settings, methods = measured["settings"], measured["results"]["methods"]
    names = list(methods)
    figure = figures.Figure(figsize=(8, 1.6 + 0.5 * len(names)), layout="constrained")
    axes = figure.subplots()
    for k, game in enumerate(settings["games"]):
        for at, name in enumerate(names):
            ranks = [run["score"] for run in methods[name]["games"][game]["runs"]]
            label = title_of(game) if at == 0 else None
            height = np.full(len(ranks), at - 0.12 + 0.14 * k)
            axes.plot(ranks, height, "o", color=f"C{k}", alpha=0.6, markersize=5, label=label)
    of_all = "all games: " if len(settings["games"]) > 1 else ""
    for at, name in enumerate(names):
        mean, low, high = methods[name]["iqm"]
        label = f"{of_all}IQM, 95% interval" if at == 0 else None
        ends = [[mean - low], [high - mean]]
        axes.errorbar(mean, at + 0.3, xerr=ends, fmt="D", color="black", capsize=4, label=label)
    axes.axvline(0.0, color="grey", linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.5)
    axes.set_xlabel(f"mean rank reward of one among {' and one among '.join(settings['against'])}")
    learned = f"{settings['cpu_minutes']:g} minutes of one core"
    axes.set_title(f"{learned}, {len(settings['reported']['seeds'])} seeds", fontsize="medium")
    axes.legend(loc="best", fontsize="small")
    write_picture(figure, picture)


class Picture(NamedTuple):
    """How results of a kind are drawn."""

    about: str
    draw: Callable[[dict[str, Any], Path, str], None]  # a result, the file to write, the title


#: By the result's kind.
PICTURES = {
    "algorithms": Picture("Methods of learning compared", _algorithms),
    "all_agents": Picture("Ratings and pairwise results", _ratings_of_all),
    "strength": Picture("Ratings and pairwise results", _ratings),
}
