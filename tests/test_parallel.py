"""The parallel environment plays the game of the AEC environment."""

from __future__ import annotations

import copy
import pickle
import warnings
from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pettingzoo.test
import pytest
from helpers import EACH_GAME, FEW_GAMES, TABLES, Habits, kit_of, module_of
from pettingzoo.utils.conversions import (
    aec_to_parallel,
    parallel_to_aec,
    turn_based_aec_to_parallel,
)

from card_envs.contract.game import Game
from card_envs.envs.parallel import ParallelCardEnv

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
each_mask = pytest.mark.parametrize("mask", ["observation", "info"])


def make(game: Game, **options: Any) -> ParallelCardEnv:
    """From the game's module, as users do."""
    parallel_env = getattr(module_of(game), "parallel_env", partial(ParallelCardEnv, game.name))
    env: ParallelCardEnv = parallel_env(**{**kit_of(game).short_options, **options})
    return env


def comparable(value: Any) -> Any:
    """Arrays as bytes, and dicts of any kind as dicts."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return {key: comparable(entry) for key, entry in value.items()}
    return [comparable(entry) for entry in value] if isinstance(value, tuple) else value


@each_mask
@pytest.mark.parametrize("at", ["least", "most"])
@few_games
def test_pettingzoos_tests(game, at, mask):
    num_players = game.min_players if at == "least" else game.max_players
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # With the mask in infos, which the test does not look at, its actions are soon illegal.
        env = make(game, num_players=num_players, mask=mask)
        for seed in range(3):
            for agent in env.possible_agents:
                env.action_space(agent).seed(seed)
            env.reset(seed=seed)
            pettingzoo.test.parallel_api_test(env, num_cycles=300)
    pettingzoo.test.parallel_seed_test(
        partial(make, game, num_players=num_players, mask=mask), num_cycles=30
    )


@each_mask
@tables
def test_a_game_is_that_of_the_aec_environment(game, num_players, mask):
    options = {"num_players": num_players, "mask": mask, "reward": "win", "max_steps": 70}
    parallel = make(game, **options)
    aec = module_of(game).env(**{**kit_of(game).short_options, **options})
    ended = 0
    for seed in range(3):
        observations, infos = parallel.reset(seed=seed)
        aec.reset(seed=seed)
        habits = Habits(game, seed)
        for _ in range(80):
            mover = aec.agent_selection
            assert parallel.agents == aec.agents == list(observations) == list(infos)
            for agent in aec.agents:
                assert comparable(observations[agent]) == comparable(aec.observe(agent))
                assert infos[agent].pop("active_agent") == mover
                assert comparable(infos[agent]) == comparable(aec.infos[agent])
            action = habits.choose(aec.states)
            # What the others do is ignored, and need not even be an action.
            others = [None, -1, 10**6, "nothing"]
            actions = {agent: others[k % 4] for k, agent in enumerate(aec.agents)}
            actions[mover] = action
            if seed == 1:  # and may be left out
                actions = {mover: action}
            observations, *results, infos = parallel.step(actions)
            aec.step(action)
            assert results == [aec.rewards, aec.terminations, aec.truncations]
            if not aec.legal_actions():
                break
        if not aec.legal_actions():
            ended += 1
            assert set(observations) == set(infos) == set(aec.possible_agents)
            assert all("place" in info and "active_agent" not in info for info in infos.values())
            assert sum(results[0].values()) == pytest.approx(1)
            assert parallel.agents == []
            assert parallel.step({}) == parallel.step({mover: 0}) == ({}, {}, {}, {}, {})
    assert ended


@each_game
def test_it_is_pettingzoos_conversion(game):
    """But for ``active_agent`` at the reset."""
    ours = make(game)
    stock = turn_based_aec_to_parallel(module_of(game).env(**kit_of(game).short_options))
    observations, infos = ours.reset(seed=4)
    expected, no_infos = stock.reset(seed=4)
    assert comparable(observations) == comparable(expected)
    assert set(infos) == set(no_infos)
    habits = Habits(game, 4)
    for _ in range(60):
        states = ours.unwrapped.states
        actions = dict.fromkeys(ours.agents, habits.choose(states))
        assert comparable(ours.step(actions)) == comparable(stock.step(actions))
        assert ours.agents == stock.agents
        assert ours.state().tobytes() == stock.state().tobytes()
        if not ours.agents:
            break
    for agent in ours.possible_agents:
        assert ours.observation_space(agent) == stock.observation_space(agent)
        assert ours.observation_space(agent) is ours.observation_space(agent)
        assert ours.action_space(agent) == stock.action_space(agent)


@few_games
def test_what_a_step_gave_stays_as_it_is(game):
    env = make(game, num_players=game.max_players)
    given = [env.reset(seed=1)]
    before = [comparable(given[0])]
    habits = Habits(game, 1)
    while env.agents and len(given) < 20:
        action = habits.choose(env.unwrapped.states)
        given.append(env.step({env.unwrapped.agent_selection: action}))
        before.append(comparable(given[-1]))
    assert [comparable(result) for result in given] == before
    # Nor does the AEC environment within notice: its infos are empty until the end.
    env.reset(seed=2)
    assert all(info == {} for info in env.unwrapped.infos.values())
    env = make(game, mask="info")
    _, infos = env.reset(seed=1)
    for info in infos.values():
        info["action_mask"][:] = 0
    assert any(info["action_mask"].any() for info in env.unwrapped.infos.values())


@few_games
def test_the_active_agents_action_is_needed_and_checked(game):
    env = make(game, on_illegal="raise")
    with pytest.raises(AssertionError, match="reset\\(\\) needs to be called before step"):
        env.step({})
    _, infos = env.reset(seed=1)
    mover = infos["player_0"]["active_agent"]
    others = {agent: 0 for agent in env.agents if agent != mover}
    before = env.unwrapped.save()
    for actions, named in ((others, next(iter(others))), ({}, "nobody")):
        with pytest.raises(ValueError, match=f"{mover} is to move, but .* of .*{named}"):
            env.step(actions)
    for wrong in (None, 3, [3]):
        with pytest.raises(TypeError, match=rf"actions must be a dict such as {{'{mover}': 0}}, "):
            env.step(wrong)
    for wrong in (None, -1, game.num_actions):
        with pytest.raises(AssertionError, match="action is not in action space"):
            env.step({mover: wrong})
    legal = env.unwrapped.legal_actions()
    illegal = sorted(set(range(game.num_actions)) - set(legal))
    for action in illegal[:1]:
        with pytest.raises(ValueError, match=f"action {action} .* not legal for {mover}"):
            env.step({mover: action})
    assert env.unwrapped.save() == before
    env = make(game)
    env.reset(seed=1)
    for action in illegal[:1]:
        _, rewards, terminations, truncations, infos = env.step({mover: action})
        assert rewards == {agent: -1.0 * (agent == mover) for agent in env.possible_agents}
        assert all(terminations.values())
        assert all(truncations.values())
        assert all(info == {} for info in infos.values())
        assert env.agents == []
        assert env.reset(seed=1)[0].keys() == set(env.agents)


@few_games
def test_conversions_and_metadata(game):
    env, aec = make(game), module_of(game).env()
    assert str(env) == game.name
    assert env.metadata == {**aec.metadata, "is_parallelizable": True}
    assert env.unwrapped.game is game
    # Agents of a card game do not act in cycles, which is what this conversion needs.
    assert aec.metadata["is_parallelizable"] is False
    with pytest.raises(AssertionError, match="not generally safe"):
        aec_to_parallel(aec)
    pettingzoo.test.api_test(parallel_to_aec(make(game, mask="info")), num_cycles=20)
    env = make(game, render_mode="ansi")
    env.reset(seed=1)
    assert env.render_mode == "ansi"
    assert env.render() == env.unwrapped.render()
    env.close()


@few_games
def test_copies_go_on_alike(game):
    env = make(game)
    env.reset(seed=7)
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    habits = Habits(game, 7)
    for _ in range(10):
        if not env.agents:
            break
        action = habits.choose(env.unwrapped.states)
        actions = {env.unwrapped.agent_selection: action}
        expected = comparable(env.step(actions))
        assert [comparable(twin.step(actions)) for twin in twins] == [expected] * 2


@few_games
def test_a_game_that_is_loaded_within_goes_on(game):
    saved = make(game, num_players=game.max_players)
    saved.reset(seed=1)
    save = saved.unwrapped.save()
    env = make(game, num_players=game.min_players)
    env.reset(seed=2)
    while env.agents:
        legal = env.unwrapped.legal_actions()
        env.step({env.unwrapped.agent_selection: legal[0]})
    env.unwrapped.load(save)
    assert env.agents == env.possible_agents == saved.possible_agents
    assert env.num_agents == env.max_num_agents == game.max_players
    actions = {env.unwrapped.agent_selection: env.unwrapped.legal_actions()[0]}
    assert comparable(env.step(actions)) == comparable(saved.step(actions))


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="no registry before PettingZoo 1.26")
@few_games
def test_it_is_registered(game):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = pettingzoo.make("parallel", game.gymnasium_id, num_players=game.max_players)
    assert isinstance(env, ParallelCardEnv)
    assert env.unwrapped.game is game
    assert env.max_num_agents == game.max_players
