"""What is generated from the games is up to date, and every rule of every game has a test."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from textwrap import indent

import pytest
from helpers import ALL_GAMES, EACH_GAME, kit_of
from tiny_runs import SMALL

from card_envs.commands import docs
from card_envs.commands.docs import (
    action_table,
    generated_files,
    main,
    options_table,
    page,
    with_generated_tables,
    with_index_table,
)
from card_envs.contract.game import VIEW_OPTIONS
from card_envs.games import GAMES, folder_of, rules_file

ROOT = Path(__file__).parent.parent
TESTS = Path(__file__).parent

each_game = pytest.mark.parametrize("game", EACH_GAME)
OWN_GAMES = [param for param in EACH_GAME if kit_of(param.values[0]).is_own]
each_own_game = pytest.mark.parametrize("game", OWN_GAMES)


# ---------------------------------------------------------------------------------------------
# Generated files
# ---------------------------------------------------------------------------------------------


@each_game
def test_what_is_generated_is_up_to_date(game):
    """After a change of the code: ``python -m card_envs.commands.docs [--games-from MODULE]``."""
    for path, text in generated_files(game).items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is outdated"


@each_game
def test_the_rules_hold_the_tables_and_the_pages_the_fields(game):
    rules = rules_file(game).read_text(encoding="utf-8")
    assert with_generated_tables(rules, game) == rules
    for table in (game.fields.table(), action_table(game), options_table(game)):
        assert table in rules
    for field in game.fields:
        assert f"`{field.name}`" in rules
        assert re.search(rf"\b{field.name}\b", page(game))
        assert re.search(rf"\b{field.name}\b", (observe_of(game).__doc__ or ""))
    for option in (*game.options, *VIEW_OPTIONS):
        assert f"| `{option.name}` |" in rules
    assert max(map(len, page(game).splitlines())) <= 100


def observe_of(game):
    return getattr(game.observe, "py_func", game.observe)


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
    with pytest.raises(ValueError, match="observe needs a docstring"):
        with_index_table("def observe(states):\n    pass\n", game)


@each_game
def test_tables_are_renewed(game):
    """Whatever stands in their places."""
    files = generated_files(game)
    rules = files[rules_file(game)]
    outdated = re.sub(r"^\| .* \|$", "", rules, flags=re.MULTILINE)
    assert outdated != rules
    renewed = with_generated_tables(outdated, game)
    assert all(table in renewed for table in (game.fields.table(), action_table(game)))
    observation = files[folder_of(game) / "observation.py"]
    table = indent(game.fields.docstring(96), "    ")
    outdated = observation.replace(table, "    (table)")
    assert outdated != observation
    assert with_index_table(outdated, game) == observation
    first = re.search(r'def observe\([^)]*\):\n    """.*?\n\n', observation, re.DOTALL)[0]
    alone = first.rstrip() + '"""\n'  # as its author writes it at first
    assert with_index_table(alone, game) == f'{first}{table}\n    """\n'


def test_the_command_writes_only_what_is_outdated_of_the_games_named(monkeypatch):
    written = []
    monkeypatch.setattr(docs, "write_text", lambda path, text: written.append((path, text)))
    assert main([]) == 0
    assert written == []
    files = {name: {Path(f"{name}/of a game"): name} for name in GAMES.names}
    monkeypatch.setattr(docs, "generated_files", lambda game: files[game.name])
    assert main(["--games-from", SMALL.package]) == 0
    assert written == list(files[SMALL.name].items())
    written.clear()
    assert main([]) == 0
    own = [game.name for game in ALL_GAMES if kit_of(game).is_own]
    assert [text for _, text in written] == own


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
        parameters = dict(signature(make).parameters)
        assert parameters.pop("unknown").kind is Parameter.VAR_KEYWORD  # for errors that help
        assert {name: entry.default for name, entry in parameters.items()} == {
            "num_players": game.default_players,
            **{option.name: option.default for option in (*game.options, *VIEW_OPTIONS)},
            "mask": "observation",
            "render_mode": None,
            "render_perspective": None,
            "on_illegal": on_illegal,
        }
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
