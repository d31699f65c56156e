"""An object belongs to one thread: another one that comes in meanwhile is refused."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
from helpers import FEW_GAMES, finish, snapshot

import card_envs
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.kernels.jit import COMPILED

few_games = pytest.mark.parametrize("game", FEW_GAMES)


def called_by_another_thread(function):
    """What the function raises in another thread, or None."""
    errors: list[BaseException | None] = []

    def call():
        try:
            function()
        except BaseException as error:
            errors.append(error)
        else:
            errors.append(None)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return errors[0]


def assert_refused(holder, *functions):
    """While one thread is at work, and only then."""
    holder._in_use = True
    for function in functions:
        error = called_by_another_thread(function)
        assert isinstance(error, RuntimeError)
        assert "in use by another thread" in str(error)
        assert type(holder).__name__ in str(error)
    holder._in_use = False
    for function in functions:
        assert called_by_another_thread(function) is None


@few_games
def test_a_second_thread_is_refused_in_the_aec_environment(game):
    env = card_envs.make(game.name)
    env.reset(seed=1)
    saved = env.save()
    before = snapshot(env)
    env._in_use = True
    for call in (
        lambda: env.step(env.legal_actions()[0]),
        lambda: env.reset(seed=2),
        lambda: env.load(saved),
        lambda: env.determinize("player_0", 1),
    ):
        assert "another thread" in str(called_by_another_thread(call))
    env._in_use = False
    assert snapshot(env) == before
    assert called_by_another_thread(lambda: env.step(env.legal_actions()[0])) is None
    assert called_by_another_thread(lambda: env.load(saved)) is None
    assert snapshot(env) == before


@few_games
def test_a_second_thread_is_refused_in_the_batch(game):
    batch = card_envs.make_vec(game.name, 4)
    _, mask = batch.reset(seed=1)
    actions = mask.argmax(axis=1)
    assert_refused(batch, lambda: batch.step(actions), lambda: batch.reset(seed=2))


@few_games
def test_a_second_thread_is_refused_in_the_gymnasium_environments(game):
    single = SingleSeatEnv(game.name)
    _, info = single.reset(seed=1)
    action = int(np.argmax(info["action_mask"]))
    assert_refused(single._games, lambda: single.step(action), lambda: single.reset(seed=2))
    vector = SingleSeatVectorEnv(game.name, 3)
    _, infos = vector.reset(seed=1)
    actions = infos["action_mask"].argmax(axis=1)
    assert_refused(vector._games, lambda: vector.step(actions), lambda: vector.reset(seed=2))


@few_games
def test_an_error_leaves_the_object_usable(game):
    env = card_envs.make(game.name, on_illegal="raise")
    env.reset(seed=1)
    illegal = int(np.argmin(env.observe(env.agent_selection)["action_mask"]))
    if env.observe(env.agent_selection)["action_mask"][illegal] == 0:
        with pytest.raises(ValueError, match="not legal"):
            env.step(illegal)
    with pytest.raises(ValueError, match="saved game"):
        env.load(b"nonsense")
    while env.legal_actions():
        env.step(env.legal_actions()[0])
    finish(env)
    env.reset(seed=2)


SIDE_BY_SIDE = """
import threading

import numpy as np

import card_envs
from card_envs.agents import SearchAgent, turn_of

game = card_envs.load_game({game!r})


def play():
    batch = card_envs.make_vec(game.name, 500, num_threads=2)
    _, mask = batch.reset(1)
    for _ in range(100):
        _, mask, *_ = batch.step(mask.argmax(axis=1))


def search():
    batch = card_envs.make_vec(game.name, 16)
    batch.reset(1)
    agent = SearchAgent(game, rollouts=8, threads=2)
    for _ in range(20):
        agent.act(turn_of(game, batch.states, np.arange(16), agent.view))


threads = [threading.Thread(target=work) for work in (play, play, search)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.skipif(not COMPILED or numba.config.NUMBA_NUM_THREADS < 2, reason="has one thread")
def test_loops_in_threads_run_side_by_side_where_numba_has_a_pool_for_one():
    game = FEW_GAMES[0].values[0].name
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "workqueue"}
    program = [sys.executable, "-c", SIDE_BY_SIDE.format(game=game)]
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(not COMPILED or numba.config.NUMBA_NUM_THREADS < 2, reason="has one thread")
def test_loops_in_threads_leave_the_number_of_threads_as_it_was():
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        batch = card_envs.make_vec(FEW_GAMES[0].values[0].name, 4, num_threads=2)
        _, mask = batch.reset(seed=1)
        batch.step(mask.argmax(axis=1))
        assert numba.get_num_threads() == 1
    finally:
        numba.set_num_threads(before)


@few_games
def test_copies_are_free_while_the_original_is_at_work(game):
    env = card_envs.make(game.name)
    batch = card_envs.make_vec(game.name, 2)
    single = SingleSeatEnv(game.name)
    for original, holder in ((env, env), (batch, batch), (single, single._games)):
        original.reset(seed=1)
        holder._in_use = True
        for twin in (copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
            twin.reset(seed=2)
        holder._in_use = False
