"""What a player of Swim for Your Life can know, as one flat vector of float32 in [0, 1]."""

from __future__ import annotations

import numpy as np

from card_envs.engine.fields import Field, Fields
from card_envs.engine.jit import jit
from card_envs.engine.observing import fractions, part, relative_seat, thermometers
from card_envs.engine.outcome import MEMORY_PERFECT
from card_envs.games.swim_for_your_life.rules import (
    DECK_COUNTS,
    HAND_SIZE,
    LAID_DOWN,
    MAX_LIVES,
    MAX_PLAYERS,
    NUM_ANIMALS,
    NUM_ROWS,
    NUM_SETS,
    ROW_OF,
    TAP,
    players_left,
    unknown_cards,
)

# No hand has more cards of one animal than there are giraffes.
_MOST = 9
# How many entries tell of the hand with a row, and of its lead.
_WITH_ROW = 6
_LEAD = 5
# The parts of the field ``last_turn`` of one seat: row or tap, cards laid down, cards taken.
_LAID = NUM_ROWS + 1
_TAKEN = _LAID + NUM_ANIMALS
_LAST_TURN_SIZE = _TAKEN + NUM_ANIMALS

# What lies open on the table: the same in a player's observation and in the full state.
_TABLE_FIELDS = (
    Field("seats", (MAX_PLAYERS,), "1 for each seat that exists"),
    Field("in_game", (MAX_PLAYERS,), "1 for each seat that is still in the game"),
    Field("to_move", (MAX_PLAYERS,), "1 for the seat to move; all 0 when the game is over"),
    Field("lives", (MAX_PLAYERS,), "lives / 10"),
    Field("starter", (MAX_PLAYERS,), "one-hot seat that started the round"),
    Field("tapper", (MAX_PLAYERS + 1,), "one-hot seat that tapped first; the last entry: nobody"),
    Field("has_exchanged", (MAX_PLAYERS,), "1 for each seat that has exchanged in this round"),
    Field("two_left", (1,), "1 if two players are left: a majority takes two cards (SW-12)"),
    Field("expert", (1,), "1 if the expert variant is played (SW-14)"),
    Field("rows", (NUM_ROWS, NUM_ANIMALS), "cards of each animal in each row, / 4"),
    Field(
        "last_turn",
        (MAX_PLAYERS, _LAST_TURN_SIZE),
        "each seat's last turn in this round, all 0 if none: one-hot row exchanged, or tap; cards "
        "of each animal laid down, / 4; cards of each animal taken, / 4",
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
        "cards of it: what he would hold before laying down",
    ),
    Field(
        "lead",
        (NUM_ROWS, NUM_ANIMALS, _LEAD),
        "entry c of an animal is 1 if these are at least c cards more than `least` of any other "
        "seat; perfect memory",
    ),
    Field(
        "unseen",
        (NUM_ANIMALS,),
        "cards of each animal that the observer has not located, / 9: all but his hand, the rows "
        "and, with perfect memory, `least` of the others",
    ),
    Field(
        "least",
        (MAX_PLAYERS, NUM_ANIMALS),
        "cards of each animal that everybody knows to be in a seat's hand, / 9; perfect memory",
    ),
    Field(
        "most",
        (MAX_PLAYERS, NUM_SETS),
        "the most hares, pigs and cats that everybody knows a seat's hand can have, / 5: no set "
        "after an exchange (SW-9); perfect memory",
    ),
    Field("unknown", (MAX_PLAYERS,), "cards of a seat beyond `least`, / 10; perfect memory"),
)

STATE_FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "hands",
        (MAX_PLAYERS, NUM_ANIMALS, _MOST),
        "entry c of an animal is 1 if the seat's hand has more than c cards of it",
    ),
    Field("left_over", (NUM_ANIMALS,), "cards of each animal that are out of the round, / 9"),
    Field("least", (MAX_PLAYERS, NUM_ANIMALS), "as observed with perfect memory"),
    Field("most", (MAX_PLAYERS, NUM_SETS), "as observed with perfect memory"),
)

