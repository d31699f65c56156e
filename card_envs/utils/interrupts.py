"""Ctrl-C while a command is still importing, which takes seconds: one line, no traceback."""

from __future__ import annotations

import sys
from types import TracebackType


def say_interrupted() -> None:
    """From now on, a KeyboardInterrupt that nothing catches gives one line."""
    sys.excepthook = _say_interrupted


def _say_interrupted(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)
