"""The names of program agents: ``cmd:PROGRAM ARGS``, or ``cmd,KEY=VALUE,…:PROGRAM ARGS``."""

from __future__ import annotations

import math
import os
import shlex
import shutil
from dataclasses import dataclass, fields
from typing import Any

_PREFIX = "cmd"
_MOST_MEMORY = 1 << 30  # MiB

#: What a fault costs the program.
ON_FAULT = ("lose", "random")


@dataclass(frozen=True)
class Limits:
    """The limits of a program; the attributes are the keys of its name.

    Args:
        seconds: For one decision.
        game_seconds: For all its decisions of one game.
        start_seconds: Until it has answered the hello.
        memory_mb: MiB of memory of one process, on Linux; 0: no limit.
        on_fault: What a fault costs: ``"lose"``, the game; or ``"random"``: the decision is made
            by the random agent.

    Raises:
        ValueError: A value is not allowed; the message says what is.
    """

    seconds: float = 10.0
    game_seconds: float = 600.0
    start_seconds: float = 60.0
    memory_mb: int = 4096
    on_fault: str = ON_FAULT[0]

    def __post_init__(self) -> None:
        for key in ("seconds", "game_seconds", "start_seconds"):
            value = getattr(self, key)
            if not 0.0 < value < math.inf:
                raise ValueError(f"{key} must be a number greater than 0, got {value}")
        if not 0 <= self.memory_mb <= _MOST_MEMORY:
            raise ValueError(f"memory_mb must be from 0 to {_MOST_MEMORY}, got {self.memory_mb}")
        if self.on_fault not in ON_FAULT:
            raise ValueError(f"on_fault must be {' or '.join(ON_FAULT)}, got {self.on_fault!r}")


_READ: dict[str, type] = {"float": float, "int": int, "str": str}
_KEYS = {field.name: _READ[str(field.type)] for field in fields(Limits)}


def is_program(name: str) -> bool:
    """Whether a name stands for a program."""
    return name.startswith((f"{_PREFIX}:", f"{_PREFIX},"))


def read_name(name: str) -> tuple[list[str], Limits]:
    """The program with its arguments, and its limits.

    The command is split into words as a shell would; no shell runs, so nothing is expanded.

    Args:
        name: A name for which :func:`is_program` is true.

    Raises:
        ValueError: The name cannot be read, or there is no such program, or it cannot be executed;
            the message says which.
    """
    head, colon, command = name.partition(":")
    if not colon:
        raise ValueError(f"{name!r}: a program is named as {_PREFIX}[,KEY=VALUE…]:PROGRAM ARGS")
    words = [word.partition("=") for word in head.split(",")[1:]]
    given = {key: value for key, _, value in words}
    if len(given) < len(words) or not given.keys() <= _KEYS.keys():
        raise ValueError(
            f"{name!r}: between {_PREFIX} and the colon come KEY=VALUE, each after a comma and "
            f"each key once; the keys are {', '.join(_KEYS)}"
        )
    try:
        limits = Limits(**{key: _value(key, text) for key, text in given.items()})
        argv = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from None
    if not argv or not argv[0]:
        raise ValueError(f"{name!r} names no program: write {_PREFIX}:PROGRAM ARGS")
    _check_program(name, argv[0])
    return argv, limits


def _value(key: str, text: str) -> Any:
    try:
        return _KEYS[key](text)
    except ValueError:
        kind = "whole number" if _KEYS[key] is int else "number"
        raise ValueError(f"{key} must be a {kind}, got {text!r}") from None


def _check_program(name: str, program: str) -> None:
    if shutil.which(program) is not None:
        return
    if os.path.isdir(program):
        raise ValueError(f"{name!r}: {program} is a folder, not a program")
    if os.path.isfile(program):
        if os.path.dirname(program):
            raise ValueError(f"{name!r}: {program} may not be executed (chmod +x would allow it)")
        raise ValueError(
            f"{name!r}: there is no program {program}; for the file here, write ./{program}"
        )
    raise ValueError(f"{name!r}: there is no program {program}")
