"""Games that outlive the server, and the agents and the guide that it offers."""

from __future__ import annotations

import errno
import gc
import hashlib
import json
import os
import weakref

import pytest
from helpers import ALL_GAMES, EACH_GAME, FEW_GAMES, network_of
from visitor import begin, talk, wanted

from card_envs.agents.network import write_policy
from card_envs.agents.table import Table
from card_envs.engine.history import Replay
from card_envs.games import load_game
from card_envs.web.agents import AgentMenu, policy_left_by
from card_envs.web.kept import KeptTables
from card_envs.web.table import ViewedTable

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
GAME = ALL_GAMES[0]


def file_of(name):
    """The name of the file of a table, which does not tell the table's."""
    return f"{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}.json"


def _play(talking, state, turns):
    for _ in range(turns):
        state = talking.turn(state)
        if state["is_over"]:
            return state
        action = state["legal"][0]["action"]
        state = talking.ask("act", "state", step=state["steps"], action=action)
    return talking.turn(state)


@few_games
def test_a_game_goes_on_when_the_server_has_been_started_again(visit, tmp_path, game):
    client = visit(kept=tmp_path)
    name = begin(client, wanted(game, practice=True))
    with talk(client, name) as talking:
        state = _play(talking, talking.hear("welcome")["state"], 3)
        if state["can_undo"]:
            state = talking.turn(talking.ask("undo", "state", step=state["steps"]))
        # A message is answered when what came before it has been written down.
        talking.ask("look", "frame", step=state["steps"], eyes=0)
    with talk(visit(kept=tmp_path), name) as talking:
        welcome = talking.hear("welcome")
        assert {**welcome["state"], "was_undone": state["was_undone"]} == state
        assert welcome["practice"]
        assert welcome["agents"][1:] == ["random"] * (len(welcome["agents"]) - 1)
        _play(talking, welcome["state"], 1)


def test_what_is_kept_is_the_users_alone_and_goes_when_the_game_is_over(visit, tmp_path):
    folder = tmp_path / "tables"
    client = visit(kept=folder)
    name = begin(client, wanted(GAME, options={"max_steps": 8}))
    with talk(client, name) as talking:
        state = talking.turn(talking.hear("welcome")["state"])
        talking.ask("look", "frame", step=state["steps"], eyes=0)
        assert [path.name for path in folder.iterdir()] == [file_of(name)]
        if os.name == "posix":
            assert folder.stat().st_mode & 0o077 == 0
            assert (folder / file_of(name)).stat().st_mode & 0o077 == 0
        state = _play(talking, state, 8)
        assert state["is_over"]
        talking.ask("look", "frame", step=state["steps"], eyes=0)
    assert not list(folder.iterdir())


def test_the_oldest_games_go_and_what_others_are_writing_does_not_count(tmp_path):
    """A file may be gone between the listing and the look at its age."""
    played = Table(GAME.id, ["random"] * GAME.default_players, seed=1)
    table = ViewedTable.of_replay(Replay.of(played), kind="play")
    writing = tmp_path / f".{file_of('z' * 22)}.0123abcd.json"
    writing.symlink_to(tmp_path / "nothing")
    (tmp_path / file_of("y" * 22)).symlink_to(tmp_path / "nothing")
    kept = KeptTables(tmp_path, 2)
    for k, letter in enumerate("abc"):
        kept.keep(letter * 22, table)
        os.utime(tmp_path / file_of(letter * 22), (k + 1, k + 1))
    there = {file_of("b" * 22), file_of("c" * 22), writing.name}
    assert {path.name for path in tmp_path.iterdir()} == there
    assert writing.is_symlink()


def test_a_game_goes_on_where_it_cannot_be_written_down_and_the_server_says_so(
    visit, tmp_path, monkeypatch, caplog
):
    def is_full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(KeptTables, "keep", is_full)
    client = visit(kept=tmp_path)
    with talk(client, begin(client, wanted(GAME))) as talking:
        _play(talking, talking.hear("welcome")["state"], 2)
    assert "games cannot be written down, and end with the server: [Errno 28]" in caplog.text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["..%2Fsecret", "a" * 22])
