"""Agents that are kernels: in batches they play inside the compiled loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import Agent, Turn
from card_envs.contract.game import Game, check_is_game, check_same_game
from card_envs.engine.seeds import random_action, stream_of
from card_envs.engine.templates import HEURISTIC, RANDOM


class RandomAgent(Agent):
    """Chooses uniformly among the legal actions.

    Args:
        game: The game that it plays.
        seed: The seed of its choices, which follow from the games' seeds inside the compiled loop.

    Raises:
        ValueError, TypeError: It is no ``Game``, or the seed is no whole number in [0, 2**64).
    """

    name = "random"

    def __init__(self, game: Game, seed: int = 0) -> None:
        check_is_game(game)
        self._streams = stream_of(seed)

    @property
    def kernel(self) -> int | None:
        """It is a kernel, unless a subclass chooses otherwise."""
        return RANDOM if type(self).act is RandomAgent.act else None

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """Legal actions (M,)."""
        return np.array(
            [random_action(self._streams, 0, mask, int(mask.sum())) for mask in turn.action_mask],
            np.int64,
        )


class HeuristicAgent(Agent):
    """The game's scripted player.

    Args:
        game: The game that it plays.
        seed: As all agents' classes take one; nothing is drawn.

    Raises:
        ValueError: The game has no scripted player.
        TypeError: It is no ``Game``.
    """

    name = "heuristic"

    def __init__(self, game: Game, seed: int = 0) -> None:
        check_is_game(game)
        if game.heuristic is None:
            raise ValueError(f"{game.id} has no heuristic; use random or a policy file")
        self._game = game

    def check_game(self, game: Game) -> None:
        """Raise a ValueError if it is another game's scripted player."""
        check_same_game("this heuristic plays", self._game, game)

    @property
    def kernel(self) -> int | None:
        """It is a kernel, unless a subclass chooses otherwise."""
        return HEURISTIC if type(self).act is HeuristicAgent.act else None

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """Legal actions (M,)."""
        heuristic = self._game.heuristic
        assert heuristic is not None
        return np.array([heuristic(turn.states, i) for i in turn.indices], np.int64)


#: The names of these agents in every game that has them.
SCRIPTED = (RandomAgent.name, HeuristicAgent.name)
