"""A sensible scripted player of Frank's Zoo, who uses only what his seat knows.

He sees his hand as groups of equal animals. What a group costs is how hard it is to get rid of: a
set that nobody is likely to beat costs little, for it keeps the lead, and so do animals that beat
many others; all others cost a lead. The most expensive group is nearly free: it goes out last, when
nobody needs to be beaten any more. Of all that he may do he does what leaves the cheapest hand,
counting what it is worth to win the trick.
"""

from __future__ import annotations

import numpy as np

from card_envs.engine.jit import jit
from card_envs.games.franks_zoo.cards import (
    HEDGEHOG,
    IS_BEATEN_BY,
    JOKER,
    JOKER_ALONE,
    KIND_BITS,
    LAY_ANIMAL,
    LAY_SIZE,
    LION,
    MAY_ASK,
    MAY_PLAY,
    NO_LAY,
    NUM_ANIMALS,
    NUM_KINDS,
    NUM_LAYS,
    PACKED,
    TOGETHER,
)
from card_envs.games.franks_zoo.knowledge import count_elsewhere
from card_envs.games.franks_zoo.rules import holds
from card_envs.games.franks_zoo.state import (
    ANSWER,
    ASK,
    EXCHANGE,
    GIVE,
    NO_CARD,
    PASS,
    counts_animals,
    is_junior,
    packed,
)

# All in parts of the lead that it takes to get rid of a group. How much less a group costs if
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
# that go out with one's own, and his winning the trick.
PARTNER_OWNS_GAIN = 0.8
LEAST_ASK_GAIN = 0.2
HELP_GAIN = 0.3
HELP_WINS_GAIN = 0.2

_SIZES = 8  # sets have one to seven cards

#: float64 (12,): the share of an animal in the most animals that one beats.
BEATS_SHARE = IS_BEATEN_BY.sum(axis=0) / 4.0


@jit
def heuristic(states, i):
    """An action for the player to move."""
    s = states[i]
    player = int(s.current_player)
    elsewhere = np.zeros(NUM_KINDS, np.int64)
    nobody = np.ones((NUM_ANIMALS, _SIZES))
    cost = np.zeros((NUM_ANIMALS, _SIZES))
    hand = packed(s.hand, player)
    cards = count_elsewhere(s, player, hand, True)
    for kind in range(NUM_KINDS):
        elsewhere[kind] = cards >> KIND_BITS * kind & 7
    for q in range(s.num_players):
        if q != player and q != s.partner[player]:
            estimate_hand(s, q, elsewhere, nobody)
    for animal in range(NUM_ANIMALS):
        for size in range(1, _SIZES):
            cost[animal, size] = (
                1.0
                - UNBEATEN_GAIN * chance_to_win(animal, size, nobody)
                - FOLLOW_GAIN * BEATS_SHARE[animal]
            )
    if s.phase == EXCHANGE:
        return GIVE + choose_gift(s, player, hand, cost)
    if s.phase == ANSWER:
        return choose_answer(s, hand, cost, nobody)
    action = choose_set(s, player, hand, cost, nobody)
    if action == PASS and is_junior(s, player) and s.hand_size[s.partner[player]] > 0:
        return choose_request(s, hand, cost)
    return action


@jit
def estimate_hand(s, q, elsewhere, nobody):
    """Multiply ``nobody[animal, size]`` by the chance that q holds fewer cards of the animal.

    As if the cards that nobody has located were dealt at random; jokers are left out of account.
    """
    total = elsewhere.sum()
    for animal in range(NUM_ANIMALS):
        known = int(s.known[q, animal])
        hidden = elsewhere[animal] - known
        draws = int(s.hand_size[q]) - known
        chance = 1.0  # that none of the hidden ones is in the hand; then one, two, ...
        for k in range(draws):
            chance *= max(0, total - hidden - k) / max(1, total - k)
        fewer = 0.0
        for size in range(_SIZES):
            nobody[animal, size] *= fewer
            k = size - known
            if k >= 0:
                fewer += chance
                rest = total - hidden - draws + k + 1
                if k < hidden and k < draws and rest > 0:
                    chance *= (hidden - k) * (draws - k) / ((k + 1) * rest)
                else:
                    chance = 0.0


