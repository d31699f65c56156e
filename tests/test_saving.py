"""Saved games and copies: they go on as if nothing had happened, and damaged ones are refused."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers import (
    EACH_GAME,
    FEW_GAMES,
    FEW_TABLES,
    TABLES,
    UNIFORM,
    Habits,
    finish,
    mean_length,
    mid_game,
    module_of,
    observation_of,
    option_sets,
    play_on,
    snapshot,
)

import card_envs
from card_envs.engine.history import Redraw, Replay, _digest
from card_envs.envs.aec import CardEnv

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
few_tables = pytest.mark.parametrize(("game", "num_players"), FEW_TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)

DECISIONS_AHEAD = 40  # how far a copy is compared with the original


def future_of(env: CardEnv, seed: int) -> Iterator[tuple[Any, ...]]:
    """All that can be seen of the rest of a game, through the dead steps, and of the next one;
    only of the next decisions if it is long."""
    habits = Habits(env.game, seed)
    for _ in range(2):
        for _ in range(DECISIONS_AHEAD):
            yield snapshot(env)
            if not env.legal_actions():
                break
            env.step(habits.choose(env.states))
        while not env.legal_actions() and env.agents:
            yield snapshot(env)
            env.step(None)
        env.reset()


COPIES = {
    "clone": CardEnv.clone,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "clone of a clone": lambda env: env.clone().clone(),
}


def sealed(data: dict[str, Any] | bytes) -> bytes:
    """A saved game of these entries, with a checksum that is right."""
    entries = json.loads(data) if isinstance(data, bytes) else dict(data)
    entries.pop("checksum", None)
    checksum = _digest(json.dumps(entries, ensure_ascii=False))
    return json.dumps({**entries, "checksum": checksum}).encode()


# ---------------------------------------------------------------------------------------------
# Copies
# ---------------------------------------------------------------------------------------------


@few_tables
def test_copies_go_on_from_everywhere(game, num_players):
    """In mid game, when it is over, between the dead steps, after them, after an illegal action."""
    for number, options in enumerate(option_sets(game, most=6, views=True)):
        env = module_of(game).env(num_players=num_players, **options)
        for where in ("begun", "mid", "over", "dead steps", "empty", "illegal"):
            env.reset(seed=number)
            play_on(env, UNIFORM, {"begun": 0, "mid": 6, "illegal": 3}.get(where, 10_000))
            if where == "dead steps":
                env.step(None)
            elif where == "empty":
                finish(env)
            elif where == "illegal" and env.legal_actions():
                mask = env.last()[0]["action_mask"]
                if not mask.all():
                    env.step(int(np.argmin(mask)))
            before = snapshot(env)
            future = list(future_of(env.clone(), number))
            way, make_copy = list(COPIES.items())[number % len(COPIES)]
            for name, copying in {way: make_copy, "pickle": COPIES["pickle"]}.items():
                twin = copying(env)
                assert snapshot(twin) == before, (where, name)
                assert twin.save() == env.save(), (where, name)
                assert list(future_of(twin, number)) == future, (where, name)
            assert snapshot(env) == before


@pytest.mark.parametrize("way", COPIES)
@few_games
def test_a_copy_shares_nothing_that_changes(game, way):
    """Whatever is done to the one is not seen in the other."""
    env = mid_game(game, game.default_players, render_mode="ansi")
    before = snapshot(env), env.save(), env.render()
    for change in (
        lambda twin: play_on(twin, 1, 10_000),
        lambda twin: twin.reset(seed=77),
        lambda twin: [twin.determinize(agent, 5) for agent in twin.agents],
        lambda twin: twin.step(twin.legal_actions()[-1]),
        lambda twin: twin.agents.clear(),
        lambda twin: twin.rewards.clear(),
        lambda twin: twin.terminations.clear(),
        lambda twin: twin.truncations.clear(),
        lambda twin: twin._cumulative_rewards.clear(),
        lambda twin: [info.update(x=1) for info in twin.infos.values()],
        lambda twin: twin.states.view(np.uint8).fill(0),
        lambda twin: setattr(twin, "render_mode", None),
    ):
        twin = COPIES[way](env)
        change(twin)
        assert (snapshot(env), env.save(), env.render()) == before
    twin = COPIES[way](env)
    expected = snapshot(twin)
    play_on(env, 2, 10_000)
    finish(env)
    assert snapshot(twin) == expected


@few_games
def test_a_copy_made_in_a_loop_over_agents_can_be_looped_over(game):
    env = module_of(game).env(max_steps=30)
    env.reset(seed=4)
    rng = np.random.default_rng(4)
    for make_copy in COPIES.values():
        for agent in env.agent_iter():
            assert agent == env.agent_selection
            world = make_copy(env)
            break
        env.reset(seed=4)
        decisions = 0
        for _ in world.agent_iter():
            observation, _, terminated, truncated, _ = world.last()
            over = terminated or truncated
            action = None if over else rng.choice(np.flatnonzero(observation["action_mask"]))
            world.step(action)
            decisions += not over
        assert decisions == world.states["steps"][0] > 0
        assert env.legal_actions()


@each_game
def test_a_copy_is_one_of_every_byte(game):
    """Also of the bytes between the entries: states are compared as bytes."""
    env = mid_game(game, game.default_players)
    between = np.ones(game.state_dtype.itemsize, bool)
    for entry_dtype, offset, *_ in game.state_dtype.fields.values():
        between[offset : offset + entry_dtype.itemsize] = False
    env.states.view(np.ndarray).view(np.uint8)[between] = 0xAB
    data = env.states.tobytes()
    for way, make_copy in COPIES.items():
        assert make_copy(env).states.tobytes() == data, way


@few_games
def test_copies_of_an_environment_without_a_game(game):
    env = module_of(game).env()
    with pytest.raises(AssertionError, match="reset"):
        env.save()
    with pytest.raises(AttributeError, match="reset"):
        env.history  # noqa: B018
    for make_copy in COPIES.values():
        twin = make_copy(env)
        with pytest.raises(AssertionError, match="reset"):
            twin.observe("player_0")
        twin.reset(seed=1)
        assert twin.legal_actions()


# ---------------------------------------------------------------------------------------------
# Saved games
# ---------------------------------------------------------------------------------------------


def assert_same_game(env: CardEnv, other: CardEnv) -> None:
    """The same record, and the same views of it but for the dead steps and the modes."""
    assert other.states.tobytes() == env.states.tobytes()
    assert other.options == env.options
    assert other.num_players == env.num_players
    assert other.possible_agents == env.possible_agents
    assert other.legal_actions() == env.legal_actions()
    assert other.rewards == env.rewards
    assert other.terminations == env.terminations
    assert other.truncations == env.truncations
    assert other.infos == env.infos
    assert other.history == env.history


@few_tables
def test_a_saved_game_continues_with_its_own_players_and_options(game, num_players):
    """In an environment without a game, with a game that is over, and of another table."""
    other_size = next((n for n in game.table_sizes if n != num_players), num_players)
    sets = option_sets(game, most=6)
    for number, options in enumerate(sets):
        env = module_of(game).env(num_players=num_players, **options)
        others = [
            module_of(game).env(num_players=num_players, **options),
            module_of(game).env(num_players=other_size, **sets[number - 1]),
            module_of(game).env(num_players=num_players),
        ]
        others[1].reset(seed=99)
        play_on(others[1], UNIFORM, 10_000)
        for decisions in (0, 6, 10_000):
            env.reset(seed=number)
            play_on(env, UNIFORM, decisions)
            data = env.save()
            future = list(future_of(env.clone(), number))
            for other in others:
                other.load(data)
                assert_same_game(env, other)
                assert other.save() == data
                assert list(future_of(other, number)) == future


@few_games
def test_what_the_environment_is_like_is_not_part_of_a_saved_game(game):
    """Views, modes and spaces are those of the environment that loads."""
    env = mid_game(game, game.default_players)
    others = [
        module_of(game).env(memory="none", features=False, render_mode="ansi"),
        module_of(game).raw_env(num_players=game.min_players),
    ]
    for other in others:
        kept = other.view, other.render_mode, other.on_illegal, other.metadata
        spaces = other.observation_space("player_0"), other.action_space("player_0")
        own = other.state_space
        other.load(bytearray(env.save()))
        assert (other.view, other.render_mode, other.on_illegal, other.metadata) == kept
        assert (other.observation_space("player_0"), other.action_space("player_0")) == spaces
        assert other.state_space is own
        assert all(other.observation_space(a) == spaces[0] for a in other.possible_agents)
        for player, agent in enumerate(other.possible_agents):
            view = other.observe(agent)
            assert other.observation_space(agent).contains(view)
            expected = observation_of(
                game, env.states, player, other.view.memory, other.view.features
            )
            assert view["observation"].tobytes() == expected.tobytes()


@tables
def test_redraws_are_part_of_a_saved_game(game, num_players):
    env = module_of(game).env(num_players=num_players)
    redrawn = 0
    for seed in range(4):
        env.reset(seed=seed)
        habits = Habits(game, seed)
        for number in range(min(20, math.ceil(mean_length(game, num_players)))):
            if number % 3 == 0:
                agent = env.possible_agents[(seed + number) % num_players]
                env.determinize(agent, 2**64 - 1 - number)
                redrawn += 1
            if not env.legal_actions():
                break
            env.step(habits.choose(env.states))
        entries = json.loads(env.save())["actions"]
        assert {"determinize": [seed % num_players, 2**64 - 1]} == entries[0]
        twin = module_of(game).env(num_players=num_players)
        twin.load(env.save())
        assert_same_game(env, twin)
        assert twin.save() == env.save()
        assert Replay.of(twin) == Replay.of(env)
        assert Replay.of(env).actions[0] == Redraw(seed % num_players, 2**64 - 1)
    assert redrawn >= 4


@each_game
def test_a_saved_game_is_a_replay(game, tmp_path):
    """One format: what is saved can be written to a file, and a replay file can be loaded."""
    env = mid_game(game, game.default_players)
    data = env.save()
    assert data == Replay.of(env).to_json().encode()
    assert b"\n" not in data
    path = tmp_path / "game.json"
    path.write_bytes(data)
    assert Replay.load(path) == Replay.of(env)
    Replay.of(env).save(path)
    twin = module_of(game).env()
    twin.load(path.read_bytes())
    assert_same_game(env, twin)


@few_games
def test_a_replay_file_may_have_the_line_end_of_any_system(game):
    data = mid_game(game, game.default_players).save()
    for end in (b"", b"\n", b"\r\n"):
        assert Replay.from_bytes(data + end) == Replay.from_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        Replay.from_bytes(data + b"\n\n")


@few_games
def test_a_game_without_the_perspectives_seat_is_not_loaded(game):
    n = game.max_players
    env = module_of(game).env(num_players=n, render_mode="ansi", render_perspective=n - 1)
    env.reset(seed=1)
    smaller = mid_game(game, game.min_players)
    if n == game.min_players:
        env.load(smaller.save())
        return
    before = env.save()
    with pytest.raises(ValueError, match=f"'all' or a seat from 0 to {game.min_players - 1}, got"):
        env.load(smaller.save())
    assert env.save() == before
    assert env.num_players == n


@few_games
def test_an_illegal_action_and_dead_steps_are_not_part_of_a_saved_game(game):
    env = mid_game(game, game.default_players)
    data = env.save()
    illegal = [a for a in range(game.num_actions) if a not in env.legal_actions()]
    if illegal:
        env.step(illegal[0])
        assert all(env.terminations.values())
        assert env.save() == data
        env.load(data)
        assert env.legal_actions()
        assert not any(env.terminations.values())
    play_on(env, UNIFORM, 10_000)
    over = env.save()
    env.step(None)
    assert env.save() == over
    finish(env)
    assert env.save() == over
    env.load(over)
    assert env.agents == env.possible_agents
    assert env.legal_actions() == []


# ---------------------------------------------------------------------------------------------
# What is refused
# ---------------------------------------------------------------------------------------------


class Target:
    """An environment in mid game, which must stay as it is."""

    def __init__(self, game: Any, num_players: int) -> None:
        self.env = mid_game(game, num_players, 3)
        self._before = self.env.save(), snapshot(self.env), self.env.__dict__.copy()

    def refuses(self, data: Any, match: str) -> str:
        """Returns the error's message."""
        with pytest.raises(ValueError, match=match) as error:
            self.env.load(data)
        assert (self.env.save(), snapshot(self.env), self.env.__dict__) == self._before
        return str(error.value)


