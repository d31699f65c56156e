"""A page that talks to the server, for tests: requests, and messages of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient, WebSocketTestSession

from card_envs.contract.game import Game
from card_envs.web.app import Settings, create_app

HOST = "127.0.0.1:8000"
ORIGIN = {"origin": f"http://{HOST}"}


def new_client(**settings: Any) -> TestClient:
    """A client of a server of its own."""
    app = create_app(Settings(**settings))
    return TestClient(app, base_url=f"http://{HOST}", headers=ORIGIN)


def wanted(game: Game, seat: int | None = 0, agent: str = "random", **settings: Any) -> dict:
    """A request for a new table; the person sits at ``seat``, or watches."""
    num_players = settings.pop("num_players", game.default_players)
    agents = [None if k == seat else agent for k in range(num_players)]
    return {
        "game": game.id,
        "num_players": num_players,
        "seat": seat,
        "agents": agents,
        **settings,
    }


def begin(client: TestClient, request: dict) -> str:
    """The id of a new table."""
    answer = client.post("/api/tables", json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()["table"]


class Talk:
    """The messages of a table; ``heard`` keeps their texts."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self.socket = socket
        self.heard: list[str] = []

    def hear(self, kind: str) -> dict:
        """The next message, which must be of this type."""
        self.heard.append(self.socket.receive_text())
        message = json.loads(self.heard[-1])
        assert message["type"] == kind, message
        return message

    def say(self, kind: str, **content: Any) -> None:
        self.socket.send_json({"type": kind, **content})

    def ask(self, kind: str, answer: str, **content: Any) -> dict:
        self.say(kind, **content)
        return self.hear(answer)

    def turn(self, state: dict) -> dict:
        """The state in which the person is to decide, or the game is over."""
        while not state["legal"] and not state["is_over"]:
            state = self.hear("state")
        return state


@contextmanager
def talk(client: TestClient, table: str) -> Iterator[Talk]:
    with client.websocket_connect(f"ws://{HOST}/tables/{table}", headers=ORIGIN) as socket:
        yield Talk(socket)
