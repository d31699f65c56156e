"""Frank's Zoo: players know of hidden cards what they can, and no more; the rest is redrawn evenly.

Brute force stands behind it: a *world* of a player is a deal, and gifts of others (FZ-18), with
which all that was done in a hand could have been done as well, and would have looked the same to
them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from games.franks_zoo.kit import Places, check_invariants, located
from games.franks_zoo.table import LAYS, Table, ask, cards_of, counts, give, in_order, put
from helpers import begin, copy_of, each_size, is_over, mask_of, observation_of, state_of
from hidden import Determinize, redrawn
from table import chi_square

from card_envs.games import load_game

GAME = load_game("franks_zoo")
NUM_KINDS, JOKER, MOSQUITO, ELEPHANT = 13, 12, 11, 1
ASK, GIVE, PASS = 129, 258, 271
NO_LAY = 129
EXCHANGE, TURN, ANSWER = 0, 1, 2

#: The cards of each lay, by their kinds; the last row: of none.
CARDS = np.array([*(counts(lay) for lay in LAYS), [0] * NUM_KINDS])
#: FZ-4, as the rules file has it: each animal and by what it is beaten.
BEATERS = {
    "O": "",
    "E": "M",
    "C": "E",
    "B": "OE",
    "L": "E",
    "S": "OB",
    "F": "ECBL",
    "P": "OCBS",
    "H": "F",
    "I": "OCSP",
    "M": "CBLSFH",
    "Q": "HIM",
}
ANIMALS = "".join(BEATERS)

tables = pytest.mark.parametrize("num_players", each_size(3, 7))
tables_of_partners = pytest.mark.parametrize("num_players", each_size(4, 7))
memory_modes = pytest.mark.parametrize("memory", ["perfect", "none"])


# ---------------------------------------------------------------------------------------------
# Play
# ---------------------------------------------------------------------------------------------


class Sociable:
    """A player who asks for help, and refuses it, far more often than others.

    Every third seed plays single cards while that is possible: then the joker may be left over.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._asks = self._rng.choice([0.1, 0.5, 0.9])
        self._refuses = self._rng.choice([0.3, 0.6, 0.9])
        self._passes = self._rng.choice([0.1, 0.4])
        self._hoards = seed % 3 == 0

    def choose(self, states: np.ndarray) -> int:
        legal = np.flatnonzero(mask_of(GAME, states))
        if states["phase"][0] == ANSWER:
            if len(legal) == 1 or self._rng.random() < self._refuses:
                return PASS
            return int(self._rng.choice(legal[:-1]))
        requests = legal[(legal >= ASK) & (legal < GIVE)]
        if len(requests) and self._rng.random() < self._asks:
            return int(self._rng.choice(requests))
        if legal[-1] == PASS and (len(legal) == 1 or self._rng.random() < self._passes):
            return PASS
        others = legal[(legal < ASK) | ((legal >= GIVE) & (legal < PASS))]
        if len(others) == 0:
            return int(self._rng.choice(legal))
        if self._hoards:
            cheap = others[others < ASK]
            cheap = cheap[CARDS[cheap, JOKER] == 0]
            kept = others[(others >= GIVE) & (others != GIVE + JOKER)]
            if len(cheap) + len(kept):
                others = np.concatenate([cheap, kept])
        return int(self._rng.choice(others))


def play_of(
    num_players: int, seed: int, decisions: int = 500, **options
) -> Iterator[tuple[np.ndarray, int | None]]:
    """The record, always the same array, at each decision, with the action that follows; at the
    end with None."""
    states = begin(GAME, num_players, seed, **options)
    player = Sociable(seed)
    for _ in range(decisions):
        if is_over(states):
            break
        action = player.choose(states)
        yield states, action
        GAME.rules.step(states, 0, action)
    yield states, None


class Witness:
    """A player who keeps an account of their own of what they see in a hand.

    Attributes:
        shown: what everybody knows that each hand holds (players, kinds).
        of_partner: what they know that their partner's hand holds.
    """

    def __init__(self, states: np.ndarray, player: int) -> None:
        self.player = player
        self.partner = int(states["partner"][0, player])
        self.shown = np.zeros((7, NUM_KINDS), int)
        self.of_partner = np.zeros(NUM_KINDS, int)
        self.gift: int | None = None
        self.given = np.zeros(NUM_KINDS, int)
        self.got = np.zeros(NUM_KINDS, int)
        self.played_by = np.zeros((7, NUM_KINDS), int)
        self.laid_down = np.zeros(NUM_KINDS, int)  # by the one alone, if it was shown
        self.trick = np.zeros(NUM_KINDS, int)
        self.captured = np.zeros((7, NUM_KINDS), int)
        self.owner = -1
        self.asker = -1
        self.laid = np.zeros(NUM_KINDS, int)

    def sees(self, before: np.ndarray, action: int, after: np.ndarray) -> None:
        """What somebody does, and what follows from it."""
        b, a = before[0], after[0]
        if a["hand_number"] > b["hand_number"]:
            self.__init__(after, self.player)
            return
        mover = int(b["current_player"])
        if b["phase"] == EXCHANGE:
            self._sees_a_gift(mover, action - GIVE, b, a)
        elif b["phase"] == ANSWER:
            if action == PASS:
                self._sees_shown(self.asker, self.laid)
            else:
                self._sees_played(mover, CARDS[action])
                self._sees_played(self.asker, self.laid)
            self.asker, self.laid = -1, np.zeros(NUM_KINDS, int)
        elif action == PASS:
            if b["last_set"] == NO_LAY:
                self._sees_shown(mover, counts("J"))
        elif action >= ASK:
            self.asker, self.laid = mover, CARDS[action - ASK]
        else:
            self._sees_played(mover, CARDS[action])
        if a["last_set"] == NO_LAY and self.owner >= 0:
            self.captured[self.owner] += self.trick
            self.trick, self.owner = np.zeros(NUM_KINDS, int), -1
        if a["terminated"]:
            self.shown = a["hand"].astype(int)
            if self.partner >= 0:
                self.of_partner = self.shown[self.partner]
            if a["alone"] >= 0:
                self.laid_down = b["given"][a["alone"]].astype(int)
                self.captured[a["alone"]] += self.laid_down
                if a["alone"] == self.player:
                    self.given = np.zeros(NUM_KINDS, int)

    def _sees_a_gift(self, mover: int, kind: int, before: np.void, after: np.void) -> None:
        if mover == self.player:
            if self.gift is None:
                self.gift = kind
                return
            self.given[[self.gift, kind]] += 1
            if self.gift == kind:
                self.given[kind] += 1
            self.gift = None
            self.of_partner += self.given
        elif mover == self.partner and before["gift"] >= 0:
            self.got = after["hand"][self.player].astype(int) - before["hand"][self.player]
            self.of_partner = np.maximum(self.of_partner - self.got, 0)

    def _sees_played(self, player: int, cards: np.ndarray) -> None:
        self.trick = self.trick + cards
        self.played_by[player] += cards
        self.owner = player
        self.shown[player] = np.maximum(self.shown[player] - cards, 0)
        if player == self.partner:
            self.of_partner = np.maximum(self.of_partner - cards, 0)

    def _sees_shown(self, player: int, cards: np.ndarray) -> None:
        self.shown[player] = np.maximum(self.shown[player], cards)
        if player == self.partner:
            self.of_partner = np.maximum(self.of_partner, cards)

    @property
    def public(self) -> np.ndarray:
        """What everybody knows of the hands, but for cards that are laid down at this moment."""
        known = self.shown.copy()
        if self.asker >= 0:
            known[self.asker] = np.maximum(known[self.asker] - self.laid, 0)
        return known

    @property
    def known(self) -> np.ndarray:
        """The same with what they know of their partner's hand."""
        known = self.public
        if self.partner >= 0:
            laid = self.laid * (self.asker == self.partner)
            known[self.partner] = np.maximum(self.of_partner - laid, 0)
        return known


