"""What the server accepts and refuses: schema, mask, limits, origins, labels."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import json
import os
import re
import sys
import threading
from pathlib import Path

import anyio
import numpy as np
import pytest
from helpers import ALL_GAMES, EACH_GAME, FEW_GAMES, kit_of, network_of
from starlette.websockets import WebSocketDisconnect
from visitor import HOST, ORIGIN, begin, talk, wanted

import card_envs
from card_envs.agents import (
    NetworkAgent,
    choose,
    make_agent,
    policy_path,
)
from card_envs.agents.network import write_policy
from card_envs.contract.options import View
from card_envs.envs.aec import CardEnv
from card_envs.render.colours import WHITE, contrast, mixed, player_colour
from card_envs.web.agents import AgentMenu, NoAgentError
from card_envs.web.analysis import advise
from card_envs.web.sessions import Limits, Session, Tables, TooManyError
from card_envs.web.table import ViewedTable

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
GAME = ALL_GAMES[0]
PACKAGE = Path(card_envs.__file__).parent


def refusal(answer, status=422):
    assert answer.status_code == status, answer.text
    return answer.json()["problem"]


# ---------------------------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------------------------


def test_the_page_comes_with_all_that_it_needs_and_asks_no_other_server(client):
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    size = 0
    seen = set()
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = client.get(path)
        assert answer.status_code == 200, path
        size += len(gzip.compress(answer.content))
        if path.endswith(".ttf"):
            continue
        # An SVG's namespace is a name, not an address that is asked for.
        text = answer.text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|<script>|<style|\son\w+=\"|style=\"", text), path
        waiting += re.findall(r'(?:href|src)="(/[^"]*)"', text)
        waiting += re.findall(r'url\("(/[^"]*)"\)', text)
        waiting += [f"/static/{name}" for name in re.findall(r'from "\./([^"]+)"', text)]
    assert {"/static/main.js", "/static/table_page.js", "/fonts/NotoEmoji-Bold.ttf"} <= seen
    files = {path.name for path in (PACKAGE / "web" / "static").iterdir()}
    assert files == {name.rpartition("/")[2] for name in seen if "/static/" in name} | {
        "index.html"
    }
    assert size < 500_000


def test_nothing_inline_and_nothing_from_elsewhere_is_allowed(client):
    for path in ("/", "/api/games", "/static/main.js", "/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert client.get(path).headers["x-content-type-options"] == "nosniff"
        assert client.get(path).headers["cache-control"] == "no-cache"


@each_game
def test_the_page_is_told_of_every_game(client, game):
    about = {entry["id"]: entry for entry in client.get("/api/games").json()["games"]}[game.id]
    assert about["players"]["default"] == game.default_players
    assert [option["name"] for option in about["options"]] == [o.name for o in game.options]
    assert about["agents"] == [*client.app.state.menu.labels(game)]
    assert about["default_agent"] in about["agents"]
    assert set(about["style"]["faces"]) == set(game.style.faces)
    for name, face in about["style"]["faces"].items():
        assert contrast(face["ink"], face["ground"]) >= 4.5
        assert face["label"] == game.style.faces[name].label
    assert contrast(WHITE, mixed(about["style"]["table"], WHITE, 0.18)) >= 4.5
    measured = [result for results in about["strength"].values() for result in results]
    assert {result["opponents"] for result in measured} <= {*about["agents"]}


def test_players_have_the_colours_that_they_have_in_pictures(client):
    told = client.get("/api/games").json()["player_colours"]
    assert len(told) == max(game.max_players for game in ALL_GAMES)
    for player, colours in enumerate(told):
        assert colours["colour"] == player_colour(player)
        assert contrast(colours["ink"], colours["colour"]) >= 4.5


def test_the_page_knows_no_game(client):
    """Its sources name no game, and nothing in them stands for one."""
    words = [game.id for game in ALL_GAMES] + [game.title for game in ALL_GAMES]
    words += ["beaver", "giraffe", "orca", "owl"]
    kinds = (".py", ".js", ".css", ".html")
    sources = [path for path in (PACKAGE / "web").rglob("*.*") if path.suffix in kinds]
    assert {path.suffix for path in sources} == {*kinds}
    for path in sources:
        text = path.read_text(encoding="utf-8").lower()
        assert not [word for word in words if re.search(rf"\b{word.lower()}\b", text)], path


# ---------------------------------------------------------------------------------------------
# Who may ask
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "http://127.0.0.1:9000", "https://localhost", "http://["],
)
def test_changes_are_for_the_servers_own_pages(origin, visit):
    client = visit()
    headers = {} if origin is None else {"origin": origin}
    client.headers.pop("origin")
    problem = refusal(client.post("/api/tables", json=wanted(GAME), headers=headers), 403)
    assert problem == "only this server's own pages may ask for that"
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"ws://{HOST}/tables/x", headers=headers),
    ):
        pass
    assert client.get("/api/games").status_code == 200  # which holds no secrets


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "", "127.0.0.1.nip.io:8000"])
def test_a_name_that_was_made_to_lead_here_is_refused(host, visit):
    client = visit()
    headers = {"host": host, "origin": f"http://{host}"}
    for answer in (
        client.get("/", headers=headers),
        client.post("/api/tables", json=wanted(GAME), headers=headers),
    ):
        assert (
            refusal(answer, 403)
            == "unknown host name; start the server with --name HOST to allow it"
        )


def test_a_server_for_all_addresses_has_addresses_as_names(visit):
    client = visit(host="0.0.0.0")
    for host, status in (("192.0.2.7:8000", 200), ("[2001:db8::1]", 200), ("evil.example", 403)):
        assert client.get("/", headers={"host": host}).status_code == status


def test_a_server_answers_to_the_names_that_it_is_given(visit):
    client = visit(names=("Cards.example.org",))
    for host, status in (("cards.example.org", 200), ("cards.example.org:8443", 200), ("x.y", 403)):
        headers = {"host": host, "origin": f"https://{host}"}
        assert client.get("/", headers=headers).status_code == status
        answer = client.post("/api/tables", json=wanted(GAME), headers=headers)
        assert (answer.status_code == 403) == (status == 403)
    evil = {"host": "cards.example.org", "origin": "https://evil.example"}
    assert client.post("/api/tables", json=wanted(GAME), headers=evil).status_code == 403


# ---------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------

MOST = GAME.max_players


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"game": "chess"}, "there is no game 'chess'"),
        ({"num_players": MOST + 1}, "is for"),
        ({"num_players": "3"}, "num_players: Input should be a valid integer"),
        ({"seat": MOST}, "seat must be from 0 to"),
        ({"seat": -1}, "seat: Input should be greater than or equal to 0"),
        ({"agents": ["random"]}, "agents must be one label for each"),
        ({"agents": None}, "agents: Input should be a valid array"),
        ({"agents": ["random"] * GAME.default_players}, "agents[0] must be a label, or None"),
        ({"options": {"reward": "much"}}, "reward must be"),
        ({"options": {"cheat": True}}, "has no option 'cheat'"),
        ({"options": {"max_steps": 500_000}}, "max_steps must be at most 2000 here"),
        ({"options": {"reward": [1]}}, "options.reward"),
        ({"is_open": True}, "is_open: Extra inputs are not permitted"),
        ({"seed": 1}, "seed: Extra inputs are not permitted"),
    ],
)
def test_a_table_that_cannot_be_is_refused(client, change, problem):
    assert problem in refusal(client.post("/api/tables", json={**wanted(GAME), **change}))


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"game": 1}'])
def test_what_is_no_request_is_refused(client, body):
    refusal(client.post("/api/tables", content=body))
    refusal(client.post("/api/replays", content=body))


def test_agents_are_chosen_by_label_alone(client):
    path = str(policy_path("ppo", GAME))
    NetworkAgent.from_file(path, GAME)  # it is one
    for name in (path, "search:100000", "search:64,threads=2", "../ppo", "cmd:ls", "this:s"):
        request = wanted(GAME, agent=name)
        assert f"there is no agent {name!r}" in refusal(client.post("/api/tables", json=request))
    assert "this" not in sys.modules


@few_games
def test_what_is_not_possible_changes_nothing(client, game):
    table = begin(client, wanted(game, options=kit_of(game).short_options))
    with talk(client, table) as page:
        state = page.turn(page.hear("welcome")["state"])
        step = state["steps"]
        legal = {entry["action"] for entry in state["legal"]}
        illegal = next(a for a in range(game.num_actions + 1) if a not in legal)
        for message, problem in (
            ({"type": "act", "step": step, "action": illegal}, "is not legal here"),
            ({"type": "act", "step": step, "action": -1}, "act.action: Input should be greater"),
            ({"type": "act", "step": step, "action": "0"}, "act.action: Input should be a valid"),
            ({"type": "act", "step": step, "action": True}, "act.action: Input should be a valid"),
            ({"type": "act", "step": step + 1, "action": min(legal)}, "is at decision"),
            ({"type": "act", "step": step, "action": 0, "seed": 1}, "Extra inputs"),
            ({"type": "act"}, "act.step: Field required"),
            ({"type": "cheat"}, "Input tag 'cheat'"),
            ({}, "Unable to extract tag"),
            ({"type": "advance", "step": step}, "no agent is to move"),
            ({"type": "undo", "step": step}, "not a practice table"),
            ({"type": "hint", "step": step, "agent": "random"}, "not a practice table"),
            ({"type": "hint", "step": step, "agent": "nobody"}, "there is no agent 'nobody'"),
            ({"type": "look", "step": 99999, "eyes": 0}, "step must be from 0"),
            ({"type": "look", "step": 0, "eyes": "everybody"}, "look.eyes"),
        ):
            page.socket.send_text(json.dumps(message))
            assert problem in page.hear("problem")["message"]
        for text in ("", "act", "[]", "\x00", "{" * 500):
            page.socket.send_text(text)
            page.hear("problem")
    with talk(client, table) as page:
        assert page.hear("welcome")["state"] == state


def test_a_look_with_eyes_that_are_not_there_is_refused(visit):
    client = visit(is_open=True)
    with talk(client, begin(client, wanted(GAME))) as page:
        page.turn(page.hear("welcome")["state"])
        problem = page.ask("look", "problem", step=0, eyes=GAME.default_players)
        assert "eyes must be a seat from 0 to" in problem["message"]


# ---------------------------------------------------------------------------------------------
# Limits
# ---------------------------------------------------------------------------------------------


def test_tables_are_limited_in_number(visit):
    client = visit(limits=Limits(tables=2))
    tables = [begin(client, wanted(GAME)) for _ in range(2)]
    assert "there are 2 tables already" in refusal(
        client.post("/api/tables", json=wanted(GAME)), 503
    )
    answer = client.post(f"/api/tables/{tables[0]}/again", json={})
    assert "there are 2 tables already" in refusal(answer, 503)


def test_a_game_that_is_over_and_unwatched_makes_room(visit):
    client = visit(limits=Limits(tables=2, decisions=1))
    running, over = (begin(client, wanted(GAME)) for _ in range(2))
    with talk(client, over) as page:
        state = page.turn(page.hear("welcome")["state"])
        if not state["is_over"]:
            state = page.ask("act", "state", step=0, action=state["legal"][0]["action"])
        assert state["is_over"]
        refusal(client.post("/api/tables", json=wanted(GAME)), 503)  # somebody looks at it
        answer = client.get(f"/api/tables/{over}/replay")
        assert answer.headers["cache-control"] == "no-store"
        replay = answer.text
    shown = client.post("/api/replays", json={"replay": replay}).json()["table"]
    refusal(client.get(f"/api/tables/{over}/replay"), 404)
    begin(client, wanted(GAME))
    refusal(client.get(f"/api/tables/{shown}/replay"), 404)
    refusal(client.get(f"/api/tables/{running}/replay"), 403)  # it goes on
    refusal(client.post("/api/tables", json=wanted(GAME)), 503)


class ATable:
    """One that notes that its agents are told that it is forgotten."""

    forgotten = 0

    def break_off(self):
        ATable.forgotten += 1


def test_tables_that_nobody_asks_for_are_forgotten(monkeypatch):
    monkeypatch.setattr(ATable, "forgotten", 0)
    now = [0.0]
    tables = Tables(Limits(tables=2, idle_seconds=10), clock=lambda: now[0])
    first = tables.add(ATable())
    now[0] = 9.0
    second = tables.add(ATable())
    assert tables.get(first) is not None
    now[0] = 19.0
    assert tables.get(first) is not None  # it was asked for at 9
    now[0] = 20.0
    assert tables.get(second) is None
    assert ATable.forgotten == 1
    now[0] = 40.0
    third = tables.add(ATable())
    assert len(tables) == 1
    assert len({first, second, third}) == 3
    assert all(len(name) >= 20 for name in (first, second, third))


def test_a_table_that_no_page_has_come_to_makes_room(monkeypatch):
    monkeypatch.setattr(Session, "is_done", False)
    now = [0.0]
    limits = Limits(tables=2, idle_seconds=100, unjoined_seconds=5)
    tables = Tables(limits, clock=lambda: now[0])
    joined, left = (tables.put(name, ATable()) for name in ("joined", "left"))
    tables.join(joined, "page")
    tables.leave(joined, "page")
    now[0] = 5.0
    with pytest.raises(TooManyError):
        tables.check_room()
    now[0] = 6.0
    tables.add(ATable())
    assert tables.get(left.name) is None
    assert tables.get(joined.name) is not None
    with pytest.raises(TooManyError):
        tables.check_room()


def test_of_the_tables_that_are_over_the_oldest_goes(monkeypatch):
    monkeypatch.setattr(Session, "is_done", True)
    now = [0.0]
    tables = Tables(Limits(tables=2, idle_seconds=100), clock=lambda: now[0])
    names = []
    for now[0] in (1.0, 2.0):
        names.append(tables.add(ATable()))
    tables.add(ATable())
    assert [tables.get(name) is not None for name in names] == [False, True]


def test_a_table_that_is_gone_is_told(visit):
    client = visit(limits=Limits(idle_seconds=0.0))
    table = begin(client, wanted(GAME))
    refusal(client.get(f"/api/tables/{table}/replay"), 404)
    with talk(client, table) as page, pytest.raises(WebSocketDisconnect) as closed:
        page.socket.receive_text()
    assert (closed.value.code, closed.value.reason[:22]) == (4404, "there is no such table")


def test_pages_at_a_table_are_limited(visit):
    client = visit(limits=Limits(pages=1))
    table = begin(client, wanted(GAME))
    with talk(client, table) as page:
        page.hear("welcome")
        with talk(client, table) as other, pytest.raises(WebSocketDisconnect) as closed:
            other.socket.receive_text()
        assert closed.value.reason == "1 pages look at this table already"
    with talk(client, table) as page:
        page.hear("welcome")


def test_a_message_that_is_no_text_ends_the_talk(visit):
    client = visit()
    with talk(client, begin(client, wanted(GAME))) as page:
        page.hear("welcome")
        page.socket.send_bytes(b"{}")
        with pytest.raises(WebSocketDisconnect) as closed:
            page.socket.receive_text()
        assert (closed.value.code, closed.value.reason[:18]) == (1003, "messages are texts")


def test_a_page_is_welcomed_before_it_is_told_what_happens(visit):
    client = visit()
    table = begin(client, wanted(GAME, seat=None))
    with talk(client, table) as watcher:
        step = watcher.hear("welcome")["state"]["steps"]
        for _ in range(20):
            watcher.say("advance", step=step)
            with talk(client, table) as page:
                state = page.hear("welcome")["state"]
                step = watcher.hear("state")["steps"]
                if state["steps"] < step:
                    assert page.hear("state")["steps"] == step


def test_requests_and_replays_are_limited_in_size(visit):
    client = visit(limits=Limits(request_bytes=2000, replayed=3))
    big = {"replay": "x" * 3000}
    assert refusal(client.post("/api/replays", json=big), 413) == "the request is too large"
    replay = replay_of(visit)
    assert "a replay has at most 3 decisions" in refusal(
        client.post("/api/replays", json={"replay": replay})
    )


def test_all_pages_of_a_table_are_told_the_same(visit):
    client = visit()
    table = begin(client, wanted(GAME))
    with talk(client, table) as one, talk(client, table) as two:
        state = one.turn(one.hear("welcome")["state"])
        assert two.hear("welcome")["state"] == state
        action = state["legal"][0]["action"]
        one.say("act", step=state["steps"], action=action)
        after = one.turn(one.hear("state"))
        assert two.turn(two.hear("state")) == after


def scope_of(table):
    """What the application is called with for a page's talk."""
    return {
        "type": "websocket",
        "path": f"/tables/{table}",
        "raw_path": f"/tables/{table}".encode(),
        "headers": [(b"host", HOST.encode()), (b"origin", ORIGIN["origin"].encode())],
        "query_string": b"",
        "root_path": "",
    }


