"""Frank's Zoo in words: its actions, its scenes, and the texts that are drawn from them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from games.franks_zoo.kit import located
from games.franks_zoo.table import (
    DECK,
    DECK_OF_THREE,
    GAME,
    LAYS,
    PASS,
    SIGNS,
    Table,
    ask,
    cards_of,
    give,
    in_order,
    put,
)
from helpers import copy_of, is_over, kinds_of_actions, mask_of

from card_envs.contract.observing import MEMORY_MODES
from card_envs.contract.scene import label_of
from card_envs.games import rules_file
from card_envs.games.franks_zoo import rules
from card_envs.games.franks_zoo.actions import ACTIONS
from card_envs.games.franks_zoo.cards import ANIMAL_NAMES, BEATEN_BY
from card_envs.games.franks_zoo.state import ANSWER, EXCHANGE, NOBODY, TURN
from card_envs.render.text import describe
from card_envs.utils.words import WIDTH

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


def columns_of(grid):
    """The columns of a grid by their heads, that of the labels first."""
    return dict(zip(grid.head, map(list, zip(*grid.rows, strict=True)), strict=True))


def lines_of(grid):
    """The lines of a grid by their labels: the cells by the columns' heads."""
    return {name: dict(zip(grid.head[1:], cells, strict=True)) for name, *cells in grid.rows}


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
        (put("EEQJ"), "play: 2 elephants, 1 mosquito, 1 joker"),
        (ask("H"), "ask for help with: 1 hedgehog"),
        (give("L"), "give away: 1 lion"),
        (PASS, "pass"),
    ],
)
def test_actions_say_the_cards(action, name):
    assert ACTIONS.name(action) == name


def test_action_names_follow_the_table_of_actions():
    for lay, cards in enumerate(LAYS):
        verb, _, words = ACTIONS.name(lay).partition(": ")
        assert (verb, cards_in_words(words)) == ("play", "".join(sorted(cards, key=SIGNS.index)))
        assert ACTIONS.name(129 + lay) == f"ask for help with: {words}"
    for kind, sign in enumerate(SIGNS):
        verb, _, words = ACTIONS.name(258 + kind).partition(": ")
        assert (verb, cards_in_words(words)) == ("give away", sign)


def test_others_do_not_hear_which_card_is_given():
    """FZ-18."""
    states = Table(4).states
    for action in range(GAME.num_actions):
        is_gift = 258 <= action < PASS
        expected = "give away a card" if is_gift else ACTIONS.name(action)
        assert GAME.public_action_name(states, 0, action) == expected


# ---------------------------------------------------------------------------------------------
# The cards
# ---------------------------------------------------------------------------------------------


@memory_modes
@pytest.mark.parametrize("num_players", [3, 7])
def test_the_grid_of_kinds_is_what_the_player_knows(num_players, memory):
    deck = DECK_OF_THREE if num_players == 3 else DECK
    seen = 0
    for number, states in game_states(range(3), num_players, target_score=8):
        s, player = states[0], number % num_players
        columns = columns_of(GAME.scene(states, 0, player, MEMORY_MODES.index(memory)).grids[0])
        assert columns.pop("") == list(KINDS)
        assert columns.pop("your hand") == s["hand"][player].tolist()
        assert columns.pop("trick") == s["trick"].tolist()
        if memory == "perfect":
            elsewhere = s["hand"].sum(axis=0) - s["hand"][player]
            if s["alone"] not in (NOBODY, player):
                elsewhere += s["given"][s["alone"]]
            assert columns.pop("elsewhere") == elsewhere.tolist()
            captured = s["captured"].sum(axis=0)
            assert columns.pop("played") == (s["trick"] + captured).tolist()
        else:
            out_of_sight = np.array([deck[sign] for sign in SIGNS])
            out_of_sight -= s["hand"][player] + s["trick"]
            if s["asker"] != NOBODY:
                out_of_sight -= [LAYS[s["request"]].count(sign) for sign in SIGNS]
            assert columns.pop("out of sight") == out_of_sight.tolist()
        beaters = [", ".join(BEATEN_BY[name]) or "nothing" for name in ANIMAL_NAMES]
        assert columns.pop("beaten by") == [*beaters, "like what it is added to"]
        assert not columns
        seen += 1
    assert seen > 200


