"""The action mask is in the observation or in ``info``, as asked, and is the same in both."""

from __future__ import annotations

import copy
import pickle
import warnings
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo.test
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from helpers import (
    EACH_GAME,
    FEW_GAMES,
    TABLES,
    Habits,
    finish,
    kit_of,
    mean_length,
    module_of,
    play_on,
)

import card_envs
from card_envs.contract.game import Game
from card_envs.envs.aec import CardEnv
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)


def box_of(game: Game) -> spaces.Box:
    return spaces.Box(0.0, 1.0, (game.fields.size,), np.float32)


def dict_of(game: Game) -> spaces.Dict:
    action_mask = spaces.Box(0, 1, (game.num_actions,), np.int8)
    return spaces.Dict({"observation": box_of(game), "action_mask": action_mask})


# ---------------------------------------------------------------------------------------------
# AEC
# ---------------------------------------------------------------------------------------------


def pair_of(game: Game, num_players: int, **options: Any) -> tuple[CardEnv, CardEnv]:
    """The default environment, and the same with the mask in ``infos``."""
    options = {**kit_of(game).short_options, **options}
    default, flat = (
        module_of(game).env(num_players=num_players, mask=mask, **options)
        for mask in ("observation", "info")
    )
    return default, flat


def assert_alike(default: CardEnv, flat: CardEnv) -> None:
    """The same but for the place of the mask."""
    for name in ("agents", "agent_selection", "rewards", "terminations", "truncations"):
        assert getattr(flat, name) == getattr(default, name), name
    assert set(flat.infos) == set(default.infos) == set(flat.agents)
    for agent in flat.agents:
        expected, observation = default.observe(agent), flat.observe(agent)
        assert flat.observation_space(agent).contains(observation)
        assert observation.tobytes() == expected["observation"].tobytes()
        info = dict(flat.infos[agent])
        action_mask = info.pop("action_mask")
        assert action_mask.dtype == np.int8
        assert action_mask.tobytes() == expected["action_mask"].tobytes()
        assert info == default.infos[agent]
    if flat.agents:
        observation, *rest, info = flat.last()
        expected, *others, _ = default.last()
        assert observation.tobytes() == expected["observation"].tobytes()
        assert info["action_mask"].tobytes() == expected["action_mask"].tobytes()
        assert rest == others
        assert flat.last(observe=False)[0] is None


@tables
def test_the_aec_environment_is_the_same_but_for_the_masks_place(game, num_players):
    default, flat = pair_of(game, num_players)
    for agent in flat.possible_agents:
        assert default.observation_space(agent) == dict_of(game)
        assert flat.observation_space(agent) == box_of(game)
        assert flat.observation_space(agent) is flat.observation_space(agent)
    for seed in range(3):
        for env in (default, flat):
            env.reset(seed=seed)
        habits = Habits(game, seed)
        ended_illegally = False
        for number in range(60):
            assert_alike(default, flat)
            legal = default.legal_actions()
            if not legal:
                break
            if number % 7 == 3:
                for env in (default, flat):
                    env.determinize(env.possible_agents[number % num_players], number)
                assert_alike(default, flat)
                legal = default.legal_actions()
            action = habits.choose(default.states)
            ended_illegally = number == 20 and len(legal) < game.num_actions
            if ended_illegally:
                action = min(set(range(game.num_actions)) - set(legal))
            for env in (default, flat):
                env.step(action)
        while default.agents:  # the dead steps
            assert_alike(default, flat)
            for env in (default, flat):
                env.step(None)
        assert flat.agents == []
        assert flat.infos == {}


@tables
def test_infos_once_given_stay_as_they_are(game, num_players):
    _, flat = pair_of(game, num_players)
    flat.reset(seed=1)
    given: list[tuple[dict[str, Any], bytes]] = []
    habits = Habits(game, 1)
    for _ in range(12):
        given += [(info, info["action_mask"].tobytes()) for info in flat.infos.values()]
        if not flat.legal_actions():
            break
        flat.step(habits.choose(flat.states))
    assert len(given) > num_players
    assert all(info["action_mask"].tobytes() == before for info, before in given)
    legal = flat.legal_actions()
    for info in flat.infos.values():
        info["action_mask"][:] = 1  # the caller's own: it changes nothing in the environment
    assert flat.legal_actions() == legal


