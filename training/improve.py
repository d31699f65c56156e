"""Improve a policy by expert iteration: search finds what it could do better, and it learns that.

    python -m training.improve CONFIG.yaml [--set KEY=VALUE …] [--out DIR]
    python -m training.improve --resume DIR [--set iterations=N]

In each iteration the policy's likely actions are played out by the policy itself, at positions of
its games (labels); then it is fitted to what they turned out to be worth. The folder DIR gets
config.yaml, progress.jsonl, the labels of the last iterations, the policy of each iteration, and
the latest of them as <name>.safetensors and <name>.json.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from card_envs.agents import NetworkAgent
from card_envs.agents.network import write_policy
from card_envs.commands import arguments, running
from card_envs.utils.progress import track
from training.improvement.config import ImprovementConfig
from training.improvement.fitting import fit_policy
from training.improvement.labels import join_labels, label_positions, read_labels, write_labels
from training.runs.evaluation import evaluate_learner
from training.runs.run import Run, add_run_arguments, run_of, use_threads
from training.runs.tasks import add_arguments, check_backend, do_tasks

ImprovementRun = Run[ImprovementConfig]


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

    The folder must be new or empty unless the run is to resume: finished shards and iterations are
    not made again. ``jobs`` shards are labeled at a time, see ``do_tasks`` for ``backend``. Returns
    the path of the policy.

    Raises:
        ValueError: ``jobs``, ``backend`` or a GPU is not available, the folder is not empty,
            belongs to another process or another configuration, or a file in it is damaged.
        MissingExtraError: A GPU needs the extra ``cuda``.
    """
    if run.config.labels.device == "cuda":
        if backend != "loky":
            raise ValueError(f"labels.device: cuda is for --backend loky, got {backend!r}")
        from card_envs.engine.cuda_jit import check_gpu  # needs the extra cuda

        check_gpu()
    with run.lock():
        use_threads(run.config.threads)
        if resume:
            run.check_resumable()
            run.note_if_changed(command_line)
        else:
            check_backend(jobs, backend)  # a mistake must not leave a folder
            run.begin(command_line)
        policy_of(run, 0).parent.mkdir(exist_ok=True)
        _iterate(run, jobs, backend, quiet)
    return run.policy_path


def _iterate(run: ImprovementRun, jobs: int, backend: str, quiet: bool) -> None:
    config, fit = run.config, run.config.fit
    entries = run.progress
    if entries:
        policy: Any = NetworkAgent.from_file(policy_of(run, len(entries)), run.game, name="learner")
    else:
        first: Any = run.agents[config.agent]
        policy = run.learner(first.network.at_temperature(config.temperature))
    while len(entries) < config.iterations and not _is_done(entries, fit.window):
        iteration = len(entries) + 1
        begun = time.monotonic()
        paths = shards_of(run, iteration)
        missing = [k for k, path in enumerate(paths) if not path.exists()]
        shared = run, policy, iteration
        made = do_tasks(label_positions, missing, shared, [run.game], jobs=jobs, backend=backend)
        text = f"iteration {iteration}: labels"
        for k, labels in track(made, text, len(missing), quiet=quiet):
            write_labels(paths[missing[k]], labels)
        shards = [read_labels(path) for path in paths]
        judged = max(1, round(fit.held_out * len(shards)))
        for earlier in range(max(1, iteration - fit.window + 1), iteration):
            shards += [read_labels(path) for path in shards_of(run, earlier)]
        given, held_out = join_labels(shards[judged:]), join_labels(shards[:judged])
        seed = config.seed + iteration
        network, found = fit_policy(policy.network, run.game, given, held_out, fit, seed)
        policy = run.learner(network)
        write_policy(policy_of(run, iteration), network, run.game, run.view, config.draws)
        evaluated = evaluate_learner(run, policy)
        seconds = round(time.monotonic() - begun, 1)
        run.add_progress({"iteration": iteration, "seconds": seconds, **found, **evaluated})
        entries = run.progress
        _export(run, policy, finished=False)
        for path in shards_of(run, iteration - fit.window + 1):
            path.unlink(missing_ok=True)
    _export(run, policy, finished=True)


def policy_of(run: ImprovementRun, iteration: int) -> Path:
    """The policy after an iteration."""
    return run.folder / "policies" / f"{iteration}.safetensors"


def shards_of(run: ImprovementRun, iteration: int) -> list[Path]:
    """An iteration's files of labels, which the last ones have."""
    return [run.folder / "labels" / f"{iteration}_{k}.npz" for k in range(run.config.num_shards)]


def _is_done(entries: Sequence[dict[str, Any]], window: int) -> bool:
    """Whether nothing was gained from all labels of a window: the policy is as good as they are."""
    latest = entries[-window:]
    return len(latest) == window and all(entry["epoch"] == 0 for entry in latest)


def _export(run: ImprovementRun, policy: NetworkAgent, finished: bool) -> None:
    progress = run.progress
    run.export(
        policy.network,
        "cpu",
        finished,
        algorithm=f"expert iteration, from {run.config.agent}",
        labels=run.config.labels.count * len(progress),
        iterations=len(progress),
        hours=round(sum(entry["seconds"] for entry in progress) / 3600, 2),
    )


@running.command("training.improve")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m training.improve``."""
    parser = arguments.module_parser("training.improve", __doc__)
    add_run_arguments(parser, prefix="improve_")
    add_arguments(parser, "shards of labels")
    args = arguments.parse_arguments(parser, argv)
    run, how = run_of(args, "training.improve", ImprovementConfig)
    path = improve(run, jobs=args.jobs, backend=args.backend, **how)
    done = len(run.progress)
    if done < run.config.iterations:
        print(
            f"The run ended after iteration {done} of {run.config.iterations}: "
            f"the last {run.config.fit.window} gained nothing."
        )
    print(f"The policy is in {path}.")


if __name__ == "__main__":
    raise SystemExit(main())
