"""What the shared tests need to know of Frank's Zoo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from card_envs.envs.aec import CardEnv
from card_envs.games.franks_zoo.cards import IS_BEATEN_BY, LAY_CARDS, MAY_ASK

GAME_NAME = "franks_zoo_v0"

MAX_PLAYERS, MAX_HAND = 7, 17
DECK = np.array([5] * 11 + [4, 1])
DECK_OF_THREE = np.array([3, 4, 3, 3, 4, 3, 3, 3, 3, 3, 4, 2, 1])
#: FZ-3: the cards dealt to each seat, from the dealer's left.
DEALT = {3: (13,) * 3, 4: (15,) * 4, 5: (12,) * 5, 6: (10,) * 6, 7: (9,) * 4 + (8,) * 3}
#: FZ-17: the ranks (from 0) of senior and junior of each pair.
PAIRS = {
    4: [(0, 2), (1, 3)],
    5: [(0, 3), (1, 4)],
    6: [(0, 3), (1, 4), (2, 5)],
    7: [(0, 4), (1, 5), (2, 6)],
}
EXCHANGE, TURN, ANSWER = range(3)
NO_LAY, NUM_SETS, NOBODY = 129, 128, -1

# ---------------------------------------------------------------------------------------------
# Invariants
# ---------------------------------------------------------------------------------------------


def check_invariants(states: np.ndarray, i: int) -> None:
    """AssertionError if the record cannot be a state of the game."""
    s = states[i]
    check_standings(s)
    check_partners(s)
    check_cards(s)
    check_places(s)
    check_gifts(s)
    check_knowledge(s)
    check_trick(s)
    check_phase(s)


def has_pairs(s: np.void) -> bool:
    """FZ-13, FZ-24: whether the hand is played with partners."""
    return bool(s["partners"] and s["num_players"] > 3 and s["hand_number"] > 1)


def check_standings(s: np.void) -> None:
    """Totals, ranks, and the points of the last hand."""
    n = int(s["num_players"])
    assert 3 <= n <= MAX_PLAYERS, "three to seven players"
    assert s["hand_number"] >= 1, "hands are counted from 1"
    assert 0 <= s["current_player"] < n, "somebody is to move"
    ranks = s["rank"][:n]
    assert sorted(ranks) == list(range(n)), "FZ-14: each rank is there once"
    is_first = s["hand_number"] == 1 and not s["terminated"]
    expected = np.zeros(n) if is_first else n - ranks
    assert (s["standing"][:n] == expected).all(), "the standing is the ranking"
    for name in ("totals", "rank", "last_place", "place_points", "hand_points", "standing"):
        assert not s[name][n:].any(), f"{name} of a seat that does not exist"
    assert (np.abs(s["lion_points"]) <= 5).all(), "FZ-22: five lions at most"
    assert np.isin(s["hedgehog_points"], (-1, 0)).all(), "FZ-23: a point at most"
    points = s["place_points"] + s["lion_points"] + s["hedgehog_points"]
    assert (s["hand_points"] == points).all(), "the points of the last hand are the sum"
    places = s["last_place"][:n]
    if places.any():  # a hand has ended
        assert sorted(places) == list(range(1, n + 1)), "each place was taken once"
        in_order = s["totals"][np.argsort(ranks)]
        assert (np.diff(in_order) <= 0).all(), "FZ-14: ranked by the totals"
        enough = (in_order >= s["target_score"]).sum() >= (1 if n == 3 else 2)
        assert s["terminated"] == enough, "FZ-16: the game ends at the target"


def check_partners(s: np.void) -> None:
    """FZ-17: the pairs are those of the ranking (until the last hand changes it)."""
    n = int(s["num_players"])
    partner = s["partner"].tolist()
    seniors = [q for q in range(MAX_PLAYERS) if s["is_senior"][q]]
    if not has_pairs(s):
        assert set(partner) == {NOBODY}, "nobody has a partner"
        assert not seniors, "nobody is a senior"
        assert s["alone"] == NOBODY, "the player alone belongs to hands with pairs"
        return
    pairs = [(senior, partner[senior]) for senior in seniors]
    seats = [q for pair in pairs for q in pair]
    assert all(partner[junior] == senior for senior, junior in pairs), "partners of each other"
    assert len(pairs) == len(PAIRS[n]), "half of the players are seniors"
    alone = [int(s["alone"])] if n % 2 else []
    assert sorted(seats + alone) == list(range(n)), "everybody is in a pair, or alone"
    assert n % 2 or s["alone"] == NOBODY, "nobody is alone"
    assert all(partner[q] == NOBODY for q in (*alone, *range(n, MAX_PLAYERS))), "no partner"
    if not s["terminated"]:
        ranks = sorted((int(s["rank"][senior]), int(s["rank"][junior])) for senior, junior in pairs)
        assert ranks == PAIRS[n], "FZ-17: pairs by rank"


def check_cards(s: np.void) -> None:
    """FZ-1, FZ-2: every card is there once; what was played is in the trick or captured."""
    n = int(s["num_players"])
    counts = ("hand", "captured", "given", "played_by", "known", "trick", "played")
    assert all((s[name] >= 0).all() for name in counts), "a number of cards is negative"
    for name in ("hand", "captured", "given", "played_by", "known"):
        assert not s[name][n:].any(), f"{name} of a seat that does not exist"
    laid_down = s["given"][s["alone"]] if s["alone"] != NOBODY else np.zeros(13, int)
    requested = LAY_CARDS[s["request"]]
    places = s["hand"].sum(axis=0) + s["captured"].sum(axis=0) + s["trick"] + requested + laid_down
    deck = DECK_OF_THREE if n == 3 else DECK
    assert np.array_equal(places, deck), "every card is there once"
    assert np.array_equal(s["hand"].sum(axis=1), s["hand_size"]), "the sizes are those of the hands"
    assert s["hand_size"].max() <= MAX_HAND, "no hand is that large"
    assert np.array_equal(s["played"], s["trick"] + s["captured"].sum(axis=0)), (
        "where played cards are"
    )
    missing = s["played"] - s["played_by"].sum(axis=0)
    is_whole = s["terminated"] and s["alone"] != NOBODY  # then two of them were laid down
    assert missing.sum() == 2 * is_whole, "everything was played by somebody"
    assert (missing >= 0).all(), "somebody played a card that was not played"


def check_places(s: np.void) -> None:
    """FZ-11: the places taken are the first ones, by those who hold no cards."""
    n = int(s["num_players"])
    places = s["place"][:n].tolist()
    taken = sorted(place for place in places if place)
    assert not s["place"][n:].any(), "a place of a seat that does not exist"
    assert taken == list(range(1, len(taken) + 1)), "the first places are taken"
    assert len(taken) == n if s["terminated"] else len(taken) <= n - 2, "two hold cards, or nobody"
    for q, place in enumerate(places):
        holds_cards = bool(s["hand_size"][q]) or q == s["asker"]
        if s["terminated"]:
            assert not holds_cards or place == n, "the last one may be left with cards"
        else:
            assert holds_cards == (place == 0), "who holds cards is still in the hand"


def check_gifts(s: np.void) -> None:
    """FZ-18: those have given two cards whose turn it was, and had them."""
    n = int(s["num_players"])
    given = s["given"].sum(axis=1).tolist()
    assert set(given) <= {0, 2}, "two cards are given together"
    if not has_pairs(s):
        assert not any(given), "nobody gives"
        assert s["phase"] != EXCHANGE, "nothing is exchanged"
    order = [q for q in givers(s) if not (s["terminated"] and q == s["alone"])]
    if s["phase"] == EXCHANGE:
        done = order.index(int(s["current_player"]))
        assert [given[q] for q in order] == [2] * done + [0] * (n - done), "in their order"
        dealer = int(np.argmin(s["rank"][:n]))
        for k, size in enumerate(DEALT[n]):
            q = (dealer + 1 + k) % n
            got = given[s["partner"][q]] if s["partner"][q] != NOBODY else 0
            assert s["hand_size"][q] == size - given[q] + got, "FZ-3: the hands that were dealt"
        held = s["gift"] == NOBODY or s["hand"][s["current_player"], s["gift"]] > 0
        assert held, "the card chosen is still in the hand"
    else:
        assert s["gift"] == NOBODY, "no card is being given"
        assert all(given[q] == 2 for q in order), "everybody has given"
    for q in range(n):
        if s["partner"][q] != NOBODY:
            assert (s["given"][q] <= had_since(s, s["partner"][q])).all(), "a gift that never came"


def givers(s: np.void) -> list[int]:
    """FZ-18: who gives, in their order (at the end of the game, in any)."""
    if not has_pairs(s):
        return []
    n = int(s["num_players"])
    seniors = sorted(np.flatnonzero(s["is_senior"]), key=lambda q: s["rank"][q])
    pairs = [int(q) for senior in seniors for q in (s["partner"][senior], senior)]
    return pairs + ([int(s["alone"])] if n % 2 else [])


def had_since(s: np.void, player: int) -> np.ndarray:
    """All that a player has had in hand since the partner's two cards came into it."""
    cards = s["hand"][player].astype(int) + s["played_by"][player]
    if s["is_senior"][player]:  # a senior gives after receiving
        cards += s["given"][player]
    if s["asker"] == player:
        cards += LAY_CARDS[s["request"]]
    return cards


