"""What the shared tests need to know of Kuhn poker: a game of another package, registered here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
from helpers import begin

import card_envs

sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures"))

from kuhn_poker import GAME
from kuhn_poker.rules import NUM_CARDS

card_envs.register(GAME)

GAME_NAME = "kuhn_poker_v0"

# ---------------------------------------------------------------------------------------------
# What is hidden
# ---------------------------------------------------------------------------------------------

HIDDEN = ("deck",)
USUALLY_OPEN = 1


def cells(states: np.ndarray) -> np.ndarray:
    """Every place of a card: the two hands, and the card that was not dealt."""
    return states[0]["deck"]


def open_cells(states: np.ndarray, player: int) -> np.ndarray:
    """All but the player's own card, until the cards are shown."""
    is_open = np.full(NUM_CARDS, not states[0]["is_shown"])
    is_open[player] = False
    return is_open


def small_positions() -> Iterator[tuple[np.ndarray, int, list[np.ndarray]]]:
    """After the deal: the two other cards may lie either way."""
    states = begin(GAME, 2, 0)
    for player in range(2):
        deals = map(np.array, permutations(range(NUM_CARDS)))
        yield states, player, [deal for deal in deals if deal[player] == cells(states)[player]]


# ---------------------------------------------------------------------------------------------
# What can happen
# ---------------------------------------------------------------------------------------------

LONG_GAME = 2
USUAL_LENGTH = 4
SITUATIONS = {
    "bet": (2, lambda before, after: after["chips"].sum() > before["chips"].sum()),
    "fold": (2, lambda before, after: after["terminated"] and not after["is_shown"]),
    "showdown": (2, lambda before, after: after["is_shown"]),
}
CONSTANT_VALUES: dict[str, int] = {}


def check_invariants(states: np.ndarray, i: int) -> None:
    """AssertionError if the record cannot be a state of the game."""
    s = states[i]
    assert sorted(s["deck"]) == list(range(NUM_CARDS)), "each card is there once"
    assert set(s["chips"].tolist()) <= {1, 2}, "a player has put in one chip or two"
    assert s["gains"].sum() == 0, "what one player gains the other loses"
    assert s["terminated"] == s["gains"].any(), "there are gains at the end only"
    assert s["terminated"] or not s["is_shown"], "cards are shown at the end only"
    assert 0 <= s["steps"] <= 3, "a hand has at most three decisions"
