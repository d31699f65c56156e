"""What the tests of hidden information share: redrawn positions, and which cards differ in them.

The checks are functions of the kernels that they check, so that the same functions can be shown
to catch kernels that leak, and a ``determinize`` that does not redraw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np
from helpers import MEMORY_MODES, copy_of, is_over, kit_of, mask_of, positions_of
from scipy import stats

from card_envs.contract.game import Game
from card_envs.contract.observing import MEMORY_PERFECT
from card_envs.render.text import describe as table_in_words

#: ``determinize(states, i, player, seed)``
Determinize = Callable[[np.ndarray, int, int, np.uint64], None]
#: ``observe(states, i, player, memory, features, out)``
Observe = Callable[[np.ndarray, int, int, int, int, np.ndarray], None]
#: ``describe(states, i, player, memory)``: the table in words.
Describe = Callable[[np.ndarray, int, int, int], str]

SEEDS = 4
MORE_SEEDS = 4000

#: What a chi-square test of redraws may not fall below: chance does once in a million tests.
LEAST_P = 1e-6


def redrawn(
    game: Game, states: np.ndarray, player: int, seed: int, determinize: Determinize
) -> np.ndarray:
    copy = copy_of(game, states)
    determinize(copy, 0, player, np.uint64(seed))
    return copy


def variants(
    game: Game, states: np.ndarray, player: int, determinize: Determinize, count: int
) -> Iterator[np.ndarray]:
    for seed in range(count):
        yield redrawn(game, states, player, seed, determinize)


def check_views_unchanged(
    game: Game, states: np.ndarray, player: int, observe: Observe, determinize: Determinize
) -> None:
    """The observation in each memory mode, and the mask: the same in all redrawn states."""
    is_asked = not is_over(states) and states["current_player"][0] == player

    def views(states: np.ndarray) -> tuple[bytes, bytes]:
        observations = np.full((len(MEMORY_MODES), game.fields.size), np.nan, np.float32)
        for memory, observation in enumerate(observations):
            observe(states, 0, player, memory, 1, observation)
        return observations.tobytes(), mask_of(game, states).tobytes() if is_asked else b""

    expected = views(states)
    for other in variants(game, states, player, determinize, SEEDS):
        found = views(other)
        assert found[0] == expected[0], "the observation shows what the player cannot know"
        assert found[1] == expected[1], "the mask shows what the player cannot know"


def bytes_of(states: np.ndarray) -> np.ndarray:
    """The bytes of the record, a view."""
    return states.view(np.ndarray).view(np.uint8)


@cache
def _is_public(game: Game) -> np.ndarray:
    """Which bytes of a record are of neither hidden cards nor the random stream."""
    public = np.ones(game.state_dtype.itemsize, bool)
    for name in ("rng", "seed", *kit_of(game).hidden):
        dtype, offset, *_ = game.state_dtype.fields[name]
        public[offset : offset + dtype.itemsize] = False
    return public


def open_cells(game: Game, states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Which places may hold something else for all that the player knows, and which may not.

    Where the kit gives a single array, those that the player does not know, they are exchanged
    among each other: if all of them hold the same, none of them can hold anything else.
    """
    kit = kit_of(game)
    given, cells = kit.open_cells(states, player), kit.cells(states)
    assert np.asarray(given).dtype == bool, "open_cells gives arrays of bools"
    if np.shape(given) == cells.shape:
        is_open = given & (np.unique(cells[given]).size > 1)
        is_fixed = ~given
    else:
        assert np.shape(given) == (2, *cells.shape), "as many bools as there are cells"
        is_open, is_fixed = given
    assert not (is_open & is_fixed).any(), "open_cells calls a cell both open and fixed"
    return is_open, is_fixed


def check_hidden_parts_vary(
    game: Game, states: np.ndarray, player: int, determinize: Determinize
) -> int:
    """Every open place takes more than one value, every other keeps its cards, and so does the
    rest of the record.

    Returns:
        How many places are open.
    """
    kit = kit_of(game)
    is_open, is_fixed = open_cells(game, states, player)
    original = kit.cells(states).copy()
    rest = bytes_of(states)[_is_public(game)]
    missing = is_open.copy()
    for count, variant in enumerate(variants(game, states, player, determinize, MORE_SEEDS)):
        changed = kit.cells(variant) != original
        known = changed & is_fixed
        assert not known.any(), (
            f"a card that the player knows was exchanged: cells {np.flatnonzero(known)}"
        )
        same = np.array_equal(bytes_of(variant)[_is_public(game)], rest)
        assert same, "something else than hidden cards was changed"
        missing &= ~changed
        if count >= SEEDS and not missing.any():
            break
    assert not missing.any(), f"hidden but never redrawn: cells {np.flatnonzero(missing)}"
    return int(is_open.sum())


