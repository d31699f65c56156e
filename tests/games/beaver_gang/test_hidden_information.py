"""Beaver Gang: what is hidden in it is redrawn evenly, and what a player sees without memory."""

from __future__ import annotations

import numpy as np
import pytest
from games.beaver_gang.kit import cells, open_cells
from helpers import begin, each_size, is_over, mask_of, observation_of
from hidden import redrawn

from card_envs.games import load_game

GAME = load_game("beaver_gang")


def test_redrawing_is_uniform_over_all_that_the_player_holds_possible():
    """Uniform random play says nothing about hidden cards beyond the rules.

    So among many positions of such play the true hidden cards and the redrawn ones must be
    distributed alike, in every class of places. The differences of paired counts are compared
    with their own spread.
    """
    kinds = 13
    differences: dict[str, list[np.ndarray]] = {}
    for seed in range(400):
        n = 2 + seed % 5
        states = begin(GAME, n, seed)
        rng = np.random.default_rng(seed)
        for number in range(200):
            legal = np.flatnonzero(mask_of(GAME, states))
            legal = legal[legal != 95] if len(legal) > 1 else legal  # long rounds
            if number % 3:
                legal = legal[legal >= 4]  # take less, draw more: BG-17 comes sooner
            GAME.rules.step(states, 0, int(rng.choice(legal)))
            if number % 50 != 49 or is_over(states):
                continue
            player = seed % n
            is_open, _ = open_cells(states, player)
            s = states[0]
            slots = np.arange(24)
            number_slot = np.array([bool(s["is_number"] >> p & 1) for p in slots])
            older = np.zeros(24, bool)
            older[: 4 * n] = s["filling_of"][:n].ravel() != s["filling"]
            classes = {
                "number": slots[is_open[:24] & number_slot],
                "any": slots[is_open[:24] & ~number_slot & ~older],
                "older": slots[is_open[:24] & ~number_slot & older],
                "drawn": np.array([24])[is_open[24:25]],
                "top": np.array([24 + s["draw_size"]])[: int(s["draw_size"] > 0)],
            }
            other = redrawn(GAME, states, player, seed, GAME.rules.determinize)
            true, drawn = cells(states), cells(other)
            for name, places in classes.items():
                if len(places):
                    counts = np.bincount(true[places], minlength=kinds)
                    differences.setdefault(name, []).append(
                        counts - np.bincount(drawn[places], minlength=kinds)
                    )
    assert {name: len(of) > 60 for name, of in differences.items()} == dict.fromkeys(
        ["number", "any", "older", "drawn", "top"], True
    ), {name: len(of) for name, of in differences.items()}
    for name, of in differences.items():
        paired = np.array(of, float)
        error = np.sqrt((paired**2).sum(axis=0)).clip(1.0)
        assert np.abs(paired.sum(axis=0) / error).max() < 4.0, name
        assert (paired != 0).any(), name


@pytest.mark.parametrize("num_players", each_size(2, 6))
def test_without_memory_it_shows_what_is_visible_at_this_moment(num_players):
    """The rules file: outer cards in the first observation of a round, the drawn card while its
    player decides on it, a peeked card in their next observation, and then no more."""
    shown = {"outer": 0, "peeked": 0, "drawn": 0, "nothing": 0}
    for seed in range(80 // num_players):
        visible: list[dict[int, str]] = []
        this_round = -1
        states = begin(GAME, num_players, seed, rounds=3)
        rng = np.random.default_rng(seed)
        while not is_over(states):
            s = states[0]
            if s["round"] != this_round:
                this_round = int(s["round"])
                visible = [{4 * p: "outer", 4 * p + 3: "outer"} for p in range(num_players)]
            mover = int(s["current_player"])
            for player in range(num_players):
                observation = observation_of(GAME, states, player, memory="none")
                seen = GAME.fields.unflatten(observation)
                for place in range(4 * num_players):
                    owner, slot = divmod(place, 4)
                    card = int(s["row"][owner, slot])
                    look = seen["rows"][(owner - player) % num_players, slot]
                    is_visible = place in visible[player]
                    expected = np.zeros(4, np.float32)
                    if is_visible:
                        expected[:] = (1.0, card / 9, 0.0, 0.0)
                        if card >= 10:
                            expected[:] = (1.0, 0.0, 1.0, (card - 10) / 2)
                        shown[visible[player][place]] += 1
                    assert np.array_equal(look, expected)
                    if owner == player:
                        own = np.zeros(14, np.float32)
                        own[card if is_visible else 13] = 1.0
                        assert np.array_equal(seen["own_row"][slot], own)
                drawn = np.zeros(14, np.float32)
                drawn[s["drawn"] + 1 if player == mover else 0] = 1.0
                assert np.array_equal(seen["drawn"], drawn)
                shown["drawn"] += player == mover and s["drawn"] >= 0
                shown["nothing"] += not visible[player]
            action = int(rng.choice(np.flatnonzero(mask_of(GAME, states))))
            visible[mover] = {}  # they have had this observation
            if action < 4 or 6 <= action < 10:
                gone = 4 * mover + (action if action < 4 else action - 6)
                for view in visible:
                    view.pop(gone, None)
            elif 10 <= action < 90:
                slot, target = divmod(action - 10, 20)
                here = 4 * mover + slot
                there = 4 * ((mover + 1 + target // 4) % num_players) + target % 4
                moved = {here: there, there: here}
                visible = [{moved.get(p, p): why for p, why in view.items()} for view in visible]
            elif 90 <= action < 94:
                visible[mover][4 * mover + action - 90] = "peeked"
            GAME.rules.step(states, 0, action)
    assert min(shown.values()) > 20, shown
