"""``Arena``: many games between agents, one of which may be the caller.

This one loop serves the Gymnasium environments, training, evaluation and tournaments.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import (
    FORFEIT,
    FORFEIT_REWARD,
    Agent,
    Follower,
    Followers,
    Turn,
    checked_actions,
)
from card_envs.contract.fields import check_observation_dtype
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.engine.seeds import next_seeds
from card_envs.engine.templates import (
    ASKED,
    CHOSEN,
    FULL,
    NETWORK,
    NOBODY,
    advance_to_decision,
    compile_for,
    reset_games,
    take_actions,
)
from card_envs.kernels.perceptron import join
from card_envs.utils.portable import Undivided

# Decisions of a game that there is room for at first, where histories are kept.
_ROOM = 128


class Arena(Undivided):
    """``num_games`` games; ``agents[seating[i, player]]`` moves for a player of game i.

    Agents that are kernels play inside the compiled loop; any other is asked once for all games
    that wait for it. The agent None stands for the caller, who moves by :meth:`act`. A
    ``FollowingAgent`` is told what happens in its games; if it forfeits one, that game ends there:
    -1 for its player, as for an illegal action in an environment.

    Attributes:
        agents: the agents; the list may be changed between calls.
        follower: the caller's, told of the games in which a seat is theirs; None: there is none.
        states: the games' records (N,).
        seating: int64 (N, max_players), which of the agents holds each seat.
        waiting: int64 (N,), the agent that is to be asked, or ``NOBODY`` where a game is over.
        forfeited: int64 (N,), the player who forfeited the game, or ``NOBODY``; the game's record
            is unchanged.
        observation, action_mask: float32 or uint8 (N, D), int8 (N, A), of the player to move,
            valid where a game waits.
        returns: float64 (N, max_players), the rewards accumulated since they were last set to 0.
        histories: int64 (N, decisions), each game's actions in order with ``keep_histories``, of
            which the first ``states["steps"]`` are its own; otherwise empty.

    Args:
        game: The game.
        num_games: Number of games.
        agents: Agents, or None for the caller.
        view: How the caller observes (None: the default view); agents observe by their own views.
        skip_forced: Whether the single legal action is taken without asking.
        observation_dtype: ``"float32"``, or ``"uint8"``: the caller's observations are whole units
            of ``game.fields.scale``. Agents get float32.
        keep_histories: Whether every game's actions are kept.
        **options: The game's options.
    """

    def __init__(
        self,
        game: Game,
        num_games: int,
        agents: Sequence[Agent | None],
        *,
        view: View | None = None,
        skip_forced: bool = False,
        observation_dtype: str = "float32",
        keep_histories: bool = False,
        **options: Any,
    ) -> None:
        self.game = game
        self.agents = list(agents)
        self.follower: Follower | None = None
        self.view = view or View()
        self.options = game.check_options(options)
        self._encoded = game.encode_options(options)
        self._skip_forced = skip_forced
        self.states = game.new_states(num_games)
        self.seating = np.zeros((num_games, game.max_players), np.int64)
        self.waiting = np.full(num_games, NOBODY, np.int64)
        self.forfeited = np.full(num_games, NOBODY, np.int64)
        # Of games at which an agent follows: which they are, who does, and a kernel's action.
        self._is_followed = np.zeros(num_games, np.bool_)
        self._at_table: dict[int, list[Follower]] = {}
        self._followers = Followers(self.options)
        self._chosen = np.zeros(num_games, np.int64)
        dtype = check_observation_dtype(observation_dtype)
        self.observation = np.zeros((num_games, game.fields.size), dtype)
        self.action_mask = np.zeros((num_games, game.num_actions), np.int8)
        self.returns = np.zeros((num_games, game.max_players), np.float64)
        self.histories = np.zeros((num_games, _ROOM if keep_histories else 0), np.int64)
        self._streams = np.zeros(num_games, np.uint64)
        # What the compiled loop knows of the agents, and of what it was made.
        self._codes: list[tuple[int, int, int]] = []
        self._networks: list[Any] = []
        self._kernels, self._views = np.empty(0, np.int64), np.empty((0, 2), np.int64)
        self._joined = join([])

    def start(
        self,
        indices: NDArray[np.int64],
        seeds: NDArray[np.uint64],
        num_players: NDArray[np.int64],
        seating: NDArray[np.int64],
    ) -> None:
        """Begin the games ``indices`` and advance them until the caller must be asked.

        The random agent's choices follow from the game's seed and the seating.

        Raises:
            ValueError: An agent gave an illegal action, or an array of the wrong shape or dtype.
        """
        reset = compile_for(self.game, reset_games)
        reset(self.states, indices, seeds, num_players, self._encoded)
        self.seating[indices] = seating
        self.returns[indices] = 0.0
        self._streams[indices] = next_seeds(seeds)
        self.forfeited[indices] = NOBODY
        self._seat_followers(indices)
        self._play(indices)

    def act(self, indices: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Take the caller's (legal) actions in the games ``indices``, and advance them.

        Raises:
            ValueError: As for :meth:`start`.
        """
        self._take(indices, actions)
        self._play(indices)

    def forfeit(self, indices: NDArray[np.int64]) -> None:
        """End the games ``indices``: the players to move lose them."""
        for i in indices.tolist():
            player = int(self.states["current_player"][i])
            self.forfeited[i] = player
            self.waiting[i] = NOBODY
            self.returns[i, player] += FORFEIT_REWARD
            for follower in self._at_table.pop(i, ()):
                follower.end(self.states, i, player)

    def _look_at_agents(self) -> list[int]:
        """Renew what the compiled loop knows of the agents, if they have changed; returns those
        that are asked."""
        agents = self.agents
        codes = [
            (_kernel_of(agent), *(self.view if agent is None else agent.view).codes)
            for agent in agents
        ]
        networks = [None if agent is None else agent.network_kernel for agent in agents]
        if codes != self._codes or any(map(operator.is_not, networks, self._networks)):
            self._codes, self._networks = codes, networks
            of_all = np.array(codes, np.int64)
            self._kernels, self._views = of_all[:, 0].copy(), of_all[:, 1:].copy()
            self._joined = join(networks)
        return [
            k for k, (kernel, *_) in enumerate(codes) if kernel == ASKED and agents[k] is not None
        ]

    def _play(self, indices: NDArray[np.int64]) -> None:
        asked = self._look_at_agents()
        advance = compile_for(self.game, advance_to_decision)
        keeps = self.histories.size > 0
        while len(indices):
            advance(
                self.states,
                indices,
                self.seating,
                self._kernels,
                self._views,
                *self._joined,
                self._streams,
                self._skip_forced,
                self._is_followed,
                self._chosen,
                self.returns,
                self.waiting,
                self.observation,
                self.action_mask,
                self.histories,
            )
            if not (asked or keeps or self._at_table):
                break
            waiting = self.waiting[indices]
            still_playing = []
            if keeps and (waiting == FULL).any():
                self.histories = np.hstack([self.histories, np.zeros_like(self.histories)])
                still_playing.append(indices[waiting == FULL])
            if self._at_table:
                games = indices[waiting == CHOSEN]
                self._take(games, self._chosen[games])
                still_playing.append(games)
            for k in asked:
                games = indices[waiting == k]
                if len(games):
                    still_playing.append(self._ask(self.agents[k], games))
            indices = np.concatenate(still_playing) if still_playing else indices[:0]

    def _ask(self, agent: Agent | None, games: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take an agent's actions in the games; returns those that it has not forfeited."""
        assert agent is not None
        observation = self.observation[games]
        if observation.dtype == np.uint8:
            observation = observation / self.game.fields.scale
        turn = Turn(self.game, self.states, games, observation, self.action_mask[games])
        actions = checked_actions(agent, turn, self._followers.answer_of(agent))
        goes_on = actions != FORFEIT
        self.forfeit(games[~goes_on])
        games = games[goes_on]
        self._take(games, actions[goes_on])
        return games

    def _take(self, games: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Carry out the actions, add them to the histories, and tell the agents that follow."""
        if self.histories.size:
            self.histories[games, self.states["steps"][games]] = actions
        take = compile_for(self.game, take_actions)
        if not self._at_table:
            take(self.states, games, actions, self.returns)
            return
        followed = np.flatnonzero(self._is_followed[games])
        for i, action in zip(games[followed].tolist(), actions[followed].tolist(), strict=True):
            for follower in self._at_table.get(i, ()):
                follower.watch(self.states, i, action)
        take(self.states, games, actions, self.returns)
        for i in games[followed].tolist():
            if self.states["terminated"][i] or self.states["truncated"][i]:
                for follower in self._at_table.pop(i, ()):
                    follower.end(self.states, i)

    def _seat_followers(self, indices: NDArray[np.int64]) -> None:
        """Tell the agents that follow which games begin, and remember which agents follow."""
        following = self._followers.seated(self.agents)
        if self.follower is not None:
            callers = [k for k, agent in enumerate(self.agents) if agent is None]
            following.append((self.follower, callers))
        self._is_followed[indices] = False
        if not following and not self._at_table:
            return
        for i in indices.tolist():
            seating = self.seating[i, : int(self.states["num_players"][i])]
            there = []
            for follower, places in following:
                players = np.flatnonzero(np.isin(seating, places)).tolist()
                if players:
                    follower.begin(self.states, i, players)
                    there.append(follower)
            self._at_table.pop(i, None)  # of a game that was not played to its end
            if there:
                self._at_table[i] = there
                self._is_followed[i] = True


def _kernel_of(agent: Agent | None) -> int:
    if agent is None:
        return ASKED
    if agent.network_kernel is not None:
        return NETWORK
    return ASKED if agent.kernel is None else agent.kernel