def test_a_page_that_goes_while_agents_play_is_no_error(visit):
    """Its talk ends quietly, and the game goes on without it."""
    client = visit()
    is_agents_turn = False
    while not is_agents_turn:
        table = begin(client, wanted(GAME, seat=1))
        came, told = ["connect", "disconnect"], []

        async def receive(came=came):
            return {"type": f"websocket.{came.pop(0)}", "code": 1001}

        async def send(message, told=told):
            told.append(json.loads(message.get("text", "{}")).get("type", "accept"))
            if told[-1] == "state":
                raise OSError("the page has gone")

        anyio.run(client.app, scope_of(table), receive, send)
        is_agents_turn = "state" in told
    assert told[:2] == ["accept", "welcome"]
    with talk(client, table) as page:
        assert page.hear("welcome")["state"]["legal"]


@pytest.mark.parametrize("seat", [None, GAME.default_players - 1])
def test_a_page_is_heard_while_an_agent_thinks(visit, monkeypatch, seat):
    """Else what answers the server's pings waits behind its messages, and the page is cut off."""
    client = visit()
    table = begin(client, wanted(GAME, seat=seat))
    said = [{"type": "advance", "step": 0}] * (seat is None)
    said.append({"type": "look", "step": 0, "eyes": 0})
    came = [{"type": "websocket.connect"}] + [
        {"type": "websocket.receive", "text": json.dumps(message)} for message in said
    ]
    is_heard, told = threading.Event(), []
    let_agent_act = ViewedTable.let_agent_act

    async def receive():
        if came:
            return came.pop(0)
        is_heard.set()
        return {"type": "websocket.disconnect", "code": 1001}

    async def send(message):
        told.append(json.loads(message.get("text", "{}")).get("type", "accept"))

    def think(table):
        assert is_heard.wait(30)
        return let_agent_act(table)

    monkeypatch.setattr(ViewedTable, "let_agent_act", think)
    anyio.run(client.app, scope_of(table), receive, send)
    assert told[:3] == ["accept", "welcome", "state"]
    assert told[-1] == "frame"


