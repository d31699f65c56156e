"""Arguments that several commands of this folder have."""

from __future__ import annotations

import argparse
from pathlib import Path

from card_envs.agents import make_agent
from card_envs.agents.search.agents import Searcher
from card_envs.commands import arguments
from card_envs.contract.game import Game


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


def add_run_arguments(parser: argparse.ArgumentParser, prefix: str) -> None:
    """Add the arguments of a run that can be resumed; :func:`training.runs.run.run_of`
    reads them. The default folder's name begins with the prefix."""
    parser.add_argument("config", nargs="?", help="a YAML file")
    add_set_argument(parser)
    about = f"the run's folder; default: runs/{prefix}<config's name>"
    parser.add_argument("--out", type=Path, metavar="DIR", help=about)
    parser.add_argument("--resume", type=Path, metavar="DIR", help="resume the run in DIR")
    parser.set_defaults(prefix=prefix)
    arguments.add_games_argument(parser)


def check_search(name: str, deals: int, game: Game) -> None:
    """Check what ``--search`` (a search without its policy) and ``--search-deals`` (0: none) say.

    Raises:
        ValueError: That is not a search agent, it names a policy, or there are too few deals.
    """
    if deals != 0 and deals < 2:
        raise ValueError("--search-deals must be 0 or at least 2")
    if deals and not isinstance(make_agent(name, game), Searcher):
        raise ValueError(f"--search: {name!r} is not a search agent, such as search:64")
    if deals and "policy=" in name:
        raise ValueError(f"--search: {name!r} names a policy; here it is that which is measured")
