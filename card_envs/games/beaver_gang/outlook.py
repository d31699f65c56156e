"""What a standing between rounds is worth, for search: nothing here is a rule."""

from card_envs.contract import jit, promise

# Of the difference between two players' points in a round, among good players.
_VARIANCE = 61.0


@jit
def round_of(states, i):
    """How many rounds are finished."""
    return int(states[i]["round"])


@jit
def outlook(states, i, player):
    """The rank reward that the totals promise, at the end of a round."""
    s = states[i]
    left = int(s.rounds) - int(s["round"])
    total = 0.0
    for other in range(s.num_players):
        if other != player:
            lead = float(s.scores[other]) - float(s.scores[player])
            total += promise(lead, left * _VARIANCE)
    return total / (s.num_players - 1)
