"""What agents think of decisions: probabilities, values, disputes."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ALL_GAMES, EACH_GAME, FEW_GAMES, kit_of, mid_game, network_of, replayed

from card_envs.agents import (
    Agent,
    FollowingAgent,
    NetworkAgent,
    RandomAgent,
    SearchAgent,
    agent_names,
    make_agent,
)
from card_envs.agents.search.rollouts import Found
from card_envs.contract.agent import Follower, turn_of
from card_envs.engine.history import Replay
from card_envs.web.analysis import advise, find_disputes, follower_told

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
GAME = ALL_GAMES[0]
WITH_POLICY = [p for p in EACH_GAME if "ppo" in agent_names(p.values[0])]


class StubSearcher(Agent):
    """A searcher that tried the first two legal actions and likes the second one better.

    This is what a search agent offers: values with NaN where nothing was tried, and counts.
    """

    name = "stub"

    def act(self, turn):
        return np.array([np.flatnonzero(mask)[:2][-1] for mask in turn.action_mask])

    def search(self, turn):
        values = np.full(turn.action_mask.shape, np.nan)
        counts = np.zeros(turn.action_mask.shape, np.int64)
        for row, mask in enumerate(turn.action_mask):
            for k, action in enumerate(np.flatnonzero(mask)[:2]):
                values[row, action] = -0.25 + 0.5 * k
                counts[row, action] = 10 + k
        errors, seeds = np.full_like(values, np.nan), np.zeros(len(turn), np.uint64)
        return Found(self.act(turn), values, counts, errors, seeds)


@pytest.mark.parametrize("game", WITH_POLICY)
def test_a_policys_probabilities_are_a_softmax_over_the_legal_actions(game):
    agent = make_agent("ppo", game)
    assert isinstance(agent, NetworkAgent)
    env = mid_game(game, game.default_players)
    turn = turn_of(game, env.states, np.array([0]), agent.view)
    shares = agent.probabilities(turn)
    assert shares.shape == turn.action_mask.shape
    assert shares.dtype == np.float64
    assert shares.sum() == pytest.approx(1.0)
    assert (shares[turn.action_mask == 0] == 0.0).all()
    logits = agent.network.logits(turn.observation)[0].astype(float)
    legal = np.flatnonzero(turn.action_mask[0])
    ratio = np.log(shares[0, legal[0]] / shares[0, legal[-1]])
    assert ratio == pytest.approx(logits[legal[0]] - logits[legal[-1]])
    assert agent.draws or shares[0].argmax() == agent.act(turn)[0]


def test_an_advice_has_the_choice_first_then_the_likeliest():
    env = mid_game(GAME, GAME.default_players)
    advice = advise(make_agent("ppo", GAME), "ppo", GAME, env.states, 3)
    assert (advice.step, advice.agent) == (3, "ppo")
    assert advice.opinions[0].action == advice.choice
    shares = [opinion.probability for opinion in advice.opinions]
    assert shares == sorted(shares, reverse=True)
    assert len(advice.opinions) + advice.others == len(env.legal_actions())
    assert all(o.words == GAME.action_name_at(env.states, 0, o.action) for o in advice.opinions)
    assert all(o.value is None for o in advice.opinions)


def test_of_a_policy_that_draws_the_likeliest_action_is_advised():
    """What it draws may be an action that it hardly ever plays."""
    env = mid_game(GAME, GAME.default_players)
    network = network_of(GAME)
    for seed in range(20):
        agent = NetworkAgent(network, "draws", seed=seed)
        assert agent.draws
        advice = advise(agent, "draws", GAME, env.states, 0)
        shares = agent.probabilities(turn_of(GAME, env.states, np.array([0]), agent.view))[0]
        assert advice.choice == shares.argmax()
        assert max(shares) < 0.9


def test_an_agent_that_tells_nothing_but_its_choice_is_shown_with_what_was_played():
    env = mid_game(GAME, GAME.default_players)
    played = env.legal_actions()[-1]
    advice = advise(RandomAgent(GAME), "random", GAME, env.states, 0, played)
    assert {opinion.action for opinion in advice.opinions} == {advice.choice, played}


def positions_with_choice(game):
    for decisions in range(1, 30):
        env = mid_game(game, game.default_players, decisions)
        if len(env.legal_actions()) > 2:
            return env
    raise AssertionError("no such position")


def test_a_searchers_values_are_shown_where_it_has_some():
    env = positions_with_choice(GAME)
    first, second, third, *_ = env.legal_actions()
    advice = advise(StubSearcher(), "stub", GAME, env.states, 0, third)
    found = {opinion.action: opinion for opinion in advice.opinions}
    assert advice.choice == second
    assert (found[second].value, found[second].count) == (0.25, 11)
    assert (found[first].value, found[first].count) == (-0.25, 10)
    assert (found[third].value, found[third].count) == (None, None)
    assert [opinion.action for opinion in advice.opinions][:2] == [second, first]


@each_game
def test_disputes_are_the_decisions_at_which_the_searcher_disagrees(game):
    env = mid_game(game, game.default_players, 12, **kit_of(game).short_options)
    replay = Replay.of(env)
    expected = {}
    for step, (position, action) in enumerate(replayed(replay)):
        legal = position.legal_actions()
        if len(legal) > 1 and action != legal[1]:
            expected[step] = 0.5 if action == legal[0] else None
    *progress, last = find_disputes(StubSearcher(), "stub", replay)
    assert [found.done for found in progress] == list(range(len(replay.actions)))
    assert last.done == last.total == len(replay.actions)
    assert {dispute.step: dispute.loss for dispute in last.disputes} == expected
    losses = [dispute.loss for dispute in last.disputes]
    known = [loss for loss in losses if loss is not None]
    assert losses == sorted(known, reverse=True) + [None] * (len(losses) - len(known))


@each_game
def test_a_search_also_values_what_it_would_not_have_tried(game):
    replay = Replay.of(mid_game(game, game.default_players, 12, **kit_of(game).short_options))
    agent = SearchAgent(game, rollouts=4, candidates=2, caution=0.0)
    *_, last = find_disputes(agent, "search", replay)
    assert last.disputes
    assert all(dispute.loss is not None for dispute in last.disputes)


class StubFollower(Follower):
    """Searches like the stub, and remembers what it is told."""

    def __init__(self):
        self.told = []

    def begin(self, states, i, players):
        raise AssertionError("a game that is looked at does not begin")

    def watch(self, states, i, action):
        self.told.append((int(states["steps"][i]), action))

    def search(self, turn):
        assert len(self.told) == int(turn.states["steps"][0])
        return StubSearcher().search(turn)

    def decide(self, turn):
        raise AssertionError("it is asked for its values")

    def end(self, states, i, loser=None):
        raise AssertionError("a game that is looked at does not end")


class StubFollowing(StubSearcher, FollowingAgent):
    def follow(self, options):
        self.follower = StubFollower()
        return self.follower


@few_games
def test_a_searcher_that_follows_games_is_told_what_has_happened(game):
    replay = Replay.of(mid_game(game, game.default_players, 12, **kit_of(game).short_options))
    expected = [(int(env.states["steps"][0]), action) for env, action in replayed(replay)]
    agent = StubFollowing()
    found = list(find_disputes(agent, "stub", replay))
    assert agent.follower.told == expected
    assert found[-1] == list(find_disputes(StubSearcher(), "stub", replay))[-1]
    for decisions in (0, len(expected) // 2, len(expected)):
        follower = follower_told(agent, replay, decisions)
        assert follower.told == expected[:decisions]
    assert follower_told(StubSearcher(), replay, 1) is None
