"""``FollowedGame``: one game outside an arena whose agents are told what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import (
    Agent,
    Follower,
    Followers,
    FollowingAgent,
    checked_choice,
    turn_of,
)
from card_envs.contract.game import Game


class FollowedGame:
    """Asks the agents of one game, and tells those that follow what happens.

    Whoever plays it calls :meth:`begin`, then :meth:`watch` before each action is carried out,
    then :meth:`end`. Further games may follow it; one that was not ended is then broken off.

    Args:
        game: The game.
        agents: The agents by player; other players are somebody else's.
        options: The game's options.
    """

    def __init__(self, game: Game, agents: Mapping[int, Agent], options: Mapping[str, Any]) -> None:
        self._game = game
        self._follower_of = Followers(options).of
        self._seat(agents)

    def _seat(self, agents: Mapping[int, Agent]) -> None:
        self._agents = agents
        self._followers: list[tuple[FollowingAgent, Follower, list[int]]] = []
        for player, agent in sorted(agents.items()):
            if not isinstance(agent, FollowingAgent):
                continue
            seats = next((own for known, _, own in self._followers if known is agent), None)
            if seats is None:
                seats = []
                self._followers.append((agent, self._follower_of(agent), seats))
            seats.append(player)

    @property
    def is_followed(self) -> bool:
        """Whether there is anybody to tell."""
        return bool(self._followers)

    def begin(self, states: NDArray[np.void], agents: Mapping[int, Agent] | None = None) -> None:
        """The game in ``states[0]`` begins, perhaps once more.

        Args:
            states: The game's record (1,).
            agents: The agents by player; None: as before.
        """
        if agents is not None:
            self._seat(agents)
        for _, follower, players in self._followers:
            follower.begin(states, 0, players)

    def choose(self, states: NDArray[np.void]) -> int:
        """The action of the agent to move in ``states[0]``.

        Raises:
            ValueError: It is not legal, or not a single whole number.
            GameForfeitedError: It gives up the game.
        """
        agent = self._agents[int(states["current_player"][0])]
        turn = turn_of(self._game, states, np.array([0]), agent.view)
        for known, follower, _ in self._followers:
            if known is agent:
                return checked_choice(agent, turn, follower.decide)
        return checked_choice(agent, turn, agent.act)

    def watch(self, states: NDArray[np.void], action: int) -> None:
        """The player to move in ``states[0]`` is about to take an action."""
        for _, follower, _ in self._followers:
            follower.watch(states, 0, action)

    def end(self, states: NDArray[np.void], loser: int | None = None) -> None:
        """The game is over; or it ends because the player ``loser`` forfeits it."""
        for _, follower, _ in self._followers:
            follower.end(states, 0, loser)
