"""Scenes of all games, the text that is drawn from them, and the pieces that it is made of."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
from helpers import (
    EACH_GAME,
    FEW_TABLES,
    MEMORY_MODES,
    TABLES,
    begin,
    is_over,
    kit_of,
    mask_of,
    mean_length,
    positions_of,
    walk,
)

from card_envs.contract.scene import Card, Grid, RankedPlayer, Scene, Seat, Zone, label_of
from card_envs.render.text import describe, draw
from card_envs.utils.words import (
    WIDTH,
    capitalized,
    counted,
    filled,
    listed,
    ranges,
    table,
)

each_game = pytest.mark.parametrize("game", EACH_GAME)
tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
few_tables = pytest.mark.parametrize(("game", "num_players"), FEW_TABLES)
memory_modes = pytest.mark.parametrize("memory", MEMORY_MODES)
PLAIN = re.compile("[a-z0-9 ,:'-]+")


def final_states(game, num_players, seed, **options):
    *_, states = walk(game, num_players, seed, **options)
    assert is_over(states)
    return states


# ---------------------------------------------------------------------------------------------
# Scenes
# ---------------------------------------------------------------------------------------------


@memory_modes
@tables
def test_a_scene_shows_the_table_from_the_observers_seat(game, num_players, memory):
    code = MEMORY_MODES.index(memory)
    for number, states in enumerate(positions_of(game, num_players)[::3]):
        player = number % num_players
        before = states.tobytes()
        scene = game.scene(states, 0, player, code)
        assert states.tobytes() == before
        assert scene.title.startswith(game.title)
        assert scene.observer == player
        order = [(player + k) % num_players for k in range(num_players)]
        assert [seat.player for seat in scene.seats] == order
        assert [seat.label for seat in scene.seats] == [label_of(q, player) for q in order]
        places = ["you", *(f"{k} left" for k in range(1, num_players))]
        assert [seat.place for seat in scene.seats] == places
        movers = [seat.player for seat in scene.seats if seat.to_move]
        assert movers == ([] if is_over(states) else [states["current_player"][0]])
        assert bool(scene.prompt) == bool(movers)
        assert bool(scene.standing) == bool(scene.standing_title) == is_over(states)


@memory_modes
@tables
def test_a_scene_is_plain_and_complete_data(game, num_players, memory):
    """What renderers rely on: names, numbers, and tables of one width."""
    code = MEMORY_MODES.index(memory)
    for number, states in enumerate(positions_of(game, num_players)[::3]):
        scene = game.scene(states, 0, number % num_players, code)
        json.dumps(dataclasses.asdict(scene))  # str, int and bool, not NumPy's
        assert type(scene.observer) is int
        first, *others = scene.seats
        names = [name for name, _ in first.counters]
        assert len(set(names)) == len(names)
        slots = [zone.name for zone in first.zones if zone.layout == "slots"]
        for seat in others:
            assert [name for name, _ in seat.counters] == names
            assert [zone.name for zone in seat.zones if zone.layout == "slots"] == slots
        zones = [*scene.zones, *(zone for seat in scene.seats for zone in seat.zones)]
        for zone in zones:
            assert zone.name
            assert zone.layout in ("row", "pile", "slots")
            assert all(type(card.count) is int and card.count >= 1 for card in zone.cards)
            assert zone.layout != "slots" or all(card.count == 1 for card in zone.cards)
        signs = {sign for sign, _ in scene.legend}
        assert len(signs) == len(scene.legend)
        assert {seat.mark for seat in scene.seats} <= signs | {""}
        marks = [card.marks for zone in zones for card in zone.cards if card.marks]
        assert all(any(sign in mark for sign in signs) for mark in marks)
        for grid in scene.grids:
            assert {len(row) for row in grid.rows} <= {len(grid.head)}
            assert 0 <= grid.text_columns < len(grid.head)
        assert all(scene.notes)


@few_tables
def test_the_one_who_is_to_move_is_asked_and_the_others_read_who_it_is(game, num_players):
    for states in walk(game, num_players, 4, decisions=60):
        if is_over(states):
            break
        mover = states["current_player"][0]
        for player in range(num_players):
            prompt = game.scene(states, 0, player, 0).prompt
            *_, last = describe(game, states, 0, player).rpartition("\n\n")
            assert " ".join(last.split()) == " ".join(prompt.split())
            assert bool(re.match(r"You(r|rs)?\b", prompt)) == (player == mover), prompt
            assert (f"Player {mover} " in prompt) == (player != mover), prompt


@pytest.mark.parametrize("max_steps", [10_000, 12, 1])
@tables
def test_the_standing_is_told(game, num_players, max_steps):
    for seed in (0, 1, 4, 5):
        states = final_states(game, num_players, seed, decisions=10_000, max_steps=max_steps)
        values = states["standing"][0, :num_players].tolist()
        player = seed % num_players
        scene = game.scene(states, 0, player, 0)
        if states["terminated"][0]:
            pattern = r"The game is over\. The final standing \(.+ wins\):"
        else:
            decisions = "1 decision" if max_steps == 1 else f"{max_steps} decisions"
            pattern = rf"The game was truncated after {decisions}\. The standing so far:"
        assert re.fullmatch(pattern, scene.standing_title)
        expected = [
            (1 + sum(other > values[k] for other in values), label_of(k, player))
            for k in sorted(range(num_players), key=lambda k: (-values[k], k))
        ]
        assert [(place.place, place.label) for place in scene.standing] == expected
        assert all(place.result for place in scene.standing)
        *_, last = describe(game, states, 0, player).rpartition("\n\n")
        head, *lines = last.splitlines()
        assert head == scene.standing_title
        told = [re.match(r"  (\d)\.  (you|player \d)  +\S", line).groups() for line in lines]
        assert told == [(str(place), label) for place, label in expected]


@each_game
def test_a_game_that_is_truncated_keeps_its_secrets(game):
    redrawn = 0
    for seed in range(4):
        states = final_states(game, game.max_players, seed, max_steps=min(12, steps_within(game)))
        text = describe(game, states, 0, 1)
        before = states.tobytes()
        game.rules.determinize(states, 0, 1, 5)
        redrawn += states.tobytes() != before
        assert describe(game, states, 0, 1) == text
    assert redrawn == 4


def steps_within(game):
    return max(1, int(mean_length(game, game.max_players)) // 2)


# ---------------------------------------------------------------------------------------------
# Texts
# ---------------------------------------------------------------------------------------------


@memory_modes
@tables
def test_lines_are_short_plain_text(game, num_players, memory):
    code = MEMORY_MODES.index(memory)
    for number, states in enumerate(positions_of(game, num_players)[::3]):
        text = describe(game, states, 0, number % num_players, code)
        lines = text.splitlines()
        assert text.startswith(game.title)
        assert len(lines) > num_players
        assert all(line.isascii() and line.isprintable() for line in lines)
        assert all(line == line.rstrip() for line in lines)
        assert max(map(len, lines)) <= WIDTH


@tables
def test_players_are_listed_from_the_observer_on_and_the_mover_is_marked(game, num_players):
    for number, states in enumerate(walk(game, num_players, 1, decisions=60)):
        player = number % num_players
        text = describe(game, states, 0, player)
        rows = re.findall(r"^(\S*) +player (\d) +(you|\d left)\b", text, re.MULTILINE)
        seats = game.scene(game.as_states(states), 0, player, 0, False).seats
        assert [signs for signs, *_ in rows] == [">" * seat.to_move + seat.mark for seat in seats]
        assert [int(other) for _, other, _ in rows] == [
            (player + k) % num_players for k in range(num_players)
        ]
        assert [seat for _, _, seat in rows] == ["you", *(f"{k} left" for k in range(1, len(rows)))]
        movers = [int(other) for mark, other, _ in rows if mark.startswith(">")]
        assert movers == ([] if is_over(states) else [states["current_player"][0]])
    assert number >= min(5, mean_length(game, num_players) / 2)


@each_game
def test_actions_in_words_are_short_plain_and_in_small_letters(game):
    names = {action: game.action_name(action) for action in range(game.num_actions)}
    assert all(PLAIN.fullmatch(name) for name in names.values())
    assert max(map(len, names.values())) <= 70
    assert len(game.actions.groups(names)) <= kit_of(game).most_groups
    for wrong in (-1, game.num_actions):
        with pytest.raises(ValueError, match=f"from 0 to {game.num_actions - 1}, got {wrong}"):
            game.action_name(wrong)


@tables
def test_what_others_learn_of_actions_is_short_and_changes_nothing(game, num_players):
    names = set()
    actions = set()
    for states in walk(game, num_players, 3, decisions=100):
        before = states.tobytes()
        for action in mask_of(game, states).nonzero()[0].tolist():
            names.add(game.public_action_name(states, 0, action))
            actions.add(action)
        assert states.tobytes() == before
    assert len(actions) >= min(11, game.num_actions)
    assert all(PLAIN.fullmatch(name) for name in names)
    assert max(map(len, names)) <= 80


@each_game
def test_the_text_is_drawn_from_the_scene(game):
    states = begin(game, game.min_players, 0)
    for memory in range(len(MEMORY_MODES)):
        assert describe(game, states, 0, 1, memory) == draw(game.scene(states, 0, 1, memory))
    assert describe(game, states, 0, 1) == describe(game, states, 0, 1, 0)


# ---------------------------------------------------------------------------------------------
# The pieces
# ---------------------------------------------------------------------------------------------


def test_everything_in_a_scene_is_in_the_text():
    scene = Scene(
        title="The Game, round 1 of 4",
        observer=1,
        seats=(
            Seat(
                1,
                "you",
                "you",
                to_move=True,
                counters=(("points", 12), ("lives", 0)),
                zones=(
                    Zone("hand", (Card("fox", 2, "foxes"), Card("elk")), note="3 cards"),
                    Zone("slot", (Card("ace"), Card(marks="*")), "slots"),
                ),
                note="drew",
            ),
            Seat(
                0,
                "player 0",
                "1 left",
                mark="k",
                counters=(("points", 3), ("lives", 2)),
                zones=(
                    Zone("hand", (Card(count=4),)),
                    Zone("slot", (Card(), Card("king")), "slots"),
                ),
            ),
        ),
        zones=(Zone("draw pile", (Card(count=30),), "pile"), Zone("discard pile", ())),
        grids=(Grid("unseen cards", ("", "fox", "elk", "why"), (("hand", 2, 0, "so"),), 1),),
        notes=("the first note.", "another note."),
        legend=(("*", "not remembered"), ("k", "knocked")),
        prompt="Your turn: play.",
        standing=(RankedPlayer(1, "you", "12"), RankedPlayer(2, "player 0", "3")),
        standing_title="The end:",
    )
    text = draw(scene)
    for piece in (
        "The Game, round 1 of 4.",
        "Draw pile: 30 face-down cards.",
        "Discard pile: empty.",
        "(> to move, * not remembered, k knocked)",
        "Your hand: 2 foxes, elk (3 cards).",
        "Player 0's hand: 4 face-down cards.",
        "slot 0  slot 1",
        "Unseen cards:",
        "the first note.\nanother note.",
        "Your turn: play.",
        "The end:\n  1.  you       12\n  2.  player 0  3",
    ):
        assert piece in text, f"{piece!r} is not in\n{text}"
    assert re.search(r"^>  player 1  you +12 +0 +ace +\?\* +drew$", text, re.MULTILINE)
    assert re.search(r"^k  player 0  1 left +3 +2 +\? +king$", text, re.MULTILINE)
    assert re.search(r"^hand +2 +\. +so$", text, re.MULTILINE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        scene.title = "another"


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


def test_counted_and_listed():
    assert [counted(number, "card") for number in (0, 1, 2)] == ["0 cards", "1 card", "2 cards"]
    assert [counted(number, "mouse", "mice") for number in (1, 3)] == ["1 mouse", "3 mice"]
    assert listed([2, 0, 1], ["fox", "elk", "ox"], ["foxes", "elks", "oxen"]) == "2 foxes, 1 ox"
    assert listed([0], ["fox"], ["foxes"]) == ""


def test_lines_are_filled_and_capitalized():
    lines = filled("word " * 50).splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert [line.startswith("  ") for line in lines] == [False] + [True] * (len(lines) - 1)
    assert filled("a well-" + "known " * 20).count("well-known") == 1
    assert capitalized("your NAME is") == "Your NAME is"
    assert capitalized("") == ""
