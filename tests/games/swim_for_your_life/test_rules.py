"""The rules of Swim for Your Life, by the rule numbers of its RULES.md."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, pairwise, permutations, product

import gymnasium
import numpy as np
import pytest
from games.swim_for_your_life.reference import Reference
from games.swim_for_your_life.table import (
    DECK,
    EXCHANGES,
    GAME,
    SIGNS,
    TAP,
    Table,
    cards_of,
    counts,
    exchange,
    in_order,
)
from helpers import check_invariants, copy_of
from hypothesis import given, settings
from hypothesis import strategies as st
from table import chi_square, played, played_by_hand

from card_envs import swim_for_your_life_v0

NUM_PLAYERS = (2, 3, 4, 5)
# The upper 0.1% points of chi-square by degrees of freedom; the seeds of these tests are fixed.
CHI_SQUARE = {9: 27.9, 54: 91.9}

# Three hands in which nobody shares an animal: totals of 17, 14 and 12.
BEST, MIDDLE, WORST = "GGGGGBBBBB", "LLLLLOOOOO", "SSSSSDDDDD"
# As many of each animal as another of the same has.
LEVEL = "GGBBLLOOSS"
# The totals 15, 13, 10, 7 and 7, and the rows that go with these hands.
FIVE_HANDS = ("GGGGSSSSLO", "BBBBHHHGSO", "DDDDCCCGBL", "LLLLLGSBHD", "OOOOOGBHDC")
FIVE_ROWS = ("P", "PM", "PMG", "PPMB")


def last_turn(*hands, options=None, **more):
    """The last turn of a round, in which a tap is left."""
    return Table(len(hands), **(options or {})).last_turn(*hands, **more)


def before_sudden_death(lives, mover=0, options=None, **more):
    """The player to move takes the fifth hare with ``TAKE_THE_HARE``. Lives of 0: out before."""
    hands = [None if life == 0 else "" for life in lives]
    hands[mover] = "HHHHG"
    return Table.lay_out(
        *hands,
        rows=("H", "", "", ""),
        options=options,
        lives=lives,
        starter=mover,
        current_player=mover,
        **more,
    )


TAKE_THE_HARE = exchange("G")


def lives_of(table):
    return table.lives[: table.num_players].tolist()


def lost(table):
    return table.lives_lost[: table.num_players].tolist()


def totals(table):
    return table.totals[: table.num_players].tolist()


def rewards(table):
    return table.rewards[: table.num_players].tolist()


def any_action(table):
    """An exchange of one card."""
    return table.legal()[0]


# ---------------------------------------------------------------------------------------------
# Cards
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("SW-1")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_deck(num_players):
    for seed in range(20):
        table = Table(num_players, seed)
        cards = Counter("".join([*table.hands, *table.rows, table.rest]))
        assert [cards[sign] for sign in SIGNS] == [9, 8, 7, 7, 6, 6, 5, 5, 4, 3]
        assert cards.total() == 60


@pytest.mark.rule("SW-1")
@pytest.mark.parametrize(
    ("sign", "value"), [*zip(SIGNS, (9, 8, 7, 7, 6, 6, 5, 5, 4, 3), strict=True)]
)
def test_the_values(sign, value):
    """One card of the animal is the only majority of this round."""
    a, b, c, d, e = [other for other in "GBLOSD" if other != sign][:5]
    pairs = f"{a}{a}{b}{b}{c}{c}{d}{d}"
    table = last_turn(sign + pairs + e, pairs + e + e, pairs + e + e).play(TAP)
    assert totals(table) == [value, 0, 0]


# ---------------------------------------------------------------------------------------------
# Actions
# ---------------------------------------------------------------------------------------------


def test_the_numbers_of_the_actions():
    """Every action lays down what itertools has at its place, for the row of that size."""
    assert GAME.num_actions == 1001
    number = 0
    for k in range(4):
        giraffes, bears = "GGGG"[: k + 1], "BBBB"[: k + 1]
        for animals in combinations_with_replacement(range(10), k + 1):
            laid_down = "".join(SIGNS[animal] for animal in animals)
            if laid_down != "MMMM":  # there are but three
                row = bears if laid_down == giraffes else giraffes
                table = Table.lay_out(laid_down, "", rows=("",) * k + (row,) + ("",) * (3 - k))
                hand, rows = table.hand_of(0), table.rows
                table.play(number)
                expected = Counter(hand) - Counter(laid_down) + Counter(row)
                assert Counter(table.hand_of(0)) == expected
                assert table.rows == [*rows[:k], laid_down, *rows[k + 1 :]]
            number += 1
    assert number == TAP == 1000


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_actions_are_the_same_for_any_number_of_players(num_players):
    env = swim_for_your_life_v0.env(num_players=num_players)
    assert env.action_space("player_0").n == 1001
    hands = ["GBLOSDHPCM", *[""] * (num_players - 1)]
    assert Table.lay_out(*hands, rows=("G", "", "", "")).legal()[:9] == list(range(1, 10))


@pytest.mark.rule("SW-5")
@pytest.mark.rule("SW-6")
@pytest.mark.rule("SW-7")
def test_masks_are_those_of_a_naive_implementation():
    """Every action by itself: the cards are in the hand, and they are not the row's."""
    numbers = []
    multisets = [Counter(cards) for cards in EXCHANGES]

    @settings(max_examples=120)
    @given(deck=st.permutations(sorted(DECK.elements())), has_exchanged=st.booleans())
    def check(deck, has_exchanged):
        hand, rows = deck[:10], (deck[10:11], deck[11:13], deck[13:16], deck[16:20])
        rows = tuple("".join(row) for row in rows)
        table = Table.lay_out(
            "", "".join(hand), rows=rows, has_exchanged=[1, has_exchanged], current_player=1
        )
        hand = Counter(hand)
        expected = [
            action
            for action, cards in enumerate(multisets)
            if cards <= hand and cards != Counter(rows[cards.total() - 1])
        ]
        assert table.legal() == expected + [TAP] * has_exchanged
        numbers.append(len(expected))

    check()
    assert min(numbers) < 100
    assert max(numbers) > 250


# ---------------------------------------------------------------------------------------------
# A game
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", [-1, 0, 1, 6, 2.5, "4", True])
def test_other_numbers_of_players_are_refused(num_players):
    with pytest.raises(ValueError, match="2 to 5"):
        swim_for_your_life_v0.env(num_players=num_players)


@pytest.mark.rule("SW-2")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_everybody_starts_with_five_lives(num_players):
    table = Table(num_players)
    assert lives_of(table) == [5] * num_players
    for player in range(num_players):
        view = table.observe(player)
        in_seats = [1] * num_players + [0] * (5 - num_players)
        assert view["seats"].tolist() == view["in_game"].tolist() == in_seats
        assert view["lives"] == pytest.approx([0.5 * seat for seat in in_seats])


@pytest.mark.rule("SW-2")
def test_who_loses_the_last_life_is_out_at_once():
    table = last_turn(BEST, MIDDLE, WORST, lives=(1, 1, 5)).play(TAP)
    assert lives_of(table) == [1, 0, 3]
    assert not table.terminated
    assert [len(hand) for hand in table.hands] == [10, 0, 10]
    assert table.observe(1)["in_game"].tolist() == [0, 1, 1, 0, 0]
    movers = []
    for _ in range(6):
        movers.append(int(table.current_player))
        table.play(any_action(table))
    assert movers == [2, 0, 2, 0, 2, 0]


@pytest.mark.rule("SW-2")
@pytest.mark.parametrize("life", [1, 2, 3])
def test_lives_never_go_below_0(life):
    table = last_turn(BEST, MIDDLE, WORST, lives=(5, 5, life)).play(TAP)
    assert lives_of(table) == [5, 4, max(0, life - 2)]
    assert lost(table) == [0, 1, min(2, life)]


@pytest.mark.rule("SW-2")
def test_the_last_one_left_wins():
    table = last_turn(BEST, MIDDLE, WORST, lives=(1, 1, 2)).play(TAP)
    assert table.terminated
    assert not table.truncated
    assert lives_of(table) == [1, 0, 0]
    assert table.legal() == []
    assert rewards(table) == [1, -0.5, -0.5]
    for player in range(3):
        view = table.observe(player)
        assert not view["to_move"].any()
        assert view["in_game"].sum() == 1
        assert view["two_left"] == 0


