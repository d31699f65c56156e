"""Agents: random, heuristic, networks, functions; and that batches play as single games do."""

from __future__ import annotations

import math
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    TABLES,
    Habits,
    begin,
    copy_of,
    is_over,
    kit_of,
    mask_of,
    module_of,
    needs_training,
    network_of,
    observation_of,
    positions_of,
    stacked,
    walk,
)

import card_envs
from card_envs.agents import (
    Agent,
    FunctionAgent,
    HeuristicAgent,
    NetworkAgent,
    ProgramAgent,
    RandomAgent,
    SearchAgent,
    Turn,
    agent_names,
    as_agent,
    choose,
    make_agent,
)
from card_envs.agents.network import Network, write_policy
from card_envs.contract.agent import Follower, FollowingAgent, turn_of
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.engine.arena import Arena
from card_envs.engine.history import Replay
from card_envs.engine.seeds import next_seeds, random_action
from card_envs.engine.table import BaseTable
from card_envs.engine.templates import NOBODY
from card_envs.envs.learner_games import LearnerGames
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.evaluation import play_deals
from card_envs.kernels.perceptron import (
    MAX_LAYERS,
    choose_by_network,
    join,
    make_scratch,
    write_logits,
)
from card_envs.kernels.portable_math import exp, log

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)

NO_SCALE = np.zeros(0, np.float32)  # for observations of float32
tables_with_heuristic = pytest.mark.parametrize(
    ("game", "num_players"), [param for param in TABLES if param.values[0].heuristic is not None]
)
each_game_with_heuristic = pytest.mark.parametrize(
    "game", [param for param in EACH_GAME if param.values[0].heuristic is not None]
)


@cache
def turn_in(game: Game) -> Turn:
    """Positions of all table sizes in which somebody is to move."""
    asked = [
        states
        for num_players in game.table_sizes
        for states in positions_of(game, num_players)[:200]
        if not is_over(states)
    ]
    return turn_of(game, stacked(game, asked), np.arange(len(asked)), View())


def turn_with(game: Game, observation: np.ndarray, action_mask: np.ndarray) -> Turn:
    """A turn for agents that look at nothing else."""
    indices = np.zeros(len(action_mask), np.int64)
    return Turn(game, game.new_states(1), indices, observation, action_mask)


def first_of(turn: Turn, count: int) -> Turn:
    """The first games of a turn."""
    head = slice(count)
    return Turn(
        turn.game, turn.states, turn.indices[head], turn.observation[head], turn.action_mask[head]
    )


def assert_legal(turn: Turn, actions: np.ndarray) -> None:
    assert turn.action_mask[np.arange(len(turn)), actions].all()


# ---------------------------------------------------------------------------------------------
# Scripted agents
# ---------------------------------------------------------------------------------------------


@few_games
def test_random_is_uniform_over_the_legal_actions(game):
    kinds = np.unique(turn_in(game).action_mask, axis=0)
    draws = 4000
    for mask in (kinds[np.argmin(kinds.sum(axis=1))], kinds[np.argmax(kinds.sum(axis=1))]):
        agent = RandomAgent(game, 7)
        drawn = agent.act(turn_with(game, np.zeros((draws, 0)), np.tile(mask, (draws, 1))))
        counts = np.bincount(drawn, minlength=game.num_actions)
        legal = mask == 1
        assert counts[~legal].sum() == 0
        expected = draws / legal.sum()
        # Chi-square: its mean is the degrees of freedom, its variance twice that.
        freedom = legal.sum() - 1
        statistic = ((counts[legal] - expected) ** 2 / expected).sum()
        assert statistic <= freedom + 4 * np.sqrt(2 * freedom)