def check_knowledge(s: np.void) -> None:
    """What everybody knows of the hands is true."""
    assert (s["known"] <= s["hand"]).all(), "a card is known where it is not"
    if s["terminated"]:
        assert np.array_equal(s["known"], s["hand"]), "at the end the hands are shown"


def check_trick(s: np.void) -> None:
    """The last set lies in the trick; a request was made by somebody."""
    n = int(s["num_players"])
    leads = s["last_set"] == NO_LAY
    assert leads or 0 <= s["last_set"] < NUM_SETS, "FZ-5: the last set is one"
    assert NOBODY <= s["owner"] < n, "no such owner"
    assert leads == (s["owner"] == NOBODY), "the last set is somebody's"
    assert (s["trick"] >= LAY_CARDS[s["last_set"]]).all(), "the last set lies in the trick"
    assert not (leads and s["trick"].any()), "a trick begins with a set"
    assert set(s["has_passed"].tolist()) <= ({0} if leads else {0, 1}), "passes are on a set"
    assert not s["has_passed"][n:].any(), "a pass of a seat that does not exist"
    assert NOBODY <= s["asker"] < n, "no such player asks"
    assert 0 <= s["request"] <= NO_LAY, "no such request"
    assert (s["request"] == NO_LAY) == (s["asker"] == NOBODY), "a request is somebody's"


