"""A sensible scripted player of Frank's Zoo, who uses only what their seat knows.

They see their hand as groups of equal animals. What a group costs is how hard it is to get rid of:
a set that nobody is likely to beat costs little, for it keeps the lead, and so do animals that beat
many others; all others cost a lead. The most expensive group is nearly free: it goes out last, when
nobody needs to be beaten any more. Of all that they may do they do what leaves the cheapest hand,
counting what it is worth to win the trick.

A kernel allocates nothing, so what is worked out for a decision is held in tuples: rows of one
value for each size of a set, from 1 to 7.
"""

from __future__ import annotations

import numpy as np

from card_envs.engine.jit import inline, jit
from card_envs.games.franks_zoo.cards import (
    HEDGEHOG,
    IS_BEATEN_BY,
    JOKER,
    JOKER_ALONE,
    KIND_BITS,
    LAY_ANIMAL,
    LAY_SIZE,
    LAYS_TO_ASK,
    LAYS_TO_PLAY,
    LION,
    MAY_PLAY,
    NO_LAY,
    NUM_ANIMALS,
    NUM_KINDS,
    NUM_LAYS,
    NUM_SETS,
    NUM_TO_ASK,
    NUM_TO_PLAY,
    PACKED,
    TOGETHER,
)
from card_envs.games.franks_zoo.knowledge import count_elsewhere
from card_envs.games.franks_zoo.rules import holds, may_ask
from card_envs.games.franks_zoo.state import (
    ANSWER,
    ASK,
    EXCHANGE,
    GIVE,
    NO_CARD,
    PASS,
    TURN,
    counts_animals,
    packed,
)

# All in units of the lead that it takes to get rid of a group. How much less a group costs if
# nobody can beat it, and if its animal beats four others (the most there are).
UNBEATEN_GAIN = 0.8
FOLLOW_GAIN = 0.3
# How much of its cost the most expensive group is spared.
LAST_GROUP = 0.9
# Winning the trick.
LEAD_GAIN = 0.5
# The joker in the hand; a hand of nothing else, which cannot be played; no hand any more.
JOKER_GAIN = 0.8
STUCK_COST = 2.0
OUT_GAIN = 1.0
# A lion in the trick; the first hedgehog (FZ-22, FZ-23).
LION_GAIN = 0.15
HEDGEHOG_GAIN = 0.5
# Leaving the trick to the partner; getting rid of cards by asking, at least; the partner's cards
# that go out with one's own, and their winning the trick.
PARTNER_OWNS_GAIN = 0.8
LEAST_ASK_GAIN = 0.2
HELP_GAIN = 0.3
HELP_WINS_GAIN = 0.2

_ROW = 7  # sets have one to seven cards
_ONES = (1.0,) * _ROW
# An argument that is taken from an array is no literal: for each of those Numba would compile the
# function again.
_ANIMALS = np.arange(NUM_ANIMALS)

#: float64 (12,): the share of an animal in the most animals that one beats.
BEATS_SHARE = IS_BEATEN_BY.sum(axis=0) / 4.0


@jit
def heuristic(states, i):
    """An action for the player to move."""
    s = states[i]
    player = int(s.current_player)
    hand = packed(s.hand, player)
    if s.phase == TURN and s.last_set != NO_LAY and must_pass(s, player, hand):
        return PASS
    wins = chances_to_win(s, player, count_elsewhere(s, player, hand, True))
    if s.phase == EXCHANGE:
        return GIVE + choose_gift(s, player, hand, wins)
    if s.phase == ANSWER:
        return choose_answer(s, hand, wins)
    action = choose_set(s, player, hand, wins)
    if action == PASS and s.last_set != NO_LAY and may_ask(s, player):
        return choose_request(s, hand, wins)
    return action


@jit
def must_pass(s, player, hand):
    """Whether a player who follows can do nothing else: half of all decisions."""
    last_set = int(s.last_set)
    for k in range(NUM_TO_PLAY[last_set]):
        if holds(hand, int(LAYS_TO_PLAY[last_set, k])):
            return False
    if may_ask(s, player):
        for k in range(NUM_TO_ASK[last_set]):
            if holds(hand, int(LAYS_TO_ASK[last_set, k])):
                return False
    return True


