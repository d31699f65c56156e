"""One thread at a time: kernels release the GIL, so two threads would corrupt the records.

A flag is enough, and costs next to nothing: CPython changes threads at calls and at jumps back, not
between looking at an attribute and setting it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from card_envs.utils.portable import Undivided

_Method = TypeVar("_Method", bound=Callable[..., Any])


class OneThread(Undivided):
    """An object that serves one thread at a time; its deep copies serve others."""

    _in_use = False

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_in_use"}


def in_use(owner: object) -> RuntimeError:
    """The error for a thread that calls a method while another one is at work."""
    return RuntimeError(
        f"this {type(owner).__name__} is in use by another thread; create one for each thread"
    )


def one_thread_at_a_time(method: _Method) -> _Method:
    """A method of a ``OneThread`` that raises a RuntimeError if another thread is in one."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._in_use:
            raise in_use(self)
        self._in_use = True
        try:
            return method(self, *args, **kwargs)
        finally:
            self._in_use = False

    return guarded  # type: ignore[return-value]