@few_tables
def test_every_damaged_byte_and_every_cut_is_noticed(game, num_players):
    env = mid_game(game, num_players)
    env.determinize("player_0", 5)
    data = env.save()
    target = Target(game, num_players)
    about = "saved game|format|text|JSON"
    rng = np.random.default_rng(num_players)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= int(rng.integers(1, 256))
        target.refuses(bytes(damaged), about)
        damaged = bytearray(data)
        damaged[place : place + 1] = b"" if place % 2 else b"11"
        target.refuses(bytes(damaged), about)
    for length in range(len(data)):
        target.refuses(data[:length], about)
    for foreign in (data[1:], b"\0" + data, data + b"\0", data + data, data + b"{}", b"\xff\xfe"):
        target.refuses(foreign, about)
    for wrong in ("text", data.decode(), None, 5, [1, 2], {"game": game.name}):
        target.refuses(wrong, "a saved game is bytes, got")
    for right in (data, bytearray(data), memoryview(data), data + b"\n"):
        target.env.load(right)
        assert_same_game(env, target.env)


@few_games
def test_games_of_other_games_and_formats_are_refused(game):
    target = Target(game, game.default_players)
    data = json.loads(target.env.save())
    for other in (g.values[0] for g in EACH_GAME if g.values[0] is not game):
        env = mid_game(other, other.default_players, 1)
        message = target.refuses(env.save(), f"is a game of {other.name}, not of {game.name}")
        assert "\n" not in message
    for name in ("chess_v6", f"{game.id}_v{game.version + 1}", game.id, None, 3, [game.name]):
        target.refuses(sealed({**data, "game": name}), "game")
    for old in (b"card_envs save 1\n" + bytes(50), b"card_envs save 1\n"):
        message = target.refuses(old, "card_envs save 1")
        assert data["format"] in message  # both formats are named
    old_replay = {k: v for k, v in data.items() if k not in ("format", "checksum")}
    message = target.refuses(json.dumps(old_replay).encode(), "earlier")
    assert data["format"] in message
    target.refuses(sealed({**data, "format": "card_envs game 2"}), "card_envs game 2.* reads")


