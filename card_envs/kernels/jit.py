"""Compilation of kernels."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache

from card_envs.kernels.code_cache import GuardedCache, cache_folder, prepare

_config: Any = numba.config
_njit: Any = numba.njit
_sigutils: Any = numba.core.sigutils
_types: Any = numba.types

#: False under ``NUMBA_DISABLE_JIT=1``: the same functions then run as plain Python.
COMPILED = not _config.DISABLE_JIT

# Numba's own pool of threads, its last resort, does not stand being used by several at a time.
_one_at_a_time = threading.Lock()


def package_of(module: str) -> Path | None:
    """The folder of a module's file; None for what has no file, such as a notebook's cells."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).parent if file else None


def jit(
    function: Callable[..., Any], *, parallel: bool = False, inline: bool = False
) -> Callable[..., Any]:
    """Compile a kernel. It must depend on nothing but the rooms with kernels
    (``code_cache.ROOMS``) and the folder of its own module.

    With ``NUMBA_DISABLE_JIT=1`` the plain function is returned; integers that overflow then wrap
    around silently, as compiled ones do.

    Args:
        function: The kernel.
        parallel: Whether ``prange`` loops run in threads.
        inline: Whether it is inlined into each function that calls it. Otherwise Numba counts
            references to the arrays passed, with atomic operations, which is measurable at this
            throughput.
    """
    if not COMPILED:
        plain: Callable[..., Any] = np.errstate(over="ignore")(function)
        return plain
    dispatcher: Any = _njit(
        parallel=parallel,
        nogil=True,
        error_model="numpy",
        forceinline=inline,
        no_cfunc_wrapper=True,  # no kernel is handed to C: it is compiled in less time without
    )(function)
    _refuse_read_only_records(dispatcher)
    package = package_of(function.__module__)
    if package is not None and not inline:
        cache_in(cache_folder(package), dispatcher)
    kernel: Callable[..., Any] = dispatcher
    return kernel


@contextmanager
def in_threads(number: int) -> Iterator[None]:
    """A context in which ``prange`` loops run in this many threads; others wait for its end."""
    if number == 1 or not COMPILED:
        yield
        return
    with _one_at_a_time:
        before = numba.get_num_threads()
        numba.set_num_threads(number)
        try:
            yield
        finally:
            numba.set_num_threads(before)


def _refuse_read_only_records(dispatcher: Any) -> None:
    """Numba takes records that may not be written for those of another type, and would compile a
    kernel that writes into them all the same; there is none, so none is ever entered with them."""
    compile_function = dispatcher.compile

    def compile_for_writable(signature: Any) -> Any:
        arguments, _ = _sigutils.normalize_signature(signature)
        if any(map(_holds_read_only_records, arguments)):
            raise ValueError(
                f"{dispatcher.__name__} was given records that may not be written, as other "
                "processes hand them over: give it a copy, states.copy()"
            )
        return compile_function(signature)

    dispatcher.compile = compile_for_writable


def _holds_read_only_records(kind: Any) -> bool:
    if isinstance(kind, _types.BaseTuple):
        return any(_holds_read_only_records(entry) for entry in kind)
    is_array = isinstance(kind, _types.Array)
    return is_array and isinstance(kind.dtype, _types.Record) and not kind.mutable


def cache_in(folder: Path, dispatcher: Any, kind: Any = FunctionCache) -> None:
    """Let the compiled function be cached in a folder, if that can be used.

    Args:
        folder: The folder.
        dispatcher: Numba's, of the function.
        kind: Numba's class of caches for such functions.
    """
    if not prepare(folder):
        return
    guarded = dispatcher._cache = GuardedCache(kind, dispatcher.py_func, folder)
    compile_function = dispatcher.compile

    def compile_and_release(signature: Any) -> Any:
        try:
            return compile_function(signature)
        finally:
            guarded.release()  # compiling may have failed, or been interrupted

    dispatcher.compile = compile_and_release


#: Compiles a function that is inlined into each kernel that calls it.
inline = partial(jit, inline=True)


def specialize(
    template: Callable[..., Any], namespace: dict[str, Any], *, parallel: bool = False
) -> Callable[..., Any]:
    """Compile a template: a generic loop whose global names are also looked up in a namespace.

    A loop that captured the game's functions in a closure would never be found in the on-disk
    cache again; one whose *globals* are the game's functions is.
    """
    name = template.__name__ + ("_parallel" if parallel else "")
    return jit(in_namespace(template, namespace, name), parallel=parallel)


def in_namespace(
    template: Callable[..., Any], namespace: dict[str, Any], name: str
) -> Callable[..., Any]:
    """A template's code as a function of this name, whose global names are those of its module and
    of a namespace, which comes first."""
    names = {**template.__globals__, **namespace}
    function = types.FunctionType(template.__code__, names, name)
    function.__qualname__ = name  # the cache's files are named after it
    return function
