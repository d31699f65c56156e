"""A benchmark's result as tables in the terminal and as a picture, made from its JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from card_envs.agents.programs import ProgramReport
from card_envs.evaluation.display import (
    as_typed,
    draw_means,
    interval,
    print_content,
    print_programs,
    print_truncated,
    results_table,
    with_interval,
    write_picture,
)
from card_envs.games import load_game
from card_envs.utils.extras import import_extra


def show_benchmark(claim: Mapping[str, Any], programs: Sequence[ProgramReport]) -> None:
    """Print a table for each game.

    Args:
        claim: What ``card_envs.evaluation.benchmark.claim`` gives.
        programs: The reports on programs, over all games.

    Raises:
        MissingExtraError: rich is not installed.
    """
    for result in claim["games"]:
        print_content(_table(claim, result))
        print_content(f"mean {with_interval(result, 'rank')}; {extremes(result)}")
        print_truncated(result)
    print_programs({"programs": [report.to_json() for report in programs]})
    if claim["status"] != "frozen":
        print_content(
            f"{claim['protocol']} is a {claim['status']}: its opponents may still change, and with "
            "them the results."
        )


def extremes(result: Mapping[str, Any]) -> str:
    """In words: where the agent does worst, and where a member of the pool gains most."""
    worst, most = result["worst"], result["most_gained"]
    return (
        f"worst {with_interval(worst, 'rank')} among {worst['name']}, {worst['num_players']} "
        f"players; gained most from it: {with_interval(most, 'rank')} by {most['name']}, "
        f"{most['num_players']} players"
    )


def _table(claim: Mapping[str, Any], result: Mapping[str, Any]) -> Any:
    sizes = [row["num_players"] for row in result["among"][0]["by_num_players"]]
    gains = {row["name"]: row for row in result["gains"]}
    quick = ", quick" if claim["quick"] else ""
    name = as_typed(claim["agent"])
    table = results_table(
        f"{claim['protocol']}{quick}, {result['game']}: rank reward of one {name}, "
        f"{result['deals']} deals in all seatings",
        ("among", "mean", "95% interval", *(f"{n} players" for n in sizes), f"among {name} it has"),
    )
    for row in result["among"]:
        ranks = {size["num_players"]: f"{size['rank']:+.3f}" for size in row["by_num_players"]}
        gain = gains.get(row["name"])
        table.add_row(
            as_typed(row["name"]),
            f"{row['rank']:+.3f}",
            interval(row, "rank"),
            *(ranks.get(n, "–") for n in sizes),
            "–" if gain is None else f"{gain['rank']:+.3f}",
        )
    return table


def plot_benchmark(claim: Mapping[str, Any], picture: str | Path) -> None:
    """Draw the agent's rank rewards among the opponents, and theirs among copies of the agent.

    Args:
        claim: What ``card_envs.evaluation.benchmark.claim`` gives.
        picture: The file to write; its extension selects the format.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OSError: The file cannot be written.
        ValueError: There is no such format.
    """
    figures = import_extra("matplotlib.figure", "evaluation")
    results = claim["games"]
    most = max(len(result["among"]) for result in results)
    figure = figures.Figure(figsize=(1 + 5 * len(results), 2.0 + 0.5 * most), layout="constrained")
    for axes, result in zip(
        figure.subplots(1, len(results), squeeze=False)[0], results, strict=True
    ):
        names = [row["name"] for row in result["among"]]
        axes.axvline(0.0, color="0.8")
        for key, label, marker, shift in (
            ("among", f"one {claim['agent']} among them", "o", -0.12),
            ("gains", f"one of them among {claim['agent']}", "s", 0.12),
        ):
            rows = result[key]
            places = [names.index(row["name"]) + shift for row in rows]
            draw_means(axes, rows, "rank", places, fmt=marker, capsize=3, label=label)
        axes.set_yticks(range(len(names)), [name.replace(",", ",\n") for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("rank reward, mean over table sizes (95% interval)")
        axes.set_title(f"{load_game(result['game']).title}: {result['rank']:+.3f}")
    figure.suptitle(f"{claim['agent']} at {claim['protocol']}{', quick' * claim['quick']}")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center")
    write_picture(figure, picture)