COPIES = {
    "clone": CardEnv.clone,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.parametrize("copied", list(COPIES.values()), ids=list(COPIES))
@few_games
def test_copies_keep_the_place_of_the_mask(game, copied):
    default, flat = pair_of(game, game.max_players)
    decisions = int(mean_length(game, game.max_players)) // 2
    for env in (default, flat):
        env.reset(seed=2)
        play_on(env, 2, decisions)
    twin = copied(flat)
    masks = [info["action_mask"].tobytes() for info in twin.infos.values()]
    assert_alike(default, twin)
    for info in flat.infos.values():
        info["action_mask"][:] = 7
    play_on(flat, 3, 2)
    assert [info["action_mask"].tobytes() for info in twin.infos.values()] == masks
    play_on(default, 4, 10**6)
    play_on(twin, 4, 10**6)
    assert_alike(default, twin)
    finish(twin)
    finish(default)
    twin.reset(seed=5)
    default.reset(seed=5)
    assert_alike(default, twin)
    assert copied(module_of(game).env(mask="info")).observation_space("player_0") == box_of(game)


@few_games
def test_a_loaded_game_has_the_masks_place_of_its_environment(game):
    for num_players in game.table_sizes:
        default, flat = pair_of(game, num_players)
        for env in (default, flat):
            env.reset(seed=6)
            play_on(env, 6, 4)
        assert flat.save() == default.save()
        for size in {game.min_players, game.max_players}:
            into_default, into_flat = pair_of(game, size)
            into_default.load(flat.save())
            into_flat.load(default.save())
            assert_alike(into_default, into_flat)
            for agent in into_flat.possible_agents:
                assert into_flat.observation_space(agent) == box_of(game)
                assert into_default.observation_space(agent) == dict_of(game)
            for env in (into_default, into_flat):
                play_on(env, 6, 10)
            assert_alike(into_default, into_flat)


@tables
def test_pettingzoos_tests_with_the_mask_in_infos(game, num_players):
    make = partial(module_of(game).env, num_players=num_players, mask="info")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # PettingZoo's words for what is meant: nobody else has a legal action.
        warnings.filterwarnings("ignore", message="Action mask numpy array is all zeros")
        pettingzoo.test.api_test(make(), num_cycles=100)
    pettingzoo.test.seed_test(make, num_cycles=30)


# ---------------------------------------------------------------------------------------------
# Gymnasium
# ---------------------------------------------------------------------------------------------


@few_games
def test_gymnasiums_check_with_the_mask_in_the_observation(game):
    env = gymnasium.make(game.gymnasium_id, mask="observation", opponents="random").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is not legal; legal actions")
        check_env(env)


@each_game
def test_a_seat_is_the_same_but_for_the_masks_place(game):
    sizes = (game.min_players, game.max_players)
    options = {"opponents": "random", "num_players": sizes, "max_steps": 30}
    makers: list[Any] = [
        partial(SingleSeatEnv, game.name, **options),
        partial(SingleSeatVectorEnv, game.name, 3, **options),
    ]
    for make in makers:
        default, dicts = make(), make(mask="observation")
        single = getattr(default, "single_observation_space", default.observation_space)
        assert single == box_of(game)
        single = getattr(dicts, "single_observation_space", dicts.observation_space)
        assert single == dict_of(game)
        result, other = default.reset(seed=3), dicts.reset(seed=3)
        ended = 0
        for _ in range(60):
            observation, *rest, info = result
            other_observation, *other_rest, other_info = other
            action_mask = info.pop("action_mask")
            assert dicts.observation_space.contains(other_observation)
            assert other_observation["observation"].tobytes() == observation.tobytes()
            assert other_observation["action_mask"].dtype == np.int8
            assert other_observation["action_mask"].tobytes() == action_mask.tobytes()
            assert default.action_masks().tobytes() == dicts.action_masks().tobytes()
            assert dicts.action_masks().tobytes() == action_mask.tobytes()
            assert "action_mask" not in other_info
            assert "_action_mask" not in other_info
            assert np.array_equal(info["seat"], other_info["seat"])
            assert all(np.array_equal(a, b) for a, b in zip(rest, other_rest, strict=True))
            if "final_obs" in info:
                ended += 1
                for last, other_last in zip(
                    info["final_obs"], other_info["final_obs"], strict=True
                ):
                    assert (last is None) == (other_last is None)
                    if last is not None:
                        assert single.contains(other_last)
                        assert last.tobytes() == other_last["observation"].tobytes()
                        assert not other_last["action_mask"].any()
                assert "action_mask" not in other_info["final_info"]
            if not action_mask.any():
                ended += 1
                result, other = default.reset(), dicts.reset()
                continue
            actions = action_mask.argmax(axis=-1)
            result, other = default.step(actions), dicts.step(actions)
        assert ended


# ---------------------------------------------------------------------------------------------
# Wrong values
# ---------------------------------------------------------------------------------------------


@few_games
def test_wrong_places_of_the_mask(game):
    makers: list[Any] = [
        module_of(game).env,
        module_of(game).raw_env,
        partial(card_envs.make, game.name),
        partial(SingleSeatEnv, game.name),
        partial(SingleSeatVectorEnv, game.name, 2),
    ]
    for make in makers:
        for wrong in ("observations", "", None, True, ["info"]):
            with pytest.raises(ValueError, match="mask must be 'observation' or 'info', got") as e:
                make(mask=wrong)
            assert repr(wrong) in str(e.value)
        with pytest.raises(
            TypeError, match=r"unexpected keyword argument 'masks'.*arguments are .*\bmask\b"
        ):
            make(masks="info")
