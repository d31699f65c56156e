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
ILLEGAL = -1e8
# Below 1 by more than rounding: a draw must not end up beyond the last legal action.
_BELOW_ONE = 1.0 - 2.0**-20


def log_probabilities(logits: torch.Tensor, features: Rows, legal: Rows) -> torch.Tensor:
    """The log probabilities of all actions, float32 (M, actions), about -1e8 of illegal ones.

    The arguments are those of :func:`draw_actions`; gradients flow to the logits.
    """
    of_actions = logits @ as_dense(features).t()
    return torch.log_softmax(of_actions.masked_fill(as_dense(legal) == 0, ILLEGAL), dim=1)


def drawn(probs: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """What is drawn from probabilities (M, actions) with numbers (M,) in [0, 1): int64 (M, 1)."""
    sums = probs.cumsum(dim=1)
    return torch.searchsorted(sums, numbers[:, None] * (sums[:, -1:] * _BELOW_ONE), right=True)


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
        actions = drawn(log_probs.exp(), numbers)
        return actions[:, 0], log_probs.gather(1, actions)[:, 0]
    chosen, log_prob = torch.empty(len(legal), dtype=torch.int64), torch.empty(len(legal))
    room = np.empty((2, legal.size), np.float32)
    found = chosen.numpy(), log_prob.numpy()
    kernels.draw_actions(
        logits.numpy(), *_arguments(features, legal), numbers.numpy(), room[0], room[1], *found
    )
    return chosen, log_prob


def evaluate_actions(
    logits: torch.Tensor,
    features: Rows,
    legal: Rows,
    chosen: torch.Tensor,
    anchor: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log probabilities of some legal actions ``chosen``, int64 (M,), entropies, and KL divergences
    from an anchor, (M,) each.

    The first three arguments are those of :func:`draw_actions`; gradients flow to the logits alone.
    ``anchor`` are the logits of other distributions, float32 (M, F); without it divergences are 0.
    """
    if isinstance(features, SparseRows) and isinstance(legal, SparseRows):
        log_prob, entropy, divergence = _evaluate(logits, features, legal, chosen, anchor)
        return log_prob, entropy, divergence
    log_probs = log_probabilities(logits, features, legal)
    entropy = -(log_probs.exp() * log_probs).sum(dim=1)
    divergence = torch.zeros_like(entropy)
    if anchor is not None:
        ahead = log_probs - log_probabilities(anchor, features, legal)
        divergence = (log_probs.exp() * ahead).sum(dim=1)
    return log_probs.gather(1, chosen[:, None])[:, 0], entropy, divergence


def _arguments(features: SparseRows, legal: SparseRows) -> tuple[Any, ...]:
    starts = np.append(features.begins, features.ends[-1:])
    return (starts, features.columns), (legal.begins, legal.ends, legal.columns)


class _Evaluation(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        logits: torch.Tensor,
        features: SparseRows,
        legal: SparseRows,
        chosen: torch.Tensor,
        anchor: torch.Tensor | None,
    ) -> tuple[torch.Tensor, ...]:
        arguments = _arguments(features, legal)
        count = int((legal.ends - legal.begins).sum())
        probs, log_probs, of_anchor = (np.empty(count, np.float32) for _ in range(3))
        if anchor is None:
            of_anchor = of_anchor[:0]
        else:
            others = anchor.contiguous().numpy()
            kernels.write_all_log_probs(others, *arguments, probs, of_anchor)
        own = logits.detach().contiguous().numpy()
        kernels.write_all_log_probs(own, *arguments, probs, log_probs)
        found = tuple(torch.empty(len(legal)) for _ in range(3))
        log_prob, entropy, divergence = (tensor.numpy() for tensor in found)
        known = chosen.numpy(), probs, log_probs, of_anchor
        kernels.evaluate_actions(arguments[1], *known, log_prob, entropy, divergence)
        ctx.size = logits.shape
        ctx.arguments = (*arguments, *known, entropy, divergence)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        out = torch.zeros(ctx.size)
        slopes = tuple(gradient.contiguous().numpy() for gradient in gradients)
        kernels.evaluate_actions_backward(*ctx.arguments, slopes, out.numpy())
        return out, None, None, None, None


_evaluate: Any = _Evaluation.apply
