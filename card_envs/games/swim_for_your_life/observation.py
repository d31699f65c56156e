"""What a player of Swim for Your Life can know, as one flat vector of float32 in [0, 1]."""

import numpy as np

from card_envs.contract import (
    MAX_SCALE,
    MEMORY_PERFECT,
    Field,
    Fields,
    clear_fields,
    index,
    inline,
    jit,
    relative_seat,
    share,
    thermometers,
    write_counts,
    write_row,
)
from card_envs.games.swim_for_your_life.actions import ACT
from card_envs.games.swim_for_your_life.cards import (
    DECK_COUNTS,
    LAID_DOWN,
    NUM_ANIMALS,
    NUM_ROWS,
    NUM_SETS,
    ROW_OF,
)
from card_envs.games.swim_for_your_life.knowledge import unknown_cards
from card_envs.games.swim_for_your_life.state import (
    HAND_SIZE,
    MAX_LIVES,
    MAX_PLAYERS,
    players_left,
)

# The most cards of one animal (giraffes), and of one that means sudden death (hares and pigs).
_MOST = 9
_LARGEST_SET = 5
# How many entries tell of the hand with a row, and of its lead.
_WITH_ROW = 6
_LEAD = 5
# The sections of the field ``last_turn`` of one seat: row or tap, cards laid down, cards taken.
_LAID = NUM_ROWS + 1
_TAKEN = _LAID + NUM_ANIMALS
_LAST_TURN_SIZE = _TAKEN + NUM_ANIMALS

# What lies open on the table: the same in a player's observation and in the full state.
_TABLE_FIELDS = (
    Field("seats", (MAX_PLAYERS,), "1 for each seat that exists"),
    Field("in_game", (MAX_PLAYERS,), "1 for each seat that is still in the game"),
    Field("to_move", (MAX_PLAYERS,), "1 for the seat to move; all 0 when the game is over"),
    Field("lives", (MAX_PLAYERS,), "lives", scale=MAX_LIVES),
    Field("starter", (MAX_PLAYERS,), "one-hot seat that started the round"),
    Field("tapper", (MAX_PLAYERS + 1,), "one-hot seat that tapped first; the last entry: nobody"),
    Field("has_exchanged", (MAX_PLAYERS,), "1 for each seat that has exchanged in this round"),
    Field(
        "turns", (1,), f"turns taken in this round; {MAX_SCALE} stands for more", scale=MAX_SCALE
    ),
    Field("two_left", (1,), "1 if two players are left: a majority takes two cards (SW-12)"),
    Field("expert", (1,), "1 if the expert variant is played (SW-14)"),
    Field("rows", (NUM_ROWS, NUM_ANIMALS), "cards of each animal in each row", scale=NUM_ROWS),
    Field(
        "last_turn",
        (MAX_PLAYERS, _LAST_TURN_SIZE),
        "each seat's last turn in this round, all 0 if none: one-hot row exchanged, or tap (4 "
        "units); cards of each animal laid down; cards of each animal taken",
        scale=NUM_ROWS,
    ),
)

FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "hand",
        (NUM_ANIMALS, _MOST),
        "entry c of an animal is 1 if the observer's hand has more than c cards of it",
    ),
    Field(
        "with_row",
        (NUM_ROWS, NUM_ANIMALS, _WITH_ROW),
        "entry c of an animal is 1 if the observer's hand and the row together have more than c "
        "cards of it: what they would hold before laying down",
        derived=True,
    ),
    Field(
        "lead",
        (NUM_ROWS, NUM_ANIMALS, _LEAD),
        "entry c of an animal is 1 if these are at least c cards more than `least` of any other "
        "seat",
        derived=True,
        remembered=True,
    ),
    Field(
        "unseen",
        (NUM_ANIMALS,),
        "cards of each animal that the observer has not located: all but their hand, the rows "
        "and, with perfect recall, `least` of the others",
        scale=_MOST,
    ),
    Field(
        "least",
        (MAX_PLAYERS, NUM_ANIMALS),
        "cards of each animal that everybody knows to be in a seat's hand",
        scale=_MOST,
        remembered=True,
    ),
    Field(
        "most",
        (MAX_PLAYERS, NUM_SETS),
        "the most hares, pigs and cats that everybody knows a seat's hand can have: no set after "
        "an exchange (SW-9)",
        scale=_LARGEST_SET,
        remembered=True,
    ),
    Field(
        "unknown",
        (MAX_PLAYERS,),
        "cards of a seat's hand beyond `least`",
        scale=HAND_SIZE,
        remembered=True,
    ),
)

