"""Animalia: what a player can know of hidden cards they know, and no more; the rest is redrawn
evenly.

A witness sees what happens before them, decision by decision, and keeps their own account of it. A
*world* of a player is an arrangement of the hidden cards that agrees with their account.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from games.animalia.kit import hidden_places
from games.animalia.table import CARDS, GAME, PASS, Table, bits, card, take
from helpers import (
    begin,
    check_invariants,
    copy_of,
    each_size,
    is_over,
    mask_of,
    observation_of,
    some_positions,
    state_of,
    units_of,
)
from hidden import Determinize, check_hidden_parts_do_not_matter, redrawn
from table import chi_square

NUM_CARDS, NUM_FAMILIES, NUM_MEMBERS, OWL = 36, 5, 7, 35
CUTE, THIEF, SPY, PRANKSTER = 2, 4, 5, 6
LOT, STEAL, GIVE, RECEIVE, BRING_IN, TAKE_OUT, OWL_FAMILY = range(7)
FULL, CARDS_SPIED, GROUP, MAX_SEASONS = 5, 3, 5, 10
STARS = {0: 3, 1: 2, 3: -1}

tables = pytest.mark.parametrize("num_players", each_size(2, 6))
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
    """A player who likes spies, and to keep bonus cards."""
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
        holder: The player who has it.
        since: The season in which it was drawn.
        spies: The players whose spies have seen it.
        possible: What it could be for the witness, all that they have ever located being something
            else; nothing if they know it.
    """

    holder: int
    since: int
    spies: set[int]
    possible: set[int] = field(default_factory=set)


