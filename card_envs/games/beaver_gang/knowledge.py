"""What players know of hidden cards, and what the hidden cards could be for all that they know.

Hidden from a player are the cards in slots that they do not know, a card that another player has
drawn, and the draw pile.
"""

from card_envs.contract import (
    PACKED_BITS,
    count_of,
    count_packed,
    draw_packed,
    jit,
    reseed,
    shuffle,
)
from card_envs.games.beaver_gang.cards import (
    ALL_KINDS,
    ALL_NUMBERS,
    DECK,
    DRAW_TWO,
    NO_CARD,
    NUM_KINDS,
)
from card_envs.games.beaver_gang.state import SLOTS


@jit
def slot_is_hidden(s, player, owner, slot):
    return s.known[player] >> SLOTS * owner + slot & 1 == 0


@jit
def drawn_card_is_hidden(s, player):
    return s.drawn != NO_CARD and s.current_player != player


@jit
def unseen_count(s, player, kind):
    """How many cards of a kind are hidden from the player."""
    count = DECK[kind] - int(s.discard_counts[kind])
    if kind == DRAW_TWO:
        count -= int(s.draw_twos)
    if s.drawn == kind and s.current_player == player:
        count -= 1
    for owner in range(s.num_players):
        for slot in range(SLOTS):
            if s.row[owner, slot] == kind and not slot_is_hidden(s, player, owner, slot):
                count -= 1
    return count


@jit
def determinize(states, i, player, seed):
    """Redraw all that the player cannot know: slots, the drawn card, the draw pile, the stream.

    The player knows which cards are hidden from them, from which filling of the draw pile each
    came, and that one exchanged from the draw pile is a number (BG-10). So the hidden cards of each
    filling are dealt again to its places: first to those that are known to hold a number. All
    arrangements that agree with what the player knows are equally likely.
    """
    s = states[i]
    reseed(s, seed)
    for filling in range(s.filling):
        slots = hidden_slots(s, player, filling)
        deal_to_slots(s, slots, cards_in_slots(s, slots))
    slots = hidden_slots(s, player, s.filling)
    pool = cards_in_slots(s, slots) + cards_to_come(s, player)
    pool = deal_to_slots(s, slots, pool)
    if drawn_card_is_hidden(s, player):
        s.drawn = draw_packed(s, pool, count_packed(pool))
        pool -= packed(s.drawn)
    become_draw_pile(s, pool)


@jit
def hidden_slots(s, player, filling):
    """The set of slots with cards of that filling that the player does not know."""
    places = 0
    for owner in range(s.num_players):
        for slot in range(SLOTS):
            if s.filling_of[owner, slot] == filling and slot_is_hidden(s, player, owner, slot):
                places |= 1 << SLOTS * owner + slot
    return places


@jit
def packed(card):
    """One card as a packed multiset."""
    return 1 << PACKED_BITS * int(card)


@jit
def cards_in_slots(s, places):
    """The cards at a set of places, packed."""
    pool = 0
    for owner in range(s.num_players):
        for slot in range(SLOTS):
            if places >> SLOTS * owner + slot & 1:
                pool += packed(s.row[owner, slot])
    return pool


@jit
def cards_to_come(s, player):
    """The cards in the draw pile, and the drawn card if the player does not see it, packed."""
    pool = packed(s.drawn) if drawn_card_is_hidden(s, player) else 0
    for place in range(s.draw_size):
        pool += packed(s.draw_pile[place])
    return pool


@jit
def deal_to_slots(s, places, pool):
    """Deal from the pool to a set of places; returns the rest of it.

    What must hold a number comes first: each number is as likely there as any other.
    """
    pool = deal_from(s, places & s.is_number, pool, ALL_NUMBERS)
    return deal_from(s, places & ~s.is_number, pool, ALL_KINDS)


@jit
def deal_from(s, places, pool, kinds):
    """Deal cards of these kinds from the pool to a set of places; returns the rest of it."""
    for owner in range(s.num_players):
        for slot in range(SLOTS):
            if places >> SLOTS * owner + slot & 1:
                of_kinds = pool & kinds
                card = draw_packed(s, of_kinds, count_packed(of_kinds))
                s.row[owner, slot] = card
                pool -= packed(card)
    return pool


@jit
def become_draw_pile(s, pool):
    """The cards of the pool, shuffled, are the draw pile.

    The rest of the array, which could tell of an earlier order, is cleared.
    """
    s.draw_pile[:] = NO_CARD
    place = 0
    for kind in range(NUM_KINDS):
        for _ in range(count_of(pool, kind)):
            s.draw_pile[place] = kind
            place += 1
    shuffle(s, s.draw_pile, s.draw_size)