def witnessed(
    play: Iterator[tuple[np.ndarray, int | None]],
) -> Iterator[tuple[np.ndarray, int | None, list[Witness]]]:
    """The same with a witness for each player, who has seen all before."""
    witnesses: list[Witness] = []
    before, done = None, None
    for states, action in play:
        if before is None:
            players = range(states["num_players"][0])
            witnesses = [Witness(states, player) for player in players]
        else:
            for witness in witnesses:
                witness.sees(before, done, states)
        yield states, action, witnesses
        before, done = copy_of(GAME, states), action


# ---------------------------------------------------------------------------------------------
# Worlds
# ---------------------------------------------------------------------------------------------

#: The fields that not everybody sees.
HIDDEN_FIELDS = ("rng", "seed", "hand", "given", "gift", "known")

Gifts = dict[int, list[int]]  # the kinds that each player has chosen, in order


@dataclass
class Course:
    """A hand so far: how it began, what was done, and what it came to."""

    start: np.ndarray
    actions: list[int]
    now: np.ndarray

    @property
    def gifts(self) -> Gifts:
        """The cards that each player gave or laid down, and the one that is chosen to be."""
        states = copy_of(GAME, self.start)
        gifts: Gifts = {}
        for action in self.actions:
            if states["phase"][0] != EXCHANGE:
                break
            gifts.setdefault(int(states["current_player"][0]), []).append(action - GIVE)
            GAME.rules.step(states, 0, action)
        return gifts

    def known_to(self, player: int) -> np.ndarray:
        """What the player's own account says of the hands, theirs included."""
        states = copy_of(GAME, self.start)
        witness = Witness(states, player)
        for action in self.actions:
            before = copy_of(GAME, states)
            GAME.rules.step(states, 0, action)
            witness.sees(before, action, states)
        known = witness.known
        known[player] = self.now["hand"][0, player]
        return known

    def had_since(self, hands: np.ndarray, player: int) -> np.ndarray:
        """All that a player with that hand now has had in it since the exchange."""
        s = self.now[0]
        cards = hands[player] + s["played_by"][player]
        return cards + CARDS[s["request"]] if s["asker"] == player else cards

    def deal_behind(self, hands: np.ndarray, gifts: Gifts) -> np.ndarray:
        """What was dealt if these are the hands now, and these were the gifts."""
        deal = np.array([self.had_since(hands, player) for player in range(7)])
        for giver, kinds in gifts.items():
            if len(kinds) == 2:
                partner = self.now["partner"][0, giver]
                for kind in kinds:
                    deal[giver, kind] += 1
                    if partner >= 0:
                        deal[partner, kind] -= 1
        return deal

    def is_world(self, hands: np.ndarray, gifts: Gifts) -> bool:
        """Whether the same could have been done, with the other gifts, and looked the same."""
        deal = self.deal_behind(hands, gifts)
        if (deal < 0).any():
            return False
        states = copy_of(GAME, self.start)
        states["hand"][0] = deal
        chosen = {giver: iter(kinds) for giver, kinds in gifts.items()}
        mask = np.empty(GAME.num_actions, np.int8)
        for action in self.actions:
            if action >= GIVE and action < PASS:
                action = GIVE + next(chosen[int(states["current_player"][0])])
            GAME.rules.legal_action_mask(states, 0, mask)
            if not mask[action]:
                return False
            GAME.rules.step(states, 0, action)
        seen = [name for name in GAME.state_dtype.names if name not in HIDDEN_FIELDS]
        if self.now["terminated"][0]:
            seen.append("hand")
        assert np.array_equal(states["hand"][0], hands)
        return all(np.array_equal(states[name], self.now[name]) for name in seen)


def random_gifts(course: Course, hands: np.ndarray, player: int, rng: np.random.Generator) -> Gifts:
    """Gifts of others, as a player who has seen only their own could imagine them."""
    gifts = {giver: list(kinds) for giver, kinds in course.gifts.items()}
    s = course.now[0]
    # The seniors first: a junior may have given what came back.
    for giver in sorted(gifts, key=lambda q: -s["is_senior"][q]):
        partner = int(s["partner"][giver])
        if player in (giver, partner) and len(gifts[giver]) == 2:
            continue
        if giver == player or (giver == s["alone"] and len(gifts[giver]) == 2):
            continue  # of what the one alone laid down: ``hidden_places``
        if len(gifts[giver]) == 1:
            cards = hands[giver]
        else:
            cards = course.had_since(hands, partner)
            if s["is_senior"][partner] and len(gifts.get(partner, ())) == 2:
                cards = cards + np.bincount(gifts[partner], minlength=NUM_KINDS)
        pile = np.repeat(np.arange(NUM_KINDS), cards)
        gifts[giver] = [int(kind) for kind in rng.choice(pile, len(gifts[giver]), replace=False)]
    return gifts


def hidden_places(course: Course, player: int) -> tuple[list[int], np.ndarray]:
    """Whose hands the player does not see, and the cards there (places, kinds); -1 is what the
    player alone has laid down. Nothing that the player may know of them is left out."""
    s = course.now[0]
    places = [q for q in range(s["num_players"]) if q != player and s["hand_size"][q] > 0]
    cards = [s["hand"][q].astype(int) for q in places]
    if s["alone"] not in (-1, player) and s["given"][s["alone"]].any():
        places.append(-1)
        cards.append(s["given"][s["alone"]].astype(int))
    return places, np.array(cards, int).reshape(-1, NUM_KINDS)


def with_cards(
    course: Course, player: int, cards: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, Gifts]:
    """All hands, and random gifts that fit, if the hidden places hold those cards."""
    hands = course.now["hand"][0].astype(int)
    places, _ = hidden_places(course, player)
    laid_down: list[int] = []
    for place, held in zip(places, cards, strict=True):
        if place >= 0:
            hands[place] = held
        else:
            laid_down = np.repeat(np.arange(NUM_KINDS), held).tolist()
    gifts = random_gifts(course, hands, player, rng)
    if laid_down:
        gifts[int(course.now["alone"][0])] = laid_down
    return hands, gifts


@cache
def courses_of(num_players: int, partners: bool = True) -> tuple[Course, ...]:
    """Hands under way, with partners where there are, from the first gift to the last card; and
    some whose end was the game's."""
    courses: list[Course] = []
    ended: list[Course] = []
    for seed in itertools.count():
        if len(courses) >= 24 and len(ended) >= 3:
            return (*courses, *ended)
        start, actions, due = None, [], 0
        for states, action in play_of(num_players, seed, partners=partners, target_score=12):
            if start is None or states["hand_number"][0] != start["hand_number"][0]:
                start, actions = copy_of(GAME, states), []
                due = (1, 4, 7, 13, 25, 45, 60, 75)[(seed + int(start["hand_number"][0])) % 8]
            later = num_players == 3 or not partners or states["hand_number"][0] > 1
            if later and len(actions) == due and len(courses) < 24:
                courses.append(Course(start, list(actions), copy_of(GAME, states)))
            if states["terminated"][0] and len(ended) < 3:
                # The last step has begun no other hand: all of it is still to be seen.
                ended.append(Course(start, list(actions), copy_of(GAME, states)))
            actions.append(action)


