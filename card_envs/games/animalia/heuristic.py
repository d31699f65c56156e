"""A sensible scripted player of Animalia, who uses only what their seat knows.

They estimate what a collection is worth to its owner: the medals that its animals earn, with a
share of the excellence (AN-19) that these bring nearer; what singles may still become, the more
the more animals of their family are unseen; the places that are still free; and its stars against
those of the others. They take a lot if the collection is then worth more than before, and steal,
give and exchange what gains most, counting a share of what it costs the others.
"""

import numpy as np

from card_envs.contract import jit
from card_envs.games.animalia.actions import ACT
from card_envs.games.animalia.cards import (
    NUM_CARDS,
    NUM_FAMILIES,
    OWL,
    OWL_ALONE,
    PRANKSTERS,
    THIEVES,
    cards_in_play,
    count,
    elegance_of,
    of_family,
)
from card_envs.games.animalia.powers import is_triggered
from card_envs.games.animalia.state import (
    BRING_IN,
    EXCELLENCE,
    FULL,
    GIVE,
    LOT,
    NO_FAMILY,
    OWL_FAMILY,
    STEAL,
    TAKE_OUT,
    collected_cards,
    collections_each,
    first_collection,
    group_size,
    num_collections,
    num_receivers,
    others_cards,
    owner_of,
    place_of,
    receiver,
    room_in,
)

# All in points, by the number of places that are still free in a collection: what these are worth;
# how likely a single animal finds another of its family, a pair or more grows by one, and five
# different families come together.
FREE_PLACES = np.array([0.0, 1.0, 1.55, 2.6, 3.8, 5.8])
PAIR_CHANCE = np.array([0.0, 0.2, 0.45, 0.65, 0.95, 1.0])
GROWTH_CHANCE = np.array([0.0, 0.2, 0.6, 0.65, 0.65, 0.65])
FIVE_CHANCE = np.array([1.0, 0.25, 0.2, 0.1, 0.05, 0.0])
# With this many unseen animals of the family these are as above; with fewer in proportion.
MANY_UNSEEN = 6
# What one, two, three, four fifths of a group are worth, of EXCELLENCE; and how much of it with no,
# one, more seasons to come.
SHARE_OF_GROUP = np.array([0.0, 0.1, 0.65, 2.2, 3.0])
SEASONS_TO_COME = np.array([0.0, 1.0, 0.7])
# The owl where there is still room.
OWL_GAIN = 0.4
# A star; a star more than all others have, while nothing is decided, and what is added to that
# when everything is; between these margins.
STAR_GAIN = 0.25
LEAD_GAIN, LATE_LEAD_GAIN = 0.25, 0.3
LEAST_LEAD, MOST_LEAD = -4, 2
# The powers, and how much what another loses counts.
THIEF_GAIN, PRANKSTER_GAIN = 1.0, 0.95
LOSS_OF_OTHERS = 0.23
# The least gain for which a lot is taken; and for which a bonus card is used with no, one, more
# seasons to come.
LEAST_TAKE_GAIN = 0.15
LEAST_BONUS_GAIN = np.array([1e-9, 0.8, 0.6])

_NEVER = -1e9


@jit
def heuristic(states, i):
    """An action for the player to move."""
    s = states[i]
    player = int(s.current_player)
    unseen = cards_in_play(s.num_players) & ~(s.lot | s.bonus[player] | collected_cards(s))
    if s.phase == LOT:
        return choose_take(s, player, unseen)
    if s.phase == STEAL:
        return choose_theft(s, player, unseen)
    if s.phase == BRING_IN:
        return choose_bonus_card(s, player)
    if s.phase == TAKE_OUT:
        return ACT.card + best_replacement(s, player, int(s.chosen))[0]
    if s.phase == OWL_FAMILY:
        return choose_owl_family(s, player)
    return choose_gift(s, player, unseen)


# ---------------------------------------------------------------------------------------------
# What a collection is worth
# ---------------------------------------------------------------------------------------------


@jit
def seasons_to_come(s):
    """How many seasons follow, at most 2."""
    return min(int(s.seasons) - int(s.season), 2)


@jit
def credit(s, medals):
    """What a number of medals of one family is worth."""
    groups = medals // group_size(s)
    fifths = (medals % group_size(s)) * 4 // (group_size(s) - 1)
    share = SHARE_OF_GROUP[fifths] * SEASONS_TO_COME[seasons_to_come(s)]
    return medals + EXCELLENCE * groups + share


@jit
def worth_with_owl(s, player, cards, unseen, owl_family):
    """The medals that may come of a set of cards, with the owl as that family."""
    room = FULL - count(cards)
    total, total_of_five, families = 0.0, 0.0, 0
    for family in range(NUM_FAMILIES):
        animals = of_family(cards, family) + (owl_family == family)
        if animals == 0:
            continue
        families += 1
        medals = int(s.medals[player, family])
        before = credit(s, medals)
        total_of_five += credit(s, medals + 1) - before
        likely = min(1.0, of_family(unseen, family) / MANY_UNSEEN)
        if animals == 1:
            total += likely * PAIR_CHANCE[room] * (credit(s, medals + 2) - before)
        else:
            after = credit(s, medals + animals)
            one_more = credit(s, medals + animals + 1) - after
            total += after - before + likely * GROWTH_CHANCE[room] * one_more
    if families == count(cards):
        total += FIVE_CHANCE[room] * total_of_five
    return total