@memory_modes
@pytest.mark.parametrize("num_players", [3, 7])
def test_every_card_lies_where_the_player_knows_it(num_players, memory):
    """All cards are on the scene: with their names if the player has located them."""
    seen = dict.fromkeys(["face down", "known", "captured", "request", "laid down", "end"], 0)
    for number, states in game_states(range(4), num_players, target_score=8):
        s, player = states[0], number % num_players
        remembers = memory == "perfect"
        scene = GAME.scene(states, 0, player, MEMORY_MODES.index(memory))
        known = located(states, player) if remembers or s["terminated"] else np.zeros((7, 13), int)
        known[player] = s["hand"][player]
        for q in range(num_players):
            zones = zones_of_seat(scene, q)
            hidden = int(s["hand_size"][q] - known[q].sum())
            assert zones.pop("hand", "") == cards_of(known[q]) + "?" * hidden
            if remembers:
                captured = zones.pop("captured cards", "")
                assert captured == cards_of(s["captured"][q])
                seen["captured"] += captured != ""
            if q == s["alone"] and s["given"][q].any():
                is_known = remembers and q == player
                assert zones.pop("cards laid down") == (
                    cards_of(s["given"][q]) if is_known else "??"
                )
                seen["laid down"] += is_known
            assert not zones
            seen["face down"] += hidden > 0
            seen["known"] += q != player and known[q].any()
        trick = zones_of(scene)
        request = trick.pop("request", "")
        assert in_order("".join(trick.values())) == cards_of(s["trick"])
        if s["phase"] == TURN and not s["terminated"]:
            assert trick
        assert request == in_order("" if s["asker"] == NOBODY else LAYS[s["request"]])
        seen["request"] += request != ""
        seen["end"] += bool(s["terminated"] and s["hand_size"].sum() > s["hand_size"][player])
    expected = {"face down", "end", "known"}
    expected |= {"captured"} if memory == "perfect" else set()
    expected |= {"request"} if num_players > 3 else set()
    expected |= {"laid down"} if num_players == 7 and memory == "perfect" else set()
    assert {what for what, count in seen.items() if count} == expected


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
    for number, states in game_states(range(4), 5, target_score=8):
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
    for number, states in game_states(range(4), 5, target_score=8):
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


# ---------------------------------------------------------------------------------------------
# What is known of the hands
# ---------------------------------------------------------------------------------------------


def knowledge(table, player):
    """The notes on gifts and on what others know."""
    about = r"You gave|Player \d gave|What player \d has laid down|Everybody"
    return [note for note in scene_of(table, player).notes if re.match(about, note)]


def test_gifts_are_told_to_both_partners_and_to_nobody_else():
    """FZ-18. Of five players 0 and 3 are a pair, 1 and 4, and 2 is alone."""
    table = Table.deal_out("LFF", "", "HHI", "CMMJ", "", hand_number=2)
    table.play(give("M"), give("M"))
    assert knowledge(table, 0) == ["Player 3 gave you 2 mice."]
    assert knowledge(table, 3) == ["You gave 2 mice to player 0."]
    assert zones_of_seat(scene_of(table, 3), 0) == {"hand": "MM" + 12 * "?"}
    table.play(give("L"), give("M"))
    assert knowledge(table, 0) == [
        "You gave 1 lion, 1 mouse to player 3.",
        "Player 3 gave you 2 mice.",
    ]
    assert zones_of_seat(scene_of(table, 0), 3) == {"hand": "LM" + 10 * "?"}
    assert knowledge(table, 3) == [
        "You gave 2 mice to player 0.",
        "Player 0 gave you 1 lion, 1 mouse.",
    ]
    # One of the mice has come back.
    assert zones_of_seat(scene_of(table, 3), 0) == {"hand": "M" + 11 * "?"}
    for player in (1, 2, 4):
        assert knowledge(table, player) == []
        for q in (0, 3):
            assert zones_of_seat(scene_of(table, player), q) == {"hand": 12 * "?"}
    while table.current_player != 2:
        table.play(table.legal()[0])
    table.play(give("H"), give("I"))
    for player in range(5):
        laid_down = zones_of_seat(scene_of(table, player), 2)["cards laid down"]
        assert laid_down == ("HI" if player == 2 else "??")
        note = "What player 2 has laid down is counted as elsewhere."
        assert knowledge(table, player).count(note) == (player != 2)
    assert "\nYour cards laid down: 1 hedgehog, 1 fish (they count as captured).\n" in told(
        table, 2
    )


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
    assert scene_of(table, 1).prompt == "Player 2 is to lay down the first of two cards."
    assert scene_of(table, 2).prompt == "Your turn: lay down the first of two cards."
    table.play(give("H"))
    assert scene_of(table, 1).prompt == "Player 2 is to lay down the second of two cards."
    assert scene_of(table, 2).prompt == (
        "Your turn: lay down the second of two cards; the first is 1 hedgehog."
    )


