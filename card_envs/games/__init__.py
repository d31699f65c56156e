"""The games: one folder each. ``GAMES`` is the only list of them.

This module loads quickly: what compiles rules is imported when a game is first loaded.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import gymnasium
import pettingzoo

from card_envs.utils.names import gymnasium_id, gymnasium_text_id, id_of, version_of
from card_envs.utils.words import did_you_mean

if TYPE_CHECKING:
    from card_envs.contract.game import Game

#: The games of this package: versioned name to the package that holds ``GAME``.
OWN_GAMES = {
    "beaver_gang_v0": "card_envs.games.beaver_gang",
    "swim_for_your_life_v0": "card_envs.games.swim_for_your_life",
    "franks_zoo_v0": "card_envs.games.franks_zoo",
    "animalia_v0": "card_envs.games.animalia",
}

#: The group of entry points by which other packages add games: ``<versioned name> = module:GAME``.
ENTRY_POINTS = "card_envs.games"

logger = logging.getLogger("card_envs")

_NAME = re.compile(r"(?P<id>[a-z][a-z0-9_]*)_v(?P<version>\d+)")


class GameRegistry(Mapping[str, tuple[str, ...]]):
    """All games: iterating gives ids, ``GAMES[id]`` the id's versioned names, oldest first.

    A game's rules are imported when it is first loaded.
    """

    def __init__(self) -> None:
        self._loaders: dict[str, Callable[[], Game]] = {}
        self._loaded: dict[str, Game] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(id_of(name) for name in self._loaders))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, game_id: str) -> tuple[str, ...]:
        names = [name for name in self._loaders if id_of(name) == game_id]
        if not names:
            raise KeyError(game_id)
        return tuple(sorted(names, key=version_of))

    @property
    def names(self) -> tuple[str, ...]:
        """The versioned names of all games."""
        return tuple(self._loaders)

    def add(self, name: str, loader: Callable[[], Game]) -> None:
        """Add a game by its versioned name; ``loader`` is called when it is first loaded.

        Raises:
            ValueError: The name is not a versioned one, or another game has it.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"a game's name is like 'kuhn_poker_v0', got {name!r}")
        if name in self._loaders:
            raise ValueError(
                f"there is already a game {name!r}; a changed one needs another version, or a new "
                "process"
            )
        self._loaders[name] = loader

    def load(self, name: str) -> Game:
        """The game of that id (its newest version) or versioned name.

        Raises:
            ValueError: There is no such game, and the message lists them; or it cannot be imported
                from its package.
            TypeError: It is not a name.
        """
        from card_envs.contract.game import Game

        if not isinstance(name, str):
            given = name.name if isinstance(name, Game) else repr(name)
            raise TypeError(f"a game's name is needed, such as 'beaver_gang', got {given}")
        versioned = self[name][-1] if name in self else name
        if versioned not in self._loaders:
            raise ValueError(
                f"there is no game {name!r}{did_you_mean(name.removeprefix('card_envs/'), self)}; "
                f"the games are {', '.join(self)}, and those of other "
                "packages once they are registered: --games-from MODULE on the command line, "
                "card_envs.register in Python"
            )
        if versioned not in self._loaded:
            game = self._loaders[versioned]()
            if not isinstance(game, Game) or game.name != versioned:
                found = repr(game.name) if isinstance(game, Game) else repr(game)
                raise ValueError(f"{versioned!r} is listed, but what is there is {found}")
            self._loaded[versioned] = game
        return self._loaded[versioned]


#: All games, those of other packages included.
GAMES = GameRegistry()


def load_game(name: str) -> Game:
    """The game of that id (its newest version) or versioned name, such as ``"beaver_gang_v0"``.

    Its rules are compiled when they are first used.

    Raises:
        ValueError: There is no such game; the message lists them.
        TypeError: It is not a name.
    """
    return GAMES.load(name)


def as_game(game: Game | str) -> Game:
    """A game, or the game of that name; errors are those of :func:`load_game`."""
    from card_envs.contract.game import Game

    return game if isinstance(game, Game) else load_game(game)


