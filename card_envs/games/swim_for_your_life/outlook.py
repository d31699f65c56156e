"""For search, nothing here is a rule: what a standing between rounds is worth, and what a player
knew earlier in a redrawn world."""

from card_envs.contract import jit, promise
from card_envs.games.swim_for_your_life.cards import NUM_ANIMALS

# Among good players: of the difference between the lives that two lose in a round, and their mean.
_VARIANCE = 1.6
_LOSS = 0.8


@jit
def round_of(states, i):
    """How many rounds are finished."""
    return int(states[i]["round"])


@jit
def outlook(states, i, player):
    """The rank reward that the lives promise, at the end of a round."""
    s = states[i]
    total = 0.0
    for other in range(s.num_players):
        if other != player:
            fewer = min(int(s.lives[player]), int(s.lives[other]))
            lead = float(s.lives[player]) - float(s.lives[other])
            if fewer == 0:  # who is out is behind, and of two the one who was out first
                lead = float(s.standing[player]) - float(s.standing[other])
            total += promise(lead, fewer / _LOSS * _VARIANCE)
    return total / (s.num_players - 1)


@jit
def look_back(past, k, states, i, worlds, j):
    """Make an earlier decision agree with a redrawn world: the player to move held what they hold
    in that world, but for what they have exchanged since, which all have seen."""
    before, now, world = past[k], states[i], worlds[j]
    player = before.current_player
    for animal in range(NUM_ANIMALS):
        exchanged = int(before.hand[player, animal]) - int(now.hand[player, animal])
        before.hand[player, animal] = world.hand[player, animal] + exchanged
    return True