def laid_out(**more):
    """Four players: 0 is the senior of 2, 1 that of 3, and 2 is to play on two mice of 1."""
    return Table.lay_out(
        "HHS", "CC", "HHJB", "OOI", last="MM", owner=1, hand_number=2, **{"rest_to": 3, **more}
    )


MICE_ARE_BEATEN_BY = (
    "beaten by 2 crocodiles, 2 polar bears, 2 lions, 2 seals, 2 foxes, 2 hedgehogs or 3 mice"
)


def test_a_request_is_told_to_everybody():
    table = laid_out(trick="IP")
    scene = scene_of(table, 2)
    assert zones_of(scene) == {"last set": "MM", "trick beneath it": "PI"}
    assert scene.zones[0].note == f"of player 1; {MICE_ARE_BEATEN_BY}"
    assert scene.zones[0].highlight
    assert scene.prompt == "Your turn: beat the last set, ask player 0 for help, or pass."
    assert scene_of(table, 0).prompt == (
        "Player 2 is to beat the last set, ask you for help, or pass."
    )
    table.play(ask("H"))
    for player, note, prompt in (
        (0, "player 2 asks you", "Your turn: help player 2 with"),
        (1, "player 2 asks player 0", "Player 0 is to help player 2 with"),
        (2, "you ask player 0", "Player 0 is to help you with"),
    ):
        scene = scene_of(table, player)
        *_, request = scene.zones
        assert (request.name, cards_in(request)) == ("request", "H")
        assert request.note == f"{note} for help"
        assert [zone.highlight for zone in scene.zones] == [False, False, True]
        assert scene.prompt == f"{prompt} cards that complete the set, or refuse: pass."
    assert scene.seats[0].note == "asks for help"
    # The card is neither in the hand nor elsewhere.
    hedgehog = KINDS.index("hedgehog")
    assert columns_of(scene_of(table, 2).grids[0])["your hand"][hedgehog] == 1
    assert columns_of(scene_of(table, 1).grids[0])["elsewhere"][hedgehog] == 3


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


# ---------------------------------------------------------------------------------------------
# The players and the course
# ---------------------------------------------------------------------------------------------


@memory_modes
@pytest.mark.parametrize(("num_players", "partners"), [(3, True), (4, False), (7, True)])
def test_the_seats_show_what_lies_open(num_players, partners, memory):
    options = {"partners": partners, "target_score": 8}
    deeds = set()
    for number, states in game_states(range(3), num_players, **options):
        s, player = states[0], number % num_players
        has_pairs = partners and num_players > 3 and s["hand_number"] > 1
        shows_captured = memory == "perfect" and (has_pairs or num_players == 3)
        for seat in GAME.scene(states, 0, player, MEMORY_MODES.index(memory)).seats:
            owner, row = seat.player, dict(seat.counters)
            assert row.pop("points") == s["totals"][owner]
            assert row.pop("rank") == s["rank"][owner] + 1
            assert row.pop("cards") == s["hand_size"][owner]
            assert row.pop("place") == (str(s["place"][owner]) if s["place"][owner] else "-")
            if shows_captured:
                shown = [row.pop("lions"), row.pop("hedgehogs")]
                assert shown == s["captured"][owner, [LION, HEDGEHOG]].tolist()
            if has_pairs:
                role = "senior" if s["is_senior"][owner] else "junior"
                role = f"{role} of {label_of(s['partner'][owner], player)}"
                assert row.pop("partner") == ("alone" if s["alone"] == owner else role)
            assert not row
            deeds.add(seat.note)
            if s["phase"] != EXCHANGE:
                assert (seat.note == "asks for help") == (s["asker"] == owner)
                assert (seat.note == "last set") == (s["owner"] == owner)
                passed = s["has_passed"][owner] == 1 and s["asker"] != owner
                assert (seat.note == "passed") == passed
    expected = {"", "last set", "passed"}
    if partners and num_players > 3:
        expected |= {"asks for help", "has given"}
    assert deeds == expected


