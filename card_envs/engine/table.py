"""``BaseTable``: a game with its agents, who are asked in turn and told what happens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import (
    FORFEIT,
    FORFEIT_REWARD,
    Agent,
    Follower,
    Followers,
    GameForfeitedError,
    checked_choice,
    turn_of,
)
from card_envs.contract.game import Game
from card_envs.contract.outcome import is_over, mover, places_of
from card_envs.engine.history import Redraw, Replay
from card_envs.engine.seeds import check_seed
from card_envs.utils.checks import as_whole_number, check_whole_number
from card_envs.utils.portable import Undivided
from card_envs.utils.version import VERSION


class BaseTable(Undivided):
    """A game with its agents and its history.

    Further games may follow at it, see :meth:`begin`.

    Args:
        game: The game.
        agents: An agent for each seat; None: somebody else chooses its actions.
        seed: A whole number in [0, 2**64), from which the cards follow; None: drawn from the
            operating system.
        **options: The game's options.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """

    def __init__(
        self,
        game: Game,
        agents: Sequence[Agent | None],
        *,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        self.game = game
        self._options = game.check_options(options)
        self._followers = Followers(self._options)
        self.begin(seed, agents)

    def begin(
        self,
        seed: int | None = None,
        agents: Sequence[Agent | None] | None = None,
        actions: Iterable[int | Redraw] = (),
    ) -> None:
        """Deal a game; one that is not over does not go on.

        Args:
            seed: As above.
            agents: An agent for each seat, as above; None: as before.
            actions: What has been done in the game already, such as those of a ``Replay``.

        Raises:
            ValueError, TypeError: As above, or an action is not legal; nothing has changed.
        """
        seated = self.agents if agents is None else tuple(agents)
        num_players = self.game.check_num_players(len(seated))
        for agent in seated:
            if agent is not None:
                agent.check_game(self.game)
        options = {"num_players": num_players, **self._options}
        replay = Replay(self.game.name, VERSION, options, check_seed(seed), tuple(actions))
        replay.play()  # which checks every action
        following = self._followers.seated(seated)
        states = replay.begin()
        returns = np.zeros(num_players)
        for follower, players in following:
            follower.begin(states, 0, players)
        for _, action in replay.steps(states):
            returns += states["rewards"][0, :num_players]
            _tell(following, states, action)
        self._followers.forget_others(seated)
        self.num_players = num_players
        #: By seat.
        self.agents: tuple[Agent | None, ...] = seated
        self._following = following
        self._seed, self._entries = replay.seed, list(replay.actions)
        #: The game's record (1,).
        self.states: NDArray[np.void] = states
        self._returns: NDArray[np.float64] = returns + states["rewards"][0, :num_players]
        #: The player who gave up the game; None: nobody did.
        self.forfeited_by: int | None = None
        if self.is_over:
            self._end()

    def _end(self) -> None:
        for follower, _ in self._following:
            follower.end(self.states, 0, self.forfeited_by)

    @property
    def options(self) -> dict[str, Any]:
        """The game's options."""
        return dict(self._options)

    @property
    def returns(self) -> NDArray[np.float64]:
        """What each player has been paid so far, float64 (num_players,)."""
        return self._returns.copy()

    @property
    def history(self) -> tuple[int, tuple[int | Redraw, ...]]:
        """The game's seed, and what was done since: ``Replay.of(table)`` saves it."""
        return self._seed, tuple(self._entries)

    @property
    def player(self) -> int:
        """The player to move."""
        return mover(self.states[0])

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, was truncated, or forfeited."""
        return self.forfeited_by is not None or is_over(self.states[0])

    @property
    def places(self) -> list[int]:
        """Each player's place in the final standing, from 1; level players share it. []: the game
        was not played to its end."""
        return places_of(self.states[0]) if is_over(self.states[0]) else []

    def legal_actions(self) -> list[int]:
        """The legal actions of the player to move, ascending; [] when the game is over."""
        return [] if self.is_over else self.game.legal_actions(self.states, 0)

    def choose(self) -> int:
        """The action of the agent to move, which is not taken yet.

        Raises:
            ValueError: The game is over, the seat has no agent, or what its agent returns is not
                legal, or not a single whole number.
            GameForfeitedError: It gives up the game.
        """
        self._check_running()
        agent = self.agents[self.player]
        if agent is None:
            raise ValueError(f"player {self.player} has no agent: step needs their action")
        turn = turn_of(self.game, self.states, np.array([0]), agent.view)
        return checked_choice(agent, turn, self._followers.answer_of(agent))

    def step(self, action: int | None = None) -> int:
        """Take an action of the player to move.

        Args:
            action: A legal action; None: their agent chooses it.

        Returns:
            The action; ``FORFEIT``: the agent has given up the game, which has ended it.

        Raises:
            ValueError: The action is not legal, or as for :meth:`choose`; nothing has changed.
        """
        self._check_running()
        if action is None:
            try:
                action = self.choose()
            except GameForfeitedError:
                self.forfeit(self.player)
                return FORFEIT
        else:
            number, legal = as_whole_number(action), self.legal_actions()
            if number not in legal:
                raise ValueError(f"action {action!r} is not legal here; legal actions: {legal}")
            action = number
        _tell(self._following, self.states, action)
        self.game.rules.step(self.states, 0, action)
        self._entries.append(action)
        self._returns += self.states["rewards"][0, : self.num_players]
        if self.is_over:
            self._end()
        return action

    def break_off(self) -> None:
        """Tell the agents that a game that is not over will not go on."""
        for follower, _ in self._following:
            follower.break_off()

    def _check_running(self) -> None:
        if self.is_over:
            raise ValueError("the game is over")

    def forfeit(self, player: int) -> None:
        """A player gives up the game, which ends it.

        Raises:
            ValueError: The game is over, or there is no such player.
        """
        self._check_running()
        player = check_whole_number("player", player, 0, self.num_players - 1)
        self.forfeited_by = player
        self._returns[player] += FORFEIT_REWARD
        self._end()

    def undo(self, decision: int, redraw: Redraw | None = None) -> None:
        """Return to the position before a decision; agents are told the game once more.

        Args:
            decision: The decision's number, from 0.
            redraw: What a player cannot know there is redrawn; None: the cards stay.

        Raises:
            ValueError: There is no such decision.
        """
        places = [k for k, entry in enumerate(self._entries) if not isinstance(entry, Redraw)]
        number = as_whole_number(decision)
        if number is None or not 0 <= number < len(places):
            raise ValueError(f"there is no decision {decision!r}: the game has had {len(places)}")
        entries = self._entries[: places[number]]
        while redraw and entries and _is_of(redraw.player, entries[-1]):
            entries.pop()  # of what the same player cannot know: the new one takes its place
        self.begin(self._seed, actions=entries if redraw is None else [*entries, redraw])


def _is_of(player: int, entry: int | Redraw) -> bool:
    return isinstance(entry, Redraw) and entry.player == player


def _tell(
    following: Sequence[tuple[Follower, list[int]]], states: NDArray[np.void], action: int
) -> None:
    """The player to move is about to take an action."""
    for follower, _ in following:
        follower.watch(states, 0, action)
