"""Show results as tables: ``python -m benchmarks.tables FILE.json …``, files of ``--json``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables import TABLES, kind_of
from card_envs.commands import running
from training.runs.records import read_json


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="what --json wrote")
    for path in parser.parse_args(argv).files:
        measured = read_json(path)
        try:
            print(TABLES[kind_of(measured)](measured), end="\n\n")
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m benchmarks.tables``; returns the exit status."""
    return running.run("benchmarks.tables", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
