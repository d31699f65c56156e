"""What an action points at is on the table, and tells it from the others."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import EACH_GAME, TABLES, is_over, kit_of, mask_of, positions_of

from card_envs.contract.actions import Action, Actions, Parameter, Target
from card_envs.contract.scene import Card, Scene, Seat, Zone
from card_envs.engine.table import BaseTable
from card_envs.web.pointing import needs
from card_envs.web.table import ViewedTable

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)


def places_of(scene):
    """Every key of the scene, with the most that can be pointed at there."""
    places = {}
    owners = [("-", scene.zones), *((f"{seat.player}", seat.zones) for seat in scene.seats)]
    for owner, zones in owners:
        for zone in zones:
            key = f"{owner}/{zone.name}"
            assert key not in places, "two zones have one key"
            places[key] = 1
            if zone.layout == "slots":
                places |= {f"{key}/{slot}": 1 for slot in range(len(zone.cards))}
            else:
                for card in zone.cards:
                    found = places.get(f"{key}/{card.name}", 0)
                    places[f"{key}/{card.name}"] = found + card.count
    return places


@tables
def test_actions_point_at_what_is_there(game, num_players):
    pointing = 0
    for states in positions_of(game, num_players)[::6]:
        if is_over(states):
            continue
        scene = game.scene(states, 0, int(states["current_player"][0]), 0, False)
        places = places_of(scene)
        seen = {}
        for action in np.flatnonzero(mask_of(game, states)).tolist():
            needed = needs(scene, game.actions, action)
            assert all(count <= places[key] for key, count in needed.items()), needed
            kind, values = game.actions.decode(action)
            targets = game.actions[kind].points
            pointed = {name for target in targets for name in target.parameters}
            assert len(needed) >= len(targets), f"{game.action_name(action)}: {needed}"
            if pointed == set(values):  # then nothing else tells it from the others of its kind
                other = seen.setdefault((kind, *sorted(needed.items())), action)
                assert other == action, f"{needed} is needed twice"
            pointing += bool(needed)
    declared = any(kind.points for kind in game.actions)
    assert bool(pointing) == declared


@pytest.mark.parametrize("game", EACH_GAME)
def test_the_page_is_told_what_each_legal_action_needs(game):
    nobody = (None,) * game.default_players
    table = BaseTable(game, nobody, seed=1, **kit_of(game).short_options)
    told = ViewedTable(table, "play", table.player, nobody).state()
    assert [entry.action for entry in told.legal] == table.legal_actions()
    for entry in told.legal:
        assert entry.words == game.action_name_at(table.states, 0, entry.action)
        assert entry.group == game.actions.group(entry.action)
        assert entry.needs == needs(told.frame.scene, game.actions, entry.action)


SCENE = Scene(
    title="",
    observer=2,
    seats=(
        Seat(2, "you", "you", zones=(Zone("hand", (Card("bear", 2), Card("fox"))),)),
        Seat(
            0,
            "player 0",
            "1 left",
            zones=(
                Zone("slot", (Card(), Card()), "slots"),
                Zone("den", (Card("owl"),), stands_for=("den", 2)),
            ),
        ),
        Seat(1, "player 1", "2 left", zones=(Zone("slot", (Card(), Card("elk")), "slots"),)),
    ),
    zones=(Zone("row 1"), Zone("row 2", (Card("elk"),))),
)
ACTIONS = Actions(
    Action("go", "go to row {row}", row=range(1, 3), points=(Target("row {row}"),)),
    Action(
        "peek",
        "peek at slot {slot} of seat {seat}",
        slot=2,
        seat=range(1, 3),
        points=(Target("slot", seat="seat", slot="slot"),),
    ),
    Action(
        "lay",
        "lay {cards}",
        cards=Parameter(["both"], cards=(["bear", "fox"], [[2, 1]])),
        points=(Target("hand", seat=0, cards="cards"),),
    ),
    Action("call", "call the {bird}", bird=("owl", "elk"), points=(Target(cards="bird"),)),
    Action("visit", "visit den {den}", den=3, points=(Target(value_of="den"),)),
    Action("own", "stay in den {den}", den=3, points=(Target(seat=0, value_of="den"),)),
    Action("wait", "wait"),
)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (("go", {"row": 2}), {"-/row 2": 1}),
        (("peek", {"slot": 1, "seat": 1}), {"0/slot/1": 1}),
        (("peek", {"slot": 0, "seat": 2}), {"1/slot/0": 1}),
        (("lay", {"cards": "both"}), {"2/hand/bear": 2, "2/hand/fox": 1}),
        (("call", {"bird": "owl"}), {"0/den/owl": 1}),
        (("call", {"bird": "elk"}), {"-/row 2/elk": 1}),  # cards in slots are chosen by the slot
        (("visit", {"den": 2}), {"0/den": 1}),
        (("visit", {"den": 1}), {}),
        (("own", {"den": 2}), {}),
        (("wait", {}), {}),
    ],
)
def test_keys(action, expected):
    kind, values = action
    assert needs(SCENE, ACTIONS, ACTIONS.index(kind, **values)) == expected