@pytest.mark.parametrize(
    ("num_players", "options", "fields", "enough", "counts"),
    [
        (3, {}, {}, "a player has 19", "Lions and hedgehogs count in this hand."),
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
def test_the_title_and_the_first_notes_tell_the_hand_and_what_counts(
    num_players, options, fields, enough, counts
):
    table = Table.deal_out(*[""] * num_players, options=options, **fields)
    number = fields.get("hand_number", 1)
    points = "point" if enough.endswith(" 1") else "points"
    scene = scene_of(table, 1)
    assert scene.title == f"Frank's Zoo, hand {number}"
    assert scene.notes[:2] == (f"The game ends when {enough} {points}.", counts)


# ---------------------------------------------------------------------------------------------
# The trick
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "cards", "note"),
    [
        ("OOOOOJ", "5 orcas, 1 joker", "counts as 6 orcas; nothing beats it"),
        ("EQJ", "1 elephant, 1 mosquito, 1 joker",
         "counts as 3 elephants; beaten by 4 elephants or 3 mice"),
        ("QJ", "1 mosquito, 1 joker",
         "counts as 2 mosquitoes; beaten by 2 hedgehogs, 2 fish, 2 mice or 3 mosquitoes"),
        ("HH", "2 hedgehogs", "beaten by 2 foxes or 3 hedgehogs"),
    ],
)  # fmt: skip
def test_the_last_set_is_told_with_what_beats_it(last, cards, note):
    table = Table.lay_out("CF", "CM", "CI", "CL", last=last, owner=3, passed=(0,), player=1)
    for player, whose in ((1, "of player 3"), (3, "yours")):
        (zone,) = scene_of(table, player).zones
        assert (zone.name, cards_in(zone), zone.note) == ("last set", last, f"{whose}; {note}")
        text = " ".join(told(table, player).split())
        assert f" Last set: {cards} ({whose}; {note}). " in text
    assert scene_of(table, 1).prompt == "Your turn: beat the last set, or pass."
    assert scene_of(table, 3).prompt == "Player 1 is to beat the last set, or pass."


def test_what_a_senior_can_do_is_told():
    """They cannot ask; nor can a junior whose senior is out."""
    table = Table.lay_out("C", "", "HF", "OOI", last="MM", owner=3, hand_number=2, player=0)
    assert told(table, 0).endswith("\n\nYour turn: beat the last set, or pass.")
    table = Table.lay_out("", "CC", "HF", "OOI", last="MM", owner=1, hand_number=2)
    assert told(table, 2).endswith("\n\nYour turn: beat the last set, or pass.")


# ---------------------------------------------------------------------------------------------
# The end of a hand
# ---------------------------------------------------------------------------------------------


@memory_modes
@pytest.mark.parametrize(("num_players", "partners"), [(3, True), (4, False), (7, True)])
def test_the_last_hand_is_told_with_its_points(num_players, partners, memory):
    options = {"partners": partners, "target_score": 12}
    seen = {1: 0, 2: 0}
    for number, states in game_states(range(4), num_players, **options):
        s, player = states[0], number % num_players
        grids = GAME.scene(states, 0, player, MEMORY_MODES.index(memory)).grids
        if s["hand_number"] == 1 and not s["terminated"]:
            assert len(grids) == 1
            continue
        last = s["hand_number"] - (not s["terminated"])
        assert grids[1].title == f"hand {last}, as it ended"
        lines = lines_of(grids[1])
        order = [(player + k) % num_players for k in range(num_players)]
        assert list(lines) == [label_of(owner, player) for owner in order]
        counted = num_players == 3 or (partners and last > 1)
        for owner, line in zip(order, lines.values(), strict=True):
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


def end_of_a_game():
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
    )
    return table.play(put("S"))


@memory_modes
def test_the_end_of_the_game_tells_the_standing_and_the_cards_that_are_left(memory):
    table = end_of_a_game()
    assert table.terminated
    scene, text = scene_of(table, 1, memory), told(table, 1, memory)
    assert scene.title == "Frank's Zoo, after 5 hands"
    assert scene.grids[1].title == "hand 5, as it ended"
    assert lines_of(scene.grids[1]) == {
        "player 0": {
            "place": 1, "for places": 3, "lions": 2, "hedgehogs": 0, "points": 5, "total": 23,
        },
        "you": {
            "place": 2, "for places": 2, "lions": 0, "hedgehogs": -1, "points": 1, "total": -2,
        },
        "player 2": {
            "place": 3, "for places": 0, "lions": -2, "hedgehogs": 0, "points": -2, "total": 2,
        },
    }  # fmt: skip
    assert text.endswith(
        "\n\nThe game is over. The final standing (the highest total wins):\n"
        "  1.  player 0  23 points\n"
        "  2.  player 2  2 points\n"
        "  3.  you       -2 points"
    )
    assert zones_of_seat(scene, 2)["hand"] == "LLF"
    assert "hand" not in zones_of_seat(scene, 1)
    assert scene.zones == scene.notes == ()
    assert scene.prompt == ""
    for absent in ("to move", "trick.", "Your turn", "count in this hand", "Last set"):
        assert absent not in text
    if memory == "perfect":
        assert "\n(. none, lions and hedgehogs: captured in this hand)\n" in text


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
    assert zones_of_seat(scene_of(table, 5), 0)["hand"] == hand
    *_, own = knowledge(table, 0)
    assert cards_in_words(own[len("Everybody knows that you hold ") : -1]) == hand
