"""What players know of hidden cards, and what those could be given all that they know."""

from card_envs.contract import PACKED_BITS, deal_packed, draw_packed, index, jit, reseed
from card_envs.games.franks_zoo.cards import (
    LAY_CARDS,
    NO_LAY,
    NUM_KINDS,
    PACKED,
    PACKED_DECK,
    PACKED_DECK_OF_THREE,
)
from card_envs.games.franks_zoo.state import (
    NO_CARD,
    NOBODY,
    cards_in,
    packed,
)


@jit
def count_elsewhere(s, player, hand, remembers):
    """The cards that others may have, packed: all that the player, whose packed hand this is, has
    not seen, or with ``remembers`` false does not see now."""
    cards = PACKED_DECK_OF_THREE if s.num_players == 3 else PACKED_DECK
    cards -= hand
    for kind in range(NUM_KINDS):
        cards -= int(s.played[kind] if remembers else s.trick[kind]) << PACKED_BITS * kind
    if s.request != NO_LAY:
        cards -= PACKED[index(s.request)]
    if remembers and s.alone == player:
        cards -= packed(s.given, player)
    return cards


@jit
def known_of(s, player, q, kind):
    """How many cards of a kind the player knows to be in the hand of another one, q.

    Of their partner's hand they also know the cards that they gave, less those of the kind that
    have gone out of it since.
    """
    known = int(s.known[q, kind])
    if s.partner[q] == player:
        known = max(known, int(s.given[player, kind]) - gone_since(s, q, kind))
    return known


@jit
def gone_since(s, player, kind):
    """How many cards of a kind have gone out of a hand since the partner's two came into it."""
    gone = int(s.played_by[player, kind])
    if s.is_senior[player] == 1:  # a senior gives two cards after receiving two
        gone += int(s.given[player, kind])
    if s.asker == player:
        gone += int(LAY_CARDS[s.request, kind])
    return gone


@jit
def had_since(s, player):
    """All that a player has had in hand since the partner's two cards came into it, packed."""
    cards = 0
    for kind in range(NUM_KINDS):
        cards |= int(s.hand[player, kind]) + gone_since(s, player, kind) << PACKED_BITS * kind
    return cards


@jit
def determinize(states, i, player, seed):
    """Redraw all that the player cannot know: other hands, what others have given to each other
    or laid down (FZ-18), the card that another one has chosen to give, the stream.

    The cards that the player has not located are dealt to the hidden places again, uniformly. The
    result depends on what the player knows and on the seed alone.
    """
    s = states[i]
    reseed(s, seed)
    deal_hidden_cards(s, player)
    for senior in range(s.num_players):
        if s.is_senior[senior] == 1 and player != senior and player != s.partner[senior]:
            redraw_gifts(s, senior)
    if s.gift != NO_CARD and s.current_player != player:
        giver = int(s.current_player)
        s.gift = draw_packed(s, packed(s.hand, giver), int(s.hand_size[giver]))


@jit
def deal_hidden_cards(s, player):
    """Deal the cards that the player has not located to the others, and to what the one without a
    partner has laid down."""
    hides_given = s.alone != NOBODY and s.alone != player
    pool = packed(s.given, s.alone) if hides_given else 0
    for q in range(s.num_players):
        if q != player:
            for kind in range(NUM_KINDS):
                unknown = int(s.hand[q, kind]) - known_of(s, player, q, kind)
                pool += unknown << PACKED_BITS * kind
    for q in range(s.num_players):
        if q != player:
            unknown = int(s.hand_size[q])
            for kind in range(NUM_KINDS):
                s.hand[q, kind] = known_of(s, player, q, kind)
                unknown -= int(s.hand[q, kind])
            pool = deal_packed(s, pool, s.hand, q, unknown)
    if hides_given and pool > 0:
        draw_gifts(s, s.alone, pool)


@jit
def redraw_gifts(s, senior):
    """What two partners have given each other: any of the cards that the other has had since."""
    junior = int(s.partner[senior])
    if cards_in(s.given, senior) > 0:
        draw_gifts(s, senior, had_since(s, junior))
    if cards_in(s.given, junior) > 0:
        draw_gifts(s, junior, had_since(s, senior))


@jit
def draw_gifts(s, player, pool):
    """Two random cards of a packed pool are what the player has given, or laid down."""
    s.given[player] = 0
    deal_packed(s, pool, s.given, player, 2)
