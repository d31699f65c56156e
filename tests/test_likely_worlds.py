"""Worlds that agree with what others have done: what is remembered, and what is made of it."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from helpers import ALL_GAMES, begin, copy_of, is_over, kit_of, mask_of
from hidden import redrawn

from card_envs.agents import NetworkAgent, SearchAgent
from card_envs.agents.network import Network
from card_envs.agents.search.follower import PastDecision
from card_envs.agents.search.likely_worlds import add_up, draw_world, log_probability
from card_envs.contract.agent import turn_of
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds, play_deals
from card_envs.kernels.jit import COMPILED

LOOKING_BACK = [pytest.param(game, id=game.id) for game in ALL_GAMES if game.look_back is not None]
looking_back = pytest.mark.parametrize("game", LOOKING_BACK)
DECISIONS = 150 if COMPILED else 40
ROLLOUTS = 16 if COMPILED else 4


def course_of(game: Game, num_players: int, seed: int):
    """Positions of a game at random, each with what has been done in the round before."""
    rng = np.random.default_rng(seed)
    states = begin(game, num_players, seed, max_steps=DECISIONS)
    past: list[PastDecision] = []
    while not is_over(states):
        past = [one for one in past if game.round_of(one.states, 0) == game.round_of(states, 0)]
        yield states, past
        action = int(rng.choice(np.flatnonzero(mask_of(game, states))))
        past.append(PastDecision(copy_of(game, states), action))
        game.rules.step(states, 0, action)


def positions_with_past(game: Game, seeds: int = 3):
    """Positions, and one decision of somebody else in the same round."""
    rng = np.random.default_rng(0)
    for seed in range(seeds):
        for num_players in (game.min_players, game.max_players):
            for states, past in course_of(game, num_players, seed):
                player = states["current_player"][0]
                others = [one for one in past if one.states["current_player"][0] != player]
                if others:
                    yield states, others[rng.integers(len(others))]


def looked_back(game: Game, before: np.ndarray, now: np.ndarray, world: np.ndarray):
    """What becomes of an earlier record, or None."""
    copy = copy_of(game, before)
    return copy if game.look_back(copy, 0, now, 0, world, 0) else None


def seen_by(game: Game, states: np.ndarray, player: int) -> bytes:
    observation = np.zeros(game.fields.size, np.float32)
    game.observe(states, 0, player, 0, 1, observation)
    return observation.tobytes()


@looking_back
def test_looking_back_from_what_is_finds_what_was(game):
    found = 0
    for states, (before, _) in positions_with_past(game):
        again = looked_back(game, before, states, states)
        if again is not None:
            found += 1
            assert again.tobytes() == before.tobytes()
    assert found > 20


@looking_back
def test_what_was_done_could_be_done_in_every_world(game):
    """And nothing changes that the player to move now could see then."""
    changed = 0
    for number, (states, (before, action)) in enumerate(positions_with_past(game)):
        player, mover = (int(one["current_player"][0]) for one in (states, before))
        world = redrawn(game, states, player, number, game.rules.determinize)
        then = looked_back(game, before, states, world)
        if then is not None:
            assert mask_of(game, then)[action]
            assert seen_by(game, then, player) == seen_by(game, before, player)
            changed += seen_by(game, then, mover) != seen_by(game, before, mover)
    assert changed > 20


@looking_back
def test_looking_back_tells_nothing_of_what_is_hidden(game):
    """It is the same if another world were the true one, with a past that agrees with it."""
    compared = 0
    for number, (states, (before, _)) in enumerate(positions_with_past(game)):
        player, mover = (int(one["current_player"][0]) for one in (states, before))
        world, other = (
            redrawn(game, states, player, seed, game.rules.determinize)
            for seed in (2 * number, 2 * number + 1)
        )
        then = looked_back(game, before, states, world)
        other_past = looked_back(game, before, states, other)
        if then is None:
            assert other_past is None
            continue
        compared += 1
        again = looked_back(game, other_past, other, world)
        assert seen_by(game, again, mover) == seen_by(game, then, mover)
    assert compared > 20


def biased_network(game: Game, seed: int = 0) -> Network:
    """Any policy that is far from indifferent."""
    rng = np.random.default_rng(seed)
    weight = rng.normal(0.0, 3.0, (game.num_actions, game.fields.size)).astype(np.float32)
    return Network([(weight, np.zeros(game.num_actions, np.float32))], "relu")


def searcher(game: Game, caution: float | None = 0.0, **options) -> SearchAgent:
    policy = NetworkAgent(biased_network(game), "policy")
    return SearchAgent(
        game, rollouts=ROLLOUTS, policy=policy, proposer=policy, caution=caution, **options
    )


@pytest.mark.slow
@looking_back
def test_a_search_knows_what_the_player_knows_of_the_past(game):
    """The choice is the same in another world with a past that agrees with it, and it depends on
    what was done."""
    agent, forgetful = (searcher(game, worlds=n, max_decisions=40) for n in (16, 0))
    compared = differing = 0
    for number, (states, decision) in enumerate(positions_with_past(game, 1)):
        player = int(states["current_player"][0])
        other = redrawn(game, states, player, number, game.rules.determinize)
        then = looked_back(game, decision.states, states, other)
        if then is None or mask_of(game, states).sum() == 1:
            continue
        true, alternative = (
            turn_of(game, one, np.array([0]), agent.view) for one in (states, other)
        )
        found = agent.search_after(true, [[decision]])
        again = agent.search_after(alternative, [[PastDecision(then, decision.action)]])
        for expected, actual in zip(found, again, strict=True):
            np.testing.assert_array_equal(actual, expected)
        unaware = agent.search(true)
        for expected, actual in zip(unaware, forgetful.search(true), strict=True):
            np.testing.assert_array_equal(actual, expected)
        compared += 1
        differing += not np.array_equal(found[1], unaware[1], equal_nan=True)
    assert compared > 10
    assert differing > 5


@pytest.mark.slow
@looking_back
def test_caution_is_less_where_worlds_are_weighed(game):
    usual, two, less = (searcher(game, one, max_decisions=20) for one in (None, 2.0, 1.25))
    matters = False
    for asked, (states, decision) in enumerate(positions_with_past(game)):
        turn = turn_of(game, states, np.array([0]), usual.view)
        alone = [int(agent.act(turn)[0]) for agent in (usual, two, less)]
        after = [int(a.search_after(turn, [[decision]])[0][0]) for a in (usual, less, two)]
        assert alone[0] == alone[1]
        assert after[0] == after[1]
        matters |= len(set(alone)) > 1 or len(set(after)) > 1
        if asked >= 20 and matters:
            break
    assert matters or not COMPILED


@looking_back
def test_a_follower_remembers_what_others_did_in_the_round(game):
    agent = searcher(game)
    num_players = game.min_players
    asked = []

    def search_after(turn, past, also):
        asked.append(past)
        return Mock(actions=turn.action_mask.argmax(axis=1))

    agent.search_after = search_after
    follower = agent.follow({})
    compared = 0
    for seed in range(2):  # the second game, in the same place, knows nothing of the first
        states = begin(game, num_players, seed, max_steps=DECISIONS)
        follower.begin(states, 0, [0])
        expected: list[PastDecision] = []
        rng = np.random.default_rng(seed)
        while not is_over(states):
            expected = [
                one for one in expected if game.round_of(one.states, 0) == game.round_of(states, 0)
            ]
            player = states["current_player"][0]
            follower.decide(turn_of(game, states, np.array([0]), agent.view))
            others = [one for one in expected if one.states["current_player"][0] != player][-16:]
            ((*past,),) = asked.pop()
            assert [one.action for one in past] == [one.action for one in others]
            for mine, yours in zip(past, others, strict=True):
                assert mine.states == yours.states
            compared += len(others)
            action = int(rng.choice(np.flatnonzero(mask_of(game, states))))
            expected.append(PastDecision(states.copy(), action))
            follower.watch(states, 0, action)
            game.rules.step(states, 0, action)
        follower.end(states, 0)
    assert compared > 20


@pytest.mark.skipif(not COMPILED, reason="takes too long as plain Python")
@pytest.mark.slow
@looking_back
def test_evaluations_play_the_same_alone_as_together(game):
    table = [searcher(game), *[kit_of(game).game.default_opponent] * (game.min_players - 1)]
    seeds, options = deal_seeds(3, 2), {"max_steps": 200}
    together = play_deals(game, table, seeds, options)
    for k in range(2):
        alone = play_deals(game, table, seeds[k : k + 1], options)
        assert np.array_equal(alone.standing[0], together.standing[k])
        assert np.array_equal(alone.score[0], together.score[k])


def test_the_probability_of_a_decision():
    """The policy's, but for slips; certain if it was forced, next to nothing if it was illegal."""
    logits = np.log(np.array([0.6, 0.3, 0.1, 5.0], np.float32))
    mask = np.array([1, 1, 1, 0], np.int8)
    probabilities = [np.exp(log_probability(logits, mask, action, 3)) for action in range(3)]
    np.testing.assert_allclose(probabilities, 0.95 * np.array([0.6, 0.3, 0.1]) + 0.05 / 3)
    assert log_probability(logits, np.array([0, 1, 0, 0], np.int8), 1, 1) == 0.0
    assert log_probability(logits, mask, 3, 3) < -20


