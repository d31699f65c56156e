"""Behavior cloning before PPO: teach policy and value what another agent does."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from card_envs.agents import Agent, NetworkAgent
from card_envs.agents.network import Network
from card_envs.contract.agent import checked_actions, turn_of
from card_envs.utils.progress import track
from training.games.device import DeviceGames
from training.games.host import HostGames
from training.networks.legal_actions import log_probabilities
from training.networks.sparse import Rows, as_dense, columns_of
from training.ppo import PPO


def imitate(learner: PPO, agent: Agent, quiet: bool = False) -> None:
    """Let an agent hold the learner's seats, and fit policy and value to what it does.

    Games and minibatches are those of PPO; the policy's loss is the cross-entropy. If the weights
    are copied, only the value is left to learn. The learning rate decays to 0.
    """
    config, imitation = learner.config, learner.config.imitation
    actor, games = learner.networks.actor, learner.games
    teacher = None
    if not isinstance(games, DeviceGames):
        teacher = Teacher(agent, games, imitation.temperature, config.seed)
    if imitation.copy_weights:
        assert isinstance(agent, NetworkAgent)
        actor.copy_weights(agent.network.at_temperature(imitation.temperature))
    learner.settle()
    optimizer = torch.optim.Adam(learner.networks.parameters())
    iterations = -(-imitation.decisions // (config.ppo.n_steps * config.environment.num_envs))
    for iteration in track(range(iterations), "imitation", quiet=quiet):
        # On a device weights are copied, so that the learner plays as the agent does.
        learner.collect(teacher.choose if teacher else learner.draw)
        rollout = learner.rollout
        complete, _, returns = rollout.advantages(config.ppo.gamma, config.ppo.gae_lambda)
        returns = learner.tensor(returns)
        for group in optimizer.param_groups:
            group["lr"] = imitation.learning_rate * (1.0 - iteration / iterations)
        for batch in learner.minibatches(len(complete), epochs=1):
            rows = complete[batch]
            inputs, legal = learner.rows(rows)
            values = learner.networks.values(inputs)
            loss = config.ppo.vf_coef * nn.functional.mse_loss(values, returns[batch])
            if teacher and not imitation.copy_weights:
                logits = learner.networks.logits(inputs)
                learned = log_probabilities(logits, learner.features, legal)
                targets = teacher.targets(inputs, legal, rollout.decided(rows)[0])
                loss = loss - (targets.to(learned.device) * learned).sum(dim=1).mean()
            learner.descend(loss, optimizer)
        games.follow(actor.network)
    learner.settle()


class Teacher:
    """The imitated agent, in the learner's seats of all games; a policy's actions are drawn from
    it, at a temperature."""

    def __init__(self, agent: Agent, games: HostGames, temperature: float, seed: int) -> None:
        self._games = games
        self.network: Network | None = None  #: a policy's
        if isinstance(agent, NetworkAgent):
            self.network = agent.network.at_temperature(temperature)
            agent = NetworkAgent(self.network, agent.name, agent.view, seed)
        self._agent = agent

    def choose(self, inputs: Rows, legal: Rows) -> tuple[torch.Tensor, torch.Tensor]:
        """Its actions for the learner's decisions, and log probabilities that nobody looks at."""
        actions = torch.from_numpy(self.act())
        return actions, torch.zeros(len(actions))

    def act(self) -> NDArray[np.int64]:
        """Its actions (N,) for the learner's decisions."""
        games, arena = self._games, self._games.arena
        if self._agent.view == arena.view:
            turn = games.turn(games.all)
        else:
            turn = turn_of(games.game, arena.states, games.all, self._agent.view)
        actions = checked_actions(self._agent, turn, self._agent.act)
        if (actions < 0).any():
            raise ValueError(f"imitation.agent: {self._agent.name!r} forfeits, which is no move")
        return actions

    def targets(self, inputs: Rows, legal: Rows, actions: NDArray[np.int64]) -> torch.Tensor:
        """What is learned (M, actions): the probability with which it takes each action, or the
        action that it took (M,) if it is no policy, or observes in another view than the learner.
        """
        game = self._games.game
        if self.network is None or self._agent.view != self._games.arena.view:
            return nn.functional.one_hot(torch.from_numpy(actions), game.num_actions)
        observation = as_dense(columns_of(inputs, 0, game.fields.size)).float().cpu().numpy()
        logits = torch.from_numpy(self.network.logits(observation))
        return torch.softmax(logits.masked_fill(as_dense(legal).cpu() == 0, -torch.inf), dim=1)
