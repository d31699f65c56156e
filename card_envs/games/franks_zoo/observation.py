"""What a player of Frank's Zoo can know, as one flat vector of float32 in [0, 1]."""

from __future__ import annotations

import numpy as np

from card_envs.engine.fields import Field, Fields
from card_envs.engine.jit import jit
from card_envs.engine.observing import fractions, part, relative_seat, thermometers
from card_envs.engine.outcome import MEMORY_PERFECT
from card_envs.games.franks_zoo.cards import (
    ELEPHANT,
    IS_BEATEN_BY,
    JOKER,
    KIND_BITS,
    LAY_ANIMAL,
    LAY_CARDS,
    LAY_SIZE,
    MOSQUITO,
    NO_LAY,
    NUM_ANIMALS,
    NUM_KINDS,
)
from card_envs.games.franks_zoo.knowledge import count_elsewhere, known_of
from card_envs.games.franks_zoo.state import (
    MAX_HAND,
    MAX_PLAYERS,
    NO_CARD,
    NOBODY,
    counts_animals,
    packed,
)

# A lay has at most five cards of a kind and seven in all.
_MOST = 5
_MOST_IN_SET = 7
# How many entries tell of a small hand.
_FEW = 6
# Points short of the target that are still told apart.
_POINTS = 32

# What lies open on the table: the same in a player's observation and in the full state.
_TABLE_FIELDS = (
    Field("seats", (MAX_PLAYERS,), "1 for each seat that exists"),
    Field("to_move", (MAX_PLAYERS,), "1 for the seat to move; all 0 when the game is over"),
    Field("phase", (3,), "one-hot: exchange of cards, a turn, an answer to a request"),
    Field("animals_count", (1,), "1 if lions and hedgehogs count in this hand (FZ-13, FZ-24)"),
    Field("needs", (MAX_PLAYERS,), "points that a seat lacks to the target, / 32, at most 1"),
    Field("rank", (MAX_PLAYERS,), "rank of a seat, 1 the best, / 7"),
    Field("partner", (MAX_PLAYERS, MAX_PLAYERS), "one-hot seat of each seat's partner"),
    Field("senior", (MAX_PLAYERS,), "1 for each seat that is the senior of a pair"),
    Field("hand_size", (MAX_PLAYERS,), "cards in a seat's hand, / 17"),
    Field("few_cards", (MAX_PLAYERS, _FEW), "entry c is 1 if a seat has more than c cards"),
    Field("place", (MAX_PLAYERS,), "finishing place of a seat, 1 the first, / 7; 0: still in"),
    Field("leads", (1,), "1 if no set lies in the trick"),
    Field("last_animal", (NUM_ANIMALS,), "one-hot animal of the last set"),
    Field("last_size", (_MOST_IN_SET,), "one-hot number of its cards, from 1"),
    Field("owner", (MAX_PLAYERS,), "one-hot seat that owns the last set"),
    Field("has_passed", (MAX_PLAYERS,), "1 for each seat that has passed since the last set"),
    Field("trick", (NUM_KINDS,), "cards of each kind in the trick, / 5"),
    Field("request", (NUM_KINDS,), "cards of each kind that were laid in a request, / 5"),
    Field("asker", (MAX_PLAYERS,), "one-hot seat whose request is open"),
)

FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "hand",
        (NUM_KINDS, _MOST),
        "entry c of a kind is 1 if the observer's hand has more than c cards of it",
    ),
    Field(
        "group",
        (NUM_KINDS, _MOST),
        "one-hot number of cards of a kind in the observer's hand, from 1",
    ),
    Field(
        "elsewhere",
        (NUM_KINDS, _MOST),
        "entry c of a kind is 1 if others hold, or have laid before them (FZ-18), more than c "
        "cards of it; with memory=none only the observer's hand, the trick and a request are known "
        "to be not among them",
    ),
    Field(
        "unbeatable",
        (NUM_ANIMALS, _MOST),
        "entry c of an animal is 1 if the observer has more than c cards of it and a set of c + 1 "
        "could not be beaten with the cards elsewhere, were they in one hand",
    ),
    Field("groups", (NUM_KINDS,), "one-hot number of animals in the observer's hand, from 0"),
    Field(
        "weak_groups",
        (NUM_KINDS,),
        "one-hot number of animals in his hand that could be beaten even as a set of all its cards",
    ),
    Field("gift", (NUM_KINDS,), "one-hot kind of the card that the observer has chosen to give"),
    Field("given", (NUM_KINDS,), "cards that he gave or laid before him, / 2; perfect memory"),
    Field("got", (NUM_KINDS,), "cards that his partner gave him, / 2; perfect memory"),
    Field("played", (NUM_KINDS,), "cards of each kind played in this hand, / 5; perfect memory"),
    Field(
        "captured",
        (MAX_PLAYERS, NUM_KINDS),
        "cards of each kind in the tricks that a seat has captured, / 5; perfect memory",
    ),
    Field(
        "known",
        (MAX_PLAYERS, NUM_KINDS),
        "cards of each kind that a seat's hand is known to hold, / 5: shown in a request, and the "
        "observer's gifts; of his own hand what others know; perfect memory",
    ),
)

