"""A table of Beaver Gang laid out by hand, to be played on through the kernels.

Cards are written as one character each: the numbers as digits, S swap, P peek, D draw two.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from helpers import check_invariants
from table import GameTable

from card_envs.games import load_game

GAME = load_game("beaver_gang")
SIGNS = "0123456789SPD"
DECK = Counter("012345678" * 4 + "9" * 9 + "S" * 9 + "P" * 7 + "D" * 5)
PHASES = ("turn", "drawn", "knock", "over")
NO_CARD = -1


def kinds(cards: str) -> list[int]:
    return [SIGNS.index(sign) for sign in cards]


def signs(cards) -> str:
    return "".join(SIGNS[card] for card in cards)


def places(*owners_and_slots: tuple[int, int]) -> int:
    """A set of places, as the record keeps it."""
    return sum(1 << 4 * owner + slot for owner, slot in owners_and_slots)


class Table(GameTable):
    game = GAME

    @classmethod
    def lay_out(
        cls,
        *rows: str,
        draw: str = "",
        discard: str = "",
        rest_is_discarded: bool = False,
        seed: int = 0,
        options: dict | None = None,
        known: dict[int, int] | None = None,
        **fields,
    ) -> Table:
        """A table with these rows, one for each player.

        Args:
            rows: Four cards for each player.
            draw: Cards on top of the draw pile, from the top.
            discard: Cards on top of the discard pile; the last one is the top.
            rest_is_discarded: Whether the cards not named lie under the discard pile; else they
                lie under the draw pile.
            seed: Seed of the game, and so of its reshuffles.
            options: The game's options.
            known: Places known, by player; without it, what BG-6 shows.
            fields: Entries of the record that are to be different.
        """
        table = cls(len(rows), seed, **(options or {}))
        s = table.states[0]
        drawn = fields.get("drawn", "")
        fields["drawn"] = SIGNS.index(drawn) if drawn else NO_CARD
        named = "".join(rows) + draw + discard + drawn + "D" * fields.get("draw_twos", 0)
        assert not Counter(named) - DECK, "there are not that many cards of that kind"
        rest = "".join((DECK - Counter(named)).elements())
        if rest_is_discarded:
            discard = rest + discard
        else:
            draw += rest
        for player, row in enumerate(rows):
            s["row"][player] = kinds(row)
        s["draw_pile"][: len(draw)] = kinds(draw[::-1])
        s["draw_size"] = len(draw)
        s["discard_counts"] = [discard.count(sign) for sign in SIGNS]
        s["discard_size"] = len(discard)
        s["discard_top"] = SIGNS.index(discard[-1]) if discard else NO_CARD
        for name, value in fields.items():
            s[name] = value
        for player, known_places in (known or {}).items():
            s["known"][player] = known_places
            s["in_view"][player] &= known_places
        s["standing"] = -s["scores"]
        check_invariants(GAME, table.states)
        return table

    def row_of(self, player: int) -> str:
        return signs(self.row[player])

    @property
    def phase_name(self) -> str:
        return PHASES[self.phase]

    @property
    def top(self) -> str:
        """The top discard; empty if there is no discard pile."""
        return "" if self.discard_top == NO_CARD else SIGNS[self.discard_top]

    @property
    def in_hand(self) -> str:
        """The card that the player to move has drawn."""
        return "" if self.drawn == NO_CARD else SIGNS[self.drawn]

    @property
    def discards(self) -> Counter[str]:
        return Counter(dict(zip(SIGNS, self.discard_counts.tolist(), strict=True)))

    @property
    def draws(self) -> str:
        """The draw pile from its top."""
        return signs(self.draw_pile[: self.draw_size][::-1])

    def knows(self, player: int) -> set[tuple[int, int]]:
        """The places (owner, slot) of the cards that the player knows."""
        known = int(self.known[player])
        return {divmod(place, 4) for place in range(24) if known >> place & 1}


def swap(slot: int, places_to_the_left: int, other_slot: int) -> int:
    """The action of a swap."""
    return 10 + 20 * slot + 4 * (places_to_the_left - 1) + other_slot


def shown(observation: dict[str, np.ndarray], seat: int, slot: int) -> str:
    """What the field ``rows`` shows of a card: its sign, or ``?``."""
    is_known, value, is_special, kind = observation["rows"][seat, slot]
    if not is_known:
        assert value == is_special == kind == 0
        return "?"
    return "SPD"[round(2 * kind)] if is_special else str(round(9 * value))
