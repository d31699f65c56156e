"""Animalia in words and as a scene."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from games.animalia.table import (
    ANIMALS,
    CARDS,
    FAMILIES,
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
from helpers import MEMORY_MODES, copy_of, is_over, observation_of, walk

from card_envs.contract.scene import Card, Scene, Zone, label_of
from card_envs.games.animalia.actions import ACTIONS, public_action_name
from card_envs.games.animalia.scene import scene
from card_envs.render.text import describe

PERFECT, NONE = range(2)
STARS = {"champion": 3, "elegant": 2, "lousy": -1}


def seen(table, player, memory=PERFECT) -> Scene:
    return scene(table.states, 0, player, memory)


def told(table, player, memory=PERFECT) -> str:
    return describe(GAME, table.states, 0, player, memory)


def words_of(cards):
    """A set of cards one by one, as they are called."""
    return [" ".join(reversed(name.split())) for name in text_of(cards).split(", ") if name]


def names_in(zone):
    """The cards of a zone: names, or empty for those that lie face down."""
    return [card.name for card in zone.cards for _ in range(card.count)]


def marks_in(zone):
    return [card.marks for card in zone.cards for _ in range(card.count)]


def zones_of(seat, start):
    return [zone for zone in seat.zones if zone.name.startswith(start)]


def zone_of(scene, name):
    """The table's zone of that name; None: there is none."""
    return next((zone for zone in scene.zones if zone.name == name), None)


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
        (to(5), "give it to the fifth collection to the left"),
        (family("parrots"), "the owl counts as: parrots"),
    ],
)
def test_actions_in_words(action, name):
    assert ACTIONS.name(action) == name


def test_each_card_has_its_words():
    for name in CARDS:
        assert ACTIONS.name(card(name)) == f"card: {words_of(bits(name))[0]}"


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
# The scene, in whole games
# ---------------------------------------------------------------------------------------------


def games(*tables):
    """Positions of whole games, with a player who looks and how."""
    for num_players, memory in tables:
        for seed in (0, 1, 4):
            for count, states in enumerate(walk(GAME, num_players, seed, seasons=3 + seed % 2)):
                yield states, count % num_players, memory
            assert is_over(states)


@pytest.mark.parametrize(("num_players", "memory"), [(2, PERFECT), (3, NONE), (6, PERFECT)])
def test_what_lies_open_is_in_the_scene(num_players, memory):
    each = 2 if num_players == 2 else 1
    found = Counter[str]()
    for states, player, _ in games((num_players, memory)):
        s = states[0]
        view = scene(states, 0, player, memory)
        assert view.observer == player
        order = [(player + k) % num_players for k in range(num_players)]
        assert [seat.player for seat in view.seats] == order
        for seat in view.seats:
            q = seat.player
            assert seat.to_move == (q == s["current_player"] and not is_over(states))
            assert (seat.mark == "D") == (q == s["dealer"])
            values = dict(seat.counters)
            assert list(values) == [*FAMILIES, "points"]
            if memory == NONE and q != player:
                assert set(values.values()) == {"?"}
            else:
                medals = s["medals"][q].tolist()
                assert list(values.values()) == [*medals, points_of(medals, num_players)]
            collections = zones_of(seat, "collection")
            names = ["collection 1", "collection 2"] if each == 2 else ["collection"]
            assert [zone.name for zone in collections] == names
            for k, zone in enumerate(collections):
                held = int(s["collection"][q * each + k])
                assert names_in(zone) == words_of(held)
                members = [name.rpartition(" ")[2] for name in text_of(held).split(", ")]
                elegance = sum(STARS.get(member, 0) for member in members)
                size = f"{held.bit_count()} card{'s' * (held.bit_count() > 1)}"
                assert zone.note == (f"{size}, elegance {elegance}" if held else "")
                assert zone.highlight == (q * each + k == s["taken_into"])
        lot, replaced = zone_of(view, "lot"), zone_of(view, "replaced cards")
        assert sorted(names_in(lot) if lot else []) == sorted(words_of(s["lot"]))
        assert (names_in(replaced) if replaced else []) == words_of(s["replaced"])
        if lot:
            number = int(s["lot"]).bit_count()
            turned_up = s["deck"][s["drawn"] - number : s["drawn"]]
            assert names_in(lot) == [words_of(1 << int(c))[0] for c in turned_up]
            assert lot.note == f"turned up by {label_of(s['dealer'], player)}"
        found.update(zone.name for zone in view.zones)
    assert min(found["lot"], found["replaced cards"]) > 10


