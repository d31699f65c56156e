"""What a player of Beaver Gang can know, as one flat vector of float32 in [0, 1].

No field is derived: ``features`` makes no difference. RULES.md lists what is left out.
"""

import numpy as np

from card_envs.contract import (
    MEMORY_PERFECT,
    Field,
    Fields,
    clear_fields,
    index,
    inline,
    jit,
    relative_seat,
    share,
    table_of,
    write_counts,
    write_row,
)
from card_envs.games.beaver_gang.cards import (
    DECK,
    DECK_SIZE,
    DRAW_TWO,
    NO_CARD,
    NUM_KINDS,
    SWAP,
)
from card_envs.games.beaver_gang.knowledge import slot_is_hidden
from card_envs.games.beaver_gang.state import (
    DISCARDED,
    MAX_PLAYERS,
    NO_TURN,
    NUM_TURN_KINDS,
    SLOTS,
    SWAPPED,
    TOOK,
    may_knock_after,
)

# The field ``last_turn`` of one seat: kind of turn, own slot, other seat, other slot.
_TURN_KINDS = 6
_OTHER_SEAT = _TURN_KINDS + SLOTS
_OTHER_SLOT = _OTHER_SEAT + MAX_PLAYERS
_LAST_TURN_SIZE = _OTHER_SLOT + SLOTS
# The field ``rows`` of one card.
_LOOK_SIZE = 4
_PLACES = MAX_PLAYERS * SLOTS

# Scales.
_SHARES = 60  # the usual numbers of rounds, 3 to 6, divide it
_MOST_ROUNDS = 16
_MOST_LEAD = 72  # two rounds of four nines
_MOST_SCORE = 36
_MOST_TOTAL = 216  # six rounds of four nines
_MOST_ALIKE = 16  # more than there are of any kind
_CARD_SCALES = (1, SWAP - 1, 1, DRAW_TWO - SWAP)

# What lies open on the table: the same in a player's observation and in the full state.
_TABLE_FIELDS = (
    Field("seats", (MAX_PLAYERS,), "1 for each seat that exists"),
    Field("phase", (3,), "one-hot: turn, drawn card, knock; all 0 when the game is over"),
    Field("to_move", (MAX_PLAYERS,), "1 for the seat to move; all 0 when the game is over"),
    Field(
        "round",
        (2,),
        "share of the rounds that are finished, in 60ths, rounded down; 1 in the last round",
        scale=(_SHARES, 1),
    ),
    Field("rounds", (1,), "rounds of the game, at most 16", scale=_MOST_ROUNDS),
    Field("scores", (MAX_PLAYERS,), "points above the lowest total, at most 72", scale=_MOST_LEAD),
    Field("totals", (MAX_PLAYERS,), "points so far, at most 216", scale=_MOST_TOTAL),
    Field("last_scores", (MAX_PLAYERS,), "points in the last round played", scale=_MOST_SCORE),
    Field("may_knock", (1,), "1 if knocking is open after a turn that ends now"),
    Field("knocker", (MAX_PLAYERS + 1,), "one-hot seat that knocked; the last entry: nobody"),
    Field("pile_sizes", (2,), "cards in the draw pile and in the discard pile", scale=DECK_SIZE),
    Field("discard_top", (NUM_KINDS + 1,), "one-hot no pile, or kind of the top discard"),
    Field(
        "drawn",
        (NUM_KINDS + 1,),
        "one-hot none, or kind of the drawn card (in an observation: of the observer's own)",
    ),
    Field("first_of_pair", (1,), "1 if the drawn card is the first of a pair (BG-15)"),
    Field("draw_twos", (1,), "draw-two cards under way", scale=DECK[DRAW_TWO]),
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
        "one-hot kind of each of the observer's cards; the last entry: they do not know it",
    ),
    Field(
        "rows",
        (MAX_PLAYERS, SLOTS, _LOOK_SIZE),
        "each card in the rows: 1 if the observer knows it; value of a number that they know; 1 "
        "for a special that they know; its kind (0 swap, 1 peek, 2 draw two)",
        scale=_CARD_SCALES,
    ),
    Field(
        "older",
        (MAX_PLAYERS, SLOTS),
        "1 if the card came into the rows before the last reshuffle",
        remembered=True,
    ),
    Field(
        "unseen_older",
        (NUM_KINDS,),
        "cards of each kind that came into the rows before the last reshuffle and that the "
        "observer does not know",
        scale=_MOST_ALIKE,
        remembered=True,
    ),
    Field(
        "is_number",
        (MAX_PLAYERS, SLOTS),
        "1 if everybody knows that it is a number (taken or exchanged)",
        remembered=True,
    ),
    Field("known_to_owner", (MAX_PLAYERS, SLOTS), "1 if its owner knows the card", remembered=True),
    Field("known_to_all", (MAX_PLAYERS, SLOTS), "1 if everybody knows the card", remembered=True),
    Field(
        "discarded",
        (NUM_KINDS,),
        "cards of each kind in the discard pile",
        scale=_MOST_ALIKE,
        remembered=True,
    ),
)

