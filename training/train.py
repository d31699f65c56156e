"""Train a policy by self-play with PPO.

    python -m training.train configs/beaver_gang.yaml [--set KEY=VALUE …] [--out DIR]
    python -m training.train --resume DIR [--set decisions=N]

The folder DIR gets config.yaml, TensorBoard logs, progress.jsonl (the periodic evaluations), and at
each checkpoint, at the end, and when the run is interrupted (Ctrl-C, SIGTERM) the policy so far,
<name>.safetensors and <name>.json, with learning_curve.png.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from card_envs.commands import arguments, running
from training.games.selfplay import SelfPlayGames
from training.imitation import imitate
from training.ppo import PPO, device_of
from training.runs import checkpoint
from training.runs.arguments import add_run_arguments
from training.runs.config import Config
from training.runs.evaluation import evaluate_learner, plot_learning_curve
from training.runs.run import Run, run_of, use_threads

logger = logging.getLogger("card_envs")


def train(
    run: Run[Config], *, resume: bool = False, command_line: str = "", quiet: bool = False
) -> Path:
    """Train, export the policy, and return its path.

    Args:
        run: The run; its folder must be new or empty unless ``resume``.
        resume: Whether to resume from the checkpoint in the folder; a run that was interrupted
            before its first one starts over.
        command_line: The command that begins the run, or gives it another length, for the card.
        quiet: Whether to show no progress bar.

    Raises:
        ValueError: The folder is not empty or belongs to another process, its checkpoint is
            damaged or of another configuration, or the run is finished.
        KeyboardInterrupt: It was interrupted; after an update the run is kept, see above.
    """
    with run.lock():
        return _train(run, resume, command_line, quiet)


def train_or_resume(run: Run[Config], command_line: str) -> Path:
    """The run's policy: trained or resumed, unless the run is finished; ValueError if the folder
    holds another run, or a damaged one."""
    with run.lock():
        resume = run.has_begun()
        if resume and run.is_finished:
            return run.policy_path
        return _train(run, resume, command_line, quiet=True)


def _train(run: Run[Config], resume: bool, command_line: str, quiet: bool) -> Path:
    config = run.config
    device_of(config)  # a mistake must not leave a folder
    use_threads(config.threads)
    if resume:
        run.check_resumable()
    else:
        if config.rows == "fastest":
            run = Run(config.model_copy(update={"rows": fastest_rows(run)}), run.folder)
            config = run.config
        run.begin(command_line)
    learner = make_learner(run)
    is_resumed = resume and _has_checkpoint(run)
    progress = checkpoint.Progress(next_checkpoint=config.checkpoint_every)
    if is_resumed:
        progress = checkpoint.load(run.checkpoint_path, learner)
        if learner.decisions >= config.decisions and run.is_finished:
            raise ValueError(f"the run in {run.folder} is finished: {learner.decisions} decisions")
    if resume:
        run.forget_after(learner.decisions if is_resumed else -1)
        run.note_if_changed(command_line)
    session = Session(run, learner, progress, quiet)
    if not is_resumed:
        shutil.rmtree(session.logs, ignore_errors=True)
    session.run_to_the_end(is_resumed)
    return run.policy_path


def _has_checkpoint(run: Run[Config]) -> bool:
    """Whether there is a checkpoint, or should be: a run whose checkpoint was lost does not start
    over, which would cost the rest of it."""
    every = run.config.checkpoint_every
    is_due = any(entry["decisions"] >= every for entry in run.progress)
    return is_due or run.is_finished or run.checkpoint_path.exists()


def make_learner(run: Run[Config]) -> PPO:
    """The learner that a run's configuration describes, with its games; ValueError if its device is
    not available."""
    config, game = run.config, run.game
    tables = config.environment, config.opponents, run.agents, config.seed
    games = SelfPlayGames(game, *tables, config.network, config.truncation)
    return PPO(game, games, config)


def fastest_rows(run: Run[Config]) -> str:
    """The form of input rows with which this machine takes least time for an iteration."""

    def rate(rows: str) -> float:
        return decisions_a_second(Run(run.config.model_copy(update={"rows": rows}), run.folder), 1)

    return max(("sparse", "dense", "bfloat16"), key=rate)


def decisions_a_second(run: Run[Config], iterations: int) -> float:
    """How many decisions a run learns from in a second of the processor's time.

    Args:
        run: The run; nothing is written.
        iterations: How many are measured, after two that compile.
    """
    learner = make_learner(run)
    learner.begin()
    begin, first = 0.0, 0
    for iteration in range(2 + iterations):
        if iteration == 2:
            begin, first = time.process_time(), learner.decisions
        learner.collect()
        learner.update()
    return (learner.decisions - first) / (time.process_time() - begin)


class Session:
    """A run from its beginning, or from its checkpoint's progress, to its end."""

    def __init__(
        self, run: Run[Config], learner: PPO, progress: checkpoint.Progress, quiet: bool
    ) -> None:
        self._run, self._learner, self._progress = run, learner, progress
        self._seconds_before = progress.seconds
        self._begun = time.monotonic()
        self._quiet = quiet
        self._is_whole = True  # not within an iteration
        self.logs = run.folder / "tensorboard"

    @property
    def seconds(self) -> float:
        """Seconds of imitation and training, earlier sessions of the run included."""
        return self._seconds_before + time.monotonic() - self._begun

    def run_to_the_end(self, is_resumed: bool) -> None:
        """Imitate unless the run was resumed, learn, and leave the policy; when it is interrupted,
        leave the one so far."""
        run, learner, imitation = self._run, self._learner, self._run.config.imitation
        try:
            if not is_resumed:
                learner.begin()
                if imitation.decisions:
                    imitate(learner, run.agents[imitation.agent], self._quiet)
            self._learn()
        except KeyboardInterrupt:
            if self._is_whole and learner.iteration:
                self._save()
                kept = f"{run.policy_path} is the policy after {learner.decisions} decisions; "
                logger.warning("%s--resume %s goes on from there", kept, run.folder)
            elif not run.checkpoint_path.exists():
                logger.warning("there is nothing to keep: no update has been made yet")
            raise
        self._export(finished=True)

    def _learn(self) -> None:
        """Iterate until all decisions are taken, with snapshots, evaluations and checkpoints."""
        run, learner, config = self._run, self._learner, self._run.config
        every = config.opponents.snapshot_every
        columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        console = Console(stderr=True)
        with (
            SummaryWriter(str(self.logs)) as writer,
            Progress("decisions", *columns, console=console, disable=self._quiet) as bar,
        ):
            task = bar.add_task("", total=config.decisions, completed=learner.decisions)
            while learner.decisions < config.decisions:
                if learner.decisions >= self._progress.next_evaluation:
                    self._evaluate(writer)
                if learner.decisions >= self._progress.next_checkpoint:
                    self._progress.next_checkpoint += config.checkpoint_every
                    self._save()
                is_new = learner.iteration and not learner.iteration % every
                with _interrupts_later():
                    self._is_whole = False
                    if is_new:
                        learner.games.add_snapshot(learner.policy())
                    learner.collect()
                    found = learner.update()
                    self._is_whole = True
                found["time/time_elapsed"] = self.seconds
                for tag, value in found.items():
                    writer.add_scalar(tag, value, learner.decisions)
                bar.update(task, completed=learner.decisions)
            if not run.progress or run.progress[-1]["decisions"] < learner.decisions:
                self._evaluate(writer)
                self._checkpoint()

    def _evaluate(self, writer: SummaryWriter) -> None:
        """Play one learner against copies of each configured agent, at each configured size."""
        run, decisions = self._run, self._learner.decisions
        evaluated = evaluate_learner(run, run.learner(self._learner.policy()))
        for key, value in evaluated.items():
            if not key.endswith("_ci95"):
                tag = f"evaluation/{key.replace('vs_', 'rank_vs_', 1)}"
                writer.add_scalar(tag, value, decisions)
        run.add_progress({"decisions": decisions, "seconds": round(self.seconds, 1), **evaluated})
        while self._progress.next_evaluation <= decisions:
            self._progress.next_evaluation += run.config.evaluation.every

    def _save(self) -> None:
        """Write the checkpoint from which ``--resume`` resumes, and the policy so far."""
        self._checkpoint()
        self._export(finished=False)

    def _checkpoint(self) -> None:
        self._progress.seconds = self.seconds
        checkpoint.save(self._run.checkpoint_path, self._learner, self._progress)

    def _export(self, finished: bool) -> None:
        """Write the policy, its card and the learning curve."""
        run, learner, imitation = self._run, self._learner, self._run.config.imitation
        if run.progress:
            plot_learning_curve(run.progress, run.folder / "learning_curve.png", run.game.title)
        run.export(
            learner.policy(),
            learner.device.type,
            finished,
            algorithm="PPO, self-play"
            + (f", after imitation of {imitation.agent}" if imitation.decisions else ""),
            decisions=learner.decisions,
            hours=round(self.seconds / 3600, 2),
        )


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """What interrupts the process waits for the end of the block, unless it comes twice."""
    came: list[int] = []

    def wait(number: int, frame: object) -> None:
        came.append(number)
        if len(came) > 1:
            raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM)
    with running.handling(wait, [n for n in numbers if callable(signal.getsignal(n))]):
        yield
    if came:
        raise KeyboardInterrupt


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.train", description=(__doc__ or "").split("\n")[0]
    )
    add_run_arguments(parser, prefix="")
    args = arguments.parse_arguments(parser, argv)
    run, how = run_of(args, "training.train", Config)
    path = train(run, **how)
    print(f"The policy is in {path}; its learning curve is {run.folder / 'learning_curve.png'}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.train``; returns the exit status."""
    return running.run("training.train", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
