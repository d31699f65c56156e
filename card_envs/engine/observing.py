"""What the observations of all games are written with.

For speed (writing observations is most of a decision's time):

- Indices are masked (& 7, & 15, ...) wherever the compiler cannot see that they are not negative:
  it would make provision for negative ones.
- What depends on the cards is looked up or written as 0.0 or 1.0 rather than decided by an ``if``,
  which the processor would often guess wrong.
- A row of a table is copied by a loop of its own, which becomes a load and a store or two.
- All of ``out`` is set to 0 first, even if most is written: a whole row of a batch's array comes
  into the processor's cache faster than its parts one by one.
- No slice of ``out`` is taken, and functions that are given ``out`` are ``part``s, inlined for
  certain: else Numba counts references to it, with instructions that wait for all writing.

``int`` costs nothing compiled; as plain Python it keeps a field's small integers from overflow.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.jit import jit

#: Compiles a part of a kernel that writes to the array ``out``.
part = functools.partial(jit, inline=True)


@jit
def relative_seat(q, player, n):
    """How many places to the left of the player q sits, for at most 7 players."""
    places = q - player
    return places + (places >> 8 & n) & 7  # n more where negative


def fractions(unit: float) -> NDArray[np.float32]:
    """A table for numbers from 0 to 15: so many times the unit."""
    return (np.arange(16) * unit).astype(np.float32)


def thermometers(length: int, *, above: int = 0) -> NDArray[np.float32]:
    """A table for numbers from 0 to 31: ``length`` values from ``length * number`` on.

    Entry c is 1 if the number is more than ``above + c``.
    """
    table = np.arange(32)[:, None] > above + np.arange(length)
    return table.astype(np.float32).reshape(-1)