STATE_FIELDS = Fields(
    *_TABLE_FIELDS,
    Field("row", (MAX_PLAYERS, SLOTS, NUM_KINDS), "one-hot kind of every card in the rows"),
    Field("known_to", (MAX_PLAYERS, SLOTS, MAX_PLAYERS), "1 for each player who knows the card"),
    Field("discarded", (NUM_KINDS,), "cards of each kind in the discard pile", scale=_MOST_ALIKE),
    Field(
        "draw_pile",
        (DECK_SIZE,),
        "kind + 1 of each card from the top; 0: no card",
        scale=NUM_KINDS,
    ),
)

AT = FIELDS.offsets()
STATE_AT = STATE_FIELDS.offsets()  # the same for the fields of the table
_SIZE = FIELDS.size
_UNKNOWN_KIND = NUM_KINDS

# What the field ``rows`` says of a card: four values from 4 * (kind + 16 if it is known).
_looks = np.zeros((32, _LOOK_SIZE), np.uint8)
_looks[16 : 16 + NUM_KINDS, 0] = 1
_looks[16 : 16 + SWAP, 1] = np.arange(SWAP)
_looks[16 + SWAP : 16 + NUM_KINDS, 2] = 1
_looks[16 + SWAP : 16 + NUM_KINDS, 3] = np.arange(NUM_KINDS - SWAP)
_LOOKS = table_of(_looks, _CARD_SCALES)

