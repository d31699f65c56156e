"""What can go wrong with a program, and the error that says so."""

from __future__ import annotations

#: Kinds of faults, as reports name them.
NO_START = "did not start"
CRASHED = "ended"
TOO_SLOW = "no answer in time"
OUT_OF_TIME = "out of time for the game"
TOO_MUCH = "too much output"
NO_ANSWER = "not an answer"
ILLEGAL = "illegal action"
GIVEN_UP = "given up"


class ProgramFault(Exception):
    """A program did not answer as it should.

    Args:
        kind: One of the kinds above.
        message: What happened, in words.
        is_fatal: Whether its process must end, because its further output could not be attributed.
    """

    def __init__(self, kind: str, message: str, *, is_fatal: bool = True) -> None:
        super().__init__(message)
        self.kind = kind
        self.is_fatal = is_fatal
