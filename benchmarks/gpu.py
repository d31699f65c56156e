"""Everything that needs a GPU, in minutes: equality, speed, training; and training alone.

    python -m benchmarks.gpu [--minutes 8] [--config CONFIG] [--out DIR] [--only STAGE ...]

One stage follows the other, each in a process of its own with a limit of time, and what it has
found is printed and written at once: a machine that dies leaves the results so far.

- ``equality``: observations, masks, rewards, ends and records of a batch on the GPU, byte by byte,
  against the CPU's.
- ``environment``: decisions a second of random play, by size of the batch, layout and dtype of its
  observations. A kernel chooses the actions within the measured time, and finished games are reset.
- ``pgx``: two card games of Pgx, where it is installed.
- ``training``: learner decisions a second of the configuration, by games at a time.
- ``labels``: seconds for shards of labels of expert iteration, from its game's ``ppo``: the CPU
  plays the games, in one process, and the GPU the rollouts. The first shard compiles, and each
  begins with some steps of all games.
- ``train``: the configuration's own training for the minutes that are left; resumed if the folder
  holds the run.

The folder DIR gets ``gpu.json``, the policy with its card, and the run as an archive,
``CONFIG.tar.0`` and so on: at most 8 files of 16 MB. The run itself is beside it, in
``DIR_CONFIG``; where that is missing, it is restored from the archive.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import statistics
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.random_play import choose_actions
from card_envs.commands import arguments, running
from card_envs.contract.fields import OBSERVATION_DTYPES
from card_envs.contract.game import Game
from card_envs.engine.templates import compile_for
from card_envs.games import GAMES, load_game
from card_envs.utils.files import write_json, write_output
from card_envs.utils.run_folder import RunFolder
from training.improvement.config import ImprovementConfig
from training.improvement.labels import label_positions
from training.runs.config import Config
from training.runs.keys import load
from training.runs.records import commit_of
from training.runs.run import Run

PACKAGES = ("numba", "numba-cuda", "numpy", "torch", "jax", "pgx")
PGX_GAMES = ("leduc_holdem", "sparrow_mahjong")
#: What is trained: the share of games in which the learner holds all seats, and rows.
TRAINED = ((1.0, "dense"), (1.0, "bfloat16"), (0.667, "bfloat16"))
CONFIG = Path("configs/beaver_gang.yaml")

#: The stages, and the share of the time that each may take; the last one takes what is left.
STAGES = {
    "equality": 0.15,
    "environment": 0.25,
    "pgx": 0.1,
    "training": 0.15,
    "labels": 0.15,
    "train": 1.0,
}
_GRACE = 20.0  # seconds: a stage that should have stopped by then is killed
_TO_SAVE = 40.0  # seconds: for the last checkpoint and the archive
_EVERY = 30.0  # seconds between two archives

#: Steps between two looks at the clock, which wait for the GPU.
CHUNK = 100
PART = 16_000_000  # bytes of a file of the archive
_MOST_PARTS = 5

Row = dict[str, Any]


class Sizes:
    """How much is measured; ``tiny`` tries the command itself, in Numba's simulator."""

    def __init__(self, tiny: bool) -> None:
        self.games = list(GAMES)[: 1 if tiny else None]
        self.compared = (3, 4) if tiny else (8192, 250)  # games, steps
        self.batches = (3,) if tiny else (2**14, 2**17, 2**20)
        self.steps = 2 if tiny else CHUNK
        self.repetitions = 1 if tiny else 3
        self.trained = (4,) if tiny else (2**14, 2**17)
        self.labeled = (4, (1, 2)) if tiny else (1024, (100, 2_000, 20_000))  # games, labels
        self.overrides = ["ppo.n_steps=2", "ppo.batch_size=8", "rollouts=device"] if tiny else []
        self.device = "cpu" if tiny else "cuda"


# ---------------------------------------------------------------------------------------------
# The stages, each in a process of its own
# ---------------------------------------------------------------------------------------------


