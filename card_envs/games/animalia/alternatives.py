"""What a player could make of a decision: their collections with the lot, the exchange of cards
that gains most (AN-17), the best family for the owl.

The derived fields of the observation come from here.
"""

import numpy as np

from card_envs.contract import index, jit
from card_envs.games.animalia.cards import (
    FAMILY_BITS,
    FIVE_DIFFERENT,
    NO_CARDS,
    NUM_CARDS,
    NUM_FAMILIES,
    NUM_MEMBERS,
    OWL,
    OWL_ALONE,
    animals_in,
    count,
    first_of,
    medals_of,
)
from card_envs.games.animalia.state import (
    BRING_IN,
    EXCELLENCE,
    FULL,
    GROUP,
    GROUP_OF_TWO_PLAYERS,
    collections_each,
    first_collection,
)

# By medals of one family, and 128 more with two players: those beyond full groups, and the points
# that they are (a division would take longer).
_groups, _rest = np.divmod(np.arange(128), [[GROUP], [GROUP_OF_TWO_PLAYERS]])
_REST_LOOK = _rest.astype(np.int16).reshape(-1)
_POINTS_LOOK = (np.arange(128) + EXCELLENCE * _groups).astype(np.int16).reshape(-1)
# A card as packed animals; the owl is none.
_PACKED = np.array(
    [1 << FAMILY_BITS * (card // NUM_MEMBERS) if card != OWL else 0 for card in range(NUM_CARDS)]
)


@jit
def beyond_groups(s, player):
    """How many medals of each family the player has beyond full groups, packed."""
    row = 128 * (int(s.num_players) == 2)
    medals = 0
    for family in range(NUM_FAMILIES):
        rest = int(_REST_LOOK[index(row + int(s.medals[index(player), index(family)]))])
        medals |= rest << FAMILY_BITS * family
    return medals


@jit
def with_lot(s, cards):
    """A collection of these cards with the lot, if it has room for it."""
    return cards | s.lot if count(cards) + count(s.lot) <= FULL else cards


@jit
def best_exchange(s, player):
    """AN-17: the bonus cards to bring in, or the cards to take out for the one that is chosen, with
    which an exchange gains most points at once, and how many it gains; a loss counts as 0."""
    brings = s.phase == BRING_IN
    best, best_cards = 0, NO_CARDS
    first = first_collection(s, player)
    last = first + collections_each(s) - 1
    for place in range(first, last + 1):
        cards = s.collection[index(place)]
        beside = s.collection[index(first + last - place)] if first < last else NO_CARDS
        animals, others = animals_in(cards), animals_in(beside)
        before = best_points(s, player, animals, others, cards, beside)
        offered = s.bonus[index(player)] if brings else 1 << int(s.chosen)
        while offered != 0:
            card = first_of(offered)
            offered &= offered - 1
            rest = cards
            while rest != 0:
                out_card = first_of(rest)
                rest &= rest - 1
                exchanged = cards & ~(1 << out_card) | 1 << card
                packed = animals + _PACKED[index(card)] - _PACKED[index(out_card)]
                gain = best_points(s, player, packed, others, exchanged, beside) - before
                if gain > best:
                    best, best_cards = gain, NO_CARDS
                if gain == best:
                    best_cards |= 1 << (card if brings else out_card)
    return best_cards, best


@jit
def best_families(s, player):
    """AN-17: the set of families with which the owl, which lies before the player, earns most."""
    first = first_collection(s, player)
    last = first + collections_each(s) - 1
    place = first if s.collection[index(first)] & OWL_ALONE != 0 else last
    animals = animals_in(s.collection[index(place)])
    others = animals_in(s.collection[index(first + last - place)]) if first < last else 0
    best, families = 0, 0
    for family in range(NUM_FAMILIES):
        named = animals + (1 << FAMILY_BITS * family)
        points = points_for(s, player, named, others, False)
        if points > best:
            best, families = points, 0
        if points == best:
            families |= 1 << family
    return families


@jit
def best_points(s, player, animals, others, cards, beside):
    """The player's points if their collections earn medals now, with the owl, in whichever of the
    two it lies, at its best.

    The two sets of cards come with their animals, packed; the second is empty unless the player
    has two collections (AN-18).
    """
    if beside & OWL_ALONE != 0:
        return points_for(s, player, others, animals, True)
    return points_for(s, player, animals, others, cards & OWL_ALONE != 0)


@jit
def points_for(s, player, animals, others, owl):
    """The player's points if their collections earn medals with these packed animals; ``owl``:
    besides the first ones there is the owl, which counts as what gains most."""
    row = 128 * (int(s.num_players) == 2)
    points = 0
    more = 0  # by the owl as one more of a family that is there
    five_different = 0  # all points if it makes the animals these
    for family in range(NUM_FAMILIES):
        medals = row + int(s.medals[index(player), index(family)]) + medals_of(others, family)
        before = int(_POINTS_LOOK[index(medals + medals_of(animals, family))])
        points += before
        if owl:
            number = animals >> FAMILY_BITS * family & 15
            if number > 0:
                more = max(more, int(_POINTS_LOOK[index(medals + number + 1)]) - before)
            five_different += int(_POINTS_LOOK[index(medals + 1)])
    missing = animals ^ FIVE_DIFFERENT
    if owl and missing & missing - 1 == 0:
        return max(points + more, five_different)
    return points + more
