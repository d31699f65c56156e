"""The command ``card-envs record``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from card_envs.agents import SearchAgent, make_agent
from card_envs.agents.search.names import is_search
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.contract.options import VIEW_OPTIONS
from card_envs.datasets.minari_dataset import MinariWriter
from card_envs.datasets.recording import RecordedGames, Recording
from card_envs.games import load_game
from card_envs.utils.extras import MissingExtraError
from card_envs.utils.files import left_beside, open_output
from card_envs.utils.progress import track
from card_envs.utils.words import counted

_RECORD = "play games between agents and write them as a dataset"


def add_record(subparsers: Any) -> None:
    """Add the command ``record`` to a program.

    The parsed arguments hold ``run``: ``run(args)`` carries out the command.

    Args:
        subparsers: What ``ArgumentParser.add_subparsers`` returned.
    """
    parser = subparsers.add_parser("record", help=_RECORD, description=_RECORD)
    arguments.add_game_argument(parser)
    arguments.add_table_argument(parser)
    parser.add_argument("--games", type=int, required=True, metavar="N", help="number of games")
    parser.add_argument(
        "--out",
        type=arguments.new_output_file,
        metavar="FILE",
        help="write the games as replays, one line of JSON each; FILE must not exist",
    )
    parser.add_argument(
        "--minari",
        metavar="NAME-v0",
        help="write the decisions of the first agent as a Minari dataset of this name, for offline "
        "learning",
    )
    parser.add_argument(
        "--values",
        metavar="search:N",
        help="for --minari: a search that tries other actions at each decision; their values are "
        "written beside the one that was taken",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="other seeds give other games (default: 0)"
    )
    arguments.add_options_argument(
        parser, "options of the game and, with --minari, memory and features of the first agent"
    )
    parser.set_defaults(run=_run_record)


def _run_record(args: argparse.Namespace) -> None:
    if args.out is None and args.minari is None:
        raise ValueError("record needs --out FILE, --minari NAME-v0, or both")
    game = load_game(args.game)
    given = game.parse_options(args.option)
    of_view = [option.name for option in VIEW_OPTIONS if option.name in given]
    if of_view and args.minari is None:
        raise ValueError(f"--option {of_view[0]}: replays hold no observations; it is for --minari")
    _, view = game.split_options(given)
    options = {name: value for name, value in given.items() if name not in of_view}
    searcher = None if args.values is None else _searcher(game, args)
    recording = Recording(game, args.agents, args.games, args.seed, options)
    minari = None
    if args.minari is not None:
        minari = MinariWriter(args.minari, recording, args.agents, view, searcher)

    left_by_others = [] if args.out is None else left_beside(args.out)
    if minari is not None:
        left_by_others += minari.left_by_others
    for left in left_by_others:
        print(
            f"{left}: left by a recording that was killed, and can be deleted, unless one is still "
            "writing it",
            file=sys.stderr,
        )

    decisions = truncated = forfeited = 0
    with ExitStack() as stack:
        file = None if args.out is None else stack.enter_context(open_output(args.out, is_new=True))
        writer = None if minari is None else stack.enter_context(minari)
        for games in _with_progress(recording):
            decisions += int(games.decisions.sum())
            truncated += int(games.truncated.sum())
            forfeited += games.forfeited
            if file is not None:
                file.writelines(f"{replay.to_json()}\n".encode() for replay in games.replays())
            if writer is not None:
                writer.add(games)
    # The file itself may be the standard output.
    about = f"{counted(recording.games - forfeited, 'game')} of {game.name}, {decisions} decisions"
    if truncated:
        about += f", {counted(truncated, 'game')} truncated at max_steps"
    if forfeited:
        about += f"; {counted(forfeited, 'game')} that a program forfeited left out"
    print(f"{about}.", file=sys.stderr)
    if args.out is not None and forfeited < recording.games:
        print(f"{args.out}: a line of JSON for each game.", file=sys.stderr)
    elif args.out is not None and args.out.is_file():
        args.out.unlink()  # another try may write it
    if minari is not None:
        print(
            f"{minari.path}: {counted(minari.episodes, 'episode')} of {args.agents[0]}, "
            f"{counted(minari.decisions, 'decision')}.\nSHA-256 of its arrays: {minari.sha256}",
            file=sys.stderr,
        )
    running.check_answers(recording.take_reports())


def _searcher(game: Game, args: argparse.Namespace) -> SearchAgent:
    if args.minari is None:
        raise ValueError("--values: replays hold no values; it is for --minari")
    agent = make_agent(args.values, game) if is_search(args.values) else None
    if not isinstance(agent, SearchAgent):
        raise ValueError(
            f"--values must be search:N, such as search:64, with method=halving: only its values "
            f"have standard errors; got {args.values!r}"
        )
    return agent


def _with_progress(recording: Recording) -> Iterable[RecordedGames]:
    """The recording's batches, with a progress bar on stderr where rich is installed."""
    try:
        batches: Iterable[RecordedGames] = track(recording, "games")
    except MissingExtraError:
        return recording
    return batches
