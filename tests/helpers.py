"""What several tests need: the games to test, and ways to get into all kinds of positions."""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kits import Kit, load_kits
from numba.core.runtime import _nrt_python, rtsys

from card_envs.agents import shipped_policies
from card_envs.agents.network import Network
from card_envs.contract.game import Game
from card_envs.contract.observing import MEMORY_MODES as MEMORY_MODES
from card_envs.contract.options import (
    COMMON_OPTIONS,
    ENVIRONMENT_ARGUMENTS,
    VIEW_OPTIONS,
    View,
)
from card_envs.engine.history import Redraw, Replay
from card_envs.engine.templates import write_full_states
from card_envs.envs.aec import CardEnv

#: Whether the dependency group "train" is installed; `make test-lowest` does without.
HAS_TRAINING = find_spec("torch") is not None
needs_training = pytest.mark.skipif(
    not HAS_TRAINING, reason="the dependency group train is not installed"
)

#: All ways to look at a game.
VIEWS = [View(memory, features) for memory in MEMORY_MODES for features in (True, False)]

# A training run that takes a moment, as overrides of any configuration.
TINY_LEARNER = [
    "decisions=192",
    "environment.num_envs=8",
    "ppo.n_steps=8",
    "ppo.batch_size=32",
    "ppo.n_epochs=1",
    "network.hidden=[16]",
    "imitation.copy_weights=false",
]


def replayed(replay: Replay) -> Iterator[tuple[CardEnv, int]]:
    """A recorded game in an environment, as users play it: before each decision the environment,
    and the action that follows."""
    env = CardEnv(replay.game, on_illegal="raise", **replay.options)
    env.reset(seed=replay.seed)
    for entry in replay.actions:
        if isinstance(entry, Redraw):
            env.determinize(f"player_{entry.player}", entry.seed)
        else:
            yield env, entry
            env.step(entry)


def module_of(game: Game) -> Any:
    """The game's environment module, as users import it; what stands for it where there is none."""
    if kit_of(game).is_own:
        return importlib.import_module(f"card_envs.{game.name}")
    return SimpleNamespace(
        env=partial(CardEnv, game.name),
        raw_env=partial(CardEnv, game.name, on_illegal="raise"),
    )


def agents_of(game: Game, num_players: int) -> list[str]:
    return [f"player_{k}" for k in range(num_players)]


# ---------------------------------------------------------------------------------------------
# Records
# ---------------------------------------------------------------------------------------------


def begin(game: Game, num_players: int, seed: int, **options: Any) -> np.ndarray:
    """A record at the beginning of a game."""
    states = game.new_states(1)
    encoded = game.encode_options(options)
    game.rules.reset(states, 0, np.uint64(seed), num_players, *encoded)
    return states


def copy_of(game: Game, states: np.ndarray) -> np.ndarray:
    """The same to the byte, also between the entries, which ``states.copy`` leaves out."""
    copy = game.new_states(len(states))
    copy.view(np.uint8)[:] = states.view(np.uint8)
    return copy


def stacked(game: Game, positions: Iterable[np.ndarray]) -> np.ndarray:
    """Records of one game each in one array."""
    positions = list(positions)
    states = game.new_states(len(positions))
    rows = states.view(np.ndarray).view(np.uint8).reshape(len(positions), -1)
    for row, position in zip(rows, positions, strict=True):
        row[:] = position.view(np.uint8)
    return states


def bytes_of_entries(states: np.ndarray) -> bytes:
    """The record without what lies between its entries."""
    return b"".join(np.ascontiguousarray(states[name]).tobytes() for name in states.dtype.names)


def is_over(states: np.ndarray) -> bool:
    return bool(states["terminated"][0] or states["truncated"][0])


def mask_of(game: Game, states: np.ndarray) -> np.ndarray:
    mask = np.zeros(game.num_actions, np.int8)
    count = game.rules.legal_action_mask(states, 0, mask)
    assert count == mask.sum()
    return mask


def observation_of(
    game: Game, states: np.ndarray, player: int, memory: str = "perfect", features: bool = True
) -> np.ndarray:
    """What the player observes; values that are not written stay NaN."""
    observation = np.full(game.fields.size, np.nan, np.float32)
    # Whole numbers of Python only: kernels are compiled for each type that they are given.
    game.observe(states, 0, int(player), MEMORY_MODES.index(memory), int(features), observation)
    return observation


