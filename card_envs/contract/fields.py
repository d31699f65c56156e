"""Named fields: one declaration gives an observation's layout, units, documentation and offsets."""

from __future__ import annotations

import hashlib
import json
import math
from collections import namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from card_envs.utils.markdown import markdown_table

ScalarT = TypeVar("ScalarT", bound=np.generic)

#: The greatest number of units of a value: units fit into a ``uint8``.
MAX_SCALE = 255

#: What observations can be written as: values in [0, 1], or whole units of ``Fields.scale``.
OBSERVATION_DTYPES = ("float32", "uint8")


def check_observation_dtype(observation_dtype: Any) -> np.dtype[Any]:
    """The dtype of an option ``observation_dtype``, given as a name, a type or a dtype.

    Raises:
        ValueError: It is none of ``OBSERVATION_DTYPES``.
    """
    try:
        dtype: np.dtype[Any] = np.dtype(observation_dtype)
    except TypeError:
        dtype = np.dtype(np.void)
    is_known = dtype.name in OBSERVATION_DTYPES and dtype.isnative
    if observation_dtype is None or not is_known:
        raise ValueError(
            f"observation_dtype must be 'float32' or 'uint8', got {observation_dtype!r}"
        )
    return dtype


@dataclass(frozen=True)
class Field:
    """A named field of a flat vector.

    Every value is ``k / scale`` for a whole number of units ``k`` from 0 to ``scale``; larger
    counts saturate.

    Args:
        name: The field's name; a Python identifier.
        shape: Its shape.
        doc: What the values mean.
        scale: The unit's divisor, from 1 to 255: a number, or one for each entry of the last axis.
        derived: Whether it is computed by searching or comparing alternatives; such fields are 0
            with ``features=False``.
        remembered: Whether it needs perfect recall; such fields are 0 with ``memory="none"``.

    Raises:
        ValueError: A scale is not a whole number from 1 to 255.
    """

    name: str
    shape: tuple[int, ...]
    doc: str
    scale: int | tuple[int, ...] = 1
    derived: bool = False
    remembered: bool = False

    def __post_init__(self) -> None:
        scales = self.scale if isinstance(self.scale, tuple) else (self.scale,)
        if not all(isinstance(scale, int) and 1 <= scale <= MAX_SCALE for scale in scales):
            raise ValueError(f"{self.name}: a scale is from 1 to {MAX_SCALE}, got {self.scale}")

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def meaning(self) -> str:
        """The documentation, which says whether the field is derived or needs perfect recall."""
        marks = ["derived"] * self.derived + ["perfect recall"] * self.remembered
        return f"{self.doc} ({', '.join(marks)})" if marks else self.doc


class Fields:
    """The layout of a flat float32 vector: field after field, each in C order.

    Raises:
        ValueError: Two fields have the same name.
    """

    def __init__(self, *fields: Field) -> None:
        self._fields = {field.name: field for field in fields}
        if len(self._fields) != len(fields):
            raise ValueError("two fields have the same name")
        *offsets, size = accumulate((field.size for field in fields), initial=0)
        self._offsets = dict(zip(self._fields, offsets, strict=True))
        #: Number of values of the vector.
        self.size = size
        self._scale = np.concatenate(
            [
                np.broadcast_to(np.array(field.scale, np.float32), field.shape).ravel()
                for field in fields
            ]
        )

    @property
    def scale(self) -> NDArray[np.float32]:
        """float32 (size,): the divisor of each value's units, a copy."""
        return self._scale.copy()

    def __iter__(self) -> Iterator[Field]:
        return iter(self._fields.values())

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __getitem__(self, name: str) -> Field:
        return self._fields[name]

    def offset(self, name: str) -> int:
        """Index of the field's first value in the flat vector."""
        return self._offsets[name]

    def offsets(self) -> Any:
        """All offsets as a named tuple, which kernels can use as a constant: ``AT.hand``."""
        return namedtuple("Offsets", self._offsets)(**self._offsets)

    @property
    def fingerprint(self) -> str:
        """A hash of names, shapes and scales, which tells policies for another layout apart."""
        layout = [(field.name, field.shape, field.scale) for field in self]
        return hashlib.sha256(json.dumps(layout).encode()).hexdigest()[:16]

    def unflatten(self, vector: NDArray[ScalarT]) -> dict[str, NDArray[ScalarT]]:
        """Split vectors of shape ``(..., size)`` into named views ``(..., *field.shape)``.

        The views have the vectors' dtype: float32, or uint8 for observations in whole units. Those
        of a tensor are tensors.

        Raises:
            ValueError: The last axis does not have ``size`` values.
            TypeError: It is a dict, as observations with their masks are.
        """
        if isinstance(vector, Mapping):
            raise TypeError(
                "the vector alone is needed, such as observation['observation'], got a dict of "
                f"{', '.join(map(str, vector))}"
            )
        vector = vector if hasattr(vector, "reshape") else np.asarray(vector)
        if vector.ndim == 0 or vector.shape[-1] != self.size:
            raise ValueError(
                f"the last axis must have {self.size} values, got shape {vector.shape}"
            )
        lead = vector.shape[:-1]
        return {
            name: vector[..., offset : offset + self._fields[name].size].reshape(
                *lead, *self._fields[name].shape
            )
            for name, offset in self._offsets.items()
        }

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Index, name, shape, scale and meaning of each field, in words."""
        rows = []
        for field in self:
            first = self._offsets[field.name]
            last = first + field.size - 1
            scale = field.scale if isinstance(field.scale, tuple) else (field.scale,)
            rows.append(
                (
                    f"{first}" if first == last else f"{first}..{last}",
                    field.name,
                    "×".join(map(str, field.shape)),
                    ", ".join(map(str, scale)),
                    field.meaning,
                )
            )
        return rows

    def table(self) -> str:
        """The layout as a Markdown table."""
        rows = [(index, f"`{name}`", *rest) for index, name, *rest in self.rows()]
        return markdown_table(("index", "field", "shape", "scale", "meaning"), rows)