def test_an_agents_move_is_whole_even_if_its_page_is_cut_off(visit, monkeypatch):
    """Else another page's talk might let an agent move meanwhile."""
    client = visit()
    table = begin(client, wanted(GAME, seat=None))
    came = [
        {"type": "websocket.connect"},
        {"type": "websocket.receive", "text": json.dumps({"type": "advance", "step": 0})},
    ]
    events, release = [], threading.Event()
    let_agent_act = ViewedTable.let_agent_act

    async def receive():
        if not came:
            await anyio.sleep(60)
        return came.pop(0)

    async def send(message):
        events.append(json.loads(message.get("text", "{}")).get("type", "accept"))

    def think(table):
        events.append("thinks")
        assert release.wait(30)
        events.append("has thought")
        return let_agent_act(table)

    async def cut_off():
        async with anyio.create_task_group() as tasks:

            async def look_on():
                try:
                    await client.app(scope_of(table), receive, send)
                finally:
                    events.append("gone")

            tasks.start_soon(look_on)
            while "thinks" not in events:
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
            threading.Timer(0.3, release.set).start()

    monkeypatch.setattr(ViewedTable, "let_agent_act", think)
    anyio.run(cut_off)
    assert events == ["accept", "welcome", "thinks", "has thought", "state", "gone"]


