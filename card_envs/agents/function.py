"""A user's own policy as an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import Agent, Turn
from card_envs.contract.options import View
from card_envs.utils.checks import check_name

#: ``function(observation[M, D], action_mask[M, A]) -> actions[M]``.
PolicyFunction = Callable[[NDArray[np.float32], NDArray[np.int8]], Any]


class FunctionAgent(Agent):
    """A function of observations and masks as an agent.

    Args:
        name: What to call it.
        function: ``function(observation, action_mask) -> actions`` for float32 (M, D) in [0, 1] and
            int8 (M, A); it returns M legal actions, whole numbers. Anything else is a ValueError.
        memory: ``"perfect"`` recall in what it observes, or ``"none"``.
        features: Whether derived fields are written, or left 0.

    Raises:
        ValueError: ``memory`` or ``features`` is not allowed; the message says what is.
        TypeError: ``function`` cannot be called, or is a class, or the name is not a string.
    """

    def __init__(
        self,
        name: str,
        function: PolicyFunction,
        memory: str = "perfect",
        features: bool = True,
    ) -> None:
        if not callable(function) or isinstance(function, type):
            raise TypeError(
                f"function must be a function of observations and masks, got {function!r}"
            )
        self.name = check_name(name)
        self.view = View(memory, features)
        self._function = function

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """The function's actions (M,)."""
        actions: NDArray[np.int64] = self._function(turn.observation, turn.action_mask)
        return actions


def best_legal(
    scores: NDArray[np.floating[Any]], action_mask: NDArray[np.int8]
) -> NDArray[np.int64]:
    """The legal actions (M,) of the highest scores (M, A), the first ones of ties.

    -inf is as low as can be, but legal; what illegal actions have does not matter.

    Raises:
        ValueError: A legal action's score is NaN.
    """
    scores = np.where(action_mask, np.maximum(scores, np.finfo(scores.dtype).min), -np.inf)
    if np.isnan(scores).any():
        raise ValueError("the model's output has NaN where a legal action's score should be")
    actions: NDArray[np.int64] = scores.argmax(axis=1)
    return actions