_SIZE = FIELDS.size
_SEATS = FIELDS.offset("seats")
_IN_GAME = FIELDS.offset("in_game")
_TO_MOVE = FIELDS.offset("to_move")
_LIVES = FIELDS.offset("lives")
_STARTER = FIELDS.offset("starter")
_TAPPER = FIELDS.offset("tapper")
_HAS_EXCHANGED = FIELDS.offset("has_exchanged")
_TWO_LEFT = FIELDS.offset("two_left")
_EXPERT = FIELDS.offset("expert")
_ROWS = FIELDS.offset("rows")
_LAST_TURN = FIELDS.offset("last_turn")
_HAND = FIELDS.offset("hand")
_WITH = FIELDS.offset("with_row")
_LEADS = FIELDS.offset("lead")
_UNSEEN = FIELDS.offset("unseen")
_LEAST = FIELDS.offset("least")
_MOST_SETS = FIELDS.offset("most")
_UNKNOWN = FIELDS.offset("unknown")
_STATE_HANDS = STATE_FIELDS.offset("hands")
_STATE_LEFT_OVER = STATE_FIELDS.offset("left_over")
_STATE_LEAST = STATE_FIELDS.offset("least")
_STATE_MOST = STATE_FIELDS.offset("most")

# What is written for a number of lives or cards.
_LIVES_LOOK = fractions(1.0 / MAX_LIVES)
_COUNT_LOOK = fractions(1.0 / _MOST)
_ROW_LOOK = fractions(1.0 / NUM_ROWS)
_SET_LOOK = fractions(1.0 / 5.0)
_UNKNOWN_LOOK = fractions(1.0 / HAND_SIZE)
_HAND_LOOK = thermometers(_MOST)
_WITH_LOOK = thermometers(_WITH_ROW)
_LEAD_LOOK = thermometers(_LEAD, above=15)  # by the lead plus 16

# What the field ``last_turn`` says of an action but for the cards taken: _TAKEN values from
# _TAKEN * action on. Those of NO_ACTION, which is 1023 in ten bits, are 0.
_turns = np.zeros((1024, _TAKEN), np.float32)
_turns[np.arange(TAP), ROW_OF] = 1.0
_turns[TAP, NUM_ROWS] = 1.0
_turns[:TAP, _LAID:] = LAID_DOWN / NUM_ROWS
_TURN_LOOK = _turns.reshape(-1)


@jit
def observe(states, i, player, out):
    """Write the player's observation; seats are relative to him (0), then clockwise."""
    s = states[i]
    me = int(player) & 7
    for k in range(_SIZE):
        out[k] = 0.0
    observe_table(s, me, out)
    observe_hand(s, me, _HAND, out)
    observe_with_row(s, me, out)
    if s.memory == MEMORY_PERFECT:
        observe_lead(s, me, out)
        observe_least(s, me, _LEAST, _MOST_SETS, out)
        observe_unknown(s, me, out)
    observe_unseen(s, me, out)


@part
def observe_table(s, player, out):
    """What lies open on the table, and the course of the game."""
    n = int(s.num_players)
    is_over = s.terminated | s.truncated
    out[_TO_MOVE + relative_seat(int(s.current_player), player, n)] = not is_over
    out[_STARTER + relative_seat(int(s.starter), player, n)] = 1.0
    tapper = int(s.tapper)
    out[_TAPPER + relative_seat(max(tapper, 0), player, n)] = tapper >= 0
    out[_TAPPER + MAX_PLAYERS] = tapper < 0
    out[_TWO_LEFT] = players_left(s) == 2
    out[_EXPERT] = s.expert
    for row in range(NUM_ROWS):
        for animal in range(NUM_ANIMALS):
            out[_ROWS + NUM_ANIMALS * row + animal] = _ROW_LOOK[int(s.row[row, animal]) & 15]
    for q in range(n):
        seat = relative_seat(q, player, n)
        out[_SEATS + seat] = 1.0
        out[_IN_GAME + seat] = s.lives[q] > 0
        out[_LIVES + seat] = _LIVES_LOOK[int(s.lives[q]) & 15]
        out[_HAS_EXCHANGED + seat] = s.has_exchanged[q]
        observe_last_turn(s, q, _LAST_TURN + seat * _LAST_TURN_SIZE, out)


