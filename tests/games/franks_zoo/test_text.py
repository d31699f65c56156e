"""Frank's Zoo in words."""

from __future__ import annotations

import re

import numpy as np
import pytest
from franks_zoo_table import DECK, DECK_OF_THREE, GAME, LAYS, PASS, SIGNS, Table, ask, give, put
from helpers import copy_of, is_over, kinds_of_actions, mask_of

from card_envs.docs import rules_file
from card_envs.games.franks_zoo import rules
from card_envs.games.franks_zoo.cards import ANIMAL_NAMES, BEATEN_BY
from card_envs.games.franks_zoo.state import ANSWER, EXCHANGE, NOBODY, TURN
from card_envs.games.franks_zoo.text import action_name, describe
from card_envs.render import WIDTH, name_of

KINDS = (*ANIMAL_NAMES, "joker")
PLURALS = {f"{name}s": name for name in ANIMAL_NAMES} | {
    "fish": "fish",
    "foxes": "fox",
    "mice": "mouse",
    "mosquitoes": "mosquito",
    "perches": "perch",
}
LION, HEDGEHOG = SIGNS.index("L"), SIGNS.index("H")


def told(table, player):
    return describe(table.states, 0, player)


def cards_in_words(text):
    """The cards that words such as ``2 elephants, 1 joker`` name, a sign each."""
    cards = ""
    for number, name in (card.split(" ", 1) for card in text.split(", ")):
        cards += SIGNS[KINDS.index(name if number == "1" else PLURALS[name])] * int(number)
    return cards


def cells_of(line):
    return re.split("  +", line.strip())


def cards_told(text):
    """The columns of the table of cards: what it says of each kind."""
    head, *lines = re.search(r"^ +your hand .*\n(?:.+\n){13}", text, re.MULTILINE)[0].splitlines()
    rows = [cells_of(line) for line in lines]
    assert [name for name, *_ in rows] == list(KINDS)
    columns = zip(*(row[1:] for row in rows), strict=True)
    return dict(zip(cells_of(head), map(list, columns), strict=True))


def players_told(text):
    """The lines of the table of players: their cells by the heads, without empty ones."""
    lines = re.search(r"^ +player +seat.*\n(?:.+\n)+", text, re.MULTILINE)[0].splitlines()
    head = cells_of(lines[0])
    rows = {}
    for line in lines[1:]:
        cells = cells_of(line.lstrip("> "))
        rows[int(cells[0][-1])] = dict(zip([*head, "deed"], cells, strict=False))
    return rows


def numbers(cells):
    return [0 if cell == "." else int(cell) for cell in cells]


def game_states(seeds, num_players, **options):
    """The records of some games, each with its number; always the same array.

    The players choose a kind of action first, and so ask for help often.
    """
    kinds = kinds_of_actions(GAME)
    for seed in seeds:
        states = Table(num_players, seed, **options).states
        rng = np.random.default_rng(seed)
        for number in range(500):
            yield number, states
            if is_over(states):
                break
            legal = np.flatnonzero(mask_of(GAME, states))
            kind = rng.choice(np.unique(kinds[legal]))
            rules.step(states, 0, rng.choice(legal[kinds[legal] == kind]))


# ---------------------------------------------------------------------------------------------
# Actions in words
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "name"),
    [
        (0, "play: 1 orca"),
        (put("BBJ"), "play: 2 polar bears, 1 joker"),
        (put("MM"), "play: 2 mice"),
        (put("FFFFF"), "play: 5 foxes"),
        (put("PP"), "play: 2 perches"),
        (put("IIJ"), "play: 2 fish, 1 joker"),
        (put("QQ"), "play: 2 mosquitoes"),
        (put("EEQJ"), "play: 2 elephants, 1 mosquito, 1 joker"),
        (128, "play: 1 joker"),
        (ask("H"), "ask for help with: 1 hedgehog"),
        (257, "ask for help with: 1 joker"),
        (give("L"), "give away: 1 lion"),
        (270, "give away: 1 joker"),
        (PASS, "pass"),
    ],
)
def test_actions_say_the_cards(action, name):
    assert action_name(action) == name


