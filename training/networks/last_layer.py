"""What a policy network's last layer gives logits for: actions, or features of which they are sums.

It is without torch, since configurations are checked, and listed on a page, where there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.game import Game

_Matrix = NDArray[np.float32]


def features_of(game: Game, logits: str) -> _Matrix:
    """What a last layer gives logits for, ``"features"`` of actions or ``"actions"``: float32
    (actions, F)."""
    if logits == "features":
        return np.asarray(game.action_features, np.float32)
    return np.eye(game.num_actions, dtype=np.float32)


def sums_over_features(
    weight: _Matrix, bias: _Matrix, action_features: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A last layer (actions, inputs) and (actions,) as one of logits of action features: (features,
    inputs) and (features,).

    Raises:
        ValueError: The logits are not sums over action features.
    """
    whole = np.column_stack([weight, bias]).astype(np.float64)
    found = np.linalg.lstsq(action_features, whole, rcond=None)[0]
    if not np.allclose(action_features @ found, whole, atol=1e-4):
        raise ValueError(
            "the policy's logits are not sums over action features, so that its weights cannot be "
            "copied with network.logits: features; logits: actions takes them, and "
            "imitation.copy_weights: false imitates it instead"
        )
    return found[:, :-1], found[:, -1]