@jit
def worth(s, player, cards, unseen):
    """What a set of cards as a collection of the player is worth, without its stars."""
    room = FULL - count(cards)
    if cards & OWL_ALONE == 0:
        return FREE_PLACES[room] + worth_with_owl(s, player, cards, unseen, NO_FAMILY)
    best = _NEVER
    for family in range(NUM_FAMILIES):
        best = max(best, worth_with_owl(s, player, cards, unseen, family))
    return FREE_PLACES[room] + best + (OWL_GAIN if room > 0 else 0.0)


@jit
def worth_of_stars(s, place, cards):
    """What the stars of a set of cards are worth as the collection at a place."""
    held, best = 0, _NEVER
    for other in range(num_collections(s)):
        held += count(s.collection[other])
        if other != place:
            best = max(best, elegance_of(s.collection[other]))
    lead = max(LEAST_LEAD, min(MOST_LEAD, elegance_of(cards) - best))
    share = held / (FULL * num_collections(s))
    return (LEAD_GAIN + LATE_LEAD_GAIN * share) * lead + STAR_GAIN * elegance_of(cards)


@jit
def gain(s, place, cards, unseen):
    """How much more a collection would be worth if it were this set of cards."""
    player = owner_of(s, place)
    held = s.collection[place]
    return (
        worth(s, player, cards, unseen)
        - worth(s, player, held, unseen)
        + worth_of_stars(s, place, cards)
        - worth_of_stars(s, place, held)
    )


# ---------------------------------------------------------------------------------------------
# Decisions
# ---------------------------------------------------------------------------------------------


@jit
def choose_take(s, player, unseen):
    """The collection that gains most by the lot, or to pass."""
    best, action = (_NEVER if s.must_take else LEAST_TAKE_GAIN), ACT.pass_
    for number in range(collections_each(s)):
        place = first_collection(s, player) + number
        room = room_in(s, place) - count(s.lot)
        if room >= 0:
            held = s.collection[place]
            gained = gain(s, place, held | s.lot, unseen)
            if room > 0 and is_triggered(THIEVES, held, s.lot):
                gained += THIEF_GAIN
            if is_triggered(PRANKSTERS, held, s.lot):
                gained += PRANKSTER_GAIN
            if gained > best:
                best, action = gained, ACT.take + number
    return action


@jit
def choose_theft(s, player, unseen):
    """The card that gains most, also by what its owner loses."""
    into = int(s.taken_into)
    stealable = others_cards(s, player)
    best, action = 0.0, ACT.pass_
    for card in range(NUM_CARDS):
        if stealable >> card & 1:
            place = place_of(s, card)
            rest = s.collection[place] & ~(1 << card)
            gained = gain(s, into, s.collection[into] | 1 << card, unseen)
            gained -= LOSS_OF_OTHERS * gain(s, place, rest, unseen)
            if gained > best:
                best, action = gained, ACT.card + card
    return action


@jit
def choose_gift(s, player, unseen):
    """The card to give and its receiver: what gains most, also by what it spoils."""
    source = int(s.taken_into)
    gives = s.phase == GIVE
    best, action = (0.0 if gives else _NEVER), ACT.pass_
    for number in range(num_receivers(s)):
        place = receiver(s, player, number)
        if room_in(s, place) == 0:
            continue
        for card in range(NUM_CARDS):
            if s.collection[source] >> card & 1 and (gives or s.chosen == card):
                gained = gain(s, source, s.collection[source] & ~(1 << card), unseen)
                gained -= LOSS_OF_OTHERS * gain(s, place, s.collection[place] | 1 << card, unseen)
                if gained > best:
                    best, action = gained, ACT.card + card if gives else ACT.give + number
    return action


@jit
def best_replacement(s, player, bonus_card):
    """The card that a bonus card should replace, and what that gains."""
    best, best_card = _NEVER, 0
    for number in range(collections_each(s)):
        cards = s.collection[first_collection(s, player) + number]
        before = worth(s, player, cards, 0)
        for card in range(NUM_CARDS):
            if cards >> card & 1:
                exchanged = cards & ~(1 << card) | 1 << bonus_card
                gained = worth(s, player, exchanged, 0) - before
                if gained > best:
                    best, best_card = gained, card
    return best_card, best


@jit
def choose_bonus_card(s, player):
    """The bonus card that gains most, if it gains enough not to be kept."""
    best, action = LEAST_BONUS_GAIN[seasons_to_come(s)], ACT.pass_
    for card in range(NUM_CARDS):
        if s.bonus[player] >> card & 1:
            gained = best_replacement(s, player, card)[1]
            if gained > best:
                best, action = gained, ACT.card + card
    return action


@jit
def choose_owl_family(s, player):
    """The family with which the collection where the owl lies earns most."""
    best, action = _NEVER, ACT.owl
    cards = s.collection[place_of(s, OWL)]
    for family in range(NUM_FAMILIES):
        value = worth_with_owl(s, player, cards, 0, family)
        if value > best:
            best, action = value, ACT.owl + family
    return action
