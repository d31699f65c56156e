"""Swim for Your Life: what everybody knows of a hand is exact, and the rest is redrawn evenly.

Brute force stands behind it: a *world* is a deal of hands with which all that was done in a round
could have been done as well, and would have come to the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from games.swim_for_your_life.kit import HiddenCards
from games.swim_for_your_life.table import GAME, Table, counts
from helpers import Habits, begin, copy_of, each_size, is_over, observation_of, some_positions
from hidden import Determinize, redrawn

from card_envs.games.swim_for_your_life.actions import ACT
from card_envs.games.swim_for_your_life.cards import DECK, LAID_DOWN, ROW_OF

tables = pytest.mark.parametrize("num_players", each_size(2, 5))
variants = pytest.mark.parametrize("expert", [False, True], ids=["plain", "expert"])
memory_modes = pytest.mark.parametrize("memory", ["perfect", "none"])
with_features = pytest.mark.parametrize(
    "features", [True, pytest.param(False, marks=pytest.mark.slow)]
)


# ---------------------------------------------------------------------------------------------
# Worlds
# ---------------------------------------------------------------------------------------------


@dataclass
class Course:
    """A round so far: how it began, what was done, and what it came to."""

    start: np.ndarray
    actions: list[int]
    now: np.ndarray

    def deal_behind(self, states: np.ndarray) -> np.ndarray:
        """The hands and, as the last of six, what was left over when the round began, if now it
        is as in ``states``: the exchanges backwards."""
        deal = np.concatenate([states["hand"][0], states["left_over"]]).astype(int)
        on_the_way = copy_of(GAME, self.start)
        for action in self.actions:
            if action != ACT.tap:
                player = on_the_way["current_player"][0]
                deal[player] += LAID_DOWN[action]
                deal[player] -= on_the_way["row"][0, ROW_OF[action]]
            GAME.rules.step(on_the_way, 0, action)
        return deal

    def world_of(self, deal: np.ndarray) -> np.ndarray | None:
        """What the same actions come to from another deal; None if it is not a world."""
        if (deal < 0).any():
            return None
        states = copy_of(GAME, self.start)
        states["hand"][0], states["left_over"][0] = deal[:5], deal[5]
        mask = np.empty(GAME.num_actions, np.int8)
        for action in self.actions:
            GAME.rules.legal_action_mask(states, 0, mask)
            if not mask[action]:
                return None
            GAME.rules.step(states, 0, action)
        public = ("round", "row", "lives", "current_player", "sudden_death", "revealed")
        same = all(np.array_equal(states[name], self.now[name]) for name in public)
        return states if same else None


@cache
def courses_of(num_players: int, expert: bool) -> tuple[Course, ...]:
    """Rounds under way, short and long, first and later ones; and some that ended the game by a
    sudden death, as nobody else had more than one life."""
    courses: list[Course] = []
    ended: list[Course] = []
    actions: list[int] = []
    seed = 0
    while len(courses) < 14 or len(ended) < 3:
        seed += 1
        states = begin(GAME, num_players, seed, expert=expert)
        if seed % 2:
            states["lives"][0, :num_players] = 1
        habits = Habits(GAME, seed)
        due = (4, 9, 15, 40, 70)[seed % 5]
        for number in range(100):
            if states["turns"][0] == 0:
                start, actions = copy_of(GAME, states), []
            if number == due and 2 <= len(actions) <= 25 and len(courses) < 14:
                courses.append(Course(start, list(actions), copy_of(GAME, states)))
            if is_over(states):
                if states["sudden_death"][0] >= 0 and len(actions) <= 50 and len(ended) < 3:
                    ended.append(Course(start, list(actions), copy_of(GAME, states)))
                break
            actions.append(habits.choose(states))
            GAME.rules.step(states, 0, actions[-1])
    return (*courses, *ended)


def with_hands(states: np.ndarray, hidden: HiddenCards) -> np.ndarray:
    """The record with the hidden cards as they are arranged there."""
    other = copy_of(GAME, states)
    for place, player in enumerate(hidden.places[:-1]):
        other["hand"][0, player] = other["least"][0, player] + hidden.held[place]
    other["left_over"][0] = hidden.held[-1]
    return other


def swapped(deal: np.ndarray, place: int, given: int, other: int, got: int) -> np.ndarray:
    """The deal in which the place gives a card to another one for one of its cards."""
    changed = deal.copy()
    changed[[place, other], [given, got]] -= 1
    changed[[place, other], [got, given]] += 1
    return changed


def check_nobody_knows_too_much(course: Course, known: np.ndarray, steps: int = 300) -> int:
    """In all worlds of a random walk through them the hands are within ``least`` and ``most``.

    Returns:
        How many different worlds were seen.
    """
    rng = np.random.default_rng(len(course.actions))
    deal = course.deal_behind(course.now)
    places = np.flatnonzero(deal.sum(axis=1))
    seen = set()
    for _ in range(steps):
        place, other = map(int, rng.permutation(places)[:2])
        given = int(rng.choice(np.flatnonzero(deal[place])))
        got = int(rng.choice(np.flatnonzero(deal[other])))
        following = swapped(deal, place, given, other, got)
        world = course.world_of(following)
        if world is None:
            continue
        deal = following
        hand = world["hand"][0]
        assert (known["least"][0] <= hand).all(), "more is known than can be"
        assert (hand[:, 6:9] <= known["most"][0]).all(), "more is known than can be"
        seen.add(hand.tobytes())
    return len(seen)


def check_everybody_knows_enough(course: Course, known: np.ndarray, player: int) -> None:
    """All that ``determinize`` gives, for a player, is a world."""
    for seed in range(8):
        other = redrawn(GAME, known, player, seed, GAME.rules.determinize)
        assert course.world_of(course.deal_behind(other)) is not None, "less is known than can be"


def check_extremes(course: Course, known: np.ndarray) -> int:
    """The fewest and the most cards of each animal in each hand that ``least`` and ``most`` leave
    possible occur in a world, and no world that is one swap away goes beyond.

    Returns:
        How many bounds were reached themselves: the others cannot be, for want of other cards.
    """
    reached = 0
    for place, player in enumerate(HiddenCards.of(known, -1).places[:-1]):
        for animal in range(10):
            fewest, deal = extreme(course, known, place, animal, HiddenCards.take)
            reached += fewest == known["least"][0, player, animal]
            for other, got in np.argwhere(deal):
                if deal[player, animal] > 0 and other != player and got != animal:
                    beyond = course.world_of(swapped(deal, player, animal, other, got))
                    assert beyond is None, "more is known than can be"
            most, deal = extreme(course, known, place, animal, HiddenCards.put)
            reached += 6 <= animal <= 8 and most == known["most"][0, player, animal - 6]
            for given in np.flatnonzero(deal[player]):
                for other in np.flatnonzero(deal[:, animal]):
                    if other != player and given != animal:
                        beyond = course.world_of(swapped(deal, player, given, other, animal))
                        assert beyond is None, "more is known than can be"
    return reached


def extreme(
    course: Course,
    known: np.ndarray,
    place: int,
    animal: int,
    change: Callable[[HiddenCards, int, int], bool],
) -> tuple[int, np.ndarray]:
    """The count of an animal in a hand, at its extreme, and the deal behind that."""
    hidden = HiddenCards.of(known, -1)
    while change(hidden, place, animal):
        pass
    states = with_hands(known, hidden)
    deal = course.deal_behind(states)
    assert course.world_of(deal) is not None, "less is known than can be"
    return int(states["hand"][0, hidden.places[place], animal]), deal


@variants
@tables
def test_every_world_is_within_what_everybody_knows(num_players, expert):
    seen = [check_nobody_knows_too_much(c, c.now) for c in courses_of(num_players, expert)]
    assert np.median(seen) > 20


@variants
@tables
def test_whatever_is_redrawn_is_a_world(num_players, expert):
    for course in courses_of(num_players, expert):
        for player in range(num_players):
            check_everybody_knows_enough(course, course.now, player)


@variants
@tables
def test_the_bounds_of_every_hand_are_exact(num_players, expert):
    reached = [check_extremes(c, c.now) for c in courses_of(num_players, expert)]
    assert np.mean(reached) > 8 * num_players


def spoilt(states: np.ndarray, **fields: np.ndarray) -> np.ndarray:
    """The record with other bounds."""
    other = copy_of(GAME, states)
    for name, value in fields.items():
        other[name][0] = value
    return other


@pytest.mark.slow
@variants
@pytest.mark.parametrize("bound", ["least", "most"])
def test_bounds_that_are_not_exact_are_caught(bound, expert):
    """By one card, of the animals of one hand: too much known, and too little.

    ``most`` alone may be too high, or too low, without any consequence: where the cards of an
    animal are elsewhere, or where all worlds have fewer in that hand.
    """
    caught: dict[str, list[bool]] = {"more": [], "less": []}
    for course in courses_of(3, expert):
        known = course.now[0]
        for player in range(3):
            lowest, highest = 0, known["hand"][player]
            if bound == "most":
                lowest, highest = known["hand"][player, 6:9], DECK[6:9]
            for step in (-1, 1):
                changed = known[bound].copy()
                changed[player] = np.clip(changed[player] + step, lowest, highest)
                if (changed == known[bound]).all():
                    continue
                what = "more" if (step > 0) == (bound == "least") else "less"
                other = copy_of(GAME, course.now)
                other[bound][0] = changed
                try:
                    check_extremes(course, other)
                except AssertionError as error:
                    caught[what].append(f"{what} is known" in str(error))
                else:
                    caught[what].append(False)
    assert all(len(found) > 20 for found in caught.values())
    if bound == "least":
        assert all(all(found) for found in caught.values())
    else:
        assert all(sum(found) > 8 for found in caught.values())


# ---------------------------------------------------------------------------------------------
# What is redrawn is redrawn evenly
# ---------------------------------------------------------------------------------------------


def choices(cards: np.ndarray, room: np.ndarray, number: int) -> Iterator[tuple[int, ...]]:
    """All ways to take that many of the cards, as counts of each animal."""
    if len(cards) == 0:
        if number == 0:
            yield ()
        return
    fewest = max(0, number - int(cards[1:].sum()))
    for count in range(fewest, min(number, int(cards[0]), int(room[0])) + 1):
        for others in choices(cards[1:], room[1:], number - count):
            yield (count, *others)


def arrangements(
    cards: np.ndarray, sizes: list[int], room: np.ndarray
) -> Iterator[tuple[tuple[int, ...], int]]:
    """All ways to put the cards to the places, and in how many ways each can be done with cards
    that are told apart."""
    if not sizes:
        yield (), 1
        return
    for chosen in choices(cards, room[0], sizes[0]):
        ways = math.prod(math.comb(int(n), k) for n, k in zip(cards, chosen, strict=True))
        for others, more_ways in arrangements(cards - chosen, sizes[1:], room[1:]):
            yield (*chosen, *others), ways * more_ways


def shares_of(states: np.ndarray, player: int, with_most: bool = True) -> dict[bytes, float]:
    """How often each arrangement of the hidden cards must come up."""
    hidden = HiddenCards.of(states, player)
    most = hidden.held + hidden.room if with_most else np.full_like(hidden.room, 99)
    sizes = hidden.held.sum(axis=1).tolist()
    ways = {
        np.array(arrangement, np.int8).tobytes(): number
        for arrangement, number in arrangements(hidden.held.sum(axis=0), sizes, most)
    }
    return {arrangement: number / sum(ways.values()) for arrangement, number in ways.items()}


def check_evenly_redrawn(
    states: np.ndarray, player: int, determinize: Determinize, draws: int = 20_000
) -> None:
    """Each possible arrangement comes up as often as it should, and no other (chi-square)."""
    shares = shares_of(states, player)
    copies = GAME.new_states(draws)
    copies[:] = states
    for i in range(draws):
        determinize(copies, i, player, np.uint64(i))
    places = HiddenCards.of(states, player).places[:-1]
    held = copies["hand"][:, places] - copies["least"][:, places]
    found = np.concatenate([held.reshape(draws, -1), copies["left_over"]], axis=1)
    drawn = dict.fromkeys(shares, 0)
    for arrangement, count in zip(*np.unique(found, axis=0, return_counts=True), strict=True):
        assert arrangement.tobytes() in shares, "an impossible arrangement"
        drawn[arrangement.tobytes()] = int(count)
    # Rare ones are counted together.
    common = [a for a, share in shares.items() if share * draws >= 10]
    expected = np.array([shares[a] for a in common] + [1 - sum(shares[a] for a in common)]) * draws
    counts = np.array([drawn[a] for a in common])
    counts = np.append(counts, draws - counts.sum())
    if expected[-1] < 10:
        expected, counts = expected[:-1], counts[:-1]
    freedom = len(counts) - 1
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic <= freedom + 5 * math.sqrt(2 * freedom), "not drawn evenly"


def laid_out(
    *hands: str, known: tuple[str, ...], most: tuple[tuple[int, ...], ...], **more
) -> np.ndarray:
    """A table on which everybody knows these cards of the hands, and the most of hares, pigs and
    cats that they can have."""
    fields = {"least": [counts(cards) for cards in known], "most": most, **more}
    return Table.lay_out(*hands, **fields).states


ANY = (5, 5, 4)
NO_SETS = ("D", "SS", "DDM", "OOBB")


def small_positions() -> dict[str, np.ndarray]:
    """Tables on which few cards are hidden from player 0."""
    return {
        "one card of one opponent": laid_out(
            "GGBBLLOOSS", "GGBBLLOOSD", known=("", "GGBBLLOOS"), most=(ANY, ANY)
        ),
        "the last two hares cannot both be theirs": laid_out(
            "GGBBLLOOSS",
            "HHHGGBBLDC",
            rows=NO_SETS,
            known=("", "HHHGGBBL"),
            most=(ANY, (4, 4, 3)),
        ),
        "the last cat cannot be theirs": laid_out(
            "GGBBLLOOSS", "CCCGGBBLDH", known=("", "CCCGGBBL"), most=(ANY, (4, 4, 3))
        ),
        "neither the last hare nor the last pig can be theirs": laid_out(
            "GGBBLLOOSS", "HHHHPPPPGD", known=("", "HHHHPPPP"), most=(ANY, (4, 4, 3))
        ),
        "two opponents": laid_out(
            "GGBBLLOOSS",
            "HHHHGGBBLD",
            "PPPPGGBLOD",
            known=("", "HHHHGGBBL", "PPPPGGBLO"),
            most=(ANY, (4, 4, 3), (4, 4, 3)),
        ),
        "nothing is left over": laid_out(
            "GGBBLLOOSS",
            "HHHHGBBLOP",
            "PPPPGLLOSC",
            "CCGGDDMMBH",
            "GGGODDSSOB",
            known=("", "HHHHGBBL", "PPPPGLLO", "CCGGDDMM", "GGGODDSSOB"),
            most=(ANY, (4, 4, 3), (4, 4, 3), (4, 4, 3), (4, 4, 3)),
        ),
        "one opponent is out": laid_out(
            "GGBBLLOOSS",
            None,
            "HHHGGBBLDC",
            rows=NO_SETS,
            known=("", "", "HHHGGBBL"),
            most=(ANY, ANY, (4, 4, 3)),
            lives=[2, 0, 1],
        ),
    }


def bites(states: np.ndarray, player: int) -> bool:
    """Whether ``most`` rules out an arrangement."""
    return len(shares_of(states, player)) < len(shares_of(states, player, with_most=False))


def test_hidden_cards_are_redrawn_evenly_on_small_tables():
    positions = small_positions()
    for name, states in positions.items():
        assert 2 <= len(shares_of(states, 0)) < 2000, name
        check_evenly_redrawn(states, 0, GAME.rules.determinize)
    assert [name for name, states in positions.items() if not bites(states, 0)] == [
        "one card of one opponent"
    ]


@variants
@tables
def test_hidden_cards_are_redrawn_evenly_in_play(num_players, expert):
    """Where few cards are hidden, so that all arrangements can be counted."""
    checked = {True: 0, False: 0}  # whether ``most`` rules out an arrangement
    seed = 0
    while min(checked.values()) < 2:
        seed += 10
        for states, player in itertools.product(
            some_positions(GAME, num_players, 12, seed=seed, expert=expert), range(num_players)
        ):
            hidden = HiddenCards.of(states, player)
            sizes, cards = hidden.held.sum(axis=1), hidden.held.sum(axis=0)
            most = np.minimum(sizes[:, None], cards)
            biting = bool((hidden.held + hidden.room < most).any())
            possible = math.prod(
                math.comb(int(np.minimum(cards, size).sum()), int(size)) for size in sizes[:-1]
            )
            if 1 < possible < 1000 and checked[biting] < 2:
                check_evenly_redrawn(states, player, GAME.rules.determinize, 5000)
                assert bites(states, player) == biting
                checked[biting] += 1


def ignoring_most(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    most = states["most"][i].copy()
    states["most"][i] = 9
    GAME.rules.determinize(states, i, player, seed)
    states["most"][i] = most


def lazy(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """Every tenth time it leaves everything as it is."""
    if seed % 10:
        GAME.rules.determinize(states, i, player, seed)


def fond_of_the_first(states: np.ndarray, i: int, player: int, seed: np.uint64) -> None:
    """The better of two, by how many giraffes, bears, ... the players have, one by one."""
    GAME.rules.determinize(states, i, player, 2 * seed)
    first = states[i].copy()
    GAME.rules.determinize(states, i, player, 2 * seed + np.uint64(1))
    if first["hand"].tolist() > states["hand"][i].tolist():
        states[i] = first


@pytest.mark.slow
def test_uneven_redrawing_is_caught():
    for states in small_positions().values():
        for determinize in (lazy, fond_of_the_first):
            with pytest.raises(AssertionError, match="not drawn evenly"):
                check_evenly_redrawn(states, 0, determinize)
        if bites(states, 0):
            with pytest.raises(AssertionError, match="an impossible arrangement"):
                check_evenly_redrawn(states, 0, ignoring_most)
        else:
            check_evenly_redrawn(states, 0, ignoring_most)


# ---------------------------------------------------------------------------------------------
# What is seen
# ---------------------------------------------------------------------------------------------


class Onlooker:
    """Somebody who sees what everybody sees, and keeps their own account of it."""

    def __init__(self, states: np.ndarray) -> None:
        self._sets = (6, 7) if states["expert"][0] else (6, 7, 8)
        self._begin_round(states)

    def _begin_round(self, states: np.ndarray) -> None:
        n = states["num_players"][0]
        self.turns = [None] * n
        self.number_of_turns = 0
        self.has_exchanged = [False] * n
        self.tapper: int | None = None
        self.least = np.zeros((n, 10), int)
        self.most = np.outer(states["lives"][0, :n] > 0, DECK)

    def sees(self, before: np.ndarray, action: int, after: np.ndarray) -> None:
        """A turn, and what followed from it."""
        mover = int(before["current_player"][0])
        self.number_of_turns += 1
        if action == ACT.tap:
            self.turns[mover] = ("tap", None, None)
            self.tapper = mover if self.tapper is None else self.tapper
        else:
            row = int(ROW_OF[action])
            laid, taken = LAID_DOWN[action].astype(int), before["row"][0, row].astype(int)
            self.turns[mover] = (row, laid, taken)
            self.has_exchanged[mover] = True
            self.least[mover] = np.maximum(self.least[mover] - laid, 0) + taken
            self.most[mover] += taken - laid
            for animal in range(10):
                highest = DECK[animal] - (animal in self._sets)
                self.most[mover, animal] = min(self.most[mover, animal], highest)
        if after["terminated"][0]:
            self._sees_hands(after)
        elif after["round"][0] > before["round"][0]:
            self._begin_round(after)

    def _sees_hands(self, states: np.ndarray) -> None:
        """At the end of a game: all hands if they were counted, else the one with a set."""
        s = states[0]
        shown = range(s["num_players"]) if s["sudden_death"] < 0 else [s["sudden_death"]]
        for player in shown:
            self.least[player] = self.most[player] = s["hand"][player]


def thermometer(counts: np.ndarray, size: int) -> np.ndarray:
    return (np.asarray(counts)[..., None] > np.arange(size)).astype(float)


def expected_view(
    states: np.ndarray, onlooker: Onlooker, player: int, memory: str, features: bool
) -> dict[str, np.ndarray]:
    """The fields of an observation, from the table and from what the onlooker noted."""
    s = states[0]
    n = int(s["num_players"])
    clockwise = [(player + k) % n for k in range(n)]
    fields = {field.name: np.zeros(field.shape) for field in GAME.fields}
    fields["expert"][0] = s["expert"]
    fields["two_left"][0] = (s["lives"][:n] > 0).sum() == 2
    fields["tapper"][5] = onlooker.tapper is None
    fields["turns"][0] = min(onlooker.number_of_turns, 255) / 255
    hand, rows = s["hand"][player].astype(int), s["row"].astype(int)
    fields["rows"][:] = rows / 4
    fields["hand"][:] = thermometer(hand, 9)
    if features:
        fields["with_row"][:] = thermometer(hand + rows, 6)
    located = hand + rows.sum(axis=0)
    for seat, q in enumerate(clockwise):
        fields["seats"][seat] = 1
        fields["in_game"][seat] = s["lives"][q] > 0
        fields["to_move"][seat] = q == s["current_player"] and not is_over(states)
        fields["lives"][seat] = s["lives"][q] / 10
        fields["starter"][seat] = q == s["starter"]
        fields["tapper"][seat] = q == onlooker.tapper
        fields["has_exchanged"][seat] = onlooker.has_exchanged[q]
        if onlooker.turns[q] is not None:
            row, laid, taken = onlooker.turns[q]
            if row == "tap":
                fields["last_turn"][seat, 4] = 1
            else:
                fields["last_turn"][seat, row] = 1
                fields["last_turn"][seat, 5:15] = laid / 4
                fields["last_turn"][seat, 15:25] = taken / 4
        if memory == "perfect":
            fields["least"][seat] = onlooker.least[q] / 9
            fields["most"][seat] = onlooker.most[q, 6:9] / 5
            cards = 10 if s["hand"][q].any() else 0  # who was out before the round has none
            fields["unknown"][seat] = (cards - onlooker.least[q].sum()) / 10
            if q != player:
                located = located + onlooker.least[q]
    if memory == "perfect" and features:
        others = np.delete(onlooker.least, player, axis=0)
        fields["lead"][:] = thermometer(hand + rows - others.max(axis=0) + 1, 5)
    fields["unseen"][:] = (np.array(DECK) - located) / 9
    return fields


@with_features
@memory_modes
@variants
@tables
def test_every_value_that_a_player_sees_is_as_described(num_players, expert, memory, features):
    """Without memory that is what lies open and each player's last turn, and no bound."""
    endings = set()
    rounds = outs = 0
    for seed in range(6):
        states = begin(GAME, num_players, seed, expert=expert, max_steps=120)
        habits, onlooker = Habits(GAME, seed), Onlooker(states)
        while True:
            for player in range(num_players):
                expected = expected_view(states, onlooker, player, memory, features)
                flat = np.concatenate([values.ravel() for values in expected.values()])
                seen = observation_of(GAME, states, player, memory, features)
                differs = seen != flat.astype(np.float32)
                fields = GAME.fields.unflatten(differs).items()
                assert not differs.any(), [name for name, values in fields if values.any()]
                outs += states["lives"][0, player] == 0
            if is_over(states):
                break
            before, action = copy_of(GAME, states), habits.choose(states)
            GAME.rules.step(states, 0, action)
            onlooker.sees(before, action, states)
            rounds += states["round"][0] > before["round"][0]
        endings.add("truncated" if states["truncated"][0] else bool(states["sudden_death"][0] < 0))
    assert rounds > 12
    assert outs > 0
    assert {"truncated", True} <= endings


