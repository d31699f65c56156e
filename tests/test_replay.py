"""Replay files."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from helpers import ALL_GAMES, Habits

import card_envs
from card_envs.replay import Replay


def own_options(game):
    """The game's own options, none at its default."""
    return {o.name: o.minimum + 1 if o.maximum else not o.default for o in game.own_options}


@pytest.fixture(scope="module", params=ALL_GAMES, ids=lambda game: game.id)
def played(request):
    """A finished game and its replay."""
    game = request.param
    options = {"num_players": 3, "reward": "score", **own_options(game)}
    env = card_envs.make(game.id, on_illegal="raise", **options)
    env.reset(seed=77)
    habits = Habits(game, 5)
    actions = []
    while env.legal_actions():
        actions.append(habits.choose(env.states))
        env.step(actions[-1])
    return env, Replay.of(env, 77, actions)


def data_of(replay):
    return json.loads(replay.to_json())


def test_a_replay_is_one_line_of_json(played):
    env, replay = played
    assert "\n" not in replay.to_json()
    assert data_of(replay) == {
        "game": env.game.name,
        "version": card_envs.__version__,
        "options": {
            "num_players": 3,
            "reward": "score",
            "memory": "perfect",
            "max_steps": 10000,
            **own_options(env.game),
        },
        "seed": 77,
        "actions": list(replay.actions),
    }
    assert len(replay.actions) == env.states["steps"][0]


def test_a_replay_survives_its_file(played, tmp_path):
    _, replay = played
    path = tmp_path / "game.json"
    replay.save(path)
    assert path.read_text() == replay.to_json() + "\n"
    assert Replay.load(path) == replay


def test_a_replay_plays_the_same_game(played):
    env, replay = played
    taken = []
    steps = []
    for now, action in replay.steps():
        assert action in now.legal_actions()
        steps.append(int(now.states["steps"][0]))
        taken.append(action)
    assert tuple(taken) == replay.actions
    assert steps == list(range(len(taken)))
    assert all(second == first + 1 for first, second in pairwise(steps))
    assert now.states.tobytes() == env.states.tobytes()
    assert now.infos == env.infos


def test_an_unfinished_game_is_a_replay(played):
    _, replay = played
    for length in (0, 7):
        part = Replay.from_json(json.dumps({**data_of(replay), "actions": replay.actions[:length]}))
        assert len(list(part.steps())) == length


def test_numbers_of_numpy_can_be_saved():
    env = card_envs.make("beaver_gang", num_players=np.int64(2), rounds=np.int64(1))
    replay = Replay.of(env, np.int64(1), np.array([4]))
    assert data_of(replay)["options"]["rounds"] == 1
    assert Replay.from_json(replay.to_json()) == Replay.of(env, 1, [4])
    with pytest.raises(TypeError, match="float"):
        Replay.of(env, 1, [4.0])


ABSENT = object()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "chess_v0"}, "no game 'chess_v0'"),
        ({"game": "GAME_v1"}, "replay of 'GAME_v1', here is 'GAME_v0'"),
        ({"game": "GAME"}, "no game 'GAME'"),
        ({"game": ["GAME_v0"]}, "no game"),
        ({"game": ABSENT}, "'game' is missing"),
        ({"version": ABSENT}, "'version' is missing"),
        ({"version": 1}, "version must be a text"),
        ({"code": "import os"}, "'code' is unknown"),
        ({"options": ABSENT}, "'options' is missing"),
        ({"options": []}, "options must be"),
        ({"options": {"num_players": 3}}, "'OWN' is missing"),
        ({"options.num_players": 99}, r"is for \d to . players"),
        ({"options.num_players": "3"}, r"is for \d to . players"),
        ({"options.num_players": ABSENT}, "'num_players' is missing"),
        ({"options.OWN": 0}, "OWN must be"),
        ({"options.OWN": 1.0}, "OWN must be"),
        ({"options.memory": "all"}, "memory must be"),
        ({"options.memory": ["none"]}, "memory must be"),
        ({"options.colour": "red"}, "'colour' is unknown"),
        ({"options.on_illegal": "terminate"}, "'on_illegal' is unknown"),
        ({"seed": ABSENT}, "'seed' is missing"),
        ({"seed": None}, "seed must be"),
        ({"seed": "77"}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 2**64}, "seed must be"),
        ({"actions": ABSENT}, "'actions' is missing"),
        ({"actions": "4"}, "actions must be a list"),
        ({"actions": [4.0]}, r"actions\[0\] must be a whole number, got 4.0"),
        ({"actions": [True]}, r"actions\[0\] must be a whole number"),
        ({"actions": [None]}, r"actions\[0\] must be a whole number"),
        ({"actions": [-1]}, r"actions\[0\] is -1, legal there are"),
        ({"actions": [10**30]}, r"actions\[0\] is 10+, legal there are"),
    ],
)
def test_a_malformed_replay_is_refused(played, change, message):
    env, replay = played
    own = env.game.own_options[0].name

    def named(value):
        if isinstance(value, list):
            return [named(entry) for entry in value]
        return value.replace("GAME", env.game.id) if isinstance(value, str) else value

    data = data_of(replay)
    for key, value in change.items():
        target = data
        if key.startswith("options."):
            target, key = data["options"], key.removeprefix("options.").replace("OWN", own)
        if value is ABSENT:
            del target[key]
        else:
            target[key] = named(value)
    with pytest.raises(ValueError, match=named(message).replace("OWN", own)):
        Replay.from_json(json.dumps(data))


def test_an_illegal_action_is_refused_and_named(played):
    env, replay = played
    steps = replay.steps()
    _, first = next(steps)
    now, _ = next(steps)
    illegal = min(set(range(env.game.num_actions)) - set(now.legal_actions()))
    for wrong in (illegal, env.game.num_actions):
        data = {**data_of(replay), "actions": [first, wrong]}
        with pytest.raises(ValueError, match=rf"actions\[1\] is {wrong}, legal there are"):
            Replay.from_json(json.dumps(data))


def test_an_action_after_the_end_is_refused(played):
    data = data_of(played[1])
    data["actions"].append(data["actions"][0])
    message = rf"actions\[{len(data['actions']) - 1}\] comes after the end"
    with pytest.raises(ValueError, match=message):
        Replay.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("__import__('os')", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "JSON object, got list"),
        ("null", "JSON object, got NoneType"),
        ('{"seed": 1, "seed": 2}', "twice"),
    ],
)
def test_what_is_no_replay_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Replay.from_json(text)


def test_a_wrong_file_is_named(tmp_path):
    path = tmp_path / "wrong.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"wrong\.json"):
        Replay.load(path)
    with pytest.raises(FileNotFoundError):
        Replay.load(tmp_path / "none.json")
