"""The rules of Beaver Gang, by the rule numbers of its RULES.md."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from games.beaver_gang.reference import Reference
from games.beaver_gang.table import DECK, GAME, NO_CARD, Table, kinds, places, shown, swap
from helpers import check_invariants, each_size
from table import chi_square, played, played_by_hand

import card_envs
from card_envs import beaver_gang_v0
from card_envs.agents import RandomAgent, choose

DRAW, DISCARD, DRAW_TWO, KNOCK, DO_NOT_KNOCK = 4, 5, 94, 95, 96
TAKE, EXCHANGE, PEEK = range(4), range(6, 10), range(90, 94)
NUM_PLAYERS = (2, 3, 4, 5, 6)
NUM_KINDS = 13
COUNTS = [DECK[sign] for sign in "0123456789SPD"]  # of each kind
DRAWN = 1  # a phase
# The upper 0.1% point of chi-square with 12 degrees of freedom; the seeds of these tests are fixed.
CHI_SQUARE_12 = 32.9
PLAIN_ROWS = ("1234", "5678", "1234", "5678", "1234", "5678")


def quick_action(legal):
    """Draw and discard; knock as soon as it is allowed."""
    return next(action for action in (KNOCK, DRAW, DISCARD) if action in legal)


def in_view(table, player, seat):
    """The cards of a seat that the player sees without memory."""
    observation = table.observe(player, memory="none")
    return [shown(observation, seat, slot) for slot in range(4)]


def last_turn(*rows, draw="9", knocker=0, **more):
    """The last turn of a round: the player to the right of the one who knocked is to move."""
    n = len(rows)
    return Table.lay_out(
        *rows, draw=draw, knocker=knocker, current_player=(knocker - 1) % n, turns=2 * n, **more
    )


# ---------------------------------------------------------------------------------------------
# Cards
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("BG-1")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_deck(num_players):
    for seed in range(20):
        table = Table(num_players, seed)
        cards = "".join(table.row_of(player) for player in range(num_players))
        counts = Counter(cards + table.draws) + table.discards
        assert counts == {
            **{str(number): 4 for number in range(9)},
            **{"9": 9, "S": 9, "P": 7, "D": 5},
        }
        assert counts.total() == 66


# ---------------------------------------------------------------------------------------------
# A game
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", [-1, 0, 1, 7, 2.5, "4", True])
def test_other_numbers_of_players_are_refused(num_players):
    with pytest.raises(ValueError, match="2 to 6"):
        beaver_gang_v0.env(num_players=num_players)


def play_rounds(num_players, seed=3, **options):
    """A quick game in the AEC environment: the first agent of every round, and the environment."""
    env = beaver_gang_v0.raw_env(num_players=num_players, **options)
    env.reset(seed=seed)
    first_agents = [env.agent_selection]
    number = 0
    while legal := env.legal_actions():
        env.step(quick_action(legal))
        if env.states["round"][0] > number:
            number += 1
            first_agents.append(env.agent_selection)
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    return first_agents[:number], env


@pytest.mark.rule("BG-2")
@pytest.mark.parametrize(("num_players", "rounds"), [(2, 4), (3, 3), (4, 4), (5, 5), (6, 6)])
def test_a_game_has_as_many_rounds_as_players_but_four_with_two(num_players, rounds):
    first_agents, _ = play_rounds(num_players)
    assert len(first_agents) == rounds


@pytest.mark.rule("BG-2")
@pytest.mark.parametrize("num_players", [2, 3])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_the_option_sets_the_number_of_rounds(num_players, rounds):
    first_agents, _ = play_rounds(num_players, rounds=rounds)
    assert len(first_agents) == rounds


@pytest.mark.rule("BG-2")
@pytest.mark.parametrize(
    ("rounds", "told"), [(1, 1), (3, 3), (4, 4), (6, 6), (7, 7), (16, 16), (17, 16), (1000000, 16)]
)
def test_the_number_of_rounds_and_the_present_one_are_told(rounds, told):
    """The share of finished rounds in 60ths, rounded down, exact for up to six rounds."""
    for number in sorted({0, rounds // 2, rounds - 1}):
        table = Table.lay_out("1234", "5678", round=number, options={"rounds": rounds})
        for view in (table.observe(0), table.observe(1, memory="none"), table.full_state(1)):
            share = np.float32(60 * number // rounds) / np.float32(60)
            assert view["round"].tolist() == [share, number == rounds - 1]
            assert view["rounds"] == np.float32(told / 16)
            if rounds <= 6:
                assert view["round"][0] == np.float32(number / rounds)


@pytest.mark.rule("BG-2")
@pytest.mark.parametrize("rounds", [0, -1, 1.5, "2", True])
def test_rounds_must_be_one_or_more(rounds):
    with pytest.raises(ValueError, match="rounds must be"):
        beaver_gang_v0.env(rounds=rounds)


@pytest.mark.rule("BG-3")
@pytest.mark.parametrize(
    ("scores", "rank", "win"),
    [
        ((0, 0, 0), (1, 0, -1), (1, 0, 0)),
        ((8, 0, 0), (-0.5, 1, -0.5), (0, 1, 0)),  # 12, 8, 12
        ((4, 0, 0), (0.5, 0.5, -1), (0.5, 0.5, 0)),  # 8, 8, 12
        ((8, 4, 0), (0, 0, 0), (1 / 3, 1 / 3, 1 / 3)),  # 12, 12, 12
        ((90, 50, 0), (-1, 0, 1), (0, 0, 1)),
    ],
)
def test_the_lowest_total_of_all_rounds_wins(scores, rank, win):
    """The last round gives 4, 8 and 12 points."""
    for mode, expected in (("rank", rank), ("win", win)):
        table = last_turn(
            "1111",
            "2222",
            "3333",
            options={"reward": mode},
            round=2,
            scores=[*scores, 0, 0, 0],
        )
        table.play(DRAW)
        assert not table.rewards.any()
        table.play(DISCARD)
        assert table.terminated
        assert table.legal() == []
        assert table.scores[:3].tolist() == [scores[0] + 4, scores[1] + 8, scores[2] + 12]
        assert table.rewards[:3] == pytest.approx(expected)
        assert sum(table.rewards) == pytest.approx(0 if mode == "rank" else 1)


@pytest.mark.rule("BG-3")
def test_totals_that_no_game_of_six_rounds_reaches_are_observed_as_the_highest_that_it_does():
    """Totals up to 216 and leads up to 72; the game counts on."""
    for total, lead in product((215, 216, 217, 300, 1440), (0, 71, 72, 73, 200)):
        scores = [total, total - lead, 0, 0, 0, 0]
        table = Table.lay_out("1234", "5678", scores=scores, options={"rounds": 40})
        for view in (table.observe(0), table.full_state(0)):
            shown = [min(score, 216) / 216 for score in scores[:2]]
            assert view["totals"][:2] == pytest.approx(shown)
            assert view["scores"][:2] == pytest.approx([min(lead, 72) / 72, 0.0])


@pytest.mark.rule("BG-3")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_places_and_rewards_of_whole_games(num_players):
    for seed in range(5):
        for mode in ("rank", "win", "score"):
            _, env = play_rounds(num_players, seed, reward=mode)
            totals = env.states["scores"][0, :num_players]
            for player, agent in enumerate(env.agents):
                assert env.infos[agent]["place"] == 1 + (totals < totals[player]).sum()
                ahead = (totals > totals[player]).sum() - (totals < totals[player]).sum()
                if mode == "rank":
                    assert env.rewards[agent] == pytest.approx(ahead / (num_players - 1))
                elif mode == "win":
                    winners = (totals == totals.min()).sum()
                    won = totals[player] == totals.min()
                    assert env.rewards[agent] == pytest.approx(won / winners)
            expected = 1 if mode == "win" else 0
            assert sum(env.rewards.values()) == pytest.approx(expected)


@pytest.mark.rule("BG-4")
@pytest.mark.parametrize(("num_players", "rounds"), [(2, 4), (3, 7), (4, 4), (5, 5), (6, 8)])
def test_the_first_turn_goes_round(num_players, rounds):
    first_agents, _ = play_rounds(num_players, rounds=rounds)
    assert first_agents == [f"player_{k % num_players}" for k in range(rounds)]


# ---------------------------------------------------------------------------------------------
# Rewards by the round, and truncation
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_last", [False, True])
def test_points_are_paid_by_the_round(is_last):
    """The round's 4, 6 and 11 points are 7 in the mean; the totals do not matter."""
    table = last_turn(
        "3010",
        "2022",
        "8111",
        options={"reward": "score"},
        round=2 if is_last else 1,
        scores=[70, 50, 0, 0, 0, 0],
    )
    table.play(DRAW)
    assert not table.rewards.any()
    table.play(DISCARD)
    assert table.rewards[:3] == pytest.approx([3 / 36, 1 / 36, -4 / 36])
    assert table.terminated == is_last
    if not is_last:
        table.play(DRAW)
        assert not table.rewards.any()


