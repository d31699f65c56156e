"""The rules of Frank's Zoo, by the rule numbers of its RULES.md."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from games.franks_zoo.reference import Reference, beats, meaning, requests
from games.franks_zoo.table import (
    ANSWER,
    DECK,
    EXCHANGE,
    GAME,
    LAYS,
    NO_LAY,
    NOBODY,
    PASS,
    SIGNS,
    TURN,
    Table,
    ask,
    cards_of,
    counts,
    give,
    in_order,
    pairs_of,
    put,
)
from helpers import each_size
from table import chi_square, played, played_by_hand

from card_envs import franks_zoo_v0

NUM_PLAYERS = (3, 4, 5, 6, 7)
WITH_PARTNERS = (4, 5, 6, 7)
ANIMALS = "OECBLSFPHIMQ"
# The upper 0.1% points of chi-square by degrees of freedom; the seeds of these tests are fixed.
CHI_SQUARE = {36: 68.0, 72: 112.3}

# With four players in seat order by rank the pairs are 0 and 2, 1 and 3; 2 and 3 are the juniors.
# With five: 0 and 3, 1 and 4, player 2 alone.
PAIRS = {"hand_number": 2}


def end_hand(finish, left="F", *, lead="F", options=None, **more):
    """A hand that ends with the lead of the last but one in ``finish``; the last keeps ``left``.

    Args:
        finish: The seats in the order in which they finish.
        left: The cards that the last one is left with.
        lead: The set that the last but one goes out with.
        options: The game's options.
        more: What else ``Table.lay`` takes.
    """
    hands = [""] * len(finish)
    hands[finish[-2]], hands[finish[-1]] = lead, left
    places = {seat: place for place, seat in enumerate(finish[:-2], 1)}
    table = Table.lay_out(*hands, places=places, player=finish[-2], options=options, **more)
    return table.play(put(lead))


def of_players(table, name):
    return table.states[0][name][: table.num_players].tolist()


def totals(table):
    return of_players(table, "totals")


def rewards(table):
    return of_players(table, "rewards")


def last_cards(table):
    return "" if table.last_set == NO_LAY else LAYS[table.last_set]


def plays(table):
    """The sets that may be played, or cards added, as cards."""
    return {LAYS[action] for action in table.legal() if action < NO_LAY}


def asks(table):
    """What may be laid to ask for help."""
    return {LAYS[action - NO_LAY] for action in table.legal() if NO_LAY <= action < give("O")}


def gifts(table):
    return "".join(SIGNS[a - give("O")] for a in table.legal() if give("O") <= a < PASS)


# ---------------------------------------------------------------------------------------------
# Cards
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("FZ-1")
@pytest.mark.parametrize("num_players", WITH_PARTNERS)
def test_the_deck(num_players):
    for seed in range(20):
        cards = Counter("".join(Table(num_players, seed).hands))
        assert [cards[sign] for sign in SIGNS] == [5] * 11 + [4, 1]
        assert cards.total() == 60


@pytest.mark.rule("FZ-2")
@pytest.mark.rule("FZ-24")
def test_the_deck_of_three_players():
    for seed in range(20):
        table = Table(3, seed)
        cards = Counter("".join(table.hands))
        assert "".join(sign * cards[sign] for sign in SIGNS) == (
            "OOOEEEECCCBBBLLLLSSSFFFPPPHHHIIIMMMMQQJ"
        )
        assert cards.total() == 39
        assert [len(hand) for hand in table.hands] == [13, 13, 13]


@pytest.mark.rule("FZ-3")
@pytest.mark.parametrize(
    ("num_players", "sizes"),
    [
        (3, [13] * 3),
        (4, [15] * 4),
        (5, [12] * 5),
        (6, [10] * 6),
        (7, [9, 9, 9, 9, 8, 8, 8]),
    ],
)
def test_the_hands_of_hand_1(num_players, sizes):
    table = Table(num_players, 4)
    assert [len(hand) for hand in table.hands] == of_players(table, "hand_size") == sizes


@pytest.mark.rule("FZ-3")
@pytest.mark.rule("FZ-15")
@pytest.mark.parametrize("partners", [True, False])
@pytest.mark.parametrize("dealer", range(7))
def test_with_seven_the_four_from_the_dealers_left_get_nine(dealer, partners):
    """The player who was the first in hand 1 deals hand 2."""
    finish = [dealer] + [seat for seat in (3, 5, 0, 6, 2, 4, 1) if seat != dealer]
    table = end_hand(finish, options={"partners": partners})
    assert table.hand_number == 2
    sizes = [len(hand) for hand in table.hands]
    assert [sizes[(dealer + 1 + k) % 7] for k in range(7)] == [9, 9, 9, 9, 8, 8, 8]


@pytest.mark.rule("FZ-3")
def test_with_seven_the_dealer_of_a_later_hand_is_the_first_by_total():
    """Not the first of the hand before."""
    table = end_hand(
        (0, 1, 2, 3, 4, 5, 6),
        options={"partners": False},
        hand_number=4,
        totals=(0, 0, 15, 0, 0, 0, 0),
    )
    assert [len(hand) for hand in table.hands] == [8, 8, 8, 9, 9, 9, 9]
    assert table.current_player == 6


@pytest.mark.rule("FZ-3")
def test_cards_are_dealt_one_at_a_time_from_the_dealers_left():
    """One seed shuffles one deck, every second card of which goes to an even seat."""
    for seed in range(5):
        of_four, of_six = (Table(num_players, seed).hand for num_players in (4, 6))
        for first in range(2):
            even_of_four, even_of_six = (hand[first::2].sum(axis=0) for hand in (of_four, of_six))
            assert even_of_four.tolist() == even_of_six.tolist()


@pytest.mark.rule("FZ-3")
@pytest.mark.rule("FZ-15")
@pytest.mark.parametrize("partners", [True, False])
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_another_dealer_moves_the_hands_round_the_table(num_players, partners):
    """The first-ranked player deals, and the first card goes to the left."""
    deals = []
    options = {"target_score": 1000, "partners": partners}
    for dealer in range(num_players):
        totals = [50 * (seat == dealer) for seat in range(num_players)]
        table = end_hand(range(num_players), seed=9, totals=totals, options=options)
        deals.append([table.hands[(dealer + 1 + k) % num_players] for k in range(num_players)])
    assert deals == [deals[0]] * num_players
    assert len(set(deals[0])) == num_players


@pytest.mark.rule("FZ-3")
@pytest.mark.parametrize("num_players", [4, 7])
def test_the_cards_are_shuffled_uniformly(num_players):
    """Cards of every kind are in every hand as often as the hand's size says."""
    deals = 600
    found = np.zeros((num_players, 13))
    for seed in range(deals):
        table = Table(num_players, seed)
        found += table.hand[:num_players]
    sizes = [len(hand) for hand in table.hands]
    expected = deals * np.outer(sizes, counts(DECK.elements())) / 60
    # Of a deck without replacement the counts vary less than those that chi-square is about.
    assert chi_square(found, expected) < CHI_SQUARE[12 * (num_players - 1)]


@pytest.mark.rule("FZ-3")
def test_what_a_seed_deals_does_not_depend_on_the_play_before():
    first = end_hand((0, 1, 2, 3), seed=5)
    again = end_hand((0, 1, 3, 2), left="MM", seed=5, captured=("", "SS"))
    assert first.hands == again.hands
    other = end_hand((0, 1, 2, 3), seed=6)
    later = end_hand((0, 1, 2, 3), seed=5, hand_number=3, rest_to=2)
    deals = [table.hands for table in (first, other, later, Table(4, 5))]
    assert all(one != two for one, two in combinations(deals, 2))


# FZ-4 by hand: the animal of the row beats those of the columns with a 1.
WHO_BEATS_WHOM = """
     O E C B L S F P H I M Q
  O  0 0 0 1 0 1 0 1 0 1 0 0
  E  0 0 1 1 1 0 1 0 0 0 0 0
  C  0 0 0 0 0 0 1 1 0 1 1 0
  B  0 0 0 0 0 1 1 1 0 0 1 0
  L  0 0 0 0 0 0 1 0 0 0 1 0
  S  0 0 0 0 0 0 0 1 0 1 1 0
  F  0 0 0 0 0 0 0 0 1 0 1 0
  P  0 0 0 0 0 0 0 0 0 1 0 0
  H  0 0 0 0 0 0 0 0 0 0 1 1
  I  0 0 0 0 0 0 0 0 0 0 0 1
  M  0 1 0 0 0 0 0 0 0 0 0 1
  Q  0 0 0 0 0 0 0 0 0 0 0 0
"""


def who_beats_whom():
    columns, *rows = [line.split() for line in WHO_BEATS_WHOM.strip().splitlines()]
    return {
        (row[0], column): value == "1"
        for row in rows
        for column, value in zip(columns, row[1:], strict=True)
    }


@pytest.mark.rule("FZ-4")
@pytest.mark.parametrize("number", [1, 2, 4])
def test_who_beats_whom(number):
    """All 144 ordered pairs; of one animal there are not two times four."""
    pairs = who_beats_whom()
    assert len(pairs) == 144
    assert sum(pairs.values()) == 29
    for (better, worse), is_better in pairs.items():
        if better != worse or number < 4:
            table = Table.lay_out("O", better * number, "C", "F", last=worse * number, owner=0)
            assert table.legal() == [put(better * number)] * is_better + [PASS], (better, worse)


# ---------------------------------------------------------------------------------------------
# Sets
# ---------------------------------------------------------------------------------------------


def test_the_numbers_of_the_actions():
    """The formulas of the rules; and what each number lays down, asks with, or gives away."""
    assert GAME.num_actions == PASS + 1 == 272
    number = {}
    for a, animal in enumerate(ANIMALS[:11]):
        for k, j in product(range(1, 6), range(2)):
            number[animal * k + "J" * j] = 10 * a + 2 * (k - 1) + j
    for k, j in product(range(1, 5), range(2)):
        number["Q" * k + "J" * j] = 110 + 2 * (k - 1) + j
    for k, j in product(range(1, 6), range(2)):
        number["E" * k + "Q" + "J" * j] = 118 + 2 * (k - 1) + j
    for cards, action in number.items():
        one, two, *_ = (sign for sign in "IMO" if sign not in cards)
        table = Table.lay_out(cards + one, two, two, two).play(action)
        assert table.on_table == in_order(cards) == in_order(last_cards(table))
        assert table.hand_of(0) == one
    assert sorted(number.values()) == list(range(128))
    number["J"] = 128
    everything = Table.lay_out(*EVERYTHING, last="EE", owner=0, player=2, **PAIRS)
    assert asks(everything) == {"E", "EE", "EJ", "EQ", "QJ", "J", "M", "Q"}
    for cards in asks(everything):
        table = everything.copy().play(129 + number[cards])
        assert (table.request, table.asker) == (number[cards], 2)
        assert Counter(table.hand_of(2)) == Counter(EVERYTHING[2]) - Counter(cards)
    for kind, sign in enumerate(SIGNS):
        table = Table.deal_out("", "", in_order("SSSSM" + sign), "", **PAIRS).play(258 + kind)
        table.play(give("S"))
        assert Counter(cards_of(table.given[2])) == Counter(sign + "S")
    assert [put(cards) for cards in LAYS] == [number[cards] for cards in LAYS]


