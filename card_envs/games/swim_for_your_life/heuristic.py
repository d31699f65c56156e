"""A sensible scripted player of Swim for Your Life, who uses only what their seat knows.

They estimate how many cards of each animal every opponent holds, and from that what each number of
their own cards is worth: the chance that it is a majority, times the animal's value. They exchange
for the hand that is worth most, tap when their expected total is far enough ahead, keep hares, pigs
and cats together while a set of sudden death (SW-9) can still be completed, and avoid leaving a row
with which an opponent may complete one.
"""

import numpy as np

from card_envs.contract import jit, scratch
from card_envs.games.swim_for_your_life.actions import ACT
from card_envs.games.swim_for_your_life.cards import (
    ANIMAL_BITS,
    DECK_COUNTS,
    ENOUGH,
    FIRST_EXCHANGE,
    HARE,
    NUM_ANIMALS,
    NUM_ROWS,
    NUM_SETS,
    PACKED,
    PACKED_DECK,
    VALUES,
)
from card_envs.games.swim_for_your_life.knowledge import unknown_cards
from card_envs.games.swim_for_your_life.state import (
    MAX_PLAYERS,
    NOBODY,
    least_majority,
    means_sudden_death,
    packed,
    players_left,
)

# What the others' expected totals weigh relative to one's own, with two players left and with more.
RIVAL_WEIGHT = 1.0
RIVALS_WEIGHT = 0.05
# Opponents keep the animals of which they have many, so a few cards are a majority less often than
# random hands suggest. With more than two players left this often an opponent is counted.
CROWDING = 4
# How many points the expected total must be ahead of the best opponent's to tap: everybody else
# has one turn more. It shrinks with every turn of the round.
TAP_MARGIN_OF_TWO = 12.0
TAP_MARGIN = 3.5
PATIENCE = 0.3
# What a set is worth that is complete, that one of the rows completes, or that lacks one or two
# cards, one of which nobody is known to hold; the last means little where few are left.
SET_GAIN = 1000.0
ROW_COMPLETES_GAIN = 16.0
SET_HOPE = (0.0, 0.0, 0.0, 4.0, 8.0, 8.0)  # by the number of players left
# What it costs to leave a row with which an opponent completes a set.
DANGER = 10.0

_COUNTS = 10  # a hand has 0 to 9 cards of an animal
_BOUNDS = 11  # and fewer than 0 to 10
_IN_ROW = NUM_ROWS + 1  # a row has 0 to 4


@jit
def heuristic(states, i):
    """An action for the player to move."""
    s = states[i]
    player = int(s.current_player)
    unseen = unseen_cards(s, player)
    fewer = scratch((MAX_PLAYERS, _BOUNDS))
    worth = scratch((NUM_ANIMALS, _COUNTS))
    totals = scratch((MAX_PLAYERS,))
    danger = scratch((NUM_SETS, _IN_ROW))
    for animal in range(NUM_ANIMALS):
        for q in range(s.num_players):
            if q != player and s.lives[q] > 0:
                estimate_hand(s, q, animal, unseen, fewer)
        value_counts(s, player, animal, fewer, worth, totals)
        if animal >= HARE and animal < HARE + NUM_SETS:
            write_danger(s, player, animal, fewer, danger)
    action, score = best_exchange(s, player, unseen, worth, danger)
    if s.has_exchanged[player] == 0 or score >= SET_GAIN / 2:
        return action
    if s.tapper != NOBODY:
        return ACT.tap if worth_of_hand(s, player, worth) >= score else action
    return ACT.tap if is_ahead(s, player, totals) else action


@jit
def unseen_cards(s, player):
    """The cards that the player has not located, packed."""
    unseen = PACKED_DECK - packed(s.hand, player)
    for row in range(NUM_ROWS):
        unseen -= packed(s.row, row)
    for q in range(s.num_players):
        if q != player:
            unseen -= packed(s.least, q)
    return unseen


@jit
def count_in(cards, animal):
    """How many cards of the animal there are among packed ones."""
    return cards >> ANIMAL_BITS * animal & (1 << ANIMAL_BITS) - 1


@jit
def estimate_hand(s, q, animal, unseen, fewer):
    """Set ``fewer[q, k]``: the chance that q holds fewer than k cards of the animal.

    As if the cards that nobody has located were dealt at random; ``most`` is respected.
    """
    size = 0
    for other in range(NUM_ANIMALS):
        size += count_in(unseen, other)
    unknown = int(unknown_cards(s, q))
    least = int(s.least[q, animal])
    hidden = count_in(unseen, animal)
    fewest = max(0, unknown + hidden - size)  # of these: too few other cards are elsewhere
    chance = 1.0  # of the fewest hidden cards of the animal, then of one more, and so on
    if fewest == 0:
        for k in range(hidden):
            chance *= (size - unknown - k) / (size - k)
    else:
        for k in range(size - unknown):
            chance *= (hidden - k) / (size - k)
    for k in range(least + 1):
        fewer[q, k] = 0.0
    total = 0.0
    for k in range(_COUNTS - least):
        if k >= fewest:
            total += chance
            if k < hidden:
                chance *= (hidden - k) * (unknown - k)
                chance /= (k + 1) * (size - unknown - hidden + k + 1)
            else:
                chance = 0.0
        fewer[q, least + k + 1] = total
    if animal >= HARE and animal < HARE + NUM_SETS:
        possible = fewer[q, int(s.most[q, animal - HARE]) + 1]
        for k in range(_BOUNDS):
            fewer[q, k] = min(1.0, fewer[q, k] / possible)