def check_redraws_are_uniform(
    game: Game,
    states: np.ndarray,
    player: int,
    worlds: Sequence[np.ndarray],
    determinize: Determinize,
) -> None:
    """Redraws take each of the equally likely worlds equally often (chi-square test).

    The seeds are always the same ones: what passes once passes always.
    """
    cells = kit_of(game).cells
    expected = Counter(tuple(world.tolist()) for world in worlds)
    assert tuple(cells(states).tolist()) in expected, "the true cards are none of the worlds"
    count = max(2000, 20 * len(expected))
    redraws = variants(game, states, player, determinize, count)
    found = Counter(tuple(cells(redraw).tolist()) for redraw in redraws)
    strange = found.keys() - expected.keys()
    assert not strange, f"redrawn, but none of the worlds: {min(strange)}"
    shares = np.array(list(expected.values())) / expected.total()
    _, p = stats.chisquare([found[world] for world in expected], count * shares)
    assert p > LEAST_P, f"not uniform over {len(expected)} worlds: p = {p:.1e}"


def check_hidden_parts_do_not_matter(
    game: Game, states: np.ndarray, player: int, determinize: Determinize
) -> None:
    """What is redrawn follows from what the player knows and from the seed alone.

    Neither what lies there nor the random stream and the seed of the game, which no player knows,
    make any difference to a single byte.
    """
    expected = redrawn(game, states, player, 1, determinize)
    other = redrawn(game, states, player, 2, determinize)
    determinize(other, 0, player, np.uint64(1))
    assert other.tobytes() == expected.tobytes(), "what was hidden before makes a difference"
    other = copy_of(game, states)
    other["rng"] += np.uint64(12345)
    other["seed"] ^= np.uint64(54321)
    determinize(other, 0, player, np.uint64(1))
    assert other.tobytes() == expected.tobytes(), "the random stream makes a difference"


def forks(game: Game, num_players: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of positions that differ in one action, of the last four."""
    rng = np.random.default_rng(num_players)
    for states in positions_of(game, num_players)[::12]:
        legal = np.flatnonzero(mask_of(game, states))
        if len(legal) < 2:
            continue
        pair = copy_of(game, states), copy_of(game, states)
        actions = rng.choice(legal, 2, replace=False)
        for _ in range(4):
            for branch, action in zip(pair, actions, strict=True):
                game.rules.step(branch, 0, int(action))
            yield pair
            one, other = pair
            shared = np.flatnonzero(mask_of(game, one) & mask_of(game, other))
            if one["current_player"] != other["current_player"] or not shared.size:
                break
            actions = [rng.choice(shared)] * 2


def check_table_tells_what_is_observed(
    game: Game, num_players: int, observe: Observe, describe: Describe | None = None
) -> None:
    """Where observations differ, so do the tables in words, in each memory mode; and what is left
    out of observations without memory is not seen on the table."""
    beyond_words = set(kit_of(game).beyond_words)
    describe = describe or partial(table_in_words, game)

    def differing(pair: tuple[np.ndarray, np.ndarray], player: int, memory: int) -> set[str]:
        one, other = np.zeros((2, game.fields.size), np.float32)
        observe(pair[0], 0, player, memory, 1, one)
        observe(pair[1], 0, player, memory, 1, other)
        fields = game.fields.unflatten(one != other)
        return {name for name, values in fields.items() if values.any()} - beyond_words

    compared = 0
    for pair in forks(game, num_players):
        for player in range(num_players):
            recalled = differing(pair, player, MEMORY_PERFECT)
            for memory, mode in enumerate(MEMORY_MODES):
                fields = differing(pair, player, memory)
                if not (fields or recalled):
                    continue
                one, other = (describe(branch, 0, player, memory) for branch in pair)
                if fields:
                    assert one != other, f"not in the table in words ({mode}): {sorted(fields)}"
                    compared += 1
                else:
                    assert one == other, f"seen, but only observed with memory: {sorted(recalled)}"
    assert compared
