"""Named actions: one declaration gives numbers, names, kinds, groups, features, documentation and
offsets."""

from __future__ import annotations

import json
import keyword
import math
import string
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.utils.checks import as_whole_number

#: What ``index``, ``decode`` and JSON call a parameter's value.
Value: TypeAlias = int | str

#: The key of the kind in an action's structured form, and the term of features that stands for it.
KIND = "kind"
#: Nothing may have these names: they are keys of messages beside those of parameters.
_RESERVED = (KIND, "action")
#: Stand for a number and for other words that the actions of a group differ in.
_NUMBER, _WORDS = "#", "..."


class Parameter:
    """What distinguishes the actions of one kind, such as a slot.

    Args:
        values: What ``index``, ``decode`` and JSON call its values: labels, a range, or a count n
            for 0 to n - 1.
        words: What the actions' names call the values. Default: the values.
        features: 0 or 1 (V, K): the features of each value. Default: one-hot.
        cards: The cards that each value stands for, where a ``Target`` points at them: their names,
            and how many of each (V, len(names)). Default: one card, which has the value's name.

    Raises:
        ValueError: There are no values, two are equal, or another argument has a different length.
    """

    def __init__(
        self,
        values: int | Sequence[Value],
        words: Sequence[str] = (),
        *,
        features: ArrayLike | None = None,
        cards: tuple[Sequence[str], ArrayLike] | None = None,
    ) -> None:
        self.values: tuple[Value, ...] = tuple(range(values) if isinstance(values, int) else values)
        numbers = tuple(map(str, self.values))
        self.words = tuple(words) or numbers
        one_hot = np.eye(len(self.values), dtype=np.float32)
        self.features = one_hot if features is None else np.asarray(features, np.float32)
        names, counts = (numbers, one_hot) if cards is None else cards
        self._card_names, self._card_counts = tuple(names), np.asarray(counts, np.int64)
        self._positions = {value: k for k, value in enumerate(self.values)}
        if self.features.ndim != 2:
            raise ValueError(f"features must be of shape (V, K), got {self.features.shape}")
        if not self.values or len(self._positions) < len(self.values):
            raise ValueError(f"a parameter needs values, all different, got {self.values}")
        for name, other in (
            ("words", self.words),
            ("features", self.features),
            ("cards", self._card_counts),
        ):
            if len(other) != len(self.values):
                raise ValueError(f"{name}: {len(self.values)} are needed, got {len(other)}")
        first = self.values[0]
        whole = range(first, first + len(self.values)) if isinstance(first, int) else ()
        #: Whether the values are consecutive whole numbers.
        self.is_range = self.values == tuple(whole)
        #: Whether names call them by these numbers.
        self.is_number = self.is_range and self.words == numbers

    @property
    def allowed(self) -> str:
        """The values in short, as JSON, e.g. ``0..3`` or ``"cat" or "dog" or … or "fox"``."""
        if self.is_range:
            return f"{self.values[0]}..{self.values[-1]}"
        return examples([json.dumps(value) for value in self.values], " or ")

    def position(self, value: Any, name: str) -> int:
        """The position of a value among all values, from 0.

        Raises:
            ValueError: There is no such value; the message says of which name, and what is allowed.
        """
        # True and 1.0 are equal to 1, and lists have no hash.
        is_value = isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
        if is_value and value in self._positions:
            return self._positions[value]
        raise ValueError(f"{name} must be {self.allowed}, got {value!r}")

    def cards(self, value: Value) -> dict[str, int]:
        """The cards that a value stands for: the number of each, by name."""
        counts = self._card_counts[self._positions[value]].tolist()
        return {name: n for name, n in zip(self._card_names, counts, strict=True) if n}


