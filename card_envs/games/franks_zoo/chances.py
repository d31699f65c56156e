"""How likely it is that nobody beats a set, as the scripted player reckons."""

from card_envs.contract import count_of, jit
from card_envs.games.franks_zoo.cards import (
    ELEPHANT,
    IS_BEATEN_BY,
    JOKER,
    MOSQUITO,
    NUM_ANIMALS,
    NUM_KINDS,
)

LARGEST_SET = 7  # sets have one to seven cards
#: Animals, and sizes from 0: what ``write_chances_to_win`` needs for each of its two arrays.
CHANCES = (NUM_ANIMALS, LARGEST_SET + 2)


@jit
def write_chances_to_win(s, player, elsewhere, few, wins):
    """Set ``wins[animal, size]``: the chance that no opponent can beat such a set (FZ-8).

    ``few[animal, size]`` is the chance that no opponent can play ``size`` cards of the animal. It
    takes one card more of the animal to beat a set, or the same number of one that beats it.
    """
    for animal in range(NUM_ANIMALS):
        for size in range(LARGEST_SET + 2):
            few[animal, size] = 1.0
    total = 0
    for kind in range(NUM_KINDS):
        total += count_of(elsewhere, kind)
    for q in range(s.num_players):
        size = int(s.hand_size[q])
        if q != player and q != s.partner[player] and size > 0:
            joker = 1.0 - chance_of_none(count_of(elsewhere, JOKER), size, total)
            mosquito = 1.0 - chance_of_none(count_of(elsewhere, MOSQUITO), size, total)
            for animal in range(NUM_ANIMALS):
                cards = count_of(elsewhere, animal)
                if cards > 0:
                    helper = joker
                    if animal == ELEPHANT:
                        helper += (1.0 - joker) * mosquito
                    count_opponent(s, q, animal, cards, total, helper, few)
    for animal in range(NUM_ANIMALS):
        for size in range(1, LARGEST_SET + 1):
            chance = few[animal, size + 1]
            for other in range(NUM_ANIMALS):
                if IS_BEATEN_BY[animal, other]:
                    chance *= few[other, size]
            wins[animal, size] = chance


@jit
def chance_of_none(cards, draws, total):
    """The chance that none of some cards is among those drawn."""
    chance = 1.0
    for k in range(cards):
        chance *= max(0, total - draws - k) / (total - k)
    return chance


@jit
def count_opponent(s, q, animal, cards, total, helper, few):
    """Multiply the chances that q cannot play ``size`` cards of the animal into ``few[animal]``.

    As if the cards that nobody has located were dealt at random (hypergeometric). With the chance
    ``helper`` a card that counts as the animal stands in for one of two or more (FZ-5, FZ-6).
    """
    known = int(s.known[q, animal])
    hidden = cards - known
    draws = int(s.hand_size[q]) - known
    total -= known
    least = max(0, hidden + draws - total)  # that many must be in the hand: too few are elsewhere
    chance = 1.0  # that exactly ``least`` are, then of one more, and so on
    if least == 0:
        for k in range(draws):
            chance *= (total - hidden - k) / (total - k)
    else:
        for k in range(total - draws):
            chance *= (hidden - k) / (total - k)
    fewer = 0.0
    before = 0.0
    for size in range(LARGEST_SET + 2):
        few[animal, size] *= fewer - helper * (fewer - before) if size > 1 else fewer
        before = fewer
        k = size - known
        if k >= least:
            fewer += chance
            if k < hidden and k < draws:
                chance *= (hidden - k) * (draws - k) / ((k + 1) * (total - hidden - draws + k + 1))
            else:
                chance = 0.0