@pytest.mark.parametrize(("num_players", "memory"), [(2, PERFECT), (3, NONE), (6, PERFECT)])
def test_cards_out_of_sight_are_known_to_those_who_saw_them(num_players, memory):
    """Each card of the draw pile and each bonus card: its name, and whose spies have seen it."""
    found = Counter[str]()
    for states, player, _ in games((num_players, memory)):
        s = states[0]
        view = scene(states, 0, player, memory)
        signs = dict(view.legend)

        def look(place, *, remembered=True, s=s, player=player):
            """Name and marks of a card."""
            holder, spies = s["holder"][place], int(s["seen"][place])
            if not remembered:
                spies = 0
            marks = {f"^{q}" for q in range(num_players) if q != holder and spies >> q & 1}
            is_known = holder == player or spies >> player & 1
            return words_of(1 << int(s["deck"][place]))[0] if is_known else "", marks

        def seen_in(zone):
            return [
                (name, set(re.findall(r"\^\d", marks)))
                for name, marks in zip(names_in(zone), marks_in(zone), strict=True)
            ]

        pile = zone_of(view, "draw pile")
        looks = [look(place) for place in range(s["drawn"], s["deck_size"])]
        assert seen_in(pile) == looks
        assert (pile.note == "the next card first") == any(name for name, _ in looks)
        found["pile seen"] += any(name for name, _ in looks)
        for seat in view.seats:
            zones = zones_of(seat, "bonus cards")
            places = np.flatnonzero(s["holder"] == seat.player)
            seasons = sorted(set(s["since"][places].tolist()), reverse=True)
            if memory == NONE and seat.player == player and seasons:
                (zone,) = zones
                assert names_in(zone) == words_of(s["bonus"][player])
                old = [k for k in seasons if k < s["season"]]
                counts = [f"{(s['since'][places] == k).sum()} from season {k}" for k in old]
                assert zone.note == ", ".join(counts)
                continue
            for season, zone in zip(seasons, zones, strict=True):
                now = season == s["season"]
                assert zone.name == ("bonus cards" if now else f"bonus cards from season {season}")
                own = [place for place in places if s["since"][place] == season]
                looks = [look(place, remembered=memory == PERFECT) for place in own]
                assert seen_in(zone) == looks
                is_others = seat.player != player
                found["known bonus"] += is_others and any(name for name, _ in looks)
                found["known to others"] += not is_others and any(marks for _, marks in looks)
                found["kept"] += not now
        zones = [*view.zones, *(zone for seat in view.seats for zone in seat.zones)]
        marks = {
            mark for zone in zones for text in marks_in(zone) for mark in re.findall(r"\^\d", text)
        }
        assert {sign for sign in signs if sign.startswith("^")} == marks
        for sign in marks:
            whose = "your" if int(sign[1]) == player else f"player {sign[1]}'s"
            assert signs[sign] == f"seen by {whose} spies"
        assert ("?" in signs) == (memory == NONE)
    wanted = ["pile seen", "kept"]
    wanted += ["known bonus", "known to others"] if memory == PERFECT else []
    assert all(found[name] for name in wanted), found


