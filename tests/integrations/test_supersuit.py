"""SuperSuit's wrappers on every game: the page's code, and which wrappers work."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import supersuit
from helpers import FEW_GAMES, kit_of
from integrations.pages import PAGES, run_page
from pettingzoo.test import api_test, parallel_api_test

from card_envs.contract.game import Game
from card_envs.envs.aec import CardEnv
from card_envs.envs.parallel import ParallelCardEnv

few_games = pytest.mark.parametrize("game", FEW_GAMES)

# What each wrapper makes of an observation in [0, 1].
SAME: dict[str, Callable[[Any], Any]] = {
    "dtype_v0": partial(supersuit.dtype_v0, dtype=np.float64),
    "flatten_v0": supersuit.flatten_v0,
    "pad_observations_v0": supersuit.pad_observations_v0,
    "pad_action_space_v0": supersuit.pad_action_space_v0,
    "clip_reward_v0": supersuit.clip_reward_v0,
    "reward_lambda_v0": lambda env: supersuit.reward_lambda_v0(env, lambda reward: reward),
    "nan_noop_v0": lambda env: supersuit.nan_noop_v0(env, 0),
    "nan_random_v0": supersuit.nan_random_v0,
    "nan_zeros_v0": supersuit.nan_zeros_v0,
    "max_observation_v0": lambda env: supersuit.max_observation_v0(env, 1),
}
CHANGED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **{name: (wrap, lambda observation: observation) for name, wrap in SAME.items()},
    "normalize_obs_v0": (
        lambda env: supersuit.normalize_obs_v0(env, env_min=-1, env_max=1),
        lambda observation: 2 * observation - 1,
    ),
    "reshape_v0": (
        lambda env: supersuit.reshape_v0(env, (1, env.unwrapped.game.fields.size)),
        lambda observation: observation[None],
    ),
    "observation_lambda_v0": (
        lambda env: supersuit.observation_lambda_v0(env, lambda observation, _: 1 - observation),
        lambda observation: 1 - observation,
    ),
}
#: Those that also take observations that are a Dict.
TAKE_DICTS = {
    "pad_action_space_v0",
    "clip_reward_v0",
    "reward_lambda_v0",
    "nan_noop_v0",
    "nan_random_v0",
    "nan_zeros_v0",
}
each_wrapper = pytest.mark.parametrize("name", CHANGED)


def options_of(game: Game) -> dict[str, Any]:
    return {**kit_of(game).short_options, "max_steps": 40, "reward": "win", "on_illegal": "raise"}


def play(env: Any, plain: CardEnv) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """The same game in both: both observations, and the wrapped environment's info."""
    env.reset(seed=3)
    plain.reset(seed=3)
    for agent in env.agent_iter():
        assert agent == plain.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        expected, *others, _ = plain.last()
        assert [reward, terminated, truncated] == others
        if terminated or truncated:
            action = None
        else:
            yield observation, expected["observation"], info
            assert info["action_mask"].tobytes() == expected["action_mask"].tobytes()
            action = int(np.flatnonzero(info["action_mask"])[-1])
        env.step(action)
        plain.step(action)


@each_wrapper
@few_games
def test_wrappers_of_the_aec_environment(game, name):
    wrap, change = CHANGED[name]
    env = wrap(CardEnv(game.name, mask="info", **options_of(game)))
    decisions = 0
    for observation, plain, _ in play(env, CardEnv(game.name, **options_of(game))):
        np.testing.assert_allclose(observation, change(plain), rtol=1e-6)
        assert env.observation_space(env.agent_selection).contains(observation)
        decisions += 1
    assert decisions


@each_wrapper
@few_games
def test_wrappers_of_the_parallel_environment(game, name):
    wrap, change = CHANGED[name]
    env = wrap(ParallelCardEnv(game.name, mask="info", **options_of(game)))
    plain = ParallelCardEnv(game.name, mask="info", **options_of(game))
    observations, infos = env.reset(seed=3)
    expected, _ = plain.reset(seed=3)
    steps = 0
    while env.agents:
        assert set(observations) == set(expected)
        for agent, observation in observations.items():
            np.testing.assert_allclose(observation, change(expected[agent]), rtol=1e-6)
            assert env.observation_space(agent).contains(observation)
        actions = {agent: int(infos[agent]["action_mask"].argmax()) for agent in env.agents}
        observations, *results, infos = env.step(actions)
        expected, *others, _ = plain.step(actions)
        assert results == others
        assert env.agents == plain.agents
        steps += 1
    assert steps


