"""Arguments that several commands of this folder have."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, TypeVar

from card_envs.agents import make_agent
from card_envs.agents.search.agents import Searcher
from card_envs.commands import command
from card_envs.contract.game import Game
from training.runs.config import GameConfig
from training.runs.keys import load
from training.runs.records import command_as_typed
from training.runs.run import Run

_Config = TypeVar("_Config", bound=GameConfig)


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
    """Add the arguments of a run that can be resumed; :func:`run_of` reads them.

    Args:
        parser: The command's.
        prefix: Of the default folder's name.
    """
    parser.add_argument("config", nargs="?", help="a YAML file")
    add_set_argument(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"the run's folder; default: runs/{prefix}<config's name>",
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="resume the run in DIR")
    parser.set_defaults(prefix=prefix)
    command.add_games_argument(parser)


def run_of(
    args: argparse.Namespace, module: str, model: type[_Config]
) -> tuple[Run[_Config], dict[str, Any]]:
    """The run that a command's arguments ask for.

    Args:
        args: From a parser with the arguments of :func:`add_run_arguments`.
        module: The command's module.
        model: The configuration's class.

    Returns:
        The run, and what is said of it: ``resume`` and ``command_line``.

    Raises:
        ValueError: Neither a configuration nor a folder is given, or both are, or the run cannot
            be made.
    """
    if args.resume:
        if args.config or args.out:
            raise ValueError("--resume DIR takes its configuration from DIR: give no other")
        run = Run.reopen(args.resume, args.set, model)
        words = ["--resume", str(args.resume)]
    elif args.config:
        folder = args.out or Path("runs") / f"{args.prefix}{Path(args.config).stem}"
        run = Run(load(model, args.config, args.set), folder)
        words = [args.config]
    else:
        raise ValueError("give a configuration, a YAML file, or --resume DIR")
    changes = ["--set", *args.set] if args.set else []
    command_line = command_as_typed(module, *words, *changes, games_from=args.games_from)
    return run, {"resume": args.resume is not None, "command_line": command_line}


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