@pytest.mark.parametrize("mode", ["rank", "win"])
def test_rank_and_win_pay_at_the_end_only(mode):
    table = last_turn("1111", "2222", "3333", options={"reward": mode}, round=1)
    table.play(DRAW, DISCARD)
    assert table.round == 2
    assert not table.terminated
    assert not table.rewards.any()


@pytest.mark.parametrize(
    ("mode", "first_round", "later"),
    [("rank", (0, 0, 0), (1, -0.5, -0.5)), ("win", (1 / 3,) * 3, (1, 0, 0)), ("score", 0, 0)],
)
def test_truncation_pays_the_standing_so_far(mode, first_round, later):
    table = Table(3, reward=mode, max_steps=1).play(DRAW)
    assert table.truncated
    assert not table.terminated
    assert table.legal() == []
    assert table.rewards[:3] == pytest.approx(np.broadcast_to(first_round, 3))
    # 20, 24 and 24 points after this round; the next is begun and cut short.
    options = {"reward": mode, "max_steps": 4}
    table = last_turn(
        "1111", "2222", "3333", options=options, round=1, scores=[16, 16, 12, 0, 0, 0]
    )
    table.play(DRAW, DISCARD, DRAW)
    assert not table.truncated
    table.play(DISCARD)
    assert table.truncated
    assert not table.terminated
    assert table.rewards[:3] == pytest.approx(np.broadcast_to(later, 3))


@pytest.mark.parametrize("memory", ["perfect", "none"])
def test_after_truncation_nobody_is_to_move(memory):
    table = Table(3, max_steps=3).play(DRAW, DISCARD)
    assert table.observe(0, memory=memory)["to_move"].tolist() == [0, 1, 0, 0, 0, 0]
    assert table.observe(0, memory=memory)["phase"].tolist() == [1, 0, 0]
    table.play(DRAW)
    assert table.truncated
    for view in (table.observe(0, memory=memory), table.full_state(0)):
        assert not view["to_move"].any()
        assert not view["phase"].any()


def test_a_game_that_ends_with_its_last_step_is_not_truncated():
    table = last_turn("1111", "2222", options={"max_steps": 2, "rounds": 1})
    table.play(DRAW, DISCARD)
    assert table.terminated
    assert not table.truncated


# ---------------------------------------------------------------------------------------------
# Setting up a round
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("BG-5")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_the_deal(num_players):
    table = Table(num_players, seed=5)
    assert table.draw_size == 66 - 4 * num_players - 1
    assert table.discard_size == 1
    assert table.discards.total() == 1
    assert all(len(table.row_of(player)) == 4 for player in range(num_players))
    assert (table.row[num_players:] == NO_CARD).all()
    assert table.phase_name == "turn"


@pytest.mark.rule("BG-5")
def test_rows_are_dealt_whole_from_player_0_on():
    """One seed shuffles one deck: with more players only the later cards go elsewhere."""
    decks = []
    for num_players in NUM_PLAYERS:
        table = Table(num_players, seed=8)
        rows = "".join(table.row_of(player) for player in range(num_players))
        decks.append(rows + table.top + table.draws)
    assert decks == [decks[0]] * 5
    assert len(decks[0]) == 66


@pytest.mark.rule("BG-5")
def test_every_place_of_the_deck_is_shuffled_uniformly():
    deals = 3000
    counts = np.zeros((66, NUM_KINDS))
    same_neighbours = 0
    for seed in range(deals):
        table = Table(2, seed)
        deck = kinds(table.row_of(0) + table.row_of(1) + table.top + table.draws)
        counts[range(66), deck] += 1
        same_neighbours += sum(a == b for a, b in pairwise(deck))
    expected = deals * np.array(COUNTS) / 66
    by_place = [chi_square(counts[place], expected) for place in range(66)]
    # 12 degrees of freedom each: the mean of 66 such values is 12 with deviation 0.6.
    assert 9.5 < np.mean(by_place) < 14.5
    assert max(by_place) < 45
    pairs = sum(c * (c - 1) for c in COUNTS) / 66  # of equal neighbours in a deck
    assert same_neighbours / deals == pytest.approx(pairs, abs=0.25)


@pytest.mark.rule("BG-5")
def test_each_round_is_dealt_from_the_whole_deck():
    dealt = set()
    env = beaver_gang_v0.raw_env(num_players=2, rounds=6)
    env.reset(seed=1)
    number = -1
    while legal := env.legal_actions():
        s = env.states[0]
        if s["round"] > number:
            number = int(s["round"])
            dealt.add(s["row"].tobytes())
            assert s["draw_size"] == 57
            assert s["discard_size"] == 1
            check_invariants(GAME, env.states)
        env.step(quick_action(legal))
    assert len(dealt) == 6


