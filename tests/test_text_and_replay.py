"""Beaver Gang in words, and replay files."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest

import card_envs
from card_envs.agents import RandomAgent
from card_envs.games import load_game
from card_envs.games.beaver_gang import rules
from card_envs.games.beaver_gang.text import action_name, describe
from card_envs.render import WIDTH, ranges, table
from card_envs.replay import Replay

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


@pytest.mark.parametrize("action", [-1, 97])
def test_there_are_no_other_actions(action):
    with pytest.raises(ValueError, match="from 0 to 96"):
        action_name(action)


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


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize("num_players", [2, 6])
def test_lines_are_short_plain_text(num_players, memory):
    lines = [
        line
        for number, states in enumerate(walk(num_players, 8, 600, memory=memory))
        for line in describe(states, 0, number % num_players).splitlines()
    ]
    assert len(lines) > 5000
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert max(map(len, lines)) <= WIDTH


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
    standing = re.findall(r"^  (\d)\.  (you|player \d) +(\d+)$", text, re.MULTILINE)
    totals = [int(total) for _, _, total in standing]
    assert totals == sorted(s["scores"][:3])
    assert [int(place) for place, _, _ in standing] == [
        1 + sum(other < total for other in totals) for total in totals
    ]


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


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


def test_tables_align_and_wrap():
    assert table([["a", "b", "c"], ["long", "12345", "d"]], align="<>") == (
        "a         b  c\nlong  12345  d"
    )
    wrapped = table([["name", "word " * 40]]).splitlines()
    assert len(wrapped) == 3
    assert all(len(line) <= WIDTH for line in wrapped)
    assert wrapped[1].startswith("      word")


def test_ranges():
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert ranges([]) == ""


# ---------------------------------------------------------------------------------------------
# Replays
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played():
    """A finished game and its replay."""
    env = card_envs.make("beaver_gang", num_players=3, on_illegal="raise", rounds=2, reward="score")
    env.reset(seed=77)
    agent = RandomAgent(GAME, 5)
    actions = []
    while env.legal_actions():
        actions.append(agent.choose(env.unwrapped.states, 0))
        env.step(actions[-1])
    return env, Replay.of(env, 77, actions)


def data_of(replay):
    return json.loads(replay.to_json())


def test_a_replay_is_one_line_of_json(played):
    env, replay = played
    assert "\n" not in replay.to_json()
    assert data_of(replay) == {
        "game": "beaver_gang_v0",
        "version": card_envs.__version__,
        "options": {
            "num_players": 3,
            "reward": "score",
            "memory": "perfect",
            "max_steps": 10000,
            "rounds": 2,
        },
        "seed": 77,
        "actions": list(replay.actions),
    }
    assert len(replay.actions) == env.states["steps"][0]


def test_a_replay_survives_its_file(played, tmp_path):
    _, replay = played
    path = tmp_path / "game.json"
    replay.save(path)
    assert path.read_text() == replay.to_json() + "\n"
    assert Replay.load(path) == replay


def test_a_replay_plays_the_same_game(played):
    env, replay = played
    taken = []
    steps = []
    for now, action in replay.steps():
        assert action in now.legal_actions()
        steps.append(int(now.states["steps"][0]))
        taken.append(action)
    assert tuple(taken) == replay.actions
    assert steps == list(range(len(taken)))
    assert all(second == first + 1 for first, second in pairwise(steps))
    assert now.states.tobytes() == env.states.tobytes()
    assert now.infos == env.infos


def test_an_unfinished_game_is_a_replay(played):
    _, replay = played
    for length in (0, 7):
        part = Replay.from_json(json.dumps({**data_of(replay), "actions": replay.actions[:length]}))
        assert len(list(part.steps())) == length


def test_numbers_of_numpy_can_be_saved():
    env = card_envs.make("beaver_gang", num_players=np.int64(2), rounds=np.int64(1))
    replay = Replay.of(env, 1, [4])
    assert data_of(replay)["options"]["rounds"] == 1


ABSENT = object()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "chess_v0"}, "no game 'chess_v0'"),
        ({"game": "beaver_gang_v1"}, "replay of 'beaver_gang_v1', here is 'beaver_gang_v0'"),
        ({"game": "beaver_gang"}, "no game 'beaver_gang'"),
        ({"game": ["beaver_gang_v0"]}, "no game"),
        ({"game": ABSENT}, "'game' is missing"),
        ({"version": ABSENT}, "'version' is missing"),
        ({"version": 1}, "version must be a text"),
        ({"code": "import os"}, "'code' is unknown"),
        ({"options": ABSENT}, "'options' is missing"),
        ({"options": []}, "options must be"),
        ({"options": {"num_players": 3}}, "'rounds' is missing"),
        ({"options.num_players": 7}, "2 to 6 players"),
        ({"options.num_players": "3"}, "2 to 6 players"),
        ({"options.num_players": ABSENT}, "'num_players' is missing"),
        ({"options.rounds": 0}, "rounds must be"),
        ({"options.rounds": 1.0}, "rounds must be"),
        ({"options.memory": "all"}, "memory must be"),
        ({"options.memory": ["none"]}, "memory must be"),
        ({"options.colour": "red"}, "'colour' is unknown"),
        ({"options.on_illegal": "terminate"}, "'on_illegal' is unknown"),
        ({"seed": ABSENT}, "'seed' is missing"),
        ({"seed": None}, "seed must be"),
        ({"seed": "77"}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 2**64}, "seed must be"),
        ({"actions": ABSENT}, "'actions' is missing"),
        ({"actions": "4"}, "actions must be a list"),
        ({"actions": [4.0]}, r"actions\[0\] must be a whole number, got 4.0"),
        ({"actions": [True]}, r"actions\[0\] must be a whole number"),
        ({"actions": [None]}, r"actions\[0\] must be a whole number"),
        ({"actions": [4, 96]}, r"actions\[1\] is 96, legal there are"),
        ({"actions": [97]}, r"actions\[0\] is 97, legal there are"),
        ({"actions": [-1]}, r"actions\[0\] is -1, legal there are"),
        ({"actions": [10**30]}, r"actions\[0\] is 10+, legal there are"),
    ],
)
def test_a_malformed_replay_is_refused(played, change, message):
    data = data_of(played[1])
    for key, value in change.items():
        target = data
        if key.startswith("options."):
            target, key = data["options"], key.removeprefix("options.")
        if value is ABSENT:
            del target[key]
        else:
            target[key] = value
    with pytest.raises(ValueError, match=message):
        Replay.from_json(json.dumps(data))


def test_an_action_after_the_end_is_refused(played):
    data = data_of(played[1])
    data["actions"].append(4)
    message = rf"actions\[{len(data['actions']) - 1}\] comes after the end"
    with pytest.raises(ValueError, match=message):
        Replay.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("__import__('os')", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "JSON object, got list"),
        ("null", "JSON object, got NoneType"),
        ('{"seed": 1, "seed": 2}', "twice"),
    ],
)
def test_what_is_no_replay_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Replay.from_json(text)


def test_a_wrong_file_is_named(tmp_path):
    path = tmp_path / "wrong.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"wrong\.json"):
        Replay.load(path)
    with pytest.raises(FileNotFoundError):
        Replay.load(tmp_path / "none.json")
