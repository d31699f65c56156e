"""Animalia in words."""

from __future__ import annotations

import re

import numpy as np
import pytest
from animalia_table import (
    ANIMALS,
    CARDS,
    GAME,
    GIVE,
    NOBODY,
    OWL_FAMILY,
    PASS,
    RECEIVE,
    STEAL,
    TAKE_OUT,
    Table,
    bits,
    card,
    family,
    points_of,
    take,
    text_of,
    to,
)
from helpers import copy_of, walk

from card_envs.games.animalia.text import action_name, describe, public_action_name
from card_envs.render import name_of

STARS = {"champion": 3, "elegant": 2, "lousy": -1}


def told(table, player):
    return describe(table.states, 0, player)


def cells_of(line):
    return re.split("  +", line.strip())


def number(cell):
    return 0 if cell == "." else int(cell)


def rows_below(text, head):
    """The cells of the lines below this head; a line that goes on is joined to its beginning."""
    lines = re.search(rf"^{re.escape(head)}.*\n((?:  .+(?:\n|$))*)", text, re.MULTILINE)[1]
    return [cells_of(line) for line in re.sub(r"\n {9,}", " ", lines).splitlines()]


def cards_in_words(text):
    """The set of cards that words such as ``2 cats (champion, thief), 1 owl`` name."""
    cards = 0
    for count, animal, members in re.findall(r"(\d) (\w+)(?: \(([^)]*)\))?", text):
        animal = animal if count == "1" else animal.removesuffix("s")
        own = bits("owl" if animal == "owl" else [f"{animal} {m}" for m in members.split(", ")])
        assert own.bit_count() == int(count)
        cards |= own
    return cards


def words_of(cards):
    """A set of cards one by one."""
    return ", ".join(" ".join(reversed(name.split())) for name in text_of(cards).split(", "))


# ---------------------------------------------------------------------------------------------
# Actions in words
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "name"),
    [
        (PASS, "pass"),
        (take(2), "take the lot into collection 2"),
        (card("dog thief"), "card: thief dog"),
        (card("owl"), "card: owl"),
        (to(5), "give it to collection 5 to the left"),
        (family("parrots"), "the owl counts as: parrots"),
    ],
)
def test_actions_in_words(action, name):
    assert action_name(action) == name


def test_each_card_has_its_words():
    for name in CARDS:
        assert action_name(card(name)) == f"card: {words_of(bits(name))}"


THREE = ("cat thief, cat champion", "dog lousy", "cat spy")
TWO = (("cat thief", "cat champion"), ("dog lousy", "cat spy"))
COMPLETE = ("owl, ...", "cat champion, ...", "...")


@pytest.mark.parametrize(
    ("collections", "more", "names"),
    [
        (
            THREE,
            {"lot": "owl, cat lousy"},
            {PASS: "pass on lousy cat, owl", take(): "take lousy cat, owl"},
        ),
        (TWO, {"lot": "dog spy"}, {take(2): "take spy dog into collection 2"}),
        (
            THREE,
            {"phase": STEAL, "taken_into": 0},
            {PASS: "steal nothing", card("dog lousy"): "steal the lousy dog of player 1"},
        ),
        (
            TWO,
            {"phase": STEAL, "taken_into": 1},
            {card("cat spy"): "steal the spy cat of collection 2 of player 1"},
        ),
        (
            THREE,
            {"phase": GIVE, "taken_into": 0},
            {PASS: "give nothing away", card("cat thief"): "give away the thief cat"},
        ),
        (
            THREE,
            {"phase": RECEIVE, "taken_into": 1, "chosen": "dog lousy"},
            {to(1): "to player 2", to(2): "to player 0"},
        ),
        (
            TWO,
            {"phase": RECEIVE, "taken_into": 2, "chosen": "dog lousy"},
            {to(1): "to collection 1 of player 0", to(2): "to collection 2 of player 0"},
        ),
        (
            COMPLETE,
            {"bonus": {1: "cat lousy, dog spy"}},
            {
                PASS: "exchange no more cards",
                card("cat lousy"): "bring in a bonus card",
                card("dog spy"): "bring in a bonus card",
            },
        ),
        (
            COMPLETE,
            {"phase": TAKE_OUT, "bonus": {1: "cat lousy, dog spy"}, "chosen": "cat lousy"},
            {card("cat champion"): "take out the champion cat for the lousy cat"},
        ),
        (COMPLETE, {"phase": OWL_FAMILY}, {family("dogs"): "the owl counts as: dogs"}),
    ],
)
def test_others_learn_what_is_done_with_a_card(collections, more, names):
    """AN-17: of a bonus card only when its exchange is done."""
    table = Table.lay_out(*collections, **more)
    for action, name in names.items():
        assert action in table.legal()
        assert public_action_name(table.states, 0, action) == name


