"""The environments keep the contracts of PettingZoo, Gymnasium and Stable-Baselines3."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import operator
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pettingzoo.test
import pytest
from gymnasium.utils.env_checker import check_env
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    FEW_TABLES,
    SEARCHED,
    TABLES,
    agents_of,
    begin,
    mean_length,
    module_of,
    needs_training,
    observation_of,
    option_sets,
    snapshot,
)
from pettingzoo.utils import wrappers
from pettingzoo.utils.env_logger import EnvLogger

import card_envs
from card_envs.agents import RandomAgent, agent_names, make_agent
from card_envs.contract.agent import turn_of
from card_envs.contract.game import Game
from card_envs.engine.seeds import next_seed, next_seeds, players_of, random_action
from card_envs.envs.aec import CardEnv
from card_envs.envs.parallel import ParallelCardEnv
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.render.text import describe
from card_envs.text.seat import TextSeatEnv

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
few_tables = pytest.mark.parametrize(("game", "num_players"), FEW_TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
both_constructors = pytest.mark.parametrize("constructor", ["env", "raw_env"])


def draw_legal(rng: np.random.Generator, mask: np.ndarray) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


# ---------------------------------------------------------------------------------------------
# PettingZoo's own tests
# ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def no_warnings_but_of_the_dict() -> Iterator[None]:
    """An observation that is a dict with a mask, as in PettingZoo's card games, gets remarks."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for remark in (
            "Observation space for each agent probably should be",
            "Observation is not a NumPy array",
            "Action mask numpy array is all zeros",
        ):
            warnings.filterwarnings("ignore", message=remark)
        yield


@both_constructors
@tables
def test_pettingzoo_api(game, num_players, constructor):
    for options in ({}, *option_sets(game, most=3, views=True)):
        env = getattr(module_of(game), constructor)(num_players=num_players, **options)
        with no_warnings_but_of_the_dict():
            pettingzoo.test.api_test(env, num_cycles=150)


@both_constructors
@tables
def test_pettingzoo_seed(game, num_players, constructor):
    make = getattr(module_of(game), constructor)
    pettingzoo.test.seed_test(lambda: make(num_players=num_players), num_cycles=50)


@few_tables
def test_pettingzoo_render(game, num_players, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("card_envs.render.renderer.FPS", 1000)  # a window waits between pictures

    def is_table(text: str) -> bool:
        return isinstance(text, str) and len(text.splitlines()) > 2

    pettingzoo.test.render_test(
        partial(module_of(game).env, num_players=num_players), custom_tests={"ansi": is_table}
    )


@tables
def test_views_are_never_stale(game, num_players):
    """What step() left for the next agent is what observe() would make."""
    rng = np.random.default_rng(num_players)
    env = CardEnv(game.name, num_players=num_players)
    env.reset(seed=1)
    for number in range(300):
        if not env.agents or env._ongoing.is_over:
            env.reset()
        env.step(int(rng.choice(env.legal_actions())))
        if number % 3 == 0:
            env.determinize(env.possible_agents[number % num_players], number)
        agent = env.agent_selection
        for _ in range(2):
            expected = observation_of(env.game, env.states, env.possible_agents.index(agent))
            observation = env.observe(agent)["observation"]
            assert observation.tobytes() == expected.tobytes()
            observation[:] = 7.0  # the caller's own: it must not come back


@tables
def test_a_record_that_was_changed_is_observed_again(game, num_players):
    """Through an array that was taken at any time before."""
    env = CardEnv(game.name, num_players=num_players)
    states = env.states
    changed = 0
    for seed in range(12):
        env.reset(seed=seed)
        for _ in range(seed):
            if not env.terminations[env.agent_selection]:
                env.step(env.legal_actions()[0])
        player = env.possible_agents.index(env.agent_selection)
        before = observation_of(env.game, states, player).tobytes()
        states[:] = begin(game, num_players, seed + 1)
        expected = observation_of(env.game, states, player).tobytes()
        assert env.observe(env.agent_selection)["observation"].tobytes() == expected
        changed += expected != before
    assert changed


@tables
def test_a_record_that_was_changed_says_what_is_legal(game, num_players):
    """Else an action that is not would come to a kernel, which takes any."""
    env = CardEnv(game.name, num_players=num_players)
    env.reset(seed=1)
    before, legal = env.states.copy(), {*env.legal_actions()}
    for _ in range(100):  # in the smallest games the same actions are always legal
        if illegal := {*env.legal_actions()} - legal:
            env.states[:] = before
            env.step(illegal.pop())
            assert all(env.truncations.values())  # as an illegal action ends a game
            break
        if env.terminations[env.agent_selection]:
            env.reset()
        env.step(env.legal_actions()[-1])
    for action in legal:
        env.reset(seed=2)
        env.step(env.legal_actions()[-1])
        env.states[:] = before
        env.step(action)
        expected = begin(game, num_players, 1)
        game.rules.step(expected, 0, action)
        assert env.states.tobytes() == expected.tobytes()


@pytest.mark.parametrize("mask", ["observation", "info"])
@tables
def test_a_record_that_was_changed_is_what_an_environment_tells_of(game, num_players, mask):
    env, other = (CardEnv(game.name, num_players=num_players, mask=mask) for _ in range(2))
    other.reset(seed=1)
    env.reset(seed=2)
    differed = False
    for _ in range(30):
        legal, selected = env.legal_actions(), env.agent_selection
        env.states[:] = other.states
        differed |= (legal, selected) != (other.legal_actions(), other.agent_selection)
        assert env.legal_actions() == other.legal_actions()
        assert env.agent_selection == other.agent_selection
        for agent in env.possible_agents:
            assert comparable(env.observe(agent)) == comparable(other.observe(agent))
        assert comparable(env.last()) == comparable(other.last())
        other.step(other.legal_actions()[-1])
        if other.terminations[other.agent_selection]:
            break
    assert differed or game.num_actions < 5


def test_the_number_of_players_is_set_by_the_constructor_alone():
    """A kernel would deal to seats that the record has no room for."""
    env = CardEnv(EACH_GAME[0].values[0].name)
    with pytest.raises(AttributeError, match="num_players"):
        env.num_players = 7


def test_an_error_within_a_property_of_a_subclass_is_told_as_it_is():
    class Own(CardEnv):
        @property
        def seen(self):
            return self.game.no_such_thing

    env = Own(EACH_GAME[0].values[0].name)
    with pytest.raises(AttributeError, match="seen cannot be accessed before reset"):
        _ = env.seen
    env.reset(seed=1)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = env.seen


@tables
def test_a_new_game_is_observed_where_the_last_one_was_not(game, num_players):
    env = CardEnv(game.name, num_players=num_players)
    for _ in range(3):
        env.reset(seed=1)
        env.step(env.legal_actions()[0])  # which leaves an observation that nobody asks for
        env.reset(seed=2)
        player = env.possible_agents.index(env.agent_selection)
        expected = observation_of(env.game, begin(game, num_players, 2), player)
        assert env.observe(env.agent_selection)["observation"].tobytes() == expected.tobytes()


def test_reading_the_record_does_not_have_it_observed_again(monkeypatch):
    env = CardEnv(EACH_GAME[0].values[0].name)
    env.reset(seed=1)
    for _ in range(2):  # before and after the record is first read
        env.step(env.legal_actions()[0])
        assert env.states["steps"][0]
        expected = observation_of(env.game, env.states, int(env.states["current_player"][0]))
        with monkeypatch.context() as patch:
            patch.setattr(env._ongoing, "observe", None)
            observation = env.observe(env.agent_selection)["observation"]
        assert observation.tobytes() == expected.tobytes()


@tables
def test_pettingzoo_state(game, num_players):
    env = module_of(game).env(num_players=num_players)
    # ``state_test`` itself asks for a parallel environment as well; the name hides its module.
    state_test = importlib.import_module("pettingzoo.test.state_test")
    with no_warnings_but_of_the_dict():
        state_test.test_state_space(env)
        state_test.test_state(env, 20)
    assert env.state_space.contains(env.state())


# ---------------------------------------------------------------------------------------------
# Side by side with PettingZoo's stock wrappers
# ---------------------------------------------------------------------------------------------


def pair_of(game: Game, num_players: int, **options: Any) -> tuple[CardEnv, Any]:
    """``env()``, and ``raw_env()`` in the three wrappers that it does without."""
    module = module_of(game)
    wrapped = wrappers.TerminateIllegalWrapper(
        module.raw_env(num_players=num_players, **options), illegal_reward=-1
    )
    wrapped = wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(wrapped))
    return module.env(num_players=num_players, **options), wrapped


