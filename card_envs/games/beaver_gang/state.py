"""The state of Beaver Gang: one record, and the functions that read it."""

import numpy as np

from card_envs.contract import common_dtype, jit
from card_envs.games.beaver_gang.cards import DECK_SIZE, NO_CARD, NUM_KINDS, SWAP

MIN_PLAYERS, MAX_PLAYERS = 2, 6
SLOTS = 4
OUTER_SLOTS = 0b1001  # BG-6, as a set of slots: slot k is bit 1 << k

# Values of ``phase``: what the player to move decides.
TURN, DRAWN, KNOCK, OVER = 0, 1, 2, 3

# What a player's last turn in this round did (``last_turn``): one of these, plus the slot of their
# own that it was done to. A swap also has the other card's owner and slot.
NO_TURN, TOOK, EXCHANGED, SWAPPED, PEEKED, DISCARDED = 0, 1, 5, 9, 13, 17
NUM_TURN_KINDS = 18

STATE = np.dtype(
    [
        *common_dtype(MAX_PLAYERS),
        ("rounds", np.int32),  # how many rounds the game has (BG-2)
        ("round", np.int32),  # the present one, from 0; s.round is a method of plain records
        ("scores", np.int32, (MAX_PLAYERS,)),  # totals of the rounds played
        ("round_scores", np.int32, (MAX_PLAYERS,)),  # of the last round played
        ("revealed", np.int8, (MAX_PLAYERS, SLOTS)),  # its rows as they were counted
        ("phase", np.int8),
        # The table. The draw pile's top is draw_pile[draw_size - 1].
        ("row", np.int8, (MAX_PLAYERS, SLOTS)),
        ("draw_pile", np.int8, (DECK_SIZE,)),
        ("draw_size", np.int8),
        ("discard_top", np.int8),  # NO_CARD: there is no discard pile
        ("discard_size", np.int8),
        ("discard_counts", np.int8, (NUM_KINDS,)),
        ("drawn", np.int8),  # the card that the player to move holds, or NO_CARD
        ("draw_twos", np.int8),  # draw-two cards under way, not yet on the discard pile
        ("first_of_pair", np.bool_),  # the drawn card may be discarded for a second one
        # The round's course.
        ("turns", np.int32),  # finished in this round
        ("knocker", np.int8),  # -1: nobody has knocked
        ("last_turn", np.int8, (MAX_PLAYERS,)),  # NO_TURN: none in this round yet
        ("swapped_with", np.int8, (MAX_PLAYERS,)),  # where last_turn is a swap
        ("swapped_slot", np.int8, (MAX_PLAYERS,)),
        # What is known of the rows: sets of places, where place 4 * player + slot is bit
        # 1 << place. All of it moves with the card.
        ("known", np.int32, (MAX_PLAYERS,)),  # by each player: the cards that they know
        ("in_view", np.int32, (MAX_PLAYERS,)),  # those of them that memory="none" still shows
        ("is_number", np.int32),  # by everybody: surely a number, as it was exchanged or taken
        # From which filling of the draw pile a card came: the dealt ones from filling 0, and each
        # reshuffle (BG-17) is the next. Everybody knows what cards a filling consists of.
        ("filling", np.int16),
        ("filling_of", np.int16, (MAX_PLAYERS, SLOTS)),
    ],
    align=True,
)


@jit
def may_take(s):
    """BG-9: there is a discard pile, and its top is a number."""
    return s.discard_top != NO_CARD and s.discard_top < SWAP


@jit
def may_knock(s):
    """BG-18, BG-19: a player whose turn is done may knock."""
    return may_knock_after(s, s.turns)


@jit
def may_knock_after(s, turns):
    """BG-18, BG-19: whether one may knock after that many turns of the round: everybody has had one
    and nobody has knocked. Turns go round in order."""
    return (s.knocker < 0) & (turns >= s.num_players)


@jit
def owner_of(s, player, target):
    """Whose card a player's swap is with: ``target`` is 4 * (places to the left - 1) + slot."""
    return (player + 1 + target // SLOTS) % s.num_players


@jit
def with_places_swapped(places, place, other):
    """The set of places with two of them exchanged."""
    differ = (places >> place ^ places >> other) & 1
    return places ^ (differ << place | differ << other)
