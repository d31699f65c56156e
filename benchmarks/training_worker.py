"""A training run in a process of its own, which makes one rollout and update at a time.

``benchmarks.training --against DIR`` starts one for each checkout: that checkout's own worker, with
its modules. Each line that it gets is a turn; each line that it writes says, as JSON, how many
decisions the turn took, and how long.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch

from training.ppo import PPO
from training.runs.config import Config
from training.runs.keys import load
from training.runs.run import Run
from training.train import make_learner


def learner_of(config: Config) -> PPO:
    """The learner of a configuration, with a pool of snapshots that is full from the beginning."""
    learner = make_learner(Run(config, Path("runs")))  # nothing is written
    learner.begin()
    for _ in range(config.opponents.pool_size):
        learner.games.add_snapshot(learner.policy())
    return learner


def take_turn(learner: PPO) -> dict[str, float]:
    """One rollout and one update: ``decisions``, and the seconds of ``collecting`` and in all."""
    before, begun = learner.decisions, time.perf_counter()
    learner.collect()
    collecting = time.perf_counter() - begun
    learner.update()
    whole = time.perf_counter() - begun
    return {"decisions": learner.decisions - before, "collecting": collecting, "whole": whole}


def main() -> None:
    """Serve turns until there are no more."""
    path, *overrides = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    learner = learner_of(load(Config, path, overrides))
    for _ in sys.stdin:
        print(json.dumps(take_turn(learner)), flush=True)


if __name__ == "__main__":
    main()
