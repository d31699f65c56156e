"""Which games there are: versions, registration, entry points, and what a game may leave out."""

from __future__ import annotations

import dataclasses
import itertools
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pettingzoo
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    begin,
    kit_of,
    mask_of,
    reserved_arguments,
    snapshot,
    state_of,
    units_of,
)

import card_envs
from card_envs import contract
from card_envs.agents import agent_names, make_agent, shipped_policies
from card_envs.contract.fields import Field, Fields
from card_envs.contract.game import MOST_PLAYERS
from card_envs.contract.observing import relative_seat
from card_envs.contract.options import Option
from card_envs.engine.arena import Arena
from card_envs.engine.table import BaseTable
from card_envs.envs.aec import CardEnv
from card_envs.envs.learner_games import LearnerGames
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.games import ENTRY_POINTS, GAMES, GameRegistry, load_game, load_games
from card_envs.text.env import TextEnv
from card_envs.text.seat import TextSeatEnv

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)


def run_python(code: str, *paths: Path | str) -> str:
    """What a fresh process prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


# ---------------------------------------------------------------------------------------------
# The list
# ---------------------------------------------------------------------------------------------


def test_importing_the_package_registers_the_games_and_does_nothing_else():
    """What takes long is imported when a game is loaded, and no handler is installed, even if
    another program has the name of the command."""
    code = (
        "import sys; sys.argv = ['card-envs']; before = sys.excepthook; import card_envs; "
        "import gymnasium; assert sys.excepthook is before; assert 'numba' not in sys.modules; "
        "print(*gymnasium.registry)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own = [game for game in ALL_GAMES if kit_of(game).is_own]
    ids = {game.gymnasium_id for game in own} | {game.gymnasium_text_id for game in own}
    assert ids <= set(run.stdout.split())


def test_what_a_games_author_needs_is_imported_from_one_place():
    assert set(contract.__all__) >= {"Game", "Option", "Fields", "Field", "Scene", "Style", "jit"}
    for name in set(card_envs.__all__) & set(contract.__all__):
        assert getattr(card_envs, name) is getattr(contract, name)
    with pytest.raises(AttributeError, match="no attribute 'Gamee'"):
        card_envs.Gamee  # noqa: B018


def test_every_game_is_listed_once_under_its_name():
    assert [game.id for game in ALL_GAMES] == list(GAMES)
    assert len(GAMES) == len(ALL_GAMES)
    assert GAMES.names == tuple(game.name for game in ALL_GAMES)
    registered = {name for name in gymnasium.registry if name.startswith("card_envs/")}
    assert registered == {
        name for game in ALL_GAMES for name in (game.gymnasium_id, game.gymnasium_text_id)
    }
    with pytest.raises(KeyError):
        GAMES["chess"]


def test_the_package_has_its_own_games_and_no_fixtures():
    out = run_python("import card_envs; print(*card_envs.GAMES)")
    assert out.split() == [game.id for game in ALL_GAMES if kit_of(game).is_own]


@each_game
def test_a_game_is_loaded_by_id_and_by_versioned_name(game):
    assert load_game(game.id) is load_game(game.name) is card_envs.load_game(game.id) is game
    assert GAMES[game.id][-1] == game.name == f"{game.id}_v{game.version}"
    for make in (card_envs.make, CardEnv, SingleSeatEnv, SingleSeatVectorEnv):
        assert make(game.id).game is make(game.name).game is game
    assert card_envs.make_vec(game.name, 2).game is game


@each_game
def test_registered_environments(game):
    env = gymnasium.make(game.gymnasium_id, num_players=game.min_players, opponents="random")
    assert isinstance(env.unwrapped, SingleSeatEnv)
    assert env.unwrapped.game is game
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    env.step(int(info["action_mask"].argmax()))
    vector = gymnasium.make_vec(game.gymnasium_id, num_envs=3, num_players=game.max_players)
    assert isinstance(vector.unwrapped, SingleSeatVectorEnv)
    assert vector.reset(seed=1)[0].shape == (3, game.fields.size)
    if hasattr(pettingzoo, "make"):
        aec = pettingzoo.make("aec", game.gymnasium_id, num_players=game.max_players)
        assert isinstance(aec.unwrapped, CardEnv)
        made = card_envs.make(game.id, num_players=game.max_players)
        made.reset(seed=4)
        aec.reset(seed=4)
        assert snapshot(aec.unwrapped) == snapshot(made)


# ---------------------------------------------------------------------------------------------
# Versions
# ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*is out of date.*:DeprecationWarning")
@each_game
def test_versions_stand_side_by_side(game, registries):
    newer = dataclasses.replace(game, version=game.version + 1)
    newest = dataclasses.replace(game, version=game.version + 10)
    for another in (newest, newer):
        card_envs.register(another)
    assert GAMES[game.id] == (game.name, newer.name, newest.name)
    assert list(GAMES).count(game.id) == 1
    assert load_game(game.id) is newest
    for each in (game, newer, newest):
        assert load_game(each.name) is each
        assert pickle.loads(pickle.dumps(each)) is each
        assert card_envs.make(each.name).metadata["name"] == each.name
        assert gymnasium.make(each.gymnasium_id).unwrapped.game is each
    # A policy of one version is none of another, and a search does without it.
    assert shipped_policies(newest) == []
    assert agent_names(newest) == [name for name in agent_names(game) if name != "ppo"]
    assert make_agent("search:4", newest).name == "search:4"
    assert [each for each in load_games(old_versions=True) if each.id == game.id] == [
        game, newest, newer,
    ]  # fmt: skip
    old, new = card_envs.make(game.name), card_envs.make(game.id)
    old.reset(seed=1)
    new.reset(seed=1)
    with pytest.raises(ValueError, match=f"a game of {newest.name}, not of {game.name}"):
        old.load(new.save())


@each_game
def test_a_name_belongs_to_one_game(game, registries):
    names = GAMES.names
    card_envs.register(game)
    assert GAMES.names == names
    other = dataclasses.replace(game, title="Another Game")
    with pytest.raises(ValueError, match=f"there is already a game '{game.name}'"):
        card_envs.register(other)
    assert load_game(game.name) is game
    for wrong in ("Bad", "with space", "", "9lives", "dash-ed"):
        with pytest.raises(ValueError, match="a game's name is like 'kuhn_poker_v0', got"):
            card_envs.register(dataclasses.replace(game, id=wrong))
    assert GAMES.names == names


def test_what_is_listed_must_be_the_game():
    game = ALL_GAMES[0]
    registry = GameRegistry()
    registry.add("other_v0", lambda: game)
    registry.add("nothing_v0", lambda: None)
    calls = []
    registry.add(game.name, lambda: calls.append(1) or game)
    for name in ("other", "other_v0", "nothing"):
        with pytest.raises(ValueError, match="is listed, but what is there is"):
            registry.load(name)
    assert registry.load(game.id) is registry.load(game.name) is game
    assert calls == [1]
    with pytest.raises(ValueError, match=f"no game 'x'; the games are other, nothing, {game.id}"):
        registry.load("x")


# ---------------------------------------------------------------------------------------------
# Games of other packages
# ---------------------------------------------------------------------------------------------

FOREIGN = [pytest.param(game, id=game.id) for game in ALL_GAMES if not kit_of(game).is_own]


def path_of(game):
    """What must be on the path for the game's package to be found."""
    top = game.package.partition(".")[0]
    return Path(next(iter(sys.modules[top].__path__))).parent


