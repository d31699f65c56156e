"""The command ``card-envs serve``."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import pytest
from helpers import ALL_GAMES, kit_of
from visitor import wanted
from websockets.sync.client import connect

from card_envs.commands.cli import main
from card_envs.games import GAMES

GAME = ALL_GAMES[0]  # where any game will do
PLAYER = Path(__file__).parent.parent / "fixtures" / "programs" / "player.py"

ARGUMENTS = [sys.executable, "-m", "card_envs.commands.cli", "serve", "--port", "0"]


@pytest.fixture
def serve(tmp_path):
    """Begins servers, and ends them as a person at the terminal would."""
    begun = []

    def begin(*arguments, files=None):
        limit = [] if files is None else ["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh"]
        process = subprocess.Popen(
            [*limit, *ARGUMENTS, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        begun.append(process)
        line = process.stdout.readline()
        found = re.search(r"http://\S+/", line)
        assert found, (line, process.stderr.read())
        return process, found[0]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


def test_it_serves_a_page_until_it_is_interrupted(serve):
    foreign = next(game for game in ALL_GAMES if not kit_of(game).is_own)
    process, address = serve("--open", "--games-from", foreign.package)
    assert "Tables are open" in process.stdout.readline()
    with urlopen(address) as answer:
        assert answer.headers["content-type"].startswith("text/html")
    with urlopen(f"{address}api/games", timeout=20) as answer:
        about = json.loads(answer.read())
    assert about["is_open"]
    assert foreign.id in {game["id"] for game in about["games"]}
    request = Request(f"{address}api/tables", b"{}", {"Origin": address[:-1]})
    with pytest.raises(OSError, match="422"):
        urlopen(request)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert "Traceback" not in process.stderr.read()


@pytest.mark.skipif(os.name != "posix", reason="programs play on POSIX systems alone")
def test_it_ends_in_time_whatever_it_waits_for(serve):
    """A program that hangs, a search that takes hours, half a request, and a silent connection."""
    program = f"cmd:{shlex.join([sys.executable, str(PLAYER), 'hang'])}"
    search = "search:1000000"
    process, address = serve("--agent", program, search)
    host, port = address[len("http://") : -1].split(":")
    with ExitStack() as opened:
        for agent in (program, search):
            body = json.dumps(wanted(GAME, seat=GAME.default_players - 1, agent=agent)).encode()
            with urlopen(Request(f"{address}api/tables", body, {"Origin": address[:-1]})) as answer:
                table = json.loads(answer.read())["table"]
            url = f"ws://{host}:{port}/tables/{table}"
            page = opened.enter_context(connect(url, origin=address[:-1]))
            assert json.loads(page.recv(30))["type"] == "welcome"
        opened.enter_context(socket.create_connection((host, int(port))))
        half = opened.enter_context(socket.create_connection((host, int(port))))
        head = f"POST /api/tables HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {address[:-1]}\r\n"
        half.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        with urlopen(address) as answer:
            assert answer.status == 200
        time.sleep(1.0)  # the program has been started, and asked
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 0
    lines = process.stderr.read().splitlines()
    assert not [line for line in lines if not line.startswith("Compiling ")]


def test_a_folder_of_games_that_cannot_be_written_is_refused(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "tables"):
        assert main(["serve", "--port", "0", "--tables", str(folder)]) == 2
        assert f"--tables: {folder} cannot be written: " in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="a limit that POSIX systems have")
def test_idle_connections_use_up_neither_files_nor_the_log(serve):
    process, address = serve(files=160)
    host, port = address[len("http://") : -1].split(":")
    with ExitStack() as opened:
        for _ in range(400):
            opened.enter_context(socket.create_connection((host, int(port))))
        for _ in range(3):
            with urlopen(f"{address}api/games", timeout=20) as answer:
                assert json.loads(answer.read())["games"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert not process.stderr.read()


def frame(opcode, data=b"", fin=True):
    """A frame of a client's, masked with zeros."""
    return bytes([0x80 * fin | opcode, 0x80 | len(data)]) + bytes(4) + data


TEXT, PIECE, PING = 1, 0, 9
LOOK = b'{"type":"look","step":0,"eyes":0}'


