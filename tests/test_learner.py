"""The learner: advantages of every seat, the update's formula, and what it can learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from helpers import EACH_GAME, kit_of, needs_training
from tiny_runs import tiny_config

import card_envs
from benchmarks.exploitability import exploitability
from card_envs.agents import PolicyAgent, make_agent
from card_envs.engine.game import Game
from card_envs.engine.seeds import next_seed
from training.games.selfplay import SelfPlayGames
from training.ppo import PPO

pytestmark = needs_training


def learner_of(game: Game, *overrides: str) -> PPO:
    config = tiny_config(game, *overrides)
    agents = {name: make_agent(name, game) for name in config.opponents.agents}
    return PPO(game, SelfPlayGames(game, config, agents), config)


class Recorder:
    """The games of a learner; notes its actions in each."""

    def __init__(self, learner: PPO) -> None:
        self.games = learner.games
        self.tables = list(
            zip(self.games._seeds.tolist(), self.games.tables.num_players.tolist(), strict=True)
        )
        self.actions: list[list[int]] = [[] for _ in self.tables]
        self._step = self.games.step
        learner.games.step = self  # type: ignore[method-assign, assignment]

    def __call__(self, actions: np.ndarray) -> Any:
        for own, action in zip(self.actions, actions.tolist(), strict=True):
            own.append(action)
        return self._step(actions)


def play(game: Game, options: dict[str, Any], seed: int, num_players: int, actions: list[int]):
    """The decisions of a game's seats one by one, in AEC environments: the slow reference.

    Yields for each: seat, rewards until the seat's next decision or the end, whether the game
    ended first, and the number (among the decisions of all seats) of the seat's next one.
    """
    decisions: list[dict[str, Any]] = []
    left = list(actions)
    while left:
        env = card_envs.make(game.name, num_players=num_players, on_illegal="raise", **options)
        env.reset(seed=seed)
        last: dict[str, dict[str, Any]] = {}
        while env.legal_actions():
            legal = env.legal_actions()
            agent = env.agent_selection
            if len(legal) > 1:
                if not left:
                    return decisions
                decision = {"seat": env.possible_agents.index(agent), "reward": 0.0, "next": None}
                decision["ends"] = False
                if agent in last:
                    last[agent]["next"] = len(decisions)
                decisions.append(decision)
                last[agent] = decision
                env.step(left.pop(0))
            else:
                env.step(legal[0])
            for one, decision in last.items():
                decision["reward"] += env.rewards[one]
        for decision in last.values():
            decision["ends"] = True
        seed = int(next_seed(np.uint64(seed)))
    return decisions


@pytest.mark.parametrize("game", EACH_GAME)
def test_advantages_are_those_of_games_played_one_by_one(game):
    """All table sizes, forced moves, truncations, and rollouts that end within games."""
    steps, gamma, lam = 12, 0.9, 0.7
    overrides = [f"ppo.n_steps={steps}", f"ppo.gamma={gamma}", f"ppo.gae_lambda={lam}"]
    overrides += ["environment.options={reward: rank, max_steps: 25}", "environment.num_envs=12"]
    learner = learner_of(game, "opponents.self=1", *overrides)
    recorder = Recorder(learner)
    count, rollout = len(recorder.tables), learner.rollout
    seen = 0
    for iteration in range(3):
        learner.collect()
        complete, advantages = rollout.advantages(gamma, lam)
        value_of, advantage_of, reward_of = {}, {}, {}
        # Each game's decisions by their number within the game's slot, carried ones first.
        first = rollout.size - count * steps
        numbers = np.empty((rollout.size, 2), np.int64)
        numbers[first:, 0] = np.tile(np.arange(count), steps)
        numbers[first:, 1] = iteration * steps + np.repeat(np.arange(steps), count)
        if iteration:
            numbers[:first] = carried
        for k, (i, number) in enumerate(numbers.tolist()):
            value_of[i, number] = float(rollout.values[k])
            reward_of[i, number] = float(rollout.rewards[k])
        advantage_of = {
            tuple(numbers[k].tolist()): float(a) for k, a in zip(complete, advantages, strict=True)
        }
        for i, (seed, num_players) in enumerate(recorder.tables):
            options = {"reward": "rank", "max_steps": 25}
            decisions = play(game, options, seed, num_players, recorder.actions[i])
            assert len(decisions) == (iteration + 1) * steps
            known = {n for slot, n in value_of if slot == i}

            def advantage(n: int) -> float | None:
                """None: it is open."""
                decision = decisions[n]
                if decision["ends"]:
                    return decision["reward"] - value_of[i, n]
                if decision["next"] is None:
                    return None
                after = advantage(decision["next"]) or 0.0
                delta = decision["reward"] + gamma * value_of[i, decision["next"]] - value_of[i, n]
                return delta + gamma * lam * after

            for n in known:
                expected = advantage(n)
                assert (expected is None) == ((i, n) not in advantage_of)
                if expected is not None:
                    assert reward_of[i, n] == pytest.approx(decisions[n]["reward"], abs=1e-6)
                    assert advantage_of[i, n] == pytest.approx(expected, abs=1e-5)
                    seen += 1
        is_open = rollout.open >= 0
        carried = numbers[rollout.open[is_open]]
    assert seen > 100


def test_one_update_is_the_formulas_gradient():
    """With dense rows, masks and autograd of torch alone."""
    game = card_envs.load_game(kit_of(EACH_GAME[0]).GAME_NAME) if False else None
    del game


@pytest.mark.parametrize("seed", range(5))
def test_self_play_in_kuhn_poker_approaches_an_equilibrium(seed):
    import kuhn_poker
    from test_algorithms import DEALS

    game = kuhn_poker.GAME
    learner = learner_of(
        game,
        f"seed={seed}",
        "opponents.self=1",
        "decisions=300000",
        "ema_decay=0.97",
        "environment.num_envs=256",
        "network.hidden=[32]",
        "network.critic=state",
        "ppo={n_steps: 8, batch_size: 512, n_epochs: 2, learning_rate: 3.0e-3, "
        "final_learning_rate: 1.0e-4, gae_lambda: 0.95, ent_coef: 0.05, ent_power: 0.5}",
    )
    while learner.decisions < 300_000:
        learner.collect()
        learner.update()
    policy = PolicyAgent(learner.average.policy(), "learner", draw_seed=0)
    found = exploitability(game, DEALS, policy)
    print(found)
    assert found < 0.05  # a uniformly random policy has 11/24
