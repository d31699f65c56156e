"""The commands ``evaluate`` and ``tournament``."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from card_envs.commands import arguments, running
from card_envs.evaluation.display import (
    plot_evaluation,
    plot_ratings,
    show_evaluation,
    show_tournament,
)
from card_envs.evaluation.matches import evaluate
from card_envs.evaluation.tournament import run_tournament
from card_envs.games import load_game

_EVALUATE = "how strong the agents of a table are: duplicate deals in all cyclic seatings"
_TOURNAMENT = "all tables that the agents can form: ratings and pairwise results"


def add_evaluate(subparsers: Any) -> None:
    """Add the command ``evaluate`` to a program.

    The parsed arguments hold ``run``: ``run(args)`` carries out the command. Errors are reported,
    and games of other packages registered, by the program (``card_envs.commands.running``).

    Args:
        subparsers: What ``ArgumentParser.add_subparsers`` returned.
    """
    parser = subparsers.add_parser("evaluate", help=_EVALUATE, description=_EVALUATE)
    arguments.add_game_argument(parser)
    arguments.add_table_argument(parser)
    _add_deals_arguments(parser, "deals", 1000)
    parser.set_defaults(run=_run_evaluate)


def add_tournament(subparsers: Any) -> None:
    """Add the command ``tournament`` to a program, as :func:`add_evaluate` does.

    Args:
        subparsers: What ``ArgumentParser.add_subparsers`` returned.
    """
    parser = subparsers.add_parser("tournament", help=_TOURNAMENT, description=_TOURNAMENT)
    arguments.add_game_argument(parser)
    parser.add_argument(
        "--agents", nargs="+", required=True, metavar="A", help="2 to 15 different agents"
    )
    parser.add_argument("--players", type=int, required=True, metavar="N", help="players per table")
    _add_deals_arguments(parser, "deals of each table", 200)
    parser.set_defaults(run=_run_tournament)


def _add_deals_arguments(parser: argparse.ArgumentParser, what: str, deals: int) -> None:
    """What is played, with the default number of deals, and where the result goes."""
    parser.add_argument(
        "--deals",
        type=int,
        default=deals,
        metavar="N",
        help=f"{what}, each played in all seatings (default: {deals})",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="the deals' seed (default: 0)"
    )
    arguments.add_options_argument(parser)
    arguments.add_result_arguments(parser)


def _run_evaluate(args: argparse.Namespace) -> None:
    game = load_game(args.game)
    options = game.parse_options(args.option)
    arguments.check_result_arguments(args)
    result = evaluate(game, args.agents, args.deals, args.seed, options, progress=True)
    data = result.to_json()
    plot = partial(plot_evaluation, title=f"{game.title}, {result.num_players} players")
    arguments.give_result(args, data, plot, lambda: show_evaluation(data))
    running.check_answers(result.programs)


def _run_tournament(args: argparse.Namespace) -> None:
    game = load_game(args.game)
    options = game.parse_options(args.option)
    arguments.check_result_arguments(args)
    result = run_tournament(
        game, args.agents, args.players, args.deals, args.seed, options, progress=True
    )
    data = result.to_json()
    plot = partial(plot_ratings, title=f"{game.title}, {args.players} players")
    arguments.give_result(args, data, plot, lambda: show_tournament(data))
    running.check_answers(result.summary.programs)
