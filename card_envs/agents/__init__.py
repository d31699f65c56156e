"""Agents by name: ``random``, ``heuristic``, shipped policies such as ``ppo``, policy files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.network import NetworkAgent
from card_envs.agents.scripted import HeuristicAgent, RandomAgent
from card_envs.engine.arena import BatchAgent
from card_envs.engine.game import Game

__all__ = [
    "Agent",
    "HeuristicAgent",
    "NetworkAgent",
    "RandomAgent",
    "make_agent",
    "policy_path",
    "shipped_policies",
]

_POLICIES = Path(__file__).parent.parent / "policies"


class Agent(BatchAgent, Protocol):
    """Whoever can move for the player to move, in a batch or in a single game."""

    def choose(self, states: NDArray[np.void], i: int) -> int:
        """A legal action of the player to move in ``states[i]``."""


def shipped_policies(game: Game) -> list[str]:
    """The names of the policies that come with the package for this game."""
    return sorted(path.stem for path in (_POLICIES / game.id).glob("*.safetensors"))


def policy_path(name: str, game: Game) -> Path | None:
    """The file of the shipped policy of that name, or the file of that path; None: neither."""
    if name in shipped_policies(game):
        return _POLICIES / game.id / f"{name}.safetensors"
    return Path(name) if os.path.isfile(name) else None  # Path's own raises for too long names


def make_agent(name: str, game: Game, *, seed: int = 0) -> Agent:
    """The agent of that name for a game.

    Args:
        name: ``random``, ``heuristic``, a shipped policy (``ppo``), or the path of a policy file.
        game: The game that it is to play.
        seed: For agents that choose at random.

    Raises:
        ValueError: There is no such agent, or the policy file is damaged or for another game.
    """
    if name == "random":
        return RandomAgent(game, seed)
    if name == "heuristic":
        return HeuristicAgent(game)
    path = policy_path(name, game)
    if path is not None:
        return NetworkAgent(path, game, name=name)
    known = ["random", "heuristic", *shipped_policies(game)]
    raise ValueError(
        f"there is no agent {name!r} for {game.id}; "
        f"there are {', '.join(known)}, or the path of a policy file"
    )
