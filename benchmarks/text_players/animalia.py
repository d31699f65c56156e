"""Animalia from its table in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from benchmarks.text_players.reading import TableInWords, Zone, number
from card_envs.games.animalia.cards import ANIMAL_NAMES, FAMILY_NAMES, NUM_CARDS, cards_in_play
from card_envs.games.animalia.state import (
    BRING_IN,
    GIVE,
    LOT,
    NO_CARD,
    NO_COLLECTION,
    NO_FAMILY,
    NOBODY,
    OWL_FAMILY,
    RECEIVE,
    STEAL,
    TAKE_OUT,
    TIE_BREAK,
)
from card_envs.games.animalia.text import card_name

_CARDS = {card_name(card): card for card in range(NUM_CARDS)}
_PHASES = (
    ("take the lot", LOT),
    ("use the power of a thief", STEAL),
    ("use the power of a prankster", GIVE),
    ("choose who gets", RECEIVE),
    ("name the family", OWL_FAMILY),
    ("take out a card", TAKE_OUT),
    ("bring in a bonus card", BRING_IN),
)


def fill(s: Any, table: TableInWords) -> None:
    """Fill a blank record in."""
    prompt = table.prompt
    s["season"], s["seasons"] = map(int, re.findall(r"season (\d+) of (\d+)", table.title)[0])
    s["phase"] = next(phase for words, phase in _PHASES if words in prompt)
    s["must_take"] = s["phase"] == LOT and "or pass" not in prompt
    s["may_give"] = s["phase"] in (GIVE, RECEIVE) or "prankster follows" in prompt
    s["taken_into"], s["chosen"], s["owl_family"] = NO_COLLECTION, NO_CARD, NO_FAMILY
    chosen = re.search(r"(?:choose who gets|take out a card for) the (.+?)(?: of |\.$)", prompt)
    if chosen:
        s["chosen"] = _CARDS[chosen[1]]
    dealer = table.find(r"^(You are|Player \d is) the (?:last )?dealer")
    assert dealer is not None
    s["dealer"] = table.player(dealer[1])
    each = 2 if len(table.seats) == 2 else 1
    s["holder"] = [NOBODY] * NUM_CARDS
    for seat in table.seats:
        q = seat.player
        s["medals"][q] = [int(seat.cells[name]) for name in FAMILY_NAMES]
        s["standing"][q] = TIE_BREAK * int(seat.cells["points"]) + int(s["medals"][q].max())
        for k in range(each):
            name = f"collection {k + 1}" if each == 2 else "collection"
            s["collection"][each * q + k] = _set(table.zone(q, name))
    own = re.search(r"your collection ?(\d?)(?:,|\.|$)", prompt)
    if s["phase"] in (STEAL, GIVE, RECEIVE):
        assert own is not None
        s["taken_into"] = each * table.me + int(own[1] or 1) - 1
    _fill_deck(s, table)
    _fill_last_season(s, table)


def _named(zone: Zone) -> list[tuple[int, list[int]]]:
    """The cards of a zone one by one (-1: face down), and whose spies have seen them."""
    cards = []
    for text in zone.cards:
        words, *spies = text.split("^")
        match = re.match(r"(\d+) face-down", words)
        cards += [(_CARDS.get(words, -1), [int(spy) for spy in spies])] * int(
            match[1] if match else 1
        )
    return cards


def _set(zone: Zone) -> int:
    return _bits(card for card, _ in _named(zone) if card >= 0)


def _bits(cards: Iterable[int]) -> int:
    return sum(1 << card for card in cards)


def _fill_deck(s: Any, table: TableInWords) -> None:
    """The deck: what has been drawn, the draw pile, and bonus cards; hidden ones as they can be."""
    lot = _named(table.zones.get("Lot", Zone([])))
    pile = _named(table.zones["Draw pile"])
    s["lot"] = _bits(card for card, _ in lot)
    s["replaced"] = _set(table.zones.get("Replaced cards", Zone([])))
    bonus: list[tuple[int, int, int, list[int]]] = []
    for name, zone in table.zones.items():
        match = re.match(r"(Your|Player \d's) bonus cards(?: from season (\d+))?$", name)
        if match:
            since = int(match[2] or s["season"])
            bonus += [(table.player(match[1]), since, *card) for card in _named(zone)]
    open_cards = int(s["lot"]) | int(s["replaced"])
    for cards in s["collection"].tolist():
        open_cards |= cards
    located = open_cards | _bits(card for card, _ in pile if card >= 0)
    located |= _bits(card for _, _, card, _ in bonus if card >= 0)
    in_play = int(cards_in_play(len(table.seats)))
    unseen = [card for card in range(NUM_CARDS) if in_play & ~located & 1 << card]
    now = [entry for entry in bonus if entry[1] == s["season"]]
    kept = [entry for entry in bonus if entry[1] != s["season"]]
    dealt = [card for card in range(NUM_CARDS) if (open_cards & ~int(s["lot"])) >> card & 1]
    entries: list[tuple[int, int, int, list[int]]] = [(NOBODY, 0, card, []) for card in dealt]
    entries += [*now, *((NOBODY, 0, card, []) for card, _ in lot)]
    s["drawn"] = len(entries)
    entries += [(NOBODY, 0, *card) for card in pile]
    s["deck_size"] = len(entries)
    entries += kept
    for place, (holder, since, card, spies) in enumerate(entries):
        s["deck"][place] = unseen.pop(0) if card < 0 else card
        s["holder"][place], s["since"][place], s["seen"][place] = holder, since, _bits(spies)
        if holder != NOBODY:
            s["bonus"][holder] |= 1 << int(s["deck"][place])


def _fill_last_season(s: Any, table: TableInWords) -> None:
    for grid in table.grids:
        match = re.match(r"The medals of season \d+(?:, with the owl as a (.+))?", grid.title)
        if match:
            if match[1]:
                s["owl_family"] = ANIMAL_NAMES.index(match[1])
            for label, cells in grid.rows.items():
                *medals, points = [number(cell) for cell in cells]
                s["season_medals"][table.player(label)] = medals[: len(FAMILY_NAMES)]
                s["season_points"][table.player(label)] = points