def test_two_pages_may_ask_for_the_same_move(visit):
    client = visit()
    table = begin(client, wanted(GAME, seat=None))
    with talk(client, table) as one, talk(client, table) as two:
        assert one.hear("welcome")["state"]["steps"] == two.hear("welcome")["state"]["steps"] == 0
        assert one.ask("advance", "state", step=0)["steps"] == two.hear("state")["steps"] == 1
        two.say("advance", step=0)  # it had not heard of it
        assert two.ask("advance", "state", step=1)["steps"] == one.hear("state")["steps"] == 2
        assert "not 5" in one.ask("advance", "problem", step=5)["message"]


def test_a_page_that_takes_no_message_is_cut_off(visit, monkeypatch):
    """It is welcomed when it tries again; nobody waits for it twice."""
    monkeypatch.setattr("card_envs.web.app._SLOW_PAGE", 0.05)
    client = visit()
    last = GAME.default_players - 1
    table = begin(client, wanted(GAME, seat=last))
    came, told = ["connect"], []

    async def receive():
        if not came:
            await anyio.sleep(60)
        return {"type": f"websocket.{came.pop(0)}"}

    async def send(message):
        told.append(json.loads(message.get("text", "{}")).get("type", "accept"))
        if told[-1] == "state":
            await anyio.sleep(60)

    async def look_on():
        with anyio.fail_after(30):
            await client.app(scope_of(table), receive, send)

    anyio.run(look_on)
    assert told == ["accept", "welcome", "state"]
    with talk(client, table) as page:
        assert page.turn(page.hear("welcome")["state"])["legal"]


