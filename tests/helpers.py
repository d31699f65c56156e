"""What several tests need: the games to test, and ways to get into all kinds of positions."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from card_envs.engine.game import Game
from card_envs.envs.aec import CardEnv
from card_envs.games import GAMES, load_game

ALL_GAMES = [load_game(game_id) for game_id in GAMES]


def table_sizes(game: Game) -> range:
    """The numbers of players that a game allows."""
    return range(game.min_players, game.max_players + 1)


#: Every game at every table size: for ``parametrize(("game", "num_players"), TABLES)``.
TABLES = [
    pytest.param(game, n, id=f"{game.id}-{n}") for game in ALL_GAMES for n in table_sizes(game)
]
#: Every game once.
EACH_GAME = [pytest.param(game, id=game.id) for game in ALL_GAMES]
MEMORY_MODES = ("perfect", "none")


def module_of(game: Game) -> Any:
    """The game's environment module, as users import it."""
    return importlib.import_module(f"card_envs.{game.name}")


def agents_of(game: Game, num_players: int) -> list[str]:
    return [f"player_{k}" for k in range(num_players)]


def begin(game: Game, num_players: int, seed: int, **options: Any) -> np.ndarray:
    """A record at the beginning of a game."""
    states = game.new_states(1)
    encoded = game.encode_options(options)
    game.rules.reset(states, 0, np.uint64(seed), num_players, *encoded)
    return states


def copy_of(game: Game, states: np.ndarray) -> np.ndarray:
    copy = game.new_states(len(states))
    copy[:] = states
    return copy


def is_over(states: np.ndarray) -> bool:
    return bool(states["terminated"][0] or states["truncated"][0])


def mask_of(game: Game, states: np.ndarray) -> np.ndarray:
    mask = np.zeros(game.num_actions, np.int8)
    count = game.rules.legal_action_mask(states, 0, mask)
    assert count == mask.sum()
    return mask


def observation_of(game: Game, states: np.ndarray, player: int) -> np.ndarray:
    observation = np.full(game.fields.size, np.nan, np.float32)
    game.observe(states, 0, player, observation)
    return observation


def state_of(game: Game, states: np.ndarray) -> np.ndarray:
    out = np.full(game.state_fields.size, np.nan, np.float32)
    game.write_state(states, 0, 0, out)
    return out


#: A seed of ``Habits`` for a player who chooses uniformly: his games come to an end.
UNIFORM = 0


class Habits:
    """A player with habits of its own: it likes some actions far better than others.

    Uniformly random players end most games early and visit the same few kinds of positions. Of
    four seeds in a row one is uniform, one asks the game's heuristic now and then, and two shun
    most actions wherever anything else is legal: some of those play very long games.
    """

    def __init__(self, game: Game, seed: int) -> None:
        self._game = game
        self._rng = np.random.default_rng(seed)
        kind = seed % 4
        spread = 2.0 if kind == 1 else 0.0
        self._weights = np.exp(spread * self._rng.standard_normal(game.num_actions))
        if kind >= 2:
            self._weights[self._rng.random(game.num_actions) < 0.7] = 1e-6
        self._heuristic_share = self._rng.random() if kind == 1 else 0.0

    def choose(self, states: np.ndarray) -> int:
        if self._rng.random() < self._heuristic_share:
            return int(self._game.heuristic(states, 0))
        legal = np.flatnonzero(mask_of(self._game, states))
        weights = self._weights[legal]
        return int(self._rng.choice(legal, p=weights / weights.sum()))


def walk(
    game: Game, num_players: int, seed: int, *, decisions: int = 600, **options: Any
) -> Iterator[np.ndarray]:
    """The record of one game before every decision and at the end; always the same array."""
    states = begin(game, num_players, seed, **options)
    habits = Habits(game, seed)
    for _ in range(decisions):
        yield states
        if is_over(states):
            return
        game.rules.step(states, 0, habits.choose(states))
    yield states


def some_positions(
    game: Game, num_players: int, count: int, *, seed: int = 0, stride: int = 7, **options: Any
) -> list[np.ndarray]:
    """``count`` reachable positions from as many games as it takes, the ends of games included."""
    positions: list[np.ndarray] = []
    while len(positions) < count:
        for number, states in enumerate(walk(game, num_players, seed, **options)):
            if number % stride == seed % stride or is_over(states):
                positions.append(copy_of(game, states))
        seed += 1
    return positions[:count]


def play_on(env: Any, seed: int, decisions: int) -> None:
    """Take up to so many habitual decisions in an AEC environment; stops when the game is over."""
    game = env.unwrapped.game
    habits = Habits(game, seed)
    for _ in range(decisions):
        if not env.unwrapped.legal_actions():
            return
        env.step(habits.choose(env.unwrapped.states))


def finish(env: Any) -> None:
    """The dead steps at the end of a game."""
    while env.agents:
        env.step(None)


def snapshot(env: CardEnv) -> tuple[Any, ...]:
    """All that can be seen of an AEC environment: equal for equal environments."""
    bookkeeping = (
        env.agents,
        env.agent_selection,
        env.rewards,
        env._cumulative_rewards,
        env.terminations,
        env.truncations,
        env.infos,
    )
    views = [env.observe(agent) for agent in env.possible_agents]
    return (
        json.dumps(bookkeeping),
        env.states.tobytes(),
        env.state().tobytes(),
        *(view["observation"].tobytes() for view in views),
        *(view["action_mask"].tobytes() for view in views),
        env.legal_actions(),
    )


def reseal(data: bytes) -> bytes:
    """A saved game with its last 16 bytes replaced by a checksum that is right."""
    return data[:-16] + hashlib.blake2b(data[:-16], digest_size=16).digest()


def option_sets(game: Game, most: int = 12) -> list[dict[str, Any]]:
    """Combinations of options: all values of choices and bools, and small and default numbers."""
    values = []
    for option in game.options:
        if option.choices:
            values.append(list(option.choices))
        elif isinstance(option.default, bool):
            values.append([option.default, not option.default])
        else:
            values.append([option.default])
    combinations = list(itertools.product(*values))
    combinations = combinations[:: -(-len(combinations) // most)]
    sets = []
    for k, combination in enumerate(combinations):
        options = dict(zip((option.name for option in game.options), combination, strict=True))
        for j, option in enumerate(game.options):
            if option.maximum and (k + j) % 3 == 0:
                small = 25 if option.name == "max_steps" else option.minimum + 1
                options[option.name] = min(small, option.maximum)
        sets.append(options)
    return sets
