"""Card helpers that more than one game uses."""

from __future__ import annotations

from card_envs.kernels.jit import inline, jit
from card_envs.kernels.rng import draw_below

#: A multiset of up to 15 cards of each kind, packed into one integer: that many bits a kind, those
#: of kind 0 lowest.
PACKED_BITS = 4
_EACH = (1 << PACKED_BITS) - 1


@jit
def shuffle(s, cards, size):
    """Shuffle ``cards[:size]`` in place with the record's random stream (Fisher-Yates)."""
    for last in range(size - 1, 0, -1):
        other = draw_below(s, last + 1)
        cards[last], cards[other] = cards[other], cards[last]


@jit
def lay_out(counts, cards):
    """Write a multiset (``counts[kind]``) as a pile of single cards; returns the pile's size."""
    size = 0
    for kind in range(len(counts)):
        for _ in range(counts[kind]):
            cards[size] = kind
            size += 1
    return size


@jit
def draw_card(s, counts, size):
    """Draw one card at random from a multiset of ``size`` cards; returns its kind.

    Drawing repeatedly from the rest is the same as dealing from a shuffled pile.
    """
    kind = 0
    position = draw_below(s, size)
    while position >= counts[kind]:
        position -= counts[kind]
        kind += 1
    counts[kind] -= 1
    return kind


@jit
def deal_packed(s, pool, counts, place, number):
    """Move this many random cards from a packed multiset to ``counts[place]``; returns the rest."""
    size = count_packed(pool)
    for dealt in range(number):
        kind = draw_packed(s, pool, size - dealt)
        counts[place, kind] += 1
        pool -= 1 << PACKED_BITS * kind
    return pool


@inline
def count_of(pool, kind):
    """How many cards of a kind there are in a packed multiset."""
    return pool >> PACKED_BITS * kind & _EACH


@jit
def count_packed(pool):
    """The number of cards in a packed multiset."""
    size = 0
    while pool > 0:
        size += pool & _EACH
        pool >>= PACKED_BITS
    return size


@jit
def draw_packed(s, pool, size):
    """The kind of a card drawn at random from a packed multiset of ``size`` cards."""
    kind = 0
    position = draw_below(s, size)
    while position >= count_of(pool, kind):
        position -= count_of(pool, kind)
        kind += 1
    return kind
