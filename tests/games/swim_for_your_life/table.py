"""A table of Swim for Your Life laid out by hand, to be played on through the kernels.

Cards are written as one character each: Giraffe, Bear, moLe, gOat, Sheep, Dog, Hare, Pig, Cat,
Mouse.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

from helpers import check_invariants
from table import GameTable

from card_envs.games import load_game
from card_envs.games.swim_for_your_life import state

GAME = load_game("swim_for_your_life")
SIGNS = "GBLOSDHPCM"
DECK = Counter(dict(zip(SIGNS, (9, 8, 7, 7, 6, 6, 5, 5, 4, 3), strict=True)))
VALUES = dict(zip(SIGNS, (9, 8, 7, 7, 6, 6, 5, 5, 4, 3), strict=True))
TAP = 1000
#: What each action but the tap lays down: a row of the same size is taken for it.
EXCHANGES = [
    "".join(cards) for k in (1, 2, 3, 4) for cards in combinations_with_replacement(SIGNS, k)
]


def in_order(cards) -> str:
    """Cards by their animals, giraffes first."""
    return "".join(sorted(cards, key=SIGNS.index))


def exchange(cards: str) -> int:
    """The action of laying down these cards."""
    return EXCHANGES.index(in_order(cards))


def counts(cards) -> list[int]:
    """How many of each animal there are, as the record keeps it."""
    found = Counter(cards)
    return [found[sign] for sign in SIGNS]


def cards_of(animals) -> str:
    """The cards of such counts, in order."""
    return "".join(sign * int(count) for sign, count in zip(SIGNS, animals, strict=True))


class Table(GameTable):
    game = GAME

    @classmethod
    def lay_out(
        cls, *hands: str | None, seed: int = 0, options: dict | None = None, **more
    ) -> Table:
        """A new game with these hands and what else ``lay`` takes."""
        return cls(len(hands), seed, **(options or {})).lay(*hands, **more)

    def lay(self, *hands: str | None, rows: tuple[str, ...] = ("",) * 4, **fields) -> Table:
        """Lay out a round that nobody has had a turn in.

        Args:
            hands: Cards of each player, filled up to ten with cards that are not named; None for
                a player who is out of the game.
            rows: Cards of each row; those left empty are filled in the same way.
            fields: Entries of the record that are to be different.
        """
        s = self.states[0]
        here = [player for player, hand in enumerate(hands) if hand is not None]
        if None in hands:
            fields.setdefault("round", max(1, s["round"]))
        fields.setdefault("starter", s["starter"] if s["starter"] in here else here[0])
        fields.setdefault("current_player", fields["starter"])
        named = "".join(hand or "" for hand in hands) + "".join(rows)
        assert not Counter(named) - DECK, "there are fewer cards of that animal"
        rest = list((DECK - Counter(named)).elements())
        for player, hand in enumerate(hands):
            if hand is None:
                if s["lives"][player] > 0:
                    s["standing"][player] = 0
                s["lives"][player] = 0
                s["hand"][player] = 0
        for player, hand in enumerate(hands):
            if hand is not None:
                s["hand"][player] = counts(hand + fill(rest, 10 - len(hand)))
        for k, row in enumerate(rows):
            s["row"][k] = counts(row or fill(rest, k + 1))
        s["left_over"] = counts(rest)
        s["least"] = 0
        s["most"] = [DECK[sign] for sign in "HPC"]
        s["last_action"] = state.NO_ACTION
        s["has_exchanged"] = 0
        s["tapper"] = -1
        for name, value in fields.items():
            if s[name].shape:
                s[name][: len(value)] = value
            else:
                s[name] = value
        is_in = s["lives"] > 0
        s["standing"][is_in] = state.IN_GAME + s["lives"][is_in].astype(int)
        check_invariants(GAME, self.states)
        return self

    def last_turn(self, *hands: str | None, tapper: int = 0, **more) -> Table:
        """Lay out the last turn of a round: of the player to the right of the one who tapped."""
        here = [player for player, hand in enumerate(hands) if hand is not None]
        return self.lay(
            *hands,
            tapper=tapper,
            current_player=here[here.index(tapper) - 1],
            has_exchanged=[int(hand is not None) for hand in hands],
            **more,
        )

    def hand_of(self, player: int) -> str:
        return cards_of(self.hand[player])

    @property
    def hands(self) -> list[str]:
        return [self.hand_of(player) for player in range(self.num_players)]

    @property
    def rows(self) -> list[str]:
        return [cards_of(row) for row in self.row]

    @property
    def rest(self) -> str:
        """The cards that are out of the round."""
        return cards_of(self.left_over)

    @property
    def players_in(self) -> list[int]:
        return [player for player in range(self.num_players) if self.lives[player] > 0]


def fill(rest: list[str], number: int) -> str:
    """That many of the cards left, taken evenly: no set of sudden death comes together."""
    places = [k * len(rest) // number for k in range(number)]
    return "".join(rest.pop(place) for place in reversed(places))
