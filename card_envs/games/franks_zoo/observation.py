"""What a player of Frank's Zoo can know, as one flat vector of float32 in [0, 1]."""

import numpy as np

from card_envs.contract import (
    MEMORY_PERFECT,
    PACKED_BITS,
    Field,
    Fields,
    clear_fields,
    count_of,
    entry,
    index,
    inline,
    jit,
    relative_seat,
    share,
    table_of,
    thermometers,
    write_counts,
    write_row,
)
from card_envs.games.franks_zoo.cards import (
    ELEPHANT,
    IS_BEATEN_BY,
    JOKER,
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
# Where `needs` saturates, and then the fields of totals that are further from the target.
_POINTS = 32
_MORE_POINTS = 64

# What lies open on the table: the same in a player's observation and in the full state.
_TABLE_FIELDS = (
    Field("seats", (MAX_PLAYERS,), "1 for each seat that exists"),
    Field("to_move", (MAX_PLAYERS,), "1 for the seat to move; all 0 when the game is over"),
    Field("phase", (3,), "one-hot: exchange of cards, a turn, an answer to a request"),
    Field("animals_count", (1,), "1 if lions and hedgehogs count in this hand (FZ-13, FZ-24)"),
    Field(
        "needs",
        (MAX_PLAYERS,),
        f"points that a seat lacks to the target, at most {_POINTS}",
        scale=_POINTS,
    ),
    Field(
        "needs_more",
        (MAX_PLAYERS,),
        f"points that a seat lacks beyond those {_POINTS}, at most {_MORE_POINTS}",
        scale=_MORE_POINTS,
    ),
    Field(
        "beyond_target",
        (MAX_PLAYERS,),
        f"points of a seat above the target, at most {_MORE_POINTS}",
        scale=_MORE_POINTS,
    ),
    Field("rank", (MAX_PLAYERS,), "rank of a seat, 1 the best", scale=MAX_PLAYERS),
    Field("partner", (MAX_PLAYERS, MAX_PLAYERS), "one-hot seat of each seat's partner"),
    Field("senior", (MAX_PLAYERS,), "1 for each seat that is the senior of a pair"),
    Field("hand_size", (MAX_PLAYERS,), "cards in a seat's hand", scale=MAX_HAND),
    Field("few_cards", (MAX_PLAYERS, _FEW), "entry c is 1 if a seat has more than c cards"),
    Field(
        "place",
        (MAX_PLAYERS,),
        "finishing place of a seat, 1 the first; 0: still in",
        scale=MAX_PLAYERS,
    ),
    Field("leads", (1,), "1 if no set lies in the trick"),
    Field("last_animal", (NUM_ANIMALS,), "one-hot animal of the last set"),
    Field("last_size", (_MOST_IN_SET,), "one-hot number of its cards, from 1"),
    Field("owner", (MAX_PLAYERS,), "one-hot seat that owns the last set"),
    Field("has_passed", (MAX_PLAYERS,), "1 for each seat that has passed since the last set"),
    Field("trick", (NUM_KINDS,), "cards of each kind in the trick", scale=_MOST),
    Field("request", (NUM_KINDS,), "cards of each kind that were laid in a request", scale=_MOST),
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
        "entry c of a kind is 1 if others hold, or have laid down (FZ-18), more than c cards of "
        'it; with memory="none" only the observer\'s hand, the trick and a request are known to be '
        "not among them",
    ),
    Field(
        "unbeatable",
        (NUM_ANIMALS, _MOST),
        "entry c of an animal is 1 if the observer has more than c cards of it and a set of c + 1 "
        "could not be beaten with the cards elsewhere, were they in one hand",
        derived=True,
    ),
    Field("groups", (NUM_KINDS,), "one-hot number of animals in the observer's hand, from 0"),
    Field(
        "weak_groups",
        (NUM_KINDS,),
        "one-hot number of animals in the observer's hand that could be beaten even as a set of "
        "all its cards",
        derived=True,
    ),
    Field("gift", (NUM_KINDS,), "one-hot kind of the card that the observer has chosen to give"),
    Field(
        "given",
        (NUM_KINDS,),
        "cards that the observer gave or laid down",
        scale=2,
        remembered=True,
    ),
    Field(
        "got",
        (NUM_KINDS,),
        "cards that the observer's partner gave them",
        scale=2,
        remembered=True,
    ),
    Field(
        "played",
        (NUM_KINDS,),
        "cards of each kind played in this hand",
        scale=_MOST,
        remembered=True,
    ),
    Field(
        "captured",
        (MAX_PLAYERS, NUM_KINDS),
        "cards of each kind in the tricks that a seat has captured",
        scale=_MOST,
        remembered=True,
    ),
    Field(
        "known",
        (MAX_PLAYERS, NUM_KINDS),
        "cards of each kind that a seat's hand is known to hold: shown in a request, the "
        "observer's gifts, the joker of a leader who had to pass (FZ-7), all once the game is "
        "over; of the observer's own hand what everybody knows",
        scale=_MOST,
        remembered=True,
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
    Field("given", (MAX_PLAYERS, NUM_KINDS), "cards that each seat gave or laid down", scale=2),
    Field("played", (MAX_PLAYERS, NUM_KINDS), "cards that each seat has played", scale=_MOST),
    Field(
        "captured",
        (MAX_PLAYERS, NUM_KINDS),
        "cards of each kind in the tricks that a seat has captured",
        scale=_MOST,
    ),
    Field("known", (MAX_PLAYERS, NUM_KINDS), "what everybody knows of each hand", scale=_MOST),
)

AT = FIELDS.offsets()
STATE_AT = STATE_FIELDS.offsets()
_SIZE = FIELDS.size

# What is written for a number of cards.
_FEW_LOOK = thermometers(_FEW)

# Three values for each number of points that a seat lacks, from -_MORE_POINTS on: those of the
# fields `needs`, `needs_more` and `beyond_target`.
_needs = np.arange(-_MORE_POINTS, _POINTS + _MORE_POINTS + 1)
_looks = [np.clip(_needs, 0, _POINTS), np.maximum(_needs - _POINTS, 0), np.maximum(-_needs, 0)]
_NEEDS_LOOK = table_of(np.stack(_looks, axis=1), (_POINTS, _MORE_POINTS, _MORE_POINTS))

# For a field of _MOST entries for each kind, entry by entry: the bits of the kind in packed counts,
# and what they are if there are c cards of it (at entry c) and if there are c + 1.
_kinds, _entries = np.divmod(np.arange(NUM_KINDS * _MOST), _MOST)
_BITS = 15 << PACKED_BITS * _kinds
_LEVEL = _entries << PACKED_BITS * _kinds
_NEXT_LEVEL = _entries + 1 << PACKED_BITS * _kinds

# In packed counts: 1 for each animal, and the place of the last one.
_EACH_ANIMAL = sum(1 << PACKED_BITS * animal for animal in range(NUM_ANIMALS))
_LAST_ANIMAL = np.uint64(PACKED_BITS * (NUM_ANIMALS - 1))

# Where the animals that beat an animal are in packed counts: at most six, else where nothing is.
_beaters = np.full((6, NUM_ANIMALS), PACKED_BITS * NUM_KINDS)
for _animal in range(NUM_ANIMALS):
    _which = np.flatnonzero(IS_BEATEN_BY[_animal])
    _beaters[: len(_which), _animal] = PACKED_BITS * _which
_BEATERS = _beaters


@jit
def observe(states, i, player, memory, features, out):
    """Write the player's observation; seats are relative to the player (0), then clockwise."""
    s = states[i]
    me = int(player)
    # All but the fields from ``hand`` to ``unbeatable``, which are written in full.
    clear_fields(out, 0, AT.hand)
    clear_fields(out, AT.groups, _SIZE)
    observe_table(s, me, out)
    hand = packed(s.hand, index(me))
    elsewhere = count_elsewhere(s, me, hand, memory == MEMORY_PERFECT)
    observe_counts(hand, AT.hand, out)
    observe_group(hand, out)
    observe_counts(elsewhere, AT.elsewhere, out)
    out[index(AT.groups + count_animals(hand))] = 1.0
    if features:
        observe_strength(hand, elsewhere, out)
    else:
        clear_fields(out, AT.unbeatable, AT.groups)
    if s.current_player == me:
        observe_gift(s, AT.gift, out)
    if memory == MEMORY_PERFECT:
        observe_memory(s, me, out)


@inline
def observe_table(s, player, out):
    """What lies open on the table, and the course of the game."""
    n = int(s.num_players)
    is_over = s.terminated | s.truncated
    out[index(AT.to_move + relative_seat(int(s.current_player), player, n))] = not is_over
    out[index(AT.phase + int(s.phase))] = 1.0
    out[AT.animals_count] = counts_animals(s, s.hand_number)
    last_set = index(s.last_set)
    out[AT.leads] = last_set == NO_LAY
    if last_set != NO_LAY:
        out[index(AT.last_animal + int(LAY_ANIMAL[last_set]))] = 1.0
        out[index(AT.last_size + int(LAY_SIZE[last_set]) - 1)] = 1.0
        out[index(AT.owner + relative_seat(int(s.owner), player, n))] = 1.0
        write_counts(out, AT.trick, s.trick, _MOST)
    request = index(s.request)
    if request != NO_LAY:
        out[index(AT.asker + relative_seat(int(s.asker), player, n))] = 1.0
        write_counts(out, AT.request, LAY_CARDS[request], _MOST)
    for q in range(n):
        seat = relative_seat(q, player, n)
        out[index(AT.seats + seat)] = 1.0
        needs = int(s.target_score) - int(s.totals[q])
        look = 3 * (min(max(needs, -_MORE_POINTS), _POINTS + _MORE_POINTS) + _MORE_POINTS)
        for k in range(3):  # the three fields follow each other
            out[index(AT.needs + MAX_PLAYERS * k + seat)] = entry(out, _NEEDS_LOOK, look + k)
        out[index(AT.rank + seat)] = share(out, int(s.rank[q]) + 1, MAX_PLAYERS)
        out[index(AT.place + seat)] = share(out, s.place[q], MAX_PLAYERS)
        out[index(AT.has_passed + seat)] = s.has_passed[q]
        out[index(AT.senior + seat)] = s.is_senior[q]
        size = int(s.hand_size[q])
        out[index(AT.hand_size + seat)] = share(out, size, MAX_HAND)
        write_row(out, AT.few_cards + _FEW * seat, _FEW_LOOK, size, _FEW)
        partner = int(s.partner[q])
        if partner != NOBODY:
            partner_seat = relative_seat(partner, player, n)
            out[index(AT.partner + MAX_PLAYERS * seat + partner_seat)] = 1.0


@inline
def observe_counts(counts, first, out):
    """Packed counts of all kinds as thermometers, to the field that begins at ``first``."""
    for k in range(NUM_KINDS * _MOST):
        out[index(first + k)] = 1.0 if (counts & _BITS[k]) > _LEVEL[k] else 0.0


@inline
def observe_group(hand, out):
    """The packed counts of the player's hand, one-hot."""
    for k in range(NUM_KINDS * _MOST):
        out[AT.group + k] = 1.0 if (hand & _BITS[k]) == _NEXT_LEVEL[k] else 0.0


@jit
def count_animals(hand):
    """The number of animals in a packed hand."""
    # One bit for each animal that is held (of each there are at most seven cards). The product's
    # twelfth group of four bits is their sum; signed products must not overflow.
    held = (hand | hand >> 1 | hand >> 2) & _EACH_ANIMAL
    return np.int64(np.uint64(held) * np.uint64(_EACH_ANIMAL) >> _LAST_ANIMAL) & 15


@inline
def observe_strength(hand, elsewhere, out):
    """Which of the player's sets cannot be beaten (FZ-8) with packed cards in one hand."""
    joker = elsewhere >> PACKED_BITS * JOKER & 1
    has_mosquito = count_of(elsewhere, MOSQUITO) > 0
    has_elephant = count_of(elsewhere, ELEPHANT) > 0
    # FZ-6: where there is an elephant, a mosquito can be one more.
    elsewhere += int(has_mosquito & has_elephant) << PACKED_BITS * ELEPHANT
    beatable = 0  # packed: the most cards of an animal that as many others beat, or one more of it
    weak_groups = 0
    for animal in range(NUM_ANIMALS):
        same = count_of(elsewhere, animal)
        others = 0
        for k in range(6):
            others = max(others, elsewhere >> _BEATERS[k, animal] & 15)
        most = max(others + joker * (others > 0), same + joker * (same > 0) - 1, 0)
        beatable |= most << PACKED_BITS * animal
        count = count_of(hand, animal)
        weak_groups += (count > 0) & (count <= most)
    for k in range(NUM_ANIMALS * _MOST):
        unbeatable = ((hand & _BITS[k]) > _LEVEL[k]) & ((beatable & _BITS[k]) <= _LEVEL[k])
        out[AT.unbeatable + k] = 1.0 if unbeatable else 0.0
    out[index(AT.weak_groups + weak_groups)] = 1.0


@inline
def observe_gift(s, first, out):
    """The card that the player to move has chosen to give."""
    gift = int(s.gift)
    if gift != NO_CARD:
        out[index(first + gift)] = 1.0


@inline
def observe_memory(s, player, out):
    """What the player remembers of this hand."""
    n = int(s.num_players)
    me = index(player)
    partner = int(s.partner[me])
    write_counts(out, AT.given, s.given[me], 2)
    write_counts(out, AT.played, s.played, _MOST)
    for q in range(n):
        seat = relative_seat(q, player, n)
        write_counts(out, AT.captured + NUM_KINDS * seat, s.captured[q], _MOST)
        known = 0
        for kind in range(NUM_KINDS):
            known |= s.known[q, kind]
        if known != 0:  # of few hands anything is
            write_counts(out, AT.known + NUM_KINDS * seat, s.known[q], _MOST)
    if partner != NOBODY:
        write_counts(out, AT.got, s.given[index(partner)], 2)
        first = AT.known + NUM_KINDS * relative_seat(partner, player, n)
        for kind in range(NUM_KINDS):
            out[index(first + kind)] = share(out, known_of(s, player, partner, kind), _MOST)


@jit
def write_state(states, i, player, out):
    """The true full state, seats relative to a player: for centralised critics, not for players."""
    s = states[i]
    n = int(s.num_players)
    out[:] = 0.0
    observe_table(s, int(player), out)
    observe_gift(s, STATE_AT.gift, out)
    for q in range(n):
        seat = relative_seat(q, int(player), n)
        observe_counts(packed(s.hand, q), STATE_AT.hands + NUM_KINDS * _MOST * seat, out)
        write_counts(out, STATE_AT.given + NUM_KINDS * seat, s.given[q], 2)
        write_counts(out, STATE_AT.played + NUM_KINDS * seat, s.played_by[q], _MOST)
        write_counts(out, STATE_AT.captured + NUM_KINDS * seat, s.captured[q], _MOST)
        write_counts(out, STATE_AT.known + NUM_KINDS * seat, s.known[q], _MOST)
