"""What the actions of Beaver Gang consist of, for networks whose logits are sums over features."""

from __future__ import annotations

import numpy as np

from card_envs.games.beaver_gang.state import NUM_ACTIONS, PEEK_AT, SLOTS, SWAP_CARD, TARGETS

#: float32 (97, 41): a swap consists of an own slot and another player's card, every other action
#: has a feature of its own.
ACTION_FEATURES = np.zeros(
    (NUM_ACTIONS, NUM_ACTIONS - SLOTS * TARGETS + SLOTS + TARGETS), np.float32
)
ACTION_FEATURES[:SWAP_CARD, :SWAP_CARD] = np.eye(SWAP_CARD)
_others = NUM_ACTIONS - PEEK_AT
ACTION_FEATURES[PEEK_AT:, SWAP_CARD : SWAP_CARD + _others] = np.eye(_others)
for _slot in range(SLOTS):
    for _target in range(TARGETS):
        _action = SWAP_CARD + TARGETS * _slot + _target
        ACTION_FEATURES[_action, SWAP_CARD + _others + _slot] = 1.0
        ACTION_FEATURES[_action, SWAP_CARD + _others + SLOTS + _target] = 1.0
