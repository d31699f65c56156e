"""Animalia in words: its cards, and whose collection is which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from card_envs.games.animalia.cards import (
    ANIMAL_NAMES,
    MEMBER_NAMES,
    NUM_CARDS,
    NUM_MEMBERS,
    OWL,
)
from card_envs.games.animalia.state import collections_each, first_collection, owner_of


def card_name(card: int) -> str:
    """E.g. ``champion cat``."""
    if card == OWL:
        return "owl"
    family, member = divmod(int(card), NUM_MEMBERS)
    return f"{MEMBER_NAMES[member]} {ANIMAL_NAMES[family]}"


def each_card(cards: int) -> Iterator[int]:
    """The cards of a set."""
    return (card for card in range(NUM_CARDS) if cards >> card & 1)


def card_names(cards: int) -> str:
    """A set of cards one by one, e.g. ``champion cat, owl``."""
    return ", ".join(map(card_name, each_card(cards)))


def collection_number(s: Any, place: int) -> int:
    """AN-18: the number of a collection among its owner's two; 0 where everybody has only one."""
    if collections_each(s) == 1:
        return 0
    return int(1 + place - first_collection(s, owner_of(s, place)))
