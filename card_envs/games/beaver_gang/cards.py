"""The cards of Beaver Gang: BG-1.

A card is a small integer, its *kind*: 0 to 9 are the numbers, which count as much as they say;
then come the specials.
"""

from card_envs.contract import PACKED_BITS

SWAP, PEEK, DRAW_TWO = 10, 11, 12  # a kind below SWAP is a number
NUM_KINDS = 13
KIND_NAMES = (*map(str, range(SWAP)), "swap", "peek", "draw two")
NO_CARD = -1

DECK = (4, 4, 4, 4, 4, 4, 4, 4, 4, 9, 9, 7, 5)  # how many of each kind
DECK_SIZE = sum(DECK)

# Of packed multisets.
ALL_KINDS = (1 << PACKED_BITS * NUM_KINDS) - 1
ALL_NUMBERS = (1 << PACKED_BITS * SWAP) - 1
