"""Frank's Zoo once more, slowly: with lists of cards, and with sets found by trying.

Written from the rules and not from the kernels, which are compared with it. The deal of each hand
is the one thing that it takes from the record.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations

from games.franks_zoo.table import (
    ANSWER,
    DEALT,
    EXCHANGE,
    LAYS,
    NO_LAY,
    NOBODY,
    PASS,
    SIGNS,
    TURN,
    Table,
    ask,
    cards_of,
    give,
    in_order,
    put,
)

MOST_PLAYERS = 7
# A hand's points for reward="score" are scaled so that they lie in about [-1, 1].
SCORE_SCALE = 1 / 8

#: FZ-4, the other way round: whom each animal beats.
BEATS = {
    "O": "BSPI",
    "E": "CBLF",
    "C": "FPIM",
    "B": "SFPM",
    "L": "FM",
    "S": "PIM",
    "F": "HM",
    "P": "I",
    "H": "MQ",
    "I": "Q",
    "M": "EQ",
    "Q": "",
}


@cache
def meaning(cards: str) -> tuple[str, int] | None:
    """FZ-5, FZ-6: the animal that these cards are a set of, and for how many they count."""
    animals = set(cards) - {"J"}
    if animals == {"E", "Q"} and cards.count("Q") == 1:
        return "E", len(cards)
    if len(animals) == 1 and cards.count("J") <= 1:
        return animals.pop(), len(cards)
    return None


@cache
def beats(cards: str, last: str) -> bool:
    """FZ-8."""
    found = meaning(cards)
    if found is None:
        return False
    animal, number = found
    last_animal, last_number = meaning(last)
    if animal == last_animal:
        return number == last_number + 1
    return number == last_number and last_animal in BEATS[animal]


@cache
def parts_of(cards: str) -> frozenset[str]:
    """All cards that can be taken out of these, but none and all."""
    return frozenset("".join(part) for k in range(1, len(cards)) for part in combinations(cards, k))


@cache
def wholes(last: str) -> tuple[str, ...]:
    """The sets that beat the last one."""
    return tuple(cards for cards in LAYS if beats(in_order(cards), last))


@cache
def requests(last: str) -> frozenset[str]:
    """FZ-19: what a junior who holds it may lay on the last set."""
    return frozenset(part for whole in wholes(last) for part in parts_of(in_order(whole)))


def holds(hand: list[str], cards: str) -> bool:
    return not Counter(cards) - Counter(hand)


def sets_in(hand: list[str]) -> set[str]:
    """The sets that can be made of a hand: of each animal some, and what may go with it."""
    found = set()
    for animal in set(hand):
        same = "".join(card for card in hand if card == animal)
        others = sorted(set(hand) & {"Q", "J"} - {animal})
        for number in range(1, len(same) + 1):
            for k in range(len(others) + 1):
                for extra in combinations(others, k):
                    found.add(in_order(same[:number] + "".join(extra)))
    return {cards for cards in found if meaning(cards)}


class Player:
    def __init__(self, seat: int) -> None:
        self.seat = seat
        self.total = 0
        self.points = {"place": 0, "lion": 0, "hedgehog": 0}
        self.last_place = 0

    def new_hand(self, cards: str) -> None:
        self.hand = list(cards)
        self.captured: list[str] = []
        self.played: list[str] = []
        self.given: list[str] = []
        self.place = 0
        # What everybody has seen and knows to be there still.
        self.shown: Counter[str] = Counter()

    def lose(self, cards: str) -> None:
        for card in cards:
            self.hand.remove(card)
        self.shown = self.shown - Counter(cards)


class Reference:
    """A whole game."""

    def __init__(self, table: Table) -> None:
        self.n = int(table.num_players)
        self.options = table.options
        self.players = [Player(seat) for seat in range(self.n)]
        self.ranking = list(self.players)
        self.steps = 0
        self.terminated = self.truncated = False
        self.rewards = [0.0] * self.n
        self.hand_number = 0
        self.begin_hand(table)

    @property
    def is_over(self) -> bool:
        return self.terminated or self.truncated

    @property
    def with_cards(self) -> list[Player]:
        return [player for player in self.players if player.hand]

    def to_the_left(self, player: Player) -> Player:
        """The next one with cards."""
        seats = [(player.seat + k) % self.n for k in range(1, self.n + 1)]
        return next(self.players[seat] for seat in seats if self.players[seat].hand)

    # A hand's beginning

    def begin_hand(self, table: Table) -> None:
        self.hand_number += 1
        first_hand = self.hand_number == 1
        dealer = self.players[-1] if first_hand else self.ranking[0]
        for k, size in enumerate(DEALT[self.n]):
            player = self.players[(dealer.seat + 1 + k) % self.n]
            player.new_hand(table.hand_of(player.seat))
            assert len(player.hand) == size
        assert Counter("".join(table.hands)) == table.deck
        self.trick: list[str] = []
        self.last = ""
        self.owner: Player | None = None
        self.passed: set[int] = set()
        self.request = ""
        self.asker: Player | None = None
        self.first_gift = ""
        self.laid_before: list[str] = []
        self.leader = self.players[0] if first_hand else self.ranking[-1]
        self.pairs: list[tuple[Player, Player]] = []
        self.alone: Player | None = None
        if self.options["partners"] and self.n > 3 and not first_hand:
            ranks = {
                4: ("13", "24", ""),
                5: ("14", "25", "3"),
                6: ("14", "25", "36", ""),
                7: ("15", "26", "37", "4"),
            }
            *pairs, alone = ranks[self.n]
            for senior, junior in pairs:
                self.pairs.append((self.ranked(senior), self.ranked(junior)))
            self.alone = self.ranked(alone) if alone else None
        self.givers = [giver for senior, junior in self.pairs for giver in (junior, senior)]
        if self.alone:
            self.givers.append(self.alone)
        self.to_move = self.givers[0] if self.givers else self.leader

    def ranked(self, rank: str) -> Player:
        return self.ranking[int(rank) - 1]

    def partner_of(self, player: Player) -> Player | None:
        for senior, junior in self.pairs:
            if player in (senior, junior):
                return senior if player is junior else junior
        return None

    def senior_of(self, player: Player) -> Player | None:
        return next((senior for senior, junior in self.pairs if player is junior), None)

    # Decisions

    @property
    def phase(self) -> int:
        if self.givers:
            return EXCHANGE
        return ANSWER if self.request else TURN

    def legal(self) -> list[int]:
        if self.is_over:
            return []
        hand = self.to_move.hand
        if self.givers:
            return sorted({give(card) for card in (Counter(hand) - Counter(self.first_gift))})
        if self.request:
            return [*sorted(put(cards) for cards in self.additions()), PASS]
        if not self.last:
            return sorted(put(cards) for cards in sets_in(hand)) or [PASS]
        actions = [put(cards) for cards in sets_in(hand) if beats(cards, self.last)]
        senior = self.senior_of(self.to_move)
        if senior and senior.hand:
            actions += [ask(cards) for cards in requests(self.last) if holds(hand, cards)]
        return [*sorted(actions), PASS]

    def additions(self) -> set[str]:
        """What the senior can add to the cards that the junior laid."""
        missing = {
            in_order((Counter(whole) - Counter(self.request)).elements())
            for whole in wholes(self.last)
            if holds(list(whole), self.request)
        }
        return {cards for cards in missing - {""} if holds(self.to_move.hand, cards)}

    def play(self, action: int, table: Table) -> None:
        """The action, after the record has taken it too."""
        self.rewards = [0.0] * self.n
        self.steps += 1
        if self.givers:
            self.choose_gift(SIGNS[action - give("O")])
        elif self.request:
            self.answer("" if action == PASS else LAYS[action])
        elif action == PASS:
            if self.last:
                self.pass_on(self.to_move)
            else:
                self.to_move.shown["J"] = 1
                self.to_move = self.to_the_left(self.to_move)
        elif action < len(LAYS):
            self.to_move.lose(LAYS[action])
            self.to_move.played += LAYS[action]
            self.lie(self.to_move, LAYS[action])
            self.go_out(self.to_move)
            self.go_on()
        else:
            self.request = in_order(LAYS[action - len(LAYS)])
            self.asker = self.to_move
            self.asker.lose(self.request)
            self.to_move = self.senior_of(self.asker)
        if len(self.with_cards) + (self.asker is not None and not self.asker.hand) < 2:
            self.end_hand(table)
        if not self.terminated and self.steps == self.options["max_steps"]:
            self.truncated = True
        if self.is_over and self.options["reward"] != "score":
            self.pay()

    def choose_gift(self, card: str) -> None:
        if not self.first_gift:
            self.first_gift = card
            return
        giver = self.givers.pop(0)
        cards = self.first_gift + card
        self.first_gift = ""
        giver.lose(cards)
        giver.given += cards
        partner = self.partner_of(giver)
        if partner:
            partner.hand += cards
        else:
            self.laid_before += cards
        self.to_move = self.givers[0] if self.givers else self.leader

    def lie(self, player: Player, cards: str) -> None:
        """These cards are the player's and the last set now."""
        self.last = in_order(cards)
        self.owner = player
        self.trick += cards
        self.passed = set()

    def go_out(self, player: Player) -> None:
        if not player.hand:
            player.place = 1 + max(other.place for other in self.players)

    def go_on(self) -> None:
        if self.with_cards:
            self.to_move = self.to_the_left(self.owner)

    def pass_on(self, player: Player) -> None:
        self.passed.add(player.seat)
        others = {other.seat for other in self.with_cards} - {self.owner.seat}
        if others <= self.passed:
            self.owner.captured += self.trick
            self.to_move = self.owner if self.owner.hand else self.to_the_left(self.owner)
            self.trick = []
            self.last = ""
            self.owner = None
            self.passed = set()
        else:
            self.to_move = self.to_the_left(player)

    def answer(self, added: str) -> None:
        junior, senior, request = self.asker, self.to_move, self.request
        self.asker = None
        self.request = ""
        if added:
            senior.lose(added)
            junior.played += request
            senior.played += added
            self.lie(junior, request + added)
            self.go_out(junior)
            self.go_out(senior)
            self.go_on()
        else:
            junior.hand += request
            junior.shown += Counter(request)
            self.pass_on(junior)

    # A hand's end

    def end_hand(self, table: Table) -> None:
        self.owner.captured += self.trick
        if self.alone:
            self.alone.captured += self.laid_before
            self.alone.given = []
        for player in self.with_cards:
            player.place = self.n
        team = bool(self.pairs)
        for player in self.players:
            places = [player.place]
            partner = self.partner_of(player)
            if partner:
                places.append(partner.place)
            points = sum(0 if place == self.n else self.n + 1 - place for place in places)
            if player is self.alone:
                points += 4
            lions = player.captured.count("L")
            lion = (lions if lions > 1 else 0) - player.hand.count("L")
            hedgehog = 0 if "H" in player.captured else -1
            if not team and self.n > 3:
                lion = hedgehog = 0
            player.points = {"place": points, "lion": lion, "hedgehog": hedgehog}
            player.last_place = player.place
            player.total += sum(player.points.values())
        if self.options["reward"] == "score":
            points = [sum(player.points.values()) for player in self.players]
            mean = sum(points) / self.n
            self.rewards = [(own - mean) * SCORE_SCALE for own in points]
        worst_first = self.ranking[::-1]
        self.ranking = sorted(worst_first, key=lambda player: -player.total)
        enough = [player for player in self.players if player.total >= self.options["target_score"]]
        if len(enough) >= (1 if self.n == 3 else 2):
            self.terminated = True
            self.trick = []
            self.last = ""
            self.owner = None
            self.passed = set()
        else:
            self.begin_hand(table)

    def pay(self) -> None:
        none_is_ahead = self.hand_number == 1 and not self.terminated
        for rank, player in enumerate(self.ranking):
            if self.options["reward"] == "rank":
                behind, ahead = self.n - 1 - rank, rank
                balance = 0 if none_is_ahead else behind - ahead
                self.rewards[player.seat] = balance / (self.n - 1)
            elif none_is_ahead:
                self.rewards[player.seat] = 1 / self.n
            elif rank == 0:
                self.rewards[player.seat] = 1.0

    # The comparison

    def assert_same(self, table: Table) -> None:
        """Everything in the record is as it is here."""
        assert (table.terminated, table.truncated) == (self.terminated, self.truncated)
        assert abs(table.rewards - self.padded(self.rewards)).max() < 1e-12
        assert table.legal() == self.legal()
        assert (table.steps, table.hand_number) == (self.steps, self.hand_number)
        assert table.phase == (TURN if self.terminated else self.phase)
        if not self.is_over:
            assert table.current_player == self.to_move.seat
        self.assert_same_cards(table)
        self.assert_same_trick(table)
        self.assert_same_standings(table)

    def assert_same_cards(self, table: Table) -> None:
        for name, value in {
            "hand": lambda player: player.hand,
            "captured": lambda player: player.captured,
            "played_by": lambda player: player.played,
            "given": lambda player: player.given,
            "known": lambda player: player.hand if self.terminated else player.shown.elements(),
        }.items():
            found = [cards_of(row) for row in getattr(table, name)]
            assert found == self.padded([in_order(value(p)) for p in self.players], ""), name
        assert table.hand_size.tolist() == self.padded([len(p.hand) for p in self.players])
        played = [card for player in self.players for card in player.played]
        if self.terminated:
            played += self.laid_before
        assert cards_of(table.played) == in_order(played)
        assert table.gift == (SIGNS.index(self.first_gift) if self.first_gift else NOBODY)

    def assert_same_trick(self, table: Table) -> None:
        assert table.on_table == in_order(self.trick)
        assert table.last_set == (put(self.last) if self.last else NO_LAY)
        assert table.owner == (self.owner.seat if self.owner else NOBODY)
        passed = [int(player.seat in self.passed) for player in self.players]
        assert table.has_passed.tolist() == self.padded(passed)
        assert table.request == (put(self.request) if self.request else NO_LAY)
        assert table.asker == (self.asker.seat if self.asker else NOBODY)

    def assert_same_standings(self, table: Table) -> None:
        none_is_ahead = self.hand_number == 1 and not self.terminated
        ranks = [self.ranking.index(player) for player in self.players]
        assert table.rank.tolist() == self.padded(ranks)
        standing = [0 if none_is_ahead else self.n - rank for rank in ranks]
        assert table.standing.tolist() == self.padded(standing)
        partners = [self.partner_of(player) for player in self.players]
        seats = [partner.seat if partner else NOBODY for partner in partners]
        assert table.partner.tolist() == self.padded(seats, NOBODY)
        seniors = [senior for senior, _ in self.pairs]
        is_senior = [int(player in seniors) for player in self.players]
        assert table.is_senior.tolist() == self.padded(is_senior)
        assert table.alone == (self.alone.seat if self.alone else NOBODY)
        for name, values in {
            "totals": [player.total for player in self.players],
            "place": [player.place for player in self.players],
            "last_place": [player.last_place for player in self.players],
            "place_points": [player.points["place"] for player in self.players],
            "lion_points": [player.points["lion"] for player in self.players],
            "hedgehog_points": [player.points["hedgehog"] for player in self.players],
            "hand_points": [sum(player.points.values()) for player in self.players],
        }.items():
            assert getattr(table, name).tolist() == self.padded(values), name

    def padded(self, values: list, empty=0) -> list:
        return values + [empty] * (MOST_PLAYERS - self.n)
