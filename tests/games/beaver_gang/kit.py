"""What the shared tests need to know of Beaver Gang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from card_envs.envs.aec import CardEnv

GAME_NAME = "beaver_gang_v0"

DECK = [4] * 9 + [9, 9, 7, 5]
MAX_PLAYERS, SLOTS, DRAW_TWO, NO_CARD = 6, 4, 12, -1
TURN, DRAWN, KNOCK, OVER = range(4)
KNOCK_NOW, DO_NOT_KNOCK = 95, 96

# ---------------------------------------------------------------------------------------------
# Invariants
# ---------------------------------------------------------------------------------------------


def check_invariants(states: np.ndarray, i: int) -> None:
    """AssertionError if the record cannot be a state of the game."""
    s = states[i]
    check_course(s)
    check_cards(s)
    check_knowledge(s)


def check_course(s: np.void) -> None:
    """Rounds, turns and scores."""
    n, phase = int(s["num_players"]), int(s["phase"])
    assert 0 <= s["current_player"] < n, "somebody is to move"
    assert TURN <= phase <= OVER, "no such phase"
    assert (phase == OVER) == s["terminated"], "it is over at the end only"
    assert (s["round"] == s["rounds"]) == s["terminated"], "the last round ends the game"
    assert 0 <= s["round"] <= s["rounds"], "no such round"
    assert -1 <= s["knocker"] < n, "no such player has knocked"
    has_been_round = s["turns"] >= n
    assert s["knocker"] < 0 or has_been_round, "BG-18: everybody had a turn before the knock"
    assert phase != KNOCK or (s["knocker"] < 0 and has_been_round), "BG-18: a knock is possible"
    assert phase == OVER or s["knocker"] != s["current_player"], "BG-19: no more turns"
    assert (s["standing"] == -s["scores"]).all(), "BG-3: the standing follows from the totals"
    assert (s["round_scores"] >= 0).all(), "no score is negative"
    assert (s["round_scores"] <= 36).all(), "four nines are the most"
    assert not s["scores"][n:].any(), "a score of a seat that does not exist"
    for q in range(n):
        assert 0 <= s["last_turn"][q] <= 17, "no such turn"
        assert 0 <= s["swapped_with"][q] < n, "swapped with nobody"
        assert 0 <= s["swapped_slot"][q] < SLOTS, "no such slot"


def check_cards(s: np.void) -> None:
    """BG-1: every card is there once; at the end, those that BG-20 set aside are missing."""
    n = int(s["num_players"])
    rows, pile = s["row"][:n].ravel(), s["draw_pile"][: s["draw_size"]]
    discards = s["discard_counts"].astype(int)
    hand = [] if s["drawn"] == NO_CARD else [s["drawn"]]
    cards = np.array([*rows, *pile, *hand], int)
    assert ((cards >= 0) & (cards <= DRAW_TWO)).all(), "no such card"
    assert (s["row"][n:] == NO_CARD).all(), "a card of a seat that does not exist"
    counts = np.bincount(cards, minlength=len(DECK)) + discards
    counts[DRAW_TWO] += s["draw_twos"]
    if s["terminated"]:
        assert (counts[:10] == DECK[:10]).all(), "BG-20: numbers are not set aside"
        assert (counts <= DECK).all(), "there are too many cards"
        assert (rows < 10).all(), "BG-20: specials are replaced"
        assert (s["row"] == s["revealed"]).all(), "the rows lie as they were counted"
    else:
        assert counts.tolist() == DECK, "each card is there once"
    assert (discards >= 0).all(), "fewer discards than none"
    assert s["discard_size"] == discards.sum(), "the discards are counted"
    top = int(s["discard_top"])
    assert (top == NO_CARD) == (discards.sum() == 0), "a pile has a top"
    assert top == NO_CARD or discards[top] > 0, "the top is one of the discards"
    is_drawn = s["phase"] == DRAWN
    assert (s["drawn"] != NO_CARD) == is_drawn, "a card is drawn in its phase only"
    assert s["draw_twos"] == 0 or is_drawn, "BG-12: they are discarded at the end of the turn"
    assert not s["first_of_pair"] or s["draw_twos"] > 0, "BG-15: a draw two makes a pair"


def check_knowledge(s: np.void) -> None:
    """Sets of places that exist; numbers are numbers; no card is from a filling to come."""
    n = int(s["num_players"])
    known, in_view, is_number = s["known"][:n], s["in_view"][:n], int(s["is_number"])
    everything = (1 << SLOTS * n) - 1
    for places in (*known, *in_view, is_number):
        assert 0 <= places <= everything, "a place that does not exist"
    assert not (in_view & ~known).any(), "what is in view is known"
    assert not s["terminated"] or (known == everything).all(), "BG-20: all rows are revealed"
    for place in range(SLOTS * n):
        card = s["row"][place // SLOTS, place % SLOTS]
        assert not is_number >> place & 1 or card < 10, "BG-10: what is exchanged is a number"
    filling_of = s["filling_of"]
    assert ((filling_of >= 0) & (filling_of <= s["filling"])).all(), "from a filling to come"
    assert not filling_of[n:].any(), "a card of a seat that does not exist"


# ---------------------------------------------------------------------------------------------
# What is hidden
# ---------------------------------------------------------------------------------------------

HIDDEN = ("row", "drawn", "draw_pile")
USUALLY_OPEN = 20


def cells(states: np.ndarray) -> np.ndarray:
    """Every place of a card, hidden or not: the slots, the drawn card, the pile."""
    s = states[0]
    return np.concatenate([s["row"].ravel(), [s["drawn"]], s["draw_pile"]])


def open_cells(states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Which places may hold another card for all that the player knows, and which surely do not.

    They know of a hidden card: from which filling of the draw pile it came, all cards that they
    have not seen of that filling, and of some that they are numbers. So a place is open if its card
    can change places with a different one of its filling.
    """
    s = states[0]
    players, slots = s["row"].shape
    cards = cells(states)
    hidden = np.zeros(len(cards), bool)
    filling = np.full(len(cards), s["filling"], np.int64)
    is_number = np.zeros(len(cards), bool)
    for owner in range(s["num_players"]):
        for slot in range(slots):
            place = owner * slots + slot
            hidden[place] = not s["known"][player] >> place & 1
            filling[place] = s["filling_of"][owner, slot]
            is_number[place] = s["is_number"] >> place & 1
    drawn = players * slots
    hidden[drawn] = s["drawn"] >= 0 and s["current_player"] != player
    hidden[drawn + 1 : drawn + 1 + s["draw_size"]] = True
    fits = ~is_number[:, None] | (cards < 10)[None, :]  # [place, place of the new card]
    exchangeable = (
        (hidden[:, None] & hidden[None, :])
        & (filling[:, None] == filling[None, :])
        & (cards[:, None] != cards[None, :])
        & fits
        & fits.T
    )
    beyond = np.zeros(len(cards), bool)  # the array's unused end
    beyond[drawn + 1 + s["draw_size"] :] = True
    is_open = exchangeable.any(axis=1)
    return is_open, ~is_open & ~beyond