@part
def observe_last_turn(s, q, first, out):
    """The last turn of player q."""
    look = _TAKEN * (int(s.last_action[q]) & 1023)
    for k in range(_TAKEN):
        out[first + k] = _TURN_LOOK[look + k]
    for animal in range(NUM_ANIMALS):
        out[first + _TAKEN + animal] = _ROW_LOOK[int(s.last_taken[q, animal]) & 15]


@part
def observe_hand(s, q, first, out):
    """The hand of player q, written to the field that begins at ``first``."""
    for animal in range(NUM_ANIMALS):
        look = _MOST * (int(s.hand[q, animal]) & 31)
        for c in range(_MOST):
            out[first + _MOST * animal + c] = _HAND_LOOK[look + c]


@part
def observe_with_row(s, player, out):
    """What the player's hand would be together with each row."""
    for row in range(NUM_ROWS):
        for animal in range(NUM_ANIMALS):
            first = _WITH + _WITH_ROW * (NUM_ANIMALS * row + animal)
            look = _WITH_ROW * (int(s.hand[player, animal]) + int(s.row[row, animal]) & 31)
            for c in range(_WITH_ROW):
                out[first + c] = _WITH_LOOK[look + c]


@part
def observe_lead(s, player, out):
    """How far the hand would be ahead, with each row, of what the others are known to hold."""
    for row in range(NUM_ROWS):
        for animal in range(NUM_ANIMALS):
            others = 0
            for k in range(1, MAX_PLAYERS):
                others = max(others, int(s.least[(player + k) % MAX_PLAYERS, animal]))
            first = _LEADS + _LEAD * (NUM_ANIMALS * row + animal)
            lead = int(s.hand[player, animal]) + int(s.row[row, animal]) - others
            look = _LEAD * (lead + 16 & 31)
            for c in range(_LEAD):
                out[first + c] = _LEAD_LOOK[look + c]


@part
def observe_unseen(s, player, out):
    """The cards that are not in the player's hand, not in the rows and not known to be held."""
    knows = s.memory == MEMORY_PERFECT
    for animal in range(NUM_ANIMALS):
        unseen = int(DECK_COUNTS[animal]) - int(s.hand[player, animal])
        for row in range(NUM_ROWS):
            unseen -= int(s.row[row, animal])
        for k in range(1, MAX_PLAYERS):
            unseen -= int(s.least[(player + k) % MAX_PLAYERS, animal]) * knows
        out[_UNSEEN + animal] = _COUNT_LOOK[unseen & 15]


@part
def observe_least(s, player, least, most, out):
    """What everybody knows of each hand, to the fields that begin at ``least`` and ``most``."""
    n = int(s.num_players)
    for q in range(n):
        seat = relative_seat(q, player, n)
        for animal in range(NUM_ANIMALS):
            out[least + NUM_ANIMALS * seat + animal] = _COUNT_LOOK[int(s.least[q, animal]) & 15]
        for k in range(NUM_SETS):
            out[most + NUM_SETS * seat + k] = _SET_LOOK[int(s.most[q, k]) & 15]


@part
def observe_unknown(s, player, out):
    """How many cards of each hand are not known to everybody."""
    n = int(s.num_players)
    for q in range(n):
        seat = relative_seat(q, player, n)
        out[_UNKNOWN + seat] = _UNKNOWN_LOOK[unknown_cards(s, q) & 15]


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    n = int(s.num_players)
    out[:] = 0.0
    observe_table(s, int(player), out)
    for q in range(n):
        seat = relative_seat(q, int(player), n)
        observe_hand(s, q, _STATE_HANDS + NUM_ANIMALS * _MOST * seat, out)
    for animal in range(NUM_ANIMALS):
        out[_STATE_LEFT_OVER + animal] = _COUNT_LOOK[int(s.left_over[animal]) & 15]
    observe_least(s, int(player), _STATE_LEAST, _STATE_MOST, out)
