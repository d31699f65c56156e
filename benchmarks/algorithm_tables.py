"""How the comparison of algorithms is shown: tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from card_envs.evaluation.display import draw_matrix, write_picture
from card_envs.extras import import_extra
from card_envs.games import GAMES, load_game
from card_envs.markdown import markdown_table
from training.runs.records import read_json


def table(measured: dict[str, Any]) -> str:
    """The comparison as Markdown, with its picture.

    Args:
        measured: What ``benchmarks.algorithms`` writes.
    """
    settings = measured["settings"]
    algorithms = measured["results"]["algorithms"]
    first = next(iter(algorithms.values()))["runs"][0]
    header = ["algorithm", "decisions", *(f"among `{name}`" for name in settings["opponents"])]
    truncated = {
        name: max(m["truncated"] for run in result["runs"] for m in _measurements(run))
        for name, result in algorithms.items()
    }
    if any(truncated.values()):
        header.append("unfinished games")
    if "search" in first:
        header.append(f"gain of `{settings['search']}`")
    if "exploitability" in first:
        header.append("exploitability")
    header.append("minutes")
    rows = []
    for name, result in algorithms.items():
        runs = result["runs"]
        cells = [f"`{name}`: {result['about']}", f"{result['decisions']:,}"]
        for opponent in settings["opponents"]:
            cells.append(_spread([run["against"][opponent]["rank"] for run in runs]))
        if any(truncated.values()):
            cells.append(f"{truncated[name]:.1%}")
        if "search" in first:
            cells.append(_spread([run["search"]["rank"] for run in runs]))
        if "exploitability" in first:
            cells.append(_spread([run["exploitability"] for run in runs], sign=""))
        cells.append(f"{np.mean([run['seconds'] for run in runs]) / 60:.1f}")
        rows.append(cells)
    matches = [run["against"][name] for run in _runs(algorithms) for name in settings["opponents"]]
    searches = [run["search"] for run in _runs(algorithms) if "search" in run]
    note = (
        f"{settings['num_players']} players, {len(settings['seeds'])} seeds: the mean (lowest … "
        f"highest). Rank rewards over {settings['deals']} deals in all seatings, which leave each "
        f"seed's uncertain by {_uncertainty(matches)} (95%)"
    )
    if searches:
        note += f"; of the search over {settings['search_deals']}, by {_uncertainty(searches)}"
    note += "."
    if any(truncated.values()):
        note += " Unfinished: the largest share of all matches."
    lines = [
        markdown_table(header, rows, len(header) - 1),
        note,
        report.origin(measured),
        f"![Comparison of algorithms](results/{picture_name(measured)})",
    ]
    return "\n\n".join(lines)


def _runs(algorithms: dict[str, Any]) -> list[dict[str, Any]]:
    """All runs of all algorithms."""
    return [run for result in algorithms.values() for run in result["runs"]]


def _uncertainty(matches: Sequence[dict[str, Any]]) -> str:
    return report.half_width([match["rank_ci95"] for match in matches])


def _measurements(run: dict[str, Any]) -> list[dict[str, Any]]:
    """What was measured of a run with games that can be cut short."""
    return [*run["against"].values(), *([run["search"]] if "search" in run else [])]


def _spread(values: Sequence[float], sign: str = "+") -> str:
    low, high = (f"{value:{sign}.3f}" for value in (min(values), max(values)))
    return f"{np.mean(values):{sign}.3f} ({low} … {high})"


def picture_name(measured: dict[str, Any]) -> str:
    """The file name of the picture of a game."""
    return f"algorithms_{measured['game']}.png"


def draw(measured: dict[str, Any], picture: Path) -> None:
    """Draw strength against the given agents, seed by seed, and the cross-play matrix.

    Args:
        measured: What ``benchmarks.algorithms`` writes.
        picture: The file to write.

    Raises:
        OSError: The file cannot be written.
    """
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
    draw_matrix(right, names, cells, -1.0, 1.0, "+.2f")
    right.set_title("rank reward of one (row) among copies (column)", fontsize="medium")
    game = measured["game"]  # another package's may not be there when its table is drawn
    title = load_game(game).title if game in GAMES else game
    figure.suptitle(f"{title}, {settings['num_players']} players")
    write_picture(figure, picture)


def draw_all() -> None:
    """Draw the pictures of all results."""
    for path in sorted(report.RESULTS.glob("algorithms_*.json")):
        measured = read_json(path)
        draw(measured, path.with_name(picture_name(measured)))
