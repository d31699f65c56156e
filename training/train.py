"""Train a policy by self-play with MaskablePPO.

    python -m training.train configs/beaver_gang.yaml [--set KEY=VALUE …] [--out DIR]
    python -m training.train --resume DIR [--set decisions=N]

The folder DIR gets config.yaml, TensorBoard logs, progress.jsonl (the periodic evaluations),
learning_curve.png, a checkpoint, and at the end the policy: <name>.safetensors and <name>.json.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import configure

from card_envs.commands import command
from training import checkpoint
from training.arguments import add_run_arguments, run_of
from training.callback import ProgressBar, SelfPlayCallback
from training.config import load_config
from training.curve import plot_learning_curve
from training.device_loops import device_of, has_games_on_device
from training.device_selfplay import make_device_env
from training.export import export_policy
from training.imitation import imitate
from training.learner import Learner, make_learner, use_threads
from training.run import Run
from training.selfplay import make_env


def train(run: Run, *, resume: bool = False, command_line: str = "", quiet: bool = False) -> Path:
    """Train, and export the policy.

    Args:
        run: The run; its folder must be new or empty unless ``resume``.
        resume: Whether to resume from the checkpoint in the folder; a run that was interrupted
            before its first one starts over.
        command_line: The command that begins the run, or gives it more decisions, for the policy's
            card.
        quiet: Whether to show no progress bar.

    Returns:
        The path of the policy.

    Raises:
        ValueError: The folder is not empty or belongs to another process, its checkpoint is
            damaged or of another configuration, or the run is finished.
    """
    with run.lock():
        return _train(run, resume, command_line, quiet)


def _train(run: Run, resume: bool, command_line: str, quiet: bool) -> Path:
    config = run.config
    device_of(config)  # a mistake must not leave a folder
    use_threads(config.threads)
    if resume:
        run.check_resumable()
    else:
        run.begin(command_line)
    on_device = has_games_on_device(config)
    env = make_device_env(run) if on_device else make_env(run)
    model = make_learner(run, env)
    is_resumed = resume and _has_checkpoint(run)
    if not is_resumed:
        shutil.rmtree(run.folder / "tensorboard", ignore_errors=True)
    model.set_logger(configure(str(run.folder / "tensorboard"), ["tensorboard"]))
    progress = None
    if is_resumed:
        progress = checkpoint.load(run.checkpoint_path, model, env.games, config.network.activation)
        if model.num_timesteps >= config.decisions and run.is_finished:
            raise ValueError(
                f"the run in {run.folder} is finished: {model.num_timesteps} decisions"
            )
    if resume:
        run.resume(command_line, model.num_timesteps if is_resumed else -1)
    callback = SelfPlayCallback(run, env.games, progress)
    callback.init_callback(model)
    if not is_resumed and config.imitation.decisions:
        # The imitated agent may be one that plays on the CPU alone.
        taught = make_env(run) if on_device else env
        taught.seed(config.seed)
        imitate(model, taught, run.agents[config.imitation.agent], config.imitation, quiet)
    if model.num_timesteps < config.decisions:
        model.learn(
            config.decisions - model.num_timesteps,
            callback=[callback] if quiet else [callback, ProgressBar()],
            reset_num_timesteps=not is_resumed,
        )
    if not run.progress or run.progress[-1]["decisions"] < model.num_timesteps:
        callback.evaluate()
        callback.save()
    plot_learning_curve(run.progress, run.folder / "learning_curve.png", run.game.title)
    export_policy(callback.network(), run, _card(run, model, callback.seconds))
    return run.policy_path


def _has_checkpoint(run: Run) -> bool:
    """Whether there is a checkpoint, or should be: a run whose checkpoint was lost does not start
    over, which would cost the rest of it."""
    every = run.config.checkpoint_every
    is_due = any(entry["decisions"] >= every for entry in run.progress)
    return is_due or run.is_finished or run.checkpoint_path.exists()


def train_or_resume(run: Run, command_line: str) -> Path:
    """The run's policy: trained or resumed, unless the run is finished.

    Args:
        run: The run.
        command_line: As for :func:`train`.

    Raises:
        ValueError: The folder holds another run, or a damaged one.
    """
    with run.lock():
        resume = run.has_begun()
        if resume and run.is_finished:
            return run.policy_path
        return _train(run, resume, command_line, quiet=True)


def _card(run: Run, model: Learner, seconds: float) -> dict[str, Any]:
    imitation = run.config.imitation
    packages = ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib")
    return run.card(
        packages,
        model.device.type,
        algorithm="MaskablePPO, self-play"
        + (f", after imitation of {imitation.agent}" if imitation.decisions else ""),
        decisions=model.num_timesteps,
        hours=round(seconds / 3600, 2),
    )


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.train", description=(__doc__ or "").split("\n")[0]
    )
    add_run_arguments(parser, "configs", "runs/<config's name>")
    args = command.parse_arguments(parser, argv)
    run, how = run_of(
        args,
        "training.train",
        lambda path, changes: Run.open(
            load_config(path, changes), args.out or Path("runs") / Path(path).stem
        ),
        Run.reopen,
        "configs/quickstart.yaml",
    )
    path = train(run, **how)
    print(f"The policy is in {path}; its learning curve is {run.folder / 'learning_curve.png'}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.train``; returns the exit status."""
    return command.run("training.train", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