@jit
def value_counts(s, player, animal, fewer, worth, totals):
    """Set ``worth[animal, c]`` of holding c cards; add to the others' expected ``totals``."""
    left = players_left(s)
    two_left, least = left == 2, least_majority(left)
    rival_weight = RIVAL_WEIGHT if two_left else RIVALS_WEIGHT
    crowding = 1 if two_left else CROWDING
    for c in range(least, _COUNTS):
        chance = 1.0
        for q in range(s.num_players):
            if q != player and s.lives[q] > 0:
                for _ in range(crowding):
                    chance *= fewer[q, c]
        worth[animal, c] = chance * VALUES[animal]
    totals[player] += worth[animal, int(s.hand[player, animal])]
    for q in range(s.num_players):
        if q != player and s.lives[q] > 0:
            chance = 0.0  # that q has the majority if the player holds c
            for c in range(_COUNTS - 2, -1, -1):
                if c + 1 >= least:
                    chance += chance_of_most(s, player, q, c + 1, fewer)
                worth[animal, c] -= rival_weight * chance * VALUES[animal]
                if c == s.hand[player, animal]:
                    totals[q] += chance * VALUES[animal]


@jit
def chance_of_most(s, player, q, count, fewer):
    """The chance that q holds exactly this many cards, and everybody but the player fewer."""
    chance = fewer[q, count + 1] - fewer[q, count]
    for other in range(s.num_players):
        if other != player and other != q and s.lives[other] > 0:
            chance *= fewer[other, count]
    return chance


@jit
def write_danger(s, player, animal, fewer, danger):
    """Set ``danger[k, c]``: how many opponents with a turn to come may be expected to hold what a
    row with c cards of the animal lacks to a set."""
    full = int(DECK_COUNTS[animal])
    for c in range(_IN_ROW):
        danger[animal - HARE, c] = 0.0
        for q in range(s.num_players):
            if q != player and q != s.tapper and s.lives[q] > 0:
                danger[animal - HARE, c] += 1.0 - fewer[q, full - c]


@jit
def best_exchange(s, player, unseen, worth, danger):
    """The legal exchange that leads to the best hand, and its score."""
    hand = packed(s.hand, player) | ENOUGH
    best, best_score = ACT.tap, -np.inf
    for row in range(NUM_ROWS):
        present = packed(s.row, row)
        for action in range(FIRST_EXCHANGE[row], FIRST_EXCHANGE[row + 1]):
            laid_down = PACKED[action]
            if (hand - laid_down) & ENOUGH == ENOUGH and laid_down != present:
                score = 0.0
                for animal in range(NUM_ANIMALS):
                    score += worth[animal, count_after(s, player, row, laid_down, animal)]
                for k in range(NUM_SETS):
                    if means_sudden_death(s, HARE + k):
                        score += set_score(s, player, row, laid_down, HARE + k, unseen, danger)
                if score > best_score:
                    best, best_score = action, score
    return best, best_score


@jit
def count_after(s, player, row, laid_down, animal):
    """How many cards of the animal the player's hand has after the exchange."""
    count = int(s.hand[player, animal]) + int(s.row[row, animal])
    return count - count_in(laid_down, animal)


@jit
def set_score(s, player, row, laid_down, animal, unseen, danger):
    """What an exchange means for sudden death by the animal: the player's own and the others'."""
    full = int(DECK_COUNTS[animal])
    count = count_after(s, player, row, laid_down, animal)
    if count == full:
        return SET_GAIN
    in_row = count_in(laid_down, animal)  # the most in one row, after the exchange
    for other in range(NUM_ROWS):
        if other != row:
            in_row = max(in_row, int(s.row[other, animal]))
    score = 0.0
    if s.tapper == NOBODY:
        if count + in_row >= full:
            score += ROW_COMPLETES_GAIN
        elif count >= full - 2 and count_in(unseen, animal) > 0:
            score += SET_HOPE[players_left(s)]
    return score - DANGER * danger[animal - HARE, in_row]


@jit
def worth_of_hand(s, player, worth):
    total = 0.0
    for animal in range(NUM_ANIMALS):
        total += worth[animal, int(s.hand[player, animal])]
    return total


@jit
def is_ahead(s, player, totals):
    """Whether the lead is enough to tap."""
    best = 0.0
    for q in range(s.num_players):
        if q != player:
            best = max(best, totals[q])
    left = players_left(s)
    margin = TAP_MARGIN_OF_TWO if left == 2 else TAP_MARGIN
    return totals[player] - best > margin - PATIENCE * (s.turns // left)
