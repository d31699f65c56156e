"""What each action of Frank's Zoo consists of: a network may sum its logit over these."""

from __future__ import annotations

import numpy as np

from card_envs.games.franks_zoo.cards import (
    JOKER,
    JOKER_ALONE,
    LAY_ANIMAL,
    LAY_CARDS,
    MOSQUITO,
    NUM_ANIMALS,
    NUM_KINDS,
    NUM_LAYS,
)
from card_envs.games.franks_zoo.state import ASK, GIVE, NUM_ACTIONS, PASS

# The features: whether it is a lay, a request, a gift or a pass; then, for lays and again for
# requests, the animal with its number of naturals, the joker with each animal, the mosquito; then
# the kind of a gift.
_PLAYS, _ASKS, _GIVES, _PASSES = range(4)
_MOST = 5
_NUMBERS = NUM_ANIMALS * _MOST
_LAY_FEATURES = _NUMBERS + NUM_KINDS + 1
_KINDS = 4 + 2 * _LAY_FEATURES

#: float32 (272, 165): the features of each action, 0 or 1.
ACTION_FEATURES = np.zeros((NUM_ACTIONS, _KINDS + NUM_KINDS), np.float32)
ACTION_FEATURES[PASS, _PASSES] = 1.0
for _what, _first in ((_PLAYS, 0), (_ASKS, ASK)):
    _offset = 4 + _what * _LAY_FEATURES
    for _lay in range(NUM_LAYS):
        _animal = int(LAY_ANIMAL[_lay])
        _row = ACTION_FEATURES[_first + _lay]
        _row[_what] = 1.0
        if _lay != JOKER_ALONE:
            _row[_offset + _MOST * _animal + int(LAY_CARDS[_lay, _animal]) - 1] = 1.0
        _row[_offset + _NUMBERS + _animal] = LAY_CARDS[_lay, JOKER]
        _row[_offset + _NUMBERS + NUM_KINDS] = LAY_CARDS[_lay, MOSQUITO] and _animal != MOSQUITO
for _kind in range(NUM_KINDS):
    ACTION_FEATURES[GIVE + _kind, _GIVES] = 1.0
    ACTION_FEATURES[GIVE + _kind, _KINDS + _kind] = 1.0
