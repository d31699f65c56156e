"""Swim for Your Life once more, slowly: with lists of cards, and with all that hands can be.

Written from the rules and not from the kernels, which are compared with it. The deal of each
round is the one thing that it takes from the record.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from games.swim_for_your_life.table import (
    DECK,
    EXCHANGES,
    SIGNS,
    TAP,
    VALUES,
    Table,
    cards_of,
    in_order,
)

NUMBER_OF = {cards: action for action, cards in enumerate(EXCHANGES)}


class Player:
    def __init__(self) -> None:
        self.lives = 5
        self.out_in = -1  # the round
        self.new_hand("")

    def new_hand(self, cards: str) -> None:
        self.hand = list(cards)
        self.has_exchanged = False
        self.last_action = -1
        self.last_taken: list[str] = []
        # How many of each animal the others can think that they have.
        self.possible = {sign: set(range(DECK[sign] + 1)) if cards else {0} for sign in SIGNS}

    @property
    def is_in(self) -> bool:
        return self.lives > 0

    def show(self) -> None:
        self.possible = {sign: {self.hand.count(sign)} for sign in SIGNS}


class Reference:
    """A whole game."""

    def __init__(self, table: Table) -> None:
        self.n = int(table.num_players)
        self.options = table.options
        self.players = [Player() for _ in range(self.n)]
        self.sets = "HP" if self.options["expert"] else "HPC"
        self.round = 0
        self.steps = 0
        self.starter = 0
        self.terminated = self.truncated = False
        self.rewards = [0.0] * self.n
        self.sudden_death = -1
        self.was_in_round = [0] * self.n
        self.revealed = [""] * self.n
        self.totals = [0] * self.n
        self.lives_lost = [0] * self.n
        self.deal(table)

    @property
    def is_over(self) -> bool:
        return self.terminated or self.truncated

    @property
    def seats_in(self) -> list[int]:
        return [seat for seat, player in enumerate(self.players) if player.is_in]

    def to_the_left(self, seat: int) -> int:
        return next(q % self.n for q in range(seat + 1, seat + 9) if self.players[q % self.n].is_in)

    def deal(self, table: Table) -> None:
        for player, hand in zip(self.players, table.hands, strict=True):
            assert len(hand) == (10 if player.is_in else 0)
            player.new_hand(hand)
        self.rows = [list(row) for row in table.rows]
        self.rest = table.rest
        assert [len(row) for row in self.rows] == [1, 2, 3, 4]
        assert len(self.rest) == 60 - 10 * len(self.seats_in) - 10
        assert Counter("".join([*table.hands, *table.rows, table.rest])) == DECK
        self.turn_of = self.starter
        self.tapper: int | None = None
        self.turns = 0

    def legal(self) -> list[int]:
        if self.is_over:
            return []
        player = self.players[self.turn_of]
        choices = {
            "".join(cards) for k in (1, 2, 3, 4) for cards in combinations(in_order(player.hand), k)
        }
        choices -= {in_order(row) for row in self.rows}
        actions = sorted(NUMBER_OF[cards] for cards in choices)
        return [*actions, TAP] if player.has_exchanged else actions

    def play(self, action: int, table: Table) -> None:
        """The action, after the record has taken it too."""
        self.rewards = [0.0] * self.n
        self.steps += 1
        self.turns += 1
        player = self.players[self.turn_of]
        player.last_action = action
        player.last_taken = []
        if action == TAP:
            if self.tapper is None:
                self.tapper = self.turn_of
            self.end_turn(table)
        else:
            self.exchange(player, EXCHANGES[action])
            if any(player.hand.count(sign) == DECK[sign] for sign in self.sets):
                self.die_suddenly(table)
            else:
                for sign in self.sets:
                    player.possible[sign] -= {DECK[sign]}
                self.end_turn(table)
        if not self.terminated and self.steps == self.options["max_steps"]:
            self.truncated = True
        if self.is_over and self.options["reward"] != "score":
            self.pay()

    def exchange(self, player: Player, laid_down: str) -> None:
        k = len(laid_down) - 1
        taken = self.rows[k]
        for card in laid_down:
            player.hand.remove(card)
        player.hand.extend(taken)
        self.rows[k] = list(laid_down)
        player.has_exchanged = True
        player.last_taken = taken
        for sign in SIGNS:
            gone, come = laid_down.count(sign), taken.count(sign)
            player.possible[sign] = {
                count - gone + come
                for count in player.possible[sign]
                if gone <= count and count - gone + come <= DECK[sign]
            }

    def end_turn(self, table: Table) -> None:
        self.turn_of = self.to_the_left(self.turn_of)
        if self.turn_of == self.tapper:
            self.count(table)

    def die_suddenly(self, table: Table) -> None:
        self.sudden_death = self.turn_of
        self.totals = [0] * self.n
        self.revealed = [""] * self.n
        self.reveal(self.turn_of)
        losses = [1] * self.n
        losses[self.turn_of] = -1 if self.options["expert"] else 0
        self.end_round(losses, table)

    def count(self, table: Table) -> None:
        self.sudden_death = -1
        self.revealed = [""] * self.n
        for seat in self.seats_in:
            self.reveal(seat)
        self.totals = [0] * self.n
        needed = 2 if len(self.seats_in) == 2 else 1
        for sign in SIGNS:
            held = sorted((self.players[seat].hand.count(sign), seat) for seat in self.seats_in)
            (second, _), (most, holder) = held[-2:]
            if most > second and most >= needed:
                self.totals[holder] += VALUES[sign]
        places = sorted({self.totals[seat] for seat in self.seats_in}, reverse=True)
        losses = {places[-1]: 2}
        losses |= dict.fromkeys(places[1:-1], 1)
        losses[places[0]] = 0
        self.end_round([losses.get(total, 0) for total in self.totals], table)

    def reveal(self, seat: int) -> None:
        self.players[seat].show()
        self.revealed[seat] = in_order(self.players[seat].hand)

    def end_round(self, losses: list[int], table: Table) -> None:
        seats = self.seats_in
        self.was_in_round = [int(player.is_in) for player in self.players]
        self.lives_lost = [0] * self.n
        for seat in seats:
            player = self.players[seat]
            left = max(0, player.lives - losses[seat])
            self.lives_lost[seat] = player.lives - left
            player.lives = left
            if left == 0:
                player.out_in = self.round
        if self.options["reward"] == "score":
            mean = sum(self.lives_lost) / len(seats)
            for seat in seats:
                self.rewards[seat] = (mean - self.lives_lost[seat]) / 2
        self.round += 1
        if len(self.seats_in) == 1:
            self.terminated = True
        else:
            self.starter = self.to_the_left(self.starter)
            self.deal(table)

    def pay(self) -> None:
        places = [
            (1, player.lives) if player.is_in else (0, player.out_in) for player in self.players
        ]
        for seat, place in enumerate(places):
            if self.options["reward"] == "rank":
                balance = sum((place > other) - (place < other) for other in places)
                self.rewards[seat] = balance / (self.n - 1)
            elif place == max(places):
                self.rewards[seat] = 1 / places.count(place)

    def assert_same(self, table: Table) -> None:
        """Everything in the record is as it is here, and every view shows it."""
        assert (table.terminated, table.truncated) == (self.terminated, self.truncated)
        assert table.rewards[: self.n].tolist() == self.rewards
        assert not table.rewards[self.n :].any()
        assert table.legal() == self.legal()
        assert (table.steps, table.turns, table.round) == (self.steps, self.turns, self.round)
        assert table.lives.tolist() == self.padded([player.lives for player in self.players])
        assert table.hands == [in_order(player.hand) for player in self.players]
        assert table.rows == [in_order(row) for row in self.rows]
        assert table.rest == self.rest
        assert table.starter == self.starter
        assert table.tapper == (-1 if self.tapper is None else self.tapper)
        if not self.is_over:
            assert table.current_player == self.turn_of
        actions = [player.last_action for player in self.players]
        assert table.last_action.tolist() == self.padded(actions, -1)
        taken = [in_order(player.last_taken) for player in self.players]
        assert [cards_of(row) for row in table.last_taken] == self.padded(taken, "")
        assert table.sudden_death == self.sudden_death
        assert table.was_in_round.tolist() == self.padded(self.was_in_round)
        assert table.totals.tolist() == self.padded(self.totals)
        assert table.lives_lost.tolist() == self.padded(self.lives_lost)
        assert [cards_of(hand) for hand in table.revealed] == self.padded(self.revealed, "")
        for seat in range(self.n):
            assert_equal(table.observe(seat), self.view(seat))
        seat = self.steps % self.n
        for memory in ("perfect", "none"):
            for features in (True, False):
                view = self.view(seat, memory=memory, features=features)
                assert_equal(table.observe(seat, memory=memory, features=features), view)
        assert_equal(table.full_state(seat), self.full_state(seat))

    def padded(self, values: list, empty=0) -> list:
        return values + [empty] * (5 - self.n)

    def round_the_table(self, observer: int, value, empty=0) -> list:
        """``value(seat, player)`` of each seat from the observer on, for five seats."""
        seats = [(observer + k) % self.n for k in range(self.n)]
        return self.padded([value(seat, self.players[seat]) for seat in seats], empty)

    def open_fields(self, observer: int) -> dict[str, list]:
        def seats(value, empty=0):
            return self.round_the_table(observer, value, empty)

        return {
            "seats": seats(lambda seat, player: 1),
            "in_game": seats(lambda seat, player: player.is_in),
            "to_move": seats(lambda seat, player: seat == self.turn_of and not self.is_over),
            "lives": seats(lambda seat, player: player.lives / 10),
            "starter": seats(lambda seat, player: seat == self.starter),
            "tapper": [*seats(lambda seat, player: seat == self.tapper), self.tapper is None],
            "has_exchanged": seats(lambda seat, player: player.has_exchanged),
            "turns": [min(self.turns, 255) / 255],
            "two_left": [len(self.seats_in) == 2],
            "expert": [self.options["expert"]],
            "rows": [[row.count(sign) / 4 for sign in SIGNS] for row in self.rows],
            "last_turn": seats(lambda seat, player: last_turn(player), [0] * 25),
        }

    def known_fields(self, observer: int) -> dict[str, list]:
        def seats(value, empty):
            return self.round_the_table(observer, value, empty)

        return {
            "least": seats(lambda _, p: [min(p.possible[sign]) / 9 for sign in SIGNS], [0] * 10),
            "most": seats(lambda _, p: [max(p.possible[sign]) / 5 for sign in "HPC"], [0] * 3),
        }

    def view(
        self, observer: int, *, memory: str = "perfect", features: bool = True
    ) -> dict[str, list]:
        """What the fields of an observation are to hold."""
        hand = self.players[observer].hand
        with_row = [hand + row for row in self.rows]
        others = [player for seat, player in enumerate(self.players) if seat != observer]
        located = Counter(hand + [card for row in self.rows for card in row])
        lead, unknown = np.zeros((4, 10, 5)), [0] * 5
        known = {"least": np.zeros((5, 10)), "most": np.zeros((5, 3))}
        if memory == "perfect":
            for player in others:
                located.update({sign: min(player.possible[sign]) for sign in SIGNS})
            ahead = [
                [held.count(s) - max(min(other.possible[s]) for other in others) for s in SIGNS]
                for held in with_row
            ]
            if features:
                lead = [[[cards >= c for c in range(5)] for cards in row] for row in ahead]
            known = self.known_fields(observer)
            unknown = self.round_the_table(
                observer, lambda _, p: (len(p.hand) - sum(map(min, p.possible.values()))) / 10
            )
        return {
            **self.open_fields(observer),
            "hand": thermometers(hand, 9),
            "with_row": [thermometers(held * features, 6) for held in with_row],
            "lead": lead,
            "unseen": [(DECK[sign] - located[sign]) / 9 for sign in SIGNS],
            **known,
            "unknown": unknown,
        }

    def full_state(self, observer: int) -> dict[str, list]:
        """What the fields of the full state are to hold."""
        nothing = np.zeros((10, 9))
        return {
            **self.open_fields(observer),
            "hands": self.round_the_table(observer, lambda _, p: thermometers(p.hand, 9), nothing),
            "left_over": [self.rest.count(sign) / 9 for sign in SIGNS],
            **self.known_fields(observer),
        }


def thermometers(cards, size: int) -> list[list[int]]:
    return [[int(c < cards.count(sign)) for c in range(size)] for sign in SIGNS]


def last_turn(player: Player) -> list[float]:
    values = [0.0] * 25
    if player.last_action == TAP:
        values[4] = 1.0
    elif player.last_action >= 0:
        laid_down = EXCHANGES[player.last_action]
        values[len(laid_down) - 1] = 1.0
        values[5:15] = [laid_down.count(sign) / 4 for sign in SIGNS]
        values[15:25] = [player.last_taken.count(sign) / 4 for sign in SIGNS]
    return values


def assert_equal(fields: dict[str, np.ndarray], expected: dict[str, list]) -> None:
    assert list(fields) == list(expected)
    for name, values in expected.items():
        assert np.abs(fields[name] - np.array(values, float)).max() < 1e-6, name