def test_action_names_follow_the_table_of_actions():
    for lay, cards in enumerate(LAYS):
        verb, _, words = action_name(lay).partition(": ")
        assert (verb, cards_in_words(words)) == ("play", "".join(sorted(cards, key=SIGNS.index)))
        assert action_name(129 + lay) == f"ask for help with: {words}"
    for kind, sign in enumerate(SIGNS):
        verb, _, words = action_name(258 + kind).partition(": ")
        assert (verb, cards_in_words(words)) == ("give away", sign)


def test_others_do_not_hear_which_card_is_given():
    """FZ-18."""
    states = Table(4).states
    for action in range(GAME.num_actions):
        is_gift = 258 <= action < PASS
        expected = "give away a card" if is_gift else action_name(action)
        assert GAME.public_action_name(states, 0, action) == expected


# ---------------------------------------------------------------------------------------------
# The cards
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize("num_players", [3, 4, 7])
def test_the_table_of_cards_is_what_the_player_knows(num_players, memory):
    deck = DECK_OF_THREE if num_players == 3 else DECK
    seen = 0
    for number, states in game_states(range(3), num_players, memory=memory, target_score=8):
        s, player = states[0], number % num_players
        columns = cards_told(describe(states, 0, player))
        assert numbers(columns.pop("your hand")) == s["hand"][player].tolist()
        assert numbers(columns.pop("trick")) == s["trick"].tolist()
        if memory == "perfect":
            elsewhere = s["hand"].sum(axis=0) - s["hand"][player]
            if s["alone"] not in (NOBODY, player):
                elsewhere += s["given"][s["alone"]]
            assert numbers(columns.pop("elsewhere")) == elsewhere.tolist()
            captured = s["captured"].sum(axis=0)
            assert numbers(columns.pop("played")) == (s["trick"] + captured).tolist()
        else:
            out_of_sight = np.array([deck[sign] for sign in SIGNS])
            out_of_sight -= s["hand"][player] + s["trick"]
            if s["asker"] != NOBODY:
                out_of_sight -= [LAYS[s["request"]].count(sign) for sign in SIGNS]
            assert numbers(columns.pop("out of sight")) == out_of_sight.tolist()
        beaters = [", ".join(BEATEN_BY[name]) or "nothing" for name in ANIMAL_NAMES]
        assert columns.pop("beaten by") == [*beaters, "like what it is added to"]
        assert not columns
        seen += 1
    assert seen > 200


def test_the_rules_show_what_beats_what():
    """FZ-4: the table of RULES.md is that of the code."""
    text = rules_file("franks_zoo").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| ([a-z, ]+) \|$", text, re.MULTILINE)
    table = dict(rows)
    assert [name for name, _ in rows if name in ANIMAL_NAMES] == list(ANIMAL_NAMES)
    for name, better in BEATEN_BY.items():
        assert table[name] == (", ".join(better) or "nothing")


def redraws(states, player):
    """In how many of some redraws hands or gifts differ; the text must be the same for all."""
    text = describe(states, 0, player)
    count = 0
    for seed in range(3):
        other = copy_of(GAME, states)
        rules.determinize(other, 0, player, np.uint64(seed))
        assert describe(other, 0, player) == text
        count += any((other[name] != states[name]).any() for name in ("hand", "given", "gift"))
    return count


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize("num_players", [3, 4, 5])
def test_no_hidden_card_shows(num_players, memory):
    redrawn = dict.fromkeys([EXCHANGE, TURN, ANSWER], 0)
    for number, states in game_states(range(4), num_players, memory=memory, target_score=8):
        redrawn[int(states["phase"][0])] += redraws(states, number % num_players)
    assert redrawn[TURN] > 300
    if num_players > 3:
        assert redrawn[EXCHANGE] > 30
        assert redrawn[ANSWER] > 10


def test_without_memory_nothing_that_is_remembered_shows():
    """But for the hands that lie open when the game is over."""
    changed = 0
    for number, states in game_states(range(4), 5, memory="none", target_score=8):
        if states["terminated"][0]:
            continue
        other = copy_of(GAME, states)
        for name in ("known", "played", "played_by", "captured"):
            other[name] += 1
        if states["phase"][0] != EXCHANGE:
            other["given"] += 1
        changed += 1
        text = describe(states, 0, number % 5)
        assert describe(other, 0, number % 5) == text
        assert not re.search(r"holds|gave|have laid|Everybody knows|captured", text)
    assert changed > 400


