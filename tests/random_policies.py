"""Networks and policy files of random weights, which need no training."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from card_envs.agents.network import Network, write_policy
from card_envs.contract.game import Game
from card_envs.contract.options import View


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
