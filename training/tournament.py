"""A tournament: every table that can be made of some agents, ratings, and who beats whom.

The ratings are Bradley-Terry strengths on Elo's scale (400 points: ten to one), fitted to all
pairs of players that sat at one table, a draw counting half for each; their mean is 0. The
intervals come from a bootstrap over deals. Each table's deals are the same.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import choix
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
    check_evaluation_options,
    deal_seeds,
    mean_and_interval,
    play_deals,
)

_ELO = 400.0 / np.log(10.0)
_BOOTSTRAPS = 200
# A prior that keeps the fit finite where one agent always wins: it is worth less than one game.
_REGULARISATION = 0.1


def _ratings(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Elo ratings of mean 0 from ``wins[a, b]``, how often a was ahead of b."""
    strengths = choix.ilsr_pairwise_dense(wins, alpha=_REGULARISATION)
    return _ELO * (strengths - strengths.mean())


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
    if len(set(names)) != len(names) or len(names) < 2:
        raise ValueError(f"a tournament is between two or more different agents, got {names}")
    checked = check_evaluation_options(game, options or {})
    agents = [make_agent(name, game, seed=seed) for name in names]
    count = len(agents)
    seeds = deal_seeds(seed, deals)
    wins = np.zeros((deals, count, count))
    ranks: list[list[NDArray[np.float64]]] = [[] for _ in agents]
    tables = []
    members = [m for m in combinations_with_replacement(range(count), players) if len(set(m)) > 1]
    for table in track(members, description="tables", console=Console(stderr=True)):
        played = play_deals(game, [agents[k] for k in table], seeds, checked)
        by_deal = played.rank.mean(axis=1)
        tables.append(
            {
                "agents": [names[k] for k in table],
                "rank": by_deal.mean(axis=0).tolist(),
                "win": played.win.mean(axis=(0, 1)).tolist(),
            }
        )
        for seat, a in enumerate(table):
            ranks[a].append(by_deal[:, seat])
            for other, b in enumerate(table):
                if a != b:
                    ahead = np.sign(played.standing[..., seat] - played.standing[..., other])
                    wins[:, a, b] += (ahead + 1.0).mean(axis=1) / 2.0
    total = wins.sum(axis=0)
    ratings = _ratings(total)
    rng = np.random.default_rng(seed)
    samples = np.array(
        [_ratings(wins[rng.integers(deals, size=deals)].sum(axis=0)) for _ in range(_BOOTSTRAPS)]
    )
    low, high = np.quantile(samples, [0.025, 0.975], axis=0)
    games = total + total.T
    pairwise = np.divide(total, games, out=np.full_like(total, 0.5), where=games > 0)
    rows = []
    for k, name in enumerate(names):
        rank, interval = mean_and_interval(np.mean(ranks[k], axis=0))
        rows.append(
            {
                "name": name,
                "rating": float(ratings[k]),
                "rating_ci95": [float(low[k]), float(high[k])],
                "rank": rank,
                "rank_ci95": interval,
            }
        )
    return {
        "game": game.name,
        "num_players": players,
        "deals": deals,
        "seed": seed,
        "options": checked,
        "agents": rows,
        "pairwise": pairwise.tolist(),
        "tables": tables,
    }


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


def plot(result: dict[str, Any], picture: Path) -> None:
    """Draw ratings and pairwise matrix."""
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
    figure.suptitle(f"{result['game']}, {result['num_players']} players")
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
        plot(result, args.plot)


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.tournament``; returns the exit status."""
    return command.run("training.tournament", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
