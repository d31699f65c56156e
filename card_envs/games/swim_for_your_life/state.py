"""The state of Swim for Your Life: one record, and the functions that read it.

Hands, rows and what is left over are counts of each animal.
"""

import numpy as np

from card_envs.contract import common_dtype, draw_card, jit
from card_envs.games.swim_for_your_life.cards import (
    ANIMAL_BITS,
    CAT,
    HARE,
    NUM_ANIMALS,
    NUM_ROWS,
    NUM_SETS,
    PIG,
)

MIN_PLAYERS, MAX_PLAYERS = 2, 5
HAND_SIZE = 10
START_LIVES = 5
MAX_LIVES = 10

NOBODY = -1
NO_ACTION = -1

# The entry ``standing``: players who are still in the game are ahead of all who are out of it.
IN_GAME = 1_000_000

STATE = np.dtype(
    [
        *common_dtype(MAX_PLAYERS),
        ("expert", np.bool_),  # the variant SW-14
        ("round", np.int32),  # from 0; s.round is a method of plain records
        ("lives", np.int8, (MAX_PLAYERS,)),  # 0: out of the game
        # The table.
        ("hand", np.int8, (MAX_PLAYERS, NUM_ANIMALS)),
        ("row", np.int8, (NUM_ROWS, NUM_ANIMALS)),
        ("left_over", np.int8, (NUM_ANIMALS,)),
        # The round's course.
        ("starter", np.int8),
        ("tapper", np.int8),  # the first to tap; NOBODY
        ("has_exchanged", np.int8, (MAX_PLAYERS,)),  # 0 or 1
        ("turns", np.int32),  # finished in this round
        ("last_action", np.int16, (MAX_PLAYERS,)),  # NO_ACTION: none in this round yet
        ("last_taken", np.int8, (MAX_PLAYERS, NUM_ANIMALS)),  # the row that it took
        # What everybody knows of each hand: the fewest and the most cards that it can hold.
        ("least", np.int8, (MAX_PLAYERS, NUM_ANIMALS)),
        ("most", np.int8, (MAX_PLAYERS, NUM_SETS)),  # from HARE on
        # How the last round ended.
        ("sudden_death", np.int8),  # the player whose set ended it; NOBODY: it was counted
        ("was_in_round", np.int8, (MAX_PLAYERS,)),  # 0 or 1
        ("revealed", np.int8, (MAX_PLAYERS, NUM_ANIMALS)),  # hands that were shown
        ("totals", np.int32, (MAX_PLAYERS,)),
        ("lives_lost", np.int32, (MAX_PLAYERS,)),  # negative: gained (SW-14)
    ],
    align=True,
)


@jit
def deal(s, counts, place, number, size):
    """Move this many random cards from the ``size`` that are left over to ``counts[place]``."""
    for dealt in range(number):
        counts[place, draw_card(s, s.left_over, size - dealt)] += 1


@jit
def packed(counts, place):
    """The counts ``counts[place]`` of all animals in one integer, as in ``PACKED``."""
    total = 0
    for animal in range(NUM_ANIMALS):
        total |= int(counts[place, animal]) << ANIMAL_BITS * animal
    return total


@jit
def means_sudden_death(s, animal):
    """SW-9, SW-14: whether all cards of the animal mean sudden death."""
    return animal >= HARE and animal <= (PIG if s.expert else CAT)


@jit
def least_majority(players):
    """SW-12: the fewest cards that a majority takes, with this many players left."""
    return 2 if players == 2 else 1


@jit
def players_left(s):
    """How many are still in the game."""
    count = 0
    for player in range(s.num_players):
        count += s.lives[player] > 0
    return count