@pytest.mark.parametrize(("num_players", "memory"), [(2, PERFECT), (3, NONE), (6, PERFECT)])
def test_cards_that_are_not_seen_are_listed(num_players, memory):
    """The same ones as in the observation."""
    for states, player, _ in games((num_players, memory)):
        (grid,) = [g for g in scene(states, 0, player, memory).grids if g.title == "not seen"] or [
            None
        ]
        unseen = set()
        for name, size, members in grid.rows if grid else ():
            cards = [f"{m} {name.strip().removesuffix('s')}" for m in members.split(", ") if m]
            assert size == (len(cards) or 1)
            unseen |= set(cards or [name.strip()])
        observation = observation_of(GAME, states, player, MEMORY_MODES[memory])
        expected = GAME.fields.unflatten(observation)["unseen"]
        assert unseen == set(words_of(sum(1 << int(c) for c in np.flatnonzero(expected))))


@pytest.mark.parametrize(("num_players", "memory"), [(2, PERFECT), (3, NONE), (6, PERFECT)])
def test_the_last_season_is_told(num_players, memory):
    seasons = set()
    for states, player, _ in games((num_players, memory)):
        s = states[0]
        grids = [g for g in scene(states, 0, player, memory).grids if g.title != "not seen"]
        last = int(s["season"]) - (not s["terminated"])
        assert len(grids) == (last > 0)
        if last:
            (grid,) = grids
            owl = "" if s["owl_family"] < 0 else f", with the owl as a {ANIMALS[s['owl_family']]}"
            assert grid.title == f"the medals of season {last}{owl}"
            at_end = ["excellence"] * bool(s["terminated"])
            assert list(grid.head) == ["", *FAMILIES, *at_end, "points"]
            for k, (name, *cells, points) in enumerate(grid.rows):
                q = (player + k) % num_players
                assert name == f"  {label_of(q, player)}"
                assert cells[:5] == s["season_medals"][q].tolist()
                assert points == s["season_points"][q] == sum(cells)
            assert len(grid.rows) == num_players
            seasons.add((last, bool(owl), bool(s["terminated"])))
    assert {last for last, *_ in seasons} == {1, 2, 3, 4}
    assert {owl for _, owl, _ in seasons} >= {True, num_players == 6}  # of six somebody has it
    assert any(at_end for *_, at_end in seasons)


def test_without_memory_nothing_that_is_remembered_shows():
    changed = 0
    for count, states in enumerate(walk(GAME, 4, 4)):
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
        assert scene(other, 0, player, NONE) == scene(states, 0, player, NONE)
    assert changed > 10


# ---------------------------------------------------------------------------------------------
# The scene, in positions
# ---------------------------------------------------------------------------------------------


def prompts(table):
    """What the mover and the next player read of the decision."""
    mover = int(table.current_player)
    return [seen(table, player).prompt for player in (mover, (mover + 1) % table.num_players)]


def test_a_lot_is_told_with_what_happens_if_it_comes_back():
    table = Table.lay_out("cat thief", "", "", lot="owl", pile="dog spy", dealer=2)
    assert prompts(table) == [
        "Your turn: take the lot (owl), or pass. "
        "If it comes back to you, you must turn up another card.",
        "Player 2 is to take the lot (owl), or pass. "
        "If it comes back to player 2, they must turn up another card.",
    ]
    table.play(PASS, PASS, PASS)
    assert seen(table, 0).prompt == (
        "Player 2 is to take the lot (owl, spy dog), or pass. "
        "If it comes back to player 2, they must turn up another card."
    )
    assert zone_of(seen(table, 0), "lot") == Zone(
        "lot",
        (Card("owl", highlight=True), Card("spy dog", highlight=True)),
        note="turned up by player 2",
        highlight=True,
    )
    table.play(PASS, PASS, PASS, PASS)
    assert prompts(table)[0].endswith("If it comes back to player 2, they must take it.")
    full = Table.lay_out("cat thief, dog spy, ...", "dog thief, cat spy", "", lot="owl", dealer=1)
    assert "it comes back to you, you must turn up" in seen(full, 1).prompt


