"""Improve a policy by expert iteration: search finds what it could do better, and it learns that.

    python -m training.improve configs/improve/franks_zoo.yaml [--set KEY=VALUE …] [--out DIR]
    python -m training.improve --resume DIR [--set iterations=N]

In each iteration the policy's likely actions are played out by the policy itself, at positions of
its games (labels); then it is fitted to what they turned out to be worth. The folder DIR gets
config.yaml, progress.jsonl, the labels of the last iterations, the policy of each iteration, and at
the end <name>.safetensors and <name>.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from card_envs.agents import NetworkAgent
from card_envs.agents.network import write_policy
from card_envs.commands import arguments, running
from card_envs.utils.progress import track
from training.improvement.config import ImprovementConfig, load_improvement_config
from training.improvement.fitting import fit_policy
from training.improvement.labels import (
    Labels,
    join_labels,
    label_positions,
    read_labels,
    write_labels,
)
from training.runs.arguments import add_run_arguments, run_of
from training.runs.evaluation import evaluate_learner
from training.runs.run_folder import RunFolder, load_resumed, use_threads
from training.runs.tasks import add_arguments, check_backend, do_tasks


@dataclass(frozen=True)
class ImprovementRun(RunFolder[ImprovementConfig]):
    """A run of expert iteration."""

    LENGTH = "iterations"

    @classmethod
    def open(cls, config: ImprovementConfig, folder: Path) -> ImprovementRun:
        """Resolve a configuration; nothing is written.

        Args:
            config: The configuration.
            folder: The run's folder.

        Raises:
            ValueError: There is no such agent, or the first one is no policy of this view.
        """
        run = cls._resolve(config, folder, [config.agent])
        policy = run.agents[config.agent]
        if not isinstance(policy, NetworkAgent):
            raise ValueError(f"agent: {config.agent!r} is not a policy")
        if len(policy.network.layers) < 2:
            raise ValueError(f"agent: {config.agent!r} has no hidden layer, it needs at least one")
        if policy.view != run.view:
            raise ValueError(
                f"agent: {config.agent!r} observes with {policy.view}, environment.options say "
                f"{run.view}"
            )
        return run

    @classmethod
    def reopen(cls, folder: Path, overrides: Sequence[str] = ()) -> ImprovementRun:
        """The run in a folder, perhaps with more iterations.

        Args:
            folder: The folder.
            overrides: ``iterations=N`` or nothing.

        Raises:
            ValueError: The folder holds no run, something other than more iterations is asked for,
                or as for :meth:`open`.
        """
        config = load_resumed(load_improvement_config, folder, overrides, cls.LENGTH)
        return cls.open(config, folder)

    @property
    def shards(self) -> Path:
        """The folder of the last iterations' labels."""
        return self.folder / "labels"

    def policy_of(self, iteration: int) -> Path:
        """The policy after an iteration."""
        return self.folder / "policies" / f"{iteration}.safetensors"


def improve(
    run: ImprovementRun,
    *,
    jobs: int = 1,
    backend: str = "loky",
    resume: bool = False,
    command_line: str = "",
    quiet: bool = False,
) -> Path:
    """Iterate, and export the policy.

    Args:
        run: The run; its folder must be new or empty unless ``resume``.
        jobs: Shards that are labeled at a time; -1: as many as there are cores.
        backend: Where: ``"loky"`` (this machine) or ``"ray"`` (a cluster), see ``do_tasks``.
        resume: Whether to resume: finished shards and iterations are not made again.
        command_line: For the policy's card.
        quiet: Whether to show no progress bar.

    Returns:
        The path of the policy.

    Raises:
        ValueError: ``jobs`` or ``backend`` cannot be had, the folder is not empty, belongs to
            another process or another configuration, or a file in it is damaged.
    """
    with run.lock():
        use_threads(run.config.threads)
        if resume:
            run.check_resumable()
            run.note_if_changed(command_line)
        else:
            check_backend(jobs, backend)  # a mistake must not leave a folder
            run.begin(command_line)
        run.shards.mkdir(exist_ok=True)
        run.policy_of(0).parent.mkdir(exist_ok=True)
        _iterate(run, jobs, backend, quiet)
    return run.policy_path


