"""The agents that are kernels of the game: in batches they play inside the compiled loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Game
from card_envs.engine.rng import mix
from card_envs.engine.seeds import check_seed, random_action
from card_envs.engine.templates import HEURISTIC, RANDOM


class RandomAgent:
    """Chooses uniformly among the legal actions.

    Args:
        game: The game that it is to play.
        seed: Of its choices; where it plays inside the compiled loop they follow from the seeds of
            the games instead.
    """

    name = "random"
    kind = RANDOM

    def __init__(self, game: Game, seed: int = 0) -> None:
        self._game = game
        self._streams = np.array([mix(np.uint64(check_seed(seed)))], np.uint64)

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]
    ) -> NDArray[np.int64]:
        """Actions (M,) for masks (M, A)."""
        return np.array(
            [random_action(self._streams, 0, mask, int(mask.sum())) for mask in action_mask],
            np.int64,
        )

    def choose(self, states: NDArray[np.void], i: int) -> int:
        """A legal action of the player to move in ``states[i]``."""
        mask = np.zeros(self._game.num_actions, np.int8)
        count = self._game.rules.legal_action_mask(states, i, mask)
        return int(random_action(self._streams, 0, mask, count))


class HeuristicAgent:
    """The game's scripted player."""

    name = "heuristic"
    kind = HEURISTIC

    def __init__(self, game: Game) -> None:
        self._game = game

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]
    ) -> NDArray[np.int64]:
        """Not to be had: the scripted player looks at the game's record, see :meth:`choose`."""
        raise NotImplementedError("the heuristic chooses from the game's state: use choose()")

    def choose(self, states: NDArray[np.void], i: int) -> int:
        """A legal action of the player to move in ``states[i]``."""
        return int(self._game.heuristic(states, i))
