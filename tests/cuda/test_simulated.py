"""The batch in Numba's CUDA simulator, compared byte by byte with the CPU's compiled one."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import gpu_play
import numpy as np
import pytest
from filelock import FileLock
from helpers import EACH_GAME, mean_length, network_of

import card_envs
from card_envs.agents import NetworkAgent, SearchAgent
from card_envs.contract.agent import turn_of

GAME = next(iter(card_envs.GAMES))


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """``recorded(game)``: what was played on the CPU, by a process that compiles."""
    folder = tmp_path_factory.getbasetemp().parent  # all test processes'
    compiled = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0", "NUMBA_DISABLE_JIT": "0"}
    compiled["PYTHONPATH"] = str(Path(gpu_play.__file__).parent)

    @cache
    def of(game):
        path = folder / f"{game.id}.npz"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                command = [sys.executable, gpu_play.__file__, game.name, str(path)]
                subprocess.run(command, check=True, env=compiled)
        with np.load(path) as arrays:
            return dict(arrays)

    return of


@pytest.mark.parametrize("game", EACH_GAME)
@pytest.mark.parametrize("number", range(len(gpu_play.GAMES)))
def test_games_are_those_of_the_cpu(game, number, recorded):
    played = recorded(game)
    expected = played[f"digests_{number}"].tolist()
    digests = gpu_play.replay(game, number, played[f"actions_{number}"])
    for step, (digest, other) in enumerate(zip(digests, expected, strict=True)):
        assert digest == other, f"{gpu_play.settings(game)[number]}, step {step}"


@pytest.mark.parametrize("game", EACH_GAME)
def test_searches_are_those_of_the_cpu(game):
    """In positions with a past, where the game can weigh worlds by it."""
    policy = NetworkAgent(network_of(game, activation="relu"), "policy")
    searchers = [
        SearchAgent(game, rollouts=4, policy=policy, proposer=policy, candidates=2, device=device)
        for device in ("cpu", "cuda")
    ]
    follower = searchers[0].follow(None)
    players, rng = game.min_players, np.random.default_rng(1)
    states = game.new_states(3)
    for i in range(3):
        game.rules.reset(states, i, np.uint64(i), players, *game.encode_options({}))
        left = min(4 + i, int(mean_length(game, players)) // 2)
        while left > 0 or len(game.legal_actions(states, i)) == 1:
            action = rng.choice(game.legal_actions(states, i))
            follower.watch(states, i, action)
            game.rules.step(states, i, action)
            left -= 1
    turn = turn_of(game, states, np.array([2, 0]), policy.view)
    past = follower.past(turn)
    assert any(past) == (game.look_back is not None)
    ours, theirs = (searcher.search_after(turn, past) for searcher in searchers)
    assert (ours.visits.sum(axis=1) >= 2).all()
    for name, array, other in zip(ours._fields, ours, theirs, strict=True):
        assert array.tobytes() == other.tobytes(), name
    assert (searchers[0].work == searchers[1].work).all()


def test_an_illegal_action_is_replaced_and_reported():
    batches = [card_envs.make_vec(GAME, 4, device="cuda") for _ in range(2)]
    masks = [batch.reset(seed=1)[1].copy_to_host() for batch in batches]
    lowest = masks[0].argmax(axis=1)
    batches[0].step(lowest)
    batches[0].check_actions()
    wrong = lowest.copy()
    wrong[2] = masks[0][2].argmin()
    for batch, actions in zip(batches[1:], [wrong], strict=True):
        batch.step(actions)
        with pytest.raises(ValueError, match=r"not legal in game 2: its lowest legal action"):
            batch.check_actions()
        batch.check_actions()  # it is reported once
    for name in batches[0].game.state_dtype.names:  # not what is between the entries
        one, other = (batch.states.copy_to_host()[name] for batch in batches)
        assert one.tobytes() == other.tobytes()
    for outside in (-1, batches[0].game.num_actions, 2**40):
        wrong[2] = outside
        batches[0].step(wrong)
        with pytest.raises(ValueError, match=r"game [0-3]:"):
            batches[0].check_actions()


def test_actions_are_whole_numbers_of_the_batchs_shape():
    batch = card_envs.make_vec(GAME, 3, device="cuda")
    with pytest.raises(RuntimeError, match=r"reset\(\) needs to be called before step"):
        batch.step(np.zeros(3, np.int64))
    _, action_mask = batch.reset(seed=1)
    for actions in (np.zeros(2, np.int64), np.zeros(3), action_mask):
        with pytest.raises(ValueError, match=r"whole numbers of shape \(3,\)"):
            batch.step(actions)
    batch.step(action_mask.copy_to_host().argmax(axis=1).astype(np.int32))
    batch.check_actions()


@pytest.mark.parametrize("does_copy", [False, True])
def test_arrays_are_the_same_buffers_unless_copied(does_copy):
    batch = card_envs.make_vec(GAME, 3, device="cuda", copy=does_copy)
    first = batch.reset(seed=1)
    before = [array.copy_to_host() for array in first]
    second = batch.step(before[1].argmax(axis=1))
    for array, other, held in zip(first, second, before, strict=False):
        assert (array.copy_to_host() == held).all() == does_copy
        assert np.shares_memory(array, other) != does_copy


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_a_copy_of_the_batch_plays_on_alike(duplicate):
    batch = card_envs.make_vec(GAME, 3, device="cuda")
    _, action_mask = batch.reset(seed=1)
    other = duplicate(batch)
    for _ in range(5):
        actions = action_mask.copy_to_host().argmax(axis=1)
        seen = [[array.copy_to_host() for array in b.step(actions)] for b in (batch, other)]
        for one, another in zip(*seen, strict=True):
            assert one.tobytes() == another.tobytes()
        action_mask = batch._action_mask


def test_the_full_states_are_those_of_the_cpu():
    batch, other = (card_envs.make_vec(GAME, 3, **options) for options in ({"device": "cuda"}, {}))
    for one in (batch, other):
        one.reset(seed=5)
    assert (batch.state().copy_to_host() == other.state()).all()


def test_a_seed_none_draws_one():
    batch = card_envs.make_vec(GAME, 2, device="cuda")
    seeds = [tuple((batch.reset(), batch.game_seeds.copy_to_host())[1]) for _ in range(3)]
    assert len(set(seeds)) == 3
