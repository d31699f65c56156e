"""Saved games and replays: the history of a game, as one line of JSON with a checksum.

The rules alone play it back: AEC environments, tables and recordings save games in this form.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.game import Game
from card_envs.contract.observing import MEMORY_PERFECT
from card_envs.contract.outcome import is_over, mover
from card_envs.engine.seeds import check_seed, check_seed_range
from card_envs.games import load_game
from card_envs.render.renderer import TableRenderer
from card_envs.utils.checks import as_whole_number, check_whole_number
from card_envs.utils.files import write_output
from card_envs.utils.version import VERSION
from card_envs.utils.words import counted

#: The format's name, which every saved game carries.
FORMAT = "card_envs game 1"

_KEYS = ("format", "game", "version", "options", "seed", "actions", "checksum")
_MOST_BYTES = 64_000_000
_OLD_SAVE = b"card_envs save 1"

# Where the checksum is in the text: it comes last.
_SEAL = ', "checksum": "'
_END = re.compile(rf'{_SEAL}[0-9a-f]{{32}}"}}\r?\n?\Z')


class Redraw(NamedTuple):
    """A call of ``determinize`` in a game's history."""

    player: int
    seed: int


class Played(Protocol):
    """A game in progress, such as a ``CardEnv``."""

    @property
    def game(self) -> Game:
        """The game."""

    @property
    def num_players(self) -> int:
        """The number of players."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The game's options."""

    @property
    def history(self) -> tuple[int, tuple[int | Redraw, ...]]:
        """The game's seed, and the actions and redraws since."""