def folder_of(game: Game) -> Path:
    """The folder of the game's package."""
    return Path(str(game.rules.__file__)).parent


def is_of_this_package(game: Game) -> bool:
    """Whether the game is one of card_envs' own."""
    return game.package in OWN_GAMES.values()


def rules_file(game: Game) -> Path:
    """The game's RULES.md."""
    return folder_of(game) / "RULES.md"


def guide_file(game: Game) -> Path:
    """The game's GUIDE.md, which teaches it; games of other packages need none."""
    return folder_of(game) / "GUIDE.md"


def how_to_play(game: Game) -> Path:
    """The file for somebody who does not know the game: its guide, or its rules."""
    guide = guide_file(game)
    return guide if guide.is_file() else rules_file(game)


def about(game: Game) -> str:
    """What the game is about and who wins: its guide's first paragraph, in one line."""
    try:
        _, paragraph, *_ = guide_file(game).read_text(encoding="utf-8").split("\n\n", 2)
    except FileNotFoundError:
        return ""
    return " ".join(paragraph.split())


def load_games(*, old_versions: bool = False) -> list[Game]:
    """All games, in their newest versions or in all of them; those of other packages that cannot be
    loaded are left out, with a warning."""
    games = []
    for name in GAMES.names if old_versions else GAMES:
        try:
            games.append(load_game(name))
        except ValueError as error:
            logger.warning("leaving out a game: %s", error)
    return games


def register(game: Game) -> None:
    """Register another package's game in ``GAMES``, Gymnasium's registry and PettingZoo's.

    An installed package can instead have an entry point in the group ``card_envs.games``, such as
    ``kuhn_poker_v0 = "my_games.kuhn_poker:GAME"``. Registering the same game again changes nothing.

    Raises:
        TypeError: It is not a ``Game``.
        ValueError: Another game already has its name.
    """
    from card_envs.contract.game import check_is_game

    check_is_game(game)
    if game.name in GAMES.names and GAMES.load(game.name) is game:
        return
    GAMES.add(game.name, lambda: game)
    _register_environments(game.name)


def restore(name: str, package: str) -> Game:
    """A pickled game; one of another package is registered if it is not known here yet."""
    if name not in GAMES.names:
        register(importlib.import_module(package).GAME)
    return load_game(name)


def _register_environments(name: str) -> None:
    env_id = gymnasium_id(name)
    gymnasium.register(
        id=env_id,
        entry_point="card_envs.envs.single_seat:SingleSeatEnv",
        vector_entry_point="card_envs.envs.single_seat_vector:SingleSeatVectorEnv",
        kwargs={"game": name},
    )
    gymnasium.register(
        id=gymnasium_text_id(name),
        entry_point="card_envs.text.seat:TextSeatEnv",
        kwargs={"game": name},
    )
    if hasattr(pettingzoo, "register"):  # PettingZoo has a registry from 1.26 on
        for env_type, entry_point in (
            ("aec", "card_envs.envs.aec:CardEnv"),
            ("parallel", "card_envs.envs.parallel:ParallelCardEnv"),
        ):
            pettingzoo.register(env_type, id=env_id, entry_point=entry_point, kwargs={"game": name})


def _import_game(package: str) -> Callable[[], Game]:
    return lambda: importlib.import_module(package).GAME


def _add_entry_point(point: EntryPoint) -> None:
    """Add another package's game; what is wrong with it must not stop anybody else."""

    def load() -> Game:
        try:
            game: Game = point.load()
        except Exception as error:
            raise ValueError(
                f"{point.name!r}, an entry point of {_package_of(point)}, cannot be loaded from "
                f"{point.value}: {error!r}"
            ) from error
        return game

    try:
        GAMES.add(point.name, load)
    except ValueError as error:
        logger.warning("ignoring an entry point of %s: %s", _package_of(point), error)


def _package_of(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else point.dist.name


for _name, _package in OWN_GAMES.items():
    GAMES.add(_name, _import_game(_package))
for _point in entry_points(group=ENTRY_POINTS):
    _add_entry_point(_point)
for _name in GAMES.names:
    _register_environments(_name)
