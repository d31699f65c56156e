"""Answers with whatever stands around them are read as people mean them."""

from __future__ import annotations

import json
import time

import pytest
from helpers import EACH_GAME, FEW_GAMES

from card_envs.contract.actions import Action, Actions
from card_envs.text.answers import meant, read_answer

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)

NAMES = {
    0: "take the discard into slot 0",
    3: "take the discard into slot 3",
    4: "draw",
    16: "swap slot 0 with slot 2 of the first player to the left",
    95: "knock",
    96: "do not knock",
    110: "exchange row 3: lay down 2 bears, 1 mouse",
    120: "play: 2 seals",
    121: "play: 2 seals, 1 joker",
    130: "ask for help with: 2 seals",
}


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("[draw]", [4]),
        ("[4]", [4]),
        ("4", [4]),
        (" 4. ", [4]),
        ("DRAW", [4]),
        ("**Draw.**", [4]),
        ("[004]", [4]),
        ("[٤]", [4]),
        (f"[{'0' * 4000}4]", [4]),
        (f"[{'1' * 5000}]", []),
        (f"[{'1' * 5000} draw]", []),
        ("1" * 5000, []),
        ("[take 3]", [3]),
        ("[exchange row 3: lay down 1 mouse, 2 bears]", [110]),
        ("[lay down 2 mice and 1 bear]", []),
        ("[play: 1 joker, 2 seals]", [121]),
        ("[swap slot 2 with slot 0 of the first player to the left]", []),
        ("[Take slot 3]", [3]),
        ("[take]", [0, 3]),
        ("[take 9]", []),
        ("[action: draw]", [4]),
        ("[Action 4]", [4]),
        ("[4 draw]", [4]),
        ("[4: draw]", [4]),
        ("[4 knock]", []),  # number and words contradict each other
        ("[5]", []),
        ("[]", []),
        ("", []),
        ("   \n ", []),
        ("[knock]", [95]),
        ("[KNOCK]", [95]),
        ("[do not knock]", [96]),
        ("[don't knock]", []),
        ("I could [draw] or [knock]; I choose [do not knock].", [96]),
        ("[draw] and nothing else []", [4]),
        ("Slot 3 is high.\nI take the discard into slot 3.", [3]),
        ("Shall I draw? No: I knock", [95]),
        ("It is best to do not knock now", [96]),
        ("I will not knock.", []),
        ("I don't knock!", []),
        ("I don’t want to knock", []),
        ("It is too early to knock", []),
        ("I would rather draw than knock", []),
        ("It is not time to draw. I knock", [95]),
        ("I will not draw, I knock", [95]),
        ("I take no chances: I do not knock", [96]),
        ("My hand is bad.\n\n4", [4]),
        ("My hand is bad.\nAction: knock", [95]),
        ("<answer>draw</answer>", [4]),
        ("[[draw]]", [4]),
        ('["draw"]', [4]),
        ("[row 3: 2 bears, mouse]", [110]),
        ("[lay down 2 bears and 1 mouse]", [110]),
        ("[2 seals]", [120, 130]),
        ("[4 seals]", []),  # 4 is an action's number
        ("[2 seals, 1 joker]", [121]),
        ("[play 2 seals]", [120]),
        ("[play: 2 seals, 1 joker]", [121]),
        ("[swap 0 2 first]", [16]),
        ("nothing of it", []),
        ("[ニャー]", []),
    ],
)
def test_answers(text, actions):
    assert sorted(read_answer(text, NAMES)[1]) == actions


FORMS = Actions(
    Action("take", "take the discard into slot {slot}", slot=4),
    Action("draw", "draw"),
    Action("play", "play: {cards}", cards=["2 seals", "2 seals, 1 joker"]),
)


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ('{"kind": "draw"}', [4]),
        ('[{"kind": "draw"}]', [4]),
        ('```json\n{"kind": "take", "slot": 3}\n```', [3]),
        ('I play {"kind": "play", "cards": "2 seals, 1 joker"}.', [6]),
        ('I play {"kind": "play", "cards": "1 joker and 2 seals"}.', [6]),
        ('{"kind": "draw"} or rather {"slot": 1, "kind": "take"}', [1]),
        ('[draw] or rather {"kind": "take", "slot": 1}', [1]),
        ('{"kind": "take", "slot": 1} or rather [draw]', [4]),
        ("[draw] for {no reason}", [4]),
        ('[draw] for {"slot": 1}', [4]),
        ('{"kind": "take", "slot": 4}', []),
        ('{"kind": "take", "slot": 2}', []),  # not possible
        ('{"kind": "take"}', []),
        ('{"kind": "fly"} [draw] {"kind": "fly"}', []),
        ("{" * 5000 + '"kind": 1' + "}" * 5000, []),
        ("[" + '{"kind":' * 50_000 + "]", []),
    ],
)
def test_answers_in_structured_form(text, actions):
    possible = {action: FORMS.name(action) for action in range(FORMS.size) if action != 2}
    assert read_answer(text, possible, FORMS)[1] == actions


def test_the_answer_is_told_as_it_was_found():
    assert read_answer("I take [ the moon ] then", NAMES)[0] == "the moon"
    assert read_answer("x\ny", NAMES) == ("x\ny", [])
    assert read_answer("x\nknock", NAMES)[0] == "knock"


@few_games
def test_every_action_is_understood_by_its_number_by_its_words_and_in_structured_form(game):
    names = {action: game.action_name(action) for action in range(game.num_actions)}
    step = -(-len(names) // 100)
    for action, name in list(names.items())[::step]:
        for text in (f"[{action}]", f"[{name}]", f"Well: [{name.upper()}]!", f"[{action} {name}]"):
            assert read_answer(text, names)[1] == [action], text
        assert read_answer(f"I think that this is best:\n{name}", names)[1] == [action]
        form = json.dumps(game.actions.to_dict(action))
        for text in (form, f"Well: [{form}]!"):
            assert read_answer(text, names, game.actions)[1] == [action], text


@pytest.mark.parametrize(
    "word", ["a ", "the ", "1 ", "slot ", "[", "[a", "a]", "[[]]", "{a", "[{", "{}", "*", "a,"]
)
def test_long_answers_take_no_time(word):
    """Also those that are made to."""
    names = {k: f"a slot a the a 1 a slot the a a {k}" for k in range(300)}
    begun = time.process_time()
    read_answer(word * 5_000, names)
    read_answer(word * 25, names)
    meant(word * 25, names)
    assert time.process_time() - begun < 2.0
