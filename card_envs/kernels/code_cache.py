"""The on-disk cache of compiled kernels: where it is, whom it is taken from, and what goes wrong.

Numba notices when the file of a cached function changed, but not when a function that it calls
from another file did. Therefore every kernel is cached in a folder whose name holds a hash of all
sources that it can depend on: the rooms with kernels, and the folder of its own game.

Cached code is executed. So what others may write to is not used, each file has a checksum, and
whatever is wrong with a file, its kernel is compiled again or stays uncached.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import platform
import stat
from collections.abc import Callable, Container
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import platformdirs
from filelock import FileLock, Timeout

from card_envs.utils.files import check_writable, hash_of, replacement

logger = logging.getLogger("card_envs")

_PACKAGE = Path(__file__).parent.parent
#: The folders of the package that hold kernels, besides the games': with all that is in them.
ROOMS = ("kernels", "contract", "engine", "agents/search")
_OTHERS_MAY_WRITE = 0o022
_ROOT = 0
# A kernel takes less, so a process that is waited for longer has been stopped.
_SECONDS_OF_PATIENCE = 60
_SECONDS_OF_SILENCE = 10


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
        is_package = (package / "__init__.py").exists()  # not a folder of scripts and what not
        paths += sorted(package.rglob("*.py") if is_package else package.glob("*.py"))
    digest = hash_of(paths, f"bounds checks: {numba.config.BOUNDSCHECK}")  # type: ignore[attr-defined]
    name = f"{package.name}-{digest[:16]}"
    return Path(platformdirs.user_cache_dir("card_envs", appauthor=False)) / name


@lru_cache
def prepare(folder: Path) -> bool:
    """Whether kernels can be cached in a folder, which is created if it is missing.

    A folder that this process can write must be its user's, and nobody else may write to it. One
    that it cannot, such as that of a container's image, is read: it must belong to the user or to
    root, and so must all folders above it.

    Returns:
        Whether it is used. If not, one warning says why, and nothing is cached.
    """
    try:
        for path in (folder.parent, folder):
            # Others may read it: root compiles for all users.
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
        reason = _distrust_folders(folder)
    except OSError as error:
        _warn(folder, f"cannot be written ({error.strerror}): every start compiles again")
        return False
    if reason:
        _warn(folder, f"is not used, as {reason}: every start compiles again")
    return not reason


@lru_cache
def _refusal(folder: Path) -> str:
    """Why a folder that exists cannot be written; empty if it can."""
    try:
        check_writable(folder)
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def _distrust_folders(folder: Path) -> str:
    """Why code from a folder is not to be executed; empty if it may be."""
    if not hasattr(os, "getuid"):  # a system without POSIX owners and modes
        return ""
    user = os.getuid()
    if not _refusal(folder):
        return _first_distrust([folder.parent, folder], [user])
    # Whoever may write to a folder above can put another in its place.
    folders = [folder, *folder.absolute().parents, *folder.resolve().parents]
    return _first_distrust(folders, [user, _ROOT])


def _first_distrust(folders: list[Path], owners: Container[int]) -> str:
    reasons = ((path, _distrust(path.stat(), owners)) for path in folders)
    return next((f"{path} {reason}" for path, reason in reasons if reason), "")


def _distrust(status: os.stat_result, owners: Container[int]) -> str:
    """Why a file's or a folder's content cannot be relied upon; empty if it can."""
    if status.st_uid not in owners:
        return "belongs to another user"
    # Of a sticky folder, such as /tmp, others may only replace what is their own.
    is_sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    can_be_written = status.st_mode & _OTHERS_MAY_WRITE and not is_sticky
    return "can be written by others" if can_be_written else ""


@lru_cache
def _warn(folder: Path, what: str) -> None:
    logger.warning("The cache of compiled rules %s %s", folder, what)


@lru_cache
def _announce(cache: Path) -> None:
    logger.warning(
        "Compiling the rules: about half a minute for a game, once per release and environment "
        "(cache: %s)",
        cache,
    )


class _DamagedError(Exception):
    """A cached file is not what was written, or may be written by others."""


class _Files:
    """The cached files of one function, in the place of Numba's: one for each signature.

    They have checksums, as damaged code crashes the process, and no index, in which processes that
    write at the same time would overwrite each other's entries.

    Args:
        path: What the files' paths begin with.
        salt: What the function is found by besides its name, such as the path of its source.
        dumps: Numba's pickling of what is saved.
    """

    def __init__(self, path: Path, salt: str, dumps: Callable[[Any], bytes]) -> None:
        self._start = path
        self._salt = salt
        self._dumps = dumps

    def _path(self, key: Any) -> Path:
        digest = hashlib.sha256(f"{self._salt}\0{key!r}".encode()).hexdigest()
        return self._start.with_name(f"{self._start.name}.{digest[:32]}.nbc")

    def load(self, key: Any) -> Any:
        """What was saved for a key; None if nothing was.

        Raises:
            _DamagedError: The file is not to be used.
            OSError: It cannot be read.
        """
        try:
            with self._path(key).open("rb") as file:
                if hasattr(os, "getuid"):
                    reason = _distrust(os.fstat(file.fileno()), [os.getuid(), _ROOT])
                    if reason:
                        raise _DamagedError(f"a file {reason}")
                content = file.read()
        except FileNotFoundError:
            return None
        checksum, data = content[:32], content[32:]
        if hashlib.sha256(data).digest() != checksum:
            raise _DamagedError("a checksum is wrong")
        return pickle.loads(data)

    def save(self, key: Any, data: Any) -> None:
        """Save what :meth:`load` then returns.

        Raises:
            OSError: The file cannot be written.
        """
        pickled = self._dumps(data)
        with replacement(self._path(key)) as new:
            new.touch(mode=0o644)
            new.write_bytes(hashlib.sha256(pickled).digest() + pickled)

    def flush(self) -> None:
        """Forget the function.

        Raises:
            OSError: A file cannot be removed.
        """
        for path in self._start.parent.iterdir():
            if path.name.startswith(f"{self._start.name}."):
                path.unlink(missing_ok=True)


class _Locator:
    """Where Numba is to cache a function: in a folder that :func:`prepare` has approved.

    Numba's own locators try whether they can write, and take another folder if they cannot.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def from_function(self, function: Any, file: str) -> _Locator:
        """The locator of a function in a file; Numba asks a class."""
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        return self

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        """Nothing: what cannot be written is noticed when it is."""

    def get_source_stamp(self) -> str:
        return ""  # the folder's name is one

    def get_disambiguator(self) -> str:
        return str(self._line)


