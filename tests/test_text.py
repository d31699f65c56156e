"""What the texts of all games have in common, and the pieces that they are made of."""

from __future__ import annotations

import re

import pytest
from helpers import EACH_GAME, MEMORY_MODES, TABLES, begin, is_over, mask_of, walk

from card_envs.render import WIDTH, by_kind, counted, kind_of, name_of, ranges, table

each_game = pytest.mark.parametrize("game", EACH_GAME)
tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
PLAIN = re.compile("[a-z0-9 ,:]+")


def final_states(game, num_players, seed, **options):
    *_, states = walk(game, num_players, seed, **options)
    assert is_over(states)
    return states


# ---------------------------------------------------------------------------------------------
# Any game
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", MEMORY_MODES)
@tables
def test_lines_are_short_plain_text_and_nothing_is_changed(game, num_players, memory):
    lines = []
    for seed in range(4):
        for number, states in enumerate(
            walk(game, num_players, seed, decisions=150, memory=memory)
        ):
            before = states.tobytes()
            lines += game.describe(states, 0, number % num_players).splitlines()
            assert states.tobytes() == before
    assert len(lines) > 2000
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert all(line == line.rstrip() for line in lines)
    assert max(map(len, lines)) <= WIDTH


@tables
def test_players_are_listed_from_the_observer_on_and_the_mover_is_marked(game, num_players):
    for number, states in enumerate(walk(game, num_players, 1, decisions=60)):
        player = number % num_players
        text = game.describe(states, 0, player)
        rows = re.findall(r"^(.)? +player (\d) +(you|\d left) ", text, re.MULTILINE)
        assert [int(other) for _, other, _ in rows] == [
            (player + k) % num_players for k in range(num_players)
        ]
        assert [seat for _, _, seat in rows] == ["you", *(f"{k} left" for k in range(1, len(rows)))]
        movers = [int(other) for mark, other, _ in rows if mark == ">"]
        assert movers == ([] if is_over(states) else [states["current_player"][0]])
    assert number >= 5


@tables
def test_the_mover_reads_that_it_is_his_turn_and_the_others_whose_it_is(game, num_players):
    for states in walk(game, num_players, 4, decisions=60):
        if is_over(states):
            break
        mover = states["current_player"][0]
        for player in range(num_players):
            *_, last = game.describe(states, 0, player).rpartition("\n\n")
            is_asked = re.search(r"^(Your (last )?turn|You have drawn)\b", last, re.MULTILINE)
            assert bool(is_asked) == (player == mover), last
            assert (f"\nPlayer {mover} " in last) == (player != mover), last


@pytest.mark.parametrize("max_steps", [10_000, 12])
@tables
def test_the_standing_is_told(game, num_players, max_steps):
    for seed in (0, 1, 4, 5):
        states = final_states(game, num_players, seed, decisions=10_000, max_steps=max_steps)
        values = states["standing"][0, :num_players].tolist()
        player = seed % num_players
        *_, last = game.describe(states, 0, player).rpartition("\n\n")
        head, *lines = last.splitlines()
        if states["terminated"][0]:
            assert re.fullmatch(r"The game is over\. The final standing \(.+ wins\):", head)
        else:
            assert head == f"The game was stopped after {max_steps} decisions. The standing so far:"
        told = [re.match(r"  (\d)\.  (you|player \d)  +\S", line).groups() for line in lines]
        assert told == [
            (str(1 + sum(other > values[k] for other in values)), name_of(k, player))
            for k in sorted(range(num_players), key=lambda k: (-values[k], k))
        ]


@each_game
def test_a_game_that_is_stopped_keeps_its_secrets(game):
    redrawn = 0
    for seed in range(4):
        states = final_states(game, game.max_players, seed, max_steps=12)
        text = game.describe(states, 0, 1)
        before = states.tobytes()
        game.rules.determinize(states, 0, 1, 5)
        redrawn += states.tobytes() != before
        assert game.describe(states, 0, 1) == text
    assert redrawn == 4


@each_game
def test_actions_in_words_are_short_plain_and_in_small_letters(game):
    names = {action: game.action_name(action) for action in range(game.num_actions)}
    assert all(PLAIN.fullmatch(name) for name in names.values())
    assert max(map(len, names.values())) <= 70
    assert len(by_kind(names)) <= 20
    for wrong in (-1, game.num_actions):
        with pytest.raises(ValueError, match=f"from 0 to {game.num_actions - 1}, got {wrong}"):
            game.action_name(wrong)


@tables
def test_what_others_learn_of_actions_is_short_and_changes_nothing(game, num_players):
    names = set()
    for states in walk(game, num_players, 3, decisions=100):
        before = states.tobytes()
        for action in mask_of(game, states).nonzero()[0].tolist():
            names.add(game.public_action_name(states, 0, action))
        assert states.tobytes() == before
    assert len(names) > 10
    assert all(PLAIN.fullmatch(name) for name in names)
    assert max(map(len, names)) <= 80


@each_game
def test_the_title_comes_first(game):
    text = game.describe(begin(game, game.min_players, 0), 0, 0)
    assert text.startswith(f"{game.title}, ")


# ---------------------------------------------------------------------------------------------
# The pieces
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


def test_counted():
    assert [counted(number, "card") for number in (0, 1, 2)] == ["0 cards", "1 card", "2 cards"]
    assert [counted(number, "mouse", "mice") for number in (1, 3)] == ["1 mouse", "3 mice"]


def test_kinds_of_actions():
    names = {
        2: "take 1",
        3: "take 2",
        5: "play 10 of 2",
        7: "lay 2: a",
        8: "lay 3: a",
        9: "lay 2: b",
    }
    assert by_kind(names) == {
        "take #": [2, 3],
        "play # of #": [5],
        "lay 2: ...": [7, 9],
        "lay 3: ...": [8],
    }
    assert kind_of("tap") == "tap"