# The junior, player 2, holds some of everything.
EVERYTHING = ("O", "OB", "EECCSSFFPPIHMQQJ", "O")


@pytest.mark.rule("FZ-5")
@pytest.mark.rule("FZ-6")
@pytest.mark.rule("FZ-7")
@pytest.mark.parametrize(
    ("hand", "sets"),
    [
        ("S", "S"),
        ("SS", "S SS"),
        ("SM", "S M"),
        ("SSM", "S SS M"),
        # The joker goes with anything, and never alone.
        ("SJ", "S SJ"),
        ("SSJ", "S SS SJ SSJ"),
        ("SMJ", "S M SJ MJ"),
        ("QJ", "Q QJ"),
        ("QQJ", "Q QQ QJ QQJ"),
        ("OOOOOJ", "O OO OOO OOOO OOOOO OJ OOJ OOOJ OOOOJ OOOOOJ"),
        # One mosquito goes with elephants only.
        ("SQ", "S Q"),
        ("SQJ", "S Q SJ QJ"),
        ("MQ", "M Q"),
        ("EQ", "E Q EQ"),
        ("EQQ", "E Q QQ EQ"),
        ("EEQQ", "E EE Q QQ EQ EEQ"),
        ("EJ", "E EJ"),
        ("EQJ", "E Q EQ EJ QJ EQJ"),
        ("EQQJ", "E Q QQ EQ EJ QJ QQJ EQJ"),
        ("EEEEEQQQQJ", None),  # counted
    ],
)
def test_the_sets_that_can_be_led(hand, sets):
    table = Table.lay_out(hand, "FF", "F", "F")
    if sets is None:
        assert len(plays(table)) == 2 * 5 + 2 * 4 + 2 * 5
        assert all(meaning(cards) for cards in plays(table))
    else:
        assert plays(table) == set(sets.split())
    assert PASS not in table.legal()


@pytest.mark.rule("FZ-5")
@pytest.mark.rule("FZ-6")
@pytest.mark.parametrize(
    ("led", "beaten_by", "not_by"),
    [
        # One mosquito, or the joker, with elephants: one elephant more.
        ("EQ", "MM EEE", "M MMM HH II EE E"),
        ("EJ", "MM EEE EEQ", "M MMM EE"),
        ("EQJ", "MMM EEEE", "MM MMMM EEE HHH"),
        ("EEQ", "MMM EEEJ", "MM EEE"),
        # Joker and mosquito without an elephant: two mosquitoes.
        ("QJ", "HH II MM QQQ", "H I M QQ HHH EE"),
        ("Q", "H I M QJ QQ", "EE"),
        ("QQJ", "HHH III MMM", "HH IIII"),
        ("SJ", "SSS OO BB", "SS O B OOO EE"),
        ("S", "SJ SS O B", "SSJ OJ"),
        # They count as elephants where they beat as well.
        ("CC", "EE EQ EJ", "E Q EEQ EEJ QJ QQ EQJ"),
        ("CCC", "EEE EEQ EEJ EQJ", "EE EQ EJ QQJ"),
        ("EE", "EEE EEQ EEJ EQJ MM MJ", "EE EQ EJ M MMM QQ QJ"),
        ("E", "EE EQ EJ M", "E Q QJ QQ EEE MM MJ"),
    ],
)
def test_what_the_joker_and_the_mosquito_count_as(led, beaten_by, not_by):
    for cards, beats_it in [(c, True) for c in beaten_by.split()] + [
        (c, False) for c in not_by.split()
    ]:
        table = Table.lay_out("B", cards + "L", "L", "L", last=led, owner=0)
        assert (put(cards) in table.legal()) == beats_it, cards
        assert PASS in table.legal()


def all_masks(**fields):
    """The legal actions of a junior who holds the whole deck, on each set."""
    table = Table.lay_out(*EVERYTHING, last="B", owner=0, player=2, **PAIRS, **fields)
    s = table.states[0]
    s["hand"][2] = counts(DECK.elements())  # no such hand can be, but the mask is a table's
    for number, cards in enumerate(LAYS[:-1]):
        s["last_set"] = number
        yield cards, table


@pytest.mark.rule("FZ-4")
@pytest.mark.rule("FZ-5")
@pytest.mark.rule("FZ-6")
@pytest.mark.rule("FZ-8")
def test_every_lay_on_every_set():
    number = 0
    for last, table in all_masks():
        assert plays(table) == {cards for cards in LAYS if beats(in_order(cards), in_order(last))}
        number += len(plays(table))
    # How many sets there are of an animal that count for 1, 2, … of it.
    ways = dict.fromkeys(ANIMALS, (1, 2, 2, 2, 2, 1, 0))
    ways |= {"E": (1, 3, 4, 4, 4, 3, 1), "Q": (1, 2, 2, 2, 1, 0, 0)}
    better = [pair for pair, is_better in who_beats_whom().items() if is_better]
    of_another = sum(np.dot(ways[one], ways[other]) for one, other in better)
    of_the_same = sum(np.dot(of_one[:-1], of_one[1:]) for of_one in ways.values())
    assert number == of_another + of_the_same


@pytest.mark.rule("FZ-19")
def test_every_request_on_every_set():
    """By trying: a part of something that beats the set, out of all cards that can be together."""
    for last, table in all_masks():
        assert {in_order(cards) for cards in asks(table)} == requests(in_order(last))


# ---------------------------------------------------------------------------------------------
# A trick
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("FZ-7")
def test_a_leader_who_holds_only_the_joker_passes():
    table = Table.lay_out("J", "SM", "BB", "FF")
    assert table.legal() == [PASS]
    table.play(PASS)
    assert (table.current_player, last_cards(table)) == (1, "")
    assert PASS not in table.legal()
    table.play(put("S"), put("B"), PASS)
    # The pass was none: player 0 has a turn, and the trick is not over before they have passed.
    assert (table.current_player, last_cards(table)) == (0, "B")
    assert table.legal() == [PASS]
    table.play(PASS)
    assert (table.current_player, last_cards(table)) == (1, "B")
    table.play(PASS)
    assert (table.current_player, last_cards(table)) == (2, "")
    assert table.hand_of(0) == "J"


@pytest.mark.rule("FZ-7")
@pytest.mark.rule("FZ-10")
def test_the_forced_step_of_a_leader_is_no_pass():
    """Before the first set there is nothing to have passed on."""
    table = Table.lay_out("J", "SM", "FF").play(PASS, put("S"), PASS)
    assert (table.current_player, last_cards(table)) == (0, "S")
    table.play(PASS)
    assert (table.current_player, last_cards(table)) == (1, "")


@pytest.mark.rule("FZ-7")
@pytest.mark.parametrize(
    ("hands", "leader", "expected"),
    [
        (("J", "", "S", "S"), 0, 2),
        (("S", "S", "S", "J"), 3, 0),
        (("", "", "S", "J"), 3, 2),
        (("", "J", "", "S"), 1, 3),
    ],
)
def test_the_next_to_the_left_with_cards_leads_instead(hands, leader, expected):
    table = Table.lay_out(*hands, player=leader).play(PASS)
    assert table.current_player == expected
    assert table.legal() == [put("S")]


@pytest.mark.rule("FZ-7")
def test_a_leader_with_another_card_must_play():
    assert Table.lay_out("QJ", "S", "S").legal() == [put("Q"), put("QJ")]
    assert Table.lay_out("M", "S", "S").legal() == [put("M")]


@pytest.mark.rule("FZ-7")
@pytest.mark.rule("FZ-10")
def test_a_leader_who_holds_only_the_joker_after_his_own_trick():
    table = Table.lay_out("SJ", "F", "FF", "FF").play(put("S"), PASS, PASS, PASS)
    assert (table.current_player, table.legal()) == (0, [PASS])
    assert table.captured[0].sum() == 60 - 6
    table.play(PASS)
    assert table.legal() == [put("F")]


@pytest.mark.rule("FZ-8")
@pytest.mark.parametrize(
    ("last", "hand", "legal"),
    [
        # The example of the rulebook.
        ("S", "SSSBB", "SS B"),
        ("S", "SSSBBOOJ", "SS SJ B O"),
        ("SS", "SSSBBBOOJ", "SSS SSJ BB BJ OO OJ"),
        ("SS", "SSJ", "SSJ"),
        ("SSJ", "SSSBBBB", "BBB"),
        ("O", "OOOEEBJ", "OO OJ"),
        ("OO", "EEEMMM", ""),
        ("E", "MMEEE", "M EE"),
        ("EEEE", "MMMMM", "MMMM"),
        ("M", "EQIFFFHHH", "F H"),
        ("QQQQ", "MMMMHHIII", "MMMM"),
        ("Q", "QQEEM", "QQ M"),
        ("SSSSS", "OOOOJBBB", "OOOOJ"),
        ("B", "J", ""),
        ("SSSS", "SJ", ""),
        ("I", "I", ""),
    ],
)
def test_what_beats_the_last_set(last, hand, legal):
    table = Table.lay_out("LL", hand, "FF", "LL", last=last, owner=0)
    assert plays(table) == set(legal.split())
    assert table.legal()[-1] == PASS
    assert not asks(table)


@pytest.mark.rule("FZ-8")
def test_the_turn_goes_round_clockwise():
    table = Table.lay_out("II", "PP", "SS", "BB", "EE")
    movers = []
    for action in (put("I"), put("P"), PASS, put("B"), put("E"), PASS, PASS, PASS, PASS):
        movers.append(int(table.current_player))
        table.play(action)
        if movers[-1] == 3:
            assert of_players(table, "has_passed") == [0] * 5
    assert movers == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert table.current_player == 4


@pytest.mark.rule("FZ-8")
def test_a_set_is_played_from_the_hand_into_the_trick():
    table = Table.lay_out("IIM", "PPPJ", "S")
    before = table.played_by.copy()
    table.play(put("II"), put("PJ"))
    assert table.hands == ["M", "PP", "S"]
    assert table.on_table == "PIIJ"
    assert (last_cards(table), table.owner) == ("PJ", 1)
    assert of_players(table, "hand_size") == [1, 2, 1]
    # What everybody has played, since the cards that were not named.
    by_each = [
        cards_of(row - old) for row, old in zip(table.played_by[:3], before[:3], strict=True)
    ]
    assert by_each == ["II", "PJ", ""]
    assert table.played.tolist() == table.played_by.sum(axis=0).tolist()


