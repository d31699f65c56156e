"""Train a policy by self-play with PPO.

    python -m training.train configs/beaver_gang.yaml [--set KEY=VALUE …] [--out DIR]
    python -m training.train --resume DIR [--set decisions=N]

The folder DIR gets config.yaml, TensorBoard logs, progress.jsonl (the periodic evaluations), and at
each checkpoint, at the end, and when the run is interrupted (Ctrl-C, SIGTERM) the policy so far,
<name>.safetensors and <name>.json, with learning_curve.png.
"""

from __future__ import annotations

import logging
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from card_envs.agents import NetworkAgent
from card_envs.commands import arguments, running
from training.games.device import DeviceGames, OnCpu, OnGpu
from training.games.host import HostGames
from training.imitation import imitate
from training.ppo import PPO, device_of
from training.runs import checkpoint
from training.runs.config import Config
from training.runs.evaluation import evaluate_learner, plot_learning_curve
from training.runs.run import Run, add_run_arguments, run_of, use_threads

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
        run = _with_chosen_rows(run)
        use_threads(run.config.threads)
        resume = run.has_begun()
        if resume and run.is_finished:
            return run.policy_path
        return _train(run, resume, command_line, quiet=True)


def _train(run: Run[Config], resume: bool, command_line: str, quiet: bool) -> Path:
    # A mistake must not leave a folder.
    is_on_gpu = _plays_on_device(run) and device_of(run.config).type == "cuda"
    run.config.check_memory(with_rollout=not is_on_gpu)
    use_threads(run.config.threads)
    if resume:
        run.check_resumable()
    else:
        run.check_unused()
        run = _with_chosen_rows(run)
        run.begin(command_line)
    learner = make_learner(run)
    progress = checkpoint.Progress(next_checkpoint=run.config.checkpoint_every)
    # A run whose checkpoint was lost does not start over, which would cost the rest of it: there is
    # a policy from the first checkpoint on.
    is_resumed = resume and (run.policy_path.exists() or run.checkpoint_path.exists())
    if is_resumed:
        progress = checkpoint.load(run.checkpoint_path, learner)
        if learner.decisions >= run.config.decisions and run.was_finished:
            raise ValueError(
                f"the run in {run.folder} is finished: {learner.decisions} decisions; with "
                "--set decisions=N and a greater N it trains for longer"
            )
    if resume:
        # Made again: an evaluation that is still due, and those of later policies.
        kept = min(learner.decisions, progress.next_evaluation - 1)
        run.forget_after(kept if is_resumed else -1)
        run.note_if_changed(command_line)
    Session(run, learner, progress, quiet).run_to_the_end(is_resumed)
    return run.policy_path


def _with(run: Run[Config], **changes: Any) -> Run[Config]:
    return Run(run.config.model_copy(update=changes), run.folder)


def _with_chosen_rows(run: Run[Config]) -> Run[Config]:
    """The run with the fastest rows, if that is what it asks for: as noted in its folder if it has
    begun, measured if not."""
    if run.config.rows != "fastest":
        return run
    if (rows := run.noted("rows", "fastest")) != "fastest":
        return _with(run, rows=rows)
    of_rows = [_with(run, rows=each) for each in ("sparse", "dense", "bfloat16")]
    return max(of_rows, key=lambda each: decisions_a_second(each, 1, time.perf_counter))


def make_learner(run: Run[Config]) -> PPO:
    """The learner that a run's configuration describes, with its games; ValueError if its device is
    not available."""
    config, network = run.config, run.config.network
    who = run.game, config.environment, config.opponents, run.agents, config.seed
    how: dict[str, Any] = {"critic": network.critic, "truncation": config.truncation}
    if _plays_on_device(run):
        place = OnGpu() if device_of(config).type == "cuda" else OnCpu()
        return PPO(DeviceGames(place, *who, **how), config)
    return PPO(HostGames(*who, **how, with_playout=network.critic_playout), config)


def _plays_on_device(run: Run[Config]) -> bool:
    """Whether games are played where the networks are; ValueError if that is asked for and cannot
    be, or if the device is not available."""
    config, is_gpu = run.config, device_of(run.config).type == "cuda"
    refused = _why_not_on_a_device(run)
    if is_gpu and not find_spec("numba_cuda"):
        refused = "the extra cuda is not installed"
    if config.rollouts == "device" and refused:
        raise ValueError(f"rollouts: these games cannot be played on a device: {refused}")
    return config.rollouts == "device" or (config.rollouts == "auto" and is_gpu and not refused)


def _why_not_on_a_device(run: Run[Config]) -> str:
    """Why games cannot be played there; empty: they can."""
    network, imitation = run.config.network, run.config.imitation
    if imitation.decisions and not imitation.copy_weights:
        return "imitation without copy_weights asks an agent"
    if network.critic_playout:
        return "network.critic_playout is computed by the CPU"
    if network.critic != "observation" and run.game.write_state is None:
        return f"{run.game.id} does not write its full state, which the critic sees"
    for name in run.config.opponents.agents:
        agent = run.agents[name]
        if not isinstance(agent, NetworkAgent) and agent.kernel is None:
            return f"{name} is neither scripted nor a network"
        if isinstance(agent, NetworkAgent) and agent.view != run.view:
            return f"{name} observes in another view than the learner"
    return ""


def decisions_a_second(
    run: Run[Config], iterations: int, clock: Callable[[], float] = time.process_time
) -> float:
    """How many decisions a run learns from in a second, by default of the processor's time.

    Args:
        run: The run; nothing is written.
        iterations: How many are measured, after two that compile.
        clock: What the seconds are read from.
    """
    use_threads(run.config.threads)
    learner = make_learner(run)
    learner.begin()
    begin, first = 0.0, 0
    for iteration in range(2 + iterations):
        if iteration == 2:
            begin, first = clock(), learner.decisions
        learner.iterate()
    return (learner.decisions - first) / (clock() - begin)