def check_phase(s: np.void) -> None:
    """The player to move can be the one who decides what the phase says."""
    phase, player = s["phase"], int(s["current_player"])
    assert EXCHANGE <= phase <= ANSWER, "no such phase"
    assert (phase == ANSWER) == (s["request"] != NO_LAY), "a request is answered"
    if phase == EXCHANGE or s["terminated"]:
        assert s["last_set"] == NO_LAY, "no trick is under way"
        assert not (s["terminated"] and phase != TURN), "the game ends in a turn"
    else:
        assert s["hand_size"][player] > 0, "the player to move holds cards"
    if phase == ANSWER:
        assert s["partner"][s["asker"]] == player, "FZ-19: the partner is asked"
        assert s["is_senior"][player], "FZ-19: the senior is asked"
        assert MAY_ASK[s["last_set"], s["request"]], "FZ-19: part of a set that beats the last one"


# ---------------------------------------------------------------------------------------------
# What is hidden
# ---------------------------------------------------------------------------------------------

HIDDEN = ("hand", "given", "gift")
USUALLY_OPEN = 10
FEWEST_PLAYERS = {"given": 4, "got": 4}


def cells(states: np.ndarray) -> np.ndarray:
    """How many cards of each kind each hand holds and each player gave or laid down (FZ-18); and
    the kind of the card that is to be given next."""
    s = states[0]
    return np.concatenate([s["hand"].ravel(), s["given"].ravel(), [s["gift"]]])


def located(states: np.ndarray, player: int) -> np.ndarray:
    """The cards that the player knows to be in each hand (players, kinds).

    Their own; those that everybody knows of; and those that they gave to their partner and that,
    for all they can tell, have not come out of the partner's hand since.
    """
    s = states[0]
    found = s["known"].astype(int)
    found[player] = s["hand"][player]
    partner = s["partner"][player]
    if partner >= 0:
        come_out = had_since(s, partner) - s["hand"][partner]
        found[partner] = np.maximum(found[partner], s["given"][player] - come_out)
    return found