@tables
def test_what_the_last_round_revealed_is_not_part_of_what_is_seen(num_players):
    """All cards are dealt again, and nobody learns more of them than the table shows."""
    fields = ("revealed", "totals", "lives_lost", "was_in_round", "sudden_death", "rewards")
    rng = np.random.default_rng(num_players)
    tested = 0
    for states in some_positions(GAME, num_players, 200):
        if is_over(states) or states["round"][0] == 0:
            continue
        if states["turns"][0] == 0:
            assert not states["least"].any()
        other = copy_of(GAME, states)
        for name in fields:
            other[name] = rng.integers(0, 5, states[name].shape)
        for player in range(num_players):
            view = observation_of(GAME, states, player)
            assert observation_of(GAME, other, player).tobytes() == view.tobytes()
            redrawn_alike = [
                redrawn(GAME, s, player, 1, GAME.rules.determinize)["hand"] for s in (states, other)
            ]
            assert np.array_equal(*redrawn_alike)
        tested += 1
    assert tested > 50


# ---------------------------------------------------------------------------------------------
# When the game is over
# ---------------------------------------------------------------------------------------------


def endings_of(num_players: int, kind: str) -> Iterator[np.ndarray]:
    """Games that ended in that way."""
    for seed in range(400):
        max_steps = 5 + seed % 40 if kind == "truncated" else 10_000
        states = begin(GAME, num_players, seed, max_steps=max_steps)
        states["lives"][0, :num_players] = 1 + np.arange(num_players) % 2
        habits = Habits(GAME, seed)
        for _ in range(100):
            GAME.rules.step(states, 0, habits.choose(states))
            if is_over(states):
                break
        if states["truncated"][0]:
            reached = "truncated"
        else:
            reached = "sudden death" if states["sudden_death"][0] >= 0 else "counted"
        if is_over(states) and reached == kind:
            yield states


