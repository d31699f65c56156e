"""A training run in a process of its own, which makes one rollout and update at a time.

``benchmarks.training --against DIR`` starts one for each checkout, with that checkout's modules: so
nothing is imported here but what both have. Each line that it gets is a turn; each line that it
writes says, as JSON, how long the turn took.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
from stable_baselines3.common.callbacks import BaseCallback
from training.export import policy_network
from training.learner import make_learner
from training.selfplay import make_env

from training.runs.config import load_config
from training.runs.run import Run


class StopwatchCallback(BaseCallback):
    """Seconds spent in collecting the last rollout."""

    def _on_rollout_start(self) -> None:
        self._begun = time.perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.collecting = time.perf_counter() - self._begun


def make_model(path: str, overrides: list[str]) -> Any:
    """The learner of a configuration, with a pool of snapshots that is full from the beginning."""
    config = load_config(path, overrides)
    run = Run.open(config, Path("runs"))  # nothing is written
    env = make_env(run)
    model = make_learner(run, env)
    for _ in range(config.opponents.pool_size):
        env.games.add_snapshot(policy_network(model.policy, config.network.activation))
    return model


def main() -> None:
    """Serve turns until there are no more."""
    path, *overrides = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    model = make_model(path, overrides)
    stopwatch = StopwatchCallback()
    size = model.n_steps * model.n_envs
    for _ in sys.stdin:
        begun = time.perf_counter()
        model.learn(size, callback=stopwatch, reset_num_timesteps=False)
        whole = time.perf_counter() - begun
        turn = {"decisions": size, "collecting": stopwatch.collecting, "whole": whole}
        print(json.dumps(turn), flush=True)


if __name__ == "__main__":
    main()