@few_games
def test_random_depends_on_its_seed_alone(game):
    turn = turn_in(game)
    first, again, other = (RandomAgent(game, seed).act(turn) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert_legal(turn, first)
    agent = RandomAgent(game, 1)
    states = begin(game, game.min_players, 3)
    chosen = [choose(agent, game, states) for _ in range(30)]
    masks = np.tile(mask_of(game, states), (30, 1))
    assert chosen == RandomAgent(game, 1).act(turn_with(game, np.zeros((30, 0)), masks)).tolist()


@tables_with_heuristic
def test_the_heuristic_is_legal_everywhere_and_beats_random(game, num_players):
    agent = HeuristicAgent(game)
    for states in positions_of(game, num_players):
        if not is_over(states):
            before = states.tobytes()
            action = choose(agent, game, states)
            assert mask_of(game, states)[action] == 1
            assert action == game.heuristic(states, 0)
            assert states.tobytes() == before
    games = 200
    arena = Arena(game, games, [agent, RandomAgent(game)])
    seating = np.ones((games, game.max_players), np.int64)
    seating[np.arange(games), np.arange(games) % num_players] = 0
    numbers = np.arange(games)
    arena.start(numbers, numbers.astype(np.uint64), np.full(games, num_players), seating)
    assert (arena.waiting == NOBODY).all()
    reward = arena.returns[numbers, numbers % num_players].mean()
    assert reward > kit_of(game).heuristic_reward


@few_games
def test_agents_by_name(game):
    states = begin(game, game.min_players, 1)
    names = agent_names(game)
    assert names[0] == "random"
    assert ("heuristic" in names) == (game.heuristic is not None)
    for name in names:
        agent = make_agent(name, game)
        assert isinstance(agent, Agent)
        assert agent.name == name
        assert mask_of(game, states)[choose(agent, game, states)] == 1
    assert isinstance(make_agent("random", game), RandomAgent)
    choices = {
        seed: make_agent("random", game, seed=seed).act(turn_in(game)).tolist() for seed in (0, 3)
    }
    assert choices[3] == RandomAgent(game, 3).act(turn_in(game)).tolist() != choices[0]
    if game.heuristic is None:
        assert game.default_opponent == "random"
        for make in (lambda: make_agent("heuristic", game), lambda: HeuristicAgent(game)):
            with pytest.raises(ValueError, match=f"{game.id} has no heuristic"):
                make()
    else:
        assert game.default_opponent == "heuristic"
        assert isinstance(make_agent("heuristic", game), HeuristicAgent)
    learner = LearnerGames(game, 1)
    assert [agent and agent.name for agent in learner.arena.agents] == [None, game.default_opponent]


# ---------------------------------------------------------------------------------------------
# Agents of users
# ---------------------------------------------------------------------------------------------


def last_legal(observation, action_mask):
    return action_mask.shape[1] - 1 - action_mask[:, ::-1].argmax(axis=1)


class LastLegal(Agent):
    """Takes the last legal action; counts what it is asked."""

    name = "last legal"

    def __init__(self) -> None:
        self.asked = 0

    def act(self, turn):
        assert turn.action_mask.any(axis=1).all()
        assert len(turn) == len(turn.observation) == len(turn.action_mask) > 0
        self.asked += len(turn)
        return last_legal(turn.observation, turn.action_mask)


def course_against(game, opponents, **options):
    """What a learner who takes first legal actions sees of a few games."""
    vector = SingleSeatVectorEnv(game.name, 3, opponents=opponents, reward="score", **options)
    observation, infos = vector.reset(seed=5)
    course = [observation.tobytes()]
    for _ in range(25):
        observation, reward, *_, infos = vector.step(infos["action_mask"].argmax(axis=1))
        course += [observation.tobytes(), reward.tobytes()]
    return course


@few_games
def test_a_function_stands_wherever_an_agent_is_expected(game):
    expected = course_against(game, LastLegal())
    for opponents in (last_legal, FunctionAgent("last", last_legal), as_agent(last_legal, game)):
        assert course_against(game, opponents) == expected
    n = game.max_players
    seats = [last_legal, LastLegal(), FunctionAgent("last", last_legal)] * n
    assert course_against(game, seats[: n - 1], num_players=n) == course_against(
        game, last_legal, num_players=n
    )
    assert course_against(game, ["random", *seats][: n - 1], num_players=n) != course_against(
        game, last_legal, num_players=n
    )
    assert as_agent(last_legal, game).name == "last_legal"
    agent = LastLegal()
    assert as_agent(agent, game) is agent
    assert isinstance(as_agent("random", game), RandomAgent)
    assert choose(as_agent(last_legal, game), game, begin(game, n, 1)) in range(game.num_actions)


@few_games
def test_what_is_no_agent_is_refused(game):
    for wrong in (None, 5, object(), ["random"]):
        with pytest.raises(TypeError, match=r"an agent is a name, .* or a function"):
            as_agent(wrong, game)
        with pytest.raises(TypeError, match="an agent's name or the path of a policy file is need"):
            make_agent(wrong, game)
    for cls in (LastLegal, Agent):
        with pytest.raises(ValueError, match=r"calling \w+\(game, seed=0\) failed: TypeError"):
            as_agent(cls, game)


@few_games
def test_agents_for_another_game_are_refused(game, tmp_path):
    """Kernels would read outside their arrays, or play the other scripted player as this one."""
    other = next(g for g in ALL_GAMES if g.name != game.name)
    write_policy(tmp_path / "mine.safetensors", network_of(other), other)
    others = [
        NetworkAgent.from_file(tmp_path / "mine.safetensors", other),
        SearchAgent(other, rollouts=4),
        *([HeuristicAgent(other)] if other.heuristic is not None else []),
        *([ProgramAgent("cmd:true", other)] if os.name == "posix" else []),
    ]
    if (other.fields.size, other.num_actions) != (game.fields.size, game.num_actions):
        others.append(NetworkAgent(network_of(other), "mine"))
    n = game.min_players
    for agent in others:
        assert as_agent(agent, other) is agent
        for refused in (
            lambda agent=agent: as_agent(agent, game),
            lambda agent=agent: choose(agent, game, begin(game, n, 1)),
            lambda agent=agent: play_deals(game, [agent, *["random"] * (n - 1)], np.arange(2)),
        ):
            with pytest.raises(ValueError, match=rf"{game.name}"):
                refused()
    with pytest.raises(ValueError, match=game.name):
        SearchAgent(game, policy=others[0])


@few_games
def test_agents_are_asked_about_games_that_run(game):
    agent = make_agent("random", game, seed=1)
    states = game.new_states(2)  # none of them has begun
    states[1] = begin(game, game.min_players, 1)[0]
    while not is_over(states[1:]):
        action = choose(agent, game, states, 1)
        game.rules.step(states, 1, action)
    for i in (0, 1):
        with pytest.raises(ValueError, match=rf"states\[{i}\] is a game that is over, or has not"):
            choose(agent, game, states, i)
    for i in (-1, 2, 0.5):
        with pytest.raises(ValueError, match="i must be a whole number from 0 to 1"):
            choose(agent, game, states, i)


@few_games
def test_whatever_the_indices_are_kernels_get_one_dtype(game):
    states = np.concatenate([begin(game, game.min_players, seed) for seed in range(4)])
    expected = turn_of(game, states, np.array([0, 2]), View())
    for indices in ([0, 2], range(0, 4, 2), np.array([0, 2], np.int16), np.arange(4)[::2]):
        turn = turn_of(game, states, indices, View())
        assert turn.indices.dtype == np.int64
        assert turn.indices.flags.c_contiguous
        assert np.array_equal(turn.observation, expected.observation)
    with pytest.raises(TypeError, match=r"a View is needed, such as View\('none'\), got 'none'"):
        turn_of(game, states, [0], "none")
    with pytest.raises(TypeError, match="a Game is needed"):
        turn_of(game.name, states, [0], View())


@few_games
def test_networks_check_shapes(game):
    """Kernels would read outside arrays of other shapes."""
    network = network_of(game)
    inputs, outputs = network.sizes
    assert (inputs, outputs) == (game.fields.size, game.num_actions)
    rows = np.zeros((3, inputs), np.float32)
    masks = np.ones((3, outputs), np.int8)
    assert network.act(rows, masks).shape == (3,)
    for observation, mask in (
        (rows, masks[:1]),
        (rows[:, 1:], masks),
        (rows, masks[:, 1:]),
        (rows[0], masks),
    ):
        with pytest.raises(ValueError, match=r"observations \(M, "):
            network.act(observation, mask)
    for asked in (network.logits, lambda units: network.act(units, masks)):
        with pytest.raises(ValueError, match="uint8 are whole units"):
            asked(rows.astype(np.uint8))
    (weight, bias), last = network.layers
    for layers, message in (
        ([(weight, bias), (np.zeros((outputs, 3), np.float32), last[1])], "the last gives 16"),
        ([(weight, bias[1:]), last], r"bias \(out,\)"),
        ([(weight.astype(np.float64), bias), last], "float32"),
    ):
        with pytest.raises(ValueError, match=message):
            Network(layers, "relu")


def test_threads_may_share_a_policy():
    """Each with games of its own: they play what they play alone."""
    game = ALL_GAMES[-1]
    agent = NetworkAgent(network_of(game, hidden=(64, 64)), "mine")

    def play(seed):
        states = begin(game, game.min_players, seed)
        actions = []
        while not is_over(states) and len(actions) < 60:
            actions.append(choose(agent, game, states))
            game.rules.step(states, 0, actions[-1])
        return actions

    alone = [play(seed) for seed in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(play, range(16))) == alone


def test_seeds_of_agents_are_whole_numbers():
    game = ALL_GAMES[0]
    for seed in (np.int64(3), np.uint64(3), 3):
        assert make_agent("random", game, seed)._streams == make_agent("random", game, 3)._streams
    policy = NetworkAgent(network_of(game), "mine", draw_seed=np.int64(3))
    assert policy._draw_seed == 3
    for wrong, error in ((None, TypeError), ("1", TypeError), (1.5, TypeError), (-1, ValueError)):
        with pytest.raises(error, match="seed"):
            make_agent("random", game, wrong)


@few_games
def test_a_policy_file_may_be_named_by_its_path_object(game, tmp_path):
    path = tmp_path / "mine.safetensors"
    write_policy(path, network_of(game), game)
    for agent in (as_agent(path, game), make_agent(path, game)):
        assert isinstance(agent, NetworkAgent)
        assert agent.name == str(path)
    with pytest.raises(ValueError, match=r"there is no agent '.*nowhere"):
        as_agent(tmp_path / "nowhere.safetensors", game)


@few_games
def test_a_subclass_of_a_kernel_that_acts_by_itself_is_asked(game):
    """It is an ordinary agent; one that keeps ``act`` stays a kernel."""
    bases = [RandomAgent] + [HeuristicAgent] * (game.heuristic is not None)
    for base in bases:

        class Own(base):
            act = LastLegal.act
            asked = 0

        class Renamed(base):
            name = "renamed"

        own = Own(game)
        assert own.kernel is None
        assert course_against(game, own) == course_against(game, LastLegal())
        assert own.asked > 0
        assert base(game).kernel is not None
        assert Renamed(game).kernel == base(game).kernel
        assert course_against(game, Renamed(game)) == course_against(game, base(game))


@few_games
def test_an_agent_is_what_it_is_and_not_what_it_is_called(game):
    courses = []
    for name in ("last legal", "random", "heuristic", "ppo"):
        agent = LastLegal()
        agent.name = name
        courses.append(course_against(game, agent))
        assert agent.asked > 20
    assert all(course == courses[0] for course in courses)


class Searcher(Agent):
    """Redraws copies of the states, plays a little in them, and keeps them for later."""

    name = "searcher"

    def __init__(self, search: bool) -> None:
        self._search = search
        self.kept: list[tuple[np.ndarray, int]] = []

    def act(self, turn):
        game = turn.game
        for i, mask in zip(turn.indices, turn.action_mask, strict=True) if self._search else ():
            world = copy_of(game, turn.states[i : i + 1])
            mover = int(world["current_player"][0])
            self.kept.append((copy_of(game, world), mover))
            game.rules.determinize(world, 0, mover, np.uint64(len(self.kept)))
            game.rules.step(world, 0, int(mask.argmax()))
            for states, player in self.kept[-3:]:
                redrawn = copy_of(game, states)
                game.rules.determinize(redrawn, 0, player, np.uint64(1))
                before, after = (observation_of(game, s, player) for s in (states, redrawn))
                assert before.tobytes() == after.tobytes()
        return last_legal(turn.observation, turn.action_mask)


@few_games
def test_an_agent_that_keeps_states_can_redraw_them(game):
    """Now and later; the game itself is not changed by it."""
    searcher = Searcher(True)
    assert course_against(game, searcher) == course_against(game, Searcher(False))
    assert len(searcher.kept) > 20
    whole = game.new_states(1)
    for states, player in searcher.kept:  # copies by NumPy are as good
        picked = states[np.array([0])]
        game.rules.determinize(picked, 0, player, np.uint64(7))
        whole[0] = picked[0]
        expected = copy_of(game, states)
        game.rules.determinize(expected, 0, player, np.uint64(7))
        for name in game.state_dtype.names:
            assert whole[name].tobytes() == expected[name].tobytes()


# ---------------------------------------------------------------------------------------------
# Networks
# ---------------------------------------------------------------------------------------------


def fresh_model(game, activation, hidden, seed=3):
    import torch
    from sb3_contrib import MaskablePPO
    from torch import nn

    model = MaskablePPO(
        "MlpPolicy",
        SingleSeatEnv(game.name),
        n_steps=8,
        batch_size=8,
        seed=seed,
        device="cpu",
        policy_kwargs={
            "net_arch": {"pi": hidden, "vf": [8]},
            "activation_fn": {"relu": nn.ReLU, "tanh": nn.Tanh}[activation],
        },
    )
    policy = model.policy
    with torch.no_grad():  # a fresh policy is nearly uniform; make it choose, now this, now that
        policy.action_net.weight *= 50.0
        observation = torch.as_tensor(turn_in(game).observation)
        logits = policy.action_net(policy.mlp_extractor.forward_actor(observation))
        policy.action_net.bias -= logits.mean(axis=0)
    return model


@needs_training
@pytest.mark.parametrize(
    ("activation", "hidden"), [("relu", [32, 16]), ("tanh", [24]), ("relu", [])]
)
@few_games
def test_numpy_inference_is_the_torch_policys(game, activation, hidden, tmp_path):
    import torch

    model = fresh_model(game, activation, hidden)
    path = tmp_path / "fresh.safetensors"
    card_envs.export_policy(model, game, path)
    agent = make_agent(str(path), game)
    turn = turn_in(game)
    expected, _ = model.predict(turn.observation, action_masks=turn.action_mask, deterministic=True)
    chosen = agent.act(turn)
    assert np.array_equal(chosen, expected)
    assert_legal(turn, chosen)
    assert len(np.unique(chosen)) >= min(4, game.num_actions)
    with torch.no_grad():
        features = model.policy.mlp_extractor.forward_actor(torch.as_tensor(turn.observation))
        logits = model.policy.action_net(features).numpy()
    np.testing.assert_allclose(agent.network.logits(turn.observation), logits, rtol=1e-4, atol=1e-4)
    again = tmp_path / "again.safetensors"
    card_envs.export_policy(model, game, again)
    assert again.read_bytes() == path.read_bytes()


@few_games
def test_a_network_does_not_change_what_it_is_given(game):
    network = network_of(game)
    turn = first_of(turn_in(game), 30)
    observations, masks = turn.observation, turn.action_mask
    kept = observations.copy(), masks.copy()
    first = network.act(observations, masks)
    network.act(observations, masks, np.array([1], np.uint64))
    assert np.array_equal(observations, kept[0])
    assert np.array_equal(masks, kept[1])
    assert np.array_equal(network.act(observations, masks), first)
    one_by_one = [network.act(observations[k : k + 1], masks[k : k + 1])[0] for k in range(30)]
    assert one_by_one == first.tolist()


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [[], [7], [32, 16], [24, 9, 40, 3]])
@few_games
def test_the_kernel_is_the_network(game, activation, hidden):
    """Layers of any number and width; only legal actions have logits."""
    network = network_of(game, 1, hidden, activation)
    weights, layout = network.kernel
    turn = first_of(turn_in(game), 30)
    scratch = make_scratch(layout[None])
    for observation, action_mask in zip(turn.observation, turn.action_mask, strict=True):
        scratch[:] = np.nan
        write_logits(weights, layout, observation, NO_SCALE, action_mask, scratch)
        logits = scratch[2, : game.num_actions]
        legal = action_mask == 1
        expected = network.logits(observation[None])[0]
        np.testing.assert_allclose(logits[legal], expected[legal], rtol=1e-4, atol=1e-4)
        assert np.isnan(logits[~legal]).all()