class GuardedCache:
    """Numba's cache of one function; whatever is wrong with its files, the function is compiled.

    Only one process at a time compiles for a folder: the others wait, and load what it has saved.

    Args:
        kind: Numba's class of caches for what the function is compiled for.
        function: The function, before it is compiled.
        folder: The folder that the files are in.
    """

    def __init__(self, kind: Any, function: Any, folder: Path) -> None:
        implementation: Any = kind._impl_class
        located = type("_Located", (implementation,), {"_locator_classes": [_Locator(folder)]})
        cache: Any = type("_Cache", (kind,), {"_impl_class": located})(function)
        salt = f"{numba.__version__}\0{function.__code__.co_filename}"
        path = folder / cache._impl.filename_base
        cache._cache_file = _Files(path, salt, cache._cache_file._dump)
        self._cache = cache
        self._name = function.__qualname__
        self._folder = folder
        self._turn: _Turn | None = None  # while it is this process's

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function for a signature; None: the caller compiles it and saves it."""
        found = self._load(signature, target_context)
        if found is None and _refusal(self._folder):
            self._warn_of_refusal(_refusal(self._folder))
        elif found is None:
            turn = _turn_of(self._folder, os.getpid())
            self._turn = turn if turn.take(self._name) else None
            found = self._load(signature, target_context)  # another process may have saved it
        if found is None:
            _announce(self._folder.parent)  # one line for all rooms and games
        else:
            self.release()
        return found

    def _load(self, signature: Any, target_context: Any) -> Any:
        try:
            return self._cache.load_overload(signature, target_context)
        except OSError as error:
            _warn(self._folder, f"cannot be read ({error.strerror}): compiling again")
        except Exception as error:  # also of a file that another version has written
            what = error if isinstance(error, _DamagedError) else type(error).__name__
            _warn(self._folder, f"is damaged ({what}): compiling again")
        return None

    def _warn_of_refusal(self, reason: str | None) -> None:
        _warn(self._folder, f"cannot be written ({reason}): every start compiles again")

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save a compiled function, if that is possible."""
        try:
            if not _refusal(self._folder):
                self._cache.save_overload(signature, data)
        except OSError as error:
            self._warn_of_refusal(error.strerror)
        finally:
            self.release()

    def release(self) -> None:
        """Let other processes compile, if they wait for this one."""
        if self._turn is not None:
            self._turn.release()
            self._turn = None


class _Turn:
    """Which process compiles for a folder.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # One for all functions, as compiling one compiles those that it calls.
        self._lock = FileLock(folder / "compiling.lock")
        self._holder = folder / "compiling.txt"
        self._is_patient = True

    def take(self, kernel: str) -> bool:
        """Wait until nobody else compiles, but not for ever, and for a stopped process only once.

        Args:
            kernel: What is to be compiled.

        Returns:
            Whether the others now wait for this process.
        """
        try:
            self._wait()
        except Timeout:
            self._is_patient = False
            return False
        except (OSError, NotImplementedError):  # never at the price of not compiling
            return False
        try:
            text = f"process {os.getpid()} on {platform.node()}, compiling {kernel}"
            self._holder.write_text(text, encoding="utf-8")
        except OSError:
            pass
        return True

    def _wait(self) -> None:
        if not self._is_patient:
            self._lock.acquire(timeout=0)
            return
        silence = min(_SECONDS_OF_SILENCE, _SECONDS_OF_PATIENCE)
        try:
            self._lock.acquire(timeout=silence)
        except Timeout:
            _say_waiting(self._folder, self._held_by())
            self._lock.acquire(timeout=_SECONDS_OF_PATIENCE - silence)

    def _held_by(self) -> str:
        try:
            return self._holder.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "an unknown process"

    def release(self) -> None:
        """Let other processes compile, once all that was begun is done."""
        self._lock.release()


@lru_cache
def _say_waiting(folder: Path, holder: str) -> None:
    logger.warning(
        "Waiting for %s in the cache of compiled rules %s; this process compiles for itself "
        "if it takes %s s",
        holder,
        folder,
        _SECONDS_OF_PATIENCE,
    )


@lru_cache
def _turn_of(folder: Path, process: int) -> _Turn:
    """A forked process needs one of its own."""
    return _Turn(folder)