@pytest.mark.slow
@pytest.mark.parametrize("game", FOREIGN)
def test_an_installed_package_adds_games_by_entry_points(game, tmp_path):
    about = tmp_path / "more_games-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: more-games\nVersion: 1.0\n")
    own = next(each.name for each in ALL_GAMES if kit_of(each).is_own)
    lines = [f"{game.name} = {game.package}:GAME", "not a name = x:GAME", f"{own} = no.such:GAME"]
    (about / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines, ""]))
    code = f"""
import sys, card_envs, gymnasium
from card_envs.commands.cli import main
assert {game.package!r} not in sys.modules  # imported when it is first loaded
assert list(card_envs.GAMES)[-1] == {game.id!r}
env = card_envs.make({game.id!r})
env.reset(seed=1)
gymnasium.make({game.gymnasium_id!r}).reset(seed=1)
assert card_envs.load_game({own!r}).name == {own!r}
main(["list"])
"""
    assert f"\n{game.id} " in run_python(code, tmp_path, path_of(game))


def test_what_is_wrong_with_another_package_stops_nobody_else(tmp_path):
    def install(name, *lines):
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines, ""]))

    own = next(game for game in ALL_GAMES if kit_of(game).is_own)
    install("one", "twice_v0 = no.such:GAME", "badname = no.such:GAME")
    install("two", "twice_v0 = no.such:GAME", f"other_v0 = {own.package}:GAME")
    code = """
import sys
from card_envs.commands.cli import main
status = main(["list"])
print(status, main(["info", "twice"]), main(["info", "other"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 2 2"
    listed = [line.split()[0] for line in done.stdout.splitlines()[1:-1]]
    assert listed == [game.id for game in ALL_GAMES if kit_of(game).is_own]
    assert "Traceback" not in done.stderr
    for message in (
        "ignoring an entry point of one: a game's name is like 'kuhn_poker_v0', got 'badname'",
        "ignoring an entry point of (one|two): there is already a game 'twice_v0'",
        "'twice_v0', an entry point of (one|two), cannot be loaded from no.such:GAME: ModuleNotF",
        f"'other_v0' is listed, but what is there is '{own.name}'",
    ):
        assert re.search(message, done.stderr)


def test_a_pickled_environment_brings_its_game_along(tmp_path):
    """To a process that has not heard of it."""
    saved = []
    for game in ALL_GAMES:
        env = card_envs.make(game.name)
        env.reset(seed=3)
        env.step(env.legal_actions()[0])
        saved.append(env.save().decode())
        (tmp_path / f"{len(saved)}.pickle").write_bytes(pickle.dumps(env))
    code = f"""