@pytest.mark.parametrize("hidden", [[], [16, 9]])
@few_games
def test_a_network_makes_no_difference_between_values_and_their_units(game, hidden):
    weights, layout = network_of(game, 1, hidden).kernel
    turn, scale = first_of(turn_in(game), 30), game.fields.scale
    of_values, of_units = make_scratch(layout[None]), make_scratch(layout[None])
    for observation, action_mask in zip(turn.observation, turn.action_mask, strict=True):
        units = np.rint(observation * scale).astype(np.uint8)
        write_logits(weights, layout, observation, scale, action_mask, of_values)
        write_logits(weights, layout, units, scale, action_mask, of_units)
        assert of_values[2].tobytes() == of_units[2].tobytes()


@few_games
def test_a_temperature_divides_the_logits(game):
    network = network_of(game)
    rng = np.random.default_rng(1)
    observation = rng.random((5, game.fields.size)).astype(np.float32)
    logits = network.logits(observation)
    for temperature in (0.25, 3.0):
        divided = network.at_temperature(temperature).logits(observation)
        assert divided * temperature == pytest.approx(logits, rel=1e-4, abs=1e-4)
    assert network.logits(observation).tobytes() == logits.tobytes()


@few_games
def test_networks_joined_are_those_networks(game):
    """However many others of whatever sizes are beside them."""
    networks = [network_of(game, 1, [8]), None, network_of(game, 2, [20, 5], "relu")]
    weights, layouts, scratch = join([net.kernel if net else None for net in networks])
    turn = first_of(turn_in(game), 30)
    streams = np.zeros(1, np.uint64)
    for network, layout in zip(networks, layouts, strict=True):
        if network is not None:
            expected = network.act(turn.observation, turn.action_mask)
            for k in range(len(turn)):
                observation, action_mask = turn.observation[k], turn.action_mask[k]
                chosen = choose_by_network(
                    weights, layout, observation, NO_SCALE, action_mask, 0, streams, 0, scratch
                )
                assert chosen == expected[k]