@pytest.mark.rule("FZ-9")
def test_who_passed_may_play_again():
    table = Table.lay_out("III", "OO", "PPPP", "FF").play(put("I"), PASS, put("P"), PASS, PASS)
    assert (table.current_player, last_cards(table)) == (1, "P")
    table.play(put("O"))
    assert (table.owner, table.current_player) == (1, 2)
    assert of_players(table, "has_passed") == [0, 0, 0, 0]


@pytest.mark.rule("FZ-9")
def test_the_same_player_may_pass_twice_in_a_trick():
    table = Table.lay_out("III", "M", "PPP").play(put("I"), PASS, put("P"), PASS, PASS)
    assert (table.current_player, last_cards(table)) == (2, "")
    table = Table.lay_out("IIO", "M", "PPP").play(put("I"), PASS, put("P"), put("O"), PASS)
    assert (table.current_player, last_cards(table)) == (2, "O")


@pytest.mark.rule("FZ-10")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_when_all_others_have_passed_the_owner_captures_and_leads(num_players):
    hands = ["IIM", *["PPS", "FF", "FL", "LL", "CC", "C"][: num_players - 1]]
    table = Table.lay_out(*hands, rest_to=num_players - 1).play(put("I"), put("P"))
    for number in range(num_players - 1):
        assert table.captures[1] == ""
        assert table.on_table == "PI"
        assert PASS in table.legal()
        assert table.current_player == (2 + number) % num_players
        table.play(PASS)
    assert table.captures[1] == "PI"
    assert (table.on_table, last_cards(table), table.owner) == ("", "", NOBODY)
    assert table.current_player == 1
    assert table.legal() == [put("S"), put("P")]
    assert not any(of_players(table, "has_passed"))


@pytest.mark.rule("FZ-10")
def test_only_passes_since_the_last_set_count():
    table = Table.lay_out("IIM", "FF", "PPS", "LL").play(put("I"), PASS, put("P"), PASS, PASS)
    assert (table.current_player, last_cards(table)) == (1, "P")
    table.play(PASS)
    assert table.current_player == 2
    assert table.captures[2] == "PI"


@pytest.mark.rule("FZ-10")
def test_who_is_out_need_not_pass():
    table = Table.lay_out("IIM", "", "FF", "", "LL").play(put("I"), PASS)
    assert (table.current_player, last_cards(table)) == (4, "I")
    table.play(PASS)
    assert (table.current_player, last_cards(table)) == (0, "")


@pytest.mark.rule("FZ-10")
@pytest.mark.parametrize(
    ("hands", "movers", "leader"),
    [
        (("I", "FF", "LL", "LL"), (1, 2, 3), 1),
        (("I", "", "FF", "LL"), (2, 3), 2),
        (("I", "", "", "FF", "LL"), (3, 4), 3),
        (("I", "FF", "", "", "LL"), (1, 4), 1),
        (("I", "FF", "LL"), (1, 2), 1),
        (("I", "FF", "FF", "FL", "LL", "CC", "C"), (1, 2, 3, 4, 5, 6), 1),
    ],
)
def test_the_owner_of_a_trick_who_is_out_captures_it_when_all_have_passed(hands, movers, leader):
    """All of them, one more than if the owner had cards; then the next to the left leads."""
    table = Table.lay_out(*hands, rest_to=len(hands) - 1).play(put("I"))
    assert table.place[0] == hands.count("") + 1
    for mover in movers:
        assert (table.current_player, last_cards(table)) == (mover, "I")
        assert table.captures[0] == ""
        table.play(PASS)
    assert table.captures[0] == "I"
    assert (table.current_player, last_cards(table)) == (leader, "")


@pytest.mark.rule("FZ-10")
def test_the_set_of_a_player_who_is_out_can_be_beaten():
    table = Table.lay_out("I", "FF", "LL", "PPL").play(put("I"), PASS, PASS, put("P"))
    assert (table.owner, table.current_player) == (3, 1)
    table.play(PASS, PASS)
    assert (table.current_player, table.captures[3]) == (3, "PI")
    assert not any(of_players(table, "has_passed"))


# ---------------------------------------------------------------------------------------------
# The end of a hand
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("FZ-11")
def test_who_plays_the_last_card_takes_the_next_place():
    table = Table.lay_out("I", "PP", "S", "BBM", "LL")
    assert of_players(table, "place") == [0] * 5
    table.play(put("I"))
    assert of_players(table, "place") == [1, 0, 0, 0, 0]
    table.play(put("P"))
    assert of_players(table, "place") == [1, 0, 0, 0, 0]
    table.play(put("S"))
    assert of_players(table, "place") == [1, 0, 2, 0, 0]
    table.play(put("B"), PASS, PASS, put("M"), PASS)
    assert table.current_player == 1
    assert of_players(table, "place") == [1, 0, 2, 0, 0]


@pytest.mark.rule("FZ-11")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_hand_ends_at_once_when_one_holds_cards(num_players):
    """Although they could beat the last set, and inside a trick: its owner captures it."""
    hands = [""] * num_players
    hands[0], hands[2] = "P", "SSOO"
    table = Table.lay_out(
        *hands,
        last="I",
        owner=2,
        trick="Q",
        player=0,
        places={seat: k for k, seat in enumerate([1, *range(3, num_players)], 1)},
        options={"target_score": 1, "reward": "win"},
        rest_to=1,
    )
    assert table.hand_number == 1
    table.play(put("P"))
    assert table.terminated
    assert of_players(table, "place")[:3] == [num_players - 1, 1, num_players]
    # The cards of the last one are captured by nobody.
    assert table.captures[0] == "PIQ"
    assert table.hands[2] == "OOSS"
    assert table.captures[2] == ""
    assert (table.on_table, table.owner, last_cards(table)) == ("", NOBODY, "")


@pytest.mark.rule("FZ-11")
def test_a_hand_with_two_who_hold_cards_goes_on():
    table = Table.lay_out("I", "PP", "SS").play(put("I"))
    assert (table.hand_number, table.current_player) == (1, 1)
    table.play(PASS, PASS, put("P"), PASS)
    assert table.hand_number == 1
    table.play(put("P"))
    assert table.hand_number == 2
    assert of_players(table, "last_place") == [1, 2, 3]
    assert of_players(table, "place") == [0, 0, 0]


@pytest.mark.rule("FZ-11")
@pytest.mark.parametrize("hand_number", [1, 2])
def test_all_is_new_in_the_next_hand(hand_number):
    known = [[0] * 13, counts("H")]
    table = end_hand(
        (2, 0, 3, 1),
        left="HH",
        lead="S",
        captured=("H", "HH"),
        hand_number=hand_number,
        known=known,
    )
    fresh = Table(4)
    for name in ("captured", "played_by", "played", "given", "known", "trick", "place"):
        assert not table.states[0][name].any(), name
    for name in ("gift", "request", "asker", "owner", "last_set", "has_passed"):
        assert np.array_equal(table.states[0][name], fresh.states[0][name]), name
    assert table.hand.sum() == 60


@pytest.mark.rule("FZ-13")
@pytest.mark.parametrize("finish", [(4, 0, 1, 3, 2), (1, 0, 2)])
def test_all_is_new_in_the_next_game(finish):
    """Also where another one has been played before, with more players."""
    table = end_hand(finish, left="LHF", options={"target_score": 1}, hand_number=2)
    assert table.terminated
    fresh = Table(3, 7)
    options = GAME.encode_options({})
    GAME.rules.reset(table.states, 0, np.uint64(7), 3, *options)
    for name in GAME.state_dtype.names:
        assert np.array_equal(table.states[0][name], fresh.states[0][name]), name
    assert table.rank.tolist() == [0, 1, 2, 0, 0, 0, 0]
    for name in ("totals", "last_place", "place_points", "lion_points", "hedgehog_points"):
        assert not table.states[0][name].any(), name
    assert not table.hand_points.any()


@pytest.mark.rule("FZ-12")
@pytest.mark.rule("FZ-24")
@pytest.mark.parametrize(
    ("finish", "points"),
    [
        ((2, 0, 1), [2, 0, 3]),
        ((0, 1, 2), [3, 2, 0]),
        ((3, 1, 0, 2), [2, 3, 0, 4]),
        ((0, 1, 2, 3, 4), [5, 4, 3, 2, 0]),  # the rulebook's example
        ((4, 2, 0, 1, 3), [3, 2, 4, 0, 5]),
        ((5, 4, 3, 2, 1, 0), [0, 2, 3, 4, 5, 6]),
        ((1, 3, 5, 0, 2, 4, 6), [4, 7, 3, 6, 2, 5, 0]),
    ],
)
def test_the_points_for_places(finish, points):
    table = end_hand(finish)
    assert of_players(table, "place_points") == points
    places = [finish.index(seat) + 1 for seat in range(len(finish))]
    assert of_players(table, "last_place") == places


# ---------------------------------------------------------------------------------------------
# The game
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("FZ-13")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
@pytest.mark.parametrize("partners", [True, False])
def test_the_first_hand(num_players, partners):
    table = Table(num_players, 2, partners=partners)
    assert (table.hand_number, table.phase, table.current_player) == (1, TURN, 0)
    assert of_players(table, "partner") == [NOBODY] * num_players
    assert (table.alone, totals(table)) == (NOBODY, [0] * num_players)
    assert last_cards(table) == ""
    assert table.legal() == sorted(map(put, plays(table)))


@pytest.mark.rule("FZ-13")
@pytest.mark.parametrize("num_players", WITH_PARTNERS)
@pytest.mark.parametrize(("partners", "hand_number"), [(True, 1), (False, 1), (False, 2)])
def test_lions_and_hedgehogs_do_not_count_without_partners(num_players, partners, hand_number):
    table = end_hand(
        range(num_players),
        left="LL",
        rest_to=1,
        hand_number=hand_number,
        options={"partners": partners},
    )
    assert not table.lion_points.any()
    assert not table.hedgehog_points.any()
    points = [*range(num_players, 1, -1), 0]
    assert of_players(table, "hand_points") == points == totals(table)


@pytest.mark.rule("FZ-13")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
@pytest.mark.parametrize("hand_number", [1, 2, 7])
def test_the_simple_game_never_has_partners(num_players, hand_number):
    options = {"partners": False, "target_score": 1000}
    table = end_hand(range(num_players), hand_number=hand_number, options=options)
    assert table.hand_number == hand_number + 1
    assert table.phase == TURN
    assert of_players(table, "partner") == [NOBODY] * num_players
    assert table.alone == NOBODY
    for _ in range(3 * num_players):
        assert not asks(table)
        assert not gifts(table)
        table.play(table.legal()[0])


