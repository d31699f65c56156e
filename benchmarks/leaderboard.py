"""How results of strength are shown: tables and pictures, and rows on the policies' cards."""

from __future__ import annotations

import json
from typing import Any

from benchmarks import report
from card_envs.agents import policy_path, shipped_policies
from card_envs.docs import markdown_table
from card_envs.games import load_game
from training.records import identity, with_tables, write_json
from training.tournament import interval_of_rating, plot


def table(measured: dict[str, Any]) -> str:
    """The leaderboard as Markdown, and its picture."""
    sizes = measured["by_num_players"]
    rows = []
    for row in sorted(measured["overall"]["agents"], key=lambda row: -row["rating"]):
        name = row["name"]
        of_sizes = [next(r for r in s["agents"] if r["name"] == name) for s in sizes.values()]
        rows.append(
            [
                f"`{name}`",
                f"{row['rating']:+.0f} ({interval_of_rating(row)})",
                _with_interval(row, "rank", "+.3f"),
                _with_interval(row, "win", ".3f"),
                *(_with_interval(r, "rank", "+.3f") for r in of_sizes),
            ]
        )
    header = ["agent", "rating", "rank reward", "win share", *(f"{n} players" for n in sizes)]
    return "\n".join(
        [
            markdown_table(header, rows, len(header) - 1),
            "",
            f"`{measured['command']}`",
            "",
            f"![Ratings, and who is ahead of whom](results/strength_{measured['game']}.png)",
        ]
    )


def _with_interval(row: dict[str, Any], key: str, style: str) -> str:
    low, high = row[f"{key}_ci95"]
    return f"{row[key]:{style}} ± {(high - low) / 2:.3f}"


def response_table(measured: dict[str, Any]) -> str:
    """What best responses gain, as Markdown."""
    rows = [
        [
            f"`{row['against']}`",
            str(row["num_players"]),
            "{:+.3f} ({:+.3f} … {:+.3f})".format(row["gain"], *row["gain_ci95"]),
            f"{row['decisions']:,}",
        ]
        for row in measured["responses"]
    ]
    header = ["against", "players", "gain of the response", "decisions of training"]
    return "\n".join(
        [
            markdown_table(header, rows, 3),
            "",
            f"Rank reward with its 95% interval over {measured['deals']} deals in all seatings: "
            f"`{measured['command']}`.",
        ]
    )


def put_on_cards(measured: dict[str, Any]) -> None:
    """Write the leaderboard's rows onto the cards of the shipped policies.

    Raises:
        ValueError: A shipped policy did not take part, or it was another one of that name.
    """
    game = load_game(measured["game"])
    names = shipped_policies(game)
    missing = {identity(name, game) for name in names} - set(measured["agents"])
    if missing:
        raise ValueError(
            f"the leaderboard of {game.id} is without {', '.join(sorted(missing))}: measure it anew"
        )
    for name in names:
        rows = {
            players: next(row for row in size["agents"] if row["name"] == name)
            for players, size in {**measured["by_num_players"], "all": measured["overall"]}.items()
        }
        weights = policy_path(name, game)
        assert weights is not None
        card = json.loads(weights.with_suffix(".json").read_text(encoding="utf-8"))
        card["leaderboard"] = {"command": measured["command"], "by_num_players": rows}
        write_json(weights.with_suffix(".json"), card)


def rewrite() -> None:
    """Rewrite pictures, cards and the best responses' tables from ``benchmarks/results``.

    Raises:
        ValueError: A leaderboard is not of the shipped policies.
    """
    text = report.README.read_text(encoding="utf-8")
    text = with_tables(text, "best_response", report.RESULTS, response_table)
    report.README.write_text(text, encoding="utf-8")
    for path in sorted(report.RESULTS.glob("strength_*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))
        put_on_cards(measured)
        title = f"{load_game(measured['game']).title}, all table sizes"
        plot(measured["overall"], path.with_suffix(".png"), title)
