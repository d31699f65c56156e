"""What a player of Frank's Zoo can do: FZ-7, FZ-8, FZ-18, FZ-19."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from card_envs.contract import Action, Actions, Parameter, Target
from card_envs.games.franks_zoo.cards import (
    JOKER,
    JOKER_ALONE,
    LAY_ANIMAL,
    LAY_CARDS,
    MOSQUITO,
    NUM_ANIMALS,
    NUM_KINDS,
    NUM_LAYS,
)
from card_envs.games.franks_zoo.text import KIND_NAMES, in_words

_MOST = 5  # naturals of a lay


def _lay_features() -> NDArray[np.float32]:
    """What a lay consists of: the animal with its number of naturals, the joker with the animal,
    the mosquito."""
    naturals = np.zeros((NUM_LAYS, NUM_ANIMALS, _MOST), np.float32)
    joker = np.zeros((NUM_LAYS, NUM_KINDS), np.float32)
    lays = np.arange(NUM_LAYS)
    sets = lays[lays != JOKER_ALONE]
    naturals[sets, LAY_ANIMAL[sets], LAY_CARDS[sets, LAY_ANIMAL[sets]] - 1] = 1.0
    joker[lays, LAY_ANIMAL] = LAY_CARDS[lays, JOKER]
    mosquito = (LAY_CARDS[lays, MOSQUITO] > 0) & (LAY_ANIMAL != MOSQUITO)
    return np.hstack([naturals.reshape(NUM_LAYS, -1), joker, mosquito[:, None]])


LAYS = Parameter(
    [in_words(cards) for cards in LAY_CARDS[:NUM_LAYS]],
    features=_lay_features(),
    cards=(KIND_NAMES, LAY_CARDS[:NUM_LAYS]),
)
KINDS = Parameter(KIND_NAMES, [f"1 {name}" for name in KIND_NAMES])

_FROM_HAND = Target("hand", seat=0, cards="cards")

ACTIONS = Actions(
    Action("play", "play: {cards}", cards=LAYS, features=("kind", "cards"), points=(_FROM_HAND,)),
    Action(
        "ask",
        "ask for help with: {cards}",
        cards=LAYS,
        features=("kind", "cards"),
        points=(_FROM_HAND,),
    ),
    Action(
        "give",
        "give away: {card}",
        card=KINDS,
        features=("kind", "card"),
        points=(Target("hand", seat=0, cards="card"),),
    ),
    Action("pass", "pass", features=("kind",)),
)
ACT = ACTIONS.offsets()


def public_action_name(states: NDArray[np.void], i: int, action: int) -> str:
    """The action as the others learn it: they do not see which card is given (FZ-18)."""
    kind, _ = ACTIONS.decode(action)
    return "give away a card" if kind == "give" else ACTIONS.name(action)
