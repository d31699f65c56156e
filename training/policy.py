"""The policy that is trained: SB3's masked actor-critic with a critic that may see more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import nn

from card_envs.agents.network import Network
from training.distribution import MaskedCategorical
from training.layers import InputLayer, Linear, linear
from training.legal_actions import divergences, draw_actions, evaluate_actions
from training.sparse import SparseRows

#: What the networks see: dense rows, or sparse ones on a CPU.
Inputs = torch.Tensor | SparseRows


class ActionFeaturesLayer(Linear):
    """A logit for each action feature; an action's logit is the sum over its features.

    Args:
        inputs: Size of the last hidden layer.
        action_features: float32 (actions, features), 0 or 1, see ``Game.action_features``.
    """

    def __init__(self, inputs: int, action_features: torch.Tensor) -> None:
        super().__init__(inputs, action_features.shape[1])
        self.register_buffer("action_features", action_features, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (M, actions) for activations (M, inputs)."""
        return linear(x, *self.as_linear())

    def feature_logits(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (M, features) of the action features."""
        return super().forward(x)

    def as_linear(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Weight (actions, inputs) and bias (actions,) of the equivalent linear layer."""
        features: Any = self.action_features
        return features @ self.weight, features @ self.bias


class SplitExtractor(nn.Module):
    """The actor gets the beginning of the input, the critic all of it or the rest.

    Args:
        observed: How many values the actor gets.
        inputs: Size of the input.
        critic_observes: Whether the critic gets what the actor gets too.
        hidden: Sizes of the hidden layers, of actor and critic each.
        activation: The class of their activation.
    """

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
        self._inputs = inputs
        self._critics = 0 if critic_observes else observed
        self.policy_net = perceptron(observed, hidden, activation)
        self.value_net = perceptron(inputs - self._critics, hidden, activation)
        self.latent_dim_pi, self.latent_dim_vf = (
            (hidden[-1], hidden[-1]) if hidden else (observed, inputs - self._critics)
        )

    def forward(self, features: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """Latent features of actor and critic for inputs (M, inputs)."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Inputs) -> torch.Tensor:
        """Latent features of the actor (M, last hidden size)."""
        latent: torch.Tensor = self.policy_net(_columns(features, 0, self._observed))
        return latent

    def forward_critic(self, features: Inputs) -> torch.Tensor:
        """Latent features of the critic (M, last hidden size)."""
        latent: torch.Tensor = self.value_net(_columns(features, self._critics, self._inputs))
        return latent


def _columns(inputs: Inputs, first: int, stop: int) -> Inputs:
    if isinstance(inputs, SparseRows):
        return inputs.between(first, stop)
    return inputs[:, first:stop]


def perceptron(inputs: int, hidden: Sequence[int], activation: Any) -> nn.Sequential:
    """Hidden layers, each with its activation.

    Args:
        inputs: Size of the input: SparseRows, or a tensor.
        hidden: Sizes of the layers.
        activation: The class of their activation.
    """
    layers: list[nn.Module] = []
    for k, size in enumerate(hidden):
        layers += [(Linear if k else InputLayer)(inputs, size), activation()]
        inputs = size
    return nn.Sequential(*layers)


def actor_layers(policy: MaskableActorCriticPolicy) -> list[Any]:
    """The actor's linear layers, from observation to logits."""
    hidden = [x for x in policy.mlp_extractor.policy_net if isinstance(x, nn.Linear)]
    return [*hidden, policy.action_net]


@dataclass(frozen=True)
class Regularization:
    """What is added to a policy's objective: its entropy, and nearness to another policy.

    Attributes:
        reference: The other policy.
        ent_coef: Weight of the entropy.
        kl_coef: Weight of the KL divergence from the other policy.
    """

    reference: AsymmetricPolicy
    ent_coef: float
    kl_coef: float


class AsymmetricPolicy(MaskableActorCriticPolicy):
    """An actor that sees the observation alone, and a critic that may see more.

    Args:
        observed: How many of the input's values are the observation; the following ones are the
            critic's alone.
        critic_observes: Whether the critic gets the observation too.
        hidden: Sizes of the hidden layers, of actor and critic each.
        ablated: bool (observed,), values that the actor does without.
        action_features: float32 (actions, features), see ``Game.action_features``, for a last layer
            that is an ``ActionFeaturesLayer``. None: it gives each action a logit of its own.
        *args, **kwargs: As for MaskableActorCriticPolicy.
    """

    def __init__(
        self,
        *args: Any,
        observed: int,
        critic_observes: bool,
        hidden: list[int],
        ablated: NDArray[np.bool_],
        action_features: NDArray[Any] | None,
        **kwargs: Any,
    ) -> None:
        self._observed = observed
        self._critic_observes = critic_observes
        self._hidden = hidden
        self._ablated = torch.as_tensor(ablated)
        self._action_features = action_features
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
        if self._action_features is not None:
            self._sum_over_features(lr_schedule)
        #: Takes the place of the entropy in what ``evaluate_actions`` returns.
        self.regularization: Regularization | None = None
        self._features_of_actions = SparseRows.of(
            np.eye(self.action_space.n, dtype=np.float32)  # type: ignore[attr-defined]
            if self._action_features is None
            else self._action_features
        )
        self._ablate()

    def _sum_over_features(self, lr_schedule: Schedule) -> None:
        features = torch.as_tensor(self._action_features, dtype=torch.float32)
        self.action_net = ActionFeaturesLayer(self.mlp_extractor.latent_dim_pi, features)
        nn.init.orthogonal_(self.action_net.weight, gain=0.01)
        nn.init.zeros_(self.action_net.bias)
        # The optimizer was made for the layer that is replaced.
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def _ablate(self) -> None:
        """Set the weights of ablated values to 0 and keep them there, also in what is exported."""
        if self._ablated.any():
            weight = actor_layers(self)[0].weight
            with torch.no_grad():
                weight[:, self._ablated] = 0.0
            weight.register_hook(
                lambda gradient: gradient.masked_fill(self._ablated.to(gradient.device), 0)
            )

    def act(
        self, inputs: SparseRows, legal: SparseRows
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """What a rollout needs of sparse inputs, without gradients.

        Args:
            inputs: As for ``forward``.
            legal: The action masks (M, actions).

        Returns:
            actions: int64 (M,).
            values: float32 (M, 1).
            log_probs: float32 (M,), of the actions.
        """
        with torch.no_grad():
            latent_pi, latent_vf = self.mlp_extractor(inputs)
            logits = self._feature_logits(latent_pi)
            actions, log_probs = draw_actions(logits, self._features_of_actions, legal)
            return actions, self.value_net(latent_vf), log_probs

    def evaluate_actions(
        self, obs: Any, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values, log probabilities of the actions and entropies, as SB3 has them.

        With a regularization its sum stands in the place of the entropies.

        Args:
            obs: Inputs: SparseRows, or a tensor.
            actions: int64 (M,).
            action_masks: SparseRows (M, actions) if the inputs are, otherwise as in SB3.
        """
        added = self.regularization
        if not isinstance(obs, SparseRows):
            values, log_prob, entropy = super().evaluate_actions(obs, actions, action_masks)
            if added is not None and entropy is not None:
                own: Any = self.get_distribution(obs, action_masks)
                with torch.no_grad():
                    other: Any = added.reference.get_distribution(obs, action_masks)
                divergence = (own.probs * (own.log_probs - other.log_probs)).sum(dim=1)
                entropy = added.ent_coef * entropy - added.kl_coef * divergence
            return values, log_prob, entropy
        latent_pi, latent_vf = self.mlp_extractor(obs)
        logits = self._feature_logits(latent_pi)
        features = self._features_of_actions
        log_prob, entropy = evaluate_actions(logits, features, action_masks, actions)
        if added is not None:
            with torch.no_grad():
                latent = added.reference.mlp_extractor.forward_actor(obs)
                other = added.reference._feature_logits(latent)
            divergence = divergences(logits, other, features, action_masks)
            entropy = added.ent_coef * entropy - added.kl_coef * divergence
        return self.value_net(latent_vf), log_prob, entropy

    def _feature_logits(self, latent: torch.Tensor) -> torch.Tensor:
        layer: Any = self.action_net
        logits: torch.Tensor = (
            layer.feature_logits if isinstance(layer, ActionFeaturesLayer) else layer
        )(latent)
        return logits

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        """The distribution over all actions for inputs: SparseRows, or a tensor."""
        if not isinstance(obs, SparseRows):
            return super().get_distribution(obs, action_masks)
        latent = self.mlp_extractor.forward_actor(obs)
        distribution = self._get_action_dist_from_latent(latent)
        distribution.apply_masking(action_masks)
        return distribution

    def predict_values(self, obs: Any) -> torch.Tensor:
        """Values (M, 1) for inputs: SparseRows, or a tensor."""
        if isinstance(obs, SparseRows):
            values: torch.Tensor = self.value_net(self.mlp_extractor.forward_critic(obs))
            return values
        dense: torch.Tensor = super().predict_values(obs)
        return dense

    def copy_weights(self, network: Network) -> None:
        """Start with another policy's weights: this one then plays the same, until it learns.

        Its layers may be smaller: new units have random inputs and zero output weights.

        Args:
            network: The other policy.

        Raises:
            ValueError: Its logits are not sums over action features, as this policy's are.
        """
        last = network.layers[-1]
        if self._action_features is not None:
            last = sums_over_features(*last, self._action_features)
        others = [*network.layers[:-1], last]
        with torch.no_grad():
            layers = actor_layers(self)
            for layer, (weight, bias) in zip(layers, others, strict=True):
                size, inputs = weight.shape
                layer.weight[:size, :inputs] = torch.as_tensor(weight)
                layer.weight[:size, inputs:] = 0.0
                layer.bias[:size] = torch.as_tensor(bias)
            layers[0].weight[:, self._ablated] = 0.0


def sums_over_features(
    weight: NDArray[np.float32], bias: NDArray[np.float32], action_features: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A last layer of logits of actions, as one of logits of action features.

    Args:
        weight: (actions, inputs).
        bias: (actions,).
        action_features: (actions, features), see ``Game.action_features``.

    Returns:
        Weight (features, inputs) and bias (features,).

    Raises:
        ValueError: The logits are not sums over action features.
    """
    whole = np.column_stack([weight, bias]).astype(np.float64)
    found = np.linalg.lstsq(action_features, whole, rcond=None)[0]
    if not np.allclose(action_features @ found, whole, atol=1e-4):
        raise ValueError(
            "the weights cannot be copied: the logits are not sums over action features"
        )
    return found[:, :-1], found[:, -1]
