"""The scripted player of Frank's Zoo: the chances that it reckons with, and what it must not do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from games.franks_zoo.table import PASS, SIGNS, Table, ask, give, put
from helpers import each_size, is_over, mask_of

from card_envs.contract import PACKED_BITS
from card_envs.games import load_game
from card_envs.games.franks_zoo.cards import BEATEN_BY
from card_envs.games.franks_zoo.chances import CHANCES, write_chances_to_win

GAME = load_game("franks_zoo")
NAMES = list(BEATEN_BY)
ELEPHANT, MOSQUITO, JOKER = (SIGNS.index(sign) for sign in "EQJ")


def chances_to_win(states: np.ndarray, player: int, elsewhere: list[int]) -> np.ndarray:
    """By animal and size from 1, as the heuristic reckons."""
    cards = sum(count << PACKED_BITS * kind for kind, count in enumerate(elsewhere))
    few, wins = np.zeros(CHANCES), np.zeros(CHANCES)
    write_chances_to_win(GAME.as_states(states)[0], player, cards, few, wins)
    return wins[:, 1:8]


def chance_of_fewer(number: int, cards: int, draws: int, total: int) -> float:
    """Hypergeometric: of ``draws`` out of ``total``, fewer than ``number`` of these cards."""
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
            size = int(s["hand_size"][q])
            no_joker = chance_of_fewer(1, elsewhere[JOKER], size, total)
            no_mosquito = chance_of_fewer(1, elsewhere[MOSQUITO], size, total)
            for animal in range(12):
                known = int(s["known"][q, animal])
                hidden, draws = elsewhere[animal] - known, size - known
                fewer = [chance_of_fewer(k - known, hidden, draws, total - known) for k in range(9)]
                helper = 1 - no_joker * (no_mosquito if animal == ELEPHANT else 1)
                nobody[animal, 1] *= fewer[1]
                for k in range(2, 9):
                    nobody[animal, k] *= fewer[k] - helper * (fewer[k] - fewer[k - 1])
    wins = np.zeros((12, 7))
    for animal, name in enumerate(NAMES):
        for size in range(1, 8):
            better = [nobody[NAMES.index(other), size] for other in BEATEN_BY[name]]
            wins[animal, size - 1] = math.prod([nobody[animal, size + 1], *better])
    return wins


@pytest.mark.parametrize("num_players", each_size(3, 7))
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
                found = chances_to_win(states, player, counts)
                expected = expected_chances(states, player, counts)
                np.testing.assert_allclose(found, expected, atol=1e-12)
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


def test_strong_cards_are_held_back():
    """Two mice may beat two elephants, and weak cards would be left to lead."""
    table = Table.lay_out("CBLL", "OMMBJ", "EEHIPF", last="LL", owner=0, player=2)
    assert GAME.heuristic(table.states, 0) == PASS
    # With no more than one other left they go out on the lead.
    table = Table.lay_out("CBLL", "OMMBJ", "EEH", last="LL", owner=0, player=2)
    assert GAME.heuristic(table.states, 0) == put("EE")


def test_lions_are_played_to_be_captured():
    """FZ-22: where no elephants are left they win the trick; with four of these they are lost."""
    table = Table.lay_out("CBLL", "OBBSS", "OOCCHIM", player=0)
    assert GAME.heuristic(table.states, 0) == put("LL")
    table = Table.lay_out("CBLL", "OEEBS", "EECCHIM", player=0)
    assert GAME.heuristic(table.states, 0) != put("LL")


def test_a_mosquito_stands_in_for_an_elephant():
    """FZ-6: an elephant and a mosquito beat two lions."""
    chances = []
    for others in ("ES", "EQ"):
        states = Table.lay_out("LL", others, "", player=0).states
        elsewhere = [int(count) for count in states[0]["hand"][1]]
        chances.append(chances_to_win(states, 0, elsewhere)[NAMES.index("lion"), 1])
    assert chances == [1.0, 0.0]


def test_a_hand_that_holds_all_other_cards_is_known():
    states = Table.lay_out("PPS", "CB", "", player=0).states
    wins = chances_to_win(states, 0, [int(count) for count in states[0]["hand"][1]])
    perch = NAMES.index("perch")
    assert wins[perch, 0] == 0.0
    assert wins[perch, 1] == 1.0


def test_the_player_alone_lays_down_a_hedgehog():
    """FZ-18, FZ-23: it counts as captured."""
    table = Table.deal_out("", "", "HOOOEEECCCBBB"[:12], "", "", hand_number=2)
    while table.current_player != 2:
        table.play(table.legal()[0])
    first = GAME.heuristic(table.states, 0)
    table.play(first)
    assert give("H") in (first, GAME.heuristic(table.states, 0))


def test_the_player_alone_lays_down_two_lions():
    """FZ-18, FZ-22: they count as captured."""
    table = Table.deal_out("", "", "LLOOEEECCCBB", "", "", hand_number=2)
    while table.current_player != 2:
        table.play(table.legal()[0])
    for _ in range(2):
        assert GAME.heuristic(table.states, 0) == give("L")
        table.play(give("L"))
