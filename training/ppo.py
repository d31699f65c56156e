"""PPO for games of any number of players: one policy plays the seats and learns from all of them.

Read from top to bottom: the networks, a rollout with the decisions of all seats, their advantages,
the update. Inputs and action masks are sparse rows (``training.networks.sparse``): of an
observation about an eighth is not zero, and few actions are legal.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from card_envs.agents.network import Network
from card_envs.engine.game import Game
from card_envs.engine.jit import jit
from training.config import Config
from training.games.selfplay import SelfPlayGames
from training.layers import InputLayer, Linear
from training.legal_actions import divergences, draw_actions, evaluate_actions
from training.sparse import SparseRows, SparseRowsBuffer

# ---------------------------------------------------------------------------------------------
# The networks
# ---------------------------------------------------------------------------------------------


class ActorCritic(nn.Module):
    """A policy network that sees the observation, and a value network that may see more.

    Args:
        game: The game.
        inputs: Size of the input rows: the observation, and behind it what the critic sees besides.
        config: The run's configuration; its section ``network`` describes both networks.
    """

    def __init__(self, game: Game, inputs: int, config: Config) -> None:
        super().__init__()
        network = config.network
        features = game.action_features if network.logits == "features" else np.eye(game.num_actions)
        self.features = SparseRows.of(np.asarray(features, np.float32))
        self._observed = game.fields.size
        self._inputs = inputs
        self._first_of_critic = game.fields.size if network.critic == "state" else 0
        self.activation = network.activation
        self.actor = _perceptron(self._observed, network, features.shape[1], gain=0.01)
        self.critic = _perceptron(inputs - self._first_of_critic, network, 1, gain=1.0)

    def logits(self, inputs: SparseRows) -> torch.Tensor:
        """Logits of the action features, float32 (M, F), for rows (M, inputs)."""
        logits: torch.Tensor = self.actor(inputs.between(0, self._observed))
        return logits

    def values(self, inputs: SparseRows) -> torch.Tensor:
        """Values, float32 (M,), for rows (M, inputs)."""
        values: torch.Tensor = self.critic(inputs.between(self._first_of_critic, self._inputs))
        return values[:, 0]

    def policy(self) -> Network:
        """The policy with a logit for each action, as policy files hold it; weights are copies."""
        layers = [
            (layer.weight.detach().numpy(), layer.bias.detach().numpy())
            for layer in self.actor
            if isinstance(layer, nn.Linear)
        ]
        features = self.features.to_dense().numpy()
        layers[-1] = (features @ layers[-1][0], features @ layers[-1][1])
        return Network([(w.copy(), b.copy()) for w, b in layers], self.activation)


def _perceptron(inputs: int, network: Any, outputs: int, gain: float) -> nn.Sequential:
    """Orthogonal weights, those of the last layer times ``gain``; biases 0."""
    layers: list[nn.Module] = []
    for size in network.hidden:
        layer = (Linear if layers else InputLayer)(inputs, size)
        nn.init.orthogonal_(layer.weight, gain=np.sqrt(2))
        layers += [layer, nn.Tanh() if network.activation == "tanh" else nn.ReLU(inplace=True)]
        inputs = size
    layers.append((Linear if layers else InputLayer)(inputs, outputs))
    nn.init.orthogonal_(layers[-1].weight, gain=gain)
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


# ---------------------------------------------------------------------------------------------
# A rollout
# ---------------------------------------------------------------------------------------------


class Rollout:
    """The decisions of one iteration in the order in which they were taken.

    A decision is open until its seat decides again or its game ends; rewards that its seat gets
    until then are its own. Those that are open when a rollout ends are the first of the next one.

    Attributes:
        size: Number of decisions so far, K; all arrays have more room.
        open: int64 (N, P), each seat's open decision in each game; -1: it has none.
        inputs, legal: sparse rows (K, inputs) and (K, A).
        actions, log_probs, values: int64, float32, float32 (K,), as they were taken.
        rewards: float32 (K,), what the seat got until its next decision.
        following: int64 (K,), the seat's next decision; -1: there is none yet.
        is_last: bool (K,), the game ended before the seat decided again.
    """

    def __init__(self, num_games: int, seats: int, steps: int, inputs: int, actions: int) -> None:
        room = num_games * (seats + steps)
        self.size = 0
        self.open = np.full((num_games, seats), -1)
        self._inputs = SparseRowsBuffer(room, inputs)
        self._legal = SparseRowsBuffer(room, actions)
        self.actions = np.zeros(room, np.int64)
        self.log_probs = np.zeros(room, np.float32)
        self.values = np.zeros(room, np.float32)
        self.rewards = np.zeros(room, np.float32)
        self.following = np.full(room, -1)
        self.is_last = np.zeros(room, np.bool_)

    @property
    def inputs(self) -> SparseRows:
        """The input rows (K, inputs)."""
        return self._inputs.rows

    @property
    def legal(self) -> SparseRows:
        """The action masks (K, A)."""
        return self._legal.rows

    def begin(self) -> None:
        """Begin a new rollout with the decisions that are open."""
        is_open = self.open >= 0
        carried = self.open[is_open]
        rows = self.inputs.take(carried).to_dense().numpy(), self.legal.take(carried).to_dense()
        self.size = len(carried)
        self.open[is_open] = np.arange(self.size)
        for array in (self.actions, self.log_probs, self.values, self.rewards):
            array[: self.size] = array[carried]
        self.following[:] = -1
        self.is_last[:] = False
        for buffer, dense in zip((self._inputs, self._legal), rows, strict=True):
            buffer.clear()
            buffer.append(np.asarray(dense))

    def observe(
        self, inputs: NDArray[np.float32], action_masks: NDArray[np.int8]
    ) -> tuple[SparseRows, SparseRows]:
        """Keep what the next decisions are made from; returns it as sparse rows."""
        return self._inputs.append(inputs), self._legal.append(action_masks)

    def decide(
        self, players: NDArray[np.int64], actions: NDArray[np.int64], log_probs: NDArray[np.float32]
    ) -> None:
        """Keep a decision of one player in each game, (N,) each."""
        games = np.arange(len(players))
        new = self.size + games
        before = self.open[games, players]
        self.following[before[before >= 0]] = new[before >= 0]
        self.open[games, players] = new
        self.actions[new], self.log_probs[new], self.rewards[new] = actions, log_probs, 0.0
        self.size += len(players)

    def pay(self, rewards: NDArray[np.float64]) -> None:
        """Pay what the seats have got (N, P); a seat that has not decided yet gets nothing."""
        is_open = self.open >= 0
        self.rewards[self.open[is_open]] += rewards[is_open]

    def end(self, games: NDArray[np.int64]) -> None:
        """The games are over."""
        decisions = self.open[games]
        self.is_last[decisions[decisions >= 0]] = True
        self.open[games] = -1

    def advantages(self, gamma: float, lam: float) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Generalized advantage estimation along each seat's own decisions.

        Returns:
            complete: int64 (M,), the decisions that are not open.
            advantages: float32 (M,).
        """
        out = np.zeros(self.size, np.float32)
        _estimate(self.rewards, self.values, self.following, self.is_last, gamma, lam, out)
        complete = np.flatnonzero((self.following[: self.size] >= 0) | self.is_last[: self.size])
        return complete, out[complete]


