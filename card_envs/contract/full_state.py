"""The full state of a game that has no ``write_state``: the bytes of its record's entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.fields import MAX_SCALE, Field, Fields

# The random stream and the seed tell the future; the others do not describe the position.
_LEFT_OUT = ("rng", "seed", "rewards", "reward_mode", "max_steps")


def byte_fields(state_dtype: np.dtype[np.void]) -> Fields:
    """A field for each entry of the record: its bytes, one value each."""
    names = [name for name in state_dtype.names or () if name not in _LEFT_OUT]
    return Fields(
        *(
            Field(name, (state_dtype[name].itemsize,), "the entry's bytes", scale=MAX_SCALE)
            for name in names
        )
    )


def write_bytes(
    states: NDArray[np.void], indices: NDArray[np.int64], out: NDArray[np.float32]
) -> None:
    """Write the fields of ``byte_fields`` for the games ``indices``, float32 (M, S)."""
    dtype: np.dtype[np.void] = states.dtype
    columns = [
        np.arange(offset, offset + entry.itemsize)
        for name, (entry, offset, *_) in (dtype.fields or {}).items()
        if name not in _LEFT_OUT
    ]
    raw = np.ascontiguousarray(states[indices]).view(np.ndarray).view(np.uint8)
    raw = raw.reshape(len(indices), dtype.itemsize)
    np.divide(raw[:, np.concatenate(columns)], np.float32(MAX_SCALE), out=out)
