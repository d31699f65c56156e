"""What the page and the server say to each other, as checked messages.

Requests come as JSON over HTTP, messages of a running table over its WebSocket. Unknown keys and
values of another type are refused.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from card_envs.contract.game import MOST_PLAYERS
from card_envs.contract.scene import Scene

#: The most characters of a name or a label.
MAX_LABEL = 200
_STEPS = 1_000_000

Label = Annotated[str, Field(max_length=MAX_LABEL)]
#: Whose eyes: a seat, all (every card face up), or the player to move.
Eyes = Annotated[int, Field(ge=0, lt=MOST_PLAYERS)] | Literal["all", "mover"]
Step = Annotated[int, Field(ge=0, le=_STEPS)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


# ---------------------------------------------------------------------------------------------
# From the page
# ---------------------------------------------------------------------------------------------


class NewTable(_Message):
    """Begin a game.

    Args:
        game: The game's id.
        num_players: How many play; None: the game's default.
        options: The game's options.
        seat: The person's seat; None: agents play and the person watches.
        eyes: Through which seat's eyes the person watches.
        agents: The label of each seat's agent; None for the person.
        practice: Whether the person may ask for hints and undo.
        open_cards: Whether it is begun as an open table: all cards are seen while one practises.
    """

    game: Label
    num_players: int | None = None
    options: Annotated[dict[Label, str | int | bool | None], Field(max_length=50)] = {}
    seat: Annotated[int, Field(ge=0, lt=MOST_PLAYERS)] | None = None
    eyes: Annotated[int, Field(ge=0, lt=MOST_PLAYERS)] = 0
    agents: Annotated[list[Label | None], Field(max_length=MOST_PLAYERS)]
    practice: bool = False
    open_cards: bool = False


class Again(_Message):
    """Begin another game at a table like this one.

    Args:
        same_deal: Whether the cards are those of this game.
    """

    same_deal: bool = False


class OpenReplay(_Message):
    """Look at a replay: the line of JSON of a replay file or a link."""

    replay: str


class Act(_Message):
    """The person's action at the decision ``step``."""

    type: Literal["act"]
    step: Step
    action: Step


class Advance(_Message):
    """Let the agents make the decision ``step``."""

    type: Literal["advance"]
    step: Step


class Undo(_Message):
    """Return to the person's last decision before ``step``."""

    type: Literal["undo"]
    step: Step


class Hint(_Message):
    """What this agent would do in the person's place."""

    type: Literal["hint"]
    step: Step
    agent: Label


class Look(_Message):
    """The table as it was before the decision ``step``."""

    type: Literal["look"]
    step: Step
    eyes: Eyes


class Analyse(_Message):
    """What this agent thinks of the decision ``step``."""

    type: Literal["analyse"]
    step: Step
    agent: Label


class FindDisputes(_Message):
    """Where this agent disagrees most with what was played."""

    type: Literal["find_disputes"]
    agent: Label


class FindRounds(_Message):
    """Where the rounds begin."""

    type: Literal["find_rounds"]


FromPage = Act | Advance | Undo | Hint | Look | Analyse | FindDisputes | FindRounds
FROM_PAGE: TypeAdapter[FromPage] = TypeAdapter(Annotated[FromPage, Field(discriminator="type")])


# ---------------------------------------------------------------------------------------------
# To the page
# ---------------------------------------------------------------------------------------------


class Move(_Message):
    """A decision that was made, in words that the viewer may know."""

    player: int
    words: str


class LegalAction(_Message):
    """An action that the person may take.

    Args:
        action: Its number.
        words: Its name.
        group: What the names of similar actions share.
        needs: What it points at on the table: keys of places (:mod:`card_envs.web.pointing`), and
            how often each is pointed at.
    """

    action: int
    words: str
    group: str
    needs: dict[str, int]


class Decision(_Message):
    """A decision of a table whose cards are no secret, and what was played."""

    player: int
    action: int
    words: str


