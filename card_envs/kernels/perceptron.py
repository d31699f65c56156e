"""A policy network's forward pass as a kernel: for one observation, without allocation.

Networks are passed in as arrays, so that another one needs no compiling. Every sum has a fixed
order, and the exponential is our own: the same logits and draws for one observation as for many
and, with the activation relu, on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from card_envs.kernels.jit import jit
from card_envs.kernels.portable_math import exp
from card_envs.kernels.rng import draw_unit_from, mix, unit_of

#: Activations by their codes.
ACTIVATIONS = ("relu", "tanh")

#: Layers that a network can have: hidden ones and the last.
MAX_LAYERS = 17

# A layout: activation, how actions are chosen and the seed of that, number of layers, where the
# weights begin, sizes.
_ACTIVATION, _CHOICE, _SEED, LAYERS, _START, _SIZES = range(6)
LAYOUT_SIZE = _SIZES + MAX_LAYERS + 1

#: Rows of the room for a forward pass: two layers' values, logits, what is left over at a layer's
#: end.
LOGITS, _SPARE = 2, 3
SCRATCH_ROWS = 4

# How actions are chosen: the most probable one, one drawn from a stream, or one drawn with a number
# that follows from a seed and from the position.
_LIKELIEST, _FROM_STREAM, _BY_POSITION = range(3)

_RELU = 0
_20 = np.uint64(20)
_GROUP = 8  # rows that are added to a layer's outputs at a time
_FEW = 8  # values that are added one by one
_LOWEST = np.float32(np.finfo(np.float32).min)
_ZERO = np.float32(0.0)
_NO_SCALE = np.zeros(0, np.float32)


def pack(
    layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]], activation: str
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """A network as the kernels take it.

    Args:
        layers: weight (out, in) and bias (out,) of each layer, at most ``MAX_LAYERS``.
        activation: One of ``ACTIVATIONS``.

    Returns:
        weights: float32, all hidden weights as (in, out), the last one as (out, in), each with its
            bias behind it.
        layout: int64 (LAYOUT_SIZE,), for a network that takes the most probable action.

    Raises:
        ValueError: There are too many layers, or there is no such activation.
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"unknown activation {activation!r}, must be one of {ACTIVATIONS}")
    if len(layers) > MAX_LAYERS:
        raise ValueError(f"a network has at most {MAX_LAYERS} layers, got {len(layers)}")
    arrays = []
    layout = np.zeros(LAYOUT_SIZE, np.int64)
    layout[_ACTIVATION] = ACTIVATIONS.index(activation)
    layout[LAYERS] = len(layers)
    for k, (weight, bias) in enumerate(layers):
        is_last = k == len(layers) - 1
        arrays += [(weight if is_last else weight.T).ravel(), bias]
        layout[_SIZES + k : _SIZES + k + 2] = weight.shape[::-1]
    return np.concatenate(arrays), layout


def drawing(layout: NDArray[np.int64], seed: int | None = None) -> NDArray[np.int64]:
    """The layout of the same network that draws its actions.

    Args:
        layout: The network's layout.
        seed: None: it draws from a stream. A seed: the same action in the same position after the
            same number of decisions, however it is asked for; seeds that are equal modulo 2**63 are
            the same.
    """
    layout = layout.copy()
    layout[_CHOICE] = _FROM_STREAM if seed is None else _BY_POSITION
    layout[_SEED] = 0 if seed is None else seed % 2**63
    return layout