@pytest.mark.rule("SW-2")
@pytest.mark.rule("SW-9")
@pytest.mark.parametrize(
    ("mode", "expected"), [("rank", [-1, 0, 1]), ("win", [0, 0, 1]), ("score", [0, -0.25, 0.25])]
)
def test_the_game_can_end_by_sudden_death(mode, expected):
    table = before_sudden_death((0, 1, 1), mover=2, options={"reward": mode})
    table.play(TAKE_THE_HARE)
    assert table.terminated
    assert lives_of(table) == [0, 0, 1]
    assert rewards(table) == pytest.approx(expected)


def game_of_eliminations(lives, *deaths, **options):
    """Sudden deaths by these players, one round after the other."""
    table = Table(len(lives), **options)
    for mover in deaths:
        assert not table.terminated
        hands = [None if life == 0 else "" for life in lives]
        hands[mover] = "HHHHG"
        table.lay(
            *hands,
            rows=("H", "", "", ""),
            lives=lives,
            current_player=mover,
            starter=mover,
            round=table.round,
        )
        table.play(TAKE_THE_HARE)
        lives = lives_of(table)
    return table


@pytest.mark.rule("SW-2")
@pytest.mark.parametrize(
    ("lives", "deaths", "rank"),
    [
        ((4, 1, 2, 3, 4), (0, 0, 0, 0), (1, -1, -0.5, 0, 0.5)),
        ((4, 3, 1, 4, 1), (3, 3, 3, 3), (0.5, 0, -0.75, 1, -0.75)),
        ((1, 1, 1, 1, 1), (4,), (-0.25, -0.25, -0.25, -0.25, 1)),
        ((2, 2, 1, 4), (3, 3), (0, 0, -1, 1)),
        ((3, 5, 1), (1, 1, 1), (0, 1, -1)),
        ((3, 2, 3), (0, 2, 2, 2), (0, -1, 1)),
        ((5, 2), (0, 0), (1, -1)),
    ],
)
def test_the_longer_in_the_game_the_better_and_the_same_round_is_level(lives, deaths, rank):
    table = game_of_eliminations(lives, *deaths)
    assert table.terminated
    assert rewards(table) == pytest.approx(rank)
    table = game_of_eliminations(lives, *deaths, reward="win")
    assert rewards(table) == [int(place == 1) for place in rank]


@pytest.mark.rule("SW-3")
@pytest.mark.parametrize(
    ("lives", "starter", "expected"),
    [
        ((5, 5), 0, 1),
        ((5, 5), 1, 0),
        ((5, 5, 5), 2, 0),
        ((5, 5, 5, 5), 1, 2),
        ((5, 0, 5, 5), 0, 2),  # out before
        ((5, 1, 5, 5), 0, 2),  # out in this round
        ((5, 1, 0, 5, 5), 0, 3),  # several in a row
        ((5, 1, 1, 0, 5), 0, 4),
        ((5, 0, 5, 1, 1), 2, 0),
        ((5, 5, 1, 5), 2, 3),  # the starter as well
        ((5, 1, 1, 5, 0), 1, 3),
        ((5, 5, 5, 0, 1), 4, 0),
        ((5, 1, 5, 0, 1), 4, 0),
    ],
)
def test_the_next_round_is_started_by_the_next_seat_to_the_left(lives, starter, expected):
    """Player 0 ends the round, and those with one life are out."""
    table = before_sudden_death(lives)
    table.states["starter"] = starter
    table.play(TAKE_THE_HARE)
    assert not table.terminated
    assert (table.starter, table.current_player) == (expected, expected)
    for player in range(len(lives)):
        view = table.observe(player)
        assert view["starter"].argmax() == view["to_move"].argmax()
        assert view["starter"].argmax() == (expected - player) % len(lives)


@pytest.mark.rule("SW-3")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_player_0_starts_and_then_the_first_turn_goes_round(num_players):
    """Nobody's place matters: neither who tapped nor who won."""
    table = Table(num_players)
    starters = []
    for number in range(2 * num_players + 1):
        starters.append(int(table.current_player))
        tapper = number % num_players
        hands = [FIVE_HANDS, FIVE_HANDS[::-1]][number % 2][:num_players]
        lives = [5] * num_players
        table.last_turn(*hands, rows=FIVE_ROWS, tapper=tapper, lives=lives).play(TAP)
    assert starters == [k % num_players for k in range(2 * num_players + 1)]


# ---------------------------------------------------------------------------------------------
# Setting up a round
# ---------------------------------------------------------------------------------------------


def assert_dealt(table):
    players = table.players_in
    for player, hand in enumerate(table.hands):
        assert len(hand) == (10 if player in players else 0)
    assert [len(row) for row in table.rows] == [1, 2, 3, 4]
    assert len(table.rest) == 60 - 10 * len(players) - 10
    assert Counter("".join([*table.hands, *table.rows, table.rest])) == DECK


@pytest.mark.rule("SW-4")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_deal(num_players):
    for seed in range(50):
        table = Table(num_players, seed)
        assert_dealt(table)
        assert (table.hand[num_players:] == 0).all()


@pytest.mark.rule("SW-4")
@pytest.mark.parametrize(
    "lives", [(5, 1, 5), (5, 5, 1, 5), (5, 0, 1, 5), (5, 1, 5, 1, 1), (5, 0, 5, 0, 1)]
)
def test_who_is_out_is_dealt_no_cards(lives):
    dealt = set()
    for seed in range(20):
        table = before_sudden_death(lives, seed=seed).play(TAKE_THE_HARE)
        assert table.players_in == [player for player, life in enumerate(lives) if life > 1]
        assert_dealt(table)
        dealt.add(tuple(table.hands))
    assert len(dealt) == 20


@pytest.mark.rule("SW-4")
def test_hands_are_dealt_whole_from_the_lowest_seat_on_then_the_rows():
    """One seed shuffles one deck: with more players only the later cards go elsewhere."""
    for seed in range(10):
        tables = [Table(num_players, seed) for num_players in NUM_PLAYERS]
        for fewer, more in pairwise(tables):
            n = len(fewer.hands)
            assert more.hands[:n] == fewer.hands
            assert more.hands[n] == in_order("".join(fewer.rows))
            assert not Counter("".join(more.rows)) - Counter(fewer.rest)


@pytest.mark.rule("SW-4")
def test_all_cards_are_shuffled_uniformly():
    """In every hand and row each animal comes as often as it must, and pairs do as well."""
    deals = 3000
    found = np.zeros((9, 10))
    pairs = Counter()
    for seed in range(deals):
        table = Table(5, seed)
        found += np.concatenate([table.hand, table.row])
        pairs[table.rows[1]] += 1
    share = np.array(list(DECK.values())) / 60
    for size, observed in zip([10] * 5 + [1, 2, 3, 4], found, strict=True):
        # The cards of one hand are not independent: the counts vary less, by this factor.
        factor = (60 - size) / 59
        assert chi_square(observed, deals * size * share) / factor < CHI_SQUARE[9]
    chances = {
        a + b: DECK[a] * (DECK[b] - (a == b)) / (60 * 59) * (1 if a == b else 2)
        for a, b in combinations_with_replacement(SIGNS, 2)
    }
    expected = [deals * chance for chance in chances.values()]
    assert chi_square([pairs[pair] for pair in chances], expected) < CHI_SQUARE[54]


@pytest.mark.rule("SW-4")
def test_each_round_is_dealt_afresh_whatever_was_played_before():
    """The second round of a seed has the same cards after a short first round and a long one."""
    short, long = Table(3, 7), Table(3, 7)
    first = short.hands
    while short.round == 0:
        short.play(TAP if TAP in short.legal() else any_action(short))
    for _ in range(20):
        long.play(any_action(long))
    while long.round == 0:
        long.play(TAP)
    assert short.hands == long.hands != first
    assert short.rows == long.rows


# ---------------------------------------------------------------------------------------------
# A turn
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("SW-5")
def test_a_row_is_taken_for_as_many_cards_of_the_hand():
    """The rulebook's example: three cards for the third row."""
    table = Table.lay_out("GGBLLOSDHP", "", "", rows=("C", "CM", "BOM", "SSDD"))
    others = table.hands[1:]
    table.play(exchange("GLP"))
    assert table.hand_of(0) == in_order("GBLOSDH" + "BOM")
    assert table.rows == ["C", "CM", "GLP", "SSDD"]
    assert table.hands[1:] == others
    assert table.current_player == 1
    for player in range(3):
        seat = -player % 3
        turn = table.observe(player)["last_turn"][seat]
        assert turn[:5].tolist() == [0, 0, 1, 0, 0]
        assert (4 * turn[5:15]).tolist() == counts("GLP")
        assert (4 * turn[15:]).tolist() == counts("BOM")
        assert table.observe(player)["has_exchanged"].nonzero()[0].tolist() == [seat]


