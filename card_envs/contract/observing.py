"""Helpers with which all games write their observations and masks.

Writing observations is most of a decision's time, so:

- Every index into ``out`` or a table goes through ``index``: the compiler then makes no provision
  for negative indices. A wrong value is out of bounds, which plain Python and
  ``NUMBA_BOUNDSCHECK=1`` report; it never aliases another entry.
- What depends on the cards is looked up or written as 0.0 or 1.0 rather than decided by an ``if``,
  which the processor would often predict wrongly.
- A row of a table is copied by a loop of its own, which becomes one or two loads and stores.
- ``out`` is float32 or uint8 (whole units), which is known when a kernel is compiled: ``share`` and
  ``entry`` give the value to write for either. Constants that are 0 or 1 need neither.
- All of ``out`` is set to 0 first, even if most of it is written: a whole row of a batch's array
  comes into the processor's cache faster than pieces of it one by one.
- No slice of ``out`` is taken, and functions that are given ``out`` are ``@inline``: otherwise
  Numba counts references to it, with atomic instructions that wait for all writes.

``int`` costs nothing compiled; as plain Python it keeps a record's small integers from overflowing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from card_envs.kernels.jit import inline, jit

#: Values of an observer's ``memory``, and their names as an option.
MEMORY_PERFECT, MEMORY_NONE = 0, 1
MEMORY_MODES = ("perfect", "none")

_INLINE: Any = {"forceinline": True, "error_model": "numpy"}


@inline
def index(value):
    """A whole number as an unsigned index."""
    return np.uint64(value)


@jit
def relative_seat(q, player, n):
    """How many seats to the left of the player q sits, for at most 16 players."""
    seats = q - player
    return seats + (seats >> 8 & n) & 15  # n more where negative


def share(out, units, scale):
    """What to write for a number of units, from 0 to ``scale``: ``units / scale``, or the units.

    Multiplied in float64, which gives the same float32 as the division.
    """
    return units if out.dtype == np.uint8 else units * (1.0 / scale)


@overload(share, jit_options=_INLINE)
def _share(out, units, scale):
    if out.dtype == types.uint8:
        return lambda out, units, scale: units
    return lambda out, units, scale: units * (1.0 / scale)


def entry(out, table, place):
    """What to write: an entry of one of ``table_of``'s tables."""
    return table[int(out.dtype == np.uint8)][place]


@overload(entry, jit_options=_INLINE)
def _entry(out, table, place):
    if out.dtype == types.uint8:
        return lambda out, table, place: table[1][index(place)]
    return lambda out, table, place: table[0][index(place)]


@inline
def clear_fields(out, first, end):
    """Set the values from ``first`` to before ``end`` to 0."""
    for k in range(first, end):
        out[index(k)] = 0.0


@inline
def allow(action_mask, first, count):
    """Write 1 for this many actions from ``first`` on; returns their number."""
    for k in range(count):
        action_mask[index(first + k)] = 1
    return count


@inline
def write_row(out, first, table, row, width):
    """A row of one of ``table_of``'s tables, whose rows have this width, from ``first`` on."""
    for k in range(width):
        out[index(first + k)] = entry(out, table, width * row + k)


@inline
def write_counts(out, first, counts, scale):
    """An array of numbers of units from 0 to ``scale``, from ``first`` on."""
    for k in range(len(counts)):
        out[index(first + k)] = share(out, int(counts[k]), scale)


def table_of(
    units: ArrayLike, scale: ArrayLike = 1
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """A table for ``entry``: what to write as float32, and as uint8.

    Args:
        units: Whole numbers from 0 to their scale, of any shape; the table is flat.
        scale: Their scales, which broadcast to that shape.
    """
    array = np.asarray(units)
    return (array / scale).astype(np.float32).reshape(-1), array.astype(np.uint8).reshape(-1)


def thermometers(length: int, *, above: int = 0) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """A table for numbers from 0 to 31: ``length`` values from ``length * number`` on.

    Entry c is 1 if the number is more than ``above + c``.
    """
    return table_of(np.arange(32)[:, None] > above + np.arange(length))
