"""The README's examples run as they stand, and its tables of games and extras are the code's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from helpers import EACH_GAME, kit_of, needs_training

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            example,
            id=str(k),
            marks=[needs_training] * ("sb3" in example)
            + [pytest.mark.slow] * ('"search:' in example),
        )
        for k, example in enumerate(EXAMPLES)
    ],
)
def test_example_runs(example):
    assert len(example.strip().splitlines()) <= 16
    exec(compile(example, "README.md", "exec"), {})


@pytest.mark.parametrize("game", [p for p in EACH_GAME if kit_of(p.values[0]).is_own])
def test_table_of_games(game):
    players = f"{game.min_players}–{game.max_players} players"
    link = f"| [{game.title}](card_envs/games/{game.id}/GUIDE.md) `{game.id}`, {players} |"
    assert README.count(link) == 1


def test_table_of_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    table = install.partition("| extra | adds |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(
        project["optional-dependencies"]
    )


def test_it_is_short_and_shows_a_picture_and_the_commands():
    assert len(README.splitlines()) <= 130
    pictures = re.findall(r"!\[[^\]]+\]\((?!https:)([^)]+)\)", README)
    assert len(pictures) == 1
    assert (ROOT / pictures[0]).is_file()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^make ([\w-]+)", README, re.MULTILINE)
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in commands)