def redrawn_hands_and_gifts(
    course: Course, player: int, seed: int, determinize: Determinize
) -> tuple[np.ndarray, Gifts]:
    """What ``determinize`` makes of hands and gifts."""
    states = copy_of(GAME, course.now)
    determinize(states, 0, player, np.uint64(seed))
    s = states[0]
    gifts = {giver: list(kinds) for giver, kinds in course.gifts.items()}
    for giver, kinds in gifts.items():
        if len(kinds) == 1:
            gifts[giver] = [int(s["gift"])]
        elif s["given"][giver].any():  # not the one alone when the game is over
            given = np.repeat(np.arange(NUM_KINDS), s["given"][giver]).tolist()
            # The player's own in the order in which they gave them.
            gifts[giver] = kinds if sorted(kinds) == given else given
    return s["hand"].astype(int), gifts


def check_everybody_knows_enough(
    course: Course, player: int, determinize: Determinize, seeds: int = 8
) -> None:
    """All that ``determinize`` gives, for a player, is a world of theirs."""
    own = course.gifts
    partner = int(course.now["partner"][0, player])
    for seed in range(seeds):
        hands, gifts = redrawn_hands_and_gifts(course, player, seed, determinize)
        assert np.array_equal(hands[player], course.now["hand"][0, player])
        assert gifts.get(player) == own.get(player), "a gift of their own was redrawn"
        if partner >= 0 and len(own.get(partner, ())) == 2:
            assert gifts[partner] == own[partner], "a gift that they got was redrawn"
        assert course.is_world(hands, gifts), "less is known than can be"


def check_nobody_knows_too_much(
    course: Course, player: int, known: np.ndarray, steps: int = 30
) -> int:
    """In all worlds of a random walk through them the hands hold what the player knows.

    Returns:
        How many different worlds were seen.
    """
    rng = np.random.default_rng(len(course.actions))
    places, cards = hidden_places(course, player)
    seen = set()
    for _ in range(steps if len(places) > 1 else 0):
        one, other = rng.permutation(len(places))[:2]
        given = rng.choice(np.flatnonzero(cards[one]))
        got = rng.choice(np.flatnonzero(cards[other]))
        following = cards.copy()
        following[[one, other], [given, got]] -= 1
        following[[one, other], [got, given]] += 1
        hands, gifts = with_cards(course, player, following, rng)
        if not course.is_world(hands, gifts):
            continue
        cards = following
        assert (known <= hands).all(), "more is known than can be"
        seen.add(cards.tobytes())
    return len(seen)


def known_to(states: np.ndarray, player: int) -> np.ndarray:
    """What a player's observation says that each hand holds at least."""
    n = int(states["num_players"][0])
    values = GAME.fields.unflatten(observation_of(GAME, states, player))
    known = np.zeros((7, NUM_KINDS), int)
    for seat in range(n):
        known[(player + seat) % n] = np.rint(5 * values["known"][seat])
    known[player] = values["hand"].sum(axis=1)
    return known


