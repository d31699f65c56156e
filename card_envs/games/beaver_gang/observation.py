"""What a player of Beaver Gang can know, as one flat vector of float32 in [0, 1]."""

from __future__ import annotations

import numpy as np

from card_envs.engine.fields import Field, Fields
from card_envs.engine.jit import jit
from card_envs.engine.observing import part, relative_seat
from card_envs.engine.outcome import MEMORY_PERFECT
from card_envs.games.beaver_gang.rules import (
    DECK_SIZE,
    DISCARDED,
    MAX_PLAYERS,
    NO_CARD,
    NO_TURN,
    NUM_KINDS,
    OVER,
    SLOTS,
    SWAP,
    TOOK,
    slot_is_hidden,
)

# The parts of the field ``last_turn`` of one seat: kind of turn, own slot, other seat, other slot.
_OWN_SLOT = 6
_OTHER_SEAT = _OWN_SLOT + SLOTS
_OTHER_SLOT = _OTHER_SEAT + MAX_PLAYERS
_LAST_TURN_SIZE = _OTHER_SLOT + SLOTS
_PLACES = MAX_PLAYERS * SLOTS

# What lies open on the table: the same in a player's observation and in the full state.
_TABLE_FIELDS = (
    Field("seats", (MAX_PLAYERS,), "1 for each seat that exists"),
    Field("phase", (3,), "what is being decided: turn, drawn card, knock; all 0 when it is over"),
    Field("to_move", (MAX_PLAYERS,), "1 for the seat to move"),
    Field("round", (2,), "round / rounds (from 0), and 1 in the last round"),
    Field("scores", (MAX_PLAYERS,), "total less the lowest total, / 72, at most 1"),
    Field("last_scores", (MAX_PLAYERS,), "score of the last round played, / 36"),
    Field("may_knock", (1,), "1 if knocking is open after a turn that ends now"),
    Field("knocker", (MAX_PLAYERS + 1,), "one-hot seat that knocked; the last entry: nobody"),
    Field("pile_sizes", (2,), "cards in the draw pile and in the discard pile, / 66"),
    Field("discard_top", (NUM_KINDS + 1,), "one-hot no pile, or kind of the top discard"),
    Field("drawn", (NUM_KINDS + 1,), "one-hot none, or kind of the observer's drawn card"),
    Field("first_of_pair", (1,), "1 if the drawn card is the first of a pair (BG-15)"),
    Field("draw_twos", (1,), "draw-two cards under way, / 5"),
    Field(
        "last_turn",
        (MAX_PLAYERS, _LAST_TURN_SIZE),
        "each seat's last turn in this round: one-hot none yet, took, exchanged, swapped, peeked, "
        "discarded; one-hot slot that it was done to; then, for a swap, one-hot seat and one-hot "
        "slot of the other card",
    ),
)

FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "own_row",
        (SLOTS, NUM_KINDS + 1),
        "one-hot kind of each of the observer's cards; the last entry: he does not know it",
    ),
    Field(
        "rows",
        (MAX_PLAYERS, SLOTS, 4),
        "each card in the rows: 1 if the observer knows it; value / 9 of a number that he knows; "
        "1 for a special that he knows; its kind (0 swap, 0.5 peek, 1 draw two)",
    ),
    Field(
        "older",
        (MAX_PLAYERS, SLOTS),
        "1 if the card came into the rows before the last reshuffle; perfect memory",
    ),
    Field(
        "unseen_older",
        (NUM_KINDS,),
        "cards of each kind that came into the rows before the last reshuffle and that the "
        "observer does not know, / 16; perfect memory",
    ),
    Field(
        "is_number",
        (MAX_PLAYERS, SLOTS),
        "1 if everybody knows that it is a number (taken or exchanged); perfect memory",
    ),
    Field("known_to_owner", (MAX_PLAYERS, SLOTS), "1 if its owner knows the card; perfect memory"),
    Field("known_to_all", (MAX_PLAYERS, SLOTS), "1 if everybody knows the card; perfect memory"),
    Field(
        "discarded", (NUM_KINDS,), "cards of each kind in the discard pile, / 16; perfect memory"
    ),
)

STATE_FIELDS = Fields(
    *_TABLE_FIELDS,
    Field("row", (MAX_PLAYERS, SLOTS, NUM_KINDS), "one-hot kind of every card in the rows"),
    Field("known_to", (MAX_PLAYERS, SLOTS, MAX_PLAYERS), "1 for each player who knows the card"),
    Field("discarded", (NUM_KINDS,), "cards of each kind in the discard pile, / 16"),
    Field("draw_pile", (DECK_SIZE,), "(kind + 1) / 13 of each card from the top; 0: no card"),
)