# ---------------------------------------------------------------------------------------------
# Open tables, links and replays
# ---------------------------------------------------------------------------------------------


def replay_of(visit):
    """The replay of an open table after some decisions."""
    open_client = visit(is_open=True)
    table = begin(open_client, wanted(GAME))
    with talk(open_client, table) as page:
        state = page.turn(page.hear("welcome")["state"])
        for _ in range(3):
            action = state["legal"][0]["action"]
            state = page.turn(page.ask("act", "state", step=state["steps"], action=action))
    return open_client.get(f"/api/tables/{table}/replay").text


def test_an_open_table_says_so_and_shows_everything(visit):
    client = visit(is_open=True)
    assert client.get("/api/games").json()["is_open"]
    table = begin(client, wanted(GAME, options=kit_of(GAME).short_options))
    with talk(client, table) as page:
        welcome = page.hear("welcome")
        assert welcome["is_open"]
        assert welcome["state"]["is_revealed"]
        state = page.turn(welcome["state"])
        for _ in range(4):  # so that others have had turns
            page.say("act", step=state["steps"], action=state["legal"][0]["action"])
            state = page.turn(page.hear("state"))
        frames = [
            page.ask("look", "frame", step=step, eyes="all") for step in range(state["steps"] + 1)
        ]
        assert {frame["scene"]["observer"] for frame in frames} == {0}
        assert {frame["decision"]["player"] for frame in frames if frame["decision"]} > {0}
        past = page.ask("look", "frame", step=0, eyes="mover")
        assert past["decision"]["player"] == past["scene"]["observer"]
        advice = page.ask("analyse", "advice", step=0, agent="ppo")
        shares = [opinion["probability"] for opinion in advice["opinions"]]
        assert 0.99 < sum(shares) < 1.01 or advice["others"]
        found = page.ask("find_disputes", "disputes", agent="heuristic")
        while found["done"] < found["total"]:
            found = page.hear("disputes")
        assert found["total"] == state["steps"]
        assert all(dispute["step"] < state["steps"] for dispute in found["disputes"])
        assert (
            "no agent 'nobody'" in page.ask("find_disputes", "problem", agent="nobody")["message"]
        )


