"""Kernels allocate nothing: no arrays, no lists, no strings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest
from helpers import TABLES, allocations, copy_of, is_over, mask_of, walk

from card_envs.contract.game import Game
from card_envs.kernels.jit import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="plain Python allocates all the time")
#: Games whose kernels are looked at, of each table: some of all habits.
SEEDS = range(8)


def calls_at(
    game: Game, states: np.ndarray, past: np.ndarray | None
) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """A call of every kernel of the game at a position: its name, itself and its arguments."""
    player, num_players = int(states["current_player"][0]), int(states["num_players"][0])
    other, options = copy_of(game, states), game.encode_options({})
    rules = game.rules
    mask = np.zeros(game.num_actions, np.int8)
    yield "reset", rules.reset, (other.copy(), 0, np.uint64(1), num_players, *options)
    yield "determinize", rules.determinize, (other, 0, player, np.uint64(1))
    yield "legal_action_mask", rules.legal_action_mask, (states, 0, mask)
    for out in (np.zeros(game.fields.size, np.float32), np.zeros(game.fields.size, np.uint8)):
        for memory in range(2):
            yield "observe", game.observe, (states, 0, player, memory, 1, out)
    if game.write_state is not None:
        out = np.zeros(game.state_fields.size, np.float32)
        yield "write_state", game.write_state, (states, 0, player, out)
    yield "round_of", game.round_of, (states, 0)
    if game.outlook is not None:
        yield "outlook", game.outlook, (states, 0, player)
    if is_over(states):
        return
    if game.heuristic is not None:
        yield "heuristic", game.heuristic, (states, 0)
    if game.look_back is not None and past is not None:
        yield "look_back", game.look_back, (copy_of(game, past), 0, states, 0, other, 0)
    for action in np.flatnonzero(mask_of(game, states))[:4].tolist():
        yield f"step {action}", rules.step, (copy_of(game, states), 0, action)


@pytest.mark.parametrize(("game", "num_players"), TABLES)
def test_kernels_allocate_nothing(game, num_players):
    for seed in SEEDS:
        past = None
        for states in walk(game, num_players, seed, decisions=60):
            if past is not None and game.round_of(past, 0) != game.round_of(states, 0):
                past = None
            for _, kernel, arguments in calls_at(game, states, past):
                if not kernel.nopython_signatures:  # type: ignore[attr-defined]
                    kernel(*arguments)
            for name, kernel, arguments in calls_at(game, states, past):
                assert allocations(kernel, *arguments) == 0, f"{name} allocates"
            past = copy_of(game, states)


def test_a_kernel_that_allocates_is_caught():
    @numba.njit
    def wasteful(numbers):
        return (numbers + 1.0).sum()

    @numba.njit
    def thrifty(numbers):
        return numbers.sum()

    for kernel in (wasteful, thrifty):
        kernel(np.zeros(3))
    assert allocations(thrifty, np.zeros(3)) == 0
    assert allocations(wasteful, np.zeros(3)) == 1
