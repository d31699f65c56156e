"""Before a run: teach policy and value another agent's play, from which they then learn on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import track
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import obs_as_tensor

from card_envs.agents import NetworkAgent, make_agent
from training.config import Imitation
from training.selfplay import SelfPlayVecEnv, Snapshot


def imitate(
    model: MaskablePPO, env: SelfPlayVecEnv, imitation: Imitation, quiet: bool = False
) -> None:
    """Let the agent play the learner's seat, and fit policy and value to what it does.

    A policy's actions are drawn, so that its doubts are learned as well. Games and
    batches are those of PPO; of its loss, the policy's part is the cross-entropy. The learning
    rate falls to 0.
    """
    policy: Any = model.policy
    buffer: Any = model.rollout_buffer
    optimizer = torch.optim.Adam(policy.parameters())
    choose = _chooser(imitation.agent, env, np.random.default_rng(model.seed))
    iterations = -(-imitation.decisions // (model.n_steps * env.num_envs))
    observation: Any = env.reset()
    starts = np.ones(env.num_envs, bool)
    for iteration in track(range(iterations), "imitation", disable=quiet):
        policy.set_training_mode(False)
        buffer.reset()
        for _ in range(model.n_steps):
            actions, action_mask = choose(), env.games.arena.action_mask.copy()
            values = _values(model, observation)
            following, rewards, dones, _ = env.step(actions)
            buffer.add(
                observation,
                actions[:, None],
                rewards,
                starts,
                values,
                torch.zeros(env.num_envs),
                action_masks=action_mask,
            )
            observation, starts = following, dones
        buffer.compute_returns_and_advantage(_values(model, observation), starts)
        policy.set_training_mode(True)
        for group in optimizer.param_groups:
            group["lr"] = imitation.learning_rate * (1.0 - iteration / iterations)
        for batch in buffer.get(model.batch_size):
            values, log_prob, _ = policy.evaluate_actions(
                batch.observations, batch.actions.flatten(), batch.action_masks
            )
            value_loss = torch.nn.functional.mse_loss(values.flatten(), batch.returns)
            loss = model.vf_coef * value_loss - log_prob.mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
            optimizer.step()


def _chooser(
    name: str, env: SelfPlayVecEnv, rng: np.random.Generator
) -> Callable[[], NDArray[np.int64]]:
    """What gives the agent's actions in all games."""
    arena = env.games.arena
    agent = make_agent(name, env.games.game)
    if isinstance(agent, NetworkAgent):
        drawing = Snapshot(agent.network, rng)
        return lambda: drawing.act(arena.observation, arena.action_mask)
    return lambda: np.array([agent.choose(arena.states, i) for i in range(env.num_envs)], np.int64)


def _values(model: MaskablePPO, observation: np.ndarray) -> torch.Tensor:
    with torch.no_grad():
        return model.policy.predict_values(obs_as_tensor(observation, model.device))
