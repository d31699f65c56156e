"""Swim for Your Life in words, and as a scene."""

from __future__ import annotations

import re

import numpy as np
from games.swim_for_your_life.table import GAME, TAP, Table, exchange
from helpers import begin, copy_of, is_over, mask_of

from card_envs.games.swim_for_your_life import cards
from card_envs.render.text import describe

PERFECT, NONE = range(2)
rules = GAME.rules


def told(table, player, memory=PERFECT):
    """The table in words."""
    return describe(GAME, table.states, 0, player, memory)


def seen(table, player, memory=PERFECT):
    return GAME.scene(table.states, 0, player, memory)


def counts_of(zone):
    """The known cards of a zone by animal, and how many lie face down."""
    known = {card.name: card.count for card in zone.cards if card.name}
    hidden = sum(card.count for card in zone.cards if not card.name)
    return [known.pop(name, 0) for name in cards.ANIMAL_NAMES], hidden


def hands_of(scene):
    """The hands by player: known cards by animal, and how many lie face down."""
    hands = {seat.player: seat.zones for seat in scene.seats}
    assert all(len(zones) <= 1 for zones in hands.values())
    return {player: counts_of(zone) for player, zones in hands.items() for zone in zones}


def known_of(scene):
    """What is known of the cards in numbers: the lines of the first grid by their labels."""
    grid = scene.grids[0]
    assert grid.head[1:11] == cards.ANIMAL_NAMES
    return {label: list(cells) for label, *cells in grid.rows}


def last_round_of(scene):
    """How the last round ended: the grid's title, and by player the cells of their line."""
    (grid,) = scene.grids[1:]
    assert grid.head == ("", *cards.ANIMAL_NAMES, "total", "lives")
    return grid.title, {label: list(cells) for label, *cells in grid.rows}


def numbers(cells):
    """The counts in cells; of a range, the lower end."""
    return [int(re.match(r"\d+", str(cell))[0]) for cell in cells]


def game_states(seeds, num_players, **options):
    """The records of some games, each with its number; always the same array.

    With odd seeds the players hoard hares, pigs and cats, so that rounds end by sudden death.
    """
    for seed in seeds:
        states = begin(GAME, num_players, seed, **options)
        rng = np.random.default_rng(seed)
        for number in range(200):
            yield number, states
            if is_over(states):
                break
            *exchanges, last = np.flatnonzero(mask_of(GAME, states))
            action = rng.choice(exchanges)
            if last == TAP and rng.random() < (0.03 if seed % 2 else 0.15):
                action = TAP
            elif seed % 2:
                s = states[0]
                after = s["hand"][s["current_player"]] - cards.LAID_DOWN[exchanges]
                after += s["row"][cards.ROW_OF[exchanges]]
                hoards = (after[:, 6:9] / (5, 5, 4)).max(axis=1)
                action = exchanges[(hoards + 0.1 * rng.random(len(hoards))).argmax()]
            rules.step(states, 0, action)


def test_a_range_is_told_where_the_most_says_more_than_the_unseen_cards():
    """SW-9: a player who has exchanged in a round that continues holds no set."""
    rows = ("G", "HP", "GGG", "BBBB")
    table = Table.lay_out("GBBHHHLLOO", "LLLSSSCCDD", "GGGDDDBBOO", rows=rows)
    table.play(exchange("BB"))
    known = known_of(seen(table, 1))
    # Player 0 took a hare and a pig. Player 1 sees no others, and two cats: that player 0 has not
    # all hares and not all pigs is news, that they have not all cats is not.
    assert known["player 0 at least"] == [0, 0, 0, 0, 0, 0, "1-4", "1-4", 0, 0, 8]
    assert known["unseen by you"][6:9] == [4, 4, 2]
    # What everybody knows of one's own hand is told in the same way, and there for the cats too.
    own = known_of(seen(table, 0))
    assert own["you (known to all)"] == [0, 0, 0, 0, 0, 0, "1-4", "1-4", "0-3", 0, 8]
    # Nothing is known of the most that players hold who have not exchanged.
    assert own["player 1 at least"] == [0] * 10 + [10]
    assert "player 0 at least         .     .     .     .      .    .   1-4  1-4    ." in told(
        table, 1
    )


def test_without_memory_nothing_that_is_remembered_shows():
    changed = 0
    for number, states in game_states(range(4), 3):
        other = copy_of(GAME, states)
        other["least"] += 1
        other["most"] -= 1
        scene = GAME.scene(states, 0, number % 3, NONE)
        assert GAME.scene(other, 0, number % 3, NONE) == scene
        changed += GAME.scene(other, 0, number % 3, PERFECT) != scene
        text = describe(GAME, states, 0, number % 3, NONE)
        assert not re.search(r"player \d at least|known|-\d at most", text)
    assert changed > 100


def redraws(states, player, memory=PERFECT):
    """How many of some redraws are other hands; the scene must be the same for all."""
    scene = GAME.scene(states, 0, player, memory)
    count = 0
    for seed in range(3):
        other = copy_of(GAME, states)
        rules.determinize(other, 0, player, np.uint64(seed))
        assert GAME.scene(other, 0, player, memory) == scene
        count += (other["hand"] != states["hand"]).any()
    return count


