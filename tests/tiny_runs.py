"""Training runs that take a moment, and policies that need no training."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from helpers import ALL_GAMES, kit_of

from card_envs.agents.network import Network, write_policy
from card_envs.contract.game import Game, View
from training.runs.config import Config
from training.runs.keys import check, with_overrides
from training.runs.run import Run

#: The game with the smallest observation: for what is the same in all games.
SMALL = min(ALL_GAMES, key=lambda game: game.fields.size)
#: The same among this package's own with a heuristic and several table sizes.
SCRIPTED = min(
    (
        game
        for game in ALL_GAMES
        if kit_of(game).is_own and game.heuristic is not None and game.max_players > 2
    ),
    key=lambda game: game.fields.size,
)

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


def random_network(
    game: Game, hidden: tuple[int, ...] = (12,), seed: int = 0, activation: str = "relu"
) -> Network:
    """A network of random weights whose logits are sums over action features."""
    rng = np.random.default_rng(seed)
    sizes = [game.fields.size, *hidden]
    layers = [
        ((rng.normal(size=(n, m)) / np.sqrt(m)).astype(np.float32), rng.normal(size=n, scale=0.1))
        for m, n in pairwise(sizes)
    ]
    features = game.action_features
    weight = rng.normal(size=(features.shape[1], sizes[-1])) * 2 / np.sqrt(sizes[-1])
    layers.append((features @ weight, features @ rng.normal(size=features.shape[1], scale=0.1)))
    return Network([(w.astype(np.float32), b.astype(np.float32)) for w, b in layers], activation)


def policy_file(
    game: Game, path: Path, hidden: tuple[int, ...] = (12,), seed: int = 0, view: View = View()
) -> str:
    """The path of a policy file of random weights."""
    write_policy(path, random_network(game, hidden, seed), game, view)
    return str(path)
