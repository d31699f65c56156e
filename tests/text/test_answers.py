"""Answers with whatever stands around them are read as people mean them."""

from __future__ import annotations

import json
import random
import re
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
        ("[take the 3]", []),  # a card, and no slot
        ("take the 3", []),
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


#: What a model writes that takes the action "knock", and what names it but does not.
KNOCKS = """
    So I knock
    Therefore, I will knock!
    I think that the best move is to "knock".
    Shall I wait? I'm going to knock.
    I knock, because my hand is low.
    I knock. My hand is low.
    \\boxed{knock}
    My hand is low, so it is this: 'knock'
"""
DOES_NOT_KNOCK = """
    I refuse to knock.
    I decline to knock
    I will wait before I knock
    Knock? No way.
    Knock. But it is early, so I wait.
    Knock. Too early!
    To knock now would be a mistake.
    It would be foolish if I knock
    I doubt that I should knock
    Avoid knock
    I knock, never!
    knock is risky, so I stay
    Should I knock? Perhaps.
"""


def test_prose_takes_an_action_only_if_nothing_beside_it_may_turn_it_down():
    names = {1: "knock", 2: "play: 1 joker", 3: "draw"}
    for text in KNOCKS.strip().splitlines():
        assert read_answer(text.strip(), names)[1] == [1], text
    for text in DOES_NOT_KNOCK.strip().splitlines():
        assert read_answer(text.strip(), names)[1] == [], text
    assert read_answer("So now I play 1 joker.", names)[1] == [2]
    for rest in ("1 seal", "seal", "and a seal"):  # of another action
        assert read_answer(f"So now I play: 1 joker, {rest}.", names)[1] == [], rest


EVERY = Actions(
    Action("draw", "draw"),
    Action("discard", "discard the drawn card"),
    Action("draw_two", "carry out draw two"),
    Action("peek", "peek at slot {slot}", slot=2),
    Action(
        "play", "play: {cards}", cards=["1 seal", "1 seal, 1 joker", "1 joker", "1 seal, 1 orca"]
    ),
    Action("ask", "ask for help with: {cards}", cards=["1 seal", "1 seal, 1 joker"]),
    Action("pass", "pass"),
)


@pytest.mark.parametrize(
    ("possible", "illegal", "legal"),
    [
        (
            ["discard the drawn card", "peek at slot 0"],
            ["[draw]", "DRAW.", "[dra]", "So I peek at slot 0. Or rather:\ndraw"],
            ["[discard]", "[drawn]", "[slot 0]"],
        ),
        (
            ["draw", "pass"],
            ["**carry out draw two**", "I carry out draw two.", "I pass.\n2"],
            ["[draw]", "[p]", "I can't carry out draw two. So I draw."],
        ),
        (
            ["play: 1 seal, 1 joker", "pass"],
            ["[play: 1 seal]", "[1 seal]", "[seal]", "play 1 seal", "I pass.\n1 joker"],
            ["[1 joker and 1 seal]", "[seal, joker]", "[play seal joker]"],
        ),
        (
            ["play: 1 seal", "play: 1 joker"],
            [
                "So I play: 1 seal, 1 joker.",
                "So I play: 1 joker, 1 seal.",
                "I play: 1 seal, 1 orca",
            ],
            ["[1 seal]", "[joker]", "So I play 1 seal."],  # though it could be asked for
        ),
    ],
)
def test_an_answer_that_names_an_illegal_action_takes_no_other(possible, illegal, legal):
    names = {EVERY.names.index(name): name for name in possible}
    for text in illegal:
        assert read_answer(text, names, EVERY)[1] == [], text
    for text in legal:
        assert len(read_answer(text, names, EVERY)[1]) == 1, text


def spellings(name):
    """The usual ways to write an action's whole name."""
    head, colon, cards = name.rpartition(": ")
    counted = cards.split(", ")
    lists = [cards, ", ".join(reversed(counted)), " and ".join(counted)]
    written = [head + colon + each for each in lists] + (lists if colon else [])
    return {*written, *(re.sub("[:,]", "", text) for text in written)}


def answers_with(action, name):
    """The usual answers with an action's whole name, and its number."""
    ways = "[{0}]", "{1}", "[{1} {0}]", "**{0}**.", "Action: {0}", "It is best:\n{0}", "So I {0}."
    return {way.format(text, action) for way in ways for text in spellings(name)}


def pairs_that_may_be_confused(game):
    """Some actions of each kind, each with some whose names have its cards or are within its name.

    Words may be cut short.
    """

    def has(longer, shorter):
        words = re.findall(r"\w+", longer)
        return all(any(w.startswith(v) for w in words) for v in re.findall(r"\w+", shorter))

    rng = random.Random(1)
    names = game.actions.names
    first = 0
    for kind in game.actions:
        numbers = range(first, first + len(kind))
        for action in {numbers[0], numbers[-1], *rng.sample(numbers, min(len(kind), 4))}:
            cards = names[action].rpartition(": ")[2]
            near = [a for a, n in enumerate(names) if has(n, cards) or has(names[action], n)]
            near.remove(action)
            yield from ((action, other) for other in rng.sample(near, min(len(near), 4)))
        first += len(kind)


@each_game
def test_no_spelling_of_an_illegal_action_is_read_as_another_action(game):
    """Even if only one action is legal."""
    names = game.actions.names
    for action, other in pairs_that_may_be_confused(game):
        legal = {other: names[other]}
        for text in answers_with(action, names[action]) - answers_with(other, names[other]):
            assert read_answer(text, legal, game.actions)[1] == [], (text, legal)
        for text in spellings(names[action]) - spellings(names[other]):
            assert meant(text, legal, game.actions) == [], (text, legal)


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
