"""What is derived from a game's seed: the next seed, the table's size, the learner's seat."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.kernels.bytewise import eight, find_place, sum_of
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import draw_below_from, mix
from card_envs.utils.checks import as_whole_number

_NEXT = np.uint64(0x5851F42D4C957F2D)
_PLAYERS = np.uint64(0x14057B7EF767814F)
_SEAT = np.uint64(0x2545F4914F6CDD1D)


@jit
def next_seed(seed):
    """The seed of the next game, unless one is given."""
    return mix(np.uint64(seed) ^ _NEXT)


@jit
def players_of(seed, low, high):
    """The number of players, from low to high, of the game with this seed."""
    return low + np.int64(mix(np.uint64(seed) ^ _PLAYERS) % np.uint64(high - low + 1))


@jit
def learner_seat_of(seed, num_players):
    """The learner's seat in the game with this seed, unless one is given."""
    return np.int64(mix(np.uint64(seed) ^ _SEAT) % np.uint64(num_players))


@jit
def next_seeds(seeds):
    """``next_seed`` of every element."""
    following = np.empty_like(seeds)
    for j in range(len(seeds)):
        following[j] = next_seed(seeds[j])
    return following


@jit
def draw_tables(seeds, low, high, num_players, learner_seats):
    """Fill in the number of players and the learner's seat for the games with these seeds."""
    for j in range(len(seeds)):
        num_players[j] = players_of(seeds[j], low, high)
        learner_seats[j] = learner_seat_of(seeds[j], num_players[j])


@jit
def random_action(streams, i, action_mask, count):
    """One of the ``count`` legal actions, drawn uniformly from the stream ``streams[i]``."""
    chosen = int(draw_below_from(streams, i, count))
    first = 0
    while first + 8 <= len(action_mask):
        entries = eight(action_mask, first)
        legal = sum_of(entries)
        if chosen < legal:
            return first + find_place(entries, chosen)
        chosen -= legal
        first += 8
    while first < len(action_mask):
        chosen -= int(action_mask[first])
        if chosen < 0:
            return first
        first += 1
    return -1


def consecutive_seeds(seed: int | None, count: int) -> NDArray[np.uint64]:
    """The seeds ``seed``, ``seed + 1``, ... of a batch's games, modulo 2**64."""
    return np.uint64(check_seed(seed)) + np.arange(count, dtype=np.uint64)


def check_seeds(seeds: Sequence[int | None], following: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One seed for each game (N,); where one is None, that of ``following`` (N,).

    Raises:
        ValueError, TypeError: They are not as many, or one is out of range, or no whole number.
    """
    if len(seeds) != len(following):
        raise ValueError(
            f"seed must be one, or one for each of {len(following)} games, got {len(seeds)}"
        )
    checked = following.copy()
    for i, seed in enumerate(seeds):
        if seed is not None:
            checked[i] = check_seed(seed)
    return checked


def stream_of(seed: int) -> NDArray[np.uint64]:
    """A stream of random numbers (1,) that follows from a seed, which is checked."""
    return np.array([mix(np.uint64(check_given_seed(seed)))], np.uint64)


def check_seed(seed: Any) -> int:
    """A seed as a whole number in [0, 2**64); None draws one from the operating system."""
    if seed is None:
        return secrets.randbits(63)
    return _checked(seed, "None or a whole number")


def check_given_seed(seed: Any) -> int:
    """As :func:`check_seed`, but None is an error, since the result must be reproducible."""
    return _checked(seed, "a whole number")


def _checked(seed: Any, allowed: str) -> int:
    number = as_whole_number(seed)
    if number is None:
        raise TypeError(f"seed must be {allowed}, got {seed!r}")
    return check_seed_range("seed", number)


def check_seed_range(name: str, seed: int) -> int:
    """The seed; a ValueError unless it is in [0, 2**64)."""
    if not 0 <= seed < 2**64:
        raise ValueError(f"{name} must be from 0 to 2**64 - 1, got {seed}")
    return seed
