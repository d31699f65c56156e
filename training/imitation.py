"""Before a run: teach policy and value the heuristic's play, from which they then learn on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from rich.progress import track
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import obs_as_tensor

from training.config import Imitation
from training.selfplay import SelfPlayVecEnv


def imitate(
    model: MaskablePPO, env: SelfPlayVecEnv, imitation: Imitation, quiet: bool = False
) -> None:
    """Let the heuristic play the learner's seat, and fit policy and value to what it does.

    The same games, batches and targets of the value as in PPO; of its loss, the policy's part is
    the cross-entropy. The learning rate falls to 0.
    """
    policy: Any = model.policy
    buffer: Any = model.rollout_buffer
    optimizer = torch.optim.Adam(policy.parameters())
    iterations = -(-imitation.decisions // (model.n_steps * env.num_envs))
    observation: Any = env.reset()
    starts = np.ones(env.num_envs, bool)
    for iteration in track(range(iterations), "imitation", disable=quiet):
        policy.set_training_mode(False)
        buffer.reset()
        for _ in range(model.n_steps):
            actions, action_mask = _heuristic_actions(env), env.games.arena.action_mask.copy()
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


def _heuristic_actions(env: SelfPlayVecEnv) -> np.ndarray:
    heuristic, states = env.games.game.heuristic, env.games.arena.states
    return np.array([heuristic(states, i) for i in range(env.num_envs)], np.int64)


def _values(model: MaskablePPO, observation: np.ndarray) -> torch.Tensor:
    with torch.no_grad():
        return model.policy.predict_values(obs_as_tensor(observation, model.device))