_SIZE = FIELDS.size
_SEATS = FIELDS.offset("seats")
_PHASE = FIELDS.offset("phase")
_TO_MOVE = FIELDS.offset("to_move")
_ROUND = FIELDS.offset("round")
_SCORES = FIELDS.offset("scores")
_LAST_SCORES = FIELDS.offset("last_scores")
_MAY_KNOCK = FIELDS.offset("may_knock")
_KNOCKER = FIELDS.offset("knocker")
_PILE_SIZES = FIELDS.offset("pile_sizes")
_DISCARD_TOP = FIELDS.offset("discard_top")
_DRAWN = FIELDS.offset("drawn")
_FIRST_OF_PAIR = FIELDS.offset("first_of_pair")
_DRAW_TWOS = FIELDS.offset("draw_twos")
_LAST_TURN = FIELDS.offset("last_turn")
_OWN_ROW = FIELDS.offset("own_row")
_ROWS = FIELDS.offset("rows")
_IS_NUMBER = FIELDS.offset("is_number")
_KNOWN_TO_OWNER = FIELDS.offset("known_to_owner")
_KNOWN_TO_ALL = FIELDS.offset("known_to_all")
_OLDER = FIELDS.offset("older")
_DISCARDED = FIELDS.offset("discarded")
_UNSEEN_OLDER = FIELDS.offset("unseen_older")
_STATE_ROW = STATE_FIELDS.offset("row")
_STATE_KNOWN_TO = STATE_FIELDS.offset("known_to")
_STATE_DISCARDED = STATE_FIELDS.offset("discarded")
_STATE_DRAW_PILE = STATE_FIELDS.offset("draw_pile")

_NO_KIND = NUM_KINDS
_PER_CARD = 1.0 / DECK_SIZE
_PER_DRAW_TWO = 1.0 / 5.0
_PER_COUNT = 1.0 / 16.0
_PER_SCORE = 1.0 / 36.0
_PER_LEAD = 1.0 / 72.0

# What the field ``rows`` says of a card: four values from 4 * (kind + 16 if it is known).
_looks = np.zeros((32, 4), np.float32)
_looks[16 : 16 + NUM_KINDS, 0] = 1.0
_looks[16 : 16 + SWAP, 1] = np.arange(SWAP) / 9.0
_looks[16 + SWAP : 16 + NUM_KINDS, 2] = 1.0
_looks[16 + SWAP : 16 + NUM_KINDS, 3] = (0.0, 0.5, 1.0)
_LOOKS = _looks.reshape(-1)


@jit
def seen_from(places, player, n):
    """A set of places with the player's own four first: turned as the seats are."""
    turned = places >> SLOTS * player | places << SLOTS * (n - player)
    return turned & ((1 << SLOTS * n) - 1)


@jit
def observe(states, i, player, out):
    """Write the player's observation; seats are relative to him (0), then clockwise."""
    s = states[i]
    me = int(player)
    for k in range(_SIZE):
        out[k] = 0.0
    observe_table(s, me, out)
    drawn = int(s.drawn)
    has_drawn = (drawn != NO_CARD) & (s.current_player == me)
    out[_DRAWN + ((drawn + 1) * has_drawn & 15)] = 1.0
    if s.memory == MEMORY_PERFECT:
        observe_rows(s, me, int(s.known[me]), out)
        observe_knowledge(s, me, out)
    else:
        observe_rows(s, me, int(s.in_view[me]), out)


@part
def observe_table(s, player, out):
    """What lies open on the table, and the course of the game."""
    n = int(s.num_players)
    if s.phase != OVER:
        out[_PHASE + (int(s.phase) & 3)] = 1.0
        out[_TO_MOVE + relative_seat(int(s.current_player), player, n)] = 1.0
    out[_ROUND] = s["round"] / s.rounds
    out[_ROUND + 1] = s["round"] == s.rounds - 1
    knocker = int(s.knocker)
    out[_KNOCKER + relative_seat(max(knocker, 0), player, n)] = knocker >= 0
    out[_KNOCKER + MAX_PLAYERS] = knocker < 0
    out[_MAY_KNOCK] = (knocker < 0) & (s.turns + 1 >= n)
    out[_PILE_SIZES] = s.draw_size * _PER_CARD
    out[_PILE_SIZES + 1] = s.discard_size * _PER_CARD
    out[_DISCARD_TOP + (int(s.discard_top) - NO_CARD & 15)] = 1.0
    out[_FIRST_OF_PAIR] = s.first_of_pair
    out[_DRAW_TWOS] = s.draw_twos * _PER_DRAW_TWO
    lowest = s.scores[0]
    for q in range(1, n):
        lowest = min(lowest, s.scores[q])
    for q in range(n):
        seat = relative_seat(q, player, n)
        out[_SEATS + seat] = 1.0
        out[_SCORES + seat] = min(1.0, (s.scores[q] - lowest) * _PER_LEAD)
        out[_LAST_SCORES + seat] = s.round_scores[q] * _PER_SCORE
        observe_last_turn(s, player, n, q, _LAST_TURN + seat * _LAST_TURN_SIZE, out)


