"""The cards of Animalia and sets of them: AN-1, AN-2.

Each card is there once. A set of cards is one integer: bit c is set if card c is in it.
"""

from card_envs.contract import jit, sum_of

# AN-1: five families of seven members each, and the owl. Card 7 * family + member; the owl last.
FAMILY_NAMES = ("cats", "horses", "dogs", "rabbits", "parrots")
ANIMAL_NAMES = ("cat", "horse", "dog", "rabbit", "parrot")
MEMBER_NAMES = ("champion", "elegant", "cute", "lousy", "thief", "spy", "prankster")
NUM_FAMILIES, NUM_MEMBERS = 5, 7
CHAMPION, ELEGANT, CUTE, LOUSY, THIEF, SPY, PRANKSTER = range(NUM_MEMBERS)
OWL = 35
NUM_CARDS = 36

NO_CARDS = 0
ALL_CARDS = (1 << NUM_CARDS) - 1
OWL_ALONE = 1 << OWL

# The set of one member of each family, for every member.
_ONE_OF_EACH = sum(1 << NUM_MEMBERS * family for family in range(NUM_FAMILIES))
CHAMPIONS = _ONE_OF_EACH << CHAMPION
ELEGANT_ONES = _ONE_OF_EACH << ELEGANT
CUTE_ONES = _ONE_OF_EACH << CUTE
LOUSY_ONES = _ONE_OF_EACH << LOUSY
THIEVES = _ONE_OF_EACH << THIEF
SPIES = _ONE_OF_EACH << SPY
PRANKSTERS = _ONE_OF_EACH << PRANKSTER

# The numbers of animals of all families in one integer, four bits each; five different ones.
FAMILY_BITS = 4
FIVE_DIFFERENT = sum(1 << FAMILY_BITS * family for family in range(NUM_FAMILIES))

# AN-2: with fewer players the cute animals are left out.
PLAYERS_FOR_ALL_CARDS = 5


@jit
def cards_in_play(num_players):
    """AN-2: the set of cards that are used."""
    return ALL_CARDS if num_players >= PLAYERS_FOR_ALL_CARDS else ALL_CARDS & ~CUTE_ONES


@jit
def count(bits):
    """How many cards are in a set (how many of the lowest 56 bits are set)."""
    bits = bits - (bits >> 1 & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333)
    return sum_of(bits + (bits >> 4) & 0x0F0F0F0F0F0F0F0F)


@jit
def first_of(bits):
    """The lowest card of a set that is not empty."""
    return count((bits & -bits) - 1)


@jit
def nth_of(cards, number):
    """The card of a set that has this number of lower ones in it."""
    for _ in range(number):
        cards &= cards - 1
    return first_of(cards)


@jit
def of_family(cards, family):
    """How many cards of a family are in a set; the owl is of none."""
    return count(cards >> NUM_MEMBERS * family & (1 << NUM_MEMBERS) - 1)


@jit
def animals_in(cards):
    """How many animals of each family are in a set, packed; the owl is not counted."""
    animals = 0
    for family in range(NUM_FAMILIES):
        animals |= of_family(cards, family) << FAMILY_BITS * family
    return animals


@jit
def medals_of(animals, family):
    """AN-17: the medals of a family that packed animals earn: one each for two or more of it, and
    one of each family for five different animals."""
    own = animals >> FAMILY_BITS * family & 15
    return own if own > 1 or animals == FIVE_DIFFERENT else 0


@jit
def elegance_of(cards):
    """AN-16: stars minus black spots of a set."""
    stars = 3 * count(cards & CHAMPIONS) + 2 * count(cards & ELEGANT_ONES)
    return stars - count(cards & LOUSY_ONES)
