"""The generated tables are up to date, and every rule of every game has a test."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import get_type_hints

import pytest
from helpers import ALL_GAMES, EACH_GAME, SMALL, kit_of

from card_envs.commands import docs
from card_envs.commands.docs import (
    action_table,
    main,
    options_table,
    with_generated_tables,
)
from card_envs.contract.options import VIEW_OPTIONS
from card_envs.envs.aec import CardEnv
from card_envs.games import folder_of, rules_file

ROOT = Path(__file__).parent.parent
TESTS = Path(__file__).parent

each_game = pytest.mark.parametrize("game", EACH_GAME)
OWN_GAMES = [param for param in EACH_GAME if kit_of(param.values[0]).is_own]
each_own_game = pytest.mark.parametrize("game", OWN_GAMES)


# ---------------------------------------------------------------------------------------------
# Generated tables
# ---------------------------------------------------------------------------------------------


@each_game
def test_the_rules_hold_the_tables_up_to_date(game):
    """After a change of the code: ``python -m card_envs.commands.docs [--games-from MODULE]``."""
    rules = rules_file(game).read_text(encoding="utf-8")
    assert with_generated_tables(rules, game) == rules
    for table in (game.fields.table(), action_table(game), options_table(game)):
        assert table in rules
    for field in game.fields:
        assert f"| `{field.name}` |" in rules
    for option in (*game.options, *VIEW_OPTIONS):
        assert f"| `{option.name}` |" in rules


@each_game
def test_the_action_table_covers_every_action_once(game):
    covered = Counter()
    for first, last in re.findall(r"^\| (\d+)(?:\.\.(\d+))? \|", action_table(game), re.MULTILINE):
        covered.update(range(int(first), int(last or first) + 1))
    assert covered == Counter(range(game.num_actions))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("<!-- actions -->\n", ""),
        lambda text: text.replace("<!-- end -->\n", "", 1),
        lambda text: text + "<!-- observation -->\n<!-- end -->\n",
    ],
)
@each_game
def test_a_table_without_its_place_is_noticed(game, change):
    text = rules_file(game).read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="one place for a table"):
        with_generated_tables(change(text), game)


def test_the_command_renews_only_what_is_outdated_of_the_games_named(monkeypatch, tmp_path):
    """Whatever stands in the places of the tables."""
    rules = {game: rules_file(game).read_text(encoding="utf-8") for game in ALL_GAMES}
    files = {game: tmp_path / f"{game.id}.md" for game in ALL_GAMES}
    monkeypatch.setattr(docs, "rules_file", files.get)
    own = {game for game in ALL_GAMES if kit_of(game).is_own}
    for arguments, renewed in (([], own), (["--games-from", SMALL.package], {SMALL})):
        for game, text in rules.items():
            outdated = text.replace(game.fields.table(), "(table)")
            assert outdated != text
            files[game].write_text(outdated, encoding="utf-8")
        assert main(arguments) == 0
        for game, text in rules.items():
            assert (files[game].read_text(encoding="utf-8") == text) == (game in renewed)
    written = files[SMALL].stat().st_mtime_ns
    assert main(["--games-from", SMALL.package]) == 0
    assert files[SMALL].stat().st_mtime_ns == written


# ---------------------------------------------------------------------------------------------
# Rules
# ---------------------------------------------------------------------------------------------


def rules_of(game):
    """The rule numbers of a game's RULES.md, in their order there."""
    text = rules_file(game).read_text(encoding="utf-8")
    return re.findall(r"^\*\*([A-Z]+-\d+)\b.*?\*\*", text, re.MULTILINE)


@cache
def marked_rules(game):
    """Every rule that a test of the game names in its mark, with the tests that do."""
    marks = {}
    for path in kit_of(game).folder.glob("*.py"):
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


@each_game
def test_rules_are_numbered_through(game):
    numbers = rules_of(game)
    prefix = numbers[0].split("-")[0]
    assert numbers == [f"{prefix}-{k}" for k in range(1, len(numbers) + 1)]


@each_game
def test_every_rule_has_a_test_and_every_marked_rule_exists(game):
    assert set(rules_of(game)) == set(marked_rules(game))


def test_a_rules_number_is_of_one_game():
    known = [rule for game in ALL_GAMES for rule in rules_of(game)]
    assert len(set(known)) == len(known)


def test_shared_tests_mark_no_rules():
    shared = [path.name for path in TESTS.glob("*.py") if path != Path(__file__)]
    marked = [name for name in shared if "mark.rule(" in (TESTS / name).read_text(encoding="utf-8")]
    assert not marked


# ---------------------------------------------------------------------------------------------
# What belongs to a game
# ---------------------------------------------------------------------------------------------


def test_every_folder_of_a_game_is_in_the_list_and_has_a_kit():
    folders = {path.parent.name for path in (ROOT / "card_envs" / "games").glob("*/__init__.py")}
    own = [param.values[0] for param in OWN_GAMES]
    assert folders == {game.id for game in own}
    kits = {path.parent.name for path in (TESTS / "games").glob("*/kit.py")}
    assert kits == {game.id for game in ALL_GAMES}
    assert {path.name for path in (TESTS / "games").iterdir()} - {"__pycache__"} == kits


@each_own_game
def test_every_game_has_its_module_and_its_config(game):
    module = import_module(f"card_envs.{game.name}")
    for make, on_illegal in (
        (module.env, "terminate"),
        (module.raw_env, "raise"),
        (module.parallel_env, "terminate"),
    ):
        env = make().unwrapped
        assert env.game is game
        assert env.on_illegal == on_illegal
        assert env.num_players == game.default_players
        assert make(on_illegal="raise").unwrapped.on_illegal == "raise"
        with pytest.raises(TypeError, match=f"'nothing': {game.id} has no option 'nothing'; its "):
            make(nothing=1)
    arguments = signature(CardEnv).parameters.values()
    named = {one.name for one in arguments if one.kind is Parameter.KEYWORD_ONLY}
    own = {option.name: type(option.default) for option in game.own_options}
    types = get_type_hints(module.Options)
    assert types.keys() == named | own.keys()
    for option in game.own_options:
        assert types[option.name] == (int | None if option.default is None else own[option.name])
    config = (ROOT / "configs" / f"{game.id}.yaml").read_text(encoding="utf-8")
    assert re.search(rf"^game: {game.id}$", config, re.MULTILINE)


def test_nothing_shared_names_a_game():
    """Neither the engine, the environments, agents, renderers nor the shared tests."""
    own = [param.values[0] for param in OWN_GAMES]
    words = {game.id for game in own} | {game.title for game in own}
    words |= {f"{game.gymnasium_id.removeprefix('card_envs/').rpartition('-')[0]}" for game in own}
    pattern = re.compile("|".join(rf"\b{re.escape(word)}" for word in sorted(words)))
    folders = (
        "utils",
        "kernels",
        "contract",
        "render",
        "engine",
        "agents",
        "envs",
        "evaluation",
        "text",
    )
    sources = [path for name in folders for path in (ROOT / "card_envs" / name).rglob("*.py")]
    examples = re.compile(r"e\.g\.|such as|\"\"\"|#|``")  # a docstring may give an example
    found = []
    for path in [*sources, *TESTS.glob("*.py")]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if pattern.search(line) and not (path in sources and examples.search(line)):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


@each_game
def test_a_games_folder_holds_its_rules(game):
    assert rules_file(game).is_file()
    assert folder_of(game).name == game.id or not kit_of(game).is_own
