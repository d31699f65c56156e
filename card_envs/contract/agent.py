"""The contract of agents: ``act(turn) -> actions``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.game import Game, check_is_game
from card_envs.contract.options import View, check_view
from card_envs.contract.outcome import is_over
from card_envs.utils.checks import check_whole_number
from card_envs.utils.portable import Portable

#: What a ``Follower`` answers in place of an action where it gives up a game.
FORFEIT = -1

#: What that, or an illegal action in an environment, costs its player; the others get 0.
FORFEIT_REWARD = -1.0

_RAISED_BY = "raised by the agent"  # begins the notes on errors


class GameForfeitedError(ValueError):
    """An agent forfeited the game that it was asked about."""


@dataclass(frozen=True, eq=False)
class Turn(Portable):
    """M games in which one agent is to act.

    The observations are those of the player to move, in the agent's own view. An agent may use all
    that its seat can know and nothing else: it must redraw copies of the states
    (``game.rules.determinize``) before it uses them.

    Attributes:
        game: The game.
        states: Records of ``game.state_dtype``, those of other games among them; not a copy.
        indices: (M,), which of the states wait.
        observation: (M, D) in [0, 1].
        action_mask: (M, A), 1 for each legal action.
    """

    game: Game
    states: NDArray[np.void]
    indices: NDArray[np.int64]
    observation: NDArray[np.float32]
    action_mask: NDArray[np.int8]

    def __post_init__(self) -> None:
        if not self.states.flags.writeable:
            object.__setattr__(self, "states", self.game.as_states(self.states))
        # Kernels would be compiled for each other dtype, which takes half a minute.
        object.__setattr__(self, "indices", np.ascontiguousarray(self.indices, np.int64))

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"Turn({self.game.name!r}, games={len(self)})"


class Agent(Portable, ABC):
    """Chooses actions for the players to move in any number of games.

    A subclass sets ``name`` and defines :meth:`act`.
    """

    name: str  #: what it is called in tables and errors
    view: View = View()  #: how it observes: with perfect recall or none, with features or without

    @property
    def kernel(self) -> int | None:
        """The kernel that plays for it inside the compiled loop; None: it is asked instead."""
        return None

    @property
    def network_kernel(self) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
        """The network that plays for it inside the compiled loop, as ``perceptron.pack`` makes it,
        always the same object; None: it has none."""
        return None

    @abstractmethod
    def act(self, turn: Turn) -> NDArray[np.int64]:
        """A legal action (M,) for each game of the turn."""

    def check_game(self, game: Game) -> None:
        """Raise a ValueError if it was made for another game, which kernels would not notice."""

    def close(self) -> None:
        """Release its resources, such as a process; it starts them again if it is used again."""


class Follower(Portable, ABC):
    """What a :class:`FollowingAgent` knows of the games of one table or one batch.

    Games are identified by their index into one array of states. It may use only what its seats
    can know, whatever it is told.
    """

    @abstractmethod
    def begin(self, states: NDArray[np.void], i: int, players: Sequence[int]) -> None:
        """The game ``states[i]`` begins; the agent holds the seats of ``players``.

        A game of that index that was not over does not go on.
        """

    @abstractmethod
    def watch(self, states: NDArray[np.void], i: int, action: int) -> None:
        """The player to move in ``states[i]`` is about to take an action."""

    @abstractmethod
    def decide(self, turn: Turn) -> NDArray[np.int64]:
        """For each game of the turn a legal action, or ``FORFEIT`` (M,)."""

    @abstractmethod
    def end(self, states: NDArray[np.void], i: int, loser: int | None = None) -> None:
        """The game is over, or ends now because the player ``loser`` forfeits it."""

    def break_off(self) -> None:
        """The games that are not over will not go on."""


class FollowingAgent(Agent):
    """An agent that is told what happens in its games, and may forfeit a game.

    A game in which it holds a seat is advanced decision by decision. When asked by :meth:`act`, it
    knows only the present position.
    """

    reason: str = ""  #: why it gave up a game last, or could not answer

    @abstractmethod
    def follow(self, options: Mapping[str, Any] | None) -> Follower:
        """A follower of games with these options; None: they are unknown.

        ``reward`` is not among them: it is no rule, and depends on where games are played.
        """

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """A legal action, or ``FORFEIT``, for each game of the turn (M,)."""
        return self.follow(None).decide(turn)


class _Noted(Follower):
    """A follower whose errors say which agent's it is."""

    def __init__(self, agent: FollowingAgent, follower: Follower) -> None:
        self._agent, self._follower = agent, follower

    def begin(self, states: NDArray[np.void], i: int, players: Sequence[int]) -> None:
        with noted(self._agent):
            self._follower.begin(states, i, players)

    def watch(self, states: NDArray[np.void], i: int, action: int) -> None:
        with noted(self._agent):
            self._follower.watch(states, i, action)

    def decide(self, turn: Turn) -> NDArray[np.int64]:
        return self._follower.decide(turn)  # ``checked_actions`` notes it

    def end(self, states: NDArray[np.void], i: int, loser: int | None = None) -> None:
        with noted(self._agent):
            self._follower.end(states, i, loser)

    def break_off(self) -> None:
        with noted(self._agent):
            self._follower.break_off()


