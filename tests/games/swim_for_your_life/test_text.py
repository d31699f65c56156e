"""Swim for Your Life in words, and as a scene."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
import pytest
from games.swim_for_your_life.table import GAME, SIGNS, TAP, VALUES, Table, exchange
from helpers import MEMORY_MODES, begin, copy_of, is_over, mask_of

from card_envs.contract.scene import label_of
from card_envs.games.swim_for_your_life import cards
from card_envs.games.swim_for_your_life.actions import ACTIONS
from card_envs.render.text import describe
from card_envs.utils.words import WIDTH

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


# ---------------------------------------------------------------------------------------------
# Actions in words
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "name"),
    [
        (9, "exchange row 1: lay down 1 mouse"),
        (exchange("OSS"), "exchange row 3: lay down 1 goat, 2 sheep"),
        (exchange("PPCC"), "exchange row 4: lay down 2 pigs, 2 cats"),
        (TAP, "tap"),
    ],
)
def test_actions_say_the_row_and_the_cards(action, name):
    assert ACTIONS.name(action) == name
    table = Table(2)
    assert GAME.public_action_name(table.states, 0, action) == name


def test_action_names_follow_the_table_of_actions():
    plurals = {"mice": "mouse", "sheep": "sheep"}
    plurals |= {f"{name}s": name for name in cards.ANIMAL_NAMES if name not in ("mouse", "sheep")}
    for action in range(TAP):
        row, words = re.fullmatch(
            r"exchange row (\d): lay down (.*)", ACTIONS.name(action)
        ).groups()
        laid_down = np.zeros(10, int)
        for number, name in (card.split() for card in words.split(", ")):
            name = name if number == "1" else plurals[name]
            laid_down[cards.ANIMAL_NAMES.index(name)] = int(number)
        assert laid_down.sum() == int(row)
        assert (laid_down == cards.LAID_DOWN[action]).all()


# ---------------------------------------------------------------------------------------------
# The cards
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [PERFECT, NONE])
@pytest.mark.parametrize("num_players", [2, 3, 5])
def test_the_cards_of_a_scene_are_those_that_the_player_knows(num_players, memory):
    bounded = out = 0
    for number, states in game_states(range(6), num_players):
        s, player = states[0], number % num_players
        scene = GAME.scene(states, 0, player, memory)
        zones = {zone.name: counts_of(zone) for zone in scene.zones}
        assert [zones.pop(f"row {k}") for k in (1, 2, 3, 4)] == [(r, 0) for r in s["row"].tolist()]
        left_over = int(s["left_over"].sum())
        assert zones == ({"out of the round": ([0] * 10, left_over)} if left_over else {})
        hands = hands_of(scene)
        assert set(hands) == set(np.flatnonzero(s["hand"].any(axis=1)).tolist())
        known = known_of(scene)
        assert known.pop("value") == [VALUES[sign] for sign in SIGNS] + [""] * (memory == PERFECT)
        hidden = s["left_over"].astype(int)
        for owner, hand in hands.items():
            least = s["least"][owner].astype(int) * (memory == PERFECT)
            unknown = 10 - least.sum()
            if owner == player:
                assert hand == (s["hand"][player].tolist(), 0)
            else:
                assert hand == (least.tolist(), unknown)
                hidden += s["hand"][owner] - least
            if memory == PERFECT:
                label = f"player {owner} at least" if owner != player else "you (known to all)"
                *bounds, last = known.pop(label)
                assert numbers(bounds) == least.tolist()
                assert last == unknown
                bounded += any("-" in str(cell) for cell in bounds)
        out += player not in hands
        assert known == {"unseen by you": [*hidden.tolist(), *[""] * (memory == PERFECT)]}
    assert (bounded > 20) == (memory == PERFECT)
    assert (out > 10) == (num_players > 2)


def test_the_decision_is_about_the_rows_and_the_movers_hand():
    table = Table(3)
    for player in range(3):
        scene = seen(table, player)
        assert [zone.name for zone in scene.zones if zone.highlight] == [
            f"row {k}" for k in (1, 2, 3, 4)
        ]
        hands = [seat.player for seat in scene.seats if seat.zones[0].highlight]
        assert hands == [0] * (player == 0)
    table.states["truncated"] = True
    assert not any(zone.highlight for zone in seen(table, 0).zones)


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


def test_a_hand_of_which_something_is_fully_known():
    """A player who lays down hares after a set was ruled out can hold that many fewer."""
    table = Table.lay_out("HHHHGBLOSD", "GGGGLLLLDD", rows=("M", "GG", "", ""))
    table.play(exchange("G"), exchange("D"), exchange("HH"))
    assert table.hand_of(0).count("H") == 2
    assert known_of(seen(table, 1))["player 0 at least"][6] == "0-2"
    table.play(exchange("G"), exchange("H"))
    assert known_of(seen(table, 1))["player 0 at least"][6] == "0-1"
    assert "1-4 at least 1 and at most 4" in told(table, 1)


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


@pytest.mark.parametrize("memory", range(len(MEMORY_MODES)), ids=MEMORY_MODES)
def test_no_hidden_card_shows_behind_a_round(memory):
    """What was shown at its end is no secret, the rest is."""
    redrawn = {True: 0, False: 0}
    for number, states in game_states(range(12), 4):
        if states["round"][0] > 0 and states["turns"][0] < 4:
            is_sudden = bool(states["sudden_death"][0] >= 0)
            redrawn[is_sudden] += redraws(states, number % 4, memory)
    assert min(redrawn.values()) > 20


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


# ---------------------------------------------------------------------------------------------
# The players and the course of the round
# ---------------------------------------------------------------------------------------------


def last_turns(scene):
    """Lives and what is said of the last turn, by player, in the order of the seats."""
    return {seat.player: (dict(seat.counters)["lives"], seat.note) for seat in scene.seats}


def test_last_turns_tell_what_went_where():
    table = Table.lay_out(
        "GBHHHLLOOD", "LLLSSSCCDD", "GGGDDBBOOS", rows=("M", "MM", "PPP", "PPCC"), lives=[3, 5, 1]
    )
    table.play(exchange("HHL"), exchange("LLSC"))
    turns = last_turns(seen(table, 1))
    assert turns == {
        1: (5, "row 4: laid down 2 moles, 1 sheep, 1 cat; took 2 pigs, 2 cats"),
        2: (1, "none yet"),
        0: (3, "row 3: laid down 1 mole, 2 hares; took 3 pigs"),
    }
    assert list(turns) == [1, 2, 0]
    table.play(exchange("G"), TAP)
    assert last_turns(seen(table, 2))[0] == (3, "tapped")
    assert last_turns(seen(table, 2))[2] == (1, "row 1: laid down 1 giraffe; took 1 mouse")


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
    expert = "Expert variant: sudden death only by all hares or all pigs, and it gains a life."
    assert {two_left, expert} <= set(both)
    assert not {two_left, expert} & set(seen(Table(3), 0).notes)
    assert two_left in seen(Table.lay_out("", None, ""), 0).notes


def test_what_may_be_done_is_told():
    table = Table.lay_out("GBHHHLLOOD", "LLLSSSCCDD", "GGGDDBBOOS", rows=("M", "", "", ""))
    nobody = "Nobody has tapped; a player who has exchanged in this round may.\n\n"
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


def test_the_widest_lines_fit():
    table = Table.lay_out("GGBLOSSPPC", "", "", "", "", rows=("", "", "", "HDMP"))
    table.play(exchange("GBLO"))
    table.states["lives"][0, 1:] = 10
    table.states["round"] = 999_998
    text = told(table, 4)
    assert "player 0 at least" in text
    assert last_turns(seen(table, 4))[0][1] == (
        "row 4: laid down 1 giraffe, 1 bear, 1 mole, 1 goat; took 1 dog, 1 hare, 1 pig, 1 mouse"
    )
    assert max(map(len, text.splitlines())) <= WIDTH


# ---------------------------------------------------------------------------------------------
# The end of a round
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expert", [False, True])
def test_the_last_round_is_told_as_it_was_counted(expert):
    """The marked majorities add up to the totals that the rules found."""
    found = {"counted": 0, "sudden": 0}
    games = [game_states(range(20), num_players, expert=expert) for num_players in (2, 3, 5)]
    for number, states in chain(*games):
        s = states[0]
        if s["turns"] > 0 and not is_over(states):
            continue
        n = int(s["num_players"])
        player = number % n
        scene = GAME.scene(states, 0, player, number % 2)
        if s["round"] == 0:
            assert len(scene.grids) == 1
            continue
        title, lines = last_round_of(scene)
        in_round = [q % n for q in range(player, player + n) if s["was_in_round"][q % n]]
        assert list(lines) == [label_of(owner, player) for owner in in_round]
        lost = [f"{-lives:+d}" if lives else "0" for lives in s["lives_lost"][in_round]]
        assert [cells[-1] for cells in lines.values()] == lost
        winner = int(s["sudden_death"])
        if winner >= 0:
            found["sudden"] += 1
            who = label_of(winner, player)
            assert title.startswith(f"round {s['round']}, ended by sudden death: {who} had all ")
            shown = lines.pop(who)
            assert shown[:-1] == [*s["revealed"][winner].tolist(), ""]
            assert all(cells[:-1] == [""] * 11 for cells in lines.values())
            continue
        found["counted"] += 1
        of_two = ", of at least two cards" if len(in_round) == 2 else ""
        is_level = len(set(s["totals"][in_round].tolist())) == 1
        level = ", all level" if is_level else ""
        assert title == f"round {s['round']}, as it was counted (* a majority{of_two}){level}"
        for owner, (*cells, total, _) in zip(in_round, lines.values(), strict=True):
            assert int(total) == s["totals"][owner]
            marked = [k for k, cell in enumerate(cells) if str(cell).endswith("*")]
            assert sum(cards.VALUES[k] for k in marked) == s["totals"][owner]
            assert numbers(cells) == s["revealed"][owner].tolist()
    assert found["counted"] > 100
    assert found["sudden"] > 10


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


def test_majorities_are_marked_and_the_numbers_stand_in_line():
    table = Table(3).last_turn("GGGGGBBBOO", "LLLLLOOBBS", "SSSSSDDDDD").play(TAP)
    assert (
        "Round 1, as it was counted (* a majority):\n"
        "          giraffe  bear  mole  goat  sheep  dog  hare  pig  cat  mouse  total  lives\n"
        "you            5*    3*     .    2       .    .     .    .    .      .     17      0\n"
        "player 1        .    2     5*    2      1     .     .    .    .      .      7     -2\n"
        "player 2        .     .     .     .     5*   5*     .    .    .      .     12     -1\n"
    ) in told(table, 0)


def test_the_end_tells_the_standing_with_lives_and_rounds():
    table = Table.lay_out(
        *("GGGGGBBBBB", None, "LLLLLDDDDD"),
        lives=[2, 0, 1],
        standing=[0, 3, 0],
        round=7,
        has_exchanged=[1, 0, 1],
    )
    table.play(TAP, TAP)
    assert table.terminated
    text = told(table, 2)
    assert text.startswith("Swim for Your Life, after 8 rounds.\n")
    assert text.endswith(
        "The game is over. The final standing (the last one left wins):\n"
        "  1.  player 0  2 lives\n"
        "  2.  you       out in round 8\n"
        "  3.  player 1  out in round 4"
    )
    assert "to move" not in text
    assert "With two players left" not in text
    assert "started the round" not in text
    assert seen(table, 2).prompt == ""


def test_a_truncated_game_tells_lives_first_and_then_who_went_out_later():
    table = Table.lay_out(
        "", None, "", None, "", lives=[1, 0, 4, 0, 1], standing=[0, 2, 0, 5, 0], round=8
    )
    table.states["max_steps"] = 1
    table.play(table.legal()[0])
    assert told(table, 4).endswith(
        "The game was truncated after 1 decision. The standing so far:\n"
        "  1.  player 2  4 lives\n"
        "  2.  player 0  1 life\n"
        "  2.  you       1 life\n"
        "  4.  player 3  out in round 6\n"
        "  5.  player 1  out in round 3"
    )