# ---------------------------------------------------------------------------------------------
# What can happen
# ---------------------------------------------------------------------------------------------

LONG_GAME = 150
HEURISTIC_REWARD = 0.5
LARGEST_SCORE = 1.0
SITUATIONS = {
    "knock": (2, lambda before, after: before["knocker"] < 0 <= after["knocker"]),
    "end of a round": (2, lambda before, after: after["round"] > before["round"]),
    "end of the game": (2, lambda before, after: after["terminated"]),
    "draw two": (2, lambda before, after: after["draw_twos"] > before["draw_twos"]),
    "draw two within a draw two": (2, lambda before, after: after["draw_twos"] > 1),
    "reshuffle": (2, lambda before, after: after["filling"] > before["filling"]),
}

#: Of ``last_turn``, that players swap a card with themselves.
CONSTANT_VALUES = {"seats": 2, "last_turn": 6}


def special_positions() -> Iterator[tuple[int, np.ndarray]]:
    """Each kind of card in each place, known to everybody: specials are seldom known."""
    from games.beaver_gang.table import DECK as CARDS
    from games.beaver_gang.table import Table

    cards = "".join(sorted(CARDS.elements()))
    everything = dict.fromkeys(range(MAX_PLAYERS), (1 << SLOTS * MAX_PLAYERS) - 1)
    for k in range(0, len(cards), 3):
        turned = cards[k:] + cards[:k]
        rows = [turned[SLOTS * q : SLOTS * q + SLOTS] for q in range(MAX_PLAYERS)]
        yield MAX_PLAYERS, Table.lay_out(*rows, known=everything).states


