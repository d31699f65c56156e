"""Sparse rows: observations and action masks as the learner keeps and multiplies them.

About an eighth of an observation's values are not zero, and far fewer actions are legal: that saves
memory, and most of the first layer's time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.networks import kernels


@dataclass(frozen=True)
class SparseRows:
    """The rows of a matrix (M, size) by their non-zero values.

    Attributes:
        begins: int64 (M,), where each row begins in ``columns`` and ``values``.
        ends: int64 (M,), where it ends.
        columns: int32, ascending in each row.
        values: float32.
        size: Number of columns.
        first: What the first column is numbered.
        whole: The rows of which these are some of the columns; None: all of them.
    """

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    size: int
    first: int = 0
    whole: SparseRows | None = None

    @classmethod
    def of(cls, dense: NDArray[Any]) -> SparseRows:
        """The rows of a matrix (M, size)."""
        return SparseRowsBuffer(*dense.shape).append(dense)

    def __len__(self) -> int:
        return len(self.begins)

    def take(self, rows: NDArray[np.int64] | slice) -> SparseRows:
        """Some of the rows; nothing but their places is copied."""
        return replace(self, begins=self.begins[rows], ends=self.ends[rows], whole=None)

    def between(self, first: int, stop: int) -> SparseRows:
        """The columns from ``first`` to before ``stop`` of all rows."""
        return replace(
            self,
            begins=self.begins if first == 0 else self._find(first),
            ends=self.ends if stop == self.size else self._find(stop),
            size=stop - first,
            first=self.first + first,
            whole=self,
        )

    def _find(self, column: int) -> NDArray[np.int64]:
        places = np.empty(len(self), np.int64)
        kernels.find_column(self.begins, self.ends, self.columns, self.first + column, places)
        return places

    @cached_property
    def transposed(self) -> SparseRows:
        """The transposed matrix."""
        if self.whole is not None:  # which is transposed once for all its parts
            first = self.first - self.whole.first
            return self.whole.transposed.take(slice(first, first + self.size))
        starts = np.empty(self.size + 1, np.int64)
        count = int((self.ends - self.begins).sum())
        rows, values = np.empty(count, np.int32), np.empty(count, np.float32)
        kernels.transpose(*self._arguments, starts, rows, values)
        return SparseRows(starts[:-1], starts[1:], rows, values, len(self))

    def times(self, matrix: NDArray[np.float32], bias: NDArray[np.float32]) -> torch.Tensor:
        """The product with a matrix (size, N), plus a bias (N,): float32 (M, N)."""
        out = torch.empty(len(self), matrix.shape[1])
        kernels.multiply(*self._arguments, matrix, bias, out.numpy())
        return out

    def to_dense(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """The matrix: float32 or bfloat16 (M, size)."""
        out = torch.zeros(len(self), self.size, dtype=dtype)
        if dtype == torch.bfloat16:
            bits = self.values.view(np.uint32)
            kernels.expand_rounded(*self._arguments[:-1], bits, out.view(torch.uint16).numpy())
        else:
            kernels.expand(*self._arguments, out.numpy())
        return out

    @property
    def _arguments(self) -> tuple[Any, ...]:
        return self.begins, self.ends, self.columns, self.first, self.values


#: Rows as networks take them: sparse on a CPU, dense on a GPU.
Rows = SparseRows | torch.Tensor


def rows_on(device: torch.device, rows: Rows, dtype: torch.dtype | None = None) -> Rows:
    """The rows as networks on a device take them: sparse on a CPU unless there is a ``dtype``.
    Those of games that are played there are dense, and there already."""
    if not isinstance(rows, SparseRows) or (dtype is None and device.type == "cpu"):
        return rows
    return rows.to_dense(dtype or torch.float32).to(device)


def columns_of(rows: Rows, first: int, stop: int) -> Rows:
    """The columns from ``first`` to before ``stop``."""
    return rows.between(first, stop) if isinstance(rows, SparseRows) else rows[:, first:stop]


def as_dense(rows: Rows) -> torch.Tensor:
    """The rows as a tensor, whichever way they are kept."""
    return rows.to_dense() if isinstance(rows, SparseRows) else rows


class SparseRowsBuffer:
    """Room for a number of sparse rows of one size, to be filled again and again."""

    def __init__(self, num_rows: int, size: int) -> None:
        self._size = size
        self._begins, self._ends = np.zeros((2, num_rows), np.int64)
        self._columns, self._values = np.empty(0, np.int32), np.empty(0, np.float32)
        self.clear()

    def clear(self) -> None:
        """Begin again with the first row."""
        self._filled = self._used = 0

    def append(self, dense: NDArray[Any]) -> SparseRows:
        """Keep the rows of a matrix (M, size), and return them."""
        needed = self._used + dense.size + 1
        if needed > len(self._columns):
            # Beyond what is needed: memory that is never written takes no room.
            self._columns = _grown(self._columns, 2 * needed, self._used)
            self._values = _grown(self._values, 2 * needed, self._used)
        new = slice(self._filled, self._filled + len(dense))
        begins, ends = self._begins[new], self._ends[new]
        self._used = kernels.compress(dense, self._used, begins, ends, self._columns, self._values)
        self._filled = new.stop
        return SparseRows(begins, ends, self._columns, self._values, self._size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All rows since the buffer was cleared, for a file."""
        used = slice(0, self._used)
        lengths = self.rows.ends - self.rows.begins
        return {"lengths": lengths, "columns": self._columns[used], "values": self._values[used]}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Bring the buffer to the rows that :meth:`arrays` gave."""
        lengths = arrays["lengths"]
        self._filled, self._used = len(lengths), len(arrays["columns"])
        self._ends[: self._filled] = np.cumsum(lengths)
        self._begins[: self._filled] = self._ends[: self._filled] - lengths
        self._columns, self._values = arrays["columns"].copy(), arrays["values"].copy()

    @property
    def rows(self) -> SparseRows:
        """All rows since the buffer was cleared."""
        filled = slice(0, self._filled)
        begins, ends = self._begins[filled], self._ends[filled]
        return SparseRows(begins, ends, self._columns, self._values, self._size)


def _grown(array: NDArray[Any], size: int, used: int) -> NDArray[Any]:
    grown = np.empty(size, array.dtype)
    grown[:used] = array[:used]
    return grown
