"""The distribution over legal actions: of sparse rows computed for these alone, by our kernels.

Dense rows, as on a GPU, take torch's operations on all actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from training.networks import kernels
from training.networks.sparse import Rows, SparseRows, as_dense

# The logit of an illegal action, whose probability is then exactly 0.
_ILLEGAL = -1e8
# Below 1 by more than rounding: a draw must not end up beyond the last legal action.
_BELOW_ONE = 1.0 - 2.0**-20


def log_probabilities(logits: torch.Tensor, features: Rows, legal: Rows) -> torch.Tensor:
    """The log probabilities of all actions, float32 (M, actions), about -1e8 of illegal ones.

    Args:
        logits: As for :func:`draw_actions`; gradients flow to them.
        features: As for :func:`draw_actions`.
        legal: As for :func:`draw_actions`.
    """
    of_actions = logits @ as_dense(features).t()
    return torch.log_softmax(of_actions.masked_fill(as_dense(legal) == 0, _ILLEGAL), dim=1)


def draw_actions(
    logits: torch.Tensor, features: Rows, legal: Rows, numbers: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Random legal actions, and their log probabilities.

    Args:
        logits: Of action features, float32 (M, F).
        features: The features (actions, F) of each action; its logit is the sum of theirs.
        legal: The action masks (M, actions), with a legal action in each.
        numbers: What they are drawn with, float32 (M,) in [0, 1).

    Returns:
        actions: int64 (M,).
        log_prob: float32 (M,).
    """
    if not isinstance(features, SparseRows) or not isinstance(legal, SparseRows):
        log_probs = log_probabilities(logits, features, legal)
        sums = log_probs.exp().cumsum(dim=1)
        places = numbers[:, None] * (sums[:, -1:] * _BELOW_ONE)
        actions = torch.searchsorted(sums, places, right=True)
        return actions[:, 0], log_probs.gather(1, actions)[:, 0]
    chosen, log_prob = torch.empty(len(legal), dtype=torch.int64), torch.empty(len(legal))
    kernels.draw_actions(
        logits.numpy(),
        *_arguments(features, legal),
        numbers.numpy(),
        np.empty(legal.size, np.float32),
        np.empty(legal.size, np.float32),
        chosen.numpy(),
        log_prob.numpy(),
    )
    return chosen, log_prob


def evaluate_actions(
    logits: torch.Tensor, features: Rows, legal: Rows, chosen: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log probabilities (M,) of the actions ``chosen`` (M,), and the entropies (M,).

    Args:
        logits: As for :func:`draw_actions`; gradients flow to them.
        features: As for :func:`draw_actions`.
        legal: As for :func:`draw_actions`.
        chosen: A legal action of each row, int64 (M,).
    """
    if not isinstance(features, SparseRows) or not isinstance(legal, SparseRows):
        log_probs = log_probabilities(logits, features, legal)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        return log_probs.gather(1, chosen[:, None])[:, 0], entropy
    evaluation: tuple[torch.Tensor, torch.Tensor] = _evaluate(logits, features, legal, chosen)
    return evaluation


def divergences(
    logits: torch.Tensor, reference: torch.Tensor, features: Rows, legal: Rows
) -> torch.Tensor:
    """The KL divergences (M,) of distributions over legal actions from others.

    Args:
        logits: As for :func:`draw_actions`; gradients flow to them.
        reference: The others' logits, float32 (M, F); none flow to them.
        features: As for :func:`draw_actions`.
        legal: As for :func:`draw_actions`.
    """
    if not isinstance(features, SparseRows) or not isinstance(legal, SparseRows):
        own = log_probabilities(logits, features, legal)
        other = log_probabilities(reference, features, legal)
        return (own.exp() * (own - other)).sum(dim=1)
    divergence: torch.Tensor = _diverge(logits, reference, features, legal)
    return divergence


def _arguments(features: SparseRows, legal: SparseRows) -> tuple[Any, ...]:
    starts = np.append(features.begins, features.ends[-1:])
    return starts, features.columns, legal.begins, legal.ends, legal.columns


class _Evaluation(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        logits: torch.Tensor,
        features: SparseRows,
        legal: SparseRows,
        chosen: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        count = int((legal.ends - legal.begins).sum())
        probs, log_probs = np.empty(count, np.float32), np.empty(count, np.float32)
        log_prob, entropy = torch.empty(len(legal)), torch.empty(len(legal))
        arguments = (*_arguments(features, legal), chosen.numpy(), probs, log_probs)
        kernels.evaluate_actions(
            logits.detach().contiguous().numpy(), *arguments, log_prob.numpy(), entropy.numpy()
        )
        ctx.size = logits.shape
        ctx.arguments = (*arguments, entropy.numpy())
        return log_prob, entropy

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        out = torch.zeros(ctx.size)
        kernels.evaluate_actions_backward(
            *ctx.arguments, *(gradient.contiguous().numpy() for gradient in gradients), out.numpy()
        )
        return out, None, None, None


_evaluate: Any = _Evaluation.apply


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        logits: torch.Tensor,
        reference: torch.Tensor,
        features: SparseRows,
        legal: SparseRows,
    ) -> torch.Tensor:
        counts = legal.ends - legal.begins
        probs, log_ratios = (np.empty(int(counts.sum()), np.float32) for _ in range(2))
        divergence = torch.empty(len(legal))
        arguments = _arguments(features, legal)
        kernels.measure_divergences(
            logits.detach().contiguous().numpy(),
            reference.detach().contiguous().numpy(),
            *arguments,
            np.empty(int(counts.max(initial=0)), np.float32),
            probs,
            log_ratios,
            divergence.numpy(),
        )
        ctx.size = logits.shape
        ctx.arguments = (*arguments, probs, log_ratios, divergence.numpy())
        return divergence

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        out = torch.zeros(ctx.size)
        kernels.measure_divergences_backward(
            *ctx.arguments, gradients[0].contiguous().numpy(), out.numpy()
        )
        return out, None, None, None


_diverge: Any = _Divergence.apply
