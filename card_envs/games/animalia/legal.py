"""Which actions of Animalia are legal: AN-4 to AN-8, AN-17; for the powers see ``powers.py``."""

from card_envs.contract import inline, jit
from card_envs.games.animalia.actions import ACT, ACTIONS
from card_envs.games.animalia.cards import NUM_FAMILIES, count
from card_envs.games.animalia.powers import legal_in_powers
from card_envs.games.animalia.state import (
    BRING_IN,
    LOT,
    OWL_FAMILY,
    TAKE_OUT,
    collections_each,
    first_collection,
    own_cards,
    room_in,
)

NUM_ACTIONS = ACTIONS.size


@jit
def legal_action_mask(states, i, out):
    """Write 1 for each action of the player to move that is legal, else 0; returns their number."""
    s = states[i]
    legal = 0
    if not (s.terminated or s.truncated):
        legal = legal_actions(s)
    for action in range(NUM_ACTIONS):
        out[action] = legal >> action & 1
    return count(legal)


@inline
def legal_actions(s):
    """The set of legal actions of the player to move: bit a is set if action a is legal."""
    player = int(s.current_player)
    if s.phase == LOT:
        return legal_with_lot(s, player)
    if s.phase == BRING_IN:  # AN-17
        return 1 << ACT.pass_ | s.bonus[player] << ACT.card
    if s.phase == TAKE_OUT:
        return own_cards(s, player) << ACT.card
    if s.phase == OWL_FAMILY:
        return (1 << NUM_FAMILIES) - 1 << ACT.owl
    return legal_in_powers(s, player)


@jit
def legal_with_lot(s, player):
    """AN-4, AN-6: to pass, unless they must take it; and collections with room for the lot."""
    legal = 0 if s.must_take else 1 << ACT.pass_
    first = first_collection(s, player)
    for number in range(collections_each(s)):
        if room_in(s, first + number) >= count(s.lot):
            legal |= 1 << ACT.take + number
    return legal