@pytest.mark.rule("FZ-14")
@pytest.mark.parametrize(
    ("before", "order", "finish", "after", "expected"),
    [
        # No ties.
        ((0, 0, 0, 0), (0, 1, 2, 3), (2, 1, 0, 3), [2, 3, 4, 0], [2, 1, 0, 3]),
        # 5 each for 0 and 3; 0 was ranked better before.
        ((3, 9, 9, 1), (1, 2, 0, 3), (3, 1, 0, 2), [5, 12, 9, 5], [1, 2, 3, 0]),
        # All level: the order is turned round.
        ((0, 1, 2, 4), (3, 2, 1, 0), (0, 1, 2, 3), [4, 4, 4, 4], [0, 1, 2, 3]),
        ((4, 2, 1, 0), (0, 1, 2, 3), (3, 2, 1, 0), [4, 4, 4, 4], [3, 2, 1, 0]),
        # Three level, in an order which is neither that of the seats nor turned round.
        ((8, 5, 4, 3), (0, 1, 2, 3), (3, 2, 1, 0), [8, 7, 7, 7], [0, 3, 2, 1]),
        # Level behind a new first one.
        ((5, 5, 4, 3), (1, 0, 2, 3), (2, 3, 0, 1), [7, 5, 8, 6], [2, 0, 3, 1]),
        ((1, 1, 0, 9), (3, 0, 1, 2), (2, 0, 1, 3), [4, 3, 4, 9], [3, 2, 0, 1]),
    ],
)
def test_ranks(before, order, finish, after, expected):
    table = end_hand(finish, totals=before, order=order, hand_number=2, options={"partners": False})
    assert totals(table) == after
    assert table.order == expected
    # Not the place in this hand, and not the seats: also if all sit two seats further.
    seats = [2, 3, 0, 1]
    table = end_hand(
        [seats[seat] for seat in finish],
        totals=[before[seat] for seat in seats],
        order=[seats[seat] for seat in order],
        hand_number=2,
        options={"partners": False},
    )
    assert table.order == [seats[seat] for seat in expected]


@pytest.mark.rule("FZ-14")
def test_the_example_of_eric_and_simon():
    """Eric had 1 point, Simon 2; Eric gets 6, Simon 5."""
    eric, simon = 4, 2
    table = end_hand(
        (eric, simon, 0, 1, 3, 5),
        totals=(3, 9, 2, 8, 1, 0),
        order=(1, 3, 0, simon, eric, 5),
        hand_number=2,
        options={"partners": False},
    )
    assert totals(table) == [7, 12, 7, 10, 7, 0]
    assert table.order == [1, 3, eric, simon, 0, 5]


@pytest.mark.rule("FZ-14")
def test_before_hand_1_the_ranking_is_the_seat_order():
    """So of those who are level after it the last seat is first."""
    assert Table(5).order == [0, 1, 2, 3, 4]
    # The first has no hedgehog, the last has captured three lions and kept one.
    table = end_hand((0, 2, 1), left="L", captured=("", "HH", "H"), rest_to=1)
    assert totals(table) == [3 - 1, 0 + 3 - 1, 2]
    assert table.order == [2, 1, 0]


@pytest.mark.rule("FZ-14")
def test_ties_over_several_hands():
    """Four hands in which 0 and 1 are level after the second, third and fourth."""
    options = {"partners": False, "target_score": 1000}
    table = Table(4, **options)
    ranks = []
    for finish in [(0, 1, 2, 3), (1, 0, 2, 3), (2, 3, 0, 1), (3, 2, 1, 0), (0, 1, 3, 2)]:
        before, order, number = totals(table), table.order, int(table.hand_number)
        hands = [""] * 4
        hands[finish[2]], hands[finish[3]] = "S", "M"
        table.lay(
            *hands,
            places={finish[0]: 1, finish[1]: 2},
            player=finish[2],
            totals=before,
            order=order,
            hand_number=number,
        )
        table.play(put("S"))
        ranks.append((totals(table), table.order))
    assert ranks == [
        ([4, 3, 2, 0], [0, 1, 2, 3]),
        ([7, 7, 4, 0], [1, 0, 2, 3]),
        ([9, 7, 8, 3], [0, 2, 1, 3]),
        ([9, 9, 11, 7], [2, 1, 0, 3]),
        ([13, 12, 11, 9], [0, 1, 2, 3]),
    ]


@pytest.mark.rule("FZ-15")
@pytest.mark.parametrize("partners", [True, False])
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_last_ranked_player_leads_the_next_hand(num_players, partners):
    """By the total: it is not the last of the hand."""
    points = [10 * k for k in range(num_players)]
    finish = list(range(num_players - 1, 0, -1))
    finish.insert(1, 0)
    table = end_hand(
        finish,
        totals=points,
        order=range(num_players)[::-1],
        options={"target_score": 1000, "partners": partners},
    )
    assert table.order == list(range(num_players))[::-1]
    while table.phase == EXCHANGE:
        table.play(table.legal()[0])
    assert (table.current_player, last_cards(table)) == (0, "")


@pytest.mark.rule("FZ-16")
@pytest.mark.parametrize("partners", [True, False])
@pytest.mark.parametrize(
    ("before", "target", "over"),
    [
        ((15, 16, 0, 0), 19, True),  # 19 each
        ((15, 15, 0, 0), 19, False),  # 19 and 18
        ((14, 16, 0, 0), 19, False),
        ((500, 15, 16, 16), 19, False),  # one far above it
        ((30, 30, 0, 0), 19, True),
        ((0, 0, 17, 19), 19, True),  # not those who finished first
        ((18, 18, 18, 18), 19, True),
        ((3, 4, 0, 0), 7, True),
        ((3, 3, 0, 0), 7, False),
        ((15, 16, 0, 0), 20, False),
        ((0, 0, 0, 0), 4, False),
        ((0, 0, 0, 0), 3, True),
    ],
)
def test_the_game_ends_when_two_have_reached_the_target(before, target, over, partners):
    """The hand brings 4, 3, 2 and 0 points."""
    table = end_hand(
        (0, 1, 2, 3),
        totals=before,
        order=sorted(range(4), key=lambda player: -before[player]),
        hand_number=1 if partners else 3,
        options={"partners": partners, "target_score": target},
    )
    assert totals(table) == np.add(before, (4, 3, 2, 0)).tolist()
    assert table.terminated == over
    assert not table.truncated
    assert (table.legal() == []) == over
    if not over:
        assert table.rewards.tolist() == [0] * 7


@pytest.mark.rule("FZ-16")
@pytest.mark.rule("FZ-14")
def test_the_first_ranked_player_wins():
    """Ties are broken as after any hand."""
    end = {"totals": (15, 16, 25, 3), "order": (2, 1, 0, 3), "hand_number": 4}
    table = end_hand((0, 1, 2, 3), options={"reward": "win", "partners": False}, **end)
    assert totals(table) == [19, 19, 27, 3]
    assert rewards(table) == [0, 0, 1, 0]
    table = end_hand((0, 1, 2, 3), options={"partners": False}, **end)
    assert table.order == [2, 0, 1, 3]
    assert rewards(table) == pytest.approx([1 / 3, -1 / 3, 1, -1])
    end = {"totals": (17, 18, 15, 3), "order": (1, 0, 2, 3), "hand_number": 4}
    table = end_hand((0, 1, 2, 3), options={"reward": "win", "partners": False}, **end)
    assert totals(table) == [21, 21, 17, 3]
    assert rewards(table) == [1, 0, 0, 0]


