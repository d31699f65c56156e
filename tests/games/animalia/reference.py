"""Animalia once more, slowly: with lists of cards in words, and the course of the game as a
generator that stops at each decision.

Written from the rules and not from the kernels, which are compared with it. The order of each
season's deck is the one thing that it takes from the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator

from games.animalia.table import (
    BRING_IN,
    CARDS,
    FAMILIES,
    GIVE,
    LOT,
    NO_CARD,
    NO_COLLECTION,
    NO_FAMILY,
    NOBODY,
    NUMBERS,
    OWL_FAMILY,
    PASS,
    RECEIVE,
    STEAL,
    TAKE_OUT,
    Table,
    bits,
    card,
    family,
    take,
    text_of,
    to,
)

MOST_PLAYERS = MOST_COLLECTIONS = 6
STARS = {"champion": 3, "elegant": 2, "lousy": -1}
# A season's points for reward="score" are scaled so that they lie in about [-1, 1].
SCORE_SCALE = 1 / 10

#: What asks for a decision: it is sent the action, and returns what comes of it.
Decisions = Generator[None, int, object]


def member_of(name: str) -> str:
    return name.split()[-1]


def family_of(name: str) -> str:
    return name.split()[0] + "s"


class Collection(list):
    """The cards of one collection, in words."""

    def __init__(self, owner: Player, number: int) -> None:
        super().__init__()
        self.owner = owner
        self.number = number  # the owner's, from 1

    @property
    def room(self) -> int:
        return 5 - len(self)

    @property
    def elegance(self) -> int:
        return sum(STARS.get(member_of(name), 0) for name in self)

    def medals(self, owl_family: str) -> Counter[str]:
        animals = Counter(owl_family if name == "owl" else family_of(name) for name in self)
        if len(animals) == 5:
            return animals
        return Counter({name: number for name, number in animals.items() if number > 1})


class Player:
    def __init__(self, seat: int, number_of_collections: int) -> None:
        self.seat = seat
        self.collections = [Collection(self, k + 1) for k in range(number_of_collections)]
        self.bonus: list[str] = []
        self.medals: Counter[str] = Counter()
        self.last_medals: Counter[str] = Counter()
        self.last_points = 0
        # By card: the last season at whose end a spy's owner knew that it had not been drawn.
        self.left_over: dict[str, int] = {}

    @property
    def is_complete(self) -> bool:
        return not any(collection.room for collection in self.collections)

    @property
    def cards(self) -> list[str]:
        return [name for collection in self.collections for name in collection]


class Reference:
    """A whole game."""

    def __init__(self, table: Table) -> None:
        self.n = int(table.num_players)
        self.options = table.options
        self.players = [Player(seat, 2 if self.n == 2 else 1) for seat in range(self.n)]
        self.collections = [c for player in self.players for c in player.collections]
        self.deck = {c for c in CARDS if self.n >= 5 or member_of(c) != "cute"}
        self.steps = 0
        self.terminated = self.truncated = False
        self.rewards = [0.0] * self.n
        self.owl_family = ""
        # By card: whose spies have seen it where it is hidden; the season in which it was drawn as
        # a bonus card; and the last one at whose end it lay open.
        self.seen: dict[str, set[int]] = {}
        self.since: dict[str, int] = {}
        self.shown: dict[str, int] = {}
        self.table = table
        self.course = self.game()
        next(self.course)

    @property
    def is_over(self) -> bool:
        return self.terminated or self.truncated

    def play(self, action: int, table: Table) -> None:
        """The action, after the record has taken it too."""
        self.table = table
        self.rewards = [0.0] * self.n
        self.steps += 1
        try:
            self.course.send(action)
        except StopIteration:
            self.terminated = True
        self.truncated = self.steps == self.options["max_steps"] and not self.terminated
        if self.is_over and self.options["reward"] != "score":
            self.pay()

    def legal(self) -> list[int]:
        return [] if self.is_over else sorted(self.actions)

    def circle(self, first: Player) -> list[Player]:
        """All players, clockwise."""
        return self.players[first.seat :] + self.players[: first.seat]

    def left_of(self, player: Player) -> Player:
        return self.circle(player)[1]

    def opponents_collections(self, player: Player) -> list[Collection]:
        """From the player's left, in the order in which they can receive gifts."""
        return [c for opponent in self.circle(player)[1:] for c in opponent.collections]

    def ask(self, player: Player, phase: int, actions: list[int], **more) -> Decisions:
        """A decision of the player, unless there is no choice: AN-10."""
        if len(actions) == 1:
            return actions[0]
        self.to_move, self.phase, self.actions = player, phase, actions
        self.must_take = more.get("must_take", False)
        self.power_of = more.get("power_of")
        self.gift_follows = more.get("gift_follows", False)
        self.chosen = more.get("chosen", "")
        return (yield)

    # The course of the game

    def game(self) -> Decisions:
        self.dealer = self.players[0]
        for season in range(1, self.options["seasons"] + 1):
            self.season = season
            self.shuffle()
            yield from self.make_collections()
            following = self.circle(self.left_of(self.dealer))
            self.award_elegance(following)
            for player in following:
                yield from self.exchange(player)
            yield from self.name_owl_family()
            self.award_medals()
            if self.season < self.options["seasons"]:
                self.note_cards()
                self.dealer = following[0]

    def shuffle(self) -> None:
        kept = {name for player in self.players for name in player.bonus}
        self.pile = [CARDS[number] for number in self.table.deck[: self.table.deck_size]]
        assert len(self.pile) == len(set(self.pile))
        assert set(self.pile) == self.deck - kept
        self.pile_size = len(self.pile)
        self.seen = {name: spies for name, spies in self.seen.items() if name in kept}
        for collection in self.collections:
            collection.clear()
        self.replaced: list[str] = []

    def note_cards(self) -> None:
        for player in self.players:
            self.shown.update(dict.fromkeys(player.cards + self.replaced, self.season))
            seen = [name for name in self.pile if player.seat in self.seen.get(name, ())]
            player.left_over.update(dict.fromkeys(seen, self.season))

    def draw(self) -> str:
        return self.pile.pop(0)

    def make_collections(self) -> Decisions:
        while True:
            yield from self.turn()
            circle = self.circle(self.left_of(self.dealer))
            incomplete = [player for player in circle if not player.is_complete]
            if not incomplete:
                return
            self.dealer = incomplete[0]

    def turn(self) -> Decisions:
        """One turn of the dealer."""
        takers = [player for player in self.circle(self.dealer) if not player.is_complete]
        is_alone = len(takers) == 1
        self.lot = []
        while True:
            self.lot.append(self.draw())
            for player in takers:
                if (yield from self.offer(player, must_take=is_alone)):
                    return
            most = max(collection.room for collection in self.dealer.collections)
            if len(self.lot) == 3 or most <= len(self.lot):
                yield from self.offer(self.dealer, must_take=True)
                return

    def offer(self, player: Player, *, must_take: bool) -> Decisions:
        """Whether the player takes the lot."""
        fitting = {take(c.number): c for c in player.collections if c.room >= len(self.lot)}
        actions = [*fitting] if must_take else [PASS, *fitting]
        action = yield from self.ask(player, LOT, actions, must_take=must_take)
        if action == PASS:
            return False
        yield from self.take_lot(fitting[action])
        return True

    def take_lot(self, collection: Collection) -> Decisions:
        before = Counter(map(member_of, collection))
        taken = Counter(map(member_of, self.lot))
        triggered = {
            power
            for power in ("spy", "thief", "prankster")
            if taken[power] >= 2 or (taken[power] == 1 and before[power] >= 1)
        }
        collection += self.lot
        self.lot = []
        if "spy" in triggered:
            for name in self.pile[:3]:
                self.seen.setdefault(name, set()).add(collection.owner.seat)
        if "thief" in triggered:
            yield from self.steal(collection, gift_follows="prankster" in triggered)
        if "prankster" in triggered:
            yield from self.give(collection)

    def steal(self, collection: Collection, *, gift_follows: bool) -> Decisions:
        victims = self.opponents_collections(collection.owner) if collection.room else []
        loot = {card(name): (name, victim) for victim in victims for name in victim}
        action = yield from self.ask(
            collection.owner,
            STEAL,
            [PASS, *loot],
            power_of=collection,
            gift_follows=gift_follows,
        )
        if action != PASS:
            name, victim = loot[action]
            victim.remove(name)
            collection.append(name)

    def give(self, collection: Collection) -> Decisions:
        others = self.opponents_collections(collection.owner)
        receivers = {to(k): other for k, other in enumerate(others, 1) if other.room}
        power = {"power_of": collection, "gift_follows": True}
        gifts = {card(name): name for name in collection} if receivers else {}
        action = yield from self.ask(collection.owner, GIVE, [PASS, *gifts], **power)
        if action != PASS:
            gift = gifts[action]
            action = yield from self.ask(
                collection.owner, RECEIVE, [*receivers], chosen=gift, **power
            )
            collection.remove(gift)
            receivers[action].append(gift)

    def award_elegance(self, following: list[Player]) -> None:
        competitors = [collection for player in following for collection in player.collections]
        levels = sorted({collection.elegance for collection in competitors}, reverse=True)
        of_level = [[c for c in competitors if c.elegance == level] for level in levels]
        prizes = of_level[0]
        if len(prizes) == 1:
            prizes = prizes * 2 + of_level[1]
        for collection in prizes:
            if self.pile:
                self.since[self.pile[0]] = self.season
                collection.owner.bonus.append(self.draw())

    def exchange(self, player: Player) -> Decisions:
        while True:
            bonus = {card(name): name for name in player.bonus}
            action = yield from self.ask(player, BRING_IN, [PASS, *bonus])
            if action == PASS:
                return
            new = bonus[action]
            places = {card(name): (c, name) for c in player.collections for name in c}
            action = yield from self.ask(player, TAKE_OUT, [*places], chosen=new)
            collection, old = places[action]
            collection[collection.index(old)] = new
            player.bonus.remove(new)
            self.replaced.append(old)

    def name_owl_family(self) -> Decisions:
        named = ""
        for player in self.players:
            if "owl" in player.cards:
                names = {family(name): name for name in FAMILIES}
                named = names[(yield from self.ask(player, OWL_FAMILY, [*names]))]
        self.owl_family = named

    def award_medals(self) -> None:
        for player in self.players:
            player.last_medals = Counter()
            for collection in player.collections:
                player.last_medals += collection.medals(self.owl_family)
            player.medals += player.last_medals
            player.last_points = player.last_medals.total()
            if self.season == self.options["seasons"]:
                player.last_points += self.excellence(player)
        if self.options["reward"] == "score":
            mean = sum(player.last_points for player in self.players) / self.n
            self.rewards = [(p.last_points - mean) * SCORE_SCALE for p in self.players]

    # Who is ahead

    def excellence(self, player: Player) -> int:
        group = 7 if self.n == 2 else 5
        return 5 * sum(number // group for number in player.medals.values())

    def standing(self, player: Player) -> tuple[int, int]:
        points = player.medals.total() + self.excellence(player)
        return points, max(player.medals.values(), default=0)

    def pay(self) -> None:
        standings = [self.standing(player) for player in self.players]
        for player in self.players:
            own = standings[player.seat]
            if self.options["reward"] == "rank":
                behind = sum(other < own for other in standings)
                ahead = sum(other > own for other in standings)
                self.rewards[player.seat] = (behind - ahead) / (self.n - 1)
            elif own == max(standings):
                self.rewards[player.seat] = 1 / standings.count(own)

    # The comparison

    def assert_same(self, table: Table) -> None:
        """Everything in the record is as it is here."""
        assert (table.terminated, table.truncated) == (self.terminated, self.truncated)
        assert abs(table.rewards - self.padded(self.rewards)).max() < 1e-12
        assert table.legal() == self.legal()
        assert (table.steps, table.season) == (self.steps, self.season)
        assert table.seasons == self.options["seasons"]
        assert table.dealer == self.dealer.seat
        if not self.terminated:
            self.assert_same_decision(table)
        self.assert_same_cards(table)
        self.assert_same_knowledge(table)
        self.assert_same_medals(table)

    def assert_same_decision(self, table: Table) -> None:
        assert (table.current_player, table.phase) == (self.to_move.seat, self.phase)
        assert table.must_take == self.must_take
        number = NO_COLLECTION
        if self.power_of is not None:
            number = next(k for k, c in enumerate(self.collections) if c is self.power_of)
        assert table.taken_into == number
        assert table.may_give == self.gift_follows
        assert table.chosen == (NUMBERS[self.chosen] if self.chosen else NO_CARD)

    def assert_same_cards(self, table: Table) -> None:
        empty = [0] * (MOST_COLLECTIONS - len(self.collections))
        assert table.collection.tolist() == [*map(bits, self.collections), *empty]
        assert table.bonus.tolist() == self.padded([bits(p.bonus) for p in self.players])
        assert table.lot_cards == text_of(bits(self.lot))
        assert table.replaced_cards == text_of(bits(self.replaced))
        assert table.pile == self.pile
        assert table.deck_size == self.pile_size
        assert table.drawn == self.pile_size - len(self.pile)

    def assert_same_knowledge(self, table: Table) -> None:
        """Of each hidden card whose bonus card it is and who has spied it; and what was noted at
        the ends of seasons."""
        expected = {name: (NOBODY, 0, self.seen.get(name, set())) for name in self.pile}
        for player in self.players:
            for name in player.bonus:
                expected[name] = (player.seat, self.since[name], self.seen.get(name, set()))
        found = {}
        for place, number in enumerate(table.deck):
            seat, since, seen = table.holder[place], table.since[place], table.seen[place]
            if seat != NOBODY or table.drawn <= place < table.deck_size:
                spies = {player for player in range(MOST_PLAYERS) if seen >> player & 1}
                found[CARDS[number]] = (seat, since, spies)
        assert found == expected
        assert table.shown.tolist() == [self.shown.get(name, 0) for name in CARDS]
        for player in self.players:
            left_over = [player.left_over.get(name, 0) for name in CARDS]
            assert table.left_over[player.seat].tolist() == left_over

    def assert_same_medals(self, table: Table) -> None:
        no_medals = [[0] * len(FAMILIES)]
        for name, medals in {
            "medals": [player.medals for player in self.players],
            "season_medals": [player.last_medals for player in self.players],
        }.items():
            rows = [[of_player[name] for name in FAMILIES] for of_player in medals]
            rows += no_medals * (MOST_PLAYERS - self.n)
            assert getattr(table, name).tolist() == rows, name
        points = [player.last_points for player in self.players]
        assert table.season_points.tolist() == self.padded(points)
        owl_family = FAMILIES.index(self.owl_family) if self.owl_family else NO_FAMILY
        assert table.owl_family == owl_family
        standings = [self.standing(player) for player in self.players]
        for player, own in enumerate(standings):
            for other, others in enumerate(standings):
                is_ahead = table.standing[player] > table.standing[other]
                assert is_ahead == (own > others)

    def padded(self, values: list, empty=0) -> list:
        return values + [empty] * (MOST_PLAYERS - self.n)
