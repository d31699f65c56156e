"""The rules of Nomination Whist, by their numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from helpers import begin, is_over, mask_of
from nomination_whist import GAME
from nomination_whist.rules import ACT, NUM_CARDS, NUM_RANKS, SCORE_SCALE, STOCK, SUITS
from nomination_whist.scene import card_name

CLUB, HEART, SPADE = (suit * NUM_RANKS - 1 for suit in range(3))  # CLUB + 1 is the 1 of clubs
table_sizes = pytest.mark.parametrize("n", [3, 4])


def step(states, *actions):
    for action in actions:
        assert mask_of(GAME, states)[action]
        GAME.rules.step(states, 0, action)
    return states


def play(states, *cards):
    return step(states, *(ACT.play + card for card in cards))


def begin_with(*hands, **options):
    """The second deal with these hands, from player 1 on: those who are to bid first."""
    n = len(hands)
    states = begin(GAME, n, 0, **options)
    while states["deal"][0] == 1:
        step(states, int(mask_of(GAME, states).argmax()))
    states["place"][0] = STOCK
    for seat, hand in enumerate(hands):
        states["place"][0, list(hand)] = (1 + seat) % n
    states["standing"] = 0
    return states


@pytest.mark.rule("NW-1")
def test_there_are_five_cards_of_each_suit():
    names = [card_name(card) for card in range(NUM_CARDS)]
    assert Counter(name.split()[2] for name in names) == dict.fromkeys(SUITS, 5)
    assert Counter(name.split()[0] for name in names) == dict.fromkeys("12345", 3)


@table_sizes
@pytest.mark.rule("NW-2", "NW-3", "NW-8")
def test_there_are_three_deals_of_one_two_and_three_cards(n):
    states = begin(GAME, n, 5)
    seen = {}
    while not is_over(states):
        s = states[0]
        if s["deal"] not in seen:
            seen[int(s["deal"])] = int(s["current_player"])
            hands = [(s["place"] == player).sum() for player in range(n)]
            assert hands == [s["deal"]] * n
            assert (s["bids"] == -1).all()
            assert not s["taken"].any()
        step(states, int(mask_of(GAME, states).argmax()))
    assert seen == {1: 0, 2: 1, 3: 2}
    assert states["steps"][0] == n * (2 + 3 + 4)


@pytest.mark.rule("NW-2")
def test_every_card_is_dealt_equally_often():
    dealt = np.concatenate(
        [np.flatnonzero(begin(GAME, 3, seed)["place"][0] == 1) for seed in range(3000)]
    )
    counts = np.bincount(dealt, minlength=NUM_CARDS)
    assert counts.sum() == 3000
    assert (abs(counts - 200) < 60).all()


@table_sizes
@pytest.mark.rule("NW-3", "NW-4")
def test_bids_go_round_once_from_none_to_all_but_the_first_are_forced(n):
    states = begin(GAME, n, 1)
    assert np.flatnonzero(mask_of(GAME, states)).tolist() == [1]
    states = begin_with(*([k, k + 5] for k in range(n)))
    for seat in range(n):
        assert states["current_player"][0] == (1 + seat) % n
        assert np.flatnonzero(mask_of(GAME, states)).tolist() == [0, 1, 2]
        step(states, 2)
    assert states["current_player"][0] == 1


@pytest.mark.rule("NW-5", "NW-6")
def test_the_highest_card_of_the_suit_led_takes_the_trick_and_its_player_leads():
    states = step(
        begin_with([HEART + 2, CLUB + 1], [SPADE + 5, CLUB + 2], [HEART + 3, CLUB + 3]), 0, 0, 0
    )
    legal = np.flatnonzero(mask_of(GAME, states)) - ACT.play
    assert legal.tolist() == [CLUB + 1, HEART + 2]
    play(states, HEART + 2)
    legal = np.flatnonzero(mask_of(GAME, states)) - ACT.play
    assert legal.tolist() == [CLUB + 2, SPADE + 5]  # no suit must be followed
    play(states, SPADE + 5, HEART + 3)
    assert states["taken"][0, :3].tolist() == [1, 0, 0]  # of player 0, who sits last
    assert states["current_player"][0] == states["leader"][0] == 0
    assert (states["trick"][0] == -1).all()


@pytest.mark.rule("NW-7", "NW-8")
def test_bids_that_are_met_pay_their_number_and_one():
    states = begin_with(
        [HEART + 5, CLUB + 5], [SPADE + 1, CLUB + 2], [HEART + 3, CLUB + 3], reward="score"
    )
    states["standing"][0, :3] = 1, 1, 0  # of the first deal
    step(states, 2, 0, 1)
    play(states, HEART + 5, SPADE + 1, HEART + 3, CLUB + 5, CLUB + 2, CLUB + 3)
    assert states["deal"][0] == 3
    assert states["standing"][0, :3].tolist() == [1, 4, 1]
    mean = 4 / 3
    expected = [(points - mean) * SCORE_SCALE for points in (0, 3, 1)]
    assert states["rewards"][0, :3].tolist() == pytest.approx(expected)
