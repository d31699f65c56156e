"""A table of Frank's Zoo laid out by hand, to be played on through the kernels.

Cards are written as one character each: Orca, Elephant, Crocodile, polar Bear, Lion, Seal, Fox,
Perch, Hedgehog, fIsh, Mouse, mosQuito, Joker.
"""

from __future__ import annotations

from collections import Counter

from table import GameTable

from card_envs.games import load_game

GAME = load_game("franks_zoo")
SIGNS = "OECBLSFPHIMQJ"
DECK = Counter("OECBLSFPHIM" * 5 + "QQQQ" + "J")
DECK_OF_THREE = DECK - Counter("LEM" + "OCBSFPHIQ" * 2)
#: FZ-2, FZ-3: the cards dealt to each seat, from the dealer's left.
DEALT = {
    3: (13,) * 3,
    4: (15,) * 4,
    5: (12,) * 5,
    6: (10,) * 6,
    7: (9,) * 4 + (8,) * 3,
}
EXCHANGE, TURN, ANSWER = 0, 1, 2
NO_LAY = 129
NOBODY = -1
PASS = 271


def in_order(cards) -> str:
    return "".join(sorted(cards, key=SIGNS.index))


def counts(cards) -> list[int]:
    """How many of each kind there are, as the record keeps it."""
    found = Counter(cards)
    return [found[sign] for sign in SIGNS]


def cards_of(kinds) -> str:
    """The cards of such counts, in order."""
    return "".join(sign * int(count) for sign, count in zip(SIGNS, kinds, strict=True))


def put(cards: str) -> int:
    """The action of playing (or adding) these cards: the number of that lay."""
    joker = cards.count("J")
    animals = sorted(set(cards) - {"J"}, key=SIGNS.index)
    if not animals:
        assert cards == "J"
        return 128
    if animals == ["E", "Q"]:
        assert cards.count("Q") == 1
        return 118 + 2 * (cards.count("E") - 1) + joker
    assert len(animals) == 1
    return 10 * SIGNS.index(animals[0]) + 2 * (cards.count(animals[0]) - 1) + joker


def ask(cards: str) -> int:
    """The action of laying these cards and asking for help."""
    return 129 + put(cards)


def give(card: str) -> int:
    """The action of choosing this card as a gift, or to be laid down by the player alone."""
    return 258 + SIGNS.index(card)


#: The cards of each lay, by its number.
LAYS = [
    *(a * k + j for a in "OECBLSFPHIM" for k in range(1, 6) for j in ("", "J")),
    *("Q" * k + j for k in range(1, 5) for j in ("", "J")),
    *("E" * k + "Q" + j for k in range(1, 6) for j in ("", "J")),
    "J",
]


def pairs_of(num_players: int) -> list[tuple[int, int]]:
    """FZ-17: the ranks (from 0) of senior and junior of each pair."""
    return {
        4: [(0, 2), (1, 3)],
        5: [(0, 3), (1, 4)],
        6: [(0, 3), (1, 4), (2, 5)],
        7: [(0, 4), (1, 5), (2, 6)],
    }[num_players]


