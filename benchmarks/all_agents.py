"""The leaderboard with search: all agents of a game at one table size, and what a decision costs.

    python -m benchmarks.all_agents --game beaver_gang --json FILE

Besides the agents of ``benchmarks.strength`` there are searches: with each kind of rollouts, with
more of them, and as a tree. They are too slow for all tables, so tables are chosen such that every
two agents meet at one of them; with two players these are all. Ratings take into account who met
whom. Finished tables are read from ``--cache``. How long a decision takes is measured in games
among ``ppo``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.search import StopwatchAgent
from benchmarks.strength import Matches, default_agents, play_tables
from card_envs.agents import make_agent, shipped_policies
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation import evaluate, summarize
from card_envs.evaluation.tournament import tables_of
from card_envs.games import load_game

PACKAGES = ("numba", "numpy")

# Deals in which the time of a decision is measured.
_TIMED_DEALS = 2


def agents_and_searches(game: Game) -> list[str]:
    """The agents of ``benchmarks.strength``, and searches."""
    kinds = [*game.scripted, "random"]
    others = kinds if "ppo" in shipped_policies(game) else kinds[1:]
    return [
        *default_agents(game),
        *(f"search:64,policy={kind}" for kind in others),
        *("search:64", "search:256", "search:1000", "search:256,method=tree"),
    ]


def covering_tables(count: int, players: int) -> list[tuple[int, ...]]:
    """Tables of ``players`` places at which every two of ``count`` agents meet, as indices.

    Each is the one with the most new pairs; of several, the one whose agents were at the fewest
    tables so far.
    """
    possible = list(tables_of(count, players))
    missing = set(combinations(range(count), 2))
    tables: list[tuple[int, ...]] = []
    seen = np.zeros(count, np.int64)
    while missing:
        table = max(
            possible,
            key=lambda t: (len(missing & {*combinations(t, 2)}), -seen[list(t)].sum()),
        )
        missing -= {*combinations(table, 2)}
        seen[list(table)] += 1
        tables.append(table)
    return sorted(tables)


def decision_seconds(game: Game, name: str, num_players: int, seed: int) -> float:
    """The CPU time of one of an agent's decisions, where it has a choice, on one core."""
    opponent = "ppo" if "ppo" in shipped_policies(game) else game.default_opponent
    agent = make_agent(name, game, seed)
    for attempt in ((seed + 1) % 2**64, seed):  # the first may compile
        watched = StopwatchAgent(agent, game)
        evaluate(game, [watched, *[opponent] * (num_players - 1)], _TIMED_DEALS, attempt)
    return watched.seconds / watched.decisions


def measure(
    game_id: str, names: Sequence[str] | None, players: int | None, matches: Matches
) -> dict[str, Any]:
    """Play all tables, and measure the time of a decision.

    Args:
        game_id: The game.
        names: Two or more different agents; None: those of :func:`agents_and_searches`.
        players: The number of players of every table; None: the smallest.
        matches: How many games, and where.

    Returns:
        The document that is written as JSON.

    Raises:
        ValueError: As for ``benchmarks.strength.play_tables``, or as to the number of players.
    """
    game = load_game(game_id)
    names = agents_and_searches(game) if names is None else names
    table_size = game.check_num_players(game.min_players if players is None else players)
    tables = covering_tables(len(names), table_size)
    played, identities = play_tables(game, names, tables, matches)
    seed = matches.seed
    summary = summarize(names, tables, played, seed).to_json()
    for k, row in enumerate(summary["agents"]):
        own = [result.truncated for t, result in zip(tables, played, strict=True) if k in t]
        row["unfinished"] = float(np.mean(own))
        row["decision_ms"] = 1000 * decision_seconds(game, names[k], table_size, seed)
    words = ["--game", game.id, "--agents", *names, "--players", str(table_size)]
    return report.document(
        "all_agents",
        game.id,
        [*words, *matches.words],
        PACKAGES,
        {
            "num_players": table_size,
            "deals": matches.deals,
            "seed": seed,
            "agents": identities,
        },
        summary,
    )


@running.command("benchmarks.all_agents")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.all_agents``."""
    parser = arguments.module_parser("benchmarks.all_agents", __doc__)
    parser.add_argument(
        "--agents",
        nargs="+",
        metavar="A",
        help="names or policy files; default: those of benchmarks.strength, and searches",
    )
    parser.add_argument(
        "--players", type=int, metavar="N", help="number of players; default: the smallest"
    )
    Matches.add_arguments(parser, deals=40)
    args = report.parse_arguments(parser, argv)
    report.finish(
        args,
        lambda: measure(args.game, args.agents, args.players, Matches.of(args)),
    )


if __name__ == "__main__":
    raise SystemExit(main())