@pytest.mark.parametrize("kind", ["counted", "sudden death", "truncated"])
@tables
def test_the_hands_that_are_open_at_the_end(num_players, kind):
    """All that were counted; after a sudden death the one with the set; none of a game truncated.

    This is the same for players who are out.
    """
    closed = 0
    for states in itertools.islice(endings_of(num_players, kind), 8):
        s = states[0]
        in_round = s["hand"][:num_players].any(axis=1)
        for player in range(num_players):
            is_shown = {
                "counted": in_round,
                "sudden death": np.arange(num_players) == s["sudden_death"],
                "truncated": np.zeros(num_players, bool),
            }[kind]
            hands = np.array(
                [
                    redrawn(GAME, states, player, seed, GAME.rules.determinize)["hand"][0]
                    for seed in range(40)
                ]
            )
            changes = (hands != s["hand"]).any(axis=(0, 2))[:num_players]
            hidden = HiddenCards.of(states, player).held[:-1].sum(axis=1)
            others = [q for q in range(num_players) if q != player]
            for q, cards in zip(others, hidden, strict=True):
                if is_shown[q]:
                    assert cards == 0
                assert changes[q] == (cards > 0)
                closed += cards > 0
            assert not changes[player]
    assert (closed > 0) == (kind != "counted")
