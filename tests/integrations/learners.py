"""A learner of ``benchmarks.algorithms`` in its tool's environment, for a moment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from helpers import ALL_GAMES

from card_envs.agents import NetworkAgent, make_agent

ROOT = Path(__file__).parents[2]


def check_learner(name: str, out: Path) -> None:
    """It leaves a policy of the size that all have, and says of how many decisions."""
    game = ALL_GAMES[0]
    words = ["--game", game.id, "--players", str(game.default_players), "--seed", "1"]
    words += ["--cpu-minutes", "0.03", "--out", str(out)]
    command = [sys.executable, "-m", f"benchmarks.learners.{name}", *words]
    subprocess.run(command, cwd=ROOT, check=True)
    assert json.loads((out / "learned.json").read_text())["decisions"] > 1000
    agent = make_agent(str(out / "policy.safetensors"), game)
    assert isinstance(agent, NetworkAgent)
    shapes = [weight.shape for weight, _ in agent.network.layers]
    assert shapes == [(128, game.fields.size), (128, 128), (game.num_actions, 128)]
    assert all(np.isfinite(weight).all() for weight, _ in agent.network.layers)