@pytest.mark.rule("SW-5")
def test_cards_come_from_the_hand_as_it_was_before_taking():
    table = Table.lay_out("GGGGGBBBBB", "", rows=("C", "GC", "BCM", "LLOO"))
    legal = {EXCHANGES[action] for action in table.legal()}
    assert legal == {
        in_order("G" * giraffes + "B" * (k - giraffes))
        for k in (1, 2, 3, 4)
        for giraffes in range(k + 1)
    }


@pytest.mark.rule("SW-5")
def test_the_cards_laid_down_can_be_taken_by_the_next_player():
    table = Table.lay_out("GGBLLOSDHP", "BBBBSSSSSC", rows=("M", "", "", ""))
    table.play(exchange("P"))
    assert table.rows[0] == "P"
    table.play(exchange("C"))
    assert table.hand_of(1) == "BBBBSSSSSP"
    assert table.rows[0] == "C"


@pytest.mark.rule("SW-6")
def test_the_example_of_the_second_row():
    """A mole and a bear lie there: a mole and a bear may not be laid down, any other two may."""
    table = Table.lay_out("GBBLLOSDHP", "", rows=("C", "BL", "BLM", "BBLL"))
    legal = [EXCHANGES[action] for action in table.legal() if len(EXCHANGES[action]) == 2]
    hand = "GBBLLOSDHP"
    pairs = {hand[i] + hand[j] for i in range(10) for j in range(i)}
    expected = {in_order(pair) for pair in pairs} - {"BL"}
    assert sorted(legal, key=exchange) == legal
    assert set(legal) == expected
    assert "BB" in expected
    assert "GB" in expected


@pytest.mark.rule("SW-6")
@pytest.mark.parametrize("k", range(4))
def test_the_row_itself_may_not_be_laid_down_for_it(k):
    row, hand = ("S", "SS", "SDD", "GSDD")[k], "GGBSSSDDLO"
    rows = ("",) * k + (row,) + ("",) * (3 - k)
    table = Table.lay_out(hand, "", rows=rows, has_exchanged=[1])
    legal = {EXCHANGES[action] for action in table.legal() if action != TAP}
    of_this_size = {cards for cards in EXCHANGES if len(cards) == k + 1}
    in_hand = {cards for cards in of_this_size if not Counter(cards) - Counter(hand)}
    assert row in in_hand
    assert legal & of_this_size == in_hand - {row}


@pytest.mark.rule("SW-7")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_who_has_not_exchanged_in_this_round_may_not_tap(num_players):
    table = Table(num_players)
    for _ in range(2):
        starter = int(table.current_player)
        for k in range(num_players):
            assert table.current_player == (starter + k) % num_players
            assert TAP not in table.legal()
            table.play(any_action(table))
        for _ in range(num_players):
            assert TAP in table.legal()
            table.play(any_action(table))
        for _ in range(num_players):
            table.play(TAP)
    assert table.round == 2


@pytest.mark.rule("SW-7")
@pytest.mark.parametrize("k", range(4))
def test_an_exchange_with_any_row_allows_the_tap(k):
    table = Table.lay_out("GGGGBBBBLL", "", rows=("M", "MM", "OOO", "SSSS"))
    table.play(exchange("GGGG"[: k + 1]))
    table.play(any_action(table))
    assert table.current_player == 0
    assert TAP in table.legal()


@pytest.mark.rule("SW-7")
@pytest.mark.parametrize("player", range(3))
def test_the_exchanges_of_others_do_not_count(player):
    exchanged = [1, 1, 1]
    exchanged[player] = 0
    table = Table.lay_out("", "", "", has_exchanged=exchanged, current_player=player)
    assert TAP not in table.legal()
    table = Table.lay_out(
        "", "", "", has_exchanged=[1 - e for e in exchanged], current_player=player
    )
    assert TAP in table.legal()


@pytest.mark.rule("SW-7")
def test_the_environment_refuses_a_tap_before_an_exchange():
    env = swim_for_your_life_v0.raw_env(num_players=3)
    env.reset(seed=1)
    for _ in range(3):
        with pytest.raises(ValueError, match="not legal"):
            env.step(TAP)
        env.step(env.legal_actions()[0])
    env.step(TAP)
    assert env.agent_selection == "player_1"


@pytest.mark.rule("SW-7")
def test_a_tap_changes_no_cards_and_is_seen_by_all():
    table = Table.lay_out("", "", "", has_exchanged=[1, 1, 1])
    for player in range(3):
        assert table.observe(player)["tapper"].tolist() == [0, 0, 0, 0, 0, 1]
    hands, rows = table.hands, table.rows
    table.play(TAP)
    assert (table.hands, table.rows, table.round) == (hands, rows, 0)
    for player in range(3):
        view = table.observe(player)
        assert view["tapper"].argmax() == -player % 3
        assert view["tapper"].sum() == 1
        turn = view["last_turn"][-player % 3]
        assert turn[4] == turn.sum() == 1


def play_last_lap(table, choose):
    """Tap, and give every other player the action that ``choose(number)`` says; who moved."""
    number = int(table.round)
    table.play(TAP)
    movers = []
    while table.round == number and not table.terminated:
        movers.append(int(table.current_player))
        table.play(choose(len(movers)))
    return movers


@pytest.mark.rule("SW-8")
@pytest.mark.parametrize("style", ["exchange", "tap", "both"])
@pytest.mark.parametrize(
    "is_in",
    [
        *[(1,) * n for n in NUM_PLAYERS],
        (1, 0, 1),
        (0, 1, 1, 1),
        (1, 0, 1, 0, 1),
        (1, 1, 0, 0, 1),
        (0, 0, 0, 1, 1),
    ],
)
def test_after_a_tap_every_other_player_has_exactly_one_more_turn(is_in, style):
    n = len(is_in)
    players = [player for player in range(n) if is_in[player]]
    for tapper in players:
        table = Table.lay_out(
            *["" if here else None for here in is_in],
            has_exchanged=is_in,
            current_player=tapper,
            starter=players[-1],
        )
        lap = [player for player in players if player > tapper]
        lap += [player for player in players if player < tapper]

        def choose(number, table=table, tapper=tapper):
            assert table.tapper == tapper
            assert TAP in table.legal()
            return TAP if style == "tap" or (style == "both" and number % 2) else table.legal()[0]

        assert play_last_lap(table, choose) == lap
        assert table.round == (2 if 0 in is_in else 1)
        assert table.tapper == -1
        assert not table.has_exchanged.any()
        assert table.sudden_death == -1


@pytest.mark.rule("SW-8")
def test_an_exchange_in_the_last_lap_counts():
    """Without it the totals would be 17, 14 and 12."""
    rows = ("", "", "", "GGGH")
    table = last_turn(BEST, MIDDLE, WORST, rows=rows).play(exchange("SSSS"))
    assert table.revealed[2].tolist() == counts("GGGHSDDDDD")
    assert totals(table) == [17, 14, 6 + 6 + 5]
    assert lost(table) == [0, 2, 0]


@pytest.mark.rule("SW-8")
def test_a_tap_in_the_last_lap_changes_nothing():
    table = last_turn(BEST, MIDDLE, WORST, tapper=2, rows=("M", "", "", ""))
    assert table.current_player == 1
    table.play(TAP)
    assert totals(table) == [17, 14, 12]
    assert lost(table) == [0, 1, 2]
    assert lives_of(table) == [5, 4, 3]


@pytest.mark.rule("SW-8")
def test_the_last_lap_in_the_environment():
    env = swim_for_your_life_v0.raw_env(num_players=4)
    env.reset(seed=9)
    movers = []
    while env.states["round"][0] == 0:
        movers.append(env.agent_selection)
        legal = env.legal_actions()
        env.step(TAP if len(movers) == 7 else legal[0])
    assert movers == [f"player_{k}" for k in (0, 1, 2, 3, 0, 1, 2, 3, 0, 1)]


# ---------------------------------------------------------------------------------------------
# Sudden death
# ---------------------------------------------------------------------------------------------

SETS = ("CCCC", "HHHHH", "PPPPP")


