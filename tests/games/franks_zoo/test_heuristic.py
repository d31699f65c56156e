"""The scripted player of Frank's Zoo: the chances that it reckons with, and what it must not do."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from games.franks_zoo.table import PASS, SIGNS, Table, ask, give, put
from helpers import is_over, mask_of

from card_envs.games import load_game
from card_envs.games.franks_zoo.cards import BEATEN_BY, KIND_BITS

GAME = load_game("franks_zoo")
# The package exports a function of the same name as the module.
chances_to_win = sys.modules["card_envs.games.franks_zoo.heuristic"].chances_to_win
NAMES = list(BEATEN_BY)
JOKER = SIGNS.index("J")


def chance_of_fewer(number: int, cards: int, draws: int, total: int) -> float:
    """Hypergeometric: of ``draws`` out of ``total``, fewer than ``number`` of these cards.

    Of a hand that must hold some of them the heuristic expects any number.
    """
    if cards + draws > total:
        return 0.0
    ways = sum(
        math.comb(cards, k) * math.comb(total - cards, draws - k)
        for k in range(max(0, number))
        if k <= draws
    )
    return ways / math.comb(total, draws)


def expected_chances(states: np.ndarray, player: int, elsewhere: list[int]) -> np.ndarray:
    """By animal and size from 1: the chance that no opponent can beat such a set (FZ-8)."""
    s = states[0]
    total = sum(elsewhere)
    nobody = np.ones((12, 9))
    for q in range(s["num_players"]):
        if q not in (player, s["partner"][player]):
            for animal in range(12):
                known = int(s["known"][q, animal])
                hidden, draws = elsewhere[animal] - known, int(s["hand_size"][q]) - known
                for size in range(1, 9):
                    chance = chance_of_fewer(size - known, hidden, draws, total)
                    nobody[animal, size] *= chance
    wins = np.zeros((12, 7))
    for animal, name in enumerate(NAMES):
        for size in range(1, 8):
            better = [nobody[NAMES.index(other), size] for other in BEATEN_BY[name]]
            wins[animal, size - 1] = math.prod([nobody[animal, size + 1], *better])
    return wins


@pytest.mark.parametrize("num_players", range(3, 8))
def test_the_chances_are_those_of_cards_dealt_at_random(num_players):
    """Throughout some games, with cards that were shown, and with partners who do not count."""
    rng = np.random.default_rng(num_players)
    known = seen = 0
    for seed in range(3):
        states = Table(num_players, seed, target_score=12).states
        while not is_over(states):
            s = states[0]
            if rng.random() < 0.1:
                player = int(s["current_player"])
                elsewhere = s["hand"].sum(axis=0) - s["hand"][player]
                if s["alone"] not in (-1, player):
                    elsewhere += s["given"][s["alone"]]
                counts = [int(count) for count in elsewhere]
                cards = sum(count << KIND_BITS * kind for kind, count in enumerate(counts))
                records = GAME.as_states(states)
                found = chances_to_win(records[0], player, cards)
                expected = expected_chances(states, player, counts)
                np.testing.assert_allclose(np.reshape(found, (12, 7)), expected, atol=1e-12)
                known += np.delete(s["known"], player, axis=0).any()
                seen += 1
            legal = np.flatnonzero(mask_of(GAME, states))
            requests = legal[(legal >= ask("O")) & (legal < give("O"))]
            choice = requests if len(requests) and rng.random() < 0.7 else legal
            GAME.rules.step(states, 0, int(rng.choice(choice)))
    assert seen > 40
    assert num_players == 3 or known > 5


@pytest.mark.parametrize("hand_number", [1, 2])
def test_a_leader_who_holds_only_the_joker_passes(hand_number):
    """A junior too, who could ask if they followed (FZ-7, FZ-19)."""
    table = Table.lay_out("FF", "SM", "J", "BB", player=2, hand_number=hand_number)
    assert GAME.heuristic(table.states, 0) == PASS


def test_a_player_who_can_only_pass_does():
    table = Table.lay_out("O", "SM", "BB", "FF", last="OO", owner=0, player=1)
    assert table.legal() == [PASS]
    assert GAME.heuristic(table.states, 0) == PASS


@pytest.mark.parametrize(
    ("hands", "last", "player", "expected"),
    [
        # The last card that nobody can beat, and one that goes out with it.
        (("OO", "F", "F", "F"), "", 0, put("OO")),
        (("PP", "F", "F", "F"), "I", 0, put("P")),
        # A junior goes out by asking for the second hedgehog; the senior helps.
        (("HPPPP", "FFFF", "H", "LLLL"), "MM", 2, ask("H")),
    ],
)
def test_plain_choices(hands, last, player, expected):
    more = {"hand_number": 2} if player == 2 else {}
    owner = {"last": last, "owner": 1} if last else {}
    table = Table.lay_out(*hands, player=player, **owner, **more)
    assert GAME.heuristic(table.states, 0) == expected
    if expected == ask("H"):
        table.play(expected)
        assert GAME.heuristic(table.states, 0) == put("H")


def test_the_player_alone_lays_down_a_hedgehog():
    """FZ-18, FZ-23: it counts as captured."""
    table = Table.deal_out("", "", "HOOOEEECCCBBB"[:12], "", "", hand_number=2)
    while table.current_player != 2:
        table.play(table.legal()[0])
    first = GAME.heuristic(table.states, 0)
    table.play(first)
    assert give("H") in (first, GAME.heuristic(table.states, 0))
