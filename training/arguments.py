"""Arguments that several commands of this folder have."""

from __future__ import annotations

import argparse


def add_set_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--set KEY=VALUE …``."""
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="override a key of the configuration, such as ppo.learning_rate=1e-4",
    )