STATE_FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "hands",
        (MAX_PLAYERS, NUM_ANIMALS, _MOST),
        "entry c of an animal is 1 if the seat's hand has more than c cards of it",
    ),
    Field(
        "left_over", (NUM_ANIMALS,), "cards of each animal that are out of the round", scale=_MOST
    ),
    Field("least", (MAX_PLAYERS, NUM_ANIMALS), "as observed with perfect recall", scale=_MOST),
    Field("most", (MAX_PLAYERS, NUM_SETS), "as observed with perfect recall", scale=_LARGEST_SET),
)

# Both layouts begin with the same fields, so ``AT`` gives those of the table for either.
AT = FIELDS.offsets()
STATE_AT = STATE_FIELDS.offsets()
_SIZE = FIELDS.size

# What is written for a number of cards.
_HAND_LOOK = thermometers(_MOST)
_WITH_LOOK = thermometers(_WITH_ROW)
_LEAD_LOOK = thermometers(_LEAD, above=15)  # by the lead plus 16

# What the field ``last_turn`` says of an action but for the cards taken: _TAKEN values from
# _TAKEN * (action + 1) on, in units. Those of NO_ACTION, the first, are 0. They are bytes because
# CUDA has room for 64 KiB of constants.
_turns = np.zeros((1 + ACT.tap + 1, _TAKEN), np.int8)
_turns[1 + np.arange(ACT.tap), ROW_OF] = NUM_ROWS
_turns[1 + ACT.tap, NUM_ROWS] = NUM_ROWS
_turns[1 : 1 + ACT.tap, _LAID:] = LAID_DOWN
_TURN_LOOK = _turns.reshape(-1)


@jit
def observe(states, i, player, memory, features, out):
    """Write the player's observation; seats are relative to them (0), then clockwise."""
    s = states[i]
    me = int(player)
    remembers = memory == MEMORY_PERFECT
    # All but the fields from ``hand`` to ``lead``, which are written in full.
    clear_fields(out, 0, AT.hand)
    clear_fields(out, AT.unseen, _SIZE)
    observe_table(s, me, out)
    observe_hand(s, me, AT.hand, out)
    if features:
        observe_with_row(s, me, out)
    else:
        clear_fields(out, AT.with_row, AT.lead)
    if features and remembers:
        observe_lead(s, me, out)
    else:
        clear_fields(out, AT.lead, AT.unseen)
    if remembers:
        observe_least(s, me, AT.least, AT.most, out)
        for q in range(s.num_players):
            seat = relative_seat(q, me, int(s.num_players))
            out[index(AT.unknown + seat)] = share(out, unknown_cards(s, q), HAND_SIZE)
    observe_unseen(s, me, remembers, out)


