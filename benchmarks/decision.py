"""Where the time of a decision goes in the raw batch, and how it grows with the number of games.

    python -m benchmarks.decision [--game GAME] [--json FILE]

Kernels are timed one by one with all rows in the processor's cache; then whole steps of the batch
with random legal actions, whose choice is not timed. CPU time of one core.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import card_envs
from benchmarks import report
from benchmarks.random_play import choose_actions
from card_envs.commands import arguments, running
from card_envs.contract.fields import OBSERVATION_DTYPES
from card_envs.contract.game import Game
from card_envs.engine.batch import BatchEngine
from card_envs.engine.templates import compile_for
from card_envs.games import load_game

PACKAGES = ("numba", "numpy")
GAMES_AT_A_TIME = (256, 1024, 4096, 16384)

# Games whose kernels are timed, and the decisions taken in them before.
_SAMPLE, _WARM_UP = 512, 40
# Bytes that are copied to measure the memory: more than any cache holds.
_COPIED = 256_000_000


def observe_each(states, features, out):
    """Every game's observation, all in the same row."""
    for i in range(len(states)):
        observe(states, i, states[i].current_player, 0, features, out)


def mask_each(states, out):
    """Every game's action mask, all in the same row."""
    for i in range(len(states)):
        legal_action_mask(states, i, out)


def step_each(states, actions, scratch):
    """A decision in a copy of every game."""
    for i in range(len(states)):
        scratch[0] = states[i]
        step(scratch, 0, actions[i])


def copy_each(states, scratch):
    """A copy of every game."""
    for i in range(len(states)):
        scratch[0] = states[i]


class RandomPlay:
    """A batch that is stepped with random legal actions."""

    def __init__(self, batch: BatchEngine) -> None:
        self.batch = batch
        self._streams = np.arange(batch.num_envs, dtype=np.uint64) << np.uint64(40)
        self.actions = np.zeros(batch.num_envs, np.int64)
        _, self._action_mask = batch.reset(seed=0)
        self.choose()

    def choose(self) -> None:
        """Choose the next actions."""
        choose = compile_for(self.batch.game, choose_actions)
        choose(self._streams, self._action_mask, self.actions)

    def step(self, count: int) -> float:
        """Take ``count`` decisions in each game; returns the seconds that the steps took."""
        seconds = 0.0
        for _ in range(count):
            begun = time.thread_time()
            _, self._action_mask, *_ = self.batch.step(self.actions)
            seconds += time.thread_time() - begun
            self.choose()
        return seconds


def measure_kernels(game: Game, repetitions: int) -> dict[str, float]:
    """Nanoseconds of each kernel, the best of ``repetitions``."""
    play = RandomPlay(card_envs.make_vec(game.name, _SAMPLE))
    play.step(_WARM_UP)
    states, actions = play.batch.states.copy(), play.actions
    scratch = game.new_states(1)
    action_mask = np.zeros(game.num_actions, np.int8)
    calls: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "step": (step_each, (states, actions, scratch)),
        "copy": (copy_each, (states, scratch)),
        "mask": (mask_each, (states, action_mask)),
    }
    for dtype in OBSERVATION_DTYPES:
        for features in (1, 0):
            out = np.zeros(game.fields.size, dtype)
            calls[_observation(dtype, bool(features))] = (observe_each, (states, features, out))
    best = {}
    for name, (template, values) in calls.items():
        compiled = compile_for(game, template)
        best[name] = min(_seconds(compiled, values) for _ in range(repetitions + 1))
    nanoseconds = {name: 1e9 * seconds / _SAMPLE for name, seconds in best.items()}
    nanoseconds["step"] -= nanoseconds.pop("copy")
    return nanoseconds


def _observation(dtype: str, features: bool) -> str:
    return f"observation, {dtype}{'' if features else ', features=False'}"


def _seconds(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    begun = time.thread_time()
    function(*arguments)
    return time.thread_time() - begun


def measure_memory(repetitions: int) -> float:
    """Bytes a second that one core copies between arrays that no cache holds."""
    source = np.ones(_COPIED, np.uint8)
    target = np.zeros(_COPIED, np.uint8)
    best = min(_seconds(np.copyto, (target, source)) for _ in range(repetitions))
    return _COPIED / best


def measure_steps(
    game: Game, sizes: Sequence[int], decisions: int, repetitions: int
) -> list[dict[str, Any]]:
    """Nanoseconds of a decision in batches of several sizes, all in turns."""
    rows = []
    for size in sizes:
        plays = {
            (dtype, features): RandomPlay(
                card_envs.make_vec(game.name, size, features=features, observation_dtype=dtype)
            )
            for dtype in OBSERVATION_DTYPES
            for features in (True, False)
        }
        count = max(1, decisions // size)
        times: dict[tuple[str, bool], list[float]] = {key: [] for key in plays}
        for repetition in range(repetitions + 1):
            for key, play in plays.items():
                seconds = play.step(count)
                if repetition:  # the first one warms up
                    times[key].append(1e9 * seconds / (count * size))
        for (dtype, features), values in times.items():
            rows.append(
                {
                    "games": size,
                    "dtype": dtype,
                    "features": features,
                    "median": statistics.median(values),
                    "best": min(values),
                }
            )
    return rows


def bytes_of(game: Game, dtype: str) -> int:
    """Bytes that a decision writes: observation, mask, rewards and flags."""
    row: NDArray[Any] = np.zeros(game.fields.size, dtype)
    return row.nbytes + game.num_actions + 8 * game.max_players + 2


def measure(game_id: str, sizes: Sequence[int], decisions: int, repetitions: int) -> dict[str, Any]:
    """Measure kernels, memory and whole steps.

    Args:
        game_id: The game.
        sizes: Numbers of games at a time.
        decisions: Decisions of each measurement of steps, at least one for each game.
        repetitions: How often everything is measured.

    Returns:
        The document that is written as JSON.
    """
    game = load_game(game_id)
    return report.document(
        "decision",
        game.id,
        [
            *("--game", game.id, "--decisions", str(decisions)),
            *("--repetitions", str(repetitions), "--games", *map(str, sizes)),
        ],
        PACKAGES,
        {"num_players": game.default_players, "decisions": decisions, "repetitions": repetitions},
        {
            "kernels": measure_kernels(game, repetitions),
            "bytes": {
                "state": game.state_dtype.itemsize,
                **{dtype: bytes_of(game, dtype) for dtype in OBSERVATION_DTYPES},
            },
            "copied_bytes_per_second": measure_memory(repetitions),
            "steps": measure_steps(game, sizes, decisions, repetitions),
        },
    )


@running.command("benchmarks.decision")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.decision``."""
    parser = arguments.module_parser("benchmarks.decision", __doc__)
    parser.add_argument(
        "--games",
        type=int,
        nargs="+",
        default=list(GAMES_AT_A_TIME),
        help=f"games at a time; default: {' '.join(map(str, GAMES_AT_A_TIME))}",
    )
    parser.add_argument(
        "--decisions", type=int, default=200_000, help="of each measurement; default: 200000"
    )
    parser.add_argument("--repetitions", type=int, default=15, help="default: 15")
    args = report.parse_arguments(parser, argv)
    if min(args.decisions, args.repetitions, *args.games) < 1:
        raise ValueError("--games, --decisions and --repetitions must be at least 1")
    report.finish(
        args,
        lambda: measure(args.game, args.games, args.decisions, args.repetitions),
    )


if __name__ == "__main__":
    raise SystemExit(main())
