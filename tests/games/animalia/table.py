"""A table of Animalia laid out by hand, to be played on through the kernels.

Cards are written in words, as "dog thief" or "owl", several of them with commas between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from table import GameTable

from card_envs.games import load_game

GAME = load_game("animalia")
ANIMALS = ("cat", "horse", "dog", "rabbit", "parrot")
FAMILIES = ("cats", "horses", "dogs", "rabbits", "parrots")
MEMBERS = ("champion", "elegant", "cute", "lousy", "thief", "spy", "prankster")
#: AN-1: all cards, by their numbers.
CARDS = (*(f"{animal} {member}" for animal in ANIMALS for member in MEMBERS), "owl")
NUMBERS = {name: number for number, name in enumerate(CARDS)}
FULL = 5
LOT, STEAL, GIVE, RECEIVE, BRING_IN, TAKE_OUT, OWL_FAMILY = range(7)
NOBODY = NO_CARD = NO_COLLECTION = NO_FAMILY = -1
#: Written last in a collection: it is filled up with animals without stars and spots.
AND_MORE = "..."

PASS = 0


def take(number: int = 1) -> int:
    """The action of taking the lot into one's collection 1 or 2."""
    return number


def card(name: str) -> int:
    """The action of choosing this card."""
    return 3 + NUMBERS[name]


def to(number: int) -> int:
    """The action of giving to the collection this many places to the left, from 1; of two players,
    to the opponent's collection 1 or 2."""
    return 38 + number


def family(name: str) -> int:
    """The action of naming this family for the owl."""
    return 44 + FAMILIES.index(name)


#: What each action is called in ``Table.choices``.
WORDS = (
    "pass",
    "take 1",
    "take 2",
    *CARDS,
    *(f"to {number}" for number in range(1, 6)),
    *(f"name {name}" for name in FAMILIES),
)


def split(text: str) -> list[str]:
    """The cards in a text, as they stand."""
    return [name.strip() for name in text.split(",")] if text else []


def bits(text: str | Iterable[str]) -> int:
    """The set of these cards, as the record keeps it."""
    names = split(text) if isinstance(text, str) else text
    return sum(1 << NUMBERS[name] for name in names)


def text_of(cards: int) -> str:
    """The cards of a set, in order."""
    cards = int(cards)
    return ", ".join(name for number, name in enumerate(CARDS) if cards >> number & 1)


def in_order(text: str) -> str:
    """The same cards in order."""
    return text_of(bits(text))


def cards_in_play(num_players: int) -> list[str]:
    """AN-2."""
    return [name for name in CARDS if num_players > 4 or not name.endswith("cute")]


