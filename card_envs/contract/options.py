"""Options: those of every game, and those of an observer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from card_envs.contract.observing import MEMORY_MODES
from card_envs.contract.outcome import REWARD_MODES
from card_envs.utils.checks import as_whole_number

#: Decisions after which a game is truncated, unless ``max_steps`` says otherwise.
DEFAULT_MAX_STEPS = 10_000


@dataclass(frozen=True)
class Option:
    """One option; kernels get it as an integer.

    Either one of ``choices``, or a bool if the default is one, or a whole number from ``minimum``
    to ``maximum`` (with ``default=None`` also None, which kernels get as 0).

    Raises:
        ValueError: The default is not allowed, or 0 and None are.
    """

    name: str
    default: str | int | bool | None
    doc: str
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 0

    def __post_init__(self) -> None:
        self.check(self.default)
        if self.default is None and self.minimum < 1:
            raise ValueError(f"{self.name}: minimum must be at least 1, as kernels get None as 0")

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.choices:
            return " or ".join(repr(choice) for choice in self.choices)
        if isinstance(self.default, bool):
            return "True or False"
        text = f"a whole number from {self.minimum} to {self.maximum}"
        return f"None or {text}" if self.default is None else text

    def check(self, value: Any) -> str | int | bool | None:
        """The value as a plain Python one.

        Raises:
            ValueError: It is not allowed; the message says what is.
        """
        if self.choices:
            if isinstance(value, str) and value in self.choices:
                return value
        elif isinstance(self.default, bool):
            if isinstance(value, (bool, np.bool_)):
                return bool(value)
        elif value is None and self.default is None:
            return None
        else:
            number = as_whole_number(value)
            if number is not None and self.minimum <= number <= self.maximum:
                return number
        raise ValueError(f"{self.name} must be {self.allowed}, got {value!r}")

    def encode(self, value: str | int | bool | None) -> int:
        """The integer that kernels get for a checked value."""
        if self.choices:
            return self.choices.index(str(value))
        return int(value or 0)

    def decode(self, code: int) -> str | int | bool | None:
        """The value for which kernels got this integer."""
        if self.choices:
            return self.choices[code]
        if isinstance(self.default, bool):
            return bool(code)
        return None if self.default is None and not code else code

    def parse(self, text: str) -> Any:
        """The value of a text from the command line, not yet checked."""
        if self.choices:
            return text
        words = {"true": True, "false": False, "none": None}
        if text.lower() in words:
            return words[text.lower()]
        try:
            return int(text)
        except ValueError:
            return text


#: Options of every game, in the order in which ``reset`` takes them.
COMMON_OPTIONS = (
    Option(
        "reward",
        "rank",
        "the reward: final rank, a win, or points after each round",
        choices=REWARD_MODES,
    ),
    Option(
        "max_steps",
        DEFAULT_MAX_STEPS,
        "decisions, of all players, after which a game is truncated",
        minimum=1,
        maximum=500_000,
    ),
)


@dataclass(frozen=True)
class View:
    """What an observer sees: what is written into its observations.

    Args:
        memory: ``"perfect"`` (perfect recall: everything that the player has been able to learn) or
            ``"none"`` (what they can see now).
        features: Whether derived fields are written, or left 0.

    Raises:
        ValueError: A value is not allowed; the message says what is.
    """

    memory: str = "perfect"
    features: bool = True

    def __post_init__(self) -> None:
        for option in VIEW_OPTIONS:
            object.__setattr__(self, option.name, option.check(getattr(self, option.name)))

    @property
    def codes(self) -> tuple[int, int]:
        """``memory`` and ``features`` as ``observe`` takes them."""
        return MEMORY_MODES.index(self.memory), int(self.features)


def check_view(view: Any) -> None:
    """Raise a TypeError for what is no ``View``, such as a name."""
    if not isinstance(view, View):
        raise TypeError(f"a View is needed, such as View('none'), got {view!r}")


#: Options of an observer, not of the game.
VIEW_OPTIONS = (
    Option(
        "memory",
        "perfect",
        "whether observations have perfect recall or show what can be seen now",
        choices=MEMORY_MODES,
    ),
    Option("features", True, "whether derived fields are written, or left 0"),
)


@cache
def arguments_of(env: Callable[..., Any]) -> tuple[str, ...]:
    """What an environment, or a function that makes it, takes besides the game and its options."""
    common = {option.name for option in COMMON_OPTIONS}
    given = signature(env).parameters.values()
    return tuple(p.name for p in given if p.default is not p.empty and p.name not in common)


#: Arguments of environments, arenas and tables, whose names no option of a game may have.
ENVIRONMENT_ARGUMENTS = frozenset(
    [
        "agents",
        "arguments",
        "autoreset_mode",
        "configuration",
        "copy",
        "deals",
        "device",
        "game",
        "keep_histories",
        "mask",
        "max_tries",
        "num_envs",
        "num_games",
        "num_players",
        "num_threads",
        "observation_dtype",
        "on_illegal",
        "opponents",
        "render_mode",
        "render_perspective",
        "seat",
        "seed",
        "skip_forced",
        "view",
    ]
)
