"""CONTRIBUTING.md's "Adding a game" is true: the games of other packages are just what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import ALL_GAMES, MEMORY_MODES, kit_of

from card_envs.contract.options import View
from card_envs.games import folder_of

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\d+\. (.*(?:\n   .*)*)", TEXT, re.MULTILINE)
#: The files that the steps ask for: each step that is about one begins with it.
FILES = [name for step in STEPS for name in re.findall(r"^\*\*`([\w.]+)`\*\*", step)]
#: Those that the others are laid out as, for larger games.
MORE_FILES = re.search(r"laid out as the others are:(.*?)\n\n", TEXT, re.DOTALL)[1]

each_game = pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.id)


def files_of(folder):
    return {path.name for path in folder.iterdir() if path.suffix in (".py", ".md")}


def test_the_steps_are_numbered_and_name_all_files():
    numbers = re.findall(r"^(\d+)\. ", TEXT, re.MULTILINE)
    assert numbers == [str(k) for k in range(1, len(numbers) + 1)]
    assert FILES == [
        "rules.py",
        "observation.py",
        "scene.py",
        "RULES.md",
        "__init__.py",
    ]


@each_game
def test_a_game_has_the_files_that_the_steps_name(game):
    assert files_of(folder_of(game)) >= set(FILES)


def test_a_game_of_another_package_needs_no_others():
    """Neither in its package, nor in its tests, nor anywhere else."""
    others = [game for game in ALL_GAMES if not kit_of(game).is_own]
    assert others
    assert any(files_of(folder_of(game)) == set(FILES) for game in others)
    for game in others:
        assert files_of(ROOT / "tests" / "games" / game.id) >= {"kit.py", "test_rules.py"}
        for folder in ("card_envs", "training", "configs", "benchmarks"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in (".py", ".yaml", ".json") and path.parent.name != "results":
                    assert game.id not in path.read_text(encoding="utf-8") or path.name in (
                        "__init__.py",  # examples in docstrings
                        "arguments.py",
                        "game.py",
                    )


@each_game
def test_larger_games_are_laid_out_alike(game):
    if kit_of(game).is_own:
        assert files_of(folder_of(game)) >= set(re.findall(r"`(\w+\.py)`", MORE_FILES))


def test_the_codes_of_a_view_are_those_that_the_steps_say():
    memory, features = re.search(
        r"`memory` as (.*?), and `features` as (.*?)\.", TEXT, re.DOTALL
    ).groups()
    codes = dict(map(reversed, re.findall(r"(\d) for `\"(\w+)\"`", memory)))
    assert {mode: str(View(mode).codes[0]) for mode in MEMORY_MODES} == codes
    assert [str(View(features=value).codes[1]) for value in (True, False)] == features.split(" or ")


def test_the_commands_that_are_named_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:`|^)make ([\w-]+)", TEXT, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for module in re.findall(r"python -m ([\w.]+)", TEXT):
        if module.startswith(("card_envs", "training", "benchmarks")):
            assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module
    for path in re.findall(r"`((?:tests|card_envs)/[\w/]+(?:\.\w+)?)`", TEXT):
        assert (ROOT / path).exists(), path
