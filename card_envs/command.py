"""What all commands share: games of other packages, options of a game, errors without a traceback.

The commands are those of the program ``card-envs``, and the repository's ``python -m training.…``
and ``python -m benchmarks.…``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import card_envs
from card_envs.engine.game import Game
from card_envs.extras import MissingExtraError


def add_games_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--games-from MODULE``, which may be given several times."""
    parser.add_argument(
        "--games-from",
        action="append",
        default=argparse.SUPPRESS,  # a subcommand's default would replace the program's own
        metavar="MODULE",
        help="a module whose GAME is added to the games, such as my_games.kuhn_poker; "
        "may be given several times",
    )


def add_options_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--option KEY=VALUE …``; ``Game.parse_options`` reads ``args.option``."""
    parser.add_argument(
        "--option",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="options of the game, such as max_steps=1000",
    )


def load_games(modules: Iterable[str]) -> list[Game]:
    """Import the modules and register their games.

    Args:
        modules: Names of modules with a ``GAME``; those in the current folder are found too.

    Returns:
        The games, in the same order.

    Raises:
        ValueError: A module cannot be imported, it has no ``GAME``, or another game has its name.
    """
    games = []
    for name in modules:
        if os.getcwd() not in sys.path and "" not in sys.path:  # as with ``python -m``
            sys.path.append(os.getcwd())
        try:
            game = getattr(importlib.import_module(name), "GAME", None)
        except ImportError as error:
            raise ValueError(f"--games-from {name}: {error}") from None
        if not isinstance(game, Game):
            raise ValueError(f"--games-from {name}: the module has no GAME (card_envs.engine.Game)")
        card_envs.register(game)
        games.append(game)
    return games


def parse_arguments(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None
) -> argparse.Namespace:
    """Parse the arguments and register the games of ``--games-from``.

    Args:
        parser: The parser; :func:`add_games_argument` may have been applied to it.
        argv: The arguments; None: those of the process.

    Returns:
        The arguments, with ``games_from``.

    Raises:
        ValueError: As for :func:`load_games`.
        SystemExit: The parser rejects the arguments.
    """
    args = parser.parse_args(argv)
    args.games_from = getattr(args, "games_from", [])
    load_games(args.games_from)
    return args


def run(program: str, main: Callable[[], int | None]) -> int:
    """Run a command; wrong input gives one line on stderr instead of a traceback.

    Args:
        program: What the command is called in errors.
        main: The command; it may return an exit status.

    Returns:
        The exit status: that of ``main`` or 0; 2 after wrong input (ValueError, TypeError, OSError,
        MissingExtraError) or a MemoryError, 1 if the output's reader is gone, 130 if it was
        interrupted.
    """
    try:
        status = main() or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, OSError, MissingExtraError) as error:
        print(f"{program}: error: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"{program}: error: out of memory", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    return status


def output_file(text: str) -> Path:
    """The type of an argument that names a file to be written.

    It is checked when the arguments are parsed, before anything is computed.

    Raises:
        argparse.ArgumentTypeError: The file cannot be written; the message says why.
    """
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder, not a file")
    place = path.resolve()
    while not place.exists():
        place = place.parent
    if place.is_file() and place != path.resolve():
        raise argparse.ArgumentTypeError(f"{text} cannot be written: {place} is not a folder")
    if not os.access(place, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written: no permission")
    return path


def new_output_file(text: str) -> Path:
    """The type of an argument that names a file to be written, which must not exist yet.

    What is no regular file, such as a pipe, may exist.

    Raises:
        argparse.ArgumentTypeError: As for :func:`output_file`, or the file exists.
    """
    path = output_file(text)
    if path.is_file():
        raise argparse.ArgumentTypeError(f"{text} exists already and is not overwritten")
    return path


@contextmanager
def open_output(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file that appears, or replaces the old one, once all of it is written.

    If that fails, or the program is interrupted, the old file is still there and nothing else.
    Symbolic links are followed; anything but a regular file, such as a device, is written directly.

    Args:
        path: The file; its folder is made if needed.

    Yields:
        The file, open for writing bytes.

    Raises:
        OSError: The file cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    try:
        with new.open("wb") as file:
            yield file
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


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


def write_json(path: str | Path, data: Any) -> None:
    """Write a JSON file as ``write_output`` does.

    Args:
        path: The file; its folder is made if needed.
        data: What ``json`` can write.

    Raises:
        OSError: The file cannot be written.
    """
    write_output(path, (json.dumps(data, indent=2) + "\n").encode())
