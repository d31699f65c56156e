"""The command ``card-envs replay``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.commands.arguments import output_file
from card_envs.contract.observing import MEMORY_PERFECT
from card_envs.contract.outcome import mover
from card_envs.contract.scene import Scene
from card_envs.contract.style import Style
from card_envs.datasets import games_of_dataset
from card_envs.engine.history import Replay
from card_envs.games import load_game
from card_envs.render import picture, text
from card_envs.render.colours import THEMES
from card_envs.render.picture import Picture
from card_envs.render.renderer import FPS, TableRenderer
from card_envs.render.video import check_video_name, write_video
from card_envs.utils.files import write_output
from card_envs.utils.words import counted

_RULE = "-" * 80
_DATASET = re.compile(r"[\w/-]+-v\d+", re.ASCII)
_REPLAY = "show a replay file in words, or draw pictures or a video of it"


def add_replay(subparsers: Any) -> None:
    """Add the command ``replay`` to a program.

    The parsed arguments hold ``run``: ``run(args)`` carries out the command.

    Args:
        subparsers: What ``ArgumentParser.add_subparsers`` returned.
    """
    parser = subparsers.add_parser("replay", help=_REPLAY, description=_REPLAY)
    parser.add_argument(
        "file", metavar="FILE", help="a replay file, or the name or folder of a Minari dataset"
    )
    parser.add_argument(
        "--game",
        type=int,
        default=1,
        metavar="K",
        help="which game, if the file holds several (default: 1, the first)",
    )
    kind = parser.add_mutually_exclusive_group()
    for name, what in (
        ("video", "a video: FILE ends in .mp4 or .gif"),
        ("svg", "a picture that can be scaled"),
        ("png", "a picture"),
    ):
        kind.add_argument(f"--{name}", type=output_file, metavar="FILE", help=f"write {what}")
    parser.add_argument(
        "--at",
        type=int,
        nargs="+",
        metavar="N",
        help="for --svg and --png: the table before decision N, counted from 1 (default: the end); "
        "several numbers give a strip of tables, each with the move that led to it",
    )
    parser.add_argument(
        "--width",
        type=int,
        metavar="W",
        help="for --svg and --png: pixels (default: 960; of a strip 1920)",
    )
    parser.add_argument(
        "--theme", choices=THEMES, help="of a picture or video; for print: light (default: dark)"
    )
    parser.add_argument(
        "--perspective",
        metavar="SEAT",
        help="point of view: a seat from 0, or all for an open table (default: the player to move; "
        "in a video and a strip seat 0)",
    )
    parser.set_defaults(run=_run_replay)


def _run_replay(args: argparse.Namespace) -> None:
    path, ending = args.svg or args.png, ".svg" if args.svg else ".png"
    if args.video:
        check_video_name(args.video)
    if path and path.suffix.lower() not in ("", ending):
        raise ValueError(f"--{ending[1:]}: {path} must end in {ending}")
    for name in ("at", "width"):
        if getattr(args, name) and not path:
            raise ValueError(f"--{name} is for --svg and --png")
    if args.theme and not (path or args.video):
        raise ValueError("--theme is for --svg, --png and --video")
    args.theme = args.theme or THEMES[0]
    if args.width is not None and not 100 <= args.width <= 10_000:
        raise ValueError(f"--width must be from 100 to 10000, got {args.width}")
    perspective = int(args.perspective) if str(args.perspective).isdecimal() else args.perspective
    if perspective is None and (args.video or (args.at and len(args.at) > 1)):
        perspective = 0  # from one side of the table
    replay = Replay.load(_file_with_games(args.file), args.game)
    game = load_game(replay.game)
    if perspective not in (None, "all", *range(replay.num_players)):
        raise ValueError(
            f"--perspective must be 'all' or a seat from 0 to {replay.num_players - 1}, "
            f"got {args.perspective!r}"
        )
    renderer = TableRenderer(game, replay.num_players, perspective=perspective)
    moments = list(_moments(replay, renderer, perspective))
    scenes = [moment.scene for moment in moments]
    if args.video:
        captions = [f"{moment.move} {moment.reward}".strip() for moment in moments]
        frames = picture.frames(scenes, captions, game.style, theme=args.theme)
        write_video(args.video, frames, FPS)
        print(f"{args.video}: {counted(len(moments), 'picture')}.")
    elif path:
        drawn = _picture(args, moments, game.style)
        write_output(path, drawn.svg().encode() if args.svg else drawn.png())
        print(f"{path}: {drawn.width} x {drawn.height} pixels.")
    else:
        print(f"{game.title}, seed {replay.seed}, {counted(len(moments) - 1, 'decision')}.")
        for moment in moments:
            print(
                *[f"\n{moment.move}"] * bool(moment.move), _RULE, text.draw(moment.scene), sep="\n"
            )


def _file_with_games(name: str) -> Path:
    path = Path(name)
    if path.is_dir() or (not path.exists() and _DATASET.fullmatch(name)):
        return games_of_dataset(name)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no file {name}; a Minari dataset is given by its folder, or by its name, "
            "such as beaver_gang/heuristic-v0"
        )
    return path


class _Moment(NamedTuple):
    """A table, and the decision that led to it, with the rewards that it brought."""

    scene: Scene
    move: str = ""
    reward: str = ""


def _moments(
    replay: Replay, renderer: TableRenderer, perspective: int | str | None
) -> Iterator[_Moment]:
    """The table at the beginning and after each decision."""
    game, states, move = load_game(replay.game), replay.begin(), ""
    for number, (_, action) in enumerate(replay.steps(states), 1):
        yield _moment(renderer, states, move)
        player = mover(states[0])
        name = game.action_name_at(states, 0, action)
        if perspective not in (None, "all", player):
            name = game.public_action_name(states, 0, action)
        move = f"Decision {number}, player_{player}: {name}."
    yield _moment(renderer, states, move)


def _moment(renderer: TableRenderer, states: NDArray[np.void], move: str) -> _Moment:
    s = states[0]
    paid = ", ".join(f"{reward:+.2f}" for reward in s["rewards"][: s["num_players"]])
    reward = f"Rewards: {paid}." if s["rewards"].any() else "No reward."
    scene = renderer.scene(states, 0, mover(s), MEMORY_PERFECT)
    return _Moment(scene, move, reward if move else "")


def _picture(args: argparse.Namespace, moments: Sequence[_Moment], style: Style) -> Picture:
    """The table before a decision, or a strip of several."""
    numbers = args.at or [len(moments)]
    for number in numbers:
        if not 1 <= number <= len(moments):
            raise ValueError(
                f"--at must be from 1 to {len(moments)}, which is the end, got {number}"
            )
    chosen = [moments[number - 1] for number in numbers]
    size = {"width": args.width} if args.width else {}
    if len(chosen) == 1:
        return picture.draw(chosen[0].scene, style, theme=args.theme, **size)
    moves = [moment.move or "The beginning." for moment in chosen]
    return picture.strip([m.scene for m in chosen], moves, style, theme=args.theme, **size)