@dataclass(frozen=True)
class Target:
    """Something on the table that an action points at, by the names of ``contract.scene``.

    Args:
        zone: The zone's name, perhaps with parameters: ``"row {row}"``. Empty: any zone that holds
            ``cards``, or that stands for ``value_of``.
        seat: The owner of the zone, as a number of seats to the left of the player to move, or as a
            parameter with that value. None: nobody, or anybody if there is no name.
        slot: The parameter that holds the number of a slot in the zone.
        cards: The parameter that stands for cards in the zone.
        value_of: A parameter whose values stand for different zones at different tables; the zone
            says which value it stands for (``Zone.stands_for``).
    """

    zone: str = ""
    seat: int | str | None = None
    slot: str = ""
    cards: str = ""
    value_of: str = ""

    @property
    def parameters(self) -> set[str]:
        """The names of all parameters that it refers to."""
        named = {self.slot, self.cards, self.value_of, *_fields_of(self.zone)} - {""}
        return named | ({self.seat} if isinstance(self.seat, str) else set())


class Action:
    """All actions of one kind.

    Args:
        kind: Its name; a Python identifier.
        words: What its actions are called, its parameters in braces: ``"peek at slot {slot}"``.
        features: What a network's logit is the sum of (``Game.action_features``): terms, each the
            name of a parameter, a tuple of names (their product), or ``"kind"``. Default: each
            action is a feature of its own.
        groups: The parameter that divides the kind into one group for each value, where actions are
            shown by groups. Default: the kind is one group.
        points: What its actions point at on the table.
        combinations: The values that go together, if not all do: one row for each action, and in
            it the positions (from 0) of the parameters' values. Default: the product, in which the
            last parameter varies fastest.
        **parameters: The parameters by name; a count, a range or labels stand for a ``Parameter``.

    Raises:
        ValueError: The declaration contradicts itself; the message says where.
    """

    def __init__(
        self,
        kind: str,
        words: str,
        /,
        *,
        features: Sequence[str | tuple[str, ...]] = (),
        groups: str = "",
        points: Sequence[Target] = (),
        combinations: ArrayLike | None = None,
        **parameters: Parameter | int | Sequence[Value],
    ) -> None:
        self.kind = kind
        self.words = words
        self.groups = groups
        self.points = tuple(points)
        self.parameters = {
            name: given if isinstance(given, Parameter) else Parameter(given)
            for name, given in parameters.items()
        }
        self.features = tuple((term,) if isinstance(term, str) else term for term in features)
        self._shape = tuple(len(p.values) for p in self.parameters.values())
        self.is_product = combinations is None
        #: int64 (count, P): the positions of each action's values.
        self.positions: NDArray[np.int64] = (
            np.indices(self._shape).reshape(len(self._shape), math.prod(self._shape)).T
            if combinations is None
            else np.asarray(combinations, np.int64)
        )
        self._check()
        self._numbers = {tuple(row): k for k, row in enumerate(self.positions.tolist())}
        if len(self._numbers) < len(self.positions):
            raise ValueError(f"{kind}: two combinations are the same")

    def _check(self) -> None:
        known = set(self.parameters)
        for name in (self.kind, *known):
            if not name.isidentifier() or name.startswith("_") or name in _RESERVED:
                raise ValueError(
                    f"kinds and parameters have identifiers as names, without _ in front, and none "
                    f"of {', '.join(_RESERVED)}, got {name!r}"
                )
        if set(_fields_of(self.words)) != known:
            raise ValueError(f"{self.kind}: {self.words!r} must name {sorted(known) or 'nothing'}")
        terms = {name for term in self.features for name in term if term != (KIND,)}
        mentioned = {self.groups} - {""} | terms
        mentioned |= {name for target in self.points for name in target.parameters}
        if mentioned - known:
            raise ValueError(f"{self.kind}: there is no parameter {min(mentioned - known)!r}")
        shape = (len(self.positions), len(self._shape))
        if not (
            self.positions.shape == shape
            and (self.positions >= 0).all()
            and len(self.positions)
            and (self.positions < np.array(self._shape, np.int64)).all()
        ):
            raise ValueError(
                f"{self.kind}: combinations are rows of {len(self._shape)} places of values, "
                f"below {self._shape}"
            )

    def __len__(self) -> int:
        return len(self.positions)

    def stride(self, name: str) -> int:
        """How far apart the numbers of actions with adjacent values of a parameter are.

        Raises:
            ValueError: The kind has ``combinations``: there is no such number.
        """
        if not self.is_product:
            raise ValueError(f"{self.kind!r} has combinations: their numbers have no stride")
        return math.prod(self._shape[list(self.parameters).index(name) + 1 :])

    def number(self, values: Mapping[str, Any]) -> int:
        """The position, among the kind's actions, of the one with these values.

        Raises:
            ValueError: There is none; the message says what is allowed.
        """
        if set(values) != set(self.parameters):
            needed = ", ".join(self.parameters) or "no parameter"
            given = ", ".join(map(str, values)) or "none"
            raise ValueError(f"{self.kind!r} takes {needed}, got {given}")
        parameters = self.parameters.items()
        positions = tuple(parameter.position(values[name], name) for name, parameter in parameters)
        number = self._numbers.get(positions)
        if number is None:
            given = ", ".join(f"{name} {value!r}" for name, value in values.items())
            raise ValueError(f"{self.kind!r} has no action with {given}")
        return number

    def values(self, number: int) -> dict[str, Value]:
        """The values of one of its actions."""
        positions = zip(self.parameters.items(), self.positions[number].tolist(), strict=True)
        return {name: parameter.values[position] for (name, parameter), position in positions}

    def name(self, number: int) -> str:
        """One of its actions in words."""
        return self.words.format(**self.words_of(number))

    def words_of(self, number: int) -> dict[str, str]:
        """The words for the values in the name of one of its actions."""
        positions = zip(self.parameters.items(), self.positions[number].tolist(), strict=True)
        return {name: parameter.words[position] for (name, parameter), position in positions}

    def group(self, number: int) -> str:
        """What the name has in common with the others in its group."""
        shown = {name: _NUMBER if p.is_number else _WORDS for name, p in self.parameters.items()}
        if self.groups:
            shown[self.groups] = self.words_of(number)[self.groups]
        return self.words.format(**shown)

    def columns(self, term: tuple[str, ...]) -> NDArray[np.float32]:
        """A term's features (count, K)."""
        found = np.ones((len(self), 1), np.float32)
        if term == (KIND,):
            return found
        names = list(self.parameters)
        for name in term:
            own = self.parameters[name].features[self.positions[:, names.index(name)]]
            found = (found[:, :, None] * own[:, None, :]).reshape(len(self), -1)
        return found

    @property
    def form(self) -> str:
        """Its structured form with the values allowed, e.g. ``{"kind": "peek", "slot": 0..3}``."""
        pairs = [f'"{KIND}": "{self.kind}"']
        pairs += [f'"{name}": {p.allowed}' for name, p in self.parameters.items()]
        return f"{{{', '.join(pairs)}}}"


