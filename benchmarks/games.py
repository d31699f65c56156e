"""How long games are, and how many actions are legal in them.

    python -m benchmarks.games [--game GAME] [--json FILE]

All seats are held by copies of one agent. Games are played with the default rules, to their ends.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from card_envs.agents import Agent, make_agent, shipped_policies
from card_envs.commands import running
from card_envs.contract.agent import checked_actions, turn_of
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds
from card_envs.games import load_game
from card_envs.utils.checks import check_whole_number

PACKAGES = ("numba", "numpy")


def play(
    game: Game, agent: Agent, num_players: int, seeds: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Play games among copies of an agent.

    Args:
        game: The game.
        agent: Who holds all seats.
        num_players: The number of players.
        seeds: uint64 (N,), one for each game.

    Returns:
        The number of decisions of each game, int64 (N,), the number of legal actions at each
        decision, int64 (decisions of all games,), and whether a game was truncated, bool (N,).
    """
    states = game.new_states(len(seeds))
    encoded = game.encode_options({})
    for k, seed in enumerate(seeds):
        game.rules.reset(states, k, seed, num_players, *encoded)
    running = np.arange(len(seeds))
    legal = []
    while len(running):
        turn = turn_of(game, states, running, agent.view)
        legal.append(turn.action_mask.sum(axis=1, dtype=np.int64))
        for i, action in zip(running, checked_actions(agent, turn, agent.act), strict=True):
            game.rules.step(states, int(i), int(action))
        is_over = states["terminated"] | states["truncated"]
        running = np.flatnonzero(is_over == 0)
    return (
        states["steps"].astype(np.int64),
        np.concatenate(legal),
        states["truncated"].astype(np.bool_),
    )


def measure(game_id: str, games: int) -> dict[str, Any]:
    """The lengths of games and the numbers of legal actions at each table size.

    Args:
        game_id: The game.
        games: How many games of each agent at each table size.

    Raises:
        ValueError: There are fewer than 2 games, or there is no such game.
    """
    game = load_game(game_id)
    seeds = deal_seeds(0, games)
    names = [game.default_opponent, *(["ppo"] if "ppo" in shipped_policies(game) else [])]
    rows = []
    for name in names:
        agent = make_agent(name, game)
        for players in range(game.min_players, game.max_players + 1):
            decisions, legal, truncated = play(game, agent, players, seeds)
            choices = legal[legal > 1]
            rows.append(
                {
                    "agent": name,
                    "players": players,
                    "decisions": float(decisions.mean()),
                    "decisions_spread": np.percentile(decisions, [5, 95]).tolist(),
                    "forced": float((legal == 1).mean()),
                    "legal_actions": float(choices.mean()),
                    "most_legal_actions": int(choices.max()),
                    "truncated": float(truncated.mean()),
                }
            )
    return report.document(
        "games",
        game.id,
        ["--game", game.id, "--games", str(games)],
        PACKAGES,
        {"games": games},
        {"rows": rows},
    )


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.games", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--games",
        type=int,
        default=500,
        metavar="N",
        help="games of each agent at each table size (default: 500)",
    )
    args = report.parse_arguments(parser, argv)
    check_whole_number("--games", args.games, 2)
    report.finish(args, lambda: measure(args.game, args.games))


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m benchmarks.games``; returns the exit status."""
    return running.run("benchmarks.games", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
