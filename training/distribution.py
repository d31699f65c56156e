"""The distribution over legal actions, for many actions: normalized once, drawn in one pass."""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from torch import nn

from training.layers import Linear

# The logit of an illegal action, whose probability is then exactly 0.
_ILLEGAL = -1e8
# Below 1 by more than rounding: a draw must not end up beyond the last legal action.
_BELOW_ONE = 1.0 - 2.0**-20


class MaskedCategorical(MaskableDistribution):
    """A categorical distribution over the legal ones of ``action_dim`` actions.

    It gives what sb3-contrib's own distribution gives. That one normalizes five times for each
    batch, which with a thousand actions takes longer than the networks.

    Args:
        action_dim: Number of actions.
    """

    def __init__(self, action_dim: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.action_dim = action_dim
        self._all_logits = self._logits = torch.empty(0, action_dim)
        self._log_probs: torch.Tensor | None = None

    def proba_distribution_net(self, latent_dim: int) -> nn.Module:
        """The layer that gives the logits."""
        return Linear(latent_dim, self.action_dim)

    def proba_distribution(self, action_logits: torch.Tensor) -> MaskedCategorical:
        """Begin with logits (M, action_dim), all actions legal."""
        self._all_logits = action_logits.view(-1, self.action_dim)
        self.apply_masking(None)
        return self

    def apply_masking(self, masks: Any) -> None:
        """Make those actions illegal where ``masks`` (M, action_dim) is 0; None: all are legal."""
        self._logits = self._all_logits
        if masks is not None:
            legal = torch.as_tensor(masks, dtype=torch.bool, device=self._logits.device)
            self._logits = self._logits.masked_fill(~legal.reshape(self._logits.shape), _ILLEGAL)
        self._log_probs = None

    @property
    def log_probs(self) -> torch.Tensor:
        """Log probabilities (M, action_dim)."""
        if self._log_probs is None:
            self._log_probs = torch.log_softmax(self._logits, dim=1)
        return self._log_probs

    @property
    def probs(self) -> torch.Tensor:
        """Probabilities (M, action_dim); ``exp`` of the log probabilities takes far longer."""
        return torch.softmax(self._logits, dim=1)

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """Log probabilities (M,) of actions (M,)."""
        return self.log_probs.gather(1, actions.long().view(-1, 1)).squeeze(1)

    def entropy(self) -> torch.Tensor:
        """Entropies (M,): an illegal action adds -1e8 times exactly 0."""
        return -(self.probs * self.log_probs).sum(dim=1)

    def sample(self) -> torch.Tensor:
        """Random actions (M,)."""
        sums = self.probs.cumsum(dim=1)
        chosen = torch.rand_like(sums[:, :1]) * (sums[:, -1:] * _BELOW_ONE)
        return torch.searchsorted(sums, chosen, right=True).squeeze(1)

    def mode(self) -> torch.Tensor:
        """The most probable actions (M,)."""
        return self.log_probs.argmax(dim=1)

    def actions_from_params(
        self, action_logits: torch.Tensor, deterministic: bool = False
    ) -> torch.Tensor:
        """Actions (M,) for logits, all actions legal."""
        return self.proba_distribution(action_logits).get_actions(deterministic=deterministic)

    def log_prob_from_params(
        self, action_logits: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Random actions (M,) for logits, all actions legal, and their log probabilities."""
        actions = self.actions_from_params(action_logits)
        return actions, self.log_prob(actions)