STATE_FIELDS = Fields(
    *_TABLE_FIELDS,
    Field(
        "hands",
        (MAX_PLAYERS, NUM_KINDS, _MOST),
        "entry c of a kind is 1 if the seat's hand has more than c cards of it",
    ),
    Field("gift", (NUM_KINDS,), "one-hot kind of the card that the seat to move chose to give"),
    Field("given", (MAX_PLAYERS, NUM_KINDS), "cards that each seat gave or laid before it, / 2"),
    Field("played", (MAX_PLAYERS, NUM_KINDS), "cards that each seat has played, / 5"),
    Field("captured", (MAX_PLAYERS, NUM_KINDS), "as observed with perfect memory"),
    Field("known", (MAX_PLAYERS, NUM_KINDS), "what everybody knows of each hand, / 5"),
)

_SIZE = FIELDS.size
_SEATS = FIELDS.offset("seats")
_TO_MOVE = FIELDS.offset("to_move")
_PHASE = FIELDS.offset("phase")
_ANIMALS_COUNT = FIELDS.offset("animals_count")
_NEEDS = FIELDS.offset("needs")
_RANK = FIELDS.offset("rank")
_PARTNER = FIELDS.offset("partner")
_SENIOR = FIELDS.offset("senior")
_HAND_SIZE = FIELDS.offset("hand_size")
_FEW_CARDS = FIELDS.offset("few_cards")
_PLACE = FIELDS.offset("place")
_LEADS = FIELDS.offset("leads")
_LAST_ANIMAL = FIELDS.offset("last_animal")
_LAST_SIZE = FIELDS.offset("last_size")
_OWNER = FIELDS.offset("owner")
_HAS_PASSED = FIELDS.offset("has_passed")
_TRICK = FIELDS.offset("trick")
_REQUEST = FIELDS.offset("request")
_ASKER = FIELDS.offset("asker")
_HAND = FIELDS.offset("hand")
_GROUP = FIELDS.offset("group")
_ELSEWHERE = FIELDS.offset("elsewhere")
_UNBEATABLE = FIELDS.offset("unbeatable")
_GROUPS = FIELDS.offset("groups")
_WEAK_GROUPS = FIELDS.offset("weak_groups")
_GIFT = FIELDS.offset("gift")
_GIVEN = FIELDS.offset("given")
_GOT = FIELDS.offset("got")
_PLAYED = FIELDS.offset("played")
_CAPTURED = FIELDS.offset("captured")
_KNOWN = FIELDS.offset("known")
_STATE_HANDS = STATE_FIELDS.offset("hands")
_STATE_GIFT = STATE_FIELDS.offset("gift")
_STATE_GIVEN = STATE_FIELDS.offset("given")
_STATE_PLAYED = STATE_FIELDS.offset("played")
_STATE_CAPTURED = STATE_FIELDS.offset("captured")
_STATE_KNOWN = STATE_FIELDS.offset("known")

# What is written for a number of cards, points, and so on.
_SEAT_LOOK = fractions(1.0 / MAX_PLAYERS)
_CARDS_LOOK = fractions(1.0 / _MOST)
_GIFT_LOOK = fractions(1.0 / 2.0)
_HAND_SIZE_LOOK = (np.arange(32) / MAX_HAND).astype(np.float32)
_NEEDS_LOOK = (np.arange(_POINTS + 1) / _POINTS).astype(np.float32)
_FEW_LOOK = thermometers(_FEW)

