"""What all commands share: games of other packages, options of a game, errors without a traceback.

The commands are those of the program ``card-envs``, and the repository's ``python -m training.…``
and ``python -m benchmarks.…``.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from card_envs.contract.game import Game
from card_envs.games import register
from card_envs.utils.extras import MissingExtraError
from card_envs.utils.files import followed


def add_games_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--games-from MODULE``, which may be given several times; the parser then takes no
    abbreviations, or ``--game`` would be one."""
    parser.allow_abbrev = False
    parser.add_argument(
        "--games-from",
        action="append",
        default=argparse.SUPPRESS,  # a subcommand's default would replace the program's own
        metavar="MODULE",
        help="a module whose GAME is added to the games, such as my_games.kuhn_poker; "
        "may be given several times",
    )


def add_options_argument(
    parser: argparse.ArgumentParser, what: str = "options of the game"
) -> None:
    """Add ``--option KEY=VALUE …``; ``Game.parse_options`` reads ``args.option``.

    Args:
        parser: The command's.
        what: What the options are, for its help.
    """
    parser.add_argument(
        "--option",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help=f"{what}, such as max_steps=1000: card-envs info lists them",
    )


def import_games(modules: Iterable[str]) -> list[Game]:
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
        except Exception as error:
            raise ValueError(f"--games-from {name}: importing it failed: {error!r}") from error
        if not isinstance(game, Game):
            raise ValueError(
                f"--games-from {name}: the module has no GAME, a card_envs.contract.game.Game"
            )
        register(game)
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
        ValueError: As for :func:`import_games`.
        SystemExit: The parser rejects the arguments.
    """
    args = parser.parse_args(argv)
    args.games_from = getattr(args, "games_from", [])
    import_games(args.games_from)
    return args


@contextmanager
def _stopping_interrupts() -> Iterator[None]:
    """What stops the process, such as a batch queue or the end of a terminal's session, interrupts
    the command as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {}
    for name in ("SIGTERM", "SIGHUP"):  # the second one is POSIX's
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # as nohup says
            with suppress(ValueError):  # signals are the main thread's
                before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _printing_anything() -> Iterator[None]:
    """Within it, a character that the encoding of the output lacks is printed as another one."""
    before: list[tuple[io.TextIOWrapper, str | None]] = []
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            before.append((stream, stream.errors))
            stream.reconfigure(errors=errors)
    try:
        yield
    finally:
        for stream, errors_before in before:
            with suppress(OSError, ValueError):  # it cannot be written any more, or is closed
                stream.reconfigure(errors=errors_before)


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
        with _printing_anything(), _stopping_interrupts():
            status = main() or 0
            if sys.stdout is not None:  # it is closed
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
    try:
        target = place = followed(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text} cannot be written: {error.strerror}") from None
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder, not a file")
    while not place.exists():
        place = place.parent
    if place.is_file() and place != target:
        raise argparse.ArgumentTypeError(f"{text} cannot be written: {place} is not a folder")
    # A file is replaced, which takes a writable folder; a device or a pipe is written itself.
    if not os.access(place.parent if place.is_file() else place, os.W_OK):
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