class Witness:
    """A player who sees what they can see, and keeps account of it.

    Attributes:
        next_cards: the next cards of the draw pile, if their spies saw them.
        spied: how many of them the spies of each player saw.
        bonus: the bonus cards of all, which they tell apart; these are named by what they are.
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
        """The bonus cards that they have or whose holder they know."""
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


def points_if(s: np.void, player: int, collections: list[list[int]]) -> int:
    """AN-17, AN-19: a player's points if their collections had these numbers of animals."""
    medals = s["medals"][player].astype(int)
    for animals in collections:
        is_five_different = animals == [1] * NUM_FAMILIES
        medals += [number if number > 1 or is_five_different else 0 for number in animals]
    return int(medals.sum() + 5 * (medals // group_of(s)).sum())


def points_by_owl(s: np.void, player: int, rows: list[list[int]]) -> list[int]:
    """A player's points with these collections, for each family that the owl can be named; the
    same number if it is in none of them."""
    points = []
    for named in range(NUM_FAMILIES):
        animals = [families_of(row) for row in rows]
        for row, of_row in zip(rows, animals, strict=True):
            of_row[named] += OWL in row
        points.append(points_if(s, player, animals))
    return points


def best_exchange(s: np.void, player: int) -> dict[str, np.ndarray]:
    """What gains the player to move most points at once in phase 3, and how many."""
    cards, gain, families = set[int](), 0, np.zeros(NUM_FAMILIES)
    rows = own_collections(s, player)
    is_to_move = s["current_player"] == player and not (s["terminated"] or s["truncated"])
    if is_to_move and s["phase"] == OWL_FAMILY:
        points = points_by_owl(s, player, rows)
        families = np.array(points) == max(points)
    elif is_to_move and s["phase"] in (BRING_IN, TAKE_OUT):
        brings = s["phase"] == BRING_IN
        gains: dict[int, list[int]] = {}
        before = max(points_by_owl(s, player, rows))
        for card in cards_in(s["bonus"][player]) if brings else [int(s["chosen"])]:
            for k, row in enumerate(rows):
                for out in row:
                    changed = [*rows]
                    changed[k] = [card, *(other for other in row if other != out)]
                    after = max(points_by_owl(s, player, changed))
                    gains.setdefault(after - before, []).append(card if brings else out)
        gain = max(0, *gains)
        cards = set(gains.get(gain, []))
    return {
        "best_cards": set_of(cards),
        "best_gain": np.arange(8) < gain,
        "best_families": families,
    }


def expected_table(s: np.void, witness: Witness) -> dict[str, np.ndarray]:
    """What lies open on the table, from the witness's seat."""
    n, me = witness.num_players, witness.player
    order = [(me + k) % n for k in range(n)]
    rows = [cards for q in order for cards in own_collections(s, q)]
    rows += [[] for _ in range(6 - len(rows))]
    each = 2 if n == 2 else 1
    ages, season_medals = np.zeros((6, MAX_SEASONS)), np.zeros((6, NUM_FAMILIES))
    for held in witness.bonus.values():
        ages[order.index(held.holder), int(s["season"]) - held.since] += 1 / 16
    season_medals[:n] = s["season_medals"][order] / 10
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
        "season_medals": season_medals,
    }


def expected_view(s: np.void, witness: Witness, memory: str) -> dict[str, np.ndarray]:
    """All that the witness's observation must hold, by fields."""
    n, me = witness.num_players, witness.player
    order = [(me + k) % n for k in range(n)]
    remembers = memory == "perfect"
    medals, points = np.zeros((6, NUM_FAMILIES)), np.zeros(6)
    known_bonus, bonus_seen = np.zeros(NUM_CARDS), np.zeros(6)
    bonus_spied, spied_by = np.zeros((6, 6, 3)), np.zeros(NUM_CARDS)
    for seat, q in enumerate(order):
        medals[seat] = s["medals" if remembers or q == me else "season_medals"][q] / 100
        if remembers:
            points[seat] = min(1.0, points_of(s, q) / 100)
    located = np.array(witness.located) * remembers
    for number, held in witness.bonus.items() if remembers else ():
        seat, spies = order.index(held.holder), held.spies - {held.holder}
        bonus_seen[seat] += bool(spies) / 16
        for q in spies:
            bonus_spied[seat, order.index(q), min(2, int(s["season"]) - held.since)] += 1 / 16
        if number in witness.known:
            located[number] = held.since - 1
            known_bonus[number] = seat / 5
            spied_by[number] = len(spies - {me}) / 5
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
        "bonus_spied": bonus_spied,
        "spied_by": spied_by,
        "with_lot": with_lot,
        "lacking": lacking,
        "triggers": triggers,
        "rest": np.array([one_hot(6, s["medals"][me, f] % group - 1) for f in range(NUM_FAMILIES)]),
        "points": points,
        **best_exchange(s, me),
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
        medals[seat] = s["medals"][q] / 100
        bonus[seat] = set_of([c for c, held in witness.bonus.items() if held.holder == q])
        seen[seat] = set_of(
            [
                *pile[: witness.spied[q]],
                *(c for c, held in witness.bonus.items() if q in held.spies),
            ]
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


def assert_same_values(fields, found: np.ndarray, expected: dict[str, np.ndarray]) -> None:
    """In whole numbers of units, which the vector holds exactly."""
    assert list(expected) == [one.name for one in fields]
    flat = np.concatenate([np.ravel(values) for values in expected.values()])
    differs = units_of(found, fields.scale) != np.rint(flat * fields.scale)
    assert not differs.any(), [n for n, value in fields.unflatten(differs).items() if value.any()]


@memory_modes
@tables
def test_every_value_that_a_player_sees_is_what_the_witness_knows(num_players, memory):
    """So is the full state; and what another's bonus card could be can be read off."""
    happened = Counter[str]()
    for seed in range(9 - num_players):  # games of fewer are shorter
        options = {"seasons": 3 + seed % 2}
        if seed == 2:
            options["max_steps"] = 40
        for number, (states, action, witnesses) in enumerate(
            witnessed(num_players, 10 * num_players + seed, **options)
        ):
            s = states[0]
            me = number // 2 % num_players
            witness = witnesses[me if number % 2 else s["current_player"]]
            view = observation_of(GAME, states, witness.player, memory)
            assert_same_values(GAME.fields, view, expected_view(s, witness, memory))
            if memory == "perfect":
                happened += check_what_bonus_cards_could_be(s, witness, view)
            happened["spied"] += len(witness.next_cards) > 0
            happened["spied by others"] += GAME.fields.unflatten(view)["spied_by"].any()
            if number % 4 == 0 or action is None:
                full = state_of(GAME, states, me)
                assert_same_values(GAME.state_fields, full, expected_state(s, witnesses, me))
            happened["brought in"] += s["phase"] == TAKE_OUT
            happened["gift follows"] += s["may_give"]
            happened["over"] += action is None
    wanted = {"spied", "brought in", "gift follows", "over"}
    if memory == "perfect":
        wanted |= {"kept", "known", "kept and known", "excluded", "spied by others"}
    assert {name for name, count in happened.items() if count} >= wanted, happened


def check_what_bonus_cards_could_be(s: np.void, witness: Witness, view: np.ndarray) -> Counter[str]:
    """Of each hidden bonus card the observation tells what it could be; returns what there was to
    be told."""
    found = Counter[str]()
    n = witness.num_players
    fields = GAME.fields.unflatten(view)
    located = np.rint(MAX_SEASONS * fields["located"])
    for seat in range(1, n):
        ages = np.rint(16 * fields["bonus_cards"][seat]).astype(int)
        known = np.flatnonzero(np.rint(5 * fields["known_bonus"]) == seat)
        for number in known:
            ages[int(s["season"]) - int(located[number]) - 1] -= 1
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
            assert ages[age] > 0
            could_be = set(np.flatnonzero((fields["unseen"] > 0) & (located < since)).tolist())
            assert could_be == witness.could_be(number, s)
            found["kept"] += age > 0
            found["excluded"] += len(could_be) < fields["unseen"].sum()
            found["kept and known"] += age > 0 and len(known) > 0
    return found


# ---------------------------------------------------------------------------------------------
# What can be told apart
# ---------------------------------------------------------------------------------------------


def known_to(s: np.void, player: int, memory: str) -> tuple:
    """All that a player can know, straight from the record.

    Deliberately left out: whether the spies of a bonus card's holder saw it, the order of the
    cards in the lot, the number of decisions so far.
    """
    n = int(s["num_players"])
    remembers = memory == "perfect"
    deck, holder, since = s["deck"].tolist(), s["holder"].tolist(), s["since"].tolist()
    saw = (s["seen"] >> player & 1 == 1).tolist()
    pile = [deck[place] if saw[place] else -1 for place in range(s["drawn"], int(s["deck_size"]))]
    bonus_places = [k for k in range(NUM_CARDS) if holder[k] >= 0]
    held = Counter((holder[k], since[k]) for k in bonus_places)
    chosen = s["chosen"] if s["phase"] == RECEIVE or s["current_player"] == player else -1
    is_over = bool(s["terminated"] or s["truncated"])
    spied = [int((s["seen"][s["drawn"] : s["deck_size"]] >> q & 1).sum()) for q in range(n)]
    table = (
        [int(s[name]) for name in ("dealer", "must_take", "lot", "seasons", "season", "phase")],
        [int(s[name]) for name in ("taken_into", "may_give", "owl_family")],
        -1 if is_over else int(s["current_player"]),
        s["collection"].tolist(),
        [len(pile), spied, sorted(held.items())],
        s["season_medals"].tolist(),
    )
    own = (int(chosen), int(s["bonus"][player]), pile, s["medals"][player].tolist())
    others = [q for q in range(n) if q != player]
    unlocated = {deck[k] for k in np.flatnonzero(hidden_places(s[None], player))}
    if not remembers:
        unlocated |= {deck[k] for k in range(NUM_CARDS) if holder[k] in others}
        return (*table, *own, sorted(unlocated))
    bonus = [
        (
            holder[k],
            since[k],
            int(s["seen"][k]) & ~(1 << holder[k]),
            deck[k] if holder[k] == player or saw[k] else -1,
        )
        for k in bonus_places
    ]
    located = np.maximum(s["shown"], s["left_over"][player])
    for place in range(NUM_CARDS):
        if holder[place] == player or (holder[place] >= 0 and saw[place]):
            located[deck[place]] = since[place] - 1
    return (
        *table,
        *own,
        s["medals"][others].tolist(),
        sorted(unlocated),
        sorted(bonus),
        located.tolist(),
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


#: The entries that hold numbers (``with_more_seen`` changes one more).
NUMBERS = [
    *("deck_size", "drawn", "season", "phase", "dealer", "current_player", "must_take"),
    *("taken_into", "may_give", "chosen", "medals", "owl_family", "season_medals"),
    *("season_points", "shown", "left_over", "since", "holder"),
]


def with_another_number(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same with one number of one entry changed a little, wherever it is."""
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


def could_be(states: np.ndarray) -> bool:
    """Whether the record could be one of a game."""
    try:
        check_invariants(GAME, states)
    except AssertionError:
        return False
    return True


@memory_modes
@tables
def test_views_differ_exactly_where_what_is_known_differs(num_players, memory):
    """Two records that could be of a game, alike but for two cards, one number or one look."""
    rng = np.random.default_rng(num_players)
    told_apart = Counter[bool]()
    for states in some_positions(GAME, num_players, 60, seed=4):
        player = int(rng.integers(num_players))
        known = known_to(states[0], player, memory)
        view = observation_of(GAME, states, player, memory)
        changed = [
            with_cards_exchanged(states, *rng.choice(sorted(in_play(num_players)), 2, False))
            for _ in range(8)
        ]
        changed += [with_another_number(states, rng) for _ in range(20)]
        changed += [with_more_seen(states, rng) for _ in range(4)]
        for other in changed:
            if could_be(other):
                is_same = known_to(other[0], player, memory) == known
                found = observation_of(GAME, other, player, memory)
                assert np.array_equal(found, view) == is_same
                told_apart[not is_same] += 1
    assert min(told_apart.values()) > 150


# ---------------------------------------------------------------------------------------------
# What is redrawn is redrawn evenly
# ---------------------------------------------------------------------------------------------


@dataclass
class Worlds:
    """All that a player holds possible in a position.

    Attributes:
        places: the places of the deck whose cards they do not know.
        arrangements: what they could hold.
        chosen: the places whose card could be the one that another brings in.
    """

    places: list[int]
    arrangements: list[tuple[int, ...]]
    chosen: list[int]

    @classmethod
    def of(cls, s: np.void, player: int, could_be: Callable[[int], set[int]]) -> Worlds:
        """``could_be`` gives, for a bonus card of another, what the player thinks it could be."""
        places = np.flatnonzero(hidden_places(s[None], player)).tolist()
        cards = s["deck"][places].tolist()
        possible = [
            could_be(number) if s["holder"][place] >= 0 else set(cards)
            for place, number in zip(places, cards, strict=True)
        ]
        arrangements = [
            arrangement
            for arrangement in itertools.permutations(cards)
            if all(c in some for c, some in zip(arrangement, possible, strict=True))
        ]
        chosen = []
        if s["phase"] == TAKE_OUT and s["current_player"] != player:
            chosen = np.flatnonzero(s["holder"] == s["current_player"]).tolist()
        return cls(places, arrangements, chosen)

    def __len__(self) -> int:
        return len(self.arrangements) * max(1, len(self.chosen))


def check_evenly_redrawn(
    states: np.ndarray, player: int, worlds: Worlds, determinize: Determinize
) -> None:
    """Each world comes up as often as any other, and nothing else does."""
    draws = 1000 + 15 * len(worlds)
    copies = GAME.new_states(draws)
    copies[:] = states
    for i in range(draws):
        determinize(copies, i, player, np.uint64(i))
    found = Counter(
        (arrangement, deck.index(chosen) if worlds.chosen else -1)
        for arrangement, deck, chosen in zip(
            map(tuple, copies["deck"][:, worlds.places].tolist()),
            copies["deck"].tolist(),
            copies["chosen"].tolist(),
            strict=True,
        )
    )
    expected = set(itertools.product(worlds.arrangements, worlds.chosen or [-1]))
    assert set(found) <= expected, "an impossible arrangement"
    freedom = max(1, len(worlds) - 1)
    counts = [found[world] for world in expected]
    statistic = chi_square(counts, np.full(len(expected), draws / len(expected)))
    assert statistic <= freedom + 5 * math.sqrt(2 * freedom), "not drawn evenly"


def forgetful(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """Of earlier seasons nothing is remembered."""
    kept = states[i].copy()
    states["shown"][i] = 0
    states["left_over"][i] = 0
    GAME.rules.determinize(states, i, player, seed)
    states["shown"][i] = kept["shown"]
    states["left_over"][i] = kept["left_over"]


def test_all_worlds_are_redrawn_evenly_where_few_cards_are_hidden():
    """Real games of six, when but a few cards are not on the table."""
    tested = Counter[tuple[bool, ...]]()
    caught = 0
    for seed in range(12):
        for states, _, witnesses in witnessed(6, seed, seasons=4):
            s = states[0]
            player = seed % 6
            hidden = hidden_places(states, player)
            if not 2 <= hidden.sum() <= 6 or s["phase"] < BRING_IN:
                continue
            witness = witnesses[player]
            others_known = any(witness.bonus[c].holder != player for c in witness.known)
            was_kept = any(
                held.possible and held.since < s["season"] for held in witness.bonus.values()
            )
            is_chosen = s["phase"] == TAKE_OUT and s["current_player"] != player
            kind = (others_known, was_kept, bool(is_chosen))
            if tested[kind] == 2:
                continue
            worlds = Worlds.of(s, player, lambda number, w=witness, s=s: w.could_be(number, s))
            check_evenly_redrawn(states, player, worlds, GAME.rules.determinize)
            tested[kind] += 1
            if was_kept:
                with pytest.raises(AssertionError, match="impossible arrangement"):
                    check_evenly_redrawn(states, player, worlds, forgetful)
                caught += 1
    assert all(any(kind[k] for kind in tested) for k in range(3))
    assert caught > 4


# ---------------------------------------------------------------------------------------------
# By hand
# ---------------------------------------------------------------------------------------------

#: Six of all 36 cards; the others lie in the full collections of six players.
SIX = ("cat champion", "horse spy", "dog lousy", "rabbit cute", "parrot thief", "owl")


def table_of_six(**more) -> Table:
    """Phase 3 with all cards but ``SIX`` in collections; those are where ``more`` says."""
    rest = [name for name in CARDS if name not in SIX]
    return Table.lay_out(*(", ".join(rest[k : k + 5]) for k in range(0, 30, 5)), **more)


#: How the six cards lie, and for some players how many worlds there are and what cards of others
#: cannot be (nothing is said of those that could be all that is hidden).
LAYOUTS = {
    "nothing spied": (
        {"bonus": {1: "cat champion, horse spy", 2: "owl"}},
        {0: (720, {}), 1: (24, {}), 2: (120, {})},
    ),
    "spied": (
        {
            "bonus": {1: "cat champion, horse spy", 2: "owl"},
            "seen": {0: "cat champion, dog lousy", 1: "owl", 2: "owl"},
        },
        {0: (24, {}), 1: (6, {}), 2: (120, {}), 3: (720, {})},
    ),
    "brought in": (
        {
            "bonus": {1: "cat champion, horse spy", 2: "owl"},
            "phase": TAKE_OUT,
            "player": 1,
            "chosen": "horse spy",
            "seen": {0: "cat champion", 2: "horse spy, cat champion"},
        },
        {0: (2 * 120, {}), 1: (24, {}), 2: (2 * 6, {}), 3: (2 * 720, {})},
    ),
    "kept": (
        {
            "kept": {1: "cat champion"},
            "bonus": {2: "owl"},
            "shown": "dog lousy, rabbit cute",
            "left_over": {0: "parrot thief", 3: "owl"},
            "seen": {4: "cat champion"},
        },
        {
            0: (3 * 120, {"cat champion": "dog lousy, rabbit cute, parrot thief"}),
            1: (120, {}),
            2: (3 * 24, {"cat champion": "dog lousy, rabbit cute"}),
            3: (3 * 120, {"cat champion": "dog lousy, rabbit cute, owl"}),
            4: (120, {}),
            5: (4 * 120, {"cat champion": "dog lousy, rabbit cute"}),
        },
    ),
    "kept for one season and for two": (
        {
            "season": 3,
            "kept": {1: "cat champion", 2: "horse spy"},
            "since": {"cat champion": 1, "horse spy": 2},
            "bonus": {3: "owl"},
            "shown": "dog lousy",
            "left_over": {0: "parrot thief"},
        },
        {
            0: (
                4 * 3 * 24,
                {"cat champion": "dog lousy, parrot thief", "horse spy": "dog lousy, parrot thief"},
            ),
            1: (4 * 24, {"horse spy": "dog lousy"}),
            4: (5 * 4 * 24, {"cat champion": "dog lousy", "horse spy": "dog lousy"}),
        },
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_worlds_of_a_position(layout):
    """AN-12, AN-16, AN-17: who can think what of which card."""
    positions, players = LAYOUTS[layout]
    table = table_of_six(**positions)
    for player, (number, impossible) in players.items():
        worlds = Worlds.of(
            table.states[0],
            player,
            lambda c, no=impossible: {*range(NUM_CARDS)} - {*cards_in(bits(no.get(CARDS[c], "")))},
        )
        assert len(worlds) == number
        check_evenly_redrawn(table.states, player, worlds, GAME.rules.determinize)


def spied_cards(table: Table, player: int, memory: str) -> list[str]:
    """The next cards of the draw pile that a player's observation shows."""
    looks = [look_of(number).tolist() for number in range(NUM_CARDS)]
    shown = table.observe(player, memory=memory)["spied_cards"].tolist()
    assert all(not any(look) or look in looks for look in shown)
    return [CARDS[looks.index(look)] if any(look) else "" for look in shown]


@memory_modes
def test_what_a_spy_saw_moves_up_as_cards_are_drawn(memory):
    """AN-12: it is seen, by its owner alone, until the card is drawn, and at its place."""
    table = Table.lay_out(
        "cat spy",
        "",
        "",
        lot="dog spy",
        pile="cat thief, owl, rabbit lousy, horse thief, dog thief",
    )
    assert spied_cards(table, 0, memory) == ["", "", ""]
    table.play(take())  # and player 1 turns up the thief of the cats
    assert table.lot_cards == "cat thief"
    expected = [["owl", "rabbit lousy", ""], ["rabbit lousy", "", ""], ["", "", ""]]
    for number, cards in enumerate(expected):
        assert spied_cards(table, 0, memory) == cards
        spied = [3 * table.observe(player, memory=memory)["spied"] for player in (0, 1)]
        assert np.rint(spied[0]).tolist() == [2 - number, 0, 0, 0, 0, 0]
        assert np.rint(spied[1]).tolist() == [0, 0, 2 - number, 0, 0, 0]
        for player in (1, 2):
            assert spied_cards(table, player, memory) == ["", "", ""]
        for seed in range(20):
            other = table.copy().determinize(0, seed)
            assert other.pile[: 2 - number] == [name for name in cards if name]
        others = {tuple(table.copy().determinize(1, seed).pile[:2]) for seed in range(20)}
        assert len(others) > 10
        table.play(PASS, PASS, PASS)  # round the table: one card more


def phase_3_after_a_spy() -> Table:
    """Player 2 has completed a collection with a spy and seen three cards: one is player 1's last
    one, the others are player 0's bonus cards. Player 1 has one that nobody has seen."""
    table = Table.lay_out(
        "cat champion, dog champion, horse champion, dog thief, cat prankster",
        "horse elegant, dog elegant, cat elegant, rabbit thief",
        "cat spy, dog lousy, cat lousy, horse lousy",
        dealer=1,
        lot="dog spy",
        pile="rabbit lousy, owl, parrot thief, parrot lousy, parrot spy",
    )
    table.play(PASS, take())
    assert table.phase == BRING_IN
    assert table.bonus_cards == ["parrot thief, owl", "parrot lousy", ""]
    return table


def test_a_spied_card_that_becomes_a_bonus_card_is_known_to_the_spy():
    """AN-16; all see how many of them were seen, and the next season nothing is forgotten."""
    table = phase_3_after_a_spy()
    spied = bits("parrot thief, owl")
    for season in (1, 2):
        assert table.season == season
        for player in range(3):
            seen = table.observe(player)
            at_zero = (0 - player) % 3
            expected = at_zero / 5 * set_of(cards_in(spied)) * (player == 2)
            assert seen["known_bonus"] == pytest.approx(expected)
            assert seen["bonus_seen"] == pytest.approx(one_hot(6, at_zero) * 2 / 16)
            spies = seen["bonus_spied"][at_zero, :, season - 1]
            assert spies == pytest.approx(one_hot(6, (2 - player) % 3) * 2 / 16)
            assert seen["bonus_spied"].sum() == spies.sum()
            knows = player == 0  # both that these are the cards, and who else has seen them
            assert seen["spied_by"] == pytest.approx(set_of(cards_in(spied)) / 5 * knows)
            number = cards_in(spied)[0]
            assert seen["unseen"][number] == (player == 1)
            drawn = [table.copy().determinize(player, seed).bonus for seed in range(40)]
            held = {int(bonus[0]) for bonus in drawn}
            assert (held == {spied}) == (player != 1)
            assert len({int(bonus[1]) for bonus in drawn}) > 4 or player == 1
        if season == 1:
            table.play(PASS, PASS)  # both keep what they have
            table.play(*(table.legal()[:1] if table.phase == OWL_FAMILY else ()))


def test_a_bonus_card_being_brought_in_is_hidden_until_it_is_exchanged():
    """AN-17: the others see that one is, and who has seen which does not help them."""
    table = phase_3_after_a_spy().play(card("owl"))
    assert table.phase == TAKE_OUT
    looks = {player: table.observe(player)["chosen"] for player in range(3)}
    assert np.array_equal(looks[0], look_of(OWL))
    assert not looks[1].any()
    assert not looks[2].any()
    for player in (1, 2):
        chosen = {int(table.copy().determinize(player, seed).chosen) for seed in range(60)}
        assert len(chosen) == 2 if player == 2 else len(chosen) > 4
    table.play(card("cat prankster"))
    for player in range(3):
        seen = table.observe(player)
        assert seen["collections"][(0 - player) % 3, OWL] == 1
        assert not seen["unseen"][[OWL, CARDS.index("cat prankster")]].any()
        assert seen["bonus_seen"][(0 - player) % 3] == pytest.approx(1 / 16)
    assert table.bonus_cards == ["parrot thief", "parrot lousy", ""]


def test_without_memory_exactly_what_must_be_remembered_is_hidden():
    """Medals of others before last season, what spies saw of bonus cards, and earlier seasons."""
    remembered = {field.name for field in GAME.fields if field.remembered}
    assert remembered == {
        "located",
        "known_bonus",
        "bonus_seen",
        "bonus_spied",
        "spied_by",
        "points",
    }
    hidden = Counter[str]()
    games = (play_of(2 + seed % 5, seed) for seed in range(15))
    for number, (states, _) in enumerate(itertools.chain.from_iterable(games)):
        if number % 5:
            continue
        num_players = int(states["num_players"][0])
        player = number // 5 % num_players
        with_memory, without = (
            GAME.fields.unflatten(observation_of(GAME, states, player, memory))
            for memory in ("perfect", "none")
        )
        for name in with_memory:
            expected = with_memory[name].copy()
            if name in remembered:
                expected[:] = 0
            elif name == "unseen":
                expected[with_memory["known_bonus"] > 0] = 1
            elif name == "medals":
                expected[1:] = with_memory["season_medals"][1:] / 10
            assert np.allclose(without[name], expected, rtol=0, atol=1e-6)
            hidden[name] += not np.array_equal(with_memory[name], without[name])
    assert {name for name, count in hidden.items() if count} == {*remembered, "unseen", "medals"}


# ---------------------------------------------------------------------------------------------
# What is redrawn follows from what is known
# ---------------------------------------------------------------------------------------------


def test_what_is_redrawn_follows_from_what_the_player_knows_and_the_seed():
    """To the byte: after another redrawing, and from a record that differs only in what is
    hidden; one that deals on from what was there before is caught."""

    def from_what_lies_there(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
        places = hidden_places(states, player)
        cards = states["deck"][i, places]
        GAME.rules.determinize(states, i, player, seed)
        states["deck"][i, places] = np.random.default_rng(int(seed)).permutation(cards)

    caught = 0
    hidden = Counter[str]()
    games = (play_of(2 + seed % 5, seed, seasons=2 + seed % 3) for seed in range(15))
    for number, (states, _) in enumerate(itertools.chain.from_iterable(games)):
        if number % 7 and states["phase"][0] != TAKE_OUT:
            continue
        player = number % int(states["num_players"][0])
        check_hidden_parts_do_not_matter(GAME, states, player, GAME.rules.determinize)
        other = redrawn(GAME, states, player, 3, GAME.rules.determinize)
        for name in ("deck", "bonus", "chosen", "left_over"):
            hidden[name] += not np.array_equal(other[name], states[name])
        try:
            check_hidden_parts_do_not_matter(GAME, states, player, from_what_lies_there)
        except AssertionError:
            caught += 1
    assert min(hidden.values()) > 5, hidden
    assert caught > 100


# ---------------------------------------------------------------------------------------------
# What compares alternatives
# ---------------------------------------------------------------------------------------------

DERIVED = {"with_lot", "lacking", "triggers", "best_cards", "best_gain", "best_families"}


def test_without_features_derived_fields_are_empty_and_the_others_the_same():
    assert {field.name for field in GAME.fields if field.derived} == DERIVED
    filled = Counter[str]()
    for seed in range(10):
        for states, _ in play_of(2 + seed % 5, seed):
            player = int(states["current_player"][0])
            for memory in ("perfect", "none"):
                full, bare = (
                    GAME.fields.unflatten(observation_of(GAME, states, player, memory, features))
                    for features in (True, False)
                )
                for name, values in full.items():
                    filled[name] += values.any()
                    assert np.array_equal(bare[name], values * (name not in DERIVED)), name
    assert all(filled[name] for name in DERIVED)


def test_an_exchange_counts_an_owl_in_the_other_collection():
    """AN-17, AN-18: two players. The four cats of collection 2 and the owl are five: with a pair in
    collection 1 they make a group of seven. Five different animals there gain only three points."""
    table = Table.lay_out(
        (
            "cat thief, dog thief, horse thief, parrot thief, parrot lousy",
            "cat champion, cat lousy, cat prankster, cat spy, owl",
        ),
        ("dog champion, dog elegant, ...", "horse champion, horse elegant, ..."),
        bonus={0: "cat elegant, rabbit spy"},
        dealer=1,
    )
    seen = table.observe(0)
    assert np.flatnonzero(seen["best_cards"]).tolist() == cards_in(bits("cat elegant"))
    assert seen["best_gain"].sum() == 2 + 5
    seen = table.play(card("cat elegant")).observe(0)
    assert np.flatnonzero(seen["best_cards"]).tolist() == cards_in(bits("dog thief, horse thief"))
    assert seen["best_gain"].sum() == 2 + 5
    table.play(card("horse thief"))  # the cats are a group: the rabbit cannot replace one of them
    seen = table.observe(0)
    assert not seen["best_gain"].any()
