"""OpenEnv: the code of its page, and games through a real server: rules kept, sessions apart."""

from __future__ import annotations

import contextlib
import copy
import importlib
import subprocess
import sys
import threading
import time
from pathlib import Path

import openenv
import pytest
import requests
import uvicorn
from helpers import ALL_GAMES, FEW_GAMES, kit_of
from integrations.pages import PAGES, run_page
from openenv import GenericEnvClient

from card_envs.integrations.openenv import CardAction, CardEnvironment, CardState, make_app
from card_envs.text.seat import TextSeatEnv
from card_envs.utils.extras import MissingExtraError

GAME = ALL_GAMES[0]
OPTIONS = {"num_players": 3, "opponents": "random", **kit_of(GAME).short_options}


@contextlib.contextmanager
def served(app):
    """The address of a running server."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def address():
    with served(make_app(GAME.id, max_concurrent_envs=3, **OPTIONS)) as address:
        yield address


def connect(address):
    return GenericEnvClient(base_url=address).sync()


def test_the_page():
    page = run_page("openenv")
    assert page["result"].done
    assert page["result"].reward in (-1, -0.5, 0, 0.5, 1)
    assert page["state"]["step_count"] > 3
    text = (PAGES / "openenv.md").read_text(encoding="utf-8")
    assert f"openenv {openenv.__version__}" in text
    assert all(f"`{key}`" in text for key in page["state"])


def test_a_session_is_the_game_of_the_seat_in_words(address):
    env = TextSeatEnv(GAME.id, **OPTIONS)
    with connect(address) as client:
        for seed in (1, 2, None):
            result = client.reset(seed=seed)
            if seed is not None:
                text, info = env.reset(seed=seed)
            else:  # the next game follows from the one before
                text, info = env.reset()
            reward, over = None, False
            while True:
                assert result.observation["text"] == text
                assert result.observation["legal_actions"] == info["legal_actions"]
                assert result.observation["message"] == info["message"]
                assert (result.reward, result.done) == (reward, over)
                if over:
                    break
                answer = f"[{info['legal_actions'][-1]}]"
                result = client.step({"answer": answer})
                text, reward, terminated, truncated, info = env.step(answer)
                over = terminated or truncated


def test_wrong_answers_get_a_message_and_then_end_the_game(address):
    with connect(address) as client:
        start = client.reset(seed=1)
        result = client.step({"answer": "[to fly to the moon]"})
        said = '"to fly to the moon" is none of your legal actions. You have 2 more tries'
        assert result.observation["message"].startswith(said)
        assert result.observation["text"].startswith(said)
        assert result.observation["legal_actions"] == start.observation["legal_actions"]
        assert (result.reward, result.done) == (0, False)
        client.step({"answer": ""})
        result = client.step({"answer": "[9999]"})
        assert (result.reward, result.done) == (-1, True)
        assert client.state()["wrong_answers"] == client.state()["step_count"] == 3


def test_sessions_do_not_know_of_one_another(address):
    def moves(client, seed):
        result = client.reset(seed=seed)
        while not result.done:
            yield result.observation["text"], client.state()["step_count"]
            result = client.step({"answer": f"[{result.observation['legal_actions'][0]}]"})

    with connect(address) as one:
        alone = [list(moves(one, seed)) for seed in (4, 5)]
    with connect(address) as one, connect(address) as other:
        first, second = [], []
        streams = [(moves(one, 4), first), (moves(other, 5), second)]
        while streams:
            for stream, texts in list(streams):
                try:
                    texts.append(next(stream))
                except StopIteration:
                    streams.remove((stream, texts))
    assert [first, second] == alone


def test_there_is_a_limit_to_sessions(address):
    with connect(address) as one, connect(address) as two, connect(address) as three:
        for client in (one, two, three):
            client.reset(seed=1)
        with pytest.raises(RuntimeError, match="CAPACITY_REACHED"), connect(address) as four:
            four.reset(seed=1)


@pytest.mark.parametrize("game", [param for param in FEW_GAMES if not param.marks])
def test_nothing_hidden_is_told(game):
    env = CardEnvironment(game.name, opponents="random", **kit_of(game).short_options)
    changed = 0
    for seed in (1, 2):
        observation = env.reset(seed=seed)
        decisions = 0
        while not observation.done and decisions < 12:
            asked = [copy.deepcopy(env) for _ in range(3)]
            records = [twin._env._games.arena.states for twin in asked]
            for number, states in enumerate(records[1:]):
                game.rules.determinize(states, 0, env.state.seat, number)
            changed += len({states.tobytes() for states in records}) > 1
            told = [twin.step(CardAction(answer="what do I see?")) for twin in asked]
            told = [(seen.model_dump(), twin.state) for seen, twin in zip(told, asked, strict=True)]
            assert told[0] == told[1] == told[2]
            observation = env.step(CardAction(answer=f"[{observation.legal_actions[0]}]"))
            decisions += 1
    assert changed


def test_the_state_does_not_tell_the_seed(address):
    with connect(address) as client:
        assert client.state() == CardState(game=GAME.id).model_dump()
        client.reset(seed=1234567890123, episode_id="mine")
        state = client.state()
    assert state == {
        "episode_id": "mine",
        "step_count": 0,
        "game": GAME.id,
        "num_players": 3,
        "seat": state["seat"],
        "wrong_answers": 0,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"opponents": "cmd:rm"}, "reset takes seed and episode_id, got opponents"),
        ({"num_players": 5, "game": "x"}, "reset takes seed and episode_id, got game, num_players"),
        ({"seed": 2**64}, "seed"),
        ({"seed": "x"}, "Seed must be"),
    ],
)
def test_bad_arguments_of_reset_are_refused(address, arguments, message):
    with connect(address) as client, pytest.raises(RuntimeError, match=message):
        client.reset(**arguments)


def test_bad_steps_are_refused(address):
    with connect(address) as client:
        with pytest.raises(RuntimeError, match=r"reset\(\) needs to be called before step"):
            client.step({"answer": "[0]"})
        client.reset(seed=1)
        for action in ({}, {"answer": 3}, {"answer": "[0]", "more": 1}):
            with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
                client.step(action)
        assert client.state()["step_count"] == 0
        assert not client.step({"answer": "[no such action]"}).done


def test_requests_without_a_session_get_a_clear_answer(address):
    answer = requests.post(f"{address}/step", json={"action": {"answer": "[0]"}}, timeout=60)
    assert answer.status_code == 400
    assert "a POST has no session: play over the WebSocket /ws" in answer.json()["detail"]
    answer = requests.post(f"{address}/reset", json={"num_players": 3}, timeout=60)
    assert (answer.status_code, answer.json()) == (
        400,
        {"detail": "reset takes seed and episode_id, got num_players"},
    )
    answer = requests.post(f"{address}/reset", json={"seed": 1}, timeout=60)
    assert answer.json()["observation"]["text"].startswith(f"You play {GAME.title}")
    assert requests.get(f"{address}/state", timeout=60).json()["seat"] is None
    assert requests.get(f"{address}/metadata", timeout=60).json()["name"] == GAME.id


def test_openenvs_own_check_passes(address):
    program = Path(sys.executable).with_name("openenv")
    done = subprocess.run([program, "validate", address], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verdict: PASS" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "no_such_game"}, GAME.id),
        ({"opponents": "no_such_agent"}, "no_such_agent"),
        ({"num_players": 99}, "num_players"),
        ({"max_concurrent_envs": 0}, "max_concurrent_envs"),
    ],
)
def test_a_server_with_bad_options_does_not_start(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_app(**{"game": GAME.id, **arguments})
    with pytest.raises(TypeError, match="no_such_option"):
        make_app(GAME.id, no_such_option=1)


def test_without_the_tool_the_extra_is_named(monkeypatch):
    name = "card_envs.integrations.openenv"
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "openenv", None)
    with pytest.raises(MissingExtraError, match=r"card_envs\[openenv\]"):
        importlib.import_module(name)