@pytest.mark.rule("BG-6")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_each_player_knows_his_two_outer_cards(num_players):
    table = Table(num_players, seed=2)
    for player in range(num_players):
        assert table.knows(player) == {(player, 0), (player, 3)}
        observation = table.observe(player)
        row = table.row_of(player)
        own = [shown(observation, 0, slot) for slot in range(4)]
        assert own == [row[0], "?", "?", row[3]]
        for slot, kind in enumerate(kinds(row)):
            is_outer = slot in (0, 3)
            assert observation["own_row"][slot].argmax() == (kind if is_outer else 13)
            assert observation["own_row"][slot].sum() == 1
        for seat in range(1, num_players):
            assert [shown(observation, seat, slot) for slot in range(4)] == ["?"] * 4
        assert observation["known_to_owner"][:num_players].tolist() == [[1, 0, 0, 1]] * num_players
        assert not observation["known_to_all"].any()
        assert not observation["rows"][num_players:].any()
        assert not observation["known_to_owner"][num_players:].any()


@pytest.mark.rule("BG-6")
def test_in_a_later_round_the_new_outer_cards_are_known_and_nothing_else():
    table = last_turn("1111", "2222", round=1, known={0: 255, 1: 255})
    table.play(DRAW, DISCARD)
    assert table.round == 2
    assert table.knows(0) == {(0, 0), (0, 3)}
    assert table.knows(1) == {(1, 0), (1, 3)}
    assert table.is_number == 0


@pytest.mark.rule("BG-6")
def test_without_memory_the_outer_cards_show_in_the_first_observation_of_a_round_only():
    table = Table.lay_out(*PLAIN_ROWS[:3], draw="999999")
    assert in_view(table, 1, 0) == ["5", "?", "?", "8"]
    table.play(DRAW)
    assert in_view(table, 0, 0) == ["?"] * 4
    table.play(DISCARD)
    assert in_view(table, 1, 0) == ["5", "?", "?", "8"]
    table.play(DRAW, DISCARD)
    assert in_view(table, 1, 0) == ["?"] * 4
    observation = table.observe(1, memory="none")
    for name in ("older", "unseen_older", "is_number", "known_to_owner", "known_to_all"):
        assert not observation[name].any()
    assert not observation["discarded"].any()
    assert table.knows(1) == {(1, 0), (1, 3)}  # what determinize keeps is not forgotten


@pytest.mark.rule("BG-6")
def test_without_memory_a_card_in_view_shows_where_it_lies_by_then():
    table = Table.lay_out(*PLAIN_ROWS[:2], draw="S")
    assert in_view(table, 0, 0) == ["1", "?", "?", "4"]
    table.play(DRAW, swap(1, 1, 0))  # the 2 of player 0 for the 5 of player 1
    assert in_view(table, 1, 0) == ["?", "?", "?", "8"]
    assert in_view(table, 1, 1) == ["?", "5", "?", "?"]


@pytest.mark.rule("BG-7")
def test_specials_are_dealt_into_rows_and_stay_there():
    signs = Counter()
    for seed in range(300):
        signs.update(Table(2, seed).row_of(0))
    assert all(signs[special] > 50 for special in "SPD")
    table = Table.lay_out("SPD1", "DPS2", draw="SP98", discard="3")
    table.play(DRAW, swap(0, 1, 1))
    assert (table.row_of(0), table.row_of(1)) == ("PPD1", "DSS2")
    table.play(DRAW, PEEK[0], DO_NOT_KNOCK)  # a special that is seen has no effect
    assert (table.row_of(0), table.row_of(1)) == ("PPD1", "DSS2")
    assert table.phase_name == "turn"
    assert shown(table.observe(1), 0, 0) == "D"
    assert shown(table.observe(0), 1, 0) == "?"
    table.play(DRAW, DISCARD)
    assert (table.row_of(0), table.row_of(1)) == ("PPD1", "DSS2")


# ---------------------------------------------------------------------------------------------
# Taking the discard
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("BG-8")
@pytest.mark.parametrize("slot", range(4))
def test_the_discard_is_taken_into_a_slot(slot):
    """The rulebook's example, with slot 1: the 2 comes in, the old card goes up."""
    table = Table.lay_out("4905", "1613", "0141", discard="2", draw="7")
    before, draws = table.discards, table.draws
    table.play(TAKE[slot])
    old = "4905"[slot]
    assert table.row_of(0) == "4905"[:slot] + "2" + "4905"[slot + 1 :]
    assert (table.row_of(1), table.row_of(2)) == ("1613", "0141")
    assert table.top == old
    assert table.discard_size == 1
    assert table.discards == before - Counter("2") + Counter(old)
    assert table.draws == draws
    assert table.current_player == 1


@pytest.mark.rule("BG-8")
def test_all_players_know_which_card_was_taken():
    table = Table.lay_out("4905", "1613", "0141", discard="2").play(TAKE[1])
    for player in range(3):
        assert (0, 1) in table.knows(player)
        observation = table.observe(player)
        seat = -player % 3
        assert shown(observation, seat, 1) == "2"
        assert observation["known_to_all"][seat].tolist() == [0, 1, 0, 0]
        last = observation["last_turn"][seat]
        assert last[:6].argmax() == 1
        assert last[6:10].tolist() == [0, 1, 0, 0]
    assert (0, 0) not in table.knows(1)


@pytest.mark.rule("BG-8")
def test_a_replaced_special_goes_up_and_what_was_known_of_it_is_gone():
    table = Table.lay_out("S895", "1213", discard="2", known={0: 0b1001, 1: 0b1}).play(TAKE[0])
    assert table.top == "S"
    assert table.phase_name == "turn"
    assert table.knows(1) == {(0, 0)}
    assert shown(table.observe(1), 1, 0) == "2"


@pytest.mark.rule("BG-9")
@pytest.mark.parametrize("top", "0123456789")
def test_a_number_may_be_taken(top):
    assert Table.lay_out("1234", "5678", discard="3S" + top).legal() == [*TAKE, DRAW]


@pytest.mark.rule("BG-9")
@pytest.mark.parametrize("top", "SPD")
def test_a_special_may_not_be_taken(top):
    assert Table.lay_out("1234", "5678", discard="32" + top).legal() == [DRAW]


@pytest.mark.rule("BG-9")
def test_without_a_discard_pile_a_card_must_be_drawn():
    table = Table.lay_out("1234", "5678", discard="", draw="4")
    assert table.top == ""
    assert table.legal() == [DRAW]
    assert table.observe(0)["discard_top"].argmax() == 0
    table.play(DRAW, EXCHANGE[0])
    assert table.legal() == [*TAKE, DRAW]


@pytest.mark.rule("BG-9")
def test_the_environment_refuses_to_take_a_special():
    env = beaver_gang_v0.raw_env(num_players=2)
    seed = next(seed for seed in range(100) if Table(2, seed).top in "SPD")
    env.reset(seed=seed)
    assert env.legal_actions() == [DRAW]
    for action in TAKE:
        with pytest.raises(ValueError, match="not legal"):
            env.step(action)
    env.step(DRAW)