def test_a_link_holds_a_position_that_others_can_open(client, visit):
    text = replay_of(visit)
    answer = client.post("/api/replays", json={"replay": text})
    with talk(client, answer.json()["table"]) as page:
        welcome = page.hear("welcome")
        assert welcome["kind"] == "replay"
        assert welcome["is_open"]
        assert not welcome["state"]["is_over"]
        assert not welcome["state"]["legal"]
        assert len(welcome["moves"]) == welcome["state"]["steps"] > 2
        page.ask("advance", "problem", step=welcome["state"]["steps"])
    table = answer.json()["table"]
    assert json.loads(client.get(f"/api/tables/{table}/replay").text) == json.loads(text)
    assert "nobody plays at this table" in refusal(
        client.post(f"/api/tables/{table}/again", json={})
    )


def test_a_damaged_replay_is_refused(client, visit):
    text = replay_of(visit)
    for damaged in ("", text[:-20], text.replace('"seed": ', '"seed": 1'), "{}"):
        refusal(client.post("/api/replays", json={"replay": damaged}))


@few_games
def test_the_same_deal_can_be_played_again_after_the_end(client, game):
    table = begin(client, wanted(game, options=kit_of(game).short_options))
    frames = []
    for name in (table, None):
        name = name or client.post(f"/api/tables/{table}/again", json={"same_deal": True}).json()
        name = name if isinstance(name, str) else name["table"]
        with talk(client, name) as page:
            state = page.hear("welcome")["state"]
            frames.append(state["frame"] if not state["steps"] else None)
            state = page.turn(state)
            while name == table and not state["is_over"]:
                action = state["legal"][0]["action"]
                state = page.turn(page.ask("act", "state", step=state["steps"], action=action))
    assert frames[0] == frames[1]
    again = client.post(f"/api/tables/{table}/again", json={}).json()["table"]
    assert again != table
    assert client.get(f"/api/tables/{again}/replay").status_code == 403


