"""A tournament: every table that can be made of some agents, ratings, and who beats whom.

The ratings are strengths on Elo's scale (400 points: ten to one), fitted to the whole rankings of
all games, see ``training.ratings``; their mean is 0. Each table's deals are the same; for each deal
the agents' order is drawn, and it is played in all cyclic seatings of that order.
"""

from __future__ import annotations

import argparse
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
    random_orders,
)
from training.ratings import Rankings
from training.records import write_json

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
    seeds = deal_seeds(seed, deals)
    agents = [make_agent(name, game, seed=seed) for name in names]
    tables = tables_of(len(agents), players)
    played = [
        play_deals(
            game,
            [agents[k] for k in table],
            seeds,
            checked,
            random_orders(seed, deals, players),
        )
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
        ``agents``: of each the rating, rank reward and win share with 95% intervals (of null,
        where a rating's is open); ``pairwise``: how often the row's agent is ahead of the column's,
        level counting half; ``tables``: the mean results of each. Means are over an agent's places
        at a table, then over tables, then over table sizes.
    """
    count = len(names)
    sizes = sorted({len(table) for table in tables})
    deals = len(played[0].standing)
    ranks, wins = np.full((2, len(sizes), count, deals), np.nan)
    pairwise = np.full((len(sizes), count, count), np.nan)
    for k, players in enumerate(sizes):
        own = [n for n, table in enumerate(tables) if len(table) == players]
        results = [_of_agents(count, tables[n], played[n]) for n in own]
        # nan where an agent does not sit at a table, or two do not meet there
        ranks[k] = np.nanmean([rank for rank, _, _ in results], axis=0)
        wins[k] = np.nanmean([win for _, win, _ in results], axis=0)
        pairwise[k] = np.nanmean([ahead for _, _, ahead in results], axis=0)
    rankings = Rankings(count, [(t, p.standing) for t, p in zip(tables, played, strict=True)])
    ratings, low, high = rankings.ratings(_BOOTSTRAPS, np.random.default_rng(seed))
    agents = []
    for k, name in enumerate(names):
        rank, rank_interval = mean_and_interval(ranks[:, k].mean(axis=0))
        win, win_interval = mean_and_interval(wins[:, k].mean(axis=0))
        ends = (float(low[k]), float(high[k]))
        agents.append(
            {
                "name": name,
                "rating": float(ratings[k]),
                "rating_ci95": [end if np.isfinite(end) else None for end in ends],
                "rank": rank,
                "rank_ci95": rank_interval,
                "win": win,
                "win_ci95": win_interval,
            }
        )
    return {
        "agents": agents,
        "pairwise": pairwise.mean(axis=0).tolist(),
        "tables": [
            {
                "agents": [names[k] for k in table],
                "rank": result.rank.mean(axis=(0, 1)).tolist(),
                "win": result.win.mean(axis=(0, 1)).tolist(),
            }
            for table, result in zip(tables, played, strict=True)
        ],
    }


def _of_agents(
    count: int, table: Sequence[int], result: Played
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Of one table: rank reward and win share of each agent (count, deals), and how often each is
    ahead of each other (count, count); nan for agents that do not sit there."""
    ranks, wins = np.full((2, count, len(result.standing)), np.nan)
    ahead = np.full((count, count), np.nan)
    places = np.array(table)
    for a in set(table):
        own = result.standing[..., places == a]
        ranks[a] = result.rank[..., places == a].mean(axis=(1, 2))
        wins[a] = result.win[..., places == a].mean(axis=(1, 2))
        ahead[a, a] = 0.5
        for b in set(table) - {a}:
            others = result.standing[..., places == b]
            ahead[a, b] = (np.sign(own[..., :, None] - others[..., None, :]).mean() + 1.0) / 2.0
    return ranks, wins, ahead


def interval_of_rating(row: dict[str, Any]) -> str:
    """The interval of an agent's rating for people."""
    low, high = row["rating_ci95"]
    return "open" if low is None else f"{low:+.0f} … {high:+.0f}"


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
            interval_of_rating(row),
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
    if len(set(names)) < len(names):  # files of one name in several folders
        names = [row["name"] for row in rows]
    figure = Figure(figsize=(5 + 1.1 * len(rows), 3.2 + 0.4 * len(rows)), layout="constrained")
    left, right = figure.subplots(1, 2)
    order = sorted(range(len(rows)), key=lambda k: rows[k]["rating"])
    ratings = np.array([rows[k]["rating"] for k in order])
    # An open end is not drawn.
    ends = [[rows[k]["rating"] if x is None else x for x in rows[k]["rating_ci95"]] for k in order]
    errors = np.abs(np.array(ends) - ratings[:, None]).T
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
        write_json(args.json, result)
    if args.plot:
        plot(result, args.plot, f"{game.title}, {args.players} players")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.tournament``; returns the exit status."""
    return command.run("training.tournament", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
