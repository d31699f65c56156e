"""Players who read a game's texts and nothing else, and answer in words.

Each rebuilds a record from the table that it reads (``benchmarks/text_players/<game>.py``) and asks
the scripted player what to do there. If that is what the scripted player does at the real table,
the text holds all that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.text_players.reading import TableInWords, read_table
from card_envs.contract.game import Game


class TextPlayer:
    """A function of a text that gives an answer in words.

    Args:
        game: A game that has a scripted player and a reader of its own here.
    """

    def __init__(self, game: Game) -> None:
        reader = import_module(f"{__name__}.{game.id}")
        self._fill: Any = reader.fill
        self._game = game

    def record(self, text: str) -> NDArray[np.void]:
        """A record of the game as the text describes it; what is hidden is left at 0 or filled."""
        states = self._game.new_states(1)
        table = read_table(text)
        s = states[0]
        s["num_players"] = len(table.seats)
        s["current_player"] = table.mover
        s["max_steps"] = 1
        self._fill(s, table)
        return states

    def __call__(self, text: str) -> str:
        """The answer to a text."""
        heuristic = self._game.heuristic
        assert heuristic is not None
        action = int(heuristic(self.record(text), 0))
        return f"I choose [{self._game.action_name(action)}]."


__all__ = ["TableInWords", "TextPlayer"]
