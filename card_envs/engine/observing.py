"""What the observations of all games are written with.

Writing observations is most of a decision's time, so:

- Every index into ``out`` or a table goes through ``index``: the compiler then makes no provision
  for negative indices. A wrong value is out of bounds, which plain Python and
  ``NUMBA_BOUNDSCHECK=1`` report; it never aliases another entry.
- What depends on the cards is looked up or written as 0.0 or 1.0 rather than decided by an ``if``,
  which the processor would often predict wrongly.
- A row of a table is copied by a loop of its own, which becomes one or two loads and stores.
- All of ``out`` is set to 0 first, even if most of it is written: a whole row of a batch's array
  comes into the processor's cache faster than pieces of it one by one.
- No slice of ``out`` is taken, and functions that are given ``out`` are ``@inline``: otherwise
  Numba counts references to it, with atomic instructions that wait for all writes.

``int`` costs nothing compiled; as plain Python it keeps a record's small integers from overflowing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.fields import MAX_SCALE
from card_envs.engine.jit import inline, jit

#: Values of an observer's ``memory``, and their names as an option.
MEMORY_PERFECT, MEMORY_NONE = 0, 1
MEMORY_MODES = ("perfect", "none")


@inline
def index(value):
    """A whole number as an index that cannot be negative."""
    return np.uint64(value)


@jit
def relative_seat(q, player, n):
    """How many places to the left of the player q sits, for at most 7 players."""
    places = q - player
    return places + (places >> 8 & n) & 7  # n more where negative


def fractions(scale: int) -> NDArray[np.float32]:
    """float32 (256,): entry k is ``k / scale``, at most 1."""
    return np.minimum(np.arange(MAX_SCALE + 1) / scale, 1.0).astype(np.float32)


def thermometers(length: int, *, above: int = 0) -> NDArray[np.float32]:
    """A table for numbers from 0 to 31: ``length`` values from ``length * number`` on.

    Entry c is 1 if the number is more than ``above + c``.
    """
    table = np.arange(32)[:, None] > above + np.arange(length)
    return table.astype(np.float32).reshape(-1)