def forgetful(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """The player knows nothing of what was shown, nor what they gave to whom."""
    kept = states[i].copy()
    states["known"][i] = 0
    states["given"][i, player] = 0
    GAME.rules.determinize(states, i, player, seed)
    states["known"][i] = kept["known"]
    states["given"][i, player] = kept["given"][player]


both_games = pytest.mark.parametrize("partners", [True, False], ids=["partners", "simple"])


@both_games
@tables
def test_whatever_is_redrawn_is_a_world(num_players, partners):
    known = gifts = 0
    for course in courses_of(num_players, partners):
        for player in range(num_players):
            check_everybody_knows_enough(course, player, GAME.rules.determinize, 4)
            known += known_to(course.now, player)[np.arange(7) != player].any()
        gifts += len(course.gifts)
    assert known > 5
    assert (gifts > 40) == (partners and num_players > 3)


@both_games
@tables
def test_every_world_is_within_what_is_known(num_players, partners):
    seen = [
        check_nobody_knows_too_much(course, player, known_to(course.now, player))
        for course in courses_of(num_players, partners)
        for player in range(num_players)
    ]
    assert np.median(seen) > 10


@pytest.mark.slow
@tables_of_partners
def test_knowing_too_much_or_too_little_is_caught(num_players):
    """One card more of a hand is known than can be; and what is known of a hand is redrawn."""
    more = less = 0
    for course in courses_of(num_players)[:10]:
        for player in range(num_players):
            known = known_to(course.now, player)
            surplus = course.now["hand"][0] - known
            places = Places.of(course.now, player)
            for q, kind in np.argwhere((surplus > 0) & (places.fewest[:7] <= known))[:2]:
                wrong = known.copy()
                wrong[q, kind] += 1
                try:
                    check_nobody_knows_too_much(course, player, wrong, 100)
                except AssertionError:
                    more += 1

            if known[np.arange(7) != player].any():
                try:
                    check_everybody_knows_enough(course, player, forgetful, 20)
                except AssertionError as error:
                    less += "less is known" in str(error)
    assert more > 20
    assert less > 5


# ---------------------------------------------------------------------------------------------
# What is redrawn is redrawn evenly
# ---------------------------------------------------------------------------------------------


def choices(cards: np.ndarray, number: int) -> Iterator[tuple[int, ...]]:
    """All ways to take that number of the cards, as counts of each kind."""
    if len(cards) == 0:
        yield ()
        return
    fewest = max(0, number - int(cards[1:].sum()))
    for count in range(fewest, min(number, int(cards[0])) + 1):
        for others in choices(cards[1:], number - count):
            yield (count, *others)


def arrangements(cards: np.ndarray, sizes: list[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All ways to put the cards to places of these sizes."""
    if not sizes:
        yield ()
        return
    for chosen in choices(cards, sizes[0]):
        for others in arrangements(cards - chosen, sizes[1:]):
            yield (chosen, *others)


def ways_to(chosen: np.ndarray, cards: np.ndarray) -> int:
    """In how many ways these cards can be taken of those, if all cards are told apart."""
    return math.prod(math.comb(int(n), int(k)) for n, k in zip(cards, chosen, strict=True))


def ways_to_deal(hidden: np.ndarray) -> int:
    """In how many ways the places get these cards if all cards are told apart."""
    ways = 1
    for k in range(len(hidden)):
        ways *= ways_to(hidden[k], hidden[k:].sum(axis=0))
    return ways


def number_of_arrangements(cards: np.ndarray) -> int:
    """A bound of how many ways there are to put the cards to their places."""
    sizes = cards.sum(axis=1)
    return math.prod(math.comb(int(sizes[k:].sum()), int(sizes[k])) for k in range(len(sizes)))


def shares_of_worlds(course: Course, player: int) -> dict[bytes, float]:
    """How often each arrangement of the hidden cards must come up: all that are worlds, each in
    proportion to the ways of dealing what the player has not located."""
    rng = np.random.default_rng(0)
    places, cards = hidden_places(course, player)
    known = course.known_to(player)
    is_there = np.array([known[q] if q >= 0 else np.zeros(NUM_KINDS, int) for q in places])
    ways = {}
    for arrangement in arrangements(cards.sum(axis=0), cards.sum(axis=1).tolist()):
        held = np.array(arrangement)
        if course.is_world(*with_cards(course, player, held, rng)):
            assert (held >= is_there).all(), "more is known than can be"
            ways[held.astype(np.int8).tobytes()] = ways_to_deal(held - is_there)
        else:
            assert not (held >= is_there).all(), "less is known than can be"
    return {held: number / sum(ways.values()) for held, number in ways.items()}


def check_close(found: np.ndarray, expected: np.ndarray, message: str) -> None:
    """Chi-square, with what is rare taken together."""
    order = np.argsort(expected)
    rare = max(1, int((np.cumsum(expected[order]) < 10).sum()) + 1)
    found = np.append(found[order[:rare]].sum(), found[order[rare:]])
    expected = np.append(expected[order[:rare]].sum(), expected[order[rare:]])
    freedom = max(1, len(found) - 1)
    assert chi_square(found, expected) <= freedom + 5 * math.sqrt(2 * freedom), message


def check_evenly_redrawn(
    course: Course, player: int, determinize: Determinize, draws: int = 3000
) -> int:
    """Each world comes up as often as it should, and nothing else does.

    Returns:
        The number of worlds.
    """
    shares = shares_of_worlds(course, player)
    places, _ = hidden_places(course, player)
    alone = int(course.now["alone"][0])
    copies = GAME.new_states(draws)
    copies[:] = course.now
    for i in range(draws):
        determinize(copies, i, player, np.uint64(i))
    held = [copies["hand"][:, q] if q >= 0 else copies["given"][:, alone] for q in places]
    drawn = dict.fromkeys(shares, 0)
    found, numbers = np.unique(np.stack(held, axis=1), axis=0, return_counts=True)
    for arrangement, number in zip(found, numbers, strict=True):
        assert arrangement.tobytes() in shares, "an impossible arrangement"
        drawn[arrangement.tobytes()] = int(number)
    expected = draws * np.array([shares[held] for held in drawn])
    check_close(np.array(list(drawn.values())), expected, "not drawn evenly")
    return len(shares)


@cache
def small_courses_of(num_players: int) -> tuple[tuple[Course, int], ...]:
    """Late in hands: courses and players from whom few cards are hidden, but not none.

    Half of them are such that something is known of another hand. (With three players that would
    be a joker, and so a whole hand, which leaves nothing open.)
    """
    found: dict[bool, list[tuple[Course, int]]] = {True: [], False: []}
    for seed in itertools.count(1000):
        start, actions = None, []
        for states, action in play_of(num_players, seed, 400):
            if start is None or states["hand_number"][0] != start["hand_number"][0]:
                start, actions = copy_of(GAME, states), []
            course = Course(start, list(actions), copy_of(GAME, states))
            for player in range(num_players):
                _, cards = hidden_places(course, player)
                if action is not None and 1 < number_of_arrangements(cards) < 400:
                    places = Places.of(states, player)
                    is_known = bool(np.delete(places.located[:7], player, axis=0).any())
                    if (places.most > places.fewest).any() and len(found[is_known]) < 5:
                        found[is_known].append((course, player))
                        break
            if len(found[False]) == 5 and (len(found[True]) == 5 or num_players == 3):
                return (*found[True], *found[False])
            actions.append(action)


@tables
def test_all_worlds_are_redrawn_evenly_where_few_cards_are_hidden(num_players):
    worlds = [
        check_evenly_redrawn(course, player, GAME.rules.determinize)
        for course, player in small_courses_of(num_players)
    ]
    assert np.median(worlds) > 4


def many_redrawn(
    states: np.ndarray, player: int, determinize: Determinize, draws: int
) -> np.ndarray:
    copies = GAME.new_states(draws)
    copies[:] = states
    for i in range(draws):
        determinize(copies, i, player, np.uint64(i))
    return copies


def check_scores(found: np.ndarray, mean: np.ndarray, variance: np.ndarray, what: str) -> None:
    """Sums of independent draws, each as far from its mean as it may be."""
    enough = variance > 8
    assert (found[variance == 0] == mean[variance == 0]).all(), what
    scores = np.abs(found - mean)[enough] / np.sqrt(variance[enough])
    assert (scores < 5.5).all(), what


def check_each_place(
    states: np.ndarray, player: int, determinize: Determinize, draws: int = 300
) -> None:
    """Every hidden place gets its share of every kind (hypergeometric)."""
    places = Places.of(states, player)
    sizes, cards, total = places.hidden.sum(axis=1), places.hidden.sum(axis=0), places.hidden.sum()
    if total < 2:
        return
    mean = np.outer(sizes, cards) / total
    spread = np.outer(sizes * (total - sizes), cards * (total - cards))
    copies = many_redrawn(states, player, determinize, draws)
    found = copies["hand"].sum(axis=0, dtype=int)
    laid_down = np.zeros(NUM_KINDS, int)
    if states["alone"][0] >= 0:
        laid_down = copies["given"][:, states["alone"][0]].sum(axis=0, dtype=int)
    found = np.vstack([found, laid_down]) - draws * places.located
    check_scores(
        found, draws * mean, draws * spread / (total**2 * (total - 1)), "hands not drawn evenly"
    )


def check_gifts(states: np.ndarray, player: int, determinize: Determinize, draws: int) -> int:
    """Each two of the cards that the one who got them has had since are as likely to be a gift.

    Returns:
        How many gifts were looked at.
    """
    copies = many_redrawn(states, player, determinize, draws)
    s = states[0]
    had = copies["hand"] + copies["played_by"].astype(int)
    if s["asker"] >= 0:
        had[:, s["asker"]] += CARDS[s["request"]]
    looked_at = 0
    one, other = np.triu_indices(NUM_KINDS)
    if s["gift"] >= 0 and s["current_player"] != player:
        held = copies["hand"][:, s["current_player"]].astype(int)
        share = held / held.sum(axis=1, keepdims=True)
        found = np.bincount(copies["gift"], minlength=NUM_KINDS)
        check_scores(
            found, share.sum(axis=0), (share * (1 - share)).sum(axis=0), "gift not drawn evenly"
        )
        looked_at += 1
    for giver in range(s["num_players"]):
        taker = int(s["partner"][giver])
        if taker < 0 or player in (giver, taker) or not s["given"][giver].any():
            continue
        pile = had[:, taker].copy()
        if s["is_senior"][taker]:
            pile += copies["given"][:, taker]  # they gave two after they had got these
        share = np.where(one == other, pile[:, one] * (pile[:, one] - 1) / 2, 0.0)
        share += np.where(one != other, pile[:, one] * pile[:, other], 0.0)
        share /= share.sum(axis=1, keepdims=True)
        given = copies["given"][:, giver]
        is_pair = (given[:, one] + given[:, other]) == np.where(one == other, 4, 2)
        is_pair &= (given[:, one] > 0) & (given[:, other] > 0)
        assert (is_pair.sum(axis=1) == 1).all(), "not two cards"
        assert (share[is_pair] > 0).all(), "an impossible gift"
        check_scores(
            is_pair.sum(axis=0),
            share.sum(axis=0),
            (share * (1 - share)).sum(axis=0),
            "gifts not drawn evenly",
        )
        # Single pairs are rare. So also each kind, and the kinds of what was given back for it.
        of_kind = 2 * pile / pile.sum(axis=1, keepdims=True)
        size = pile.sum(axis=1)
        spread = of_kind * (1 - of_kind / 2) * ((size - 2) / (size - 1))[:, None]
        check_scores(
            given.sum(axis=0, dtype=int),
            of_kind.sum(axis=0),
            spread.sum(axis=0),
            "gifts not drawn evenly",
        )
        if s["is_senior"][taker] and s["given"][taker].any():
            is_back = copies["given"][:, taker] > 0
            share_back = (pile * is_back).sum(axis=1) / size
            check_scores(
                np.array([(given * is_back).sum(dtype=int)]),
                np.array([(2 * share_back).sum()]),
                np.array([2 * (share_back * (1 - share_back) * (size - 2) / (size - 1)).sum()]),
                "gifts not drawn evenly",
            )
        looked_at += 1
    return looked_at


@tables
def test_every_hidden_place_gets_its_share(num_players):
    for course in courses_of(num_players):
        for player in range(num_players):
            check_each_place(course.now, player, GAME.rules.determinize)


@tables_of_partners
def test_gifts_of_others_are_redrawn_evenly(num_players):
    chosen = complete = 0
    for course in courses_of(num_players):
        player = len(course.actions) % num_players
        looked_at = check_gifts(course.now, player, GAME.rules.determinize, 500)
        chosen += course.now["gift"][0] >= 0 and course.now["current_player"][0] != player
        complete += looked_at
    assert chosen > 0
    assert complete > 20


@tables_of_partners
def test_exactly_the_possible_gifts_are_redrawn(num_players):
    """All pairs of kinds are tried as what a senior gave back, and as what the junior gave."""
    tried = 0
    for course in courses_of(num_players)[::6]:
        gifts = course.gifts
        hands = course.now["hand"][0].astype(int)
        pairs = [list(pair) for pair in itertools.combinations_with_replacement(range(13), 2)]
        for senior in range(num_players):
            junior = int(course.now["partner"][0, senior])
            if course.now["is_senior"][0, senior] == 0 or len(gifts.get(senior, ())) < 2:
                continue
            back = np.bincount(gifts[senior], minlength=NUM_KINDS)
            junior_had = course.had_since(hands, junior)
            senior_had = course.had_since(hands, senior)
            for pair in pairs:
                cards = np.bincount(pair, minlength=NUM_KINDS)
                # The junior's own gift must fit too: two cards that the senior still had.
                kept = np.repeat(np.arange(NUM_KINDS), senior_had)[:2].tolist()
                world = course.is_world(hands, {**gifts, senior: pair, junior: kept})
                assert world == (cards <= junior_had).all()
                world = course.is_world(hands, {**gifts, junior: pair})
                assert world == (cards <= senior_had + back).all()
                tried += 1
    assert tried > 300


def lazy(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """Every fourth time it leaves everything as it is."""
    if seed % 4:
        GAME.rules.determinize(states, i, player, seed)


def fond_of_high_hands(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """The better of two, by how many orcas, elephants, ... the players have, one by one."""
    GAME.rules.determinize(states, i, player, 2 * seed)
    first = states[i].copy()
    GAME.rules.determinize(states, i, player, 2 * seed + np.uint64(1))
    if first["hand"].tolist() > states["hand"][i].tolist():
        states[i] = first


def fond_of_high_gifts(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """The better of two, by what was given."""
    GAME.rules.determinize(states, i, player, 2 * seed)
    first = states[i].copy()
    GAME.rules.determinize(states, i, player, 2 * seed + np.uint64(1))
    if first["given"].tolist() > states["given"][i].tolist():
        states[i] = first


@pytest.mark.slow
@tables
def test_uneven_redrawing_is_caught(num_players):
    for course, player in small_courses_of(num_players):
        for determinize in (lazy, fond_of_high_hands):
            with pytest.raises(AssertionError, match="not drawn evenly"):
                check_evenly_redrawn(course, player, determinize)
    if num_players > 3:
        with pytest.raises(AssertionError, match="an impossible arrangement"):  # noqa: PT012
            for course, player in small_courses_of(num_players):
                check_evenly_redrawn(course, player, forgetful)
    for determinize in (lazy, fond_of_high_hands):
        with pytest.raises(AssertionError, match="hands not drawn evenly"):
            check_each_place(courses_of(num_players)[0].now, 0, determinize)


@tables_of_partners
def test_uneven_redrawing_of_gifts_is_caught(num_players):
    for determinize in (lazy, fond_of_high_gifts):
        with pytest.raises(AssertionError, match=r"gifts? not drawn evenly"):  # noqa: PT012
            for course in courses_of(num_players):
                for player in range(num_players):
                    check_gifts(course.now, player, determinize, 500)


# ---------------------------------------------------------------------------------------------
# What is redrawn follows from what the player knows, and from the seed
# ---------------------------------------------------------------------------------------------


def check_nothing_hidden_remains(states: np.ndarray, player: int, determinize: Determinize) -> bool:
    """The same bytes come out of the true state and of two redrawn ones.

    Returns:
        Whether these three differ.
    """
    starts = [states, *(redrawn(GAME, states, player, seed, determinize) for seed in (1, 2))]
    ends = {redrawn(GAME, start, player, 3, determinize).tobytes() for start in starts}
    assert len(ends) == 1, "what was hidden before makes a difference"
    return len({start.tobytes() for start in starts}) == 3


@both_games
@tables
def test_nothing_of_what_was_hidden_remains(num_players, partners):
    differs = [
        check_nothing_hidden_remains(course.now, player, GAME.rules.determinize)
        for course in courses_of(num_players, partners)
        for player in range(num_players)
    ]
    assert np.mean(differs) > 0.9


def by_exchange(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """Two others exchange their hands if they are of one size: what they were is still there."""
    rng = np.random.default_rng(int(seed))
    others = [q for q in range(states["num_players"][i]) if q != player]
    one, other = rng.permutation(others)[:2]
    if states["hand_size"][i, one] == states["hand_size"][i, other]:
        states["hand"][i, [one, other]] = states["hand"][i, [other, one]]


def with_the_games_own_stream(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """The stream goes on from where it was."""
    stream = states["rng"][i] + seed
    GAME.rules.determinize(states, i, player, seed)
    states["rng"][i] = stream


@tables
@pytest.mark.parametrize("determinize", [by_exchange, with_the_games_own_stream])
def test_what_remains_is_caught(num_players, determinize):
    with pytest.raises(AssertionError, match="makes a difference"):  # noqa: PT012
        for course in courses_of(num_players):
            check_nothing_hidden_remains(course.now, 0, determinize)


# ---------------------------------------------------------------------------------------------
# What is seen
# ---------------------------------------------------------------------------------------------

#: The animal that each lay counts as (FZ-5, FZ-6); -1: the joker alone.
ANIMAL_OF = np.array(
    [
        ANIMALS.index(min(lay.strip("J"), key="EOCBLSFPHIMQ".index)) if lay != "J" else -1
        for lay in LAYS
    ]
)
SIZE_OF = np.array([len(lay) for lay in LAYS])
DECK = np.array(counts("OECBLSFPHIM" * 5 + "QQQQJ"))
DECK_OF_THREE = DECK - counts("LEM" + "OCBSFPHIQ" * 2)


def lays_on(animal: int, size: int) -> np.ndarray:
    """FZ-8: which lays may be played on a set of that number of the animal."""
    beats = np.array([sign in BEATERS[ANIMALS[animal]] for sign in ANIMALS] + [False])
    by_others = beats[ANIMAL_OF] & (SIZE_OF == size)  # noqa: SIM300
    by_more = (ANIMAL_OF == animal) & (SIZE_OF == size + 1)  # noqa: SIM300
    return by_others | by_more


LAYS_ON = np.array([[lays_on(animal, size) for size in range(1, 8)] for animal in range(12)])


def can_lay(cards: np.ndarray) -> np.ndarray:
    """Which lays these cards suffice for."""
    return (CARDS[:-1] <= cards).all(axis=1)


def thermometer(numbers: np.ndarray, size: int) -> np.ndarray:
    return (np.asarray(numbers)[..., None] > np.arange(size)).astype(float)


def expected_table(
    states: np.ndarray, witness: Witness, player: int, fields
) -> dict[str, np.ndarray]:
    """What lies open on the table, by the names of the fields; the others are 0."""
    s = states[0]
    n = int(s["num_players"])
    values = {field.name: np.zeros(field.shape) for field in fields}
    values["phase"][s["phase"]] = 1
    has_pairs = bool(s["partners"]) and n > 3 and s["hand_number"] > 1
    values["animals_count"][0] = n == 3 or has_pairs
    values["leads"][0] = s["last_set"] == NO_LAY
    if s["last_set"] != NO_LAY:
        values["last_animal"][ANIMAL_OF[s["last_set"]]] = 1
        values["last_size"][SIZE_OF[s["last_set"]] - 1] = 1
    values["trick"][:] = witness.trick / 5
    values["request"][:] = witness.laid / 5
    for seat, q in enumerate((player + k) % n for k in range(n)):
        values["seats"][seat] = 1
        values["to_move"][seat] = q == s["current_player"] and not is_over(states)
        needs = int(s["target_score"] - s["totals"][q])
        values["needs"][seat] = np.clip(needs, 0, 32) / 32
        values["needs_more"][seat] = np.clip(needs - 32, 0, 64) / 64
        values["beyond_target"][seat] = np.clip(-needs, 0, 64) / 64
        values["rank"][seat] = (s["rank"][q] + 1) / 7
        values["senior"][seat] = s["is_senior"][q]
        if s["partner"][q] >= 0:
            values["partner"][seat, (s["partner"][q] - player) % n] = 1
        size = s["hand"][q].sum()
        values["hand_size"][seat] = size / 17
        values["few_cards"][seat] = thermometer(size, 6)
        values["place"][seat] = s["place"][q] / 7
        values["owner"][seat] = q == witness.owner
        values["has_passed"][seat] = s["has_passed"][q]
        values["asker"][seat] = q == witness.asker
    return values


def expected_view(
    states: np.ndarray, witness: Witness, player: int, memory: str
) -> dict[str, np.ndarray]:
    """The fields of an observation, from the table and from what the witness noted."""
    s = states[0]
    n = int(s["num_players"])
    values = expected_table(states, witness, player, GAME.fields)
    hand = s["hand"][player].astype(int)
    elsewhere = (DECK_OF_THREE if n == 3 else DECK) - hand - witness.laid
    if memory == "perfect":
        elsewhere = elsewhere - witness.played_by.sum(axis=0) - witness.laid_down
        if s["alone"] == player:
            elsewhere = elsewhere - witness.given
    else:
        elsewhere = elsewhere - witness.trick
    values["hand"][:] = thermometer(hand, 5)
    values["elsewhere"][:] = thermometer(elsewhere, 5)
    values["group"][:] = np.arange(1, 6) == hand[:, None]
    beaten = (LAYS_ON & can_lay(elsewhere)).any(axis=2)  # [animal, size]
    values["unbeatable"][:] = (hand[:12, None] > np.arange(5)) & ~beaten[:, :5]
    animals = np.flatnonzero(hand[:12])
    values["groups"][len(animals)] = 1
    values["weak_groups"][beaten[animals, hand[animals] - 1].sum()] = 1
    if witness.gift is not None:
        values["gift"][witness.gift] = 1
    if memory == "perfect":
        values["given"][:] = witness.given / 2
        values["got"][:] = witness.got / 2
        values["played"][:] = (witness.played_by.sum(axis=0) + witness.laid_down) / 5
        for seat, q in enumerate((player + k) % n for k in range(n)):
            values["captured"][seat] = witness.captured[q] / 5
            values["known"][seat] = witness.known[q] / 5
    return values


def expected_state(
    states: np.ndarray, witnesses: list[Witness], player: int
) -> dict[str, np.ndarray]:
    """The fields of the full state: what all witnesses together know."""
    s = states[0]
    n = int(s["num_players"])
    own = witnesses[player]
    values = expected_table(states, own, player, GAME.state_fields)
    chosen = witnesses[s["current_player"]].gift
    if chosen is not None:
        values["gift"][chosen] = 1
    for seat, q in enumerate((player + k) % n for k in range(n)):
        values["hands"][seat] = thermometer(s["hand"][q], 5)
        values["given"][seat] = witnesses[q].given / 2
        values["played"][seat] = own.played_by[q] / 5
        values["captured"][seat] = own.captured[q] / 5
        values["known"][seat] = own.public[q] / 5
    return values


def assert_same_values(fields, found: np.ndarray, expected: dict[str, np.ndarray]) -> None:
    flat = np.concatenate([values.ravel() for values in expected.values()])
    differs = np.abs(found - flat) > 1e-6
    assert not differs.any(), [n for n, values in fields.unflatten(differs).items() if values.any()]


SEEN = (
    "partners",
    "asked",
    "chosen",
    "known",
    "ended",
    "truncated",
    "simple",
    "above",
    "far below",
)


@memory_modes
@tables
def test_every_value_that_a_player_sees_is_as_described(num_players, memory):
    """The same for the full state. Hands of both kinds, requests, gifts, and ends of games."""
    seen = dict.fromkeys(SEEN, 0)
    for seed in range(6):
        options = {
            "partners": seed % 4 != 3,
            "target_score": (9, 19, 12, 45)[seed % 4],
            "max_steps": 150 if seed % 3 == 2 else 10_000,
        }
        for number, (states, action, witnesses) in enumerate(
            witnessed(play_of(num_players, seed, 500, **options))
        ):
            s = states[0]
            for player, witness in enumerate(witnesses):
                if (number + player) % 16 and action is not None:
                    continue
                expected = expected_view(states, witness, player, memory)
                found = observation_of(GAME, states, player, memory)
                assert_same_values(GAME.fields, found, expected)
                for field in GAME.fields:
                    if field.derived:
                        expected[field.name][:] = 0
                found = observation_of(GAME, states, player, memory, features=False)
                assert_same_values(GAME.fields, found, expected)
                known = witness.known
                known[player] = s["hand"][player]
                assert np.array_equal(located(states, player), known)
                full = expected_state(states, witnesses, player)
                assert_same_values(GAME.state_fields, state_of(GAME, states, player), full)
                seen["known"] += np.delete(known, player, axis=0).any()
                totals = s["totals"][:num_players]
                seen["above"] += (totals > s["target_score"]).any()
                seen["far below"] += (totals < s["target_score"] - 32).any()
            seen["partners"] += (s["partner"] >= 0).any()
            seen["asked"] += s["phase"] == ANSWER
            seen["chosen"] += s["gift"] >= 0
            seen["ended"] += s["terminated"]
            seen["truncated"] += s["truncated"]
            seen["simple"] += s["hand_number"] > 1 and not s["partners"]
    if num_players == 3:
        assert [what for what, count in seen.items() if not count] == [
            "partners",
            "asked",
            "chosen",
        ]
    else:
        assert all(seen.values()), seen


@tables
def test_passes_do_not_change_what_is_known(num_players):
    """But for a leader who cannot lead (FZ-7). Neither does the chance to do something else."""
    passes = refusals = 0
    for seed in range(8):
        for states, action in play_of(num_players, seed, 300):
            s = states[0]
            if action != PASS or s["last_set"] == NO_LAY:
                continue
            after = copy_of(GAME, states)
            GAME.rules.step(after, 0, action)
            if after["hand_number"][0] > s["hand_number"] or is_over(after):
                continue
            mover = int(s["current_player"])
            for player in range(num_players):
                known, then = known_to(states, player), known_to(after, player)
                if s["phase"] == ANSWER:
                    junior = int(s["asker"])
                    assert (then[junior] >= CARDS[s["request"]]).all()
                    known[junior] = then[junior] = 0
                    refusals += 1
                assert np.array_equal(known, then)
                for seed_of_cards in range(2):
                    if s["phase"] == TURN and player != mover:
                        cards = [
                            redrawn(GAME, now, player, seed_of_cards, GAME.rules.determinize)
                            for now in (states, after)
                        ]
                        assert np.array_equal(cards[0]["hand"], cards[1]["hand"])
                passes += 1
    assert passes > 200
    assert (refusals > 0) == (num_players > 3)


@tables
def test_what_the_last_hand_showed_is_not_part_of_what_is_seen(num_players):
    """The cards are dealt again, and nobody learns more of them than the table shows."""
    fields = (
        "last_place",
        "place_points",
        "lion_points",
        "hedgehog_points",
        "hand_points",
        "rewards",
    )
    cleared = ("known", "given", "captured", "played_by", "played", "trick", "place", "has_passed")
    rng = np.random.default_rng(num_players)
    tested = begun = 0
    for seed in range(4):
        last_hand = 1
        for states, _ in play_of(num_players, seed, 300):
            s = states[0]
            if s["hand_number"] == 1:
                continue
            if s["hand_number"] > last_hand:
                last_hand = s["hand_number"]
                assert not any(s[name].any() for name in cleared)
                assert (s["gift"], s["asker"], s["request"], s["owner"]) == (-1, -1, NO_LAY, -1)
                begun += 1
            other = copy_of(GAME, states)
            for name in fields:
                other[name] = rng.integers(0, 5, states[name].shape)
            for player in range(num_players):
                view = observation_of(GAME, states, player)
                assert observation_of(GAME, other, player).tobytes() == view.tobytes()
                hands = [
                    redrawn(GAME, now, player, 1, GAME.rules.determinize)["hand"]
                    for now in (states, other)
                ]
                assert np.array_equal(*hands)
            assert state_of(GAME, other).tobytes() == state_of(GAME, states).tobytes()
            tested += 1
    assert begun > 3
    assert tested > 100


# ---------------------------------------------------------------------------------------------
# By hand
# ---------------------------------------------------------------------------------------------

#: Four players: 0 is the senior of 2, and 1 of 3. What they have given each other is played.
GIFTS = {0: "BB", 2: "CC", 1: "LL", 3: "SS"}


def hand_two(*hands: str, gifts: dict[int, str] = GIFTS, **more) -> Table:
    return Table.lay_out(*hands, hand_number=2, gifts=gifts, **more)


def knows(table: Table, player: int, other: int) -> str:
    """What a player's observation says that another one's hand holds; the redrawn hands do hold
    it, and of each other kind that is elsewhere too not always any."""
    known = known_to(table.states, player)[other]
    hands = many_redrawn(table.states, player, GAME.rules.determinize, 200)["hand"][:, other]
    fewest = Places.of(table.states, player).fewest[other]
    assert np.array_equal(hands.min(axis=0), fewest)
    assert (known <= fewest).all()
    return cards_of(known)


def test_a_refused_request_shows_cards_to_everybody():
    table = hand_two("EEO", "FFI", "MMMS", "PPH", last="EE", owner=1, player=2)
    table.play(ask("M"))
    assert [knows(table, player, 2) for player in (0, 1, 3)] == ["", "", ""]
    table.play(PASS)
    assert [knows(table, player, 2) for player in (0, 1, 3)] == ["M", "M", "M"]
    # Of their own hand they see what the others know.
    seen = table.observe(2)["known"]
    assert cards_of(np.rint(5 * seen[0])) == "M"
    assert not seen[1:].any()


def test_cards_that_were_shown_and_are_laid_again():
    """While they lie there the hand is known to hold the others; together they are not more."""
    table = hand_two("EEO", "FFI", "MMMS", "PPH", last="EEE", owner=1, player=2)
    table.play(ask("MM"), PASS)
    assert knows(table, 3, 2) == "MM"
    table.play(PASS, PASS)  # of players 3 and 0: the trick is the owner's
    table.play(put("F"), PASS)  # of player 2
    assert knows(table, 3, 2) == "MM"
    table = hand_two("EEO", "FFI", "MMMS", "PPH", last="EEE", owner=1, player=2)
    table.states["known"][0, 2] = counts("MM")
    table.play(ask("M"))
    assert [knows(table, player, 2) for player in (0, 1, 3)] == ["M"] * 3
    table.play(PASS)
    assert [knows(table, player, 2) for player in (0, 1, 3)] == ["MM"] * 3


def test_a_played_card_may_be_the_one_that_was_shown():
    table = hand_two("EEO", "FFI", "MMMS", "PPH", last="E", owner=1, player=2)
    table.states["known"][0, 2] = counts("MS")
    table.play(put("M"))
    assert knows(table, 1, 2) == "S"


def test_a_completed_request_shows_nothing_more():
    table = hand_two("EMO", "FFI", "MMMS", "PPH", last="EE", owner=1, player=2)
    table.play(ask("M"), put("M"))
    assert [knows(table, player, 2) for player in (0, 1, 3)] == ["", "", ""]
    assert [knows(table, player, 0) for player in (1, 2, 3)] == ["", "", ""]


def test_a_leader_who_passes_holds_the_joker():
    """FZ-7: everybody knows it from then on, and knew it not before."""
    table = hand_two("J", "FFI", "MMMS", "PPH", player=0)
    assert [knows(table, player, 0) for player in (1, 2, 3)] == ["", "", ""]
    jokers = many_redrawn(table.states, 1, GAME.rules.determinize, 200)["hand"][:, :, JOKER]
    assert jokers.sum(axis=0)[:4].tolist().count(0) == 1  # their own
    table.play(PASS)
    assert [knows(table, player, 0) for player in (1, 2, 3)] == ["J", "J", "J"]


def test_a_gift_is_known_to_the_partners_alone():
    """FZ-18: the giver knows what they gave, the other one what they got."""
    table = Table.deal_out("FF", "", "OE", "", hand_number=2)
    assert table.current_player == 2
    table.play(give("O"))
    seen = [cards_of(table.observe(player)["gift"]) for player in range(4)]
    assert seen == ["", "", "O", ""]
    chosen = [
        {int(gift) for gift in many_redrawn(table.states, p, GAME.rules.determinize, 200)["gift"]}
        for p in range(4)
    ]
    assert chosen[2] == {0}
    assert all(len(kinds) > 5 for kinds in (chosen[0], chosen[1], chosen[3]))
    table.play(give("E"))
    assert [knows(table, player, 0) for player in (1, 2, 3)] == ["", "OE", ""]
    assert [knows(table, player, 2) for player in (0, 1, 3)] == ["", "", ""]
    assert cards_of(2 * table.observe(2)["given"]) == "OE"
    assert cards_of(2 * table.observe(0)["got"]) == "OE"
    for player in (1, 3):
        seen = table.observe(player)
        assert not seen["got"].any()
        assert not seen["given"].any()
    table.play(give("F"), give("F"))
    assert [knows(table, player, 0) for player in (1, 2, 3)] == ["", "OE", ""]
    assert [knows(table, player, 2) for player in (0, 1, 3)] == ["FF", "", ""]


@pytest.mark.parametrize(
    ("given", "back", "known"),
    [("OE", "OS", "E"), ("OE", "OE", ""), ("EE", "ES", "E"), ("EE", "EE", ""), ("OO", "SS", "OO")],
)
def test_a_senior_gives_back_what_he_was_given(given, back, known):
    """Or a card like it: the junior cannot rely on the other one any more."""
    table = Table.deal_out("OEESS", "", "OOEE", "", hand_number=2)
    table.play(*map(give, given), *map(give, back))
    assert knows(table, 2, 0) == known
    assert knows(table, 0, 2) == in_order(back)
    assert knows(table, 1, 0) == knows(table, 1, 2) == ""


def with_gifts_in_hand(table: Table) -> Table:
    """The same, but player 1 has played all cards like those that players 0 and 2 have given."""
    played_by = table.states["played_by"][0]
    for giver in (0, 2):
        for kind in np.flatnonzero(table.given[giver]):
            played_by[1, kind] += played_by[[0, 2], kind].sum()
            played_by[[0, 2], kind] = 0
    check_invariants(table.states, 0)
    return table


def test_cards_that_the_partner_lays_or_plays_may_be_the_gift():
    gifts = {0: "MS", 2: "EC", 1: "LL", 3: "PP"}
    hands = ("EEC", "FFI", "MMMS", "PPH")
    table = with_gifts_in_hand(hand_two(*hands, gifts=gifts, last="EE", owner=1, player=2))
    assert knows(table, 0, 2) == "SM"
    assert knows(table, 2, 0) == "EC"
    table.play(ask("M"))
    assert knows(table, 0, 2) == "S"
    assert knows(table, 1, 2) == ""
    table.play(PASS)
    assert knows(table, 0, 2) == "SM"  # the one that was shown may be the gift
    assert knows(table, 1, 2) == "M"
    table = with_gifts_in_hand(hand_two(*hands, gifts=gifts, last="E", owner=1, player=2))
    table.play(put("M"))
    assert knows(table, 0, 2) == "S"
    table = with_gifts_in_hand(hand_two(*hands, gifts=gifts, last="L", owner=3, player=0))
    table.play(put("E"))
    assert knows(table, 2, 0) == "C"
    # What somebody else lays is not the gift.
    hands = ("EEC", "FFI", "MMMSE", "PPH")
    table = with_gifts_in_hand(hand_two(*hands, gifts=gifts, last="EE", owner=1, player=2))
    table.play(ask("E"))
    assert knows(table, 2, 0) == "EC"


def test_sets_of_all_cards_of_an_animal_and_what_can_beat_them():
    """Five elephants, the joker and a mosquito elsewhere are seven elephants."""

    def unbeatable(*hands: str) -> dict[str, list[float]]:
        table = Table.lay_out(*hands)
        seen = table.observe(0)["unbeatable"]
        return {sign: seen[ANIMALS.index(sign)].tolist() for sign in set(hands[0]) - {"J"}}

    assert unbeatable("FFFFF", "EEEEEQJ", "OO", "P") == {"F": [0, 0, 0, 0, 0]}
    assert unbeatable("FFFFFQJ", "EEEE", "OO", "P")["F"] == [0, 0, 0, 0, 1]
    assert unbeatable("FFFFFQ", "EEEEJ", "OO", "P")["F"] == [0, 0, 0, 0, 0]
    assert unbeatable("EEEEE", "MMMM", "QQJ", "P") == {"E": [0, 0, 0, 0, 0]}
    assert unbeatable("EEEEEJ", "MMMM", "QQ", "P") == {"E": [0, 0, 0, 0, 1]}
    assert unbeatable("EE", "E", "Q", "P") == {"E": [0, 1, 0, 0, 0]}
    assert unbeatable("EE", "P", "QQQJ", "P") == {"E": [1, 1, 0, 0, 0]}
    assert unbeatable("QQQQ", "HHHH", "IIM", "P") == {"Q": [0, 0, 0, 0, 0]}
    assert unbeatable("OOOOO", "EEEE", "MMMJ", "P") == {"O": [1, 1, 1, 1, 1]}


def test_what_the_player_alone_laid_down_is_known_to_him():
    """FZ-18: their two cards are captured; nobody else knows which they are."""
    table = Table.deal_out("", "", "OOL", "", "", hand_number=2)
    assert table.alone == 2
    while table.current_player != 2:
        table.play(table.legal()[0])
    table.play(give("O"))
    assert [cards_of(table.observe(player)["gift"]) for player in range(5)] == [
        "O" if player == 2 else "" for player in range(5)
    ]
    table.play(give("L"))
    for player in range(5):
        seen = table.observe(player)
        laid_down = many_redrawn(table.states, player, GAME.rules.determinize, 300)["given"][:, 2]
        assert (laid_down.sum(axis=1) == 2).all()
        if player == 2:
            assert cards_of(2 * seen["given"]) == "OL"
            assert (laid_down == counts("OL")).all()
        else:
            assert np.count_nonzero(laid_down.any(axis=0)) > 8
        orcas = int(seen["elsewhere"][0].sum())
        assert orcas == 5 - table.hand[player, 0] - (player == 2)
        assert not seen["captured"].any()
        assert not seen["played"].any()


@tables
def test_the_hands_that_are_open_at_the_end(num_players):
    """What is left in hands when the game is over; gifts stay hidden. Of a truncated
    game nothing is shown."""
    ended = truncated = hidden = left = 0
    for seed in range(16):
        max_steps = 10_000 if seed % 2 else 60 + 13 * seed
        play = play_of(num_players, seed, 1000, target_score=8, max_steps=max_steps)
        *_, (states, _) = play
        s = states[0]
        for player in range(num_players):
            copies = many_redrawn(states, player, GAME.rules.determinize, 60)
            is_shown = (copies["hand"] == s["hand"]).all()
            known = known_to(states, player)
            if s["terminated"]:
                assert is_shown
                assert np.array_equal(known, s["hand"])
                left += known.any()
                ended += 1
            else:
                places = Places.of(states, player)
                assert is_shown == (places.most == places.fewest).all()
                truncated += not is_shown
            others = [q for q in range(num_players) if player not in (q, s["partner"][q])]
            hidden += (copies["given"][:, others] != s["given"][others]).any()
    assert min(ended, truncated, left) > 0
    assert (hidden > 0) == (num_players > 3)
