"""What happens between two iterations of self-play: snapshots, evaluations, checkpoints."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback, ProgressBarCallback
from tqdm import TqdmExperimentalWarning
from tqdm.rich import tqdm

from card_envs.agents import PolicyAgent
from card_envs.agents.network import Network
from card_envs.evaluation import deal_seeds, estimate_mean, play_one_against
from card_envs.evaluation.display import short_names
from training import checkpoint
from training.checkpoint import Progress
from training.export import policy_network
from training.learner import Learner
from training.run import Run
from training.selfplay import SelfPlayGames

# Evaluations during training are on deals of their own, the same ones every time.
_EVALUATION_SEED = 1_000_003


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
        return policy_network(self.model.best_policy, self._games.activation)

    def evaluate(self) -> None:
        """Play one learner against copies of each configured agent, at each configured size."""
        evaluation = self._run.config.evaluation
        while self.progress.next_evaluation <= self.num_timesteps:
            self.progress.next_evaluation += evaluation.every
        game, options = self._run.game, dict(self._run.options)
        del options["reward"]
        learner = PolicyAgent(self.network(), "learner", self._run.view)
        seeds = deal_seeds(_EVALUATION_SEED, evaluation.deals)
        entry: dict[str, Any] = {
            "decisions": self.num_timesteps,
            "seconds": round(self.seconds, 1),
        }
        truncated = []
        for name, short in zip(evaluation.against, short_names(evaluation.against), strict=True):
            agent = self._run.agents[name]
            tables = play_one_against(game, learner, agent, evaluation.players, seeds, options)
            played = [results for _, results in tables]
            ranks = [results.rank[..., 0].mean(axis=1) for results in played]
            rank = estimate_mean(np.mean(ranks, axis=0))
            entry[f"vs_{short}"] = rank.mean
            entry[f"vs_{short}_ci95"] = rank.interval
            truncated += [results.truncated_share for results in played]
            self.logger.record(f"evaluation/rank_vs_{short}", rank.mean)
        entry["truncated"] = float(np.mean(truncated))
        self.logger.record("evaluation/truncated", entry["truncated"])
        self.logger.dump(self.num_timesteps)
        self._run.add_progress(entry)

    def save(self) -> None:
        """Write the checkpoint from which ``--resume`` resumes."""
        self.progress.seconds = self.seconds
        checkpoint.save(self._run.checkpoint_path, self.model, self._games, self.progress)
