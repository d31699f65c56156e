"""How strong are the agents of a table? Duplicate deals in all cyclic seatings.

Every deal is played once in each of the n seatings with the same cards: seating r puts agent k on
seat (k + r) mod n. What is averaged are the deals' means, which are independent of each other.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from card_envs.agents import Agent, make_agent
from card_envs.engine.arena import Arena
from card_envs.engine.game import Game
from card_envs.engine.rng import mix
from card_envs.games import load_game
from training import command

_GAMES_AT_ONCE = 4096


def deal_seeds(seed: int, deals: int) -> NDArray[np.uint64]:
    """The seeds of the deals, the first ones equal for any number of deals."""
    start = mix(np.uint64(seed))
    return np.array([mix(start ^ np.uint64(deal)) for deal in range(deals)], np.uint64)


def play_deals(
    game: Game,
    agents: Sequence[Agent],
    seeds: NDArray[np.uint64],
    options: dict[str, Any],
) -> dict[str, NDArray[np.float64]]:
    """Play every deal in all cyclic seatings.

    Returns:
        ``rank``, ``win`` and ``score``: float64 (deals, n), the means of each agent over the
        seatings of each deal.
    """
    n = game.check_num_players(len(agents))
    # The same object in several seats is asked once for all of them.
    distinct: list[Agent] = []
    for agent in agents:
        if not any(agent is other for other in distinct):
            distinct.append(agent)
    index_of = np.array([next(k for k, a in enumerate(distinct) if a is b) for b in agents])
    seats_of = (np.arange(n)[:, None] + np.arange(n)) % n  # (seating, agent)
    results = {name: np.zeros((len(seeds), n)) for name in ("rank", "win", "score")}
    deals_at_once = max(1, _GAMES_AT_ONCE // n)
    for first in range(0, len(seeds), deals_at_once):
        chunk = seeds[first : first + deals_at_once]
        arena = Arena(game, len(chunk) * n, distinct, **options, reward="score")
        seats = np.zeros((n, game.max_players), np.int64)
        for seating in range(n):
            seats[seating, seats_of[seating]] = index_of
        arena.start(
            np.arange(len(chunk) * n),
            np.repeat(chunk, n),
            np.full(len(chunk) * n, n),
            np.tile(seats, (len(chunk), 1)),
        )
        standing = arena.states["standing"][:, :n]
        balance = np.sign(standing[:, :, None] - standing[:, None, :]).sum(axis=2)
        best = standing == standing.max(axis=1, keepdims=True)
        by_seat = {
            "rank": balance / (n - 1),
            "win": best / best.sum(axis=1, keepdims=True),
            "score": arena.returns[:, :n],
        }
        for name, values in by_seat.items():
            by_deal = values.reshape(len(chunk), n, n)
            by_agent = np.take_along_axis(by_deal, seats_of[None], axis=2)
            results[name][first : first + len(chunk)] = by_agent.mean(axis=1)
    return results


def mean_and_interval(values: NDArray[np.float64]) -> tuple[float, list[float]]:
    """The mean, and the 95% confidence interval of Student's t."""
    mean = float(values.mean())
    if len(values) < 2:
        return mean, [float("-inf"), float("inf")]
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    half = float(stats.t.ppf(0.975, len(values) - 1)) * error
    return mean, [mean - half, mean + half]


def evaluate(
    game: Game,
    names: Sequence[str],
    deals: int,
    seed: int,
    options: dict[str, Any] | None = None,
    *,
    agents: Sequence[Agent] | None = None,
) -> dict[str, Any]:
    """Evaluate a table and return what ``--json`` writes.

    Args:
        game: The game.
        names: The agents of the table; their number is the number of players.
        deals: How many deals, at least 2.
        seed: The deals' seed.
        options: The game's options but ``reward``.
        agents: The agents themselves, if they are not to be looked up by their names.

    Raises:
        ValueError: An agent, the number of players or an option is wrong.
        TypeError: There is no such option.
    """
    if deals < 2:
        raise ValueError(f"deals must be at least 2, got {deals}")
    options = dict(options or {})
    if "reward" in options:
        raise ValueError("option reward: an evaluation reports rank, win and score at once")
    checked = game.check_options(options)
    del checked["reward"]
    if agents is None:
        by_name = {name: make_agent(name, game, seed=seed) for name in names}
        agents = [by_name[name] for name in names]
    results = play_deals(game, agents, deal_seeds(seed, deals), options)
    rows = []
    for k, name in enumerate(names):
        rank, rank_interval = mean_and_interval(results["rank"][:, k])
        win, win_interval = mean_and_interval(results["win"][:, k])
        rows.append(
            {
                "name": name,
                "rank": rank,
                "rank_ci95": rank_interval,
                "win": win,
                "win_ci95": win_interval,
                "score": float(results["score"][:, k].mean()),
            }
        )
    return {
        "game": game.name,
        "num_players": len(names),
        "deals": deals,
        "seed": seed,
        "options": checked,
        "agents": rows,
    }


def show(result: dict[str, Any]) -> None:
    """Print the table for people."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"{result['game']}, {result['num_players']} players, {result['deals']} deals "
        f"in {result['num_players']} seatings each"
    )
    for heading in ("agent", "rank reward", "95% interval", "win share", "95% interval", "score"):
        table.add_column(heading, justify="left" if heading == "agent" else "right")
    for row in result["agents"]:
        table.add_row(
            row["name"],
            f"{row['rank']:+.3f}",
            "{:+.3f} … {:+.3f}".format(*row["rank_ci95"]),
            f"{row['win']:.3f}",
            "{:.3f} … {:.3f}".format(*row["win_ci95"]),
            f"{row['score']:+.3f}",
        )
    Console().print(table)


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluate", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("game", help="a game's id, such as beaver_gang")
    parser.add_argument(
        "--agents",
        nargs="+",
        required=True,
        metavar="A",
        help="the table: random, heuristic, ppo or policy files, one for each player",
    )
    parser.add_argument("--deals", type=int, default=1000, metavar="N", help="default: 1000")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    command.add_options_argument(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result here as well")
    args = parser.parse_args(argv)
    game = load_game(args.game)
    options = game.parse_options(args.option)
    result = evaluate(game, args.agents, args.deals, args.seed, options)
    show(result)
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.evaluate``; returns the exit status."""
    return command.run("training.evaluate", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
