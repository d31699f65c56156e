"""Exponential and logarithm that are the same on every machine, bit for bit."""

from __future__ import annotations

import math

from card_envs.kernels.jit import jit

_LOG2_E = 1.4426950408889634
_LN_2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476


@jit
def exp(x):
    """The exponential of a number that is not above 0, the same on every machine.

    Its relative error is below 1e-13.
    """
    if x < -700.0:
        return 0.0
    whole = math.floor(x * _LOG2_E + 0.5)
    rest = (x - whole * _LN_2) / 32.0
    # Taylor's series to the 7th power, of a number below 0.011; then five squarings.
    value = 1.0 / 5040.0
    value = value * rest + 1.0 / 720.0
    value = value * rest + 1.0 / 120.0
    value = value * rest + 1.0 / 24.0
    value = value * rest + 1.0 / 6.0
    value = value * rest + 0.5
    value = value * rest + 1.0
    value = value * rest + 1.0
    for _ in range(5):
        value *= value
    return math.ldexp(value, whole)


@jit
def log(x):
    """The natural logarithm of a positive number, the same on every machine.

    Its error is below 1e-15, or that share of it.
    """
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa *= 2.0
        exponent -= 1
    # log(m) = 2 artanh((m - 1) / (m + 1)), the series of a number below 0.172.
    part = (mantissa - 1.0) / (mantissa + 1.0)
    square = part * part
    total = 0.0
    for k in range(10, -1, -1):
        total = total * square + 1.0 / (2 * k + 1)
    return exponent * _LN_2 + 2.0 * part * total