def test_a_dealer_who_must_take_the_lot_is_told():
    """AN-6."""
    four = "dog thief, cat spy, cat thief, dog spy"
    table = Table.lay_out("", four, "", lot="owl", dealer=1)
    assert prompts(table)[0].endswith(". If it comes back to you, you must take it.")
    two = Table.lay_out(("", "cat spy"), ("owl, ...", "cat thief, ..."), lot="dog spy", dealer=0)
    assert prompts(two) == [
        "Your turn: take the lot (spy dog) into your collection 1 or 2.",
        "Player 0 is to take the lot (spy dog) into their collection 1 or 2.",
    ]


THIEF, PRANKSTER = "use the power of a thief: ", "use the power of a prankster: "


@pytest.mark.parametrize(
    ("collections", "more", "own", "others"),
    [
        (
            THREE,
            {"phase": STEAL, "taken_into": 1},
            THIEF + "steal a card into your collection, or pass.",
            THIEF + "steal a card into their collection, or pass.",
        ),
        (
            TWO,
            {"phase": STEAL, "taken_into": 3, "may_give": True},
            THIEF
            + "steal a card into your collection 2, or pass. The power of a prankster follows.",
            THIEF
            + "steal a card into their collection 2, or pass. The power of a prankster follows.",
        ),
        (
            THREE,
            {"phase": GIVE, "taken_into": 2},
            PRANKSTER + "give away a card of your collection, or pass.",
            PRANKSTER + "give away a card of their collection, or pass.",
        ),
        (
            THREE,
            {"phase": RECEIVE, "taken_into": 1, "chosen": "dog lousy"},
            "choose who gets the lousy dog of your collection.",
            "choose who gets the lousy dog of their collection.",
        ),
        (
            COMPLETE,
            {"bonus": {1: "cat lousy"}},
            "bring in a bonus card, or pass.",
            "bring in a bonus card, or pass.",
        ),
        (
            COMPLETE,
            {"phase": TAKE_OUT, "bonus": {1: "cat lousy"}, "chosen": "cat lousy"},
            "take out a card for the lousy cat.",
            "take out a card for a bonus card.",
        ),
        (
            COMPLETE,
            {"phase": OWL_FAMILY},
            "name the family that the owl counts as.",
            "name the family that the owl counts as.",
        ),
    ],
)
def test_each_decision_is_told(collections, more, own, others):
    table = Table.lay_out(*collections, **more)
    mover = int(table.current_player)
    assert prompts(table) == [f"Your turn: {own}", f"Player {mover} is to {others}"]


def highlighted(scene):
    """The cards that the decision is about."""
    zones = [*scene.zones, *(zone for seat in scene.seats for zone in seat.zones)]
    return [card.name for zone in zones for card in zone.cards if card.highlight]


def test_the_chosen_card_is_highlighted_for_those_who_see_it():
    table = Table.lay_out(*THREE, phase=RECEIVE, taken_into=1, chosen="dog lousy")
    assert [highlighted(seen(table, player)) for player in range(3)] == [["lousy dog"]] * 3
    bonus = {1: "cat lousy, dog spy"}
    table = Table.lay_out(*COMPLETE, phase=TAKE_OUT, bonus=bonus, chosen="dog spy")
    for memory in (PERFECT, NONE):
        shown = [highlighted(seen(table, player, memory)) for player in range(3)]
        assert shown == [[], ["spy dog"], []]


def test_the_course_of_the_game_is_told():
    table = Table.lay_out(*THREE, lot="owl", dealer=2)
    assert seen(table, 2).notes[0].startswith("You are the dealer. Points: ")
    assert seen(table, 0).notes[0].startswith("Player 2 is the dealer. Points: ")
    assert seen(table, 0).title == "Animalia, season 1 of 3, collections"
    table = Table.lay_out(*COMPLETE, bonus={0: "cat lousy"}, dealer=2)
    end = "last dealer; cards are exchanged clockwise from "
    assert seen(table, 2).notes[0].startswith(f"You are the {end}player 0. ")
    assert seen(table, 0).notes[0].startswith(f"Player 2 is the {end}you. ")
    assert seen(table, 0).title == "Animalia, season 1 of 3, medals"
    for num_players, group in ((2, 7), (5, 5)):
        note = seen(Table(num_players), 0).notes[0]
        assert note.endswith(f"Points: medals, and 5 more for each {group} of one family.")


