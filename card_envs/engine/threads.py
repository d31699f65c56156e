"""One thread at a time: kernels release the GIL, so two threads would corrupt the records."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


class UseToken(list[None]):
    """A token that a thread takes out (``pop``) while it works on an object's records.

    Taking it is atomic, and several times faster than a lock. A copied or pickled object gets a
    token of its own.
    """

    def __init__(self) -> None:
        super().__init__([None])

    def __reduce__(self) -> tuple[type[UseToken], tuple[()]]:
        return UseToken, ()


def in_use(owner: object) -> RuntimeError:
    """The error for a thread that calls a method while another one is at work."""
    return RuntimeError(
        f"another thread is at work in this {type(owner).__name__}: an object belongs to one "
        "thread; give each thread its own"
    )


def one_thread_at_a_time(method: _Method) -> _Method:
    """A method that raises a RuntimeError if another thread is in a method of the same kind.

    Its object has a ``UseToken`` named ``_use``.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            token = self._use.pop()
        except IndexError:
            raise in_use(self) from None
        try:
            return method(self, *args, **kwargs)
        finally:
            self._use.append(token)

    return guarded  # type: ignore[return-value]
