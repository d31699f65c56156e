"""How strength results are shown: tables and pictures, and rows on the policies' cards."""

from __future__ import annotations

import json
from typing import Any

from benchmarks import report
from card_envs.agents import policy_path, shipped_policies
from card_envs.evaluation.display import plot_ratings, rating_interval, short_names
from card_envs.files import write_json, write_text
from card_envs.games import load_game
from card_envs.markdown import markdown_table
from training.runs.records import identity, predecessors, with_tables


def table(measured: dict[str, Any]) -> str:
    """The leaderboard as Markdown, with its picture.

    Args:
        measured: What ``benchmarks.strength`` writes.
    """
    sizes = measured["by_num_players"]
    rows = []
    agents = measured["overall"]["agents"]
    shown = dict(zip([row["name"] for row in agents], _names(agents), strict=True))
    for row in sorted(agents, key=lambda row: -row["rating"]):
        name = row["name"]
        of_sizes = [next(r for r in s["agents"] if r["name"] == name) for s in sizes.values()]
        rows.append(
            [
                f"`{shown[name]}`",
                f"{row['rating']:+.0f} ({rating_interval(row)})",
                _with_interval(row, "rank", "+.3f"),
                _with_interval(row, "win", ".3f"),
                *(_with_interval(r, "rank", "+.3f") for r in of_sizes),
            ]
        )
    header = ["agent", "rating", "rank reward", "win share", *(f"{n} players" for n in sizes)]
    lines = [markdown_table(header, rows, len(header) - 1)]
    if measured["overall"].get("truncated"):
        share = measured["overall"]["truncated"]
        lines.append(f"{share:.1%} of the games were truncated at `max_steps`.")
    faults = [
        [f"`{row['name']}`", fault["fault"], str(fault["count"]), fault["first"]]
        for row in measured["overall"].get("programs", [])
        for fault in row["faults"]
    ]
    if faults:
        lines.append(markdown_table(["program", "fault", "count", "first"], faults))
    lines.append(f"`{measured['command']}`")
    lines.append(f"![Ratings and pairwise results](results/strength_{measured['game']}.png)")
    return "\n\n".join(lines)


def _names(agents: list[dict[str, Any]]) -> list[str]:
    return short_names([row["name"] for row in agents])


def _with_interval(row: dict[str, Any], key: str, style: str) -> str:
    low, high = row[f"{key}_ci95"]
    return f"{row[key]:{style}} ± {(high - low) / 2:.3f}"


def response_table(measured: dict[str, Any]) -> str:
    """What best responses gain, as Markdown.

    Args:
        measured: What ``training.best_response`` writes.
    """
    searched = measured.get("search_deals", 0)  # older results are without a search
    rows = [
        [
            f"`{short_names([row['against']])[0]}`",
            str(row["num_players"]),
            _gain(row),
            f"{row['decisions']:,}",
            *([_gain(row["search"]) if row["search"] else "–"] if searched else []),
        ]
        for row in measured["responses"]
    ]
    header = ["against", "players", "gain of a learner", "its decisions"]
    note = f"Rank rewards with 95% intervals over {measured['deals']} deals in all seatings"
    if searched:
        header.append(f"gain of `{measured['search']}`")
        note += f", of the search over {searched}"
    table = markdown_table(header, rows, len(header) - 1)
    return f"{table}\n\n{note}: `{measured['command']}`."


def _gain(row: dict[str, Any]) -> str:
    shown = "{:+.3f} ({:+.3f} … {:+.3f})".format(row["gain"], *row["gain_ci95"])
    unfinished = row.get("truncated", 0.0)
    return f"{shown}; {unfinished:.1%} unfinished" if unfinished >= 0.0005 else shown


def put_on_cards(measured: dict[str, Any]) -> None:
    """Write the leaderboard's rows onto the cards of the game's policies.

    Args:
        measured: What ``benchmarks.strength`` writes.

    Raises:
        ValueError: A policy did not take part, or it was another one of that name.
    """
    game = load_game(measured["game"])
    names = [*shipped_policies(game), *predecessors(game)]
    measured_ones = {_short_identity(agent) for agent in measured["agents"]}
    missing = {_short_identity(identity(name, game)) for name in names} - measured_ones
    if missing:
        raise ValueError(
            f"the leaderboard of {game.id} lacks {', '.join(sorted(missing))}: measure it again"
        )
    for name, short in zip(names, short_names(names), strict=True):
        rows = {}
        for players, size in {**measured["by_num_players"], "all": measured["overall"]}.items():
            shown = dict(zip(_names(size["agents"]), size["agents"], strict=True))
            if short not in shown:
                raise ValueError(
                    f"the leaderboard of {game.id} has several agents called {short}: measure the "
                    "game's own alone"
                )
            rows[players] = shown[short]
        weights = policy_path(name, game)
        assert weights is not None
        card = json.loads(weights.with_suffix(".json").read_text(encoding="utf-8"))
        card["leaderboard"] = {"command": measured["command"], "by_num_players": rows}
        write_json(weights.with_suffix(".json"), card)


def _short_identity(identity: str) -> str:
    """An agent's short name, and the SHA-256 of a policy's file."""
    name, *digest = identity.split(" ")
    return " ".join([*short_names([name]), *digest])


def rewrite() -> None:
    """Rewrite pictures, cards and the best responses' tables from ``benchmarks/results``.

    Raises:
        ValueError: A leaderboard is not of the game's policies.
    """
    text = report.README.read_text(encoding="utf-8")
    text = with_tables(text, "best_response", report.RESULTS, response_table)
    write_text(report.README, text)
    for path in sorted(report.RESULTS.glob("strength_*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))
        put_on_cards(measured)
        title = f"{load_game(measured['game']).title}, all table sizes"
        plot_ratings(measured["overall"], path.with_suffix(".png"), title)
