"""What the shared tests need to know of Animalia."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from card_envs.envs.aec import CardEnv
from card_envs.games.animalia.legal import legal_action_mask
from card_envs.games.animalia.state import (
    BRING_IN,
    FULL,
    GIVE,
    LOT,
    OWL_FAMILY,
    RECEIVE,
    STEAL,
    TAKE_OUT,
)

GAME_NAME = "animalia_v0"

NUM_CARDS, NUM_FAMILIES, NUM_MEMBERS, OWL, CUTE = 36, 5, 7, 35, 2
MAX_PLAYERS, MAX_LOT, CARDS_SPIED = 6, 3, 3

# ---------------------------------------------------------------------------------------------
# Invariants
# ---------------------------------------------------------------------------------------------


def check_invariants(states: np.ndarray, i: int) -> None:
    """AssertionError if the record cannot be a state of the game."""
    s = states[i]
    n = int(s["num_players"])
    assert 0 <= s["current_player"] < n, "somebody is to move"
    assert 0 < s["season"] <= s["seasons"] <= 10, "there is no such season"
    assert 0 <= s["dealer"] < n, "somebody deals"
    check_medals(s)
    check_past(s)
    check_deck(s)
    check_cards(s)
    check_decision(s)
    if not (s["terminated"] or s["truncated"]):
        legal = legal_action_mask(states, i, np.zeros(49, np.int8))
        assert legal > 1, "AN-10: a decision with one legal action is no step"


def check_medals(s: np.void) -> None:
    """AN-17, AN-19: no more than can be won, and points and standing that follow from them."""
    n = int(s["num_players"])
    group = 7 if n == 2 else 5
    seasons = s["season"] if s["terminated"] else s["season"] - 1
    medals, of_season = s["medals"].astype(int), s["season_medals"].astype(int)
    assert (of_season >= 0).all(), "medals are not taken away"
    assert (of_season <= medals).all(), "last season's medals are among all"
    assert (medals.sum(axis=1) <= 10 * seasons).all(), "more medals than animals"
    assert not medals[n:].any(), "medals of a seat that does not exist"
    excellence = 5 * (medals // group).sum(axis=1)
    at_end = excellence * bool(s["terminated"])
    assert (s["season_points"] - of_season.sum(axis=1) == at_end).all(), "points of last season"
    standing = 1000 * (medals.sum(axis=1) + excellence) + medals.max(axis=1)
    assert (s["standing"] == standing).all(), "the standing follows from the medals"


def check_past(s: np.void) -> None:
    """Cards are noted at the end of earlier seasons only."""
    for name in ("shown", "left_over"):
        assert ((s[name] >= 0) & (s[name] < s["season"])).all(), f"{name} in a season to come"


def check_deck(s: np.void) -> None:
    """Each card in play has one place; who holds it, since when, and who saw it fit together."""
    n = int(s["num_players"])
    size = 36 if n > 4 else 31
    deck, drawn, deck_size = s["deck"].tolist(), int(s["drawn"]), int(s["deck_size"])
    assert 0 <= drawn <= deck_size <= size, "the pile ends before it begins"
    in_play = [c for c in range(NUM_CARDS) if n > 4 or c == OWL or c % NUM_MEMBERS != CUTE]
    assert sorted(deck[:size]) == in_play, "AN-2: each card in play is there once"
    assert deck[size:] == [-1] * (NUM_CARDS - size), "cards that are not in play"
    located = np.maximum(s["shown"], s["left_over"])
    onlookers = (1 << n) - 1
    seen_of: dict[tuple[int, int], int] = {}
    for place in range(NUM_CARDS):
        card, holder = deck[place], int(s["holder"][place])
        since, seen = int(s["since"][place]), int(s["seen"][place])
        assert -1 <= holder < n, "no such holder"
        assert seen & ~onlookers == 0, "no such onlooker"
        if place >= size:
            assert (holder, since, seen) == (-1, 0, 0), "a place without a card"
        if drawn <= place < deck_size:
            assert holder == -1, "an undrawn card is nobody's"
            if place > drawn:
                above = int(s["seen"][place - 1])
                assert seen & ~above == 0, "who saw a card of the pile saw all above it"
                assert seen == 0 or place < drawn + CARDS_SPIED, "spies see three cards"
        if holder == -1:
            assert since == 0, "only bonus cards have a season"
            continue
        if place < deck_size:
            assert since == s["season"], "a bonus card of this season"
        else:
            assert 0 < since < s["season"], "a bonus card that was kept"
        first_ones = seen_of.setdefault((holder, since), seen)
        assert seen & ~first_ones == 0, "of what was drawn together spies saw the first ones"
        seen_of[holder, since] = seen
        for player in set(range(n)) - {holder}:
            is_possible = seen >> player & 1 or located[player, card] < since
            assert is_possible, "a kept card was located elsewhere"


def check_cards(s: np.void) -> None:
    """Each card is in one collection, the lot, replaced, a bonus card or undrawn."""
    n = int(s["num_players"])
    collections = s["collection"].tolist()
    each = 2 if n == 2 else 1
    assert max(c.bit_count() for c in collections) <= FULL, "a collection is too large"
    assert not any(collections[each * n :]), "cards in a collection that does not exist"
    places = range(NUM_CARDS)
    bonus = [
        sum(1 << int(s["deck"][k]) for k in places if s["holder"][k] == player)
        for player in range(MAX_PLAYERS)
    ]
    assert s["bonus"].tolist() == bonus, "the bonus cards are those of the deck's places"
    sets = [*collections, int(s["lot"]), int(s["replaced"]), *bonus]
    pile = s["deck"][s["drawn"] : s["deck_size"]].tolist()
    cards = [c for some in sets for c in places if some >> c & 1] + pile
    assert sorted(cards) == sorted(s["deck"][: 36 if n > 4 else 31]), "each card is there once"


def check_decision(s: np.void) -> None:
    """The other entries are as the phase has them."""
    n, player, phase = int(s["num_players"]), int(s["current_player"]), int(s["phase"])
    each = 2 if n == 2 else 1
    sizes = [int(c).bit_count() for c in s["collection"][: each * n]]
    room = [FULL - min(sizes[each * q : each * q + each]) for q in range(n)]
    incomplete = sum(r > 0 for r in room)
    lot = int(s["lot"]).bit_count()
    assert LOT <= phase <= OWL_FAMILY, "no such phase"
    assert -1 <= s["owl_family"] < NUM_FAMILIES, "no such family"
    assert (phase == LOT) == (lot > 0), "there is a lot exactly when it is about the lot"
    assert lot <= MAX_LOT, "AN-5: at most three cards"
    assert not s["must_take"] or phase == LOT, "only a lot must be taken"
    assert (phase in (RECEIVE, TAKE_OUT)) == (s["chosen"] != -1), "a card is chosen"
    is_power = phase in (STEAL, GIVE, RECEIVE)
    assert is_power == (s["taken_into"] != -1), "a collection triggered the power"
    assert s["taken_into"] < each * n, "no such collection"
    assert not is_power or s["taken_into"] // each == player, "of the player to move"
    assert not s["may_give"] or is_power, "a prankster acts with the powers only"
    assert s["may_give"] or phase not in (GIVE, RECEIVE), "without a prankster no gift"
    if s["chosen"] != -1:
        source = s["bonus"][player] if phase == TAKE_OUT else s["collection"][s["taken_into"]]
        assert int(source) >> int(s["chosen"]) & 1, "the chosen card is elsewhere"
    own = [int(c) for c in s["collection"][each * player : each * player + each]]
    assert phase != OWL_FAMILY or any(c >> OWL & 1 for c in own), "the owl is elsewhere"
    if s["terminated"]:
        assert s["season"] == s["seasons"], "the last season"
        assert phase >= BRING_IN, "the last phase"
    if phase >= BRING_IN:
        assert incomplete == 0, "AN-9: all are complete"
        return
    assert s["replaced"] == 0, "nothing is replaced in phase 1"
    size = 36 if n > 4 else 31
    assert all(s["holder"][: s["deck_size"]] == -1), "no bonus cards of this season yet"
    assert all(s["holder"][s["deck_size"] : size] != -1), "behind the deck is what was kept"
    assert s["deck_size"] >= FULL * each * n, "the pile lasts"
    if phase == LOT:
        assert lot <= room[s["dealer"]], "AN-6: the dealer has room for it"
        assert room[player] > 0, "AN-7: who is complete is skipped"
        must_take = incomplete == 1
        if player == s["dealer"] and lot in (MAX_LOT, room[player]):
            must_take |= bool(s["must_take"])  # it came back to them
        assert s["must_take"] == must_take, "AN-5, AN-6, AN-8: who must take the lot"


# ---------------------------------------------------------------------------------------------
# What is hidden
# ---------------------------------------------------------------------------------------------

HIDDEN = ("deck", "bonus", "chosen", "left_over")
USUALLY_OPEN = 10
LONG_GAME = 80
HEURISTIC_REWARD = 0.5


def cells(states: np.ndarray) -> np.ndarray:
    """The card at each place of the deck, each player's bonus cards, the chosen card, and what
    spies saw that was left over in earlier seasons."""
    s = states[0]
    return np.concatenate([s["deck"], s["bonus"], [s["chosen"]], s["left_over"].ravel()])


def hidden_places(states: np.ndarray, player: int) -> np.ndarray:
    """Which places of the deck hold a card that the player has not located: undrawn, or another's
    bonus card, and not seen by their spies."""
    s = states[0]
    place = np.arange(len(s["deck"]))
    is_undrawn = (s["drawn"] <= place) & (place < s["deck_size"])
    is_others = (s["holder"] >= 0) & (s["holder"] != player)
    return (is_undrawn | is_others) & (s["seen"] >> player & 1 == 0)


def may_hold(states: np.ndarray, player: int) -> np.ndarray:
    """Whether a place could hold the card of another (place, place of the card), if both are
    hidden: a bonus card that was kept has not been located at the end of a season since."""
    s = states[0]
    hidden = hidden_places(states, player)
    located = np.maximum(s["shown"], s["left_over"][player])[s["deck"]]
    fits = (s["since"] == 0)[:, None] | (located < s["since"][:, None])
    return hidden[:, None] & hidden & fits


def open_cells(states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Hidden places can exchange cards in a circle; so can another's bonus cards, if not all of
    the circle is theirs. Of two or more, any may be the chosen one. What others' spies saw is
    forgotten (it matters to nobody else)."""
    s = states[0]
    reaches = may_hold(states, player)
    for _ in range(6):  # circles of any length
        reaches |= (reaches.astype(int) @ reaches) > 0
    together = reaches & reaches.T & ~np.eye(len(reaches), dtype=bool)
    owners = np.arange(len(s["bonus"]))
    is_theirs = s["holder"] == owners[:, None]
    bonus = (is_theirs[:, :, None] & together & ~is_theirs[:, None, :]).any(axis=(1, 2))
    mover = s["current_player"]
    is_brought_in = s["phase"] == TAKE_OUT and mover != player
    chosen = is_brought_in and (int(s["bonus"][mover]).bit_count() > 1 or bool(bonus[mover]))
    left_over = (s["left_over"] > 0) & (owners != player)[:, None]
    is_open = np.concatenate([together.any(axis=1), bonus, [chosen], left_over.ravel()])
    return is_open, ~is_open