def state_of(game: Game, states: np.ndarray, player: int = 0) -> np.ndarray:
    """The full state with the player's seat first; values that are not written stay NaN."""
    out = np.full((1, game.state_fields.size), np.nan, np.float32)
    write_full_states(game, states, np.zeros(1, np.int64), np.array([player]), out)
    return out[0]


def network_of(
    game: Game, seed: int = 1, hidden: Sequence[int] = (16,), activation: str = "tanh"
) -> Network:
    """A network with random weights."""
    rng = np.random.default_rng(seed)
    sizes = [game.fields.size, *hidden, game.num_actions]
    layers = [
        (
            (rng.standard_normal((after, before)) / np.sqrt(before)).astype(np.float32),
            rng.standard_normal(after).astype(np.float32),
        )
        for before, after in itertools.pairwise(sizes)
    ]
    return Network(layers, activation)


def units_of(vectors: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The whole numbers of units in vectors (..., D); all of them must be exact."""
    units = np.rint(vectors * scale)
    assert ((units >= 0) & (units <= scale)).all()  # NaN is neither
    exact = units.astype(np.float32) / scale
    if (exact != vectors).any():
        place = tuple(np.argwhere(exact != vectors)[0])
        raise AssertionError(f"{vectors[place]!r} at {place} is no whole number of units")
    return units.astype(np.uint8)


def allocations(kernel: Callable[..., Any], *arguments: Any) -> int:
    """How many a call of a compiled kernel makes, beside one for each array that Python passes."""
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    kernel(*arguments)
    made = rtsys.get_allocation_stats().alloc - before
    return int(made) - sum(isinstance(argument, np.ndarray) for argument in arguments)


def check_invariants(game: Game, states: np.ndarray) -> None:
    """AssertionError if ``states[0]`` cannot be a state of the game."""
    kit_of(game).check_invariants(states, 0)


# ---------------------------------------------------------------------------------------------
# Players
# ---------------------------------------------------------------------------------------------


@cache
def kinds_of_actions(game: Game) -> np.ndarray:
    """The kind of each action, a small number: actions are of one kind if their first feature
    (``Game.action_features``) is the same."""
    return game.action_features.argmax(axis=1)


#: A seed of ``Habits`` for a player without any: their games come to an end soon.
UNIFORM = 0


class Habits:
    """A player with habits of their own: they like some actions far better than others.

    They choose a kind of action first and then an action of that kind: where nearly all legal
    actions are alike, the few others, which may be what ends a round, come up no less often.

    Players who choose uniformly end most games early and visit the same few kinds of positions. Of
    four seeds in a row one does, one asks the game's heuristic now and then, and two shun most
    actions wherever anything else is legal: some of those play very long games. Every second seed
    is eager: it tries some actions out and takes one that changes the standing, so that what ends
    a round only with certain cards does happen.
    """

    def __init__(self, game: Game, seed: int) -> None:
        self._game = game
        self._kinds = kinds_of_actions(game)
        self._rng = np.random.default_rng(seed)
        character = seed % 4
        spread = 2.0 if character == 1 else 0.0
        self._weights = np.exp(spread * self._rng.standard_normal(game.num_actions))
        if character >= 2:
            self._weights[self._rng.random(game.num_actions) < 0.7] = 1e-6
        follows = character == 1 and game.heuristic is not None
        self._heuristic_share = self._rng.random() if follows else 0.0
        self._tries = 20 if character % 2 else 0
        self._tried = game.new_states(1)

    def choose(self, states: np.ndarray) -> int:
        if self._rng.random() < self._heuristic_share:
            return int(self._game.heuristic(states, 0))
        legal = np.flatnonzero(mask_of(self._game, states))
        kinds = self._kinds[legal]
        weights = self._weights[legal] / np.bincount(kinds)[kinds]
        sums = weights.cumsum()  # what Generator.choice does, in less time
        drawn = self._rng.random(1 + self._tries) * sums[-1]
        first, *others = legal[np.searchsorted(sums[:-1], drawn, side="right")].tolist()
        record, standing = states.view(np.uint8), states["standing"].tobytes()
        for action in dict.fromkeys(others):
            self._tried.view(np.uint8)[:] = record  # far faster than entry by entry
            self._game.rules.step(self._tried, 0, action)
            if self._tried["standing"].tobytes() != standing:
                return action
        return first


MASK_64 = 2**64 - 1


class Chooser:
    """A simple rule that needs nothing but whole numbers: a linear congruential generator.

    Given the kinds of the actions it chooses one of those first, so that rounds come to an end.
    """

    def __init__(self, seed: int, kinds: np.ndarray | None = None) -> None:
        self._x = seed
        self._kinds = kinds

    def choose(self, mask: np.ndarray) -> int:
        legal = np.flatnonzero(mask)
        if self._kinds is not None:
            kinds = self._kinds[legal]
            choice = np.flatnonzero(np.bincount(kinds))
            legal = legal[kinds == choice[self.below(len(choice))]]
        return int(legal[self.below(len(legal))])

    def below(self, bound: int) -> int:
        """The next number, from 0 to bound - 1."""
        self._x = (self._x * 6364136223846793005 + 1442695040888963407) & MASK_64
        return (self._x >> 33) % bound


# ---------------------------------------------------------------------------------------------
# Walks
# ---------------------------------------------------------------------------------------------


def walk(
    game: Game, num_players: int, seed: int, *, decisions: int = 600, **options: Any
) -> Iterator[np.ndarray]:
    """The record of one game before every decision and at the end; always the same array.

    Unless ``options`` say something else, it is a game that does not take too long.
    """
    states = begin(game, num_players, seed, **{**kit_of(game).short_options, **options})
    habits = Habits(game, seed)
    for _ in range(decisions):
        yield states
        if is_over(states):
            return
        game.rules.step(states, 0, habits.choose(states))
    yield states


@cache
def mean_length(game: Game, num_players: int) -> float:
    """Decisions of a game of uniformly random players, with the options of a walk.

    Tests look at as many games as it takes, and expect of a short game only what it can show.
    """
    lengths = []
    for seed in range(10):
        *_, states = walk(game, num_players, UNIFORM + 4 * seed)
        lengths.append(states["steps"][0])
    return float(np.mean(lengths))


def some_positions(
    game: Game, num_players: int, count: int, *, seed: int = 0, **options: Any
) -> list[np.ndarray]:
    """``count`` reachable positions from as many games as it takes, the ends of games included.

    Of each game they are the closer together the earlier: a few decisions into a round little is
    known, and of a long one there are not many to choose from that are alike.
    """
    positions: list[np.ndarray] = []
    while len(positions) < count:
        due = seed % min(7, math.ceil(mean_length(game, num_players)))
        for number, states in enumerate(walk(game, num_players, seed, **options)):
            if number >= due or is_over(states):
                positions.append(copy_of(game, states))
                due = number + 2 + number // 2
        seed += 1
    return positions[:count]


@cache
def positions_of(game: Game, num_players: int) -> tuple[np.ndarray, ...]:
    """Many positions of a table, for tests that leave them as they are."""
    return tuple(some_positions(game, num_players, 320))


def situations_in(game: Game, positions: Iterable[np.ndarray]) -> Counter[str]:
    """How often what happens in consecutive positions (which may be one array, as of ``walk``)."""
    situations = kit_of(game).situations
    found: Counter[str] = Counter()
    before = None
    for states in positions:
        after = copy_of(game, states)[0]
        if before is not None:
            found.update(
                name for name, (_, happens) in situations.items() if happens(before, after)
            )
        before = after
    return found


# ---------------------------------------------------------------------------------------------
# Environments
# ---------------------------------------------------------------------------------------------


def play_on(env: Any, seed: int, decisions: int) -> None:
    """Take up to ``decisions`` habitual decisions in an AEC environment, while the game runs."""
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


def mid_game(game: Game, num_players: int, decisions: int = 9, **options: Any) -> CardEnv:
    """An environment within a game, where the player to move has a choice: after ``decisions``, or
    halfway through a shorter game, or where the next choice is if all games are forced there."""
    env = module_of(game).env(num_players=num_players, **options)
    decisions = min(decisions, int(mean_length(game, num_players)) // 2)
    for goes_on in (False, True):
        for seed in range(50):
            env.reset(seed=seed)
            play_on(env, seed, decisions)
            while goes_on and len(env.legal_actions()) == 1:
                play_on(env, seed, 1)
            if len(env.legal_actions()) > 1:
                return env
    raise AssertionError("no game is that long, or has a choice there or later")


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


def option_sets(game: Game, most: int = 8, *, views: bool = False) -> list[dict[str, Any]]:
    """Combinations of options: all values of choices and bools, and small and usual numbers.

    With ``views`` those of the observer are among them.
    """
    kit = kit_of(game)
    options = (*game.options, *(VIEW_OPTIONS if views else ()))
    values = []
    for option in options:
        if option.choices:
            values.append(list(option.choices))
        elif isinstance(option.default, bool):
            values.append([option.default, not option.default])
        else:
            values.append([kit.short_options.get(option.name, option.default)])
    combinations = list(itertools.product(*values))
    # A step with no divisor in common with their number does not leave out any option's values.
    step = -(-len(combinations) // most)
    while math.gcd(step, len(combinations)) > 1:
        step += 1
    number = min(most, max(3, len(combinations)))
    length = mean_length(game, game.min_players)
    sets = []
    for k in range(number):
        combination = combinations[step * k % len(combinations)]
        chosen = dict(zip((option.name for option in options), combination, strict=True))
        for j, option in enumerate(options):
            if option.maximum and (k + j) % 3 == 0:
                small = min(25, length // 2) if option.name == "max_steps" else option.minimum + 1
                small = int(min(max(small, option.minimum), option.maximum))
                chosen[option.name] = option.minimum if small == option.default else small
        sets.append(chosen)
    return sets


# ---------------------------------------------------------------------------------------------
# The games
# ---------------------------------------------------------------------------------------------

# Last, for kits may use what is above.
_KITS = {kit.game: kit for kit in load_kits()}


def kit_of(game: Game) -> Kit:
    """What the shared tests know of the game."""
    return _KITS[game]


#: Every game that has a kit, the package's own first.
ALL_GAMES = list(_KITS)
#: Every game once.
EACH_GAME = [pytest.param(game, id=game.id) for game in ALL_GAMES]
#: The game with the smallest observation: for what is the same in all games.
SMALL = min(ALL_GAMES, key=lambda game: game.fields.size)
#: The same among this package's own with a heuristic and several table sizes.
SCRIPTED = min(
    (
        game
        for game in ALL_GAMES
        if kit_of(game).is_own and game.heuristic is not None and game.max_players > 2
    ),
    key=lambda game: game.fields.size,
)

#: Compiling a search, or loops for threads, takes longer than compiling the rules: `make test` does
#: it for these games, `make test-slow` for all.
SEARCHED = {ALL_GAMES[0], min(ALL_GAMES, key=lambda game: game.num_actions)}
#: Every game once, of which `make test` plays only these two: for tests that search, for tests of
#: what knows nothing of the game that it works on, and for those that take seconds for a game.
FEW_GAMES = [
    pytest.param(game, id=game.id, marks=() if game in SEARCHED else pytest.mark.slow)
    for game in ALL_GAMES
]


def marks_of_size(n: int, fewest: int, most: int) -> Any:
    """The marks of a table size: those between the smallest and the largest are slow."""
    return () if n in (fewest, most) else pytest.mark.slow


def each_size(fewest: int, most: int) -> list[Any]:
    """Table sizes, for ``parametrize("num_players", each_size(2, 6))``."""
    return [pytest.param(n, marks=marks_of_size(n, fewest, most)) for n in range(fewest, most + 1)]


#: Every game at every table size: for ``parametrize(("game", "num_players"), TABLES)``. `make test`
#: plays the largest table of each, of two games the smallest too; each game's own tests do both.
TABLES = [
    pytest.param(
        game,
        n,
        id=f"{game.id}-{n}",
        marks=marks_of_size(
            n, game.min_players if game in SEARCHED else game.max_players, game.max_players
        ),
    )
    for game in ALL_GAMES
    for n in game.table_sizes
]
#: The same tables, of which `make test` plays only those of the two games of ``FEW_GAMES``.
FEW_TABLES = [
    pytest.param(
        *param.values,
        id=param.id,
        marks=param.marks if param.values[0] in SEARCHED else pytest.mark.slow,
    )
    for param in TABLES
]
#: The package's own games with a policy: its card and results are published in the repository.
SHIPPED = [
    param
    for param in EACH_GAME
    if kit_of(param.values[0]).is_own and "ppo" in shipped_policies(param.values[0])
]


def reserved_arguments(interface):
    """The names of the arguments of an environment, or of what makes it; no option can have one."""
    options = {option.name for option in (*COMMON_OPTIONS, *VIEW_OPTIONS)}
    arguments = inspect.signature(interface).parameters.values()
    unnamed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_KEYWORD)
    names = {one.name for one in arguments if one.kind not in unnamed}
    assert names - options <= ENVIRONMENT_ARGUMENTS
    return names