# For a field of _MOST entries for each kind, entry by entry: the bits of the kind in packed counts,
# and what they are if there are c cards of it (at entry c) and if there are c + 1.
_kinds, _entries = np.divmod(np.arange(NUM_KINDS * _MOST), _MOST)
_BITS = 15 << KIND_BITS * _kinds
_LEVEL = _entries << KIND_BITS * _kinds
_NEXT_LEVEL = _entries + 1 << KIND_BITS * _kinds

# Where the animals that beat an animal are in packed counts: at most six, else where nothing is.
_beaters = np.full((6, NUM_ANIMALS), KIND_BITS * NUM_KINDS)
for _animal in range(NUM_ANIMALS):
    _which = np.flatnonzero(IS_BEATEN_BY[_animal])
    _beaters[: len(_which), _animal] = KIND_BITS * _which
_BEATERS = _beaters


@jit
def observe(states, i, player, out):
    """Write the player's observation; seats are relative to him (0), then clockwise."""
    s = states[i]
    me = int(player) & 7
    # All but the fields from _HAND to _UNBEATABLE, which are written in full.
    for k in range(_HAND):
        out[k] = 0.0
    for k in range(_GROUPS, _SIZE):
        out[k] = 0.0
    observe_table(s, me, out)
    hand = packed(s.hand, me)
    elsewhere = count_elsewhere(s, me, hand, s.memory == MEMORY_PERFECT)
    observe_counts(hand, _HAND, out)
    observe_group(hand, out)
    observe_counts(elsewhere, _ELSEWHERE, out)
    observe_strength(hand, elsewhere, out)
    if s.current_player == me:
        observe_gift(s, _GIFT, out)
    if s.memory == MEMORY_PERFECT:
        observe_memory(s, me, out)


@part
def observe_table(s, player, out):
    """What lies open on the table, and the course of the game."""
    n = int(s.num_players)
    is_over = s.terminated | s.truncated
    out[_TO_MOVE + relative_seat(int(s.current_player), player, n)] = not is_over
    out[_PHASE + (int(s.phase) & 3)] = 1.0
    out[_ANIMALS_COUNT] = counts_animals(s)
    last_set = int(s.last_set) & 255
    out[_LEADS] = last_set == NO_LAY
    if last_set != NO_LAY:
        out[_LAST_ANIMAL + (int(LAY_ANIMAL[last_set]) & 15)] = 1.0
        out[_LAST_SIZE + (int(LAY_SIZE[last_set]) - 1 & 7)] = 1.0
        out[_OWNER + relative_seat(int(s.owner), player, n)] = 1.0
        for kind in range(NUM_KINDS):
            out[_TRICK + kind] = _CARDS_LOOK[int(s.trick[kind]) & 15]
    if s.request != NO_LAY:
        out[_ASKER + relative_seat(int(s.asker), player, n)] = 1.0
        for kind in range(NUM_KINDS):
            out[_REQUEST + kind] = _CARDS_LOOK[int(LAY_CARDS[s.request, kind]) & 15]
    for q in range(n):
        seat = relative_seat(q, player, n)
        out[_SEATS + seat] = 1.0
        needs = int(s.target_score) - int(s.totals[q])
        out[_NEEDS + seat] = _NEEDS_LOOK[min(max(needs, 0), _POINTS)]
        out[_RANK + seat] = _SEAT_LOOK[int(s.rank[q]) + 1 & 15]
        out[_PLACE + seat] = _SEAT_LOOK[int(s.place[q]) & 15]
        out[_HAS_PASSED + seat] = s.has_passed[q]
        out[_SENIOR + seat] = s.is_senior[q]
        size = int(s.hand_size[q]) & 31
        out[_HAND_SIZE + seat] = _HAND_SIZE_LOOK[size]
        for c in range(_FEW):
            out[_FEW_CARDS + _FEW * seat + c] = _FEW_LOOK[_FEW * size + c]
        partner = int(s.partner[q])
        if partner != NOBODY:
            out[_PARTNER + MAX_PLAYERS * seat + relative_seat(partner, player, n)] = 1.0


@part
def observe_counts(counts, first, out):
    """Packed counts of all kinds as thermometers, to the field that begins at ``first``."""
    for k in range(NUM_KINDS * _MOST):
        out[first + k] = 1.0 if (counts & _BITS[k]) > _LEVEL[k] else 0.0