# ---------------------------------------------------------------------------------------------
# What can happen
# ---------------------------------------------------------------------------------------------

BEYOND_WORDS = ("located",)
FOLLOW_IN_WORDS = ("bonus", "lot", "points")
USUAL_LENGTH = 220


def has_ended_a_season(before: np.void, after: np.void) -> bool:
    return bool(after["season"] > before["season"] or after["terminated"])


def reached_elegance(before: np.void, after: np.void) -> bool:
    return bool(before["phase"] < BRING_IN <= after["phase"])


def has_lost_a_card(before: np.void, after: np.void, *, size: int = 0) -> bool:
    """Within phase 1: to a thief, out of a collection of at least this size."""
    if before["phase"] != STEAL or before["season"] < after["season"]:
        return False
    pairs = zip(before["collection"], after["collection"], strict=True)
    return any(
        int(held).bit_count() >= size and held & ~now and place != before["taken_into"]
        for place, (held, now) in enumerate(pairs)
    )


def has_not_stolen(before: np.void, after: np.void) -> bool:
    is_theft = before["phase"] == STEAL and before["season"] == after["season"]
    return bool(is_theft) and not has_lost_a_card(before, after)


def has_spied(before: np.void, after: np.void) -> bool:
    same_season = before["season"] == after["season"]
    return same_season and bool((before["seen"] != after["seen"]).any())


