"""An iteration of expert iteration: fit a policy to what its actions turned out to be worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from card_envs.agents.network import Network
from card_envs.contract.game import Game
from training.improvement.config import FitSection
from training.improvement.labels import Labels
from training.networks.actor import Actor
from training.networks.legal_actions import log_probabilities
from training.networks.sparse import SparseRows

# Standard errors by which a gain must be above 0.
_CLEAR = 2.0


def log_probs_of(actor: Actor, observation: SparseRows, action_mask: torch.Tensor) -> torch.Tensor:
    """Log probabilities (M, A) of the actions, about -1e8 where they are illegal."""
    features = torch.from_numpy(actor.action_features)
    return log_probabilities(actor(observation), features, action_mask)


class _Judge:
    """Labels, and how much better than the policy before another one is by them."""

    def __init__(self, labels: Labels, game: Game, before: Actor) -> None:
        self._observation = SparseRows.of(labels.observation / game.fields.scale)
        self._action_mask = torch.from_numpy(labels.action_mask)
        self._labels = labels
        self.chunks = _chunks(np.arange(len(labels)), 4096)  #: all rows
        with torch.no_grad():
            self._before = torch.cat([self._log_probs(before, rows) for rows in self.chunks])

    def _log_probs(self, actor: Actor, rows: Any) -> torch.Tensor:
        return log_probs_of(actor, self._observation.take(rows), self._action_mask[rows])

    def evaluate(self, actor: Actor, rows: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """By how much the expected advantage rises, the KL divergence, and by how much the
        advantage of the likeliest action rises, each (M,)."""
        now, before = self._log_probs(actor, rows), self._before[rows]
        advantages = _advantages(self._labels, rows, before)
        gain = ((now.exp() - before.exp()) * advantages).sum(dim=1)
        kl = (before.exp() * (before - now)).sum(dim=1)
        chosen, old = now.argmax(dim=1, keepdim=True), before.argmax(dim=1, keepdim=True)
        greedy = advantages.gather(1, chosen) - advantages.gather(1, old)
        return gain, kl, greedy[:, 0]


def _chunks(rows: Any, size: int) -> list[Any]:
    return np.split(rows, range(size, len(rows), size))


def _advantages(labels: Labels, rows: Any, before: torch.Tensor) -> torch.Tensor:
    """What each action gains over the policy before, among those that were tried.

    An action that was not tried counts as the worst one that was: nothing speaks for it.
    """
    actions = torch.from_numpy(labels.actions[rows].astype(np.int64))
    values = torch.from_numpy(labels.values[rows])
    is_tried = actions >= 0
    shares = before.gather(1, actions.clamp(min=0)).exp() * is_tried
    mean = (shares * values).sum(dim=1, keepdim=True) / shares.sum(dim=1, keepdim=True)
    ahead = values - mean
    worst = ahead.masked_fill(~is_tried, torch.inf).amin(dim=1, keepdim=True)
    advantages = worst.repeat(1, before.shape[1] + 1)  # the last takes what has no action
    advantages.scatter_(1, actions.masked_fill(~is_tried, before.shape[1]), ahead)
    return advantages[:, :-1]


def fit_policy(
    network: Network, game: Game, labels: Labels, held_out: Labels, fit: FitSection, seed: int
) -> tuple[Network, dict[str, Any]]:
    """Raise the expected advantage of a policy, with a KL term that keeps it near to itself.

    Returns:
        The network of the epoch with the greatest gain on what was held out (the network itself if
        none was clear), and what there is to know: ``gain``, ``gain_held_out``: by how much the
        policy's expected reward rises, for each of the labels' positions; ``gain_greedy``: the same
        of its likeliest actions, held out; ``kl``: the divergence; ``epoch``: the epoch, or 0 if
        there was none, and then beside it only ``gain_held_out``.
    """
    rng = np.random.default_rng(seed)
    actor = Actor.of(network, game)
    optimizer = torch.optim.Adam(actor.parameters(), lr=fit.learning_rate)
    given, judged = _Judge(labels, game, actor), _Judge(held_out, game, actor)
    steps = fit.epochs * -(-len(labels) // fit.batch_size)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    best, best_network = {"epoch": 0, "gain_held_out": 0.0}, network
    for epoch in range(1, fit.epochs + 1):
        total = 0.0
        for rows in _chunks(rng.permutation(len(labels)), fit.batch_size):
            gain, kl, _ = given.evaluate(actor, rows)
            optimizer.zero_grad()
            (fit.kl_coef * kl - gain).mean().backward()
            optimizer.step()
            schedule.step()
            total += float(gain.detach().sum())
        with torch.no_grad():
            parts = [torch.stack(judged.evaluate(actor, rows)) for rows in judged.chunks]
        found = torch.cat(parts, dim=1)
        gain, kl, greedy = found.mean(dim=1).tolist()
        # Labels of nothing but noise have an epoch above 0, too.
        noise = _CLEAR * float(found[0].std()) / len(held_out) ** 0.5
        if gain > max(best["gain_held_out"], noise):
            best_network = actor.network()
            best = {"epoch": epoch, "gain": total / len(labels), "gain_held_out": gain}
            best |= {"gain_greedy": greedy, "kl": kl}
    return best_network, best
