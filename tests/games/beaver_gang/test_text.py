"""Beaver Gang in words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from card_envs.agents import RandomAgent
from card_envs.games import load_game
from card_envs.games.beaver_gang import rules
from card_envs.games.beaver_gang.text import action_name, describe
from card_envs.render import WIDTH

GAME = load_game("beaver_gang")


def walk(num_players, seed, decisions, **options):
    """The states of one game of random play, each before its decision, and the last one.

    Most draw and nobody knocks early, so that the draw pile runs out.
    """
    states = GAME.new_states(1)
    rules.reset(states, 0, np.uint64(seed), num_players, *GAME.encode_options(options))
    agent = RandomAgent(GAME, seed)
    for _ in range(decisions):
        yield states
        if states["terminated"][0] or states["truncated"][0]:
            return
        action = agent.choose(states, 0)
        if action == rules.KNOCK_NOW and states["turns"][0] < 120:
            action = rules.DO_NOT_KNOCK
        if action < rules.DRAW and states["steps"][0] % 4:
            action = rules.DRAW
        rules.step(states, 0, action)
    yield states


def cells(text):
    """The cells of the rows by player: four texts each."""
    line = r"^[>K ] +player (\d) +(?:you|\d left) +\d+ +(\S+) +(\S+) +(\S+) +(\S+) "
    return {int(player): row for player, *row in re.findall(line, text, re.MULTILINE)}


# ---------------------------------------------------------------------------------------------
# Actions in words
# ---------------------------------------------------------------------------------------------


def test_action_names_follow_the_table_of_actions():
    expected = {}
    for slot in range(4):
        expected[slot] = f"take the discard into slot {slot}"
        expected[6 + slot] = f"exchange the drawn card for slot {slot}"
        expected[90 + slot] = f"peek at slot {slot}"
        for k in range(1, 6):
            for other_slot in range(4):
                expected[10 + 20 * slot + 4 * (k - 1) + other_slot] = (
                    f"swap slot {slot} with slot {other_slot} of the player {k} to the left"
                )
    expected[4] = "draw"
    expected[5] = "discard the drawn card"
    expected[94] = "carry out draw two"
    expected[95] = "knock"
    expected[96] = "do not knock"
    assert {action: action_name(action) for action in range(97)} == expected


# ---------------------------------------------------------------------------------------------
# The table in words
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize("num_players", [2, 3, 6])
def test_no_hidden_card_shows(num_players, memory):
    redrawn = reshuffled = 0
    for number, states in enumerate(walk(num_players, 11, 800, memory=memory)):
        player = number % num_players
        before = states.tobytes()
        text = describe(states, 0, player)
        assert states.tobytes() == before
        reshuffled += states["filling"][0] > 0
        for seed in range(3):
            other = GAME.as_states(states.copy())
            rules.determinize(other, 0, player, np.uint64(seed))
            assert describe(other, 0, player) == text
            redrawn += (other["row"] != states["row"]).any()
    assert redrawn > 100
    assert reshuffled > 50


def test_every_known_card_shows_and_no_other():
    names = [*map(str, range(10)), "swap", "peek", "draw2"]
    shown = 0
    for number, states in enumerate(walk(4, 3, 400)):
        player = number % 4
        s = states[0]
        if s["terminated"]:
            break
        rows = cells(describe(states, 0, player))
        assert sorted(rows) == [0, 1, 2, 3]
        for owner in range(4):
            for slot in range(4):
                cell = rows[owner][slot].rstrip("*+'")
                place = 4 * owner + slot
                if s["known"][player] >> place & 1:
                    assert cell == names[s["row"][owner, slot]]
                    shown += 1
                else:
                    assert cell == ("n" if s["is_number"] >> place & 1 else "?")
    assert shown > 500


def test_marks_say_who_else_knows_a_card():
    """BG-8: all know a card that was taken; BG-10: an exchanged one is its owner's secret."""
    states = GAME.new_states(1)
    seed = next(seed for seed in range(100) if top_and_drawn_are_numbers(states, seed))
    start(states, seed)
    top = states["discard_top"][0]
    rules.step(states, 0, rules.TAKE + 1)
    assert cells(describe(states, 0, 2))[0] == ["?*", f"{top}+", "?", "?*"]
    rules.step(states, 0, rules.DRAW)
    drawn = states["drawn"][0]
    rules.step(states, 0, rules.EXCHANGE + 2)
    assert cells(describe(states, 0, 2))[1] == ["?*", "?", "n*", "?*"]
    assert cells(describe(states, 0, 1))[1][2] == str(drawn)
    text = describe(states, 0, 1)
    assert "took the discard into slot 1" in text
    assert "exchanged slot 2" in text


def start(states, seed, num_players=3, **options):
    rules.reset(states, 0, np.uint64(seed), num_players, *GAME.encode_options(options))


def top_and_drawn_are_numbers(states, seed):
    start(states, seed)
    second = states["draw_pile"][0, states["draw_size"][0] - 1]
    return states["discard_top"][0] < rules.SWAP and second < rules.SWAP