def test_what_was_not_kept_is_gone(visit, tmp_path, name):
    (tmp_path / "secret.json").write_text("{}")
    answer = visit(kept=tmp_path / "tables").get(f"/api/tables/{name}/replay")
    assert answer.status_code == 404


@pytest.mark.parametrize("fault", ["damaged", "unreadable"])
def test_a_kept_game_that_cannot_be_read_is_not_gone(visit, tmp_path, monkeypatch, caplog, fault):
    """The page remembers it, the server's log says why, and the file stays as it is."""
    from starlette.websockets import WebSocketDisconnect

    def fail(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    name = "x" * 22
    path = tmp_path / file_of(name)
    path.write_text("{}")
    if fault == "unreadable":
        monkeypatch.setattr("card_envs.web.kept.read_regular", fail)
    with pytest.raises(WebSocketDisconnect) as closed, talk(visit(kept=tmp_path), name) as talking:
        talking.hear("welcome")
    assert closed.value.code == 4503
    assert closed.value.reason.startswith("the game is kept, but its file cannot be read")
    assert f"the kept game {name} cannot be read: " in caplog.text
    assert {"damaged": "replay", "unreadable": "Too many open files"}[fault] in caplog.text
    assert path.read_text() == "{}"


@pytest.mark.parametrize(
    "change",
    [{"seat": 99}, {"seat": -1}, {"labels": None}, {"labels": ["random"] * GAME.default_players}],
)
def test_a_kept_game_of_other_seats_is_damaged(visit, tmp_path, change):
    client = visit(kept=tmp_path)
    name = begin(client, wanted(GAME))
    with talk(client, name) as talking:
        state = talking.turn(talking.hear("welcome")["state"])
        talking.ask("look", "frame", step=state["steps"], eyes=0)
    path = tmp_path / file_of(name)
    data = json.loads(path.read_text())
    change = {"labels": [None] * len(data["labels"])} if change == {"labels": None} else change
    path.write_text(json.dumps({**data, **change}))
    with pytest.raises(ValueError, match="a person at one seat is needed"):
        KeptTables(tmp_path, 2).restore(name, AgentMenu([load_game(GAME.id)]))


def test_a_kept_game_waits_for_its_agents_and_for_room(visit, tmp_path):
    """A page is refused for now (4503), and does not forget it as one that is gone (4404)."""
    from starlette.websockets import WebSocketDisconnect

    from card_envs.web.sessions import Limits

    policies, kept = tmp_path / "policies", tmp_path / "kept"
    policies.mkdir()
    write_policy(policies / "mine.safetensors", network_of(GAME), GAME)
    name = begin(
        client := visit(kept=kept, policies=policies),
        wanted(GAME, GAME.default_players - 1, "mine"),
    )
    with talk(client, name) as talking:
        state = talking.turn(talking.hear("welcome")["state"])
        talking.ask("look", "frame", step=state["steps"], eyes=0)
    full = visit(kept=kept, policies=policies, limits=Limits(tables=1))
    with talk(full, begin(full, wanted(GAME, None))) as other:
        other.hear("welcome")
        for client, reason in (
            (visit(kept=kept), "the game is kept, but an agent that sits at it is not offered"),
            (full, "there are 1 tables already"),
        ):
            with pytest.raises(WebSocketDisconnect) as closed, talk(client, name) as talking:
                talking.hear("welcome")
            assert (closed.value.code, closed.value.reason[: len(reason)]) == (4503, reason)
    with talk(visit(kept=kept, policies=policies), name) as talking:
        assert talking.hear("welcome")["state"]["steps"] == state["steps"]


def test_pages_of_a_table_that_was_forgotten_and_restored_meet_at_one(visit, tmp_path, monkeypatch):
    from starlette.websockets import WebSocketDisconnect

    from card_envs.web.sessions import Tables

    now = [0.0]
    monkeypatch.setattr("card_envs.web.app.Tables", lambda limits: Tables(limits, lambda: now[0]))
    client = visit(kept=tmp_path)
    name = begin(client, wanted(GAME))
    with talk(client, name) as old:
        state = old.turn(old.hear("welcome")["state"])
        old.ask("look", "frame", step=state["steps"], eyes=0)
        now[0] = 1e6
        with talk(client, name) as new:
            new.hear("welcome")
            with pytest.raises(WebSocketDisconnect) as closed:
                old.ask("look", "frame", step=state["steps"], eyes=0)
            assert closed.value.code == 1012  # the page tries again
            assert new.ask("look", "frame", step=state["steps"], eyes=0)


def test_only_the_newest_games_are_kept(visit, tmp_path):
    from card_envs.web.sessions import Limits

    client = visit(kept=tmp_path, limits=Limits(tables=2))
    for number in range(3):
        if number == 2:
            client = visit(kept=tmp_path, limits=Limits(tables=2))
        with talk(client, begin(client, wanted(GAME))) as talking:
            state = talking.turn(talking.hear("welcome")["state"])
            talking.ask("look", "frame", step=state["steps"], eyes=0)
    assert len(list(tmp_path.iterdir())) == 2


@each_game
def test_the_guide_of_a_game_is_given(client, game):
    answer = client.get(f"/api/games/{game.id}/guide")
    assert answer.status_code == 200
    assert answer.text.startswith(f"# {game.title}")
    assert client.get("/api/games/nothing/guide").status_code == 422


def test_the_policy_of_a_run_is_an_agent(tmp_path):
    from card_envs.agents import policy_path

    game = load_game(GAME.id)
    shipped = policy_path("ppo", game)
    run = tmp_path / "runs" / "group" / "demo"
    run.mkdir(parents=True)
    menu = AgentMenu([game], runs=tmp_path / "runs")
    with pytest.raises(ValueError, match="no agent 'run:group/demo'"):
        menu.make("run:group/demo", game)
    for path in (shipped, shipped.with_suffix(".json")):
        (run / path.name).write_bytes(path.read_bytes())
    assert policy_left_by(run) is None  # it has no configuration
    (run / "config.yaml").write_text("name: ppo\n")
    assert policy_left_by(run) == run / shipped.name
    first = menu.make("run:group/demo", game)
    assert first.name == "run:group/demo"
    assert menu.make("run:group/demo", game) is menu.adviser("run:group/demo", game) is first
    os.utime(run / shipped.name, (1, 1))  # it was written again
    assert menu.make("run:group/demo", game) is menu.adviser("run:group/demo", game) is not first
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None  # checkpoints of a long run do not fill the memory
    (run / shipped.name).write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"^the agent 'run:group/demo' cannot be loaded any more$"):
        menu.make("run:group/demo", game)
    (run / shipped.name).write_bytes(shipped.read_bytes())
    (tmp_path / "demo").symlink_to(run)
    for label in ("run:../demo", "run:", "run:/", "run:group//demo", f"run:{run}"):
        with pytest.raises(ValueError, match="no agent"):
            menu.make(label, game)


def replayed(client, table):
    """The id of a table that shows the replay of another one."""
    replay = client.get(f"/api/tables/{table}/replay").text
    return client.post("/api/replays", json={"replay": replay}).json()["table"]


def test_rounds_begin_where_the_scene_has_new_results(visit):
    client = visit(is_open=True)
    table = begin(client, wanted(GAME, seat=None))
    with talk(client, table) as talking:
        state = talking.hear("welcome")["state"]
        titles = {}
        while not state["is_over"]:
            titles.setdefault(state["frame"]["scene"]["title"], state["steps"])
            state = talking.ask("advance", "state", step=state["steps"])
            if state["steps"] % 20 == 0:  # what is known by then is not looked for again
                talking.ask("find_rounds", "rounds")
        starts = talking.ask("find_rounds", "rounds")["starts"]
        with talk(client, replayed(client, table)) as other:
            other.hear("welcome")
            assert other.ask("find_rounds", "rounds")["starts"] == starts
    assert starts
    assert {start["title"]: start["step"] for start in starts}.items() <= titles.items()