# ---------------------------------------------------------------------------------------------
# Drawing
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("BG-10")
@pytest.mark.parametrize("card", "0123456789SPD")
def test_the_top_card_is_drawn_and_seen_by_its_drawer_alone(card):
    table = Table.lay_out(*PLAIN_ROWS[:3], draw=card + "34", discard="9")
    draws = table.draws
    table.play(DRAW)
    assert table.in_hand == card
    assert table.draws == draws[1:]
    assert table.top == "9"
    assert table.current_player == 0
    assert table.observe(0)["drawn"].argmax() == kinds(card)[0] + 1
    for player in (1, 2):
        assert table.observe(player)["drawn"].argmax() == 0
        assert table.observe(player)["phase"].tolist() == [0, 1, 0]
    use = {"S": [swap(a, k, b) for a in range(4) for k in (1, 2) for b in range(4)]}
    use |= {"P": list(PEEK), "D": [DRAW_TWO]}
    assert table.legal() == [DISCARD, *use.get(card, EXCHANGE)]


@pytest.mark.rule("BG-10")
def test_a_drawn_number_is_discarded():
    table = Table.lay_out("1234", "5678", draw="4", discard="9").play(DRAW, DISCARD)
    assert table.top == "4"
    assert table.discards == Counter("94")
    assert table.row_of(0) == "1234"
    assert table.in_hand == ""
    assert table.current_player == 1


@pytest.mark.rule("BG-10")
@pytest.mark.parametrize("slot", range(4))
def test_a_drawn_number_is_exchanged_for_a_slot(slot):
    known = {0: 255, 1: 255, 2: places((0, 1), (2, 3))}
    table = Table.lay_out("1234", "5678", "1234", draw="0", discard="9", known=known)
    table.play(DRAW, EXCHANGE[slot])
    assert table.row_of(0) == "1234"[:slot] + "0" + "1234"[slot + 1 :]
    assert table.top == "1234"[slot]
    assert table.discards == Counter("9" + "1234"[slot])
    assert (0, slot) in table.knows(0)
    assert (0, slot) not in table.knows(1) | table.knows(2)
    assert (2, 3) in table.knows(2)
    observation = table.observe(1)
    assert shown(observation, 2, slot) == "?"
    assert observation["is_number"][2, slot] == 1
    assert observation["is_number"].sum() == 1
    assert observation["known_to_owner"][2, slot] == 1
    assert observation["last_turn"][2, :6].argmax() == 2
    assert observation["last_turn"][2, 6 + slot] == 1
    assert table.current_player == 1


@pytest.mark.rule("BG-11")
@pytest.mark.parametrize("card", "SPD")
def test_a_drawn_special_is_discarded_without_effect(card):
    table = Table.lay_out("1234", "5678", draw=card + "3", discard="9")
    known = table.known.tolist()
    table.play(DRAW, DISCARD)
    assert (table.row_of(0), table.row_of(1)) == ("1234", "5678")
    assert table.known.tolist() == known
    assert table.top == card
    assert table.phase_name == "turn"
    assert table.current_player == 1
    assert table.legal() == [DRAW]


@pytest.mark.rule("BG-11")
@pytest.mark.parametrize("card", "SPD")
@pytest.mark.parametrize("by_taking", [False, True])
def test_a_special_that_is_replaced_has_no_effect(card, by_taking):
    table = Table.lay_out("1" + card + "34", "5678", draw="43", discard="9")
    table.play(*([TAKE[1]] if by_taking else [DRAW, EXCHANGE[1]]))
    assert table.row_of(0) == ("1934" if by_taking else "1434")
    assert table.row_of(1) == "5678"
    assert table.top == card
    assert table.draw_twos == 0
    assert table.phase_name == "turn"
    assert table.current_player == 1
    assert table.legal() == [DRAW]


# ---------------------------------------------------------------------------------------------
# Specials
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("BG-12")
@pytest.mark.parametrize(("card", "action"), [("S", swap(0, 1, 0)), ("P", PEEK[1])])
def test_a_special_lies_on_top_after_its_action(card, action):
    table = Table.lay_out("1234", "5678", draw=card, discard="9").play(DRAW, action)
    assert table.top == card
    assert table.discards == Counter("9" + card)
    assert table.legal() == [DRAW]
    assert table.current_player == 1


@pytest.mark.rule("BG-12")
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_draw_twos_lie_on_top_of_what_they_drew(depth):
    table = Table.lay_out("1234", "5678", draw="D" * depth + "4", discard="9")
    table.play(DRAW)
    for count in range(1, depth + 1):
        table.play(DRAW_TWO)
        assert table.draw_twos == count
        assert table.observe(1)["draw_twos"] == np.float32(count / 5)
        assert table.top == "9"
    table.play(EXCHANGE[1])
    assert table.row_of(0) == "1434"
    assert table.discards == Counter("92" + "D" * depth)
    assert table.top == "D"
    assert table.draw_twos == 0
    assert (table.current_player, table.phase_name) == (1, "turn")
    assert table.legal() == [DRAW]


@pytest.mark.rule("BG-12")
@pytest.mark.parametrize(("card", "action"), [("S", swap(3, 1, 2)), ("P", PEEK[1]), ("3", DISCARD)])
def test_a_draw_two_lies_on_top_of_the_other_special(card, action):
    table = Table.lay_out("1234", "5678", draw="D7" + card, discard="9")
    table.play(DRAW, DRAW_TWO, DISCARD, action)
    assert table.discards == Counter("97D" + card)
    assert table.top == "D"
    assert table.legal() == [DRAW]


@pytest.mark.rule("BG-13")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_a_swap_exchanges_any_two_cards_of_two_players(num_players):
    start = Table.lay_out(*PLAIN_ROWS[:num_players], draw="S", current_player=1)
    start.play(DRAW)
    assert len(start.legal()) == 1 + 16 * (num_players - 1)
    for own, k, other in product(range(4), range(1, num_players), range(4)):
        table = start.copy().play(swap(own, k, other))
        owner = (1 + k) % num_players
        rows = [list(row) for row in PLAIN_ROWS[:num_players]]
        rows[1][own], rows[owner][other] = rows[owner][other], rows[1][own]
        assert [table.row_of(player) for player in range(num_players)] == [
            "".join(row) for row in rows
        ]
        last = table.observe(0, memory="none")["last_turn"][1]
        assert last[:6].argmax() == 3
        assert (last[6:10].argmax(), last[10:16].argmax()) == (own, owner)
        assert last[16:].argmax() == other
        assert last.sum() == 4


@pytest.mark.rule("BG-13")
def test_knowledge_moves_with_swapped_cards_and_none_is_gained():
    known = {0: places((0, 0), (1, 1)), 1: places((1, 0), (0, 2)), 2: places((1, 1), (2, 2))}
    table = Table.lay_out(
        "1234", "5678", "0123", draw="S", known=known, is_number=places((1, 1)), discard="9"
    )
    table.play(DRAW, swap(0, 1, 1))  # the 1 of player 0 for the 6 of player 1
    assert table.knows(0) == {(1, 1), (0, 0)}
    assert table.knows(1) == {(1, 0), (0, 2)}
    assert table.knows(2) == {(0, 0), (2, 2)}
    assert table.is_number == places((0, 0))
    assert shown(table.observe(0), 0, 0) == "6"
    assert shown(table.observe(0), 1, 1) == "1"
    assert shown(table.observe(1), 0, 1) == "?"
    assert shown(table.observe(2), 1, 0) == "6"
    assert shown(table.observe(2), 2, 1) == "?"


