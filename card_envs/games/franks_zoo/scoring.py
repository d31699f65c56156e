"""What a hand of Frank's Zoo brings, and who is ahead: FZ-12, FZ-14, FZ-16, FZ-21 to FZ-24."""

from card_envs.contract import jit
from card_envs.games.franks_zoo.cards import HEDGEHOG, LION
from card_envs.games.franks_zoo.state import NOBODY

ALONE_BONUS = 4  # FZ-21


@jit
def points_for_place(s, place):
    """FZ-12: as many as there are players for the first, one less for each place; 0 for the last.

    FZ-24: the same with three players: 3, 2 and 0.
    """
    return s.num_players - place + 1 if place < s.num_players else 0


@jit
def team_points(s, player):
    """FZ-21: the places of both partners; the one without a partner has their own and a bonus."""
    points = points_for_place(s, s.place[player])
    if s.partner[player] != NOBODY:
        points += points_for_place(s, s.place[s.partner[player]])
    if s.alone == player:
        points += ALONE_BONUS
    return points


@jit
def lion_points(s, player):
    """FZ-22: two or more captured lions score one each; each one left in the hand costs one."""
    lions = s.captured[player, LION]
    return (lions if lions >= 2 else 0) - s.hand[player, LION]


@jit
def hedgehog_points(s, player):
    """FZ-23: who has captured no hedgehog loses a point."""
    return 0 if s.captured[player, HEDGEHOG] > 0 else -1


@jit
def update_ranks(s):
    """FZ-14: by total; of those who are level, the one ranked worse before is ranked better now."""
    for player in range(s.num_players):
        ahead = 0
        for q in range(s.num_players):
            is_level = s.totals[q] == s.totals[player]
            ahead += s.totals[q] > s.totals[player] or (is_level and s.rank[q] > s.rank[player])
        s.standing[player] = s.num_players - ahead
    for player in range(s.num_players):
        s.rank[player] = s.num_players - s.standing[player]


@jit
def is_game_over(s):
    """FZ-16: two have reached the target; FZ-24: with three players one has."""
    count = 0
    for player in range(s.num_players):
        count += s.totals[player] >= s.target_score
    return count >= (1 if s.num_players == 3 else 2)
