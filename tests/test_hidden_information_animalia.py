"""Animalia: what a player can know of hidden cards he knows, and no more; the rest is redrawn
evenly.

A witness sees what happens before him, decision by decision, and keeps his own account of it. A
*world* of a player is an arrangement of the hidden cards that agrees with his account.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from animalia_table import CARDS, GAME, PASS, Table, bits, card, take
from helpers import begin, copy_of, is_over, mask_of, observation_of, some_positions, state_of
from hidden import Determinize, hidden_places_of_animalia, redrawn
from table import chi_square

NUM_CARDS, NUM_FAMILIES, NUM_MEMBERS, OWL = 36, 5, 7, 35
CUTE, THIEF, SPY, PRANKSTER = 2, 4, 5, 6
LOT, STEAL, GIVE, RECEIVE, BRING_IN, TAKE_OUT, OWL_FAMILY = range(7)
FULL, CARDS_SPIED, GROUP, MAX_SEASONS = 5, 3, 5, 10
STARS = {0: 3, 1: 2, 3: -1}

tables = pytest.mark.parametrize("num_players", range(2, 7))
memory_modes = pytest.mark.parametrize("memory", ["perfect", "none"])


def cards_in(cards: int) -> list[int]:
    """The numbers of the cards of a set."""
    return [number for number in range(NUM_CARDS) if int(cards) >> number & 1]


def in_play(num_players: int) -> set[int]:
    """AN-2."""
    return {c for c in range(NUM_CARDS) if num_players > 4 or c == OWL or c % NUM_MEMBERS != CUTE}


def pile_of(s: np.void) -> list[int]:
    """The draw pile, the next card first."""
    return s["deck"][s["drawn"] : s["deck_size"]].tolist()


def open_cards(s: np.void) -> set[int]:
    """All that lies face up: the collections, the lot, what was replaced."""
    return {c for cards in (*s["collection"], s["lot"], s["replaced"]) for c in cards_in(cards)}


# ---------------------------------------------------------------------------------------------
# Play
# ---------------------------------------------------------------------------------------------


def choose(states: np.ndarray, rng: np.random.Generator) -> int:
    """A player who likes spies, and to keep his bonus cards."""
    legal = np.flatnonzero(mask_of(GAME, states))
    s = states[0]
    if s["phase"] == LOT and legal[0] == PASS:
        likes = any(c % NUM_MEMBERS == SPY for c in cards_in(s["lot"]) if c != OWL)
        is_taken = len(legal) > 1 and rng.random() < (0.9 if likes else 0.4)
        return int(rng.choice(legal[1:])) if is_taken else PASS
    if s["phase"] == BRING_IN and rng.random() < 0.6:
        return PASS
    return int(rng.choice(legal))


def play_of(num_players: int, seed: int, **options) -> Iterator[tuple[np.ndarray, int | None]]:
    """The record, always the same array, at each decision, with the action that follows; at the
    end with None."""
    states = begin(GAME, num_players, seed, **options)
    rng = np.random.default_rng(seed)
    while not is_over(states):
        action = choose(states, rng)
        yield states, action
        GAME.rules.step(states, 0, action)
    yield states, None


def decisions_in(states: np.ndarray, action: int) -> Iterator[tuple[np.void, int, np.void]]:
    """A decision and the forced ones that follow in the same step (AN-10), with what was before
    and what is after each."""
    now = copy_of(GAME, states)
    legal = [action]
    while len(legal) == 1:
        before = copy_of(GAME, now)
        GAME.rules.carry_out(now[0], int(legal[0]))
        yield before[0], int(legal[0]), now[0]
        legal = np.flatnonzero(mask_of(GAME, now)).tolist()


@dataclass
class Held:
    """A bonus card, face down before its holder.

    Attributes:
        holder: The one who has it.
        since: The season in which it was drawn.
        spies: Those whose spies have seen it.
        possible: What it could be for the witness, all that he has ever located being something
            else; nothing if he knows it.
    """

    holder: int
    since: int
    spies: set[int]
    possible: set[int] = field(default_factory=set)


class Witness:
    """A player who sees what he can see, and keeps account of it by himself.

    Attributes:
        next_cards: the next cards of the draw pile, as far as his spies saw them.
        spied: how many of them the spies of each player saw.
        bonus: the bonus cards of all, which he tells apart; they are named by what they are.
        located: for each card the last season that left no doubt that nobody kept it.
    """

    def __init__(self, states: np.ndarray, player: int) -> None:
        self.player = player
        self.num_players = int(states["num_players"][0])
        self.next_cards: list[int] = []
        self.spied = [0] * self.num_players
        self.bonus: dict[int, Held] = {}
        self.located = [0] * NUM_CARDS

    @property
    def known(self) -> set[int]:
        """The bonus cards that he has or whose holder he knows."""
        return {c for c, held in self.bonus.items() if not held.possible}

    def unlocated(self, s: np.void) -> set[int]:
        return in_play(self.num_players) - open_cards(s) - self.known - set(self.next_cards)

    def could_be(self, number: int, s: np.void) -> set[int]:
        """What another's bonus card could be."""
        return self.bonus[number].possible & self.unlocated(s)

    def sees(self, before: np.void, action: int, after: np.void) -> None:
        """What somebody does or has to do, and what follows from it."""
        if before["phase"] == LOT and action != PASS:
            self._sees_a_take(before, action)
        if before["phase"] == TAKE_OUT:
            del self.bonus[int(before["chosen"])]
        if before["season"] < after["season"]:
            self._sees_the_end_of_a_season(before)
        else:
            self._sees_drawing(before, after)

    def _sees_a_take(self, s: np.void, action: int) -> None:
        """AN-11, AN-12."""
        mover = int(s["current_player"])
        place = 2 * mover + action - 1 if self.num_players == 2 else mover

        def spies(cards: int) -> int:
            return sum(c % NUM_MEMBERS == SPY for c in cards_in(cards) if c != OWL)

        if spies(s["lot"]) and spies(s["lot"] | s["collection"][place]) > 1:
            looked_at = pile_of(s)[:CARDS_SPIED]
            self.spied[mover] = len(looked_at)
            if mover == self.player:
                self.next_cards = looked_at

    def _sees_drawing(self, before: np.void, after: np.void) -> None:
        number = int(after["drawn"]) - int(before["drawn"])
        for k, drawn in enumerate(pile_of(before)[:number]):
            holder = int(after["holder"][before["drawn"] + k])
            if holder >= 0:
                spies = {q for q in range(self.num_players) if k < self.spied[q]}
                is_known = holder == self.player or self.player in spies
                possible = set() if is_known else in_play(self.num_players)
                self.bonus[drawn] = Held(holder, int(after["season"]), spies, possible)
        self.next_cards = self.next_cards[number:]
        self.spied = [max(0, k - number) for k in self.spied]

    def _sees_the_end_of_a_season(self, s: np.void) -> None:
        kept_by_nobody = open_cards(s) | set(self.next_cards)
        for held in self.bonus.values():
            held.possible -= kept_by_nobody | self.known
        for c in kept_by_nobody:
            self.located[c] = int(s["season"])
        self.next_cards = []
        self.spied = [0] * self.num_players


