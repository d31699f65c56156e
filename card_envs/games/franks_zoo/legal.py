"""Which actions of Frank's Zoo are legal: FZ-7, FZ-8, FZ-18, FZ-19."""

from card_envs.contract import inline, jit
from card_envs.games.franks_zoo.actions import ACT
from card_envs.games.franks_zoo.cards import (
    ENOUGH,
    LAYS_TO_ASK,
    LAYS_TO_PLAY,
    MAY_PLAY,
    NO_LAY,
    NUM_KINDS,
    NUM_LAYS,
    NUM_SETS,
    NUM_TO_ASK,
    NUM_TO_PLAY,
    PACKED,
    TOGETHER,
)
from card_envs.games.franks_zoo.state import ANSWER, EXCHANGE, is_junior, packed


@jit
def legal_action_mask(states, i, out):
    """Write 1 for each action of the player to move that is legal, else 0; returns their number."""
    s = states[i]
    out[:] = 0
    if s.terminated or s.truncated:
        return 0
    player = int(s.current_player)
    hand = packed(s.hand, player)
    last_set = int(s.last_set)
    count = 0
    if s.phase == EXCHANGE:  # FZ-18
        for kind in range(NUM_KINDS):
            count += mark(out, ACT.give + kind, s.hand[player, kind] > (s.gift == kind))
        return count
    if s.phase == ANSWER:  # FZ-19
        for lay in range(NUM_LAYS):
            whole = TOGETHER[s.request, lay]
            if whole != NO_LAY and MAY_PLAY[last_set, whole]:
                count += mark(out, lay, holds(hand, lay))
    elif last_set == NO_LAY:  # FZ-7
        for lay in range(NUM_SETS):
            count += mark(out, lay, holds(hand, lay))
        if count > 0:  # else they hold only the joker
            return count
    else:  # FZ-8
        for k in range(NUM_TO_PLAY[last_set]):
            lay = int(LAYS_TO_PLAY[last_set, k])
            count += mark(out, lay, holds(hand, lay))
        if may_ask(s, player):
            for k in range(NUM_TO_ASK[last_set]):
                lay = int(LAYS_TO_ASK[last_set, k])
                count += mark(out, ACT.ask + lay, holds(hand, lay))
    return count + mark(out, ACT.pass_, True)


@inline
def mark(out, action, legal):
    """Write whether an action is legal, and return it."""
    out[action] = legal
    return legal


@jit
def holds(hand, lay):
    """Whether a packed hand has the cards of a lay."""
    return (hand + ENOUGH - PACKED[lay]) & ENOUGH == ENOUGH


@jit
def may_ask(s, player):
    """FZ-19: whether there is a senior to be asked."""
    return is_junior(s, player) and s.hand_size[s.partner[player]] > 0