class Frame(_Message):
    """The table at one moment, through the eyes that were asked for.

    Args:
        step: How many decisions have been made.
        scene: The table as data.
        words: The same in words.
        legend: The signs that are drawn, and what they mean.
        move: The decision that led here.
        touched: Keys of places that this decision pointed at, if everybody knows.
        leaders: Who is ahead; nobody while all are level.
        decision: What was decided here; only at a revealed table.
    """

    type: Literal["frame"] = "frame"
    step: int
    scene: Scene
    words: str
    legend: list[tuple[str, str]] = []
    move: Move | None = None
    touched: list[str] = []
    leaders: list[int] = []
    decision: Decision | None = None


class State(_Message):
    """Where the table stands.

    Args:
        frame: What the viewer sees.
        legal: What the person may do now; empty when it is not their turn.
        steps: How many decisions have been made.
        is_over: Whether the game has ended.
        is_revealed: Whether nothing is secret any more: the game is over, or the table is open.
        can_undo: Whether there is a decision to undo.
        was_undone: Whether this is the answer to an undo.
    """

    type: Literal["state"] = "state"
    frame: Frame
    legal: list[LegalAction] = []
    steps: int
    is_over: bool
    is_revealed: bool
    can_undo: bool = False
    was_undone: bool = False


class Welcome(_Message):
    """What does not change at a table, and where it stands.

    Args:
        game: The game's id.
        kind: The person plays, watches agents, or looks at a replay.
        seat: The person's seat, or the one whose eyes they have.
        is_open: Whether it was started as an open table.
        practice: Whether hints and undo are allowed.
        agents: The label of each seat's agent; None: the person, or unknown.
        advisers: Labels of agents that can be asked what they think.
        moves: All decisions so far.
        state: Where the table stands.
    """

    type: Literal["welcome"] = "welcome"
    game: str
    kind: Literal["play", "watch", "replay"]
    seat: int
    is_open: bool
    practice: bool
    agents: list[str | None]
    advisers: list[str]
    moves: list[Move]
    state: State


class Opinion(_Message):
    """What an agent thinks of one action.

    Args:
        action: The action.
        words: The action in words.
        probability: With which the policy takes it; None: the agent is no policy.
        value: The search's estimate of the rank reward; None: it was not tried.
        count: How many rollouts it got.
        needs: What it points at, as in :class:`LegalAction`.
    """

    action: int
    words: str
    needs: dict[str, int] = {}
    probability: float | None = None
    value: float | None = None
    count: int | None = None


class Advice(_Message):
    """What an agent thinks of a decision.

    Args:
        step: The decision.
        agent: The agent's label.
        choice: The action that it would take; of a policy, which may draw, the most probable.
        opinions: Of the actions that it prefers, best first; the choice is among them, and so is
            the action that was played, where that is no secret.
        others: How many more legal actions there are.
    """

    type: Literal["advice"] = "advice"
    step: int
    agent: str
    choice: int
    opinions: list[Opinion]
    others: int


class Dispute(_Message):
    """A decision at which the searcher would have played something else.

    Args:
        step: The decision.
        player: Who made it.
        played: The action in words.
        preferred: What the searcher would have played.
        loss: By how much the searcher values its choice higher; None: it gives no
            values, or none of the action that was played.
    """

    step: int
    player: int
    played: str
    preferred: str
    loss: float | None


class Disputes(_Message):
    """The decisions at which the searcher disagrees, the greatest loss first.

    Args:
        agent: The searcher's label.
        done: How many decisions have been looked at.
        total: How many there are.
        disputes: Empty until all have been looked at.
    """

    type: Literal["disputes"] = "disputes"
    agent: str
    done: int
    total: int
    disputes: list[Dispute] = []


class RoundStart(_Message):
    """Where a round begins: the number of decisions made before, and the scene's title there."""

    step: int
    title: str


class Rounds(_Message):
    """Where the rounds begin, all but the first."""

    type: Literal["rounds"] = "rounds"
    starts: list[RoundStart]


class Problem(_Message):
    """What was wrong with a message; nothing was changed by it."""

    type: Literal["problem"] = "problem"
    message: str


def shown_name(name: str) -> str:
    """The name of a file or an agent as a message can hold it, which is UTF-8."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def in_words(error: ValidationError) -> str:
    """What is wrong with a message, in a line."""
    found = []
    for detail in error.errors(include_url=False, include_input=False)[:3]:
        place = ".".join(str(part) for part in detail["loc"])
        found.append(f"{place}: {detail['msg']}" if place else detail["msg"])
    return "; ".join(found)