@inline
def observe_table(s, player, out):
    """What lies open on the table, and the course of the game."""
    n = int(s.num_players)
    is_over = s.terminated | s.truncated
    out[index(AT.to_move + relative_seat(int(s.current_player), player, n))] = not is_over
    out[index(AT.starter + relative_seat(int(s.starter), player, n))] = 1.0
    tapper = int(s.tapper)
    out[index(AT.tapper + relative_seat(max(tapper, 0), player, n))] = tapper >= 0
    out[index(AT.tapper + MAX_PLAYERS)] = tapper < 0
    out[index(AT.turns)] = share(out, min(int(s.turns), MAX_SCALE), MAX_SCALE)
    out[index(AT.two_left)] = players_left(s) == 2
    out[index(AT.expert)] = s.expert
    for row in range(NUM_ROWS):
        for animal in range(NUM_ANIMALS):
            look = share(out, int(s.row[row, animal]), NUM_ROWS)
            out[index(AT.rows + NUM_ANIMALS * row + animal)] = look
    for q in range(n):
        seat = relative_seat(q, player, n)
        out[index(AT.seats + seat)] = 1.0
        out[index(AT.in_game + seat)] = s.lives[q] > 0
        out[index(AT.lives + seat)] = share(out, int(s.lives[q]), MAX_LIVES)
        out[index(AT.has_exchanged + seat)] = s.has_exchanged[q]
        observe_last_turn(s, q, AT.last_turn + seat * _LAST_TURN_SIZE, out)


@inline
def observe_last_turn(s, q, first, out):
    """The last turn of player q."""
    look = _TAKEN * (int(s.last_action[q]) + 1)
    for k in range(_TAKEN):
        out[index(first + k)] = share(out, _TURN_LOOK[index(look + k)], NUM_ROWS)
    for animal in range(NUM_ANIMALS):
        taken = share(out, int(s.last_taken[q, animal]), NUM_ROWS)
        out[index(first + _TAKEN + animal)] = taken


@inline
def observe_hand(s, q, first, out):
    """The hand of player q, written to the field that begins at ``first``."""
    for animal in range(NUM_ANIMALS):
        write_row(out, first + _MOST * animal, _HAND_LOOK, int(s.hand[q, animal]), _MOST)


@inline
def observe_with_row(s, player, out):
    """What the player's hand would be together with each row."""
    for animal in range(NUM_ANIMALS):
        hand = int(s.hand[player, animal])
        for row in range(NUM_ROWS):
            first = AT.with_row + _WITH_ROW * (NUM_ANIMALS * row + animal)
            write_row(out, first, _WITH_LOOK, hand + int(s.row[row, animal]), _WITH_ROW)


@inline
def observe_lead(s, player, out):
    """How far the hand would be ahead, with each row, of what the others are known to hold."""
    for animal in range(NUM_ANIMALS):
        others = 0
        for q in range(MAX_PLAYERS):
            others = max(others, int(s.least[q, animal]) * (q != player))
        for row in range(NUM_ROWS):
            first = AT.lead + _LEAD * (NUM_ANIMALS * row + animal)
            lead = int(s.hand[player, animal]) + int(s.row[row, animal]) - others
            write_row(out, first, _LEAD_LOOK, lead + 16, _LEAD)


@inline
def observe_unseen(s, player, remembers, out):
    """The cards that are not in the player's hand, not in the rows and not known to be held."""
    for animal in range(NUM_ANIMALS):
        unseen = int(DECK_COUNTS[animal]) - int(s.hand[player, animal])
        for row in range(NUM_ROWS):
            unseen -= int(s.row[row, animal])
        for q in range(MAX_PLAYERS):
            unseen -= int(s.least[q, animal]) * (remembers & (q != player))
        out[index(AT.unseen + animal)] = share(out, unseen, _MOST)


@inline
def observe_least(s, player, least, most, out):
    """What everybody knows of each hand, to the fields that begin at ``least`` and ``most``."""
    n = int(s.num_players)
    for q in range(n):
        seat = relative_seat(q, player, n)
        write_counts(out, least + NUM_ANIMALS * seat, s.least[q], _MOST)
        write_counts(out, most + NUM_SETS * seat, s.most[q], _LARGEST_SET)


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    n = int(s.num_players)
    me = int(player)
    clear_fields(out, 0, len(out))
    observe_table(s, me, out)
    for q in range(n):
        seat = relative_seat(q, me, n)
        observe_hand(s, q, STATE_AT.hands + NUM_ANIMALS * _MOST * seat, out)
    write_counts(out, STATE_AT.left_over, s.left_over, _MOST)
    observe_least(s, me, STATE_AT.least, STATE_AT.most, out)