@jit
def chance_to_win(animal, size, nobody):
    """The chance that no opponent can beat a set of so many cards (FZ-8)."""
    chance = nobody[animal, min(size + 1, _SIZES - 1)]
    for other in range(NUM_ANIMALS):
        if IS_BEATEN_BY[animal, other]:
            chance *= nobody[other, size]
    return chance


@jit
def value_of(hand, cost):
    """What a packed hand is worth: the less, the more it costs to get rid of it."""
    total = 0.0
    most = 0.0
    for animal in range(NUM_ANIMALS):
        group = cost[animal, hand >> KIND_BITS * animal & 7]
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


@jit
def choose_gift(s, player, hand, cost):
    """FZ-18: the cards without which the hand is worth most; a hedgehog before one alone."""
    if s.gift != NO_CARD:
        hand -= 1 << KIND_BITS * int(s.gift)
    best, best_score = NO_CARD, -np.inf
    for kind in range(NUM_KINDS):
        if hand >> KIND_BITS * kind & 7 > 0:
            left = hand - (1 << KIND_BITS * kind)
            score = value_of(left, cost)
            if s.gift == NO_CARD:
                score = best_value_without_one(left, cost)
            if player == s.alone and kind == HEDGEHOG and s.gift != HEDGEHOG:
                score += HEDGEHOG_GAIN
            if score > best_score:
                best, best_score = kind, score
    return best


@jit
def best_value_without_one(hand, cost):
    best = -np.inf
    for kind in range(NUM_KINDS):
        if hand >> KIND_BITS * kind & 7 > 0:
            best = max(best, value_of(hand - (1 << KIND_BITS * kind), cost))
    return best


@jit
def choose_set(s, player, hand, cost, nobody):
    """The best set to play, or to pass (FZ-7, FZ-8)."""
    win_gain = LEAD_GAIN
    if counts_animals(s):
        win_gain += LION_GAIN * s.trick[LION]
        if s.trick[HEDGEHOG] > 0 and s.captured[player, HEDGEHOG] == 0:
            win_gain += HEDGEHOG_GAIN
    best, best_score = PASS, -np.inf
    if s.last_set != NO_LAY:
        best_score = value_of(hand, cost)
        if s.owner == s.partner[player]:
            chance = chance_to_win(LAY_ANIMAL[s.last_set], LAY_SIZE[s.last_set], nobody)
            best_score += PARTNER_OWNS_GAIN * chance
    for lay in range(NUM_LAYS):
        if MAY_PLAY[s.last_set, lay] and holds(hand, lay):
            score = value_of(hand - PACKED[lay], cost)
            score += win_gain * chance_to_win(LAY_ANIMAL[lay], LAY_SIZE[lay], nobody)
            if score > best_score:
                best, best_score = lay, score
    return best


@jit
def choose_request(s, hand, cost):
    """FZ-19: ask with the cards without which the hand is worth most, rather than pass."""
    best, best_score = PASS, value_of(hand, cost) + LEAST_ASK_GAIN
    for lay in range(NUM_LAYS):
        if MAY_ASK[s.last_set, lay] and holds(hand, lay):
            score = value_of(hand - PACKED[lay], cost)
            if score > best_score:
                best, best_score = ASK + lay, score
    return best


@jit
def choose_answer(s, hand, cost, nobody):
    """FZ-19: help, unless it spoils the hand for more than it is worth."""
    best, best_score = PASS, value_of(hand, cost)
    if s.owner == s.current_player:  # the trick would be his own
        best_score += PARTNER_OWNS_GAIN
    for lay in range(NUM_LAYS):
        whole = TOGETHER[s.request, lay]
        if MAY_PLAY[s.last_set, min(whole, JOKER_ALONE)] and holds(hand, lay):
            score = value_of(hand - PACKED[lay], cost) + HELP_GAIN
            score += HELP_WINS_GAIN * chance_to_win(LAY_ANIMAL[whole], LAY_SIZE[whole], nobody)
            if s.hand_size[s.asker] == 0:
                score += OUT_GAIN
            if score > best_score:
                best, best_score = lay, score
    return best