def test_who_has_seen_bonus_cards_is_told():
    """By name only to the holder and to the one whose spies saw them."""
    table = Table.lay_out(
        *COMPLETE,
        bonus={1: "cat lousy, dog spy, horse lousy"},
        kept={2: "dog champion"},
        seen={0: "cat lousy, dog spy", 1: "dog champion", 2: "cat lousy"},
        season=2,
    )
    lines = [re.findall(r"^.* bonus cards.*$", told(table, q), re.MULTILINE) for q in range(3)]
    assert lines == [
        [
            "Player 1's bonus cards: lousy cat^0^2, spy dog^0, 1 face-down card.",
            "Player 2's bonus cards from season 1: 1 face-down card^1.",
        ],
        [
            "Your bonus cards: lousy cat^2^0, spy dog^0, lousy horse.",
            "Player 2's bonus cards from season 1: champion dog^1.",
        ],
        [
            "Your bonus cards from season 1: champion dog^1.",
            "Player 1's bonus cards: lousy cat^2^0, 1 face-down card^0, 1 face-down card.",
        ],
    ]
    assert dict(seen(table, 0).legend)["^0"] == "seen by your spies"
    assert dict(seen(table, 1).legend)["^0"] == "seen by player 0's spies"
    lines = [
        re.findall(r"^.* bonus cards.*$", told(table, q, NONE), re.MULTILINE) for q in range(3)
    ]
    assert lines == [
        [
            "Player 1's bonus cards: 3 face-down cards.",
            "Player 2's bonus cards from season 1: 1 face-down card.",
        ],
        [
            "Your bonus cards: lousy cat, lousy horse, spy dog.",
            "Player 2's bonus cards from season 1: 1 face-down card.",
        ],
        [
            "Your bonus cards: champion dog (1 from season 1).",
            "Player 1's bonus cards: 3 face-down cards.",
        ],
    ]


def test_what_kept_bonus_cards_can_be_is_told():
    table = Table.lay_out(*THREE, lot="dog spy", kept={2: "dog champion"})
    table.states[0]["shown"] = 1
    for name in ("dog champion", "cat lousy", "cat elegant"):
        table.states[0]["shown"][CARDS.index(name)] = 0
    line = "A bonus card from season 1 that you have not seen can only be: "
    assert line + "elegant cat, lousy cat, champion dog." in seen(table, 0).notes
    assert not any(line in note for note in seen(table, 2).notes)
    assert not any(line in note for note in seen(table, 0, NONE).notes)
    table.states[0]["shown"] = 0  # as if all could be it: that says nothing
    assert not any(line in note for note in seen(table, 0).notes)


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
    assert text.startswith("Animalia, after 3 seasons.\n")
    assert text.endswith(
        "The medals of season 3, with the owl as a parrot:\n"
        "            cats  horses  dogs  rabbits  parrots  excellence  points\n"
        "  you          2       .     .        .        .           5       7\n"
        "  player 0     1       1     1        1        1           5      10\n"
        "  player 1     1       1     1        1        1           .       5\n"
        "\n"
        "Points: medals, and 5 more for each 5 of one family.\n"
        "\n"
        "The game is over. The final standing (the highest total wins):\n"
        "  1.  player 0  14, at most 5 medals of one family\n"
        "  2.  you       11, at most 5 medals of one family\n"
        "  3.  player 1  9, at most 2 medals of one family"
    )
    assert "Your turn" not in text
    assert "to move" not in text
