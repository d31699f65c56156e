"""The cards of Swim for Your Life and what an exchange lays down, as tables.

Cards of one animal are all alike, so a set of cards is a count of each animal.
"""

from itertools import combinations_with_replacement

import numpy as np

# SW-1: the animals, how many cards there are of each, and what a majority of them scores.
ANIMAL_NAMES = ("giraffe", "bear", "mole", "goat", "sheep", "dog", "hare", "pig", "cat", "mouse")
NUM_ANIMALS = 10
DECK = (9, 8, 7, 7, 6, 6, 5, 5, 4, 3)
VALUES = (9, 8, 7, 7, 6, 6, 5, 5, 4, 3)
DECK_SIZE = sum(DECK)
DECK_COUNTS = np.array(DECK, np.int8)

# SW-9, SW-14: the animals of sudden death are HARE, PIG and CAT; for experts not the cat.
HARE, PIG, CAT = 6, 7, 8
NUM_SETS = 3

NUM_ROWS = 4  # row k, counted from 0, has k + 1 cards

# The exchanges (1000): the multisets of one animal for row 0, of two for row 1, ...
_MULTISETS = [
    animals
    for cards in range(1, NUM_ROWS + 1)
    for animals in combinations_with_replacement(range(NUM_ANIMALS), cards)
]
FIRST_EXCHANGE = (0, 10, 65, 285, len(_MULTISETS))  # of each row; then their number

#: int8 (1000, 10): how many cards of each animal an exchange lays down.
LAID_DOWN = np.array(
    [np.bincount(animals, minlength=NUM_ANIMALS) for animals in _MULTISETS]
).astype(np.int8)
#: int8 (1000,): the row that it takes.
ROW_OF = np.array([len(animals) - 1 for animals in _MULTISETS], np.int8)

# Counts of all animals packed into one integer, five bits each. With the highest of the five set
# in the hand, the subtraction ``hand - laid down`` leaves it set exactly where there is enough.
ANIMAL_BITS = 5
PACKED = (LAID_DOWN.astype(np.int64) << ANIMAL_BITS * np.arange(NUM_ANIMALS)).sum(axis=1)
PACKED_DECK = sum(count << ANIMAL_BITS * animal for animal, count in enumerate(DECK))
ENOUGH = sum(1 << ANIMAL_BITS * animal + 4 for animal in range(NUM_ANIMALS))

# The same in 32 bits, of which a mask of all actions takes half the time: three bits for each
# animal, the lowest c set for c cards. A fourth card has no bit. Actions of one row all lay down
# equally many cards, so no two of them are the same; those that lay down four of an animal are
# ``FOURS``.
COUNT_BITS = 3
SET_BITS = np.array([0, 1, 3] + [7] * (max(DECK) - 2), np.int32)
LAID_BITS = (SET_BITS[LAID_DOWN] << COUNT_BITS * np.arange(NUM_ANIMALS)).sum(axis=1)
LAID_BITS = LAID_BITS.astype(np.int32)
FOURS = np.flatnonzero(LAID_DOWN.max(axis=1) == 4)
