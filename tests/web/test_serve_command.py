"""The command ``card-envs serve``."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from urllib.request import Request, urlopen

import pytest
from helpers import ALL_GAMES, kit_of

from card_envs.cli import main

ARGUMENTS = [sys.executable, "-m", "card_envs.cli", "serve", "--port", "0"]


@pytest.fixture
def serve(tmp_path):
    """Begins servers, and ends them as a person at the terminal would."""
    begun = []

    def begin(*arguments):
        process = subprocess.Popen(
            [*ARGUMENTS, *arguments],
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
    with urlopen(f"{address}api/games") as answer:
        about = json.loads(answer.read())
    assert about["is_open"]
    assert foreign.id in {game["id"] for game in about["games"]}
    request = Request(f"{address}api/tables", b"{}", {"Origin": address[:-1]})
    with pytest.raises(OSError, match="422"):
        urlopen(request)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--port", "70000"], "--port must be from 0 to 65535, got 70000"),
        (["--agent", "nobody"], "--agent nobody: there is no agent 'nobody'"),
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
    code = "import sys, card_envs, card_envs.cli; print([*sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"starlette", "uvicorn", "pydantic"} & set(re.findall(r"'(\w+)'", found.stdout))
