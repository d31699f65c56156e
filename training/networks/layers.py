"""Layers that are fast on a CPU, and layers whose input is sparse.

Activations of a lower precision, bfloat16, are multiplied with weights that are rounded to it; what
is learned, and what the last layer gives, stays float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from training.networks.sparse import SparseRows

# In place: the layers before need nothing of their outputs for the gradient.
_ACTIVATIONS: dict[str, Any] = {"relu": partial(nn.ReLU, inplace=True), "tanh": nn.Tanh}


class Linear(nn.Linear):
    """A linear layer, by the faster of torch's libraries on a CPU.

    By default torch multiplies float32 matrices with MKL. On Intel's processors that is faster than
    oneDNN; on others it does not use their widest instructions, and takes twice as long.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of the activations' dtype, (M, outputs), for activations (M, inputs)."""
        if x.dtype != self.weight.dtype:
            return nn.functional.linear(x, self.weight.to(x.dtype), self.bias.to(x.dtype))
        if x.device.type == "cpu" and _has_faster_onednn():
            dense: torch.Tensor = nn.functional.linear(x.to_mkldnn(), self.weight, self.bias)
            return dense.to_dense()
        return super().forward(x)


class OutputLayer(Linear):
    """A linear layer that gives float32, whatever it is given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32 (M, outputs) for activations (M, inputs)."""
        # One output alone, a value, is faster in float32.
        if x.dtype == torch.bfloat16 and x.device.type == "cpu" and self.out_features > 1:
            product: torch.Tensor = _RoundedProduct.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
            return product
        return super().forward(x.float())


class _RoundedProduct(torch.autograd.Function):
    """A linear layer of bfloat16 activations on a CPU: factors are rounded, sums are float32."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        with _rounded():
            return nn.functional.linear(x.float(), weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        (gradient,), (x, weight) = gradients, ctx.saved_tensors
        with _rounded():
            return (gradient @ weight).to(x.dtype), gradient.t() @ x.float(), gradient.sum(dim=0)


@contextmanager
def _rounded() -> Iterator[None]:
    """Let a CPU round the factors of float32 matrices to bfloat16."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@cache
def _has_faster_onednn() -> bool:
    about = Path("/proc/cpuinfo")
    is_intel = about.is_file() and "GenuineIntel" in about.read_text()
    return torch.backends.mkldnn.is_available() and not is_intel


class InputLayer(Linear):
    """A linear layer for sparse rows, on a CPU, or for dense ones.

    An input's weights lie next to each other in memory: the transposed matrix is a contiguous one.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.weight = nn.Parameter(self.weight.detach().t().contiguous().t())

    def forward(self, x: SparseRows | torch.Tensor) -> torch.Tensor:
        """float32, or of the dense inputs' dtype, (M, outputs) for inputs (M, inputs)."""
        if isinstance(x, SparseRows):
            product: torch.Tensor = _SparseProduct.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
            return product
        return super().forward(x)


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


def perceptron(
    inputs: int, hidden: Sequence[int], activation: str, outputs: int, gain: float
) -> nn.Sequential:
    """A multilayer perceptron for sparse rows, or for dense ones, with hidden layers of these sizes
    and their activation, ``"relu"`` or ``"tanh"``.

    Weights are orthogonal, those of the last layer times ``gain``; biases are 0.
    """
    layers: list[nn.Module] = []
    for size in hidden:
        kind = Linear if layers else InputLayer
        layers += [_initialized(kind(inputs, size), np.sqrt(2)), _ACTIVATIONS[activation]()]
        inputs = size
    kind = OutputLayer if layers else InputLayer
    return nn.Sequential(*layers, _initialized(kind(inputs, outputs), gain))


def _initialized(layer: nn.Linear, gain: float) -> nn.Linear:
    nn.init.orthogonal_(layer.weight, gain=gain)
    nn.init.zeros_(layer.bias)
    return layer