def has_dealt_what_was_spied(before: np.void, after: np.void) -> bool:
    """Somebody gets a bonus card that another one's spy saw."""
    is_dealt = (before["holder"] < 0) & (after["holder"] >= 0)
    others = after["seen"] & ~(1 << np.maximum(after["holder"], 0))
    return reached_elegance(before, after) and bool((is_dealt & (others != 0)).any())


def has_used_up_the_pile(before: np.void, after: np.void) -> bool:
    return reached_elegance(before, after) and bool(after["drawn"] == after["deck_size"])


def has_kept_bonus_cards(before: np.void, after: np.void) -> bool:
    return bool(before["season"] < after["season"] and after["bonus"].any())


SITUATIONS = {
    "lot of two": (2, lambda before, after: int(after["lot"]).bit_count() == 2),
    "lot of three": (2, lambda before, after: int(after["lot"]).bit_count() == 3),
    "spied cards": (2, has_spied),
    "theft": (2, has_lost_a_card),
    "theft that reopens a collection": (2, partial(has_lost_a_card, size=FULL)),
    "theft not made": (2, has_not_stolen),
    "gift": (2, lambda before, after: before["phase"] == RECEIVE),
    "bonus cards": (2, reached_elegance),
    "draw pile that bonus cards use up": (6, has_used_up_the_pile),
    "bonus card that another one spied": (2, has_dealt_what_was_spied),
    "bonus card brought in": (2, lambda before, after: before["phase"] == TAKE_OUT),
    "owl named": (2, lambda before, after: before["phase"] == OWL_FAMILY),
    "owl not named": (
        2,
        lambda before, after: has_ended_a_season(before, after) and before["phase"] != OWL_FAMILY,
    ),
    "end of a season": (2, has_ended_a_season),
    "bonus cards kept": (2, has_kept_bonus_cards),
    "end of the game": (2, lambda before, after: after["terminated"]),
}

