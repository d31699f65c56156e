"""The rules of Kuhn poker, by their numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from helpers import begin, mask_of
from kuhn_poker import GAME
from kuhn_poker.rules import ACT, SCORE_SCALE

JACK, QUEEN, KING = range(3)
DEALS = list(permutations((JACK, QUEEN, KING), 2))


def played(deal, *actions, **options):
    """The record after some actions, with these cards in the hands of players 0 and 1."""
    states = begin(GAME, 2, 0, **options)
    states["deck"][0] = [*deal, 3 - sum(deal)]
    for action in actions:
        assert mask_of(GAME, states).tolist() == [1, 1]
        GAME.rules.step(states, 0, action)
    return states


def gain(deal, *actions):
    """What player 0 gains."""
    states = played(deal, *actions)
    assert states["terminated"][0]
    assert mask_of(GAME, states).tolist() == [0, 0]
    return int(states["gains"][0, 0])


@pytest.mark.rule("KP-1", "KP-2")
def test_every_deal_is_equally_likely():
    deals = [tuple(begin(GAME, 2, seed)["deck"][0].tolist()) for seed in range(6000)]
    assert {deals.count(deal) > 850 for deal in permutations(range(3))} == {True}
    states = begin(GAME, 2, 0)
    assert states["chips"][0].tolist() == [1, 1]


@pytest.mark.rule("KP-3", "KP-4")
@pytest.mark.parametrize(
    ("actions", "players", "chips"),
    [
        ((), [0], [1, 1]),
        ((ACT.pass_,), [0, 1], [1, 1]),
        ((ACT.bet,), [0, 1], [2, 1]),
        ((ACT.pass_, ACT.bet), [0, 1, 0], [1, 2]),
    ],
)
def test_players_take_turns_until_both_have_passed_or_bet(actions, players, chips):
    movers = [played((JACK, KING), *actions[:k])["current_player"][0] for k in range(len(players))]
    assert movers == players
    assert played((JACK, KING), *actions)["chips"][0].tolist() == chips
    assert not played((JACK, KING), *actions)["terminated"][0]


@pytest.mark.rule("KP-5")
@pytest.mark.parametrize("deal", DEALS)
def test_who_folds_loses_one_chip_and_shows_nothing(deal):
    assert gain(deal, ACT.bet, ACT.pass_) == 1
    assert gain(deal, ACT.pass_, ACT.bet, ACT.pass_) == -1
    assert not played(deal, ACT.bet, ACT.pass_)["is_shown"][0]


@pytest.mark.rule("KP-6")
@pytest.mark.parametrize("deal", DEALS)
def test_the_higher_card_wins_the_pot(deal):
    sign = 1 if deal[0] > deal[1] else -1
    assert gain(deal, ACT.pass_, ACT.pass_) == sign
    assert gain(deal, ACT.bet, ACT.bet) == 2 * sign
    assert gain(deal, ACT.pass_, ACT.bet, ACT.bet) == 2 * sign
    assert played(deal, ACT.bet, ACT.bet)["is_shown"][0]
    rewards = played(deal, ACT.bet, ACT.bet, reward="score")["rewards"][0]
    assert rewards.tolist() == [2 * sign * SCORE_SCALE, -2 * sign * SCORE_SCALE]


def test_the_value_of_the_game():
    """Best play by both (with a first player who never bluffs) is worth -1/18 to player 0."""
    third = Fraction(1, 3)
    bets_first = {JACK: 0, QUEEN: 0, KING: 0}
    calls_after_pass = {JACK: 0, QUEEN: third, KING: 1}
    bets_after_pass = {JACK: third, QUEEN: 0, KING: 1}
    calls_bet = {JACK: 0, QUEEN: third, KING: 1}

    def value(deal):
        first, second = deal
        bet, call = bets_first[first], calls_bet[second]
        after_bet = call * gain(deal, ACT.bet, ACT.bet) + (1 - call) * gain(
            deal, ACT.bet, ACT.pass_
        )
        bluff, answer = bets_after_pass[second], calls_after_pass[first]
        after_raise = answer * gain(deal, ACT.pass_, ACT.bet, ACT.bet)
        after_raise += (1 - answer) * gain(deal, ACT.pass_, ACT.bet, ACT.pass_)
        after_pass = bluff * after_raise + (1 - bluff) * gain(deal, ACT.pass_, ACT.pass_)
        return bet * after_bet + (1 - bet) * after_pass

    assert sum(map(value, DEALS)) / len(DEALS) == Fraction(-1, 18)


def test_determinize_keeps_the_players_own_card():
    for player in range(2):
        found = set()
        for seed in range(50):
            states = played((QUEEN, KING), ACT.pass_)
            GAME.rules.determinize(states, 0, player, np.uint64(seed))
            found.add(tuple(states["deck"][0].tolist()))
        assert found == {d for d in permutations(range(3)) if d[player] == (QUEEN, KING)[player]}