def witnessed(
    num_players: int, seed: int, **options
) -> Iterator[tuple[np.ndarray, int | None, list[Witness]]]:
    """A game with a witness for each player, who has seen all before."""
    witnesses: list[Witness] = []
    seen, later = None, None
    for states, action in play_of(num_players, seed, **options):
        if not witnesses:
            witnesses = [Witness(states, player) for player in range(num_players)]
        if later is not None:
            for name in ("deck", "collection", "season", "phase", "current_player", "medals"):
                assert np.array_equal(later[name], states[0][name])
        yield states, action, witnesses
        if action is not None:
            for seen in decisions_in(states, action):
                for witness in witnesses:
                    witness.sees(*seen)
            later = seen[2]


# ---------------------------------------------------------------------------------------------
# What is seen is what can be known
# ---------------------------------------------------------------------------------------------


def one_hot(length: int, place: int) -> np.ndarray:
    """Nothing for a place that is not there."""
    return (np.arange(length) == place).astype(float)


def look_of(number: int) -> np.ndarray:
    """A card's family and member; nothing for -1."""
    if number < 0:
        return np.zeros(13)
    family, member = divmod(number, NUM_MEMBERS)
    return np.concatenate([one_hot(6, family), one_hot(7, member) * (number != OWL)])


def set_of(cards: set[int] | list[int]) -> np.ndarray:
    return np.isin(np.arange(NUM_CARDS), list(cards)).astype(float)


