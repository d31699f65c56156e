"""What a player of Animalia can do, and what the others learn of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract import ORDINALS, Action, Actions, Parameter, Target
from card_envs.games.animalia.cards import FAMILY_NAMES, NUM_CARDS, NUM_FAMILIES, NUM_MEMBERS, OWL
from card_envs.games.animalia.state import (
    BRING_IN,
    GIVE,
    LOT,
    MAX_RECEIVERS,
    OWL_FAMILY,
    RECEIVE,
    STEAL,
    TAKE_OUT,
    collections_each,
    owner_of,
    place_of,
    receiver,
)
from card_envs.games.animalia.text import card_name, card_names, collection_number


def _card_features() -> NDArray[np.float32]:
    """A card's family, or that it is the owl; its member, if it has one; and the card itself."""
    family, member = np.divmod(np.arange(NUM_CARDS), NUM_MEMBERS)
    members = np.eye(NUM_MEMBERS, dtype=np.float32)[member]
    members[OWL] = 0.0
    families = np.eye(NUM_FAMILIES + 1, dtype=np.float32)[family]
    return np.hstack([families, members, np.eye(NUM_CARDS, dtype=np.float32)])


CARDS = Parameter([card_name(card) for card in range(NUM_CARDS)], features=_card_features())
RECEIVERS = Parameter(
    range(1, MAX_RECEIVERS + 1),
    [f"the {nth} collection to the left" for nth in ORDINALS[:MAX_RECEIVERS]],
)

ACTIONS = Actions(
    Action("pass", "pass"),
    Action(
        "take",
        "take the lot into collection {collection}",
        collection=range(1, 3),
        points=(Target("lot"), Target(seat=0, value_of="collection")),
    ),
    Action("card", "card: {card}", card=CARDS, features=("card",), points=(Target(cards="card"),)),
    Action(
        "give",
        "give it to {receiver}",
        receiver=RECEIVERS,
        points=(Target(value_of="receiver"),),
    ),
    Action("owl", "the owl counts as: {family}", family=FAMILY_NAMES),
)
ACT = ACTIONS.offsets()


def public_action_name(states: NDArray[np.void], i: int, action: int) -> str:
    """What the player to move does, as the others learn it: AN-17, which bonus card is brought in
    only when it has replaced another card."""
    s = states[i]
    phase = s["phase"]
    if phase == LOT:
        if action == ACT.pass_:
            return f"pass on {card_names(s['lot'])}"
        where = f" into collection {action - ACT.take + 1}" if collections_each(s) > 1 else ""
        return f"take {card_names(s['lot'])}{where}"
    if phase == BRING_IN:
        return "exchange no more cards" if action == ACT.pass_ else "bring in a bonus card"
    if phase == TAKE_OUT:
        return f"take out the {card_name(action - ACT.card)} for the {card_name(s['chosen'])}"
    if phase == OWL_FAMILY:
        return ACTIONS.name(action)
    if phase == RECEIVE:
        place = receiver(s, int(s["current_player"]), action - ACT.give)
        return f"to {_collection(s, place)}"
    if action == ACT.pass_:
        return "steal nothing" if phase == STEAL else "give nothing away"
    if phase == GIVE:
        return f"give away the {card_name(action - ACT.card)}"
    card = action - ACT.card
    return f"steal the {card_name(card)} of {_collection(s, place_of(s, card))}"


def _collection(s: Any, place: int) -> str:
    """A collection with its owner, e.g. ``collection 2 of player 1``."""
    number, owner = collection_number(s, place), f"player {owner_of(s, place)}"
    return f"collection {number} of {owner}" if number else owner
