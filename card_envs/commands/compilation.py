"""Compile a game ahead of its first use: what environments, batches and the agents in them call."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numba

from card_envs.agents import shipped_policies
from card_envs.agents.table import Table
from card_envs.commands.arguments import add_game_argument
from card_envs.contract.game import Game
from card_envs.datasets import Recording
from card_envs.engine.batch import BatchEngine
from card_envs.envs.aec import CardEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.evaluation.deals import deal_seeds, play_deals
from card_envs.games import load_game, load_games
from card_envs.kernels.jit import COMPILED
from card_envs.render.text import describe

# Enough that there is one with several legal actions, which a search looks at.
_DECISIONS = 8
_COMPILE = "compile games ahead of their first use"


def compile_game(game: Game) -> None:
    """Compile a game's kernels and the loops of environments and batches, or load what the cache
    holds.

    Does nothing where the rules run as plain Python (``NUMBA_DISABLE_JIT=1``).
    """
    if not COMPILED:
        return
    env = CardEnv(game.name)
    env.reset(seed=1)
    env.step(env.legal_actions()[0])
    env.determinize(env.possible_agents[0], seed=1)
    env.observe(env.possible_agents[0])
    env.state()
    describe(game, env.states, 0, 0)
    if game.heuristic is not None:
        game.heuristic(env.states, 0)
    for num_threads in sorted({1, min(2, numba.config.NUMBA_NUM_THREADS)}):  # type: ignore[attr-defined]
        batch = BatchEngine(game, 2, num_threads=num_threads)
        _, action_mask = batch.reset(seed=1)
        batch.step(action_mask.argmax(axis=1))
    games = SingleSeatVectorEnv(game.name, num_envs=2)
    _, infos = games.reset(seed=1)
    games.step(infos["action_mask"].argmax(axis=1))
    for recorded in Recording(game, ["random"] * game.default_players, games=1, seed=1):
        list(recorded.first_agents_decisions())


def compile_play(game: Game) -> None:
    """Compile what policies, searches and observations in whole units call besides."""
    if not COMPILED:
        return
    batch = BatchEngine(game, 2, observation_dtype="uint8")
    _, action_mask = batch.reset(seed=1)
    batch.step(action_mask.argmax(axis=1))
    policies = shipped_policies(game)[:1]
    searches = ["search:2", f"search:2,policy={game.default_opponent}", "search:2,method=tree"]
    for agent in (*policies, *searches):
        table = Table(game.name, [agent] * game.default_players, seed=1)
        for _ in range(_DECISIONS):
            if not table.is_over:
                table.step()
    mixed = [*policies, game.default_opponent, "random"]
    play_deals(game, (mixed * game.default_players)[: game.default_players], deal_seeds(0, 2))


def add_compile(commands: Any) -> None:
    """Add the command ``compile`` to a program; the parsed arguments hold ``run``.

    Args:
        commands: What ``ArgumentParser.add_subparsers`` returned.
    """
    compiling = commands.add_parser("compile", help=_COMPILE, description=_COMPILE)
    add_game_argument(
        compiling, "games", nargs="*", help="games' ids, see list (default: all games)"
    )
    compiling.set_defaults(run=_run_compile)


def _run_compile(args: argparse.Namespace) -> None:
    games = [load_game(name) for name in args.games] or load_games()

    for game in games:
        begun = time.monotonic()
        compile_game(game)
        compile_play(game)
        print(f"{game.name}: {time.monotonic() - begun:.1f} s")
