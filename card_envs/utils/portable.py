"""Objects that travel between processes: their arrays are their own wherever they arrive."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class Portable:
    """An object that can be used wherever its pickle is loaded.

    pickle with out-of-band buffers, and what is built on it (joblib, Ray, Dask), hands arrays back
    over memory that may not be written, or that others share. This object takes copies. A class
    that holds arrays derives from it; one with a ``__setstate__`` of its own calls this one.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(_with_own_arrays(state))


class Undivided(Portable):
    """An object that holds games: also a shallow copy has games of its own, as half a copy would
    play on in those of the original."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)


def _with_own_arrays(value: Any) -> Any:
    """The value, with copies of the arrays in its containers that are not their own memory.

    Other objects are left alone: they see to their own arrays.
    """
    if isinstance(value, np.ndarray):
        is_own = value.base is None and value.flags.writeable
        return value if is_own else own_copy(value)
    if type(value) is dict:
        entries = dict(zip(value, map(_with_own_arrays, value.values()), strict=True))
        is_same = all(entries[key] is entry for key, entry in value.items())
        return value if is_same else entries
    if isinstance(value, (list, tuple)):
        own = [_with_own_arrays(entry) for entry in value]
        if all(entry is before for entry, before in zip(own, value, strict=True)):
            return value  # others that share it still do
        return type(value)._make(own) if hasattr(value, "_make") else type(value)(own)
    return value


def own_copy(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that can be written to, to the byte: also what is between a record's entries."""
    if array.dtype.hasobject:
        return array.copy()
    copy: NDArray[Any] = np.ndarray(array.shape, array.dtype, bytearray(array.tobytes()))
    return copy.view(np.recarray) if isinstance(array, np.recarray) else copy
