"""What a standing between seasons promises, as searches value it."""

from __future__ import annotations

import numpy as np
import pytest

from card_envs.games import load_game

GAME = load_game("animalia")


def standing(num_players, season, medals):
    """The outlook of each player, whose medals these are by family, before a season."""
    states = GAME.new_states(1)
    GAME.rules.reset(states, 0, np.uint64(0), num_players, *GAME.encode_options({}))
    states["season"] = season
    for player, own in enumerate(medals):
        states["medals"][0, player] = own
    return states, [GAME.outlook(states, 0, player) for player in range(num_players)]


@pytest.mark.parametrize("num_players", [2, 4])
def test_medals_of_one_family_promise_more_than_as_many_of_several(num_players):
    others = [[1, 1, 1, 1, 0]] * (num_players - 1)
    for season in (2, 3):
        states, outlooks = standing(num_players, season, [[4, 0, 0, 0, 0], *others])
        assert outlooks[0] > 0.1
        assert max(outlooks[1:]) < 0
        states["terminated"] = True  # then points alone count
        assert GAME.outlook(states, 0, 0) == 0


@pytest.mark.parametrize("num_players", [2, 4])
def test_a_lead_promises_more_the_later_it_is(num_players):
    leads = [standing(num_players, season, [[0, 0, 0, 0, 3]])[1][0] for season in (1, 2, 3)]
    assert 0 < leads[0] < leads[1] < 1


def test_a_full_group_is_worth_more_than_one_that_lacks_a_medal():
    for num_players, group in ((2, 7), (4, 5)):
        values = [
            standing(num_players, 3, [[count, 0, 0, 0, 0]])[1][0] for count in range(group + 1)
        ]
        assert values == sorted(values)
        assert values[group] > values[group - 1] > values[1]
