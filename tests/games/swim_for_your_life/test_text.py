"""Swim for Your Life in words."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
import pytest
from helpers import begin, is_over, mask_of
from swim_for_your_life_table import GAME, SIGNS, TAP, VALUES, Table, exchange

from card_envs.games.swim_for_your_life import rules
from card_envs.games.swim_for_your_life.text import action_name, describe
from card_envs.render import WIDTH, name_of

HEAD = "giraffe  bear  mole  goat  sheep  dog  hare  pig  cat  mouse"


def told(table, player):
    return describe(table.states, 0, player)


def cards_told(text):
    """The lines of the table of cards: their cells by what stands before them."""
    head = re.search(rf"^ +{HEAD}(?:  unknown)?\n((?:.+\n)+)", text, re.MULTILINE)
    lines = [re.split("  +", line.strip()) for line in head[1].splitlines()]
    return {name: cells for name, *cells in lines}


def last_round_told(text):
    """How the last round ended: its head, and by player the cells of his line."""
    found = re.search(
        rf"^(Round \d+.*):\n +{HEAD}  total  lives\n((?:  .+\n)+)", text, re.MULTILINE
    )
    lines = [re.split("  +", line.strip()) for line in found[2].splitlines()]
    return found[1], {name: cells for name, *cells in lines}


def numbers(cells):
    """The counts in cells: a dot is none, and where a range is told, the lower end."""
    return [0 if cell == "." else int(cell.split("-")[0]) for cell in cells]


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
                after = s["hand"][s["current_player"]] - rules.LAID_DOWN[exchanges]
                after += s["row"][rules.ROW_OF[exchanges]]
                hoards = (after[:, 6:9] / (5, 5, 4)).max(axis=1)
                action = exchanges[(hoards + 0.1 * rng.random(len(hoards))).argmax()]
            rules.step(states, 0, action)


# ---------------------------------------------------------------------------------------------
# Actions in words
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "name"),
    [
        (0, "exchange row 1: lay down 1 giraffe"),
        (9, "exchange row 1: lay down 1 mouse"),
        (exchange("BL"), "exchange row 2: lay down 1 bear, 1 mole"),
        (exchange("SS"), "exchange row 2: lay down 2 sheep"),
        (exchange("OSS"), "exchange row 3: lay down 1 goat, 2 sheep"),
        (exchange("MMM"), "exchange row 3: lay down 3 mice"),
        (exchange("DHPC"), "exchange row 4: lay down 1 dog, 1 hare, 1 pig, 1 cat"),
        (exchange("PPCC"), "exchange row 4: lay down 2 pigs, 2 cats"),
        (TAP, "tap"),
    ],
)
def test_actions_say_the_row_and_the_cards(action, name):
    assert action_name(action) == name


def test_action_names_follow_the_table_of_actions():
    plurals = {"mice": "mouse", "sheep": "sheep"}
    plurals |= {f"{name}s": name for name in rules.ANIMAL_NAMES if name not in ("mouse", "sheep")}
    for action in range(TAP):
        row, cards = re.fullmatch(r"exchange row (\d): lay down (.*)", action_name(action)).groups()
        laid_down = np.zeros(10, int)
        for number, name in (card.split() for card in cards.split(", ")):
            name = name if number == "1" else plurals[name]
            laid_down[rules.ANIMAL_NAMES.index(name)] = int(number)
        assert laid_down.sum() == int(row)
        assert (laid_down == rules.LAID_DOWN[action]).all()


# ---------------------------------------------------------------------------------------------
# The cards
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize("num_players", [2, 3, 5])
def test_the_table_of_cards_is_what_the_player_knows(num_players, memory):
    bounded = out = 0
    for number, states in game_states(range(6), num_players, memory=memory):
        s, player = states[0], number % num_players
        cards = cards_told(describe(states, 0, player))
        assert cards.pop("value") == [str(VALUES[sign]) for sign in SIGNS]
        assert [numbers(cards.pop(f"row {k}")) for k in (1, 2, 3, 4)] == s["row"].tolist()
        hidden = s["left_over"].astype(int)
        if s["hand"][player].any():
            assert numbers(cards.pop("your hand")) == s["hand"][player].tolist()
        else:
            out += 1
        if memory == "perfect":
            for owner in range(num_players):
                if not s["hand"][owner].any():
                    continue
                label = "known to all" if owner == player else f"player {owner} at least"
                *least, unknown = cards.pop(label)
                assert numbers(least) == s["least"][owner].tolist()
                assert int(unknown) == 10 - s["least"][owner].sum()
                bounded += any("-" in cell for cell in least)
        for owner in range(num_players):
            if owner != player:
                hidden += s["hand"][owner]
                hidden -= s["least"][owner] if memory == "perfect" else 0
        assert numbers(cards.pop("unseen by you")) == hidden.tolist()
        assert not cards
    assert (bounded > 20) == (memory == "perfect")
    assert (out > 10) == (num_players > 2)


def test_a_range_is_told_where_the_most_says_more_than_the_unseen_cards():
    """SW-9: who has exchanged and goes on holds no set."""
    rows = ("G", "HP", "GGG", "BBBB")
    table = Table.lay_out("GBBHHHLLOO", "LLLSSSCCDD", "GGGDDDBBOO", rows=rows)
    table.play(exchange("BB"))
    cards = cards_told(told(table, 1))
    # Player 0 took a hare and a pig. Player 1 sees no others, and two cats: that player 0 has not
    # all hares and not all pigs is news, that he has not all cats is not.
    assert cards["player 0 at least"] == [*"......", "1-4", "1-4", ".", ".", "8"]
    assert cards["unseen by you"][6:9] == ["4", "4", "2"]
    # What everybody knows of one's own hand is told in the same way, and there for the cats too.
    assert cards_told(told(table, 0))["known to all"] == [*"......", "1-4", "1-4", "0-3", ".", "8"]
    # Nothing is known of the most that players hold who have not exchanged.
    assert cards_told(told(table, 0))["player 1 at least"] == [*"..........", "10"]


def test_a_hand_of_which_something_is_fully_known():
    """Who lays down hares after a set was ruled out can hold so many fewer."""
    table = Table.lay_out("HHHHGBLOSD", "GGGGLLLLDD", rows=("M", "GG", "", ""))
    table.play(exchange("G"), exchange("D"), exchange("HH"))
    assert table.hand_of(0).count("H") == 2
    assert cards_told(told(table, 1))["player 0 at least"][6] == "0-2"
    table.play(exchange("G"), exchange("H"))
    assert cards_told(told(table, 1))["player 0 at least"][6] == "0-1"
    assert "1-4 at least 1 and at most 4" in told(table, 1)


def test_signs_are_explained_where_they_occur():
    table = Table.lay_out("GBHHHLLOOD", "LLLSSSCCDD", "GGGDDBBOOS", rows=("M", "", "", ""))
    assert "(> to move, . none)" in told(table, 2)
    table.play(exchange("G"), exchange("S"), exchange("B"), TAP)
    assert re.search(r"^\(> to move, T tapped, \. none(, 1-4 .*)?\)$", told(table, 2), re.MULTILINE)


def test_without_memory_nothing_that_is_remembered_shows():
    changed = 0
    for number, states in game_states(range(4), 3, memory="none"):
        other = GAME.as_states(states.copy())
        other["least"] += 1
        other["most"] -= 1
        changed += 1
        text = describe(states, 0, number % 3)
        assert describe(other, 0, number % 3) == text
        assert not re.search(r"player \d at least|known|-\d at most", text)
    assert changed > 100


def redraws(states, player):
    """How many of some redraws are other hands; the text must be the same for all."""
    text = describe(states, 0, player)
    count = 0
    for seed in range(3):
        other = GAME.as_states(states.copy())
        rules.determinize(other, 0, player, np.uint64(seed))
        assert describe(other, 0, player) == text
        count += (other["hand"] != states["hand"]).any()
    return count


@pytest.mark.parametrize("memory", ["perfect", "none"])
def test_no_hidden_card_shows_behind_a_round(memory):
    """What was shown at its end is no secret, the rest is."""
    redrawn = {True: 0, False: 0}
    for number, states in game_states(range(12), 4, memory=memory):
        if states["round"][0] > 0 and states["turns"][0] < 4:
            is_sudden = bool(states["sudden_death"][0] >= 0)
            redrawn[is_sudden] += redraws(states, number % 4)
    assert min(redrawn.values()) > 20


def test_no_hidden_card_shows_when_sudden_death_ends_the_game():
    rows = ("H", "", "", "")
    table = Table.lay_out("HHHHGBLOSD", "", "", "", rows=rows, lives=[1, 1, 1, 1])
    table.play(exchange("G"))
    assert table.terminated
    for player in range(4):
        assert redraws(table.states, player) == 3
    hand = cards_told(told(table, 1))["player 0 at least"]
    assert hand == [".", "1", "1", "1", "1", "1", "5", ".", ".", ".", "0"]  # it was shown


# ---------------------------------------------------------------------------------------------
# The players and the course of the round
# ---------------------------------------------------------------------------------------------


def last_turns(text):
    """The last turns as told, by player."""
    found = re.findall(
        r"^[>T ] +player (\d) +(?:you|\d left) +(\d+)  (.*(?:\n {20,}\S.*)*)", text, re.MULTILINE
    )
    return {int(player): (int(lives), " ".join(turn.split())) for player, lives, turn in found}


def test_last_turns_tell_what_went_where():
    table = Table.lay_out(
        "GBHHHLLOOD", "LLLSSSCCDD", "GGGDDBBOOS", rows=("M", "MM", "PPP", "PPCC"), lives=[3, 5, 1]
    )
    table.play(exchange("HHL"), exchange("LLSC"))
    assert last_turns(told(table, 1)) == {
        1: (5, "row 4: laid down 2 moles, 1 sheep, 1 cat; took 2 pigs, 2 cats"),
        2: (1, "none yet"),
        0: (3, "row 3: laid down 1 mole, 2 hares; took 3 pigs"),
    }
    table.play(exchange("G"), TAP)
    assert last_turns(told(table, 2))[0] == (3, "tapped")
    assert last_turns(told(table, 2))[2] == (1, "row 1: laid down 1 giraffe; took 1 mouse")


def test_who_is_out_is_told_with_the_round():
    table = Table.lay_out("", None, "", "", standing=[0, 4, 0, 0], round=6)
    assert last_turns(told(table, 0))[1] == (0, "out in round 5")
    # He goes on watching: what lies open, and what everybody knows.
    watched = told(table.play(table.legal()[0]), 1)
    assert "your hand" not in watched
    assert "player 0 at least" in watched
    assert "player 1 at least" not in watched
    assert "Players left: 3 of 4." in watched


def test_the_first_line_tells_the_round_and_who_started_it():
    table = Table.lay_out("", "", "", round=6, starter=1)
    for player, who in ((0, "player 1"), (1, "you")):
        assert told(table, player).startswith(
            f"Swim for Your Life, round 7, started by {who}. Players left: 3 of 3.\n"
        )


def test_two_players_left_and_the_expert_variant_are_told():
    both = told(Table(2, expert=True), 0)
    assert "With two players left a majority takes at least two cards." in both
    assert (
        "Expert variant: sudden death by all hares or all pigs only, and it gains a life." in both
    )
    neither = told(Table(3), 0)
    assert "With two players left" not in neither
    assert "Expert" not in neither
    assert "With two players left" in told(Table.lay_out("", None, ""), 0)


def test_what_may_be_done_is_told():
    table = Table.lay_out("GBHHHLLOOD", "LLLSSSCCDD", "GGGDDBBOOS", rows=("M", "", "", ""))
    nobody = "Nobody has tapped; whoever has exchanged in this round may.\n"
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
    lap = "tapped: the last lap, one turn for each of the others.\n"
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
    assert last_turns(text)[0][1] == (
        "row 4: laid down 1 giraffe, 1 bear, 1 mole, 1 goat; took 1 dog, 1 hare, 1 pig, 1 mouse"
    )
    assert max(map(len, text.splitlines())) <= WIDTH


# ---------------------------------------------------------------------------------------------
# The end of a round
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expert", [False, True])
def test_the_last_round_is_told_as_it_was_counted(expert):
    """The marked majorities add up to the totals that the rules found."""
    seen = {"counted": 0, "sudden": 0}
    games = [game_states(range(20), num_players, expert=expert) for num_players in (2, 3, 5)]
    for number, states in chain(*games):
        s = states[0]
        if s["turns"] > 0 and not is_over(states):
            continue
        player = number % int(s["num_players"])
        text = describe(states, 0, player)
        if s["round"] == 0:
            assert "Round" not in text
            continue
        head, lines = last_round_told(text)
        players = np.flatnonzero(s["was_in_round"]).tolist()
        assert list(lines) == [name_of(owner, player) for owner in players]
        lost = [f"{-lives:+d}" if lives else "0" for lives in s["lives_lost"][players]]
        assert [cells[-1] for cells in lines.values()] == lost
        winner = int(s["sudden_death"])
        if winner >= 0:
            seen["sudden"] += 1
            who = name_of(winner, player)
            assert head.startswith(f"Round {s['round']} ended by sudden death, {who} had all ")
            assert numbers(lines.pop(who)[:-1]) == s["revealed"][winner].tolist()
            assert all(len(cells) == 1 for cells in lines.values())
            continue
        seen["counted"] += 1
        of_two = ", of two cards at least" if len(players) == 2 else ""
        is_level = len(set(s["totals"][players].tolist())) == 1
        level = ", all level" if is_level else ""
        assert head == f"Round {s['round']}, as it was counted (* a majority{of_two}){level}"
        for owner, (*cells, total, _) in zip(players, lines.values(), strict=True):
            assert int(total) == s["totals"][owner]
            marked = [k for k, cell in enumerate(cells) if cell.endswith("*")]
            assert sum(rules.VALUES[k] for k in marked) == s["totals"][owner]
            assert numbers(cell.rstrip("*") for cell in cells) == s["revealed"][owner].tolist()
    assert seen["counted"] > 100
    assert seen["sudden"] > 10


def test_a_sudden_death_names_its_sets_and_keeps_the_other_hands():
    table = Table.lay_out(
        "HHHHGBLOSD", "GGGGBBBLLL", "CCCGBLOSSD", rows=("G", "", "CHO", ""), has_exchanged=[1, 0, 0]
    )
    # Four hares and no cat: the row brings the fifth hare, and a cat.
    table.play(exchange("GBL"))
    head, lines = last_round_told(told(table, 1))
    assert head == "Round 1 ended by sudden death, player 0 had all 5 hares"
    assert lines == {
        "player 0": [".", ".", ".", "2", "1", "1", "5", ".", "1", ".", "0"],
        "you": ["-1"],
        "player 2": ["-1"],
    }
    assert last_round_told(told(table, 0))[0].endswith("you had all 5 hares")


def test_two_sets_are_told_together():
    table = Table.lay_out("HHHHPPPPGB", "", rows=("", "HP", "", ""), options={"expert": True})
    head, lines = last_round_told(told(table.play(exchange("GB")), 1))
    assert head == "Round 1 ended by sudden death, player 0 had all 5 hares and all 5 pigs"
    assert lines["player 0"][-1] == "+1"  # SW-14
    assert lines["you"] == ["-1"]


def test_for_experts_cats_are_not_named():
    hand = "HHHHCCCCGB"
    table = Table.lay_out(hand, "", rows=("H", "", "", ""), options={"expert": True})
    assert last_round_told(told(table.play(exchange("G")), 1))[0].endswith("had all 5 hares")
    table = Table.lay_out(hand, "", rows=("H", "", "", ""))
    head, _ = last_round_told(told(table.play(exchange("G")), 1))
    assert head.endswith("had all 5 hares and all 4 cats")


def test_a_round_in_which_all_are_level():
    hands = "GGBBLLOOSS"
    table = Table.lay_out(hands, hands, rows=("D", "", "", "")).states
    table["has_exchanged"] = 1
    for action in (TAP, TAP):
        rules.step(table, 0, action)
    head, lines = last_round_told(describe(table, 0, 0))
    assert head == "Round 1, as it was counted (* a majority, of two cards at least), all level"
    assert [cells[-2:] for cells in lines.values()] == [["0", "0"], ["0", "0"]]


def test_the_end_tells_the_standing_with_lives_and_rounds():
    table = Table.lay_out("GGGGGBBBBB", None, "LLLLLDDDDD", lives=[2, 0, 1], standing=[0, 3, 0])
    table.states["round"] = 7
    table.states["has_exchanged"] = 1
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


def test_a_stopped_game_tells_lives_first_and_then_who_went_out_later():
    table = Table.lay_out(
        "", None, "", None, "", lives=[1, 0, 4, 0, 1], standing=[0, 2, 0, 5, 0], round=8
    )
    table.states["max_steps"] = 1
    table.play(table.legal()[0])
    assert told(table, 4).endswith(
        "The game was stopped after 1 decision. The standing so far:\n"
        "  1.  player 2  4 lives\n"
        "  2.  player 0  1 life\n"
        "  2.  you       1 life\n"
        "  4.  player 3  out in round 6\n"
        "  5.  player 1  out in round 3"
    )
