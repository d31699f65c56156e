"""``TextSpace``: Gymnasium's space of texts, for observations in shared memory."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from numpy.typing import NDArray


class TextSpace(spaces.Text):
    """A space of ASCII texts.

    ``AsyncVectorEnv`` reads the texts of a ``Text`` from shared memory only once, before the first
    reset, and returns these for ever. Those of this space it reads whenever they are asked for.
    """


class _SharedTexts(Sequence[str]):
    """The texts that are in shared memory now; a deep copy holds those of its moment."""

    def __init__(self, rows: NDArray[np.uint8]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        return self._rows[index].tobytes().rstrip(b"\0").decode("ascii")

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


def _rows(space: TextSpace, shared_memory: Any) -> NDArray[np.uint8]:
    """The memory as ASCII, one row for each environment, filled up with zeros."""
    return np.frombuffer(shared_memory.get_obj(), np.uint8).reshape(-1, space.max_length)


@create_shared_memory.register
def _(space: TextSpace, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("c", n * space.max_length)


@read_from_shared_memory.register
def _(space: TextSpace, shared_memory: Any, n: int = 1) -> Any:
    return _SharedTexts(_rows(space, shared_memory))


@write_to_shared_memory.register
def _(space: TextSpace, index: int, value: str, shared_memory: Any) -> None:
    row = _rows(space, shared_memory)[index]
    row[: len(value)] = np.frombuffer(value.encode("ascii"), np.uint8)
    row[len(value) :] = 0
