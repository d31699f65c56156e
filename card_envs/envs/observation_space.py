"""The observation space by the options ``mask`` and ``observation_dtype``."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from card_envs.contract.fields import check_observation_dtype
from card_envs.contract.game import Game

# A dict of observation and mask, or the observation alone: an option that no type can follow.
Observation = Any


def is_mask_in_info(mask: Any) -> bool:
    """Whether the option ``mask`` is ``"info"``.

    Raises:
        ValueError: It is neither that nor ``"observation"``.
    """
    if not isinstance(mask, str) or mask not in ("observation", "info"):
        raise ValueError(f"mask must be 'observation' or 'info', got {mask!r}")
    return bool(mask == "info")


def observation_space(
    game: Game, mask_in_info: bool, observation_dtype: Any = "float32"
) -> spaces.Space[Any]:
    """The space of one seat: a Box, in a Dict with the action mask unless the mask is in ``info``.

    Raises:
        ValueError: ``observation_dtype`` is neither ``"float32"`` nor ``"uint8"``.
    """
    if check_observation_dtype(observation_dtype) == np.uint8:
        scale = game.fields.scale.astype(np.uint8)
        observation: spaces.Box[Any] = spaces.Box(np.zeros_like(scale), scale, dtype=np.uint8)
    else:
        observation = spaces.Box(0.0, 1.0, (game.fields.size,), np.float32)
    if mask_in_info:
        return observation
    action_mask = spaces.Box(0, 1, (game.num_actions,), np.int8)
    return spaces.Dict({"observation": observation, "action_mask": action_mask})
