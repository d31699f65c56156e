"""What happens between two iterations of self-play: snapshots, evaluations, checkpoints."""

from __future__ import annotations

import time
import warnings

from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback, ProgressBarCallback
from tqdm import TqdmExperimentalWarning
from tqdm.rich import tqdm

from card_envs.agents.network import Network
from training import checkpoint
from training.checkpoint import Progress
from training.export import policy_network
from training.learner import Learner
from training.periodic_evaluation import evaluate_learner
from training.run import Run
from training.selfplay import SelfPlayGames


class ProgressBar(ProgressBarCallback):
    """SB3's progress bar, on stderr."""

    def _on_training_start(self) -> None:
        total = self.locals["total_timesteps"] - self.model.num_timesteps
        with warnings.catch_warnings(action="ignore", category=TqdmExperimentalWarning):
            self.pbar = tqdm(total=total, options={"console": Console(stderr=True)})


class SelfPlayCallback(BaseCallback):
    """Adds snapshots to the opponent pool, evaluates the policy, and writes checkpoints.

    Args:
        run: The run.
        games: Its games.
        progress: How far an earlier session of the run had come; None: this is the first.
    """

    model: Learner

    def __init__(self, run: Run, games: SelfPlayGames, progress: Progress | None = None) -> None:
        super().__init__()
        self._run = run
        self._games = games
        self.progress = progress or Progress(next_checkpoint=run.config.checkpoint_every)
        self._seconds_before = self.progress.seconds
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds of imitation and training, earlier sessions of the run included."""
        return self._seconds_before + time.monotonic() - self._begun

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        # The model is up to date here: the update of the iteration before is done.
        progress, config = self.progress, self._run.config
        if self.num_timesteps >= progress.next_evaluation:
            self.evaluate()
        if self.num_timesteps >= progress.next_checkpoint:
            progress.next_checkpoint += config.checkpoint_every
            self.save()
        if progress.iteration and progress.iteration % config.opponents.snapshot_every == 0:
            self._games.add_snapshot(self.network())
        progress.iteration += 1

    def network(self) -> Network:
        """The policy that is evaluated and exported."""
        return policy_network(self.model.best_policy, self._run.config.network.activation)

    def evaluate(self) -> None:
        """Play one learner against copies of each configured agent, at each configured size."""
        evaluation = self._run.config.evaluation
        while self.progress.next_evaluation <= self.num_timesteps:
            self.progress.next_evaluation += evaluation.every
        learner = self._run.learner(self.network())
        evaluated = evaluate_learner(self._run, learner)
        for key, value in evaluated.items():
            if not key.endswith("_ci95"):
                self.logger.record(f"evaluation/{key.replace('vs_', 'rank_vs_', 1)}", value)
        self.logger.dump(self.num_timesteps)
        entry = {"decisions": self.num_timesteps, "seconds": round(self.seconds, 1), **evaluated}
        self._run.add_progress(entry)

    def save(self) -> None:
        """Write the checkpoint from which ``--resume`` resumes."""
        self.progress.seconds = self.seconds
        checkpoint.save(self._run.checkpoint_path, self.model, self._games, self.progress)