# ---------------------------------------------------------------------------------------------
# Frozen and written games
# ---------------------------------------------------------------------------------------------

FROZEN_SEED = 20240
FROZEN = {
    (2, "usual"): "a0b0068c5717d5bad052c06f3e50c520f9fa3c4cd252c18f0e0174401c44663c",
    (3, "usual"): "7d7b9c3380138eff4747e5b1aa7dd1baf2fb05b558d471ec83d28beb48bd3ccb",
    (4, "usual"): "f99b4bb9fc02dd49993ba50306332c64e8f33cc2240d6398fd7cb6c8e2a22866",
    (5, "usual"): "9fbdf10dcf4e6f336bccf727f92bb11b2a40bf742d05e6a89d9f38f740cc758b",
    (6, "usual"): "1ad137c6c1163597927b11f0733106f211fcc38232365ddd143d4f647138e80d",
}
FROZEN_OBSERVATIONS = {
    (2, "usual"): "121d7850745cbb3e2b671ba83e1c5b65cce44eabaaa9df934d62e3ee922402d1",
    (3, "usual"): "f0896a197f37fc56f333fbfb9b84580a7992c7dd6daec2db19f22bec272a4bd7",
    (4, "usual"): "75ad001e7ebb5194987c975c9b5388ddd7be062e51475603196542f165127bcd",
    (5, "usual"): "cb5f742ce68d7c68e8b324bdd2ac5d6f3d75d02c9d4d08203178e387366c8583",
    (6, "usual"): "162e4d40d681832105c766b79557aee80e817caf781fd091d26720eda957f456",
}
NOT_FROZEN = {"usual": {"reshuffle"}}

#: ``first_knock``: the first decision that may be a knock: the games would be very short otherwise.
PLAYTHROUGHS = [
    {
        "num_players": 2,
        "seed": 39,
        "options": {"rounds": 2},
        "first_knock": 20,
        "readable": True,
    },
    {"num_players": 3, "seed": 30, "options": {"rounds": 1}, "first_knock": 160},
    {"num_players": 4, "seed": 82, "options": {"rounds": 1}, "first_knock": 40},
    {
        "num_players": 5,
        "seed": 38,
        "options": {"rounds": 1},
        "memory": "none",
        "first_knock": 40,
    },
    {"num_players": 6, "seed": 38, "options": {"rounds": 1}, "first_knock": 40},
]
HOW = (
    "Players with even numbers follow the heuristic, the others choose at random; nobody knocks "
    "before decision {first_knock}."
)

SHOWN = {
    r"^Action: \d+ \(take the discard": 4,
    r"^Action: 4 \(draw\)": 4,
    r"^Action: 5 \(discard": 4,
    r"^Action: \d+ \(exchange": 4,
    r"^Action: \d+ \(swap": 4,
    r"^Action: \d+ \(peek at": 4,
    r"^Action: 94 \(carry out draw two\)": 4,
    r"^Action: 95 \(knock\)": 4,
    r"^Action: 96 \(do not knock\)": 4,
    r"^Your cards under way: 2 draw twos\.": 1,
    r"^Your drawn card: .* \(the first of two\)\.": 4,
    r"^Player \d also knows .*your slot": 4,
    r"since before the last reshuffle": 1,
}


def plays_instead(env: CardEnv, number: int, action: int, playthrough: Mapping[str, Any]) -> int:
    """Nobody knocks before the first decision that may be a knock."""
    is_early = number < playthrough["first_knock"]
    return DO_NOT_KNOCK if action == KNOCK_NOW and is_early else action