def assert_sudden_death(table, player, gained=0):
    """The round is over without scoring: everybody else who was in it has lost a life."""
    assert table.sudden_death == player
    assert not any(totals(table))
    expected = [-gained if q == player else 1 for q in range(table.num_players)]
    assert lost(table) == expected
    assert lives_of(table) == [5 - loss for loss in expected]
    assert table.round == 1
    assert table.tapper == -1
    assert_dealt(table)
    assert table.revealed[player].any()
    assert not np.delete(table.revealed, player, axis=0).any()


@pytest.mark.rule("SW-9")
@pytest.mark.parametrize("cards", SETS)
@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_taking_a_row_can_complete_a_set(cards, k, num_players):
    """With any row, as many as k + 1 of the set's cards come from it."""
    taken = cards[: min(k + 1, len(cards))]
    row = taken + "GGGG"[: k + 1 - len(taken)]
    rows = tuple(row if j == k else "" for j in range(4))
    mover = num_players - 1
    hands = ["BBBB" + cards[len(taken) :] if p == mover else "" for p in range(num_players)]
    table = Table.lay_out(*hands, rows=rows, current_player=mover)
    table.play(exchange("BBBB"[: k + 1]))
    assert_sudden_death(table, mover)


@pytest.mark.rule("SW-9")
@pytest.mark.parametrize("cards", SETS)
def test_one_card_less_is_no_set(cards):
    table = Table.lay_out("BB" + cards[2:], "", rows=(cards[0], "", "", "GGG" + cards[1]))
    table.play(exchange("B"))
    assert Counter(table.hand_of(0))[cards[0]] == len(cards) - 1
    assert table.round == 0
    assert table.current_player == 1
    assert lives_of(table) == [5, 5]


@pytest.mark.rule("SW-9")
@pytest.mark.parametrize("sign", "GBLOSDM")
def test_all_cards_of_another_animal_are_no_set(sign):
    cards = sign * DECK[sign]
    other = "B" if sign == "G" else "G"
    table = Table.lay_out(other + cards[1:], "", rows=(sign, "", "", "")).play(exchange(other))
    assert cards in table.hand_of(0)
    assert (table.round, table.current_player) == (0, 1)


@pytest.mark.rule("SW-9")
@pytest.mark.parametrize(("cards", "expert"), [("CCCHHHH", False), ("PPPPHHHH", True)])
def test_two_sets_at_once_are_one_sudden_death(cards, expert):
    row = cards[0] + cards[-1]
    options = {"expert": expert}
    table = Table.lay_out("GB" + cards, "", "", rows=("", row, "", ""), options=options)
    table.play(exchange("GB"))
    assert_sudden_death(table, 0, gained=int(expert))


@pytest.mark.rule("SW-9")
@pytest.mark.parametrize("mover", [1, 2])
def test_sudden_death_ends_the_round_in_the_last_lap_as_well(mover):
    """The player who tapped loses a life too, and nobody else has another turn."""
    hands = ["", "", ""]
    hands[mover] = "PPPPG"
    table = Table.lay_out(
        *hands, rows=("P", "", "", ""), tapper=0, current_player=mover, has_exchanged=[1, 1, 1]
    )
    table.play(exchange("G"))
    assert_sudden_death(table, mover)


@pytest.mark.rule("SW-9")
def test_only_the_player_who_has_just_exchanged_is_looked_at():
    """Two others hold a dealt set while player 0 exchanges, and one while player 1 does."""
    table = Table.lay_out("", "HHHHHG", "PPPPPG", rows=("M", "BB", "", ""))
    table.play(exchange(table.hand_of(0)[0]))
    assert (table.round, table.current_player) == (0, 1)
    table.play(exchange("HG"))
    assert (table.round, table.current_player) == (0, 2)


@pytest.mark.rule("SW-9")
def test_who_is_out_loses_nothing_by_sudden_death():
    table = before_sudden_death((5, 0, 5, 0, 2)).play(TAKE_THE_HARE)
    assert lost(table) == [0, 0, 1, 0, 1]
    assert lives_of(table) == [5, 0, 4, 0, 1]
    assert table.was_in_round.tolist() == [1, 0, 1, 0, 1]


@pytest.mark.rule("SW-9")
def test_the_starter_of_the_round_after_a_sudden_death():
    table = Table.lay_out("", "", "HHHHG", rows=("H", "", "", ""), current_player=2, starter=0)
    table.play(exchange("G"))
    assert (table.starter, table.current_player) == (1, 1)


@pytest.mark.rule("SW-10")
@pytest.mark.parametrize("cards", SETS)
@pytest.mark.parametrize("holder", range(3))
def test_a_dealt_set_counts_once_its_holder_has_exchanged(cards, holder):
    hands = ["", "", ""]
    hands[holder] = cards + "GGGGG"[: 10 - len(cards)]
    table = Table.lay_out(*hands, rows=("M", "OO", "", ""))
    for player in range(holder):
        assert table.current_player == player
        assert table.round == 0
        table.play(any_action(table))
    assert table.round == 0
    table.play(exchange("GG"))
    assert_sudden_death(table, holder)


@pytest.mark.rule("SW-10")
@pytest.mark.parametrize("cards", SETS)
def test_a_dealt_set_that_is_broken_up_counts_when_it_is_complete_again(cards):
    sign = cards[0]
    table = Table.lay_out(cards + "G", "", rows=("M", "OO", "", ""))
    table.play(exchange(sign))
    assert table.round == 0
    assert Counter(table.hand_of(0))[sign] == len(cards) - 1
    table.play(next(action for action in table.legal() if len(EXCHANGES[action]) == 2))
    table.play(exchange("M"))
    assert_sudden_death(table, 0)


@pytest.mark.rule("SW-10")
def test_a_set_is_looked_at_after_an_exchange_and_not_after_a_tap():
    table = Table.lay_out("CCCC", "", "", has_exchanged=[1, 1, 1]).play(TAP)
    assert (table.round, table.current_player) == (0, 1)


@pytest.mark.rule("SW-14")
@pytest.mark.parametrize("cards", ["HHHHH", "PPPPP"])
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_for_experts_a_set_gains_a_life_and_the_others_lose_one(cards, num_players):
    hands = ["G" + cards[1:], *[""] * (num_players - 1)]
    rows = (cards[0], "", "", "")
    table = Table.lay_out(*hands, rows=rows, options={"expert": True}).play(exchange("G"))
    assert_sudden_death(table, 0, gained=1)
    assert lives_of(table)[0] == 6
    assert table.observe(0)["lives"][0] == pytest.approx(0.6)


@pytest.mark.rule("SW-14")
def test_for_experts_all_cats_are_no_set():
    table = Table.lay_out("CCCG", "", rows=("C", "", "", ""), options={"expert": True})
    table.play(exchange("G"))
    assert "CCCC" in table.hand_of(0)
    assert (table.round, table.current_player) == (0, 1)
    table = Table.lay_out("CCCCG", "", rows=("B", "", "", ""), options={"expert": True})
    table.play(exchange("G"))
    assert (table.round, table.current_player) == (0, 1)


@pytest.mark.rule("SW-14")
def test_for_experts_lives_go_above_5_and_the_others_can_be_out():
    options = {"expert": True}
    table = before_sudden_death((8, 1, 2, 0), options=options).play(TAKE_THE_HARE)
    assert lives_of(table) == [9, 0, 1, 0]
    assert lost(table) == [-1, 1, 1, 0]
    table = before_sudden_death((9, 1), options=options).play(TAKE_THE_HARE)
    assert lives_of(table) == [10, 0]
    assert table.terminated
    assert table.observe(0)["lives"].tolist() == [1, 0, 0, 0, 0]


@pytest.mark.rule("SW-14")
def test_the_most_lives_of_experts_are_10():
    table = Table(3, expert=True)
    lives = [5, 5, 5]
    for expected in (6, 7, 8, 9, 10):
        table.lay("HHHHG", "", "", rows=("H", "", "", ""), lives=lives, current_player=0)
        table.play(TAKE_THE_HARE)
        lives = lives_of(table)
        assert lives == [expected, 10 - expected, 10 - expected]
    assert table.terminated


@pytest.mark.rule("SW-14")
def test_for_experts_a_round_is_scored_as_usual():
    table = last_turn(BEST, MIDDLE, WORST, options={"expert": True}).play(TAP)
    assert lost(table) == [0, 1, 2]
    assert Table(3).observe(0)["expert"] == 0
    assert table.observe(0)["expert"] == 1