class Actions:
    """All actions of a game, kind by kind.

    Raises:
        ValueError: Two kinds or two actions have the same name.
    """

    def __init__(self, *kinds: Action) -> None:
        self._kinds = {kind.kind: kind for kind in kinds}
        if len(self._kinds) != len(kinds) or not kinds:
            raise ValueError("a game has at least one kind of actions, each of another name")
        *firsts, size = accumulate(map(len, kinds), initial=0)
        self._firsts = dict(zip(self._kinds, firsts, strict=True))
        #: Number of actions.
        self.size = size
        self._of = [(kind, number) for kind in kinds for number in range(len(kind))]
        #: The names of all actions, by number.
        self.names = tuple(kind.name(number) for kind, number in self._of)
        if len(set(self.names)) < size:
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"two actions are called {twice!r}")
        self._groups = tuple(kind.group(number) for kind, number in self._of)
        self._features = self._all_features()

    @property
    def features(self) -> NDArray[np.float32]:
        """float32 (A, K), 0 or 1, a copy: the features of each action: those of the kinds that name
        no features, then all terms ``"kind"``, then all others, each in the order of the kinds."""
        return self._features.copy()

    def __iter__(self) -> Iterator[Action]:
        return iter(self._kinds.values())

    def __getitem__(self, kind: str) -> Action:
        return self._kinds[kind]

    def _all_features(self) -> NDArray[np.float32]:
        terms = [(kind, np.eye(len(kind), dtype=np.float32)) for kind in self if not kind.features]
        for is_kind in (True, False):
            terms += [
                (kind, kind.columns(term))
                for kind in self
                for term in kind.features
                if (term == (KIND,)) == is_kind
            ]
        features = np.zeros((self.size, sum(len(block.T) for _, block in terms)), np.float32)
        column = 0
        for kind, block in terms:
            first, width = self._firsts[kind.kind], len(block.T)
            features[first : first + len(kind), column : column + width] = block
            column += width
        return features

    def offsets(self) -> Any:
        """The first action of each kind as a named tuple, which kernels can use as a constant:
        ``ACT.draw``. A keyword of Python gets an underscore: ``ACT.pass_``."""
        names = [f"{kind}_" if keyword.iskeyword(kind) else kind for kind in self._firsts]
        offsets = dict(zip(names, self._firsts.values(), strict=True))
        return namedtuple("Offsets", offsets)(**offsets)

    # -----------------------------------------------------------------------------------------
    # One action
    # -----------------------------------------------------------------------------------------

    def _at(self, action: int) -> tuple[Action, int]:
        number = as_whole_number(action)
        if number is None or not 0 <= number < self.size:
            raise ValueError(f"actions are whole numbers from 0 to {self.size - 1}, got {action!r}")
        return self._of[number]

    def name(self, action: int) -> str:
        """An action in words.

        Raises:
            ValueError: There is no such action.
        """
        self._at(action)
        return self.names[action]

    def name_at(self, action: int, player: int, num_players: int) -> str:
        """An action of this player in words, as they are told to others: with players by number
        where its name counts seats from the player.

        Raises:
            ValueError: There is no such action.
        """
        kind, number = self._at(action)
        words, values = kind.words_of(number), kind.values(number)
        for target in kind.points:
            if isinstance(target.seat, str):
                seat = (player + int(values[target.seat])) % num_players
                words[target.seat] = f"player {seat}"
        return kind.words.format(**words)

    def index(self, kind: str, /, **parameters: Any) -> int:
        """The action of a kind with these values.

        Raises:
            ValueError: There is none; the message says what there is.
        """
        return self.from_dict({**parameters, KIND: kind})

    def decode(self, action: int) -> tuple[str, dict[str, Value]]:
        """An action's kind, and the values of its parameters.

        Raises:
            ValueError: There is no such action.
        """
        kind, number = self._at(action)
        return kind.kind, kind.values(number)

    def to_dict(self, action: int) -> dict[str, Value]:
        """An action's structured form, e.g. ``{"kind": "peek", "slot": 1}``.

        Raises:
            ValueError: There is no such action.
        """
        kind, values = self.decode(action)
        return {KIND: kind, **values}

    def from_dict(self, form: Any) -> int:
        """The action with this structured form.

        Raises:
            ValueError: There is none; the message says what there is.
        """
        if not isinstance(form, Mapping) or KIND not in form:
            raise ValueError(f'an action in structured form is {{"{KIND}": …}}, got {form!r}')
        kind, values = form[KIND], {name: v for name, v in form.items() if name != KIND}
        if not isinstance(kind, str) or kind not in self._kinds:
            raise ValueError(f"{KIND} must be one of {', '.join(self._kinds)}, got {kind!r}")
        return self._firsts[kind] + self._kinds[kind].number(values)

    def words_of(self, action: int) -> dict[str, str]:
        """The words for the values of an action's parameters in its name."""
        kind, number = self._at(action)
        return kind.words_of(number)

    # -----------------------------------------------------------------------------------------
    # Several actions
    # -----------------------------------------------------------------------------------------

    def group(self, action: int) -> str:
        """What an action's name has in common with the others in its group, with # in place of
        numbers and ... in place of other words.

        Raises:
            ValueError: There is no such action.
        """
        self._at(action)
        return self._groups[action]

    def groups(self, actions: Iterable[int]) -> dict[str, list[int]]:
        """These actions by group."""
        found: dict[str, list[int]] = {}
        for action in actions:
            found.setdefault(self.group(action), []).append(action)
        return found


def _fields_of(words: str) -> list[str]:
    """The names in braces."""
    return [name for _, name, _, _ in string.Formatter().parse(words) if name]


def examples(words: Sequence[str], separator: str) -> str:
    """The words; of many, the first two and the last."""
    return separator.join(words if len(words) <= 3 else [*words[:2], "…", words[-1]])
