"""The on-disk cache of compiled kernels: where it is, who may write to it, and what goes wrong.

Numba notices when the file of a cached function changed, but not when a function that it calls
from another file did. Therefore every kernel is cached in a folder whose name holds a hash of all
sources that it can depend on: the rooms with kernels, and the folder of its own game.

Cached code is executed. So a folder that others may write to is not used; and whatever is wrong
with the files in it, a kernel is compiled again or stays uncached.
"""

from __future__ import annotations

import logging
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import platformdirs
from filelock import FileLock, Timeout

from card_envs.files import hash_of

logger = logging.getLogger("card_envs")

_PACKAGE = Path(__file__).parent.parent
#: The folders of the package that hold kernels, besides the games': with all that is in them.
ROOMS = ("engine",)
_OTHERS_MAY_WRITE = 0o022
# Longer than any kernel takes; after that a process compiles without waiting for the others.
_SECONDS_OF_PATIENCE = 300


@lru_cache
def cache_folder(package: Path) -> Path:
    """The cache folder for the present sources of a game's package, or of the rooms alone.

    Kernels with bounds checks (``NUMBA_BOUNDSCHECK=1``) have a folder of their own.

    Args:
        package: The folder that holds the sources.
    """
    rooms = [_PACKAGE / room for room in ROOMS]
    paths = [path for room in rooms for path in sorted(room.rglob("*.py"))]
    if not any(package.is_relative_to(room) for room in rooms):
        paths += sorted(package.glob("*.py"))
    digest = hash_of(paths, f"bounds checks: {numba.config.BOUNDSCHECK}")  # type: ignore[attr-defined]
    name = f"{package.name}-{digest[:16]}"
    return Path(platformdirs.user_cache_dir("card_envs", appauthor=False)) / name


@lru_cache
def prepare(folder: Path) -> bool:
    """Create a cache folder that only its user may write to.

    Returns:
        Whether it can be used. If not, one warning says why, and nothing is cached.
    """
    try:
        for path in (folder.parent, folder):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            reason = _distrust(path)
            if reason:
                _warn(folder, f"is not used, as {path} {reason}: every start compiles again")
                return False
        with tempfile.TemporaryFile(dir=folder):  # it may exist and be read-only
            pass
    except OSError as error:
        _warn(folder, f"cannot be written ({error.strerror}): every start compiles again")
        return False
    return True


def _distrust(folder: Path) -> str:
    """Why code from a folder is not to be executed; empty if it may be."""
    if not hasattr(os, "getuid"):  # a system without POSIX owners and modes
        return ""
    status = folder.stat()
    if status.st_uid != os.getuid():
        return "belongs to another user"
    return "can be written by others" if status.st_mode & _OTHERS_MAY_WRITE else ""


@lru_cache
def _warn(folder: Path, what: str) -> None:
    logger.warning("The cache of compiled rules %s %s", folder, what)


@lru_cache
def _announce(folder: Path) -> None:
    logger.warning(
        "Compiling %s: up to half a minute for a whole game, once per release and environment "
        "(cache: %s)",
        folder.name.rpartition("-")[0],
        folder,
    )


class GuardedCache:
    """Numba's cache of one function; whatever is wrong with its files, the function is compiled.

    Only one process at a time compiles for a folder: the others wait, and load what it has saved.

    Args:
        cache: What it guards.
        folder: The folder that the files are in.
    """

    def __init__(self, cache: Any, folder: Path) -> None:
        self._cache = cache
        self._folder = folder
        self._lock: FileLock | None = None  # while it is held

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function for a signature; None: the caller compiles it and saves it."""
        found = self._load(signature, target_context)
        if found is None:
            self._acquire()
            found = self._load(signature, target_context)  # another process may have saved it
            if found is None:
                _announce(self._folder)
            else:
                self.release()
        return found

    def _load(self, signature: Any, target_context: Any) -> Any:
        try:
            return self._cache.load_overload(signature, target_context)
        except Exception as error:  # damaged files raise anything that pickle can raise
            _warn(self._folder, f"is damaged ({type(error).__name__}): compiling again")
            self._forget()
            return None

    def _forget(self) -> None:
        try:
            self._cache.flush()
        except OSError as error:
            _warn(self._folder, f"cannot be written ({error.strerror}): every start compiles again")

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save a compiled function, if that is possible."""
        try:
            self._cache.save_overload(signature, data)
        except OSError as error:
            _warn(self._folder, f"cannot be written ({error.strerror}): every start compiles again")
            self._forget()
        finally:
            self.release()

    def _acquire(self) -> None:
        lock = _lock_of(self._folder, os.getpid())
        try:
            lock.acquire(timeout=_SECONDS_OF_PATIENCE)
            self._lock = lock
        except (Timeout, OSError):  # never at the price of not compiling
            self._lock = None

    def release(self) -> None:
        """Let other processes compile, if they wait for this one."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None


@lru_cache
def _lock_of(folder: Path, process: int) -> FileLock:
    """One for all functions, as compiling one compiles those that it calls.

    A forked process needs a lock of its own.
    """
    return FileLock(folder / "compiling.lock")