def test_the_exponential():
    for x in np.linspace(-690.0, 0.0, 3001):
        assert exp(float(x)) == pytest.approx(math.exp(x), rel=1e-12)
    assert exp(-1e9) == 0.0
    assert exp(0.0) == 1.0


def test_the_logarithm():
    for x in np.exp(np.random.default_rng(1).uniform(-600, 600, 2000)):
        assert log(float(x)) == pytest.approx(math.log(x), rel=1e-15, abs=1e-15)
    for x in (0.5, 0.999999, 1.0, 1.0000001, 2.0):
        assert log(x) == pytest.approx(math.log(x), rel=1e-14, abs=1e-16)


def test_a_network_has_only_so_many_layers():
    layers = [(np.zeros((3, 3), np.float32), np.zeros(3, np.float32))] * (MAX_LAYERS + 1)
    with pytest.raises(ValueError, match=f"at most {MAX_LAYERS} layers, got {MAX_LAYERS + 1}"):
        Network(layers, "relu")
    with pytest.raises(ValueError, match="unknown activation 'gelu'"):
        Network(layers[:2], "gelu")


@few_games
def test_sampling_follows_the_masked_distribution(game):
    network = network_of(game)
    turn = turn_in(game)
    draws = 20_000
    different = np.unique(turn.action_mask, axis=0, return_index=True)[1]
    different = [k for k in different if turn.action_mask[k].sum() > 1]
    assert different
    for k in {different[0], different[-1]}:
        legal = turn.action_mask[k] == 1
        logits = network.logits(turn.observation[k : k + 1])[0].astype(float)
        weights = np.where(legal, np.exp(logits - logits[legal].max()), 0.0)
        expected = draws * weights / weights.sum()
        drawn = network.act(
            np.repeat(turn.observation[k : k + 1], draws, axis=0),
            np.repeat(turn.action_mask[k : k + 1], draws, axis=0),
            np.array([k], np.uint64),
        )
        counts = np.bincount(drawn, minlength=game.num_actions)
        assert counts[~legal].sum() == 0
        spread = np.sqrt(np.maximum(expected, 1.0))
        assert (np.abs(counts - expected) <= 4.5 * spread).all()


