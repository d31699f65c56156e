"""Eight small numbers at a time, as the bytes of one integer.

Sums and differences of such integers are those of their bytes, as long as these stay between 0
and 255; the functions say what else they need.
"""

from __future__ import annotations

from card_envs.engine.observing import part

# The same number in every byte. Times EACH, a byte becomes the sum of the bytes up to it.
EACH = 0x0101010101010101


@part
def eight(numbers, first):
    """``numbers[first : first + 8]`` of an int8 array: compiled, a single load.

    Numbers from 0 to 127; the first one becomes the lowest byte.
    """
    word = 0
    for k in range(8):
        word |= (int(numbers[first + k]) & 255) << 8 * k
    return word


@part
def sum_of(word):
    """The sum of the eight, if it is below 256."""
    return word * EACH >> 56 & 255


@part
def find_place(word, number):
    """How many of the eight it takes, less one, for a sum of more than ``number``.

    Their sum is more than that, and at most 127.
    """
    enough = word * EACH + (127 - number) * EACH >> 7 & EACH  # 1 for each place that is enough
    return 8 - sum_of(enough)