# ---------------------------------------------------------------------------------------------
# Scoring a round
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("SW-11")
def test_the_example_of_the_giraffes():
    """Mia has four, Tim three, Sara one: nine points for Mia. Nothing else is a majority."""
    table = last_turn("GGGGDDBLOS", "GGGBBLLOOS", "GBBLLOOSDD").play(TAP)
    assert totals(table) == [9, 0, 0]
    assert lost(table) == [0, 2, 2]


@pytest.mark.rule("SW-11")
@pytest.mark.parametrize(
    ("hands", "total"),
    [
        (("GGGGDDBLOS", "GGGBBLLOOS", "GBBLLOOSDD"), 9),  # 4, 3, 1
        (("GBBLLOOSSD", "BBLLOOSSDH", "BBLLOOSSDH"), 9),  # 1, 0, 0
        (("GGBBLLOOSS", "GBBLLOOSSD", "GBBLLOOSSD"), 9),  # 2, 1, 1
        (("GGGBBLLOOS", "GGGBBDDOOS", "GBBLLDDOOS"), 0),  # 3, 3, 1
        (("GGGBBLLOOS", "GGGBBLLOOS", "GGGBBLLOOS"), 0),  # 3, 3, 3
        (("GBBLLOOSSD", "GBBLLOOSSH", "BBLLOOSSDH"), 0),  # 1, 1, 0
    ],
)
def test_if_several_hold_the_most_nobody_scores(hands, total):
    """Everything but the giraffes is level, in all orders of the seats and with any tapper."""
    for order, tapper in product(permutations(range(3)), range(3)):
        table = last_turn(*[hands[k] for k in order], tapper=tapper).play(TAP)
        assert totals(table) == [total if k == 0 else 0 for k in order]


@pytest.mark.rule("SW-11")
def test_each_animal_is_scored_for_itself():
    table = last_turn(*FIVE_HANDS, rows=FIVE_ROWS).play(TAP)
    assert totals(table) == [9 + 6, 8 + 5, 6 + 4, 7, 7]


@pytest.mark.rule("SW-11")
def test_all_hands_are_shown():
    table = last_turn(None, BEST, MIDDLE, WORST, tapper=1).play(TAP)
    assert table.sudden_death == -1
    assert table.was_in_round.tolist() == [0, 1, 1, 1, 0]
    assert [cards_of(hand) for hand in table.revealed] == ["", BEST, MIDDLE, WORST, ""]


# Of two players the first has more giraffes; everything else is level, or a single card.
TWO_HANDS = [
    ("GBBLLOOSSD", "BBLLOOSSDH", 0),  # 1, 0
    ("GBBLLOOSSD", "GBBLLOOSSH", 0),  # 1, 1
    ("GGBBLLOOSS", "BBLLOOSSDH", 9),  # 2, 0
    ("GGBBLLOOSS", "GBBLLOOSSD", 9),  # 2, 1
    ("GGGBBLLOOP", "GGBBLLOOSD", 9),  # 3, 2
    ("GGBBLLOOSS", "GGBBLLOOSS", 0),  # 2, 2
    ("GGBBLLOOMC", "GGBBLLOOHP", 0),
]


@pytest.mark.rule("SW-12")
@pytest.mark.parametrize(("first", "second", "total"), TWO_HANDS)
@pytest.mark.parametrize("seats", [(0, 1), (1, 0), (0, 2), (3, 1), (4, 2), (1, 4)])
def test_with_two_left_a_majority_takes_two_cards(first, second, total, seats):
    """Two players from the start, or two that are left."""
    hands = [None] * (2 if max(seats) == 1 else 5)
    hands[seats[0]], hands[seats[1]] = first, second
    table = last_turn(*hands, tapper=seats[1])
    assert all(table.observe(player)["two_left"] == 1 for player in seats)
    table.play(TAP)
    assert table.totals[list(seats)].tolist() == [total, 0]
    assert table.totals.sum() == total


@pytest.mark.rule("SW-12")
@pytest.mark.parametrize("life", [1, 5])
@pytest.mark.parametrize("seats", [(0, 1, 2), (2, 0, 1), (4, 1, 3)])
def test_with_three_in_the_round_a_single_card_is_enough(life, seats):
    """Even if but two are left after it: it is the lives before that count."""
    hands = [None] * (max(seats) + 1)
    lives = [0] * len(hands)
    for seat, hand in zip(seats, ("GBBLLOOSSD", "BBLLOOSSDH", "BBLLOOSSDH"), strict=True):
        hands[seat], lives[seat] = hand, 5
    lives[seats[2]] = life
    table = last_turn(*hands, tapper=seats[0], lives=lives)
    assert table.observe(seats[0])["two_left"] == 0
    table.play(TAP)
    assert table.totals[list(seats)].tolist() == [9, 0, 0]
    assert table.observe(seats[0])["two_left"] == (life == 1)


@pytest.mark.rule("SW-12")
def test_two_cards_are_needed_from_the_round_after_on():
    table = last_turn("GBBLLOOSSD", "BBLLOOSSDH", "BBLLOOSSDH", lives=(5, 3, 2)).play(TAP)
    assert lives_of(table) == [5, 1, 0]
    table.last_turn("GBBLLOOSSD", "BBLLOOSSDH", None).play(TAP)
    assert totals(table) == [0, 0, 0]
    assert lives_of(table) == [5, 1, 0]


@pytest.mark.rule("SW-13")
def test_the_example_of_the_lives():
    for shift in range(5):
        hands = FIVE_HANDS[shift:] + FIVE_HANDS[:shift]
        table = last_turn(*hands, rows=FIVE_ROWS, tapper=2).play(TAP)
        assert totals(table) == [(15, 13, 10, 7, 7)[(k + shift) % 5] for k in range(5)]
        assert lost(table) == [(0, 1, 1, 2, 2)[(k + shift) % 5] for k in range(5)]
        assert lives_of(table) == [5 - loss for loss in lost(table)]


@pytest.mark.rule("SW-13")
@pytest.mark.parametrize(
    ("hands", "expected", "losses"),
    [
        ((BEST, MIDDLE, WORST), (17, 14, 12), (0, 1, 2)),
        ((BEST, MIDDLE, WORST, "HHHHPPPPMM"), (17, 14, 12, 13), (0, 1, 2, 1)),
        # Two at the top.
        (("GGGGGGGMMM", "BBBBBBBCCC", "SSSSSSGGBC"), (12, 12, 6), (0, 0, 2)),
        # Two at the bottom.
        ((BEST, "LLLLLLHHHH", WORST), (17, 12, 12), (0, 2, 2)),
        # Two at the top and two at the bottom: nobody in between.
        (("GGGGGGGMMM", "BBBBBBBCCC", "LLLLLSSDDH", "OOOOOSSDDH"), (12, 12, 7, 7), (0, 0, 2, 2)),
        # All level, with points and without.
        (("GGGGGGGMMM", "BBBBBBBCCC", "LLLLLLHHHH"), (12, 12, 12), (0, 0, 0)),
        ((LEVEL, LEVEL, LEVEL), (0, 0, 0), (0, 0, 0)),
        # Two players.
        ((BEST, MIDDLE), (17, 14), (0, 2)),
        ((LEVEL, LEVEL), (0, 0), (0, 0)),
        (("GGGGGGGMMM", "BBBBBBBCCC"), (12, 12), (0, 0)),
    ],
)
def test_the_place_says_how_many_lives_are_lost(hands, expected, losses):
    for order in permutations(range(len(hands))):
        table = last_turn(*[hands[k] for k in order]).play(TAP)
        assert totals(table) == [expected[k] for k in order]
        assert lost(table) == [losses[k] for k in order]
        assert lives_of(table) == [5 - losses[k] for k in order]


@pytest.mark.rule("SW-13")
def test_who_is_out_has_no_place():
    """The nothing of a player who is out is not the lowest total."""
    table = last_turn(BEST, None, MIDDLE, None, WORST, lives=(5, 0, 5, 0, 5)).play(TAP)
    assert lost(table) == [0, 0, 1, 0, 2]
    assert lives_of(table) == [5, 0, 4, 0, 3]
    table = last_turn(LEVEL, None, LEVEL, LEVEL).play(TAP)
    assert lost(table) == [0, 0, 0, 0]