# ---------------------------------------------------------------------------------------------
# What is known of the hands
# ---------------------------------------------------------------------------------------------


def knowledge_told(text):
    """The lines that tell of gifts and of others' hands."""
    pattern = (
        r"^(?:You gave|You have laid|Player \d gave|Player \d has laid|Player \d holds|Everyb)"
    )
    return re.findall(rf"{pattern}.*(?:\n  .+)*", text, re.MULTILINE)


def test_gifts_are_told_to_both_partners_and_to_nobody_else():
    """FZ-18. Of five players 0 and 3 are a pair, 1 and 4, and 2 is alone."""
    table = Table.deal_out("LFF", "", "HHI", "CMMJ", "", hand_number=2)
    table.play(give("M"), give("M"))
    assert knowledge_told(told(table, 0)) == ["Player 3 gave you 2 mice."]
    assert knowledge_told(told(table, 3)) == [
        "You gave 2 mice to player 0.",
        "Player 0 holds at least 2 mice.",
    ]
    table.play(give("L"), give("M"))
    assert knowledge_told(told(table, 0)) == [
        "You gave 1 lion, 1 mouse to player 3.",
        "Player 3 gave you 2 mice.",
        "Player 3 holds at least 1 lion, 1 mouse.",
    ]
    assert knowledge_told(told(table, 3)) == [
        "You gave 2 mice to player 0.",
        "Player 0 gave you 1 lion, 1 mouse.",
        "Player 0 holds at least 1 mouse.",  # he has given one back
    ]
    for player in (1, 2, 4):
        assert knowledge_told(told(table, player)) == []
    while table.current_player != 2:
        table.play(table.legal()[0])
    table.play(give("H"), give("I"))
    assert knowledge_told(told(table, 2)) == [
        "You have laid 1 hedgehog, 1 fish before you; they count as captured."
    ]
    laid = "Player 2 has laid 2 cards before him; they are counted as elsewhere."
    for player in (0, 1, 3, 4):
        assert knowledge_told(told(table, player)).count(laid) == 1


def test_who_gives_is_told_without_the_card():
    table = Table.deal_out("LFF", "", "HHI", "CMMJ", "", hand_number=2)
    begins = "Cards are exchanged; then player 4 leads the first trick.\n"
    assert told(table, 3).endswith(
        f"\n\n{begins}Your turn: give away the first of two cards, to player 0."
    )
    table.play(give("J"))
    assert told(table, 3).endswith(
        "Your turn: give away the second of two cards, to player 0; the first is 1 joker."
    )
    assert told(table, 0).endswith("Player 3 is to give away the second of two cards, to you.")
    assert told(table, 4).endswith(
        "\n\nCards are exchanged; then you lead the first trick.\n"
        "Player 3 is to give away the second of two cards, to player 0."
    )
    table.play(give("C"))
    assert {seat: line.get("deed") for seat, line in players_told(told(table, 0)).items()} == {
        0: None, 1: None, 2: None, 3: "has given", 4: None,
    }  # fmt: skip
    while table.current_player != 2:
        table.play(table.legal()[0])
    assert told(table, 1).endswith("Player 2 is to lay the first of two cards before him.")
    assert told(table, 2).endswith("Your turn: lay the first of two cards before you.")
    table.play(give("H"))
    assert told(table, 1).endswith("Player 2 is to lay the second of two cards before him.")
    assert told(table, 2).endswith(
        "Your turn: lay the second of two cards before you; the first is 1 hedgehog."
    )


def laid_out(**more):
    """Four players: 0 is the senior of 2, 1 that of 3, and 2 is to play on two mice of 1."""
    return Table.lay_out(
        "HHS", "CC", "HHJB", "OOI", last="MM", owner=1, hand_number=2, **{"rest_to": 3, **more}
    )


