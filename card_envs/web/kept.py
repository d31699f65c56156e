"""``KeptTables``: unfinished games of persons on the disk, so that they outlive the server.

A file holds seed and history, from which all cards follow: nobody but the server's user may read
it. Its name follows from the table's random id and does not tell it, as that is the right to sit
there.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from pydantic import BaseModel

from card_envs.agents.table import seat_agents
from card_envs.engine.history import Replay
from card_envs.games import load_game
from card_envs.utils.files import modified_at, read_regular, replacement
from card_envs.web.agents import AgentMenu
from card_envs.web.table import ViewedTable

_NAME = re.compile(r"[\w-]{22}", re.ASCII)
_FILE = re.compile(r"[0-9a-f]{32}\.json")
_MOST_BYTES = 1_000_000


class _Kept(BaseModel):
    replay: str
    seat: int
    labels: list[str | None]
    is_open: bool
    practice: bool


class KeptTables:
    """The files of a folder.

    Args:
        folder: The folder; it is made if needed.
        most: How many files there may be; the oldest make room.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most

    def _path(self, name: str) -> Path:
        digest = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
        return self._folder / f"{digest}.json"

    def keep(self, name: str, table: ViewedTable) -> None:
        """Write down how a table stands, or forget it if its game is over.

        Raises:
            OSError: The folder cannot be written to.
        """
        path = self._path(name)
        if table.is_over:
            path.unlink(missing_ok=True)
            return
        kept = _Kept(
            replay=Replay.of(table.table).to_json(),
            seat=table.seat,
            labels=list(table.labels),
            is_open=table.is_open,
            practice=table.practice,
        )
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.exists()
        with replacement(path) as new:
            new.touch(0o600)  # the folder may be one that others can read
            new.write_bytes(kept.model_dump_json().encode())
        if is_new:
            # Other tables' files may come and go meanwhile, also those that are being written.
            files = [path for path in self._folder.glob("*.json") if _FILE.fullmatch(path.name)]
            for old in sorted(files, key=modified_at)[: -self._most]:
                old.unlink(missing_ok=True)

    def restore(self, name: str, menu: AgentMenu) -> ViewedTable | None:
        """The table as it was; None: there is none.

        Raises:
            NoAgentError: An agent of the game is not offered at present.
            ValueError: The file is damaged, or of a release that plays the game otherwise.
            OSError: The file cannot be read.
        """
        if not _NAME.fullmatch(name):
            return None
        try:
            data = read_regular(self._path(name), _MOST_BYTES)
        except FileNotFoundError:
            return None
        kept = _Kept.model_validate_json(data)
        replay = Replay.from_bytes(kept.replay.encode())
        game = load_game(replay.game)
        persons = [seat for seat, label in enumerate(kept.labels) if label is None]
        if persons != [kept.seat] or len(kept.labels) != replay.num_players:
            raise ValueError(f"a person at one seat is needed, got {kept.seat} of {kept.labels}")
        agents = seat_agents(kept.labels, game, replay.seed, menu.make)
        return ViewedTable.of_replay(
            replay,
            agents,
            kind="play",
            seat=kept.seat,
            labels=tuple(kept.labels),
            is_open=kept.is_open,
            practice=kept.practice,
        )
