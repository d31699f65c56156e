"""One thread at a time: kernels release the GIL, so two threads would corrupt the records."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


class UseLock:
    """Held while an object's records are worked on; a copied or pickled object gets its own."""

    __slots__ = ("acquire", "release")

    def __init__(self) -> None:
        lock = threading.Lock()
        self.acquire = lock.acquire
        self.release = lock.release

    def __reduce__(self) -> tuple[type[UseLock], tuple[()]]:
        return UseLock, ()


def in_use(owner: object) -> RuntimeError:
    """The error for a thread that calls a method while another one is at work."""
    return RuntimeError(
        f"another thread is at work in this {type(owner).__name__}: an object belongs to one "
        "thread; give each thread its own"
    )


def one_thread_at_a_time(method: _Method) -> _Method:
    """A method that raises a RuntimeError if another thread is in a method of the same kind.

    Its object has a ``UseLock`` named ``_use``.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self._use.acquire(False):
            raise in_use(self)
        try:
            return method(self, *args, **kwargs)
        finally:
            self._use.release()

    return guarded  # type: ignore[return-value]