def test_a_request_is_told_to_everybody():
    table = laid_out()
    assert told(table, 2).endswith(
        "\n\nThe last set: 2 mice, of player 1.\n"
        "It is beaten by 2 crocodiles, 2 polar bears, 2 lions, 2 seals, 2 foxes, 2 hedgehogs or "
        "3 mice.\n"
        "Your turn: beat the last set, ask player 0 for help, or pass."
    )
    assert told(table, 0).endswith("\nPlayer 2 is to beat the last set, ask you for help, or pass.")
    table.play(ask("H"))
    for player, request, decision in (
        (0, "Player 2 asks you", "Your turn: help player 2 with"),
        (1, "Player 2 asks player 0", "Player 0 is to help player 2 with"),
        (2, "You ask player 0", "Player 0 is to help you with"),
    ):
        assert told(table, player).endswith(
            f"\n{request} for help with 1 hedgehog.\n"
            f"{decision} cards that complete the set, or refuse: pass."
        )
    assert players_told(told(table, 3))[2]["deed"] == "asks for help"
    # The card is neither in the hand nor elsewhere.
    hedgehog = KINDS.index("hedgehog")
    assert cards_told(told(table, 2))["your hand"][hedgehog] == "1"
    assert cards_told(told(table, 1))["elsewhere"][hedgehog] == "3"


def test_refused_cards_are_known_to_all():
    table = laid_out(gifts={0: "HJ", 2: "SS"}).play(ask("H"), PASS)
    assert "Player 2 holds at least 1 hedgehog." in knowledge_told(told(table, 1))
    assert "Player 2 holds at least 1 hedgehog, 1 joker." in knowledge_told(told(table, 0))
    assert knowledge_told(told(table, 2))[-1] == "Everybody knows that you hold 1 hedgehog."
    assert players_told(told(table, 0))[2]["deed"] == "passed"


def test_a_hand_that_is_known_is_told_so():
    """FZ-7: a leader who must pass."""
    table = Table.lay_out("J", "SSF", "MMH", player=0)
    assert told(table, 0).endswith("Your turn: pass; the joker alone cannot lead.")
    assert told(table, 1).endswith("\nPlayer 0 is to lead with any set.")
    table.play(PASS)
    assert knowledge_told(told(table, 1)) == ["Player 0 holds 1 joker."]
    assert knowledge_told(told(table, 0)) == ["Everybody knows that you hold 1 joker."]
    assert told(table, 1).endswith("No set lies in the trick.\nYour turn: lead with any set.")


# ---------------------------------------------------------------------------------------------
# The players and the course
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize(
    ("num_players", "partners"), [(3, True), (3, False), (4, False), (4, True), (7, True)]
)
def test_the_table_of_players_shows_what_lies_open(num_players, partners, memory):
    options = {"memory": memory, "partners": partners, "target_score": 8}
    deeds = set()
    for number, states in game_states(range(3), num_players, **options):
        s, player = states[0], number % num_players
        rows = players_told(describe(states, 0, player))
        has_pairs = partners and num_players > 3 and s["hand_number"] > 1
        shows_captured = memory == "perfect" and (has_pairs or num_players == 3)
        for owner, row in rows.items():
            assert int(row["points"]) == s["totals"][owner]
            assert int(row["rank"]) == s["rank"][owner] + 1
            assert numbers([row["cards"]]) == [s["hand_size"][owner]]
            assert numbers([row["place"]]) == [s["place"][owner]]
            assert ("lions" in row) == ("hedgehogs" in row) == shows_captured
            if shows_captured:
                shown = numbers([row["lions"], row["hedgehogs"]])
                assert shown == s["captured"][owner, [LION, HEDGEHOG]].tolist()
            assert ("partner" in row) == has_pairs
            if has_pairs:
                role = "senior" if s["is_senior"][owner] else "junior"
                role = f"{role} of {name_of(s['partner'][owner], player)}"
                assert row["partner"] == ("alone" if s["alone"] == owner else role)
            deed = row.get("deed")
            deeds.add(deed)
            if s["phase"] != EXCHANGE:
                assert (deed == "asks for help") == (s["asker"] == owner)
                assert (deed == "last set") == (s["owner"] == owner)
                assert (deed == "passed") == (s["has_passed"][owner] == 1 and s["asker"] != owner)
    expected = {None, "last set", "passed"}
    if partners and num_players > 3:
        expected |= {"asks for help", "has given"}
    assert deeds == expected