def outcome(call: Any, *args: Any) -> tuple[Any, ...]:
    """What a call gives or raises, and the warnings of PettingZoo's logger."""
    EnvLogger.flush()
    try:
        result: tuple[Any, ...] = ("gives", comparable(call(*args)))
    except Exception as error:
        result = ("raises", type(error), str(error))
    messages = list(EnvLogger.mqueue)
    EnvLogger.flush()
    return (*result, messages)


def naming(stock: tuple[Any, ...], action: Any, game: Game) -> tuple[Any, ...]:
    """What the stock wrappers say of an action outside the space, and then which ones there are."""
    if stock[2] != "action is not in action space":
        return stock
    about = f"got {action!r} ({type(action).__name__}); actions are whole numbers from 0 to "
    return (*stock[:2], f"{stock[2]}: {about}{game.num_actions - 1}", stock[3])


def comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [comparable(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return {key: comparable(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [comparable(entry) for entry in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def assert_alike(env: CardEnv, wrapped: Any, ended_illegally: bool = False) -> None:
    for name in (
        "agents",
        "num_agents",
        "possible_agents",
        "agent_selection",
        "rewards",
        "_cumulative_rewards",
        "terminations",
        "truncations",
        "infos",
    ):
        assert getattr(env, name) == getattr(wrapped, name), name
    assert outcome(env.state) == outcome(wrapped.state)
    for agent in env.possible_agents:
        view, other = env.observe(agent), wrapped.observe(agent)
        assert view["observation"].tobytes() == other["observation"].tobytes()
        # After an illegal action the wrappers still show the offender's mask, to whichever agent
        # is selected, though nobody may act any more.
        if ended_illegally:
            assert not view["action_mask"].any()
        else:
            assert view["action_mask"].tobytes() == other["action_mask"].tobytes()
    if not ended_illegally:
        assert outcome(env.last) == outcome(wrapped.last)
    elif env.agents:
        assert env.last()[1:] == wrapped.last()[1:]


WRONG_ACTIONS = (None, -1, 10**6, 10**30, 0.5, "0", np.int64(-3), np.array([1, 2]))


@few_tables
def test_env_is_what_the_stock_wrappers_make_of_raw_env(game, num_players, caplog):
    rng = np.random.default_rng(num_players)
    endings = {"illegal": 0, "natural": 0}
    can_be_illegal = False
    for options in option_sets(game, most=3, views=True):
        env, wrapped = pair_of(game, num_players, **options)
        for seed in range(4):
            env.reset(seed=seed)
            wrapped.reset(seed=seed)
            illegal_at = (
                int(rng.integers(min(20, mean_length(game, num_players)))) if seed % 2 else -1
            )
            number, offender = 0, None
            while not any(env.terminations.values()) and not any(env.truncations.values()):
                assert_alike(env, wrapped)
                mask = env.last()[0]["action_mask"]
                for wrong in (*WRONG_ACTIONS, game.num_actions) if number % 10 == 0 else ():
                    raised, stock = outcome(env.step, wrong), outcome(wrapped.step, wrong)
                    if stock[1] is OverflowError:  # early Gymnasium, of numbers beyond 64 bits
                        stock = ("raises", AssertionError, "action is not in action space", [])
                    assert raised == naming(stock, wrong, game)
                    assert raised[:2] == ("raises", AssertionError)
                    assert_alike(env, wrapped)
                action = draw_legal(rng, mask)
                can_be_illegal |= not mask.all()
                if number >= illegal_at >= 0 and not mask.all():
                    action = int(rng.choice(np.flatnonzero(mask == 0)))
                    offender = env.agent_selection
                    caplog.clear()
                if number % 3 == 0:
                    action = np.int64(action)
                result, stock = outcome(env.step, action), outcome(wrapped.step, action)
                if offender:
                    first_sentence = stock[-1][0].partition("\n")[0]
                    about = f"Action {action} ({game.action_name(action)}) is not legal for "
                    about += f"{offender}; legal actions: {np.flatnonzero(mask).tolist()}"
                    stock = (*stock[:-1], [first_sentence + about])
                assert result == stock
                number += 1
            if offender:
                assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
                assert caplog.text.count("Illegal move made") == 2  # one of each of the two
                assert env.rewards == {agent: -1.0 * (agent == offender) for agent in env.agents}
            endings["illegal" if offender else "natural"] += 1
            assert env.agents == agents_of(game, num_players)
            for agent in env.agents[:]:  # the dead steps
                assert env.agent_selection == agent
                assert_alike(env, wrapped, bool(offender))
                for wrong in (0, 10**6, "x"):
                    raised = outcome(env.step, wrong)
                    assert raised == naming(outcome(wrapped.step, wrong), wrong, game)
                    assert raised[0] == "raises"
                env.step(None)
                wrapped.step(None)
            assert env.agents == wrapped.agents == []
            for late in (None, 0, 10**6):  # afterwards
                result = outcome(env.step, late)
                assert result == outcome(wrapped.step, late)
                assert result[0] == "gives"
                assert "step() called after all agents" in result[-1][0]
            assert outcome(env.last) == outcome(wrapped.last)
    assert endings["natural"] > 3
    assert endings["illegal"] > 3 or not can_be_illegal


@tables
def test_wrong_call_orders_give_the_stock_wrappers_errors(game, num_players):
    calls = {
        "step": lambda env: env.step(0),
        "step None": lambda env: env.step(None),
        "observe": lambda env: env.observe("player_0"),
        "state": lambda env: env.state(),
        "render": lambda env: env.render(),
        "last": lambda env: env.last(),
        "agent_iter": lambda env: list(env.agent_iter(1)),
    }
    for name in (
        "rewards",
        "terminations",
        "truncations",
        "infos",
        "agent_selection",
        "num_agents",
        "agents",
        "no_such_attribute",
    ):
        calls[name] = lambda env, name=name: getattr(env, name)
    env, wrapped = pair_of(game, num_players, render_mode="ansi")
    raw = module_of(game).raw_env(num_players=num_players, render_mode="ansi")
    for name, call in calls.items():
        expected = outcome(call, wrapped)
        assert expected[0] == "raises", name
        assert outcome(call, env) == outcome(call, raw) == expected, name
    for each in (env, wrapped):
        each.reset(seed=1)
    assert_alike(env, wrapped)
    for each in (env, wrapped):
        agents = iter(each.agent_iter())
        assert next(agents) == each.agent_selection
        with pytest.raises(AssertionError, match=r"need to call step\(\) or reset\(\)"):
            next(agents)
        each.reset(seed=1)
        assert next(agents) == each.agent_selection
        assert list(each.agent_iter(0)) == []
    unknown = outcome(env.observe, "player_99")
    assert unknown == outcome(wrapped.observe, "player_99")
    assert unknown[:2] == ("raises", KeyError)
    for space in (env.action_space, env.observation_space):
        assert outcome(space, "player_99") == unknown
        assert outcome(space, 0) == outcome(env.observe, 0)


@few_games
def test_what_is_shown_of_games_is_short(game):
    low, high = game.min_players, game.max_players
    parallel = ParallelCardEnv(game.name, num_players=high, reward="win")
    batch = card_envs.make_vec(game.name, 3, (low, low))
    env = CardEnv(game.name, num_players=low, max_steps=77)
    env.reset(seed=1)
    turn = turn_of(game, env.states, np.array([0]), env.view)
    assert repr(game) == f"Game({game.name!r})"
    assert repr(turn) == f"Turn({game.name!r}, games=1)"
    assert repr(env) == f"CardEnv({game.name!r}, num_players={low}, max_steps=77)"
    assert str(env) == game.name
    assert repr(parallel) == f"ParallelCardEnv({game.name!r}, num_players={high}, reward='win')"
    assert repr(batch) == f"BatchEngine({game.name!r}, num_envs=3, num_players={low})"
    if low < high:
        batch = card_envs.make_vec(game.name, 3, (low, high))
        assert f"num_players=({low}, {high})" in repr(batch)
    seat = SingleSeatEnv(game.name, reward="score")
    number = game.default_players
    assert repr(seat) == f"SingleSeatEnv({game.name!r}, num_players={number}, reward='score')"
    seats = SingleSeatVectorEnv(game.name, 2, num_players=(low, high))
    sizes = low if low == high else (low, high)
    assert repr(seats) == f"SingleSeatVectorEnv({game.name!r}, num_envs=2, num_players={sizes})"


@few_games
def test_a_wrapper_can_end_the_game_of_all(game):
    """As one with a time limit does, in any environment of PettingZoo."""
    env = CardEnv(game.name)
    env.reset(seed=1)
    env.step(env.legal_actions()[0])
    selected = env.agent_selection
    env.truncations = dict.fromkeys(env.agents, True)
    assert env.last()[3]
    with pytest.raises(ValueError, match="when an agent is dead, the only valid action is None"):
        env.step(env.legal_actions()[0])
    for _ in range(env.num_players):
        env.step(None)
    assert env.agents == []
    assert selected in env.possible_agents
    env.reset(seed=1)
    env.step(env.legal_actions()[0])
    assert env.agent_selection == selected


@few_games
@pytest.mark.parametrize("by_hand", [False, True])
def test_an_agent_selected_by_a_wrapper_sees_with_their_own_eyes(game, by_hand):
    """The step before left what the player to move observes, for the agent who is then selected."""
    env = CardEnv(game.name)
    env.reset(seed=1)
    env.step(env.legal_actions()[0])
    mover, others = env.agent_selection, env.clone()
    if by_hand:
        env.agent_selection = next(agent for agent in env.agents if agent != mover)
    else:
        env.truncations = dict.fromkeys(env.agents, True)
        env.step(None)
    agent = env.agent_selection
    assert agent != mover
    observed, own = env.observe(agent), others.observe(agent)
    assert observed["observation"].tolist() == own["observation"].tolist()
    assert not observed["action_mask"].any()
    assert (
        env.observe(mover)["action_mask"].tolist() == others.observe(mover)["action_mask"].tolist()
    )


@few_games
def test_rewards_that_a_wrapper_has_changed_are_of_one_step(game):
    """As of one that shapes them, in the dict or by another dict."""
    env = CardEnv(game.name)
    for seed in range(2):
        env.reset(seed=seed)
        if seed:
            env.rewards = dict.fromkeys(env.agents, 1.0)
        else:
            env.rewards[env.agents[0]] += 0.5
        env.step(env.legal_actions()[0])
        assert env.rewards == dict.fromkeys(env.agents, 0.0)


def test_checks_hold_where_python_drops_asserts():
    code = f"""
from card_envs.envs.aec import CardEnv
env = CardEnv({FEW_GAMES[0].values[0].name!r})
env.reset(seed=1)
for wrong in (4.7, "4", None, [3], 10**6, -1):
    try:
        env.step(wrong)
    except AssertionError as error:
        print(str(error).partition(":")[0])
try:
    list(zip(env.agent_iter(), range(3)))
except AssertionError as error:
    print(str(error)[:12])
"""
    run = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert run.stdout.splitlines() == ["action is not in action space"] * 6 + ["need to call"]


@tables
def test_agent_iter_plays_a_game_as_the_stock_wrappers_do(game, num_players):
    orders: list[list[Any]] = []
    for env in pair_of(game, num_players):
        env.reset(seed=5)
        rng = np.random.default_rng(5)
        orders.append([])
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            orders[-1].append((agent, reward, terminated, truncated, json.dumps(info)))
            over = terminated or truncated
            env.step(None if over else draw_legal(rng, observation["action_mask"]))
    assert orders[0] == orders[1]
    assert [entry[0] for entry in orders[0][-num_players:]] == agents_of(game, num_players)


@few_tables
def test_raw_env_refuses_an_illegal_action_and_nothing_changes(game, num_players):
    env = module_of(game).raw_env(num_players=num_players)
    rng = np.random.default_rng(num_players)
    refused = found = 0
    for seed in range(2):
        env.reset(seed=seed)
        while env.legal_actions():
            illegal = np.flatnonzero(env.last()[0]["action_mask"] == 0)
            found += len(illegal)
            before = snapshot(env)
            for action in rng.choice(illegal, 3) if len(illegal) else ():
                with pytest.raises(ValueError, match=f"action {action} .* legal actions:") as error:
                    env.step(int(action))
                assert env.action_name(action) in str(error.value)
                assert str(env.legal_actions()) in str(error.value)
                refused += 1
            assert snapshot(env) == before
            env.step(int(rng.choice(env.legal_actions())))
    assert refused > 10 or not found


# ---------------------------------------------------------------------------------------------
# The AEC environment's own promises
# ---------------------------------------------------------------------------------------------


@tables
def test_all_agents_terminate_together(game, num_players):
    for max_steps in (10_000, 7):
        env = module_of(game).env(num_players=num_players, max_steps=max_steps)
        for seed in range(8):
            env.reset(seed=seed)
            rng = np.random.default_rng(seed)
            decisions = 0
            while env.legal_actions():
                assert env.agents == agents_of(game, num_players)
                assert set(env.terminations.values()) == set(env.truncations.values()) == {False}
                assert all(info == {} for info in env.infos.values())
                env.step(int(rng.choice(env.legal_actions())))
                decisions += 1
            truncated = decisions == max_steps and not env.states["terminated"][0]
            assert env.terminations == dict.fromkeys(agents_of(game, num_players), not truncated)
            assert env.truncations == dict.fromkeys(agents_of(game, num_players), truncated)
            for agent, info in env.infos.items():
                better = sum(env.rewards[other] > env.rewards[agent] for other in env.agents)
                assert info == {"place": 1 + better}


@tables
def test_spaces_are_equal_and_always_the_same_object(game, num_players):
    env = module_of(game).env(num_players=num_players)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.observation_space(agent) == env.observation_space("player_0")
        assert env.action_space(agent) == env.action_space("player_0")
    space = env.observation_space("player_0")
    assert space["observation"] == gymnasium.spaces.Box(0, 1, (game.fields.size,), np.float32)
    assert space["action_mask"] == gymnasium.spaces.Box(0, 1, (game.num_actions,), np.int8)
    assert env.action_space("player_0") == gymnasium.spaces.Discrete(game.num_actions)
    other = module_of(game).env(num_players=game.max_players)
    assert other.observation_space("player_0") == space
    assert other.action_space("player_0") == env.action_space("player_0")


@tables
def test_the_mask_is_empty_for_agents_that_are_not_to_move(game, num_players):
    env = module_of(game).env(num_players=num_players)
    env.reset(seed=2)
    rng = np.random.default_rng(2)
    while env.legal_actions():
        for agent in env.agents:
            mask = env.observe(agent)["action_mask"]
            expected = env.legal_actions() if agent == env.agent_selection else []
            assert np.flatnonzero(mask).tolist() == expected
        env.step(int(rng.choice(env.legal_actions())))
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.agents)


@tables
def test_the_observations_are_the_callers_own(game, num_players):
    env = module_of(game).env(num_players=num_players)
    env.reset(seed=2)
    before = snapshot(env)
    for agent in env.agents:
        view = env.observe(agent)
        view["observation"][:] = 0.5
        view["action_mask"][:] = 1
    env.state()[:] = 0.5
    env.legal_actions().clear()
    assert snapshot(env) == before


@tables
def test_the_rewards_of_last_are_those_since_the_agents_own_step(game, num_players):
    env = module_of(game).env(num_players=num_players, reward="score")
    rewarded = 0
    for seed in range(4):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        since = dict.fromkeys(env.agents, 0.0)
        while env.legal_actions():
            mover = env.agent_selection
            assert env.last()[1] == since[mover]
            rewarded += since[mover] != 0.0
            env.step(int(rng.choice(env.legal_actions())))
            since[mover] = 0.0
            for agent, reward in env.rewards.items():
                since[agent] += reward
        for agent in env.possible_agents:
            assert env.agent_selection == agent
            assert env.last()[1] == since[agent]
            rewarded += since[agent] != 0.0
            env.step(None)
    assert rewarded > 4


@few_games
def test_everything_that_holds_a_game_can_be_copied_and_pickled(game):
    policy = make_agent(agent_names(game)[-1], game)
    assert pickle.loads(pickle.dumps(game)) is copy.deepcopy(game) is game
    for make in (
        lambda: SingleSeatEnv(game.name, opponents=policy),
        lambda: SingleSeatVectorEnv(game.name, 3, opponents=RandomAgent(game)),
        lambda: gymnasium.make(game.gymnasium_id, opponents=policy).unwrapped,
    ):
        env = make()
        _, infos = env.reset(seed=6)
        for _ in range(3):
            actions = infos["action_mask"].argmax(axis=-1)
            *_, infos = env.step(actions)
            if not infos["action_mask"].any():
                _, infos = env.reset()
        assert_twins_are_alike(env, infos["action_mask"].argmax(axis=-1))
    batch = card_envs.make_vec(game.name, 4)
    _, action_mask = batch.reset(seed=6)
    assert_twins_are_alike(batch, action_mask.argmax(axis=1))


class CountingEnv(CardEnv):
    """What a user adds to the environment."""

    def __init__(self, game: str) -> None:
        super().__init__(game)
        self.counts = [0]


@few_games
def test_a_deep_copy_shares_nothing_that_changes(game):
    env = CountingEnv(game.name)
    env.reset(seed=6)
    agent = env.agent_selection
    env.action_space(agent).seed(1)
    expected = [copy.deepcopy(env).action_space(agent).sample() for _ in range(2)]
    twin = copy.deepcopy(env)
    twin.counts[0] += 1
    assert env.counts == [0]
    assert [twin.action_space(agent).sample(), env.action_space(agent).sample()] == expected
    first, second = copy.deepcopy([env, env])
    assert first is second
    assert first.states.tobytes() == env.states.tobytes()


def assert_twins_are_alike(env: Any, actions: Any) -> None:
    copied, pickled = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    expected = comparable(copied.step(actions))
    assert comparable(pickled.step(actions)) == expected
    assert comparable(env.step(actions)) == expected


def test_an_environment_with_an_agent_as_its_opponent_keeps_its_spec():
    game = ALL_GAMES[0]
    env = gymnasium.make(game.gymnasium_id, opponents=make_agent(agent_names(game)[-1], game))
    assert env.spec is not None
    vector = gymnasium.make_vec(env.spec, num_envs=2, vectorization_mode="sync")
    assert vector.reset(seed=1)[0].shape == (2, game.fields.size)


@few_games
def test_what_is_handed_out_changes_no_game(game):
    """It is a copy: facts of a game, options, names and returns."""
    for name in ("fields.scale", "action_features"):
        facts = operator.attrgetter(name)(game)
        facts[:] = 7
        assert not (operator.attrgetter(name)(game) == 7).all()
    env = card_envs.make(game.id)
    env.reset(seed=1)
    env.possible_agents.append("nobody")
    batch = card_envs.make_vec(game.id, 2)
    table = card_envs.Table(game.id, ["random"] * game.default_players, seed=1)
    seat, vector = SingleSeatEnv(game.id), SingleSeatVectorEnv(game.id, 2)
    for one in (env, batch, table, seat, vector):
        one.options["max_steps"] = 1
        assert one.options["max_steps"] == 10000
    table.returns[:] = 9.0
    assert not table.returns.any()
    assert vector.get_attr("options") == (vector.options,) * 2
    assert vector.get_attr("view") == (seat.view,) * 2 == (vector.view,) * 2
    assert len(env.possible_agents) == env.num_players
    assert card_envs.Replay.of(env).options["max_steps"] == 10000


def test_packages_and_classes_are_found_after_one_import():
    """In a process in which nothing else has imported them."""
    script = """
        import card_envs
        for name in ("agents", "datasets", "envs", "evaluation", "integrations"):
            assert getattr(card_envs, name).__name__ == f"card_envs.{name}", name
            assert name in dir(card_envs)
        for name in card_envs.__all__:
            assert getattr(card_envs, name) is not None
        assert not hasattr(card_envs, "nothing")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


@few_games
def test_truth_is_no_action(game):
    env = card_envs.make(game.id, on_illegal="raise")
    env.reset(seed=1)
    assert not hasattr(card_envs.make(game.id), "history")
    seat = SingleSeatEnv(game.id)
    seat.reset(seed=1)
    with pytest.raises(AssertionError, match=r"not in action space: got True \(bool\)"):
        env.step(True)
    with pytest.raises(ValueError, match=r"whole numbers from 0 to .*, got True"):
        seat.step(True)
    assert env.history == (1, ())


@each_game
def test_names_and_metadata(game):
    env = module_of(game).env()
    assert str(env) == env.metadata["name"] == game.name
    assert env.metadata["is_parallelizable"] is False
    assert env.unwrapped is env
    assert card_envs.make(game.name).metadata == env.metadata
    assert module_of(game).raw_env().on_illegal == "raise"
    assert env.on_illegal == "terminate"
    names = [env.action_name(action) for action in range(game.num_actions)]
    assert len(set(names)) == game.num_actions
    env.close()


@few_games
def test_render_without_a_mode_warns_and_gives_nothing(game):
    env = module_of(game).env()
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert env.render() is None


def test_importing_the_package_needs_nothing_of_the_training():
    code = """
import json, sys
import gymnasium, numba, pettingzoo.utils, safetensors  # which load some of these themselves
before = set(sys.modules)
import card_envs, card_envs.agents, card_envs.envs.single_seat, card_envs.envs.single_seat_vector
for game in card_envs.GAMES:
    card_envs.make(game).reset()
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = json.loads(run.stdout)
    assert not any(name.startswith("card_envs.integrations") for name in modules)
    loaded = {name.split(".")[0] for name in modules}
    assert "card_envs" in loaded
    heavy = {"torch", "stable_baselines3", "sb3_contrib", "matplotlib", "pydantic", "yaml"}
    assert not loaded & (heavy | {"rich", "tensorboard", "tqdm", "pygame", "training"})


# ---------------------------------------------------------------------------------------------
# Gymnasium: one seat
# ---------------------------------------------------------------------------------------------

SEAT_SETTINGS: list[dict[str, Any]] = [
    {},
    {"opponents": "random"},
    {"skip_forced": True},
    {"opponents": "random", "skip_forced": True, "seat": 0},
    {"opponents": "random", "reward": "score", "memory": "none", "features": False},
    {"opponents": "random", "reward": "win", "max_steps": 30, "seat": 1},
]


def seat_settings(game: Game) -> list[dict[str, Any]]:
    """Each at one table size and at all of them mixed; and one agent for each other seat."""
    settings: list[dict[str, Any]] = []
    for k, setting in enumerate(SEAT_SETTINGS):
        n = game.min_players + k % (game.max_players - game.min_players + 1)
        settings.append({**setting, "num_players": n})
        settings.append({**setting, "num_players": (game.min_players, game.max_players)})
    n = game.max_players
    opponents = ["random", game.default_opponent, *["random"] * n][: n - 1]
    settings.append({"opponents": opponents, "num_players": n})
    return settings


# They know nothing of the game: `make test` plays all settings of two games, and the first, at one
# table size and at all, of each.
SEATS = [
    pytest.param(
        game,
        setting,
        id=f"{game.id}-{k}",
        marks=() if game in SEARCHED or k < 2 else pytest.mark.slow,
    )
    for game in ALL_GAMES
    for k, setting in enumerate(seat_settings(game))
]
seats = pytest.mark.parametrize(("game", "setting"), SEATS)


@seats
def test_gymnasium_check_env(game, setting):
    env = gymnasium.make(game.gymnasium_id, render_mode="ansi", **setting).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The checker samples actions without a mask, and an illegal one ends a game with a word.
        warnings.filterwarnings("ignore", message=".*is not legal; legal actions")
        is_first = setting == seat_settings(game)[0]
        check_env(env, skip_render_check=not is_first)  # which waits for frames
    assert env.observation_space.contains(env.reset(seed=1)[0])


class AecSeat:
    """The seat of ``SingleSeatEnv`` in an AEC environment: an implementation of its own."""

    def __init__(self, game: Game, setting: dict[str, Any], seed: int, seat: int) -> None:
        not_the_games = {"num_players", "opponents", "skip_forced", "seat"}
        options = {name: value for name, value in setting.items() if name not in not_the_games}
        low, high = game.check_player_range(setting["num_players"])
        n = int(players_of(np.uint64(seed), low, high))
        self.env = card_envs.make(game.name, num_players=n, **options)
        self.env.reset(seed=seed)
        self.learner = f"player_{seat}"
        self._game = game
        self._skip_forced = setting.get("skip_forced", False)
        self._stream = next_seeds(np.array([seed], np.uint64))
        self._opponents: list[str] = ["random"] * n
        for place in range(n - 1):
            opponents = setting.get("opponents", game.default_opponent)
            name = opponents if isinstance(opponents, str) else opponents[place]
            self._opponents[(seat + 1 + place) % n] = name

    def play_to_the_decision(self) -> float:
        """All moves until the learner's next decision; what they are paid meanwhile."""
        total = 0.0
        env = self.env
        while legal := env.legal_actions():
            is_learner = env.agent_selection == self.learner
            if is_learner and not (self._skip_forced and len(legal) == 1):
                break
            player = env.possible_agents.index(env.agent_selection)
            if is_learner:
                (action,) = legal
            elif self._opponents[player] == "heuristic":
                action = self._game.heuristic(env.states, 0)
            else:
                mask = env.last()[0]["action_mask"]
                action = random_action(self._stream, 0, mask, len(legal))
            env.step(int(action))
            total += env.rewards[self.learner]
        return total


@few_games
def test_forced_moves_that_are_skipped_change_no_game(game):
    """Also among opponents who draw: the learner takes their last legal action."""
    ends = []
    for skip_forced in (False, True):
        env = SingleSeatEnv(game.name, opponents="random", skip_forced=skip_forced)
        for seed in range(3):
            _, info = env.reset(seed=seed)
            over, total = False, 0.0
            while not over:
                action = int(np.flatnonzero(info["action_mask"])[-1])
                _, reward, terminated, truncated, info = env.step(action)
                over, total = terminated or truncated, total + reward
            ends.append((total, info["place"]))
    assert ends[:3] == ends[3:]


@few_games
def test_legal_actions_are_those_of_a_game_that_is_there(game):
    env = CardEnv(game.name)
    env.reset(seed=1)
    assert game.legal_actions(env.states, 0) == env.legal_actions()
    for i in (1, -1, 10**6, 0.0):
        with pytest.raises(ValueError, match="i must be a whole number from 0 to 0"):
            game.legal_actions(env.states, i)
    other = next(param.values[0] for param in EACH_GAME if param.values[0] is not game)
    with pytest.raises(ValueError, match=f"states must be records of {other.name}"):
        other.legal_actions(env.states, 0)


@seats
def test_a_seats_rewards_are_those_of_the_same_game_in_aec(game, setting):
    """The same decisions in an AEC environment: the same views, and rewards that add up."""
    env = SingleSeatEnv(game.name, **setting)
    rng = np.random.default_rng(1)
    steps = paid = 0
    for seed in range(100, 105):
        observation, info = env.reset(seed=seed)
        assert info["seat"] == setting.get("seat", info["seat"])
        # Not always ``seed``: a game that ends before the learner's first decision is skipped.
        aec = AecSeat(game, setting, int(env._games.game_seeds[0]), info["seat"])
        aec.play_to_the_decision()
        over = False
        while not over:
            view = aec.env.observe(aec.learner)
            assert observation.tobytes() == view["observation"].tobytes()
            assert info["action_mask"].tobytes() == view["action_mask"].tobytes()
            assert env.action_masks().tobytes() == view["action_mask"].tobytes()
            action = draw_legal(rng, info["action_mask"])
            observation, reward, terminated, truncated, info = env.step(action)
            aec.env.step(action)
            expected = aec.env.rewards[aec.learner]
            expected += aec.play_to_the_decision()
            assert reward == pytest.approx(expected, abs=1e-12)
            over = terminated or truncated
            assert terminated == aec.env.terminations[aec.learner]
            assert truncated == aec.env.truncations[aec.learner]
            steps += 1
            paid += reward != 0
        assert observation.tobytes() == aec.env.observe(aec.learner)["observation"].tobytes()
        assert not info["action_mask"].any()
        with pytest.raises(gymnasium.error.ResetNeeded, match="over"):
            env.step(0)
    assert steps >= 5
    assert paid > 0


@seats
def test_the_vector_environment_is_many_of_the_single_one(game, setting):
    count = 5
    vector = SingleSeatVectorEnv(game.name, count, **setting)
    singles = [SingleSeatEnv(game.name, **setting) for _ in range(count)]
    rng = np.random.default_rng(2)
    observations, infos = vector.reset(seed=40)
    views = [single.reset(seed=40 + i) for i, single in enumerate(singles)]
    ended = 0
    seats_seen = set()
    for number in range(max(80, int(mean_length(game, game.min_players)))):
        for i, (observation, info) in enumerate(views):
            assert observations[i].tobytes() == observation.tobytes()
            assert infos["action_mask"][i].tobytes() == info["action_mask"].tobytes()
            assert vector.action_masks()[i].tobytes() == info["action_mask"].tobytes()
            assert infos["seat"][i] == info["seat"]
            seats_seen.add(info["seat"])
        actions = np.array([draw_legal(rng, mask) for mask in infos["action_mask"]])
        with warnings.catch_warnings():
            if number % 20 == 19:  # an illegal one
                actions[number % count] = np.argmin(infos["action_mask"][number % count])
                warnings.filterwarnings("ignore", message=".*is not legal")
            observations, rewards, terminated, truncated, infos = vector.step(actions)
            results = [single.step(a) for single, a in zip(singles, actions, strict=True)]
        over = terminated | truncated
        assert ("final_obs" in infos) == over.any()
        for i, (observation, *rest, info) in enumerate(results):
            assert rest == [rewards[i], terminated[i], truncated[i]]
            views[i] = (observation, info)
            if over.any():
                assert infos["_final_obs"][i] == over[i]
                assert (infos["final_obs"][i] is None) == (not over[i])
            if over[i]:
                ended += 1
                assert infos["final_obs"][i].tobytes() == observation.tobytes()
                views[i] = singles[i].reset()
    assert ended > 2
    in_step = gymnasium.vector.AutoresetMode.SAME_STEP
    makers = [partial(SingleSeatEnv, game.name, **setting)] * count
    gymnasiums = gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=in_step)
    vector.reset(seed=40)
    _, infos = gymnasiums.reset(seed=40)
    for _ in range(30):
        actions = infos["action_mask"].argmax(axis=1)
        result = vector.step(actions)
        *_, infos = expected = gymnasiums.step(actions)
        assert comparable(result) == comparable(expected)
    fixed = setting.get("seat")
    assert len(seats_seen) > 1 if fixed is None else seats_seen == {fixed}


@few_games
def test_a_vector_without_a_seed_plays_the_games_that_follow(game):
    vector = SingleSeatVectorEnv(game.name, 3)
    first = vector.reset(seed=7)[0]
    second = vector.reset()[0]
    assert not np.array_equal(first, second)
    for i in range(3):
        following = int(next_seed(np.uint64(7 + i)))
        assert np.array_equal(SingleSeatEnv(game.name).reset(seed=following)[0], second[i])
    assert np.array_equal(vector.reset(seed=7)[0], first)


@few_games
def test_a_game_can_be_dealt_again_by_its_seed(game):
    """Also one that followed others, or those that ended at once."""
    sizes = game.min_players, game.max_players
    env, twin = (
        SingleSeatEnv(game.name, opponents="random", num_players=sizes, max_steps=3)
        for _ in range(2)
    )
    with pytest.raises(AttributeError, match="game_seed cannot be accessed before reset"):
        _ = env.game_seed
    env.reset(seed=1)
    seeds = []
    for _ in range(20):
        observation, _ = env.reset()
        assert np.array_equal(twin.reset(seed=env.game_seed)[0], observation)
        assert twin.game_seed == env.game_seed
        seeds.append(env.game_seed)
    assert len({*seeds}) == 20


@few_games
def test_a_seat_is_told_its_place_at_the_end(game):
    """The one that the environment of all seats tells them after the same moves."""

    def first_or_last(mask):
        return int(np.flatnonzero(mask)[-(seed % 2)])

    def chosen(_, masks):
        return [first_or_last(mask) for mask in masks]

    env = SingleSeatEnv(game.name, opponents=chosen, max_steps=1000)
    table = card_envs.make(game.name, max_steps=1000)
    found = set()
    for seed in range(6):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            assert not {"place", "num_players"} & info.keys()
            *_, terminated, truncated, info = env.step(first_or_last(info["action_mask"]))
            over = terminated or truncated
        table.reset(seed=seed)
        while table.legal_actions():
            table.step(first_or_last(table.observe(table.agent_selection)["action_mask"]))
        found.add(info["place"])
        assert info["num_players"] == env.num_players
        assert info["place"] == table.infos[f"player_{env.seat}"]["place"]
    assert len(found) > 1


@few_games
def test_options_of_a_reset_are_refused(game):
    """They would be ignored, and a game with other rules played than was asked for."""
    for env in (
        SingleSeatEnv(game.name),
        SingleSeatVectorEnv(game.name, 2),
        TextSeatEnv(game.name),
    ):
        with pytest.raises(ValueError, match=r"reset\(\) takes .*, got 'num_players'"):
            env.reset(options={"num_players": 3})
        with pytest.raises(TypeError, match=r"reset\(\) takes options as a dict, got 5"):
            env.reset(options=5)
        env.reset(seed=1, options={})


@few_games
def test_an_illegal_action_in_a_seat(game):
    ending = SingleSeatEnv(game.name)
    refusing, untouched = SingleSeatEnv(game.name, on_illegal="raise"), SingleSeatEnv(game.name)
    envs = (ending, refusing, untouched)
    info, *_ = (env.reset(seed=3)[1] for env in envs)
    for _ in range(20):  # on to where an action is illegal
        if not info["action_mask"].all():
            break
        action = int(info["action_mask"].argmax())
        info, *_ = (env.step(action)[-1] for env in envs)
        if not info["action_mask"].any():
            info, *_ = (env.reset()[1] for env in envs)
    else:
        pytest.skip("every action is legal")
    illegal = int(np.argmin(info["action_mask"]))
    with pytest.warns(UserWarning, match=r"ends with -1\.0") as caught:
        observation, reward, terminated, truncated, info = ending.step(illegal)
    assert len(caught) == 1
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert ending.observation_space.contains(observation)
    assert not info["action_mask"].any()
    assert "place" not in info  # of a game that was not played to its end
    with pytest.raises(gymnasium.error.ResetNeeded):
        ending.step(0)
    with pytest.raises(ValueError, match=f"action {illegal} is not legal; legal actions:"):
        refusing.step(illegal)
    for wrong in (-1, game.num_actions, 1.0, None):
        with pytest.raises(
            ValueError, match=f"actions are whole numbers from 0 to {game.num_actions - 1}"
        ):
            refusing.step(wrong)
    rng = np.random.default_rng(3)
    for _ in range(20):
        action = draw_legal(rng, refusing.action_masks())
        assert refusing.action_masks().tobytes() == untouched.action_masks().tobytes()
        result, expected = refusing.step(action), untouched.step(action)
        assert comparable(result) == comparable(expected)
        if result[2] or result[3]:
            refusing.reset()
            untouched.reset()
    ending.reset()
    assert ending.action_masks().any()


@few_games
def test_an_illegal_action_in_a_vector(game):
    count = 4
    ending, refusing, untouched = vectors = [
        SingleSeatVectorEnv(game.name, count, on_illegal=on_illegal)
        for on_illegal in ("terminate", "raise", "terminate")
    ]
    infos, *_ = (vector.reset(seed=3)[1] for vector in vectors)
    for _ in range(20):  # on to where an action is illegal
        if not infos["action_mask"][2].all():
            break
        actions = infos["action_mask"].argmax(axis=1)
        infos, *_ = (vector.step(actions)[-1] for vector in vectors)
    else:
        pytest.skip("every action is legal")
    seed = ending._games.game_seeds[2]
    legal = infos["action_mask"].argmax(axis=1)
    wrong = legal.copy()
    wrong[2] = np.argmin(infos["action_mask"][2])
    before = refusing.action_masks()
    with pytest.raises(ValueError, match="is not legal in game 2; legal actions:"):
        refusing.step(wrong)
    assert np.array_equal(refusing.action_masks(), before)
    expected = untouched.step(legal)
    assert comparable(refusing.step(legal)) == comparable(expected)
    with pytest.warns(UserWarning, match="in game 2") as caught:
        observations, rewards, terminated, truncated, infos = ending.step(wrong)
    assert len(caught) == 1
    assert (rewards[2], terminated[2], truncated[2]) == (-1.0, True, False)
    assert infos["final_obs"][2] is not None
    for i in (0, 1, 3):
        assert observations[i].tobytes() == expected[0][i].tobytes()
        assert rewards[i] == expected[1][i]
        assert terminated[i] == expected[2][i]
    following = SingleSeatEnv(game.name).reset(seed=int(next_seed(seed)))[0]
    assert observations[2].tobytes() == following.tobytes()


@few_games
def test_seats_render_as_their_learner_sees_the_table(game):
    env = SingleSeatEnv(game.name, render_mode="ansi", num_players=game.max_players)
    assert env.render() is None
    _, info = env.reset(seed=1)
    assert env.render() == describe(game, env._games.arena.states, 0, info["seat"])
    vector = SingleSeatVectorEnv(game.name, 2, render_mode="ansi", num_players=game.max_players)
    vector.reset(seed=1)
    assert vector.render()[0] == env.render()
    assert SingleSeatEnv(game.name).render() is None


@pytest.mark.slow
@needs_training
@few_games
def test_maskable_ppo_learns_on_a_seat(game):
    from sb3_contrib import MaskablePPO

    env = gymnasium.make(game.gymnasium_id, on_illegal="raise")
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=1)
    before = [parameter.detach().clone() for parameter in model.policy.parameters()]
    model.learn(64)
    after = list(model.policy.parameters())
    assert model.num_timesteps == 64
    assert any(bool((a != b).any()) for a, b in zip(after, before, strict=True))
    observation, info = env.reset(seed=1)
    action, _ = model.predict(observation, action_masks=info["action_mask"])
    assert info["action_mask"][action]
