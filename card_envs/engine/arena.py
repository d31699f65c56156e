"""``Arena``: many games whose seats are held by agents, and perhaps by a caller.

This one loop serves the Gymnasium environments, training, evaluation and tournaments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Game
from card_envs.engine.seeds import next_seeds
from card_envs.engine.templates import (
    ASKED,
    NOBODY,
    compile_for,
    play_on,
    reset_games,
    take_actions,
)


class BatchAgent(Protocol):
    """An agent that is asked for many decisions at once.

    The classes of the scripted agents have a ``kind``, by which they play in the compiled loop.
    """

    @property
    def name(self) -> str:
        """What it is called in tables and errors."""

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]
    ) -> NDArray[np.int64]:
        """Actions (M,) for observations (M, D) and masks (M, A)."""


class Arena:
    """``num_games`` games; ``agents[seats[i, player]]`` moves for a player of game i.

    The scripted agents play inside the compiled loop, the others are asked for all the games at
    once that wait for them. The agent None stands for the caller: games that wait for it are left
    to :meth:`act`.

    Attributes:
        states: the games' records (N,).
        seats: int64 (N, max_players), which of the agents holds each seat.
        waiting: int64 (N,), the agent that is to be asked, or ``NOBODY`` where a game is over.
        observation, action_mask: float32 (N, D), int8 (N, A), of the player to move, valid where
            a game waits.
        returns: float64 (N, max_players), rewards added up since they were last set to 0.
    """

    def __init__(
        self,
        game: Game,
        num_games: int,
        agents: Sequence[BatchAgent | None],
        *,
        skip_forced: bool = False,
        **options: Any,
    ) -> None:
        self.game = game
        self.agents = list(agents)
        self.options = game.check_options(options)
        self._encoded = game.encode_options(options)
        self._skip_forced = skip_forced
        self.states = game.new_states(num_games)
        self.seats = np.zeros((num_games, game.max_players), np.int64)
        self.waiting = np.full(num_games, NOBODY, np.int64)
        self.observation = np.zeros((num_games, game.fields.size), np.float32)
        self.action_mask = np.zeros((num_games, game.num_actions), np.int8)
        self.returns = np.zeros((num_games, game.max_players), np.float64)
        self._streams = np.zeros(num_games, np.uint64)
        self._compile()

    def _compile(self) -> None:
        self._reset_games = compile_for(self.game, reset_games)
        self._take_actions = compile_for(self.game, take_actions)
        self._play_on = compile_for(self.game, play_on)

    def __getstate__(self) -> dict[str, Any]:
        compiled = {"_reset_games", "_take_actions", "_play_on"}
        return {k: v for k, v in self.__dict__.items() if k not in compiled}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._compile()

    def start(
        self,
        indices: NDArray[np.int64],
        seeds: NDArray[np.uint64],
        num_players: NDArray[np.int64],
        seats: NDArray[np.int64],
    ) -> None:
        """Begin the games ``indices`` and play them until the caller must be asked.

        The random agent's choices follow from the game's seed and the seats.

        Raises:
            ValueError: An agent gave an illegal action, or an array of the wrong shape or dtype.
        """
        self._reset_games(self.states, indices, seeds, num_players, self._encoded)
        self.seats[indices] = seats
        self.returns[indices] = 0.0
        self._streams[indices] = next_seeds(seeds)
        self._play(indices)

    def act(self, indices: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Carry out the caller's (legal) actions in the games ``indices``, and play on.

        Raises:
            ValueError: As for :meth:`start`.
        """
        self._take_actions(self.states, indices, actions, self.returns)
        self._play(indices)

    def _play(self, indices: NDArray[np.int64]) -> None:
        kinds = np.array(
            [vars(type(agent)).get("kind", ASKED) for agent in self.agents], np.int64
        )  # of a subclass, which may play otherwise, the kind is not inherited
        asked = [k for k, agent in enumerate(self.agents) if agent is not None and not kinds[k]]
        while len(indices):
            self._play_on(
                self.states,
                indices,
                self.seats,
                kinds,
                self._streams,
                self._skip_forced,
                self.returns,
                self.waiting,
                self.observation,
                self.action_mask,
            )
            waiting = self.waiting[indices]
            still_playing = []
            for k in asked:
                games = indices[waiting == k]
                if len(games):
                    agent = self.agents[k]
                    assert agent is not None
                    actions = agent.act(self.observation[games], self.action_mask[games])
                    actions = self._check(agent, games, actions)
                    self._take_actions(self.states, games, actions, self.returns)
                    still_playing.append(games)
            indices = np.concatenate(still_playing) if still_playing else indices[:0]

    def _check(self, agent: BatchAgent, games: NDArray[np.int64], actions: Any) -> Any:
        """An agent's actions, if they are such; the kernels would take anything."""
        actions = np.asarray(actions)
        if actions.shape != games.shape or actions.dtype.kind not in "iu":
            raise ValueError(
                f"the agent {agent.name!r} must give whole numbers of shape {games.shape}, "
                f"got {actions.dtype} of shape {actions.shape}"
            )
        is_action = (actions >= 0) & (actions < self.game.num_actions)
        wrong = ~is_action
        wrong[is_action] = self.action_mask[games[is_action], actions[is_action]] == 0
        if wrong.any():
            first = int(wrong.argmax())
            legal = np.flatnonzero(self.action_mask[games[first]]).tolist()
            raise ValueError(
                f"the agent {agent.name!r} gave the action {actions[first]}, which is not legal; "
                f"legal are {legal}"
            )
        return actions.astype(np.int64, copy=False)
