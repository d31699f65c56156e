"""A tournament: every table that can be made of some agents, ratings, and who beats whom.

The ratings are strengths on Elo's scale (400 points: ten to one), fitted to the whole rankings of
all games, see ``training.ratings``; their mean is 0. Each table's deals are the same.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from card_envs.agents import make_agent
from card_envs.engine.game import Game
from card_envs.games import load_game
from training import command
from training.evaluate import (
    Played,
    check_evaluation_options,
    deal_seeds,
    mean_and_interval,
    play_deals,
)
from training.ratings import Rankings

_BOOTSTRAPS = 200


def tables_of(count: int, players: int) -> list[tuple[int, ...]]:
    """Every table of that many players at which two or more of ``count`` agents can sit."""
    tables = combinations_with_replacement(range(count), players)
    return [table for table in tables if len(set(table)) > 1]


def check_entrants(names: Sequence[str]) -> None:
    """ValueError unless there are between 2 and 15 agents, all different."""
    if len(set(names)) != len(names) or not 2 <= len(names) <= 15:
        raise ValueError(f"2 to 15 different agents can play each other, got {list(names)}")


def run_tournament(
    game: Game,
    names: Sequence[str],
    players: int,
    deals: int,
    seed: int,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Play all tables and return what ``--json`` writes.

    Args:
        game: The game.
        names: At least two different agents.
        players: Number of players of every table.
        deals: Deals of every table, each played in all cyclic seatings; at least 2.
        seed: The deals' seed.
        options: The game's options but ``reward``.

    Raises:
        ValueError: An agent, a number or an option is wrong.
        TypeError: There is no such option.
    """
    game.check_num_players(players)
    check_entrants(names)
    checked = check_evaluation_options(game, options or {})
    agents = [make_agent(name, game, seed=seed) for name in names]
    seeds = deal_seeds(seed, deals)
    tables = tables_of(len(agents), players)
    played = [
        play_deals(game, [agents[k] for k in table], seeds, checked)
        for table in track(tables, description="tables", console=Console(stderr=True))
    ]
    return {
        "game": game.name,
        "num_players": players,
        "deals": deals,
        "seed": seed,
        "options": checked,
        **standings(names, tables, played, seed),
    }


def standings(
    names: Sequence[str],
    tables: Sequence[Sequence[int]],
    played: Sequence[Played],
    seed: int,
) -> dict[str, Any]:
    """What the tables, perhaps of several sizes, say of the agents.

    Args:
        names: The agents' names.
        tables: The agents of each table, as numbers.
        played: The results of each table, of the same deals.
        seed: Of the bootstrap.

    Returns:
        ``agents``: of each the rating, rank reward and win share with 95% intervals, averaged over
        its tables; ``pairwise``: how often the row's agent is ahead of the column's, level
        counting half; ``tables``: the mean results of each.
    """
    count = len(names)
    ranks: list[list[NDArray[np.float64]]] = [[] for _ in names]
    wins: list[list[NDArray[np.float64]]] = [[] for _ in names]
    ahead, met = np.zeros((2, count, count))
    rows = []
    for table, result in zip(tables, played, strict=True):
        rank, win = result.rank.mean(axis=1), result.win.mean(axis=1)
        for place, a in enumerate(table):
            ranks[a].append(rank[:, place])
            wins[a].append(win[:, place])
            for other, b in enumerate(table):
                balance = np.sign(result.standing[..., place] - result.standing[..., other])
                ahead[a, b] += (balance.mean() + 1.0) / 2.0
                met[a, b] += 1.0
        rows.append(
            {
                "agents": [names[k] for k in table],
                "rank": rank.mean(axis=0).tolist(),
                "win": win.mean(axis=0).tolist(),
            }
        )
    rankings = Rankings(count, [(t, p.standing) for t, p in zip(tables, played, strict=True)])
    ratings, low, high = rankings.ratings(_BOOTSTRAPS, np.random.default_rng(seed))
    agents = []
    for k, name in enumerate(names):
        rank_mean, rank_interval = mean_and_interval(np.mean(ranks[k], axis=0))
        win_mean, win_interval = mean_and_interval(np.mean(wins[k], axis=0))
        agents.append(
            {
                "name": name,
                "rating": float(ratings[k]),
                "rating_ci95": [float(low[k]), float(high[k])],
                "rank": rank_mean,
                "rank_ci95": rank_interval,
                "win": win_mean,
                "win_ci95": win_interval,
            }
        )
    np.fill_diagonal(ahead, 0.5)
    np.fill_diagonal(met, 1.0)
    return {"agents": agents, "pairwise": (ahead / met).tolist(), "tables": rows}


