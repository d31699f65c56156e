"""Animalia in words and as a scene."""

from __future__ import annotations

import re

import numpy as np
import pytest
from games.animalia.table import (
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
    card,
    family,
    take,
    to,
)
from helpers import copy_of, walk

from card_envs.contract.scene import Card, Scene, Zone
from card_envs.games.animalia.actions import public_action_name
from card_envs.games.animalia.scene import scene
from card_envs.render.text import describe

PERFECT, NONE = range(2)


def seen(table, player, memory=PERFECT) -> Scene:
    return scene(table.states, 0, player, memory)


def told(table, player, memory=PERFECT) -> str:
    return describe(GAME, table.states, 0, player, memory)


def zone_of(scene, name):
    """The table's zone of that name; None: there is none."""
    return next((zone for zone in scene.zones if zone.name == name), None)


THREE = ("cat thief, cat champion", "dog lousy", "cat spy")
TWO = (("cat thief", "cat champion"), ("dog lousy", "cat spy"))
COMPLETE = ("owl, ...", "cat champion, ...", "...")


THIEF, PRANKSTER = "use the power of a thief: ", "use the power of a prankster: "


@pytest.mark.parametrize(
    ("collections", "more", "names", "decision"),
    [
        (
            THREE,
            {"lot": "owl, cat lousy"},
            {PASS: "pass on lousy cat, owl", take(): "take lousy cat, owl"},
            None,
        ),
        (TWO, {"lot": "dog spy"}, {take(2): "take spy dog into collection 2"}, None),
        (
            THREE,
            {"phase": STEAL, "taken_into": 0},
            {PASS: "steal nothing", card("dog lousy"): "steal the lousy dog of player 1"},
            THIEF + "steal a card into their collection, or pass.",
        ),
        (
            TWO,
            {"phase": STEAL, "taken_into": 1, "may_give": True},
            {card("cat spy"): "steal the spy cat of collection 2 of player 1"},
            THIEF
            + "steal a card into their collection 2, or pass. The power of a prankster follows.",
        ),
        (
            THREE,
            {"phase": GIVE, "taken_into": 0},
            {PASS: "give nothing away", card("cat thief"): "give away the thief cat"},
            PRANKSTER + "give away a card of their collection, or pass.",
        ),
        (
            THREE,
            {"phase": RECEIVE, "taken_into": 1, "chosen": "dog lousy"},
            {to(1): "to player 2", to(2): "to player 0"},
            "choose who gets the lousy dog of their collection.",
        ),
        (
            TWO,
            {"phase": RECEIVE, "taken_into": 2, "chosen": "dog lousy"},
            {to(1): "to collection 1 of player 0", to(2): "to collection 2 of player 0"},
            None,
        ),
        (
            COMPLETE,
            {"bonus": {1: "cat lousy, dog spy"}},
            {
                PASS: "exchange no more cards",
                card("cat lousy"): "bring in a bonus card",
                card("dog spy"): "bring in a bonus card",
            },
            "bring in a bonus card, or pass.",
        ),
        (
            COMPLETE,
            {"phase": TAKE_OUT, "bonus": {1: "cat lousy, dog spy"}, "chosen": "cat lousy"},
            {card("cat champion"): "take out the champion cat for the lousy cat"},
            "take out a card for a bonus card.",
        ),
        (
            COMPLETE,
            {"phase": OWL_FAMILY},
            {family("dogs"): "the owl counts as: dogs"},
            "name the family that the owl counts as.",
        ),
    ],
)
def test_others_learn_what_is_decided_and_done(collections, more, names, decision):
    """AN-17: of a bonus card only when its exchange is done."""
    table = Table.lay_out(*collections, **more)
    for action, name in names.items():
        assert action in table.legal()
        assert public_action_name(table.states, 0, action) == name
    if decision is not None:
        own = decision.replace("their", "your").replace("a bonus card.", "the lousy cat.")
        mover = int(table.current_player)
        assert prompts(table) == [f"Your turn: {own}", f"Player {mover} is to {decision}"]


def test_a_gift_to_one_of_two_collections_says_which_is_which():
    table = Table.lay_out(*TWO, phase=RECEIVE, taken_into=2, chosen="dog lousy")
    assert prompts(table) == [
        "Your turn: choose who gets the lousy dog of your collection 1: player 0's collection 1 is "
        "the first to the left, collection 2 the second.",
        "Player 1 is to choose who gets the lousy dog of their collection 1: your collection 1 is "
        "the first to the left, collection 2 the second.",
    ]


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


def test_what_older_bonus_cards_must_be_no_later_one_can_be():
    drawn = {"dog champion": 1, "cat lousy": 2}
    kept = {2: ", ".join(drawn)}
    table = Table.lay_out(*THREE, lot="dog spy", season=3, kept=kept, since=drawn)
    table.states[0]["shown"] = 2
    for name, season in (("dog champion", 0), ("cat lousy", 1), ("cat elegant", 1)):
        table.states[0]["shown"][CARDS.index(name)] = season
    line = "A bonus card from season {} that you have not seen can only be: {}."
    notes = [line.format(2, "elegant cat, lousy cat"), line.format(1, "champion dog")]
    assert [note for note in seen(table, 0).notes if note in notes] == notes


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
