"""Output files that are written as a whole, or not at all, and input files that are read safely."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


def hash_of(paths: Iterable[Path], salt: str = "") -> str:
    """A SHA-256 of several files: of their names without folders, and of what they hold.

    Args:
        paths: The files; their order counts.
        salt: What else the hash depends on.

    Raises:
        OSError: A file cannot be read.
    """
    sha = hashlib.sha256(salt.encode())
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        sha.update(f"\0{path.name}\0{content}".encode())
    return sha.hexdigest()


def followed(path: str | Path) -> Path:
    """The absolute path without symbolic links; it need not exist.

    Raises:
        OSError: The links go around in a circle, or a name is too long.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(path)
    real = Path(os.path.realpath(path))
    existing = next(place for place in (real, *real.parents) if place.exists())
    for name in real.relative_to(existing).parts:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.stat(existing / name)
    return real


def path_beside(path: Path) -> Path:
    """A new hidden path beside another, with the same ending, for what is moved once it is built.

    Its name is not too long if the other's is not.
    """
    return path.with_name(f".{path.stem[:40]}.{secrets.token_hex(4)}{path.suffix[-20:]}")


def left_beside(path: Path) -> list[Path]:
    """What processes that were killed, or are still writing, have left beside a path."""
    name = rf"\.{re.escape(path.stem[:40])}\.[0-9a-f]{{8}}{re.escape(path.suffix[-20:])}"
    if not path.parent.is_dir():
        return []
    return sorted(other for other in path.parent.iterdir() if re.fullmatch(name, other.name))


def is_regular(path: str | Path, most: int) -> bool:
    """Whether this is a regular file of at most ``most`` bytes, itself or through a link.

    Opening anything else may wait forever (a pipe), and reading it may never end (a device).
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= most


def modified_at(path: Path) -> float:
    """When a file was last written, in seconds since the epoch; 0: it has gone meanwhile."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def read_regular(path: str | Path, most: int) -> bytes:
    """The content of a regular file, at once or not at all.

    Args:
        path: The file.
        most: The most bytes that it may have.

    Raises:
        ValueError: It is no regular file, or it has more bytes.
        OSError: It cannot be read, or not without waiting.
    """
    if not os.path.lexists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if is_regular(path, most):
        with open(path, "rb", opener=_open_at_once) as file:
            data = file.read(most + 1)  # what the system makes up as it is read has no size
        if len(data) <= most:
            return data
    raise ValueError(f"{path} is no regular file of at most {most:,} bytes")


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_writable(folder: str | Path) -> None:
    """Raise an OSError if no file can be written in a folder that exists."""
    with tempfile.TemporaryFile(dir=folder):
        pass


@contextmanager
def replacement(path: str | Path, *, is_new: bool = False) -> Iterator[Path]:
    """A path beside a file's: what is written there replaces the file at the end of the block.

    If the block fails, the old file is still there and nothing else. Symbolic links are followed,
    and two programs that write the same file do not write into each other's.

    Args:
        path: The file; its folder is made if needed.
        is_new: Whether it must not be there yet.

    Yields:
        The new file's path, with the same ending.

    Raises:
        OSError: The file cannot be replaced.
        FileExistsError: The file has come to be; what was written stays beside it.
    """
    path = followed(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path_beside(path)
    try:
        yield new
        is_taken = is_new and path.exists()
        if not is_taken:
            new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    if is_taken:
        raise FileExistsError(f"{path} has been written meanwhile; what was to go there is {new}")


@contextmanager
def open_output(
    path: str | Path, *, sync: bool = False, is_new: bool = False
) -> Iterator[IO[bytes]]:
    """Open a file that appears, or replaces the old one, once all of it is written.

    If that fails, or the program is interrupted, the old file is still there and nothing else.
    Symbolic links are followed; anything but a regular file, such as a device, is written directly.

    Args:
        path: The file; its folder is made if needed.
        sync: Whether it is on the disk before it replaces the old one: a crash of the machine then
            loses neither.
        is_new: As for :func:`replacement`.

    Yields:
        The file, open for writing bytes.

    Raises:
        OSError: The file cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # a device or a pipe
        with path.open("wb") as file:
            yield file
        return
    with replacement(path, is_new=is_new) as new, new.open("wb") as file:
        try:
            yield file
        except OSError as error:
            if error.errno == errno.ENOSPC and error.filename is None:
                error.filename = str(path)
            raise
        if sync:
            file.flush()
            os.fsync(file.fileno())


def write_output(path: str | Path, data: bytes) -> None:
    """Write a file atomically, as :func:`open_output` does.

    Args:
        path: The file; its folder is made if needed.
        data: Its content.

    Raises:
        OSError: The file cannot be written.
    """
    with open_output(path) as file:
        file.write(data)


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8 as ``write_output`` does.

    Args:
        path: The file; its folder is made if needed.
        text: Its content.

    Raises:
        OSError: The file cannot be written.
    """
    write_output(path, text.encode())


def write_json(path: str | Path, data: Any) -> None:
    """Write a JSON file as ``write_output`` does.

    Args:
        path: The file; its folder is made if needed.
        data: What ``json`` can write.

    Raises:
        OSError: The file cannot be written.
    """
    write_text(path, json.dumps(data, indent=2) + "\n")
