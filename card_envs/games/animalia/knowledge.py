"""What players know of hidden cards, and what the hidden cards could be for all that they know.

Hidden are the cards in the draw pile and the others' bonus cards, but for those that one's own
spies have seen. Bonus cards lie face down before their holders, each from its place in the deck:
who has seen which of them is known to all.
"""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.engine.rng import draw_below, mix, seed_stream
from card_envs.games.animalia.cards import NO_CARDS, NUM_CARDS
from card_envs.games.animalia.state import NO_CARD, NOBODY, TAKE_OUT


@jit
def is_hidden(s, player, place):
    """Whether the player cannot know the card at a place of the deck: undrawn or another's bonus
    card, and not seen by a spy of his."""
    holder = int(s.holder[place])
    is_out_of_sight = s.drawn <= place < s.deck_size or (holder != NOBODY and holder != player)
    return is_out_of_sight and s.seen[place] >> player & 1 == 0


@jit
def hidden_cards(s, player):
    """The set of cards that the player has not located."""
    cards = NO_CARDS
    for place in range(NUM_CARDS):
        if is_hidden(s, player, place):
            cards |= 1 << int(s.deck[place])
    return cards


@jit
def determinize(states, i, player, seed):
    """Redraw all that the player cannot know: the draw pile, the others' bonus cards, the one that
    is being brought in, the stream.

    The cards that he has not located are dealt to the hidden places anew, each arrangement as
    likely as the next.
    """
    s = states[i]
    s.seed = mix(seed)
    seed_stream(s, s.seed, 0)
    shuffle_hidden_cards(s, player)
    for q in range(s.num_players):
        s.bonus[q] = NO_CARDS
    for place in range(NUM_CARDS):
        if s.holder[place] != NOBODY:
            s.bonus[s.holder[place]] |= 1 << int(s.deck[place])
    if s.phase == TAKE_OUT and s.current_player != player:
        s.chosen = random_bonus_card(s, int(s.current_player))


@jit
def shuffle_hidden_cards(s, player):
    """Exchange the cards at hidden places: each with a random one of those before it or itself."""
    hidden = 0
    for place in range(NUM_CARDS):
        if is_hidden(s, player, place):
            other = nth_hidden(s, player, draw_below(s, hidden + 1))
            card = s.deck[place]
            s.deck[place] = s.deck[other]
            s.deck[other] = card
            hidden += 1


@jit
def nth_hidden(s, player, number):
    """The hidden place with that many before it."""
    place = 0
    while number > 0 or not is_hidden(s, player, place):
        number -= is_hidden(s, player, place)
        place += 1
    return place


@jit
def random_bonus_card(s, player):
    """Any bonus card of a player: the others do not see which one he is bringing in."""
    held = 0
    for place in range(NUM_CARDS):
        held += s.holder[place] == player
    number = draw_below(s, held)
    for place in range(NUM_CARDS):
        if s.holder[place] == player:
            if number == 0:
                return s.deck[place]
            number -= 1
    return NO_CARD