@pytest.mark.parametrize("stack", [supersuit.frame_stack_v1], ids=["frame_stack_v1"])
@few_games
def test_a_stack_holds_the_agents_own_last_decisions(game, stack):
    env = stack(CardEnv(game.name, mask="info", **options_of(game)), 3)
    size = game.fields.size
    own: dict[str, list[Any]] = {agent: [np.zeros(size)] * 3 for agent in env.possible_agents}
    for observation, plain, _ in play(env, CardEnv(game.name, **options_of(game))):
        seen = own[env.agent_selection]
        seen.append(plain)
        assert np.array_equal(observation, np.concatenate(seen[-3:]))
    assert max(map(len, own.values())) > 3


@few_games
def test_pettingzoos_tests_of_wrapped_environments(game):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for wrap, _ in CHANGED.values():
            api_test(wrap(CardEnv(game.name, mask="info")), num_cycles=20)
            parallel_api_test(wrap(ParallelCardEnv(game.name, mask="info")), num_cycles=20)
        api_test(supersuit.frame_stack_v1(CardEnv(game.name, mask="info")), num_cycles=20)


@pytest.mark.parametrize("name", sorted(TAKE_DICTS))
@few_games
def test_wrappers_of_actions_and_rewards_take_dicts_too(game, name):
    wrap, _ = CHANGED[name]
    env, plain = (CardEnv(game.name, **options_of(game)) for _ in range(2))
    env = wrap(env)
    env.reset(seed=3)
    plain.reset(seed=3)
    while plain.legal_actions():
        observation, reward, *_ = env.last()
        expected, plain_reward, *_ = plain.last()
        assert reward == plain_reward
        for key in ("observation", "action_mask"):
            assert observation[key].tobytes() == expected[key].tobytes()
        action = int(expected["action_mask"].argmax())
        env.step(action)
        plain.step(action)


@few_games
def test_black_death_ends_a_step_late(game):
    with pytest.raises(AssertionError, match="not generally safe"):
        supersuit.black_death_v3(CardEnv(game.name, mask="info"))
    env = supersuit.black_death_v3(ParallelCardEnv(game.name, mask="info", **options_of(game)))
    plain = ParallelCardEnv(game.name, mask="info", **options_of(game))
    _, infos = env.reset(seed=3)
    plain.reset(seed=3)
    while plain.agents:
        actions = {agent: int(infos[agent]["action_mask"].argmax()) for agent in env.agents}
        *_, infos = env.step(actions)
        plain.step(actions)
    assert env.agents == plain.possible_agents
    assert all("place" in info for info in infos.values())
    *_, terminations, _, _ = env.step(dict.fromkeys(env.agents, 0))
    assert all(terminations.values())
    assert env.agents == []


@few_games
def test_a_delayed_mask_is_one_in_the_observation(game):
    env = supersuit.delay_observations_v0(CardEnv(game.name, mask="info", **options_of(game)), 2)
    assert all(
        info["action_mask"].any() for *_, info in play(env, CardEnv(game.name, **options_of(game)))
    )


@few_games
def test_vectors_of_aec_environments(game):
    env = CardEnv(game.name, mask="info", **options_of(game))
    envs = supersuit.vectorize_aec_env_v0(env, 2)
    envs.reset(seed=1)
    rewarded = 0
    for _ in envs.agent_iter(200):
        observations, rewards, *_, infos = envs.last()
        assert observations.shape == (2, game.fields.size)
        rewarded += bool(np.any(rewards))
        envs.step([int(info["action_mask"].argmax()) for info in infos])
    assert rewarded


def test_the_page():
    page = run_page("supersuit")
    env = page["env"]
    assert env.agents == []
    assert env.observation_space("player_0").shape == (4 * 470,)
    assert env.observation_space("player_0").dtype == np.float16
    assert page["parallel_env"].agents == []
    assert page["observations"].shape[0] == 6
    text = (PAGES / "supersuit.md").read_text(encoding="utf-8")
    for name in (*CHANGED, "frame_stack_v1", "black_death_v3", "delay_observations_v0"):
        assert f"`{name}`" in text
    assert f"supersuit {supersuit.__version__}" in text
