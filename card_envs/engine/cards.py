"""Card helpers that more than one game uses."""

from __future__ import annotations

from card_envs.engine.jit import jit
from card_envs.engine.rng import draw_below


@jit
def shuffle(s, cards, size):
    """Shuffle ``cards[:size]`` in place with the record's random stream (Fisher-Yates)."""
    for last in range(size - 1, 0, -1):
        other = draw_below(s, last + 1)
        card = cards[last]
        cards[last] = cards[other]
        cards[other] = card


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

    Drawing on from the rest deals as from a shuffled pile.
    """
    kind = 0
    place = draw_below(s, size)
    while place >= counts[kind]:
        place -= counts[kind]
        kind += 1
    counts[kind] -= 1
    return kind
