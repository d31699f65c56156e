"""Wrong input of every kind gives an error that names what is wrong and what is allowed."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numba
import numpy as np
import pytest
from helpers import EACH_GAME, FEW_GAMES, begin, module_of, network_of, snapshot
from safetensors.numpy import save, save_file

import card_envs
from card_envs.agents import (
    Agent,
    FunctionAgent,
    HeuristicAgent,
    NetworkAgent,
    ProgramAgent,
    RandomAgent,
    SearchAgent,
    TreeSearchAgent,
    agent_names,
    as_agent,
    choose,
    make_agent,
    network,
    policy_path,
    shipped_policies,
)
from card_envs.agents.network import FORMAT, METADATA_KEY, write_policy
from card_envs.contract.agent import turn_of
from card_envs.contract.game import Game
from card_envs.contract.options import VIEW_OPTIONS, View
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.evaluation.deals import check_evaluation_options
from card_envs.text.seat import TextSeatEnv
from card_envs.utils.extras import MissingExtraError

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)

#: What can be given ``num_players`` and the game's options.
MAKERS = {
    "env": lambda game, **options: module_of(game).env(**options),
    "raw_env": lambda game, **options: module_of(game).raw_env(**options),
    "make": lambda game, **options: card_envs.make(game.name, **options),
    "make_vec": lambda game, **options: card_envs.make_vec(game.name, 2, **options),
    "SingleSeatEnv": lambda game, **options: SingleSeatEnv(game.name, **options),
    "SingleSeatVectorEnv": lambda game, **options: SingleSeatVectorEnv(game.name, 2, **options),
    "gymnasium": lambda game, **options: gymnasium.make(game.gymnasium_id, **options),
}
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
NOT_NUMBERS: list[Any] = ["4", 4.0, True, 2.5, [4], {}, Fraction(3), float("nan")]


# ---------------------------------------------------------------------------------------------
# Players and options
# ---------------------------------------------------------------------------------------------


@makers
@each_game
def test_wrong_numbers_of_players(game, make):
    low, high = game.min_players, game.max_players
    for wrong in (low - 1, high + 1, 0, -1, 10**30, *NOT_NUMBERS):
        with pytest.raises(ValueError, match=f"num_players|{low} to {high} players") as error:
            make(game, num_players=wrong)
        assert repr(wrong) in str(error.value) or isinstance(wrong, list)
    for wrong in (wrong for wrong in NOT_NUMBERS if not isinstance(wrong, list)):
        with pytest.raises(ValueError, match=f"a whole number from {low} to {high}, got ") as error:
            make(game, num_players=wrong)
        assert "pair" not in str(error.value)
    with pytest.raises(ValueError, match=f"{game.id} is for {low} to {high} players, got .*=1000"):
        make(game, num_players=1000)
    make(game, num_players=np.int64(low))
    make(game, num_players=None)


@each_game
def test_wrong_ranges_of_players(game):
    low, high = game.min_players, game.max_players
    wrongs = [(low, high + 1), (low - 1, high), (low,), (low, high, high), ()]
    for make in (MAKERS["make_vec"], MAKERS["SingleSeatEnv"], MAKERS["SingleSeatVectorEnv"]):
        for wrong in wrongs:
            with pytest.raises(ValueError, match="players"):
                make(game, num_players=wrong)
        if low < high:
            with pytest.raises(ValueError, match=f"{high} is greater than {low}"):
                make(game, num_players=(high, low))
        for wrong in ((low, low, high), (low, None), [None, high]):
            with pytest.raises(ValueError, match="a number or a pair"):
                make(game, num_players=wrong)
        for wrong in (range(low, high), np.array([low, high])):
            with pytest.raises(ValueError, match=r"also take a pair \(low, high\)"):
                make(game, num_players=wrong)
    for make in (MAKERS["env"], MAKERS["make"]):
        for wrong in ((low, high), [low, high], range(low, high), np.array([low, high])):
            with pytest.raises(
                ValueError, match=f"a whole number from {low} to {high}, got .*;"
            ) as error:
                make(game, num_players=wrong)
            assert "make_vec and gymnasium.make also take a pair (low, high)" in str(error.value)
    for make in (MAKERS["make_vec"], MAKERS["gymnasium"]):  # as the error says
        make(game, num_players=(low, high))


@each_game
def test_the_batchs_arguments_are_those_that_are_named(game):
    with pytest.raises(TypeError, match=r"'devise' \(did you mean 'device'\?") as error:
        MAKERS["make_vec"](game, devise="cuda")
    assert "num_threads, copy, device" in str(error.value)


@makers
@each_game
def test_wrong_options(game, make):
    with pytest.raises(TypeError, match="no option 'colour'") as error:
        make(game, colour="red")
    assert all(option.name in str(error.value) for option in game.options)
    assert "; its options are " in str(error.value)
    assert "further arguments are num_players, " in str(error.value)
    for option in (*game.options, *VIEW_OPTIONS):
        wrong: list[Any] = [[], {}, 1.5, float("nan"), "", "no such value", b"rank"]
        if option.choices:
            wrong += [None, 0, True, option.choices[0].upper(), f"{option.choices[0]} "]
        elif isinstance(option.default, bool):
            wrong += [0, 1, None, "True"]
        else:
            wrong += [option.minimum - 1, option.maximum + 1, -1, True, "5", 10**40]
            if option.default is not None:
                wrong.append(None)
        for value in wrong:
            with pytest.raises(ValueError, match=f"{option.name} must be") as error:
                make(game, **{option.name: value})
            assert option.allowed in str(error.value)
            assert repr(value) in str(error.value)


@few_games
def test_options_must_be_a_mapping(game):
    for wrong in ("max_steps=5", ["max_steps=5"], [("max_steps", 5)], "reward=win"):
        for check in (game.check_options, partial(check_evaluation_options, game)):
            with pytest.raises(TypeError, match=r"options must be a mapping .*, got") as error:
                check(wrong)
            assert repr(wrong) in str(error.value)


@each_game
def test_scenes_are_of_a_players_seat(game):
    n = game.min_players
    states = begin(game, n, 1)
    for wrong in (n, 9, -1, None, "0", 1.0, True):
        with pytest.raises(ValueError, match=f"player must be a whole number from 0 to {n - 1}, "):
            game.scene(states, 0, wrong, 0, False)
    for wrong in ("perfect", "none", 2, -1, None, True):
        with pytest.raises(ValueError, match="memory must be a whole number from 0 to 1, got"):
            game.scene(states, 0, 0, wrong)


@few_games
def test_wrong_modes(game):
    for make in ("env", "raw_env", "make", "SingleSeatEnv", "SingleSeatVectorEnv"):
        for wrong in ("rgb", "ANSI", 1, "", ["ansi"]):
            with pytest.raises(ValueError, match=r"render_mode must be None.* 'ansi'.*, got"):
                MAKERS[make](game, render_mode=wrong)
        for wrong in ("ignore", None, True):
            with pytest.raises(ValueError, match="on_illegal must be 'terminate' or 'raise', got"):
                MAKERS[make](game, on_illegal=wrong)
    for environment in (SingleSeatEnv, SingleSeatVectorEnv, TextSeatEnv):
        for wrong in ("False", None, 1):
            with pytest.raises(ValueError, match="skip_forced must be True or False, got"):
                environment(game.name, skip_forced=wrong)


@few_games
def test_games_that_never_come_to_the_learner(game):
    n = game.max_players
    env = SingleSeatEnv(game.name, num_players=n, seat=n - 1, max_steps=1)
    with pytest.raises(ValueError, match="max_steps=1 is too small"):
        env.reset(seed=0)


def test_unknown_games():
    for make in (
        card_envs.make,
        card_envs.load_game,
        SingleSeatEnv,
        SingleSeatVectorEnv,
        lambda game: card_envs.make_vec(game, 2),
    ):
        names = [name for game in card_envs.GAMES for name in (f"../{game}", game.title())]
        for wrong in ("chess", "", "_v0", *names):
            with pytest.raises(ValueError, match="there is no game") as error:
                make(wrong)
            assert repr(wrong) in str(error.value)
            assert all(game in str(error.value) for game in card_envs.GAMES)
        game = card_envs.load_game(next(iter(card_envs.GAMES)))
        for wrong, got in ((None, "None"), (3, "3"), (game, game.name)):
            with pytest.raises(TypeError, match=f"a game's name is needed, .*, got {got}"):
                make(wrong)
        with pytest.raises(ValueError, match=f"did you mean {game.id!r}"):
            make(game.gymnasium_id)
    with pytest.raises(ValueError, match=r"did you mean 'random'\?"):
        make_agent("Random", game)
    with pytest.raises(ValueError, match=r"did you mean 'search:64'\?"):
        make_agent("search", game)


@few_games
def test_a_name_in_place_of_a_game(game):
    path = policy_path("ppo", game)
    calls = [
        lambda _, wrong: shipped_policies(wrong),
        lambda _, wrong: RandomAgent(wrong),
        lambda _, wrong: HeuristicAgent(wrong),
        lambda _, wrong: SearchAgent(wrong),
        lambda _, wrong: TreeSearchAgent(wrong),
        lambda name, wrong: ProgramAgent(f"cmd:{name}", wrong),
        lambda name, wrong: choose(make_agent(name, game), wrong, game.new_states(1)),
        lambda name, wrong: network.write_policy(name, network_of(game), wrong),
    ]
    if path is not None:
        calls.append(lambda _, wrong: NetworkAgent.from_file(path, wrong))
    for call in calls:
        for wrong in (game.id, None):
            with pytest.raises(TypeError, match=rf"a Game is needed, .*, got {wrong!r}"):
                call("random", wrong)
    for call in (make_agent, as_agent, lambda _, wrong: agent_names(wrong)):  # which take names
        with pytest.raises(TypeError, match=r"a game's name is needed, .*, got None"):
            call("random", None)
        with pytest.raises(ValueError, match="there is no game 'ludo'"):
            call("random", "ludo")


@few_games
def test_choose_needs_an_agent_and_records_of_the_game(game):
    env = card_envs.make(game.name)
    env.reset(seed=1)
    for wrong in ("random", lambda observation, action_mask: action_mask.argmax(axis=1)):
        with pytest.raises(TypeError, match="an Agent is needed, as make_agent makes of a name"):
            choose(wrong, game, env.states)
    agent = make_agent("random", game)
    for states in (env, np.zeros(1, np.int64)):
        with pytest.raises(ValueError, match=f"states must be records of {game.name}"):
            choose(agent, game, states)
        with pytest.raises(ValueError, match=f"states must be records of {game.name}"):
            turn_of(game, states, np.array([0]), View())
    assert env.observe(env.agent_selection)["action_mask"][choose(agent, game, env.states)]


def test_function_agents_need_a_function():
    for function in ("last_legal", RandomAgent):
        with pytest.raises(TypeError, match=r"function must be a function of .*, got .*(leg|Rand)"):
            FunctionAgent("mine", function)


@few_games
def test_agents_are_called_by_strings(game):
    """A number is how many rollouts."""
    for make in (SearchAgent, TreeSearchAgent):
        with pytest.raises(TypeError, match="what to call the agent, must be a string, got 256"):
            make(game, 256)
    with pytest.raises(TypeError, match="what to call the agent, must be a string, got 3"):
        FunctionAgent(3, len)


@few_games
def test_networks_need_a_name_and_a_view(game):
    with pytest.raises(TypeError, match="5"):
        NetworkAgent(network_of(game), 5)
    with pytest.raises(TypeError, match="a View is needed, such as"):
        NetworkAgent(network_of(game), "own", "none")
    with pytest.raises(TypeError, match="a View is needed, such as"):
        write_policy("own.safetensors", network_of(game), game, "none")


@few_games
@pytest.mark.parametrize("wrong", [[0.7], [-1], [1], [True], [[0], [5]]])
def test_a_turn_is_of_records_that_there_are(game, wrong):
    states = begin(game, game.min_players, 1)
    with pytest.raises(ValueError, match="indices must be whole numbers from 0 to 0, got"):
        turn_of(game, states, np.array(wrong), View())
    assert len(turn_of(game, states, [], View())) == 0
    assert len(turn_of(game, states, [0], View())) == 1


@few_games
def test_agents_that_choose_at_random_need_a_seed(game):
    for make in (RandomAgent, SearchAgent, TreeSearchAgent):
        with pytest.raises(TypeError, match="seed must be a whole number, got None"):
            make(game, seed=None)
    with pytest.raises(TypeError, match="seed must be a whole number, got None"):
        ProgramAgent("cmd:true", game, seed=None)


@few_games
def test_arguments_of_the_registry_are_not_options(game):
    for wrong in ({"num_envs": 3}, {"arena": None}):
        with pytest.raises(TypeError, match=f"{game.id} has no option '{next(iter(wrong))}'"):
            gymnasium.make(game.gymnasium_id, **wrong)


# ---------------------------------------------------------------------------------------------
# Seeds
# ---------------------------------------------------------------------------------------------


@few_games
def test_wrong_seeds(game):
    env = module_of(game).env()
    env.reset(seed=1)
    before = snapshot(env)
    batch = card_envs.make_vec(game.name, 3)
    observation, mask = (array.copy() for array in batch.reset(seed=1))
    for reset in (env.reset, batch.reset, lambda seed: batch.reset([1, seed, None])):
        for wrong in (-1, 2**64, -(2**70), np.int64(-5)):
            with pytest.raises(ValueError, match=r"seed must be from 0 to 2\*\*64 - 1, got"):
                reset(seed=wrong)
        for wrong in (1.0, True, False, "1", np.float64(2), np.bool_(True), 1j):
            with pytest.raises(TypeError, match="seed must be None or a whole number, got"):
                reset(seed=wrong)
    with pytest.raises(TypeError, match="seed must be None or a whole number, got"):
        env.reset(seed=[1])
    for wrong in ([1], [], [1, 2, 3, 4], np.zeros(2, np.int64)):
        with pytest.raises(ValueError, match="seed must be one, or one for each of 3 games, got"):
            batch.reset(seed=wrong)
    for wrong in (None, 1.0, True, "1"):
        with pytest.raises(TypeError, match="seed must be a whole number, got"):
            env.determinize("player_0", wrong)
    assert snapshot(env) == before
    following = batch.step(mask.argmax(axis=1))
    assert not np.array_equal(following[0], observation)
    for right in (0, 2**64 - 1, np.uint64(2**64 - 1), np.int8(3)):
        env.reset(seed=right)
        batch.reset(seed=right)


@few_games
def test_wrong_seeds_of_the_gymnasium_environments(game):
    for env in (SingleSeatEnv(game.name), SingleSeatVectorEnv(game.name, 2)):
        first = env.reset(seed=np.int64(5))[0]
        for wrong in (-1, 1.5, "1", [1, 2, 3], 2**64, True, np.array(1.5)):
            with pytest.raises((TypeError, ValueError), match="seed must be"):
                env.reset(seed=wrong)
        assert np.array_equal(env.reset(seed=5)[0], first)
    text = TextSeatEnv(game.name)
    assert text.reset(seed=np.uint8(5)) == text.reset(seed=5)


# ---------------------------------------------------------------------------------------------
# The batch
# ---------------------------------------------------------------------------------------------


@few_games
def test_wrong_sizes_of_the_batch(game):
    for wrong in (0, -1, 1.0, None, "3", 2.5, True):
        with pytest.raises(ValueError, match="num_envs must be a whole number of at least 1, got"):
            card_envs.make_vec(game.name, wrong)
        with pytest.raises(ValueError, match="num_envs must be a whole number of at least 1, got"):
            SingleSeatVectorEnv(game.name, wrong)
    threads = numba.config.NUMBA_NUM_THREADS
    for wrong in (0, threads + 1, -1, None, 1.0, True):
        with pytest.raises(
            ValueError, match=f"num_threads must be a whole number from 1 to {threads}, got"
        ):
            card_envs.make_vec(game.name, 2, num_threads=wrong)
    with pytest.raises(ValueError, match=f"; {threads} is the number of this machine's cores"):
        card_envs.make_vec(game.name, 2, num_threads=threads + 1)
    for wrong in ("no", 0, None):
        with pytest.raises(ValueError, match=f"copy must be True or False, got {wrong!r}"):
            card_envs.make_vec(game.name, 2, copy=wrong)


@few_games
def test_more_games_than_there_is_memory_for(game, monkeypatch):
    makers = (
        lambda count: card_envs.make_vec(game.name, count),
        lambda count: SingleSeatVectorEnv(game.name, count),
    )
    for make in makers:
        for count in (10**9, 10**20):
            with pytest.raises(MemoryError, match=f"num_envs={count}: there is not enough memory"):
                make(count)

    def without_memory(game, count):
        raise MemoryError("Unable to allocate 30 GiB")

    monkeypatch.setattr(Game, "new_states", without_memory)
    for make in makers:
        with pytest.raises(MemoryError, match=r"^num_envs=7: there is not enough memory for this"):
            make(7)


@few_games
def test_wrong_devices(game):
    for wrong in ("gpu", "cuda:0", None, 0):
        with pytest.raises(ValueError, match="device must be 'cpu' or 'cuda', got"):
            card_envs.make_vec(game.name, 2, device=wrong)
    with pytest.raises(ValueError, match="num_threads is for device='cpu', got 2"):
        card_envs.make_vec(game.name, 2, device="cuda", num_threads=2)
    if find_spec("numba_cuda") is None:
        for make in (partial(card_envs.make_vec, game.name, 2), partial(SearchAgent, game)):
            with pytest.raises(MissingExtraError, match=r"pip install 'card_envs\[cuda\]'"):
                make(device="cuda")


def wrong_actions(game: Game, mask: np.ndarray) -> dict[str, list[Any]]:
    """Actions for four games, by the words that the error must have."""
    legal = mask.argmax(axis=1)
    one_wrong = []
    for value in (-1, game.num_actions, 2**40, -(2**63), *np.flatnonzero(mask[3] == 0)[:1]):
        actions = legal.copy()
        actions[3] = value
        one_wrong += [actions, actions.tolist()]
    huge = legal.astype(np.uint64)
    huge[3] = 2**64 - 1
    return {
        "whole numbers of shape": [
            legal[:3],
            legal[:, None],
            int(legal[0]),
            [],
            None,
            legal.astype(float),
            legal.astype(bool),
            legal.astype(str),
            legal.astype(object),
            np.append(legal, 0),
        ],
        "actions are whole numbers from|is not legal in game 3": one_wrong,
        f"actions must be whole numbers below .*, got {2**64 - 1}": [huge],
    }


@few_games
def test_wrong_actions_of_the_batch_change_nothing(game):
    batch = card_envs.make_vec(game.name, 4, (game.min_players, game.max_players))
    with pytest.raises(RuntimeError, match="reset"):
        batch.step(np.zeros(4, np.int64))
    observation, mask = batch.reset(seed=2)
    for message, many in wrong_actions(game, mask).items():
        for actions in many:
            before = (observation.tobytes(), mask.tobytes(), batch.states.tobytes())
            with pytest.raises(ValueError, match=message):
                batch.step(actions)
            assert (observation.tobytes(), mask.tobytes(), batch.states.tobytes()) == before
    actions = mask.argmax(axis=1)
    actions[3] = game.num_actions if mask[3].all() else np.argmin(mask[3])
    with pytest.raises(
        ValueError, match=f"action {actions[3]} is not legal .* legal actions:"
    ) as error:
        batch.step(actions)
    assert str(np.flatnonzero(mask[3]).tolist()) in str(error.value)
    for kind in (np.int8, np.uint8, np.int32, np.uint64):
        actions = mask.argmax(axis=1)
        fits = actions.max() <= np.iinfo(kind).max
        batch.step(actions.astype(kind if fits else np.int16))
    batch.step(mask.argmax(axis=1).tolist())


@few_games
def test_wrong_actions_of_the_vector_of_seats_change_nothing(game):
    vector = SingleSeatVectorEnv(game.name, 4, on_illegal="raise")
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        vector.step(np.zeros(4, np.int64))
    for env in (vector, SingleSeatEnv(game.name)):
        with pytest.raises(gymnasium.error.ResetNeeded, match="before action_masks"):
            env.action_masks()
    _, infos = vector.reset(seed=2)
    before = vector._games.arena.states.tobytes()
    for message, many in wrong_actions(game, infos["action_mask"]).items():
        for actions in many:
            with pytest.raises(ValueError, match=message):
                vector.step(actions)
            assert vector._games.arena.states.tobytes() == before
    vector.step(vector.action_masks().argmax(axis=1))
    assert vector._games.arena.states.tobytes() != before
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        SingleSeatEnv(game.name).step(0)


@each_game
def test_wrong_names_of_actions(game):
    env = module_of(game).env()
    envs = (env, SingleSeatEnv(game.name), SingleSeatVectorEnv(game.name, 2), game)
    for wrong in (-1, game.num_actions, 1.5, None, "draw", "3"):
        for named in envs:
            with pytest.raises(
                ValueError, match=f"actions are whole numbers from 0 to {game.num_actions - 1}, got"
            ):
                named.action_name(wrong)
    assert len({named.action_name(np.int64(0)) for named in envs}) == 1


# ---------------------------------------------------------------------------------------------
# Agents and seats
# ---------------------------------------------------------------------------------------------


@few_games
def test_unknown_agents(game, tmp_path):
    n = game.max_players
    for wrong in (
        "ppoo",
        "",
        "Random",
        str(tmp_path),
        str(tmp_path / "none.safetensors"),
        "a" * 5000,
    ):
        for make in (
            lambda name: make_agent(name, game),
            lambda name: SingleSeatEnv(game.name, opponents=name),
            lambda name: SingleSeatVectorEnv(
                game.name, 2, num_players=n, opponents=[*["random"] * (n - 2), name]
            ),
        ):
            with pytest.raises(ValueError, match="there is no agent") as error:
                make(wrong)
            assert ", ".join(agent_names(game)) in str(error.value)
    nameless = SimpleNamespace(act=lambda turn: turn.action_mask.argmax(axis=1))
    for wrong in (5, object(), nameless, [*["random"] * (n - 2), None]):
        with pytest.raises(TypeError, match=r"opponents: an agent is .* or a function.* got"):
            SingleSeatEnv(game.name, num_players=n, opponents=wrong)


class Giver(Agent):
    """An agent that gives what it is told to."""

    name = "giver"

    def __init__(self, give):
        self._give = give

    def act(self, turn):
        return self._give(turn.action_mask)


@few_games
def test_opponents_that_do_not_play_by_the_rules(game):
    a = game.num_actions
    for give, message in (
        (
            lambda mask: np.full(len(mask), -7),
            "chose the action -7, which is not legal; legal actions:",
        ),
        (lambda mask: np.full(len(mask), a), f"chose the action {a}, which is not legal"),
        (lambda mask: illegal_where_possible(mask), r"chose the action \d+, which is not legal"),
        (lambda mask: np.zeros(0, np.int64), r"of shape \(\d+,\), one for each .*, got .*\(0,\)"),
        (lambda mask: mask.argmax(axis=1)[:, None], "whole numbers of shape"),
        (lambda mask: mask.argmax(axis=1).astype(np.float32), "whole numbers .* got float32"),
        (lambda mask: mask.argmax(axis=1).astype(bool), "whole numbers .* got bool"),
        (lambda mask: None, "whole numbers"),
    ):
        for agent in (Giver(give), giving_function(give)):
            for env in (
                SingleSeatEnv(game.name, opponents=agent, seat=1, on_illegal="raise"),
                SingleSeatVectorEnv(game.name, 3, opponents=agent, seat=1),
            ):
                with pytest.raises(ValueError, match=f"the agent 'giver' .*{message}"):
                    reset_often(env)


@few_games
def test_opponents_may_write_into_what_they_are_given(game):
    """Their actions are checked by the mask as it was."""

    def in_place(observation, action_mask):
        action_mask -= 1  # the usual idiom: -1 where an action is illegal, 0 where it is legal
        return action_mask.argmax(axis=1)

    def all_legal(observation, action_mask):
        chosen = illegal_where_possible(action_mask)
        action_mask[:] = 1
        return chosen

    for make in (
        lambda function: SingleSeatEnv(game.name, opponents=function, seat=1),
        lambda function: SingleSeatVectorEnv(game.name, 3, opponents=function, seat=1),
        lambda function: TextSeatEnv(game.name, opponents=function, seat=1),
    ):
        reset_often(make(in_place))
        with pytest.raises(ValueError, match=r"'all_legal' chose the action \d+, which is not leg"):
            reset_often(make(all_legal))


@few_games
def test_after_an_opponents_error_a_game_must_begin_again(game):
    """It is somewhere between two decisions of the learner."""
    fails = []

    def unreliable(observation, action_mask):
        if fails:
            raise fails.pop()
        return action_mask.argmax(axis=1)

    n = game.min_players
    for env in (
        SingleSeatEnv(game.name, num_players=n, opponents=unreliable, seat=0),
        SingleSeatVectorEnv(game.name, 3, num_players=n, opponents=unreliable, seat=0),
        TextSeatEnv(game.name, num_players=n, opponents=unreliable, seat=0),
    ):
        has_failed = False
        for seed in range(20):
            _, info = env.reset(seed=seed)
            fails.append(TimeoutError("the model's server did not answer"))
            try:
                env.step(first_legal_action(info))
            except TimeoutError:
                has_failed = True
                refused = pytest.raises(gymnasium.error.ResetNeeded, match="call reset")
                with refused:
                    env.step(first_legal_action(info))
                if isinstance(env, SingleSeatVectorEnv):  # a reset of one game mends no other
                    first = {"reset_mask": np.array([True, False, False])}
                    _, info = env.reset(seed=seed, options=first)
                    with refused:
                        env.step(first_legal_action(info))
            fails.clear()
        assert has_failed
        _, info = env.reset(seed=1)
        env.step(first_legal_action(info))


@few_games
def test_the_game_in_which_an_opponent_failed_is_not_begun_again(game):
    """It would fail in the same place for ever: the next one has the seed that follows."""
    fails = []

    def unreliable(observation, action_mask):
        if fails:
            raise TimeoutError("the model's server did not answer")
        return action_mask.argmax(axis=1)

    for kind in (SingleSeatEnv, TextSeatEnv):
        env, other = (
            kind(game.name, num_players=game.min_players, opponents=unreliable, seat=1)
            for _ in range(2)
        )
        for seed in range(20):
            fails.append(True)
            try:
                env.reset(seed=seed)
            except TimeoutError:
                break  # the opponent begins this game
            finally:
                fails.clear()
        else:
            raise AssertionError("the opponent never failed")
        other.reset(seed=seed)
        observation, info = env.reset()
        expected, expected_info = other.reset()
        assert np.array_equal(observation, expected)
        assert str(info) == str(expected_info)


def first_legal_action(info):
    """An action of the environment that gave this info: of a seat, of each of several, in words."""
    if "legal_actions" in info:
        return info["legal_actions"][0]
    return info["action_mask"].argmax(axis=-1)


def giving_function(give):
    def giver(observation, action_mask):
        return give(action_mask)

    return giver


def illegal_where_possible(mask):
    """Illegal actions; where all are legal one that does not exist."""
    return np.where(mask.all(axis=1), mask.shape[1], mask.argmin(axis=1))


def reset_often(env):
    """Until an opponent moves before the learner."""
    for seed in range(20):
        env.reset(seed=seed)


@few_games
def test_wrong_opponents_and_seats(game):
    n = game.max_players
    for make in (SingleSeatEnv, SingleSeatVectorEnv):
        for count in {0, 1, n - 2, n, n + 1} - {n - 1}:
            with pytest.raises(ValueError, match=f"one for each other seat .*, {count} given for"):
                make(game.name, num_players=n, opponents=["random"] * count)
        if game.min_players < n:
            with pytest.raises(ValueError, match="opponents: one for each other seat is needed"):
                make(game.name, num_players=(n - 1, n), opponents=["random"] * (n - 1))
        for wrong in (-1, n, 1.0, True, "0", 10**20):
            with pytest.raises(ValueError, match=f"seat must be None or from 0 to {n - 1}, got"):
                make(game.name, num_players=n, seat=wrong)
        low = game.min_players
        with pytest.raises(ValueError, match=f"seat must be None or from 0 to {low - 1}, got"):
            make(game.name, num_players=(low, n), seat=low)
        make(game.name, num_players=(low, n), seat=np.int64(low - 1))


# ---------------------------------------------------------------------------------------------
# Policy files
# ---------------------------------------------------------------------------------------------


def tensors_of(game: Game, hidden: int = 8) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    return {
        "hidden.0.weight": draw(hidden, game.fields.size),
        "hidden.0.bias": draw(hidden),
        "action.weight": draw(game.num_actions, hidden),
        "action.bias": draw(game.num_actions),
    }


def metadata_of(game: Game, /, **changes: Any) -> dict[str, str]:
    about = json.loads(network.metadata_of(game, "relu", View())[METADATA_KEY])
    return {METADATA_KEY: json.dumps(about | changes)}


def assert_refused(path: Path, game: Game, message: str) -> None:
    for make in (lambda: make_agent(str(path), game), lambda: NetworkAgent.from_file(path, game)):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ValueError, match=message):
        SingleSeatEnv(game.name, opponents=str(path))


@few_games
def test_a_right_policy_file_is_taken(game, tmp_path):
    path = tmp_path / "right.safetensors"
    save_file(tensors_of(game), path, metadata_of(game))
    agent = make_agent(str(path), game)
    assert agent.view == View()
    env = module_of(game).env()
    env.reset(seed=1)
    assert choose(agent, game, env.states) in env.legal_actions()
    save_file(tensors_of(game), path, metadata_of(game, memory="none", features=False))
    assert make_agent(str(path), game).view == View("none", False)


class Bomb:
    """Shows whether a pickle is loaded."""

    exploded = False

    def __reduce__(self):
        return (Bomb.explode, ())

    @staticmethod
    def explode():
        Bomb.exploded = True


@few_games
def test_foreign_and_damaged_policy_files(game, tmp_path):
    path = tmp_path / "policy.safetensors"
    with pytest.raises(ValueError, match=f"there is no file {path}$"):
        NetworkAgent.from_file(path, game)
    right = save(tensors_of(game), metadata_of(game))
    contents = {
        "empty": b"",
        "text": b"a policy",
        "pickle": pickle.dumps(Bomb()),
        "zeros": bytes(200),
        "huge header": (2**62).to_bytes(8, "little") + right[8:],
        "archive": b"PK\x03\x04" + right,
        "deep metadata": save(tensors_of(game), {METADATA_KEY: "[" * 200_000}),
    }
    for dtype in ("BF16", "F8_E4M3"):  # NumPy has neither, unless ml_dtypes is there
        header = json.dumps(
            {"x": {"dtype": dtype, "shape": [0], "data_offsets": [0, 0]}, "__metadata__": {}}
        ).encode()
        contents[dtype] = len(header).to_bytes(8, "little") + header
    for length in (4, 8, 50, 300, len(right) // 2, len(right) - 1):
        contents[f"cut to {length}"] = right[:length]
    for name, content in contents.items():
        path.write_bytes(content)
        words = "" if name in ("BF16", "F8_E4M3") else ", or it is damaged"
        with pytest.raises(ValueError, match=f"is not a policy file{words}") as error:
            make_agent(str(path), game)
        assert str(path) in str(error.value), name
    assert not Bomb.exploded
    for metadata, message in (
        (None, "is not a policy file, as card_envs.export_policy writes one"),
        ({"format": FORMAT}, "is not a policy file, as card_envs.export_policy writes one"),
        ({METADATA_KEY: "[]"}, "is not a policy file, as card_envs.export_policy writes one"),
        ({METADATA_KEY: "{"}, "is not a policy file, or it is damaged"),
        (
            metadata_of(game, format="card_envs policy 1"),
            f"of the format '{FORMAT}' but of 'card_envs policy 1'",
        ),
        (metadata_of(game, game="chess_v6"), f"is a policy for 'chess_v6', not for '{game.name}'"),
        (metadata_of(game, game=f"{game.id}_v{game.version + 1}"), "is a policy for"),
        (metadata_of(game, game=None), "is a policy for None"),
        (
            metadata_of(game, activation="sigmoid"),
            f"{path}: unknown activation 'sigmoid', must be one of .*relu.*tanh",
        ),
        (metadata_of(game, activation=["relu"]), "activation"),
        (metadata_of(game, fields="0" * 16), f"made for another observation of {game.name}"),
        (metadata_of(game, fields=None), f"made for another observation of {game.name}"),
        (metadata_of(game, memory="all"), f"{path}: memory must be 'perfect' or 'none', got 'all'"),
        (metadata_of(game, memory=None), f"{path}: memory must be"),
        (metadata_of(game, features=1), f"{path}: features must be True or False, got 1"),
    ):
        save_file(tensors_of(game), path, metadata)
        assert_refused(path, game, message)


@few_games
def test_weights_that_overflow_play_legal_actions(game, tmp_path):
    path = tmp_path / "huge.safetensors"
    for sign in (-1, 1):
        huge = {k: np.full_like(v, sign * 3e38) for k, v in tensors_of(game).items()}
        save_file(
            {**huge, "hidden.0.bias": tensors_of(game)["hidden.0.bias"]}, path, metadata_of(game)
        )
        env = module_of(game).raw_env()
        env.reset(seed=1)
        agent = make_agent(str(path), game)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(60):
                if legal := env.legal_actions():
                    turn = turn_of(game, env.states, [0], View())
                    probabilities = agent.probabilities(turn)[0]
                    assert probabilities[legal].sum() == pytest.approx(1)
                    env.step(choose(agent, game, env.states))


@few_games
def test_policy_files_of_wrong_shapes(game, tmp_path):
    path = tmp_path / "policy.safetensors"
    size, actions = game.fields.size, game.num_actions
    float32 = partial(np.zeros, dtype=np.float32)
    misfit, shapes = (
        f"it does not fit {game.name} .*",
        "layer {}: a weight .* and a bias .* are needed",
    )
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"hidden.0.weight": float32((8, size + 1))}, f"{misfit} takes {size + 1} values"),
        ({"hidden.0.weight": float32((9, size))}, shapes.format(0)),
        ({"hidden.0.weight": np.zeros((8, size))}, "float32 or float16 is needed, got float64"),
        ({"hidden.0.weight": np.zeros((8, size), np.int32)}, "hidden.0.weight: .*, got int32"),
        ({"hidden.0.weight": float32((8, size, 1))}, shapes.format(0)),
        ({"hidden.0.weight": float32((0, size))}, shapes.format(0)),
        ({"hidden.0.bias": float32(9)}, shapes.format(0)),
        ({"hidden.0.bias": float32((8, 1))}, shapes.format(0)),
        ({"action.weight": float32((actions, 9))}, "layer 1 takes 9 values, the last gives 8"),
        ({"action.weight": float32((actions + 1, 8))}, shapes.format(1)),
        ({"action.bias": float32(actions + 1)}, shapes.format(1)),
        ({"action.weight": None}, "layer 'action' needs a weight and a bias"),
        ({"action.bias": None}, "layer 'action' needs a weight and a bias"),
        ({"hidden.0.weight": None}, "there is no place for 'hidden.0.bias'"),
        ({"hidden.0.bias": None}, "layer 'hidden.0' needs a weight and a bias"),
        ({"more": float32(3)}, "there is no place for 'more'"),
        (
            {"hidden.2.weight": float32((8, 8)), "hidden.2.bias": float32(8)},
            "layer 'hidden.1' needs a weight and a bias",
        ),
        # Early safetensors cannot read a file without any tensor.
        (dict.fromkeys(tensors_of(game)), "layer 'action' needs|is not a policy file"),
        (
            {"action.weight": float32((actions + 1, 8)), "action.bias": float32(actions + 1)},
            f"{misfit} chooses among {actions + 1} actions",
        ),
    ]
    for poison in (np.nan, np.inf, -np.inf):
        for name in tensors_of(game):
            tensor = tensors_of(game)[name]
            tensor.flat[-1] = poison
            wrong.append(({name: tensor}, f"layer {int('action' in name)} is not finite"))
    for change, message in wrong:
        tensors = {k: v for k, v in {**tensors_of(game), **change}.items() if v is not None}
        save_file(tensors, path, metadata_of(game))
        assert_refused(path, game, f"{path}.*({message})")
    with pytest.raises(ValueError, match="layer 0: float32 is needed, got float64 and float32"):
        network.Network([(np.zeros((actions, size)), float32(actions))], "relu")
