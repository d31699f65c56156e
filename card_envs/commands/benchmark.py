"""The command ``benchmark``: an agent at the tables of a protocol, and claims of others checked."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from card_envs.agents.identity import name_without_folders
from card_envs.agents.programs.reports import merged
from card_envs.commands import arguments, running
from card_envs.evaluation.benchmark import claim, run_benchmark
from card_envs.evaluation.benchmark_display import plot_benchmark, show_benchmark
from card_envs.evaluation.claims import difference_from_play, read_claim
from card_envs.evaluation.deals import check_agent
from card_envs.evaluation.protocol import Protocol
from card_envs.games import GAMES, load_game

_BENCHMARK = "an agent against a fixed pool on fixed deals: a score that others can compare"
_ALL = "all"


def add_benchmark(subparsers: Any) -> None:
    """Add the command ``benchmark`` to a program; the parsed arguments hold ``run``.

    Args:
        subparsers: What ``ArgumentParser.add_subparsers`` returned.
    """
    parser = subparsers.add_parser("benchmark", help=_BENCHMARK, description=_BENCHMARK)
    game = parser.add_argument(
        "game", nargs="?", metavar="GAME", help=f"a game's id, or {_ALL}; none with --check"
    )
    game.completer = lambda **_: [*GAMES, _ALL]
    parser.add_argument("--agent", metavar="X", help=f"the agent: {arguments.AGENTS}")
    parser.add_argument("--quick", action="store_true", help="a trial on a few different deals")
    parser.add_argument(
        "--check",
        type=Path,
        metavar="FILE",
        help="play a claim again that --json wrote; the status is 1 if the result differs. The "
        "agent's file is looked for beside FILE; code must be named with --agent",
    )
    arguments.add_result_arguments(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if args.check is not None:
        given = ("game", "quick", "json", "plot")
        extra = [key for key in given if getattr(args, key)]
        if extra:
            raise ValueError(f"--check FILE says what is played: leave out {', '.join(extra)}")
        return _check(args.check, args.agent)
    if args.game is None or args.agent is None:
        raise ValueError("give a GAME, or all, and --agent X; or --check FILE")
    arguments.check_result_arguments(args)
    protocol = Protocol.load()
    names = [*protocol.pools] if args.game == _ALL else [args.game]
    games = [load_game(name) for name in names]
    for game in games:  # before any of them is played
        protocol.pool(game)
    check_agent(args.agent, games[1:], protocol.seed)  # the first is asked for its agent at once
    results = [
        run_benchmark(game, args.agent, protocol, quick=args.quick, progress=True) for game in games
    ]
    data = claim(protocol, name_without_folders(args.agent, games[0]), args.quick, results)
    reports = merged(report for result in results for report in result.programs)
    arguments.give_result(args, data, plot_benchmark, lambda: show_benchmark(data, reports))
    running.check_answers(reports)
    return 0


def _check(path: Path, agent: str | None) -> int:
    difference = difference_from_play(path, agent, progress=True)
    name = read_claim(path)["agent"]
    whose = f" for {agent}, which it calls {name}" if agent not in (None, name) else ""
    print(f"{path}: {difference or f'the claim holds{whose}'}")
    return 1 if difference else 0
