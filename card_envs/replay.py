"""Replays: a game as its options, its seed and its actions, in one line of JSON."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import card_envs
from card_envs.engine.game import Game
from card_envs.engine.seeds import check_seed
from card_envs.envs.aec import CardEnv
from card_envs.games import GAMES, load_game


@dataclass(frozen=True)
class Replay:
    """A game from its beginning; it need not have been played to its end.

    Args:
        game: The versioned name of the game, e.g. ``"beaver_gang_v0"``. Games of one such name
            play out the same in every release.
        version: The release of card_envs that wrote it, for information.
        options: ``num_players`` and all options of the game.
        seed: What the game was reset with.
        actions: The players' actions, in order.

    Raises:
        ValueError: A value is not possible; the message says which and why. Whether the actions
            are legal is found when they are played: :meth:`from_json` does that, as does
            :meth:`steps`.
    """

    game: str
    version: str
    options: Mapping[str, Any]
    seed: int
    actions: tuple[int, ...]

    def __post_init__(self) -> None:
        game = self._load_game()
        if not isinstance(self.version, str):
            raise ValueError(f"version must be a text, got {self.version!r}")
        if not isinstance(self.options, Mapping):
            raise ValueError(f"options must be names with values, got {self.options!r}")
        _check_keys("options", self.options, ["num_players", *(o.name for o in game.options)])
        options = dict(self.options)
        game.check_num_players(options.pop("num_players"))
        game.check_options(options)
        if type(self.seed) is not int:
            raise ValueError(f"seed must be a whole number, got {self.seed!r}")
        check_seed(self.seed)
        for number, action in enumerate(self.actions):
            if type(action) is not int:
                raise ValueError(f"actions[{number}] must be a whole number, got {action!r}")

    def _load_game(self) -> Game:
        for game_id in GAMES:
            if isinstance(self.game, str) and self.game.startswith(f"{game_id}_v"):
                game = load_game(game_id)
                if game.name == self.game:
                    return game
                raise ValueError(f"this is a replay of {self.game!r}, here is {game.name!r}")
        raise ValueError(f"there is no game {self.game!r}; the games are {', '.join(GAMES)}")

    @classmethod
    def of(cls, env: CardEnv, seed: int, actions: Sequence[int]) -> Replay:
        """The replay of a game that was reset with ``seed`` in ``env``."""
        options = {"num_players": env.num_players, **env.options}
        numbers = tuple(map(operator.index, actions))  # NumPy's as well
        return cls(env.game.name, card_envs.__version__, options, operator.index(seed), numbers)

    @classmethod
    def from_json(cls, text: str) -> Replay:
        """The replay that a line of JSON stands for, once it has been played through.

        Raises:
            ValueError: The text is malformed, or an action is illegal or comes after the end; the
                message says what is wrong. Nothing in the text is ever executed.
        """
        try:
            data = json.loads(text, object_pairs_hook=_without_duplicates)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"a replay is one line of JSON, this is not JSON: {error}") from None
        if not isinstance(data, dict):
            raise ValueError(f"a replay is a JSON object, got {type(data).__name__}")
        _check_keys("a replay", data, [field.name for field in fields(cls)])
        if not isinstance(data["actions"], list):
            raise ValueError(f"actions must be a list, got {data['actions']!r}")
        replay = cls(**{**data, "actions": tuple(data["actions"])})
        for _ in replay.steps():
            pass
        return replay

    def to_json(self) -> str:
        """One line of JSON, without a line end."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["options"] = dict(self.options)
        return json.dumps(data, default=lambda scalar: scalar.item())  # of NumPy

    @classmethod
    def load(cls, path: str | Path) -> Replay:
        """Read a replay file.

        Raises:
            ValueError: As :meth:`from_json`; the message names the file.
            OSError: The file cannot be read.
        """
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write a replay file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    def start(self) -> CardEnv:
        """An environment at the beginning of the game."""
        game = self._load_game()
        env = CardEnv(game.id, render_mode="ansi", on_illegal="raise", **self.options)
        env.reset(seed=self.seed)
        return env

    def steps(self) -> Iterator[tuple[CardEnv, int]]:
        """Play the game: before each decision the environment, and the action that follows.

        It is the same environment every time; after the last action it is where the game ended.

        Raises:
            ValueError: An action is not legal, or it comes after the end of the game.
        """
        env = self.start()
        for number, action in enumerate(self.actions):
            legal = env.legal_actions()
            if not legal:
                raise ValueError(f"actions[{number}] comes after the end of the game")
            if action not in legal:
                raise ValueError(f"actions[{number}] is {action}, legal there are {legal}")
            yield env, action
            env.step(action)


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
        raise ValueError("a key of the replay occurs twice")
    return data