def test_only_the_mover_sees_the_drawn_card():
    states = GAME.new_states(1)
    seed = next(seed for seed in range(100) if top_and_drawn_are_numbers(states, seed))
    start(states, seed)
    rules.step(states, 0, rules.DRAW)
    assert f"You have drawn a{'n' if states['drawn'][0] == 8 else ''} " in describe(states, 0, 0)
    for other in (1, 2):
        text = describe(states, 0, other)
        assert "Player 0 has drawn a card and decides" in text
        states["drawn"][0] = (states["drawn"][0] + 1) % 10
        assert describe(states, 0, other) == text


def test_without_memory_nothing_that_is_remembered_shows():
    changed = 0
    for number, states in enumerate(walk(3, 4, 300, memory="none")):
        player = number % 3
        if states["terminated"][0]:
            break
        other = GAME.as_states(states.copy())
        for field in ("known", "is_number", "discard_counts", "filling", "filling_of"):
            other[field] += 1
        changed += other.tobytes() != states.tobytes()
        text = describe(states, 0, player)
        assert describe(other, 0, player) == text
        assert "unseen" not in text
        in_view = int(states["in_view"][0, player]).bit_count()
        shown = sum(cell != "?" for row in cells(text).values() for cell in row)
        assert shown == in_view
    assert changed > 200


def test_counts_of_discarded_and_unseen_cards_are_right():
    checked = 0
    for number, states in enumerate(walk(2, 6, 600)):
        s, player = states[0], number % 2
        if s["terminated"]:
            break
        lines = re.findall(
            r"^(in the discard pile|.*unseen.*?)((?: +\d+){13})$",
            describe(states, 0, player),
            re.MULTILINE,
        )
        counts = [np.array(line.split(), int) for _, line in lines]
        assert (counts[0] == s["discard_counts"]).all()
        hidden = np.bincount(s["draw_pile"][: s["draw_size"]], minlength=13)
        for place in range(8):
            if not s["known"][player] >> place & 1:
                hidden[s["row"][place // 4, place % 4]] += 1
        if s["drawn"] >= 0 and s["current_player"] != player:
            hidden[s["drawn"]] += 1
        assert (sum(counts[1:]) == hidden).all()
        checked += len(counts) == 3
    assert checked > 20


def test_the_widest_row_fits():
    states = GAME.new_states(1)
    start(states, 0, num_players=6)
    states["row"][0] = rules.DRAW_TWO
    states["known"][0] = (1 << 24) - 1
    states["filling"][0] = 1
    states["last_turn"][0] = rules.SWAPPED
    states["swapped_with"][0] = 5
    states["scores"][0] = 10_000
    text = describe(states, 0, 0)
    assert "draw2+'" in text
    assert "swapped slot 0, player 5's slot 0" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_the_end_shows_the_rows_the_scores_and_the_standing():
    *_, states = walk(3, 2, 2000, rounds=1)
    s = states[0]
    assert s["terminated"]
    text = describe(states, 0, 1)
    for owner, who in ((0, "player 0"), (1, "you     "), (2, "player 2")):
        row = [str(value) for value in s["revealed"][owner]]
        total = s["scores"][owner]
        assert sum(map(int, row)) == total
        assert f"  {who}  {' + '.join(row)} = {total}\n" in text
        assert cells(text)[owner] == row
    assert "The final standing (the lowest total wins):" in text
    standing = re.findall(r"^  \d\.  (?:you|player \d) +(\d+)$", text, re.MULTILINE)
    assert [int(total) for total in standing] == sorted(s["scores"][:3])


def test_a_new_round_shows_the_last_one():
    seen = set()
    for states in walk(2, 5, 1000):
        text = describe(states, 0, 0)
        number = int(states["round"][0])
        assert ("as it was counted" in text) == (number > 0)
        if number:
            seen.add(number)
            row = " + ".join(map(str, states["revealed"][0, 1]))
            score = states["round_scores"][0, 1]
            assert f"Round {number}, as it was counted" in text
            assert f"player 1  {row} = {score}" in text
    assert len(seen) >= 2


def test_a_truncated_game_keeps_its_secrets():
    *_, states = walk(4, 9, 30, max_steps=20)
    assert states["truncated"][0]
    text = describe(states, 0, 3)
    assert "stopped after 20 decisions" in text
    other = GAME.as_states(states.copy())
    rules.determinize(other, 0, 3, np.uint64(1))
    assert (other["row"] != states["row"]).any()
    assert describe(other, 0, 3) == text


def test_draw_twos_under_way_and_the_knock_are_told():
    told = set()
    for states in walk(3, 1, 1500):
        s = states[0]
        if s["terminated"]:
            break
        text = describe(states, 0, 1)
        assert ("first of two cards" in text) == bool(s["first_of_pair"])
        assert (f"Draw-two cards under way: {s['draw_twos']}." in text) == (s["draw_twos"] > 0)
        knocked = s["knocker"] >= 0
        assert ("the last lap" in text) == knocked
        assert bool(re.search("^K", text, re.MULTILINE)) == knocked
        told |= {("pair", bool(s["first_of_pair"])), ("knocked", bool(knocked))}
    assert len(told) == 4