import pathlib, pickle
for number in range(1, {len(saved)} + 1):
    path = pathlib.Path({str(tmp_path)!r}) / f"{{number}}.pickle"
    print(pickle.loads(path.read_bytes()).save().decode())
"""
    assert run_python(code, *map(path_of, ALL_GAMES)).splitlines() == saved


# ---------------------------------------------------------------------------------------------
# What a game may leave out
# ---------------------------------------------------------------------------------------------


@each_game
def test_the_default_number_of_players_is_used_in_every_default_call(game, registries):
    usual = min(max(4, game.min_players), game.max_players)
    assert dataclasses.replace(game, default_players=0).default_players == usual
    for default in {game.min_players, game.max_players}:
        another = dataclasses.replace(game, version=50 + default, default_players=default)
        card_envs.register(another)
        for env in (card_envs.make(another.name), CardEnv(another.name)):
            assert env.num_players == default
            assert len(env.possible_agents) == default
        assert another.check_num_players(None) == default
        batch = card_envs.make_vec(another.name, 3)
        batch.reset(seed=1)
        assert batch.num_players.tolist() == [default] * 3
        for seats in (
            SingleSeatEnv(another.name),
            SingleSeatVectorEnv(another.name, 2),
            gymnasium.make(another.gymnasium_id).unwrapped,
            gymnasium.make_vec(another.gymnasium_id, num_envs=2).unwrapped,
        ):
            assert seats._games.player_range == (default, default)


@each_game
def test_a_game_with_nothing_but_its_rules_is_complete(game):
    """Without heuristic, public names of actions and a full state."""
    small = dataclasses.replace(
        game,
        heuristic=None,
        public_action_name=None,
        state_fields=None,
        write_state=None,
    )
    assert small.default_opponent == "random"
    states = begin(game, game.min_players, 1)
    action = int(mask_of(game, states).argmax())
    assert small.public_action_name(states, 0, action) == game.action_name_at(states, 0, action)
    full = state_of(small, states)
    units_of(full, small.state_fields.scale)
    left_out = {"rng", "seed", "rewards", "reward_mode", "max_steps"}
    assert {field.name for field in small.state_fields} == {*game.state_dtype.names} - left_out
    for field, values in zip(
        small.state_fields, small.state_fields.unflatten(full).values(), strict=True
    ):
        stored = np.ascontiguousarray(states[field.name]).view(np.uint8).ravel()
        assert np.array_equal(values * 255, stored)


@few_games
def test_a_record_needs_the_common_entries_and_those_of_options(game):
    for entry in ("standing", *(option.name for option in game.own_options)):
        names = [name for name in game.state_dtype.names if name != entry]
        fewer = np.dtype([(name, game.state_dtype[name]) for name in names], align=True)
        with pytest.raises(ValueError, match=f"{game.id}: state_dtype lacks {entry} of "):
            dataclasses.replace(game, state_dtype=fewer)


@pytest.mark.parametrize(
    ("default", "declared", "message"),
    [
        (5, {}, "must be a whole number from 0 to 0, got 5"),
        (None, {"maximum": 3}, "minimum must be at least 1, as kernels get None as 0"),
        ("c", {"choices": ("a", "b")}, "must be 'a' or 'b', got 'c'"),
    ],
)
def test_an_options_default_must_be_allowed(default, declared, message):
    with pytest.raises(ValueError, match=f"rounds:? {message}"):
        Option("rounds", default, "how long it is", **declared)


@few_games
@pytest.mark.parametrize(("low", "high"), [(2, 17), (1, 4), (5, 4)])
def test_a_game_is_for_as_many_players_as_there_is_room_for(game, low, high):
    with pytest.raises(ValueError, match=f"for 2 to 16 players, got {low} to {high}"):
        dataclasses.replace(game, min_players=low, max_players=high)


@few_games
def test_what_a_games_author_gives_must_fit_together(game):
    one = Option("one", 1, "is one option too many", minimum=0, maximum=1)
    reward = dataclasses.replace(one, name="reward")
    for changes, message in (
        (
            {"default_players": game.max_players + 1},
            f"default_players must be from {game.min_players}",
        ),
        ({"scene": None}, "scene must be a function, got None"),
        ({"observe": "observe"}, "observe must be a function, got 'observe'"),
        ({"own_options": (*game.own_options, one)}, r"reset takes \d+ arguments, but is given \d+"),
        ({"own_options": (*game.own_options, reward)}, "there is already an option 'reward'"),
        ({"own_options": (one, one)}, "there is already an option 'one'"),
        ({"own_options": (dataclasses.replace(one, name="seat"),)}, "have an argument 'seat'"),
    ):
        with pytest.raises(ValueError, match=f"{game.id}: .*{message}"):
            dataclasses.replace(game, **changes)


@pytest.mark.parametrize(
    "interface",
    [
        CardEnv,
        TextEnv,
        card_envs.make_vec,
        LearnerGames,
        SingleSeatEnv,
        SingleSeatVectorEnv,
        TextSeatEnv,
        Arena,
        BaseTable,
    ],
)
def test_no_option_can_have_the_name_of_an_environments_argument(interface):
    assert reserved_arguments(interface) & {"num_players", "agents"}


@pytest.mark.parametrize("wrong", ["kuhn_poker", re])
def test_only_a_game_is_registered(wrong):
    with pytest.raises(TypeError, match="a Game is needed"):
        card_envs.register(wrong)


def test_where_the_others_sit_at_the_largest_table():
    for n in range(1, MOST_PLAYERS + 1):
        for q, player in itertools.product(range(n), repeat=2):
            assert relative_seat(q, player, n) == (q - player) % n


def test_fields_are_checked():
    for scale in (0, 256, -1, 1.5, (1, 300)):
        with pytest.raises(ValueError, match="field: a scale is from 1 to 255, got"):
            Field("field", (2,), "what it means", scale=scale)
    with pytest.raises(ValueError, match="the same name"):
        Fields(Field("one", (1,), "first"), Field("one", (2,), "second"))
    fields = Fields(
        Field("count", (2, 3), "cards", scale=(1, 2, 255)),
        Field("lead", (1,), "points", scale=10, derived=True, remembered=True),
    )
    assert fields.scale.tolist() == [1, 2, 255, 1, 2, 255, 10]
    assert fields["lead"].meaning == "points (derived, perfect recall)"
    assert "lead" in fields
    assert "lag" not in fields
    assert fields.offsets().lead == fields.offset("lead") == 6
    changed = Fields(fields["count"], Field("lead", (1,), "points", scale=11))
    renamed = Fields(fields["count"], Field("lag", (1,), "points", scale=10))
    reworded = Fields(fields["count"], Field("lead", (1,), "in words", scale=10))
    assert len({each.fingerprint for each in (fields, changed, renamed)}) == 3
    assert reworded.fingerprint == fields.fingerprint


def test_the_package_has_the_games_modules_and_imports_them_when_they_are_used():
    code = """
import sys, card_envs
from card_envs.games import GAMES
modules = [name for name in GAMES.names if f"card_envs.{name}" not in sys.modules]
assert len(modules) >= 4
assert {*modules, "make", "GAMES"} <= {*dir(card_envs)}
for name in modules:
    assert getattr(card_envs, name).env().game.name == name
    assert f"card_envs.{name}" in sys.modules
assert not hasattr(card_envs, "no_such_game_v0")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
