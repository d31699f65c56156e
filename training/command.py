"""What the commands of this folder share: options of a game, keys of a
configuration, and errors without a traceback."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence


def add_options_argument(parser: argparse.ArgumentParser) -> None:
    """The argument ``--option KEY=VALUE …``."""
    parser.add_argument(
        "--option",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="options of the game, such as rounds=1",
    )


def add_set_argument(parser: argparse.ArgumentParser) -> None:
    """The argument ``--set KEY=VALUE …``."""
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="override a key of the configuration, such as ppo.learning_rate=1e-4",
    )


def run(name: str, main: Callable[[Sequence[str] | None], None], argv: Sequence[str] | None) -> int:
    """Run a command: wrong input gives one line on stderr and status 2."""
    try:
        main(argv)
    except (ValueError, TypeError, OSError) as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    return 0