@dataclass
class Places:
    """The places of cards that a player has not located: the hands of the seven seats, and last
    what the player alone has laid down.

    Attributes:
        located: cards that are known to be there (places, kinds).
        hidden: the others (places, kinds).
    """

    located: np.ndarray
    hidden: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray, player: int) -> Places:
        s = states[0]
        known = located(states, player)
        hidden = s["hand"] - known
        laid_down = s["given"][s["alone"]].astype(int) if s["alone"] >= 0 else np.zeros(13, int)
        is_known = s["alone"] == player
        return cls(
            np.vstack([known, laid_down * is_known]),
            np.vstack([hidden, laid_down * (not is_known)]),
        )

    @property
    def most(self) -> np.ndarray:
        """How many cards of each kind each place could hold (places, kinds)."""
        return self.located + np.minimum(self.hidden.sum(axis=1)[:, None], self.hidden.sum(axis=0))

    @property
    def fewest(self) -> np.ndarray:
        """How many it must hold: what is left when it gets of the other kinds what there is."""
        others = self.hidden.sum() - self.hidden.sum(axis=0)
        return self.located + np.maximum(self.hidden.sum(axis=1)[:, None] - others, 0)


def open_cells(states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Hands and what the player alone laid down: what could be more or fewer cards. Gifts between
    two others: all kinds that the one who got them may have had since.

    Nobody has ever had so few cards that their gift could only have been of one kind.
    """
    s = states[0]
    places = Places.of(states, player)
    counts = places.most > places.fewest
    hands = counts[:7]
    given = np.zeros_like(hands)
    may_have_had = (places.most[:7] + s["played_by"]) > 0
    if s["asker"] >= 0:
        may_have_had[s["asker"]] |= LAY_CARDS[s["request"]] > 0
    for giver in range(s["num_players"]):
        taker = s["partner"][giver]
        if s["given"][giver].any():
            if giver == s["alone"]:
                given[giver] = counts[7]
            elif player not in (giver, taker):
                given[giver] = may_have_had[taker]
                if s["is_senior"][taker] and s["given"][taker].any():  # and gave it back
                    given[giver] |= may_have_had[giver]
    is_open = np.concatenate(
        [hands.ravel(), given.ravel(), [s["gift"] >= 0 and s["current_player"] != player]]
    )
    return is_open, ~is_open


# ---------------------------------------------------------------------------------------------
# What can happen
# ---------------------------------------------------------------------------------------------

LONG_GAME = 150
FOLLOW_IN_WORDS = ("given", "partner", "senior")
HEURISTIC_REWARD = 0.5
SHORT_OPTIONS = {"target_score": 8}
USUAL_LENGTH = 450


def has_ended_a_hand(before: np.void, after: np.void) -> bool:
    return bool(after["hand_number"] > before["hand_number"] or after["terminated"])


def has_captured_a_trick(before: np.void, after: np.void) -> bool:
    """Within a hand: the player who leads next has nothing to beat."""
    return not has_ended_a_hand(before, after) and before["owner"] >= 0 > after["owner"]


def has_answered(before: np.void, after: np.void, *, by_helping: bool) -> bool:
    """Within a hand, so that what is played grows only."""
    helped = after["played"].sum() > before["played"].sum()
    answered = before["asker"] >= 0 > after["asker"]
    return bool(not has_ended_a_hand(before, after) and answered and helped == by_helping)


def has_laid_down(before: np.void, after: np.void) -> bool:
    """The player alone has."""
    is_alone = before["alone"] >= 0 and before["current_player"] == before["alone"]
    return bool(is_alone and before["given"].sum() < after["given"].sum())


SITUATIONS = {
    "captured trick": (3, has_captured_a_trick),
    "trick captured by a player who is out": (
        3,
        lambda before, after: (
            has_captured_a_trick(before, after) and before["place"][before["owner"]] > 0
        ),
    ),
    "joker played": (3, lambda before, after: before["played"][-1] < after["played"][-1]),
    "player out": (
        3,
        lambda before, after: (before["place"] > 0).sum() < (after["place"] > 0).sum(),
    ),
    "end of a hand": (3, has_ended_a_hand),
    "lions counted": (
        3,
        lambda before, after: has_ended_a_hand(before, after) and after["lion_points"].any(),
    ),
    "level totals": (
        3,
        lambda before, after: (
            has_ended_a_hand(before, after)
            and len(np.unique(after["totals"][: after["num_players"]])) < after["num_players"]
        ),
    ),
    "gifts given": (4, lambda before, after: before["given"].sum() < after["given"].sum()),
    "cards laid down by a player alone": (7, has_laid_down),
    "request": (4, lambda before, after: before["asker"] < 0 <= after["asker"]),
    "help": (4, lambda before, after: has_answered(before, after, by_helping=True)),
    "refusal": (4, lambda before, after: has_answered(before, after, by_helping=False)),
    "refusal that ends the trick": (
        4,
        lambda before, after: (
            has_answered(before, after, by_helping=False) and has_captured_a_trick(before, after)
        ),
    ),
    "end of the game": (3, lambda before, after: after["terminated"]),
}

#: Nobody has more cards of a kind than there are, and nobody is their own partner.
CONSTANT_VALUES = {
    "seats": 3,
    "partner": 7,
    "hand": 5,
    "group": 5,
    "elsewhere": 5,
    "unbeatable": 1,
}


def special_positions() -> Iterator[tuple[int, np.ndarray]]:
    """All cards of an animal in one hand, and nobody can beat them; one card of each animal; the
    largest sets that there are; totals far from the target; and a gift of each animal."""
    from games.franks_zoo.table import Table, give

    signs = "OECBLSFPHIMQ"
    for animal, sign in enumerate(signs):
        weaker = next(k for k in range(12) if k != animal and not IS_BEATEN_BY[animal, k])
        hands = [sign * (4 if sign == "Q" else 5), *signs[weaker] * 3]
        yield 4, Table.lay_out(*hands).states
    yield 4, Table.deal_out(signs, "", "", "").states
    for large_set in ("EEEEE", "EEEEEQ", "EEEEEQJ"):
        yield 4, Table.lay_out("F", "O", "C", "M", last=large_set, owner=0).states
    totals = [25, 14, 5, -2, -20, -40, -100]
    yield 7, Table.deal_out(*[""] * 7, hand_number=2, totals=totals).states
    for sign in signs[:11]:
        table = Table.deal_out(*[sign] * 4, hand_number=2)
        table.play(give(sign))
        yield 4, table.states


# ---------------------------------------------------------------------------------------------
# Frozen and written games
# ---------------------------------------------------------------------------------------------

FROZEN_SEED = 0
FROZEN = {
    (3, "usual"): "44bd9f2f20812f0c33a8c4638e4d444ff4235ffcc605ee5ac77b48b32f01aca2",
    (3, "partners"): "44bd9f2f20812f0c33a8c4638e4d444ff4235ffcc605ee5ac77b48b32f01aca2",
    (4, "usual"): "2319145bf7f1ab667e3a07a3811b9a2c8a2a387496e41143435a7555d4bff5ad",
    (4, "partners"): "e37d8f57503ac2f140fbe8aeb8dda00c4714d0225975003d942cfda0717aca63",
    (5, "usual"): "a840c0095d0d8ee036ddff8147638ca36394c27aa6daacb66e5e558776925d25",
    (5, "partners"): "1b69add7cdb425ca7fd563a0ae32d2ccd8ee0ccfe829b2708c8c710b441ea945",
    (6, "usual"): "b6ccab89f757485748bf25538468a4ee8d3fb74742f361dd78e87ebeb5b95b1e",
    (6, "partners"): "44b5ac0f89251e5736a65a6cb6895760e9a88208960fde0817f3a705039db074",
    (7, "usual"): "89efc92a0d8f549825012e821d49954d5a1609579f7c7cc4b68e13857d3b97a1",
    (7, "partners"): "30fb882b221e1452c7460c12e536199ac850a2e01faf43e36e88026ae9a339c1",
}
FROZEN_OBSERVATIONS = {
    (3, "usual"): "ab2776890f3047da20e7e19ede2011488f2cd2598cea33528df79410afe1acdf",
    (3, "partners"): "ab2776890f3047da20e7e19ede2011488f2cd2598cea33528df79410afe1acdf",
    (4, "usual"): "a4961695f0f38714ede6606004ea27909b460e0f277599d903f8cb82269f05f9",
    (4, "partners"): "59a7a061de0468d7cb7820d52b7e495422e9778133e00142bc5bc6c89b62e71d",
    (5, "usual"): "7f6d7528ac2e2ba105a30626e4ed2545ea503f4b4c9ca687808203326293f226",
    (5, "partners"): "41d6d885902afd6415b5d9fad9696c1aefcddb69aa5a36cecf3143661e35526b",
    (6, "usual"): "652b5c26ba2dccb2eee913928c8fc32e0fe32f980ad853984eeafd5461989fcc",
    (6, "partners"): "eec85e9d8d7bff8e678e343ac451bbcee6ea71fd8c4c2a3655465f3f79cb9be8",
    (7, "usual"): "292f1f8a1b2e0592988db880d1abfbdc8dade576a0304d9a60eb15a959c448f6",
    (7, "partners"): "fdf7c586efad82b7e689f93ea0757728bff7856b46f002570f221b648ca2325c",
}
NOT_FROZEN = {
    "partners": {
        "gifts given",
        "cards laid down by a player alone",
        "request",
        "help",
        "refusal",
        "refusal that ends the trick",
    }
}

#: Chosen so that together they show what SHOWN asks for, and are short.
PLAYTHROUGHS = [
    {"num_players": 3, "seed": 0, "options": {"target_score": 5, "reward": "score"}},
    {"num_players": 4, "seed": 21, "options": {"target_score": 8}},
    {
        "num_players": 4,
        "seed": 1,
        "options": {"target_score": 5, "partners": False},
        "variant": "_simple",
    },
    {
        "num_players": 5,
        "seed": 44,
        "options": {"target_score": 5, "reward": "score"},
        "variant": "_short",
        "readable": True,
    },
    {"num_players": 5, "seed": 28, "options": {"target_score": 9}, "memory": "none"},
    {"num_players": 6, "seed": 34, "options": {"target_score": 10, "reward": "score"}},
    {"num_players": 7, "seed": 7, "options": {"target_score": 12}},
]

SHOWN = {
    r"^Action: \d+ \(play: ": 200,
    r"^Action: \d+ \(play: .*joker": 4,
    r"^Action: \d+ \(play: .*elephants?, 1 mosquito": 1,
    r"^Action: \d+ \(give away: ": 40,
    r"^Action: \d+ \(ask for help with: ": 20,
    r"^Action: 271 \(pass\)": 200,
    r"^Your turn: help .*\n\n.*\nAction: 271 \(pass\)": 1,
    r"^Your turn: pass; you hold nothing that helps player \d\.": 4,
    r"^Your turn: pass; you hold nothing that beats \d ": 20,
    r"^Your turn: ask player \d for help, or pass\.": 2,
    r"^Your turn: help .*\n\n.*\nAction: \d+ \(play: ": 4,
    r"^Your turn: give away the second .*, to player \d; the first is 1 ": 10,
    r"^Your turn: give away the second .*, to nobody .*; the first is 1\s": 2,
    r"^Request: .* \(player \d asks you for help\)\.": 8,
    r"^Your cards laid down: \d ": 1,
    r"^Player \d's cards laid down: 2 face-down cards": 4,
    r"^Your captured cards: ": 20,
    r"^Everybody knows that you hold ": 4,
    r"^Player \d's hand: \d [a-z ]+(, \d [a-z ]+)*, \d+ face-down cards?\.": 20,
    r"^Player \d's hand: (\d (?!face)[a-z ]+(, )?)+\.": 4,
    r"^Last set: .*; counts as \d elephants;": 1,
    r"^Rewards: \{'player_0': -?0\.\d": 4,
    r"^The simple game: ": 4,
    r" out of sight ": 10,
    r"^Hand 2, as it ended:": 5,
}


def shows_table(env: CardEnv, number: int) -> bool:
    """Of the many decisions (of which half are forced) those about gifts and help, the first ones
    of a hand, and some others."""
    s = env.states[0]
    return bool(s["phase"] != TURN or not s["played"].any() or number % 30 == 0)