@part
def observe_last_turn(s, player, n, q, first, out):
    """The last turn of player q; see the numbers NO_TURN, TOOK, ... DISCARDED."""
    turn = int(s.last_turn[q])
    slot = turn - TOOK & 3
    kind = (turn + 3 & 31) >> 2  # in the order of those numbers, four to each with a slot
    swapped = kind == 3
    other = relative_seat(int(s.swapped_with[q]), player, n)
    other_slot = int(s.swapped_slot[q]) & 3
    out[first + kind] = 1.0
    out[first + _OWN_SLOT + slot] = NO_TURN < turn < DISCARDED
    out[first + _OTHER_SEAT + other] = swapped
    out[first + _OTHER_SLOT + other_slot] = swapped


@part
def observe_rows(s, player, known, out):
    """The cards of the rows at the places in the set ``known``."""
    n = int(s.num_players)
    for q in range(n):
        first = _ROWS + 4 * SLOTS * relative_seat(q, player, n)
        for slot in range(SLOTS):
            is_known = known >> SLOTS * q + slot & 1
            look = 4 * (int(s.row[q, slot]) & 15 | is_known << 4)
            for k in range(4):
                out[first + 4 * slot + k] = _LOOKS[look + k]
    for slot in range(SLOTS):
        is_known = known >> SLOTS * player + slot & 1
        first = _OWN_ROW + slot * (NUM_KINDS + 1)
        out[first + (int(s.row[player & 7, slot]) & 15)] = is_known
        out[first + _NO_KIND] = 1 - is_known


@part
def observe_knowledge(s, player, out):
    """Perfect memory: what is known to whom, and the cards that have been seen."""
    n = int(s.num_players)
    known_to_owner = 0
    known_to_all = -1
    for q in range(n):
        known = int(s.known[q])
        known_to_owner |= known & 15 << SLOTS * q
        known_to_all &= known
    is_number = seen_from(int(s.is_number), player, n)
    known_to_owner = seen_from(known_to_owner, player, n)
    known_to_all = seen_from(known_to_all, player, n)
    for place in range(_PLACES):
        out[_IS_NUMBER + place] = is_number >> place & 1
        out[_KNOWN_TO_OWNER + place] = known_to_owner >> place & 1
        out[_KNOWN_TO_ALL + place] = known_to_all >> place & 1
    for kind in range(NUM_KINDS):
        out[_DISCARDED + kind] = s.discard_counts[kind] * _PER_COUNT
    if s.filling > 0:
        observe_older_cards(s, player, out)


@part
def observe_older_cards(s, player, out):
    """After a reshuffle: the cards that lie in the rows since before it.

    The scale is a power of two: sums of other fractions would betray by their rounding in which
    order, and so at which places, the cards were counted.
    """
    n = int(s.num_players)
    for q in range(n):
        for slot in range(SLOTS):
            if s.filling_of[q, slot] != s.filling:
                out[_OLDER + SLOTS * relative_seat(q, player, n) + slot] = 1.0
                if slot_is_hidden(s, player, q, slot):
                    out[_UNSEEN_OLDER + (int(s.row[q, slot]) & 15)] += _PER_COUNT


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    n = int(s.num_players)
    out[:] = 0.0
    observe_table(s, int(player), out)
    out[_DRAWN + int(s.drawn) - NO_CARD] = 1.0
    for q in range(n):
        for slot in range(SLOTS):
            place = SLOTS * relative_seat(q, int(player), n) + slot
            out[_STATE_ROW + place * NUM_KINDS + int(s.row[q, slot])] = 1.0
            for knower in range(n):
                seat = relative_seat(knower, int(player), n)
                knows = int(s.known[knower]) >> SLOTS * q + slot & 1
                out[_STATE_KNOWN_TO + place * MAX_PLAYERS + seat] = knows
    for kind in range(NUM_KINDS):
        out[_STATE_DISCARDED + kind] = s.discard_counts[kind] * _PER_COUNT
    for depth in range(s.draw_size):
        card = s.draw_pile[s.draw_size - 1 - depth]
        out[_STATE_DRAW_PILE + depth] = (card + 1) / NUM_KINDS
