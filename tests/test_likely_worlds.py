"""Worlds that agree with what others have done: what is remembered, and what is made of it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ALL_GAMES, begin, copy_of, is_over, kit_of, mask_of
from hidden import redrawn

from card_envs.agents import PolicyAgent, SearchAgent
from card_envs.agents.network import Network
from card_envs.agents.search import PastDecision
from card_envs.engine.agent import turn_of
from card_envs.engine.game import Game
from card_envs.engine.jit import COMPILED
from card_envs.engine.likely_worlds import choose_seeds, log_probability
from card_envs.engine.rng import seed_in
from card_envs.evaluation import evaluate

LOOKING_BACK = [pytest.param(game, id=game.id) for game in ALL_GAMES if game.look_back is not None]
looking_back = pytest.mark.parametrize("game", LOOKING_BACK)
DECISIONS = 150 if COMPILED else 40
ROLLOUTS = 16 if COMPILED else 4


def round_of(game: Game, states: np.ndarray) -> int:
    return 0 if game.round_of is None else game.round_of(states, 0)


def course_of(game: Game, num_players: int, seed: int):
    """Positions of a game at random, each with what has been done in the round before."""
    rng = np.random.default_rng(seed)
    states = begin(game, num_players, seed, max_steps=DECISIONS)
    past: list[PastDecision] = []
    while not is_over(states):
        past = [one for one in past if round_of(game, one.states) == round_of(game, states)]
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


def searcher(game: Game, **options) -> SearchAgent:
    policy = PolicyAgent(biased_network(game), "policy")
    return SearchAgent(
        game, rollouts=ROLLOUTS, policy=policy, proposer=policy, caution=0.0, **options
    )


@looking_back
def test_a_search_knows_what_the_player_knows_of_the_past(game):
    """The choice is the same in another world with a past that agrees with it, and it depends on
    what was done."""
    agent, forgetful = searcher(game, worlds=16), searcher(game, worlds=0)
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


@looking_back
def test_a_follower_remembers_what_others_did_in_the_round(game):
    agent = searcher(game)
    follower = agent.follow({})
    num_players = game.min_players
    asked = []

    def search_after(turn, past):
        asked.append(past)
        return (turn.action_mask.argmax(axis=1),)

    agent.search_after = search_after
    compared = 0
    for seed in range(2):  # the second game, in the same place, knows nothing of the first
        states = begin(game, num_players, seed, max_steps=DECISIONS)
        follower.begin(states, 0, [0])
        expected: list[PastDecision] = []
        rng = np.random.default_rng(seed)
        while not is_over(states):
            expected = [
                one for one in expected if round_of(game, one.states) == round_of(game, states)
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
@looking_back
def test_evaluations_play_the_same_alone_as_together(game):
    table = [searcher(game), *[kit_of(game).game.default_opponent] * (game.min_players - 1)]
    both = evaluate(game, table, deals=2, seed=3, options={"max_steps": 200})
    again = evaluate(game, table, deals=2, seed=3, options={"max_steps": 200})
    assert both.agents[0].rank == again.agents[0].rank


def test_the_probability_of_a_decision():
    """The policy's, but for slips; certain if it was forced, next to nothing if it was illegal."""
    logits = np.log(np.array([0.6, 0.3, 0.1, 5.0], np.float32))
    mask = np.array([1, 1, 1, 0], np.int8)
    probabilities = [np.exp(log_probability(logits, mask, action, 3)) for action in range(3)]
    np.testing.assert_allclose(probabilities, 0.95 * np.array([0.6, 0.3, 0.1]) + 0.05 / 3)
    assert log_probability(logits, np.array([0, 1, 0, 0], np.int8), 1, 1) == 0.0
    assert log_probability(logits, mask, 3, 3) < -20


def numbers_of(weights, stream, count):
    """How often each world is chosen."""
    stream = np.uint64(stream)
    seeds = np.zeros(count, np.uint64)
    choose_seeds(np.log(weights), stream, seeds)
    names = {int(seed_in(stream, w)): w for w in range(len(weights))}
    return np.bincount([names[seed] for seed in seeds.tolist()], minlength=len(weights))


def test_worlds_are_chosen_in_proportion_to_their_weights():
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    for stream in (1, 2**63 + 7):
        shares = numbers_of(weights, stream, 4000) / 4000
        np.testing.assert_allclose(shares, weights / weights.sum(), atol=2e-3)


def test_a_few_likely_worlds_are_not_all_that_is_looked_at():
    """Weights are evened out, but stay in their order."""
    weights = np.full(60, 1e-9)
    weights[:3] = 1.0, 0.5, 1e-4
    numbers = numbers_of(weights, 5, 600)
    assert 1 < numbers[0] / numbers[1] < 2
    assert numbers[1] > numbers[2] > numbers[3:].max() > 0
    shares = numbers / numbers.sum()
    assert 1.0 / (shares**2).sum() == pytest.approx(0.3 * 60, abs=2.0)


@looking_back
def test_what_was_before_a_game_was_redrawn_is_forgotten(game):
    """As when a person at the table takes a decision back: the cards are others now."""
    agent = searcher(game)
    asked = []
    agent.search_after = lambda turn, past: asked.append(past) or (turn.action_mask.argmax(axis=1),)
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
