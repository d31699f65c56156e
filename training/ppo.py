"""PPO for games of any number of players: one policy plays the seats and learns from all of them.

Read from top to bottom: the networks, a rollout with the decisions of all seats, their advantages,
the update. On a CPU inputs and action masks are sparse rows (``training.networks.sparse``): of an
observation about an eighth is not zero, and few actions are legal. A configuration's ``rows`` may
ask for dense ones, in float32 or bfloat16.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from card_envs.agents.network import Network
from card_envs.contract.game import Game
from card_envs.kernels.jit import jit
from training.games.device import DeviceGames
from training.games.device_rollout import Choice, DeviceRollout, Values
from training.games.host import HostGames
from training.networks.actor import Actor
from training.networks.last_layer import features_of
from training.networks.layers import perceptron
from training.networks.legal_actions import draw_actions, evaluate_actions
from training.networks.sparse import Rows, SparseRows, SparseRowsBuffer, columns_of, rows_on
from training.runs.config import Config


class ActorCritic(nn.Module):
    """A policy network that sees the observation, and a value network that may see more.

    Rows of inputs begin with the observation; behind it lies what only the critic sees.
    """

    def __init__(self, game: Game, inputs: int, config: Config) -> None:
        super().__init__()
        network = config.network
        self._observed = game.fields.size
        self._of_critic = game.fields.size if network.critic == "state" else 0, inputs
        features = features_of(game, network.logits)
        self.actor = Actor(self._observed, network.hidden, network.activation, features)
        ablated = np.zeros(self._observed, np.float32)
        for name in network.ablated_fields:
            game.fields.unflatten(ablated)[name][...] = 1.0
        if network.ablated_fields:
            self.actor.ablate(ablated > 0)
        seen = inputs - self._of_critic[0]
        self.critic = perceptron(seen, network.hidden, network.activation, 1, gain=1.0)

    def logits(self, inputs: Rows) -> torch.Tensor:
        """Logits of the action features, float32 (M, F), for rows (M, inputs)."""
        return torch.Tensor.float(self.actor(columns_of(inputs, 0, self._observed)))

    def values(self, inputs: Rows) -> torch.Tensor:
        """Values, float32 (M,), for rows (M, inputs)."""
        return torch.Tensor.float(self.critic(columns_of(inputs, *self._of_critic))[:, 0])


# ---------------------------------------------------------------------------------------------
# A rollout
# ---------------------------------------------------------------------------------------------


_DECISION = np.dtype(
    [
        ("action", np.int64),
        ("log_prob", np.float32),
        ("value", np.float32),
        ("reward", np.float32),  # what the seat got until its next decision
        ("following", np.int64),  # the seat's next decision; -1: there is none yet
        ("is_last", np.bool_),  # the game ended before the seat decided again
    ]
)


class Rollout:
    """The decisions of one iteration in the order in which they were taken.

    A decision is open until its seat decides again or its game ends; rewards that its seat gets
    until then are its own. Those that are open when a rollout ends are the first of the next one;
    those that are open when a game is truncated, and bootstrapped, stay open for good: nothing is
    learned from them, and what precedes them bootstraps from their values.

    Attributes:
        size: Number of decisions so far, K.
        open: int64 (N, P), each seat's open decision in each game; -1: it has none.
        decisions: records (K or more,), see ``_DECISION``.
    """

    def __init__(self, games: HostGames, config: Config) -> None:
        self._games, self._ppo = games, config.ppo
        self.size = 0
        self.open = np.full(games.tables.seating.shape, -1)
        room = self.open.size + len(self.open) * config.ppo.n_steps
        self.decisions = np.zeros(room, _DECISION)
        self._rows = {"inputs": SparseRowsBuffer(room, games.inputs)}
        self._rows["legal"] = SparseRowsBuffer(room, games.game.num_actions)

    @property
    def inputs(self) -> SparseRows:
        """The input rows (K, inputs)."""
        return self._rows["inputs"].rows

    @property
    def legal(self) -> SparseRows:
        """The action masks (K, A)."""
        return self._rows["legal"].rows

    def begin(self) -> None:
        """Begin a new rollout with the decisions that are open."""
        is_open = self.open >= 0
        carried = self.open[is_open]
        self.size = len(carried)
        self.open[is_open] = np.arange(self.size)
        self.decisions[: self.size] = self.decisions[carried]
        self.decisions["following"], self.decisions["is_last"] = -1, False
        for buffer in self._rows.values():
            dense = buffer.rows.take(carried).to_dense().numpy()
            buffer.clear()
            buffer.append(dense)

    def arrays(self) -> dict[str, Any]:
        """The open decisions, for a checkpoint; a new rollout begins with them."""
        self.begin()
        rows = {name: buffer.arrays() for name, buffer in self._rows.items()}
        decisions = self.decisions[: self.size].view(np.uint8)
        return {"open": self.open, "decisions": decisions, **rows}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Bring the rollout to what :meth:`arrays` gave."""
        self.open[:] = arrays["open"]
        decisions = arrays["decisions"].view(_DECISION)
        self.size = len(decisions)
        self.decisions[: self.size] = decisions
        for name, buffer in self._rows.items():
            buffer.restore(arrays[name])

    def collect(self, choose: Choice, values: Values) -> int:
        """Play a rollout, ``n_steps`` decisions in every game; returns how many these are."""
        games = self._games
        self.begin()
        carried = self.size
        for _ in range(self._ppo.n_steps):
            inputs = self._rows["inputs"].append(games.observe())
            legal = self._rows["legal"].append(games.arena.action_mask)
            actions, log_probs = (chosen.cpu().numpy() for chosen in choose(inputs, legal))
            self._decide(games.players, actions, log_probs)
            outcome = games.step(actions)
            is_open = self.open >= 0  # a seat that has not decided yet gets nothing
            self.decisions["reward"][self.open[is_open]] += outcome.rewards[is_open]
            self.open[outcome.bootstrapped] = -1
            last_ones = self.open[outcome.ended]
            self.decisions["is_last"][last_ones[last_ones >= 0]] = True
            self.open[outcome.ended] = -1
        # In large batches, since nothing changes the weights within a rollout.
        for first in range(carried, self.size, self._ppo.batch_size):
            part = slice(first, min(first + self._ppo.batch_size, self.size))
            self.decisions["value"][part] = values(self.inputs.take(part)).cpu().numpy()
        return self.size - carried

    def _decide(
        self, players: NDArray[np.int64], actions: NDArray[np.int64], log_probs: NDArray[np.float32]
    ) -> None:
        """Keep a decision of one player in each game, (N,) each."""
        games = np.arange(len(players))
        new = self.size + games
        before = self.open[games, players]
        self.decisions["following"][before[before >= 0]] = new[before >= 0]
        self.open[games, players] = new
        decided = self.decisions[self.size : self.size + len(players)]
        decided["action"], decided["log_prob"], decided["reward"] = actions, log_probs, 0.0
        self.size += len(players)

    def advantages(self, gamma: float, lam: float) -> tuple[Any, Any, Any]:
        """Generalized advantage estimation along each seat's own decisions.

        Returns:
            complete: int64 (M,), the decisions that are not open.
            advantages: float32 (M,).
            returns: float32 (M,), advantages plus values: what the critic learns.
        """
        decisions, out = self.decisions[: self.size], np.zeros(self.size, np.float32)
        _estimate(decisions, gamma, lam, out)
        complete = np.flatnonzero((decisions["following"] >= 0) | decisions["is_last"])
        return complete, out[complete], out[complete] + decisions["value"][complete]

    def rows(self, places: Any) -> tuple[SparseRows, SparseRows]:
        """Inputs and action masks of some decisions."""
        return self.inputs.take(places), self.legal.take(places)

    def decided(self, places: Any) -> tuple[Any, Any]:
        """The actions (M,) of some decisions, and their log probabilities."""
        return self.decisions["action"][places], self.decisions["log_prob"][places]

    def forget(self) -> None:
        """Nothing that was decided before is learned from."""
        self.open[:] = -1