class AskedPolicy(NetworkAgent):
    """A policy that is asked, in the compiled loop as well."""

    def act(self, turn):
        return super().act(turn)


@few_games
def test_draws_that_follow_from_the_position(game, tmp_path):
    """The same action asked alone, with others, from units, in the loop; as often as it should."""
    path = tmp_path / "policy.safetensors"
    network = network_of(game, activation="relu")
    write_policy(path, network, game, draws=True)
    agent = make_agent(str(path), game, seed=4)
    turn = turn_in(game)
    actions = agent.act(turn)
    assert agent.act(turn).tolist() == actions.tolist()
    for k in range(len(turn)):
        alone = Turn(
            game,
            turn.states,
            turn.indices[k : k + 1],
            turn.observation[k : k + 1],
            turn.action_mask[k : k + 1],
        )
        assert agent.act(alone).tolist() == actions[k : k + 1].tolist()
    assert not np.array_equal(actions, NetworkAgent.from_file(path, game, draw_seed=5).act(turn))
    # Where a position comes again, the game has taken more decisions: it need not go in circles.
    later = game.as_states(turn.states.copy())
    later["steps"] += 1
    assert not np.array_equal(actions, agent.act(replace(turn, states=later)))
    write_policy(path, network, game)
    likeliest = make_agent(str(path), game, seed=4).act(turn)
    assert not np.array_equal(actions, likeliest)
    # In the compiled loop, from units and from floats.
    n = game.default_players
    ends = []
    for asked in (False, True):
        player = AskedPolicy(agent.network, "asked", draw_seed=4) if asked else agent
        arena = Arena(game, 20, [player], max_steps=60)
        seats = np.zeros((20, game.max_players), np.int64)
        arena.start(np.arange(20), np.arange(20, dtype=np.uint64), np.full(20, n), seats)
        ends.append(arena.states.tobytes())
    assert ends[0] == ends[1]
    # Over many seeds each action is drawn as often as the policy says.
    k = int(np.argmax(turn.action_mask.sum(axis=1)))
    row = slice(k, k + 1)
    counts = np.zeros(game.num_actions)
    draws = 2000
    for seed in range(draws):
        counts[network.act(turn.observation[row], turn.action_mask[row], None, seed)] += 1
    alone = Turn(game, turn.states, turn.indices[row], turn.observation[row], turn.action_mask[row])
    expected = draws * NetworkAgent(network, "policy").probabilities(alone)[0]
    assert (np.abs(counts - expected) <= 4.5 * np.sqrt(np.maximum(expected, 1.0))).all()


