"""The three powers of Animalia: AN-11 to AN-15.

The rulebook says when a power is triggered (AN-11) and what happens to a complete collection that
loses a card (AN-15). What a power does is printed on the player aids, which it leaves out: how
many cards a spy sees, that each kind acts once for a take, the order of the kinds, whom and what a
thief and a prankster may choose, are rulings. All of them are in this file.
"""

from card_envs.contract import inline, jit
from card_envs.games.animalia.actions import ACT
from card_envs.games.animalia.cards import PRANKSTERS, SPIES, THIEVES
from card_envs.games.animalia.state import (
    GIVE,
    NO_CARD,
    RECEIVE,
    STEAL,
    num_receivers,
    others_cards,
    place_of,
    receiver,
    room_in,
)

CARDS_SPIED = 3  # AN-12


@jit
def is_triggered(power, held, lot):
    """AN-11: whether a lot taken into a collection with these cards triggers a power.

    ``power`` is the set of the animals that have it.
    """
    animals = (held | lot) & power
    return (lot & power != 0) & (animals & animals - 1 != 0)  # one in the lot, and another


@jit
def judge_powers(s, player, place, held):
    """AN-11: what the lot triggers, before any power acts. The spy acts at once, then the thief,
    then the prankster. Returns whether one of these decides next.

    ``held`` is what was in the collection ``place`` before the lot was added.
    """
    s.taken_into = place
    s.may_give = is_triggered(PRANKSTERS, held, s.lot)
    if is_triggered(SPIES, held, s.lot):
        spy(s, player)
    if is_triggered(THIEVES, held, s.lot):
        s.phase = STEAL
        return True
    return go_on_to_gift(s)


@jit
def go_on_to_gift(s):
    """AN-11: after the thief, the prankster; returns whether there is one to act."""
    if s.may_give:
        s.phase = GIVE
    return s.may_give


@jit
def spy(s, player):
    """AN-12: look at the next cards of the draw pile; they stay in their places."""
    for place in range(s.drawn, min(s.drawn + CARDS_SPIED, s.deck_size)):
        s.seen[place] |= 1 << player


@inline
def cards_to_steal(s, player):
    """AN-13: the cards that a thief may take, if their collection has room for one."""
    if room_in(s, s.taken_into) == 0:
        return 0
    return others_cards(s, player)


@jit
def steal(s, card):
    """AN-13: take a card out of another's collection into the one that triggered the power."""
    move_card(s, card, place_of(s, card), s.taken_into)


@jit
def move_card(s, card, place, to):
    s.collection[place] &= ~(1 << card)
    s.collection[to] |= 1 << card


@inline
def receivers(s, player):
    """AN-14: which of the opponents' collections can receive a gift: a set of their numbers."""
    able = 0
    for number in range(num_receivers(s)):
        if room_in(s, receiver(s, player, number)) > 0:
            able |= 1 << number
    return able


@inline
def cards_to_give(s, player):
    """AN-14: the cards that a prankster may give, if anybody can receive one."""
    return s.collection[s.taken_into] if receivers(s, player) != 0 else 0


@jit
def give(s, card, place):
    """AN-14: move a card from the collection that triggered the power to another's."""
    move_card(s, card, s.taken_into, place)


@inline
def legal_in_powers(s, player):
    """The set of legal actions while a power is used; it can always be declined, but not at the
    choice of the receiver."""
    if s.phase == STEAL:
        return 1 << ACT.pass_ | cards_to_steal(s, player) << ACT.card
    if s.phase == GIVE:
        return 1 << ACT.pass_ | cards_to_give(s, player) << ACT.card
    return receivers(s, player) << ACT.give


@jit
def use_power(s, player, action):
    """Carry out a decision about a power; returns whether another one follows."""
    if s.phase == STEAL:
        if action != ACT.pass_:
            steal(s, action - ACT.card)
        return go_on_to_gift(s)
    if s.phase == GIVE:
        if action == ACT.pass_:
            return False
        s.chosen = action - ACT.card
        s.phase = RECEIVE
        return True
    give(s, int(s.chosen), receiver(s, player, action - ACT.give))
    s.chosen = NO_CARD
    return False
