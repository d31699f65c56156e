"""What the commands share: options of a game, records of what was done and where, and errors
without a traceback."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


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


def line(module: str, *words: str) -> str:
    """A command line as one would type it, for a record of what was done."""
    return shlex.join(["python", "-m", module, *words])


def cpu_model() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def machine() -> str:
    """Processor and number of cores, for a record of where something was done."""
    return f"{cpu_model()}, {os.cpu_count()} cores"


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