@few_games
def test_an_agent_with_a_seed_samples_and_one_without_does_not(game, tmp_path):
    path = tmp_path / "policy.safetensors"
    view = View("none", False)
    write_policy(path, network_of(game), game, view)
    turn = turn_in(game)
    likeliest = NetworkAgent.from_file(path, game)
    first = NetworkAgent.from_file(path, game, seed=1).act(turn)
    again = NetworkAgent.from_file(path, game, seed=1).act(turn)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, likeliest.act(turn))
    assert np.array_equal(
        likeliest.act(turn), network_of(game).act(turn.observation, turn.action_mask)
    )
    assert likeliest.view == view
    assert likeliest.name == str(path)
    assert NetworkAgent.from_file(path, game, name="mine").name == "mine"


# ---------------------------------------------------------------------------------------------
# The arena
# ---------------------------------------------------------------------------------------------


@tables
def test_the_arena_plays_as_single_environments_do(game, num_players):
    games = 8
    agents = [
        make_agent(game.default_opponent, game),
        RandomAgent(game),
        NetworkAgent(network_of(game, 1), "first"),
        NetworkAgent(network_of(game, 2), "second", View("none", False)),
        LastLegal(),
    ]
    rng = np.random.default_rng(num_players)
    arena = Arena(game, games, agents, reward="score")
    numbers = np.arange(games)
    seeds = rng.integers(0, 2**64, games, np.uint64)
    seating = rng.integers(0, len(agents), (games, game.max_players))
    arena.start(numbers, seeds, np.full(games, num_players), seating)
    assert (arena.waiting == NOBODY).all()
    asked, agents[-1].asked = agents[-1].asked, 0
    for i in range(games):
        env = module_of(game).env(num_players=num_players, reward="score")
        env.reset(seed=int(seeds[i]))
        stream = next_seeds(seeds[i : i + 1])
        returns = np.zeros(game.max_players)
        while legal := env.legal_actions():
            player = env.possible_agents.index(env.agent_selection)
            agent = agents[seating[i, player]]
            if isinstance(agent, RandomAgent):
                mask = env.last()[0]["action_mask"]
                action = random_action(stream, 0, mask, len(legal))
            else:
                action = choose(agent, game, env.states)
            env.step(int(action))
            returns[:num_players] += list(env.rewards.values())
        assert env.states[0].tobytes() == arena.states[i].tobytes()
        assert arena.returns[i].tolist() == returns.tolist()
    assert asked == agents[-1].asked > 0


@few_games
def test_the_arenas_agents_can_be_changed(game):
    """Each for another kernel, network or view, or for one that is asked."""
    first = network_of(game, 1)
    lists = [
        [NetworkAgent(first, "mine"), RandomAgent(game)],
        [NetworkAgent(network_of(game, 2), "mine"), RandomAgent(game)],
        [NetworkAgent(first, "mine", View("none", False)), RandomAgent(game)],
        [RandomAgent(game), RandomAgent(game)],
        [LastLegal(), RandomAgent(game)],
        [NetworkAgent(first, "mine"), RandomAgent(game)],
        [NetworkAgent(first, "mine"), RandomAgent(game), LastLegal()],
    ]
    numbers = np.arange(8)
    seating = np.zeros((len(numbers), game.max_players), np.int64)
    seating[:, 1] = 1

    def played(arena):
        players = np.full(len(numbers), game.max_players)
        arena.start(numbers, numbers.astype(np.uint64), players, seating)
        return arena.states.tobytes()

    lasting = Arena(game, len(numbers), lists[0])
    found = []
    for agents in lists:
        lasting.agents = agents
        found.append(played(lasting))
        assert found[-1] == played(Arena(game, len(numbers), agents))
    assert len({*found}) > 2
    lasting.agents[0] = None  # the caller
    played(lasting)
    assert (lasting.waiting == 0).all()


@few_games
def test_the_arena_leaves_the_callers_seats_to_them(game):
    games, n = 10, game.max_players
    opponent = make_agent(game.default_opponent, game)
    arena = Arena(game, games, [None, opponent], skip_forced=True)
    numbers = np.arange(games)
    seating = np.ones((games, n), np.int64)
    seating[:, 1] = 0
    arena.start(numbers, numbers.astype(np.uint64), np.full(games, n), seating)
    rng = np.random.default_rng(1)
    decisions = 0
    while (waiting := numbers[arena.waiting == 0]).size:
        for i in waiting:
            assert arena.states["current_player"][i] == 1
            states = arena.states[i : i + 1]
            assert arena.observation[i].tobytes() == observation_of(game, states, 1).tobytes()
            assert arena.action_mask[i].tobytes() == mask_of(game, states).tobytes()
            assert arena.action_mask[i].sum() > 1
        actions = [int(rng.choice(np.flatnonzero(arena.action_mask[i]))) for i in waiting]
        arena.act(waiting, np.array(actions))
        decisions += len(waiting)
    assert decisions >= games
    assert arena.states["terminated"].all()
    assert arena.returns.sum(axis=1) == pytest.approx(np.zeros(games), abs=1e-9)


