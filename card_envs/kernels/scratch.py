"""Memory without allocating any, as kernels need it: scratch arrays, and cleared records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from card_envs.kernels.jit import COMPILED

_ITEM_SIZE = 8


@intrinsic(prefer_literal=True)
def _on_the_stack(typing_context: Any, shape: Any) -> Any:
    lengths = [length.literal_value for length in shape]
    array_type = types.Array(types.float64, len(lengths), "C")
    size = math.prod(lengths)
    strides = [_ITEM_SIZE * math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))]

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def constant(value: int) -> Any:
            return context.get_constant(types.intp, value)

        block = cgutils.alloca_once(builder, context.get_data_type(types.float64), size=size)
        cgutils.memset(builder, block, constant(_ITEM_SIZE * size), 0)
        array = make_array(array_type)(context, builder)
        populate_array(
            array,
            data=block,
            shape=[constant(length) for length in lengths],
            strides=[constant(stride) for stride in strides],
            itemsize=constant(_ITEM_SIZE),
            meminfo=None,  # nobody counts references to it
        )
        return array._getvalue()

    return array_type(shape), codegen


#: ``scratch(shape)``: float64 zeros, gone when the kernel that asked for them returns. The shape is
#: a tuple of constants, written out in the call.
scratch = _on_the_stack if COMPILED else np.zeros


@intrinsic
def _fill_with_zeros(typing_context: Any, s: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cgutils.memset(builder, arguments[0], context.get_constant(types.intp, s.size), 0)
        return context.get_dummy_value()

    return types.void(s), codegen


def _set_to_zero(s: Any) -> None:
    for name in s.dtype.names:
        s[name] = 0


#: ``clear(s)``: all entries of a record become 0.
clear = _fill_with_zeros if COMPILED else _set_to_zero
