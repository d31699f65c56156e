"""Checks of arguments that many callables take."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

# More games than any machine has the memory for.
_MOST_ENVS = 10**9 - 1


def as_whole_number(value: Any) -> int | None:
    """A whole number, Python's or NumPy's, as Python's own; None if it is none."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def check_whole_number(
    name: str, value: Any, low: int, high: int | None = None, *, why: str = ""
) -> int:
    """A whole number, Python's or NumPy's, as Python's own; ``why`` explains the range.

    Raises:
        ValueError: It is none, or not from ``low`` to ``high``; the message names the range.
    """
    number = as_whole_number(value)
    if number is None or number < low or (high is not None and number > high):
        allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be a whole number {allowed}, got {value!r}{why}")
    return number


def check_device(device: str, **threads: int) -> None:
    """Check where something is computed, and that threads, one argument, are asked for on a CPU.

    Raises:
        ValueError: It is no device, or there are several threads on a GPU.
    """
    if device not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
    for name, number in threads.items():
        if device == "cuda" and number != 1:
            raise ValueError(f"{name} is for device='cpu', got {number!r}")


def check_number(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number, Python's or NumPy's, as a float.

    Raises:
        ValueError: It is none, or not from ``low`` to ``high``; the message names the range.
    """
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    try:
        number = float(value) if is_number and not isinstance(value, bool) else math.nan
    except OverflowError:  # a whole number beyond all floats
        number = math.inf
    if not math.isfinite(number):
        allowed = "a finite number"
    elif low <= value <= high:
        return number
    else:
        allowed = f"at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
    raise ValueError(f"{name} must be {allowed}, got {value!r}")


@contextmanager
def memory_for(num_envs: int) -> Iterator[None]:
    """A context in which arrays for this many games are made.

    Raises:
        MemoryError: There is not enough memory; the message names ``num_envs``.
    """
    try:
        if num_envs > _MOST_ENVS:  # for sizes beyond 64 bits NumPy has another error
            raise MemoryError
        yield
    except MemoryError:
        raise MemoryError(
            f"num_envs={num_envs}: there is not enough memory for this many games"
        ) from None


def check_actions(array: Any, count: int) -> None:
    """Check an array with one action for each of ``count`` games.

    Raises:
        ValueError: It has another shape, or does not hold whole numbers below 2**63.
    """
    if tuple(array.shape) != (count,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"actions must be whole numbers of shape ({count},), "
            f"got {array.dtype} of shape {tuple(array.shape)}"
        )
    if array.dtype == np.uint64 and isinstance(array, np.ndarray) and (array >= 2**63).any():
        raise ValueError(f"actions must be whole numbers below 2**63, got {array.max()}")


def check_reset_options(options: Mapping[str, Any] | None, *allowed: str) -> None:
    """Check the names of what is given to an environment's ``reset``.

    Raises:
        ValueError: There is another one than those allowed.
        TypeError: They are not given by name.
    """
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"reset() takes options as a dict, got {options!r}")
    for name in options or ():
        if name not in allowed:
            takes = f"the options {', '.join(allowed)}" if allowed else "no options"
            raise ValueError(f"reset() takes {takes}, got {name!r}; a game's are make()'s")


def check_has_begun(has_begun: bool, attribute: str) -> None:
    """Raise an AttributeError for an attribute that is not there before the first reset."""
    if not has_begun:
        raise AttributeError(f"{attribute} cannot be accessed before reset")


def check_name(name: Any) -> str:
    """What an agent is called.

    Raises:
        TypeError: It is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"name, what to call the agent, must be a string, got {name!r}")
    return name


def check_flag(name: str, value: Any) -> bool:
    """True or False, Python's or NumPy's, as Python's own.

    Raises:
        ValueError: It is neither: ``"False"`` would count as true.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)
