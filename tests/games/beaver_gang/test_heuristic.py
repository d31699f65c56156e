"""The scripted player of Beaver Gang: when it knocks."""

from __future__ import annotations

import pytest
from games.beaver_gang.table import Table

from card_envs.games import load_game
from card_envs.games.beaver_gang.actions import ACT
from card_envs.games.beaver_gang.state import KNOCK

GAME = load_game("beaver_gang")


@pytest.mark.parametrize(
    ("num_players", "row", "expected"),
    [(2, "5444", ACT.knock), (2, "5555", ACT.do_not_knock)]
    + [(n, "5444", ACT.do_not_knock) for n in range(3, 7)]
    + [(n, "3331", ACT.knock) for n in range(3, 7)],
)
def test_it_knocks_if_it_is_well_ahead_of_all_others(num_players, row, expected):
    """Of nobody else it knows a card. Against several players it takes a lead of 3 points more."""
    others = ["7777", "8888", "2222", "6666", "0000"][: num_players - 1]
    table = Table.lay_out(
        row,
        *others,
        known={0: 0b1111},
        phase=KNOCK,
        current_player=0,
        turns=num_players,
    )
    assert GAME.heuristic(table.states, 0) == expected
