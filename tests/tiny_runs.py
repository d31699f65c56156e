"""Training runs that take a moment."""

from __future__ import annotations

from pathlib import Path

from card_envs.contract.game import Game
from training.runs.config import Config
from training.runs.keys import check, with_overrides
from training.runs.run import Run

# Three iterations; a snapshot, an evaluation and a checkpoint after each.
TINY = {
    "decisions": 192,
    "threads": 1,
    "checkpoint_every": 64,
    "environment": {"num_envs": 8, "options": {"reward": "score"}},
    "opponents": {"snapshot_every": 1, "pool_size": 2},
    "network": {"hidden": [16]},
    "ppo": {"n_steps": 8, "batch_size": 32, "n_epochs": 1},
    "evaluation": {"every": 64, "deals": 2},
}


def tiny_config(game: Game, *overrides: str) -> Config:
    """A configuration whose run takes a moment, with ``KEY=VALUE`` applied."""
    smallest = f"evaluation.players=[{game.min_players}]"
    data = with_overrides({"game": game.id, **TINY}, [smallest, *overrides])
    return check(Config, data, "tiny")


def tiny_run(game: Game, folder: Path, *overrides: str) -> Run[Config]:
    """A run that takes a moment; nothing is written yet."""
    return Run(tiny_config(game, *overrides), folder)
