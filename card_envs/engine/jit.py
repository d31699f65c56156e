"""Compilation of the rules, with an on-disk cache that can never run old rules.

Numba notices when the file of a cached function changed, but not when a function that it calls
from another file did. Therefore every function compiled here is cached in a folder whose name
holds a hash of all sources that it can depend on: the engine, and the folder of its own game.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
import types
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import platformdirs

logger = logging.getLogger("card_envs")

_config: Any = numba.config
_ENGINE = Path(__file__).parent
_GAMES = _ENGINE.parent / "games"

#: False under ``NUMBA_DISABLE_JIT=1``: the same functions then run as plain Python.
COMPILED = not _config.DISABLE_JIT


@lru_cache
def cache_folder(game_id: str) -> Path:
    """The cache folder for the present sources of one game (``""``: of the engine alone)."""
    sources = sorted(_ENGINE.glob("*.py"))
    if game_id:
        sources += sorted((_GAMES / game_id).glob("*.py"))
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    name = f"{game_id or 'engine'}-{digest.hexdigest()[:16]}"
    return Path(platformdirs.user_cache_dir("card_envs", appauthor=False)) / name


@lru_cache
def _prepare(folder: Path) -> bool:
    """Create the cache folder. False where nothing can be written: then nothing is cached."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # it may be there and be another user's
            pass
    except OSError:
        return False
    return True


@lru_cache
def announce_compilation(game_id: str) -> None:
    """Log one line if the game's rules have not been compiled on this machine yet."""
    if COMPILED and not any(cache_folder(game_id).rglob("*.nbi")):
        logger.warning(
            "Compiling the rules of %s: up to half a minute, once per release (cache: %s)",
            game_id,
            cache_folder(game_id),
        )


def _game_of(module: str) -> str:
    parts = module.split(".")
    return parts[2] if parts[:2] == ["card_envs", "games"] and len(parts) > 2 else ""


def jit(
    function: Callable[..., Any], *, parallel: bool = False, inline: bool = False
) -> Callable[..., Any]:
    """Compile a kernel. It must depend on nothing but the engine and its own game's folder.

    With ``NUMBA_DISABLE_JIT=1`` the plain function comes back; integers that overflow then wrap
    around silently, as compiled ones do.

    Args:
        function: The kernel.
        parallel: Whether ``prange`` loops run in threads.
        inline: Whether it becomes a part of each function that calls it. Numba counts the
            references of arrays that are passed to a function that stays one, atomically: at
            these speeds that is felt.
    """
    if not COMPILED:
        return np.errstate(over="ignore")(function)
    folder = cache_folder(_game_of(function.__module__))
    cache = _prepare(folder)
    previous = _config.CACHE_DIR
    _config.CACHE_DIR = str(folder)
    try:
        return numba.njit(
            cache=cache and not inline,
            parallel=parallel,
            nogil=True,
            error_model="numpy",
            forceinline=inline,
        )(function)
    finally:
        _config.CACHE_DIR = previous


def specialize(
    template: Callable[..., Any], namespace: dict[str, Any], *, parallel: bool = False
) -> Callable[..., Any]:
    """Compile a template: a generic loop whose global names are looked up in a game's namespace.

    A loop that captured the game's functions in a closure would never be found in the on-disk
    cache again; one whose *globals* are the game's functions is.
    """
    name = template.__name__ + ("_parallel" if parallel else "")
    function = types.FunctionType(template.__code__, namespace, name)
    function.__qualname__ = name  # the cache's files are named after it
    return jit(function, parallel=parallel)