@jit
def _estimate(rewards, values, following, is_last, gamma, lam, out):  # type: ignore[no-untyped-def]
    """Write advantages; those of open decisions stay 0, so that what precedes them bootstraps."""
    for k in range(len(out) - 1, -1, -1):
        after = following[k]
        if is_last[k]:
            out[k] = rewards[k] - values[k]
        elif after >= 0:
            out[k] = rewards[k] + gamma * values[after] - values[k] + gamma * lam * out[after]


# ---------------------------------------------------------------------------------------------
# The learner
# ---------------------------------------------------------------------------------------------


class PPO:
    """The learner: ``collect`` a rollout, ``update`` the networks, again and again.

    Args:
        game: The game.
        games: The games that it plays; all wait for its decisions.
        config: The run's configuration.

    Attributes:
        decisions: Decisions taken so far, forced ones not counted.
        iteration: Updates made so far.
    """

    def __init__(self, game: Game, games: SelfPlayGames, config: Config) -> None:
        self.config, self.games = config, games
        self.generator = torch.Generator().manual_seed(config.seed)
        torch.manual_seed(config.seed)  # initial weights
        self.networks = ActorCritic(game, games.inputs, config)
        self.optimizer = torch.optim.Adam(
            self.networks.parameters(), lr=config.ppo.learning_rate, eps=1e-5, fused=True
        )
        # Averages of the weights: the policy that is exported, and the one that the KL term pulls to.
        self.average = copy.deepcopy(self.networks).requires_grad_(False)
        self.anchor = copy.deepcopy(self.networks).requires_grad_(False)
        self.decisions = self.iteration = 0
        count, ppo = config.environment.num_envs, config.ppo
        self.rollout = Rollout(
            count, game.max_players, ppo.n_steps, games.inputs, game.num_actions
        )
        games.begin(self.networks.policy())

    @torch.no_grad()
    def collect(self) -> None:
        """Play until ``num_envs * n_steps`` decisions are taken."""
        rollout, games = self.rollout, self.games
        rollout.begin()
        carried = rollout.size
        for _ in range(self.config.ppo.n_steps):
            inputs, legal = rollout.observe(games.observe(), games.arena.action_mask)
            logits = self.networks.logits(inputs)
            numbers = torch.rand(len(inputs), generator=self.generator)
            actions, log_probs = draw_actions(logits, self.networks.features, legal, numbers)
            rollout.decide(games.players, actions.numpy(), log_probs.numpy())
            outcome = games.step(actions.numpy())
            rewards = outcome.rewards
            if len(outcome.truncated):
                flat = outcome.last.reshape(-1, games.inputs)
                values = self.networks.values(SparseRows.of(flat)).numpy()
                rewards[outcome.truncated] += self.config.ppo.gamma * values.reshape(
                    outcome.last.shape[:2]
                )
            rollout.pay(rewards)
            rollout.end(outcome.ended)
        # In large batches, since nothing changes the weights within a rollout.
        size = self.config.ppo.batch_size
        for first in range(carried, rollout.size, size):
            part = slice(first, min(first + size, rollout.size))
            rollout.values[part] = self.networks.values(rollout.inputs.take(part)).numpy()
        self.decisions += rollout.size - carried

    def update(self) -> dict[str, float]:
        """Improve the networks on the rollout's complete decisions; returns the losses' means."""
        config, ppo, rollout = self.config, self.config.ppo, self.rollout
        done = min(self.decisions / max(config.decisions, 1), 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = ppo.learning_rate_at(done)
        ent_coef = ppo.ent_coef_at(done, self.iteration)
        complete, advantages = rollout.advantages(ppo.gamma, ppo.gae_lambda)
        returns = torch.from_numpy(advantages + rollout.values[complete])
        log_probs = torch.from_numpy(rollout.log_probs[complete])
        actions, advantage = torch.from_numpy(rollout.actions[complete]), torch.from_numpy(advantages)
        sums: dict[str, float] = {}
        count = 0
        for batch in self._minibatches(len(complete)):
            rows = complete[batch.numpy()]
            inputs, legal = rollout.inputs.take(rows), rollout.legal.take(rows)
            logits = self.networks.logits(inputs)
            features = self.networks.features
            log_prob, entropy = evaluate_actions(logits, features, legal, actions[batch])
            gain = advantage[batch]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            ratio = torch.exp(log_prob - log_probs[batch])
            clipped = ratio.clamp(1 - ppo.clip_range, 1 + ppo.clip_range)
            policy_loss = -torch.minimum(gain * ratio, gain * clipped).mean()
            value_loss = nn.functional.mse_loss(self.networks.values(inputs), returns[batch])
            loss = policy_loss + ppo.vf_coef * value_loss - ent_coef * entropy.mean()
            if ppo.kl_coef:
                with torch.no_grad():
                    anchor = self.anchor.logits(inputs)
                loss = loss + ppo.kl_coef * divergences(logits, anchor, features, legal).mean()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.networks.parameters(), ppo.max_grad_norm)
            self.optimizer.step()
            with torch.no_grad():
                metrics = {  # noqa
                    "policy_loss": policy_loss,
                    "value_loss": value_loss,
                    "entropy": entropy.mean(),
                    "approx_kl": (ratio - 1 - ratio.log()).mean(),
                    "clip_fraction": ((ratio - 1).abs() > ppo.clip_range).float().mean(),
                }
            for name, value in metrics.items():
                sums[name] = sums.get(name, 0.0) + float(value.detach())
            count += 1
        self.iteration += 1
        _move(self.average, self.networks, config.ema_decay)
        _move(self.anchor, self.networks, ppo.kl_decay)
        return {name: total / count for name, total in sums.items()}

    def _minibatches(self, size: int) -> Iterator[torch.Tensor]:
        """Random minibatches (B,) of ``size`` decisions, epoch after epoch.

        A last one below half of ``batch_size`` joins the one before.
        """
        batch_size = self.config.ppo.batch_size
        count = max(1, (size + batch_size // 2) // batch_size)
        edges = [*range(0, count * batch_size, batch_size), size]
        for _ in range(self.config.ppo.n_epochs):
            order = torch.randperm(size, generator=self.generator)
            for first, stop in zip(edges[:-1], edges[1:], strict=True):
                yield order[first:stop]


@torch.no_grad()
def _move(average: nn.Module, networks: nn.Module, decay: float) -> None:
    """Move an exponential moving average towards the networks."""
    for mean, value in zip(average.parameters(), networks.parameters(), strict=True):
        mean.lerp_(value, 1.0 - decay)
