"""What the actions of Beaver Gang consist of, for networks whose logits are sums over features."""

from __future__ import annotations

import numpy as np

from card_envs.games.beaver_gang.state import MAX_PLAYERS, NUM_ACTIONS, PEEK_AT, SLOTS, SWAP_CARD

_TARGETS = SLOTS * (MAX_PLAYERS - 1)

#: float32 (97, 41): a swap consists of an own slot and another player's card, every other action
#: has a feature of its own.
ACTION_FEATURES = np.zeros(
    (NUM_ACTIONS, NUM_ACTIONS - SLOTS * _TARGETS + SLOTS + _TARGETS), np.float32
)
ACTION_FEATURES[:SWAP_CARD, :SWAP_CARD] = np.eye(SWAP_CARD)
_others = NUM_ACTIONS - PEEK_AT
ACTION_FEATURES[PEEK_AT:, SWAP_CARD : SWAP_CARD + _others] = np.eye(_others)
for _slot in range(SLOTS):
    for _target in range(_TARGETS):
        _action = SWAP_CARD + _TARGETS * _slot + _target
        ACTION_FEATURES[_action, SWAP_CARD + _others + _slot] = 1.0
        ACTION_FEATURES[_action, SWAP_CARD + _others + SLOTS + _target] = 1.0
