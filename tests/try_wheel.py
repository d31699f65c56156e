"""Try an installed wheel as a new user would, outside the repository: ``make test-wheel``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_BYTES = 12_000_000

CODE = """
import sys
from pathlib import Path
import gymnasium
import card_envs
assert Path(card_envs.__file__).is_relative_to(sys.prefix), card_envs.__file__
for game_id in card_envs.GAMES:
    env = card_envs.make(game_id)
    env.reset(seed=1)
    env.load(env.save())
    game = card_envs.load_game(game_id)
    envs = gymnasium.make_vec(game.gymnasium_id, num_envs=4, opponents="ppo")
    _, infos = envs.reset(seed=1)
    for _ in range(20):
        _, _, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
    words = card_envs.make_text(game_id)
    words.reset(seed=1)
    assert len(words.get_observation()[1]) > 4000, "the rules are not there"
    print(game_id, "is there")
"""

POOL = """
import card_envs
from card_envs.agents import make_agent
from card_envs.evaluation.protocol import Protocol
for name, pool in Protocol.load().pools.items():
    for member in pool.members:
        make_agent(member, card_envs.load_game(name))
"""


def run(folder: str, *command: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def main() -> None:
    (wheel,) = (Path(__file__).parent.parent / "dist").glob("card_envs-*.whl")
    assert wheel.stat().st_size < MOST_BYTES, f"{wheel.name} has {wheel.stat().st_size} bytes"
    with zipfile.ZipFile(wheel) as files:
        assert "card_envs/web/static/index.html" in files.namelist()
    program = str(Path(sys.executable).with_name("card-envs"))
    with tempfile.TemporaryDirectory() as folder:
        games = run(folder, sys.executable, "-c", CODE).split()[::3]
        assert run(folder, program, "list").count("\n") == len(games) + 1
        table = ["--agents", "ppo", "random", "random", "--deals", "10", "--json", "result.json"]
        print(run(folder, program, "evaluate", games[0], *table))
        result = json.loads((Path(folder) / "result.json").read_text(encoding="utf-8"))
        assert result["agents"][0]["rank"] > 0.0
        run(folder, sys.executable, "-c", POOL)
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MB, {len(games)} games")


if __name__ == "__main__":
    main()
