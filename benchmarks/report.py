"""What the benchmarks share: the results' JSON files and the tables of README.md."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from card_envs.games import GAMES
from training.records import cpu_model, with_tables, write_json

README = Path(__file__).with_name("README.md")
RESULTS = Path(__file__).with_name("results")


def parse_arguments(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None
) -> argparse.Namespace:
    """Add the arguments that all benchmarks have, and parse; ValueError for an unknown game."""
    parser.add_argument("--game", default="beaver_gang", help="default: beaver_gang")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    parser.add_argument(
        "--readme",
        action="store_true",
        help="rewrite the tables of benchmarks/README.md from benchmarks/results; "
        "alone, it measures nothing",
    )
    args = parser.parse_args(argv)
    if args.game not in GAMES:
        raise ValueError(f"there is no game {args.game!r}; the games are {', '.join(GAMES)}")
    return args


def document(
    benchmark: str,
    game: str,
    arguments: Sequence[str],
    packages: Sequence[str],
    settings: dict[str, Any],
    results: dict[str, Any],
) -> dict[str, Any]:
    """The results together with the command and the machine that they come from."""
    return {
        "benchmark": benchmark,
        "game": game,
        "command": " ".join([f"python -m benchmarks.{benchmark}", *arguments]),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "versions": {package: version(package) for package in packages},
        },
        "settings": settings,
        "results": results,
    }


def finish(
    args: argparse.Namespace,
    measure: Callable[[], dict[str, Any]],
    benchmark: str,
    table: Callable[[dict[str, Any]], str],
) -> None:
    """Measure, print and write as the arguments ask for it."""
    if args.json or not args.readme:
        measured = measure()
        print(table(measured))
        if args.json:
            write_json(args.json, measured)
    if args.readme:
        text = README.read_text(encoding="utf-8")
        README.write_text(with_tables(text, benchmark, RESULTS, table), encoding="utf-8")


def origin(measured: dict[str, Any]) -> str:
    """One line that says where and how the results were measured."""
    machine = measured["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"`{measured['command']}` on {measured['date']}: {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}, {versions}."
    )


def three_digits(value: float) -> str:
    """A number with three significant digits, for reading."""
    return f"{float(f'{value:.3g}'):,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"