@pytest.mark.parametrize("sent", ["pings", "pieces"])
def test_a_page_cannot_fill_the_servers_memory(serve, sent):
    """With answers to pings that it does not read, or with a message that never ends."""
    _, address = serve()
    host, port = address[len("http://") : -1].split(":")
    body = json.dumps(wanted(GAME)).encode()
    with urlopen(Request(f"{address}api/tables", body, {"Origin": address[:-1]})) as answer:
        table = json.loads(answer.read())["table"]
    with socket.create_connection((host, int(port)), timeout=20) as page:
        page.sendall(
            f"GET /tables/{table} HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {address[:-1]}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {'A' * 22}==\r\n\r\n".encode()
        )
        pieces = [LOOK[k : k + 1] for k in range(1, len(LOOK))]
        whole = frame(TEXT, LOOK[:1], fin=False) + b"".join(
            frame(PIECE, piece, fin=piece is pieces[-1]) for piece in pieces
        )
        page.sendall(frame(PING) + whole)
        heard = b""
        while b'"type":"frame"' not in heard:
            heard += (new := page.recv(1 << 16))
            assert new, heard
        assert b'"type":"welcome"' in heard
        many = frame(PING, bytes(125)) * 1000 if sent == "pings" else frame(PIECE) * 100
        if sent == "pieces":
            page.sendall(frame(TEXT, b"a", fin=False))

        def flood():
            for _ in range(400):
                page.sendall(many)
                time.sleep(0.002)

        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            flood()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("", ""),
        ("GET / HT", ""),
        ("GET /static/main.js HTTP/1.1\r\nHost: localhost\r\n\r\nGET", "200"),
        ("POST /api/tables HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
         "Content-Length: 100\r\n\r\n{{", "408"),
    ],
    ids=["nothing", "half a head", "half a second head", "half a body"],
)  # fmt: skip
def test_a_connection_that_stands_still_is_closed(monkeypatch, sent, status):
    from uvicorn import Config

    from card_envs.web import app, server

    monkeypatch.setattr(server, "_MOST_WAITING", 0.2)
    monkeypatch.setattr(app, "_SLOW_REQUEST", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = Config(
            app.create_app(app.Settings()),
            http=server.Connection,
            log_level="error",
            ws=server.Talk,
            timeout_keep_alive=60,
        )
        running = server.Server(config)
        thread = Thread(target=lambda: asyncio.run(running.serve([listener])))
        thread.start()
        address = listener.getsockname()
        with socket.create_connection(address, timeout=10) as client:
            host = "{}:{}".format(*address)
            client.sendall(sent.format(host=host).encode())
            answer = b""
            while data := client.recv(1 << 16):
                answer += data
        running.should_exit = True
        thread.join(10)
    assert not thread.is_alive()
    assert answer.decode().partition("\r\n")[0].split(" ")[1:2] == ([status] if status else [])


def test_the_same_error_is_logged_once_a_minute(monkeypatch):
    from card_envs.web.server import OnceAMinute

    now = [100.0]
    monkeypatch.setattr("card_envs.web.server.time.monotonic", lambda: now[0])
    shown, once = [], OnceAMinute()
    for at, message in [(100, "a\nb"), (101, "a\nc"), (102, "d"), (159, "a"), (161, "a")]:
        now[0] = at
        if once.filter(logging.LogRecord("n", logging.ERROR, "", 0, message, (), None)):
            shown.append((at, message))
    assert shown == [(100, "a\nb"), (102, "d"), (161, "a")]


NOBODY = f"there is no agent 'nobody' for {next(iter(GAMES))}"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--port", "70000"], "--port must be from 0 to 65535, got 70000"),
        (["--agent", "nobody"], f"--agent nobody: it fits none of the games: {NOBODY}"),
        (["--name", "a.org", "b.org:80"], "--name: 'b.org:80' is no host name: it has no scheme"),
        (["--name", "http://a.org"], "--name: 'http://a.org' is no host name"),
        (["--policies", "/no/such/folder"], "--policies: there is no folder /no/such/folder"),
        (["--runs", "/no/such/folder"], "--runs: there is no folder /no/such/folder"),
        (["--host", "192.0.2.1", "--port", "0"], "cannot listen to 192.0.2.1, port 0"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(capsys, arguments, problem):
    assert main(["serve", *arguments]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


def test_a_port_that_is_taken_is_told(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    assert f"cannot listen to 127.0.0.1, port {port}" in capsys.readouterr().err


def test_a_missing_extra_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 2
    assert "pip install 'card_envs[web]'" in capsys.readouterr().err


def test_the_package_does_without_the_extra():
    code = "import sys, card_envs, card_envs.commands.cli; print([*sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"starlette", "uvicorn", "pydantic"} & set(re.findall(r"'(\w+)'", found.stdout))
