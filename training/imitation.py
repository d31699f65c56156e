"""Before a run: teach policy and value another agent's play, from which they then learn on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import track
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBufferSamples
from stable_baselines3.common.utils import obs_as_tensor

from card_envs.agents import NetworkAgent, make_agent
from card_envs.agents.network import Network
from training.config import Imitation
from training.selfplay import SelfPlayVecEnv


def imitate(
    model: MaskablePPO, env: SelfPlayVecEnv, imitation: Imitation, quiet: bool = False
) -> None:
    """Let the agent play the learner's seat, and fit policy and value to what it does.

    A policy's actions are drawn, and its probabilities are what is learned, unless its weights are
    copied; then only the value is left to learn. Games and batches are
    those of PPO; of its loss, the policy's part is the cross-entropy. The learning rate falls to 0.
    """
    policy: Any = model.policy
    buffer: Any = model.rollout_buffer
    optimizer = torch.optim.Adam(policy.parameters())
    teacher = _Teacher(imitation, env, np.random.default_rng(model.seed))
    if imitation.copy_weights:
        policy.take_over(teacher.network)
    iterations = -(-imitation.decisions // (model.n_steps * env.num_envs))
    observation: Any = env.reset()
    starts = np.ones(env.num_envs, bool)
    for iteration in track(range(iterations), "imitation", disable=quiet):
        policy.set_training_mode(False)
        buffer.reset()
        for _ in range(model.n_steps):
            actions, action_mask = teacher.act(), env.games.arena.action_mask.copy()
            values = _values(model, observation)
            following, rewards, dones, infos = env.step(actions)
            for i in np.flatnonzero(dones):
                if "terminal_observation" in infos[i]:  # cut, not ended: as in PPO
                    last = infos[i]["terminal_observation"]
                    rewards[i] += model.gamma * float(_values(model, last[None]))
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
            values = policy.predict_values(batch.observations)
            loss = model.vf_coef * torch.nn.functional.mse_loss(values.flatten(), batch.returns)
            if not imitation.copy_weights:
                likely = policy.get_distribution(batch.observations, batch.action_masks).log_probs
                loss = loss - (teacher.probabilities(batch) * likely).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
            optimizer.step()


class _Teacher:
    """The agent that is imitated, in the learner's seat of all games."""

    def __init__(self, imitation: Imitation, env: SelfPlayVecEnv, rng: np.random.Generator) -> None:
        self._arena = env.games.arena
        self._game = env.games.game
        self._agent = make_agent(imitation.agent, self._game)
        self.network: Network | None = None  #: of a policy
        if isinstance(self._agent, NetworkAgent):
            *layers, (weight, bias) = self._agent.network.layers
            factor = np.float32(1.0 / imitation.temperature)
            layers.append((weight * factor, bias * factor))
            self.network = Network(layers, self._agent.network.activation)
        self._rng = rng

    def act(self) -> NDArray[np.int64]:
        """Its actions (N,)."""
        arena = self._arena
        if self.network is not None:
            return self.network.act(arena.observation, arena.action_mask, self._rng)
        choices = [self._agent.choose(arena.states, i) for i in range(len(arena.states))]
        return np.array(choices, np.int64)

    def probabilities(self, batch: MaskableRolloutBufferSamples) -> torch.Tensor:
        """How likely it was to take each action (M, actions)."""
        if self.network is None:
            actions = batch.actions.long().flatten()
            return torch.nn.functional.one_hot(actions, self._game.num_actions)
        observation = batch.observations[:, : self._game.fields.size].cpu().numpy()
        logits = torch.from_numpy(self.network.logits(observation)).to(batch.actions.device)
        return torch.softmax(logits.masked_fill(batch.action_masks == 0, -torch.inf), dim=1)


def _values(model: MaskablePPO, observation: np.ndarray) -> torch.Tensor:
    with torch.no_grad():
        return model.policy.predict_values(obs_as_tensor(observation, model.device))