def join(
    networks: Sequence[tuple[NDArray[np.float32], NDArray[np.int64]] | None],
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
    """Several packed networks together: weights, layouts (N, LAYOUT_SIZE), room to compute in."""
    layouts = np.zeros((len(networks), LAYOUT_SIZE), np.int64)
    arrays, start = [], 0
    for k, network in enumerate(networks):
        if network is not None:
            weights, layouts[k] = network
            layouts[k, _START] = start
            arrays.append(weights)
            start += len(weights)
    weights = np.concatenate(arrays) if arrays else np.zeros(0, np.float32)
    return weights, layouts, make_scratch(layouts)


def make_scratch(layouts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Room for a forward pass of any of these networks: float32 (SCRATCH_ROWS, widest layer)."""
    return np.zeros((SCRATCH_ROWS, int(layouts[:, _SIZES:].max(initial=0)) + 1), np.float32)


@jit
def _activate(values, size, activation):
    if activation == _RELU:
        for k in range(size):
            values[k] = max(values[k], _ZERO)
    else:
        for k in range(size):
            values[k] = np.tanh(values[k])


@jit
def _add_layer(weights, at, inputs, scale, num_inputs, outputs, num_outputs, nonzero):
    """``outputs = inputs @ weight + bias``; rows of inputs that are 0 are skipped.

    The others are added in groups of ``_GROUP``, which saves reading and writing the outputs.
    """
    bias = at + num_inputs * num_outputs
    for k in range(num_outputs):
        outputs[k] = weights[bias + k]
    count = 0
    for j in range(num_inputs):
        nonzero[count] = j
        count += inputs[j] != _ZERO
    whole = count - count % _GROUP
    for m in range(0, whole, _GROUP):
        a, row_a = _row(weights, at, inputs, scale, num_outputs, nonzero[m])
        b, row_b = _row(weights, at, inputs, scale, num_outputs, nonzero[m + 1])
        c, row_c = _row(weights, at, inputs, scale, num_outputs, nonzero[m + 2])
        d, row_d = _row(weights, at, inputs, scale, num_outputs, nonzero[m + 3])
        e, row_e = _row(weights, at, inputs, scale, num_outputs, nonzero[m + 4])
        f, row_f = _row(weights, at, inputs, scale, num_outputs, nonzero[m + 5])
        g, row_g = _row(weights, at, inputs, scale, num_outputs, nonzero[m + 6])
        h, row_h = _row(weights, at, inputs, scale, num_outputs, nonzero[m + 7])
        for k in range(num_outputs):
            first = (a * row_a[k] + b * row_b[k]) + (c * row_c[k] + d * row_d[k])
            second = (e * row_e[k] + f * row_f[k]) + (g * row_g[k] + h * row_h[k])
            outputs[k] += first + second
    for m in range(whole, count):
        a, row_a = _row(weights, at, inputs, scale, num_outputs, nonzero[m])
        for k in range(num_outputs):
            outputs[k] += a * row_a[k]
    return bias + num_outputs


@jit
def _row(weights, at, inputs, scale, num_outputs, j):
    """Input ``j`` and its weights."""
    begin = at + j * num_outputs
    return _value(inputs, scale, j), weights[begin : begin + num_outputs]


def _value(inputs, scale, j):
    """Input ``j``, from units if the inputs are an observation in uint8."""
    value = np.float32(inputs[j])
    return value / scale[j] if inputs.dtype == np.uint8 else value


@overload(_value)
def _compiled_value(inputs, scale, j):
    if inputs.dtype == types.uint8:
        return lambda inputs, scale, j: np.float32(inputs[j]) / scale[j]
    return lambda inputs, scale, j: inputs[j]


@jit
def _dot(row, values, size, products):
    """A dot product: the products' halves are added until few are left, in a fixed order."""
    for k in range(size):
        products[k] = row[k] * values[k]
    while size > _FEW:
        half = (size + 1) // 2
        for k in range(size - half):
            products[k] += products[k + half]
        size = half
    total = _ZERO
    for k in range(size):
        total += products[k]
    return total


@jit
def write_logits(weights, layout, observation, scale, action_mask, scratch):
    """Write the logits of the legal actions into ``scratch[LOGITS]``.

    The observation is float32, or uint8: units of these scales. The logits are the same.
    """
    spare = scratch[_SPARE]
    layers = layout[LAYERS]
    at = layout[_START]
    size = layout[_SIZES]
    inputs = scratch[1]
    if layers == 1:
        for j in range(size):
            inputs[j] = _value(observation, scale, j)
    for layer in range(layers - 1):
        outputs = scratch[layer % 2]
        width = layout[_SIZES + layer + 1]
        nonzero = spare.view(np.int32)
        if layer == 0:
            at = _add_layer(weights, at, observation, scale, size, outputs, width, nonzero)
        else:
            at = _add_layer(weights, at, inputs, scale, size, outputs, width, nonzero)
        _activate(outputs, width, layout[_ACTIVATION])
        inputs, size = outputs, width
    logits = scratch[LOGITS]
    bias = at + len(action_mask) * size
    for action in range(len(action_mask)):
        if action_mask[action]:
            row = weights[at + action * size : at + (action + 1) * size]
            logits[action] = max(_dot(row, inputs, size, spare) + weights[bias + action], _LOWEST)


@jit
def choose_by_network(weights, layout, observation, scale, action_mask, steps, streams, i, scratch):
    """A network's action: the most probable legal one, or one drawn as the layout says.

    ``steps`` are the decisions that the game has taken: where a position comes again, draws that
    follow from it are others.
    """
    write_logits(weights, layout, observation, scale, action_mask, scratch)
    logits = scratch[LOGITS]
    if layout[_CHOICE] == _FROM_STREAM:
        return draw_action(logits, action_mask, draw_unit_from(streams, i))
    if layout[_CHOICE] == _BY_POSITION:
        unit = unit_of_logits(logits, action_mask, layout[_SEED], steps)
        return draw_action(logits, action_mask, unit)
    return most_probable(logits, action_mask)


@jit
def unit_of_logits(logits, action_mask, seed, steps):
    """A number in [0, 1) that follows from these numbers and the logits of the legal actions."""
    bits = logits.view(np.uint32)
    value = mix(np.uint64(seed) ^ mix(np.uint64(steps)))
    for action in range(len(action_mask)):
        if action_mask[action]:
            value = mix(value ^ np.uint64(bits[action]) << _20 ^ np.uint64(action))
    return unit_of(value)


@jit
def most_probable(logits, action_mask):
    """The legal action with the highest logit, the lowest of several."""
    best = -1
    for action in range(len(action_mask)):
        if action_mask[action] and (best < 0 or logits[action] > logits[best]):
            best = action
    return best


@jit
def total_of(logits, action_mask, highest):
    """The sum that probabilities are shares of: of ``exp(logit - highest)`` over legal actions."""
    total = 0.0
    for action in range(len(action_mask)):
        if action_mask[action]:
            total += exp(logits[action] - highest)
    return total


@jit
def draw_action(logits, action_mask, unit):
    """A legal action drawn with the probabilities that the logits stand for.

    ``unit`` is the random number in [0, 1) that decides.
    """
    highest = float(logits[most_probable(logits, action_mask)])
    threshold = total_of(logits, action_mask, highest) * unit
    chosen = -1
    for action in range(len(action_mask)):
        if action_mask[action]:
            chosen = action
            threshold -= exp(logits[action] - highest)
            if threshold < 0.0:
                break
    return chosen


def act_on_observations(
    weights: Any,
    layout: Any,
    observation: Any,
    action_mask: Any,
    steps: Any,
    streams: Any,
    scratch: Any,
) -> NDArray[np.int64]:
    """A network's actions (M,) for observations float32 (M, D), masks (M, A) and steps (M,)."""
    actions: NDArray[np.int64] = _act_on_observations(
        weights, layout, observation, _NO_SCALE, action_mask, steps, streams, scratch
    )
    return actions


@jit
def _act_on_observations(weights, layout, observation, scale, action_mask, steps, streams, scratch):
    actions = np.empty(len(observation), np.int64)
    for j in range(len(observation)):
        actions[j] = choose_by_network(
            weights, layout, observation[j], scale, action_mask[j], steps[j], streams, 0, scratch
        )
    return actions
