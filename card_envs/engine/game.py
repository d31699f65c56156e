"""``Game``: the contract that every game fulfils, and the options that all games share."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.fields import Fields
from card_envs.engine.jit import COMPILED, announce_compilation
from card_envs.engine.outcome import MEMORY_MODES, REWARD_MODES

#: Decisions after which a game is truncated, unless ``max_steps`` says otherwise.
DEFAULT_MAX_STEPS = 10_000


@dataclass(frozen=True)
class Option:
    """One option of a game; it travels to the kernels as an integer.

    Either one of ``choices``, or a whole number from ``minimum`` to ``maximum`` (with
    ``default=None`` also None, which the kernels see as 0), or, with a bool as default, a bool.
    """

    name: str
    default: str | int | bool | None
    doc: str
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 0

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
        """The value as a plain Python one; ValueError names what is wrong and what is allowed."""
        if self.choices:
            if isinstance(value, str) and value in self.choices:
                return value
        elif isinstance(self.default, bool):
            if isinstance(value, (bool, np.bool_)):
                return bool(value)
        elif value is None:
            if self.default is None:
                return None
        elif not isinstance(value, (bool, np.bool_)):
            try:
                number = operator.index(value)
            except TypeError:
                pass
            else:
                if self.minimum <= number <= self.maximum:
                    return number
        raise ValueError(f"{self.name} must be {self.allowed}, got {value!r}")

    def encode(self, value: str | int | bool | None) -> int:
        """The integer for the kernels that stands for a checked value."""
        if self.choices:
            return self.choices.index(str(value))
        return int(value or 0)

    def parse(self, text: str) -> Any:
        """The value that a text of the command line stands for (checked by ``check`` later)."""
        if self.choices:
            return text
        words = {"true": True, "false": False, "none": None}
        if text.lower() in words:
            return words[text.lower()]
        try:
            return int(text)
        except ValueError:
            return text


def gymnasium_id(game_id: str, version: int) -> str:
    """The name in the registries, e.g. ``"card_envs/BeaverGang-v0"`` of ``"beaver_gang"``, 0."""
    name = "".join(word.capitalize() for word in game_id.split("_"))
    return f"card_envs/{name}-v{version}"


COMMON_OPTIONS = (
    Option(
        "reward",
        "rank",
        "what the game pays: standing at the end, victory, or points by the round",
        choices=REWARD_MODES,
    ),
    Option(
        "memory",
        "perfect",
        "whether observations hold all that a player could remember, or what he sees now",
        choices=MEMORY_MODES,
    ),
    Option(
        "max_steps",
        DEFAULT_MAX_STEPS,
        "decisions after which a game is truncated",
        minimum=1,
        maximum=500_000,
    ),
)


@dataclass(frozen=True, eq=False)
class Game:
    """A game as the environments see it; the rules are in the kernels of its modules.

    Kernels work on ``states[i]``, a record of ``state_dtype``: ``reset(states, i, seed,
    num_players, *options)``, ``step(states, i, action)``, ``legal_action_mask(states, i, out)``
    (returns the number of legal actions), ``observe(states, i, player, out)``,
    ``determinize(states, i, player, seed)`` and ``heuristic(states, i)`` (returns an action).
    """

    id: str  #: e.g. ``"beaver_gang"``
    version: int  #: the N of ``-vN``: games of one version play out the same forever
    title: str  #: e.g. ``"Beaver Gang"``
    min_players: int
    max_players: int
    num_actions: int
    state_dtype: np.dtype[np.void]
    fields: Fields
    own_options: tuple[Option, ...]
    rules: ModuleType  #: reset, step, legal_action_mask, determinize
    observe: Callable[..., None]
    state_fields: Fields  #: the layout of the full state as floats
    write_state: Callable[..., None]  #: ``write_state(states, i, player, out)``
    heuristic: Callable[..., int]
    #: float32 (num_actions, parts), 0 or 1: what each action consists of. A network may make an
    #: action's logit as the sum over its parts, so that actions that are alike learn together.
    action_parts: NDArray[np.float32]
    #: ``action_name(action)``: an action in words.
    action_name: Callable[[int], str]
    #: ``public_action_name(states, i, action)``: what the player to move does with a legal action,
    #: in words, as the others learn it: without what it hides from them.
    public_action_name: Callable[[NDArray[np.void], int, int], str]
    #: ``describe(states, i, player)``: the table in words, from a player's point of view.
    describe: Callable[[NDArray[np.void], int, int], str]

    @property
    def name(self) -> str:
        """The versioned name, e.g. ``"beaver_gang_v0"``."""
        return f"{self.id}_v{self.version}"

    @property
    def gymnasium_id(self) -> str:
        """E.g. ``"card_envs/BeaverGang-v0"``."""
        return gymnasium_id(self.id, self.version)

    @property
    def options(self) -> tuple[Option, ...]:
        """All options but the number of players, in the order that the kernels take them."""
        return COMMON_OPTIONS + self.own_options

    def check_options(
        self, options: Mapping[str, Any], arguments: Sequence[str] = ()
    ) -> dict[str, Any]:
        """All options with defaults filled in. Raises TypeError for an unknown name, ValueError
        for a value that is not allowed; both say what is.

        ``arguments`` are what may be given beside the options, for the error to name them.
        """
        known = {option.name: option for option in self.options}
        for name in options:
            if name not in known:
                raise TypeError(
                    f"{self.id} has no option {name!r}; its options are {', '.join(known)}"
                    + (f"; further arguments are {', '.join(arguments)}" if arguments else "")
                )
        return {
            name: option.check(options.get(name, option.default)) for name, option in known.items()
        }

    def encode_options(self, options: Mapping[str, Any]) -> tuple[int, ...]:
        """The options as the kernels take them."""
        checked = self.check_options(options)
        return tuple(option.encode(checked[option.name]) for option in self.options)

    def parse_options(self, texts: Sequence[str]) -> dict[str, Any]:
        """Checked options from texts KEY=VALUE of a command line; only those that are given."""
        known = {option.name: option for option in self.options}
        options: dict[str, Any] = {}
        for text in texts:
            key, separator, value = text.partition("=")
            if not separator:
                raise ValueError(f"an option is given as KEY=VALUE, got {text!r}")
            options[key] = known[key].parse(value) if key in known else value
        self.check_options(options)
        return options

    def check_num_players(self, num_players: Any) -> int:
        """A single number of players, or a ValueError that names the range."""
        try:
            number = operator.index(num_players)
        except TypeError:
            number = -1
        if isinstance(num_players, bool) or not self.min_players <= number <= self.max_players:
            raise ValueError(
                f"{self.id} is for {self.min_players} to {self.max_players} players, "
                f"got num_players={num_players!r}"
            )
        return number

    def check_player_range(self, num_players: Any) -> tuple[int, int]:
        """The lowest and highest number of players from one number or a pair of them."""
        if isinstance(num_players, (tuple, list)):
            if len(num_players) != 2:
                raise ValueError(
                    f"num_players must be a number or a pair (low, high), got {num_players!r}"
                )
            low, high = map(self.check_num_players, num_players)
            if low > high:
                raise ValueError(f"num_players: {low} is greater than {high}")
            return low, high
        number = self.check_num_players(num_players)
        return number, number

    def new_states(self, count: int) -> NDArray[np.void]:
        """An array of ``count`` blank records, fit to be passed to the kernels."""
        announce_compilation(self.id)
        return self.as_states(np.zeros(count, self.state_dtype))

    def as_states(self, states: NDArray[np.void]) -> NDArray[np.void]:
        """The same records as the kernels need them: with attributes where they run as Python."""
        return states if COMPILED else states.view(np.recarray)

    @property
    def namespace(self) -> dict[str, Any]:
        """The game's kernels, as the global names of the templates that are compiled for it."""
        return {
            "__name__": self.rules.__name__,
            "reset": self.rules.reset,
            "step": self.rules.step,
            "legal_action_mask": self.rules.legal_action_mask,
            "observe": self.observe,
            "write_state": self.write_state,
            "heuristic": self.heuristic,
        }
