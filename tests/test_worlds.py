"""Worlds for agents that search: they follow from what a seat knows, and play on as games do."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import FEW_GAMES, begin, is_over, mask_of, positions_of, stacked
from hidden import redrawn

from card_envs.agents import Agent, as_agent
from card_envs.contract.agent import turn_of
from card_envs.contract.options import View
from card_envs.contract.outcome import REWARD_MODES
from card_envs.envs import world, worlds
from card_envs.evaluation import play_deals

few_games = pytest.mark.parametrize("game", FEW_GAMES)
MANY = 12


def turn_in(game):
    """Positions in which somebody is to move, and the same with what they cannot know redrawn."""
    found = [s for s in positions_of(game, game.min_players) if not is_over(s)][:MANY]
    turns = []
    others = [
        redrawn(game, s, int(s["current_player"][0]), 9, game.rules.determinize) for s in found
    ]
    for states in (stacked(game, found), stacked(game, others)):
        turns.append(turn_of(game, states, np.arange(len(found)), View()))
    return turns


@few_games
def test_worlds_follow_from_what_the_seat_knows(game):
    true, other = turn_in(game)
    before = true.states.tobytes()
    for i in range(len(true)):
        drawn = set()
        for seed in range(6):
            env = world(true, i, seed)
            assert env.states.tobytes() == world(other, i, seed).states.tobytes()
            seen = env.last()[0]
            assert np.array_equal(seen["observation"], true.observation[i])
            assert np.array_equal(seen["action_mask"], true.action_mask[i])
            drawn.add(env.states.tobytes())
        assert len(drawn) > 1
        assert true.states[i].tobytes() not in drawn
        batch, again = worlds(true, i, 6, 3), worlds(other, i, 6, 3)
        assert batch.states.tobytes() == again.states.tobytes()
        assert np.array_equal(batch.observation, np.tile(true.observation[i], (6, 1)))
        assert np.array_equal(batch.action_mask, np.tile(true.action_mask[i], (6, 1)))
        first = batch.states.tobytes()
        for k in range(6):
            env = world(true, i, int(batch.seeds[k]))
            assert env.states.tobytes() == batch.states[k : k + 1].tobytes()
        batch.reset(4)
        assert not {*batch.seeds.tolist()} & {*again.seeds.tolist()}
        assert len({*batch.seeds.tolist()}) == 6
        batch.reset(3)
        assert batch.states.tobytes() == first
    assert true.states.tobytes() == before


@few_games
def test_worlds_play_on(game):
    turn, _ = turn_in(game)
    for view in (View(), View("none", False)):
        env, batch = world(turn, 0, 1, view), worlds(turn, 0, 3, 1, view)
        batch.states[1] = env.states[0]
        rng = np.random.default_rng(1)
        for _ in range(5000):
            actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in batch.action_mask])
            observation, _, rewards, terminated, truncated = batch.step(actions)
            env.step(int(actions[1]))
            if terminated[1] or truncated[1]:
                break
            assert np.array_equal(observation[1], env.observe(env.agent_selection)["observation"])
        assert [*env.rewards.values()] == rewards[1, : game.min_players].tolist()
        assert any(env.terminations.values()) or any(env.truncations.values())
        env.reset()
        env.step(env.legal_actions()[0])


@few_games
def test_a_world_keeps_the_options_and_cannot_be_saved(game):
    turn, _ = turn_in(game)
    options = {o.name: o.choices[-1] if o.choices else o.default for o in game.options}
    states = game.new_states(1)
    game.rules.reset(states, 0, np.uint64(1), game.max_players, *game.encode_options(options))
    env = world(turn_of(game, states, np.array([0]), View()), 0, 2)
    given = {name: value for name, value in options.items() if value is not None}
    assert env.options.items() >= {**given, "reward": "rank"}.items()
    assert env.num_players == game.max_players
    for call in (env.save, env.clone().save, lambda: env.history):
        with pytest.raises(ValueError, match="a world has no history"):
            call()
    env.reset(seed=1)  # another game, from its beginning
    assert env.history == (1, ())
    assert env.clone().save() == env.save()
    for i in (-1, len(turn), 0.0):
        for call in (lambda i=i: world(turn, i, 0), lambda i=i: worlds(turn, i, 2, 0)):
            with pytest.raises(ValueError, match=f"i must be .*from 0 to {len(turn) - 1}, got"):
                call()
    for call in (lambda: world(turn, 0, 1.5), lambda: worlds(turn, 0, 2, None)):
        with pytest.raises(TypeError, match="seed must be"):
            call()
    for n in (0, 2.0):
        with pytest.raises(ValueError, match=f"n must be a whole number of at least 1, got {n}"):
            worlds(turn, 0, n, 1)
        with pytest.raises(
            ValueError, match=f"repeat must be a whole number of at least 1, got {n}"
        ):
            worlds(turn, 0, 2, 1, repeat=n)
    for call in (world, lambda *given, **paid: worlds(*given[:2], 2, given[2], **paid)):
        with pytest.raises(
            ValueError, match="reward must be 'rank' or 'win' or 'score', got 'points'"
        ):
            call(turn, 0, 1, reward="points")
    for wrong in (env, {}):
        for call in (lambda w=wrong: world(w, 0, 1), lambda w=wrong: worlds(w, 0, 2, 1)):
            with pytest.raises(TypeError, match=r"a Turn is needed, such as turn_of\(game, "):
                call()


@few_games
def test_a_world_pays_what_is_asked_for_whatever_the_game_pays(game):
    """An agent that compares actions must not prefer others where an evaluation counts points."""
    seen = []
    for paid in REWARD_MODES:
        states = begin(game, game.min_players, seed=3, reward=paid)
        turn = turn_of(game, states, np.array([0]), View())
        for reward in ({}, *({"reward": name} for name in REWARD_MODES)):
            env, batch = world(turn, 0, 1, **reward), worlds(turn, 0, 1, 1, **reward)
            batch.states[0] = env.states[0]
            assert env.options["reward"] == reward.get("reward", "rank")
            while legal := env.legal_actions():
                action = legal[0]
                env.step(action)
                _, _, rewards, _, _ = batch.step(np.array([action]))
                assert rewards[0, : game.min_players].tolist() == [*env.rewards.values()]
            seen.append(tuple(env.rewards.values()))
    n = len(REWARD_MODES) + 1
    assert seen[:n] == seen[n : 2 * n] == seen[2 * n :]
    assert seen[0] == seen[1]
    assert len({*seen}) > 1


@few_games
def test_repeated_worlds_are_the_same_ones(game):
    turn, _ = turn_in(game)
    batch, once = worlds(turn, 0, 3, 5, repeat=4), worlds(turn, 0, 3, 5)
    assert batch.num_envs == 12
    assert batch.seeds.tolist() == np.repeat(once.seeds, 4).tolist()
    assert batch.states.tobytes() == np.repeat(once.states, 4).tobytes()
    assert np.array_equal(batch.observation, np.repeat(once.observation, 4, axis=0))
    assert np.array_equal(batch.action_mask, np.repeat(once.action_mask, 4, axis=0))


@few_games
def test_one_thread_at_a_time_draws_worlds(game, monkeypatch):
    batch, determinize = worlds(turn_in(game)[0], 0, 2, 1), game.rules.determinize
    is_locked = []

    def watched(*arguments):
        is_locked.append(batch._in_use)
        determinize(*arguments)

    monkeypatch.setattr(game.rules, "determinize", watched)
    batch.reset(2)
    assert is_locked == [True, True]


@few_games
def test_a_game_that_is_over_has_no_worlds(game):
    states = begin(game, game.min_players, seed=1, max_steps=1)
    game.rules.step(states, 0, int(np.flatnonzero(mask_of(game, states))[0]))
    turn = turn_of(game, states, np.array([0]), View())
    for call in (lambda: world(turn, 0, 1), lambda: worlds(turn, 0, 2, 1)):
        with pytest.raises(ValueError, match="game 0 of the turn is over"):
            call()


class Rollouts(Agent):
    """Takes the action after which a game of first legal actions ends best, in a world each."""

    name = "rollouts"

    def __init__(self, game, seed):
        self.seed = seed

    def act(self, turn):
        actions = []
        for i in range(len(turn)):
            legal = np.flatnonzero(turn.action_mask[i])
            batch = worlds(turn, i, 4, self.seed, repeat=len(legal))
            player = int(batch.current_player[0])
            done, value = np.zeros(batch.num_envs, bool), np.zeros(batch.num_envs)
            taken = np.tile(legal, 4)
            for _ in range(40):
                _, action_mask, rewards, terminated, truncated = batch.step(taken)
                value += np.where(done, 0.0, rewards[:, player])
                done |= terminated | truncated
                taken = action_mask.argmax(axis=1)
            actions.append(legal[value.reshape(4, -1).mean(axis=0).argmax()])
        return np.array(actions)


@few_games
def test_an_agent_that_searches_by_worlds_knows_no_more_than_its_seat(game):
    true, other = turn_in(game)
    agent = as_agent(Rollouts, game, 5)
    assert agent.act(true).tolist() == agent.act(other).tolist()
    table = [agent, *["random"] * (game.min_players - 1)]
    played = play_deals(game, table, np.arange(2), {"max_steps": 60})
    assert played.rank.shape == (2, game.min_players, game.min_players)
