"""What the rules tests of every game share: a table, play on it, and play by hand beside it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from helpers import begin, check_invariants, copy_of, is_over, observation_of, state_of, units_of

from card_envs.contract.game import Game


class GameTable:
    """One game. Every step taken through it must be legal and keep the game's invariants."""

    game: ClassVar[Game]

    def __init__(self, num_players: int, seed: int = 0, **options) -> None:
        self.options = self.game.check_options(options)
        self.states = begin(self.game, num_players, seed, **options)

    def copy(self):
        other = copy.copy(self)
        other.states = copy_of(self.game, self.states)
        return other

    def play(self, *actions: int):
        for action in actions:
            assert action in self.legal(), f"{action} is not among {self.legal()}"
            self.game.rules.step(self.states, 0, action)
            check_invariants(self.game, self.states)
        return self

    def determinize(self, player: int, seed: int):
        self.game.rules.determinize(self.states, 0, player, np.uint64(seed))
        return self

    def legal(self) -> list[int]:
        mask = np.full(self.game.num_actions, 7, np.int8)
        count = self.game.rules.legal_action_mask(self.states, 0, mask)
        assert set(mask.tolist()) <= {0, 1}
        assert count == mask.sum()
        return np.flatnonzero(mask).tolist()

    def observe(
        self, player: int, *, memory: str = "perfect", features: bool = True
    ) -> dict[str, np.ndarray]:
        """The player's observation, by fields."""
        observation = observation_of(self.game, self.states, player, memory, features)
        units_of(observation, self.game.fields.scale)
        return self.game.fields.unflatten(observation)

    def full_state(self, player: int) -> dict[str, np.ndarray]:
        """The full state with the player's seat first, by fields."""
        full = state_of(self.game, self.states, player)
        units_of(full, self.game.state_fields.scale)
        return self.game.state_fields.unflatten(full)

    def _set(self, entries: dict[str, Any]):
        """Set entries of the record, or the first values of those that have several."""
        s = self.states[0]
        for name, value in entries.items():
            if s[name].shape:
                s[name][: len(value)] = value
            else:
                s[name] = value
        check_invariants(self.game, self.states)
        return self

    def __getattr__(self, name: str):
        """An entry of the record."""
        if name in self.game.state_dtype.names:
            return self.states[0][name]
        raise AttributeError(name)


def played(
    table: GameTable, decisions: int, choose: Callable[[GameTable, int], int]
) -> Iterator[tuple[GameTable, int]]:
    """The table before every decision, and the action taken: ``choose(table, number)``.

    It is always the same table; it stops after that many decisions or at the game's end.
    """
    for number in range(decisions):
        action = choose(table, number)
        yield table, action
        table.game.rules.step(table.states, 0, action)
        if is_over(table.states):
            return


def played_by_hand(reference_class, play: Iterator[tuple[GameTable, int]]) -> Iterator[tuple]:
    """Follow play with a second implementation of the rules, compared after every decision.

    A reference is made from a table as it stands. It ``play``s an action, given the table after
    it, for what only chance decides; ``assert_same`` compares it with that table; when it
    ``is_over``, another one is made.

    Yields:
        The reference after the decision, the table before and the table after it.
    """
    reference = None
    for table, action in play:
        if reference is None or reference.is_over:
            reference = reference_class(table)
            reference.assert_same(table)
        after = table.copy().play(action)
        reference.play(action, after)
        reference.assert_same(after)
        yield reference, table, after


def chi_square(counts, expected) -> float:
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    assert np.isclose(counts.sum(), expected.sum())
    return float(((counts - expected) ** 2 / expected).sum())
