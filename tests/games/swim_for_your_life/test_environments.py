"""Swim for Your Life in environments: players who are out while the game continues."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from games.swim_for_your_life.table import GAME
from helpers import UNIFORM, Chooser, Habits, agents_of, kinds_of_actions

import card_envs
from card_envs.agents import HeuristicAgent, choose
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv


@pytest.mark.parametrize("reward", ["rank", "win", "score"])
@pytest.mark.parametrize("num_players", [3, 4, 5])
def test_agents_who_are_out_are_skipped_and_terminate_with_the_others(num_players, reward):
    places = set()
    skipped = 0
    for seed in range(0, 48, 4):
        env = card_envs.make(
            "swim_for_your_life", num_players=num_players, reward=reward, expert=seed % 8 == 0
        )
        env.reset(seed=seed)
        habits = Habits(env.game, seed + UNIFORM)
        out_at: dict[str, int] = {}  # before which decision
        since_own_step = dict.fromkeys(env.possible_agents, 0.0)
        for number in itertools.count():
            lives = env.states["lives"][0]
            for player, agent in enumerate(env.agents):
                if lives[player] == 0:
                    out_at.setdefault(agent, number)
            if not env.legal_actions():
                break
            assert env.agents == agents_of(env.game, num_players)
            assert not any(env.terminations.values())
            assert not any(env.truncations.values())
            assert env.agent_selection not in out_at
            for agent in out_at:
                view = env.observe(agent)
                assert env.observation_space(agent).contains(view)
                assert not view["action_mask"].any()
                assert env.unflatten(view["observation"])["in_game"][0] == 0
                skipped += 1
            since_own_step[env.agent_selection] = 0.0
            env.step(habits.choose(env.states))
            for agent in env.agents:
                since_own_step[agent] += env.rewards[agent]
                assert reward != "score" or agent not in out_at or env.rewards[agent] == 0.0
        assert set(env.terminations.values()) == {True}
        assert set(env.truncations.values()) == {False}
        assert len(out_at) == num_players - 1
        order = [out_at.get(agent, number + 1) for agent in env.agents]
        for agent, out in zip(env.possible_agents, order, strict=True):
            place = 1 + sum(other > out for other in order)
            assert env.infos[agent] == {"place": place}
            places.add(place)
            assert env.agent_selection == agent
            assert env.last()[1] == pytest.approx(since_own_step[agent])
            env.step(None)
        assert env.agents == []
    assert skipped > 100
    assert places >= {1, 2, 3}


class AecGame:
    """The game of a single seat among heuristics, in an AEC environment."""

    def __init__(self, seed: int, seat: int, reward: str) -> None:
        self.env = card_envs.make(GAME.id, num_players=GAME.max_players, reward=reward)
        self.env.reset(seed=seed)
        self.learner = f"player_{seat}"
        self._heuristic = HeuristicAgent(GAME)

    def play_to_the_decision(self) -> float:
        """All moves until the learner's next decision; what they are paid meanwhile."""
        total = 0.0
        while self.env.legal_actions() and self.env.agent_selection != self.learner:
            total += self.step(choose(self._heuristic, GAME, self.env.states))
        return total

    def step(self, action: int) -> float:
        """What the learner is paid for somebody's action."""
        self.env.step(action)
        return float(self.env.rewards[self.learner])


@pytest.mark.parametrize("reward", ["rank", "win", "score"])
def test_a_learner_who_is_out_is_paid_when_the_game_is_over(reward):
    setting = {"num_players": GAME.max_players, "opponents": "heuristic", "reward": reward}
    env = SingleSeatEnv(GAME.id, **setting)
    kinds = kinds_of_actions(GAME)
    last_rewards = []
    for seed in range(30):
        _, info = env.reset(seed=seed)
        seat = info["seat"]
        aec = AecGame(seed, seat, reward)
        before = aec.play_to_the_decision()  # counts in no reward
        total = expected = 0.0
        chooser = Chooser(seed, kinds)
        terminated = False
        while not terminated:
            action = chooser.choose(info["action_mask"])
            observation, reward_now, terminated, truncated, info = env.step(action)
            total += reward_now
            expected += aec.step(action) + aec.play_to_the_decision()
        assert not truncated
        assert not info["action_mask"].any()
        assert before == 0
        assert total == pytest.approx(expected)
        view = GAME.fields.unflatten(observation)
        assert view["in_game"].sum() == 1
        s = aec.env.states[0]
        if not s["was_in_round"][seat]:  # the others played the last round without them
            assert view["in_game"][0] == 0
            place = aec.env.infos[aec.learner]["place"]
            assert place > 2
            assert reward_now == total or reward == "score"
            assert total <= 0 or reward != "win"
            last_rewards.append(total)
    assert len(last_rewards) > 8
    assert len(set(last_rewards)) > 1 or reward == "win"


def test_learners_who_are_out_in_a_vector():
    num_players = GAME.max_players
    vector = SingleSeatVectorEnv(GAME.id, 8, num_players=num_players, opponents="heuristic")
    _, infos = vector.reset(seed=1)
    chooser = Chooser(1, kinds_of_actions(GAME))
    finals = []
    for _ in range(60):
        actions = np.array([chooser.choose(mask) for mask in infos["action_mask"]])
        observations, _, terminated, truncated, infos = vector.step(actions)
        assert not truncated.any()
        # A learner who is asked is in the game, in games that continue.
        in_game = GAME.fields.unflatten(observations)["in_game"]
        assert (in_game[:, 0] == 1).all()
        assert (in_game.sum(axis=1) > 1).all()
        finals += list(infos["final_obs"][terminated]) if terminated.any() else []
    in_game = GAME.fields.unflatten(np.array(finals))["in_game"]
    assert len(finals) > 8
    assert (in_game.sum(axis=1) == 1).all()
    assert (in_game[:, 0] == 0).any()
