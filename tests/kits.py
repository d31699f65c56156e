"""What the shared tests know of a game: its ``tests/games/<id>/kit.py``, found by its folder.

A kit is a module with the names of :class:`Kit`, constants in capitals: ``USUAL_LENGTH = 450`` for
``usual_length``. It registers its game first if that is of another package, and may import
``helpers``, ``hidden`` and ``table``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from card_envs.agents import Agent
from card_envs.contract.game import Game
from card_envs.envs.aec import CardEnv
from card_envs.games import GAMES, load_game

GAMES_FOLDER = Path(__file__).parent / "games"

#: Whether something happened from one record to the next.
Happens = Callable[[np.void, np.void], bool]


def choose_any(env: CardEnv, chance: Agent) -> int:
    """What the random agent chooses."""
    from card_envs.agents import choose

    return choose(chance, env.game, env.states)


@dataclass(frozen=True, eq=False)
class Kit:
    """What the shared tests know of one game. All but the first five names have defaults.

    These are fit for a game of up to 150 decisions; what they ask of the others a kit says.
    """

    #: The versioned name, such as ``"kuhn_poker_v0"``.
    game_name: str
    #: ``check_invariants(states, i)``: AssertionError if the record cannot be a state of the game.
    check_invariants: Callable[[np.ndarray, int], None]

    # Hiding
    #: ``cells(states)``: all places of cards of ``states[0]``, as a flat array.
    cells: Callable[[np.ndarray], np.ndarray]
    #: ``open_cells(states, player)``: a bool array, the places whose card the player does not know.
    #: Enough where these cards could all be exchanged among each other. If the player knows more of
    #: them (one who did not follow suit has none), two arrays: the places that hold another card in
    #: some world that the player holds possible, and those that hold the same in all worlds. A
    #: place where that is hard to tell may be in neither.
    open_cells: Callable[[np.ndarray, int], np.ndarray | tuple[np.ndarray, np.ndarray]]
    #: The record's entries that hold hidden cards: ``determinize`` changes these, and the stream.
    hidden: Sequence[str]
    #: ``small_positions()``: (states, player, worlds) of positions where little is hidden.
    #: ``worlds`` lists the ``cells`` of every way in which the hidden cards may lie for all that
    #: the player knows, all equally likely: one that is twice as likely is listed twice.
    #: ``determinize`` must draw from them uniformly.
    small_positions: Callable[[], Iterable[tuple[np.ndarray, int, Sequence[np.ndarray]]]] = tuple
    #: A number of open places that is exceeded on average.
    usually_open: float = 0
    #: Observation fields that need more players than the fewest, with their number.
    fewest_players: Mapping[str, int] = field(default_factory=dict)
    #: A number of decisions that some games exceed.
    long_game: int = 1

    # Walks (``helpers.walk``)
    #: Options with which a game ends within the 600 decisions of a walk.
    short_options: Mapping[str, Any] = field(default_factory=dict)
    #: A number of decisions that the median walk of uniformly random players stays below.
    usual_length: int = 150
    #: What can happen from one position to the next: name to (fewest players, happens).
    situations: Mapping[str, tuple[int, Happens]] = field(default_factory=dict)
    #: ``special_positions()``: (num_players, states) for observation values that walks miss.
    special_positions: Callable[[], Iterator[tuple[int, np.ndarray]]] = lambda: iter(())
    #: The most that a decision pays or costs anybody with ``reward="score"``.
    largest_score: float = 2.0
    #: A mean ``"rank"`` reward that one heuristic exceeds among random players.
    heuristic_reward: float = 0.0
    #: Observation fields with bounds that the table in words only tells where they say more than
    #: the other numbers do.
    beyond_words: Collection[str] = ()
    #: Observation fields with entries of their own in the record that follow from others, by which
    #: the text tells them.
    follow_in_words: Collection[str] = ()
    #: The most groups of actions (``Game.actions.groups``).
    most_groups: int = 20
    #: How many values of an observation field are the same in all positions. None: of ``seats``
    #: those of the seats that every table has.
    constant_values: Mapping[str, int] | None = None

    # Frozen games (``python tests/test_determinism.py`` prints them)
    #: The seed of the frozen game of n players, less n: such that much happens.
    frozen_seed: int = 0
    #: The digest of each frozen game's course: (num_players, variant) to SHA-256.
    frozen: Mapping[tuple[int, str], str] = field(default_factory=dict)
    #: The digest of its observations.
    frozen_observations: Mapping[tuple[int, str], str] = field(default_factory=dict)
    #: Situations that do not occur in the frozen games of a variant.
    not_frozen: Mapping[str, Collection[str]] = field(default_factory=dict)

    # Kept games (``python tests/test_playthroughs.py`` writes them)
    #: ``num_players``, ``seed`` and perhaps ``options``, ``memory`` and ``variant`` (added to its
    #: name) of each; one is ``readable``. A kit's own functions may look at further keys.
    playthroughs: Sequence[Mapping[str, Any]] = ()
    #: What these games show together: patterns, and how often each occurs at least.
    shown: Mapping[str, int] = field(default_factory=dict)
    #: ``choose_at_random(env, chance)``: the action of a player who chooses at random.
    choose_at_random: Callable[[CardEnv, Agent], int] = choose_any
    #: ``plays_instead(env, number, action, playthrough)``: what is played in place of an action.
    plays_instead: Callable[[CardEnv, int, int, Mapping[str, Any]], int] = (
        lambda env, number, action, playthrough: action
    )
    #: How the players choose, for the head of a file; may name keys of the playthrough in braces.
    how: str = "Players with even numbers follow the heuristic, the others choose at random."
    #: ``shows_table(env, number)``: whether a decision is written with the table before it.
    shows_table: Callable[[CardEnv, int], bool] = lambda env, number: True
    #: ``in_short(env)``: lines that are written in place of the table.
    in_short: Callable[[CardEnv], list[str]] = lambda env: []

    @classmethod
    def of(cls, module: ModuleType) -> Kit:
        """The kit of a module.

        Raises:
            AttributeError: A name without default is missing.
        """
        values = {}
        for entry in fields(cls):
            names = (entry.name.upper(), entry.name)
            found = [getattr(module, name) for name in names if hasattr(module, name)]
            if found:
                values[entry.name] = found[0]
            elif entry.default is MISSING and entry.default_factory is MISSING:
                raise AttributeError(f"{module.__file__} lacks {entry.name}")
        return cls(**values)

    @cached_property
    def game(self) -> Game:
        """The game itself."""
        return load_game(self.game_name)

    @property
    def is_own(self) -> bool:
        """Whether the game is one of the package's own."""
        return self.game.package.startswith("card_envs.games.")

    @property
    def folder(self) -> Path:
        """The folder of the kit."""
        return GAMES_FOLDER / self.game.id

    @property
    def constant(self) -> Mapping[str, int]:
        """How many values of each observation field are the same in all positions."""
        if self.constant_values is not None:
            return self.constant_values
        has_seats = any(field.name == "seats" for field in self.game.fields)
        return {"seats": self.game.min_players} if has_seats else {}


def load_kits() -> list[Kit]:
    """The kits of all folders; the package's own games first, in their order."""
    paths = sorted(GAMES_FOLDER.glob("*/kit.py"))
    kits = [Kit.of(importlib.import_module(f"games.{path.parent.name}.kit")) for path in paths]
    order = GAMES.names
    return sorted(kits, key=lambda kit: order.index(kit.game_name))