def _iterate(run: ImprovementRun, jobs: int, backend: str, quiet: bool) -> None:
    config = run.config
    entries = run.progress
    if entries:
        policy: Any = NetworkAgent.from_file(run.policy_of(len(entries)), run.game, name="learner")
    else:
        first: Any = run.agents[config.agent]
        policy = run.learner(first.network.at_temperature(config.temperature))
    while len(entries) < config.iterations and not _is_done(entries, config.fit.window):
        iteration = len(entries) + 1
        begun = time.monotonic()
        _make_shards(run, policy, iteration, jobs, backend, quiet)
        shards = [read_labels(path) for path in _paths(run, iteration)]
        judged = max(1, round(config.fit.held_out * len(shards)))
        for earlier in range(max(1, iteration - config.fit.window + 1), iteration):
            shards += [read_labels(path) for path in _paths(run, earlier)]
        network, found = fit_policy(
            policy.network,
            run.game,
            join_labels(shards[judged:]),
            join_labels(shards[:judged]),
            config.fit,
            config.seed + iteration,
        )
        policy = run.learner(network)
        write_policy(run.policy_of(iteration), network, run.game, run.view, config.draws)
        evaluated = evaluate_learner(run, policy)
        seconds = round(time.monotonic() - begun, 1)
        run.add_progress({"iteration": iteration, "seconds": seconds, **found, **evaluated})
        entries = run.progress
        for path in _paths(run, iteration - config.fit.window + 1):
            path.unlink(missing_ok=True)
    run.export(policy.network, _card(run))


def _is_done(entries: Sequence[dict[str, Any]], window: int) -> bool:
    """Whether nothing was gained from all labels of a window: the policy is as good as they are."""
    latest = entries[-window:]
    return len(latest) == window and all(entry["epoch"] == 0 for entry in latest)


def _paths(run: ImprovementRun, iteration: int) -> list[Path]:
    return [run.shards / f"{iteration}_{k}.npz" for k in range(run.config.num_shards)]


def _make_shards(
    run: ImprovementRun, policy: NetworkAgent, iteration: int, jobs: int, backend: str, quiet: bool
) -> None:
    missing = [k for k, path in enumerate(_paths(run, iteration)) if not path.exists()]
    made = do_tasks(
        _label_shard, missing, (run, policy, iteration), run.game, jobs=jobs, backend=backend
    )
    text = f"iteration {iteration}: labels"
    for k, labels in track(made, text, len(missing), quiet=quiet):
        write_labels(_paths(run, iteration)[missing[k]], labels)


def _label_shard(shard: int, run: ImprovementRun, policy: NetworkAgent, iteration: int) -> Labels:
    """What a worker does."""
    return label_positions(run, policy, iteration, shard)


def _card(run: ImprovementRun) -> dict[str, Any]:
    config, progress = run.config, run.progress
    return run.card(
        ("numpy", "numba", "torch"),
        "cpu",
        algorithm=f"expert iteration, from {config.agent}",
        labels=config.num_shards * config.labels.shard * len(progress),
        iterations=len(progress),
        hours=round(sum(entry["seconds"] for entry in progress) / 3600, 2),
    )


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.improve", description=(__doc__ or "").split("\n")[0]
    )
    add_run_arguments(parser, "configs/improve", "runs/improve_<config's name>")
    add_arguments(parser, "shards of labels")
    args = arguments.parse_arguments(parser, argv)
    run, how = run_of(
        args,
        "training.improve",
        lambda path, changes: ImprovementRun.open(
            load_improvement_config(path, changes),
            args.out or Path("runs") / f"improve_{Path(path).stem}",
        ),
        ImprovementRun.reopen,
        "configs/improve/franks_zoo.yaml",
    )
    path = improve(run, jobs=args.jobs, backend=args.backend, **how)
    done = len(run.progress)
    if done < run.config.iterations:
        print(
            f"The run ended after iteration {done} of {run.config.iterations}: "
            f"the last {run.config.fit.window} gained nothing."
        )
    print(f"The policy is in {path}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.improve``; returns the exit status."""
    return running.run("training.improve", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