# ---------------------------------------------------------------------------------------------
# Agents of the command line
# ---------------------------------------------------------------------------------------------


def test_policy_files_of_a_folder_are_offered_by_their_path_in_it(tmp_path, visit):
    policy = make_agent("ppo", GAME)
    (tmp_path / "mine").mkdir()
    write_policy(tmp_path / "mine" / "strong.safetensors", policy.network, GAME, View())
    (tmp_path / "checkpoint.safetensors").write_bytes(b"something else")
    client = visit(policies=tmp_path)
    for about in client.get("/api/games").json()["games"]:
        assert ("mine/strong" in about["agents"]) == (about["id"] == GAME.id)
        assert "checkpoint" not in about["agents"]
        assert not any(str(tmp_path) in label for label in about["agents"])
    with talk(client, begin(client, wanted(GAME, agent="mine/strong"))) as page:
        assert page.hear("welcome")["agents"][1] == "mine/strong"


def test_a_policy_file_replaces_no_agent_of_its_label(tmp_path):
    folder = tmp_path / "mine"
    (folder / "mine").mkdir(parents=True)
    for number, name in enumerate(("ppo", "random", "mine/ppo", "new")):
        write_policy(folder / f"{name}.safetensors", network_of(GAME, number), GAME)
    menu = AgentMenu([GAME], folder)
    own = AgentMenu([GAME]).labels(GAME)
    files = ["mine/ppo", "mine/mine/ppo", "mine/random", "new"]
    assert sorted(menu.labels(GAME)) == sorted(own + files)
    (shipped, _), *_ = make_agent("ppo", GAME).network.layers
    (offered, _), *_ = menu.make("ppo", GAME).network.layers
    assert np.array_equal(offered, shipped)


def test_a_file_that_cannot_be_read_any_more_is_no_agent(monkeypatch):
    def refuse(name, game, seed):
        raise PermissionError(errno.EACCES, "Permission denied", "/a/secret/path")

    menu = AgentMenu([GAME])
    monkeypatch.setattr("card_envs.web.agents.make_agent", refuse)
    with pytest.raises(NoAgentError, match=r"^the agent 'ppo' cannot be loaded any more$"):
        menu.make("ppo", GAME)


