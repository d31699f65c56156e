"""Trainings that take turns: this checkout and another one, by this one's configurations.

``python -m benchmarks.training --against DIR``; each checkout runs its own modules in a process of
its own, on one core, and they take turns, rollout by rollout.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks import report
from training.runs.config import Config
from training.runs.keys import load
from training.runs.records import commit_of

ROOT = Path(__file__).parent.parent
WORKER = Path("benchmarks") / "training_worker.py"
STAGES = ("collecting", "whole")
NEW, OLD = "this checkout", "the other one"
# No imitation, and all on one core.
OVERRIDES = ["device=cpu", "threads=1", "imitation={}"]
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


#: Makes a rollout and an update, and returns the ``decisions`` and the seconds of each stage.
Turn = Callable[[], dict[str, float]]


def compare(turns: Mapping[str, Turn], rollouts: int) -> dict[str, Any]:
    """Learner decisions a second of two trainings that take turns: medians over rollouts.

    The first turns, which compile and fill the games with snapshots, are left out.

    Args:
        turns: Those of the two, by name.
        rollouts: How many turns of each are measured.

    Returns:
        ``decisions_per_second`` by name and stage, and ``ratios`` by stage: the first's speed
        divided by the second's.
    """
    speeds: dict[str, list[dict[str, float]]] = {name: [] for name in turns}
    for k in range(1 + rollouts):
        # Who comes first takes turns, too: the second one finds another cache.
        for name, turn in list(turns.items())[:: 1 - 2 * (k % 2)]:
            told = turn()
            speeds[name].append({stage: told["decisions"] / told[stage] for stage in STAGES})
    medians = {
        name: {stage: statistics.median(speed[stage] for speed in found[1:]) for stage in STAGES}
        for name, found in speeds.items()
    }
    first, second = medians.values()
    return {
        "decisions_per_second": {
            name: {stage: round(value) for stage, value in speed.items()}
            for name, speed in medians.items()
        },
        "ratios": {stage: round(first[stage] / second[stage], 2) for stage in STAGES},
    }


class Worker:
    """A checkout's process.

    Args:
        checkout: The checkout's folder.
        config: A configuration's file.
        overrides: Changes to it, as ``KEY=VALUE``.
    """

    def __init__(self, checkout: Path, config: Path, overrides: list[str]) -> None:
        path = os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), "PYTHONPATH": path}
        # -P: the worker's own folder holds a module of the name training.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(checkout / WORKER), str(config), *overrides],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=checkout,
            env=environment,
        )
        self._checkout = checkout

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def turn(self) -> dict[str, float]:
        """Let it make one rollout and one update, and return what it tells.

        Raises:
            ValueError: It has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ValueError(f"training in {self._checkout} has failed, see above")
        told: dict[str, float] = json.loads(line)
        return told


def measure(game_id: str, decisions: int, against: Path) -> dict[str, Any]:
    """Measure both checkouts.

    Args:
        game_id: The game.
        decisions: Learner decisions of each, rounded up to whole rollouts.
        against: The other checkout's folder.

    Returns:
        The document that is written as JSON.

    Raises:
        ValueError: The folder is no checkout, or training fails in it.
    """
    if not (against / WORKER).exists():
        raise ValueError(f"--against: {against} is not a checkout of this repository")
    path = ROOT / "configs" / f"{game_id}.yaml"
    config = load(Config, path, OVERRIDES)
    size = config.environment.num_envs * config.ppo.n_steps
    rollouts = -(-decisions // size)
    commits = {NEW: commit_of(ROOT), OLD: commit_of(against)}
    with (
        Worker(ROOT, path, OVERRIDES) as new,
        Worker(against.resolve(), path, OVERRIDES) as old,
    ):
        results = compare({NEW: new.turn, OLD: old.turn}, rollouts)
    return report.document(
        "training",
        game_id,
        ["--against", "DIR", "--game", game_id, "--decisions", str(decisions)],
        ("numba", "numpy", "torch"),
        {
            "commits": commits,
            "rollouts": rollouts,
            "config": config.model_dump(
                mode="json", include={"environment", "opponents", "network", "ppo"}
            ),
        },
        results,
    )
