"""Arguments that several commands have: games of other packages, options, agents, files."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from card_envs.agents import OTHER_NAMES
from card_envs.agents.imported import import_named
from card_envs.contract.game import Game
from card_envs.evaluation.display import check_display, check_picture_name
from card_envs.games import GAMES, register
from card_envs.utils.files import followed, write_json
from card_envs.utils.words import did_you_mean

#: What can be named as an agent, for the help of commands.
AGENTS = f"random, heuristic, ppo, {OTHER_NAMES}"


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


def add_game_argument(parser: argparse.ArgumentParser, name: str = "game", **kwargs: Any) -> None:
    """Add a game's id, which the shell completes; ``kwargs`` are those of ``add_argument``."""
    how = {"metavar": "GAME", "help": "a game's id, see list", **kwargs}
    parser.add_argument(name, **how).completer = lambda **_: [*GAMES]  # type: ignore[attr-defined]


def add_table_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--agents A …``, the agents of one table."""
    parser.add_argument(
        "--agents",
        nargs="+",
        required=True,
        metavar="A",
        help=f"the table, one agent for each player: {AGENTS}",
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
        help=f"such as max_steps=1000: {what}; card-envs info lists them",
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
        try:
            game = getattr(import_named(name), "GAME", None)
        except ValueError as error:
            raise ValueError(f"--games-from: {error}") from error
        if not isinstance(game, Game):
            raise ValueError(
                f"--games-from {name}: the module has no GAME, a card_envs.contract.game.Game"
            )
        register(game)
        games.append(game)
    return games


def module_parser(module: str, doc: str | None) -> argparse.ArgumentParser:
    """The parser of ``python -m <module>``; the first line of its docstring describes it."""
    about = (doc or "").split("\n")[0]
    return argparse.ArgumentParser(prog=f"python -m {module}", description=about)


def parse_arguments(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    commands: Iterable[argparse.ArgumentParser] = (),
) -> argparse.Namespace:
    """Parse the arguments and register the games of ``--games-from``.

    Args:
        parser: The parser; :func:`add_games_argument` may have been applied to it.
        argv: The arguments; None: those of the process.
        commands: The parsers of its commands, whose options an error may propose.

    Returns:
        The arguments, with ``games_from``.

    Raises:
        ValueError: As for :func:`import_games`.
        SystemExit: The parser rejects the arguments.
    """
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        usages = "".join(known.format_usage() for known in (parser, *commands))
        hint = did_you_mean(unknown[0].partition("=")[0], re.findall(r"--[\w-]+", usages))
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    args.games_from = getattr(args, "games_from", [])
    import_games(args.games_from)
    return args


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
    return path.absolute()  # an agent in Python may change the current folder


def picture_file(text: str) -> Path:
    """The type of an argument that names a picture to be drawn.

    Raises:
        argparse.ArgumentTypeError: As for :func:`output_file`, or there is no such format.
    """
    path = output_file(text)
    try:
        check_picture_name(path)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return path


def add_result_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` and ``--plot``, where a result goes besides the terminal."""
    parser.add_argument(
        "--json", type=output_file, metavar="FILE", help="write the result here as well"
    )
    parser.add_argument(
        "--plot",
        type=picture_file,
        metavar="FILE",
        help="draw the result here as well: .png, .svg, .pdf, …",
    )


def check_result_arguments(args: argparse.Namespace) -> None:
    """Check, before any games are played, that a result can be shown and written.

    Raises:
        ValueError: Two results are to go into one file.
        MissingExtraError: Tables cannot be printed.
    """
    check_display()
    if args.json and args.plot and args.json.resolve() == args.plot.resolve():
        raise ValueError(f"--json and --plot are the same file, {args.json}")


def give_result(
    args: argparse.Namespace,
    data: Any,
    plot: Callable[[Any, Path], None],
    show: Callable[[], None],
) -> None:
    """Write and draw a result as :func:`add_result_arguments` lets one ask for, and show it, even
    where it cannot be written.

    Args:
        args: The arguments.
        data: What ``--json`` writes, and ``plot`` draws.
        plot: Draws it in a file.
        show: Shows it in the terminal.

    Raises:
        OSError: A file cannot be written.
    """
    try:
        if args.json:
            write_json(args.json, data)
        if args.plot:
            plot(data, args.plot)
    finally:
        show()


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
