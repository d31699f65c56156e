"""Layers that are fast on a CPU, and layers whose input is sparse."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from training.networks.sparse import SparseRows

# In place: the layers before need nothing of their outputs for the gradient.
_ACTIVATIONS: dict[str, Any] = {"relu": partial(nn.ReLU, inplace=True), "tanh": nn.Tanh}


class Linear(nn.Linear):
    """A linear layer, on a CPU by oneDNN.

    By default torch multiplies float32 matrices with MKL, which on other than Intel's processors
    does not use their widest instructions: that takes twice as long.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32 (M, outputs) for activations (M, inputs)."""
        is_ours = x.device.type == "cpu" and torch.backends.mkldnn.is_available()
        product = nn.functional.linear(x.to_mkldnn() if is_ours else x, self.weight, self.bias)
        return product.to_dense() if is_ours else product


class InputLayer(nn.Linear):
    """A linear layer for sparse rows, on a CPU, or for dense ones.

    An input's weights lie next to each other in memory: the transposed matrix is a contiguous one.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.weight = nn.Parameter(self.weight.detach().t().contiguous().t())

    def forward(self, x: SparseRows | torch.Tensor) -> torch.Tensor:
        """float32 (M, outputs) for inputs (M, inputs)."""
        if isinstance(x, SparseRows):
            product: torch.Tensor = _multiply(x, self.weight, self.bias)
            return product
        return nn.functional.linear(x, self.weight, self.bias)


class _SparseProduct(torch.autograd.Function):
    """A linear layer of sparse rows."""

    @staticmethod
    def forward(
        ctx: Any, rows: SparseRows, weight: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        ctx.rows = rows
        return rows.times(weight.detach().t().numpy(), bias.detach().numpy())

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        (gradient,) = gradients
        gradient = gradient.contiguous()
        no_bias = torch.zeros(gradient.shape[1])
        of_weight = ctx.rows.transposed.times(gradient.numpy(), no_bias.numpy())
        return None, of_weight.t(), gradient.sum(dim=0)


_multiply: Any = _SparseProduct.apply


def perceptron(
    inputs: int, hidden: Sequence[int], activation: str, outputs: int, gain: float
) -> nn.Sequential:
    """A multilayer perceptron for sparse rows, or for dense ones: from its inputs to its outputs,
    with hidden layers of these sizes and one activation, ``"relu"`` or ``"tanh"``.

    Weights are orthogonal, those of the last layer times ``gain``; biases are 0.
    """
    layers: list[nn.Module] = []
    for size in hidden:
        layers += [_layer(inputs, size, np.sqrt(2), not layers), _ACTIVATIONS[activation]()]
        inputs = size
    return nn.Sequential(*layers, _layer(inputs, outputs, gain, not layers))


def _layer(inputs: int, outputs: int, gain: float, is_first: bool) -> nn.Linear:
    layer = (InputLayer if is_first else Linear)(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain=gain)
    nn.init.zeros_(layer.bias)
    return layer