class Bomb:
    """Shows whether a pickle is loaded."""

    exploded = False

    def __reduce__(self):
        return (Bomb.explode, ())

    @staticmethod
    def explode():
        Bomb.exploded = True


@few_games
def test_nothing_in_a_saved_game_is_ever_executed(game):
    target = Target(game, game.default_players)
    target.refuses(pickle.dumps(Bomb()), "not a saved game|JSON")
    target.refuses(pickle.dumps(target.env), "not a saved game|JSON")
    data = json.loads(target.env.save())
    for text in ("__import__('os').getcwd()", "{}.__class__", "os.system", "../../x", "a\0b"):
        target.refuses(sealed({**data, "game": text}), "game")
        target.refuses(sealed({**data, "options": text}), "options")
        target.refuses(sealed({**data, "actions": [text]}), "actions")
    assert not Bomb.exploded


@few_games
def test_crafted_actions_are_refused(game):
    """The checksum is right; what is described is impossible."""
    env = mid_game(game, game.default_players)
    target = Target(game, game.default_players)
    data = json.loads(env.save())
    actions = data["actions"]
    illegal = [a for a in range(game.num_actions) if a not in env.legal_actions()]
    for wrong in (-1, game.num_actions, 10**30, -(2**63), *illegal[:2]):
        target.refuses(
            sealed({**data, "actions": [*actions, wrong]}),
            rf"actions\[{len(actions)}\] is {wrong}; legal actions there:",
        )
    for wrong in (4.0, True, None, "0", [0], {}, {"determinize": 1}, {"reset": [0, 1]}):
        target.refuses(sealed({**data, "actions": [wrong, *actions]}), r"actions\[0\]")
    n = env.num_players
    for redraw in (
        [n, 1],
        [-1, 1],
        [0, -1],
        [0, 2**64],
        [0.0, 1],
        [True, 1],
        ["player_0", 1],
        [0, "1"],
        [0],
        [0, 1, 2],
        [10**30, 1],
        None,
    ):
        entry = {"determinize": redraw}
        target.refuses(
            sealed({**data, "actions": [*actions, entry]}), rf"actions\[{len(actions)}\]"
        )
    both = {"determinize": [0, 1], "more": 1}
    target.refuses(sealed({**data, "actions": [both]}), r"actions\[0\]")
    play_on(env, UNIFORM, 10_000)
    over = json.loads(env.save())
    number = len(over["actions"])
    late = {**over, "actions": [*over["actions"], over["actions"][0]]}
    target.refuses(sealed(late), rf"actions\[{number}\] comes after the end")


