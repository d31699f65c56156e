"""Frank's Zoo in words: its actions, its scenes, and the texts that are drawn from them."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from games.franks_zoo.table import (
    GAME,
    PASS,
    SIGNS,
    Table,
    ask,
    give,
    put,
)
from helpers import copy_of, is_over, kinds_of_actions, mask_of, positions_of

from card_envs.contract.observing import MEMORY_MODES
from card_envs.games import rules_file
from card_envs.games.franks_zoo import rules
from card_envs.games.franks_zoo.actions import ACT, ACTIONS
from card_envs.games.franks_zoo.cards import ANIMAL_NAMES, BEATEN_BY, NO_LAY
from card_envs.games.franks_zoo.state import ANSWER, EXCHANGE, TURN
from card_envs.render.text import describe

memory_modes = pytest.mark.parametrize("memory", MEMORY_MODES)

KINDS = (*ANIMAL_NAMES, "joker")
PLURALS = {f"{name}s": name for name in ANIMAL_NAMES} | {
    "fish": "fish",
    "foxes": "fox",
    "mice": "mouse",
    "mosquitoes": "mosquito",
    "perches": "perch",
}
LION, HEDGEHOG = SIGNS.index("L"), SIGNS.index("H")


def scene_of(table, player, memory="perfect"):
    return GAME.scene(table.states, 0, player, MEMORY_MODES.index(memory))


def described(states, player, memory="perfect"):
    return describe(GAME, states, 0, player, MEMORY_MODES.index(memory))


def told(table, player, memory="perfect"):
    return described(table.states, player, memory)


def cards_in_words(text):
    """The cards that words such as ``2 elephants, 1 joker`` name, a sign each."""
    cards = ""
    for number, name in (card.split(" ", 1) for card in text.split(", ")):
        cards += SIGNS[KINDS.index(name if number == "1" else PLURALS[name])] * int(number)
    return cards


def cards_in(zone):
    """The cards of a zone in order, a sign each; ? for one that lies face down."""
    cards = ""
    for card in zone.cards:
        cards += (SIGNS[KINDS.index(card.name)] if card.name else "?") * card.count
    return cards


def zones_of(scene):
    """What lies on the table: the cards by the names of the zones."""
    return {zone.name: cards_in(zone) for zone in scene.zones}


def zones_of_seat(scene, player):
    (seat,) = (seat for seat in scene.seats if seat.player == player)
    return {zone.name: cards_in(zone) for zone in seat.zones}


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


@pytest.mark.parametrize(
    ("action", "name"),
    [
        (0, "play: 1 orca"),
        (put("EEQJ"), "play: 2 elephants, 1 mosquito, 1 joker"),
        (ask("H"), "ask for help with: 1 hedgehog"),
        (give("L"), "give away: 1 lion"),
        (PASS, "pass"),
    ],
)
def test_actions_say_the_cards(action, name):
    assert ACTIONS.name(action) == name


def test_others_do_not_hear_which_card_is_given():
    """FZ-18."""
    states = Table(4).states
    for action in range(GAME.num_actions):
        is_gift = 258 <= action < PASS
        expected = "give away a card" if is_gift else ACTIONS.name(action)
        assert GAME.public_action_name(states, 0, action) == expected


def test_the_rules_show_what_beats_what():
    """FZ-4: the table of RULES.md is that of the code."""
    text = rules_file(GAME).read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| ([a-z, ]+) \|$", text, re.MULTILINE)
    table = dict(rows)
    assert [name for name, _ in rows if name in ANIMAL_NAMES] == list(ANIMAL_NAMES)
    for name, better in BEATEN_BY.items():
        assert table[name] == (", ".join(better) or "nothing")


def test_no_hidden_card_shows_before_the_first_trick_and_in_requests():
    """The phases that are rare in the positions of the shared tests."""
    redrawn = dict.fromkeys([EXCHANGE, ANSWER], 0)
    for number, states in game_states(range(2), 5, target_score=8):
        phase = int(states["phase"][0])
        for player in range(5) if phase in redrawn else ():
            other = copy_of(GAME, states)
            rules.determinize(other, 0, player, np.uint64(number))
            for memory in MEMORY_MODES:
                assert described(other, player, memory) == described(states, player, memory)
            redrawn[phase] += other["hand"].tobytes() != states["hand"].tobytes()
    assert min(redrawn.values()) > 30


def test_without_memory_nothing_that_is_remembered_shows():
    """But for the hands that are shown when the game is over."""
    changed = 0
    for number, states in game_states(range(2), 5, target_score=8):
        if states["terminated"][0]:
            continue
        other = copy_of(GAME, states)
        for name in ("known", "played", "played_by", "captured"):
            other[name] += 1
        if states["phase"][0] != EXCHANGE:
            other["given"] += 1
        changed += 1
        text = described(states, number % 5, "none")
        assert described(other, number % 5, "none") == text
        assert not re.search(r"holds|gave|captured cards|Everybody knows", text)
    assert changed > 400


def knowledge(table, player):
    """The notes on gifts and on what others know."""
    about = r"You gave|Player \d gave|What player \d has laid down|Everybody"
    return [note for note in scene_of(table, player).notes if re.match(about, note)]


def test_who_gives_is_told_without_the_card():
    table = Table.deal_out("LFF", "", "HHI", "CMMJ", "", hand_number=2)
    begins = "Cards are exchanged; then player 4 leads the first trick."
    for player in (0, 1, 2, 3):
        assert scene_of(table, player).notes[-1] == begins
    assert scene_of(table, 4).notes[-1] == "Cards are exchanged; then you lead the first trick."
    assert scene_of(table, 3).prompt == (
        "Your turn: give away the first of two cards, to player 0."
    )
    assert scene_of(table, 3).zones == ()
    table.play(give("J"))
    assert scene_of(table, 3).prompt == (
        "Your turn: give away the second of two cards, to player 0; the first is 1 joker."
    )
    assert scene_of(table, 0).prompt == (
        "Player 3 is to give away the second of two cards, to you."
    )
    assert scene_of(table, 4).prompt == (
        "Player 3 is to give away the second of two cards, to player 0."
    )
    table.play(give("C"))
    assert {seat.player: seat.note for seat in scene_of(table, 0).seats} == {
        0: "", 1: "", 2: "", 3: "has given", 4: "",
    }  # fmt: skip
    while table.current_player != 2:
        table.play(table.legal()[0])
    first = "give away the first of two cards, to nobody (they count as captured)."
    assert scene_of(table, 1).prompt == f"Player 2 is to {first}"
    assert scene_of(table, 2).prompt == f"Your turn: {first}"
    table.play(give("H"))
    second = "give away the second of two cards, to nobody (they count as captured)"
    assert scene_of(table, 1).prompt == f"Player 2 is to {second}."
    assert scene_of(table, 2).prompt == f"Your turn: {second}; the first is 1 hedgehog."


def laid_out(**more):
    """Four players: 0 is the senior of 2, 1 that of 3, and 2 is to play on two mice of 1."""
    return Table.lay_out(
        "HHS", "CC", "HHJB", "OOI", last="MM", owner=1, hand_number=2, **{"rest_to": 3, **more}
    )


def test_refused_cards_are_known_to_all():
    table = laid_out(gifts={0: "HJ", 2: "SS"}).play(ask("H"), PASS)
    assert zones_of_seat(scene_of(table, 1), 2)["hand"] == "H???"
    assert zones_of_seat(scene_of(table, 1, "none"), 2)["hand"] == "????"
    assert zones_of_seat(scene_of(table, 0), 2)["hand"] == "HJ??"
    assert knowledge(table, 2)[-1] == "Everybody knows that you hold 1 hedgehog."
    assert [seat.note for seat in scene_of(table, 2).seats] == ["passed", "", "", "last set"]


def test_a_hand_that_is_known_is_told_so():
    """FZ-7: a leader who must pass."""
    table = Table.lay_out("J", "SSF", "MMH", player=0)
    assert scene_of(table, 0).prompt == "Your turn: pass; the joker alone cannot lead."
    assert scene_of(table, 1).prompt == "Player 0 is to lead with any set."
    table.play(PASS)
    assert zones_of_seat(scene_of(table, 1), 0) == {"hand": "J", "captured cards": rest(table)}
    assert knowledge(table, 0) == ["Everybody knows that you hold 1 joker."]
    assert zones_of(scene_of(table, 1)) == {"trick": ""}
    assert told(table, 1).startswith("Frank's Zoo, hand 1.\nTrick: empty.\n\n")
    assert scene_of(table, 1).prompt == "Your turn: lead with any set."


def rest(table):
    return table.captures[0]


@pytest.mark.parametrize(
    ("last", "cards", "played", "note"),
    [
        ("OOOOOJ", "5 orcas, 1 joker", "6 orcas", "counts as 6 orcas; nothing beats it"),
        ("EQJ", "1 elephant, 1 mosquito, 1 joker", "3 elephants",
         "counts as 3 elephants; beaten by 4 elephants or 3 mice"),
        ("QJ", "1 mosquito, 1 joker", "2 mosquitoes",
         "counts as 2 mosquitoes; beaten by 2 hedgehogs, 2 fish, 2 mice or 3 mosquitoes"),
        ("HH", "2 hedgehogs", "2 hedgehogs", "beaten by 2 foxes or 3 hedgehogs"),
    ],
)  # fmt: skip
def test_the_last_set_is_told_with_what_beats_it(last, cards, played, note):
    table = Table.lay_out("CF", "CM", "CI", "CL", last=last, owner=3, passed=(0,), player=1)
    for player, whose in ((1, "of player 3"), (3, "yours")):
        (zone,) = scene_of(table, player).zones
        assert (zone.name, cards_in(zone), zone.note) == ("last set", last, f"{whose}; {note}")
        text = " ".join(told(table, player).split())
        assert f" Last set: {cards} ({whose}; {note}). " in text
    assert scene_of(table, 3).prompt == f"Player 1 is to beat {played}, or pass."


def test_what_a_senior_can_do_is_told():
    """They cannot ask; nor can a junior whose senior is out."""
    table = Table.lay_out("CC", "", "HF", "OOI", last="MM", owner=3, hand_number=2, player=0)
    assert told(table, 0).endswith("\n\nYour turn: beat 2 mice, or pass.")
    table = Table.lay_out("", "HF", "CC", "OOI", last="MM", owner=1, hand_number=2)
    assert told(table, 2).endswith("\n\nYour turn: beat 2 mice, or pass.")


def test_a_prompt_names_what_is_legal_and_what_others_may_take_to_be_legal():
    """Of a player's cards the others know no more than before."""
    seen = Counter()
    for num_players in range(GAME.min_players, GAME.max_players + 1):
        for states in positions_of(GAME, num_players):
            phase, mover = int(states["phase"][0]), int(states["current_player"][0])
            if is_over(states) or phase == EXCHANGE or states["last_set"][0] == NO_LAY:
                continue
            legal = mask_of(GAME, states)
            own = GAME.scene(states, 0, mover, 0, False).prompt
            if phase == ANSWER:
                ways = {" help ": legal[: ACT.ask].any()}
            else:
                ways = {" beat ": legal[: ACT.ask].any(), " ask ": legal[ACT.ask : ACT.give].any()}
            for way, is_legal in ways.items():
                assert (way in own) == is_legal
                seen[way, bool(is_legal)] += 1
            other = (mover + 1) % num_players
            theirs = GAME.scene(states, 0, other, 0, False).prompt
            assert (" beat " in theirs) == (phase == TURN)
            changed = copy_of(GAME, states)
            changed["hand"][0, mover] = 0
            assert GAME.scene(changed, 0, other, 0, False).prompt == theirs
    assert min(seen.values()) > 3, seen
    assert len(seen) == 6


def test_the_simple_game_and_a_request_are_told():
    table = Table.deal_out(*[""] * 5, options={"partners": False}, hand_number=2)
    simple = "The simple game: no partners, and lions and hedgehogs do not count."
    assert simple in scene_of(table, 1).notes
    table = laid_out(trick="IP")
    asking = "Your turn: beat 2 mice, ask player 0 for help, or pass."
    assert scene_of(table, 2).prompt == asking
    assert scene_of(table, 0).prompt == "Player 2 is to beat 2 mice, ask you for help, or pass."
    table.play(ask("H"))
    ends = "cards that complete the set, or refuse: pass."
    assert scene_of(table, 0).prompt == f"Your turn: help player 2 with {ends}"
    assert scene_of(table, 1).prompt == f"Player 0 is to help player 2 with {ends}"
    assert scene_of(table, 2).zones[-1].note == "you ask player 0 for help"
