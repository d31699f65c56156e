"""The policy network: from observations to logits of action features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from card_envs.agents.network import Network
from card_envs.contract.game import Game
from training.networks.last_layer import features_of, sums_over_features
from training.networks.layers import perceptron
from training.networks.sparse import Rows

_Matrix = NDArray[np.float32]


class Actor(nn.Module):
    """A policy network; an action's logit is the sum of the logits of its features: float32
    (actions, F), see :func:`features_of`."""

    def __init__(
        self, inputs: int, hidden: Sequence[int], activation: str, action_features: _Matrix
    ) -> None:
        super().__init__()
        self.activation = activation
        self.action_features = action_features
        self._ablated = torch.zeros(inputs, dtype=torch.bool)
        self.layers = perceptron(inputs, hidden, activation, action_features.shape[1], gain=0.01)

    @classmethod
    def of(cls, network: Network, game: Game) -> Actor:
        """A policy network with the weights of a NumPy one, of action features if these allow."""
        sizes = [len(bias) for _, bias in network.layers[:-1]]
        try:
            features = features_of(game, "features")
            sums_over_features(*network.layers[-1], features)
        except ValueError:
            features = features_of(game, "actions")
        actor = cls(game.fields.size, sizes, network.activation, features)
        actor.copy_weights(network)
        return actor

    @property
    def linear(self) -> list[nn.Linear]:
        """The linear layers, from the observation to the logits."""
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def forward(self, observations: Rows) -> torch.Tensor:
        """Logits of the action features, float32 (M, F), for observations (M, inputs)."""
        logits: torch.Tensor = self.layers(observations)
        return logits

    def ablate(self, inputs: NDArray[np.bool_]) -> None:
        """Keep the weights of some inputs (D,) at 0, also in what is exported."""
        self._ablated = torch.from_numpy(inputs)
        weight = self.linear[0].weight
        with torch.no_grad():
            weight[:, self._ablated] = 0.0
        weight.register_hook(
            lambda gradient: gradient.masked_fill(self._ablated.to(gradient.device), 0)
        )

    def network(self) -> Network:
        """The same network in NumPy, with a logit for each action; the weights are copies."""
        layers = [
            (layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy())
            for layer in self.linear
        ]
        weight, bias = layers.pop()
        last = self.action_features @ weight, self.action_features @ bias
        return Network([*((w.copy(), b.copy()) for w, b in layers), last], self.activation)

    def copy_weights(self, network: Network) -> None:
        """Take over a network's weights: this one then plays the same, until it learns.

        Its layers may be smaller: new units have random inputs and zero output weights.

        Raises:
            ValueError: Its logits are not sums over action features, as this one's are.
        """
        *hidden, last = network.layers
        last = sums_over_features(*last, self.action_features)
        with torch.no_grad():
            for layer, (weight, bias) in zip(self.linear, [*hidden, last], strict=True):
                size, inputs = weight.shape
                layer.weight[:size, :inputs] = torch.as_tensor(weight)
                layer.weight[:size, inputs:] = 0.0
                layer.bias[:size] = torch.as_tensor(bias)
            self.linear[0].weight[:, self._ablated] = 0.0
