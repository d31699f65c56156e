"""Decisions a second of the environments under random play, and PettingZoo's as a yardstick.

    python -m benchmarks.throughput [--game beaver_gang] [--seconds 2] [--json FILE]

The observation and the mask are written at each decision, and finished games are reset within the
measured time. All AEC environments are driven by the same loop. All cases take turns, repetition by
repetition, so that other load on the machine affects them alike.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numba
import numpy as np
from pettingzoo.classic import connect_four_v3, leduc_holdem_v4, texas_holdem_no_limit_v6
from pettingzoo.utils.env import AECEnv

import card_envs
from benchmarks import report
from benchmarks.random_play import choose_actions, play_random
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.engine.templates import compile_for
from card_envs.games import load_game

BATCHES = (64, 1024, 4096, 16384)
PACKAGES = ("gymnasium", "numba", "numpy", "pettingzoo", "rlcard")
# The yardsticks; the ratios are to the faster one of the card games.
YARDSTICKS = (connect_four_v3, texas_holdem_no_limit_v6, leduc_holdem_v4)
CARD_GAMES = ("texas_holdem_no_limit_v6", "leduc_holdem_v4")
# Decisions (in each game) between two looks at the clock.
CHUNK = 100
COMPILED_GAMES = 256

# Run in a fresh process; prints the seconds of each stage.
STARTUP = """
import json, sys, time
times = [time.perf_counter()]
import card_envs
times.append(time.perf_counter())
from card_envs.commands.arguments import import_games
import_games(sys.argv[2:])
env = card_envs.make(sys.argv[1])
env.reset(seed=0)
env.last()
env.step(env.legal_actions()[0])
env.last()
times.append(time.perf_counter())
vec = card_envs.make_vec(sys.argv[1], 64)
vec.step(vec.reset(seed=0)[1].argmax(axis=1))
times.append(time.perf_counter())
print(json.dumps([after - before for before, after in zip(times, times[1:])]))
"""
STAGES = ("import", "first_environment", "first_batch")


@dataclass(frozen=True)
class Case:
    """Something to measure: ``play(seconds)`` returns the decisions made and the seconds taken."""

    environment: str
    interface: str
    games: int
    threads: int
    play: Callable[[float], tuple[int, float]]


def repeat(chunk: Callable[[], int]) -> Callable[[float], tuple[int, float]]:
    """``Case.play`` from a function that makes some decisions and returns how many."""

    def play(seconds: float) -> tuple[int, float]:
        decisions, elapsed = 0, 0.0
        begun = time.perf_counter()
        while elapsed < seconds:
            decisions += chunk()
            elapsed = time.perf_counter() - begun
        return decisions, elapsed

    return play


def aec_case(name: str, interface: str, make: Callable[[], AECEnv[Any, Any, Any]]) -> Case:
    """Random play of an AEC environment, ours or PettingZoo's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the bounds of PettingZoo's own spaces
        env = make()
    env.reset(seed=0)
    draw = random.Random(0).random

    def chunk() -> int:
        decisions = 0
        while decisions < CHUNK:
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(int(legal[int(draw() * len(legal))]))
            decisions += 1
        return decisions

    return Case(name, interface, 1, 1, repeat(chunk))


def seat_case(game: Game) -> Case:
    """The learner's decisions in the Gymnasium environment, whose opponents play at random."""
    env = gymnasium.make(game.gymnasium_id, opponents="random")
    _, info = env.reset(seed=0)
    draw = random.Random(0).random

    def chunk() -> int:
        nonlocal info
        for _ in range(CHUNK):
            legal = np.flatnonzero(info["action_mask"])
            _, _, terminated, truncated, info = env.step(legal[int(draw() * len(legal))])
            if terminated or truncated:
                _, info = env.reset()
        return CHUNK

    return Case(game.name, "gymnasium.make(), decisions of the learner", 1, 1, repeat(chunk))


def batch_case(game: Game, num_envs: int, num_threads: int, features: bool = True) -> Case:
    """``make_vec().step()``; the actions are chosen outside the measured time."""
    engine = card_envs.make_vec(game.id, num_envs, num_threads=num_threads, features=features)
    _, action_mask = engine.reset(seed=0)  # a buffer that every step rewrites
    choose = compile_for(game, choose_actions)
    streams = np.arange(num_envs, dtype=np.uint64)
    actions = np.zeros(num_envs, np.int64)

    def play(seconds: float) -> tuple[int, float]:
        decisions, elapsed = 0, 0.0
        while elapsed < seconds:
            choose(streams, action_mask, actions)
            begun = time.perf_counter()
            engine.step(actions)
            elapsed += time.perf_counter() - begun
            decisions += num_envs
        return decisions, elapsed

    arguments = "" if features else "features=False"
    return Case(game.name, f"make_vec({arguments}), step alone", num_envs, num_threads, play)


def compiled_case(game: Game, features: bool = True) -> Case:
    """Random play without leaving the compiled loop."""
    loop = compile_for(game, play_random)
    engine = card_envs.make_vec(game.id, COMPILED_GAMES, features=features)
    observation, action_mask = (array.copy() for array in engine.reset(seed=0))
    streams = np.arange(COMPILED_GAMES, dtype=np.uint64)
    options = game.encode_options({})
    view = engine.view.codes

    def chunk() -> int:
        players = engine.player_range
        loop(engine.states, streams, CHUNK, *players, options, *view, observation, action_mask)
        return CHUNK * COMPILED_GAMES

    interface = "compiled loop, choosing included" + ("" if features else ", features=False")
    return Case(game.name, interface, COMPILED_GAMES, 1, repeat(chunk))