def points_of(medals: Sequence[int], num_players: int) -> int:
    """AN-19: medals and excellence."""
    return sum(medals) + 5 * sum(number // (7 if num_players == 2 else 5) for number in medals)


class Table(GameTable):
    game = GAME

    @classmethod
    def lay_out(cls, *collections, seed: int = 0, options: dict | None = None, **more) -> Table:
        """A new game with these collections and what else ``lay`` takes."""
        table = cls(len(collections), seed, **(options or {}))
        return table.lay(*collections, **more)

    def lay(
        self,
        *collections: str | tuple[str, str],
        lot: str = "",
        pile: str = "",
        phase: int | None = None,
        dealer: int = 0,
        player: int | None = None,
        must_take: bool | None = None,
        taken_into: int = NO_COLLECTION,
        may_give: bool | None = None,
        chosen: str = "",
        kept: dict[int, str] | None = None,
        bonus: dict[int, str] | None = None,
        replaced: str = "",
        since: dict[str, int] | None = None,
        seen: dict[int, str] | None = None,
        shown: str = "",
        left_over: dict[int, str] | None = None,
        season: int | None = None,
        medals: Sequence[Sequence[int]] = (),
        owl_family: str = "",
        **entries,
    ) -> Table:
        """Lay out a position of a season.

        Args:
            collections: Of each player; of two players each has a pair of them. One that ends
                with "..." is filled up to five with animals that have neither stars nor spots.
            lot: In the order in which they were turned up.
            pile: The next cards of the draw pile; those that are named nowhere follow.
            phase: Else it is about the lot if there is one, about the bonus cards if there is none.
            dealer: Whose turn it is.
            player: Who is to move; else the dealer, the owner of ``taken_into`` or of the owl, or
                the next season's dealer, as the phase says.
            must_take: With a lot; else only if a single player is left.
            taken_into: The collection that triggered a power, by its number in the record.
            may_give: Whether a prankster is triggered; else if a gift is being chosen.
            chosen: The card to be given or brought in.
            kept: Bonus cards of players that they have from an earlier season.
            bonus: Bonus cards of players that they have won in this season.
            replaced: Cards that bonus cards have replaced.
            since: The seasons in which kept cards were drawn; else the one before this season.
            seen: The hidden cards that the spies of players have seen.
            shown: The cards that lay open at the end of the season before.
            left_over: The cards that the spies of players saw and that were never drawn in it.
            season: From 1; else 2 if cards have been kept, and 1 if not.
            medals: Of each player, of each family, before this season.
            owl_family: What the owl was named at the end of the season before.
            entries: Entries of the record that are to be different.
        """
        s = self.states[0]
        n = len(collections)
        assert n == s["num_players"]
        kept, bonus, seen = kept or {}, bonus or {}, seen or {}
        rows = [split(text) for own in collections for text in ((own,) if n > 2 else own)]
        named = [name for row in rows for name in row if name != AND_MORE]
        named += split(lot) + split(pile) + split(replaced)
        named += [name for held in (kept, bonus) for text in held.values() for name in split(text)]
        in_play = cards_in_play(n)
        assert len(set(named)) == len(named), "a card is there twice"
        assert set(named) <= set(in_play), "there is no such card"
        rest = [name for name in in_play if name not in named]
        for row in rows:
            if AND_MORE in row:
                row[row.index(AND_MORE) :] = take_plain_ones(rest, FULL + 1 - len(row))
        self._clear()
        for place, row in enumerate(rows):
            s["collection"][place] = bits(row)
        s["lot"] = bits(lot)
        s["replaced"] = bits(replaced)
        drawn = [name for row in rows for name in row] + split(lot) + split(replaced)
        s["season"] = season or (2 if kept else 1)
        self._place(drawn, bonus, split(pile) + rest, kept, since or {})
        for spy_owner, text in seen.items():
            for name in split(text):
                s["seen"][s["deck"].tolist().index(NUMBERS[name])] |= 1 << spy_owner
        for name in split(shown):
            s["shown"][NUMBERS[name]] = s["season"] - 1
        for spy_owner, text in (left_over or {}).items():
            for name in split(text):
                s["left_over"][spy_owner, NUMBERS[name]] = s["season"] - 1
        if phase is None:
            phase = LOT if lot else BRING_IN
        is_power = phase in (STEAL, GIVE, RECEIVE)
        s["phase"] = phase
        s["dealer"] = dealer
        if player is None:
            if phase == LOT:
                player = dealer
            elif is_power:
                player = taken_into * n // len(rows)
            elif phase == OWL_FAMILY:
                player = next(k for k, row in enumerate(rows) if "owl" in row) * n // len(rows)
            else:
                player = (dealer + 1) % n
        s["current_player"] = player
        if must_take is None:
            each = len(rows) // n
            incomplete = {k // each for k, row in enumerate(rows) if len(row) < FULL}
            must_take = phase == LOT and len(incomplete) == 1
        s["must_take"] = must_take
        s["taken_into"] = taken_into
        s["may_give"] = phase in (GIVE, RECEIVE) if may_give is None else may_give
        s["chosen"] = NUMBERS[chosen] if chosen else NO_CARD
        s["owl_family"] = FAMILIES.index(owl_family) if owl_family else NO_FAMILY
        for seat, row in enumerate(medals):
            s["medals"][seat] = row
            s["standing"][seat] = 1000 * points_of(row, n) + max(row)
        return self._set(entries)

    def _clear(self) -> None:
        s = self.states[0]
        for name in ("collection", "bonus", "since", "seen", "shown", "left_over"):
            s[name] = 0
        for name in ("medals", "season_medals", "season_points", "standing"):
            s[name] = 0
        s["deck"] = NO_CARD
        s["holder"] = NOBODY

    def _place(self, drawn, bonus, pile, kept, since) -> None:
        """The deck: what has been drawn, the bonus cards last; the pile; what was kept."""
        s = self.states[0]
        places = [(name, NOBODY) for name in drawn]
        places += [(name, seat) for seat, text in bonus.items() for name in split(text)]
        s["drawn"] = len(places)
        places += [(name, NOBODY) for name in pile]
        s["deck_size"] = len(places)
        places += [(name, seat) for seat, text in kept.items() for name in split(text)]
        for place, (name, seat) in enumerate(places):
            s["deck"][place] = NUMBERS[name]
            s["holder"][place] = seat
            if seat != NOBODY:
                is_kept = place >= s["deck_size"]
                s["since"][place] = since.get(name, s["season"] - 1) if is_kept else s["season"]
                s["bonus"][seat] |= 1 << NUMBERS[name]

    # What is there, in words

    @property
    def choices(self) -> list[str]:
        """The legal actions."""
        return [WORDS[action] for action in self.legal()]

    @property
    def num_collections(self) -> int:
        return 4 if self.num_players == 2 else int(self.num_players)

    @property
    def collections(self) -> list[str]:
        """All collections, the cards of each in order."""
        return [text_of(cards) for cards in self.collection[: self.num_collections]]

    @property
    def sizes(self) -> list[int]:
        return [len(split(cards)) for cards in self.collections]

    @property
    def lot_cards(self) -> str:
        """The lot, in order."""
        return text_of(self.lot)

    @property
    def replaced_cards(self) -> str:
        """The replaced cards, in order."""
        return text_of(self.replaced)

    @property
    def bonus_cards(self) -> list[str]:
        """The bonus cards of each player, in order."""
        return [text_of(cards) for cards in self.bonus[: self.num_players]]

    @property
    def pile(self) -> list[str]:
        """The draw pile, the next card first."""
        return [CARDS[number] for number in self.deck[self.drawn : self.deck_size]]

    def seen_by(self, player: int) -> list[str]:
        """The cards in the draw pile, from its top, and then the bonus cards that the player's
        spies have seen."""
        pile = range(self.drawn, self.deck_size)
        held = [place for place in range(len(self.deck)) if self.holder[place] != NOBODY]
        return [
            CARDS[self.deck[place]] for place in (*pile, *held) if self.seen[place] >> player & 1
        ]


def take_plain_ones(rest: list[str], number: int) -> list[str]:
    """This number of cards with neither stars nor spots, taken out of those left, in order."""
    plain = [name for name in rest if name.endswith(("cute", "thief", "spy", "prankster"))]
    assert len(plain) >= number, "too few animals without stars and spots are left"
    for name in plain[:number]:
        rest.remove(name)
    return plain[:number]
