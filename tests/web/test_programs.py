"""Programs at tables in the browser: only those that the command line names."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from helpers import ALL_GAMES
from visitor import begin, talk, wanted

from card_envs.agents import ProgramAgent
from card_envs.web.agents import AgentMenu
from card_envs.web.table import Table

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


def test_a_program_that_fails_does_not_end_a_persons_game(visit):
    name = program("unknown words")
    client = visit(agents=[name])
    table = begin(client, wanted(GAME, agent=name))
    with talk(client, table) as page:
        state = page.turn(page.hear("welcome")["state"])
        assert state["legal"] or state["is_over"]


def test_after_undo_a_program_is_told_the_game_anew(tmp_path):
    name = program("log", tmp_path / "log")
    menu = AgentMenu([GAME], names=[name])
    from card_envs.envs.aec import CardEnv

    n = GAME.min_players
    env = CardEnv(GAME.name, num_players=n, on_illegal="raise")
    env.reset(seed=1)
    agents = {q: menu.make(name, GAME, q) for q in range(1, n)}
    labels = (None, *[name] * (n - 1))
    table = Table(env, "play", 0, agents, labels, practice=True)
    follower = table._followed._followers[0][1]
    while not table.is_persons_turn:
        table.let_agent_act()
    before = [list(seat.events) for seat in follower._seats[0].values()]
    numbers = [seat.number for seat in follower._seats[0].values()]
    table.act(table.env.legal_actions()[0])
    while table.waits_for_agent:
        table.let_agent_act()
    assert len(next(iter(follower._seats[0].values())).events) == table.steps
    table.undo()
    assert [list(seat.events) for seat in follower._seats[0].values()] == before
    assert not set(numbers) & {seat.number for seat in follower._seats[0].values()}
    for agent in agents.values():
        agent.close()
