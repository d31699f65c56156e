"""``ProgramAgent``: a program as an agent, with one process for all its games."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.programs import messages
from card_envs.agents.programs.faults import (
    GIVEN_UP,
    NO_START,
    OUT_OF_TIME,
    TOO_SLOW,
    ProgramFault,
)
from card_envs.agents.programs.names import read_name
from card_envs.agents.programs.process import Process
from card_envs.agents.programs.reports import FaultCount, ProgramReport
from card_envs.contract.agent import FORFEIT, Follower, FollowingAgent, Turn
from card_envs.contract.game import Game, check_is_game, check_same_game
from card_envs.engine.seeds import random_action, stream_of

logger = logging.getLogger("card_envs")

# A program is given up after this many faults that ended its process, with no legal answer between.
_FAULTS_IN_A_ROW = 3


@dataclass
class _Seat:
    """A seat of the program in one game."""

    number: int  #: what the program knows it by
    player: int
    events: list[dict[str, Any]] = field(default_factory=list)  #: since the game began
    seconds: float = 0.0  #: that its decisions have taken
    process: int = 0  #: which process knows of the game; 0: none
    told: int = 0  #: how many of the events it has been told


class ProgramAgent(FollowingAgent):
    """A program that is queried over its standard input and output.

    Its process starts with the first query and lasts until :meth:`close`, or until the agent is
    collected or the interpreter ends. All its games share the process, one decision at a time;
    threads that query one agent wait for each other.

    Args:
        name: ``cmd:PROGRAM ARGS``, or with limits ``cmd,seconds=2,on_fault=random:PROGRAM ARGS``
            (:class:`card_envs.agents.programs.names.Limits`).
        game: The game that it plays.
        seed: The seed of decisions that are made on its behalf.

    Raises:
        ValueError: The name cannot be read, there is no such program, or this system cannot run
            programs as agents.
    """

    def __init__(self, name: str, game: Game, seed: int = 0) -> None:
        check_is_game(game)
        argv, limits = read_name(name)
        if os.name != "posix":
            raise ValueError(
                f"{name!r}: programs play on POSIX systems alone, such as Linux or WSL"
            )
        self.name = name
        self.game = game
        self._argv = argv
        self.limits = limits
        self._streams = stream_of(seed)
        self._lock = RLock()  # of the process, while it is asked
        self._noting = Lock()  # of what it is to be told: a game begins and ends without waiting
        self._process: Process | None = None
        self._wants = ""
        self._starts = 0
        self._in_a_row = 0
        self._seats = 0
        self._unsent: list[bytes] = []
        self._decisions = 0
        self._seconds = 0.0
        self._faults: dict[str, FaultCount] = {}

    def __getstate__(self) -> dict[str, Any]:
        # A copy, perhaps in another process, has a process of its own.
        return {**self.__dict__, "_lock": None, "_noting": None, "_process": None, "_unsent": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock = RLock()
        self._noting = Lock()

    def check_game(self, game: Game) -> None:
        """Raise a ValueError if it plays another game."""
        check_same_game(f"{self.name} plays", self.game, game)

    def follow(self, options: Mapping[str, Any] | None) -> ProgramFollower:
        """One that follows games with these options."""
        return ProgramFollower(self, options)

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """Legal actions, or ``FORFEIT`` (M,), as in games of one decision."""
        follower = self.follow(None)
        actions = follower.decide(turn)
        follower.break_off()
        return actions

    # -----------------------------------------------------------------------------------------
    # One decision
    # -----------------------------------------------------------------------------------------

    def new_seat(self, player: int) -> _Seat:
        """A seat in a game that begins."""
        with self._noting:
            self._seats += 1
            return _Seat(self._seats - 1, player)

    def choose(self, seat: _Seat, options: Mapping[str, Any] | None, turn: Turn, j: int) -> int:
        """The action of a seat in the game ``turn.indices[j]``, or ``FORFEIT``."""
        action_mask = turn.action_mask[j]
        with self._lock:
            try:
                action = self._ask(seat, options, turn, j)
            except ProgramFault as fault:
                self._note(fault)
                if self.limits.on_fault == "lose":
                    return FORFEIT
                return int(random_action(self._streams, 0, action_mask, int(action_mask.sum())))
            except BaseException:  # such as Ctrl-C: the answer may still come
                self._stop()
                raise
            self._in_a_row = 0
            self.reason = ""
            self._decisions += 1
            return action

    def _ask(self, seat: _Seat, options: Mapping[str, Any] | None, turn: Turn, j: int) -> int:
        process = self._running()
        limits = self.limits
        left = limits.game_seconds - seat.seconds
        out_of_time = f"it has used up the {limits.game_seconds:.3g} seconds of a game"
        if left <= 0.0:
            raise ProgramFault(OUT_OF_TIME, out_of_time, is_fatal=False)
        is_last = left < limits.seconds and seat.seconds > 0.0
        legal = np.flatnonzero(turn.action_mask[j]).tolist()
        message = messages.decide(
            seat.number,
            seat.player,
            int(turn.states["num_players"][turn.indices[j]]),
            options,
            self._news(seat),
            legal,
            self.game.actions,
            self._seen(turn, j),
        )
        with self._noting:
            unsent, self._unsent = self._unsent, []
        data = b"".join([*unsent, messages.encode(message)])
        begun = time.monotonic()
        try:
            line = process.ask(data, min(limits.seconds, left))
        except ProgramFault as fault:
            if is_last and fault.kind == TOO_SLOW:
                raise ProgramFault(OUT_OF_TIME, out_of_time) from None
            raise
        finally:
            taken = time.monotonic() - begun
            seat.seconds += taken
        action = messages.read_action(line, seat.number, legal, self.game.actions)
        self._seconds += taken
        return action

    def _seen(self, turn: Turn, j: int) -> dict[str, Any]:
        if self._wants == "text":
            return messages.text(self.game, turn.states, int(turn.indices[j]))
        return messages.values(self.game, turn.observation[j], turn.action_mask[j])

    def _news(self, seat: _Seat) -> list[dict[str, Any]]:
        """What the process has not been told of a game; for a new process, all its events."""
        if seat.process != self._starts:
            seat.process = self._starts
            seat.told = 0
        news = seat.events[seat.told :]
        seat.told = len(seat.events)
        return news

    def ended(
        self,
        seat: _Seat,
        states: NDArray[np.void] | None = None,
        i: int = 0,
        loser: int | None = None,
    ) -> None:
        """A game is over; the program is told with its next decision, or when it is closed."""
        with self._noting:
            if self._process is not None and seat.process == self._starts:
                message = messages.end(seat.number, self._news(seat), states, i, loser)
                self._unsent.append(messages.encode(message))

    # -----------------------------------------------------------------------------------------
    # The process
    # -----------------------------------------------------------------------------------------

    def _running(self) -> Process:
        """The process, which is started if necessary.

        Raises:
            ProgramFault: It does not start, or has been given up.
            OSError: This process cannot start another one.
        """
        if self._process is not None and self._process.is_own:
            return self._process
        if self._in_a_row >= _FAULTS_IN_A_ROW:
            raise ProgramFault(
                GIVEN_UP, "it was given up, as it does not start or failed too often in a row"
            )
        with self._noting:
            self._unsent.clear()
            self._starts += 1
        try:
            self._process = Process(self._argv, self.limits.memory_mb << 20)
            greeting = messages.encode(messages.hello(self.game, self.limits))
            answer = self._process.ask(greeting, self.limits.start_seconds)
            self._wants = messages.read_hello(answer)
        except ProgramFault as fault:
            self._in_a_row = _FAULTS_IN_A_ROW  # no other start would do better
            raise ProgramFault(NO_START, str(fault)) from None
        return self._process

    def _note(self, fault: ProgramFault) -> None:
        """Count a fault, and end the process if it must end."""
        self.reason = str(fault)
        known = self._faults.get(fault.kind)
        if known is None:
            last_words = () if self._process is None else self._process.last_words
            known = FaultCount(fault.kind, 0, str(fault), last_words)
            logger.warning("%s: %s", self.name, "; ".join([str(fault), *last_words[-1:]]))
        count = known.count + 1
        self._faults[fault.kind] = FaultCount(known.fault, count, known.first, known.last_words)
        if fault.is_fatal and fault.kind != GIVEN_UP:
            # One that thinks for too long in game after game does play.
            self._in_a_row += fault.kind != OUT_OF_TIME
            self._stop()

    def _stop(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.close(at_once=True)
            self._process = None
        self._unsent.clear()

    def close(self) -> None:
        """End the process: its input ends, and after 2 seconds it is killed."""
        with self._lock:
            if self._process is not None:
                self._process.close(b"".join(self._unsent))
                self._process = None
            self._unsent.clear()
            self._in_a_row = 0

    def take_report(self) -> ProgramReport:
        """Its decisions, times and faults since the last call."""
        with self._lock:
            report = ProgramReport(
                self.name,
                self._decisions,
                self._seconds,
                self.limits.on_fault,
                tuple(self._faults.values()),
            )
            self._decisions, self._seconds = 0, 0.0
            self._faults = {}
            return report


class ProgramFollower(Follower):
    """Keeps what a program will be told of the games of one table or one batch.

    Args:
        agent: The program.
        options: The games' options except ``reward``; None: unknown.
    """

    def __init__(self, agent: ProgramAgent, options: Mapping[str, Any] | None) -> None:
        self._agent = agent
        self._options = options
        self._seats: dict[int, dict[int, _Seat]] = {}  # by game and player

    def begin(self, states: NDArray[np.void], i: int, players: Sequence[int]) -> None:
        """A game begins; an unfinished one with the same index is abandoned."""
        self._break_off(i)
        self._seats[i] = {player: self._agent.new_seat(player) for player in players}

    def watch(self, states: NDArray[np.void], i: int, action: int) -> None:
        """Keep the action of the player to move, as each seat learns of it."""
        player = int(states["current_player"][i])
        game = self._agent.game
        public = messages.public_event(player, game.public_action_name(states, i, action))
        for seat in self._seats.get(i, {}).values():
            if seat.player == player:
                seat.events.append(messages.own_event(player, action, game.actions))
            else:
                seat.events.append(public)

    def decide(self, turn: Turn) -> NDArray[np.int64]:
        """The program's actions, or ``FORFEIT`` (M,)."""
        actions = np.empty(len(turn), np.int64)
        for j, i in enumerate(turn.indices.tolist()):
            player = int(turn.states["current_player"][i])
            seats = self._seats.setdefault(i, {})
            if player not in seats:
                seats[player] = self._agent.new_seat(player)
            actions[j] = self._agent.choose(seats[player], self._options, turn, j)
        return actions

    def end(self, states: NDArray[np.void], i: int, loser: int | None = None) -> None:
        """The game is over."""
        for seat in self._seats.pop(i, {}).values():
            self._agent.ended(seat, states, i, loser)

    def break_off(self) -> None:
        """Abandon all games that are not over."""
        for i in list(self._seats):
            self._break_off(i)

    def _break_off(self, i: int) -> None:
        for seat in self._seats.pop(i, {}).values():
            self._agent.ended(seat)
