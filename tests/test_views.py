"""How an observer looks: perfect recall or none, derived fields or not; and who looks how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import (
    EACH_GAME,
    FEW_GAMES,
    MEMORY_MODES,
    TABLES,
    VIEWS,
    kit_of,
    mean_length,
    module_of,
    network_of,
    observation_of,
    play_on,
    positions_of,
)

import card_envs
from card_envs.agents import Agent, FunctionAgent, NetworkAgent, RandomAgent
from card_envs.contract.options import View
from card_envs.engine.arena import Arena
from card_envs.engine.templates import NOBODY
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)


# ---------------------------------------------------------------------------------------------
# What is left out
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", MEMORY_MODES)
@tables
def test_without_features_derived_fields_are_0_and_all_others_equal(game, num_players, memory):
    derived = {field.name for field in game.fields if field.derived}
    used = set()
    for states in positions_of(game, num_players):
        for player in range(num_players):
            complete = observation_of(game, states, player, memory, True)
            reduced = observation_of(game, states, player, memory, False)
            expected = complete.copy()
            fields, expected_fields = map(game.fields.unflatten, (complete, expected))
            for name in derived:
                expected_fields[name][...] = 0.0
                used |= {name} if fields[name].any() else set()
            assert reduced.tobytes() == expected.tobytes()
    without_memory = {field.name for field in game.fields if field.remembered and memory == "none"}
    assert used == expected_to_be_used(game, derived - without_memory, num_players)


@tables
def test_without_memory_the_remembered_fields_are_0(game, num_players):
    remembered = {field.name for field in game.fields if field.remembered}
    used = set()
    for states in positions_of(game, num_players):
        for player in range(num_players):
            fields = game.fields.unflatten(observation_of(game, states, player))
            used |= {name for name in remembered if fields[name].any()}
            fields = game.fields.unflatten(observation_of(game, states, player, "none"))
            assert not any(fields[name].any() for name in remembered)
    assert used == expected_to_be_used(game, remembered, num_players)
    longest = max(states["steps"][0] for states in positions_of(game, num_players))
    assert longest > kit_of(game).long_game


def expected_to_be_used(game, names, num_players):
    fewest = kit_of(game).fewest_players
    return {name for name in names if num_players >= fewest.get(name, 0)}


# ---------------------------------------------------------------------------------------------
# Environments
# ---------------------------------------------------------------------------------------------


@tables
def test_the_game_is_the_same_in_every_view(game, num_players):
    """The environment observes in its view, and plays the same game in each."""
    envs = [
        module_of(game).env(num_players=num_players, memory=view.memory, features=view.features)
        for view in VIEWS
    ]
    for seed in range(3):
        for env in envs:
            env.reset(seed=seed)
            play_on(env, seed, int(mean_length(game, num_players)) - 1)
        states = envs[0].states
        for view, env in zip(VIEWS, envs, strict=True):
            assert env.states.tobytes() == states.tobytes()
            assert env.legal_actions() == envs[0].legal_actions()
            for player, agent in enumerate(env.possible_agents):
                expected = observation_of(game, states, player, view.memory, view.features)
                assert env.observe(agent)["observation"].tobytes() == expected.tobytes()


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.memory}-{view.features}")
@each_game
def test_batches_and_single_seats_observe_in_their_view(game, view):
    options = {"memory": view.memory, "features": view.features}
    batch = card_envs.make_vec(game.name, 5, **options)
    seats = SingleSeatVectorEnv(game.name, 5, **options)
    single = SingleSeatEnv(game.name, **options)
    observation, mask = batch.reset(seed=1)
    observations, infos = seats.reset(seed=1)
    learners = seats._games
    own, info = single.reset(seed=1)
    for _ in range(20):
        for i in range(5):
            states = batch.states[i : i + 1]
            expected = observation_of(game, states, batch.current_player[i], *of(view))
            assert observation[i].tobytes() == expected.tobytes()
            states = learners.arena.states[i : i + 1]
            expected = observation_of(game, states, learners.learner_seats[i], *of(view))
            assert observations[i].tobytes() == expected.tobytes()
        expected = observation_of(game, single._games.arena.states, info["seat"], *of(view))
        assert own.tobytes() == expected.tobytes()
        observation, mask, *_ = batch.step(mask.argmax(axis=1))
        observations, *_, infos = seats.step(infos["action_mask"].argmax(axis=1))
        own, _, terminated, truncated, info = single.step(info["action_mask"].argmax())
        if terminated or truncated:
            own, info = single.reset()


# ---------------------------------------------------------------------------------------------
# Whole units
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.memory}-{view.features}")
@tables
def test_units_are_the_values_times_their_scale(game, num_players, view):
    """Whatever the buffer held before."""
    units = np.full(game.fields.size, 77, np.uint8)
    for states in positions_of(game, num_players):
        for player in range(num_players):
            game.observe(states, 0, player, *view.codes, units)
            values = observation_of(game, states, player, *of(view))
            assert (units / game.fields.scale).tobytes() == values.tobytes()


@few_games
def test_a_batch_in_units_plays_the_same_games(game):
    batch = card_envs.make_vec(game.name, 9)
    other = card_envs.make_vec(game.name, 9, observation_dtype="uint8")
    (values, mask), (units, other_mask) = batch.reset(seed=3), other.reset(seed=3)
    for _ in range(60):
        assert units.dtype == np.uint8
        assert (units / game.fields.scale).tobytes() == values.tobytes()
        assert mask.tobytes() == other_mask.tobytes()
        actions = mask.argmax(axis=1)
        values, mask, *rest = batch.step(actions)
        units, other_mask, *others_rest = other.step(actions)
        for array, others_array in zip(rest, others_rest, strict=True):
            assert array.tobytes() == others_array.tobytes()


@pytest.mark.parametrize("mask", ["info", "observation"])
@few_games
def test_a_vector_in_units_plays_the_same_games(game, mask):
    """Against agents that are asked, which get float32, and against networks, which do not."""

    def first(observation, action_mask):
        assert observation.dtype == np.float32
        asked.append(observation.tobytes())
        return action_mask.argmax(axis=1)

    network = NetworkAgent(network_of(game, 1, [16]), "network")
    sizes = range(max(3, game.min_players), game.max_players + 1)
    opponents: Any = [first] + [network] * (sizes[0] - 2) if sizes else first
    options = {"num_players": sizes[0]} if sizes else {}
    made = []
    for dtype in ("float32", "uint8"):
        asked: list[bytes] = []
        env = SingleSeatVectorEnv(
            game.name, 6, opponents=opponents, mask=mask, observation_dtype=dtype, **options
        )
        observations, infos = env.reset(seed=2)
        seen = []
        for _ in range(50):
            assert env.observation_space.contains(observations)
            masks = env.action_masks()
            seen.append((observations, masks))
            observations, rewards, *flags, infos = env.step(masks.argmax(axis=1))
            seen += [(rewards, *flags), *(last for last in infos.get("final_obs", ()))]
        made.append((seen, asked))
    (seen, asked), (units_seen, units_asked) = made
    assert asked == units_asked
    assert len(asked) > 10
    assert_scaled(seen, units_seen, game.fields.scale)


@few_games
def test_a_seat_in_units_plays_the_same_game(game):
    env = SingleSeatEnv(game.name, observation_dtype="uint8")
    other = SingleSeatEnv(game.name)
    (units, info), (values, _) = env.reset(seed=4), other.reset(seed=4)
    for _ in range(40):
        assert env.observation_space.contains(units)
        assert (units / game.fields.scale).tobytes() == values.tobytes()
        action = info["action_mask"].argmax()
        units, _, terminated, truncated, info = env.step(action)
        values = other.step(action)[0]
        if terminated or truncated:
            (units, info), (values, _) = env.reset(), other.reset()


def assert_scaled(values: Any, units: Any, scale: np.ndarray) -> None:
    """The same, but for arrays of uint8: those are units."""
    if isinstance(values, dict):
        values, units = list(values.values()), list(units.values())
    if isinstance(values, (list, tuple)):
        for value, unit in zip(values, units, strict=True):
            assert_scaled(value, unit, scale)
    elif values is None or units.dtype != np.uint8:
        np.testing.assert_array_equal(values, units)
    else:
        assert (units / scale).tobytes() == values.tobytes()


@pytest.mark.parametrize("wrong", ["float64", "int8", "", None, int, "no dtype"])
@few_games
def test_other_dtypes_are_refused(game, wrong):
    message = "observation_dtype must be 'float32' or 'uint8', got"
    for make in (card_envs.make_vec, SingleSeatVectorEnv):
        with pytest.raises(ValueError, match=message):
            make(game.name, 2, observation_dtype=wrong)


def of(view: View) -> tuple[str, bool]:
    return view.memory, view.features


def test_views_are_checked():
    for wrong in ("all", None, True, "Perfect"):
        with pytest.raises(ValueError, match="memory must be 'perfect' or 'none', got"):
            View(memory=wrong)
    for wrong in (1, None, "True"):
        with pytest.raises(ValueError, match="features must be True or False, got"):
            View(features=wrong)
    assert View() == View("perfect", True)
    assert View(features=np.bool_(False)).codes == (0, 0)


# ---------------------------------------------------------------------------------------------
# Agents
# ---------------------------------------------------------------------------------------------


class Observer(Agent):
    """Takes the first legal action; checks what it is given to observe, and keeps it."""

    def __init__(self, view: View) -> None:
        self.name = f"observer {view.codes}"
        self.view = view
        self.observations: list[np.ndarray] = []

    def act(self, turn):
        for i, observation in zip(turn.indices, turn.observation, strict=True):
            states = turn.states[i : i + 1]
            mover = states["current_player"][0]
            expected = observation_of(turn.game, states, mover, *of(self.view))
            assert observation.tobytes() == expected.tobytes()
        self.observations.append(turn.observation.copy())
        return turn.action_mask.argmax(axis=1)


def play_seats(game: Any, env: Any, steps: int = 30) -> None:
    _, infos = env.reset(seed=3)
    for _ in range(steps):
        *_, infos = env.step(infos["action_mask"].argmax(axis=1))


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.memory}-{view.features}")
@few_games
def test_an_agent_observes_in_its_own_view_whatever_the_environments(game, view):
    """A policy made for perfect recall has it, in an environment with ``memory="none"`` too."""
    observers = []
    for options in ({}, {"memory": "none"}, {"features": False}):
        observers.append(Observer(view))
        play_seats(game, SingleSeatVectorEnv(game.name, 4, opponents=observers[-1], **options))
    first, *others = observers
    assert len(first.observations) > 10
    for other in others:
        pairs = zip(first.observations, other.observations, strict=True)
        assert all(one.tobytes() == another.tobytes() for one, another in pairs)


@few_games
def test_agents_of_different_views_play_at_one_table(game):
    agents = [Observer(view) for view in VIEWS] + [RandomAgent(game)]
    arena = Arena(game, 12, agents)
    rng = np.random.default_rng(1)
    numbers = np.arange(12)
    seating = rng.integers(0, len(agents), (12, game.max_players))
    arena.start(numbers, numbers.astype(np.uint64), np.full(12, game.max_players), seating)
    assert (arena.waiting == NOBODY).all()
    assert all(agent.observations for agent in agents[:-1])


@few_games
def test_a_function_observes_in_the_view_that_it_was_made_for(game):
    seen: dict[View, list[bytes]] = {view: [] for view in VIEWS}

    def function_of(view):
        def first_legal(observation, action_mask):
            seen[view].append(observation.tobytes())
            return action_mask.argmax(axis=1)

        return FunctionAgent("first legal", first_legal, view.memory, view.features)

    observers = [Observer(view) for view in VIEWS]
    for view, observer in zip(VIEWS, observers, strict=True):
        for agent in (observer, function_of(view)):
            play_seats(game, SingleSeatVectorEnv(game.name, 3, opponents=agent), 10)
        assert seen[view] == [observation.tobytes() for observation in observer.observations]