@dataclass(frozen=True)
class Replay:
    """The history of a game, which need not have been played to its end.

    Args:
        game: The versioned name of the game, e.g. ``"beaver_gang_v0"``. Games of one such name
            play out the same in every release.
        version: The release of card_envs that wrote it, for information.
        options: ``num_players`` and all options of the game.
        seed: What the game was reset with.
        actions: The players' actions in order, and a ``Redraw`` for each ``determinize``.

    Raises:
        ValueError: A value is invalid; the message says which and why. Whether the actions are
            legal is checked when they are played, by :meth:`from_json` and :meth:`steps`.
    """

    game: str
    version: str
    options: Mapping[str, Any] = field(hash=False)
    seed: int
    actions: tuple[int | Redraw, ...]

    def __post_init__(self) -> None:
        kinds = {"game": str, "version": str, "options": Mapping}
        for name, kind in kinds.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                what = "be a string" if kind is str else "map names to values"
                raise ValueError(f"{name} must {what}, got {value!r}")
        if not self.version.isprintable():
            raise ValueError(f"version must be that of a release, got {self.version!r}")
        game = self._load_game()
        _check_keys("options", self.options, ["num_players", *(o.name for o in game.options)])
        options = dict(self.options)
        num_players = options.pop("num_players")
        num_players = game.check_num_players(_whole("num_players", num_players))
        # Plain values of Python, which JSON can hold, in the order in which they are given.
        checked = {"num_players": num_players, **game.check_options(options)}
        object.__setattr__(self, "options", {name: checked[name] for name in self.options})
        object.__setattr__(self, "seed", check_seed(_whole("seed", self.seed)))
        entries = enumerate(self.actions)
        actions = tuple(_checked_entry(number, entry, num_players) for number, entry in entries)
        object.__setattr__(self, "actions", actions)

    def _load_game(self) -> Game:
        game = load_game(self.game)
        if game.name != self.game:
            raise ValueError(f"game must be a versioned name such as {game.name}, got {self.game}")
        return game

    @classmethod
    def of(cls, played: Played) -> Replay:
        """The history of a game in progress, such as that of an environment."""
        options = {"num_players": played.num_players, **played.options}
        return cls(played.game.name, VERSION, options, *played.history)

    @classmethod
    def from_bytes(cls, data: bytes) -> Replay:
        """The replay in a line of JSON, read but not played: see :meth:`from_json`.

        Raises:
            ValueError: The bytes are damaged, foreign or of an earlier format, or a value in them
                is not possible. Nothing in them is ever executed.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ValueError(f"a saved game is bytes, got {type(data).__name__}")
        data = bytes(data)
        if data.startswith(_OLD_SAVE):
            raise ValueError(
                f"this is a saved game of the format {_OLD_SAVE.decode()!r}, a record; "
                f"this release reads {FORMAT!r}, a history in JSON"
            )
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise ValueError(
                f"this is not a saved game of the format {FORMAT!r}: it is not text"
            ) from None
        return cls._parse(text)

    @classmethod
    def _parse(cls, text: str) -> Replay:
        try:
            data = json.loads(text, object_pairs_hook=_without_duplicates)
        except (ValueError, RecursionError) as error:  # ValueError: also of too many digits
            raise ValueError(f"a saved game is one line of JSON, this is not: {error}") from None
        if not isinstance(data, dict):
            raise ValueError(f"a saved game is a JSON object, got {type(data).__name__}")
        if "format" not in data:
            raise ValueError(
                "this is not a saved game, or it is an earlier one, without a format; "
                f"this release reads {FORMAT!r}"
            )
        if data["format"] != FORMAT:
            found = repr(data["format"])
            raise ValueError(f"the format of this game is {found}; this release reads {FORMAT!r}")
        _check_keys("a saved game", data, list(_KEYS))
        body, _, _ = text.rpartition(_SEAL)
        if data.pop("checksum") != _digest(body + "}") or not _END.search(text):
            raise ValueError("this saved game is damaged: its checksum is wrong")
        del data["format"]
        if not isinstance(data["actions"], list):
            raise ValueError(f"actions must be a list, got {data['actions']!r}")
        actions = tuple(_entry(number, entry) for number, entry in enumerate(data["actions"]))
        return cls(**{**data, "actions": actions})

    @classmethod
    def from_json(cls, text: str | bytes) -> Replay:
        """The replay in a line of JSON, such as ``env.save()``, validated by playing it.

        Raises:
            ValueError: As for :meth:`from_bytes`; or an action is illegal or comes after the end;
                the message says which.
        """
        replay = cls._parse(text) if isinstance(text, str) else cls.from_bytes(text)
        replay.play()
        return replay

    def to_json(self) -> str:
        """One line of JSON, without a line end."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "game": self.game,
            "version": self.version,
            "options": dict(self.options),
            "seed": self.seed,
            "actions": [
                {"determinize": list(entry)} if isinstance(entry, Redraw) else entry
                for entry in self.actions
            ],
        }
        text = json.dumps(data, ensure_ascii=False)
        return f'{text[:-1]}{_SEAL}{_digest(text)}"}}'

    @classmethod
    def load(cls, path: str | Path, game: int = 1) -> Replay:
        """Read one game of a replay file and check it by playing it.

        Args:
            path: The file: one game a line; blank lines are skipped.
            game: Which of its games, from 1; the earlier ones are not checked.

        Raises:
            ValueError: As for :meth:`from_json`, or the file has no such game; the message names
                the file.
            OSError: The file cannot be read.
        """
        game = check_whole_number("game", game, 1)
        games = 0
        for games, (number, line) in enumerate(_lines_of_games(path), 1):
            if games == game:
                return cls._read(path, number, line)
        raise ValueError(f"{path}: it has {counted(games, 'game')}, so no game {game}")

    @classmethod
    def load_all(cls, path: str | Path) -> Iterator[Replay]:
        """Read the games of a replay file one by one, each checked by playing it.

        Args:
            path: The file: one game a line; blank lines are skipped.

        Raises:
            ValueError: As for :meth:`from_json`; the message names the file and the line.
            OSError: The file cannot be read.
        """
        for number, line in _lines_of_games(path):
            yield cls._read(path, number, line)

    @classmethod
    def _read(cls, path: str | Path, number: int, line: bytes) -> Replay:
        try:
            replay = cls.from_bytes(line)
            replay.play()
        except ValueError as error:
            place = path if number == 1 else f"{path}, line {number}"
            raise ValueError(f"{place}: {error}") from None
        return replay

    @property
    def num_players(self) -> int:
        """The number of players."""
        return int(self.options["num_players"])

    @property
    def game_options(self) -> dict[str, Any]:
        """The game's options, without the number of players."""
        return {name: value for name, value in self.options.items() if name != "num_players"}

    @property
    def num_decisions(self) -> int:
        """How many of the actions are decisions, not redraws."""
        return sum(not isinstance(entry, Redraw) for entry in self.actions)

    def save(self, path: str | Path) -> None:
        """Write a replay file."""
        write_output(path, (self.to_json() + "\n").encode())

    def begin(self) -> NDArray[np.void]:
        """The game's record (1,) at its beginning."""
        game = self._load_game()
        states = game.new_states(1)
        encoded = game.encode_options(self.game_options)
        game.rules.reset(states, 0, np.uint64(self.seed), self.num_players, *encoded)
        return states

    def steps(
        self, states: NDArray[np.void] | None = None
    ) -> Iterator[tuple[NDArray[np.void], int]]:
        """Play the game; yields its record (1,) before each decision, and the action that follows.

        The array is the same every time; after the last action it holds the final state.

        Args:
            states: The record to play it in, as :meth:`begin` gives it; None: one of its own.

        Raises:
            ValueError: An action is not legal, or it comes after the end of the game.
        """
        game = self._load_game()
        states = self.begin() if states is None else states
        action_mask = np.zeros(game.num_actions, np.int8)
        for number, entry in enumerate(self.actions):
            if isinstance(entry, Redraw):
                game.rules.determinize(states, 0, entry.player, np.uint64(entry.seed))
                continue
            if is_over(states[0]):
                raise ValueError(f"actions[{number}] comes after the end of the game")
            game.rules.legal_action_mask(states, 0, action_mask)
            if not 0 <= entry < game.num_actions or not action_mask[entry]:
                legal = np.flatnonzero(action_mask).tolist()
                raise ValueError(f"actions[{number}] is {entry}; legal actions there: {legal}")
            yield states, entry
            game.rules.step(states, 0, entry)

    def play(self) -> NDArray[np.void]:
        """The game's record (1,) after all of its actions.

        Raises:
            ValueError: As for :meth:`steps`.
        """
        states = self.begin()
        for _ in self.steps(states):
            pass
        return states

    def _repr_svg_(self) -> str | None:
        """What notebooks show: the table after the last action, as the player to move sees it."""
        states = self.play()
        renderer = TableRenderer(self._load_game(), self.num_players)
        return renderer.svg(states, 0, mover(states[0]), MEMORY_PERFECT)


