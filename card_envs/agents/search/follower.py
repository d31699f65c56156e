"""``SearchFollower``: what a search remembers of its games."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.agents.search.rollouts import Found
from card_envs.contract.agent import Follower, Turn
from card_envs.contract.game import Game

# Worlds are weighed by this many decisions of others at most, among this many of all: the latest.
_MOST_PAST = 16
_MOST_REMEMBERED = 128


class PastDecision(NamedTuple):
    """An earlier decision, by any player."""

    states: NDArray[np.void]  #: the game as it then was, a record (1,) of ``game.state_dtype``
    action: int  #: what the player to move did


#: ``search_after`` of a ``SearchAgent``.
Search = Callable[[Turn, Sequence[Sequence[PastDecision]], ArrayLike | None], Found]


class SearchFollower(Follower):
    """Remembers the decisions of the current round in a ``SearchAgent``'s games.

    Args:
        search_after: The agent's.
        game: The game; None: there is nothing to remember.
    """

    def __init__(self, search_after: Search, game: Game | None) -> None:
        self._search_after = search_after
        self._game = game
        # By game: a round's number, and the decisions in it.
        self._past: dict[int, tuple[int, deque[PastDecision]]] = {}

    def begin(self, states: NDArray[np.void], i: int, players: Sequence[int]) -> None:
        """Forget the previous game with this index."""
        self._past.pop(i, None)

    def watch(self, states: NDArray[np.void], i: int, action: int) -> None:
        """Remember the decision, and forget those of earlier rounds."""
        if self._game is None:
            return
        number = self._game.round_of(states, i)
        if i not in self._past or self._past[i][0] != number:
            self._past[i] = (number, deque(maxlen=_MOST_REMEMBERED))
        self._past[i][1].append(PastDecision(_copy_state(states, i), action))

    def decide(self, turn: Turn) -> NDArray[np.int64]:
        """Legal actions (M,)."""
        return self.search(turn).actions

    def search(self, turn: Turn, also: ArrayLike | None = None) -> Found:
        """Search, in worlds weighed by what others have done; ``also`` is tried in any case."""
        return self._search_after(turn, self.past(turn), also)

    def past(self, turn: Turn) -> list[list[PastDecision]]:
        """For each game of the turn what a search weighs worlds by: the latest decisions in this
        round by others than the player to move.

        A game that was redrawn has another seed: its past no longer agrees with its cards.
        """
        return [self._seen_in(turn.states, i) for i in turn.indices.tolist()]

    def _seen_in(self, states: NDArray[np.void], i: int) -> list[PastDecision]:
        if self._game is None or i not in self._past:
            return []
        number, decisions = self._past[i]
        if number != self._game.round_of(states, i):
            return []
        player, seed = states["current_player"][i], states["seed"][i]
        seen = [
            one
            for one in decisions
            if one.states["current_player"][0] != player and one.states["seed"][0] == seed
        ]
        return seen[-_MOST_PAST:]

    def end(self, states: NDArray[np.void], i: int, loser: int | None = None) -> None:
        """Forget the game."""
        self._past.pop(i, None)


def _copy_state(states: NDArray[np.void], i: int) -> NDArray[np.void]:
    """A read-only copy of a record (1,), by its bytes: field by field takes 20 times as long."""
    return np.frombuffer(states[i : i + 1].tobytes(), states.dtype)
