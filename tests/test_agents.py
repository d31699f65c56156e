"""Agents: random, heuristic, networks; and that batches play as single environments do."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    TABLES,
    begin,
    is_over,
    mask_of,
    module_of,
    observation_of,
    some_positions,
    table_sizes,
)

import card_envs
from card_envs.agents import HeuristicAgent, NetworkAgent, RandomAgent, make_agent, shipped_policies
from card_envs.agents.network import Network
from card_envs.engine.arena import Arena
from card_envs.engine.seeds import next_seeds, random_action
from card_envs.engine.templates import NOBODY
from card_envs.envs.seat import SeatEnv

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)


def inputs_of(game, count=200):
    """Observations (M, D) and masks (M, A) of players to move, of all table sizes."""
    observations, masks = [], []
    for num_players in table_sizes(game):
        for states in some_positions(game, num_players, count):
            if not is_over(states):
                player = int(states["current_player"][0])
                observations.append(observation_of(game, states, player))
                masks.append(mask_of(game, states))
    return np.array(observations), np.array(masks)


# ---------------------------------------------------------------------------------------------
# Scripted agents
# ---------------------------------------------------------------------------------------------


@each_game
def test_random_is_uniform_over_the_legal_actions(game):
    masks = inputs_of(game)[1]
    kinds = np.unique(masks, axis=0)
    draws = 4000
    for mask in (kinds[np.argmin(kinds.sum(axis=1))], kinds[np.argmax(kinds.sum(axis=1))]):
        agent = RandomAgent(game, 7)
        drawn = agent.act(np.zeros((draws, game.fields.size)), np.tile(mask, (draws, 1)))
        counts = np.bincount(drawn, minlength=game.num_actions)
        legal = mask == 1
        assert counts[~legal].sum() == 0
        expected = draws / legal.sum()
        # Chi-square: its mean is the degrees of freedom, its variance twice that.
        freedom = legal.sum() - 1
        statistic = ((counts[legal] - expected) ** 2 / expected).sum()
        assert statistic <= freedom + 4 * np.sqrt(2 * freedom)


@each_game
def test_random_depends_on_its_seed_alone(game):
    observations, masks = inputs_of(game)
    first, again, other = (RandomAgent(game, s).act(observations, masks) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert masks[np.arange(len(masks)), first].all()
    agent = RandomAgent(game, 1)
    states = begin(game, game.min_players, 3)
    chosen = [agent.choose(states, 0) for _ in range(30)]
    mask = mask_of(game, states)
    assert chosen == RandomAgent(game, 1).act(observations[:30], np.tile(mask, (30, 1))).tolist()


@pytest.mark.parametrize("memory", ["perfect", "none"])
@tables
def test_the_heuristic_is_legal_everywhere_and_beats_random(game, num_players, memory):
    agent = HeuristicAgent(game)
    for states in some_positions(game, num_players, 600, memory=memory):
        if not is_over(states):
            before = states.tobytes()
            assert mask_of(game, states)[agent.choose(states, 0)] == 1
            assert states.tobytes() == before
    with pytest.raises(NotImplementedError, match="choose"):
        agent.act(np.zeros((1, game.fields.size)), np.ones((1, game.num_actions)))
    games = 200
    arena = Arena(game, games, [agent, RandomAgent(game)], memory=memory)
    seats = np.ones((games, game.max_players), np.int64)
    seats[np.arange(games), np.arange(games) % num_players] = 0
    numbers = np.arange(games)
    arena.start(numbers, numbers.astype(np.uint64), np.full(games, num_players), seats)
    assert (arena.waiting == NOBODY).all()
    assert arena.returns[numbers, numbers % num_players].mean() > 0.5


@each_game
def test_agents_by_name(game, tmp_path):
    assert isinstance(make_agent("random", game), RandomAgent)
    assert isinstance(make_agent("heuristic", game), HeuristicAgent)
    assert make_agent("random", game, seed=3)._streams[0] == RandomAgent(game, 3)._streams[0]
    states = begin(game, game.min_players, 1)
    for name in shipped_policies(game):
        agent = make_agent(name, game)
        assert agent.name == name
        assert mask_of(game, states)[agent.choose(states, 0)] == 1


# ---------------------------------------------------------------------------------------------
# Networks
# ---------------------------------------------------------------------------------------------


def fresh_model(game, activation, hidden, seed=3):
    import torch
    from sb3_contrib import MaskablePPO
    from torch import nn

    model = MaskablePPO(
        "MlpPolicy",
        SeatEnv(game.id),
        n_steps=8,
        batch_size=8,
        seed=seed,
        device="cpu",
        policy_kwargs={
            "net_arch": {"pi": hidden, "vf": [8]},
            "activation_fn": {"relu": nn.ReLU, "tanh": nn.Tanh}[activation],
        },
    )
    with torch.no_grad():  # a fresh policy is nearly uniform; make it choose
        model.policy.action_net.weight *= 50.0
        model.policy.action_net.bias.uniform_(-1.0, 1.0)
    return model


@pytest.mark.parametrize(
    ("activation", "hidden"), [("relu", [32, 16]), ("tanh", [24]), ("relu", [])]
)
@each_game
def test_numpy_inference_is_the_torch_policys(game, activation, hidden, tmp_path):
    import torch

    from training.export import export_policy

    model = fresh_model(game, activation, hidden)
    card = {"name": "fresh", "game": game.name}
    path = export_policy(model.policy, game, activation, tmp_path, card)
    assert path == tmp_path / "fresh.safetensors"
    assert json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) == card
    agent = make_agent(str(path), game)
    observations, masks = inputs_of(game)
    expected, _ = model.predict(observations, action_masks=masks, deterministic=True)
    chosen = agent.act(observations, masks)
    assert np.array_equal(chosen, expected)
    assert masks[np.arange(len(masks)), chosen].all()
    assert len(np.unique(chosen)) > 3
    with torch.no_grad():
        features = model.policy.mlp_extractor.forward_actor(torch.as_tensor(observations))
        logits = model.policy.action_net(features).numpy()
    np.testing.assert_allclose(agent.network.logits(observations), logits, rtol=1e-4, atol=1e-4)
    again = export_policy(model.policy, game, activation, tmp_path, {"name": "again"})
    assert again.read_bytes() == path.read_bytes()


@each_game
def test_a_network_does_not_change_what_it_is_given(game):
    network = network_of(game)
    observations, masks = inputs_of(game, 20)
    kept = observations.copy(), masks.copy()
    first = network.act(observations, masks)
    network.act(observations, masks, np.random.default_rng(1))
    assert np.array_equal(observations, kept[0])
    assert np.array_equal(masks, kept[1])
    assert np.array_equal(network.act(observations, masks), first)
    one_by_one = [network.act(observations[k : k + 1], masks[k : k + 1])[0] for k in range(30)]
    assert one_by_one == first[:30].tolist()


def network_of(game, seed=1):
    rng = np.random.default_rng(seed)
    sizes = [game.fields.size, 16, game.num_actions]
    layers = [
        (
            rng.standard_normal((after, before)).astype(np.float32) / np.sqrt(before),
            rng.standard_normal(after).astype(np.float32),
        )
        for before, after in pairwise(sizes)
    ]
    return Network(layers, "tanh")


@each_game
def test_sampling_follows_the_masked_distribution(game):
    network = network_of(game)
    observations, masks = inputs_of(game, 50)
    draws = 20_000
    tested = 0
    for k in np.unique(masks, axis=0, return_index=True)[1][:6]:
        legal = masks[k] == 1
        logits = network.logits(observations[k : k + 1])[0].astype(float)
        weights = np.where(legal, np.exp(logits - logits[legal].max()), 0.0)
        expected = draws * weights / weights.sum()
        drawn = network.act(
            np.repeat(observations[k : k + 1], draws, axis=0),
            np.repeat(masks[k : k + 1], draws, axis=0),
            np.random.default_rng(k),
        )
        counts = np.bincount(drawn, minlength=game.num_actions)
        assert counts[~legal].sum() == 0
        spread = np.sqrt(np.maximum(expected, 1.0))
        assert (np.abs(counts - expected) <= 4.5 * spread).all()
        tested += legal.sum() > 1
    assert tested > 1


@each_game
def test_an_agent_with_a_generator_samples_and_one_without_does_not(game, tmp_path):
    from training.export import export_policy

    path = export_policy(
        fresh_model(game, "relu", [8]).policy, game, "relu", tmp_path, {"name": "p"}
    )
    observations, masks = inputs_of(game)
    likeliest = NetworkAgent(path, game)
    first = NetworkAgent(path, game, rng=np.random.default_rng(1)).act(observations, masks)
    again = NetworkAgent(path, game, rng=np.random.default_rng(1)).act(observations, masks)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, likeliest.act(observations, masks))
    assert likeliest.name == str(path)
    assert NetworkAgent(path, game, name="mine").name == "mine"


# ---------------------------------------------------------------------------------------------
# The arena
# ---------------------------------------------------------------------------------------------


class NetworkInMemory:
    """A network as an agent of the arena; it counts what it is asked."""

    name = "in memory"

    def __init__(self, game, seed):
        self.network = network_of(game, seed)
        self.asked = 0

    def act(self, observation, action_mask):
        assert action_mask.any(axis=1).all()
        self.asked += len(observation)
        return self.network.act(observation, action_mask)


@tables
def test_the_arena_plays_as_single_environments_do(game, num_players):
    games = 24
    agents = [
        HeuristicAgent(game),
        RandomAgent(game),
        NetworkInMemory(game, 1),
        NetworkInMemory(game, 2),
    ]
    rng = np.random.default_rng(num_players)
    arena = Arena(game, games, agents, reward="score")
    numbers = np.arange(games)
    seeds = rng.integers(0, 2**64, games, np.uint64)
    seats = rng.integers(0, len(agents), (games, game.max_players))
    arena.start(numbers, seeds, np.full(games, num_players), seats)
    assert (arena.waiting == NOBODY).all()
    asked = sum(agent.asked for agent in agents[2:])
    in_single_games = 0
    for i in range(games):
        env = module_of(game).env(num_players=num_players, reward="score")
        env.reset(seed=int(seeds[i]))
        stream = next_seeds(seeds[i : i + 1])
        returns = np.zeros(game.max_players)
        while legal := env.legal_actions():
            player = env.possible_agents.index(env.agent_selection)
            agent = agents[seats[i, player]]
            view = env.last()[0]
            if isinstance(agent, HeuristicAgent):
                action = agent.choose(env.states, 0)
            elif isinstance(agent, RandomAgent):
                action = random_action(stream, 0, view["action_mask"], len(legal))
            else:
                action = agent.act(view["observation"][None], view["action_mask"][None])[0]
                in_single_games += 1
            env.step(int(action))
            returns[:num_players] += list(env.rewards.values())
        assert env.states[0].tobytes() == arena.states[i].tobytes()
        assert arena.returns[i].tolist() == returns.tolist()
    assert asked == in_single_games > 0


@each_game
def test_the_arena_leaves_the_callers_seats_to_him(game):
    games, n = 10, game.max_players
    arena = Arena(game, games, [None, HeuristicAgent(game)], skip_forced=True)
    numbers = np.arange(games)
    seats = np.ones((games, n), np.int64)
    seats[:, 1] = 0
    arena.start(numbers, numbers.astype(np.uint64), np.full(games, n), seats)
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
    assert decisions > games
    assert arena.states["terminated"].all()
    assert arena.returns.sum(axis=1) == pytest.approx(np.zeros(games), abs=1e-9)


def test_every_game_can_be_loaded_once():
    assert [card_envs.load_game(game.id) is game for game in ALL_GAMES] == [True] * len(ALL_GAMES)