def shares_of(weights, used):
    """With which probability each world is drawn."""
    sums = np.log(weights)
    total = add_up(sums, used)
    return np.diff(sums, prepend=0.0) / total


def worlds_of(weights, place, count):
    """Which worlds are played in, and how often each counts."""
    sums = np.cumsum(weights)
    slots, counts = np.full(len(weights), -1), np.zeros(count)
    worlds = []
    for done in range(count):
        world, place = draw_world(sums, sums[-1], place, slots, counts, done)
        if world < 0:
            break
        worlds.append(world)
    return worlds, counts[: len(worlds)]


def test_worlds_count_in_proportion_to_their_weights():
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    weights[7] = 20.0
    for place in (0.1, 0.9):
        worlds, counts = worlds_of(weights, place, 40)
        assert len(set(worlds)) == len(worlds) == 40
        shares = weights[worlds] / weights.sum()
        np.testing.assert_allclose(counts / counts.sum(), shares, atol=2e-2)
        few, counts = worlds_of(weights, place, 9)
        assert few == worlds[:9]
        assert counts[few.index(7)] > 2
        assert (np.delete(counts, few.index(7)) == 1).all()


def test_there_are_no_more_worlds_than_can_be():
    worlds, counts = worlds_of(np.array([1.0, 0.0, 2.0, 0.0]), 0.3, 4)
    assert sorted(worlds) == [0, 2]
    assert len(counts) == 2