# What the field ``last_turn`` says of a turn but for the other card of a swap: ten values from
# 10 * (its number among NO_TURN, TOOK, ... DISCARDED).
_turns = np.zeros((NUM_TURN_KINDS, _OTHER_SEAT), np.uint8)
_turns[NO_TURN, 0] = 1
_turns[DISCARDED, _TURN_KINDS - 1] = 1
for _turn in range(TOOK, DISCARDED):
    _turns[_turn, 1 + (_turn - TOOK) // SLOTS] = 1
    _turns[_turn, _TURN_KINDS + (_turn - TOOK) % SLOTS] = 1
_TURNS = table_of(_turns)


@jit
def seen_from(places, player, n):
    """A set of places with the player's own four first: turned like the seats."""
    turned = places >> SLOTS * player | places << SLOTS * (n - player)
    return turned & ((1 << SLOTS * n) - 1)


@jit
def observe(states, i, player, memory, features, out):
    """Write the player's observation; seats are relative to them (0), then clockwise."""
    s = states[i]
    me = int(player)
    clear_fields(out, 0, _SIZE)
    observe_table(s, me, out)
    sees_drawn = s.current_player == me
    out[index(AT.drawn + (int(s.drawn) - NO_CARD) * sees_drawn)] = 1.0
    if memory == MEMORY_PERFECT:
        observe_rows(s, me, int(s.known[me]), out)
        observe_knowledge(s, me, out)
    else:
        observe_rows(s, me, int(s.in_view[me]), out)


@inline
def observe_table(s, player, out):
    """What lies open on the table, and the course of the game."""
    n = int(s.num_players)
    if not (s.terminated or s.truncated):
        out[index(AT.phase + int(s.phase))] = 1.0
        out[index(AT.to_move + relative_seat(int(s.current_player), player, n))] = 1.0
    out[AT.round] = share(out, int(_SHARES * int(s["round"]) / int(s.rounds)), _SHARES)
    out[AT.round + 1] = s["round"] == s.rounds - 1
    out[AT.rounds] = share(out, min(int(s.rounds), _MOST_ROUNDS), _MOST_ROUNDS)
    knocker = int(s.knocker)
    out[index(AT.knocker + relative_seat(max(knocker, 0), player, n))] = knocker >= 0
    out[AT.knocker + MAX_PLAYERS] = knocker < 0
    out[AT.may_knock] = may_knock_after(s, s.turns + 1)
    out[AT.pile_sizes] = share(out, int(s.draw_size), DECK_SIZE)
    out[AT.pile_sizes + 1] = share(out, int(s.discard_size), DECK_SIZE)
    out[index(AT.discard_top + int(s.discard_top) - NO_CARD)] = 1.0
    out[AT.first_of_pair] = s.first_of_pair
    out[AT.draw_twos] = share(out, int(s.draw_twos), DECK[DRAW_TWO])
    lowest = int(s.scores[0])
    for q in range(1, n):
        lowest = min(lowest, int(s.scores[q]))
    for q in range(n):
        seat = relative_seat(q, player, n)
        lead = min(int(s.scores[q]) - lowest, _MOST_LEAD)
        out[index(AT.seats + seat)] = 1.0
        out[index(AT.scores + seat)] = share(out, lead, _MOST_LEAD)
        out[index(AT.totals + seat)] = share(out, min(int(s.scores[q]), _MOST_TOTAL), _MOST_TOTAL)
        out[index(AT.last_scores + seat)] = share(out, int(s.round_scores[q]), _MOST_SCORE)
        observe_last_turn(s, player, n, q, AT.last_turn + seat * _LAST_TURN_SIZE, out)


@inline
def observe_last_turn(s, player, n, q, first, out):
    """The last turn of player q."""
    turn = int(s.last_turn[q])
    write_row(out, first, _TURNS, turn, _OTHER_SEAT)
    swapped = SWAPPED <= turn < SWAPPED + SLOTS
    other = relative_seat(int(s.swapped_with[q]), player, n)
    out[index(first + _OTHER_SEAT + other)] = swapped
    out[index(first + _OTHER_SLOT + int(s.swapped_slot[q]))] = swapped


@inline
def observe_rows(s, player, known, out):
    """The cards of the rows at the places in the set ``known``."""
    n = int(s.num_players)
    for q in range(n):
        first = AT.rows + _LOOK_SIZE * SLOTS * relative_seat(q, player, n)
        for slot in range(SLOTS):
            is_known = known >> SLOTS * q + slot & 1
            look = int(s.row[q, slot]) | is_known << 4
            write_row(out, first + _LOOK_SIZE * slot, _LOOKS, look, _LOOK_SIZE)
    for slot in range(SLOTS):
        is_known = known >> SLOTS * player + slot & 1
        first = AT.own_row + slot * (NUM_KINDS + 1)
        out[index(first + int(s.row[index(player), slot]))] = is_known
        out[first + _UNKNOWN_KIND] = 1 - is_known


@inline
def observe_knowledge(s, player, out):
    """Perfect recall: what is known to whom, and the cards that have been seen."""
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
        out[AT.is_number + place] = is_number >> place & 1
        out[AT.known_to_owner + place] = known_to_owner >> place & 1
        out[AT.known_to_all + place] = known_to_all >> place & 1
    write_counts(out, AT.discarded, s.discard_counts, _MOST_ALIKE)
    if s.filling > 0:
        observe_older_cards(s, player, out)


@inline
def observe_older_cards(s, player, out):
    """After a reshuffle: the cards that lie in the rows since before it.

    The scale of the counts is a power of two, so that adding them up is exact.
    """
    n = int(s.num_players)
    for q in range(n):
        for slot in range(SLOTS):
            if s.filling_of[q, slot] != s.filling:
                out[index(AT.older + SLOTS * relative_seat(q, player, n) + slot)] = 1.0
                if slot_is_hidden(s, player, q, slot):
                    out[index(AT.unseen_older + int(s.row[q, slot]))] += share(out, 1, _MOST_ALIKE)


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    n = int(s.num_players)
    out[:] = 0.0
    observe_table(s, int(player), out)
    out[STATE_AT.drawn + int(s.drawn) - NO_CARD] = 1.0
    for q in range(n):
        for slot in range(SLOTS):
            place = SLOTS * relative_seat(q, int(player), n) + slot
            out[STATE_AT.row + place * NUM_KINDS + int(s.row[q, slot])] = 1.0
            for knower in range(n):
                seat = relative_seat(knower, int(player), n)
                knows = int(s.known[knower]) >> SLOTS * q + slot & 1
                out[STATE_AT.known_to + place * MAX_PLAYERS + seat] = knows
    write_counts(out, STATE_AT.discarded, s.discard_counts, _MOST_ALIKE)
    for depth in range(s.draw_size):
        card = int(s.draw_pile[s.draw_size - 1 - depth])
        out[STATE_AT.draw_pile + depth] = share(out, card + 1, NUM_KINDS)
