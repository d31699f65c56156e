"""Beaver Gang in words, and as a scene."""

from __future__ import annotations

import re

from games.beaver_gang.table import GAME, Table
from helpers import copy_of, is_over

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


def grid_of(scene, label):
    """The grid that has a row of this label."""
    return next(grid for grid in scene.grids if any(row[0] == label for row in grid.rows))


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


def test_others_learn_by_number_with_whom_cards_are_swapped():
    states = GAME.new_states(1)
    states["num_players"], states["current_player"] = 4, 2
    action = ACTIONS.index("swap", slot=1, seat=2, other_slot=3)
    assert GAME.public_action_name(states, 0, action) == "swap slot 1 with slot 3 of player 0"


def test_last_turns_in_words():
    expected = ["no turn yet"]
    expected += [f"took the discard into slot {slot}" for slot in range(4)]
    expected += [f"exchanged slot {slot}" for slot in range(4)]
    expected += [f"swapped slot {slot} with your slot 2" for slot in range(4)]
    expected += [f"peeked at slot {slot}" for slot in range(4)]
    expected += ["discarded the drawn card"]
    assert [turn_name(turn, "your slot 2") for turn in range(18)] == expected
    assert [slot_of(1, 3, 1), slot_of(1, 3, 0)] == ["your slot 3", "player 1's slot 3"]


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


def test_only_the_mover_sees_the_drawn_card():
    table = Table.lay_out("1234", "5678", "1234", draw="845").play(DRAW)
    assert "Your drawn card: 8." in told(table, 0)
    for memory in (PERFECT, NONE):
        text = told(table, 1, memory)
        assert "Player 0's drawn card: 1 face-down card." in text
        assert "Player 0 has drawn a card and decides what to do with it." in text


def test_the_turn_and_the_knock_are_told():
    """What the kept game, seen by who is to move, does not say."""
    table = Table.lay_out("1234", "5678", "1234", draw="45678", turns=1, current_player=1)
    assert "Player 1 is to draw; there is no discard to take." in told(table, 0)
    assert "Discard pile: empty." in told(table, 1)
    assert "Your turn: draw; there is no discard to take." in told(table, 1)
    assert "? not in view" in told(table, 0, NONE)
    table.play(DRAW, DISCARD, DRAW, DISCARD)
    assert "Player 2 decides whether to knock." in told(table, 0)
    text = told(table.play(KNOCK), 0)
    assert "Player 2 knocked: the last lap, one turn for each of the others." in text
    assert re.search("^K  player 2 ", text, re.MULTILINE)
    assert "You knocked: the last lap, one turn for each of the others." in told(table, 2)


def test_without_memory_a_round_is_told_by_its_scores_alone():
    states = next(s for s in walk(2, 5, 1000) if s["round"][0] > 0)
    text = describe(GAME, states, 0, 0, NONE)
    assert "Round 1, as it was counted:\n          score  total\n" in text
    assert re.search(
        rf"^player 1 +{states['round_scores'][0, 1]} +{states['scores'][0, 1]}$", text, re.MULTILINE
    )
