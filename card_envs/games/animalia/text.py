"""Animalia in words: its actions, its cards, and whose collection is which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.games.animalia.cards import (
    ANIMAL_NAMES,
    FAMILY_NAMES,
    MEMBER_NAMES,
    NUM_CARDS,
    NUM_MEMBERS,
    OWL,
)
from card_envs.games.animalia.state import (
    BRING_IN,
    CARD,
    GIVE,
    LOT,
    NAME,
    NUM_ACTIONS,
    OWL_FAMILY,
    PASS,
    RECEIVE,
    RECEIVER,
    STEAL,
    TAKE,
    TAKE_OUT,
    collections_each,
    first_collection,
    num_collections,
    owner_of,
    receiver,
)

# ---------------------------------------------------------------------------------------------
# Actions
# ---------------------------------------------------------------------------------------------


def action_name(action: int) -> str:
    """An action in words; ValueError if there is none of that number."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action == PASS:
        return "pass"
    if action < CARD:
        return f"take the lot into collection {action - TAKE + 1}"
    if action < RECEIVER:
        return f"card: {card_name(action - CARD)}"
    if action < NAME:
        return f"give it to collection {action - RECEIVER + 1} to the left"
    return f"the owl counts as: {FAMILY_NAMES[action - NAME]}"


def public_action_name(states: NDArray[np.void], i: int, action: int) -> str:
    """What the player to move does, as the others learn it: AN-17, which bonus card is brought in
    only when it has replaced another card."""
    s = states[i]
    phase = s["phase"]
    if phase == LOT:
        if action == PASS:
            return f"pass on {card_names(s['lot'])}"
        where = f" into collection {action - TAKE + 1}" if collections_each(s) > 1 else ""
        return f"take {card_names(s['lot'])}{where}"
    if phase == BRING_IN:
        return "exchange no more cards" if action == PASS else "bring in a bonus card"
    if phase == TAKE_OUT:
        return f"take out the {card_name(action - CARD)} for the {card_name(s['chosen'])}"
    if phase == OWL_FAMILY:
        return action_name(action)
    if phase == RECEIVE:
        place = receiver(s, int(s["current_player"]), action - RECEIVER)
        return f"to {_collection(s, place)}"
    if action == PASS:
        return "steal nothing" if phase == STEAL else "give nothing away"
    if phase == GIVE:
        return f"give away the {card_name(action - CARD)}"
    (place,) = (p for p in range(num_collections(s)) if s["collection"][p] >> action - CARD & 1)
    return f"steal the {card_name(action - CARD)} of {_collection(s, place)}"


def _collection(s: Any, place: int) -> str:
    """A collection with its owner, e.g. ``collection 2 of player 1``."""
    number, owner = collection_number(s, place), f"player {owner_of(s, place)}"
    return f"collection {number} of {owner}" if number else owner


# ---------------------------------------------------------------------------------------------
# Cards and collections
# ---------------------------------------------------------------------------------------------


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
