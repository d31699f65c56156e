"""What the actions of Swim for Your Life consist of, for networks that share features."""

from __future__ import annotations

import numpy as np

from card_envs.games.swim_for_your_life.cards import (
    LAID_DOWN,
    NUM_ACTIONS,
    NUM_ANIMALS,
    NUM_ROWS,
    ROW_OF,
    TAP,
)

# The tap; each row; "more than c cards of this animal", for any row and for each row.
_ROWS = 1
_LAID = _ROWS + NUM_ROWS
_LAID_FOR_ROW = _LAID + NUM_ANIMALS * NUM_ROWS
_NUM_FEATURES = _LAID_FOR_ROW + NUM_ROWS * NUM_ANIMALS * NUM_ROWS

#: float32 (1001, 205): an exchange consists of its row and of every card that it lays down, the
#: first of an animal, the second, ..., each for any row and for this one; the tap is by itself.
ACTION_FEATURES = np.zeros((NUM_ACTIONS, _NUM_FEATURES), np.float32)
ACTION_FEATURES[TAP, 0] = 1.0
for _action in range(TAP):
    _row = int(ROW_OF[_action])
    ACTION_FEATURES[_action, _ROWS + _row] = 1.0
    for _animal in range(NUM_ANIMALS):
        for _c in range(LAID_DOWN[_action, _animal]):
            _card = NUM_ROWS * _animal + _c
            ACTION_FEATURES[_action, _LAID + _card] = 1.0
            ACTION_FEATURES[_action, _LAID_FOR_ROW + NUM_ROWS * NUM_ANIMALS * _row + _card] = 1.0
