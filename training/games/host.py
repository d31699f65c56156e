"""``HostGames``: games on the CPU, in which the learner holds all seats, or one among opponents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import Turn
from card_envs.contract.game import Game
from card_envs.engine.arena import Arena
from card_envs.engine.seeds import next_seeds
from card_envs.engine.templates import NOBODY
from card_envs.envs.learner_games import TRIES, stuck
from training.games.base import Games

_Indices = NDArray[np.int64]

_ARENA_ARRAYS = ("seating", "waiting", "observation", "action_mask", "returns", "_streams")


@dataclass(frozen=True)
class Outcome:
    """What followed from the learner's decisions in all games.

    Attributes:
        rewards: float64 (N, P), what each seat has got since.
        ended: int64 (E,), the games that are over; others have begun in their place.
        bootstrapped: int64 (B,), those of them that were truncated and are bootstrapped.
    """

    rewards: NDArray[np.float64]
    ended: NDArray[np.int64]
    bootstrapped: NDArray[np.int64]


class HostGames(Games):
    """``num_envs`` games that all wait for a decision of the learner.

    Forced moves are made for it. Games have seeds that follow from the run's seed; finished games
    are reset in the same step.

    Args:
        game: The game.
        *arguments, **more: Those of :class:`Games`.

    Attributes:
        players: int64 (N,), the player to move in each game.
    """

    def __init__(self, game: Game, *arguments: Any, **more: Any) -> None:
        super().__init__(game, *arguments, **more)
        count = len(self.all)
        self.arena = Arena(game, count, [], view=self.view, skip_forced=True, **self.options)
        self.arena.agents = self.agents
        self.players = np.zeros(count, np.int64)

    @property
    def seating(self) -> NDArray[np.int64]:
        """int64 (N, P), which of the agents holds each seat now."""
        return self.arena.seating

    def _start_all(self) -> None:
        self._start(self.all)

    def arrays(self) -> dict[str, Any]:
        """The running games, their tables and the snapshots, for a checkpoint."""
        return {
            "arena": {name: getattr(self.arena, name) for name in _ARENA_ARRAYS},
            "states": np.frombuffer(self.arena.states.tobytes(), np.uint8),
            "seeds": self._seeds,
            **super().arrays(),
        }

    def restore(self, arrays: dict[str, Any], activation: str) -> None:
        """Bring the games to what :meth:`arrays` gave; snapshots have this activation."""
        super().restore(arrays, activation)
        arena = self.arena
        for name, array in arrays["arena"].items():
            getattr(arena, name)[:] = array
        arena.states.view(np.ndarray).view(np.uint8)[:] = arrays["states"]
        self.players[:] = arena.states["current_player"]
        self._seeds[:] = arrays["seeds"]

    def observe(self) -> NDArray[np.float32]:
        """What the players to move and their critics see, float32 (N, inputs); the legal actions
        are ``arena.action_mask`` (N, A)."""
        arena = self.arena
        return self._inputs_of(arena.states, self.all, self.players, arena.observation)

    def turn(self, games: _Indices) -> Turn:
        """The learner's decision in some games, with copies of what it observes."""
        arena = self.arena
        seen = arena.observation[games], arena.action_mask[games]
        return Turn(self.game, arena.states, games, *seen)

    def step(self, actions: NDArray[np.int64]) -> Outcome:
        """Take the learner's actions (N,), and play on to its next decision in every game."""
        arena = self.arena
        arena.returns[:] = 0.0
        arena.act(self.all, actions)
        rewards = arena.returns.copy()
        ended = np.flatnonzero(arena.waiting == NOBODY)
        cut = ended[arena.states["truncated"][ended] != 0]
        kept, taken = self.cut_rewards
        rewards[cut] = kept * rewards[cut] - taken
        self._seeds[ended] = next_seeds(self._seeds[ended])
        self._start(ended)
        return Outcome(rewards, ended, cut if self.bootstraps else cut[:0])

    def _start(self, games: NDArray[np.int64]) -> None:
        """Begin games at their tables, and those in their place that the learner has no decision
        in."""
        arena, tables = self.arena, self.tables
        for _ in range(TRIES):
            tables.is_present[games] = True
            arena.start(games, self._seeds[games], tables.num_players[games], tables.seating[games])
            games = games[arena.waiting[games] == NOBODY]
            if not len(games):
                self.players[:] = arena.states["current_player"]
                return
            self._seeds[games] = next_seeds(self._seeds[games])
        forfeits = bool((self.arena.forfeited[games] != NOBODY).any())
        raise stuck(self.options, forfeits=forfeits)