@each_game
def test_who_gives_up_keeps_what_was_paid_before(game):
    """The forfeit comes on top, as ``on_illegal="terminate"`` adds it."""
    n, numbers = game.min_players, np.arange(8)
    arena = Arena(game, len(numbers), [None], reward="score")
    nobody = np.zeros((len(numbers), game.max_players), np.int64)
    arena.start(numbers, numbers.astype(np.uint64), np.full(len(numbers), n), nobody)
    habits, paid_before = Habits(game, 1), 0
    for i in numbers:
        table = BaseTable(game, [None] * n, seed=int(i), reward="score")
        while not table.returns.any() and not table.is_over:
            action = habits.choose(table.states)
            table.step(action)
            arena.act(numbers[i : i + 1], np.array([action]))
        if table.is_over:
            continue
        paid_before += 1
        player, expected = table.player, table.returns.copy()
        expected[player] -= 1.0
        table.forfeit(player)
        arena.forfeit(numbers[i : i + 1])
        assert table.returns.tolist() == arena.returns[i, :n].tolist() == expected.tolist()
    assert paid_before > 0 or pays_at_the_end_only(game)


def pays_at_the_end_only(game):
    """Whether no game has paid anybody before its last decision."""
    for seed in range(20):
        for states in walk(game, game.min_players, seed, reward="score"):
            if states["rewards"].any() and not is_over(states):
                return False
    return True


class Listener(Follower):
    """Writes down what it is told."""

    def __init__(self):
        self.seats, self.told, self.ended = {}, {}, []

    def begin(self, states, i, players):
        self.seats[i], self.told[i] = players, []

    def watch(self, states, i, action):
        self.told[i].append(action)
        assert len(self.told[i]) == states["steps"][i] + 1

    def decide(self, turn):
        raise AssertionError("the caller decides")

    def end(self, states, i, loser=None):
        self.ended.append((i, loser))


@few_games
def test_the_callers_follower_is_told_of_the_callers_games(game):
    games, n = 4, game.min_players
    opponent = make_agent(game.default_opponent, game)
    arena = Arena(game, games, [None, opponent], max_steps=40, keep_histories=True)
    arena.follower = listener = Listener()
    numbers = np.arange(games)
    seating = np.ones((games, game.max_players), np.int64)
    seating[1:, 1] = 0  # in game 0 they hold no seat
    arena.start(numbers, numbers.astype(np.uint64), np.full(games, n), seating)
    while (waiting := numbers[arena.waiting == 0]).size:
        arena.act(waiting, arena.action_mask[waiting].argmax(axis=1))
    assert listener.seats == {1: [1], 2: [1], 3: [1]}
    assert sorted(listener.ended) == [(1, None), (2, None), (3, None)]
    for i, told in listener.told.items():
        assert told == arena.histories[i, : arena.states["steps"][i]].tolist()


class FirstLegal(FollowingAgent):
    """Takes the first legal action, and writes down what it is told."""

    name = "first legal"

    def __init__(self):
        self.listener = Listener()
        self.listener.decide = lambda turn: turn.action_mask.argmax(axis=1)

    def follow(self, options):
        self.options = options
        return self.listener


@few_games
def test_who_follows_knows_the_options_but_not_what_is_paid_where_it_plays(game):
    known = []
    for paid in ("rank", "score"):
        agent = FirstLegal()
        BaseTable(game, [agent] * game.min_players, seed=1, max_steps=6, reward=paid)
        known.append(agent.options)
    agent = FirstLegal()
    play_deals(game, [agent] * game.min_players, [1], {"max_steps": 6})
    assert known[0] == known[1] == agent.options
    assert known[0]["max_steps"] == 6
    assert known[0].keys() == {option.name for option in game.options} - {"reward"}


@few_games
def test_an_agent_that_is_given_twice_follows_for_both_seats(game):
    agent = FirstLegal()
    seating = np.arange(game.max_players)[None] % 3
    arena = Arena(game, 1, [agent, agent, agent], max_steps=40, keep_histories=True)
    n = min(3, game.max_players)
    arena.start(np.zeros(1, np.int64), np.ones(1, np.uint64), np.array([n]), seating)
    steps = int(arena.states["steps"][0])
    assert agent.listener.seats == {0: list(range(n))}
    assert agent.listener.told[0] == arena.histories[0, :steps].tolist()
    assert agent.listener.ended == [(0, None)]


@few_games
def test_who_follows_at_a_table_is_told_of_a_game_that_is_given_to_its_end(game):
    n = game.min_players
    table = BaseTable(game, [None] * n, seed=1, max_steps=6)
    while not table.is_over:
        table.step(table.legal_actions()[0])
    agent, (seed, actions) = FirstLegal(), table.history
    table.begin(seed, [agent] * n, actions[:-1])
    assert agent.listener.told[0] == [*actions[:-1]]
    assert agent.listener.ended == []
    table.begin(seed, actions=actions)
    assert agent.listener.seats == {0: list(range(n))}
    assert agent.listener.told[0] == [*actions]
    assert agent.listener.ended == [(0, None)]


