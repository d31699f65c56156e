"""What the benchmarks share: their arguments, and the JSON that they write."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shlex
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from card_envs.commands import arguments
from card_envs.commands.arguments import output_file
from card_envs.games import GAMES, load_game
from training.runs.records import command_as_typed, commit_of, cpu_model, versions, write_or_print

RESULTS = Path(__file__).with_name("results")


def parse_arguments(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, *, of_one_game: bool = True
) -> argparse.Namespace:
    """Add the arguments that all benchmarks have, and parse.

    Args:
        parser: With the benchmark's own arguments.
        argv: The arguments; None: those of the process.
        of_one_game: Whether one game is measured, and not all of them.

    Returns:
        The arguments; ``game``, if there is one, is the id of a known game.

    Raises:
        ValueError: There is no such game.
    """
    if of_one_game:
        default = next(iter(GAMES))
        parser.add_argument("--game", default=default, help=f"default: {default}")
    parser.add_argument(
        "--json", type=output_file, metavar="FILE", help="write the results to FILE; default: print"
    )
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    commit_of()  # that of what is measured from now on
    if of_one_game:
        args.game = load_game(args.game).id
    return args


def document(
    benchmark: str,
    game: str,
    arguments: Sequence[str],
    packages: Sequence[str],
    settings: dict[str, Any],
    results: dict[str, Any],
) -> dict[str, Any]:
    """The results together with the command and the machine that they come from.

    Args:
        benchmark: The module's name.
        game: The game's id.
        arguments: Those of the command.
        packages: Packages whose versions matter, besides card_envs.
        settings: What was chosen.
        results: What was measured.
    """
    return {
        "benchmark": benchmark,
        "game": game,
        "command": command_as_typed(f"benchmarks.{benchmark}", *arguments),
        "commit": commit_of(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "versions": versions(packages),
        },
        "settings": settings,
        "results": results,
    }


def finish(args: argparse.Namespace, measure: Callable[[], dict[str, Any]]) -> None:
    """Measure, and write or print what was measured.

    Args:
        args: From :func:`parse_arguments`.
        measure: Measures.

    Raises:
        OSError: The file cannot be written.
    """
    measured = measure()
    words = [*pairwise(shlex.split(measured["command"]))]
    for module in args.games_from:
        if ("--games-from", module) not in words:  # what is measured again has them
            measured["command"] += f" --games-from {module}"
    write_or_print(args.json, measured)