def _lines_of_games(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a replay file that are not blank, with their numbers from 1."""
    with Path(path).open("rb") as file:
        for number in count(1):
            line = file.readline(_MOST_BYTES + 1)
            if len(line) > _MOST_BYTES:
                raise ValueError(f"{path}, line {number}: a game has at most {_MOST_BYTES:,} bytes")
            if not line:
                return
            if line.strip():
                yield number, line


def _digest(text: str) -> str:
    """The checksum of a saved game, over its text without the checksum: it detects any damage."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _entry(number: int, entry: Any) -> Any:
    """A whole number or a ``Redraw`` from JSON; values are checked by ``Replay``."""
    if not isinstance(entry, dict):
        return entry
    numbers = entry.get("determinize")
    if len(entry) != 1 or not isinstance(numbers, list) or len(numbers) != 2:
        raise ValueError(
            f'actions[{number}] must be a whole number or {{"determinize": [player, seed]}}, '
            f"got {entry!r}"
        )
    return Redraw(*numbers)


def _whole(name: str, value: Any) -> int:
    number = as_whole_number(value)
    if number is None:
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    return number


def _checked_entry(number: int, entry: int | Redraw, num_players: int) -> int | Redraw:
    """An entry of a history in plain numbers of Python."""
    if not isinstance(entry, Redraw):
        return _whole(f"actions[{number}]", entry)
    player, seed = as_whole_number(entry.player), as_whole_number(entry.seed)
    if player is None or not 0 <= player < num_players:
        raise ValueError(
            f"actions[{number}]: the player must be from 0 to {num_players - 1}, "
            f"got {entry.player!r}"
        )
    if seed is None:
        raise ValueError(f"actions[{number}]: the seed must be a whole number, got {entry.seed!r}")
    return Redraw(player, check_seed_range(f"actions[{number}]: the seed", seed))


def _check_keys(what: str, found: Mapping[str, Any], expected: list[str]) -> None:
    missing = [key for key in expected if key not in found]
    unknown = [key for key in found if key not in expected]
    if missing or unknown:
        wrong = [f"{key!r} is missing" for key in missing]
        wrong += [f"{key!r} is unknown" for key in unknown]
        raise ValueError(f"{what} must have the keys {', '.join(expected)}: {'; '.join(wrong)}")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key of the saved game occurs twice")
    return data