@pytest.mark.rule("BG-13")
def test_the_player_who_knocked_can_be_swapped_with():
    table = Table.lay_out("1234", "5678", "0123", draw="S", knocker=2, current_player=1, turns=8)
    table.play(DRAW)
    assert {swap(a, 1, b) for a in range(4) for b in range(4)} <= set(table.legal())
    table.play(swap(3, 1, 0))
    assert table.revealed[:3].tolist() == [[1, 2, 3, 4], [5, 6, 7, 0], [8, 1, 2, 3]]


@pytest.mark.rule("BG-14")
@pytest.mark.parametrize("slot", range(4))
def test_a_peek_shows_one_own_card_to_the_player_alone(slot):
    table = Table.lay_out("1234", "5678", "0123", draw="P", discard="9", known={0: 0, 1: 0, 2: 0})
    table.play(DRAW)
    assert table.legal() == [DISCARD, *PEEK]
    table.play(PEEK[slot])
    assert table.row_of(0) == "1234"
    assert table.knows(0) == {(0, slot)}
    assert table.knows(1) == table.knows(2) == set()
    assert shown(table.observe(0), 0, slot) == "1234"[slot]
    observation = table.observe(1)
    assert shown(observation, 2, slot) == "?"
    assert observation["known_to_owner"][2, slot] == 1
    assert observation["last_turn"][2, :6].argmax() == 4
    assert observation["last_turn"][2, 6 + slot] == 1
    assert not observation["is_number"].any()


@pytest.mark.rule("BG-14")
@pytest.mark.parametrize("turns", [0, 5])
def test_without_memory_a_peeked_card_shows_in_the_next_observation_only(turns):
    """With a knock decision that is the next one; else the player's next turn."""
    table = Table.lay_out("1234", "5678", draw="P99999", turns=turns)
    table.play(DRAW, PEEK[1])
    if turns == 0:
        table.play(DRAW, DISCARD, DO_NOT_KNOCK)
    assert table.current_player == 0
    assert in_view(table, 0, 0) == ["?", "2", "?", "?"]
    table.play(DRAW if turns == 0 else DO_NOT_KNOCK)
    assert in_view(table, 0, 0) == ["?"] * 4
    assert (0, 1) in table.knows(0)


@pytest.mark.rule("BG-15")
def test_a_draw_two_draws_the_first_card_in_the_same_step():
    table = Table.lay_out("1234", "5678", draw="D47", discard="9").play(DRAW)
    assert not table.first_of_pair
    table.play(DRAW_TWO)
    assert table.in_hand == "4"
    assert table.first_of_pair
    assert table.current_player == 0
    assert table.legal() == [DISCARD, *EXCHANGE]
    for player in (0, 1):
        assert table.observe(player)["first_of_pair"] == 1
    assert table.observe(1)["drawn"].argmax() == 0


@pytest.mark.rule("BG-15")
@pytest.mark.parametrize(
    ("card", "action"), [("4", EXCHANGE[2]), ("S", swap(0, 1, 0)), ("P", PEEK[0])]
)
def test_using_the_first_card_ends_the_turn_and_forfeits_the_second(card, action):
    table = Table.lay_out("1234", "5678", draw="D" + card + "78", discard="9")
    draws = table.draws
    table.play(DRAW, DRAW_TWO, action)
    assert table.draws == draws[2:]
    assert (table.current_player, table.phase_name) == (1, "turn")
    assert not table.first_of_pair
    assert table.in_hand == ""


@pytest.mark.rule("BG-15")
@pytest.mark.parametrize("first", "7SPD")
@pytest.mark.parametrize(
    ("second", "action"),
    [("4", EXCHANGE[2]), ("4", DISCARD), ("S", swap(0, 1, 0)), ("P", PEEK[0]), ("S", DISCARD)],
)
def test_discarding_the_first_card_draws_a_second_to_be_used(first, second, action):
    table = Table.lay_out("1234", "5678", draw="D" + first + second + "6", discard="9")
    draws = table.draws
    table.play(DRAW, DRAW_TWO, DISCARD)
    assert table.top == first
    assert table.in_hand == second
    assert not table.first_of_pair
    assert (table.current_player, table.phase_name) == (0, "drawn")
    table.play(action)
    assert table.draws == draws[3:]
    assert (table.current_player, table.phase_name) == (1, "turn")
    assert table.top == "D"
    discarded = "3" if action == EXCHANGE[2] else second
    assert table.discards == Counter("9D" + first + discarded)


@pytest.mark.rule("BG-16")
def test_a_draw_two_as_the_first_card_begins_a_pair_that_ends_the_turn():
    table = Table.lay_out("1234", "5678", draw="DD456", discard="9")
    draws = table.draws
    table.play(DRAW, DRAW_TWO)
    assert table.legal() == [DISCARD, DRAW_TWO]
    table.play(DRAW_TWO)
    assert table.in_hand == "4"
    assert table.first_of_pair
    table.play(DISCARD)
    assert table.in_hand == "5"
    assert not table.first_of_pair
    table.play(DISCARD)
    assert (table.current_player, table.phase_name) == (1, "turn")
    assert table.draws == draws[4:]
    assert table.discards == Counter("945DD")
    assert table.top == "D"


@pytest.mark.rule("BG-16")
def test_a_draw_two_as_the_second_card_begins_a_pair():
    table = Table.lay_out("1234", "5678", draw="D4D56", discard="9")
    table.play(DRAW, DRAW_TWO, DISCARD)
    assert not table.first_of_pair
    assert table.legal() == [DISCARD, DRAW_TWO]
    table.play(DRAW_TWO)
    assert table.in_hand == "5"
    assert table.first_of_pair
    assert table.draw_twos == 2
    table.play(DISCARD)
    assert table.in_hand == "6"
    table.play(EXCHANGE[0])
    assert table.discards == Counter("945" + "1DD")
    assert table.top == "D"
    assert table.current_player == 1


# ---------------------------------------------------------------------------------------------
# The draw pile runs out
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("BG-17")
def test_an_empty_draw_pile_is_refilled_when_a_card_is_drawn_and_not_before():
    table = Table.lay_out("1234", "5678", draw="3", discard="9", rest_is_discarded=True)
    table.play(DRAW, DISCARD)
    assert table.draws == ""
    assert table.top == "3"
    assert table.filling == 0
    assert table.legal() == [*TAKE, DRAW]
    discards = table.discards
    table.play(DRAW)
    assert Counter(table.in_hand + table.draws) == discards
    assert table.top == ""
    assert table.discard_size == 0
    assert table.filling == 1
    assert table.observe(0)["pile_sizes"] == pytest.approx([57 / 66, 0])
    assert not table.observe(0)["discarded"].any()
    in_hand = table.in_hand
    table.play(DISCARD)
    assert table.top == in_hand
    assert table.discards == Counter(in_hand)


