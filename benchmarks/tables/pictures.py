"""Pictures of results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from card_envs.evaluation.display import draw_matrix, plot_ratings, write_picture
from card_envs.utils.extras import import_extra


def _ratings(measured: dict[str, Any], picture: Path, title: str) -> None:
    plot_ratings(measured["overall"], picture, f"{title}, all table sizes")


def _ratings_of_all(measured: dict[str, Any], picture: Path, title: str) -> None:
    players = measured["settings"]["num_players"]
    plot_ratings(measured["results"], picture, f"{title}, {players} players")


def _algorithms(measured: dict[str, Any], picture: Path, title: str) -> None:
    """Strength against the given agents, seed by seed, and the cross-play matrix."""
    figures = import_extra("matplotlib.figure", "evaluation")
    algorithms, settings = measured["results"]["algorithms"], measured["settings"]
    names = list(algorithms)
    count = len(names)
    figure = figures.Figure(figsize=(7 + 0.9 * count, 2.8 + 0.5 * count), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, opponent in enumerate(settings["opponents"]):
        shift = 0.16 * (k - (len(settings["opponents"]) - 1) / 2)
        for at, name in enumerate(names):
            ranks = [run["against"][opponent]["rank"] for run in algorithms[name]["runs"]]
            left.plot(
                [min(ranks), max(ranks)], [at + shift] * 2, color=f"C{k}", linewidth=1, alpha=0.6
            )
            label = f"among {opponent}" if at == 0 else None
            left.plot(ranks, [at + shift] * len(ranks), f"C{k}o", markersize=5, label=label)
    left.axvline(0.0, color="grey", linewidth=0.8)
    left.set_yticks(range(count), names)
    left.set_ylim(count - 0.5, -0.5)
    left.set_xlabel("rank reward, each seed")
    left.legend(loc="best", fontsize="small")
    matrices = measured["results"]["cross_play"]
    cells = np.array(
        [
            [
                np.nan if one == other else np.mean([m[one][other] for m in matrices])
                for other in names
            ]
            for one in names
        ]
    )
    texts = [[f"{cell:+.2f}" for cell in row] for row in cells]
    draw_matrix(right, names, cells, -1.0, 1.0, texts)
    right.set_title("rank reward of one (row) among copies (column)", fontsize="medium")
    figure.suptitle(f"{title}, {settings['num_players']} players")
    write_picture(figure, picture)


class Picture(NamedTuple):
    """How results of a kind are drawn."""

    about: str
    draw: Callable[[dict[str, Any], Path, str], None]  # a result, the file to write, the title


#: By the result's kind.
PICTURES = {
    "algorithms": Picture("Comparison of algorithms", _algorithms),
    "all_agents": Picture("Ratings and pairwise results", _ratings_of_all),
    "strength": Picture("Ratings and pairwise results", _ratings),
}