def lasting(run: Run[Config], cpu_minutes: float) -> Run[Config]:
    """The run with as many decisions as take this long on one core: as noted in its folder if it
    has begun, measured if not."""
    run, decisions = _with_chosen_rows(run), run.noted("decisions", 0)
    if not decisions:
        decisions = max(1, round(decisions_a_second(run, 6) * 60 * cpu_minutes))
    return _with(run, decisions=decisions)


class Session:
    """A run from its beginning, or from its checkpoint's progress, to its end."""

    def __init__(
        self, run: Run[Config], learner: PPO, progress: checkpoint.Progress, quiet: bool
    ) -> None:
        self._run, self._learner, self._progress, self._quiet = run, learner, progress, quiet
        self._begun = time.monotonic() - progress.seconds  # as if it had never been interrupted
        self._is_whole = True  # not within what :meth:`_as_a_whole` holds together

    @property
    def seconds(self) -> float:
        """Seconds of imitation and training, earlier sessions of the run included."""
        return time.monotonic() - self._begun

    def run_to_the_end(self, is_resumed: bool) -> None:
        """Imitate unless the run was resumed, learn, and leave the policy; when it is interrupted,
        leave the one so far."""
        run, learner, imitation = self._run, self._learner, self._run.config.imitation
        logs = run.folder / "tensorboard"
        try:
            if not is_resumed:
                shutil.rmtree(logs, ignore_errors=True)
                learner.begin()
                if imitation.decisions:
                    imitate(learner, run.agents[imitation.agent], self._quiet)
            # What was logged after the checkpoint is dropped.
            with SummaryWriter(str(logs), purge_step=learner.decisions + 1) as writer:
                self._learn(writer)
        except KeyboardInterrupt:
            if self._is_whole and learner.iteration:
                self._save()
                kept = f"{run.policy_path} is the policy after {learner.decisions} decisions; "
                logger.warning("%s--resume %s resumes from there", kept, run.folder)
            elif not learner.iteration:
                logger.warning("there is nothing to keep: no update has been made yet")
            raise
        self._export(finished=True)

    def _learn(self, writer: SummaryWriter) -> None:
        """Iterate until all decisions are taken, with snapshots, evaluations and checkpoints."""
        run, learner, config = self._run, self._learner, self._run.config
        columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        console = Console(stderr=True)
        with Progress("decisions", *columns, console=console, disable=self._quiet) as bar:
            task = bar.add_task("", total=config.decisions, completed=learner.decisions)
            while learner.decisions < config.decisions:
                if learner.decisions >= self._progress.next_evaluation:
                    self._evaluate(writer)
                if learner.decisions >= self._progress.next_checkpoint:
                    self._save()
                with self._as_a_whole():
                    found = learner.iterate()
                for tag, value in (*found.items(), ("time/time_elapsed", self.seconds)):
                    writer.add_scalar(tag, value, learner.decisions)
                total = max(config.decisions, learner.decisions)  # of whole iterations
                bar.update(task, completed=learner.decisions, total=total)
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
        entry = {"decisions": decisions, "seconds": round(self.seconds, 1), **evaluated}
        with self._as_a_whole():
            run.add_progress(entry)
            while self._progress.next_evaluation <= decisions:
                self._progress.next_evaluation += run.config.evaluation.every

    def _save(self) -> None:
        """Write the checkpoint from which ``--resume`` resumes, and the policy so far."""
        while self._progress.next_checkpoint <= self._learner.decisions:
            self._progress.next_checkpoint += self._run.config.checkpoint_every
        self._checkpoint()
        self._export(finished=False)

    def _checkpoint(self) -> None:
        self._progress.seconds = self.seconds
        with self._as_a_whole():  # the rollout is made ready for it
            checkpoint.save(self._run.checkpoint_path, self._learner, self._progress)

    @contextmanager
    def _as_a_whole(self) -> Iterator[None]:
        """What interrupts the process waits for the end of the block, unless it comes twice: what
        is within is then half done, and cannot be kept."""
        came: list[int] = []

        def wait(number: int, frame: object) -> None:
            came.append(number)
            if len(came) > 1:
                raise KeyboardInterrupt

        handled = [n for n in running.STOPPING if callable(signal.getsignal(n))]
        with running.handling(wait, handled):
            self._is_whole = False
            yield
            self._is_whole = True
        if came:
            raise KeyboardInterrupt

    def _export(self, finished: bool) -> None:
        """Write the policy, its card and the learning curve."""
        run, learner, imitation = self._run, self._learner, self._run.config.imitation
        if run.progress:
            plot_learning_curve(run.progress, run.folder / "learning_curve.png", run.game.title)
        if not imitation.decisions:
            after = ""
        elif imitation.copy_weights:
            after = f", from the weights of {imitation.agent}"
        else:
            after = f", after imitation of {imitation.agent}"
        share = run.config.opponents.own
        how = "self-play" if share == 1 else f"self-play in {share:.0%} of the games"
        how = how if share else "against other agents"
        run.export(
            learner.policy(),
            learner.device.type,
            finished,
            algorithm=f"PPO, {how}{after}",
            decisions=learner.decisions,
            hours=round(self.seconds / 3600, 2),
        )


@running.command("training.train")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m training.train``."""
    parser = arguments.module_parser("training.train", __doc__)
    add_run_arguments(parser, prefix="")
    run, how = run_of(arguments.parse_arguments(parser, argv), "training.train", Config)
    path = train(run, **how)
    print(f"The policy is in {path}; its learning curve is {run.folder / 'learning_curve.png'}.")


if __name__ == "__main__":
    raise SystemExit(main())