# ---------------------------------------------------------------------------------------------
# Chances
# ---------------------------------------------------------------------------------------------


@jit
def chances_to_win(s, player, elsewhere):
    """The chances that no opponent can beat a set (FZ-8): the rows of all animals in one tuple."""
    total = 0
    for kind in range(NUM_KINDS):
        total += elsewhere >> KIND_BITS * kind & 7
    nobody = (
        chances_of_few(s, player, elsewhere, total, _ANIMALS[0]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[1]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[2]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[3]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[4]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[5]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[6]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[7]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[8]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[9]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[10]),
        chances_of_few(s, player, elsewhere, total, _ANIMALS[11]),
    )
    return (
        unbeaten(_ANIMALS[0], nobody)
        + unbeaten(_ANIMALS[1], nobody)
        + unbeaten(_ANIMALS[2], nobody)
        + unbeaten(_ANIMALS[3], nobody)
        + unbeaten(_ANIMALS[4], nobody)
        + unbeaten(_ANIMALS[5], nobody)
        + unbeaten(_ANIMALS[6], nobody)
        + unbeaten(_ANIMALS[7], nobody)
        + unbeaten(_ANIMALS[8], nobody)
        + unbeaten(_ANIMALS[9], nobody)
        + unbeaten(_ANIMALS[10], nobody)
        + unbeaten(_ANIMALS[11], nobody)
    )


@jit
def chances_of_few(s, player, elsewhere, total, animal):
    """A row of the chances that each opponent holds fewer cards of the animal.

    As if the cards that nobody has located were dealt at random; jokers are not considered. Of a
    hand that must hold some of them, any number is expected.
    """
    row = _ONES
    if elsewhere >> KIND_BITS * animal & 7 == 0:
        return row
    for q in range(s.num_players):
        if q != player and q != s.partner[player]:
            known = int(s.known[q, animal])
            hidden = (elsewhere >> KIND_BITS * animal & 7) - known
            draws = int(s.hand_size[q]) - known
            chance = 1.0  # that none of the hidden ones is in the hand; then one, two, ...
            for k in range(draws):
                chance *= max(0, total - hidden - k) / max(1, total - k)
            fewer = 0.0
            few = _ONES
            for k in range(-known, _ROW - known):
                if k >= 0:
                    fewer += chance
                    rest = total - hidden - draws + k + 1
                    if k < hidden and k < draws and rest > 0:
                        chance *= (hidden - k) * (draws - k) / ((k + 1) * rest)
                    else:
                        chance = 0.0
                few = few[1:] + (fewer,)  # noqa: RUF005  # Numba cannot unpack it here
            row = times(row, few)
    return row


@jit
def unbeaten(animal, nobody):
    """A row of the chances that no opponent can beat sets of the animal: with one card more of it,
    or with the same number of an animal that beats it."""
    row = nobody[animal]
    row = row[1:] + row[-1:]
    for other in range(NUM_ANIMALS):
        if IS_BEATEN_BY[animal, other]:
            row = times(row, nobody[other])
    return row


@inline
def times(row, other):
    """Two rows, multiplied."""
    return (
        row[0] * other[0],
        row[1] * other[1],
        row[2] * other[2],
        row[3] * other[3],
        row[4] * other[4],
        row[5] * other[5],
        row[6] * other[6],
    )


# ---------------------------------------------------------------------------------------------
# What a hand is worth, and choices
# ---------------------------------------------------------------------------------------------


@jit
def value_of(hand, wins):
    """What a packed hand is worth: the less, the more it costs to get rid of it."""
    total = 0.0
    most = 0.0
    for animal in range(NUM_ANIMALS):
        size = hand >> KIND_BITS * animal & 7
        if size > 0:
            group = (
                1.0
                - UNBEATEN_GAIN * wins[_ROW * animal + size - 1]
                - FOLLOW_GAIN * BEATS_SHARE[animal]
            )
            total -= group
            most = max(most, group)
    total += LAST_GROUP * most
    if hand == 0:
        total += OUT_GAIN
    elif hand == PACKED[JOKER_ALONE]:
        total -= STUCK_COST
    elif hand >> KIND_BITS * JOKER & 7 > 0:
        total += JOKER_GAIN
    return total


