"""Swim for Your Life in words: sets of cards."""

from __future__ import annotations

from collections.abc import Sequence

from card_envs.contract import listed
from card_envs.games.swim_for_your_life.cards import ANIMAL_NAMES

PLURALS = tuple({"sheep": "sheep", "mouse": "mice"}.get(name, f"{name}s") for name in ANIMAL_NAMES)


def in_words(counts: Sequence[int]) -> str:
    """A number of cards of each animal, e.g. ``2 bears, 1 mole``."""
    return listed(counts, ANIMAL_NAMES, PLURALS)
