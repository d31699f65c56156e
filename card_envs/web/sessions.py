"""``Tables``: the games on the server, limited in number, size and idle time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
from starlette.exceptions import HTTPException

from card_envs.web.table import ViewedTable


@dataclass(frozen=True)
class Limits:
    """What the server allows.

    Args:
        tables: Games at a time.
        decisions: Of a game that is played here: the greatest ``max_steps``.
        replayed: Decisions of a replay.
        pages: That look at one game at a time.
        idle_seconds: After which a game that no message came for is forgotten; one that is over
            and that nobody looks at is forgotten before, if its place is needed.
        unjoined_seconds: After which a game that no page has come to is, too.
        request_bytes: Of a request; a replay has to fit.
        message_bytes: Of a message over a WebSocket.
    """

    tables: int = 500
    decisions: int = 2_000
    replayed: int = 20_000
    pages: int = 8
    idle_seconds: float = 7200.0
    unjoined_seconds: float = 60.0
    request_bytes: int = 1_000_000
    message_bytes: int = 4096


class Page(Protocol):
    """A page that looks at a table."""

    async def send_text(self, data: str) -> None:
        """Send a message."""


@dataclass
class Session:
    """A table with its id, and the pages that look at it."""

    name: str
    table: ViewedTable
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    finding: anyio.Lock = field(default_factory=anyio.Lock)
    has_been_joined: bool = False
    pages: set[Any] = field(default_factory=set)
    last_used: float = 0.0

    @property
    def is_done(self) -> bool:
        """Whether nobody would miss it: nobody plays at it any more, and nobody looks at it."""
        return not self.pages and (self.table.is_over or self.table.kind == "replay")


class TooManyError(HTTPException):
    """A limit of the server has been reached."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, detail)


class Tables:
    """All sessions, by random ids that cannot be guessed.

    Args:
        limits: What is allowed.
        clock: Seconds that pass.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, table: ViewedTable) -> str:
        """Keep a table; returns its id.

        Raises:
            TooManyError: There are too many.
        """
        return self.put(secrets.token_urlsafe(16), table).name

    def put(self, name: str, table: ViewedTable) -> Session:
        """Keep a table under this id, or find the one that is there.

        Raises:
            TooManyError: There are too many.
        """
        session = self.get(name)
        if session is None:
            self.check_room()
            session = self._sessions[name] = Session(name, table, last_used=self._clock())
        return session

    def check_room(self) -> None:
        """Forget idle tables, and one that is done where there is no room for another one.

        Raises:
            TooManyError: There is no room.
        """
        oldest = self._clock() - self._limits.idle_seconds
        idle = [name for name, s in self._sessions.items() if s.last_used < oldest]
        for name in idle:
            self._forget(name)
        if len(self._sessions) < self._limits.tables:
            return
        left = self._clock() - self._limits.unjoined_seconds
        done = [
            name
            for name, session in self._sessions.items()
            if session.is_done or (not session.has_been_joined and session.last_used < left)
        ]
        if not done:
            raise TooManyError(
                f"there are {self._limits.tables} tables already; try again when one is free"
            )
        self._forget(min(done, key=lambda name: self._sessions[name].last_used))

    def _forget(self, name: str) -> None:
        self._sessions.pop(name).table.break_off()

    def get(self, name: str) -> Session | None:
        """The session of that id; None: there is none, or it has been forgotten."""
        session = self._sessions.get(name)
        if session is None:
            return None
        now = self._clock()
        if session.last_used < now - self._limits.idle_seconds:
            self._forget(name)
            return None
        session.last_used = now
        return session

    def join(self, session: Session, page: Page) -> None:
        """Let a page look at a table.

        Raises:
            TooManyError: Too many do already.
        """
        if len(session.pages) >= self._limits.pages:
            raise TooManyError(f"{self._limits.pages} pages look at this table already")
        session.pages.add(page)
        session.has_been_joined = True

    def leave(self, session: Session, page: Page) -> None:
        """A page no longer looks at a table."""
        session.pages.discard(page)