# ---------------------------------------------------------------------------------------------
# Rewards and truncation
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hands", "lives", "expected"),
    [
        (FIVE_HANDS, (5, 5, 5, 5, 5), (0.6, 0.1, 0.1, -0.4, -0.4)),
        ((BEST, MIDDLE, WORST), (5, 5, 5), (0.5, 0, -0.5)),
        ((BEST, MIDDLE, WORST), (5, 5, 1), (1 / 3, -1 / 6, -1 / 6)),  # one life was left to lose
        ((BEST, None, MIDDLE, WORST), (5, 0, 3, 5), (0.5, 0, 0, -0.5)),
        ((BEST, None, None, MIDDLE), (5, 0, 0, 2), (0.5, 0, 0, -0.5)),  # the last round
        ((BEST, None, None, MIDDLE), (5, 0, 0, 1), (0.25, 0, 0, -0.25)),
        ((LEVEL, LEVEL), (5, 5), (0, 0)),
    ],
)
def test_score_pays_the_lives_lost_in_the_round(hands, lives, expected):
    rows = FIVE_ROWS if hands is FIVE_HANDS else ("",) * 4
    table = last_turn(*hands, lives=lives, rows=rows, options={"reward": "score"}).play(TAP)
    assert rewards(table) == pytest.approx(expected)
    assert sum(rewards(table)) == pytest.approx(0)
    if not table.terminated:
        table.play(any_action(table))
        assert not table.rewards.any()


@pytest.mark.parametrize(
    ("expert", "expected"),
    [(False, (1 / 3, 0, -1 / 6, -1 / 6)), (True, (2 / 3, 0, -1 / 3, -1 / 3))],
)
def test_score_pays_for_sudden_death_as_well(expert, expected):
    options = {"reward": "score", "expert": expert}
    table = before_sudden_death((5, 0, 5, 2), options=options).play(TAKE_THE_HARE)
    assert rewards(table) == pytest.approx(expected)


@pytest.mark.parametrize("mode", ["rank", "win"])
def test_rank_and_win_pay_at_the_end_only(mode):
    """Not even when somebody is out."""
    options = {"reward": mode}
    table = last_turn(BEST, MIDDLE, WORST, lives=(5, 5, 1), options=options).play(TAP)
    assert table.round == 1
    assert not table.terminated
    assert not table.rewards.any()
    table = before_sudden_death((5, 1, 5), options=options).play(TAKE_THE_HARE)
    assert not table.rewards.any()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("rank", (-1, 0.75, 0.75, 0, -0.5)), ("win", (0, 0.5, 0.5, 0, 0)), ("score", (0,) * 5)],
)
def test_truncation_pays_the_standing_so_far(mode, expected):
    """Who is in is ahead of who is out; more lives are better, and to have been in for longer."""
    table = Table.lay_out(
        *(None, "", "", "", None),
        options={"reward": mode, "max_steps": 2},
        lives=(0, 4, 4, 3, 0),
        round=2,
        standing=(0, 0, 0, 0, 1),
        starter=1,
        current_player=1,
    )
    table.play(any_action(table))
    assert not table.truncated
    assert not table.rewards.any()
    table.play(any_action(table))
    assert table.truncated
    assert not table.terminated
    assert table.legal() == []
    assert not any(table.observe(player)["to_move"].any() for player in range(5))
    assert rewards(table) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lives", "expected"),
    [((5, 5, 5), (1, 0, -1)), ((3, 5, 5), (-0.5, 1, -0.5)), ((3, 5, 2), (0, 1, -1))],
)
def test_truncation_at_the_end_of_a_round_counts_the_lives_after_it(lives, expected):
    table = last_turn(BEST, MIDDLE, WORST, lives=lives, options={"max_steps": 1}).play(TAP)
    assert table.truncated
    assert rewards(table) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mode", "expected"), [("rank", (1, -0.5, -0.5)), ("win", (1, 0, 0)), ("score", (0, 0, 0))]
)
def test_players_may_exchange_the_same_cards_until_max_steps(mode, expected):
    """Nobody ever taps: four cards go round in row 1 and three hands, and come back."""
    table = Table.lay_out(
        *("GGBBLLOOSS", "GGBBLLOOSS", "GGBBLLOOSS"),
        rows=("D", "", "", ""),
        lives=(4, 3, 3),
        options={"reward": mode, "max_steps": 600},
    )
    given = ["G", "B", "L"]  # by each player next
    seen = set()
    for number in range(600):
        assert not table.truncated
        player, row = number % 3, table.rows[0]
        table.play(exchange(given[player]))
        given[player] = row
        seen.add((tuple(table.hands), tuple(table.rows)))
    assert len(seen) < 20
    assert table.truncated
    assert not table.terminated
    assert table.round == 0
    assert table.observe(0)["turns"] == 1
    assert rewards(table) == pytest.approx(expected)


def test_a_game_that_ends_with_its_last_step_is_not_truncated():
    table = before_sudden_death((2, 1), options={"max_steps": 1}).play(TAKE_THE_HARE)
    assert table.terminated
    assert not table.truncated
    assert rewards(table) == [1, -1]


# ---------------------------------------------------------------------------------------------
# Who knows what
# ---------------------------------------------------------------------------------------------


def known(table, player, observer):
    """What the observer's view says of a hand: the cards it holds at least, and the most H P C."""
    view = table.observe(observer)
    seat = (player - observer) % table.num_players
    least, most = 9 * view["least"][seat], 5 * view["most"][seat]
    assert np.abs(least - least.round()).max() < 1e-5
    assert np.abs(most - most.round()).max() < 1e-5
    assert 10 * view["unknown"][seat] == pytest.approx(10 - least.sum())
    return cards_of(least.round()), most.round().tolist()


def known_to_all(table, player):
    """The same, after a look from every seat."""
    views = [known(table, player, observer) for observer in table.players_in]
    assert all(view == views[0] for view in views)
    return views[0]


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_all_see_how_many_turns_the_round_has_lasted(num_players):
    """A tap is a turn as well; each round begins at 0; what goes beyond 255 is told as 255."""

    def turns():
        views = {float(255 * table.observe(player)["turns"][0]) for player in range(num_players)}
        assert len(views) == 1
        return views.pop()

    table = Table(num_players, 5)
    for _ in range(2):
        for number in range(2 * num_players):
            assert turns() == number
            table.play(any_action(table))
        for number in range(num_players):
            assert turns() == 2 * num_players + number
            table.play(TAP)
    assert table.round == 2
    for number in (254, 255, 256, 100_000):
        table.states["turns"] = number
        assert turns() == min(number, 255)


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_nothing_is_known_of_a_hand_that_is_dealt(num_players):
    table = Table(num_players, 3)
    for player in range(num_players):
        assert known_to_all(table, player) == ("", [5, 5, 4])
        assert table.observe(player)["unknown"].sum() == num_players


def test_the_cards_that_an_exchange_leaves_known():
    """By player 0; in between the other one exchanges with row 4."""
    table = Table.lay_out("GGBBLSSDPP", "GGGBBBLLLO", rows=("C", "OO", "HHM", "SSDD"))

    def pause():
        table.play(next(a for a in table.legal() if a != TAP and len(EXCHANGES[a]) == 4))

    table.play(exchange("GB"))  # cards that nobody knew of: the bound stays at 0
    assert known_to_all(table, 0) == ("OO", [4, 4, 3])
    pause()
    table.play(exchange("LOS"))  # one of them was known
    assert known_to_all(table, 0) == ("OHHM", [4, 4, 3])
    pause()
    table.play(exchange("P"))
    assert known_to_all(table, 0) == ("OHHCM", [4, 3, 3])
    pause()
    table.play(exchange("HHM"))  # for the mole, the goat and the sheep
    assert known_to_all(table, 0) == ("LOOSC", [2, 3, 3])
    pause()
    table.play(exchange("GO"))  # for what was laid down first
    assert known_to_all(table, 0) == ("GBLOSC", [2, 3, 3])
    pause()
    table.play(exchange("C"))  # the pig comes back
    assert known_to_all(table, 0) == ("GBLOSP", [2, 4, 2])
    assert table.hand_of(0) == "GBBLOSSDPP"


def test_more_cards_laid_down_than_were_known():
    """A hare is known, three are laid down: no bound is below 0."""
    table = Table.lay_out("HHHGGGGGBB", "", rows=("", "", "LLL", ""))
    table.states["least"][0, 0, SIGNS.index("H")] = 1
    table.play(exchange("HHH"))
    assert known_to_all(table, 0) == ("LLL", [2, 4, 3])