@pytest.mark.rule("BG-17")
def test_the_discard_can_still_be_taken_while_the_draw_pile_is_empty():
    table = Table.lay_out("1234", "5678", discard="9", rest_is_discarded=True)
    table.play(TAKE[0])
    assert table.filling == 0
    assert table.draws == ""
    assert table.top == "1"


@pytest.mark.rule("BG-17")
def test_a_draw_two_under_way_is_not_reshuffled():
    table = Table.lay_out("1234", "5678", draw="DD", discard="9", rest_is_discarded=True)
    discards = table.discards
    assert discards["D"] == 3
    table.play(DRAW, DRAW_TWO, DRAW_TWO)
    assert table.draw_twos == 2
    assert Counter(table.in_hand + table.draws) == discards
    assert table.top == ""
    first = table.in_hand
    table.play(DISCARD)
    second = table.in_hand
    table.play(DISCARD)
    assert table.discards == Counter(first + second + "DD")
    assert table.top == "D"


@pytest.mark.rule("BG-17")
def test_the_first_card_of_a_pair_is_reshuffled_when_there_is_no_second():
    table = Table.lay_out("1234", "5678", draw="D7", discard="9", rest_is_discarded=True)
    discards = table.discards
    table.play(DRAW, DRAW_TWO)
    assert table.draws == ""
    assert table.filling == 0
    table.play(DISCARD)
    assert Counter(table.in_hand + table.draws) == discards + Counter("7")
    assert table.top == ""
    assert not table.first_of_pair
    second = table.in_hand
    table.play(DISCARD)
    assert table.discards == Counter(second + "D")


@pytest.mark.rule("BG-17")
def test_a_draw_two_as_the_last_card_takes_its_first_card_from_the_new_pile():
    table = Table.lay_out("1234", "5678", draw="D", discard="9", rest_is_discarded=True)
    table.play(DRAW, DRAW_TWO)
    assert table.top == ""
    assert table.first_of_pair
    assert table.draw_size == 56
    assert (table.current_player, table.phase_name) == (0, "drawn")


@pytest.mark.rule("BG-17")
def test_the_reshuffle_is_uniform():
    table = Table.lay_out("1234", "5678", discard="9", rest_is_discarded=True)
    discards = table.discards
    trials = 3000
    counts = np.zeros((2, NUM_KINDS))
    for number in range(trials):
        other = table.copy()
        other.states["rng"] = number
        GAME.rules.step(other.states, 0, DRAW)
        counts[0, other.drawn] += 1
        counts[1, other.draw_pile[0]] += 1
    expected = np.array([discards[sign] for sign in "0123456789SPD"]) * trials / 58
    for place in range(2):
        assert chi_square(counts[place], expected) < CHI_SQUARE_12


@pytest.mark.rule("BG-17")
def test_what_lay_in_a_row_before_the_reshuffle_stays_known_as_such():
    """The unseen rest of the old cards is known to all, and is told."""
    table = Table.lay_out("12S4", "56P8", discard="9", rest_is_discarded=True)
    assert not table.observe(0)["older"].any()
    table.play(DRAW)
    observation = table.observe(0)
    assert observation["older"][:2].tolist() == [[1] * 4, [1] * 4]
    unseen = (observation["unseen_older"] * 16).astype(int)
    assert unseen.tolist() == [Counter("2S56P8")[sign] for sign in "0123456789SPD"]
    table = Table.lay_out("1284", "5638", draw="7", discard="9", filling=1).play(DRAW, EXCHANGE[1])
    assert table.observe(0)["older"][:2].tolist() == [[1, 0, 1, 1], [1] * 4]
    table.play(TAKE[2])
    assert table.observe(0)["older"][:2].tolist() == [[1, 0, 1, 1], [1, 1, 0, 1]]


# ---------------------------------------------------------------------------------------------
# The end of a round
# ---------------------------------------------------------------------------------------------


@pytest.mark.rule("BG-18")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
@pytest.mark.parametrize("first", [0, 1])
def test_knocking_is_open_once_everybody_has_had_a_turn(num_players, first):
    table = Table(num_players, 7)
    table.states["current_player"] = first
    for turn in range(2 * num_players):
        player = (first + turn) % num_players
        assert table.current_player == player
        is_open = turn >= num_players - 1
        assert table.observe(player)["may_knock"] == is_open
        table.play(DRAW, DISCARD)
        if is_open:
            assert (table.current_player, table.phase_name) == (player, "knock")
            assert table.legal() == [KNOCK, DO_NOT_KNOCK]
            assert table.observe(player)["phase"].tolist() == [0, 0, 1]
            table.play(DO_NOT_KNOCK)
        assert table.knocker == -1
        assert table.phase_name == "turn"


@pytest.mark.rule("BG-18")
@pytest.mark.parametrize(
    ("draw", "actions"),
    [
        ("4", [TAKE[0]]),
        ("4", [DRAW, EXCHANGE[1]]),
        ("S", [DRAW, swap(0, 1, 0)]),
        ("P", [DRAW, PEEK[0]]),
        ("D4", [DRAW, DRAW_TWO, EXCHANGE[0]]),
        ("D43", [DRAW, DRAW_TWO, DISCARD, DISCARD]),
        ("DD43", [DRAW, DRAW_TWO, DRAW_TWO, DISCARD, EXCHANGE[3]]),
    ],
)
def test_the_knock_comes_after_any_action_and_after_its_special_is_discarded(draw, actions):
    table = Table.lay_out("1234", "5678", draw=draw, discard="9", current_player=1, turns=1)
    for action in actions:
        assert table.phase_name != "knock"
        table.play(action)
    assert table.legal() == [KNOCK, DO_NOT_KNOCK]
    assert table.current_player == 1
    assert table.draw_twos == 0
    if draw[0] != "4":
        assert table.top == draw[0]
    assert (table.play(DO_NOT_KNOCK).current_player, table.knocker) == (0, -1)


@pytest.mark.rule("BG-18")
def test_the_turns_of_another_round_do_not_count():
    table = last_turn("1111", "2222", "3333", round=0).play(DRAW, DISCARD)
    assert (table.round, table.turns, table.current_player) == (1, 0, 1)
    assert not any(table.observe(0)["last_turn"][seat, 1:].any() for seat in range(3))
    for player in (1, 2):
        assert table.observe(player)["may_knock"] == 0
        table.play(DRAW, DISCARD)
        assert table.phase_name == "turn"
    table.play(DRAW, DISCARD)
    assert (table.phase_name, table.current_player) == ("knock", 0)


@pytest.mark.rule("BG-18")
def test_the_environment_refuses_to_knock_before():
    env = beaver_gang_v0.raw_env(num_players=2)
    env.reset(seed=1)
    for _ in range(2):
        for action in (KNOCK, DO_NOT_KNOCK):
            with pytest.raises(ValueError, match="not legal"):
                env.step(action)
        env.step(DRAW)
        env.step(DISCARD)
    assert env.legal_actions() == [KNOCK, DO_NOT_KNOCK]
    assert env.agent_selection == "player_1"


@pytest.mark.rule("BG-19")
@pytest.mark.parametrize("num_players", NUM_PLAYERS)
@pytest.mark.parametrize("wait", [0, 1, 4])
def test_after_a_knock_each_other_player_has_one_turn(num_players, wait):
    """The last player of the first lap knocks, or somebody later."""
    table = Table(num_players, 3)
    for _ in range(num_players - 1):
        table.play(DRAW, DISCARD)
    for _ in range(wait):
        table.play(DRAW, DISCARD, DO_NOT_KNOCK)
    knocker = int(table.current_player)
    assert knocker == (num_players - 1 + wait) % num_players
    table.play(DRAW, DISCARD, KNOCK)
    assert table.knocker == knocker
    for k in range(1, num_players):
        assert table.round == 0
        assert (table.current_player, table.phase_name) == ((knocker + k) % num_players, "turn")
        knocked = table.observe(0)["knocker"]
        assert knocked.argmax() == knocker
        assert table.observe(table.current_player)["knocker"].argmax() == num_players - k
        assert table.observe(0)["may_knock"] == 0
        table.play(DRAW, DISCARD)
    assert (table.round, table.phase_name, table.knocker) == (1, "turn", -1)
    assert table.current_player == 1
    assert table.observe(0)["knocker"].argmax() == 6


@pytest.mark.rule("BG-19")
def test_the_last_lap_in_the_environment():
    env = beaver_gang_v0.raw_env(num_players=4, rounds=1)
    env.reset(seed=9)
    movers = []
    while legal := env.legal_actions():
        if DRAW in legal:
            movers.append(env.agent_selection)
        env.step(quick_action(legal))
    assert movers == [f"player_{k}" for k in (0, 1, 2, 3, 0, 1, 2)]


@pytest.mark.rule("BG-20")
@pytest.mark.rule("BG-21")
def test_the_example_of_the_rulebook():
    """Sara has 4+2+0+5, Lisa 1+2+1+3; Tim's special is replaced by an 8."""
    table = last_turn("4205", "1213", "04S0", draw="98", round=2)
    table.play(DRAW, DISCARD)
    assert table.round_scores[:3].tolist() == [11, 7, 12]
    assert table.revealed[:3].tolist() == [[4, 2, 0, 5], [1, 2, 1, 3], [0, 4, 8, 0]]
    assert table.rewards[:3].tolist() == [0, 1, -1]


@pytest.mark.rule("BG-20")
@pytest.mark.parametrize("knocker", range(3))
def test_specials_are_replaced_from_the_player_who_knocked_on_slot_by_slot(knocker):
    rows = ["S1P1", "1DS1", "SSDP"]
    table = last_turn(*rows, draw="9" + "02345678", knocker=knocker, round=2)
    expected = [list(row) for row in rows]
    numbers = iter("02345678")
    for player in ((knocker + k) % 3 for k in range(3)):
        for slot in range(4):
            if rows[player][slot] in "SPD":
                expected[player][slot] = next(numbers)
    table.play(DRAW, DISCARD)
    assert table.revealed[:3].tolist() == [[int(card) for card in row] for row in expected]
    assert [table.row_of(player) for player in range(3)] == ["".join(row) for row in expected]


@pytest.mark.rule("BG-20")
def test_a_slot_is_finished_before_the_next_and_specials_are_set_aside():
    table = last_turn("1S11", "P0D0", draw="9SPD3S7S4", round=3)
    draws, discards = table.draws, table.discards
    table.play(DRAW, DISCARD)
    assert table.terminated
    assert (table.row_of(0), table.row_of(1)) == ("1311", "7040")
    assert table.draws == draws[9:]
    assert table.discards == discards + Counter("9")
    rest = table.discards + Counter(table.draws + table.row_of(0) + table.row_of(1))
    assert DECK - rest == Counter("SPD" + "SPDSS")


@pytest.mark.rule("BG-20")
def test_a_reveal_that_empties_the_draw_pile_reshuffles_the_discards():
    for seed in range(20):
        table = last_turn(
            "1S11", "00D0", draw="9P", rest_is_discarded=True, round=3, seed=seed, discard="8"
        )
        discards = table.discards
        table.play(DRAW, DISCARD)
        assert table.terminated
        assert table.top == ""
        replaced = table.row_of(0)[1] + table.row_of(1)[2]
        assert replaced.isdigit()
        left = Counter(table.draws + replaced)
        set_aside = discards + Counter("9") - left
        assert left - discards - Counter("9") == Counter()  # neither S, D nor P is reshuffled
        assert set(set_aside) <= set("SPD")
        assert table.round_scores[:2].tolist() == [
            sum(int(card) for card in table.row_of(player)) for player in range(2)
        ]


@pytest.mark.rule("BG-20")
def test_a_reveal_that_just_needs_the_last_card_does_not_reshuffle():
    table = last_turn("1S11", "0000", draw="95", rest_is_discarded=True, round=3, discard="8")
    table.play(DRAW, DISCARD)
    assert table.row_of(0) == "1511"
    assert table.draws == ""
    assert table.top == "9"


@pytest.mark.rule("BG-20")
def test_all_cards_are_revealed_at_the_end():
    table = last_turn("1S11", "2222", draw="95", round=3).play(DRAW, DISCARD)
    for player in range(2):
        observation = table.observe(player)
        rows = [[shown(observation, seat, slot) for slot in range(4)] for seat in range(2)]
        assert rows == [list(table.row_of((player + seat) % 2)) for seat in range(2)]
        assert not observation["phase"].any()
        assert not observation["to_move"].any()


@pytest.mark.rule("BG-21")
@pytest.mark.parametrize(
    ("row", "score"),
    [("4205", 11), ("1213", 7), ("0480", 12), ("0000", 0), ("9999", 36), ("0123", 6), ("9876", 30)],
)
def test_the_round_score_is_the_sum_of_the_four_numbers(row, score):
    table = last_turn(row, "5577", scores=[20, 0, 0, 0, 0, 0], round=1).play(DRAW, DISCARD)
    assert table.round_scores[:2].tolist() == [score, 24]
    assert table.scores[:2].tolist() == [20 + score, 24]
    assert table.round == 2
    assert table.observe(1)["last_scores"][:2] == pytest.approx([24 / 36, score / 36])
    lead = max(0, score - 4) / 72
    assert table.observe(0)["scores"][0] == pytest.approx(lead)
    assert table.observe(0)["totals"][:2] == pytest.approx([(20 + score) / 216, 24 / 216])


# ---------------------------------------------------------------------------------------------
# Who knows what
# ---------------------------------------------------------------------------------------------


def random_game(num_players, seed, decisions, **options):
    """A game of random play in which most draw and nobody knocks early: the pile runs out."""
    agent = RandomAgent(GAME, seed)

    def action_of(table, number):
        action = choose(agent, GAME, table.states)
        if action == KNOCK and table.turns < 100:
            return DO_NOT_KNOCK
        return DRAW if action < DRAW and number % 4 else action

    return played(Table(num_players, seed, **options), decisions, action_of)


@pytest.mark.rule("BG-8")
@pytest.mark.rule("BG-10")
@pytest.mark.rule("BG-12")
@pytest.mark.rule("BG-13")
@pytest.mark.rule("BG-17")
@pytest.mark.parametrize("num_players", each_size(2, 6))
def test_whole_rounds_are_played_as_by_hand(num_players):
    """Every card, and who has seen which, after every decision of random play."""
    reshuffles = rounds = 0
    for seed in range(2):
        play = random_game(num_players, seed, 700)
        for reference, before, after in played_by_hand(Reference, play):
            reshuffles += reference.filling > 0 and after.filling > before.filling
            rounds += reference.is_over
    assert reshuffles > 1
    assert rounds > 1


def hidden_from(table, player):
    """The cards that the player does not know, by filling of the draw pile, each sorted."""
    hidden = {int(table.filling): [int(card) for card in table.draw_pile[: table.draw_size]]}
    if table.in_hand and table.current_player != player:
        hidden[int(table.filling)].append(int(table.drawn))
    for owner, slot in product(range(table.num_players), range(4)):
        if (owner, slot) not in table.knows(player):
            filling = int(table.filling_of[owner, slot])
            hidden.setdefault(filling, []).append(int(table.row[owner, slot]))
    return {filling: sorted(cards) for filling, cards in hidden.items()}


@pytest.mark.parametrize("num_players", [2, 4, 6])
def test_determinize_keeps_what_is_known_and_redraws_the_rest(num_players):
    moved = np.zeros(3)
    for number, (table, _) in enumerate(random_game(num_players, 21, 400)):
        player = number % num_players
        other = table.copy().determinize(player, number)
        check_invariants(GAME, other.states)
        assert hidden_from(other, player) == hidden_from(table, player)
        for memory in ("perfect", "none"):
            seen = table.observe(player, memory=memory)
            seen_then = other.observe(player, memory=memory)
            assert all(np.array_equal(seen[name], seen_then[name]) for name in seen)
        if table.current_player == player:
            assert other.legal() == table.legal()
            assert other.drawn == table.drawn
        for owner, slot in table.knows(player):
            assert other.row[owner, slot] == table.row[owner, slot]
        for place in range(4 * num_players):
            if table.is_number >> place & 1:
                assert other.row[place // 4, place % 4] < 10
        moved += [
            (other.row != table.row).any(),
            other.drawn != table.drawn,
            other.draws != table.draws,
        ]
        assert other.seed != table.seed
        for name in ("row", "drawn", "draw_pile", "rng", "seed"):
            other.states[name] = table.states[name]
        assert other.states.tobytes() == table.states.tobytes()
    assert moved[0] > 300
    assert moved[1] > 50
    assert moved[2] > 300


@pytest.mark.parametrize("num_players", NUM_PLAYERS)
def test_determinize_follows_from_what_the_player_knows_and_the_seed(num_players):
    """Whatever was hidden before, another redrawing among it, leaves not a byte behind."""
    reshuffled = redrawn = 0
    for number, (table, _) in enumerate(random_game(num_players, 5, 500)):
        reshuffled += table.filling > 0
        for player in range(num_players):
            first, second, third = number, number + 1, number + 2
            one = table.copy().determinize(player, first)
            other = table.copy().determinize(player, second)
            redrawn += (one.row != other.row).any()
            expected = table.copy().determinize(player, third).states.tobytes()
            assert one.determinize(player, third).states.tobytes() == expected
            assert other.determinize(player, third).states.tobytes() == expected
            assert (other.draw_pile[other.draw_size :] == NO_CARD).all()
    assert reshuffled > 50
    assert redrawn > 300 * num_players


def test_determinize_is_uniform_over_what_is_possible():
    """Seven hidden cards.

    From before the reshuffle 3, 7 and S in three slots, of which one must be a number; since then
    4, 8, P and D in a slot that must be a number, in a slot that need not, in the opponent's hand
    and in the draw pile.
    """
    table = Table.lay_out(
        "124S",
        "P87S",
        "3056",
        draw="4",
        drawn="D",
        phase=DRAWN,
        current_player=1,
        filling=1,
        rest_is_discarded=True,
        discard="9",
        known={0: places((0, 0), (0, 1), (0, 2), (1, 3), (2, 1), (2, 2), (2, 3))},
        is_number=places((1, 1), (2, 0)),
        filling_of=[[0] * 4, [1, 1, 0, 0], [0] * 4, [0] * 4, [0] * 4, [0] * 4],
    )
    older = [cards for cards in set(permutations("37S")) if cards[0] != "S"]
    newer = [cards for cards in set(permutations("48PD")) if cards[0] in "48"]
    possible = {"".join(a + b): 0 for a, b in product(older, newer)}
    assert len(possible) == 4 * 12
    trials = 9600
    for seed in range(trials):
        other = table.copy().determinize(0, seed)
        rows = [other.row_of(player) for player in range(3)]
        assert rows[0][:3] == "124"
        assert rows[1][3] + rows[2][1:] == "S056"
        found = rows[2][0] + rows[1][2] + rows[0][3]  # 3, 7, S
        found += rows[1][1] + rows[1][0] + other.in_hand + other.draws
        possible[found] += 1
    # 47 degrees of freedom: the upper 0.1% point is 82.7.
    assert chi_square(list(possible.values()), [trials / 48] * 48) < 82.7


def test_determinize_shuffles_the_draw_pile_uniformly():
    """All rows are known to the player: three cards are left to be drawn."""
    table = Table.lay_out(
        "1234", "5678", draw="48D", discard="9", rest_is_discarded=True, known={0: 255, 1: 255}
    )
    orders = dict.fromkeys(map("".join, permutations("48D")), 0)
    for seed in range(1800):
        orders[table.copy().determinize(0, seed).draws] += 1
    assert chi_square(list(orders.values()), [300] * 6) < 20.5  # 5 degrees of freedom


def test_the_player_who_draws_keeps_his_card_in_determinize():
    table = Table.lay_out("1234", "5678", draw="7").play(DRAW)
    hands = {who: set() for who in range(2)}
    for seed in range(40):
        for who in range(2):
            hands[who].add(table.copy().determinize(who, seed).in_hand)
    assert hands[0] == {"7"}
    assert len(hands[1]) > 5


def test_the_environment_redraws_for_one_agent():
    env = card_envs.make("beaver_gang", num_players=3)
    env.reset(seed=4)
    before = env.observe("player_1")
    row = env.states["row"].copy()
    env.unwrapped.determinize("player_1", 7)
    after = env.observe("player_1")
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert (env.states["row"][0, 1, [0, 3]] == row[0, 1, [0, 3]]).all()
    assert (env.states["row"] != row).any()
