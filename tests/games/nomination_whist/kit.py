"""What the shared tests need to know of Nomination Whist: a game of another package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import helpers
import numpy as np

import card_envs

sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures"))

from nomination_whist import GAME
from nomination_whist.rules import (
    MOST_POINTS,
    NONE,
    NUM_CARDS,
    NUM_DEALS,
    PLAYED_BY,
    STOCK,
    hand_size,
)

card_envs.register(GAME)

GAME_NAME = "nomination_whist_v0"

# ---------------------------------------------------------------------------------------------
# What is hidden
# ---------------------------------------------------------------------------------------------

HIDDEN = ("place",)
USUALLY_OPEN = 5


def cells(states: np.ndarray) -> np.ndarray:
    """Where each card is."""
    return states[0]["place"]


def open_cells(states: np.ndarray, player: int) -> np.ndarray:
    """The cards that the player has not seen."""
    place = cells(states)
    return (place <= STOCK) & (place != player)


def small_positions() -> Iterator[tuple[np.ndarray, int, list[np.ndarray]]]:
    """The last deal, when each player holds one card or two."""
    for num_players, tricks in ((3, 2), (4, 2), (3, 1)):
        for states in helpers.walk(GAME, num_players, helpers.UNIFORM):
            if states[0]["deal"] == NUM_DEALS and states[0]["taken"].sum() == tricks:
                break
        for player in range(num_players):
            yield states, player, list(worlds(states, player))


def worlds(states: np.ndarray, player: int) -> Iterator[np.ndarray]:
    """Every way to deal the cards that the player has not seen."""
    s = states[0]
    unseen = np.flatnonzero(open_cells(states, player))
    others = [q for q in range(s["num_players"]) if q != player]
    owners = [q for q in others for _ in range(hand_size(s, q))]
    for dealt in permutations(unseen, len(owners)):
        place = cells(states).copy()
        place[unseen] = STOCK
        place[list(dealt)] = owners
        yield place


# ---------------------------------------------------------------------------------------------
# What can happen
# ---------------------------------------------------------------------------------------------

LONG_GAME = 20
USUAL_LENGTH = 40
SITUATIONS = {
    "bid of nothing": (
        3,
        lambda before, after: (after["bids"] == 0).sum() > (before["bids"] == 0).sum(),
    ),
    "trick": (3, lambda before, after: after["taken"].sum() > before["taken"].sum()),
    "deal": (3, lambda before, after: after["deal"] > before["deal"]),
    "bid met": (3, lambda before, after: (after["standing"] > before["standing"]).any()),
}


def check_invariants(states: np.ndarray, i: int) -> None:
    """AssertionError if the record cannot be a state of the game."""
    s = states[i]
    n = int(s["num_players"])
    for player in range(n):
        in_hand = (s["place"] == player).sum()
        assert in_hand == hand_size(s, player), "a hand has as many cards as there are tricks left"
        assert in_hand + (s["place"] == PLAYED_BY + player).sum() == s["deal"]
    assert (s["place"] == STOCK).sum() == NUM_CARDS - n * s["deal"]
    assert 1 <= s["deal"] <= NUM_DEALS
    on_table = s["trick"][:n][s["trick"][:n] != NONE]
    assert (s["place"][on_table] >= PLAYED_BY).all(), "cards of a trick have been played"
    assert 0 <= s["taken"].sum() <= s["deal"]
    assert (s["bids"][:n] <= s["deal"]).all()
    assert ((s["standing"] >= 0) & (s["standing"] <= MOST_POINTS)).all()