@pytest.mark.parametrize(
    ("num_players", "options", "fields", "enough", "counts"),
    [
        (3, {}, {}, "a player has 19", "Lions and hedgehogs count in this hand."),
        (3, {"partners": False}, {}, "a player has 19", "Lions and hedgehogs count in this hand."),
        (
            4,
            {"target_score": 1},
            {},
            "two players have 1",
            "The first hand: no partners, and lions and hedgehogs do not count.",
        ),
        (
            7,
            {},
            {"hand_number": 2},
            "two players have 19",
            "Lions and hedgehogs count in this hand.",
        ),
        (
            5,
            {"partners": False},
            {"hand_number": 2},
            "two players have 19",
            "The simple game: no partners, and lions and hedgehogs do not count.",
        ),
    ],
)
def test_the_first_lines_tell_the_hand_and_what_counts(
    num_players, options, fields, enough, counts
):
    table = Table.deal_out(*[""] * num_players, options=options, **fields)
    number = fields.get("hand_number", 1)
    points = "point" if enough.endswith(" 1") else "points"
    assert told(table, 1).startswith(
        f"Frank's Zoo, hand {number}. The game ends when {enough} {points}.\n{counts}\n\n"
    )


def test_signs_are_explained():
    table = laid_out()
    assert "\n(> to move, . none, lions and hedgehogs: captured in this hand)\n" in told(table, 0)
    assert "\n(> to move, . none)\n" in told(Table(4), 0)


# ---------------------------------------------------------------------------------------------
# The trick
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "cards", "better"),
    [
        ("S", "1 seal", "It is beaten by 1 orca, 1 polar bear or 2 seals."),
        ("OO", "2 orcas", "It is beaten by 3 orcas."),
        ("OOOOOJ", "5 orcas, 1 joker, which are 6 orcas", "Nothing beats it."),
        ("EQ", "1 elephant, 1 mosquito, which are 2 elephants",
         "It is beaten by 3 elephants or 2 mice."),
        ("EQJ", "1 elephant, 1 mosquito, 1 joker, which are 3 elephants",
         "It is beaten by 4 elephants or 3 mice."),
        ("QJ", "1 mosquito, 1 joker, which are 2 mosquitoes",
         "It is beaten by 2 hedgehogs, 2 fish, 2 mice or 3 mosquitoes."),
        ("HH", "2 hedgehogs", "It is beaten by 2 foxes or 3 hedgehogs."),
    ],
)  # fmt: skip
def test_the_last_set_is_told_with_what_beats_it(last, cards, better):
    table = Table.lay_out("CF", "CM", "CI", "CL", last=last, owner=3, passed=(0,), player=1)
    for player, whose in ((1, "player 3"), (3, "you")):
        assert f"\n\nThe last set: {cards}, of {whose}.\n{better}\n" in told(table, player)
    assert told(table, 1).endswith("\nYour turn: beat the last set, or pass.")
    assert told(table, 3).endswith("\nPlayer 1 is to beat the last set, or pass.")


def test_what_a_senior_can_do_is_told():
    """He cannot ask; nor can a junior whose senior is out."""
    table = Table.lay_out("C", "", "HF", "OOI", last="MM", owner=3, hand_number=2, player=0)
    assert told(table, 0).endswith("\nYour turn: beat the last set, or pass.")
    table = Table.lay_out("", "CC", "HF", "OOI", last="MM", owner=1, hand_number=2)
    assert told(table, 2).endswith("\nYour turn: beat the last set, or pass.")


# ---------------------------------------------------------------------------------------------
# The end of a hand
# ---------------------------------------------------------------------------------------------


def last_hand_told(text):
    """The number of the last hand, and by player the cells of his line by their heads."""
    found = re.search(r"^Hand (\d+), as it ended:\n(.+)\n((?:  .+\n)+)", text, re.MULTILINE)
    head = cells_of(found[2])
    lines = [cells_of(line) for line in found[3].splitlines()]
    return int(found[1]), {
        name: dict(zip(head, map(int, cells), strict=True)) for name, *cells in lines
    }


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize(
    ("num_players", "partners"), [(3, True), (4, False), (4, True), (5, True), (7, True)]
)
def test_the_last_hand_is_told_with_its_points(num_players, partners, memory):
    options = {"memory": memory, "partners": partners, "target_score": 12}
    seen = {1: 0, 2: 0}
    for number, states in game_states(range(4), num_players, **options):
        s, player = states[0], number % num_players
        text = describe(states, 0, player)
        if s["hand_number"] == 1 and not s["terminated"]:
            assert "as it ended" not in text
            continue
        last, lines = last_hand_told(text)
        assert last == s["hand_number"] - (not s["terminated"])
        assert list(lines) == [name_of(owner, player) for owner in range(num_players)]
        counted = num_players == 3 or (partners and last > 1)
        for owner, line in enumerate(lines.values()):
            assert line["place"] == s["last_place"][owner]
            assert line["for places"] == s["place_points"][owner]
            assert line["points"] == s["hand_points"][owner]
            assert line["total"] == s["totals"][owner]
            assert ("lions" in line) == ("hedgehogs" in line) == counted
            if counted:
                assert line["lions"] == s["lion_points"][owner]
                assert line["hedgehogs"] == s["hedgehog_points"][owner]
            for_animals = line.get("lions", 0) + line.get("hedgehogs", 0)
            assert line["points"] == line["for places"] + for_animals
        seen[min(last, 2)] += 1
    assert seen[1] > 100
    assert seen[2] > 0


