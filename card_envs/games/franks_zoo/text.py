"""Frank's Zoo in words: cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract import listed
from card_envs.games.franks_zoo.cards import ANIMAL_NAMES

#: The kinds in words, one card and several.
KIND_NAMES = (*ANIMAL_NAMES, "joker")
_UNUSUAL_PLURALS = {
    "fish": "fish",
    "fox": "foxes",
    "mosquito": "mosquitoes",
    "mouse": "mice",
    "perch": "perches",
}
PLURALS = tuple(_UNUSUAL_PLURALS.get(name, f"{name}s") for name in KIND_NAMES)


def in_words(counts: Sequence[int] | NDArray[np.integer[Any]]) -> str:
    """Cards of each kind, e.g. ``2 elephants, 1 joker``."""
    return listed(counts, KIND_NAMES, PLURALS)
