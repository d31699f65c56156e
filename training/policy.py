"""The policy that is trained: SB3's masked actor-critic, its logits sums over parts of actions."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import nn


class PartsLayer(nn.Linear):
    """Logits of parts from the last hidden layer, and of each action the sum over its parts."""

    def __init__(self, inputs: int, parts: torch.Tensor) -> None:
        super().__init__(inputs, parts.shape[1])
        self.register_buffer("parts", parts, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (M, actions) for activations (M, inputs)."""
        return nn.functional.linear(x, *self.as_linear())

    def as_linear(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Weight (actions, inputs) and bias (actions,) of the linear layer that it amounts to."""
        parts: Any = self.parts
        return parts @ self.weight, parts @ self.bias


class PartsPolicy(MaskableActorCriticPolicy):
    """The actor's last layer is a ``PartsLayer``.

    Args:
        action_parts: float32 (actions, parts), see ``Game.action_parts``.
        *args, **kwargs: As for MaskableActorCriticPolicy.
    """

    def __init__(self, *args: Any, action_parts: NDArray[Any], **kwargs: Any) -> None:
        self._action_parts = action_parts
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        parts = torch.as_tensor(self._action_parts, dtype=torch.float32)
        self.action_net = PartsLayer(self.mlp_extractor.latent_dim_pi, parts)
        nn.init.orthogonal_(self.action_net.weight, gain=0.01)
        nn.init.zeros_(self.action_net.bias)
        # Anew, as the optimizer was made for the layer that is replaced.
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )
