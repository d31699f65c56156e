"""Beaver Gang in words, and as a scene."""

from __future__ import annotations

import re

import numpy as np
import pytest
from games.beaver_gang.table import GAME, Table, kinds, swap
from helpers import MEMORY_MODES, copy_of, is_over

from card_envs.agents import RandomAgent, choose
from card_envs.games.beaver_gang.actions import ACTIONS
from card_envs.games.beaver_gang.text import slot_of, turn_name
from card_envs.render.text import describe
from card_envs.utils.words import WIDTH

TAKE, DRAW, DISCARD, EXCHANGE, PEEK, DRAW_TWO, KNOCK, DO_NOT_KNOCK = 0, 4, 5, 6, 90, 94, 95, 96
NAMES = (*map(str, range(10)), "swap", "peek", "draw two")
PERFECT, NONE = range(2)


def walk(num_players, seed, decisions, **options):
    """The states of one game of random play, each before its decision, and the last one.

    Most draw and nobody knocks early, so that the draw pile runs out.
    """
    states = Table(num_players, seed, **options).states
    agent = RandomAgent(GAME, seed)
    for _ in range(decisions):
        yield states
        if is_over(states):
            return
        action = choose(agent, GAME, states)
        if action == KNOCK and states["turns"][0] < 120:
            action = DO_NOT_KNOCK
        if action < DRAW and states["steps"][0] % 4:
            action = DRAW
        GAME.rules.step(states, 0, action)
    yield states


def told(table, player, memory=PERFECT):
    """The table in words."""
    return describe(GAME, table.states, 0, player, memory)


def seats_of(states, player, memory=PERFECT):
    """The seats of the scene by player."""
    return {seat.player: seat for seat in GAME.scene(states, 0, player, memory).seats}


def row_of(seat):
    """The cards of a seat's row, marks included; ``?`` stands for one that lies face down."""
    return [f"{card.name or '?'}{card.marks}" for card in seat.zones[0].cards]


def zones_of(seat):
    """The cards of a seat's other zones by name: name, count of each."""
    return {zone.name: [(card.name, card.count) for card in zone.cards] for zone in seat.zones[1:]}


def grid_of(scene, label):
    """The grid that has a row of this label."""
    return next(grid for grid in scene.grids if any(row[0] == label for row in grid.rows))


# ---------------------------------------------------------------------------------------------
# Actions in words
# ---------------------------------------------------------------------------------------------


def test_action_names_follow_the_table_of_actions():
    expected = {}
    for slot in range(4):
        expected[slot] = f"take the discard into slot {slot}"
        expected[6 + slot] = f"exchange the drawn card for slot {slot}"
        expected[90 + slot] = f"peek at slot {slot}"
        for k, nth in enumerate(("first", "second", "third", "fourth", "fifth")):
            for other_slot in range(4):
                expected[10 + 20 * slot + 4 * k + other_slot] = (
                    f"swap slot {slot} with slot {other_slot} of the {nth} player to the left"
                )
    expected[4] = "draw"
    expected[5] = "discard the drawn card"
    expected[94] = "carry out draw two"
    expected[95] = "knock"
    expected[96] = "do not knock"
    assert {action: ACTIONS.name(action) for action in range(97)} == expected


def test_others_learn_of_actions_by_the_same_names():
    table = Table.lay_out("1234", "5678", draw="S").play(DRAW)
    for action in table.legal():
        assert GAME.public_action_name(table.states, 0, action) == ACTIONS.name(action)


def test_last_turns_in_words():
    expected = ["none yet"]
    expected += [f"took the discard into slot {slot}" for slot in range(4)]
    expected += [f"exchanged slot {slot}" for slot in range(4)]
    expected += [f"swapped slot {slot} with your slot 2" for slot in range(4)]
    expected += [f"peeked at slot {slot}" for slot in range(4)]
    expected += ["discarded the drawn card"]
    assert [turn_name(turn, "your slot 2") for turn in range(18)] == expected
    assert [slot_of(1, 3, 1), slot_of(1, 3, 0)] == ["your slot 3", "player 1's slot 3"]


# ---------------------------------------------------------------------------------------------
# Nothing more than the player knows, and nothing less
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", [2, 4, 6])
def test_every_known_card_shows_and_no_other(num_players):
    shown = 0
    for number, states in enumerate(walk(num_players, 3, 400)):
        player = number % num_players
        s = states[0]
        seats = seats_of(states, player)
        assert sorted(seats) == list(range(num_players))
        for owner, seat in seats.items():
            for slot, card in enumerate(seat.zones[0].cards):
                is_known = bool(s["known"][player] >> 4 * owner + slot & 1)
                assert card.name == (NAMES[s["row"][owner, slot]] if is_known else "")
                shown += is_known
    assert shown > 300


def test_what_others_know_shows():
    """A mark for all, for its owner and for a number; a note on everybody else's knowledge."""
    marked = noted = 0
    for number, states in enumerate(walk(3, 17, 500)):
        s, player = states[0], number % 3
        if s["terminated"]:
            break
        scene = GAME.scene(states, 0, player, PERFECT)
        notes = " ".join(scene.notes)
        known = [int(places) for places in s["known"][:3]]
        for seat in scene.seats:
            for slot, card in enumerate(seat.zones[0].cards):
                place = 4 * seat.player + slot
                knowers = {q for q in range(3) if known[q] >> place & 1}
                is_for_all = len(knowers) == 3
                assert ("+" in card.marks) == is_for_all
                is_number = s["is_number"] >> place & 1
                assert ("#" in card.marks) == (is_number and not is_for_all)
                is_owners = seat.player in knowers - {player} and not is_for_all
                assert ("*" in card.marks) == is_owners
                where = slot_of(seat.player, slot, player)
                for q in {0, 1, 2} - {player}:
                    sentence = re.search(rf"Player {q} also knows ([^.]*)\.", notes)
                    is_told = bool(sentence) and where in sentence[1]
                    assert is_told == (q in knowers and q != seat.player and not is_for_all)
                    noted += is_told
                marked += bool(card.marks)
    assert marked > 500
    assert noted > 100


def test_without_memory_nothing_that_is_remembered_shows():
    """Cards in view, and what lies open."""
    changed = 0
    for number, states in enumerate(walk(3, 4, 300)):
        player = number % 3
        if is_over(states):
            break
        other = copy_of(GAME, states)
        for entry in ("known", "is_number", "discard_counts", "filling", "filling_of", "revealed"):
            other[entry] += 1
        changed += other.tobytes() != states.tobytes()
        scene = GAME.scene(states, 0, player, NONE)
        assert GAME.scene(other, 0, player, NONE) == scene
        assert "unseen" not in describe(GAME, states, 0, player, NONE)
        cards = [card for seat in scene.seats for card in seat.zones[0].cards]
        in_view = int(states["in_view"][0, player]).bit_count()
        assert sum(bool(card.name) for card in cards) == in_view
        assert not any(card.marks for card in cards)
    assert changed > 200


# ---------------------------------------------------------------------------------------------
# Cards and seats
# ---------------------------------------------------------------------------------------------


def test_marks_say_who_else_knows_a_card():
    """BG-8: all know a card that was taken; BG-10: an exchanged one is its owner's secret."""
    table = Table.lay_out("1234", "5678", "1234", discard="9", draw="0")
    table.play(TAKE + 1)
    assert row_of(seats_of(table.states, 2)[0]) == ["?*", "9+", "?", "?*"]
    table.play(DRAW, EXCHANGE + 2)
    assert row_of(seats_of(table.states, 2)[1]) == ["?*", "?", "?#*", "?*"]
    assert row_of(seats_of(table.states, 1)[1]) == ["5", "?", "0#", "8"]
    text = told(table, 1)
    assert "took the discard into slot 1" in text
    assert "exchanged slot 2" in text
    assert (
        "(> to move, ? unknown to you, # known to all to be a number, * known to its owner, "
        "+ known to all)"
    ) in text


def test_swapped_cards_are_told():
    table = Table.lay_out("1234", "5678", "1234", draw="S").play(DRAW, swap(0, 2, 3))
    assert "swapped slot 0 with player 2's slot 3" in told(table, 1)
    assert "swapped slot 0 with your slot 3" in told(table, 2)
    assert row_of(seats_of(table.states, 2)[0]) == ["4", "?", "?", "?*"]
    assert "Player 0 also knows your slot 3." in told(table, 2)
    assert "Player 2 also knows your slot 0." in told(table, 0)
    assert "also knows" not in told(table, 0, NONE)


def test_the_piles():
    table = Table.lay_out("1234", "5678", draw="7", discard="5S3", rest_is_discarded=True)
    draw_pile, discard_pile = GAME.scene(table.states, 0, 0, PERFECT).zones
    assert (draw_pile.name, draw_pile.size, draw_pile.cards[0].name) == ("draw pile", 1, "")
    assert [card.name for card in discard_pile.cards] == ["3"]
    assert discard_pile.note == f"on top of {66 - 8 - 1 - 1} cards"
    assert discard_pile.highlight
    table.play(DRAW)
    draw_pile, discard_pile = GAME.scene(table.states, 0, 0, PERFECT).zones
    assert draw_pile.cards == ()
    assert not draw_pile.highlight
    assert not discard_pile.highlight
    table = Table.lay_out("1234", "5678", discard="2")
    assert GAME.scene(table.states, 0, 0, PERFECT).zones[1].note == ""
    table = Table.lay_out("1234", "5678")
    draw_pile, discard_pile = GAME.scene(table.states, 0, 0, PERFECT).zones
    assert discard_pile.cards == ()
    assert draw_pile.highlight
    assert not discard_pile.highlight


@pytest.mark.parametrize("memory", range(len(MEMORY_MODES)))
@pytest.mark.parametrize(
    ("card", "words"),
    [
        ("8", "an 8: exchange it for one of your cards"),
        ("S", "a swap: swap one of your cards with another player's"),
        ("P", "a peek: peek at one of your cards"),
        ("D", "a draw two: carry it out"),
    ],
)
def test_only_the_mover_sees_the_drawn_card(card, words, memory):
    table = Table.lay_out("1234", "5678", "1234", draw=card + "45").play(DRAW)
    name = NAMES[kinds(card)[0]]
    assert zones_of(seats_of(table.states, 0, memory)[0]) == {"drawn card": [(name, 1)]}
    assert f"Your drawn card: {name}." in told(table, 0, memory)
    assert f"You have drawn {words}, or discard it." in told(table, 0, memory)
    for other in (1, 2):
        seats = seats_of(table.states, other, memory)
        assert zones_of(seats[0]) == {"drawn card": [("", 1)]}
        assert not zones_of(seats[1])
        text = told(table, other, memory)
        assert "Player 0's drawn card: 1 face-down card." in text
        assert "Player 0 has drawn a card and decides what to do with it." in text


def test_draw_twos_under_way_and_the_first_of_two():
    table = Table.lay_out("1234", "5678", draw="DD456").play(DRAW, DRAW_TWO)
    assert "Your cards under way: 1 draw two." in told(table, 0)
    table.play(DRAW_TWO)
    for player, whose in ((0, "Your"), (1, "Player 0's")):
        text = told(table, player)
        assert f"{whose} cards under way: 2 draw twos." in text
        assert "(the first of two)." in text
    assert (
        "You have drawn a 4, the first of two: exchange it for one of your cards, or discard it "
        "and draw"
    ) in told(table, 0)
    table.play(DISCARD)
    assert "the first of two" not in told(table, 0)
    table.play(DISCARD)
    assert "under way" not in told(table, 1)


# ---------------------------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------------------------


def test_counts_of_discarded_and_unseen_cards_are_right():
    ages = set()
    for number, states in enumerate(walk(4, 1, 600)):
        s, player = states[0], number % 4
        if s["terminated"]:
            break
        grid = grid_of(GAME.scene(states, 0, player, PERFECT), "in the discard pile")
        assert grid.head == ("", *NAMES)
        (_, *discards), *unseen = grid.rows
        assert discards == s["discard_counts"].tolist()
        hidden = {0: np.bincount(s["draw_pile"][: s["draw_size"]], minlength=13)}
        for place in range(16):
            if not s["known"][player] >> place & 1:
                at = place // 4, place % 4
                age = int(s["filling"] - s["filling_of"][at])
                hidden.setdefault(age, np.zeros(13, int))[s["row"][at]] += 1
        if s["drawn"] >= 0 and s["current_player"] != player:
            hidden[0][s["drawn"]] += 1
        labels = {f"unseen, marked '{age if age > 1 else ''}": age for age in hidden if age}
        labels["other unseen cards" if labels else "unseen by you"] = 0
        assert {label for label, *_ in unseen} == set(labels)
        for label, *counts in unseen:
            assert counts == hidden[labels[label]].tolist()
        ages |= set(hidden)
    assert ages >= {0, 1, 2}


def test_cards_from_before_several_reshuffles():
    table = Table.lay_out(
        "12S4",
        "56P8",
        draw="45",
        rest_is_discarded=True,
        filling=3,
        filling_of=[[0, 2, 3, 3], [2, 2, 0, 3]] + [[0] * 4] * 4,
    )
    assert row_of(seats_of(table.states, 0)[0]) == ["1'3", "?'", "?", "4"]
    assert row_of(seats_of(table.states, 0)[1]) == ["?*'", "?'", "?'3", "?*"]
    scene = GAME.scene(table.states, 0, 0, PERFECT)
    assert scene.legend[-2:] == (
        ("'", "in a row since before the last reshuffle"),
        ("'3", "in a row since before the last 3 reshuffles"),
    )
    _, *unseen = grid_of(scene, "in the discard pile").rows
    labels = ["unseen, marked '", "unseen, marked '3", "other unseen cards"]
    assert [row[0] for row in unseen] == labels
    cards = [[NAMES[k] for k in range(13) for _ in range(row[1 + k])] for row in unseen]
    assert cards == [["2", "5", "6"], ["peek"], ["4", "5", "8", "swap"]]
    assert row_of(seats_of(table.states, 0, NONE)[0]) == ["1", "?", "?", "4"]


def test_the_widest_row_fits():
    table = Table(6)
    table.states["row"][0] = 12
    table.states["known"][0] = (1 << 24) - 1
    table.states["filling"][0] = 9
    table.states["last_turn"][0] = 9
    table.states["swapped_with"][0] = 5
    table.states["scores"][0] = 10_000
    text = told(table, 0)
    assert "draw two+'9" in text
    assert "swapped slot 0" in text
    assert max(map(len, text.splitlines())) <= WIDTH


# ---------------------------------------------------------------------------------------------
# The course of the game
# ---------------------------------------------------------------------------------------------


def test_the_turn_is_told():
    table = Table.lay_out("1234", "5678", "1234", draw="45", discard="8")
    assert "Your turn: take the 8 from the discard pile, or draw." in told(table, 0)
    assert "Player 0 is to take the discard or draw." in told(table, 1)
    table = Table.lay_out("1234", "5678", discard="8S")
    assert "Your turn: draw; a swap cannot be taken from the discard pile." in told(table, 0)
    table = Table.lay_out("1234", "5678")
    assert "Your turn: draw; there is no discard to take." in told(table, 0)
    assert "Discard pile: empty." in told(table, 0)


def test_the_knock_is_told():
    table = Table.lay_out("1234", "5678", "1234", draw="45678", turns=1, current_player=1)
    assert "Nobody may knock before everybody has had a turn." in told(table, 0)
    assert "? unknown to you" in told(table, 0)
    assert "? not in view" in told(table, 0, NONE)
    table.play(DRAW, DISCARD)
    assert "Nobody has knocked; a player whose turn ends now may." in told(table, 0)
    table.play(DRAW, DISCARD)
    assert "Your turn is done: knock, or not?" in told(table, 2)
    assert "Player 2 decides whether to knock." in told(table, 0)
    assert "knocked" not in told(table, 0).replace("Nobody has knocked", "")
    table.play(KNOCK)
    text = told(table, 0)
    assert "Player 2 knocked: the last lap, one turn for each of the others." in text
    assert "K knocked" in text
    assert re.search("^K  player 2 ", text, re.MULTILINE)
    assert "You knocked: the last lap, one turn for each of the others." in told(table, 2)


@pytest.mark.parametrize("memory", range(len(MEMORY_MODES)))
def test_the_end_shows_the_rows_the_scores_and_the_standing(memory):
    *_, states = walk(3, 2, 2000, rounds=1)
    s = states[0]
    assert s["terminated"]
    scene = GAME.scene(states, 0, 1, memory)
    assert [seat.player for seat in scene.seats] == [1, 2, 0]
    for seat in scene.seats:
        row = [str(value) for value in s["revealed"][seat.player]]
        total = int(s["scores"][seat.player])
        assert sum(map(int, row)) == total
        assert row_of(seat) == row
        assert seat.counters == (("total", total),)
        assert not seat.to_move
        counted = grid_of(scene, seat.label).rows
        cells = row if memory == PERFECT else []
        assert (seat.label, *cells, str(total)) in counted
    assert scene.prompt == ""
    assert scene.standing_title == "The game is over. The final standing (the lowest total wins):"
    totals = sorted(s["scores"][:3].tolist())
    assert [place.result for place in scene.standing] == list(map(str, totals))
    assert [place.place for place in scene.standing] == [totals.index(t) + 1 for t in totals]


def test_a_new_round_shows_the_last_one():
    seen = set()
    for states in walk(2, 5, 1000):
        text = describe(GAME, states, 0, 0)
        number = int(states["round"][0])
        assert ("as it was counted" in text) == (number > 0)
        if number:
            seen.add(number)
            row = " +".join(map(str, states["revealed"][0, 1]))
            score = states["round_scores"][0, 1]
            assert f"Round {number}, as it was counted (each special replaced" in text
            assert re.search(rf"^player 1 +{row} +{score}$", text, re.MULTILINE)
            without = describe(GAME, states, 0, 0, NONE)
            assert f"Round {number}, as it was counted:\n          score\n" in without
            assert re.search(rf"^player 1 +{score}$", without, re.MULTILINE)
    assert len(seen) >= 2


def test_the_round_is_told():
    table = Table.lay_out("1234", "5678", round=2)
    assert told(table, 0).startswith("Beaver Gang, round 3 of 4.\n")
