"""Arguments that several commands of this folder have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from card_envs.agents import make_agent
from card_envs.agents.search.agents import Searcher
from card_envs.commands import arguments
from card_envs.contract.game import Game
from training.runs.records import command_as_typed

_Run = TypeVar("_Run")


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


def add_run_arguments(parser: argparse.ArgumentParser, configs: str, folder: str) -> None:
    """Add the arguments of a run that can be resumed; :func:`run_of` reads them.

    Args:
        parser: The command's.
        configs: The folder of its configurations.
        folder: The default of the run's folder, in words.
    """
    parser.add_argument("config", nargs="?", help=f"a YAML file, see {configs}/")
    add_set_argument(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"the run's folder; default: {folder}"
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="resume the run in DIR")
    arguments.add_games_argument(parser)


def run_of(
    args: argparse.Namespace,
    module: str,
    open_run: Callable[[str, list[str]], _Run],
    reopen: Callable[[Path, list[str]], _Run],
    example: str,
) -> tuple[_Run, dict[str, Any]]:
    """The run that a command's arguments ask for.

    Args:
        args: From a parser with the arguments of :func:`add_run_arguments`.
        module: The command's module.
        open_run: The new run of a configuration's path and overrides.
        reopen: The run in a folder, with overrides.
        example: The path of a configuration, for an error.

    Returns:
        The run, and what is said of it: ``resume`` and ``command_line``.

    Raises:
        ValueError: Neither a configuration nor a folder is given, or both are; or as for
            ``open_run`` and ``reopen``.
    """
    changes = ["--set", *args.set] if args.set else []
    if args.resume:
        if args.config or args.out:
            raise ValueError("--resume DIR takes its configuration from DIR: give no other")
        run = reopen(args.resume, args.set)
        words = ["--resume", str(args.resume)]
    elif args.config:
        run = open_run(args.config, args.set)
        words = [args.config]
    else:
        raise ValueError(f"give a configuration, such as {example}, or --resume DIR")
    command_line = command_as_typed(module, *words, *changes, games_from=args.games_from)
    return run, {"resume": args.resume is not None, "command_line": command_line}


def check_search(name: str, deals: int, game: Game) -> None:
    """Check what ``--search`` and ``--search-deals`` say.

    Args:
        name: The search, without its policy.
        deals: How many deals it plays; 0: none.
        game: The game.

    Raises:
        ValueError: That is not a search agent, it names a policy, or there are too few deals.
    """
    if deals != 0 and deals < 2:
        raise ValueError("--search-deals must be 0 or at least 2")
    if deals and not isinstance(make_agent(name, game), Searcher):
        raise ValueError(f"--search: {name!r} is not a search agent, such as search:64")
    if deals and "policy=" in name:
        raise ValueError(f"--search: {name!r} names a policy; here it is that which is measured")
