"""The scripted player of Swim for Your Life: the hands that it reckons with."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from games.swim_for_your_life.table import Table
from helpers import each_size, is_over, mask_of

from card_envs.games import load_game
from card_envs.games.swim_for_your_life.actions import ACT
from card_envs.games.swim_for_your_life.cards import DECK, HARE, NUM_SETS, VALUES

GAME = load_game("swim_for_your_life")
# The package exports a function of the same name as the module.
scripted = sys.modules["card_envs.games.swim_for_your_life.heuristic"]


def expected_fewer(states: np.ndarray, player: int, q: int, animal: int) -> np.ndarray:
    """Hypergeometric: by k, the chance that q holds fewer than k cards of the animal."""
    s = states[0]
    n = int(s["num_players"])
    unseen = s["left_over"].astype(int)
    for other in range(n):
        if other != player:
            unseen = unseen + s["hand"][other] - s["least"][other]
    size, hidden = int(unseen.sum()), int(unseen[animal])
    draws = int((s["hand"][q] - s["least"][q]).sum())
    chances = [
        math.comb(hidden, k) * math.comb(size - hidden, draws - k) if k <= draws else 0
        for k in range(10)
    ]
    least = int(s["least"][q, animal])
    fewer = [sum(chances[: max(0, k - least)]) / math.comb(size, draws) for k in range(11)]
    if HARE <= animal < HARE + NUM_SETS:
        possible = fewer[int(s["most"][q, animal - HARE]) + 1]
        fewer = [min(1.0, share / possible) for share in fewer]
    return np.array(fewer)


@pytest.mark.parametrize("num_players", each_size(2, 5))
def test_the_hands_are_those_of_cards_dealt_at_random(num_players):
    """Also where a hand must hold some of the cards: of five players nothing is left over."""
    rng = np.random.default_rng(num_players)
    seen = forced = 0
    for seed in range(3):
        states = Table(num_players, seed).states
        while not is_over(states) and seen < 60 * (seed + 1):
            record = GAME.as_states(states)[0]
            player = int(states[0]["current_player"])
            unseen = scripted.unseen_cards(record, player)
            for q in range(num_players):
                if q != player and states[0]["lives"][q] > 0:
                    for animal in range(10):
                        fewer = np.zeros((5, 11))
                        scripted.estimate_hand(record, q, animal, unseen, fewer)
                        expected = expected_fewer(states, player, q, animal)
                        np.testing.assert_allclose(fewer[q], expected, atol=1e-9)
                        forced += expected[int(states[0]["least"][q, animal]) + 1] == 0
            seen += 1
            legal = np.flatnonzero(mask_of(GAME, states))
            GAME.rules.step(states, 0, int(rng.choice(legal)))
    assert seen > 100
    assert forced > 0 or num_players < 5


@pytest.mark.parametrize("num_players", each_size(2, 5))
def test_a_row_is_as_dangerous_as_opponents_are_likely_to_complete_its_set(num_players):
    """Opponents who are out, or who tapped first, have no turn any more."""
    rng = np.random.default_rng(num_players)
    states = Table(num_players, 1).states
    seen = in_the_lap = 0
    while not is_over(states) and seen < 80:
        record = GAME.as_states(states)[0]
        player = int(states[0]["current_player"])
        unseen = scripted.unseen_cards(record, player)
        others = [q for q in range(num_players) if q != player and states[0]["lives"][q] > 0]
        danger = np.zeros((NUM_SETS, 5))
        expected = np.zeros((NUM_SETS, 5))
        for animal in range(HARE, HARE + NUM_SETS):
            fewer = np.zeros((5, 11))
            for q in others:
                scripted.estimate_hand(record, q, animal, unseen, fewer)
            scripted.write_danger(record, player, animal, fewer, danger)
            for q in others:
                if q != states[0]["tapper"]:
                    chances = expected_fewer(states, player, q, animal)
                    for c in range(5):
                        expected[animal - HARE, c] += 1.0 - chances[DECK[animal] - c]
        np.testing.assert_allclose(danger, expected, atol=1e-9)
        assert (np.diff(danger, axis=1) >= -1e-9).all()  # the more cards, the more dangerous
        in_the_lap += states[0]["tapper"] >= 0
        seen += 1
        legal = np.flatnonzero(mask_of(GAME, states))
        taps = legal[-1] == ACT.tap and rng.random() < 0.2
        GAME.rules.step(states, 0, ACT.tap if taps else int(rng.choice(legal)))
    assert seen > 20
    assert in_the_lap > 5


@pytest.mark.parametrize("num_players", range(3, 6))
def test_few_cards_are_a_majority_less_often_than_random_hands_suggest(num_players):
    """With more than two players left; a card that nobody else can have is one all the same."""
    states = Table(num_players, 1).states
    record = GAME.as_states(states)[0]
    player = int(states[0]["current_player"])
    worth, fewer = np.zeros((10, 10)), np.zeros((5, 11))
    for q in range(num_players):
        if q != player:
            fewer[q] = [0.0, 0.5, *[1.0] * 9]  # none or one card, equally likely
    scripted.value_counts(record, player, 0, fewer, worth, np.zeros(5))
    others = num_players - 1
    costs = scripted.RIVALS_WEIGHT * VALUES[0]
    assert worth[0, 1] > -costs
    assert worth[0, 1] <= 0.5 ** (scripted.CROWDING * others) * VALUES[0]
    assert worth[0, 2] == pytest.approx(VALUES[0])