@few_games
def test_huge_and_deep_data_are_refused_at_once(game):
    target = Target(game, game.default_players)
    data = json.loads(target.env.save())
    text = json.dumps(data)
    for hostile in (
        "[" * 200_000,
        '{"a":' * 100_000,
        "1" * 100_000,
        text.replace('"actions": [', '"actions": [' + "9" * 5000 + ", ", 1),
        text.replace('"actions": [', '"actions": [' + "[" * 50_000, 1),
        text.replace('"actions": [', '"actions": [NaN, ', 1),
        text.replace('"actions": [', '"actions": [1e400, ', 1),
    ):
        target.refuses(hostile.encode(), "saved game|JSON|actions|checksum")
    for value in (10**400, 1e308, -(10**400), float("inf"), float("nan")):
        target.refuses(sealed({**data, "seed": value}), "seed")
        target.refuses(sealed({**data, "actions": [value]}), "actions|saved game")
        options = {**data["options"], "num_players": value}
        target.refuses(sealed({**data, "options": options}), "players")


@few_games
def test_a_key_that_occurs_twice_is_refused(game):
    target = Target(game, game.default_players)
    text = target.env.save().decode()
    key, *_ = text.partition(",")
    target.refuses((key + ", " + text[1:]).encode(), "twice")
    inner = text.replace('"num_players"', '"reward": "rank", "num_players"', 1)
    assert inner != text
    target.refuses(inner.encode(), "twice")


def test_a_saved_game_of_an_unknown_game_is_refused_before_anything_is_made():
    with pytest.raises(ValueError, match="no game 'chess_v0'"):
        Replay.from_bytes(
            sealed(
                {
                    "format": "card_envs game 1",
                    "game": "chess_v0",
                    "version": card_envs.__version__,
                    "options": {},
                    "seed": 1,
                    "actions": [],
                }
            )
        )