@pytest.mark.parametrize(
    ("hand", "row", "laid_down", "expert", "most"),
    [
        ("GGBB", "OO", "GG", False, [4, 4, 3]),  # no set, or the round were over
        ("GGBB", "OO", "GG", True, [4, 4, 4]),  # cats are none
        ("GGHB", "OO", "GH", False, [4, 4, 3]),
        ("HHBB", "OO", "HH", False, [3, 4, 3]),
        ("HPBB", "CC", "HP", False, [4, 4, 3]),
        ("CCBB", "OO", "CC", False, [4, 4, 2]),
        ("CCBB", "OO", "CC", True, [4, 4, 2]),
        ("CCPP", "GC", "PP", True, [4, 3, 4]),
        ("HHBB", "HP", "HH", False, [4, 4, 3]),
    ],
)
def test_the_most_that_a_hand_can_have(hand, row, laid_down, expert, most):
    rows = ("", row, "", "")
    table = Table.lay_out(hand, "", "", rows=rows, options={"expert": expert})
    table.play(exchange(laid_down))
    assert known_to_all(table, 0) == (row, most)
    assert known_to_all(table, 1) == ("", [5, 5, 4])


def test_a_tap_leaves_what_is_known():
    table = Table.lay_out("GG", "", "", rows=("", "CC", "", ""), has_exchanged=[1, 1, 1])
    table.play(exchange("GG"))
    table.play(TAP)
    assert known_to_all(table, 0) == ("CC", [4, 4, 3])
    assert known_to_all(table, 1) == ("", [5, 5, 4])


@pytest.mark.parametrize("is_sudden", [False, True])
def test_in_the_next_round_nothing_is_known(is_sudden):
    table = Table.lay_out(
        "HHHHG", "", "", rows=("H", "OO", "", ""), current_player=1, has_exchanged=[1, 1, 1]
    )
    for _ in range(2):
        table.play(next(a for a in table.legal() if a != TAP and len(EXCHANGES[a]) == 2))
    assert len(known_to_all(table, 1)[0]) == len(known_to_all(table, 2)[0]) == 2
    for action in [TAKE_THE_HARE] if is_sudden else [TAP] * 3:
        table.play(action)
    assert (table.round, table.sudden_death) == (1, 0 if is_sudden else -1)
    for player in range(3):
        assert known_to_all(table, player) == ("", [5, 5, 4])
        view = table.observe(player)
        assert not view["last_turn"].any()
        assert not view["has_exchanged"].any()
        assert view["tapper"].argmax() == 5


def test_players_who_are_out_are_known_to_have_no_cards():
    table = before_sudden_death((5, 5, 1)).play(TAKE_THE_HARE)
    for observer in range(3):
        view = table.observe(observer)
        seat = (2 - observer) % 3
        assert not view["least"][seat].any()
        assert not view["most"][seat].any()
        assert view["unknown"][seat] == 0


def test_a_counted_game_ends_with_all_hands_known():
    table = last_turn(BEST, MIDDLE, WORST, lives=(2, 1, 1)).play(TAP)
    assert table.terminated
    for observer in range(3):
        view = table.observe(observer)
        hands = [(BEST, MIDDLE, WORST)[(observer + k) % 3] for k in range(3)]
        assert [cards_of((9 * least).round()) for least in view["least"][:3]] == hands
        assert not view["unknown"].any()


def test_unseen_are_the_cards_that_are_not_located():
    table = Table.lay_out("GG", "", "", rows=("", "OO", "", "")).play(exchange("GG"))
    for memory, seen in (("perfect", "OO"), ("none", "")):
        for observer in (1, 2):
            located = Counter("".join(table.rows) + table.hand_of(observer) + seen)
            expected = [(DECK[sign] - located[sign]) / 9 for sign in SIGNS]
            assert table.observe(observer, memory=memory)["unseen"] == pytest.approx(expected)
        located = Counter("".join(table.rows) + table.hand_of(0))
        expected = [(DECK[sign] - located[sign]) / 9 for sign in SIGNS]
        assert table.observe(0, memory=memory)["unseen"] == pytest.approx(expected)


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("memory", ["perfect", "none"])
def test_the_hand_with_each_row_and_its_lead(memory, features):
    """Another player is known to have three bears, and one more to have two of them and a goat."""
    table = Table.lay_out("GGGGGGGGGB", "BBB", "BBO", rows=("M", "OP", "BBM", "SSOO"))
    table.states["least"][0, 1] = counts("BBB")
    table.states["least"][0, 2] = counts("BBO")
    view = table.observe(0, memory=memory, features=features)
    # The cards with each row, and how many more they are than any other is known to have.
    expected = {
        "G": [(9, 9), (9, 9), (9, 9), (9, 9)],
        "B": [(1, -2), (1, -2), (3, 0), (1, -2)],
        "O": [(0, -1), (1, 0), (0, -1), (2, 1)],
        "S": [(0, 0), (0, 0), (0, 0), (2, 2)],
        "M": [(1, 1), (0, 0), (1, 1), (0, 0)],
        "D": [(0, 0)] * 4,
    }
    for sign, rows in expected.items():
        for row, (cards, lead) in enumerate(rows):
            found = view["with_row"][row, SIGNS.index(sign)]
            assert found.tolist() == [float(features and cards > c) for c in range(6)]
            found = view["lead"][row, SIGNS.index(sign)]
            is_shown = features and memory == "perfect"
            assert found.tolist() == [float(is_shown and lead >= c) for c in range(5)]


def test_the_derived_fields_are_those_that_compare_alternatives():
    assert {field.name for field in GAME.fields if field.derived} == {"with_row", "lead"}


def test_without_memory_the_bounds_are_left_out():
    table = Table.lay_out("GG", "", "", rows=("", "OO", "", "")).play(exchange("GG"))
    remembered = {field.name for field in GAME.fields if field.remembered}
    assert remembered == {"least", "most", "unknown", "lead"}
    for observer in range(3):
        view = table.observe(observer, memory="none")
        assert not any(view[name].any() for name in remembered)
        assert (4 * view["last_turn"][-observer % 3, 15:]).tolist() == counts("OO")
    assert table.least[0].tolist() == counts("OO")  # what determinize keeps is not forgotten


EXCHANGE_COUNTS = np.array([counts(cards) for cards in EXCHANGES])


def random_game(num_players, seed, decisions, **options):
    """A game of random play: now and then a tap; if the seed is even, sets are collected."""
    rng = np.random.default_rng(seed)
    deck = np.array(counts(DECK.elements()))

    def choose(table, number):
        legal = table.legal()
        if TAP in legal and rng.random() < (0.15 if seed % 2 else 0.05):
            return TAP
        if seed % 2:
            return int(rng.choice(legal))
        some = rng.choice([action for action in legal if action != TAP], 200)
        laid_down = EXCHANGE_COUNTS[some]
        after = table.hand[table.current_player] - laid_down + table.row[laid_down.sum(axis=1) - 1]
        shares = (after / deck)[:, [SIGNS.index(sign) for sign in "HPC"]]
        return int(some[shares.max(axis=1).argmax()])

    return played(Table(num_players, seed, **options), decisions, choose)