def show(result: dict[str, Any]) -> None:
    """Print ratings and pairwise matrix for people."""
    console = Console()
    names = [row["name"] for row in result["agents"]]
    title = f"{result['game']}, {result['num_players']} players, {result['deals']} deals a table"
    table = Table(title=title)
    for heading in ("agent", "rating", "95% interval", "rank reward", "95% interval"):
        table.add_column(heading, justify="left" if heading == "agent" else "right")
    for row in sorted(result["agents"], key=lambda row: -row["rating"]):
        table.add_row(
            row["name"],
            f"{row['rating']:+.0f}",
            "{:+.0f} … {:+.0f}".format(*row["rating_ci95"]),
            f"{row['rank']:+.3f}",
            "{:+.3f} … {:+.3f}".format(*row["rank_ci95"]),
        )
    console.print(table)
    matrix = Table(title="how often the row is ahead of the column (level: half)")
    matrix.add_column("")
    for name in names:
        matrix.add_column(name, justify="right")
    for name, shares in zip(names, result["pairwise"], strict=True):
        cells = [
            "" if other == name else f"{s:.3f}" for other, s in zip(names, shares, strict=True)
        ]
        matrix.add_row(name, *cells)
    console.print(matrix)


def plot(result: dict[str, Any], picture: Path, title: str) -> None:
    """Draw ratings and pairwise matrix of what ``standings`` gives."""
    from matplotlib.figure import Figure

    rows = result["agents"]
    names = [Path(row["name"]).stem for row in rows]
    figure = Figure(figsize=(5 + 1.1 * len(rows), 3.2 + 0.4 * len(rows)), layout="constrained")
    left, right = figure.subplots(1, 2)
    order = sorted(range(len(rows)), key=lambda k: rows[k]["rating"])
    ratings = np.array([rows[k]["rating"] for k in order])
    intervals = np.array([rows[k]["rating_ci95"] for k in order])
    errors = np.abs(intervals - ratings[:, None]).T
    left.errorbar(ratings, range(len(order)), xerr=errors, fmt="o", capsize=4)
    left.set_yticks(range(len(order)), [names[k] for k in order])
    left.set_ylim(-0.5, len(order) - 0.5)
    left.set_xlabel("rating (Elo scale, 95% interval)")
    pairwise = np.array(result["pairwise"])
    np.fill_diagonal(pairwise, np.nan)
    right.imshow(pairwise, cmap="RdYlGn", vmin=0.0, vmax=1.0)
    for a in range(len(rows)):
        for b in range(len(rows)):
            if a != b:
                right.text(b, a, f"{pairwise[a, b]:.2f}", ha="center", va="center")
    right.set_xticks(range(len(rows)), names, rotation=30, ha="right")
    right.set_yticks(range(len(rows)), names)
    right.set_title("row ahead of column", fontsize="medium")
    figure.suptitle(title)
    figure.savefig(picture, dpi=120)


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.tournament", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("game", help="a game's id, such as beaver_gang")
    parser.add_argument(
        "--agents", nargs="+", required=True, metavar="A", help="two or more different agents"
    )
    parser.add_argument("--players", type=int, required=True, metavar="N", help="of every table")
    parser.add_argument("--deals", type=int, default=200, metavar="D", help="default: 200")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    command.add_options_argument(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result here as well")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the result")
    args = parser.parse_args(argv)
    game = load_game(args.game)
    options = game.parse_options(args.option)
    result = run_tournament(game, args.agents, args.players, args.deals, args.seed, options)
    show(result)
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if args.plot:
        plot(result, args.plot, f"{game.title}, {args.players} players")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.tournament``; returns the exit status."""
    return command.run("training.tournament", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
