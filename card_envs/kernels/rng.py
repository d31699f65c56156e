"""The SplitMix64 random stream that every game's record carries as ``rng``.

The stream depends on the seed alone: the same on every machine, in any batch, with any number
of threads.
"""

from __future__ import annotations

import numpy as np

from card_envs.kernels.jit import jit

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_11, _30, _27, _31, _32 = (np.uint64(bits) for bits in (11, 30, 27, 31, 32))
_TO_UNIT = 2.0**-53


@jit
def mix(value):
    """SplitMix64's finalizer: a bijection of uint64 that looks random."""
    z = np.uint64(value) + _GAMMA
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@jit
def seed_stream(s, seed, number):
    """Start stream ``number`` of a seed, so that it does not depend on what was drawn before."""
    s.rng = mix(np.uint64(seed) ^ mix(np.uint64(number)))


@jit
def reseed(s, seed):
    """Give a record another seed and start its stream: first in every ``determinize``, since a
    search that knew the seed would know what is dealt next."""
    s.seed = mix(seed)
    seed_stream(s, s.seed, 0)


@jit
def draw_below(s, bound):
    """A uniform integer in [0, bound), bound < 2**31, from the record's stream."""
    value = mix(s.rng)
    s.rng = s.rng + _GAMMA
    # The high half times the bound: its bias is below bound / 2**32.
    return np.int64(((value >> _32) * np.uint64(bound)) >> _32)


@jit
def draw_below_from(streams, i, bound):
    """The same from an array of streams, for players who must not touch the game's own."""
    value = mix(streams[i])
    streams[i] = streams[i] + _GAMMA
    return np.int64(((value >> _32) * np.uint64(bound)) >> _32)


@jit
def draw_unit_from(streams, i):
    """A uniform number in [0, 1) from an array of streams."""
    value = mix(streams[i])
    streams[i] = streams[i] + _GAMMA
    return unit_of(value)


@jit
def unit_of(value):
    """The number in [0, 1) that 64 random bits stand for."""
    return np.float64(value >> _11) * _TO_UNIT


@jit
def seed_in(stream, number):
    """The seed of that number that a stream holds, without drawing those before it."""
    return mix(stream + np.uint64(number) * _GAMMA)