@pytest.mark.parametrize(("used", "worth"), [(8, 8), (100, 0.3 * 60)])
def test_a_few_likely_worlds_are_not_all_that_is_looked_at(used, worth):
    """Weights are evened out, but stay in their order."""
    weights = np.full(60, 1e-9)
    weights[:3] = 1.0, 0.5, 1e-4
    shares = shares_of(weights, used)
    assert 1 < shares[0] / shares[1] < 2
    assert shares[1] > shares[2] > shares[3:].max() > 0
    assert 1.0 / (shares**2).sum() == pytest.approx(worth, rel=0.02)


def test_weights_that_are_even_enough_stay():
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    np.testing.assert_allclose(shares_of(weights, 8), weights / weights.sum(), rtol=1e-6)


@looking_back
def test_what_was_before_a_game_was_redrawn_is_forgotten(game):
    """As when a person at the table takes a decision back: the cards are others now."""
    agent = searcher(game)
    asked = []
    found = Mock(actions=np.zeros(1, np.int64))
    agent.search_after = lambda turn, past, also: asked.append(past) or found
    states, past = next(
        (states, past)
        for states, past in course_of(game, game.min_players, 0)
        if any(one.states["current_player"][0] != states["current_player"][0] for one in past)
    )
    follower = agent.follow(None)
    follower.begin(states, 0, [0])
    for before, action in past:
        follower.watch(before, 0, action)
    other = redrawn(game, states, int(states["current_player"][0]), 1, game.rules.determinize)
    for position in (states, other):
        follower.decide(turn_of(game, position, np.array([0]), agent.view))
    assert [len(one) > 0 for (one,) in asked] == [True, False]