class Table(GameTable):
    game = GAME

    @classmethod
    def lay_out(cls, *hands: str, seed: int = 0, options: dict | None = None, **more) -> Table:
        """A new game with these hands and what else ``lay`` takes."""
        return cls(len(hands), seed, **(options or {})).lay(*hands, **more)

    @classmethod
    def deal_out(cls, *hands: str, seed: int = 0, options: dict | None = None, **more) -> Table:
        """A new game with these hands and what else ``deal`` takes."""
        return cls(len(hands), seed, **(options or {})).deal(*hands, **more)

    @property
    def deck(self) -> Counter[str]:
        return DECK_OF_THREE if self.num_players == 3 else DECK

    def _begin_hand(self, hand_number: int, order, totals) -> None:
        """Make it the beginning of that hand, without any cards."""
        s = self.states[0]
        n = int(self.num_players)
        order = list(range(n)) if order is None else list(order)
        s["hand_number"] = hand_number
        for name in ("hand", "captured", "played_by", "given", "known"):
            s[name] = 0
        for name in ("hand_size", "place", "played", "trick", "has_passed", "is_senior"):
            s[name] = 0
        s["partner"] = s["alone"] = s["owner"] = s["asker"] = s["gift"] = NOBODY
        s["last_set"] = s["request"] = NO_LAY
        s["phase"] = TURN
        for rank, player in enumerate(order):
            s["rank"][player] = rank
            s["standing"][player] = n - rank if hand_number > 1 else 0
        s["totals"][:n] = totals or [0] * n
        if hand_number > 1 and n > 3 and s["partners"]:
            for senior, junior in pairs_of(n):
                s["partner"][order[senior]] = order[junior]
                s["partner"][order[junior]] = order[senior]
                s["is_senior"][order[senior]] = 1
            if n % 2:
                s["alone"] = order[n // 2]

    def deal(self, *hands: str, hand_number: int = 1, order=None, totals=None, **entries) -> Table:
        """Lay out the beginning of a hand, with the exchange before it where there is one.

        Args:
            hands: Cards of each player, filled up to what is dealt with cards that are not named.
            hand_number: From 1; partners are there from hand 2.
            order: The players by rank, the best first; else the seat order.
            totals: Of each player.
            entries: Entries of the record that are to be different.
        """
        s = self.states[0]
        n = len(hands)
        self._begin_hand(hand_number, order, totals)
        by_rank = sorted(range(n), key=lambda player: s["rank"][player])
        dealer = by_rank[0] if hand_number > 1 else n - 1
        named = Counter("".join(hands))
        assert not named - self.deck, "there are not that many cards of that kind"
        rest = list((self.deck - named).elements())
        for k, size in enumerate(DEALT[n]):
            player = (dealer + 1 + k) % n
            missing = size - len(hands[player])
            assert missing >= 0, "more cards than are dealt"
            hand = hands[player] + fill(rest, missing)
            s["hand"][player] = counts(hand)
            s["hand_size"][player] = size
        assert not rest
        s["current_player"] = by_rank[-1] if hand_number > 1 else 0
        if (s["partner"] != NOBODY).any():
            s["phase"] = EXCHANGE
            s["current_player"] = s["partner"][by_rank[0]]
        return self._set(entries)

    def lay(
        self,
        *hands: str,
        last: str = "",
        owner: int | None = None,
        trick: str = "",
        passed=(),
        player: int | None = None,
        captured: tuple[str, ...] = (),
        rest_to: int = 0,
        places: dict[int, int] | None = None,
        hand_number: int = 1,
        order=None,
        totals=None,
        gifts: dict[int, str] | None = None,
        **entries,
    ) -> Table:
        """Lay out a hand that has begun; all cards that are not named have been captured.

        Args:
            hands: All cards of each player.
            last: The last set; without it, the player to move leads.
            owner: Who played it.
            trick: The cards beneath it.
            passed: Who has passed since.
            player: Who is to move; else the next to the left of the owner with cards, or the
                first player with cards.
            captured: What each player has captured, besides ``rest_to``.
            rest_to: Who has captured the cards that are not named.
            places: Finishing places (from 1) of those without cards; else by their seats.
            hand_number: From 1; partners are there from hand 2.
            order: The players by rank, the best first; else the seat order.
            totals: Of each player.
            gifts: What players gave to their partners, or laid down (the one alone); those not
                named gave what the partner has had, and the one alone laid down what is left.
            entries: Entries of the record that are to be different.
        """
        s = self.states[0]
        n = len(hands)
        gifts = dict(gifts or {})
        self._begin_hand(hand_number, order, totals)
        named = "".join(hands) + last + trick + "".join(captured)
        alone = int(s["alone"])
        if alone != NOBODY:
            named += gifts.get(alone, "")
        assert not Counter(named) - self.deck, "there are not that many cards of that kind"
        rest = list((self.deck - Counter(named)).elements())
        if alone != NOBODY and alone not in gifts:
            gifts[alone] = fill(rest, 2)
        for seat, hand in enumerate(hands):
            s["hand"][seat] = counts(hand)
            s["hand_size"][seat] = len(hand)
        for seat, cards in enumerate(captured):
            s["captured"][seat] = counts(cards)
        s["captured"][rest_to] += counts(rest)
        played = last + trick + "".join(captured) + "".join(rest)
        for seat in range(n):
            s["played_by"][seat] = counts(in_order(played)[seat::n])
        if last:
            assert owner is not None
            s["last_set"] = put(last)
            s["owner"] = owner
            for kind, count in enumerate(counts(last)):
                self._let_play(owner, kind, count)
        s["trick"] = counts(last + trick)
        s["played"] = counts(played)
        for seat in passed:
            s["has_passed"][seat] = 1
        holding = [seat for seat in range(n) if hands[seat]]
        out = [seat for seat in range(n) if not hands[seat]]
        for seat, place in (places or {seat: k for k, seat in enumerate(out, 1)}).items():
            s["place"][seat] = place
        if player is None:
            first = 0 if owner is None else owner + 1
            player = min(holding, key=lambda seat: (seat - first) % n)
        s["current_player"] = player
        for seat in range(n):
            partner = int(s["partner"][seat])
            if partner != NOBODY:
                had = cards_of(s["played_by"][partner] + s["hand"][partner])
                for kind, count in enumerate(counts(gifts.get(seat, ""))):
                    self._let_play(partner, kind, count - int(s["hand"][partner, kind]))
                s["given"][seat] = counts(gifts.get(seat, had[:2]))
            elif seat == alone:
                s["given"][seat] = counts(gifts[seat])
        return self._set(entries)

    def _let_play(self, player: int, kind: int, count: int) -> None:
        """Have the player, not another one, have played at least that many of the kind."""
        played_by = self.states[0]["played_by"]
        for other in range(int(self.num_players)):
            while other != player and played_by[player, kind] < count and played_by[other, kind]:
                played_by[other, kind] -= 1
                played_by[player, kind] += 1

    def hand_of(self, player: int) -> str:
        return cards_of(self.hand[player])

    @property
    def hands(self) -> list[str]:
        return [self.hand_of(player) for player in range(self.num_players)]

    @property
    def captures(self) -> list[str]:
        """The cards that each player has captured."""
        return [cards_of(self.captured[player]) for player in range(self.num_players)]

    @property
    def on_table(self) -> str:
        """The cards of the trick."""
        return cards_of(self.trick)

    @property
    def order(self) -> list[int]:
        """The players by rank, the best first."""
        return sorted(range(self.num_players), key=lambda player: self.rank[player])


def fill(rest: list[str], number: int) -> str:
    """Some of the cards that are left, taken evenly from all kinds."""
    places = [k * len(rest) // number for k in range(number)]
    return "".join(rest.pop(place) for place in reversed(places))