@part
def observe_group(hand, out):
    """The packed counts of the player's hand, one-hot."""
    for k in range(NUM_KINDS * _MOST):
        out[_GROUP + k] = 1.0 if (hand & _BITS[k]) == _NEXT_LEVEL[k] else 0.0


@part
def observe_strength(hand, elsewhere, out):
    """Which of the player's sets cannot be beaten (FZ-8) with packed cards in one hand."""
    joker = elsewhere >> KIND_BITS * JOKER & 1
    has_mosquito = (elsewhere >> KIND_BITS * MOSQUITO & 7) > 0
    has_elephant = (elsewhere >> KIND_BITS * ELEPHANT & 7) > 0
    # FZ-6: where there is an elephant, a mosquito can be one more.
    elsewhere += int(has_mosquito & has_elephant) << KIND_BITS * ELEPHANT
    beatable = 0  # packed: the most cards of an animal that as many others beat, or one more of it
    groups = 0
    weak_groups = 0
    for animal in range(NUM_ANIMALS):
        same = elsewhere >> KIND_BITS * animal & 15
        others = 0
        for k in range(6):
            others = max(others, elsewhere >> _BEATERS[k, animal] & 15)
        most = max(others + joker * (others > 0), same + joker * (same > 0) - 1, 0)
        beatable |= most << KIND_BITS * animal
        count = hand >> KIND_BITS * animal & 15
        groups += count > 0
        weak_groups += (count > 0) & (count <= most)
    for k in range(NUM_ANIMALS * _MOST):
        unbeatable = ((hand & _BITS[k]) > _LEVEL[k]) & ((beatable & _BITS[k]) <= _LEVEL[k])
        out[_UNBEATABLE + k] = 1.0 if unbeatable else 0.0
    out[_GROUPS + groups] = 1.0
    out[_WEAK_GROUPS + weak_groups] = 1.0


@part
def observe_gift(s, first, out):
    """The card that the player to move has chosen to give."""
    gift = int(s.gift)
    if gift != NO_CARD:
        out[first + (gift & 15)] = 1.0


@part
def observe_memory(s, player, out):
    """What the player remembers of this hand."""
    n = int(s.num_players)
    partner = int(s.partner[player])
    for kind in range(NUM_KINDS):
        out[_GIVEN + kind] = _GIFT_LOOK[int(s.given[player, kind]) & 3]
        out[_PLAYED + kind] = _CARDS_LOOK[int(s.played[kind]) & 7]
    if partner != NOBODY:
        for kind in range(NUM_KINDS):
            out[_GOT + kind] = _GIFT_LOOK[int(s.given[partner, kind]) & 3]
    for q in range(n):
        seat = relative_seat(q, player, n)
        observe_cards(s.captured, q, _CAPTURED + NUM_KINDS * seat, out)
        observe_cards(s.known, q, _KNOWN + NUM_KINDS * seat, out)
    if partner != NOBODY:
        first = _KNOWN + NUM_KINDS * relative_seat(partner, player, n)
        for kind in range(NUM_KINDS):
            out[first + kind] = _CARDS_LOOK[known_of(s, player, partner, kind) & 7]


@part
def observe_cards(counts, q, first, out):
    """Cards of each kind as fractions of five."""
    for kind in range(NUM_KINDS):
        out[first + kind] = _CARDS_LOOK[int(counts[q, kind]) & 7]


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    n = int(s.num_players)
    out[:] = 0.0
    observe_table(s, int(player), out)
    observe_gift(s, _STATE_GIFT, out)
    for q in range(n):
        seat = relative_seat(q, int(player), n)
        observe_counts(packed(s.hand, q), _STATE_HANDS + NUM_KINDS * _MOST * seat, out)
        for kind in range(NUM_KINDS):
            given = int(s.given[q, kind]) & 3
            out[_STATE_GIVEN + NUM_KINDS * seat + kind] = _GIFT_LOOK[given]
        observe_cards(s.played_by, q, _STATE_PLAYED + NUM_KINDS * seat, out)
        observe_cards(s.captured, q, _STATE_CAPTURED + NUM_KINDS * seat, out)
        observe_cards(s.known, q, _STATE_KNOWN + NUM_KINDS * seat, out)
