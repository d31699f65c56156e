"""What the shared tests need to know of Swim for Your Life."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from card_envs.agents import Agent
from card_envs.contract.agent import Turn
from card_envs.envs.aec import CardEnv

GAME_NAME = "swim_for_your_life_v0"

DECK = np.array([9, 8, 7, 7, 6, 6, 5, 5, 4, 3])
MAX_PLAYERS, NUM_ANIMALS, NUM_ROWS, HAND_SIZE = 5, 10, 4, 10
SETS = slice(6, 9)  # hares, pigs, cats
TAP, IN_GAME = 1000, 1_000_000


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
    """Players, lives and turns."""
    n = int(s["num_players"])
    lives, standing = s["lives"][:n].astype(int), s["standing"][:n]
    is_in = lives > 0
    assert ((lives >= 0) & (lives <= 10)).all(), "SW-14: lives are from 0 to 10"
    assert not s["lives"][n:].any(), "lives of a seat that does not exist"
    assert (standing[is_in] == IN_GAME + lives[is_in]).all(), "the standing follows from the lives"
    assert (standing[~is_in] < s["round"]).all(), "players who are out went out in a round"
    assert (is_in.sum() == 1) == s["terminated"], "SW-2: the last one left ends the game"
    assert -1 <= s["tapper"] < n, "no such player has tapped"
    assert -1 <= s["sudden_death"] < n, "no such player has ended a round"
    assert 0 <= s["starter"] < n, "somebody started the round"
    assert 0 <= s["current_player"] < n, "somebody is to move"
    if not s["terminated"]:
        assert is_in[s["current_player"]], "players who are out do not move"
        assert is_in[s["starter"]], "SW-3: players who are out do not start"
        assert s["tapper"] < 0 or is_in[s["tapper"]], "players who are out do not tap"
        assert s["tapper"] != s["current_player"], "SW-8: no further turn for the one who tapped"
    assert (s["turns"] >= 0) & (s["turns"] <= s["steps"]), "a turn is a decision"
    for q in range(MAX_PLAYERS):
        assert -1 <= s["last_action"][q] <= TAP, "no such action"
        assert s["has_exchanged"][q] in (0, 1), "neither yes nor no"
        assert s["has_exchanged"][q] or s["last_action"][q] != TAP, "SW-7: a tap before an exchange"
        assert -1 <= s["lives_lost"][q] <= 2, "SW-13: at most two lives are lost"


def check_cards(s: np.void) -> None:
    """SW-1, SW-4: every card is there once, and every place has its number of them."""
    places = np.concatenate([s["hand"], s["row"], [s["left_over"]]]).astype(int)
    assert (places >= 0).all(), "fewer cards than none"
    assert (places.sum(axis=0) == DECK).all(), "each card is there once"
    assert s["row"].sum(axis=1).tolist() == [1, 2, 3, 4], "row k has k cards"
    sizes = s["hand"].sum(axis=1)
    assert (sizes[s["lives"] > 0] == HAND_SIZE).all(), "players in the game have ten cards"
    assert np.isin(sizes, (0, HAND_SIZE)).all(), "a hand has ten cards, or there is none"
    assert s["terminated"] or not sizes[s["lives"] == 0].any(), "players who are out have none"
    taken = s["last_taken"].astype(int)
    assert ((taken >= 0) & (taken <= NUM_ROWS)).all(), "no row has more cards"


def check_knowledge(s: np.void) -> None:
    """What everybody knows is true, and no more than can be known."""
    hand, least, most = (s[name].astype(int) for name in ("hand", "least", "most"))
    assert ((least >= 0) & (least <= hand)).all(), "a hand holds at least `least`"
    assert (hand[:, SETS] <= most).all(), "a hand holds at most `most`"
    assert (most <= DECK[SETS]).all(), "there are no more cards than that"
    # ``most`` falls below a set less one card only by cards laid down, which are located since.
    located = (s["row"].sum(axis=0) + least.sum(axis=0))[SETS]
    has_unknown = hand.sum(axis=1) > least.sum(axis=1)
    assert (located + most[has_unknown] >= DECK[SETS] - 1).all(), "too little is possible"


# ---------------------------------------------------------------------------------------------
# What is hidden
# ---------------------------------------------------------------------------------------------

HIDDEN = ("hand", "left_over")
USUALLY_OPEN = 10
LONG_GAME = 150


def cells(states: np.ndarray) -> np.ndarray:
    """How many cards of each animal there are in each hand, left over, and in each row."""
    s = states[0]
    return np.concatenate([s["hand"].ravel(), s["left_over"], s["row"].ravel()])


@dataclass
class HiddenCards:
    """The cards that a player has not located, by places and animals.

    Attributes:
        places: the players whose hands hold some; the last place is what is left over (-1).
        held: how many cards beyond ``least`` there are (places, animals).
        room: how many more ``most`` leaves room for (places, animals).
    """

    places: list[int]
    held: np.ndarray
    room: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray, player: int) -> HiddenCards:
        s = states[0]
        places = [q for q in range(s["num_players"]) if q != player]
        held = [s["hand"][q] - s["least"][q] for q in places] + [s["left_over"]]
        room = np.full((len(held), NUM_ANIMALS), 99)
        for place, q in enumerate(places):
            room[place, SETS] = s["most"][q] - s["hand"][q, SETS]
        return cls([*places, -1], np.array(held, np.int64), room)

    def put(self, place: int, animal: int) -> bool:
        """Exchange cards so that the place gets one more of the animal; False if impossible.

        Each exchange moves a card from one place to another, so together they are a circle: the
        animal's card comes to the place, which gives another one away, and so on, until a place
        gives away a card of the animal.
        """
        return self.room[place, animal] > 0 and self._move(("place", place), ("animal", animal))

    def take(self, place: int, animal: int) -> bool:
        """Exchange cards so that the place gets one less of the animal; False if impossible."""
        return self.held[place, animal] > 0 and self._move(("animal", animal), ("place", place))

    def _move(self, start: tuple[str, int], goal: tuple[str, int]) -> bool:
        """Close the circle that the card between goal and start begins, the shortest that there
        is: from a place to an animal that it gives away, from an animal to a place that gets it."""
        came_from: dict[tuple[str, int], tuple[str, int]] = {}
        reached = [start]
        gives, gets = self.held.tolist(), self.room.T.tolist()
        for kind, number in reached:
            node = kind, number
            if kind == "place":
                following = [("animal", a) for a, count in enumerate(gives[number]) if count]
            else:
                following = [("place", p) for p, count in enumerate(gets[number]) if count]
            for other in following:
                # The card itself must not go back where it came from.
                if other not in came_from and other != start and (node, other) != (start, goal):
                    came_from[other] = node
                    reached.append(other)
        if goal not in came_from:
            return False
        node = goal
        self._shift(goal, start)
        while node != start:
            self._shift(came_from[node], node)
            node = came_from[node]
        return True

    def _shift(self, source: tuple[str, int], target: tuple[str, int]) -> None:
        """One card less at the place ``source``, or one more at the place ``target``."""
        is_given = source[0] == "place"
        place, animal = (source[1], target[1]) if is_given else (target[1], source[1])
        self.held[place, animal] += -1 if is_given else 1
        self.room[place, animal] += 1 if is_given else -1


def open_cells(states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """The counts in other hands and in what is left over that an exchange can change.

    It does not matter that each is looked for from where the ones before led to: what can change
    from one possible arrangement can change from any.
    """
    hands = np.zeros((MAX_PLAYERS + 1, NUM_ANIMALS), bool)  # the last one: what is left over
    rows = np.zeros(NUM_ROWS * NUM_ANIMALS, bool)
    hidden = HiddenCards.of(states, player)
    for place, q in enumerate(hidden.places):
        for animal in range(NUM_ANIMALS):
            hands[q, animal] = hidden.put(place, animal) or hidden.take(place, animal)
    is_open = np.concatenate([hands.ravel(), rows])
    return is_open, ~is_open


# ---------------------------------------------------------------------------------------------
# What can happen
# ---------------------------------------------------------------------------------------------

#: Two lives lost where four others lose none, or none where four others lose two.
BEYOND_WORDS = ("most",)
FOLLOW_IN_WORDS = ("has_exchanged",)
LARGEST_SCORE = 0.8
HEURISTIC_REWARD = 0.5


def has_ended_a_round(before: np.void, after: np.void) -> bool:
    return bool(after["round"] > before["round"])


def has_counted(before: np.void, after: np.void) -> bool:
    return has_ended_a_round(before, after) and bool(after["sudden_death"] < 0)


def has_ended_by_sudden_death(before: np.void, after: np.void) -> bool:
    return has_ended_a_round(before, after) and bool(after["sudden_death"] >= 0)


def has_continued_a_last_lap(before: np.void, after: np.void, *, by_tapping: bool) -> bool:
    is_tap = after["last_action"][before["current_player"]] == TAP
    return bool(before["tapper"] >= 0 <= after["tapper"]) and is_tap == by_tapping


def number_of_eliminated(before: np.void, after: np.void) -> int:
    return int(((before["lives"] > 0) & (after["lives"] == 0)).sum())


def has_left_two(before: np.void, after: np.void) -> bool:
    return number_of_eliminated(before, after) > 0 and bool((after["lives"] > 0).sum() == 2)


SITUATIONS = {
    "first tap": (2, lambda before, after: before["tapper"] < 0 <= after["tapper"]),
    "exchange in a last lap": (
        3,
        lambda before, after: has_continued_a_last_lap(before, after, by_tapping=False),
    ),
    "tap in a last lap": (
        3,
        lambda before, after: has_continued_a_last_lap(before, after, by_tapping=True),
    ),
    "counted round": (2, has_counted),
    "sudden death": (2, has_ended_by_sudden_death),
    "one player out": (3, lambda before, after: number_of_eliminated(before, after) == 1),
    "several out at once": (3, lambda before, after: number_of_eliminated(before, after) > 1),
    "two left of more": (3, has_left_two),
    "end of the game": (2, lambda before, after: after["terminated"]),
}

#: Nobody has more cards of an animal than there are.
CONSTANT_VALUES = {"seats": 2, "hand": 30, "with_row": 28, "lead": 4}


def special_positions() -> Iterator[tuple[int, np.ndarray]]:
    """Player 0 collects all cards of an animal, or lays down whenever they have four.

    The others lay down what they want.
    """
    from games.swim_for_your_life.table import GAME
    from helpers import begin, is_over, mask_of

    from card_envs.games.swim_for_your_life.cards import LAID_DOWN, ROW_OF

    for animal, (enough, expert) in itertools.product(
        range(NUM_ANIMALS), [(9, False), (9, True), (4, True)]
    ):
        states = begin(GAME, 5, animal, expert=expert)
        for _ in range(100):
            yield 5, states
            if is_over(states):
                break
            exchanges = np.flatnonzero(mask_of(GAME, states)[:TAP])
            gain = states["row"][0, ROW_OF[exchanges], animal] - LAID_DOWN[exchanges, animal]
            hoards = states["current_player"][0] == 0 and states["hand"][0, 0, animal] < enough
            best = np.argmax(gain) if hoards else np.argmin(gain)
            GAME.rules.step(states, 0, int(exchanges[best]))


# ---------------------------------------------------------------------------------------------
# Frozen and written games
# ---------------------------------------------------------------------------------------------

FROZEN_SEED = 700
FROZEN = {
    (2, "usual"): "e27f9bbf2ade5f9a4660ff384454268d8e4b472658063c7aaba233ff0121ad62",
    (2, "expert"): "e27f9bbf2ade5f9a4660ff384454268d8e4b472658063c7aaba233ff0121ad62",
    (3, "usual"): "02ead523e61881360030daa828d629de2856cbcab102e8bfd6645623ad07a9f7",
    (3, "expert"): "e254e858a153c53f301eab8d8c097927430162f74ce313d77f1c0456b5f41857",
    (4, "usual"): "f75f1d0ebd467a118468363f7a8e9bbcb9c9b9ee577399e38696207a78dead0c",
    (4, "expert"): "f75f1d0ebd467a118468363f7a8e9bbcb9c9b9ee577399e38696207a78dead0c",
    (5, "usual"): "61cbec3c1a3ec5cb56be3c0517f28b7e92b633a7d8c1404c3976835451b74081",
    (5, "expert"): "0b66b877b38ed9fa1ec97e81924bc758429ecda830fcbc0edffd887016517d08",
}
FROZEN_OBSERVATIONS = {
    (2, "usual"): "226fd8be1d548be6b7c17813138f7cfa769e6ed543b9d381464a2760421e83bf",
    (2, "expert"): "5e0a1c22792084616ddce22dec94c0e8efb3a771a5b8d2788a39f13156a2840f",
    (3, "usual"): "c8994f74dc7a29a16a1bc253ecf7b8a4fb91b8671dbefd9907212713726bb818",
    (3, "expert"): "96545438352a5d5aca65b54b47bc5e13c89ad92774b8e55b5f02947cd01fdd8a",
    (4, "usual"): "d6e0a92876d74f3f55a3cd70bf17a4e0f801ea096b0778674feac5428ccf7a98",
    (4, "expert"): "cdc41224b9e90a356a6b3c7ebf3e532d02970cddbadaa751831315d6191d1325",
    (5, "usual"): "aa1891972c941b6942e1a0e61a1f378b26cd727043f7c0ba1d1dead6f10d34aa",
    (5, "expert"): "89cc2a4f24149d3b61f5ba12b1e0c1cd42e93d053ea5f953110290612d34e41e",
}

PLAYTHROUGHS = [
    {"num_players": 2, "seed": 26, "readable": True},
    {"num_players": 3, "seed": 14},
    {"num_players": 3, "seed": 14, "options": {"expert": True}, "variant": "_expert"},
    {"num_players": 4, "seed": 9, "memory": "none"},
    {"num_players": 5, "seed": 28},
]
HOW = (
    "Players with even numbers follow the heuristic, the others choose a row or the tap at random, "
    "and then the cards."
)

SHOWN = {
    r"^Action: \d+ \(exchange row 1": 10,
    r"^Action: \d+ \(exchange row 2": 10,
    r"^Action: \d+ \(exchange row 3": 10,
    r"^Action: \d+ \(exchange row 4": 10,
    r"begin the last lap\.\n\n.*\nAction: 1000 \(tap\)": 10,
    r"^Your last turn .*\n\n.*\nAction: 1000 \(tap\)": 4,
    r"^Your last turn .*\n\n.*\nAction: \d+ \(exchange": 4,
    r"^Round \d+, ended by sudden death: .* had all 4 cats:": 1,
    r"^Round \d+, ended by sudden death: .* had all 5 ": 1,
    r"^(player \d|you) .* 5 .* \+1$": 1,
    r" out in round \d+$": 10,
    r"a majority, of at least two cards\):": 4,
    r", all level:": 1,
    r"^Player \d's hand: \d+ \w+, .*, \d face-down cards\.": 50,
    r"^Player \d's hand: 10 face-down cards\.": 50,
}


def choose_at_random(env: CardEnv, chance: Agent) -> int:
    """Choose a group of actions and then one of that group: each row is a group, and the tap."""
    groups = list(env.game.actions.groups(env.legal_actions()).values())
    group = groups[drawn(env, chance, len(groups))]
    return group[drawn(env, chance, len(group))]


def drawn(env: CardEnv, chance: Agent, count: int) -> int:
    """A random number below ``count``."""
    nothing = np.zeros((1, 0), np.float32)
    turn = Turn(env.game, env.states, np.zeros(1, int), nothing, np.ones((1, count), np.int8))
    return int(chance.act(turn)[0])
