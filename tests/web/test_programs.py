"""Programs at tables in the browser: only those that the command line names."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest
from helpers import ALL_GAMES
from visitor import begin, talk, wanted

from card_envs.agents import ProgramAgent, make_agent
from card_envs.engine.table import BaseTable
from card_envs.web.agents import AgentMenu
from card_envs.web.table import ViewedTable
from card_envs.web.workers import Workers

GAME = ALL_GAMES[0]  # where any game will do
PLAYER = Path(__file__).parent.parent / "fixtures" / "programs" / "player.py"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs play on POSIX systems alone")


def program(behaviour, *arguments):
    return f"cmd:{shlex.join([sys.executable, str(PLAYER), behaviour, *map(str, arguments)])}"


def test_a_page_cannot_name_a_program(visit, tmp_path):
    """Neither for a seat nor for advice, whether the server offers another one or not."""
    trace = tmp_path / "trace"
    name = program("log", trace)
    for client in (visit(), visit(agents=[program("first")])):
        answer = client.post("/api/tables", json=wanted(GAME, agent=name[:200]))
        assert answer.status_code == 422
        for other in (
            name[:200],
            "cmd:true",
            "cmd,on_fault=random:true",
            "search:8,policy=cmd:true",
        ):
            answer = client.post("/api/tables", json=wanted(GAME, agent=other))
            assert answer.status_code == 422
            assert "there is no agent" in answer.json()["problem"]
        table = begin(client, wanted(GAME, practice=True))
        with talk(client, table) as page:
            state = page.turn(page.hear("welcome")["state"])
            problem = page.ask("hint", "problem", step=state["steps"], agent="cmd:true")
            assert "there is no agent 'cmd:true'" in problem["message"]
    assert not trace.exists()


def test_a_program_of_the_command_line_plays_at_tables(visit):
    name = program("first")
    client = visit(agents=[name])
    with pytest.raises(ValueError, match="at most 200 characters"):
        visit(agents=[program("first", "x" * 200)])
    games = client.get("/api/games").json()["games"]
    assert all(name in game["agents"] for game in games)
    table = begin(client, wanted(GAME, agent=name, practice=True))
    with talk(client, table) as page:
        state = page.turn(page.hear("welcome")["state"])
        for _ in range(4):
            if state["is_over"]:
                break
            advice = page.ask("hint", "advice", step=state["steps"], agent=name)
            assert advice["choice"] == state["legal"][0]["action"]
            action = state["legal"][0]["action"]
            state = page.turn(page.ask("act", "state", step=state["steps"], action=action))


def test_all_tables_share_one_process():
    name = program("first")
    menu = AgentMenu([GAME], names=[name])
    first, second = (menu.make(name, GAME, seed) for seed in (1, 2))
    assert first is second
    assert isinstance(first, ProgramAgent)


def random_from_now(page, state):
    """The state in which the person is to decide, and the agents that are said to have failed."""
    failed = []
    while not state["legal"]:
        page.heard.append(page.socket.receive_text())
        message = json.loads(page.heard[-1])
        if message["type"] == "problem":
            assert "their actions are random until they answer again" in message["message"]
            failed.append(message["message"].partition(" has failed")[0].rstrip(","))
        else:
            state = message
    assert len(failed) == len(set(failed))
    return state, set(failed)


def test_a_program_that_fails_does_not_end_a_persons_game(visit):
    """The person is told once that decisions are made at random; what it wrote is for the log."""
    name = program("unknown words")
    client = visit(agents=[name])
    last = GAME.default_players - 1
    table = begin(client, wanted(GAME, last, name, practice=True))
    with talk(client, table) as page:
        state, failed = random_from_now(page, page.hear("welcome")["state"])
        assert failed == {f"player {player}, {name}" for player in range(last)}
        for _ in range(2):
            problem = page.ask("hint", "problem", step=state["steps"], agent=name)
            assert problem["message"] == "the agent has failed, as the server's log says"
        assert not any("castle" in text for text in page.heard)


def test_the_game_goes_on_without_an_agent_whose_code_fails(visit, tmp_path, monkeypatch):
    (tmp_path / "failing.py").write_text(
        "from card_envs.agents import Agent\n\n\n"
        "class Failing(Agent):\n"
        "    name = 'failing'\n\n"
        "    def act(self, turn):\n"
        "        return [turn.game.num_actions]\n\n\n"
        "agent = Failing()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    client = visit(agents=["failing:agent"])
    table = begin(client, wanted(GAME, GAME.default_players - 1, "failing:agent"))
    with talk(client, table) as page:
        _, failed = random_from_now(page, page.hear("welcome")["state"])
        assert len(failed) == GAME.default_players - 1
        assert not any(str(GAME.num_actions) in text.split("failing")[-1] for text in page.heard)


def test_after_undo_a_program_is_told_the_game_anew(tmp_path):
    name = program("log", tmp_path / "log")
    menu = AgentMenu([GAME], names=[name])
    n = GAME.min_players
    agents = [menu.make(name, GAME, q) for q in range(1, n)]
    labels = (None, *[name] * (n - 1))
    played = BaseTable(GAME, [None, *agents], seed=1)
    table = ViewedTable(played, "play", 0, labels, practice=True)
    follower = played._following[0][0]._follower
    while not table.is_persons_turn:
        table.let_agent_act()
    before = [list(seat.events) for seat in follower._seats[0].values()]
    numbers = [seat.number for seat in follower._seats[0].values()]
    table.act(table.table.legal_actions()[0])
    while table.waits_for_agent:
        table.let_agent_act()
    assert len(next(iter(follower._seats[0].values())).events) == table.steps
    table.undo(table.steps)
    assert [list(seat.events) for seat in follower._seats[0].values()] == before
    assert not set(numbers) & {seat.number for seat in follower._seats[0].values()}
    for agent in agents:
        agent.close()


def test_a_program_that_thinks_holds_up_no_other_table(visit, monkeypatch):
    """Neither do those that wait for it: each would take a worker from everybody."""
    monkeypatch.setattr("card_envs.web.workers._QUICK", 2)
    name = program("hang").replace("cmd:", "cmd,seconds=1:")
    client = visit(agents=[name])
    last = GAME.default_players - 1
    with ExitStack() as opened:
        for _ in range(4):
            page = opened.enter_context(talk(client, begin(client, wanted(GAME, last, name))))
            page.hear("welcome")
        begun = time.monotonic()
        page = opened.enter_context(talk(client, begin(client, wanted(GAME, last))))
        page.turn(page.hear("welcome")["state"])
        other = begin(client, wanted(GAME, last, name))
        assert client.get(f"/api/tables/{other}/replay").status_code == 403
        assert time.monotonic() - begun < 1.0  # while the first answer is waited for


def test_searches_and_programs_have_workers_of_their_own():
    """In bounded numbers, and what is quick gets through."""
    hanging, search = ProgramAgent(program("first"), GAME), make_agent("search:8", GAME)
    release, running = Event(), []

    def think():
        running.append(1)
        release.wait(10)

    async def main():
        workers = Workers()
        thinking = [
            asyncio.ensure_future(workers.run(think, agent))
            for agent in (hanging, search)
            for _ in range(120)
        ]
        for agent in (None, make_agent("random", GAME), make_agent("heuristic", GAME)):
            await asyncio.wait_for(workers.run(int, agent), 5)
        workers.close()
        release.set()
        await asyncio.wait(thinking)

    asyncio.run(main())
    assert len(running) == 1 + (os.cpu_count() or 1)


def test_a_program_that_cannot_be_started_is_told_and_the_game_goes_on(visit, monkeypatch):
    def refuse(*arguments):
        raise OSError("it cannot be started: Too many open files")

    name = program("first")
    client = visit(agents=[name])
    table = begin(client, wanted(GAME, GAME.default_players - 1, name))
    monkeypatch.setattr("card_envs.agents.programs.agent.Process", refuse)
    with talk(client, table) as page:
        state, failed = random_from_now(page, page.hear("welcome")["state"])
        assert len(failed) == GAME.default_players - 1
        assert state["legal"]
        assert not any("Too many open files" in text for text in page.heard)
