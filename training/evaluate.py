"""How strong are the agents of a table? Duplicate deals in all cyclic seatings.

Every deal is played once in each of the n seatings with the same cards: seating r puts agent k on
seat (k + r) mod n. What is averaged are the deals' means, which are independent of each other.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from card_envs.agents import make_agent
from card_envs.engine.arena import Arena, BatchAgent
from card_envs.engine.game import Game
from card_envs.engine.rng import mix
from card_envs.games import load_game
from training import command
from training.config import Config
from training.records import write_json

_GAMES_AT_ONCE = 4096


def deal_seeds(seed: int, deals: int) -> NDArray[np.uint64]:
    """The seeds of the deals, the first ones equal for any number of deals.

    Raises:
        ValueError: There are fewer than 2, which would give no interval, or the seed is no uint64.
    """
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed must be from 0 to 2**64 - 1, got {seed}")
    if deals < 2:
        raise ValueError(f"deals must be at least 2, got {deals}")
    start = mix(np.uint64(seed))
    return np.array([mix(start ^ np.uint64(deal)) for deal in range(deals)], np.uint64)


def random_orders(seed: int, deals: int, players: int) -> NDArray[np.int64]:
    """A random order of the agents for each deal, as ``play_deals`` takes it."""
    orders = np.tile(np.arange(players), (deals, 1))
    return np.random.default_rng(seed).permuted(orders, axis=1)


@dataclass(frozen=True)
class Played:
    """The results of a table's games, each float64 (deals, seatings, agents)."""

    standing: NDArray[np.float64]  #: the higher the better; equal is level
    score: NDArray[np.float64]  #: what ``reward="score"`` paid in all

    @property
    def rank(self) -> NDArray[np.float64]:
        """What ``reward="rank"`` pays."""
        balance = np.sign(self.standing[..., :, None] - self.standing[..., None, :]).sum(axis=-1)
        return balance / (self.standing.shape[-1] - 1)

    @property
    def win(self) -> NDArray[np.float64]:
        """What ``reward="win"`` pays."""
        best = self.standing == self.standing.max(axis=-1, keepdims=True)
        return best / best.sum(axis=-1, keepdims=True)


def play_deals(
    game: Game,
    agents: Sequence[BatchAgent],
    seeds: NDArray[np.uint64],
    options: dict[str, Any],
    orders: NDArray[np.int64] | None = None,
) -> Played:
    """Play every deal in all cyclic seatings.

    Args:
        game: The game.
        agents: The agents of the table.
        seeds: The deals' seeds.
        options: The game's options but ``reward``.
        orders: int64 (deals, agents), a permutation for each deal: the agents' places in its first
            seating; None: as they are given. Who sits to whose left can matter.
    """
    n = game.check_num_players(len(agents))
    # An agent that sits on several seats is asked once for all of them.
    distinct: list[BatchAgent] = []
    for agent in agents:
        if not any(agent is other for other in distinct):
            distinct.append(agent)
    index_of = np.array([next(k for k, a in enumerate(distinct) if a is b) for b in agents])
    if orders is None:
        orders = np.tile(np.arange(n), (len(seeds), 1))
    seats_of = (np.arange(n)[:, None] + orders[:, None, :]) % n  # (deal, seating, agent)
    seats = np.zeros((len(seeds), n, game.max_players), np.int64)  # (deal, seating, seat): agent
    np.put_along_axis(seats, seats_of, index_of[None, None], axis=2)
    standing = np.zeros((len(seeds), n, n))
    score = np.zeros((len(seeds), n, n))
    deals_at_once = max(1, _GAMES_AT_ONCE // n)
    for first in range(0, len(seeds), deals_at_once):
        these = slice(first, first + deals_at_once)
        chunk = seeds[these]
        games = len(chunk) * n
        arena = Arena(game, games, distinct, **options, reward="score")
        arena.start(
            np.arange(games),
            np.repeat(chunk, n),
            np.full(games, n),
            seats[these].reshape(games, game.max_players),
        )
        for results, by_seat in (
            (standing, arena.states["standing"][:, :n]),
            (score, arena.returns[:, :n]),
        ):
            by_seating = by_seat.reshape(len(chunk), n, n)
            results[these] = np.take_along_axis(by_seating, seats_of[these], axis=2)
    return Played(standing, score)


def play_among(
    game: Game,
    agent: BatchAgent,
    others: BatchAgent,
    sizes: Iterable[int],
    seeds: NDArray[np.uint64],
    options: dict[str, Any],
) -> Iterator[tuple[int, Played]]:
    """One agent, the first of its table, alone among copies of another, at each of these sizes."""
    for players in sizes:
        yield players, play_deals(game, [agent, *[others] * (players - 1)], seeds, options)


def mean_and_interval(values: NDArray[np.float64]) -> tuple[float, list[float]]:
    """The mean of at least 2 values, and the 95% confidence interval of Student's t."""
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    half = float(stats.t.ppf(0.975, len(values) - 1)) * error
    return mean, [mean - half, mean + half]


def rules_of(config: Config) -> dict[str, Any]:
    """The options of a run that are the game's rules: neither its reward nor its ``max_steps``."""
    options = config.environment.options
    return {key: options[key] for key in options if key not in ("reward", "max_steps")}


def check_evaluation_options(game: Game, options: Mapping[str, Any]) -> dict[str, Any]:
    """The game's options but ``reward``, with defaults; ValueError or TypeError if one is wrong."""
    if "reward" in options:
        raise ValueError("option reward: an evaluation reports rank, win and score at once")
    checked = game.check_options(options)
    del checked["reward"]
    return checked


def evaluate(
    game: Game,
    names: Sequence[str],
    deals: int,
    seed: int,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Evaluate a table and return what ``--json`` writes.

    Args:
        game: The game.
        names: The agents of the table; their number is the number of players.
        deals: How many deals, at least 2.
        seed: The deals' seed.
        options: The game's options but ``reward``.

    Raises:
        ValueError: An agent, the number of players or an option is wrong.
        TypeError: There is no such option.
    """
    checked = check_evaluation_options(game, options or {})
    seeds = deal_seeds(seed, deals)
    by_name = {name: make_agent(name, game, seed=seed) for name in names}
    played = play_deals(game, [by_name[name] for name in names], seeds, checked)
    ranks, wins = played.rank.mean(axis=1), played.win.mean(axis=1)
    rows = []
    for k, name in enumerate(names):
        rank, rank_interval = mean_and_interval(ranks[:, k])
        win, win_interval = mean_and_interval(wins[:, k])
        rows.append(
            {
                "name": name,
                "rank": rank,
                "rank_ci95": rank_interval,
                "win": win,
                "win_ci95": win_interval,
                "score": float(played.score[..., k].mean()),
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
    for heading in ("agent", "rank reward (95%)", "win share (95%)", "score"):
        table.add_column(heading, justify="left" if heading == "agent" else "right")
    for row in result["agents"]:
        table.add_row(
            row["name"],
            f"{row['rank']:+.3f} ± {row['rank_ci95'][1] - row['rank']:.3f}",
            f"{row['win']:.3f} ± {row['win_ci95'][1] - row['win']:.3f}",
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
        write_json(args.json, result)


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.evaluate``; returns the exit status."""
    return command.run("training.evaluate", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
