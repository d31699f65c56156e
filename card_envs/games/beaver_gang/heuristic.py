"""A sensible scripted player of Beaver Gang, who uses only what their seat knows.

They count the cards that they have not seen, and from that what an unknown card is worth and what a
draw gains on average in place of their worst card. They take the discard if it gains more than
that, exchange and swap for the largest gain, and peek at their own unknown cards. They knock when
they expect to be lowest after everybody else's last turn, by a margin with three and more players.
"""

from card_envs.contract import jit
from card_envs.games.beaver_gang.actions import ACT, TARGETS
from card_envs.games.beaver_gang.cards import NUM_KINDS, PEEK, SWAP
from card_envs.games.beaver_gang.knowledge import slot_is_hidden, unseen_count
from card_envs.games.beaver_gang.state import KNOCK, SLOTS, TURN, may_take, owner_of

# A card that its owner chose to keep from the draw pile is worth this, if nothing more is known.
KEPT_VALUE = 2.5
# What a special card in the hand is worth, in points, compared with a number that could be drawn.
PEEK_GAIN = 0.7
DRAW_TWO_GAIN = 2.0
SWAP_GAIN = 1.5
# A swap gives a card to the other player and so harms them; but a small gain is a gamble.
LEAST_SWAP_GAIN = 0.5
# How many points an opponent still gains in their turn after somebody knocked.
LAST_TURN_GAIN = 1.5
# How many points the expected total must be ahead of the best opponent's to knock, with two players
# and with more: each of the others has a turn to get ahead, and the player who knocked has none.
KNOCK_MARGIN_OF_TWO = 0.0
KNOCK_MARGIN = 3.0


@jit
def mean_unseen_number(s, player):
    """The expected value of a number that the player has not seen."""
    cards = 0
    total = 0
    for value in range(SWAP):
        count = unseen_count(s, player, value)
        cards += count
        total += value * count
    return total / cards if cards > 0 else 4.5


@jit
def is_kept(s, owner, slot):
    """Whether the owner saw the card and chose to have it."""
    return s.is_number >> SLOTS * owner + slot & 1 and not slot_is_hidden(s, owner, owner, slot)


@jit
def expected_value(s, player, owner, slot, mean):
    """What the player expects a slot to count. A special is replaced by some number (BG-20)."""
    if not slot_is_hidden(s, player, owner, slot):
        card = s.row[owner, slot]
        return mean if card >= SWAP else float(card)
    if is_kept(s, owner, slot):
        return min(mean, KEPT_VALUE)
    return mean


@jit
def expected_total(s, player, owner, mean):
    total = 0.0
    for slot in range(SLOTS):
        total += expected_value(s, player, owner, slot, mean)
    return total


@jit
def worst_slot(s, player, mean):
    """The own slot of the highest expected value; an unknown one rather than a known one."""
    worst, highest = 0, -1.0
    for slot in range(SLOTS):
        value = expected_value(s, player, player, slot, mean)
        if slot_is_hidden(s, player, player, slot):
            value += 0.1
        if value > highest:
            worst, highest = slot, value
    return worst


@jit
def unknown_slot(s, player):
    """The player's first slot that they do not know, or -1."""
    for slot in range(SLOTS):
        if slot_is_hidden(s, player, player, slot):
            return slot
    return -1


@jit
def expected_draw_gain(s, player, worst):
    """Points gained on average by a card from the draw pile in place of the worst one."""
    cards, gain = 0, 0.0
    for kind in range(NUM_KINDS):
        count = unseen_count(s, player, kind)
        cards += count
        gain += count * gain_of(s, player, worst, kind)
    return gain / cards if cards > 0 else 0.0


@jit
def gain_of(s, player, worst, kind):
    """Points gained by drawing a card of this kind."""
    if kind < SWAP:
        return max(0.0, worst - kind)
    if kind == PEEK:
        return PEEK_GAIN if unknown_slot(s, player) >= 0 else 0.0
    return SWAP_GAIN if kind == SWAP else DRAW_TWO_GAIN


@jit
def best_swap(s, player, mean):
    """The opponents' card of the lowest expected value, as 4 * (places to the left - 1) + slot."""
    best, lowest = 0, 100.0
    for target in range(SLOTS * (int(s.num_players) - 1)):
        owner = owner_of(s, player, target)
        value = expected_value(s, player, owner, target % SLOTS, mean)
        if owner == s.knocker:  # they have no turn left to recover, and are likely ahead
            value -= 0.5
        value += 0.001 * s.scores[owner]  # rather from a player who is ahead in the game
        if value < lowest:
            best, lowest = target, value
    return best


@jit
def heuristic(states, i):
    """The action of the player to move."""
    s = states[i]
    player = s.current_player
    mean = mean_unseen_number(s, player)
    if s.phase == KNOCK:
        return ACT.knock if is_ahead(s, player, mean) else ACT.do_not_knock
    slot = worst_slot(s, player, mean)
    worst = expected_value(s, player, player, slot, mean)
    draw_gain = expected_draw_gain(s, player, worst)
    if s.phase == TURN:
        if may_take(s) and worst - s.discard_top >= max(draw_gain, 0.5):
            return ACT.take + slot
        return ACT.draw
    needed = draw_gain if s.first_of_pair else 0.0
    if s.drawn < SWAP:
        return ACT.exchange + slot if worst - s.drawn > needed else ACT.discard
    if s.drawn == SWAP:
        target = best_swap(s, player, mean)
        owner = owner_of(s, player, target)
        gain = worst - expected_value(s, player, owner, target % SLOTS, mean)
        is_worth_it = gain > max(needed, LEAST_SWAP_GAIN)
        return ACT.swap + TARGETS * slot + target if is_worth_it else ACT.discard
    if s.drawn == PEEK:
        unknown = unknown_slot(s, player)
        return ACT.peek + unknown if unknown >= 0 and needed < PEEK_GAIN else ACT.discard
    return ACT.draw_two


@jit
def is_ahead(s, player, mean):
    """Whether the player expects to be lowest, by the margin, after everybody else's last turn."""
    own = expected_total(s, player, player, mean)
    margin = KNOCK_MARGIN_OF_TWO if s.num_players == 2 else KNOCK_MARGIN
    for other in range(s.num_players):
        if other != player:
            total = expected_total(s, player, other, mean)
            if own + margin > total - LAST_TURN_GAIN:
                return False
    return True