@jit
def _estimate(decisions, gamma, lam, out):  # type: ignore[no-untyped-def]
    """Write advantages; those of open decisions stay 0, so that what precedes them bootstraps."""
    for k in range(len(out) - 1, -1, -1):
        decision = decisions[k]
        after = decision.following
        if decision.is_last:
            out[k] = decision.reward - decision.value
        elif after >= 0:
            ahead = decision.reward + gamma * decisions[after].value - decision.value
            out[k] = ahead + gamma * lam * out[after]


# ---------------------------------------------------------------------------------------------
# The learner
# ---------------------------------------------------------------------------------------------


class PPO:
    """The learner: ``collect`` a rollout, ``update`` the networks, or ``iterate``, again and again.

    Attributes:
        decisions: Decisions taken so far, forced ones not counted.
        iteration: Updates made so far.
        share_done: Says which share of the training is done, which schedules follow: by default
            that of the configuration's decisions.
        average: The exponential moving average of the networks that is evaluated and exported.
        anchor: The one that the KL term pulls to.

    Raises:
        ValueError: The device is not available.
    """

    def __init__(self, games: HostGames | DeviceGames, config: Config) -> None:
        self.config, self.games = config, games
        self.device = device_of(config)
        self._dtype = {"dense": torch.float32, "bfloat16": torch.bfloat16}.get(config.rows)
        on_device = isinstance(games, DeviceGames)
        self.generator = torch.Generator(self.device if on_device else "cpu")
        self.generator.manual_seed(config.seed)
        torch.manual_seed(config.seed)  # initial weights
        self.networks = ActorCritic(games.game, games.inputs, config).to(self.device)
        features = SparseRows.of(self.networks.actor.action_features)
        self.features = rows_on(self.device, features, torch.float32 if on_device else None)
        self.optimizer = torch.optim.Adam(
            self.networks.parameters(), lr=config.ppo.learning_rate, eps=1e-5, fused=True
        )
        self.average = copy.deepcopy(self.networks).requires_grad_(False)
        self.anchor = copy.deepcopy(self.networks).requires_grad_(False)
        self.decisions = self.iteration = 0
        self.share_done: Callable[[], float] = lambda: self.decisions / max(config.decisions, 1)
        self.rollout: Rollout | DeviceRollout
        if isinstance(games, DeviceGames):
            dtype = self._dtype or torch.float32
            self.rollout = DeviceRollout(games, config.ppo.n_steps, dtype, self.generator)
        else:
            self.rollout = Rollout(games, config)

    def begin(self) -> None:
        """Begin all games; a checkpoint takes the place of this."""
        self.games.begin(self.networks.actor.network())

    def settle(self) -> None:
        """Restart with the networks as they are now: they are their own averages, and nothing
        that was decided before is learned from."""
        for average in (self.average, self.anchor):
            _move(average, self.networks, 0.0)
        self.rollout.forget()
        self.games.follow(self.networks.actor.network)

    def policy(self) -> Network:
        """The policy that is evaluated, joins the pool and is exported."""
        return self.average.actor.network()

    @torch.no_grad()
    def collect(self, choose: Choice | None = None) -> None:
        """Play a rollout: about ``n_steps`` decisions of the learner in every game, or of what
        chooses in its place, which are not counted."""
        taken = self.rollout.collect(choose or self.draw, self._values)
        self.decisions += taken if choose is None else 0

    def draw(self, inputs: Rows, legal: Rows) -> tuple[torch.Tensor, torch.Tensor]:
        """The policy's actions (M,), drawn, and their log probabilities."""
        inputs, legal = self._placed(inputs, legal)
        logits = self.networks.logits(inputs)
        device = self.generator.device
        numbers = torch.rand(len(logits), generator=self.generator, device=device).to(self.device)
        return draw_actions(logits, self.features, legal, numbers)

    def _values(self, inputs: Rows) -> torch.Tensor:
        return self.networks.values(rows_on(self.device, inputs, self._dtype))

    def iterate(self) -> dict[str, float]:
        """A rollout and an :meth:`update`; the policy joins the pool before, where that is due."""
        if self.iteration and not self.iteration % self.config.opponents.snapshot_every:
            self.games.add_snapshot(self.policy())
        self.collect()
        return self.update()

    def update(self) -> dict[str, float]:
        """Improve the networks on the rollout's complete decisions.

        Returns:
            Means over minibatches, and what else there is to log, by their names in TensorBoard.
        """
        config, ppo, rollout = self.config, self.config.ppo, self.rollout
        done = self.share_done()
        learning_rate, ent_coef = ppo.learning_rate_at(done), ppo.ent_coef_at(done, self.iteration)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        complete, advantages, returns = rollout.advantages(ppo.gamma, ppo.gae_lambda)
        steps: list[dict[str, torch.Tensor]] = []
        for batch in self.minibatches(len(complete)):
            rows = complete[batch]
            inputs, legal = self.rows(rows)
            actions, log_probs = rollout.decided(rows)
            anchor = None
            if ppo.kl_coef:
                with torch.no_grad():
                    anchor = self.anchor.logits(inputs)
            logits = self.networks.logits(inputs)
            log_prob, entropy, divergence = evaluate_actions(
                logits, self.features, legal, self.tensor(actions), anchor
            )
            gain = self.tensor(advantages[batch])
            gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
            log_ratio = log_prob - self.tensor(log_probs)
            ratio = torch.exp(log_ratio)
            clipped = ratio.clamp(1 - ppo.clip_range, 1 + ppo.clip_range)
            policy_loss = -torch.minimum(gain * ratio, gain * clipped).mean()
            values = self.networks.values(inputs)
            value_loss = nn.functional.mse_loss(values, self.tensor(returns[batch]))
            loss = policy_loss + ppo.vf_coef * value_loss - ent_coef * entropy.mean()
            loss = loss + ppo.kl_coef * divergence.mean()
            found = {
                "loss": loss,
                "policy_gradient_loss": policy_loss,
                "value_loss": value_loss,
                "entropy_loss": -entropy.mean(),
                "approx_kl": (ratio - 1 - log_ratio).mean(),
                "clip_fraction": ((ratio - 1).abs() > ppo.clip_range).float().mean(),
            }
            steps.append({name: value.detach() for name, value in found.items()})
            if ppo.target_kl is not None and steps[-1]["approx_kl"] > 1.5 * ppo.target_kl:
                break
            self.descend(loss, self.optimizer)
        self.iteration += 1
        # Young averages move faster: else those of short runs would be near the first weights.
        decay = min(config.ema_decay, self.iteration / (self.iteration + 9))
        _move(self.average, self.networks, decay)
        _move(self.anchor, self.networks, ppo.kl_decay)
        self.games.follow(self.networks.actor.network)
        names = steps[0] if steps else {}
        # Looked at once an update, since each look waits for the device.
        means = {name: float(torch.stack([step[name] for step in steps]).mean()) for name in names}
        means |= {"learning_rate": learning_rate, "ent_coef": ent_coef, "n_updates": self.iteration}
        if len(returns) and returns.var():
            means["explained_variance"] = 1.0 - float(advantages.var() / returns.var())
        return {f"train/{name}": value for name, value in means.items()}

    def descend(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Take a step down a loss's gradient, which is clipped."""
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.networks.parameters(), self.config.ppo.max_grad_norm)
        optimizer.step()

    def rows(self, places: Any) -> tuple[Rows, Rows]:
        """Inputs and action masks of some of the rollout's decisions."""
        return self._placed(*self.rollout.rows(places))

    def _placed(self, inputs: Rows, legal: Rows) -> tuple[Rows, Rows]:
        return rows_on(self.device, inputs, self._dtype), rows_on(self.device, legal)

    def tensor(self, array: NDArray[Any] | torch.Tensor) -> torch.Tensor:
        """What a rollout gave, where the networks are."""
        return torch.as_tensor(array, device=self.device)

    def minibatches(self, size: int, epochs: int | None = None) -> Iterator[Any]:
        """Random minibatches (B,) of ``size`` decisions, epoch after epoch: int64, as the rollout
        takes its places.

        A last one below half of ``batch_size`` joins the one before.
        """
        batch_size = self.config.ppo.batch_size
        count = max(1, (size + batch_size // 2) // batch_size)
        edges = [*range(0, count * batch_size, batch_size), size]
        for _ in range(epochs or self.config.ppo.n_epochs):
            generator = self.generator
            order: Any = torch.randperm(size, generator=generator, device=generator.device)
            order = order.numpy() if isinstance(self.rollout, Rollout) else order
            for first, stop in pairwise(edges):
                if first < stop:
                    yield order[first:stop]


def device_of(config: Config) -> torch.device:
    """The device of a run's networks.

    Raises:
        ValueError: There is no such device.
    """
    is_there = torch.cuda.is_available()
    if config.device == "cuda" and not is_there:
        raise ValueError("device: there is no GPU that torch can use; use auto or cpu")
    return torch.device("cpu" if config.device == "cpu" or not is_there else "cuda")


@torch.no_grad()
def _move(average: nn.Module, networks: nn.Module, decay: float) -> None:
    """Move an exponential moving average towards the networks."""
    for mean, value in zip(average.parameters(), networks.parameters(), strict=True):
        mean.lerp_(value, 1.0 - decay)
