"""The cards of Frank's Zoo, the sets that they make, and what beats what: all as tables.

A kind is an animal (0 to 11) or the joker. A lay is a number of cards that are laid down together:
(animal, how many of it, with the joker?, with a mosquito?). Every lay but the joker alone is a set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.contract import PACKED_BITS

# FZ-1: the kinds, in the order of all tables, and how many cards there are of each.
ANIMAL_NAMES = (
    "orca",
    "elephant",
    "crocodile",
    "polar bear",
    "lion",
    "seal",
    "fox",
    "perch",
    "hedgehog",
    "fish",
    "mouse",
    "mosquito",
)
NUM_ANIMALS = 12
NUM_KINDS = 13
ELEPHANT, LION, HEDGEHOG, MOSQUITO, JOKER = 1, 4, 8, 11, 12
DECK = (5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 4, 1)
DECK_COUNTS = np.array(DECK, np.int8)

# FZ-2: the same with three players.
DECK_OF_THREE = (3, 4, 3, 3, 4, 3, 3, 3, 3, 3, 4, 2, 1)
DECK_OF_THREE_COUNTS = np.array(DECK_OF_THREE, np.int8)

# FZ-4: which animals beat an animal.
BEATEN_BY = {
    "orca": (),
    "elephant": ("mouse",),
    "crocodile": ("elephant",),
    "polar bear": ("orca", "elephant"),
    "lion": ("elephant",),
    "seal": ("orca", "polar bear"),
    "fox": ("elephant", "crocodile", "polar bear", "lion"),
    "perch": ("orca", "crocodile", "polar bear", "seal"),
    "hedgehog": ("fox",),
    "fish": ("orca", "crocodile", "seal", "perch"),
    "mouse": ("crocodile", "polar bear", "lion", "seal", "fox", "hedgehog"),
    "mosquito": ("hedgehog", "fish", "mouse"),
}
#: bool (12, 12): whether the animal of the row is beaten by that of the column.
IS_BEATEN_BY = np.array(
    [[better in BEATEN_BY[animal] for better in ANIMAL_NAMES] for animal in ANIMAL_NAMES]
)

# The lays, in the order of the actions: (animal, naturals, joker, mosquito).
_LAYS = [
    *((animal, k, joker, 0) for animal in range(MOSQUITO) for k in range(1, 6) for joker in (0, 1)),
    *((MOSQUITO, k, joker, 0) for k in range(1, 5) for joker in (0, 1)),
    *((ELEPHANT, k, joker, 1) for k in range(1, 6) for joker in (0, 1)),
]
NUM_SETS = len(_LAYS)
JOKER_ALONE = NUM_SETS
NUM_LAYS = NUM_SETS + 1
NO_LAY = NUM_LAYS  # where there is none

#: int8 (130, 13): how many cards of each kind a lay has; none for NO_LAY.
LAY_CARDS = np.zeros((NUM_LAYS + 1, NUM_KINDS), np.int8)
#: int8 (129,): FZ-5, FZ-6: the animal that a lay counts as, or that it is (the joker alone).
LAY_ANIMAL = np.full(NUM_LAYS, JOKER, np.int8)
for _lay, (_animal, _naturals, _joker, _mosquito) in enumerate(_LAYS):
    LAY_ANIMAL[_lay] = _animal
    LAY_CARDS[_lay, _animal] += _naturals
    LAY_CARDS[_lay, MOSQUITO] += _mosquito
    LAY_CARDS[_lay, JOKER] += _joker
LAY_CARDS[JOKER_ALONE, JOKER] = 1
#: int8 (129,): how many cards it has, and so for how many of the animal it counts.
LAY_SIZE = LAY_CARDS[:NUM_LAYS].sum(axis=1).astype(np.int8)

#: bool (130, 129): which lays may be played on which: FZ-8, and where nothing lies there FZ-7.
MAY_PLAY = np.zeros((NUM_LAYS + 1, NUM_LAYS), np.bool_)
for _lay in range(NUM_SETS):
    for _other in range(NUM_SETS):
        _more = LAY_SIZE[_other] - LAY_SIZE[_lay]
        if LAY_ANIMAL[_other] == LAY_ANIMAL[_lay]:
            MAY_PLAY[_lay, _other] = _more == 1
        else:
            MAY_PLAY[_lay, _other] = (
                _more == 0 and IS_BEATEN_BY[LAY_ANIMAL[_lay], LAY_ANIMAL[_other]]
            )
MAY_PLAY[NO_LAY, :NUM_SETS] = True

_number_of = {tuple(cards): lay for lay, cards in enumerate(LAY_CARDS[:NUM_LAYS].tolist())}

#: uint8 (129, 129): the lay that two lays are together, or NO_LAY. A lay's number fits a byte, and
#: all tables of a kernel together must fit the 64 KiB that CUDA has for constants.
TOGETHER = np.array(
    [
        [_number_of.get(tuple((cards + others).tolist()), NO_LAY) for others in LAY_CARDS[:-1]]
        for cards in LAY_CARDS[:-1]
    ],
    np.uint8,
)

#: bool (130, 129): FZ-19: the proper subsets of sets that may be played on a set; none on NO_LAY.
MAY_ASK = np.zeros((NUM_LAYS + 1, NUM_LAYS), np.bool_)
for _lay in range(NUM_LAYS):
    _wholes = np.unique(TOGETHER[_lay])
    _wholes = _wholes[_wholes < NUM_SETS]
    MAY_ASK[:NO_LAY, _lay] = MAY_PLAY[:NO_LAY, _wholes].any(axis=1)


def _lists(table: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Where each row of a table is true, filled up with 0 to equal lengths; and how often it is."""
    counts = table.sum(axis=1)
    places = np.zeros((len(table), counts.max()), np.uint8)
    for row, count in enumerate(counts):
        places[row, :count] = np.flatnonzero(table[row])
    return places, counts


#: uint8 (129, most) and int64 (129,): the lays that may be played on each, and how many; those that
#: may be laid in a request, and how many. For speed: they are few of the 129.
LAYS_TO_PLAY, NUM_TO_PLAY = _lists(MAY_PLAY[:NO_LAY])
LAYS_TO_ASK, NUM_TO_ASK = _lists(MAY_ASK[:NO_LAY])

# The cards of a lay as a packed multiset. With the highest bit of each kind set in the hand, the
# subtraction ``hand - lay`` leaves it set exactly where there is enough.
PACKED = (LAY_CARDS[:NUM_LAYS].astype(np.int64) << PACKED_BITS * np.arange(NUM_KINDS)).sum(axis=1)
ENOUGH = sum(1 << PACKED_BITS * kind + 3 for kind in range(NUM_KINDS))
PACKED_DECK = sum(count << PACKED_BITS * kind for kind, count in enumerate(DECK))
PACKED_DECK_OF_THREE = sum(count << PACKED_BITS * kind for kind, count in enumerate(DECK_OF_THREE))