def equality(sizes: Sizes, config: Path) -> Iterator[Row]:
    """Every game in both dtypes: how many decisions were compared, and what differed first."""
    num_envs, steps = sizes.compared
    for name in sizes.games:
        for dtype in OBSERVATION_DTYPES:
            differs = _first_difference(load_game(name), num_envs, steps, dtype)
            case = {"game": name, "dtype": dtype, "decisions": num_envs * steps}
            yield {**case, "result": f"differs: {differs}" if differs else "equal"}


def _first_difference(game: Game, num_envs: int, steps: int, dtype: str) -> str:
    """What differs first between the same random play on the GPU and on the CPU; empty: nothing."""
    from card_envs.engine.batch import BatchEngine
    from card_envs.engine.cuda_batch import CudaBatchEngine
    from card_envs.engine.cuda_jit import check_gpu, compile_for_gpu, cuda, zeros

    check_gpu()
    sizes = (game.min_players, game.max_players)
    there = CudaBatchEngine(game, num_envs, sizes, observation_dtype=dtype)
    here = BatchEngine(game, num_envs, sizes, observation_dtype=dtype)
    seen: Any = there.reset(seed=1)
    expected: Any = here.reset(seed=1)
    streams, actions = np.arange(num_envs, dtype=np.uint64), np.zeros(num_envs, np.int64)
    streams_there, actions_there = cuda.to_device(streams), zeros(num_envs, np.int64)
    choose = compile_for(game, choose_actions)
    choose_there = compile_for_gpu(game, choose_actions)
    names = ("observation", "action_mask", "rewards", "terminated", "truncated")
    for step in range(steps):
        choose_there(num_envs, streams_there, seen[1], actions_there)
        choose(streams, expected[1], actions)
        seen, expected = there.step(actions_there), here.step(actions)
        for name, array, other in zip(names, seen, expected, strict=True):
            if array.copy_to_host().tobytes() != other.tobytes():
                return f"{name}, step {step}"
    records: Any = there.states
    records = records.copy_to_host()
    for name in game.state_dtype.names or ():  # not what is between the entries
        if records[name].tobytes() != here.states[name].tobytes():
            return f"{name} of the records"
    return ""