@few_games
def test_a_policy_that_comes_out_of_a_pickle_plays_on(game):
    """Also where its arrays are read-only, as in another process."""
    agent = NetworkAgent(network_of(game, activation="relu"), "policy", seed=3)
    states = positions_of(game, game.min_players)[0]
    turn = turn_of(game, states, np.zeros(1, np.int64), View())
    buffers = []
    data = pickle.dumps(agent, protocol=5, buffer_callback=buffers.append)
    again = pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])
    assert not again.network.layers[0][0].flags.writeable
    for _ in range(5):
        assert again.act(turn).tolist() == agent.act(turn).tolist()


@few_games
def test_a_table_plays_the_game_of_its_seed_with_the_agents_that_are_named(game):
    """As an environment whose agents are asked by hand; an undone decision changes nothing."""
    n = game.default_players
    names = ["random", game.default_opponent, lambda _, action_mask: action_mask.argmax(1), None]
    named = [names[k % 4] for k in range(n)]
    options = kit_of(game).short_options
    table = card_envs.Table(game.name, named, seed=5, **options)
    env = card_envs.make(game.name, num_players=n, **options)
    env.reset(seed=5)
    by_hand = [agent and as_agent(agent, game, 5 + k) for k, agent in enumerate(named, 1)]
    paid = np.zeros(n)
    for number in range(60):
        if table.is_over:
            break
        assert table.states.tobytes() == env.states.tobytes()
        assert table.legal_actions() == env.legal_actions()
        agent, player = by_hand[table.player], table.player
        assert env.agent_selection == f"player_{player}"
        expected = env.legal_actions()[-1] if agent is None else choose(agent, game, env.states)
        if number % 7 == 3:
            before = table.states.tobytes()
            table.step(table.legal_actions()[0])
            table.undo(number)
            assert table.states.tobytes() == before
        assert table.step(expected if agent is None else None) == expected
        env.step(expected)
        paid += list(env.rewards.values())
        assert table.history == env.history
        assert table.returns.tolist() == paid.tolist()
    assert Replay.of(table) == Replay.of(env)
    assert table.places == [info["place"] for info in env.infos.values() if info]


def test_a_table_closes_its_agents():
    game, closed = EACH_GAME[0].values[0], []

    class Closing(RandomAgent):
        def close(self):
            closed.append(self)

    agents = [Closing(game) for _ in range(game.min_players)]
    card_envs.Table(game.name, agents, seed=1).close()
    assert closed == agents


def test_agents_who_leave_a_table_are_closed_and_forgotten():
    game, closed = EACH_GAME[0].values[0], []

    class Closing(FirstLegal):
        def close(self):
            closed.append(self)

    n = game.min_players
    first, second = ([Closing() for _ in range(n)] for _ in range(2))
    table = card_envs.Table(game.name, first, seed=1)
    table.begin(2, [first[0], *second[1:]])
    assert closed == first[1:]
    table.begin(3)
    assert closed == first[1:]
    assert len(table._followers._known) == n


def test_a_game_whose_agents_fail_to_begin_leaves_the_one_before():
    game = EACH_GAME[0].values[0]
    n = game.min_players

    class Fails(FirstLegal):
        def follow(self, options):
            raise ValueError("no")

    class FailsLater(FirstLegal):
        def __init__(self):
            super().__init__()
            self.listener.begin = None

    table = card_envs.Table(game.name, [None] * n, seed=1)
    table.step(table.legal_actions()[0])
    before = table.states.tobytes(), table.history, table.num_players, table.agents
    for agent, error in ((Fails(), ValueError), (FailsLater(), TypeError)):
        with pytest.raises(error):
            table.begin(2, [agent] + [None] * n)
        assert before == (table.states.tobytes(), table.history, table.num_players, table.agents)
    Replay.of(table).play()
    table.step(table.legal_actions()[0])


def test_a_table_says_what_is_wrong_and_changes_nothing():
    game = EACH_GAME[0].values[0]
    n = game.min_players
    table = card_envs.Table(game.name, [None] * n, seed=1)
    stranger = HeuristicAgent(EACH_GAME[1].values[0])
    before = table.states.tobytes(), table.history, table.num_players, table.agents
    for call, message in (
        (table.step, f"player {table.player} has no agent"),
        (lambda: table.step(-1), "action -1 is not legal here; legal actions"),
        (lambda: table.undo(0), "there is no decision 0"),
        (lambda: table.step(0.0), r"action 0\.0 is not legal here; legal actions"),
        (lambda: table.step([0]), r"action \[0\] is not legal here; legal actions"),
        (lambda: table.undo(None), "there is no decision None"),
        (lambda: table.forfeit(n), f"player must be a whole number from 0 to {n - 1}, got {n}"),
        (lambda: table.forfeit(0.5), r"player must be a whole number .*, got 0\.5"),
        (lambda: table.begin(-1), "seed"),
        (lambda: card_envs.Table(game.name, "random"), "agents must be a list, with an agent for"),
        (lambda: table.begin(1, [None] * 99), "players"),
        (lambda: table.begin(1, ["nobody"] * n), "there is no agent 'nobody'"),
        (lambda: table.begin(1, [stranger] + [None] * n), "plays"),
        (lambda: table.begin(1, [None] * (n + 1), [-1]), r"actions\[0\] is -1"),
        (lambda: card_envs.Table("no game", [None] * n), "no game"),
        (lambda: card_envs.Table(game.name, [None] * n, reward="none"), "reward must be"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()
        now = table.states.tobytes(), table.history, table.num_players, table.agents
        assert now == before
        assert not table.is_over