#: Of ``bonus_spied`` the entries of a holder as their own spy.
CONSTANT_VALUES = {"seats": 2, "bonus_spied": 18}


def special_positions() -> Iterator[tuple[int, np.ndarray]]:
    """Positions for values of the observation that hardly any other has."""
    yield from spied_cards_and_large_families()
    yield from bonus_cards_of_all_ages()


def spied_cards_and_large_families() -> Iterator[tuple[int, np.ndarray]]:
    """Three cards of the draw pile are known while a gift follows; and two players with four or
    five of a family in each collection, and medals that a group lacks three of."""
    from games.animalia.table import ANIMALS, CARDS, MEMBERS, Table

    for k in range(len(CARDS)):
        cards = CARDS[k:] + CARDS[:k]
        pile = ", ".join(cards[:3])
        more = {"phase": GIVE, "taken_into": 0, "pile": pile, "seen": {0: pile}}
        yield 6, Table.lay_out(cards[3], *[""] * 5, **more).states
    members = [member for member in MEMBERS if member != "cute"]
    for k, alike in itertools.product(range(len(ANIMALS)), (4, 5)):
        *animals, other = ANIMALS[k:] + ANIMALS[:k]
        rows = [
            ", ".join([f"{animal} {member}" for member in members[:alike]])
            + f", {other} {members[number]}" * (5 - alike)
            for number, animal in enumerate(animals)
        ]
        more = {"bonus": {1: "owl"}, "season": 3, "medals": [[4] * 5] * 2}
        yield 2, Table.lay_out(rows[:2], rows[2:], **more).states


def bonus_cards_of_all_ages() -> Iterator[tuple[int, np.ndarray]]:
    """The last of ten seasons: a player has kept six bonus cards; spies saw the newest."""
    from games.animalia.table import CARDS, Table

    for k in range(len(CARDS)):
        cards = CARDS[k:] + CARDS[:k]
        more = {
            "kept": {0: ", ".join(cards[:6])},
            "since": dict(
                zip(cards, [(9, 8, 7, 6, 5, 4), (9, 8, 4, 3, 2, 1)][k % 2], strict=False)
            ),
            "seen": {1 + k % 5: ", ".join(cards[:3]), 1 + (k + 2) % 5: cards[0]},
            "season": 10,
            "options": {"seasons": 10},
        }
        yield 6, Table.lay_out(*[""] * 6, lot=cards[-1], **more).states


# ---------------------------------------------------------------------------------------------
# Frozen and written games
# ---------------------------------------------------------------------------------------------