# ---------------------------------------------------------------------------------------------
# The table, in whole games
# ---------------------------------------------------------------------------------------------

whole_games = pytest.mark.parametrize(
    ("num_players", "memory"), [(2, "perfect"), (3, "none"), (6, "perfect")]
)


@whole_games
def test_the_tables_of_players_and_collections_are_what_lies_open(num_players, memory):
    each = 2 if num_players == 2 else 1
    for count, states in enumerate(walk(GAME, num_players, 4, memory=memory)):
        s, player = states[0], count % num_players
        text = describe(states, 0, player)
        rows = re.findall(r"^.? +player (\d)  +(?:you|\d left) (.*)$", text, re.MULTILINE)
        assert len(rows) == num_players
        for q, line in rows:
            *medals, points, bonus, spied = cells_of(line)
            if memory == "none" and int(q) != player:
                assert {*medals, points} == {"?"}
            else:
                expected = s["medals"][int(q)].tolist()
                assert list(map(number, medals)) == expected
                assert int(points) == points_of(expected, num_players)
            assert number(bonus) == (s["holder"] == int(q)).sum()
            assert number(spied) == len(spied_by(s, int(q)))
        lines = rows_below(text, "Collections:")
        assert len(lines) == each * num_players
        for k, (name, size, elegance, *cards) in enumerate(lines):
            place = (player * each + k) % len(lines)
            which = f", collection {place % 2 + 1}" if each == 2 else ""
            assert name == name_of(place // each, player) + which
            held = int(s["collection"][place])
            assert cards_in_words("".join(cards)) == held
            assert number(size) == held.bit_count()
            members = [name.rpartition(" ")[2] for name in text_of(held).split(", ")]
            assert int(elegance) == sum(STARS.get(member, 0) for member in members)
    assert s["terminated"]


def spied_by(s, player):
    """The cards in the draw pile that a player's spies saw, the next first."""
    places = range(s["drawn"], s["deck_size"])
    return [int(s["deck"][place]) for place in places if s["seen"][place] >> player & 1]


@whole_games
def test_cards_out_of_sight_are_told_as_far_as_they_are_known(num_players, memory):
    seen = dict.fromkeys(["Your spies saw the next", "Your bonus cards", "Replaced by bonus"], 0)
    for count, states in enumerate(walk(GAME, num_players, 4, memory=memory)):
        s, player = states[0], count % num_players
        text = describe(states, 0, player)
        unseen = []
        for place, name in enumerate(s["deck"].tolist()):
            is_others = s["holder"][place] not in (NOBODY, player)
            if is_others or s["drawn"] <= place < s["deck_size"]:
                is_forgotten = is_others and memory == "none"
                if is_forgotten or not s["seen"][place] >> player & 1:
                    unseen.append(CARDS[name])
        assert unseen_in(text) == set(unseen)
        assert f"\nThe draw pile: {s['deck_size'] - s['drawn']} card" in text
        flat = " ".join(text.split())
        lists = (spied_by(s, player), in_set(s["bonus"][player]), in_set(s["replaced"]))
        for head, cards in zip(seen, lists, strict=True):
            found = re.search(rf"\b{head}[a-z ]*: ([^.]*)\.", flat)
            assert (found[1] if found else "") == ", ".join(words_of(1 << c) for c in cards)
            seen[head] += bool(cards)
    assert s["terminated"]
    assert min(seen.values()) > 0


def in_set(cards):
    return [k for k in range(len(CARDS)) if cards >> k & 1]


def unseen_in(text):
    """The cards that are told not to have been seen."""
    cards = set()
    for name, size, *members in rows_below(text, "Not seen:") if "\nNot seen:" in text else []:
        members = members[0].split(", ") if members else [""]
        assert int(size) == len(members)
        cards |= {f"{name.removesuffix('s')} {member}".strip() for member in members}
    return cards


@whole_games
def test_the_last_season_is_told(num_players, memory):
    told_seasons = set()
    for count, states in enumerate(walk(GAME, num_players, 2, memory=memory)):
        s, player = states[0], count % num_players
        text = describe(states, 0, player)
        last = s["season"] - (not s["terminated"])
        assert text.count("The medals of season") == (last > 0)
        if last:
            owl = "" if s["owl_family"] < 0 else f", with the owl as a {ANIMALS[s['owl_family']]}"
            _, *rows = rows_below(text, f"The medals of season {last}{owl}:")
            for q, (name, *cells, points) in enumerate(rows):
                assert name == name_of(q, player)
                assert list(map(number, cells[:5])) == s["season_medals"][q].tolist()
                assert int(points) == s["season_points"][q] == sum(map(number, cells))
                assert len(cells) == 5 + s["terminated"]
            assert len(rows) == num_players
            told_seasons.add((int(last), bool(owl), bool(s["terminated"])))
    assert {last for last, *_ in told_seasons} == {1, 2, 3}
    assert (3, False, True) in told_seasons or (3, True, True) in told_seasons


@pytest.mark.parametrize("memory", ["perfect", "none"])
@pytest.mark.parametrize("num_players", [2, 4])
def test_no_hidden_card_shows(num_players, memory):
    redrawn = dict.fromkeys(range(7), 0)
    for seed in (0, 2, 4):
        for count, states in enumerate(walk(GAME, num_players, seed, memory=memory)):
            player = count % num_players
            text = describe(states, 0, player)
            other = copy_of(GAME, states)
            GAME.rules.determinize(other, 0, player, np.uint64(count))
            assert describe(other, 0, player) == text
            changed = any((other[name] != states[name]).any() for name in ("deck", "chosen"))
            redrawn[int(states["phase"][0])] += changed
    assert min(redrawn.values()) > 0


def test_without_memory_nothing_that_is_remembered_shows():
    changed = 0
    for count, states in enumerate(walk(GAME, 4, 4, memory="none")):
        player = count % 4
        if states["terminated"][0]:
            break
        other = copy_of(GAME, states)
        others = np.arange(6) != player
        other["medals"][0, others] += 1
        other["seen"][other["holder"] != NOBODY] ^= 15
        other["shown"] += 1
        other["left_over"] += 1
        changed += (other["seen"] != states["seen"]).any()
        assert describe(other, 0, player) == describe(states, 0, player)
    assert changed > 10


# ---------------------------------------------------------------------------------------------
# The table, in positions
# ---------------------------------------------------------------------------------------------


def decisions(table):
    """What the mover and the next player read below the last empty line."""
    mover = int(table.current_player)
    texts = [told(table, player) for player in (mover, (mover + 1) % table.num_players)]
    return [text.rpartition("\n\n")[2].splitlines() for text in texts]


def test_a_lot_is_told_with_what_happens_if_it_comes_back():
    table = Table.lay_out("cat thief", "", "", lot="owl", pile="dog spy", dealer=2)
    assert decisions(table) == [
        ["Your lot: owl.", "If it comes back to you, you must turn up another card.",
         "Your turn: take the lot, or pass."],
        ["Player 2's lot: owl.", "If it comes back to player 2, he must turn up another card.",
         "Player 2 is to take the lot, or pass."],
    ]  # fmt: skip
    table.play(PASS, PASS, PASS)
    assert told(table, 0).endswith("Player 2's lot: spy dog, owl.\n" + "\n".join((
        "If it comes back to player 2, he must turn up another card.",
        "Player 2 is to take the lot, or pass.",
    )))  # fmt: skip
    table.play(PASS, PASS, PASS, PASS)
    assert decisions(table)[0][1] == "If it comes back to player 2, he must take it."
    full = Table.lay_out("cat thief, dog spy, ...", "dog thief, cat spy", "", lot="owl", dealer=1)
    assert "it comes back to you, you must turn up" in told(full, 1)


def test_a_dealer_who_must_take_the_lot_is_told():
    """AN-6."""
    four = "dog thief, cat spy, cat thief, dog spy"
    table = Table.lay_out("", four, "", lot="owl", dealer=1)
    assert decisions(table)[0][1] == "If it comes back to you, you must take it."
    two = Table.lay_out(("", "cat spy"), ("owl, ...", "cat thief, ..."), lot="dog spy", dealer=0)
    assert decisions(two) == [
        ["Your lot: spy dog.", "Your turn: take the lot into your collection 1 or 2."],
        ["Player 0's lot: spy dog.", "Player 0 is to take the lot into his collection 1 or 2."],
    ]


def test_collections_with_room_for_the_lot_are_told():
    """AN-18."""
    table = Table.lay_out(("owl, ...", "cat spy"), ("", ""), lot="dog spy", dealer=1, player=0)
    assert decisions(table)[0][-1] == "Your turn: take the lot into your collection 2, or pass."
    assert decisions(table)[1][-1] == "Player 0 is to take the lot into his collection 2, or pass."


@pytest.mark.parametrize(
    ("collections", "more", "about", "own", "others"),
    [
        (
            THREE,
            {"phase": STEAL, "taken_into": 1},
            "The power of a thief.",
            "steal a card, into your collection, or pass",
            "steal a card, into his collection, or pass",
        ),
        (
            TWO,
            {"phase": STEAL, "taken_into": 3, "may_give": True},
            "The power of a thief, then that of a prankster.",
            "steal a card, into your collection 2, or pass",
            "steal a card, into his collection 2, or pass",
        ),
        (
            THREE,
            {"phase": GIVE, "taken_into": 2},
            "The power of a prankster.",
            "give away a card of your collection, or pass",
            "give away a card of his collection, or pass",
        ),
        (
            THREE,
            {"phase": RECEIVE, "taken_into": 1, "chosen": "dog lousy"},
            "The power of a prankster.",
            "say who gets the lousy dog",
            "say who gets the lousy dog",
        ),
        (
            COMPLETE,
            {"bonus": {1: "cat lousy"}},
            None,
            "bring in a bonus card, or pass",
            "bring in a bonus card, or pass",
        ),
        (
            COMPLETE,
            {"phase": TAKE_OUT, "bonus": {1: "cat lousy"}, "chosen": "cat lousy"},
            None,
            "take out a card for the lousy cat",
            "take out a card for a bonus card",
        ),
        (
            COMPLETE,
            {"phase": OWL_FAMILY},
            "All cards are exchanged.",
            "say which family the owl counts as",
            "say which family the owl counts as",
        ),
    ],
)
def test_each_decision_is_told(collections, more, about, own, others):
    table = Table.lay_out(*collections, **more)
    mover = int(table.current_player)
    exchange = "Cards are exchanged for bonus cards, clockwise from {}."
    assert decisions(table) == [
        [about or exchange.format("you"), f"Your turn: {own}."],
        [about or exchange.format("player 1"), f"Player {mover} is to {others}."],
    ]


def test_who_has_seen_bonus_cards_is_told():
    """By name only to the holder and to the one whose spies saw them."""
    table = Table.lay_out(
        *COMPLETE,
        bonus={1: "cat lousy, dog spy"},
        kept={2: "dog champion"},
        seen={0: "cat lousy", 1: "dog champion", 2: "dog spy"},
        season=2,
    )
    lines = [re.findall(r"^.* saw .*\.$", told(table, player), re.MULTILINE) for player in range(3)]
    assert lines == [
        [
            "Your spies saw 1 bonus card of player 1: lousy cat.",
            "Player 1's spies saw 1 bonus card of player 2.",
            "Player 2's spies saw 1 bonus card of player 1.",
        ],
        [
            "Your spies saw 1 bonus card of player 2: champion dog.",
            "Player 2's spies saw 1 bonus card of yours: spy dog.",
            "Player 0's spies saw 1 bonus card of yours: lousy cat.",
        ],
        [
            "Your spies saw 1 bonus card of player 1: spy dog.",
            "Player 0's spies saw 1 bonus card of player 1.",
            "Player 1's spies saw 1 bonus card of yours: champion dog.",
        ],
    ]


def test_what_kept_bonus_cards_can_be_is_told():
    table = Table.lay_out(*THREE, lot="dog spy", kept={2: "dog champion"})
    table.states[0]["shown"] = 1
    for name in ("dog champion", "cat lousy", "cat spy"):
        table.states[0]["shown"][CARDS.index(name)] = 0
    line = "Player 2 has kept 1 bonus card since season 1"
    can_be = "of these that you have not seen: 1 cat (lousy), 1 dog (champion)"
    assert f"\n{line}, {can_be}.\n" in told(table, 0).replace("\n  (", " (")
    assert "kept" not in told(table, 2)
    table.states["memory"] = 1
    assert "kept" not in told(table, 0)


def test_the_end_tells_points_and_what_decides_between_level_players():
    """AN-19."""
    medals = [[4, 0, 0, 0, 0], [1, 1, 1, 1, 0], [3, 1, 0, 0, 0]]
    table = Table.lay_out(
        "owl, cat lousy, dog spy, horse spy, rabbit spy",
        "cat champion, dog thief, horse thief, rabbit thief, parrot thief",
        "cat thief, cat spy, dog lousy, horse lousy, rabbit lousy",
        phase=OWL_FAMILY,
        medals=medals,
        season=3,
    )
    text = told(table.play(family("parrots")), 2)
    assert table.terminated
    assert text.startswith(
        "Animalia, after 3 seasons. At the end each 5 medals of a family bring 5 points more.\n"
    )
    assert text.endswith(
        "The medals of season 3, with the owl as a parrot:\n"
        "            cats  horses  dogs  rabbits  parrots  excellence  points\n"
        "  player 0     1       1     1        1        1           5      10\n"
        "  player 1     1       1     1        1        1           .       5\n"
        "  you          2       .     .        .        .           5       7\n"
        "\n"
        "The game is over. The final standing (the highest total wins):\n"
        "  1.  player 0  14, at most 5 medals of one family\n"
        "  2.  you       11, at most 5 medals of one family\n"
        "  3.  player 1  9, at most 2 medals of one family"
    )
    assert "Your turn" not in text
    assert "to move" not in text
