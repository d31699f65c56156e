"""``Game``: the contract that every game fulfils."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from pkgutil import resolve_name
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.actions import Actions
from card_envs.contract.fields import Fields
from card_envs.contract.full_state import byte_fields
from card_envs.contract.observing import MEMORY_NONE, MEMORY_PERFECT
from card_envs.contract.options import (
    COMMON_OPTIONS,
    ENVIRONMENT_ARGUMENTS,
    VIEW_OPTIONS,
    Option,
    View,
)
from card_envs.contract.outcome import common_dtype
from card_envs.contract.style import Style
from card_envs.kernels.code_cache import cache_folder
from card_envs.kernels.jit import COMPILED, jit, package_of
from card_envs.utils.checks import as_whole_number, check_whole_number
from card_envs.utils.names import gymnasium_id, gymnasium_text_id
from card_envs.utils.portable import own_copy
from card_envs.utils.words import did_you_mean

if TYPE_CHECKING:
    from card_envs.contract.scene import Scene

#: The most players that the engine's kernels have room for.
MOST_PLAYERS = 16

#: The number of players of an environment by default, where the game allows it.
_USUAL_PLAYERS = 4


def check_is_game(game: Any) -> None:
    """Raise a TypeError unless it is a ``Game``."""
    if not isinstance(game, Game):
        raise TypeError(
            f"a Game is needed, such as card_envs.load_game('beaver_gang'), got {game!r}"
        )


def check_same_game(what: str, own: Game, game: Game) -> None:
    """Raise a ValueError if an agent's own game is another one; ``what`` begins the message, such
    as "the agent plays"."""
    if game.name != own.name:
        raise ValueError(f"{what} {own.name}, not {game.name}")


def repr_of(owner: object, game: Game, options: Mapping[str, Any], **arguments: Any) -> str:
    """What ``repr`` gives of games under way: their class, the game, and what is not a default.

    Of the arguments a pair (n, n) stands for n.
    """
    changed = {
        option.name: options[option.name]
        for option in game.options
        if options[option.name] != option.default
    }
    for name, value in arguments.items():
        if isinstance(value, tuple) and value[0] == value[1]:
            arguments[name] = value[0]
    given = [f"{name}={value!r}" for name, value in {**arguments, **changed}.items()]
    return f"{type(owner).__name__}({', '.join([repr(game.name), *given])})"


def _for_players(scene: Callable[..., Scene]) -> Callable[..., Scene]:
    """The function ``scene``, with a check of the player, beyond whom kernels would read, and of
    the memory, which is a number here and a word elsewhere."""

    @wraps(scene)
    def checked(
        states: NDArray[np.void], i: int, player: int, memory: int, is_open: bool = False, /
    ) -> Scene:
        check_whole_number("player", player, 0, int(states["num_players"][i]) - 1)
        check_whole_number("memory", memory, MEMORY_PERFECT, MEMORY_NONE)
        return scene(states, i, player, memory, is_open)

    return checked


@jit
def no_heuristic(states, i):
    """Placeholder for the heuristic of a game that has none; it is never called."""
    return -1


@jit
def only_round(states, i):
    """The round of a game that is a single one."""
    return 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Game:
    """All that the other rooms need of a game; its rules are kernels in its own modules.

    Kernels work on ``states[i]``, a record of ``state_dtype``, which begins with the entries of
    ``common_dtype``. All of them are compiled and allocate nothing:

    - ``reset(states, i, seed, num_players, reward_mode, max_steps, *own options)``
    - ``step(states, i, action)``
    - ``legal_action_mask(states, i, out)``: writes int8 (A,), returns the number of legal actions
    - ``observe(states, i, player, memory, features, out)``: writes (D,), float32 in [0, 1] or uint8
      in whole units of the fields' scales, depending on the dtype of ``out``
    - ``determinize(states, i, player, seed)``
    - ``heuristic(states, i)``: returns an action (optional)
    - ``write_state(states, i, player, out)``: writes float32 (S,) (optional)
    """

    id: str  #: e.g. ``"beaver_gang"``
    version: int  #: the N of ``-vN``: games of one version play out the same forever
    title: str  #: e.g. ``"Beaver Gang"``
    min_players: int
    max_players: int
    state_dtype: np.dtype[np.void]
    fields: Fields  #: the observation's
    actions: Actions  #: their numbers, names, kinds, parameters and features
    rules: ModuleType  #: holds the kernels reset, step, legal_action_mask, determinize
    observe: Callable[..., None]
    #: ``scene(states, i, player, memory, is_open)``: the table as data, as a player may know it;
    #: ``memory`` is ``MEMORY_PERFECT`` or ``MEMORY_NONE``; with ``is_open`` all players' cards
    #: are face up. A ValueError if there is no such player.
    scene: Callable[[NDArray[np.void], int, int, int, bool], Scene]
    #: ``public_action_name(states, i, action)``: a legal action of the player to move in words, as
    #: the others learn it. Default: ``action_name_at``, for games whose actions hide nothing.
    public_action_name: Callable[[NDArray[np.void], int, int], str] = None  # type: ignore[assignment]
    own_options: tuple[Option, ...] = ()
    default_players: int = 0  #: default: 4, or the nearest number that the game allows
    #: What one point more than the mean of the table pays with ``reward="score"``.
    score_scale: float = 1.0
    heuristic: Callable[..., int] | None = None
    #: The layout of the full state. Default: the bytes of the record's entries.
    state_fields: Fields = None  # type: ignore[assignment]
    write_state: Callable[..., None] | None = None
    #: For search to stop at the end of a round: ``round_of(states, i)``, a number that changes with
    #: it (default: a game is one round), and ``outlook(states, i, player)``, the rank reward that
    #: the standing then promises.
    round_of: Callable[..., int] = only_round
    outlook: Callable[..., float] | None = None
    #: For search to choose worlds by what others have done: ``look_back(past, k, states, i, worlds,
    #: j)``. ``past[k]`` is the game ``states[i]`` as it was before an earlier decision of the same
    #: round, ``worlds[j]`` is ``states[i]`` redrawn. What the player to move in ``past[k]`` knew
    #: becomes what they knew if things are as in ``worlds[j]``; False if nothing can be said.
    look_back: Callable[..., bool] | None = None
    #: The fewest players with whom there are partners; the record's entry ``partner`` says who is
    #: each player's just now, -1 for nobody. Default: there are none.
    partners_from: int = 0
    #: What the cards look like in pictures. Default: cards show their names.
    style: Style = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        defaults = {
            "default_players": min(max(_USUAL_PLAYERS, self.min_players), self.max_players),
            "public_action_name": self.action_name_at,
            "state_fields": byte_fields(self.state_dtype),
            "style": Style(),
        }
        for name, default in defaults.items():
            if getattr(self, name) in (None, 0):
                object.__setattr__(self, name, default)
        self._check()
        object.__setattr__(self, "scene", _for_players(self.scene))

    def __repr__(self) -> str:
        return f"Game({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A game travels as its name, so that whatever holds one can be copied and pickled. The
        # list of games is above this room: it is found by name.
        return resolve_name("card_envs.games:restore"), (self.name, self.package)

    def _check(self) -> None:
        """Raise a ValueError if the declarations of the game's author are inconsistent."""
        if not 2 <= self.min_players <= self.max_players <= MOST_PLAYERS:
            raise ValueError(
                f"{self.id}: a game is for 2 to {MOST_PLAYERS} players, "
                f"got {self.min_players} to {self.max_players}"
            )
        for name in ("observe", "scene"):
            if not callable(getattr(self, name)):
                raise ValueError(
                    f"{self.id}: {name} must be a function, got {getattr(self, name)!r}"
                )
        if not self.min_players <= self.default_players <= self.max_players:
            raise ValueError(
                f"{self.id}: default_players must be from {self.min_players} to "
                f"{self.max_players}, got {self.default_players}"
            )
        if self.partners_from and "partner" not in (self.state_dtype.names or ()):
            raise ValueError(f"{self.id}: state_dtype lacks partner, which partners_from needs")
        own = [option.name for option in self.own_options]
        names = [option.name for option in (*COMMON_OPTIONS, *VIEW_OPTIONS, *self.own_options)]
        for name in own:
            if name in ENVIRONMENT_ARGUMENTS:
                raise ValueError(f"{self.id}: environments have an argument {name!r}")
            if names.count(name) > 1:
                raise ValueError(f"{self.id}: there is already an option {name!r}")
        reset = getattr(self.rules.reset, "py_func", self.rules.reset)  # a kernel's Python function
        taken, given = len(signature(reset).parameters), 6 + len(own)
        if taken != given:
            raise ValueError(
                f"{self.id}: reset takes {taken} arguments, but is given {given}: states, i, seed, "
                f"num_players, {', '.join(('reward_mode', 'max_steps', *own))}"
            )
        common = np.dtype(common_dtype(self.max_players), align=True).names or ()
        for source, needed in (("common_dtype", common), ("own_options", own)):
            missing = [name for name in needed if name not in (self.state_dtype.names or ())]
            if missing:
                raise ValueError(f"{self.id}: state_dtype lacks {', '.join(missing)} of {source}")

    @property
    def name(self) -> str:
        """The versioned name, e.g. ``"beaver_gang_v0"``."""
        return f"{self.id}_v{self.version}"

    @property
    def table_sizes(self) -> range:
        """The numbers of players that it allows."""
        return range(self.min_players, self.max_players + 1)

    @property
    def num_actions(self) -> int:
        """Number of actions."""
        return self.actions.size

    def action_name(self, action: int) -> str:
        """An action in words.

        Raises:
            ValueError: There is no such action.
        """
        return self.actions.name(action)

    def action_name_at(self, states: NDArray[np.void], i: int, action: int) -> str:
        """An action of the player to move in words, with other players by number
        (``Actions.name_at``)."""
        s = states[i]
        return self.actions.name_at(action, int(s["current_player"]), int(s["num_players"]))

    @property
    def action_features(self) -> NDArray[np.float32]:
        """float32 (A, K), 0 or 1: the features of each action. A network may compute an action's
        logit as the sum over its features, so that similar actions learn together."""
        return self.actions.features

    @property
    def gymnasium_id(self) -> str:
        """E.g. ``"card_envs/BeaverGang-v0"``."""
        return gymnasium_id(self.name)

    @property
    def gymnasium_text_id(self) -> str:
        """E.g. ``"card_envs/BeaverGangText-v0"``: the game in words."""
        return gymnasium_text_id(self.name)

    @property
    def scripted(self) -> tuple[str, ...]:
        """The name of the scripted player, if there is one."""
        return () if self.heuristic is None else ("heuristic",)

    @property
    def default_opponent(self) -> str:
        """The default opponent."""
        return (*self.scripted, "random")[0]

    @property
    def package(self) -> str:
        """The name of the package whose ``GAME`` this is."""
        return self.rules.__name__.rpartition(".")[0]

    @property
    def sources(self) -> str:
        """A name that changes with any source file that the compiled rules can depend on."""
        folder = package_of(self.rules.__name__)
        return self.name if folder is None else cache_folder(folder).name

    @property
    def options(self) -> tuple[Option, ...]:
        """All options but the number of players, in the order in which ``reset`` takes them."""
        return COMMON_OPTIONS + self.own_options

    def check_options(
        self,
        options: Mapping[str, Any],
        arguments: Sequence[str] = (),
        *,
        without: Sequence[str] = (),
    ) -> dict[str, Any]:
        """The game's options with defaults filled in.

        Args:
            options: The game's options by name.
            arguments: Names of other arguments, for the error message.
            without: Options that the caller does not take, which the message leaves out.

        Raises:
            TypeError: They are no mapping, or there is no such option; the message says what there
                is.
            ValueError: A value is not allowed; the message says what is.
        """
        if not isinstance(options, Mapping):
            raise TypeError(
                f"options must be a mapping of names to values, such as {{'max_steps': 1000}}, "
                f"got {options!r}"
            )
        known = {option.name: option for option in self.options}
        for name in options:
            if name not in known:
                taken = [option for option in known if option not in without]
                names = (*taken, *arguments, *(option.name for option in VIEW_OPTIONS))
                about = f"{self.id} has no option {name!r}{did_you_mean(name, names)}; its "
                about += f"options are {', '.join(taken)}"
                if name in {option.name for option in VIEW_OPTIONS}:
                    about += f" ({name!r} is an option of an observer, not of the game)"
                if arguments:
                    # In Python's words, by which tools recognize what they need not pass.
                    about = f"unexpected keyword argument {name!r}: {about}"
                    about += f"; further arguments are {', '.join(arguments)}"
                raise TypeError(about)
        return {
            name: option.check(options.get(name, option.default)) for name, option in known.items()
        }

    def split_options(
        self, options: Mapping[str, Any], arguments: Sequence[str] = ()
    ) -> tuple[dict[str, Any], View]:
        """The game's options with defaults filled in, and the observer's ``memory`` and
        ``features`` among the same names. Errors are those of :meth:`check_options`."""
        views = {option.name for option in VIEW_OPTIONS}
        own = {name: value for name, value in options.items() if name not in views}
        checked = self.check_options(own, (*arguments, *sorted(views)) if arguments else ())
        return checked, View(**{name: options[name] for name in options if name in views})

    def encode_options(self, options: Mapping[str, Any]) -> tuple[int, ...]:
        """The game's options as ``reset`` takes them."""
        checked = self.check_options(options)
        return tuple(option.encode(checked[option.name]) for option in self.options)

    def parse_options(self, texts: Sequence[str]) -> dict[str, Any]:
        """Options of the game and of an observer from texts KEY=VALUE, without defaults.

        Raises:
            TypeError, ValueError: As for :meth:`check_options`.
        """
        known = {option.name: option for option in (*self.options, *VIEW_OPTIONS)}
        options: dict[str, Any] = {}
        for text in texts:
            key, separator, value = text.partition("=")
            if not separator:
                raise ValueError(f"an option is given as KEY=VALUE, got {text!r}")
            if key in options:
                raise ValueError(f"the option {key} is given twice")
            options[key] = known[key].parse(value) if key in known else value
        self.split_options(options)
        return options

    def check_num_players(self, num_players: Any) -> int:
        """A number of players; None is the default.

        Raises:
            ValueError: It is no whole number, or the game does not allow it; the message names the
                range.
        """
        if num_players is None:
            return self.default_players
        number = as_whole_number(num_players)
        about = f"{self.id} is for {self.min_players} to {self.max_players} players"
        if number is None:
            about += f": num_players must be a whole number from {self.min_players} to "
            about += f"{self.max_players}, got {num_players!r}"
            if isinstance(num_players, (tuple, list, range, np.ndarray)):
                about += "; make_vec and gymnasium.make also take a pair (low, high)"
            raise ValueError(about)
        if not self.min_players <= number <= self.max_players:
            raise ValueError(f"{about}, got num_players={num_players!r}")
        return number

    def check_player_range(self, num_players: Any) -> tuple[int, int]:
        """The lowest and highest number of players from one number, a pair, or None.

        Raises:
            ValueError: It is neither a number nor a pair, or the game does not allow it.
        """
        if isinstance(num_players, (tuple, list)):
            if len(num_players) != 2 or None in num_players:
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
        return self.as_states(np.zeros(count, self.state_dtype))

    def as_states(self, states: NDArray[np.void]) -> NDArray[np.void]:
        """The records as kernels need them: read-only ones are copied, and without compilation they
        are a recarray, with attributes."""
        if not states.flags.writeable:
            states = own_copy(states)
        return states if COMPILED else states.view(np.recarray)

    def check_states(self, states: Any) -> None:
        """Raise a ValueError unless they are records of this game: kernels take any."""
        if getattr(states, "dtype", None) != self.state_dtype:
            raise ValueError(f"states must be records of {self.name}, such as env.states")

    def legal_actions(self, states: NDArray[np.void], i: int) -> list[int]:
        """The legal actions of the player to move in game i, which is not over, ascending.

        Raises:
            ValueError: There is no such game, or the states are another game's.
        """
        self.check_states(states)
        i = check_whole_number("i", i, 0, len(states) - 1)
        action_mask = np.zeros(self.num_actions, np.int8)
        self.rules.legal_action_mask(states, i, action_mask)
        return np.flatnonzero(action_mask).tolist()

    @property
    def namespace(self) -> dict[str, Any]:
        """The global names of the templates that are compiled for the game: its kernels, and the
        scales of its observation."""
        return {
            "__name__": self.rules.__name__,
            "reset": self.rules.reset,
            "step": self.rules.step,
            "legal_action_mask": self.rules.legal_action_mask,
            "determinize": self.rules.determinize,
            "observe": self.observe,
            "write_state": self.write_state,
            "heuristic": self.heuristic or no_heuristic,
            "SCALE": self.fields.scale,
        }
