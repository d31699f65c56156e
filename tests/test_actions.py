"""Actions are declared once: numbers, names, groups, features and structured forms follow."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from helpers import EACH_GAME

from card_envs.commands.docs import action_rows
from card_envs.contract.actions import Action, Actions, Parameter, Target

each_game = pytest.mark.parametrize("game", EACH_GAME)

SEATS = Parameter(range(1, 4), ["the first player", "the second player", "the third player"])
CARDS = Parameter(
    ["1 bear", "1 fox", "2 bears", "1 bear, 1 fox"],
    features=[[1, 0, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]],
    cards=(["bear", "fox"], [[1, 0], [0, 1], [2, 0], [1, 1]]),
)
SOME = Actions(
    Action("play", "play {cards}", cards=CARDS, features=("kind", "cards")),
    Action("draw", "draw"),
    Action(
        "swap",
        "swap slot {slot} with slot {other} of {seat}",
        slot=2,
        seat=SEATS,
        other=2,
        features=("slot", ("seat", "other")),
    ),
    Action(
        "lay",
        "lay {cards} into row {row}",
        row=range(1, 3),
        cards=CARDS,
        combinations=[(0, 0), (0, 1), (1, 2), (1, 3)],
        groups="row",
    ),
    Action("pass", "pass", features=("kind",)),
)


@each_game
def test_every_action_follows_from_its_kind_and_values(game):
    actions = game.actions
    for action in range(game.num_actions):
        kind, values = actions.decode(action)
        assert actions.index(kind, **values) == action
        form = actions.to_dict(action)
        assert actions.from_dict(json.loads(json.dumps(form))) == action
        assert form == {"kind": kind, **values}
        assert all(type(value) in (int, str) for value in values.values())
    for wrong in (-1, game.num_actions):
        for of in (actions.decode, actions.to_dict, actions.name):
            with pytest.raises(ValueError, match=f"from 0 to {game.num_actions - 1}, got {wrong}"):
                of(wrong)


@each_game
def test_offsets_are_the_first_actions_of_the_kinds(game):
    offsets = game.actions.offsets()
    assert list(offsets) == sorted(offsets)
    kinds = [game.actions.decode(first)[0] for first in offsets]
    assert kinds == [kind.kind for kind in game.actions] == [n.rstrip("_") for n in offsets._fields]
    assert sum(len(kind) for kind in game.actions) == game.num_actions


@each_game
def test_groups_divide_the_actions_by_what_their_names_share(game):
    groups = game.actions.groups(range(game.num_actions))
    assert sorted(action for group in groups.values() for action in group) == list(
        range(game.num_actions)
    )
    for group, actions in groups.items():
        pattern = re.escape(group).replace(r"\#", r"\d+").replace(r"\.\.\.", ".+")
        assert all(re.fullmatch(pattern, game.action_name(action)) for action in actions)
        assert len({game.actions.decode(action)[0] for action in actions}) == 1


def test_numbers_and_names():
    assert SOME.size == 4 + 1 + 12 + 4 + 1
    assert SOME.index("draw") == 4
    assert SOME.index("swap", slot=1, seat=2, other=1) == 5 + 6 + 2 + 1
    assert SOME.name(14) == "swap slot 1 with slot 1 of the second player"
    assert SOME.decode(14) == ("swap", {"slot": 1, "seat": 2, "other": 1})
    assert SOME.index("swap", slot=np.int64(1), seat=2, other=1) == 14
    assert [SOME.name(action) for action in range(17, 21)] == [
        "lay 1 bear into row 1",
        "lay 1 fox into row 1",
        "lay 2 bears into row 2",
        "lay 1 bear, 1 fox into row 2",
    ]
    assert SOME.index("lay", row=2, cards="2 bears") == 19
    assert SOME.offsets()._asdict() == {"play": 0, "draw": 4, "swap": 5, "lay": 17, "pass_": 21}
    assert CARDS.cards("2 bears") == {"bear": 2}
    assert CARDS.cards("1 bear, 1 fox") == {"bear": 1, "fox": 1}


def test_a_name_for_others_has_players_by_number():
    """A seat that an action points at is counted from the player to move; readers know numbers."""
    seats = Parameter(range(1, 4), ["the next player", "the one across", "the last player"])
    points = (Target("row", seat="seat", slot="slot"),)
    actions = Actions(
        Action("pass", "pass"),
        Action("take", "take {slot} of {seat}", seat=seats, slot=2, points=points),
    )
    action = actions.index("take", seat=2, slot=1)
    assert actions.name(action) == "take 1 of the one across"
    assert actions.name_at(action, 1, 4) == "take 1 of player 3"
    assert actions.name_at(action, 3, 4) == "take 1 of player 1"
    assert actions.name_at(actions.index("pass"), 3, 4) == "pass"
    with pytest.raises(ValueError, match="actions are whole numbers"):
        actions.name_at(actions.size, 0, 4)


def test_groups_and_the_table():
    assert SOME.groups([0, 4, 5, 6, 17, 20]) == {
        "play ...": [0],
        "draw": [4],
        "swap slot # with slot # of ...": [5, 6],
        "lay ... into row 1": [17],
        "lay ... into row 2": [20],
    }

    for wrong in (-1, SOME.size):
        with pytest.raises(ValueError, match="actions are whole numbers from 0 to 21"):
            SOME.group(wrong)

    class Game:
        actions, num_actions = SOME, SOME.size

    assert action_rows(Game) == [
        ("0..3", "play", "play 1 bear; 1 fox; …; 1 bear, 1 fox"),
        ("4", "draw", "draw"),
        (
            "5..16",
            "swap",
            "swap slot *slot* with slot *other* of *seat*: 5 + 6·*slot* + 2·(*seat* − 1) + *other* "
            "(*slot* 0..1, *seat* 1..3 for the first player; the second player; the third player, "
            "*other* 0..1)",
        ),
        ("17..18", "lay", "lay 1 bear; 1 fox into row 1"),
        ("19..20", "lay", "lay 2 bears; 1 bear, 1 fox into row 2"),
        ("21", "pass", "pass"),
    ]


def test_features_stand_in_the_order_of_declaration():
    """First actions without features, then kinds, then other terms."""
    expected = np.zeros((22, 5 + 2 + 3 + 2 + 6), np.float32)
    for column, action in enumerate((4, 17, 18, 19, 20)):
        expected[action, column] = 1
    expected[0:4, 5] = 1  # play
    expected[21, 6] = 1  # pass
    expected[0:4, 7:10] = CARDS.features
    for slot in range(2):
        for seat in range(3):
            for other in range(2):
                action = 5 + 6 * slot + 2 * seat + other
                expected[action, 10 + slot] = expected[action, 12 + 2 * seat + other] = 1
    assert SOME.features.dtype == np.float32
    assert np.array_equal(SOME.features, expected)
    pair = Actions(Action("lay", "{row} {cards}", row=2, cards=CARDS, features=(("row", "cards"),)))
    assert np.array_equal(pair.features, np.kron(np.eye(2), CARDS.features))


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("draw", "an action in structured form is {\"kind\": …}, got 'draw'"),
        ({"slot": 1}, 'an action in structured form is {"kind": …}'),
        ({"kind": "fly"}, "kind must be one of play, draw, swap, lay, pass, got 'fly'"),
        ({"kind": ["draw"]}, "kind must be one of play, draw, swap, lay, pass, got"),
        ({"kind": "draw", "slot": 1}, "'draw' takes no parameter, got slot"),
        ({"kind": "swap", "slot": 1}, "'swap' takes slot, seat, other, got slot"),
        ({"kind": "swap", "slot": 2, "seat": 1, "other": 0}, "slot must be 0..1, got 2"),
        ({"kind": "swap", "slot": True, "seat": 1, "other": 0}, "slot must be 0..1, got True"),
        ({"kind": "swap", "slot": 1.0, "seat": 1, "other": 0}, "slot must be 0..1, got 1.0"),
        ({"kind": "swap", "slot": [], "seat": 1, "other": 0}, "slot must be 0..1, got []"),
        ({"kind": "play", "cards": "1 elk"}, 'cards must be "1 bear" or "1 fox" or … or "1 bear'),
        (
            {"kind": "lay", "row": 1, "cards": "2 bears"},
            "'lay' has no action with row 1, cards '2 bears'",
        ),
    ],
)
def test_a_wrong_form_is_named_with_what_is_allowed(form, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SOME.from_dict(form)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Action("take it", "take it"), "identifiers as names"),
        (lambda: Action("kind", "kind"), "none of kind, action, got 'kind'"),
        (lambda: Action("take", "take {action}", action=2), "none of kind, action, got 'action'"),
        (lambda: Action("take", "take", slot=2), "'take' must name ['slot']"),
        (lambda: Action("take", "take {slot}"), "'take {slot}' must name nothing"),
        (lambda: Action("take", "take {a}", a=2, features=("b",)), "no parameter 'b'"),
        (lambda: Action("take", "take {a}", a=2, groups="b"), "no parameter 'b'"),
        (lambda: Action("take", "take", points=(Target("row {b}"),)), "no parameter 'b'"),
        (lambda: Action("take", "take", points=(Target("row", seat="b"),)), "no parameter 'b'"),
        (lambda: Action("take", "take {a}", a=2, combinations=[[0], [2]]), "rows of 1 places"),
        (lambda: Action("take", "take {a}", a=2, combinations=[[0, 1]]), "rows of 1 places"),
        (lambda: Action("take", "take {a}", a=2, combinations=[[0], [0]]), "are the same"),
        (
            lambda: Action("take", "take {a}", a=2, combinations=[[1], [0]]).stride("a"),
            "'take' has combinations: their numbers have no stride",
        ),
        (lambda: Parameter(0), "needs values"),
        (lambda: Parameter(["a", "a"]), "all different"),
        (lambda: Parameter(2, ["one"]), "words: 2 are needed, got 1"),
        (lambda: Parameter(2, features=[[1]]), "features: 2 are needed, got 1"),
        (lambda: Parameter(2, features=[1, 1]), "features must be of shape (V, K)"),
        (lambda: Parameter(2, cards=(["a"], [[1]])), "cards: 2 are needed, got 1"),
        (lambda: Actions(), "at least one kind"),
        (lambda: Actions(Action("a", "go"), Action("a", "stay")), "each of another name"),
        (lambda: Actions(Action("a", "go"), Action("b", "go")), "two actions are called 'go'"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_an_error(declare, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        declare()