def test_no_hidden_card_shows_when_sudden_death_ends_the_game():
    rows = ("H", "", "", "")
    table = Table.lay_out("HHHHGBLOSD", "", "", "", rows=rows, lives=[1, 1, 1, 1])
    table.play(exchange("G"))
    assert table.terminated
    shown = [0, 1, 1, 1, 1, 1, 5, 0, 0, 0]
    for player in range(4):
        assert redraws(table.states, player) == 3
        hands = hands_of(seen(table, player))
        assert hands.pop(player) == (table.hand[player].tolist(), 0)
        assert hands.pop(0, (shown, 0)) == (shown, 0)
        assert list(hands.values()) == [([0] * 10, 10)] * len(hands)
    assert known_of(seen(table, 1))["player 0 at least"] == [*shown, 0]


def last_turns(scene):
    """Lives and what is said of the last turn, by player, in the order of the seats."""
    return {seat.player: (dict(seat.counters)["lives"], seat.note) for seat in scene.seats}


def test_players_who_are_out_are_told_with_the_round():
    table = Table.lay_out("", None, "", "", standing=[0, 4, 0, 0], round=6)
    assert last_turns(seen(table, 0))[1] == (0, "out in round 5")
    # They continue to watch: what lies open, and what everybody knows.
    watched = told(table.play(table.legal()[0]), 1)
    assert "Your hand" not in watched
    assert "player 0 at least" in watched
    assert "known to all" not in watched
    assert "Player 1's hand" not in told(table, 0)
    assert watched.startswith("Swim for Your Life, round 7, 3 of 4 players left.\n")


def test_who_started_the_round_and_how_long_it_has_lasted_is_told():
    table = Table.lay_out("", "", "", round=6, starter=1)
    for player, who in ((0, "Player 1"), (1, "You"), (2, "Player 1")):
        assert f"\n{who} started the round; it has lasted 0 turns so far.\n" in told(table, player)
    table.play(table.legal()[0])
    assert "\nYou started the round; it has lasted 1 turn so far.\n" in told(table, 1)


def test_two_players_left_and_the_expert_variant_are_told():
    both = seen(Table(2, expert=True), 0).notes
    two_left = "With two players left a majority takes at least two cards."
    expert = "Expert variant: sudden death only by all hares or all pigs; its player gains a life."
    assert {two_left, expert} <= set(both)
    assert not {two_left, expert} & set(seen(Table(3), 0).notes)
    assert two_left in seen(Table.lay_out("", None, ""), 0).notes


def test_what_may_be_done_is_told():
    table = Table.lay_out("GBHHHLLOOD", "LLLSSSCCDD", "GGGDDBBOOS", rows=("M", "", "", ""))
    nobody = "Nobody has tapped; a player who has exchanged in this round may tap.\n\n"
    assert told(table, 0).endswith(nobody + "Your turn: exchange a row.")
    assert told(table, 1).endswith(nobody + "Player 0 is to exchange a row.")
    table.play(exchange("G"))
    assert told(table, 0).endswith(nobody + "Player 1 is to exchange a row.")
    table.play(exchange("S"), exchange("B"))
    assert told(table, 0).endswith(
        nobody + "Your turn: exchange a row, or tap and begin the last lap."
    )
    assert told(table, 2).endswith(nobody + "Player 0 is to exchange a row or to tap.")
    table.play(TAP)
    lap = "tapped: the last lap, one turn for each of the others.\n\n"
    assert told(table, 1).endswith(
        f"Player 0 {lap}Your last turn of the round: exchange a row, or tap to change nothing."
    )
    assert told(table, 0).endswith(f"You {lap}Player 1 is to exchange a row or to tap.")
    assert re.search("^T  player 0 ", told(table, 2), re.MULTILINE)


def test_a_sudden_death_names_its_sets_and_keeps_the_other_hands():
    table = Table.lay_out(
        "HHHHGBLOSD", "GGGGBBBLLL", "CCCGBLOSSD", rows=("G", "", "CHO", ""), has_exchanged=[1, 0, 0]
    )
    # Four hares and no cat: the row brings the fifth hare, and a cat.
    table.play(exchange("GBL"))
    title, lines = last_round_of(seen(table, 1))
    assert title == "round 1, ended by sudden death: player 0 had all 5 hares"
    assert lines == {
        "you": [*[""] * 11, "-1"],
        "player 2": [*[""] * 11, "-1"],
        "player 0": [0, 0, 0, 2, 1, 1, 5, 0, 1, 0, "", "0"],
    }
    assert last_round_of(seen(table, 0))[0].endswith(": you had all 5 hares")
    assert "\nRound 1, ended by sudden death: player 0 had all 5 hares:\n" in told(table, 1)


def test_two_sets_are_told_together():
    table = Table.lay_out("HHHHPPPPGB", "", rows=("", "HP", "", ""), options={"expert": True})
    title, lines = last_round_of(seen(table.play(exchange("GB")), 1))
    assert title == "round 1, ended by sudden death: player 0 had all 5 hares and all 5 pigs"
    assert lines["player 0"][-1] == "+1"  # SW-14
    assert lines["you"][-1] == "-1"