FROZEN_SEED = 60
FROZEN = {
    (2, "usual"): "17f588869894100f886b1a1bee9ff6596199ebe3bb01e5c855868847054b457b",
    (3, "usual"): "d23ce5f33f9302fed5a4cb00f62a9473b3aa97075f7b33fbee5b64149f1977f9",
    (4, "usual"): "892e8bb7f126a3dbbb9f3118cc8fa1df5fe92f2b5464c0e88a37534340dfd533",
    (5, "usual"): "1f4a5c4571c260909437fe3a9c12a3b007f92929ab161655db061dfc3b7b9f81",
    (6, "usual"): "02cf9b291ec1d78c6b935b68afcaad1dbbadb527570acfc66080d5ff7430b573",
}
FROZEN_OBSERVATIONS = {
    (2, "usual"): "273fcbfcaac27ab2f35567ceddc157276b449abf91b2c56033f4a29555bc2bd1",
    (3, "usual"): "d953db0aee09a8f298acf066dcb762fa316b5aedcdb90ba20820ba9df49d896e",
    (4, "usual"): "6f7806aed02c49165bcaefe4f229c87c8095a04204bfb4caa59005ff4a1244fa",
    (5, "usual"): "8897690f9967c940706c4697ea48a919807d93745dd6da96adfa5e91711002e6",
    (6, "usual"): "2fffc428009e272b6e7ee77baf4843d5109eaf914f69a55d9562ac1551042993",
}

PLAYTHROUGHS = [
    {
        "num_players": 2,
        "seed": 16,
        "options": {"seasons": 2, "reward": "score"},
        "readable": True,
    },
    {"num_players": 3, "seed": 2},
    {"num_players": 4, "seed": 20, "memory": "none"},
    {"num_players": 5, "seed": 5, "options": {"seasons": 2, "reward": "score"}},
    {"num_players": 6, "seed": 27, "options": {"seasons": 2}},
]

SHOWN = {
    r"^Action: 0 \(pass\)": 100,
    r"^Action: 1 \(take the lot ": 50,
    r"^Action: 2 \(take the lot ": 10,
    r"take the lot \([^,)]+, [^,)]+, [^,)]+\)": 10,
    r"If it comes back to you, you\s+must take it\.": 4,
    r"^Your turn: take the lot \([a-z ,]+\)\s+into your collection \d or \d\.$": 1,
    r"^Your turn: take the lot \([a-z ,]+\)\s+into your collection 2, or pass\.": 1,
    r"^Draw pile: .*\(the next card first\)": 8,
    r"^Your turn: use the power of a thief.*(\n  .*)?\n\n.*\nAction: \d+ \(card: ": 4,
    r"^Your turn: use the power of a thief.*(\n  .*)?\n\n.*\nAction: 0 ": 1,
    r"The\s+power\s+of\s+a\s+prankster\s+follows\.": 1,
    r"^Your turn: use the power of a prankster.*(\n  .*)?\n\n.*\nAction: \d+ \(card: ": 4,
    r"^Your turn: use the power of a prankster.*(\n  .*)?\n\n.*\nAction: 0 ": 1,
    r"^Your turn: bring in .*\n\n.*\nAction: \d+ \(card: ": 4,
    r"^Your turn: bring in .*\n\n.*\nAction: 0 ": 4,
    r"^A bonus card from season \d that you have not seen can only be: ": 2,
    r"'s bonus cards.*: .*(?<!face-down card)(?<!face-down cards)\^\d": 1,
    r"^Action: \d+ \(the owl counts as: ": 6,
    r"^The medals of season 2": 5,
    r"^  (you|player \d) .* 5 +\d+$": 2,
    r"^Rewards: \{'player_0': -?0\.\d": 1,
    r", \? not remembered": 10,
}


def shows_table(env: CardEnv, number: int) -> bool:
    """Whether a decision is written with the table before it: those about powers and bonus cards,
    those about a lot while somebody's spies know the next card, and some others."""
    s = env.states[0]
    return bool(s["phase"] != LOT or s["seen"][s["drawn"]] or number % 12 == 0)


def in_short(env: CardEnv) -> list[str]:
    """What is written in place of the table: what is to be decided, the lot with it."""
    return [str(env.render()).rpartition("\n\n")[2]]