class Followers:
    """One follower for each agent, kept from game to game so that it can end an abandoned one.

    Args:
        options: The games' options; None: they are unknown.
    """

    def __init__(self, options: Mapping[str, Any] | None) -> None:
        known = None if options is None else {k: v for k, v in options.items() if k != "reward"}
        self._options = known
        self._known: list[tuple[FollowingAgent, Follower]] = []

    def of(self, agent: FollowingAgent) -> Follower:
        """The follower of an agent."""
        for known, follower in self._known:
            if known is agent:
                return follower
        with noted(agent):
            follower = agent.follow(self._options)
            if not isinstance(follower, Follower):
                message = f"the agent {agent.name!r} must follow by a Follower, got {follower!r}"
                raise TypeError(message)
        self._known.append((agent, _Noted(agent, follower)))
        return self._known[-1][1]

    def seated(self, agents: Sequence[Agent | None]) -> list[tuple[Follower, list[int]]]:
        """The followers of those who follow among these agents, each with all places of its agent:
        one that is there twice follows for several seats."""
        for agent in agents:
            if isinstance(agent, FollowingAgent):
                self.of(agent)
        places = [
            (follower, [k for k, agent in enumerate(agents) if agent is known])
            for known, follower in self._known
        ]
        return [(follower, own) for follower, own in places if own]

    def forget_others(self, agents: Sequence[Agent | None]) -> None:
        """Keep the followers of these agents alone; the games of the others are broken off."""
        known, self._known = self._known, []
        for entry in known:
            if any(entry[0] is agent for agent in agents):
                self._known.append(entry)
            else:
                entry[1].break_off()

    def answer_of(self, agent: Agent) -> Callable[[Turn], NDArray[np.int64]]:
        """What is called for an agent's actions: ``act``, or ``decide`` of its follower."""
        return self.of(agent).decide if isinstance(agent, FollowingAgent) else agent.act


def turn_of(game: Game, states: NDArray[np.void], indices: NDArray[np.int64], view: View) -> Turn:
    """The turn of the players to move in the games ``indices``, observed in a view.

    The turn refers to ``states`` as given: to keep it while they change, give a copy.

    Args:
        game: The game.
        states: Records of the game (N,).
        indices: Which of them, whole numbers (M,) from 0 to N - 1.
        view: How they are observed.

    Raises:
        ValueError: The states are another game's, or an index is none of theirs.
        TypeError: The game is no ``Game``, or the view no ``View``.
    """
    check_is_game(game)
    game.check_states(states)
    check_view(view)
    given = np.asarray(indices)
    are_whole = given.dtype.kind in "iu" or not given.size
    if not are_whole or ((given < 0) | (given >= len(states))).any():
        raise ValueError(f"indices must be whole numbers from 0 to {len(states) - 1}, got {given}")
    indices = np.ascontiguousarray(given, np.int64)
    observation = np.zeros((len(indices), game.fields.size), np.float32)
    action_mask = np.zeros((len(indices), game.num_actions), np.int8)
    for j, i in enumerate(indices):
        # Whole numbers of Python: kernels are compiled for each type that they are given.
        player = int(states["current_player"][i])
        game.observe(states, i, player, *view.codes, observation[j])
        game.rules.legal_action_mask(states, i, action_mask[j])
    return Turn(game, states, indices, observation, action_mask)


