"""The policy that is trained: SB3's masked actor-critic, its logits as a rule sums over parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import nn

from card_envs.agents.network import Network
from training.distribution import MaskedCategorical


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


class SplitExtractor(nn.Module):
    """The actor gets the first part of the input, the critic all of it or the rest."""

    def __init__(
        self,
        observed: int,
        inputs: int,
        critic_observes: bool,
        hidden: list[int],
        activation: Any,
    ) -> None:
        super().__init__()
        self._observed = observed
        self._critics = 0 if critic_observes else observed
        self.policy_net = _perceptron(observed, hidden, activation)
        self.value_net = _perceptron(inputs - self._critics, hidden, activation)
        self.latent_dim_pi, self.latent_dim_vf = (
            (hidden[-1], hidden[-1]) if hidden else (observed, inputs - self._critics)
        )

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Latent values of actor and critic."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """Latent values of the actor."""
        return self.policy_net(features[:, : self._observed])

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        """Latent values of the critic."""
        return self.value_net(features[:, self._critics :])


def _perceptron(inputs: int, hidden: list[int], activation: Any) -> nn.Sequential:
    layers: list[nn.Module] = []
    for size in hidden:
        layers += [nn.Linear(inputs, size), activation()]
        inputs = size
    return nn.Sequential(*layers)


def actor_layers(policy: MaskableActorCriticPolicy) -> list[Any]:
    """The actor's linear layers, from observation to logits."""
    hidden = [x for x in policy.mlp_extractor.policy_net if isinstance(x, nn.Linear)]
    return [*hidden, policy.action_net]


class PartsPolicy(MaskableActorCriticPolicy):
    """The actor sees the observation alone, and its last layer may be a ``PartsLayer``.

    Args:
        observed: How many of the input's values are the observation; what follows is the
            critic's alone.
        critic_observes: Whether the critic gets the observation too.
        hidden: Sizes of the hidden layers, of actor and critic each.
        unseen: bool (observed,), values that the actor does without.
        action_parts: float32 (actions, parts), see ``Game.action_parts``; None: the last layer
            gives each action a logit of its own.
        *args, **kwargs: As for MaskableActorCriticPolicy.
    """

    def __init__(
        self,
        *args: Any,
        observed: int,
        critic_observes: bool,
        hidden: list[int],
        unseen: NDArray[np.bool_],
        action_parts: NDArray[Any] | None,
        **kwargs: Any,
    ) -> None:
        self._observed = observed
        self._critic_observes = critic_observes
        self._hidden = hidden
        self._unseen = torch.as_tensor(unseen)
        self._action_parts = action_parts
        super().__init__(*args, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor: Any = SplitExtractor(
            self._observed,
            self.features_dim,
            self._critic_observes,
            self._hidden,
            self.activation_fn,
        )

    def _build(self, lr_schedule: Schedule) -> None:
        self.action_dist = MaskedCategorical(self.action_space.n)  # type: ignore
        super()._build(lr_schedule)
        if self._action_parts is not None:
            self._sum_over_parts(lr_schedule)
        self._do_without()

    def _sum_over_parts(self, lr_schedule: Schedule) -> None:
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

    def _do_without(self) -> None:
        """Weights of what the actor does without are 0 and stay so, in files and snapshots too."""
        if self._unseen.any():
            weight = actor_layers(self)[0].weight
            with torch.no_grad():
                weight[:, self._unseen] = 0.0
            weight.register_hook(
                lambda gradient: gradient.masked_fill(self._unseen.to(gradient.device), 0)
            )

    def take_over(self, network: Network) -> None:
        """Begin with another policy's weights: it plays the same, until it learns.

        Its layers may be smaller. What is told to a unit that it lacks is random, and nothing
        listens to such a unit at first.

        Raises:
            ValueError: Its logits are not what the last layer can give.
        """
        others = [*network.layers[:-1], self._of_parts(*network.layers[-1])]
        with torch.no_grad():
            layers = actor_layers(self)
            for layer, (weight, bias) in zip(layers, others, strict=True):
                size, inputs = weight.shape
                layer.weight[:size, :inputs] = torch.as_tensor(weight)
                layer.weight[:size, inputs:] = 0.0
                layer.bias[:size] = torch.as_tensor(bias)
            layers[0].weight[:, self._unseen] = 0.0

    def _of_parts(
        self, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The last layer's weight and bias, as parts if this policy has such."""
        if self._action_parts is None:
            return weight, bias
        whole = np.column_stack([weight, bias]).astype(np.float64)
        of_parts = np.linalg.lstsq(self._action_parts, whole, rcond=None)[0]
        if not np.allclose(self._action_parts @ of_parts, whole, atol=1e-4):
            raise ValueError("the weights cannot be taken over: the logits are not sums over parts")
        return of_parts[:, :-1], of_parts[:, -1]