def end_of_a_game(**options):
    """Three players: 1 goes out, so 2 is left with three cards. Player 0 has reached the target."""
    table = Table.lay_out(
        "",
        "S",
        "LLF",
        last="P",
        owner=0,
        captured=("H", "", "H"),
        totals=[18, -3, 4],
        order=[0, 2, 1],
        hand_number=5,
        options=options,
    )
    return table.play(put("S"))


@pytest.mark.parametrize("memory", ["perfect", "none"])
def test_the_end_of_the_game_tells_the_standing_and_the_cards_that_are_left(memory):
    table = end_of_a_game(memory=memory)
    assert table.terminated
    text = told(table, 1)
    assert text.startswith("Frank's Zoo, after 5 hands.\n\n")
    assert last_hand_told(text) == (
        5,
        {
            "player 0": {
                "place": 1, "for places": 3, "lions": 2, "hedgehogs": 0, "points": 5, "total": 23,
            },
            "you": {
                "place": 2, "for places": 2, "lions": 0, "hedgehogs": -1, "points": 1, "total": -2,
            },
            "player 2": {
                "place": 3, "for places": 0, "lions": -2, "hedgehogs": 0, "points": -2, "total": 2,
            },
        },
    )  # fmt: skip
    assert text.endswith(
        "\n\nThe game is over. The final standing (the highest total wins):\n"
        "  1.  player 0  23\n"
        "  2.  player 2   2\n"
        "  3.  you       -2"
    )
    assert knowledge_told(text) == ["Player 2 holds 2 lions, 1 fox."]
    assert knowledge_told(told(table, 2)) == []
    for absent in ("to move", "trick.", "Your turn", "count in this hand", "The last set"):
        assert absent not in text
    if memory == "perfect":
        assert "\n(. none, lions and hedgehogs: captured in this hand)\n" in text


def test_a_stopped_game_tells_the_trick_and_the_standing_so_far():
    table = laid_out(totals=[5, 9, 3, 1], order=[1, 0, 2, 3])
    table.states["max_steps"] = 1
    table.play(table.legal()[-1])
    assert table.truncated
    assert told(table, 0).endswith(
        "\n\nThe last set: 2 mice, of player 1.\n"
        "It is beaten by 2 crocodiles, 2 polar bears, 2 lions, 2 seals, 2 foxes, 2 hedgehogs or "
        "3 mice.\n\n"
        "The game was stopped after 1 decision. The standing so far:\n"
        "  1.  player 1  9\n"
        "  2.  you       5\n"
        "  3.  player 2  3\n"
        "  4.  player 3  1"
    )


def test_the_widest_lines_fit():
    hand = "OECBLSFPHIMJ"
    table = Table.lay_out(
        hand, "C", "C", "C", "O", "O", "F", last="MM", owner=3, hand_number=2,
        options={"target_score": 1000}, totals=[1003, -1000, 12, 0, 0, 0, 0],
    )  # fmt: skip
    s = table.states[0]
    s["known"][0] = s["hand"][0]
    for player in range(7):
        assert max(map(len, told(table, player).splitlines())) <= WIDTH
    (known,) = (text for text in knowledge_told(told(table, 5)) if "Player 0" in text)
    assert cards_in_words(" ".join(known.split())[len("Player 0 holds ") : -1]) == hand
    assert "\n" in known
    (own,) = (text for text in knowledge_told(told(table, 0)) if "Everybody" in text)
    assert "\n" in own
