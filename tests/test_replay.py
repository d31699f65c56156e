"""Replays: what they hold, what they play, and which malformed ones are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import ALL_GAMES, Habits, module_of, replayed

import card_envs
from card_envs.engine.history import FORMAT, Redraw, Replay, _digest


def own_options(game):
    """The game's own options, none at its default."""
    return {
        option.name: (
            next(choice for choice in option.choices if choice != option.default)
            if option.choices
            else option.minimum + 1
            if option.maximum
            else not option.default
        )
        for option in game.own_options
    }


@pytest.fixture(scope="module", params=ALL_GAMES, ids=lambda game: game.id)
def played(request):
    """A finished game and its replay."""
    game = request.param
    env = module_of(game).raw_env(
        num_players=game.default_players, reward="score", **own_options(game)
    )
    env.reset(seed=77)
    env.determinize("player_1", 9)
    habits = Habits(game, 5)
    while env.legal_actions():
        env.step(habits.choose(env.states))
    return env, Replay.of(env)


def data_of(replay):
    return json.loads(replay.to_json())


def sealed(data):
    """The text of a replay with a checksum that is right, if it has one."""
    if "checksum" in data:
        data = {key: value for key, value in data.items() if key != "checksum"}
        data["checksum"] = _digest(json.dumps(data, ensure_ascii=False))
    return json.dumps(data, ensure_ascii=False)


def test_a_replay_is_one_line_of_json(played):
    env, replay = played
    assert "\n" not in replay.to_json()
    data = data_of(replay)
    assert len(data.pop("checksum")) == 32
    assert data == {
        "format": FORMAT,
        "game": env.game.name,
        "version": card_envs.__version__,
        "options": {
            "num_players": env.num_players,
            "reward": "score",
            "max_steps": 10000,
            **own_options(env.game),
        },
        "seed": 77,
        "actions": [{"determinize": [1, 9]}, *replay.actions[1:]],
    }
    assert replay.actions[0] == Redraw(player=1, seed=9)
    assert len(replay.actions) == env.states["steps"][0] + 1


def test_a_replay_survives_its_file(played, tmp_path):
    _, replay = played
    path = tmp_path / "game.json"
    replay.save(path)
    assert path.read_text(encoding="utf-8") == replay.to_json() + "\n"
    assert Replay.load(path) == Replay.load(str(path)) == replay
    data = path.read_bytes()
    assert Replay.from_json(data) == Replay.from_json(data.decode()) == replay
    assert {replay, Replay.load(path)} == {replay}


def test_a_replay_plays_the_same_game(played):
    env, replay = played
    taken = []
    for (states, action), (now, entry) in zip(replay.steps(), replayed(replay), strict=True):
        assert action == entry
        assert states.tobytes() == now.states.tobytes()
        assert states["steps"][0] == len(taken)
        taken.append(action)
    assert tuple(taken) == replay.actions[1:]
    for played_again in (states, replay.play()):
        assert played_again.tobytes() == env.states.tobytes()
    assert Replay.of(now) == replay
    assert now.infos == env.infos


def test_a_replay_begins_where_its_seed_says(played):
    env, replay = played
    begun = replay.begin()
    env = env.clone()
    env.reset(seed=77)
    assert begun.tobytes() == env.states.tobytes()
    for _ in replay.steps(begun):
        pass
    assert begun.tobytes() == replay.play().tobytes()


def test_an_unfinished_game_is_a_replay(played):
    _, replay = played
    for length in (0, 1, 2):
        data = data_of(replay)
        beginning = Replay.from_json(sealed({**data, "actions": data["actions"][:length]}))
        assert len(list(beginning.steps())) == max(0, length - 1)
        assert beginning.play()["steps"][0] == max(0, length - 1)


def test_a_redraw_after_the_end_is_replayed(played):
    """There are games in which cards stay hidden to the end."""
    env = played[0].clone()
    for seed in range(4):
        env.determinize("player_0", seed)
    replay = Replay.of(env)
    assert replay.actions[-4:] == tuple(Redraw(0, seed) for seed in range(4))
    assert replay.play().tobytes() == env.states.tobytes()


def test_numbers_of_numpy_can_be_saved(played):
    game = played[0].game
    options = {
        name: np.int64(value) if type(value) is int else value
        for name, value in {"max_steps": 50, **own_options(game)}.items()
    }
    env = module_of(game).env(num_players=np.int64(game.min_players), **options)
    env.reset(seed=np.uint64(2**64 - 1))
    env.determinize("player_0", np.int64(3))
    env.step(np.int64(env.legal_actions()[0]))
    replay = Replay.of(env)
    assert data_of(replay)["seed"] == 2**64 - 1
    assert Replay.from_json(replay.to_json()) == replay
    given = {"num_players": game.min_players, **env.options, "max_steps": np.int64(50)}
    made = Replay(game.name, "1", given, 3, ())
    assert type(made.options["max_steps"]) is int
    assert list(made.options) == list(given)
    assert Replay.from_json(made.to_json()) == made


