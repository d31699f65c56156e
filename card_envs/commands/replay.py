"""The command ``replay`` of ``card-envs``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.commands.arguments import output_file
from card_envs.contract.observing import MEMORY_PERFECT
from card_envs.contract.scene import mover
from card_envs.engine.history import Replay
from card_envs.games import load_game
from card_envs.render.renderer import FPS, TableRenderer
from card_envs.render.video import check_video_name, write_video
from card_envs.utils.words import counted

_RULE = "-" * 80


def add_replay(commands: Any) -> None:
    """Add the command ``replay`` to a program; the parsed arguments hold ``run``.

    Args:
        commands: What ``ArgumentParser.add_subparsers`` returned.
    """
    replay = commands.add_parser("replay", help="show a replay file, as the player to move saw it")
    replay.add_argument("file", metavar="FILE")
    replay.add_argument(
        "--game",
        type=int,
        default=1,
        metavar="K",
        help="which game, if the file holds several (default: 1, the first)",
    )
    replay.add_argument(
        "--video",
        type=output_file,
        metavar="FILE",
        help="write pictures as a video instead: FILE ends in .mp4 or .gif",
    )
    replay.add_argument(
        "--perspective",
        metavar="SEAT",
        help="point of view: a seat from 0, or all for an open table (default: the player to move)",
    )
    replay.set_defaults(run=_run_replay)


def _run_replay(args: argparse.Namespace) -> None:
    perspective = int(args.perspective) if str(args.perspective).isdecimal() else args.perspective
    if args.video:
        check_video_name(args.video)
    replay = Replay.load(args.file, args.game)
    game, mode = load_game(replay.game), "rgb_array" if args.video else "ansi"
    renderer = TableRenderer(game, mode, perspective, [mode], replay.options["num_players"])
    decisions = sum(isinstance(action, int) for action in replay.actions)

    if args.video:
        write_video(args.video, _pictures(replay, renderer), FPS)
        print(f"{args.video}: {counted(decisions + 1, 'picture')}.")
        return
    print(f"{game.title}, seed {replay.seed}, {counted(decisions, 'decision')}.")
    states = replay.begin()
    for number, (_, action) in enumerate(replay.steps(states), 1):
        print(_RULE)
        print(_table(renderer, states))
        print(f"\nDecision {number}, player_{mover(states[0])}: {game.action_name(action)}.")
    print(_RULE)
    print(_table(renderer, states))


def _pictures(replay: Replay, renderer: TableRenderer) -> Iterator[NDArray[np.uint8]]:
    """The table before each decision, and at the end."""
    states = replay.begin()
    for _ in replay.steps(states):
        yield _table(renderer, states)
    yield _table(renderer, states)


def _table(renderer: TableRenderer, states: NDArray[np.void]) -> Any:
    """The table as the player to move sees it."""
    return renderer.render(states, 0, mover(states[0]), MEMORY_PERFECT)
