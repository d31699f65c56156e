"""For search, nothing here is a rule: what a standing between hands is worth, and what a player
knew earlier in a redrawn world."""

from card_envs.contract import jit, promise
from card_envs.games.franks_zoo.cards import NUM_KINDS
from card_envs.games.franks_zoo.state import EXCHANGE

# Among good players: of the difference between two players' points in a hand, and their mean.
_VARIANCE = 13.7
_POINTS_OF_THREE, _POINTS = 2.1, 4.8


@jit
def round_of(states, i):
    """The number of the hand."""
    return int(states[i].hand_number)


@jit
def outlook(states, i, player):
    """The rank reward that the totals promise, at the end of a hand."""
    s = states[i]
    first = second = 0
    for other in range(s.num_players):
        points = int(s.totals[other])
        if points > first:
            first, second = points, first
        elif points > second:
            second = points
    # FZ-16, FZ-24: whose total ends the game.
    deciding, each = (first, _POINTS_OF_THREE) if s.num_players == 3 else (second, _POINTS)
    left = 0.0
    if deciding < s.target_score:
        left = max(1.0, (int(s.target_score) - deciding) / each)
    total = 0.0
    for other in range(s.num_players):
        if other != player:
            lead = float(s.totals[player]) - float(s.totals[other])
            total += promise(lead, left * _VARIANCE)
    return total / (s.num_players - 1)


@jit
def look_back(past, k, states, i, worlds, j):
    """Make an earlier decision agree with a redrawn world: the player to move held what they hold
    in that world, and all that they have played since.

    Nothing can be said of the exchange, in which cards go from hand to hand unseen.
    """
    before, now, world = past[k], states[i], worlds[j]
    if before.phase == EXCHANGE:
        return False
    player = before.current_player
    for kind in range(NUM_KINDS):
        played = int(before.hand[player, kind]) - int(now.hand[player, kind])
        before.hand[player, kind] = world.hand[player, kind] + played
        for giver in range(before.num_players):
            before.given[giver, kind] = world.given[giver, kind]
    return True
