"""Behavior cloning before PPO: teach policy and value what another agent does."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableRolloutBufferSamples

from card_envs.agents import Agent, NetworkAgent
from card_envs.agents.network import Network
from card_envs.contract.agent import Turn, checked_actions, turn_of
from card_envs.utils.progress import track
from training.config import ImitationSection
from training.learner import Learner
from training.selfplay import SelfPlayGames, SelfPlayVecEnv
from training.sparse import as_dense


def imitate(
    model: Learner,
    env: SelfPlayVecEnv,
    agent: Agent,
    imitation: ImitationSection,
    quiet: bool = False,
) -> None:
    """Let an agent hold the learner's seat, and fit policy and value to what it does.

    Games and batches are those of PPO; the policy's loss is the cross-entropy. If the
    weights are copied, only the value is left to learn. The learning rate decays to 0.

    Args:
        model: The learner.
        env: Its games.
        agent: The agent.
        imitation: How it is imitated.
        quiet: Whether to show no progress bar.
    """
    policy: Any = model.policy
    buffer: Any = model.rollout_buffer
    optimizer = torch.optim.Adam(policy.parameters())
    teacher = Teacher(agent, env.games, imitation.temperature, int(model.seed or 0))
    if imitation.copy_weights:
        policy.copy_weights(teacher.network)
    iterations = -(-imitation.decisions // (model.n_steps * env.num_envs))
    observation: Any = env.reset()
    starts = np.ones(env.num_envs, bool)
    for iteration in track(range(iterations), "imitation", quiet=quiet):
        policy.set_training_mode(False)
        buffer.reset()
        for _ in range(model.n_steps):
            actions, action_mask = teacher.act(), env.games.arena.action_mask.copy()
            values = model.values(observation)
            following, rewards, dones, infos = env.step(actions)
            for i in np.flatnonzero(dones):
                if "terminal_observation" in infos[i]:  # truncated: bootstrapped as in PPO
                    last = infos[i]["terminal_observation"]
                    rewards[i] += model.gamma * float(model.values(last[None]))
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
        buffer.compute_returns_and_advantage(model.values(observation), starts)
        policy.set_training_mode(True)
        for group in optimizer.param_groups:
            group["lr"] = imitation.learning_rate * (1.0 - iteration / iterations)
        for batch in buffer.get(model.batch_size):
            values = policy.predict_values(batch.observations)
            loss = model.vf_coef * torch.nn.functional.mse_loss(values.flatten(), batch.returns)
            if not imitation.copy_weights:
                action_masks = as_dense(batch.action_masks)
                learned = policy.get_distribution(batch.observations, action_masks).log_probs
                loss = loss - (teacher.targets(batch) * learned).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
            optimizer.step()


class Teacher:
    """The imitated agent, in the learner's seat of all games.

    Args:
        agent: The agent. A policy's actions are drawn from it.
        games: The games.
        temperature: Divides a policy's logits.
        seed: Of the stream that a policy's actions are drawn from.
    """

    def __init__(self, agent: Agent, games: SelfPlayGames, temperature: float, seed: int) -> None:
        self._games = games
        self.network: Network | None = None  #: a policy's
        if isinstance(agent, NetworkAgent):
            self.network = agent.network.at_temperature(temperature)
            agent = NetworkAgent(self.network, agent.name, agent.view, seed)
        self._agent = agent

    def act(self) -> NDArray[np.int64]:
        """Its actions (N,) for the learner's decisions."""
        games, arena = self._games, self._games.arena
        if self._agent.view == arena.view:
            # Copies: what the learner is taught with must not change.
            seen = arena.observation.copy(), arena.action_mask.copy()
            turn = Turn(games.game, arena.states, games.all, *seen)
        else:
            turn = turn_of(games.game, arena.states, games.all, self._agent.view)
        return checked_actions(self._agent, turn, self._agent.act)

    def targets(self, batch: MaskableRolloutBufferSamples) -> torch.Tensor:
        """What is learned (M, actions): the probability with which it takes each action.

        Of agents that are not policies, or observe in another view than the learner, it is the
        action that they took.
        """
        game = self._games.game
        if self.network is None or self._agent.view != self._games.arena.view:
            actions = batch.actions.long().flatten()
            return torch.nn.functional.one_hot(actions, game.num_actions)
        observation = as_dense(batch.observations)[:, : game.fields.size].cpu().numpy()
        logits = torch.from_numpy(self.network.logits(observation)).to(batch.actions.device)
        return torch.softmax(
            logits.masked_fill(as_dense(batch.action_masks) == 0, -torch.inf), dim=1
        )