def _layouts() -> dict[str, Any]:
    """Kinds of batches: the package's own comes first."""
    from card_envs.engine.cuda_batch import CudaBatchEngine
    from card_envs.engine.cuda_jit import cuda
    from card_envs.engine.templates import step_games

    class OneKernel(CudaBatchEngine):
        """A decision and its observation in one kernel."""

        def _decide(self, *arguments: Any) -> None:
            self._run(step_games, *arguments)

    class Rows(CudaBatchEngine):
        """Each thread writes a contiguous row."""

        def _zeros(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
            return cuda.to_device(np.zeros(shape, dtype))

    return {"columns": CudaBatchEngine, "columns, one kernel": OneKernel, "rows": Rows}


def environment(sizes: Sizes, config: Path) -> Iterator[Row]:
    """Decisions a second, medians."""
    from card_envs.engine.cuda_jit import check_gpu, compile_for_gpu, cuda, zeros

    check_gpu()
    # The largest batches last, so that a lack of time costs these.
    for num_envs in sizes.batches:
        for name in sizes.games:
            for layout, kind in _layouts().items():
                for dtype in OBSERVATION_DTYPES:
                    game = load_game(name)
                    batch = kind(game, num_envs, observation_dtype=dtype)
                    _, action_mask = batch.reset(seed=0)
                    choose = compile_for_gpu(game, choose_actions)
                    streams = cuda.to_device(np.arange(num_envs, dtype=np.uint64))
                    actions = zeros(num_envs, np.int64)

                    def play(
                        choose: Any = choose,
                        batch: Any = batch,
                        given: tuple[Any, ...] = (streams, action_mask, actions),
                    ) -> int:
                        for _ in range(sizes.steps):
                            choose(batch.num_envs, *given)
                            batch.step(given[-1])
                        cuda.synchronize()
                        return sizes.steps * int(batch.num_envs)

                    speed = _speed(play, sizes.repetitions)
                    case = {"game": name, "games": num_envs, "layout": layout, "dtype": dtype}
                    yield {**case, "decisions_per_second": speed}


def pgx(sizes: Sizes, config: Path) -> Iterator[Row]:
    """Decisions a second, medians."""
    if not (find_spec("pgx") and find_spec("jax")):
        yield {"game": "pgx", "result": "not installed"}
        return
    import jax
    import pgx
    from pgx.experimental import auto_reset

    for name in PGX_GAMES:
        for num_envs in sizes.batches:
            env = pgx.make(name)
            init, step = jax.vmap(env.init), jax.vmap(auto_reset(env.step, env.init))

            def decide(
                carried: Any, key: Any, step: Any = step, num_envs: int = num_envs
            ) -> tuple[Any, None]:
                choice, reset = jax.random.split(key)
                logits = jax.numpy.where(carried.legal_action_mask, 0.0, -jax.numpy.inf)
                actions = jax.random.categorical(choice, logits)
                return step(carried, actions, jax.random.split(reset, num_envs)), None

            loop = jax.jit(lambda state, keys, decide=decide: jax.lax.scan(decide, state, keys)[0])
            start = jax.jit(init)(jax.random.split(jax.random.key(0), num_envs))
            keys = jax.random.split(jax.random.key(1), CHUNK)

            def play(
                loop: Any = loop, start: Any = start, keys: Any = keys, num_envs: int = num_envs
            ) -> int:
                jax.block_until_ready(loop(start, keys))
                return CHUNK * num_envs

            speed = _speed(play, sizes.repetitions)
            yield {"game": f"pgx {name}", "games": num_envs, "decisions_per_second": speed}


def _speed(play: Callable[[], int], repetitions: int) -> int:
    """Decisions a second of a chunk, the median; the first chunk, which compiles, is left out."""
    play()
    speeds = []
    for _ in range(repetitions):
        begun = time.perf_counter()
        decisions = play()
        speeds.append(decisions / (time.perf_counter() - begun))
    return round(statistics.median(speeds))


def training(sizes: Sizes, config: Path) -> Iterator[Row]:
    """Learner decisions a second: in self-play by dtype, and with a third of the games in blocks;
    minibatches grow with the games."""
    from benchmarks.training_worker import learner_of, take_turn

    shipped = load(Config, config)
    for num_envs, (own, rows) in product(sizes.trained, TRAINED):
        batch = max(2, shipped.ppo.batch_size * num_envs // shipped.environment.num_envs)
        grown = [f"environment.num_envs={num_envs}", f"ppo.batch_size={batch}", "imitation={}"]
        grown += [f"opponents={{self: {own}, pool: 1, agents: {{}}}}", f"rows={rows}"]
        begun = time.perf_counter()
        learner = learner_of(load(Config, config, [*grown, *_given(sizes)]))
        take_turn(learner)
        first = time.perf_counter() - begun
        turns = [take_turn(learner) for _ in range(sizes.repetitions)]
        yield {
            "game": shipped.game,
            "games": num_envs,
            "self": own,
            "rows": rows,
            "first_iteration_seconds": round(first, 1),
            **{
                f"{stage}_decisions_per_second": round(
                    statistics.median(turn["decisions"] / turn[stage] for turn in turns)
                )
                for stage in ("collecting", "whole")
            },
        }


def labels(sizes: Sizes, config: Path) -> Iterator[Row]:
    """Seconds for shards of growing size."""
    game = load(Config, config).game
    num_envs, shards = sizes.labeled
    for shard in shards:
        data = {
            "game": game,
            "agent": "ppo",
            "environment": {"num_envs": num_envs},
            "opponents": {"pool": 1.0},
            "labels": {"count": 2 * shard, "shard": shard, "device": sizes.device},
        }
        run = Run(ImprovementConfig.model_validate(data), Path("unused"))
        policy: Any = run.agents["ppo"]
        begun = time.perf_counter()
        label_positions(0, run, policy, 1)
        seconds = round(time.perf_counter() - begun, 1)
        yield {"game": game, "games": num_envs, "labels": shard, "seconds": seconds}


def _given(sizes: Sizes) -> list[str]:
    return [f"device={sizes.device}", *sizes.overrides]


_MEASURED = {f.__name__: f for f in (equality, environment, pgx, training, labels)}


def _run_stage(name: str, sizes: Sizes, config: Path, seconds: float) -> None:
    """Print what a stage finds, a line of JSON each, until its time is over."""
    begun = time.monotonic()
    for row in _MEASURED[name](sizes, config):
        print(json.dumps(row), flush=True)
        if time.monotonic() - begun > seconds:
            print(json.dumps({"result": f"stopped after {seconds:.0f} s"}), flush=True)
            return


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


class Session:
    """The stages one after the other, and the folder with what they leave."""

    def __init__(
        self, out: Path, config: Path, changes: Sequence[str], seconds: float, tiny: bool
    ) -> None:
        self._out, self._config, self._changes, self._tiny = out, config, changes, tiny
        self._end = time.monotonic() + seconds
        self._command = ["--minutes", f"{seconds / 60:g}", "--config", str(config)]
        self._command += ["--set", *changes] if changes else []
        self._command += ["--tiny"] if tiny else []
        self._seconds = seconds
        self.rows: dict[str, list[Row]] = {}
        self._name = load(Config, config, changes).name  # a mistake must not cost minutes
        self._run_folder = out.with_name(f"{out.name}_{config.stem}")

    def run(self, stages: Sequence[str]) -> None:
        """Run the stages."""
        self._out.mkdir(parents=True, exist_ok=True)
        if list(stages) != list(STAGES):
            self._command += ["--only", *stages]
        for name in stages:
            if name == "train":
                self._train()
            else:
                self._measure(name)
        self._save()

    def _measure(self, name: str) -> None:
        left = self._end - time.monotonic()
        seconds = min(STAGES[name] * self._seconds, left - _GRACE)
        words = ["--stage", name, "--seconds", f"{seconds:.0f}", "--config", str(self._config)]
        command = [sys.executable, "-m", "benchmarks.gpu", *words]
        self.rows[name] = []
        with subprocess.Popen(
            [*command, *(["--tiny"] if self._tiny else [])],
            env=self._environment(name),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            killer = threading.Timer(max(seconds, 1.0) + _GRACE, process.kill)
            if not self._tiny:
                killer.start()
            for line in process.stdout or ():
                if line.startswith("{"):  # else it is a library's
                    self._add(name, json.loads(line))
            killer.cancel()
        if process.returncode:
            self._add(name, {"result": f"failed: exit status {process.returncode}"})

    def _environment(self, name: str) -> dict[str, str]:
        """Trials train on the CPU, compiled."""
        simulates = ("NUMBA_ENABLE_CUDASIM", "NUMBA_DISABLE_JIT")
        is_left_out = self._tiny and name in ("training", "labels", "train")
        return {k: v for k, v in os.environ.items() if not (is_left_out and k in simulates)}

    def _train(self) -> None:
        """Train until the time is over, and keep the run."""
        self.rows["train"] = []
        self._unpack()
        run = self._run_folder
        if RunFolder(run).config.exists():
            words = ["--resume", str(run), *(["--set", *self._changes] if self._changes else [])]
        else:
            given = _given(Sizes(self._tiny))
            words = [str(self._config), "--out", str(run), "--set", *given, *self._changes]
        command = [sys.executable, "-m", "training.train", *words]
        stop, saved = self._end - _TO_SAVE, self._saved()
        with subprocess.Popen(command, env=self._environment("train")) as process:
            while process.poll() is None and (
                self._saved() == saved if self._tiny else time.monotonic() < stop
            ):
                left = 1.0 if self._tiny else min(_EVERY, stop - time.monotonic())
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(left)
                self._keep()
            process.send_signal(signal.SIGINT)  # it saves, and stops
            try:
                process.wait(None if self._tiny else _TO_SAVE / 2)
            except subprocess.TimeoutExpired:
                process.kill()
        self._keep()
        if process.returncode > 0 and process.returncode != 128 + signal.SIGINT:
            self._add("train", {"result": f"failed: exit status {process.returncode}"})
            return
        card = run / f"{self._name}.json"
        if not card.exists():
            self._add("train", {"result": "no policy: there was no time for an update"})
            return
        found = json.loads(card.read_text(encoding="utf-8"))
        kept = ("game", "decisions", "hours", "finished")
        self._add("train", {key: found[key] for key in kept})

    def _saved(self) -> float:
        """When the last checkpoint was written."""
        path = self._run_folder / "checkpoint.safetensors"
        return path.stat().st_mtime if path.exists() else 0.0

    def _keep(self) -> None:
        """Copy the policy so far, and write the run's folder as an archive in parts."""
        for suffix in (".safetensors", ".json"):
            policy = self._run_folder / f"{self._name}{suffix}"
            if policy.exists():
                write_output(self._out / policy.name, policy.read_bytes())
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for path in sorted(self._run_folder.glob("*")):
                if path.is_file() and not path.name.startswith("."):  # without TensorBoard's folder
                    archive.add(path, path.name)
        packed = stream.getvalue()
        parts = [packed[first : first + PART] for first in range(0, len(packed), PART)]
        if len(parts) > _MOST_PARTS:
            self._add("train", {"result": f"too large for an archive: {len(packed)} bytes"})
            return
        for k, part in enumerate(parts):
            write_output(self._archive(k), part)
        for k in range(len(parts), _MOST_PARTS):
            self._archive(k).unlink(missing_ok=True)

    def _unpack(self) -> None:
        """Restore the run from an archive, where there is one and the run itself is not there."""
        parts = [self._archive(k) for k in range(_MOST_PARTS) if self._archive(k).exists()]
        if parts and not self._run_folder.exists():
            whole = io.BytesIO(b"".join(part.read_bytes() for part in parts))
            with tarfile.open(fileobj=whole) as archive:
                archive.extractall(self._run_folder, filter="data")

    def _archive(self, part: int) -> Path:
        return self._out / f"{self._config.stem}.tar.{part}"

    def _add(self, name: str, row: Row) -> None:
        """Keep a result, and show it."""
        if not self.rows[name] or row.keys() != self.rows[name][-1].keys():
            print(f"{name:<12} {' | '.join(row)}", flush=True)
        self.rows[name].append(row)
        cells = (f"{v:,}" if type(v) is int else str(v) for v in row.values())
        print(f"{name:<12} {' | '.join(cells)}", flush=True)
        self._save()

    def _save(self) -> None:
        there = [package for package in PACKAGES if find_spec(package.replace("-", "_"))]
        document = report.document(
            "gpu",
            "all",
            self._command,
            there,
            {"commit": commit_of()},
            {"gpu": gpu_name(), **self.rows},
        )
        write_json(self._out / "gpu.json", document)


def gpu_name() -> str:
    """The card and its driver, if its own tool tells."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


@running.command("benchmarks.gpu")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.gpu``."""
    parser = arguments.module_parser("benchmarks.gpu", __doc__)
    parser.add_argument("--minutes", type=float, default=8.0, help="for everything; default: 8")
    about = f"what is trained, a YAML file; default: {CONFIG}"
    parser.add_argument("--config", type=Path, default=CONFIG, help=about)
    about = "change what is trained, such as rows=bfloat16"
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help=about)
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"), help="default: runs/gpu")
    parser.add_argument("--only", nargs="+", choices=STAGES, default=list(STAGES), metavar="STAGE")
    parser.add_argument("--tiny", action="store_true", help="try the command, in Numba's simulator")
    parser.add_argument("--stage", choices=_MEASURED, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=60.0, help=argparse.SUPPRESS)
    args = arguments.parse_arguments(parser, argv)
    if args.stage:
        _run_stage(args.stage, Sizes(args.tiny), args.config, args.seconds)
        return
    if not 0 < args.minutes < float("inf"):
        raise ValueError(f"--minutes must be above 0, got {args.minutes}")
    session = Session(args.out, args.config, args.set, 60 * args.minutes, args.tiny)
    session.run(args.only)
    print(f"All results are in {args.out / 'gpu.json'}.")


if __name__ == "__main__":
    raise SystemExit(main())