def group_of(s: np.void) -> int:
    """AN-18, AN-19."""
    return 7 if s["num_players"] == 2 else GROUP


def points_of(s: np.void, player: int) -> int:
    medals = s["medals"][player].astype(int)
    return int(medals.sum() + 5 * (medals // group_of(s)).sum())


def own_collections(s: np.void, player: int) -> list[list[int]]:
    first = 2 * player if s["num_players"] == 2 else player
    return [cards_in(s["collection"][first + k]) for k in range(2 if s["num_players"] == 2 else 1)]


def families_of(cards: list[int]) -> list[int]:
    return [sum(c // NUM_MEMBERS == family for c in cards) for family in range(NUM_FAMILIES)]


def expected_table(s: np.void, witness: Witness) -> dict[str, np.ndarray]:
    """What lies open on the table, from the witness's seat."""
    n, me = witness.num_players, witness.player
    order = [(me + k) % n for k in range(n)]
    rows = [cards for q in order for cards in own_collections(s, q)]
    rows += [[] for _ in range(6 - len(rows))]
    each = 2 if n == 2 else 1
    ages = np.zeros((6, 3))
    for held in witness.bonus.values():
        ages[order.index(held.holder), min(2, int(s["season"]) - held.since)] += 1 / 16
    lot = cards_in(s["lot"])
    is_over = s["terminated"] or s["truncated"]
    taken_into = -1 if s["taken_into"] < 0 else (s["taken_into"] - each * me) % (each * n)
    elegance = [sum(STARS.get(c % NUM_MEMBERS, 0) for c in row if c != OWL) for row in rows]
    return {
        "seats": np.arange(6) < n,
        "to_move": one_hot(6, -1 if is_over else order.index(s["current_player"])),
        "phase": one_hot(7, s["phase"]),
        "dealer": one_hot(6, order.index(s["dealer"])),
        "must_take": s["must_take"],
        "lot_size": one_hot(3, len(lot) - 1),
        "lot": set_of(lot),
        "last_season": s["season"] == s["seasons"],
        "seasons_left": (int(s["seasons"]) - int(s["season"])) / MAX_SEASONS,
        "collections": np.array([set_of(row) for row in rows]),
        "size": np.array([np.arange(FULL) < len(row) for row in rows]),
        "elegance": (np.array(elegance) + 5) / 20 * (np.arange(6) < each * n),
        "taken_into": one_hot(6, taken_into),
        "gift_follows": s["may_give"],
        "bonus_cards": ages,
        "pile_size": len(pile_of(s)) / 36,
        "spied": np.array([witness.spied[q] for q in order] + [0] * (6 - n)) / 3,
        "owl_family": one_hot(5, s["owl_family"]),
    }


def expected_view(s: np.void, witness: Witness) -> dict[str, np.ndarray]:
    """All that the witness's observation must hold, by fields."""
    n, me = witness.num_players, witness.player
    order = [(me + k) % n for k in range(n)]
    remembers = s["memory"] == 0
    medals, points = np.zeros((6, NUM_FAMILIES)), np.zeros(6)
    known_bonus, bonus_seen = np.zeros(NUM_CARDS), np.zeros(6)
    for seat, q in enumerate(order):
        last = s["medals" if remembers or q == me else "season_medals"][q]
        medals[seat] = last / (10 * int(s["seasons"]))
        if remembers:
            points[seat] = min(1.0, points_of(s, q) / 100)
    located = np.array(witness.located) * remembers
    for number, held in witness.bonus.items() if remembers else ():
        bonus_seen[order.index(held.holder)] += bool(held.spies - {held.holder}) / 16
        if number in witness.known:
            located[number] = held.since - 1
            known_bonus[number] = order.index(held.holder) / 5
    own = {c for c, held in witness.bonus.items() if held.holder == me}
    unseen = witness.unlocated(s) if remembers else witness.unlocated(s) | (witness.known - own)
    is_chosen_open = s["phase"] == RECEIVE or s["current_player"] == me
    next_cards = [*witness.next_cards, -1, -1, -1][:CARDS_SPIED]
    with_lot, lacking = np.zeros((2, NUM_FAMILIES, FULL)), np.zeros((2, NUM_FAMILIES, 9))
    triggers = np.zeros((2, 3))
    lot = cards_in(s["lot"])
    group = group_of(s)
    for k, held in enumerate(own_collections(s, me)):
        cards = held + lot if len(held) + len(lot) <= FULL else held
        for family, animals in enumerate(families_of(cards)):
            lacks = group - s["medals"][me, family] % group - animals
            with_lot[k, family] = one_hot(FULL, animals - 1)
            lacking[k, family] = one_hot(9, min(lacks + 2, 8))
        for j, power in enumerate((THIEF, SPY, PRANKSTER)):
            in_lot, in_all = (
                sum(c % NUM_MEMBERS == power for c in some if c != OWL) for some in (lot, cards)
            )
            triggers[k, j] = cards != held and in_lot > 0 and in_all > 1
    return expected_table(s, witness) | {
        "medals": medals,
        "chosen": look_of(int(s["chosen"]) if is_chosen_open else -1),
        "bonus": set_of(own),
        "spied_cards": np.array([look_of(number) for number in next_cards]),
        "unseen": set_of(unseen),
        "located": located / MAX_SEASONS,
        "known_bonus": known_bonus,
        "bonus_seen": bonus_seen,
        "with_lot": with_lot,
        "lacking": lacking,
        "triggers": triggers,
        "rest": np.array([one_hot(6, s["medals"][me, f] % group - 1) for f in range(NUM_FAMILIES)]),
        "points": points,
    }


def expected_state(s: np.void, witnesses: list[Witness], me: int) -> dict[str, np.ndarray]:
    """All that the full state must hold, by fields, with the seat ``me`` first."""
    n = len(witnesses)
    order = [(me + k) % n for k in range(n)]
    pile = pile_of(s)
    medals = np.zeros((6, NUM_FAMILIES))
    bonus, seen, located = np.zeros((6, 36)), np.zeros((6, 36)), np.zeros((6, 36))
    place_in_pile = np.zeros(36)
    place_in_pile[pile] = np.arange(1, 1 + len(pile)) / 36
    for seat, q in enumerate(order):
        witness = witnesses[q]
        medals[seat] = s["medals"][q] / (10 * int(s["seasons"]))
        bonus[seat] = set_of([c for c, held in witness.bonus.items() if held.holder == q])
        seen[seat] = set_of(
            [*pile[: witness.spied[q]], *(c for c, held in witness.bonus.items() if q in held.spies)]
        )
        located[seat] = witness.located
        for number in witness.known:
            located[seat, number] = witness.bonus[number].since - 1
    return expected_table(s, witnesses[me]) | {
        "medals": medals,
        "chosen": look_of(int(s["chosen"])),
        "bonus": bonus,
        "pile": place_in_pile,
        "seen": seen,
        "located": located / MAX_SEASONS,
    }


def assert_same_parts(fields, found: np.ndarray, expected: dict[str, np.ndarray]) -> None:
    """Nothing is nearly right: the smallest step of any value is 1/100."""
    assert list(expected) == [one.name for one in fields]
    flat = np.concatenate([np.ravel(part) for part in expected.values()])
    differs = np.abs(found - flat) > 1e-6
    assert not differs.any(), [n for n, part in fields.unflatten(differs).items() if part.any()]


@memory_modes
@tables
def test_every_value_that_a_player_sees_is_what_the_witness_knows(num_players, memory):
    """So is the full state; and what another's bonus card could be can be read off."""
    happened = Counter[str]()
    for seed in range(9 - num_players):  # games of fewer are shorter
        options = {"memory": memory, "seasons": 3 + seed % 2}
        if seed == 2:
            options["max_steps"] = 40
        for number, (states, action, witnesses) in enumerate(
            witnessed(num_players, 10 * num_players + seed, **options)
        ):
            s = states[0]
            me = number % num_players
            for witness in (witnesses[me], witnesses[s["current_player"]]):
                view = observation_of(GAME, states, witness.player)
                assert_same_parts(GAME.fields, view, expected_view(s, witness))
                happened += check_what_bonus_cards_could_be(s, witness, view)
                happened["spied"] += len(witness.next_cards) > 0
            full = np.full(GAME.state_fields.size, np.nan, np.float32)
            GAME.write_state(states, 0, me, full)
            assert_same_parts(GAME.state_fields, full, expected_state(s, witnesses, me))
            happened["brought in"] += s["phase"] == TAKE_OUT
            happened["gift follows"] += s["may_give"]
            happened["over"] += action is None
    wanted = {"spied", "brought in", "gift follows", "over"}
    if memory == "perfect":
        wanted |= {"kept", "known", "kept and known", "excluded"}
    assert {name for name, count in happened.items() if count} >= wanted, happened


def check_what_bonus_cards_could_be(s: np.void, witness: Witness, view: np.ndarray) -> Counter[str]:
    """Of each hidden bonus card of the last two seasons and this one the observation tells what it
    could be; returns what there was to be told."""
    found = Counter[str]()
    if s["memory"] != 0:
        return found
    n = witness.num_players
    parts = GAME.fields.unflatten(view)
    located = np.rint(MAX_SEASONS * parts["located"])
    for seat in range(n):
        ages = np.rint(16 * parts["bonus_cards"][seat]).astype(int)
        if seat == 0:
            continue
        known = np.flatnonzero(np.rint(5 * parts["known_bonus"]) == seat)
        for number in known:
            ages[min(2, int(s["season"]) - int(located[number]) - 1)] -= 1
        hidden = {
            c
            for c, held in witness.bonus.items()
            if held.possible and held.holder == (witness.player + seat) % n
        }
        assert ages.sum() == len(hidden)
        found["known"] += len(known)
        for number in hidden:
            since = witness.bonus[number].since
            age = int(s["season"]) - since
            assert ages[min(2, age)] > 0
            could_be = set(np.flatnonzero((parts["unseen"] > 0) & (located < since)).tolist())
            assert could_be == witness.could_be(number, s)
            found["kept"] += age > 0
            found["excluded"] += len(could_be) < parts["unseen"].sum()
            found["kept and known"] += age > 0 and len(known) > 0
    return found


# ---------------------------------------------------------------------------------------------
# What can be told apart
# ---------------------------------------------------------------------------------------------


def known_to(s: np.void, player: int) -> tuple:
    """All that a player can know, straight from the record.

    Deliberately no part of it: which spies saw which bonus card of another, and that of his own
    (only how many were seen); with perfect memory the medals of last season by themselves; which of
    several bonus cards is older, from the third season back; the number of decisions so far.
    """
    n = int(s["num_players"])
    remembers = s["memory"] == 0
    deck, holder, since = s["deck"].tolist(), s["holder"].tolist(), s["since"].tolist()
    saw = (s["seen"] >> player & 1 == 1).tolist()
    pile = [
        deck[place] if saw[place] else -1 for place in range(s["drawn"], int(s["deck_size"]))
    ]
    age = [min(2, int(s["season"]) - k) for k in since]
    held = Counter((holder[k], age[k]) for k in range(NUM_CARDS) if holder[k] >= 0)
    chosen = s["chosen"] if s["phase"] == RECEIVE or s["current_player"] == player else -1
    is_over = bool(s["terminated"] or s["truncated"])
    spied = [int((s["seen"][s["drawn"] : s["deck_size"]] >> q & 1).sum()) for q in range(n)]
    table = (
        [int(s[name]) for name in ("dealer", "must_take", "lot", "seasons", "season", "phase")],
        [int(s[name]) for name in ("taken_into", "may_give", "owl_family")],
        -1 if is_over else int(s["current_player"]),
        s["collection"].tolist(),
        [len(pile), spied, sorted(held.items())],
    )
    own = (int(chosen), int(s["bonus"][player]), pile, s["medals"][player].tolist())
    others = [q for q in range(n) if q != player]
    unlocated = {deck[k] for k in np.flatnonzero(hidden_places_of_animalia(s[None], player))}
    if not remembers:
        unlocated |= {deck[k] for k in range(NUM_CARDS) if holder[k] in others}
        return (*table, *own, s["season_medals"][others].tolist(), sorted(unlocated))
    known = [(deck[k], holder[k]) for k in range(NUM_CARDS) if holder[k] in others and saw[k]]
    located = np.maximum(s["shown"], s["left_over"][player])
    for place in range(NUM_CARDS):
        if holder[place] == player or (holder[place] >= 0 and saw[place]):
            located[deck[place]] = since[place] - 1
    seen = Counter(
        holder[k] for k in range(NUM_CARDS) if holder[k] >= 0 and s["seen"][k] & ~(1 << holder[k])
    )
    return (
        *table,
        *own,
        s["medals"][others].tolist(),
        sorted(unlocated),
        sorted(known),
        located.tolist(),
        sorted(seen.items()),
    )


def with_cards_exchanged(states: np.ndarray, one: int, other: int) -> np.ndarray:
    """The same with two cards in each other's places, wherever these are."""
    copy = copy_of(GAME, states)
    s = copy[0]
    pair = 1 << one | 1 << other
    for name in ("collection", "bonus"):
        for k, cards in enumerate(s[name].tolist()):
            s[name][k] = cards ^ pair if (cards & pair).bit_count() == 1 else cards
    for name in ("lot", "replaced"):
        cards = int(s[name])
        s[name] = cards ^ pair if (cards & pair).bit_count() == 1 else cards
    for name in ("deck", "chosen"):
        old = states[0][name]
        s[name] = np.where(old == one, other, np.where(old == other, one, old))
    return copy


NUMBERS = (
    "deck_size drawn season phase dealer current_player must_take taken_into may_give chosen "
    "medals owl_family season_medals season_points shown left_over since holder"
).split()


def with_another_number(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same with one number of one field changed a little, wherever it is."""
    copy = copy_of(GAME, states)
    numbers = copy[str(rng.choice(NUMBERS))].reshape(-1)
    place = rng.integers(len(numbers))
    value = int(numbers[place])
    numbers[place] = 1 - value if value in (0, 1) and rng.random() < 0.5 else value + 1
    return copy


def with_more_seen(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same, but somebody's spies saw one more bonus card, or one more of the pile's next."""
    copy = copy_of(GAME, states)
    s = copy[0]
    places = np.flatnonzero(s["holder"] >= 0).tolist()
    player = int(rng.integers(s["num_players"]))
    following = np.flatnonzero(s["seen"][s["drawn"] :] >> player & 1 == 0)[:1]
    if s["drawn"] < s["deck_size"] and following < CARDS_SPIED:
        places += (s["drawn"] + following).tolist()
    for place in rng.permutation(places)[:1]:
        s["seen"][place] |= 1 << player
    return copy


@memory_modes
@tables
def test_views_differ_exactly_where_what_is_known_differs(num_players, memory):
    """Two records that could be of a game, alike but for two cards, one number or one look."""
    rng = np.random.default_rng(num_players)
    told_apart = Counter[bool]()
    for states in some_positions(GAME, num_players, 100, seed=4, memory=memory):
        changed = [
            with_cards_exchanged(states, *rng.choice(sorted(in_play(num_players)), 2, False))
            for _ in range(8)
        ]
        changed += [with_another_number(states, rng) for _ in range(20)]
        changed += [with_more_seen(states, rng) for _ in range(4)]
        for other in changed:
            if not GAME.rules.is_sound(other, 0):
                continue
            for player in range(num_players):
                is_same = known_to(states[0], player) == known_to(other[0], player)
                views = [observation_of(GAME, one, player).tobytes() for one in (states, other)]
                assert (views[0] == views[1]) == is_same
                told_apart[not is_same] += 1
    assert min(told_apart.values()) > 500
