"""A sensible scripted player of Frank's Zoo, who uses only what their seat knows.

They see their hand as groups of equal animals, each of which takes a lead to get rid of: elephants
help more than they cost, perches and fish cost most, and groups of several cards less than single
ones. They spend cards where that wins the trick, or costs little: winning is worth most to a player
who can then lead all that they have left, or when somebody is about to go out. They hold back lions
and hedgehogs until these are likely to be captured by themselves, and beat tricks in which lions
lie.

How likely a set is to win is in ``chances.py``.
"""

import numpy as np

from card_envs.contract import PACKED_BITS, count_of, inline, jit, scratch
from card_envs.games.franks_zoo.actions import ACT
from card_envs.games.franks_zoo.cards import (
    HEDGEHOG,
    JOKER,
    JOKER_ALONE,
    LAY_ANIMAL,
    LAY_CARDS,
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
from card_envs.games.franks_zoo.chances import CHANCES, write_chances_to_win
from card_envs.games.franks_zoo.knowledge import count_elsewhere
from card_envs.games.franks_zoo.legal import holds, may_ask
from card_envs.games.franks_zoo.rules import players_with_cards
from card_envs.games.franks_zoo.state import (
    ANSWER,
    EXCHANGE,
    NO_CARD,
    TURN,
    counts_animals,
    packed,
)

# These were found by a policy gradient on a player who draws among sets by their scores, at tables
# with copies of themselves and with trained policies, and rounded.
#
# All in units of about a lead: what it costs to get rid of a group, by its animal in the order of
# FZ-1. Nothing but mice beats elephants, and a mosquito can be added to them.
GROUP_COST = np.array([0.6, -0.7, 0.8, 0.9, 1.2, 1.1, 0.9, 1.6, 1.0, 1.7, 0.9, 0.5])
# How much less if it has two cards, or more; and if it is the only one.
SEVERAL_GAIN = 0.6
THREE_GAIN = 0.15
ONE_GROUP_GAIN = 0.65
# In the hand: the joker; a lion, while they count; the joker alone, which cannot be played. And no
# hand any more.
JOKER_GAIN = 1.6
LION_HELD_GAIN = 0.3
STUCK_COST = 1.1
OUT_GAIN = 2.3
# Winning a trick: the more, the fewer cards the next opponent to go out has; for a hand that goes
# out on this lead; less for each group that is likely to be beaten.
RACE_GAIN = 1.1
RUN_GAIN = 2.9
LOSER_COST = 0.18
# Passing: the more, the fewer cards that opponent has.
PASS_COST = 0.9
# A point for captured lions (FZ-22), of which a single one promises this share; each lion that is
# left to an opponent; one's own hedgehog that others capture, while one has none (FZ-23).
LION_GAIN = 0.9
FIRST_LION = 0.4
LION_LEFT_COST = 0.3
HEDGEHOG_LOST_COST = 0.25
# Beating the partner's set; winning the trick by helping.
PARTNER_COST = 0.75
HELP_WINS_GAIN = 0.2

_NO_OPPONENT = 99  # more cards than any hand has


@jit
def heuristic(states, i):
    """An action for the player to move."""
    s = states[i]
    player = int(s.current_player)
    hand = packed(s.hand, player)
    if s.phase == TURN and s.last_set != NO_LAY and must_pass(s, player, hand):
        return ACT.pass_
    few = scratch(CHANCES)
    wins = scratch(CHANCES)
    write_chances_to_win(s, player, count_elsewhere(s, player, hand, True), few, wins)
    if s.phase == EXCHANGE:
        return ACT.give + choose_gift(s, player, hand)
    if s.phase == ANSWER:
        return choose_answer(s, hand, wins)
    action = choose_set(s, player, hand, wins)
    if action == ACT.pass_ and s.last_set != NO_LAY and may_ask(s, player):
        return choose_request(s, hand)
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
# What a hand, a lead and animals are worth
# ---------------------------------------------------------------------------------------------


@jit
def value_of(hand, animals_count):
    """What a packed hand is worth: the less, the more it costs to get rid of it."""
    if hand == 0:
        return OUT_GAIN
    if hand == PACKED[JOKER_ALONE]:
        return -STUCK_COST
    total = JOKER_GAIN if count_of(hand, JOKER) > 0 else 0.0
    groups = 0
    for animal in range(NUM_ANIMALS):
        size = count_of(hand, animal)
        if size > 0:
            groups += 1
            total -= GROUP_COST[animal]
            if size > 1:
                total += SEVERAL_GAIN
            if size > 2:
                total += THREE_GAIN
    if groups == 1:
        total += ONE_GROUP_GAIN
    if animals_count:
        total += LION_HELD_GAIN * count_of(hand, LION)
    return total


@jit
def value_of_lead(hand, wins, least):
    """What it is worth to lead with a packed hand, where the opponents' smallest has ``least``
    cards: all groups but the last need to win."""
    losers = 0.0
    worst = 0.0
    for animal in range(NUM_ANIMALS):
        size = count_of(hand, animal)
        if size > 0:
            loses = 1.0 - wins[animal, size]
            losers += loses
            worst = max(worst, loses)
    run = max(0.0, 1.0 - (losers - worst))
    return RACE_GAIN / (1 + least) + RUN_GAIN * run - LOSER_COST * losers


@jit
def fewest_cards(s, player):
    """The number of cards in the smallest hand of an opponent who is not out."""
    least = _NO_OPPONENT
    for q in range(s.num_players):
        if q != player and q != s.partner[player] and s.hand_size[q] > 0:
            least = min(least, int(s.hand_size[q]))
    return least


@jit
def lion_points(lions):
    """FZ-22: what captured lions are worth; a single one may find others."""
    return float(lions) if lions > 1 else FIRST_LION * lions


@jit
def value_of_animals(s, player, lay, chance):
    """FZ-22, FZ-23: what it means for the player's lions and hedgehogs to play a set that wins the
    trick with this chance."""
    total = 0.0
    lions = int(s.captured[player, LION])
    more = int(s.trick[LION]) + int(LAY_CARDS[lay, LION])
    total += LION_GAIN * chance * (lion_points(lions + more) - lion_points(lions))
    if s.captured[player, HEDGEHOG] == 0 and LAY_CARDS[lay, HEDGEHOG] > 0:
        total -= HEDGEHOG_LOST_COST * (1.0 - chance)
    return total


@inline
def win_chance(lay, wins):
    """The chance that no opponent can beat a set."""
    return wins[int(LAY_ANIMAL[lay]), int(LAY_SIZE[lay])]


# ---------------------------------------------------------------------------------------------
# Choices
# ---------------------------------------------------------------------------------------------


@jit
def choose_gift(s, player, hand):
    """FZ-18: the cards without which the hand is worth most; without a partner, also what it is
    worth that lions and a hedgehog are captured."""
    first = int(s.gift)
    if first != NO_CARD:
        hand -= 1 << PACKED_BITS * first
    best, best_score = NO_CARD, -np.inf
    for kind in range(NUM_KINDS):
        if count_of(hand, kind) > 0:
            left = hand - (1 << PACKED_BITS * kind)
            if first != NO_CARD:
                score = value_of_gift(s, player, left, kind, first)
            else:
                score = -np.inf
                for second in range(kind, NUM_KINDS):  # two cards are one pair in either order
                    if count_of(left, second) > 0:
                        rest = left - (1 << PACKED_BITS * second)
                        score = max(score, value_of_gift(s, player, rest, kind, second))
            if score > best_score:
                best, best_score = kind, score
    return best


@jit
def value_of_gift(s, player, left, kind, other):
    """What it is worth to give cards of these two kinds and to have the others left."""
    score = value_of(left, True)
    if player == s.alone:
        score += LION_GAIN * lion_points((kind == LION) + (other == LION))
        if kind == HEDGEHOG or other == HEDGEHOG:
            score += HEDGEHOG_LOST_COST
    return score


@jit
def choose_set(s, player, hand, wins):
    """The best set to play, or to pass (FZ-7, FZ-8)."""
    animals_count = counts_animals(s, s.hand_number)
    least = fewest_cards(s, player)
    leads = s.last_set == NO_LAY
    partners = not leads and s.owner == s.partner[player]
    best, best_score = ACT.pass_, -np.inf
    if not leads:
        best_score = value_of(hand, animals_count) - PASS_COST / (1 + least)
        if partners:
            best_score += PARTNER_COST
        elif animals_count:
            best_score -= LION_LEFT_COST * s.trick[LION]
    for k in range(NUM_SETS if leads else NUM_TO_PLAY[s.last_set]):
        lay = k if leads else int(LAYS_TO_PLAY[s.last_set, k])
        if holds(hand, lay):
            left = hand - PACKED[lay]
            chance = win_chance(lay, wins)
            if left == 0 and players_with_cards(s) == 2:  # FZ-11: it ends the hand
                chance = 1.0
            score = value_of(left, animals_count) + chance * value_of_lead(left, wins, least)
            if animals_count:
                score += value_of_animals(s, player, lay, chance)
            if score > best_score:
                best, best_score = lay, score
    return best


@jit
def choose_request(s, hand):
    """FZ-19: ask with the cards without which the hand is worth most, rather than pass."""
    best, best_score = ACT.pass_, value_of(hand, True)
    for k in range(NUM_TO_ASK[s.last_set]):
        lay = int(LAYS_TO_ASK[s.last_set, k])
        if holds(hand, lay):
            score = value_of(hand - PACKED[lay], True)
            if score > best_score:
                best, best_score = ACT.ask + lay, score
    return best


@jit
def choose_answer(s, hand, wins):
    """FZ-19: help, unless it spoils the hand for more than it is worth."""
    best, best_score = ACT.pass_, value_of(hand, True)
    for lay in range(NUM_LAYS):
        whole = TOGETHER[s.request, lay]
        if whole != NO_LAY and MAY_PLAY[s.last_set, whole] and holds(hand, lay):
            score = value_of(hand - PACKED[lay], True)
            score += HELP_WINS_GAIN * win_chance(whole, wins)
            if s.hand_size[s.asker] == 0:
                score += OUT_GAIN
            if score > best_score:
                best, best_score = lay, score
    return best