ABSENT = object()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": ABSENT}, f"an earlier one, without a format; this release reads '{FORMAT}'"),
        ({"format": None}, f"is None; this release reads '{FORMAT}'"),
        ({"format": "card_envs game 2"}, f"is 'card_envs game 2'; this release reads '{FORMAT}'"),
        ({"game": "chess_v0"}, "no game 'chess_v0'"),
        ({"game": "GAME_v99"}, "no game 'GAME_v99'"),
        ({"game": "GAME"}, r"a versioned name such as GAME_v\d+, got GAME"),
        ({"game": ["GAME_v0"]}, "game must be a string, got"),
        ({"game": ABSENT}, "'game' is missing"),
        ({"version": ABSENT}, "'version' is missing"),
        ({"version": 1}, "version must be a string"),
        ({"version": "1\x1b[2J"}, r"version must be that of a release, got '1\\x1b\[2J'"),
        ({"code": "import os"}, "'code' is unknown"),
        ({"checksum": ABSENT}, "'checksum' is missing"),
        ({"options": ABSENT}, "'options' is missing"),
        ({"options": []}, "options must map names to values"),
        ({"options": {"num_players": 3}}, "'reward' is missing"),
        ({"options.num_players": 99}, r"is for \d to \d players"),
        ({"options.num_players": "3"}, "num_players must be a whole number, got '3'"),
        ({"options.num_players": True}, "num_players must be a whole number, got True"),
        ({"options.num_players": ABSENT}, "'num_players' is missing"),
        ({"options.max_steps": 0}, "max_steps must be"),
        ({"options.max_steps": 1.0}, "max_steps must be"),
        ({"options.max_steps": ABSENT}, "'max_steps' is missing"),
        ({"options.reward": "all"}, "reward must be"),
        ({"options.reward": ["rank"]}, "reward must be"),
        ({"options.colour": "red"}, "'colour' is unknown"),
        ({"options.memory": "none"}, "'memory' is unknown"),
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
        ({"actions": [-1]}, r"actions\[0\] is -1; legal actions there:"),
        ({"actions": [10**30]}, r"actions\[0\] is 10+; legal actions there:"),
        ({"actions": [{"determinize": [0]}]}, r"actions\[0\] must be a whole number or"),
        ({"actions": [{"determinize": [99, 1]}]}, r"actions\[0\]: the player must be from 0 to"),
        ({"actions": [{"determinize": [0, -1]}]}, r"actions\[0\]: the seed must be from 0 to"),
    ],
)
def test_a_malformed_replay_is_refused(played, change, message):
    env, replay = played

    def named(value):
        if isinstance(value, list):
            return [named(entry) for entry in value]
        return value.replace("GAME", env.game.id) if isinstance(value, str) else value

    data = data_of(replay)
    for key, value in change.items():
        target = data
        if key.startswith("options."):
            target, key = data["options"], key.removeprefix("options.")
        if value is ABSENT:
            del target[key]
        else:
            target[key] = named(value)
    with pytest.raises(ValueError, match=named(message)):
        Replay.from_json(sealed(data))


def test_the_games_own_options_are_checked(played):
    env, replay = played
    data = data_of(replay)
    for option in env.game.own_options:
        for wrong in (None, 1.0, "wrong", [], 10**30) if option.default is not None else ("wrong",):
            options = {**data["options"], option.name: wrong}
            with pytest.raises(ValueError, match=f"{option.name} must be"):
                Replay.from_json(sealed({**data, "options": options}))
        options = {key: value for key, value in data["options"].items() if key != option.name}
        with pytest.raises(ValueError, match=f"'{option.name}' is missing"):
            Replay.from_json(sealed({**data, "options": options}))


def test_values_are_checked_however_a_replay_is_made(played):
    env, replay = played
    values = {
        "game": env.game.name,
        "version": "0",
        "options": dict(replay.options),
        "seed": 1,
        "actions": (),
    }
    assert not Replay(**values).play()["terminated"]
    # Numbers of NumPy are those of Python.
    players = np.int64(values["options"]["num_players"])
    options = {**values["options"], "num_players": players}
    entries = (Redraw(np.int8(0), np.uint64(5)), np.int64(3))
    own = Replay(**{**values, "seed": np.int64(1), "options": options, "actions": entries})
    plain = Replay(**{**values, "actions": (Redraw(0, 5), 3)})
    assert own == plain
    assert own.to_json() == plain.to_json()
    for name, wrong in (
        ("game", 5),
        ("game", env.game.id),
        ("version", None),
        ("options", {}),
        ("seed", 1.0),
        ("seed", True),
        ("actions", (0.5,)),
        ("actions", (Redraw(99, 0),)),
    ):
        with pytest.raises(ValueError, match=r"game|version|options|seed|actions"):
            Replay(**{**values, name: wrong})


def test_an_illegal_action_is_refused_and_named(played):
    env, replay = played
    steps = replayed(replay)
    next(steps)
    now, _ = next(steps)
    illegal = sorted(set(range(env.game.num_actions)) - set(now.legal_actions()))[:1]
    first = data_of(replay)["actions"][:2]
    for wrong in (*illegal, env.game.num_actions):
        data = {**data_of(replay), "actions": [*first, wrong]}
        with pytest.raises(ValueError, match=rf"actions\[2\] is {wrong}; legal actions there:"):
            Replay.from_json(sealed(data))


def test_an_action_after_the_end_is_refused(played, tmp_path):
    data = data_of(played[1])
    data["actions"].append(data["actions"][1])
    message = rf"actions\[{len(data['actions']) - 1}\] comes after the end"
    with pytest.raises(ValueError, match=message):
        Replay.from_json(sealed(data))
    path = tmp_path / "late.json"
    path.write_text(sealed(data), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"late\.json.*{message}"):
        Replay.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not: "),
        ("{", "not: "),
        ("__import__('os')", "not: "),
        ("[" * 100_000, "not: "),
        ("[1]", "JSON object, got list"),
        ("null", "JSON object, got NoneType"),
        ("5", "JSON object, got int"),
        ('{"seed": 1, "seed": 2}', "twice"),
    ],
)
def test_what_is_no_replay_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Replay.from_json(text)


def test_a_wrong_file_is_named(tmp_path):
    path = tmp_path / "wrong.json"
    for content in (b"\xff\xfe\x00", b"", b"card_envs save 1\n", b"{}"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"wrong\.json: "):
            Replay.load(path)
    with pytest.raises(FileNotFoundError):
        Replay.load(tmp_path / "none.json")
