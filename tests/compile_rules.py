"""Compile what `make test` calls into the cache: ``python tests/compile_rules.py [GAME ...]``.

It is done first, a process for each game and as many at a time as there are cores; else
each of its test processes would compile all games.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from helpers import (
    ALL_GAMES,
    SEARCHED,
    begin,
    mask_of,
    observation_of,
    state_of,
)

from card_envs.agents import SearchAgent, TreeSearchAgent, choose
from card_envs.commands.compilation import compile_game
from card_envs.contract.game import Game
from card_envs.contract.observing import MEMORY_PERFECT
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv


def compile_for_tests(game: Game) -> None:
    """What environments and batches call, and what tests call directly."""
    compile_game(game)
    asked = SingleSeatVectorEnv(game.name, 2, opponents=lambda _, mask: mask.argmax(axis=1))
    _, infos = asked.reset(seed=1)
    asked.step(infos["action_mask"].argmax(axis=1))
    states = begin(game, game.min_players, 1)
    observation_of(game, states, 0)
    state_of(game, states)
    game.scene(states, 0, 0, MEMORY_PERFECT)
    action = int(mask_of(game, states).argmax())
    if game.heuristic is not None:
        game.heuristic(states, 0)
    if game in SEARCHED:
        for agent in (SearchAgent(game, rollouts=2), TreeSearchAgent(game, rollouts=2)):
            choose(agent, game, states)
    game.rules.determinize(states, 0, 0, np.uint64(1))
    game.rules.step(states, 0, action)


def compile_in_a_process(game: Game) -> None:
    threads = {} if game in SEARCHED else {"NUMBA_NUM_THREADS": "1"}  # no loops for threads
    command = [sys.executable, __file__, game.id]
    subprocess.run(command, check=True, env={**os.environ, **threads})


def main() -> None:
    """Compile the games that are named, or all."""
    names = sys.argv[1:]
    for game in (game for game in ALL_GAMES if game.id in names):
        compile_for_tests(game)
    if not names:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_in_a_process, ALL_GAMES))


if __name__ == "__main__":
    main()
