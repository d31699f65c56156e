"""Decisions a second on an NVIDIA GPU, against all cores of the same machine and against Pgx.

    python -m benchmarks.cuda [--game beaver_gang] [--seconds 2] [--json FILE] [--pgx] [--training]

Random play; observations and masks are written at each decision, and finished games are reset
within the measured time. On the GPU a kernel also chooses the actions within it, and so does Pgx,
whose steps are compiled into one loop. It needs the extra ``cuda``; ``--pgx`` needs ``pgx`` and a
JAX that finds the GPU. ``--training`` measures learner decisions a second of the shipped
configuration's training, on the GPU with more games at a time and on the CPU, rollout by rollout in
turns.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

import card_envs
from benchmarks import report
from benchmarks.random_play import choose_actions
from benchmarks.throughput import (
    Case,
    add_case_arguments,
    batch_case,
    measure_cases,
    repeat,
)
from benchmarks.training import CONFIGS, OurTrainer
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.games import load_game
from training.runs.config import Config
from training.runs.keys import load

BATCHES = tuple(2**k for k in range(10, 21, 2))
CPU_BATCHES = (4096, 16384)
PACKAGES = ("numba", "numba-cuda", "numpy")
PGX_GAMES = ("leduc_holdem", "sparrow_mahjong")
#: Steps between two looks at the clock, which wait for the GPU.
CHUNK = 100
#: Games played at a time in training, on the GPU and on the CPU.
TRAINING_GAMES, CPU_TRAINING_GAMES = 2**14, 2**10


def gpu_case(game: Game, num_envs: int) -> Case:
    """The raw batch on the GPU."""
    from card_envs.engine.cuda_jit import compile_for_gpu, cuda, zeros

    batch = card_envs.make_vec(game.name, num_envs, device="cuda")
    _, action_mask = batch.reset(seed=0)
    choose = compile_for_gpu(game, choose_actions)
    streams: Any = cuda.to_device(np.arange(num_envs, dtype=np.uint64))
    actions = zeros(num_envs, np.int64)

    def chunk() -> int:
        for _ in range(CHUNK):
            choose(num_envs, streams, action_mask, actions)
            batch.step(actions)
        cuda.synchronize()
        return CHUNK * num_envs

    return Case(game.name, 'make_vec(device="cuda")', num_envs, 0, repeat(chunk))


def pgx_case(name: str, num_envs: int) -> Case:
    """A game of Pgx, reset where it is over."""
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    init, step = jax.vmap(env.init), jax.vmap(auto_reset(env.step, env.init))

    def decide(carried: Any, key: Any) -> tuple[Any, None]:
        choice, reset = jax.random.split(key)
        logits = jax.numpy.where(carried.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(choice, logits)
        return step(carried, actions, jax.random.split(reset, num_envs)), None

    play = jax.jit(lambda state, keys: jax.lax.scan(decide, state, keys)[0])
    state = jax.jit(init)(jax.random.split(jax.random.key(0), num_envs))
    keys = jax.random.split(jax.random.key(1), CHUNK)

    def chunk() -> int:
        nonlocal state, keys
        state = jax.block_until_ready(play(state, keys))
        keys = jax.vmap(jax.random.fold_in, (0, None))(keys, 1)
        return CHUNK * num_envs

    return Case(f"pgx {name}", "vmap(step), auto_reset", num_envs, 0, repeat(chunk))


def memory_of(game: Game, num_envs: int) -> int:
    """Bytes of the GPU's memory that a batch takes."""
    from card_envs.engine.cuda_jit import cuda

    context = cuda.current_context()
    before = context.get_memory_info().free
    batch = card_envs.make_vec(game.name, num_envs, device="cuda")
    batch.reset(seed=0)
    cuda.synchronize()
    return int(before - context.get_memory_info().free)


def make_trainer(game: Game, device: str, num_envs: int) -> OurTrainer:
    """Training with the shipped policy's configuration and a full pool of snapshots.

    Args:
        game: The game.
        device: ``"cuda"``: networks on the GPU, games on the CPU; or ``"cpu"``.
        num_envs: Games played at a time; minibatches grow with them.
    """
    path = CONFIGS / f"{game.id}.yaml"
    shipped = load(Config, path)
    factor = num_envs / shipped.environment.num_envs
    config = load(
        Config,
        path,
        [
            f"device={device}",
            "imitation={}",
            f"environment.num_envs={num_envs}",
            f"ppo.batch_size={max(2, round(shipped.ppo.batch_size * factor))}",
        ],
    )
    return OurTrainer(config)


def measure_training(trainers: dict[str, OurTrainer], rollouts: int) -> dict[str, Any]:
    """Learner decisions a second of trainers by name: medians over rollouts, taken in turns."""
    for k in range(rollouts + 1):
        for trainer in trainers.values():
            trainer.iterate()
            if k == 0:  # it compiles
                trainer.forget()
    return {
        name: {
            "collecting": statistics.median(trainer.collecting),
            "whole": statistics.median(trainer.whole),
        }
        for name, trainer in trainers.items()
    }


def measure(
    game_id: str,
    seconds: float,
    repetitions: int,
    batches: Sequence[int],
    with_pgx: bool,
    with_training: bool,
) -> dict[str, Any]:
    """Measure one game.

    Raises:
        ValueError: There is no GPU that Numba can use.
        MissingExtraError: The extra ``cuda`` is not installed.
    """
    from card_envs.engine.cuda_jit import check_gpu, cuda

    check_gpu()
    game = load_game(game_id)
    threads = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    memory = {num_envs: memory_of(game, num_envs) for num_envs in batches}
    cases = [gpu_case(game, num_envs) for num_envs in batches]
    cases += [batch_case(game, num_envs, threads) for num_envs in CPU_BATCHES]
    if with_pgx:
        cases += [pgx_case(name, num_envs) for name in PGX_GAMES for num_envs in batches]
    arguments = ["--game", game_id, "--seconds", f"{seconds:g}", "--repetitions", str(repetitions)]
    arguments += ["--games", *map(str, batches), *(["--pgx"] if with_pgx else [])]
    training: dict[str, Any] = {}
    if with_training:
        arguments.append("--training")
        trainers = {
            device: make_trainer(game, device, num_envs)
            for device, num_envs in (("cuda", TRAINING_GAMES), ("cpu", CPU_TRAINING_GAMES))
        }
        training = measure_training(trainers, repetitions)
    return report.document(
        "cuda",
        game.id,
        arguments,
        (*PACKAGES, *(("jax", "pgx") if with_pgx else ())),
        {"num_players": game.default_players, "seconds": seconds, "repetitions": repetitions},
        {
            "gpu": str(cuda.get_current_device().name),
            "memory_bytes": memory,
            "decisions_per_second": measure_cases(cases, seconds, repetitions),
            "training": training,
        },
    )


@running.command("benchmarks.cuda")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.cuda``."""
    parser = arguments.module_parser("benchmarks.cuda", __doc__)
    add_case_arguments(parser, BATCHES)
    parser.add_argument("--pgx", action="store_true", help="measure Pgx's card games too")
    parser.add_argument("--training", action="store_true", help="measure training too")
    args = report.parse_arguments(parser, argv)
    report.finish(
        args,
        lambda: measure(
            args.game, args.seconds, args.repetitions, args.games, args.pgx, args.training
        ),
    )


if __name__ == "__main__":
    raise SystemExit(main())
