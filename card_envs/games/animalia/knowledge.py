"""What players know of hidden cards, and what the hidden cards could be for all that they know.

Hidden are the cards in the draw pile and the others' bonus cards, except for those that a player's
own spies have seen. Bonus cards lie face down before their holders, each from its place in the
deck: who has seen which of them is known to all.
"""

from card_envs.contract import draw_below, jit, reseed
from card_envs.games.animalia.cards import (
    NO_CARDS,
    NUM_CARDS,
    cards_in_play,
    count,
    nth_of,
)
from card_envs.games.animalia.state import NOBODY, TAKE_OUT


@jit
def is_hidden(s, player, place):
    """Whether the player cannot know the card at a place of the deck: undrawn or another's bonus
    card, and not seen by a spy of theirs."""
    holder = int(s.holder[place])
    is_out_of_sight = s.drawn <= place < s.deck_size or (holder != NOBODY and holder != player)
    return is_out_of_sight and s.seen[place] >> player & 1 == 0


@jit
def note_cards(s):
    """At the end of a season: which cards lie open, and which of those left in the draw pile spies
    have seen. None of them can be a bonus card that somebody keeps."""
    for place in range(count(cards_in_play(s.num_players))):
        card = int(s.deck[place])
        if s.drawn <= place < s.deck_size:
            for player in range(s.num_players):
                if s.seen[place] >> player & 1:
                    s.left_over[player, card] = s.season
        elif s.holder[place] == NOBODY:
            s.shown[card] = s.season


@jit
def last_located(s, player, card):
    """The last season at whose end the player knew that nobody else kept the card; 0: none."""
    return max(s.shown[card], s.left_over[player, card])


@jit
def can_be_at(s, player, card, since):
    """Whether a card that the player has not located may be another's bonus card of that season
    (0: in the draw pile)."""
    return since == 0 or last_located(s, player, card) < since


@jit
def determinize(states, i, player, seed):
    """Redraw all that the player cannot know: the draw pile, the others' bonus cards, the one that
    is being brought in, the stream.

    The cards that they have not located are dealt to the hidden places, each arrangement that
    agrees with all that they have ever known as likely as any other. The others forget what their
    spies saw in the draw piles of earlier seasons.
    """
    s = states[i]
    reseed(s, seed)
    deal_hidden_cards(s, player)
    s.bonus[:] = NO_CARDS
    for q in range(s.num_players):
        if q != player:
            s.left_over[q] = 0
    for place in range(NUM_CARDS):
        if s.holder[place] != NOBODY:
            s.bonus[s.holder[place]] |= 1 << int(s.deck[place])
    if s.phase == TAKE_OUT and s.current_player != player:
        held = s.bonus[s.current_player]  # any of them: the others do not see which one it is
        s.chosen = nth_of(held, draw_below(s, count(held)))


@jit
def deal_hidden_cards(s, player):
    """The bonus cards that have been kept longest come first: a card that can be one of them can be
    a later one too, so all arrangements are equally likely. The draw pile comes last."""
    cards = NO_CARDS
    for place in range(NUM_CARDS):
        if is_hidden(s, player, place):
            cards |= 1 << int(s.deck[place])
    for since in range(1, s.season + 1):
        cards = deal_to_places(s, player, since, cards)
    deal_to_places(s, player, 0, cards)


@jit
def deal_to_places(s, player, since, cards):
    """Deal from these cards to the hidden places of bonus cards of one season (0: to the draw
    pile); returns the rest."""
    possible = cards
    for card in range(NUM_CARDS):
        if not can_be_at(s, player, card, since):
            possible &= ~(1 << card)
    for place in range(NUM_CARDS):
        if s.since[place] == since and is_hidden(s, player, place):
            card = nth_of(possible, draw_below(s, count(possible)))
            s.deck[place] = card
            possible &= ~(1 << card)
            cards &= ~(1 << card)
    return cards