@pytest.mark.rule("SW-2")
@pytest.mark.rule("SW-3")
@pytest.mark.rule("SW-5")
@pytest.mark.rule("SW-8")
@pytest.mark.rule("SW-9")
@pytest.mark.rule("SW-11")
@pytest.mark.rule("SW-13")
@pytest.mark.rule("SW-14")
@pytest.mark.parametrize(
    "num_players", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4, 5))]
)
def test_whole_games_are_played_as_by_hand(num_players):
    """Every card, who knows what, lives and rewards, after every decision of random play."""
    decisions = Counter()
    endings = Counter()
    modes = product(["rank", "win", "score"], [False, True], range(2))
    for seed, (reward, expert, number) in enumerate(modes):
        options = {"reward": reward, "expert": expert}
        if seed % 5 == 4:
            options["max_steps"] = 25
        play = random_game(num_players, seed + seed // 4, 300, **options)
        for reference, before, after in played_by_hand(Reference, play):
            decisions[reward, expert, number] += 1
            assert reference.steps == after.steps
            if after.round > before.round:
                endings["sudden death" if after.sudden_death >= 0 else "count"] += 1
        endings["end" if reference.terminated else "cut"] += 1
    assert len(decisions) == 12
    assert decisions.total() > 600
    assert endings["sudden death"] > 1
    assert endings["count"] > 40
    assert endings["end"] > 6
    assert endings["cut"] >= 2


def hidden_from(table, player):
    """The cards that the player has not located."""
    located = table.hand[player] + table.row.sum(axis=0) + table.least.sum(axis=0)
    return counts(DECK.elements()) - located + table.least[player]


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_determinize_keeps_what_is_known_and_redraws_the_rest(num_players):
    moved = Counter()
    for number, (table, _) in enumerate(random_game(num_players, 21, 300)):
        player = number % num_players
        other = table.copy().determinize(player, number)
        check_invariants(GAME, other.states)
        assert (hidden_from(other, player) == hidden_from(table, player)).all()
        assert (other.hand >= table.least).all()
        assert (other.hand[:, SIGNS.index("H") : SIGNS.index("C") + 1] <= table.most).all()
        assert (other.hand.sum(axis=1) == table.hand.sum(axis=1)).all()
        seen, seen_then = table.observe(player), other.observe(player)
        assert all(np.array_equal(seen[name], seen_then[name]) for name in seen)
        assert other.hand_of(player) == table.hand_of(player)
        if table.current_player == player:
            assert other.legal() == table.legal()
        moved["hand"] += (other.hand != table.hand).any()
        moved["left_over"] += (other.left_over != table.left_over).any()
        moved["all"] += 1
        assert other.seed != table.seed
        for name in ("hand", "left_over", "rng", "seed"):
            other.states[name] = table.states[name]
        assert other.states.tobytes() == table.states.tobytes()
    assert moved["hand"] > 0.8 * moved["all"]
    if num_players < 5:
        assert moved["left_over"] > 0.8 * moved["all"]


def check_only_knowledge_matters(table, player, determinize):
    """What is redrawn follows from what the player knows and from the seed alone."""

    def redrawn(states, seed):
        other = copy_of(GAME, states)
        determinize(other, 0, player, np.uint64(seed))
        return other

    first, second = redrawn(table.states, 1), redrawn(table.states, 2)
    expected = redrawn(table.states, 3).tobytes()
    for states in (first, second):  # they differ only in what the player cannot know
        assert redrawn(states, 3).tobytes() == expected, "what was there before matters"
    return first.tobytes() != second.tobytes()


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_determinize_depends_on_knowledge_and_seed_alone(num_players):
    differed = 0
    for number, (table, _) in enumerate(random_game(num_players, 22, 300)):
        player = number % num_players
        differed += check_only_knowledge_matters(table, player, GAME.rules.determinize)
    assert differed > 30


def test_a_determinize_that_keeps_something_is_caught():
    """The stream, or the hands in every second case."""

    def keep_the_stream(states, i, player, seed):
        stream = states["rng"][i]
        GAME.rules.determinize(states, i, player, seed)
        states["rng"][i] = stream + np.uint64(1)

    def lazy(states, i, player, seed):
        if states["hand"][i, (player + 1) % 3, 0] % 2:
            GAME.rules.determinize(states, i, player, seed)

    for wrong in (keep_the_stream, lazy):
        caught = 0
        for table, _ in random_game(3, 22, 300):
            try:
                check_only_knowledge_matters(table, 0, wrong)
            except AssertionError as error:
                caught += "what was there before matters" in str(error)
        assert caught > 10


def test_determinize_is_uniform_over_what_is_possible():
    """Five hidden cards: two with player 1, who cannot have the fifth hare, two with 2, one with 3.

    There are two giraffes; every way to deal the single cards that is possible is as likely.
    """
    hidden = {1: "GC", 2: "GP", 3: "H"}
    table = Table.lay_out("", "HHHHBBLLGC", "OOSSDDLLGP", "BBBOOSSDDH", "")
    for player in range(1, 5):
        table.states["least"][0, player] = table.hand[player] - counts(hidden.get(player, ""))
    table.states["most"][0, 1, 0] = 4
    table.states["most"][0, 4] = table.hand[4, 6:9]
    assert table.rest == ""
    possible = Counter()
    for cards in permutations("GCGPH"):
        if "H" not in cards[:2]:
            possible[tuple(map(in_order, (cards[:2], cards[2:4], cards[4:])))] += 1
    ways = possible.total()
    trials = 6000
    found = Counter()
    for seed in range(trials):
        other = table.copy().determinize(0, seed)
        found[tuple(cards_of(other.hand[p] - table.least[p]) for p in (1, 2, 3))] += 1
    assert set(found) == set(possible)
    assert len(possible) == 11
    expected = [trials * possible[hands] / ways for hands in possible]
    # 10 degrees of freedom: the upper 0.1% point is 29.6.
    assert chi_square([found[hands] for hands in possible], expected) < 29.6


# ---------------------------------------------------------------------------------------------
# Environments
# ---------------------------------------------------------------------------------------------


def choice_of_tapper(action_mask):
    """Taps as soon as it may, and else exchanges what follows from the mask."""
    legal = np.flatnonzero(action_mask)
    return TAP if action_mask[TAP] else int(legal[legal.sum() % len(legal)])


def tappers(observations, action_masks):
    """The same for many seats."""
    return np.array([choice_of_tapper(mask) for mask in action_masks])


def play_environment(num_players, seed, **options):
    """A game of tappers: the environment at its end, and who was out before each decision."""
    env = swim_for_your_life_v0.raw_env(num_players=num_players, **options)
    env.reset(seed=seed)
    out = []
    while env.legal_actions():
        lives = env.states["lives"][0, :num_players]
        out.append([agent for agent, left in zip(env.agents, lives, strict=True) if not left])
        assert env.agents == env.possible_agents
        assert env.agent_selection not in out[-1]
        for agent in env.agents:
            is_to_move = agent == env.agent_selection
            assert env.observe(agent)["action_mask"].any() == is_to_move
        assert not any(env.terminations.values())
        env.step(choice_of_tapper(env.last()[0]["action_mask"]))
    return env, out


@pytest.mark.rule("SW-2")
@pytest.mark.parametrize("num_players", [3, 4, 5])
def test_the_environment_skips_who_is_out_and_ends_for_all_together(num_players):
    skipped = 0
    for seed in range(6):
        env, out = play_environment(num_players, seed)
        skipped += len(out[-1]) == num_players - 2
        assert env.agents == env.possible_agents
        assert all(env.terminations.values())
        assert not any(env.truncations.values())
        assert not any(env.observe(agent)["action_mask"].any() for agent in env.agents)
        assert sum(env.rewards.values()) == pytest.approx(0)
        winner = next(agent for agent in env.agents if env.infos[agent]["place"] == 1)
        assert env.rewards[winner] == 1
        for agent in out[-1]:
            assert env.infos[agent]["place"] > 2 or len(out[-1]) < num_players - 2
        if len(out[-1]) == num_players - 2:
            (second,) = set(env.agents) - {winner} - set(out[-1])
            assert env.infos[second]["place"] == 2
    assert skipped > 0


@pytest.mark.rule("SW-2")
def test_the_seat_environment_plays_on_when_the_learner_is_out():
    played_on = 0
    for seed in range(12):
        n, seat = 5, seed % 5
        env, out = play_environment(n, seed)
        agent = f"player_{seat}"
        out_for = sum(agent in players for players in out)
        played_on += out_for > 0
        learner = gymnasium.make(GAME.gymnasium_id, num_players=n, opponents=tappers, seat=seat)
        _, info = learner.reset(seed=seed)
        is_over = False
        while not is_over:
            action = choice_of_tapper(info["action_mask"])
            observation, reward, is_over, truncated, info = learner.step(action)
            assert not truncated
            assert is_over or reward == 0
        assert reward == env.rewards[agent]
        assert not info["action_mask"].any()
        view = GAME.fields.unflatten(observation)
        assert view["in_game"].sum() == 1
        assert view["in_game"][0] == (reward == 1)
        expected = env.observe(agent)["observation"]
        assert observation.tobytes() == expected.tobytes()
    assert played_on > 3


@pytest.mark.rule("SW-12")
def test_two_players_play_the_two_player_endgame_from_the_start():
    """Places and hands as ever; only majorities take two cards."""
    env, _ = play_environment(2, 5)
    assert sorted(env.rewards.values()) == [-1, 1]
    table = Table(2)
    assert lives_of(table) == [5, 5]
    assert len(table.rest) == 30
    assert table.observe(0)["two_left"] == table.observe(1)["two_left"] == 1
    assert all(Table(n).observe(0)["two_left"] == 0 for n in (3, 4, 5))
