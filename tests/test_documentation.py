"""The rules of every game: their tables are the code's, and every rule has a test."""

from __future__ import annotations

import ast
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from card_envs.docs import action_table, rules_file, with_tables
from card_envs.games import GAMES, load_game

ROOT = Path(__file__).parent.parent
TESTS = Path(__file__).parent


def rules_of(game_id):
    """The rule numbers of a game's RULES.md, in their order there."""
    text = rules_file(game_id).read_text(encoding="utf-8")
    return re.findall(r"^\*\*([A-Z]+-\d+)\b.*?\*\*", text, re.MULTILINE)


def marked_rules():
    """Every rule that a test names in its mark, with the tests that do."""
    marks = {}
    for path in TESTS.glob("test_*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
                continue
            for decorator in function.decorator_list:
                if (
                    isinstance(decorator, ast.Call)
                    and ast.unparse(decorator.func) == "pytest.mark.rule"
                ):
                    for argument in decorator.args:
                        marks.setdefault(ast.literal_eval(argument), []).append(function.name)
    return marks


@pytest.mark.parametrize("game_id", GAMES)
def test_the_tables_are_the_codes(game_id):
    """After a change of the code: ``python -m card_envs.docs``."""
    text = rules_file(game_id).read_text(encoding="utf-8")
    game = load_game(game_id)
    assert with_tables(text, game) == text
    assert game.fields.table() in text
    assert action_table(game) in text


@pytest.mark.parametrize("game_id", GAMES)
def test_the_action_table_covers_every_action_once(game_id):
    game = load_game(game_id)
    covered = Counter()
    for first, last in re.findall(r"^\| (\d+)(?:\.\.(\d+))? \|", action_table(game), re.MULTILINE):
        covered.update(range(int(first), int(last or first) + 1))
    assert covered == Counter(range(game.num_actions))


@pytest.mark.parametrize("game_id", GAMES)
def test_rules_are_numbered_through(game_id):
    numbers = rules_of(game_id)
    prefix = numbers[0].split("-")[0]
    assert numbers == [f"{prefix}-{k}" for k in range(1, len(numbers) + 1)]


@pytest.mark.parametrize("game_id", GAMES)
def test_every_rule_has_a_test(game_id):
    assert set(rules_of(game_id)) - set(marked_rules()) == set()


def test_every_marked_rule_exists():
    known = [rule for game_id in GAMES for rule in rules_of(game_id)]
    assert len(set(known)) == len(known)
    assert set(marked_rules()) - set(known) == set()


def test_every_folder_of_a_game_is_in_the_list():
    folders = {path.parent.name for path in (ROOT / "card_envs" / "games").glob("*/__init__.py")}
    assert folders == set(GAMES)


@pytest.mark.parametrize("game_id", GAMES)
def test_every_game_has_its_module_and_its_config(game_id):
    game = load_game(game_id)
    assert game.id == game_id
    module = import_module(f"card_envs.{game.name}")
    for make in (module.env, module.raw_env):
        assert make().game is game
    config = (ROOT / "configs" / f"{game_id}.yaml").read_text(encoding="utf-8")
    assert re.search(rf"^game: {game_id}$", config, re.MULTILINE)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("<!-- actions -->\n", ""),
        lambda text: text.replace("<!-- end -->\n", "", 1),
        lambda text: text + "<!-- observation -->\n<!-- end -->\n",
    ],
)
def test_a_table_without_its_place_is_noticed(change):
    text = rules_file("beaver_gang").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="one place for a table"):
        with_tables(change(text), load_game("beaver_gang"))
