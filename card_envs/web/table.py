"""``ViewedTable``: one game on the server, and what its viewer may see of it.

Whatever leaves a table goes through :meth:`ViewedTable.frame` and
:meth:`ViewedTable.visible_words`. As long as the game runs at a closed table these know one pair of
eyes only; the seed and the actions, from which all cards follow, are given away by
:meth:`ViewedTable.replay` when nothing is secret any more.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from card_envs.agents import Agent, ProgramAgent
from card_envs.contract.game import Game
from card_envs.contract.observing import MEMORY_PERFECT
from card_envs.contract.outcome import is_over, mover
from card_envs.contract.scene import Scene
from card_envs.engine.history import Redraw, Replay
from card_envs.engine.table import BaseTable
from card_envs.games import load_game
from card_envs.render import text
from card_envs.web.analysis import advise, find_disputes, follower_told
from card_envs.web.messages import (
    Advice,
    Decision,
    Disputes,
    Frame,
    LegalAction,
    Move,
    Rounds,
    RoundStart,
    State,
    Welcome,
)
from card_envs.web.pointing import needs

logger = logging.getLogger("card_envs")

Kind = Literal["play", "watch", "replay"]
_Eyes = int | Literal["all", "mover"]


@dataclass(frozen=True)
class _Words:
    """A decision in words: as its player knows it, and as the others learn it; whether it hides
    nothing, and what it pointed at then."""

    player: int
    own: str
    public: str
    hides_nothing: bool = False
    touched: tuple[str, ...] = ()


@dataclass(frozen=True)
class _KnownRounds:
    """The rounds that begin in the positions looked at, and the results that the last one shows."""

    positions: int = 0
    starts: Sequence[RoundStart] = ()
    titles: set[str] | None = None


@dataclass
class ViewedTable:
    """A game, who plays it, and whose eyes the viewer has.

    Args:
        table: The game and its agents.
        kind: The person plays, watches agents, or looks at a replay.
        seat: The person's seat, or the one whose eyes they have.
        labels: The label of each seat's agent; None: the person, or unknown.
        is_open: Whether it was started as an open table.
        practice: Whether the person may ask for hints and undo.
    """

    table: BaseTable
    kind: Kind
    seat: int
    labels: tuple[str | None, ...]
    is_open: bool = False
    practice: bool = False
    _moves: list[_Words] = field(default_factory=list)
    _failing: set[int] = field(default_factory=set)  # seats for which random actions are taken
    _rounds: _KnownRounds = field(default_factory=_KnownRounds)

    @classmethod
    def of_replay(
        cls, replay: Replay, agents: Sequence[Agent | None] = (), **seating: Any
    ) -> ViewedTable:
        """A table at which a replay is looked at, or one whose game goes on from there.

        Args:
            replay: The game so far.
            agents: By seat; none: nobody plays.
            seating: Arguments of the class; by default the viewer has the replay's cards already.

        Raises:
            ValueError: An action of the replay is not legal.
        """
        nobody = (None,) * replay.num_players
        game = load_game(replay.game)
        table = BaseTable(game, agents or nobody, seed=replay.seed, **replay.game_options)
        table.begin(replay.seed, actions=replay.actions)
        viewer = {"kind": "replay", "seat": 0, "labels": nobody, "is_open": True}
        viewed = cls(table, **{**viewer, **seating})
        last = replay.num_decisions - 1
        for step, (states, action) in enumerate(replay.steps()):
            viewed._note(states, action)
            if step == last:
                viewed._note_touched(step, states, action)
        return viewed

    # -----------------------------------------------------------------------------------------
    # Where it stands
    # -----------------------------------------------------------------------------------------

    @property
    def game(self) -> Game:
        """The game."""
        return self.table.game

    @property
    def steps(self) -> int:
        """How many decisions have been made."""
        return len(self._moves)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.table.is_over

    @property
    def is_revealed(self) -> bool:
        """Whether nothing is secret any more."""
        return self.is_open or self.is_over

    @property
    def is_persons_turn(self) -> bool:
        """Whether the game waits for the person."""
        return self.kind == "play" and not self.is_over and self.table.player == self.seat

    @property
    def waits_for_agent(self) -> bool:
        """Whether the game waits for an agent."""
        return not self.is_over and self.table.agents[self.table.player] is not None

    # -----------------------------------------------------------------------------------------
    # What the viewer sees
    # -----------------------------------------------------------------------------------------

    def _allowed(self, eyes: _Eyes) -> _Eyes:
        """The eyes that were asked for, or the viewer's own as long as something is secret."""
        return eyes if self.is_revealed else self.seat

    def visible_words(self, step: int, eyes: _Eyes) -> Move:
        """A decision in words, as it is known through these eyes."""
        move, eyes = self._moves[step], self._allowed(eyes)
        words = move.public
        # Either may say more: which card is given away, or what "take it" is about.
        if eyes in ("all", move.player) and move.own != move.public:
            words = f"{move.public} ({move.own})"
        return Move(player=move.player, words=words)

    def frame(
        self, states: NDArray[np.void], step: int, eyes: _Eyes, decision: int | None = None
    ) -> Frame:
        """The table before the decision ``step``.

        Args:
            states: The game's record (1,) as it was then.
            step: The number of decisions made before.
            eyes: Whose eyes, if nothing is secret.
            decision: What was decided here; told only if nothing is secret.
        """
        eyes = self._allowed(eyes)
        player, num_players = mover(states[0]), self.table.num_players
        observer = eyes if isinstance(eyes, int) else player if eyes == "mover" else self.seat
        if not 0 <= observer < num_players:
            raise ValueError(f"eyes must be a seat from 0 to {num_players - 1}, got {observer}")
        scene = self.game.scene(states, 0, observer, MEMORY_PERFECT, eyes == "all")
        told = None
        if decision is not None and self.is_revealed:
            words = self.game.action_name_at(states, 0, decision)
            told = Decision(player=player, action=decision, words=words)
        return Frame(
            step=step,
            scene=scene,
            words=text.draw(scene),
            legend=list(scene.drawn_legend),
            move=self.visible_words(step - 1, observer if eyes == "mover" else eyes)
            if step
            else None,
            touched=list(self._moves[step - 1].touched) if step else [],
            leaders=self._leaders(states),
            decision=told,
        )

    def _leaders(self, states: NDArray[np.void]) -> list[int]:
        """Who is ahead; nobody while all are level."""
        standing = states["standing"][0, : self.table.num_players]
        ahead = np.flatnonzero(standing == standing.max()).tolist()
        return ahead if len(ahead) < self.table.num_players else []

    def state(self, *, was_undone: bool = False) -> State:
        """Where the table stands, for the viewer."""
        legal = self.table.legal_actions() if self.is_persons_turn else []
        frame = self.frame(self.table.states, self.steps, self.seat)
        if self.steps:
            told = self.visible_words(self.steps - 1, "all")
            frame = frame.model_copy(update={"move": told})
        return State(
            frame=frame,
            legal=[self._legal(frame.scene, action) for action in legal],
            steps=self.steps,
            is_over=self.is_over,
            is_revealed=self.is_revealed,
            can_undo=self._undo_to(self.steps) is not None,
            was_undone=was_undone,
        )

    def _legal(self, scene: Scene, action: int) -> LegalAction:
        actions = self.game.actions
        return LegalAction(
            action=action,
            words=self.game.action_name_at(self.table.states, 0, action),
            group=actions.group(action),
            needs=needs(scene, actions, action),
        )

    def welcome(self, advisers: list[str]) -> Welcome:
        """All that a page needs to show the table."""
        eyes: _Eyes = "all" if self.is_revealed else self.seat
        return Welcome(
            game=self.game.id,
            kind=self.kind,
            seat=self.seat,
            is_open=self.is_open,
            practice=self.practice,
            agents=list(self.labels),
            advisers=advisers,
            moves=[self.visible_words(step, eyes) for step in range(self.steps)],
            state=self.state(),
        )

    def look(self, step: int, eyes: _Eyes) -> Frame:
        """The table as it was before the decision ``step``.

        Raises:
            ValueError: It has not come that far, or there is no such seat.
        """
        if step == self.steps:
            return self.frame(self.table.states, step, eyes)
        states, action = self._at(step)
        return self.frame(states, step, eyes, action)

    def _at(self, step: int) -> tuple[NDArray[np.void], int]:
        """The record before the decision ``step``, and the action that was played."""
        for number, (states, action) in enumerate(Replay.of(self.table).steps()):
            if number == step - 1:
                self._note_touched(number, states, action)
            elif number == step:
                return states, action
        raise ValueError(f"step must be from 0 to {self.steps}, got {step}")

    def find_rounds(self) -> Callable[[], Rounds]:
        """What finds where the rounds begin: there the scene has results that it had not before.

        It takes a while in a long game, and may run while the table is used.

        Raises:
            PermissionError: The game runs at a closed table.
        """
        replay, last, known = self.replay(), self.table.states.copy(), self._rounds

        def find() -> Rounds:
            starts, titles = list(known.starts), known.titles
            positions = chain((states for states, _ in replay.steps()), (last,))
            new = islice(enumerate(positions), known.positions, None)
            for step, states in new:
                scene = self.game.scene(states, 0, 0, MEMORY_PERFECT, False)
                now = {grid.title for grid in scene.grids} - {""}
                if titles is not None and now - titles and not is_over(states[0]):
                    starts.append(RoundStart(step=step, title=scene.title))
                titles = now
            if self._rounds is known:  # nothing was undone meanwhile
                self._rounds = _KnownRounds(replay.num_decisions + 1, starts, titles)
            return Rounds(starts=starts)

        return find

    def replay(self) -> Replay:
        """The game's seed and history.

        Raises:
            PermissionError: The game runs at a closed table.
        """
        if not self.is_revealed:
            raise PermissionError("the cards of a closed table are secret until the game is over")
        return Replay.of(self.table)

    # -----------------------------------------------------------------------------------------
    # What happens
    # -----------------------------------------------------------------------------------------

    def check_step(self, step: int) -> None:
        """Raise a ValueError if a message is about another decision than the present one."""
        if step != self.steps:
            raise ValueError(f"the table is at decision {self.steps}, not {step}")

    def act(self, action: int) -> State:
        """Take the person's action.

        Raises:
            ValueError: It is not their turn, or the action is not legal; nothing has changed.
        """
        if not self.is_persons_turn:
            raise ValueError("it is not your turn")
        legal = self.table.legal_actions()
        if action not in legal:
            raise ValueError(f"action {action} is not legal here; legal actions: {legal}")
        return self._step(action)

    def let_agent_act(self) -> tuple[State, str]:
        """Let the agent to move take its action, or take a random one if it fails.

        Returns:
            Where the table stands, and what is to be told about an agent that begins to fail. What
            the failure says is for the log: it may tell the agent's cards.

        Raises:
            ValueError: The game does not wait for an agent.
        """
        if not self.waits_for_agent:
            raise ValueError("no agent is to move")
        player = self.table.player
        agent = self.table.agents[player]
        try:
            action = self.table.choose()
            has_failed = isinstance(agent, ProgramAgent) and bool(agent.reason)
        except Exception:  # of an agent's code, which may raise any
            logger.warning("player %d at a table has failed", player, exc_info=True)
            action, has_failed = secrets.choice(self.table.legal_actions()), True
        told = ""
        if not has_failed:
            self._failing.discard(player)
        elif player not in self._failing:
            self._failing.add(player)
            told = (
                f"player {player}, {self.labels[player]}, has failed, as the server's log says: "
                "their actions are random until they answer again"
            )
        return self._step(action), told

    def _step(self, action: int) -> State:
        self._note(self.table.states, action)
        self._note_touched(self.steps - 1, self.table.states, action)
        try:
            self.table.step(action)
        except Exception:  # of an agent that is told
            del self._moves[-1]
            raise
        return self.state()

    def break_off(self) -> None:
        """Tell the agents that the game will not go on."""
        try:
            self.table.break_off()
        except Exception:  # of an agent's code
            logger.warning("an agent has failed", exc_info=True)

    def _note(self, states: NDArray[np.void], action: int) -> None:
        own = self.game.action_name_at(states, 0, action)
        public = self.game.public_action_name(states, 0, action)
        hides_nothing = own == public
        if not hides_nothing and self._says_all(states, public):
            own = public
        self._moves.append(_Words(mover(states[0]), own, public, hides_nothing))

    def _says_all(self, states: NDArray[np.void], public: str) -> bool:
        """Whether the player to move, of all that they can choose from, can only have done this."""
        legal = self.game.legal_actions(states, 0)
        names = [self.game.public_action_name(states, 0, action) for action in legal]
        return len(legal) > 1 and names.count(public) == 1

    def _note_touched(self, step: int, states: NDArray[np.void], action: int) -> None:
        """What the decision pointed at, with the record as it was then."""
        move = self._moves[step]
        if move.hides_nothing and not move.touched:
            scene = self.game.scene(states, 0, move.player, MEMORY_PERFECT, False)
            touched = tuple(needs(scene, self.game.actions, action))
            self._moves[step] = replace(move, touched=touched)

    def _undo_to(self, before: int) -> int | None:
        """The person's last decision before another one; None: there is none, or undo is not
        allowed."""
        if self.kind != "play" or not self.practice:
            return None
        own = (step for step in reversed(range(before)) if self._is_own(step))
        return next(own, None)

    def _is_own(self, step: int) -> bool:
        return self._moves[step].player == self.seat

    def undo(self, before: int) -> State:
        """Return to the person's last decision before another one, the latest that they have seen:
        others may have decided since.

        All that they could not know then is redrawn, so that what they have seen since tells
        nothing about the cards as they lie now.

        Raises:
            ValueError: There is nothing to undo, this is not a practice table, or the game has not
                come to the decision ``before``.
        """
        if before > self.steps:
            self.check_step(before)
        step = self._undo_to(before)
        if step is None:
            raise ValueError(
                "there is nothing to undo" if self.practice else "this is not a practice table"
            )
        self.table.undo(step, Redraw(self.seat, secrets.randbits(64)))
        del self._moves[step:]
        self._rounds = _KnownRounds()
        return self.state(was_undone=True)

    # -----------------------------------------------------------------------------------------
    # What agents think
    # -----------------------------------------------------------------------------------------

    def hint(self, agent: Agent, label: str) -> Advice:
        """What an agent would do in the person's place.

        Raises:
            ValueError: It is not their turn, or this is not a practice table.
        """
        if not self.practice:
            raise ValueError("this is not a practice table")
        if not self.is_persons_turn:
            raise ValueError("it is not your turn")
        return advise(agent, label, self.game, self.table.states, self.steps)

    def analyse(self, step: int, agent: Agent, label: str) -> Advice:
        """What an agent thinks of a decision that was made.

        Raises:
            PermissionError: The game runs at a closed table.
            ValueError: There is no such decision.
        """
        told = follower_told(agent, self.replay(), step)
        states, played = self._at(step)
        return advise(agent, label, self.game, states, step, played, told)

    def find_disputes(self, agent: Agent, label: str) -> Iterator[Disputes]:
        """Where an agent disagrees with what was played, see :func:`analysis.find_disputes`.

        Raises:
            PermissionError: The game runs at a closed table.
        """
        return find_disputes(agent, label, self.replay())
