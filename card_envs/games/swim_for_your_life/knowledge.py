"""What players know of hidden cards, and what the hidden cards could be for all that they know.

From the exchanges everybody can tell how many cards of each animal a hand holds at least
(``least``) and how many hares, pigs and cats it holds at most (``most``). Nothing else is known of
the others' hands, and nothing of the cards that are left over.
"""

from card_envs.contract import jit, reseed
from card_envs.games.swim_for_your_life.cards import (
    DECK_COUNTS,
    HARE,
    NUM_ANIMALS,
    NUM_SETS,
)
from card_envs.games.swim_for_your_life.state import deal, means_sudden_death


@jit
def know_nothing(s, player):
    """Nothing is known of the hand but the deck; players who are out have none."""
    s.least[player] = 0
    for k in range(NUM_SETS):
        s.most[player, k] = DECK_COUNTS[HARE + k] if s.lives[player] > 0 else 0


@jit
def know_exchange(s, player, animal, laid_down, taken):
    """Cards of an animal are gone from the hand, and others have come into it."""
    s.least[player, animal] = max(0, s.least[player, animal] - laid_down) + taken
    if animal >= HARE and animal < HARE + NUM_SETS:
        s.most[player, animal - HARE] += taken - laid_down


@jit
def know_no_set(s, player):
    """If the round continues after an exchange, the hand holds no set of sudden death (SW-9)."""
    for k in range(NUM_SETS):
        most = DECK_COUNTS[HARE + k]
        if means_sudden_death(s, HARE + k):
            most -= 1
        s.most[player, k] = min(s.most[player, k], most)


@jit
def know_hand(s, player):
    """A hand that is shown."""
    for animal in range(NUM_ANIMALS):
        s.least[player, animal] = s.hand[player, animal]
    for k in range(NUM_SETS):
        s.most[player, k] = s.hand[player, HARE + k]


@jit
def unknown_cards(s, player):
    """How many cards of a hand are not known to everybody."""
    count = 0
    for animal in range(NUM_ANIMALS):
        count += s.hand[player, animal] - s.least[player, animal]
    return count


@jit
def determinize(states, i, player, seed):
    """Redraw all that the player cannot know: the others' hands, what is left over, the stream.

    The cards that they have not located are dealt to the hidden places again and again, until
    nobody holds more of an animal than is possible: every arrangement that agrees with ``least``
    and ``most`` is equally likely. The result follows from what the player knows and from the seed
    alone: each deal begins with all hidden cards in one pool.
    """
    s = states[i]
    reseed(s, seed)
    deal_hidden_cards(s, player)
    while not hands_are_possible(s, player):
        deal_hidden_cards(s, player)


@jit
def deal_hidden_cards(s, player):
    """Return the others' unknown cards to those left over, then deal each as many again."""
    hidden = 0
    for animal in range(NUM_ANIMALS):
        for q in range(s.num_players):
            if q != player:
                s.left_over[animal] += s.hand[q, animal] - s.least[q, animal]
        hidden += s.left_over[animal]
    for q in range(s.num_players):
        if q != player:
            unknown = unknown_cards(s, q)
            for animal in range(NUM_ANIMALS):
                s.hand[q, animal] = s.least[q, animal]
            deal(s, s.hand, q, unknown, hidden)
            hidden -= unknown


@jit
def hands_are_possible(s, player):
    """Whether no other hand has more of an animal of sudden death than it can have."""
    for q in range(s.num_players):
        if q != player:
            for k in range(NUM_SETS):
                if s.hand[q, HARE + k] > s.most[q, k]:
                    return False
    return True
