"""Verifiers: its command against an endpoint of our own, and what a table makes of replies."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import verifiers
import verifiers.v1 as vf
from helpers import ALL_GAMES, kit_of
from integrations.endpoint import legal_answer, serve_model
from integrations.pages import PAGES, run_page
from verifiers.v1.types import AssistantMessage
from verifiers.v1.utils.loaders import load_environment, resolve_env_config

from card_envs.evaluation import deal_seeds
from card_envs.text.seat import TextSeatEnv
from card_envs.utils.extras import MissingExtraError

GAME = ALL_GAMES[0]
OPTIONS = kit_of(GAME).short_options
TASKS = {"game": GAME.id, "num_players": 3, "opponents": "random", "options": OPTIONS}


@pytest.fixture(autouse=True)
def card_games(tmp_path, monkeypatch):
    """The module of the page, where verifiers finds it."""
    text = (PAGES / "verifiers.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "card_games.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "card_games", raising=False)
    importlib.invalidate_caches()


def make_table(**tasks):
    return load_environment(resolve_env_config({"taskset": {"id": "card_games", **TASKS, **tasks}}))


class Model:
    """Stands for an agent of verifiers; its replies are those of a function, None: it is cut."""

    def __init__(self, reply, errors=()):
        self.reply = reply
        self.texts = []
        self.rewards = {}
        self.metrics = {}
        self.trace = SimpleNamespace(
            errors=list(errors),
            record_reward=self.rewards.__setitem__,
            record_metrics=self.metrics.update,
        )

    @contextlib.asynccontextmanager
    async def interaction(self, task):
        assert task.data.prompt is None
        yield self

    async def turn(self, text):
        self.texts.append(text)
        reply = self.reply(text)
        if reply is None:
            return vf.Segment(messages=[], terminated=True)
        return vf.Segment(messages=[AssistantMessage(content=reply)])


def play(table, task, reply, errors=()):
    model = Model(reply, errors)
    asyncio.run(table.run(task, SimpleNamespace(player=model)))
    return model


def test_tasks_are_the_deals_of_evaluate_in_every_seat():
    tasks = list(make_table(deals=5, seed=7).taskset)
    assert [(task.data.deal, task.data.seat) for task in tasks] == [
        (deal, seat) for deal in deal_seeds(7, 5).tolist() for seat in range(3)
    ]
    assert len({task.key for task in tasks}) == 15
    assert len(list(make_table(deals=2, num_players=None).taskset)) == 2 * GAME.default_players


def test_a_task_is_the_game_of_the_seat_in_words():
    table = make_table(deals=2)
    for task in table.taskset:
        model = play(table, task, legal_answer)
        env = TextSeatEnv(
            GAME.id, num_players=3, opponents="random", seat=task.data.seat, **OPTIONS
        )
        text, _ = env.reset(seed=task.data.deal)
        over, total, texts = False, 0.0, []
        while not over:
            texts.append(text)
            text, reward, terminated, truncated, _ = env.step(legal_answer(text))
            total += reward
            over = terminated or truncated
        assert model.texts == texts
        assert model.rewards == {"game": total}
        assert model.metrics == {"answers": len(texts), "wrong_answers": 0, "is_over": True}


def test_wrong_answers_are_counted_and_lose():
    table = make_table(deals=2)
    model = play(table, next(iter(table.taskset)), lambda text: "")
    assert "Your answer names no action." in model.texts[1]
    assert model.rewards == {"game": -1}
    assert model.metrics == {"answers": 3, "wrong_answers": 3, "is_over": True}
    table = make_table(deals=2, options={**OPTIONS, "on_illegal": "random", "max_tries": 1})
    model = play(table, next(iter(table.taskset)), lambda text: "[to fly]")
    assert model.metrics["wrong_answers"] == model.metrics["answers"] > 0
    assert -1 <= model.rewards["game"] <= 1


def test_a_game_that_a_limit_ends_is_lost_and_one_with_an_error_has_no_reward():
    table = make_table(deals=2)
    task = next(iter(table.taskset))
    cut = play(table, task, lambda text: None)
    assert cut.rewards == {"game": -1}
    assert cut.metrics == {"answers": 0, "wrong_answers": 0, "is_over": False}
    failed = play(table, task, lambda text: None, errors=["the endpoint is gone"])
    assert failed.rewards == failed.metrics == {}


def test_games_are_played_side_by_side():
    table = make_table(deals=4)
    tasks = list(table.taskset)

    async def play_all():
        models = [Model(legal_answer) for _ in tasks]
        await asyncio.gather(
            *(
                table.run(task, SimpleNamespace(player=model))
                for task, model in zip(tasks, models, strict=True)
            )
        )
        return models

    for task, model in zip(tasks, asyncio.run(play_all()), strict=True):
        assert model.rewards == play(table, task, legal_answer).rewards


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "no_such_game"}, GAME.id),
        ({"num_players": 99}, "num_players"),
        ({"opponents": "no_such_agent"}, "no_such_agent"),
        ({"opponents": ["random"]}, "opponents"),
        ({"options": {"no_such_option": 1}}, "no_such_option"),
        ({"options": {"seat": 1}}, "seat"),
        ({"deals": 0}, "deals"),
        ({"seed": -1}, "seed"),
        ({"no_such_key": 1}, "no_such_key"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_table(**arguments)


@pytest.fixture
def endpoint():
    with serve_model() as address:
        yield address


def evaluate(tmp_path, address, *arguments):
    """Run the page's command for two tasks: the traces."""
    text = (PAGES / "verifiers.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"vf-eval .*?(?=\n```)", text, re.DOTALL)
    command = command.replace("\\\n", " ").replace("http://127.0.0.1:8000/v1", address)
    command = command.replace("--select.limit 30", "--select.limit 2")
    program, *words = command.split()
    done = subprocess.run(
        [
            Path(sys.executable).with_name(program),
            *words,
            "--no-rich",
            "--output-dir",
            tmp_path / "out",
            "--env.taskset.options",
            json.dumps(OPTIONS),
            *arguments,
        ],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = tmp_path.glob("out/*/traces.jsonl")
    episodes = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(episodes) == 2
    return [trace for episode in episodes for trace in episode["traces"]]


def test_the_command_of_the_page(tmp_path, endpoint):
    text = (PAGES / "verifiers.md").read_text(encoding="utf-8")
    assert f"verifiers {verifiers.__version__}" in text
    for trace in evaluate(tmp_path, endpoint):
        assert trace["ok"]
        assert trace["metrics"]["is_over"] == 1
        assert trace["metrics"]["wrong_answers"] == 0
        assert trace["metrics"]["answers"] > 1
        assert -1 <= trace["rewards"]["game"]["score"] <= 1


def test_a_limit_of_the_run_loses_the_game(tmp_path, endpoint):
    for trace in evaluate(tmp_path, endpoint, "--env.player.max-turns", "1"):
        assert trace["ok"]
        assert trace["metrics"] == {"answers": 1, "wrong_answers": 0, "is_over": 0}
        assert trace["rewards"]["game"]["score"] == -1


def test_an_endpoint_that_is_not_there_gives_no_result(tmp_path):
    for trace in evaluate(tmp_path, "http://127.0.0.1:9/v1"):
        assert not trace["ok"]
        assert trace["errors"]
        assert trace["rewards"] == {}


def test_the_page_names_every_key():
    page = run_page("verifiers")
    config = type(make_table().taskset.config)
    text = (PAGES / "verifiers.md").read_text(encoding="utf-8")
    for key in set(config.model_fields) - {"id", "task", "system_prompt"}:
        assert f"| `{key.replace('_', '-')}` |" in text
    assert page["CardTaskset"].__name__ == "CardTaskset"


def test_without_the_tool_the_extra_is_named(monkeypatch):
    name = "card_envs.integrations.verifiers"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "verifiers", None)
    monkeypatch.delitem(sys.modules, "verifiers.v1")
    with pytest.raises(MissingExtraError, match=r"card_envs\[verifiers\]"):
        importlib.import_module(name)