def choose(agent: Agent, game: Game, states: NDArray[np.void], i: int = 0) -> int:
    """The agent's action for the player to move in ``states[i]``.

    Raises:
        ValueError: It is not legal, or not a single whole number; the agent is for another game, or
            the states are another game's; or there is no player to move.
        TypeError: The agent is no ``Agent``, but a name or a function.
        GameForfeitedError: It forfeits the game, as a ``FollowingAgent`` may.
    """
    check_is_game(game)
    if not isinstance(agent, Agent):
        raise TypeError(
            "an Agent is needed, as make_agent makes of a name and FunctionAgent of a function, "
            f"got {agent!r}"
        )
    agent.check_game(game)
    game.check_states(states)
    states = game.as_states(states)
    i = check_whole_number("i", i, 0, len(states) - 1)
    if not states["num_players"][i] or is_over(states[i]):
        raise ValueError(f"states[{i}] is a game that is over, or has not begun")
    turn = turn_of(game, states, np.array([i]), agent.view)
    return checked_choice(agent, turn, agent.act)


def checked_choice(agent: Agent, turn: Turn, act: Callable[[Turn], NDArray[np.int64]]) -> int:
    """The action that ``act`` returns for the only game of a turn; errors are those of
    :func:`choose`."""
    action = int(checked_actions(agent, turn, act)[0])
    if isinstance(agent, FollowingAgent) and action == FORFEIT:
        raise GameForfeitedError(f"{agent.name} loses the game: {agent.reason}")
    return action


def checked_actions(
    agent: Agent, turn: Turn, act: Callable[[Turn], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """The actions that ``act`` returns, as int64 (M,); kernels would accept anything.

    A ``FollowingAgent`` may also answer ``FORFEIT``.

    Raises:
        ValueError: One is not legal, or the array's shape or dtype is wrong.
    """
    with noted(agent):
        legal_actions = turn.action_mask.copy()  # who is asked may write into the turn's
        answer = act(turn)
        needed = (
            f"the agent {agent.name!r} must return whole numbers of shape {turn.indices.shape}, "
            "one for each game that it is asked about"
        )
        try:
            array = np.asarray(answer)
        except ValueError:  # of lists that are not equally long
            raise ValueError(f"{needed}, got {answer!r:.100}") from None
        if array.shape != turn.indices.shape or array.dtype.kind not in "iu":
            raise ValueError(f"{needed}, got {array.dtype} of shape {array.shape}")
        is_wrong = ~are_legal(array, legal_actions)
        if isinstance(agent, FollowingAgent):
            is_wrong &= array != FORFEIT
        if is_wrong.any():
            first = int(is_wrong.argmax())
            legal = np.flatnonzero(legal_actions[first]).tolist()
            raise ValueError(
                f"the agent {agent.name!r} chose the action {array[first]}, which is not legal; "
                f"legal actions: {legal}"
            )
        return array.astype(np.int64, copy=False)


def are_legal(actions: NDArray[Any], action_mask: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Which whole numbers (M,) are legal actions of their row of a mask (M, A)."""
    is_legal: NDArray[np.bool_] = (actions >= 0) & (actions < action_mask.shape[1])
    is_legal[is_legal] = action_mask[is_legal, actions[is_legal]] == 1
    return is_legal


@contextmanager
def noted(agent: Agent) -> Iterator[None]:
    """Within it an agent is called: an error gets a note that names it, which the command line
    shows; it must not end the program."""
    try:
        try:
            yield
        except SystemExit as left:
            what = f"the agent {agent.name!r} called sys.exit({left.code!r})"
            raise RuntimeError(what) from left
    except Exception as error:
        error.add_note(note_of(agent.name))
        raise


def note_of(name: str) -> str:
    """The note on an error that an agent has raised."""
    return f"{_RAISED_BY} {name!r}"


def notes_of_agents(error: BaseException) -> list[str]:
    """Such notes on an error; libraries add others."""
    notes = getattr(error, "__notes__", ())
    return [note for note in notes if str(note).startswith(_RAISED_BY)]