def test_a_table_of_an_older_version_can_be_begun(visit, registries):
    newer = dataclasses.replace(GAME, version=GAME.version + 20)
    card_envs.register(newer)
    client = visit()
    offered = client.get("/api/games").json()["games"]
    assert ["ppo" in entry["agents"] for entry in offered if entry["id"] == GAME.id] == [False]
    for game in (GAME, newer):
        begin(client, {**wanted(GAME, agent="random"), "game": game.name})


@pytest.mark.skipif(sys.platform != "linux", reason="file names are any bytes on Linux")
def test_a_policy_file_that_cannot_be_offered_is_left_out_with_a_warning(visit, tmp_path, caplog):
    network, deep = network_of(GAME), Path(*["d" * 100] * 2)
    write_policy(tmp_path / "good.safetensors", network, GAME)
    write_policy(tmp_path / deep / "long.safetensors", network, GAME)
    write_policy(tmp_path / os.fsdecode(b"caf\xe9.safetensors"), network, GAME)
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "zero.safetensors").symlink_to("/dev/zero")
    (tmp_path / "huge.safetensors").touch()
    os.truncate(tmp_path / "huge.safetensors", 1 << 40)
    client = visit(policies=tmp_path)
    about = {entry["id"]: entry for entry in client.get("/api/games").json()["games"]}[GAME.id]
    offered = {*about["agents"]} - {*AgentMenu([GAME]).labels(GAME)}
    assert offered == {"good", "caf�"}
    for label in offered:
        begin(client, wanted(GAME, agent=label))
    for left_out in ("pipe", "zero", "huge", "long"):
        assert f"{left_out} is left out" in caplog.text


def test_a_policy_file_that_cannot_be_read_is_left_out_with_a_warning(
    tmp_path, caplog, monkeypatch
):
    def unreadable(path, framework):  # safetensors says so of a file that may not be opened
        raise FileNotFoundError(f"No such file or directory: {path}")

    write_policy(tmp_path / "mine.safetensors", network_of(GAME), GAME)
    monkeypatch.setattr("card_envs.agents.network.safe_open", unreadable)
    menu = AgentMenu([GAME], policies=tmp_path)
    assert "mine" not in menu.labels(GAME)
    assert "mine is left out: Permission denied" in caplog.text


def test_further_agents_must_be_agents(visit):
    assert "search:12" in visit(agents=["search:12"]).get("/api/games").text
    with pytest.raises(
        ValueError, match="--agent nobody: it fits none of the games: there is no agent"
    ):
        visit(agents=["nobody"])
    with pytest.raises(OSError, match="--policies: there is no folder"):
        visit(policies=Path("/no/such/folder"))


def test_tables_share_a_policy(client):
    menu = client.app.state.menu
    for label in ("ppo", "search:64"):
        assert menu.make(label, GAME, 1) is menu.make(label, GAME, 2)
    assert menu.make("random", GAME, 1) is not menu.make("random", GAME, 1)


def test_a_policy_that_draws_plays_as_make_agent_has_it_and_advises_the_likeliest(tmp_path):
    path = tmp_path / "drawing.safetensors"
    network = network_of(GAME)
    write_policy(path, network, GAME, draws=True)
    menu = AgentMenu([GAME], tmp_path)
    offered = menu.make("drawing", GAME, seed=5)
    named, likeliest = make_agent(str(path), GAME), NetworkAgent(network, "likeliest")
    env = CardEnv(GAME.name, **kit_of(GAME).short_options)
    env.reset(seed=1)
    differs = False
    for step in range(40):
        if not env.legal_actions():
            break
        action = choose(named, GAME, env.states)
        assert choose(offered, GAME, env.states) == action
        best = choose(likeliest, GAME, env.states)
        assert advise(offered, "drawing", GAME, env.states, step).choice == best
        differs |= best != action
        env.step(action)
    assert differs