def make_cases(game: Game, batches: Sequence[int]) -> list[Case]:
    """All that is measured, in the order of the table."""
    threads = sorted({1, numba.config.NUMBA_NUM_THREADS})  # type: ignore[attr-defined]
    return [
        aec_case(game.name, "raw_env", lambda: card_envs.make(game.id, on_illegal="raise")),
        aec_case(game.name, "env", lambda: card_envs.make(game.id)),
        seat_case(game),
        *(batch_case(game, num_envs, t) for t in threads for num_envs in batches),
        compiled_case(game),
        *(derived_cases(game, batches) if any(field.derived for field in game.fields) else []),
        *(
            aec_case(module.__name__.rsplit(".", 1)[-1], interface, getattr(module, interface))
            for module in YARDSTICKS
            for interface in ("raw_env", "env")
        ),
    ]


def derived_cases(game: Game, batches: Sequence[int]) -> list[Case]:
    """The same without derived fields: what working them out costs."""
    return [
        *(batch_case(game, num_envs, 1, features=False) for num_envs in batches),
        compiled_case(game, features=False),
    ]


def measure_cases(cases: Sequence[Case], seconds: float, repetitions: int) -> list[dict[str, Any]]:
    """Decisions a second of each case: the median and the best of the repetitions."""
    for case in cases:
        case.play(seconds / 4)  # compiles, and lets the games of a batch drift apart
    rates: list[list[float]] = [[] for _ in cases]
    for repetition in range(repetitions):
        print(f"repetition {repetition + 1} of {repetitions}", file=sys.stderr)
        for case, measured in zip(cases, rates, strict=True):
            decisions, elapsed = case.play(seconds)
            measured.append(decisions / elapsed)
    return [
        {
            "environment": case.environment,
            "interface": case.interface,
            "games": case.games,
            "threads": case.threads,
            "median": round(statistics.median(measured)),
            "best": round(max(measured)),
        }
        for case, measured in zip(cases, rates, strict=True)
    ]


def measure_startup(
    game_id: str, repetitions: int, games_from: Sequence[str] = ()
) -> dict[str, dict[str, float]]:
    """Seconds to the first decisions of fresh processes: once compiling, then from the cache.

    Args:
        game_id: The game.
        repetitions: Processes with a warm cache; the median of them is taken.
        games_from: Modules of games of other packages.
    """
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for _ in range(1 + repetitions):
            process = subprocess.run(
                [sys.executable, "-c", STARTUP, game_id, *games_from],
                env={**os.environ, "XDG_CACHE_HOME": folder},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            runs.append(json.loads(process.stdout))
    medians = [statistics.median(stage) for stage in zip(*runs[1:], strict=True)]
    return {
        cache: {stage: round(value, 3) for stage, value in zip(STAGES, values, strict=True)}
        for cache, values in (("empty_cache", runs[0]), ("warm_cache", medians))
    }


def compare(rows: Sequence[dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    """How many times as fast as PettingZoo's fastest card game ours is, like for like."""
    medians = {(row["environment"], row["interface"]): row["median"] for row in rows}
    ratios = {}
    for interface in ("raw_env", "env"):
        fastest = max(CARD_GAMES, key=lambda game: medians[game, interface])
        ratio = medians[name, interface] / medians[fastest, interface]
        ratios[interface] = {"compared_to": fastest, "ratio": round(ratio, 2)}
    return ratios


def measure(
    game_id: str,
    seconds: float,
    repetitions: int,
    batches: Sequence[int],
    games_from: Sequence[str] = (),
) -> dict[str, Any]:
    """Measure everything.

    Args:
        game_id: The game.
        seconds: Of one repetition of one case.
        repetitions: How many.
        batches: Sizes of the batches.
        games_from: Modules of games of other packages.

    Returns:
        The document that is written as JSON.
    """
    game = load_game(game_id)
    startup = measure_startup(game_id, repetitions, games_from)
    rows = measure_cases(make_cases(game, batches), seconds, repetitions)
    arguments = ["--game", game_id, "--seconds", f"{seconds:g}", "--repetitions", str(repetitions)]
    if tuple(batches) != BATCHES:
        arguments += ["--games", *map(str, batches)]
    return report.document(
        "throughput",
        game_id,
        arguments,
        PACKAGES,
        {"num_players": game.default_players, "seconds": seconds, "repetitions": repetitions},
        {
            "sizes": {
                "state_bytes": game.state_dtype.itemsize,
                "observation_values": game.fields.size,
                "actions": game.num_actions,
            },
            "decisions_per_second": rows,
            "ratios": compare(rows, game.name),
            "startup_seconds": startup,
        },
    )


@running.command("benchmarks.throughput")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.throughput``."""
    parser = arguments.module_parser("benchmarks.throughput", __doc__)
    add = parser.add_argument
    add("--seconds", type=float, default=2.0, help="of one repetition of one case; default: 2")
    add("--repetitions", type=int, default=5, help="default: 5")
    about = f"sizes of the batches; default: {' '.join(map(str, BATCHES))}"
    add("--games", type=int, nargs="+", default=BATCHES, metavar="N", help=about)
    args = report.parse_arguments(parser, argv)
    if min(args.repetitions, *args.games) < 1:
        raise ValueError("--repetitions and --games must be at least 1")
    if not 0 < args.seconds < float("inf"):
        raise ValueError(f"--seconds must be above 0, got {args.seconds}")
    report.finish(
        args,
        lambda: measure(args.game, args.seconds, args.repetitions, args.games, args.games_from),
    )


if __name__ == "__main__":
    raise SystemExit(main())
