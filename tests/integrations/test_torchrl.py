"""TorchRL: the adapter, and the code of its page."""

from __future__ import annotations

import importlib
import sys

import gymnasium
import numpy as np
import pytest
import torch
from helpers import ALL_GAMES
from integrations.pages import run_page
from torchrl.envs import GymEnv, check_env_specs

import card_envs
from card_envs.integrations.torchrl import make_env, make_single_seat_env
from card_envs.utils.extras import MissingExtraError

GAME = ALL_GAMES[0]

NUM_ENVS = 8


@pytest.fixture(scope="module")
def page():
    return run_page("torchrl")


@pytest.fixture
def group_env():
    return make_env(GAME.id, num_players=4)


@pytest.fixture
def seat_env():
    return make_single_seat_env(GAME.id, NUM_ENVS, num_players=3, opponents="random")


def test_the_specs_are_kept(group_env, seat_env):
    for env in (group_env, seat_env, make_single_seat_env(GAME.id)):
        check_env_specs(env)


def test_one_game_has_no_batch_dimension():
    env = make_single_seat_env(GAME.id, num_players=3, opponents="random")
    rollout = env.rollout(100, break_when_any_done=False)
    assert rollout["observation"].shape == (100, 470)
    assert rollout["action_mask"].dtype == torch.bool
    assert rollout["action_mask"].gather(-1, rollout["action"].unsqueeze(-1)).all()


def test_the_group_plays_the_game_of_the_aec_environment(group_env):
    group_env.set_seed(3)
    rollout = group_env.rollout(1000)
    players, after = rollout["players"], rollout["next", "players"]
    env = card_envs.make(GAME.id, num_players=4)
    env.reset(seed=3)
    env.reset()  # a rollout resets the game that set_seed begins
    for step in range(len(rollout)):
        assert not env.terminations[env.agent_selection]
        selected = env.possible_agents.index(env.agent_selection)
        assert players["mask"][step].tolist() == [k == selected for k in range(4)]
        for k, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            assert np.array_equal(
                players["observation", "observation"][step, k], seen["observation"]
            )
            legal = seen["action_mask"] if k == selected else np.ones_like(seen["action_mask"])
            assert np.array_equal(players["action_mask"][step, k], legal)
        env.step(int(players["action"][step, selected]))
        assert after["reward"][step, :, 0].tolist() == pytest.approx([*env.rewards.values()])
    assert after["terminated"][-1].all()
    assert rollout["next", "done"].flatten().tolist() == [False] * (len(rollout) - 1) + [True]


def test_the_seats_play_the_games_of_the_vector_environment(seat_env):
    seat_env.set_seed(5)
    rollout = seat_env.rollout(60, break_when_any_done=False)
    envs = gymnasium.make_vec(
        GAME.gymnasium_id, num_envs=NUM_ENVS, num_players=3, opponents="random"
    )
    envs.reset(seed=5)
    observation, info = envs.reset()  # a rollout resets the games that set_seed begins
    for step in range(60):
        now = rollout[:, step]
        assert np.array_equal(now["observation"], observation)
        assert np.array_equal(now["action_mask"], info["action_mask"] == 1)
        observation, reward, terminated, truncated, info = envs.step(now["action"].numpy())
        assert np.allclose(now["next", "reward"][:, 0], reward)
        assert np.array_equal(now["next", "terminated"][:, 0], terminated)
        assert np.array_equal(now["next", "truncated"][:, 0], truncated)
        for game in np.flatnonzero(terminated | truncated):
            assert np.array_equal(now["next", "observation"][game], info["final_obs"][game])
            assert not now["next", "action_mask"][game].any()
    assert rollout["next", "done"].any()


def test_truncated_games_are_not_terminated():
    env = make_single_seat_env(GAME.id, NUM_ENVS, opponents="random", max_steps=4)
    after = env.rollout(20, break_when_any_done=False)["next"]
    assert after["truncated"].any()
    assert not (after["truncated"] & after["terminated"]).any()
    assert torch.equal(after["done"], after["truncated"] | after["terminated"])


def test_the_same_seed_gives_the_same_games(seat_env):
    def first_observations(seed):
        seat_env.set_seed(seed)
        return seat_env.reset()["observation"]

    assert torch.equal(first_observations(1), first_observations(1))
    assert not torch.equal(first_observations(1), first_observations(2))
    assert not torch.equal(first_observations(1), seat_env.reset()["observation"])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=GAME.id):
        make_env("no_such_game")
    with pytest.raises(ValueError, match="num_players"):
        make_env(GAME.id, num_players=99)
    with pytest.raises(ValueError, match="num_envs"):
        make_single_seat_env(GAME.id, 0)
    with pytest.raises(ValueError, match="mask is not taken here"):
        make_env(GAME.id, mask="info")
    for name in ("mask", "autoreset_mode"):
        with pytest.raises(ValueError, match=f"{name} is not taken here"):
            make_single_seat_env(GAME.id, **{name: "info"})
    with pytest.raises(TypeError, match="no_such_option"):
        make_single_seat_env(GAME.id, 2, no_such_option=1)


def test_without_the_tool_the_extra_is_named(monkeypatch):
    name = "card_envs.integrations.torchrl"
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torchrl", None)
    with pytest.raises(MissingExtraError, match=r"card_envs\[torchrl\]"):
        importlib.import_module(name)


def test_the_page_trains_an_agent_that_beats_random(page):
    assert page["result"].deals >= 300
    assert page["result"].agents[0].rank.interval[0] > 0


def test_random_actions_on_the_page_are_legal(page):
    rollout = page["seat_rollout"]
    assert rollout["action_mask"].gather(-1, rollout["action"].unsqueeze(-1)).all()
    assert not rollout["action_mask"].all()


def test_self_play_on_the_page_learns_from_legal_actions_only(page):
    decisions = page["decisions"]
    assert len(decisions) == 500
    assert decisions["action_mask"].gather(-1, decisions["action"].unsqueeze(-1)).all()
    assert torch.isfinite(decisions["advantage"]).all()
    assert decisions["advantage"].std() > 0


def test_an_environment_by_its_id():
    """TorchRL first offers it a ``frameskip``, and takes the refusal."""
    env = GymEnv(GAME.gymnasium_id, num_players=3, mask="observation")
    start = env.reset()
    assert start["action_mask"].sum() > 0
    start["action"] = env.action_spec.zero()
    start["action"][start["action_mask"].to(bool).nonzero()[0]] = 1
    assert not env.step(start)["next", "done"].item()
