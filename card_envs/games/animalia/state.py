"""The state of Animalia: one record, and the functions that read it."""

import numpy as np

from card_envs.contract import common_dtype, jit, to_the_left
from card_envs.games.animalia.cards import NO_CARDS, NUM_CARDS, NUM_FAMILIES, count

MIN_PLAYERS, MAX_PLAYERS = 2, 6
# AN-18: two players have two collections each, 0 and 1 of player_0, 2 and 3 of player_1; otherwise
# collection p is that of player_p.
MAX_COLLECTIONS = 6
FULL = 5  # cards of a complete collection
MAX_LOT = 3  # AN-5

GROUP, GROUP_OF_TWO_PLAYERS = 5, 7  # AN-19: medals of one family
EXCELLENCE = 5  # AN-19: points for each full group

# The entry ``standing``: points first, then the most medals of one family.
TIE_BREAK = 1000

SEASONS = 3  # AN-3
MAX_SEASONS = 10

MAX_RECEIVERS = 5  # AN-14: the collections that can get a gift, at most

# Values of the entry ``phase``: what the player to move decides.
LOT, STEAL, GIVE, RECEIVE, BRING_IN, TAKE_OUT, OWL_FAMILY = range(7)
NUM_PHASES = 7

NOBODY = -1
NO_CARD = -1
NO_COLLECTION = -1
NO_FAMILY = -1

STATE = np.dtype(
    [
        *common_dtype(MAX_PLAYERS),
        # Sets of cards (``cards.py``).
        ("collection", np.int64, (MAX_COLLECTIONS,)),
        ("bonus", np.int64, (MAX_PLAYERS,)),  # the cards of ``deck`` that ``holder`` names
        ("lot", np.int64),
        ("replaced", np.int64),  # AN-17: out until the next shuffle
        # The deck: all cards in play. Of its places the first ``deck_size`` are the cards shuffled
        # for this season, in the order in which they are drawn; then come the bonus cards that
        # were kept. A place stays a card's for the whole season, wherever the card goes.
        ("deck", np.int8, (NUM_CARDS,)),
        ("holder", np.int8, (NUM_CARDS,)),  # by place: whose bonus card it is; NOBODY
        ("since", np.int8, (NUM_CARDS,)),  # by place: the season in which they drew it; 0
        ("seen", np.int8, (NUM_CARDS,)),  # by place: the spies' owners who saw it; bit p: player_p
        ("deck_size", np.int8),
        ("drawn", np.int8),
        # The course of the game.
        ("seasons", np.int8),  # the option
        ("season", np.int8),  # from 1
        ("phase", np.int8),
        ("dealer", np.int8),
        ("must_take", np.bool_),  # LOT: the player to move may not pass
        ("taken_into", np.int8),  # STEAL, GIVE, RECEIVE: the collection that triggered the power
        ("may_give", np.bool_),  # STEAL: the take triggered a prankster too
        ("chosen", np.int8),  # the card to give (RECEIVE) or to bring in (TAKE_OUT); NO_CARD
        ("medals", np.int8, (MAX_PLAYERS, NUM_FAMILIES)),
        # How the last season ended.
        ("owl_family", np.int8),  # NO_FAMILY: not named
        ("season_medals", np.int8, (MAX_PLAYERS, NUM_FAMILIES)),
        ("season_points", np.int8, (MAX_PLAYERS,)),  # with excellence, if it was the last one
        # By card: the last season at whose end it lay open, and the last one at whose end a
        # player's spies had seen it in what was left of the draw pile; 0: none. It cannot be a
        # bonus card that another player has kept since then or earlier.
        ("shown", np.int8, (NUM_CARDS,)),
        ("left_over", np.int8, (MAX_PLAYERS, NUM_CARDS)),
    ],
    align=True,
)


@jit
def collections_each(s):
    """AN-18: how many collections a player has."""
    return 2 if s.num_players == 2 else 1


@jit
def group_size(s):
    """AN-18, AN-19: how many medals of one family make a group."""
    return GROUP_OF_TWO_PLAYERS if s.num_players == 2 else GROUP


@jit
def num_collections(s):
    return int(s.num_players) * collections_each(s)


@jit
def owner_of(s, place):
    """Whose collection it is."""
    return place >> 1 if s.num_players == 2 else place


@jit
def first_collection(s, player):
    """The first of the player's collections; the second, if they have two, comes next."""
    return player * collections_each(s)


@jit
def own_cards(s, player):
    """The set of cards in a player's collections."""
    first = first_collection(s, player)
    return s.collection[first] | s.collection[first + collections_each(s) - 1]


@jit
def collected_cards(s):
    """The set of cards in all collections; those that do not exist are empty."""
    cards = NO_CARDS
    for place in range(MAX_COLLECTIONS):
        cards |= s.collection[place]
    return cards


@jit
def others_cards(s, player):
    """The set of cards in the collections of all others."""
    return collected_cards(s) & ~own_cards(s, player)


@jit
def place_of(s, card):
    """The collection in which the card is; there must be one."""
    place = 0
    while s.collection[place] >> card & 1 == 0:
        place += 1
    return place


@jit
def room_in(s, place):
    """How many cards a collection still lacks."""
    return FULL - count(s.collection[place])


@jit
def room_of(s, player):
    """How many cards fit into one of a player's collections, at most."""
    first = first_collection(s, player)
    return max(room_in(s, first), room_in(s, first + collections_each(s) - 1))


@jit
def is_lot_final(s):
    """AN-5, AN-6: whether the lot gets no more cards: it has three, or as many as its dealer has
    room for, who must take it if nobody else does."""
    size = count(s.lot)
    return size == MAX_LOT or size == room_of(s, s.dealer)


@jit
def is_complete(s, player):
    """AN-9, AN-18: whether a player has no room for another card."""
    return room_of(s, player) == 0


@jit
def num_incomplete(s):
    """How many players are still in phase 1."""
    incomplete = 0
    for player in range(s.num_players):
        incomplete += not is_complete(s, player)
    return incomplete


@jit
def next_incomplete(s, player):
    """AN-7: the next player to the left whose collections are not all complete, perhaps the
    same one; there must be one."""
    player = to_the_left(s, player)
    while is_complete(s, player):
        player = to_the_left(s, player)
    return player


@jit
def next_dealer(s):
    """AN-3: who deals first in the next season, and comes first in phases 2 and 3."""
    return to_the_left(s, int(s.dealer))


@jit
def receiver(s, player, number):
    """AN-14, AN-18: the collection that gets a gift by action ``ACT.give + number``."""
    if s.num_players == 2:
        return first_collection(s, 1 - player) + number
    place = player + 1 + number
    return place if place < s.num_players else place - int(s.num_players)


@jit
def num_receivers(s):
    """How many collections the opponents have."""
    return num_collections(s) - collections_each(s)


@jit
def groups_of(s, player):
    """AN-18, AN-19: how many full groups of medals of one family a player has."""
    groups = 0
    for family in range(NUM_FAMILIES):
        groups += int(s.medals[player, family]) // group_size(s)
    return groups


@jit
def points_of(s, player):
    """AN-19: medals and excellence."""
    points = EXCELLENCE * groups_of(s, player)
    for family in range(NUM_FAMILIES):
        points += int(s.medals[player, family])
    return points


@jit
def standing_of(s, player):
    """AN-19: points; level ones by the most medals of one family."""
    most = 0
    for family in range(NUM_FAMILIES):
        most = max(most, int(s.medals[player, family]))
    return TIE_BREAK * points_of(s, player) + most
