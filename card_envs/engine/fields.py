"""Named observation fields: one table gives the layout, the space, the docs and ``unflatten``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Field:
    """One named part of the flat observation vector."""

    name: str
    shape: tuple[int, ...]
    doc: str

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)


class Fields:
    """The observation layout of a game: its fields, one after the other, C order within each."""

    def __init__(self, *fields: Field) -> None:
        self._fields = {field.name: field for field in fields}
        if len(self._fields) != len(fields):
            raise ValueError("two observation fields have the same name")
        self._offsets: dict[str, int] = {}
        size = 0
        for field in fields:
            self._offsets[field.name] = size
            size += field.size
        #: Number of float32 values of an observation.
        self.size = size

    def __iter__(self) -> Iterator[Field]:
        return iter(self._fields.values())

    def offset(self, name: str) -> int:
        """Index of the field's first value in the flat vector."""
        return self._offsets[name]

    def unflatten(self, observation: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """Split observations of shape ``(..., size)`` into named views ``(..., *field.shape)``."""
        observation = np.asarray(observation)
        if observation.ndim == 0 or observation.shape[-1] != self.size:
            raise ValueError(
                f"an observation has {self.size} values in its last axis, "
                f"got shape {observation.shape}"
            )
        lead = observation.shape[:-1]
        return {
            name: observation[..., offset : offset + self._fields[name].size].reshape(
                *lead, *self._fields[name].shape
            )
            for name, offset in self._offsets.items()
        }

    def table(self) -> str:
        """The layout as a Markdown table."""
        rows = ["| index | field | shape | meaning |", "| --- | --- | --- | --- |"]
        for field in self:
            first = self._offsets[field.name]
            last = first + field.size - 1
            index = f"{first}" if first == last else f"{first}..{last}"
            shape = "×".join(map(str, field.shape))
            rows.append(f"| {index} | `{field.name}` | {shape} | {field.doc} |")
        return "\n".join(rows)