@inline
def win_chance(lay, wins):
    """The chance that no opponent can beat a set."""
    return wins[_ROW * int(LAY_ANIMAL[lay]) + int(LAY_SIZE[lay]) - 1]


@jit
def choose_gift(s, player, hand, wins):
    """FZ-18: the cards without which the hand is worth most; for a player alone, a hedgehog."""
    if s.gift != NO_CARD:
        hand -= 1 << KIND_BITS * int(s.gift)
    best, best_score = NO_CARD, -np.inf
    for kind in range(NUM_KINDS):
        if hand >> KIND_BITS * kind & 7 > 0:
            left = hand - (1 << KIND_BITS * kind)
            score = value_of(left, wins)
            if s.gift == NO_CARD:
                # Two cards are one pair in either order; only a hedgehog matters as the first.
                second = 0 if kind == HEDGEHOG else kind
                score = best_value_without_one(left, second, wins)
            if player == s.alone and kind == HEDGEHOG and s.gift != HEDGEHOG:
                score += HEDGEHOG_GAIN
            if score > best_score:
                best, best_score = kind, score
    return best


@jit
def best_value_without_one(hand, first, wins):
    """What the hand is worth without the best card to give of those kinds from ``first`` on."""
    best = -np.inf
    for kind in range(first, NUM_KINDS):
        if hand >> KIND_BITS * kind & 7 > 0:
            best = max(best, value_of(hand - (1 << KIND_BITS * kind), wins))
    return best


@jit
def choose_set(s, player, hand, wins):
    """The best set to play, or to pass (FZ-7, FZ-8)."""
    win_gain = LEAD_GAIN
    if counts_animals(s):
        win_gain += LION_GAIN * s.trick[LION]
        if s.trick[HEDGEHOG] > 0 and s.captured[player, HEDGEHOG] == 0:
            win_gain += HEDGEHOG_GAIN
    leads = s.last_set == NO_LAY
    best, best_score = PASS, -np.inf
    if not leads:
        best_score = value_of(hand, wins)
        if s.owner == s.partner[player]:
            best_score += PARTNER_OWNS_GAIN * win_chance(s.last_set, wins)
    for k in range(NUM_SETS if leads else NUM_TO_PLAY[s.last_set]):
        lay = k if leads else int(LAYS_TO_PLAY[s.last_set, k])
        if holds(hand, lay):
            score = value_of(hand - PACKED[lay], wins)
            score += win_gain * win_chance(lay, wins)
            if score > best_score:
                best, best_score = lay, score
    return best


@jit
def choose_request(s, hand, wins):
    """FZ-19: ask with the cards without which the hand is worth most, rather than pass."""
    best, best_score = PASS, value_of(hand, wins) + LEAST_ASK_GAIN
    for k in range(NUM_TO_ASK[s.last_set]):
        lay = int(LAYS_TO_ASK[s.last_set, k])
        if holds(hand, lay):
            score = value_of(hand - PACKED[lay], wins)
            if score > best_score:
                best, best_score = ASK + lay, score
    return best


@jit
def choose_answer(s, hand, wins):
    """FZ-19: help, unless it spoils the hand for more than it is worth."""
    best, best_score = PASS, value_of(hand, wins)
    if s.owner == s.current_player:  # the trick would be their own
        best_score += PARTNER_OWNS_GAIN
    for lay in range(NUM_LAYS):
        whole = TOGETHER[s.request, lay]
        if MAY_PLAY[s.last_set, min(whole, JOKER_ALONE)] and holds(hand, lay):
            score = value_of(hand - PACKED[lay], wins) + HELP_GAIN
            score += HELP_WINS_GAIN * win_chance(whole, wins)
            if s.hand_size[s.asker] == 0:
                score += OUT_GAIN
            if score > best_score:
                best, best_score = lay, score
    return best
