"""What the actions of Animalia consist of, for networks whose logits are sums over features."""

from __future__ import annotations

import numpy as np

from card_envs.games.animalia.cards import NUM_CARDS, NUM_FAMILIES, NUM_MEMBERS, OWL
from card_envs.games.animalia.state import CARD, NUM_ACTIONS, RECEIVER

# The features: each action that is no card by itself; then the card's family and its member, or
# that it is the owl; then each card by itself.
_FAMILY = NUM_ACTIONS - NUM_CARDS
_MEMBER = _FAMILY + NUM_FAMILIES + 1
_CARD = _MEMBER + NUM_MEMBERS
_NUM_FEATURES = _CARD + NUM_CARDS

#: float32 (49, 62): the features of each action, 0 or 1.
ACTION_FEATURES = np.zeros((NUM_ACTIONS, _NUM_FEATURES), np.float32)
for _feature, _action in enumerate((*range(CARD), *range(RECEIVER, NUM_ACTIONS))):
    ACTION_FEATURES[_action, _feature] = 1.0
for _card in range(NUM_CARDS):
    _family, _member = divmod(_card, NUM_MEMBERS)
    ACTION_FEATURES[CARD + _card, _FAMILY + _family] = 1.0
    if _card != OWL:
        ACTION_FEATURES[CARD + _card, _MEMBER + _member] = 1.0
    ACTION_FEATURES[CARD + _card, _CARD + _card] = 1.0
