"""Compile one game's rules into the cache: ``python tests/compile_rules.py GAME``.

``make test`` does it for every game first; else each of its test processes would compile all games.
"""

import sys

import numba

import card_envs
from card_envs.envs.vector import SeatVectorEnv

game = sys.argv[1]
env = card_envs.make(game, render_mode="ansi")
env.reset(seed=1)
env.step(env.legal_actions()[0])
env.determinize(env.possible_agents[0], seed=1)
env.load(env.save())
env.state()
env.render()
for num_threads in {1, min(2, numba.config.NUMBA_NUM_THREADS)}:
    batch = card_envs.make_vec(game, num_envs=2, num_threads=num_threads)
    _, action_mask = batch.reset(seed=1)
    batch.step(action_mask.argmax(axis=1))
seats = SeatVectorEnv(game, num_envs=2)
_, infos = seats.reset(seed=1)
seats.step(infos["action_mask"].argmax(axis=1))
