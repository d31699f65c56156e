"""Eight small numbers at a time, as the bytes of one integer.

Sums and differences of such integers are those of their bytes, as long as these stay between 0
and 255; the functions say what else they need.
"""

from __future__ import annotations

import numpy as np

from card_envs.kernels.jit import inline

# The same number in every byte. Times EACH, a byte becomes the sum of the bytes up to it. Products
# are of unsigned integers: of signed ones the compiler takes for granted that none overflows.
EACH = 0x0101010101010101
_EACH, _TO_BITS = np.uint64(EACH), np.uint64(0x0102040810204080)
_7, _56 = np.uint64(7), np.uint64(56)


@inline
def eight(numbers, first):
    """``numbers[first : first + 8]`` of an int8 array: compiled, a single load.

    The first one becomes the lowest byte; -1 becomes 255.
    """
    word = 0
    for k in range(8):
        word |= (int(numbers[first + k]) & 255) << 8 * k
    return word


@inline
def sum_of(word):
    """The sum of the eight, if it is below 256."""
    return np.int64(np.uint64(word) * _EACH >> _56)


@inline
def find_place(word, number):
    """How many of the eight it takes, less one, for a sum of more than ``number``.

    Their sum is more than that, and at most 127.
    """
    sums = (np.uint64(word) + np.uint64(127 - number)) * _EACH
    return 8 - sum_of(sums >> _7 & _EACH)  # 1 for each place that is enough


@inline
def bits_of(word):
    """Eight bytes of 0 or 1 as a number of eight bits; the lowest byte becomes the lowest bit."""
    return np.int64(np.uint64(word) * _TO_BITS >> _56)
