"""The state of Frank's Zoo: one record, and the functions that read it.

Cards of one kind are all alike, so hands, tricks and what players have captured are counts of each
kind.
"""

import numpy as np

from card_envs.contract import PACKED_BITS, common_dtype, jit
from card_envs.games.franks_zoo.cards import NUM_KINDS

MIN_PLAYERS, MAX_PLAYERS = 3, 7
# What one player can hold at most: the largest hand and two cards of the partner.
MAX_HAND = 17

# Values of ``phase``: what the player to move decides.
EXCHANGE, TURN, ANSWER = 0, 1, 2

NOBODY = -1
NO_CARD = -1

TARGET_SCORE = 19  # FZ-16
MAX_TARGET_SCORE = 1000

STATE = np.dtype(
    [
        *common_dtype(MAX_PLAYERS),
        ("target_score", np.int32),
        ("partners", np.bool_),  # the option; see ``partner`` for who has one
        # The course of the game.
        ("hand_number", np.int32),  # from 1
        ("totals", np.int32, (MAX_PLAYERS,)),
        ("rank", np.int8, (MAX_PLAYERS,)),  # from 0, the best
        ("partner", np.int8, (MAX_PLAYERS,)),  # in this hand; NOBODY: none
        ("is_senior", np.int8, (MAX_PLAYERS,)),  # 0 or 1
        ("alone", np.int8),  # FZ-17: the one without a partner; NOBODY: all have or none has
        # The hand.
        ("phase", np.int8),
        ("hand", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        ("hand_size", np.int8, (MAX_PLAYERS,)),
        ("captured", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        ("place", np.int8, (MAX_PLAYERS,)),  # from 1; 0: holds cards
        ("played_by", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        ("played", np.int8, (NUM_KINDS,)),  # by all: in the trick or captured
        # FZ-18: the first of two cards that the player to move gives, still in their hand
        # (NO_CARD: not chosen yet); and what everybody has given, or laid down (the one alone).
        ("gift", np.int8),
        ("given", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        # The trick.
        ("trick", np.int8, (NUM_KINDS,)),
        ("last_set", np.int16),  # NO_LAY: the player to move leads
        ("owner", np.int8),  # of the last set; NOBODY
        ("has_passed", np.int8, (MAX_PLAYERS,)),  # since the last set; 0 or 1
        ("request", np.int16),  # FZ-19: what a junior has laid; NO_LAY: nothing
        ("asker", np.int8),  # NOBODY
        # What everybody knows that a hand holds, at least.
        ("known", np.int8, (MAX_PLAYERS, NUM_KINDS)),
        # How the last hand ended.
        ("last_place", np.int8, (MAX_PLAYERS,)),  # 0: there was none
        ("place_points", np.int8, (MAX_PLAYERS,)),
        ("lion_points", np.int8, (MAX_PLAYERS,)),
        ("hedgehog_points", np.int8, (MAX_PLAYERS,)),
        ("hand_points", np.int8, (MAX_PLAYERS,)),  # their sum
    ],
    align=True,
)


@jit
def cards_in(counts, place):
    total = 0
    for kind in range(NUM_KINDS):
        total += int(counts[place, kind])
    return total


@jit
def packed(counts, place):
    """The counts ``counts[place]`` of all kinds in one integer, as in ``PACKED``."""
    total = 0
    for kind in range(NUM_KINDS):
        total |= int(counts[place, kind]) << PACKED_BITS * kind
    return total


@jit
def ranked(s, rank):
    """The player of that rank."""
    player = 0
    while s.rank[player] != rank:
        player += 1
    return player


@jit
def has_pairs(s, hand_number):
    """FZ-13, FZ-24: whether this hand, counted from 1, is played with partners."""
    return s.partners and s.num_players > 3 and hand_number > 1


@jit
def counts_animals(s, hand_number):
    """FZ-13, FZ-24: whether lions and hedgehogs count in this hand, counted from 1."""
    return has_pairs(s, hand_number) or s.num_players == 3


@jit
def junior_rank(s, rank):
    """FZ-17: the rank of the junior of the senior of that rank."""
    return rank + (int(s.num_players) + 1) // 2


@jit
def is_junior(s, player):
    return s.partner[player] != NOBODY and s.is_senior[player] == 0


@jit
def giver(s, number):
    """FZ-18: who gives after ``number`` others: junior and senior of each pair, by the senior's
    rank; then the one alone."""
    rank = number // 2
    if number % 2 == 0 and rank < s.num_players // 2:
        rank = junior_rank(s, rank)
    return ranked(s, rank)
