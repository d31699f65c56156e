"""Misspelt options and attributes are errors for a type checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ALL_GAMES, kit_of

ROOT = Path(__file__).parent.parent

CODE = """
from typing import Any

import numpy as np

import card_envs
from card_envs import {module}

env = {module}.env(num_players={players}, memory="none", features=False, max_steps=10)
raw = {module}.raw_env(render_mode="ansi")
{module}.env(num_plaeyrs={players})  # wrong
{module}.env(reward=3)  # wrong
agents: int = {module}.parallel_env().num_agents
env.legall_actions()  # wrong
env.unwrapped.legall_actions()  # wrong
card_envs.make("{game}", num_players="many")  # wrong
card_envs.mak("{game}")  # wrong
of_package: int = card_envs.{module}.parallel_env(num_players={players}).num_agents
card_envs.{module}.env().legall_actions()  # wrong
actions: list[int] = env.unwrapped.legal_actions()
saved: bytes = raw.save()
reward: float = env.last()[1]
fields = card_envs.load_game("{game}").fields
units: dict[str, np.ndarray[Any, np.dtype[np.uint8]]] = fields.unflatten(
    np.zeros(fields.size, np.uint8)
)
"""


@pytest.mark.slow
def test_misspelt_options_and_attributes_are_errors(tmp_path):
    game = next(game for game in ALL_GAMES if kit_of(game).is_own)
    code = CODE.format(module=game.name, game=game.id, players=game.max_players)
    path = tmp_path / "user.py"
    path.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(path)]
    command += ["--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent"]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = {int(line.split(":")[1]) for line in checked.stdout.splitlines() if ": error:" in line}
    lines = code.splitlines()
    assert found == {k for k, line in enumerate(lines, 1) if line.endswith("# wrong")}