# ---------------------------------------------------------------------------------------------
# Partners
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("FZ-17")
@pytest.mark.parametrize(
    ("num_players", "pairs", "alone"),
    [
        (4, [(1, 3), (2, 4)], None),
        (5, [(1, 4), (2, 5)], 3),
        (6, [(1, 4), (2, 5), (3, 6)], None),
        (7, [(1, 5), (2, 6), (3, 7)], 4),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_pairs(num_players, pairs, alone, seed):
    """By the ranks after the hand: no matter who was first in it, and what they were before."""
    order = np.random.default_rng(seed).permutation(num_players).tolist()
    points = [0] * num_players
    for rank, player in enumerate(order):
        points[player] = 10 * (num_players - rank)
    table = end_hand(
        [*order[1:], order[0]],
        totals=points,
        order=order,
        hand_number=1,
        options={"target_score": 1000},
    )
    assert table.order == order
    for senior, junior in pairs:
        assert table.partner[order[senior - 1]] == order[junior - 1]
        assert table.partner[order[junior - 1]] == order[senior - 1]
        assert table.is_senior[order[senior - 1]] == 1
        assert table.is_senior[order[junior - 1]] == 0
    assert table.alone == (NOBODY if alone is None else order[alone - 1])
    if alone is not None:
        assert table.partner[table.alone] == NOBODY
        assert table.is_senior[table.alone] == 0
    assert pairs_of(num_players) == [(senior - 1, junior - 1) for senior, junior in pairs]


@pytest.mark.rule("FZ-17")
def test_the_pairs_change_with_the_ranks():
    """Player 3 comes from the last rank to the first."""
    table = end_hand(
        (3, 1, 2, 0),
        totals=(6, 5, 4, 3),
        hand_number=2,
        rest_to=3,
        captured=("H", "H", "H"),
        options={"target_score": 100},
    )
    # 4 + 3 for the places of 3 and 1; 3 has captured five lions.
    assert totals(table) == [6 + 2, 5 + 7, 4 + 2, 3 + 7 + 5]
    assert table.order == [3, 1, 0, 2]
    assert of_players(table, "partner") == [3, 2, 1, 0]
    assert of_players(table, "is_senior") == [0, 1, 0, 1]


@pytest.mark.rule("FZ-18")
def test_the_exchange_of_one_pair():
    """0 and 2, then 1 and 3; 2 begins."""
    table = Table.deal_out("OOO", "", "EES", "", **PAIRS)
    before = table.hands
    assert (table.phase, table.current_player) == (EXCHANGE, 2)
    assert gifts(table) == "".join(sorted(set(before[2]), key=SIGNS.index))
    table.play(give("S"))
    # Nothing has moved yet.
    assert table.hands == before
    assert (table.phase, table.current_player) == (EXCHANGE, 2)
    table.play(give("E"))
    assert Counter(table.hand_of(2)) == Counter(before[2]) - Counter("SE")
    assert Counter(table.hand_of(0)) == Counter(before[0]) + Counter("SE")
    assert of_players(table, "hand_size") == [17, 15, 13, 15]
    # The senior gives of all cards that they hold, those that they got included.
    assert (table.phase, table.current_player) == (EXCHANGE, 0)
    assert gifts(table) == "".join(sorted(set(before[0] + "SE"), key=SIGNS.index))
    table.play(give("O"))
    assert of_players(table, "hand_size") == [17, 15, 13, 15]
    table.play(give("O"))
    assert Counter(table.hand_of(2)) == Counter(before[2]) + Counter("OO") - Counter("SE")
    assert Counter(table.hand_of(0)) == Counter(before[0]) + Counter("SE") - Counter("OO")
    assert table.hands[1::2] == before[1::2]
    assert (table.phase, table.current_player) == (EXCHANGE, 3)
    assert [cards_of(row) for row in table.given[:4]] == ["OO", "", "ES", ""]


@pytest.mark.rule("FZ-18")
def test_the_senior_may_give_back_what_he_was_given():
    """Only as they choose after they have received: they were dealt no joker and no crocodile."""
    hands = ("OOOEEBBLLSSFFII", "", "JCMMMMPPPPHHHHH", "")
    table = Table.deal_out(*hands, **PAIRS).play(give("J"), give("C"))
    assert gifts(table) == "OECBLSFIJ"
    table.play(give("C"), give("J"))
    assert table.hands[0] == in_order(hands[0])
    assert table.hands[2] == in_order(hands[2])


@pytest.mark.rule("FZ-18")
def test_the_same_single_card_is_not_given_twice():
    hands = ("", "", "JCMMMMPPPPHHHHH", "")
    table = Table.deal_out(*hands, **PAIRS)
    assert gifts(table) == "CPHMJ"
    assert gifts(table.copy().play(give("J"))) == "CPHM"
    assert gifts(table.copy().play(give("C"))) == "PHMJ"
    assert gifts(table.copy().play(give("M"))) == "CPHMJ"
    assert gifts(table.play(give("M"), give("M"))) != ""
    assert table.hand_of(2) == "CPPPPHHHHHMMJ"


@pytest.mark.rule("FZ-18")
@pytest.mark.rule("FZ-15")
@pytest.mark.parametrize(
    ("num_players", "ranks"),
    [
        (4, (3, 1, 4, 2)),
        (5, (4, 1, 5, 2, 3)),
        (6, (4, 1, 5, 2, 6, 3)),
        (7, (5, 1, 6, 2, 7, 3, 4)),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_the_exchange(num_players, ranks, seed):
    """Pairs by the senior's rank, the junior first; then the one alone; then the last one leads."""
    order = np.random.default_rng(seed).permutation(num_players).tolist()
    table = Table.deal_out(*[""] * num_players, order=order, **PAIRS)
    dealt = table.hand_size.copy()
    movers = []
    while table.phase == EXCHANGE:
        movers.append(int(table.current_player))
        assert all(give("O") <= action < PASS for action in table.legal())
        table.play(table.legal()[-1])
    assert movers == [order[rank - 1] for rank in ranks for _ in range(2)]
    assert (table.phase, table.current_player) == (TURN, order[-1])
    assert last_cards(table) == ""
    # All have as many cards as they were dealt, but for the one alone.
    sizes = table.hand_size[order]
    if num_players % 2:
        sizes[num_players // 2] += 2
    assert sizes.tolist() == dealt[order].tolist()


@pytest.mark.rule("FZ-18")
@pytest.mark.parametrize("num_players", [5, 7])
def test_the_player_alone_lays_two_cards_down(num_players):
    alone = num_players // 2
    hands = [""] * num_players
    hands[alone] = "LHHJ"
    table = Table.deal_out(*hands, **PAIRS)
    while table.current_player != alone:
        table.play(table.legal()[0])
    before = table.hands
    table.play(give("H"))
    assert table.hands == before
    table.play(give("L"))
    assert Counter(table.hand_of(alone)) == Counter(before[alone]) - Counter("LH")
    assert [hand for seat, hand in enumerate(table.hands) if seat != alone] == [
        hand for seat, hand in enumerate(before) if seat != alone
    ]
    assert cards_of(table.given[alone]) == "LH"
    assert table.phase == TURN


@pytest.mark.rule("FZ-18")
@pytest.mark.rule("FZ-22")
@pytest.mark.rule("FZ-23")
@pytest.mark.parametrize(
    ("laid_down", "captured", "lions", "hedgehogs"),
    [
        ("LL", "M", 2, -1),
        ("LH", "M", 0, 0),
        ("LH", "L", 2, 0),
        ("LM", "LL", 3, -1),
        ("HH", "L", 0, 0),
        ("MM", "LLH", 2, 0),
        ("MM", "", 0, -1),
    ],
)
def test_the_two_cards_of_the_player_alone_count_as_captured(laid_down, captured, lions, hedgehogs):
    """Also when the player has captured nothing else."""
    options = {"target_score": 1}
    table = end_hand(
        (2, 0, 1, 4, 3), gifts={2: laid_down}, captured=("", "", captured), **PAIRS, options=options
    )
    assert table.lion_points[2] == lions
    assert table.hedgehog_points[2] == hedgehogs
    assert table.hand_points[2] == 5 + 4 + lions + hedgehogs
    assert table.captures[2] == in_order(laid_down + captured)
    assert table.terminated


# ---------------------------------------------------------------------------------------------
# Help
# ---------------------------------------------------------------------------------------------


def helped(*hands, last, owner=1, player=2, **more):
    """A junior's turn, of player 2 if no other: the senior is player 0."""
    return Table.lay_out(*hands, last=last, owner=owner, player=player, **PAIRS, **more)


@pytest.mark.rule("FZ-19")
def test_the_example_of_the_hedgehogs():
    table = helped("HPO", "FF", "HSO", "LL", last="MM")
    assert asks(table) == {"H", "S"}
    table.play(ask("H"))
    assert (table.phase, table.current_player) == (ANSWER, 0)
    assert (LAYS[table.request], table.asker) == ("H", 2)
    assert table.hands == ["OPH", "FF", "OS", "LL"]
    assert table.legal() == [put("H"), PASS]
    table.play(put("H"))
    # It is the junior's set, and play goes on to their left.
    assert (last_cards(table), table.owner) == ("HH", 2)
    assert (table.phase, table.current_player) == (TURN, 3)
    assert table.on_table == "HHMM"
    assert table.hands == ["OP", "FF", "OS", "LL"]
    assert (table.request, table.asker) == (NO_LAY, NOBODY)
    table.play(PASS, PASS, PASS)
    assert (table.captures[2], table.current_player) == ("HHMM", 2)


@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-6")
def test_the_example_of_the_mosquito():
    """Against an elephant: with another elephant it makes two."""
    table = helped("EEJHM", "FF", "QS", "LL", last="E")
    assert asks(table) == {"Q"}
    table.play(ask("Q"))
    # With the joker it would be two mosquitoes, and a mouse beats an elephant, but not with it.
    assert table.legal() == [put("E"), PASS]
    table.play(put("E"))
    assert (last_cards(table), table.owner, table.on_table) == ("EQ", 2, "EEQ")
    # It counts as two elephants.
    table = helped("EL", "FF", "QS", "EEEMM", last="E").play(ask("Q"), put("E"))
    assert plays(table) == {"EEE", "MM"}


@pytest.mark.rule("FZ-19")
@pytest.mark.parametrize(
    ("last", "hand", "expected"),
    [
        # A single card asks for a second one of the same animal only.
        ("S", "SOBJM", "S J"),
        ("S", "OB", ""),
        # Any part of a set of two that beats two seals, or of three seals; never the whole.
        ("SS", "SSSOOBBJM", "S SS SJ O B J"),
        ("SS", "FFLLMM", ""),
        ("SS", "J", "J"),
        ("S", "J", "J"),
        # Of one orca nothing but another orca is more; nothing beats it.
        ("O", "OSJ", "O J"),
        ("OOOOO", "J", "J"),
        ("OOOO", "OJ", "O J OJ"),
        # Six orcas, with the joker, can be beaten by nothing.
        ("OOOOOJ", "SSBB", ""),
        # Elephants with the joker and a mosquito.
        ("E", "EQJM", "E Q J"),
        ("EE", "EQQJMM", "E EQ EJ Q QJ M J"),
        ("C", "EEQJC", "C J"),
        ("CC", "EEQJCC", "E Q J C CC CJ"),
        ("CCC", "EQQJ", "E Q J EQ EJ QJ"),
        # Mosquitoes: with the joker they are but mosquitoes.
        ("Q", "QQJHM", "Q J"),
        ("QQ", "QQJHIM", "Q QQ QJ J H I M"),
        ("QJ", "QQHIM", "Q QQ H I M"),
        ("QQQQ", "JHM", "J H M HJ MJ"),
        ("QQQJ", "HI", "H I"),
        ("M", "MFFH", "M"),
        ("MM", "MQEFFH", "M F H"),
        ("F", "ELFF", "F"),
    ],
)
def test_what_may_be_laid_to_ask_for_help(last, hand, expected):
    """Examples by hand; the senior has nothing that goes with them."""
    table = helped("P", "I", hand, "I", last=last)
    assert asks(table) == set(expected.split())
    for cards in expected.split():
        after = table.copy().play(ask(cards))
        assert after.legal() == [PASS]
        assert Counter(after.hand_of(2)) == Counter(hand) - Counter(cards)


@pytest.mark.rule("FZ-19")
@pytest.mark.parametrize(
    ("last", "request_", "senior", "expected"),
    [
        ("S", "S", "SSJOBM", "S J"),
        ("S", "J", "SSOBM", "S"),
        ("SS", "J", "SSOBBM", "SS O B"),
        ("SS", "S", "SSJO", "SS SJ"),
        ("SS", "SS", "SJO", "S J"),
        ("SS", "B", "BBJO", "B J"),
        ("SS", "SJ", "SOB", "S"),
        ("CC", "E", "EEQQJM", "E Q J"),
        ("CC", "Q", "EEQJ", "E"),
        ("CC", "J", "EECQ", "E"),
        ("CC", "J", "EECCQ", "E CC"),
        ("CCC", "E", "EEQQJ", "EE EQ EJ QJ"),
        ("CCC", "Q", "EEQJ", "EE EJ"),
        ("CCC", "J", "EEQQ", "EE EQ"),
        ("CCC", "QJ", "EEQ", "E"),
        ("CCC", "EQ", "EEQJ", "E J"),
        ("CCC", "EJ", "EEQQ", "E Q"),
        ("EE", "Q", "EEQJMM", "EE EJ"),
        ("EE", "M", "MMJEQ", "M J"),
        ("EE", "J", "EEQM", "EE EQ M"),
        ("E", "J", "EEQMM", "E"),
        ("QQ", "Q", "QJHHII", "QJ"),
        ("QQ", "J", "QQHHIIM", "QQ H I M"),
        ("QQ", "QJ", "QHIM", "Q"),
        ("QJ", "H", "HHI", "H"),
        ("OOO", "O", "OJ", ""),
        ("MM", "H", "PSO", ""),
    ],
)
def test_what_completes_a_set(last, request_, senior, expected):
    table = helped(senior, "I", request_ + "P", "I", last=last).play(ask(request_))
    assert plays(table) == set(expected.split())
    assert table.legal()[-1] == PASS
    for cards in expected.split():
        after = table.copy().play(put(cards))
        whole = in_order(request_ + cards)
        assert in_order(last_cards(after)) == whole
        assert beats(whole, last)
        assert (after.owner, after.current_player) == (2, 3)
        assert Counter(after.hand_of(0)) == Counter(senior) - Counter(cards)
        assert after.hand_of(2) == "P"
        assert cards_of(after.played_by[2] - table.played_by[2]) == in_order(request_)
        assert cards_of(after.played_by[0] - table.played_by[0]) == in_order(cards)
        assert cards_of(after.played - table.played) == whole


@pytest.mark.rule("FZ-19")
def test_every_completion():
    """All that is added to every fourth request, by a senior who holds the whole deck."""
    found = 0
    for last, table in all_masks():
        s = table.states[0]
        s["hand"][0] = counts(DECK.elements())
        s["phase"] = ANSWER
        s["current_player"] = 0
        for request in sorted(requests(in_order(last)))[len(last) % 4 :: 4]:
            s["request"] = put(request)
            assert plays(table) == {
                cards
                for cards in LAYS
                if Counter(request + cards) <= DECK
                and beats(in_order(request + cards), in_order(last))
            }
            assert table.legal()[-1] == PASS
            assert plays(table)
            found += 1
        s["hand"][0] = 0
        s["phase"] = TURN
        s["current_player"] = 2
        s["request"] = NO_LAY
    assert found > 200


@pytest.mark.rule("FZ-19")
def test_a_refused_request():
    """The junior takes the cards back, and the turn is over as if they had passed."""
    table = helped("HO", "FF", "HHS", "LL", last="MM")
    table.play(ask("H"), PASS)
    assert table.hands == ["OH", "FF", "SHH", "LL"]
    assert of_players(table, "hand_size") == [2, 2, 3, 2]
    assert (last_cards(table), table.owner, table.on_table) == ("MM", 1, "MM")
    assert (table.phase, table.current_player) == (TURN, 3)
    assert (table.request, table.asker) == (NO_LAY, NOBODY)
    assert of_players(table, "has_passed") == [0, 0, 1, 0]
    # Everybody has seen the cards.
    assert [cards_of(table.known[player]) for player in range(4)] == ["", "", "H", ""]
    table.play(PASS, PASS)
    assert (table.captures[1], table.current_player) == ("MM", 1)
    # They are known until they are played.
    table.play(put("FF"), PASS, PASS, PASS)
    assert cards_of(table.known[2]) == "H"


@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-10")
def test_a_refused_request_is_a_pass():
    """The refusal is not a pass of the senior's own."""
    table = helped("OO", "FF", "HSO", "LLS", last="MM", owner=3, player=0)
    table.play(PASS, PASS)
    assert (table.current_player, last_cards(table)) == (2, "MM")
    table.play(ask("H"), PASS)
    assert (table.current_player, last_cards(table)) == (3, "")
    assert table.captures[3] == "MM"
    table = helped("OO", "FF", "HSO", "LLS", last="MM", owner=1, player=2)
    table.play(ask("H"), PASS, PASS)
    assert (table.current_player, last_cards(table)) == (0, "MM")
    table.play(PASS)
    assert (table.current_player, last_cards(table)) == (1, "")


@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-10")
def test_a_refused_request_as_the_last_pass_on_a_set_of_a_player_who_is_out():
    """The next to the left of the owner leads, not of the junior."""
    table = helped("OO", "FF", "HSO", "", last="MM", owner=3, player=0, rest_to=1)
    table.play(PASS, PASS, ask("H"), PASS)
    assert (table.current_player, last_cards(table)) == (0, "")
    assert table.captures[3] == "MM"
    assert table.hand_of(2) == "OSH"


@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-10")
def test_only_after_all_cards_are_back_are_the_passes_counted():
    """The junior had laid all cards: they hold cards again, so that they lead the next trick."""
    table = helped("OO", "", "H", "", last="MM", owner=1, player=0, rest_to=0)
    table.play(PASS)
    assert (table.current_player, table.hand_of(2)) == (2, "H")
    table.play(ask("H"), PASS)
    assert (table.hand_of(2), table.place[2]) == ("H", 0)
    assert (table.current_player, last_cards(table)) == (2, "")
    assert table.captures[1] == "MM"


@pytest.mark.rule("FZ-19")
def test_one_request_a_turn_and_another_one_in_the_next():
    table = helped("OO", "LI", "BFMM", "FS", last="M")
    assert asks(table) == {"M"}
    table.play(ask("M"), PASS, put("F"), PASS, PASS)
    # It is their turn again, in the same trick.
    assert (table.current_player, last_cards(table)) == (2, "F")
    assert asks(table) == {"F"}
    assert plays(table) == {"B"}
    table.play(ask("F"), PASS)
    assert (table.current_player, last_cards(table)) == (3, "")


@pytest.mark.rule("FZ-19")
def test_the_seniors_own_set_may_be_beaten_in_this_way():
    table = helped("HMO", "FF", "HS", "LL", last="MM", owner=0)
    table.play(ask("H"))
    assert table.legal() == [put("H"), PASS]
    table.play(put("H"))
    assert (table.owner, table.current_player) == (2, 3)


@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-13")
@pytest.mark.parametrize(
    ("hands", "more", "expected"),
    [
        (("HO", "FF", "HS", "LL"), {"hand_number": 2}, True),
        (("HO", "FF", "HS", "LL"), {"hand_number": 5}, True),
        # Not in the first hand, and not in the simple game.
        (("HO", "FF", "HS", "LL"), {"hand_number": 1}, False),
        (("HO", "FF", "HS", "LL"), {"hand_number": 2, "options": {"partners": False}}, False),
        # Not when the senior has no cards.
        (("", "FF", "HS", "LL"), {"hand_number": 2}, False),
        # Not a senior: here player 2 is the first by rank, or the second.
        (("HO", "FF", "HS", "LL"), {"hand_number": 2, "order": (2, 0, 1, 3)}, False),
        (("HO", "FF", "HS", "LL"), {"hand_number": 2, "order": (0, 2, 1, 3)}, False),
        (("HO", "FF", "HS", "LL"), {"hand_number": 2, "order": (3, 0, 1, 2)}, True),
        # Not the player alone, nor among three.
        (("HO", "FF", "HS", "LL", "PP"), {"hand_number": 2}, False),
        (("HO", "FF", "HS", "LL", "PP"), {"hand_number": 2, "order": (0, 1, 3, 2, 4)}, True),
        (("HO", "FF", "HS"), {"hand_number": 2}, False),
    ],
)
def test_who_may_ask(hands, more, expected):
    table = Table.lay_out(*hands, last="MM", owner=1, player=2, **more)
    assert asks(table) == ({"H", "S"} if expected else set())


@pytest.mark.rule("FZ-19")
def test_who_leads_may_not_ask():
    table = Table.lay_out("HO", "FF", "HSJ", "LL", player=2, **PAIRS)
    assert asks(table) == set()
    assert PASS not in table.legal()
    table = Table.lay_out("HO", "FF", "J", "LL", player=2, **PAIRS)
    assert table.legal() == [PASS]


@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-5")
def test_a_junior_who_follows_with_the_joker_only():
    table = helped("SSM", "FF", "J", "LL", last="S")
    assert table.legal() == [ask("J"), PASS]
    table.play(ask("J"))
    assert (table.hand_of(2), table.place[2], table.hand_size[2]) == ("", 0, 0)
    assert table.legal() == [put("S"), PASS]
    refused = table.copy().play(PASS)
    assert (refused.hand_of(2), refused.place[2], refused.current_player) == ("J", 0, 3)
    table.play(put("S"))
    assert (last_cards(table), table.owner, table.place[2]) == ("SJ", 2, 1)
    assert table.current_player == 3


@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-11")
def test_a_junior_who_laid_all_cards_is_not_out_before_the_answer():
    """The hand does not end, although only one holds cards."""
    table = helped("HHO", "", "H", "", last="MM", rest_to=0).play(ask("H"))
    assert (table.hand_number, table.phase, table.current_player) == (2, ANSWER, 0)
    assert of_players(table, "place") == [0, 1, 0, 2]
    refused = table.copy().play(PASS)
    assert (refused.hand_number, refused.current_player) == (2, 0)
    table.play(put("H"))
    assert table.hand_number == 3
    assert of_players(table, "last_place") == [4, 1, 3, 2]


@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-20")
def test_a_senior_who_plays_the_last_card_by_helping_takes_the_next_place():
    table = helped("H", "FF", "HSO", "LL", last="MM").play(ask("H"), put("H"))
    assert of_players(table, "place") == [1, 0, 0, 0]
    assert (table.owner, table.current_player, table.hand_number) == (2, 3, 2)
    # The junior cannot ask them any more, but the hand goes on.
    table.play(PASS, PASS)
    assert (table.current_player, table.captures[2]) == (2, "HHMM")
    table.play(put("S"), PASS, PASS, put("O"))
    assert of_players(table, "place") == [1, 0, 2, 0]
    assert (table.current_player, table.hand_number) == (3, 2)


@pytest.mark.rule("FZ-19")
@pytest.mark.parametrize(
    ("order", "junior", "senior"),
    [
        ((0, 1, 2, 3), 2, 0),
        ((1, 0, 2, 3), 2, 1),
        ((3, 0, 2, 1), 2, 3),  # the senior sits to the left of the junior
        ((2, 3, 1, 0), 1, 2),
        ((2, 0, 3, 1), 3, 2),
    ],
)
def test_after_help_play_goes_on_left_of_the_junior(order, junior, senior):
    hands = ["OF", "OF", "OF", "OF"]
    hands[junior] = hands[senior] = "HS"
    owner = min({0, 1, 2, 3} - {junior, senior})
    table = Table.lay_out(*hands, last="MM", owner=owner, player=junior, order=order, hand_number=2)
    assert table.partner[junior] == senior
    table.play(ask("H"), put("H"))
    assert (table.owner, table.current_player) == (junior, (junior + 1) % 4)


@pytest.mark.rule("FZ-20")
def test_if_both_go_out_in_one_set_the_junior_is_better():
    table = helped("H", "FF", "H", "LL", last="MM").play(ask("H"), put("H"))
    assert of_players(table, "place") == [2, 0, 1, 0]
    assert (table.hand_number, table.owner, table.current_player) == (2, 2, 3)
    # Both others have to pass, and the next to the left of the junior leads.
    table.play(PASS)
    assert (table.current_player, last_cards(table)) == (1, "HH")
    table.play(PASS)
    assert (table.current_player, last_cards(table)) == (3, "")
    assert table.captures[2] == "HHMM"
    table = helped("H", "FF", "H", "LL", "OO", "PP", last="MM", order=(0, 1, 3, 2, 4, 5))
    table.play(ask("H"), put("H"))
    assert of_players(table, "place") == [2, 0, 1, 0, 0, 0]


@pytest.mark.rule("FZ-20")
@pytest.mark.rule("FZ-11")
def test_if_both_go_out_and_one_is_left_the_hand_is_over():
    """The places are taken by the junior, the senior and the one who is left."""
    table = helped("H", "FFL", "H", "", last="MM", rest_to=3).play(ask("H"), put("H"))
    assert table.hand_number == 3
    assert of_players(table, "last_place") == [3, 4, 2, 1]
    # 4, 3, 2 and 0 points for the places; 1 with 3 and 0 with 2.
    assert of_players(table, "place_points") == [5, 4, 5, 4]
    assert of_players(table, "lion_points") == [0, -1, 0, 4]
    assert of_players(table, "hedgehog_points") == [-1, -1, 0, 0]


@pytest.mark.rule("FZ-20")
@pytest.mark.rule("FZ-11")
def test_if_both_were_the_last_with_cards_the_hand_is_over():
    """Junior last but one, senior last; no cards are left in a hand."""
    table = helped("H", "", "HH", "", last="MMJ", rest_to=1, trick="L", captured=("", "", "L"))
    table.play(ask("HH"), put("H"))
    assert table.hand_number == 3
    assert of_players(table, "last_place") == [4, 1, 3, 2]
    assert of_players(table, "place_points") == [2, 7, 2, 7]
    # The junior has captured the trick, and the lion in it.
    assert of_players(table, "lion_points") == [0, 3, 2, 0]
    assert of_players(table, "hedgehog_points") == [-1, 0, 0, -1]


@pytest.mark.rule("FZ-20")
def test_of_two_partners_left_one_can_go_out_by_help():
    """The other is last, and keeps their cards."""
    table = helped("H", "", "HLL", "", last="MM", rest_to=1).play(ask("H"), put("H"))
    assert table.hand_number == 3
    assert of_players(table, "last_place") == [3, 1, 4, 2]
    assert of_players(table, "lion_points") == [0, 3, -2, 0]
    table = helped("HL", "", "H", "", last="MM", rest_to=1).play(ask("H"), put("H"))
    assert of_players(table, "last_place") == [4, 1, 3, 2]
    assert of_players(table, "lion_points") == [-1, 4, 0, 0]


@pytest.mark.rule("FZ-20")
def test_a_partner_who_is_out_does_not_end_the_hand():
    table = Table.lay_out("S", "FF", "SS", "LL", **PAIRS).play(put("S"))
    assert of_players(table, "place") == [1, 0, 0, 0]
    table.play(PASS, put("SS"))
    assert of_players(table, "place") == [1, 0, 2, 0]
    assert (table.hand_number, table.current_player) == (2, 3)


# ---------------------------------------------------------------------------------------------
# Points with partners
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("FZ-21")
@pytest.mark.parametrize(
    ("finish", "points"),
    [
        # The rulebook's example: 0 and 3 first and last, 1 and 4 second and fourth, 2 third.
        ((0, 1, 2, 4, 3), [5, 6, 7, 5, 6]),
        ((3, 4, 2, 1, 0), [5, 6, 7, 5, 6]),
        ((0, 3, 1, 4, 2), [9, 5, 4, 9, 5]),  # the one alone is last
        ((2, 0, 3, 1, 4), [7, 2, 9, 7, 2]),
        ((0, 1, 2, 3), [6, 3, 6, 3]),
        ((0, 2, 1, 3), [7, 2, 7, 2]),
        ((3, 0, 2, 1), [5, 4, 5, 4]),
        ((0, 1, 2, 3, 4, 5), [9, 7, 4, 9, 7, 4]),
        ((5, 2, 0, 3, 1, 4), [7, 2, 11, 7, 2, 11]),
        ((0, 1, 2, 3, 4, 5, 6), [10, 8, 5, 8, 10, 8, 5]),
        ((3, 6, 5, 4, 2, 1, 0), [4, 7, 9, 11, 4, 7, 9]),
    ],
)
def test_the_points_of_pairs_and_of_the_one_alone(finish, points):
    table = end_hand(finish, **PAIRS)
    assert of_players(table, "place_points") == points


@pytest.mark.rule("FZ-22")
@pytest.mark.parametrize(
    ("lions", "in_hand", "points"),
    [
        ((0, 1, 2, 2), 0, [0, 0, 2, 2]),
        ((1, 1, 1, 1), 1, [0, 0, 0, -1]),
        ((5, 0, 0, 0), 0, [5, 0, 0, 0]),
        ((3, 1, 0, 1), 0, [3, 0, 0, 0]),
        ((0, 0, 0, 4), 1, [0, 0, 0, 3]),
        ((2, 0, 0, 1), 2, [2, 0, 0, -2]),
        ((0, 0, 1, 2), 2, [0, 0, 0, 0]),
        ((0, 0, 0, 0), 5, [0, 0, 0, -5]),
    ],
)
def test_lions(lions, in_hand, points):
    """Player 3 is last; the two fewest of five cards are not named."""
    table = end_hand(
        (0, 1, 2, 3),
        left="F" + "L" * in_hand,
        captured=["L" * number for number in lions],
        rest_to=1,
        **PAIRS,
    )
    assert of_players(table, "lion_points") == points
    # Not shared with the partner.
    places = of_players(table, "place_points")
    hedgehogs = of_players(table, "hedgehog_points")
    assert hedgehogs == [-1, 0, -1, -1]
    assert totals(table) == np.sum([places, points, hedgehogs], axis=0).tolist()


@pytest.mark.rule("FZ-23")
@pytest.mark.parametrize(
    ("hedgehogs", "in_hand", "points"),
    [
        ((1, 1, 1, 1), 1, [0, 0, 0, 0]),
        ((0, 5, 0, 0), 0, [-1, 0, -1, -1]),
        ((1, 2, 0, 1), 1, [0, 0, -1, 0]),
        # Those left in the hand are not captured.
        ((2, 1, 1, 0), 1, [0, 0, 0, -1]),
        ((0, 0, 0, 0), 5, [-1, -1, -1, -1]),
    ],
)
def test_hedgehogs(hedgehogs, in_hand, points):
    table = end_hand(
        (0, 1, 2, 3),
        left="F" + "H" * in_hand,
        captured=["H" * number for number in hedgehogs],
        **PAIRS,
    )
    assert of_players(table, "hedgehog_points") == points


@pytest.mark.rule("FZ-11")
@pytest.mark.rule("FZ-22")
@pytest.mark.rule("FZ-23")
@pytest.mark.parametrize(
    ("lead", "lions", "hedgehogs"), [("LL", 2, -1), ("L", 0, -1), ("HH", 0, 0), ("LLL", 3, -1)]
)
def test_the_unfinished_trick_is_captured_before_lions_and_hedgehogs_count(lead, lions, hedgehogs):
    """Player 2 has captured nothing before."""
    table = end_hand((0, 1, 2, 3), lead=lead, **PAIRS)
    assert table.lion_points[2] == lions
    assert table.hedgehog_points[2] == hedgehogs


@pytest.mark.rule("FZ-11")
@pytest.mark.rule("FZ-22")
@pytest.mark.rule("FZ-23")
def test_the_owner_of_the_last_set_captures_the_unfinished_trick():
    """All of it, of what others have played too."""
    table = Table.lay_out(
        *("", "", "E", "FF"), last="L", trick="HFL", owner=3, player=2, rest_to=1, **PAIRS
    ).play(put("E"))
    assert table.hand_number == 3
    assert of_players(table, "lion_points") == [0, 3, 2, 0]
    assert of_players(table, "hedgehog_points") == [-1, 0, 0, -1]


# ---------------------------------------------------------------------------------------------
# Three players
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("FZ-24")
@pytest.mark.parametrize("partners", [True, False])
@pytest.mark.parametrize("hand_number", [1, 2, 3])
def test_among_three_lions_and_hedgehogs_always_count(partners, hand_number):
    table = end_hand(
        (1, 2, 0),
        left="FL",
        captured=("", "LLL", ""),
        rest_to=2,
        hand_number=hand_number,
        options={"partners": partners},
    )
    assert of_players(table, "place_points") == [0, 3, 2]
    assert of_players(table, "lion_points") == [-1, 3, 0]
    assert of_players(table, "hedgehog_points") == [-1, -1, 0]
    assert totals(table) == [-2, 5, 2]
    assert table.order == [1, 2, 0]
    # The player with the lowest rank leads; nobody has a partner, and nothing is exchanged.
    assert (table.phase, table.current_player) == (TURN, 0)
    assert of_players(table, "partner") == [NOBODY] * 3
    assert table.alone == NOBODY


@pytest.mark.rule("FZ-24")
@pytest.mark.parametrize(
    ("before", "target", "over"),
    [
        ((16, 0, 0), 19, True),
        ((15, 0, 0), 19, False),
        ((15, 15, 15), 19, False),
        ((15, 17, 15), 19, True),  # the second one reaches it
        ((15, 0, 19), 19, False),  # the last one loses a point for a lion
        ((15, 0, 20), 19, True),
        ((15, 16, 0), 18, True),
        ((-5, -5, -5), 1, False),
    ],
)
def test_among_three_one_at_the_target_ends_the_game(before, target, over):
    """The hand brings 3, 2 and -1 points."""
    table = end_hand(
        (0, 1, 2),
        captured=("HL", "HL", "HL"),
        left="FL",
        lead="F",
        totals=before,
        order=sorted(range(3), key=lambda player: -before[player]),
        hand_number=4,
        options={"target_score": target},
    )
    assert totals(table) == [before[0] + 3, before[1] + 2, before[2] - 1]
    assert table.terminated == over


@pytest.mark.rule("FZ-24")
@pytest.mark.rule("FZ-14")
def test_among_three_the_highest_total_wins_and_ties_are_broken_by_the_ranks():
    end = {"captured": ("HL", "HL", "HL"), "left": "F", "lead": "L", "hand_number": 4}
    # 0 has 19, and so has 1: the one ranked worse before is first.
    for order, winner in [((0, 1, 2), 1), ((1, 0, 2), 0)]:
        table = end_hand(
            (0, 2, 1), totals=(16, 19, 3), order=order, options={"reward": "win"}, **end
        )
        assert totals(table) == [19, 19, 3 + 2 + 2]
        assert rewards(table) == [float(player == winner) for player in range(3)]
        assert table.order[0] == winner
    # The winner need not be the first of the hand.
    table = end_hand((0, 2, 1), totals=(16, 25, 3), order=(1, 0, 2), **end)
    assert rewards(table) == [0, 1, -1]


@pytest.mark.rule("FZ-24")
def test_totals_can_be_negative():
    table = end_hand((0, 2, 1), left="LLLLM", totals=(0, -4, -1), order=(0, 2, 1), hand_number=3)
    # 1 loses four lions and a hedgehog, 2 a hedgehog.
    assert totals(table) == [3, -4 - 4 - 1, -1 + 2 - 1]
    assert table.order == [0, 2, 1]
    assert table.current_player == 1


@pytest.mark.rule("FZ-24")
def test_a_game_that_need_not_end_is_truncated():
    table = Table(3, max_steps=30)
    for number in range(30):
        assert not table.truncated
        table.play(table.legal()[-1] if number % 2 else table.legal()[0])
    assert table.truncated
    assert not table.terminated
    assert table.legal() == []


# ---------------------------------------------------------------------------------------------
# Rewards
# ---------------------------------------------------------------------------------------------

# What one point more than the mean of the table is worth.
POINT = 0.125


@pytest.mark.rule("FZ-12")
@pytest.mark.parametrize(
    ("finish", "more", "points"),
    [
        ((2, 0, 3, 1), {}, [3, 0, 4, 2]),
        ((0, 1, 2, 4, 3), {}, [5, 4, 3, 0, 2]),
        # 4 points for each pair's places; player 0 has captured all lions and hedgehogs.
        ((0, 1, 3, 2), PAIRS, [4 + 5, 5 - 1, 4 - 1, 5 - 1]),
        ((1, 0, 2), {}, [2 + 4, 3 - 1, 0 - 1]),
    ],
)
@pytest.mark.parametrize("target", [1, 19])
def test_score_pays_the_points_of_each_hand(finish, more, points, target):
    """Relative to their mean, whether the game goes on or is over."""
    options = {"reward": "score", "target_score": target}
    table = end_hand(finish, totals=[0] * len(finish), options=options, **more)
    assert of_players(table, "hand_points") == points
    mean = sum(points) / len(points)
    assert rewards(table) == pytest.approx([POINT * (own - mean) for own in points])
    assert sum(rewards(table)) == pytest.approx(0)
    assert table.terminated == (target == 1)
    if not table.terminated:
        table.play(table.legal()[0])
        assert not table.rewards.any()


@pytest.mark.parametrize("mode", ["rank", "win"])
def test_rank_and_win_pay_at_the_end_only(mode):
    table = end_hand((0, 1, 2, 3), options={"reward": mode})
    assert table.hand_number == 2
    assert not table.rewards.any()
    table = Table.lay_out("SS", "P", "F", options={"reward": mode}).play(put("S"))
    assert not table.rewards.any()


@pytest.mark.rule("FZ-16")
@pytest.mark.parametrize(
    ("finish", "rank"),
    [
        ((2, 0, 1), [0, -1, 1]),
        ((2, 0, 3, 1), [1 / 3, -1, 1, -1 / 3]),
        ((0, 1, 2, 4, 3), [1, 0.5, 0, -1, -0.5]),
        ((5, 4, 3, 2, 1, 0), [-1, -0.6, -0.2, 0.2, 0.6, 1]),
        ((1, 3, 5, 0, 2, 4, 6), [0, 1, -1 / 3, 2 / 3, -2 / 3, 1 / 3, -1]),
    ],
)
def test_the_rewards_at_the_end(finish, rank):
    """Hand 1 is over, and two of them have reached a target of 1."""
    end = {"captured": ("HL",) * 3, "rest_to": finish[0]}
    table = end_hand(finish, options={"target_score": 1}, **end)
    assert table.terminated
    assert rewards(table) == pytest.approx(rank)
    table = end_hand(finish, options={"target_score": 1, "reward": "win"}, **end)
    assert rewards(table) == [float(seat == finish[0]) for seat in range(len(finish))]


@pytest.mark.parametrize(
    ("mode", "hand_number", "expected"),
    [
        # Nobody is ahead before the first hand is over.
        ("rank", 1, [0, 0, 0, 0]),
        ("win", 1, [0.25, 0.25, 0.25, 0.25]),
        ("score", 1, [0, 0, 0, 0]),
        # Then the ranking after the last finished hand counts.
        ("rank", 2, [-1 / 3, 1 / 3, -1, 1]),
        ("win", 2, [0, 0, 0, 1]),
        ("score", 2, [0, 0, 0, 0]),
    ],
)
def test_truncation_pays_the_standing_so_far(mode, hand_number, expected):
    table = Table.lay_out(
        *("SSS", "P", "F", "F"),
        order=(3, 1, 0, 2),
        totals=(4, 5, 4, 6) if hand_number > 1 else None,
        hand_number=hand_number,
        options={"reward": mode, "max_steps": 2},
    )
    table.play(put("S"))
    assert not table.truncated
    assert not table.rewards.any()
    table.play(PASS)
    assert table.truncated
    assert not table.terminated
    assert table.legal() == []
    assert rewards(table) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("rank", [1, 1 / 3, -1 / 3, -1]),
        ("win", [1, 0, 0, 0]),
        ("score", [1.75 * POINT, 0.75 * POINT, -0.25 * POINT, -2.25 * POINT]),
    ],
)
def test_truncation_at_the_end_of_a_hand_counts_the_ranking_after_it(mode, expected):
    table = end_hand((0, 1, 2, 3), options={"max_steps": 1, "reward": mode})
    assert table.truncated
    assert rewards(table) == pytest.approx(expected)


def test_a_game_that_ends_with_its_last_step_is_not_truncated():
    table = end_hand((0, 1, 2, 3), options={"max_steps": 1, "target_score": 1})
    assert table.terminated
    assert not table.truncated
    assert rewards(table) == pytest.approx([1, 1 / 3, -1 / 3, -1])


def test_when_the_game_is_over_what_is_left_in_hands_is_shown():
    options = {"target_score": 1}
    table = end_hand((0, 1, 4, 2, 3), "FFLJ", gifts={2: "MO"}, **PAIRS, options=options)
    assert table.terminated
    assert table.hands == ["", "", "", "LFFJ", ""]
    assert [cards_of(table.known[player]) for player in range(5)] == table.hands
    # What the player alone has laid down is among the captured cards now.
    assert table.captures[2] == "OFM"
    assert not table.given[2].any()
    assert table.played.tolist() == table.captured.sum(axis=0).tolist()


# ---------------------------------------------------------------------------------------------
# Who knows what
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("FZ-7")
def test_a_leader_who_passes_shows_that_he_holds_the_joker():
    table = Table.lay_out("J", "SM", "BB", "FF").play(PASS)
    assert [cards_of(table.known[player]) for player in range(4)] == ["J", "", "", ""]
    table.play(put("S"))
    assert cards_of(table.known[0]) == "J"
    # A pass on a set shows nothing.
    table.play(PASS, PASS, PASS)
    assert [cards_of(table.known[player]) for player in range(4)] == ["J", "", "", ""]


@pytest.mark.rule("FZ-19")
def test_what_a_junior_has_shown_is_known_until_it_is_played():
    table = helped("P", "FO", "HHHSS", "FO", last="MMM")
    table.play(ask("HH"), PASS)
    assert cards_of(table.known[2]) == "HH"
    table.play(PASS, PASS, put("F"), PASS, PASS, PASS)
    assert (table.current_player, last_cards(table)) == (1, "")
    table.play(put("O"))
    assert cards_of(table.known[2]) == "HH"
    table = helped("PPP", "FO", "HHHSS", "FFFO", last="MMM", known=[[0] * 13] * 2 + [counts("HH")])
    # One more of them is known only when it is seen together with the others.
    table.play(ask("S"))
    assert cards_of(table.known[2]) == "HH"
    table.play(PASS)
    assert cards_of(table.known[2]) == "SHH"
    known = [[0] * 13] * 2 + [counts("HH")]
    table = Table.lay_out("P", "FO", "HHSS", "FO", player=2, known=known, **PAIRS)
    assert cards_of(table.copy().play(put("H")).known[2]) == "H"
    assert cards_of(table.copy().play(put("S")).known[2]) == "HH"
    assert cards_of(table.play(put("HH")).known[2]) == ""


# ---------------------------------------------------------------------------------------------
# Whole games
# ---------------------------------------------------------------------------------------------


def sociable(seed):
    """A choice that asks for help and gives it often, and seldom passes."""
    rng = np.random.default_rng(seed)
    asks_often, passes_often = rng.random(), 0.3 * rng.random()

    def choose(table, number):
        legal = table.legal()
        requests_ = [action for action in legal if NO_LAY <= action < give("O")]
        if requests_ and rng.random() < asks_often:
            return int(rng.choice(requests_))
        if legal[-1] == PASS and len(legal) > 1 and rng.random() >= passes_often:
            legal = [action for action in legal[:-1] if action not in requests_] or legal
        return int(rng.choice(legal))

    return choose


WHOLE_GAMES = [
    # (partners, target_score, reward, max_steps)
    (True, 19, "rank", 10_000),
    (True, 30, "win", 10_000),
    (True, 1, "score", 10_000),
    (True, 40, "score", 10_000),
    (False, 9, "rank", 10_000),
    (False, 19, "win", 150),
    (True, 19, "rank", 300),
]


@pytest.mark.rule("FZ-1")
@pytest.mark.rule("FZ-3")
@pytest.mark.rule("FZ-8")
@pytest.mark.rule("FZ-10")
@pytest.mark.rule("FZ-11")
@pytest.mark.rule("FZ-12")
@pytest.mark.rule("FZ-14")
@pytest.mark.rule("FZ-16")
@pytest.mark.rule("FZ-17")
@pytest.mark.rule("FZ-18")
@pytest.mark.rule("FZ-19")
@pytest.mark.rule("FZ-20")
@pytest.mark.rule("FZ-21")
@pytest.mark.rule("FZ-22")
@pytest.mark.rule("FZ-23")
@pytest.mark.rule("FZ-24")
@pytest.mark.parametrize("num_players", each_size(3, 7))
def test_whole_games_are_played_as_by_hand(num_players):
    """Everything in the record after every decision."""
    found = Counter()
    for seed, (partners, target, reward, max_steps) in enumerate(WHOLE_GAMES):
        options = {"partners": partners, "target_score": target, "reward": reward}
        table = Table(num_players, seed, **options, max_steps=max_steps)
        play = played(table, 2_000, sociable(seed))
        for reference, before, after in played_by_hand(Reference, play):
            found["decisions"] += 1
            found["hands"] += reference.hand_number > before.hand_number or reference.terminated
            asked = before.phase == ANSWER and after.hand_number == before.hand_number
            helped_ = asked and after.played.sum() > before.played.sum()
            found["help"] += helped_
            found["refusal"] += asked and not helped_
        assert reference.is_over
        found["end" if reference.terminated else "cut"] += 1
    assert found["end"] >= 5
    assert found["cut"] >= 1
    assert found["hands"] >= 14
    if num_players > 3:
        assert found["help"] > 15
        assert found["refusal"] > 40


# ---------------------------------------------------------------------------------------------
# In the environment
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", [-1, 0, 2, 8, 3.5, "4", True])
def test_other_numbers_of_players_are_refused(num_players):
    with pytest.raises(ValueError, match="3 to 7"):
        franks_zoo_v0.env(num_players=num_players)


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_actions_are_the_same_for_any_number_of_players(num_players):
    env = franks_zoo_v0.env(num_players=num_players)
    assert env.action_space("player_0").n == 272


@pytest.mark.rule("FZ-7")
def test_the_environment_refuses_a_pass_of_the_leader():
    env = franks_zoo_v0.raw_env(num_players=4)
    env.reset(seed=3)
    with pytest.raises(ValueError, match="not legal"):
        env.step(PASS)
