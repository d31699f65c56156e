"""Errors that an author may make are caught by the shared tests: planted here into this game."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from games.nomination_whist.kit import open_cells, small_positions
from helpers import allocations, begin
from hidden import check_redraws_are_uniform, check_table_tells_what_is_observed
from nomination_whist import GAME

from card_envs.contract.observing import MEMORY_NONE
from card_envs.kernels.jit import COMPILED
from card_envs.render.text import draw


def test_bids_that_are_missing_in_the_text_are_caught():
    def without_bids(states, i, player, memory):
        scene = GAME.scene(states, i, player, memory, False)
        seats = [
            replace(seat, counters=tuple(c for c in seat.counters if c[0] != "bid"))
            for seat in scene.seats
        ]
        return draw(replace(scene, seats=tuple(seats)))

    with pytest.raises(AssertionError, match=r"not in the table in words .*'bid'"):
        check_table_tells_what_is_observed(GAME, 3, GAME.observe, without_bids)


def test_a_field_that_is_wrongly_marked_as_remembered_is_caught():
    """Bids lie open: who forgets them sees them again."""

    def without_bids(states, i, player, memory, features, out):
        GAME.observe(states, i, player, memory, features, out)
        if memory == MEMORY_NONE:
            fields = GAME.fields.unflatten(out)
            fields["bid"][:] = fields["has_bid"][:] = 0

    with pytest.raises(AssertionError, match=r"only observed with memory.*'bid'"):
        check_table_tells_what_is_observed(GAME, 3, without_bids)


def test_a_determinize_that_is_not_uniform_is_caught():
    """It exchanges each card with any other one: the well-known wrong way to shuffle."""

    def naive(states, i, player, seed):
        rng = np.random.default_rng(int(seed))
        place = states["place"][i]
        unseen = np.flatnonzero(open_cells(states, player))
        for card in unseen:
            other = rng.choice(unseen)
            place[card], place[other] = place[other], place[card]

    with pytest.raises(AssertionError, match="not uniform"):  # noqa: PT012
        for states, player, worlds in small_positions():
            check_redraws_are_uniform(GAME, states, player, worlds, naive)


@pytest.mark.skipif(not COMPILED, reason="plain Python allocates all the time")
def test_a_step_that_allocates_is_caught():
    kernel = GAME.rules.step

    @numba.njit
    def wasteful(states, i, action):
        kernel(states, i, action)
        points = np.zeros(len(states[i].points))
        points += states[i].points
        states[i].standing[0] += int(points.sum()) * 0

    for step, expected in ((kernel, 0), (wasteful, 1)):
        for _ in range(2):  # it is compiled at the first call
            states = begin(GAME, 3, 1)
            found = allocations(step, states, 0, 1)
        assert found == expected
