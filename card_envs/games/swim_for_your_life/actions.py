"""What a player of Swim for Your Life can do: SW-5 to SW-7."""

import numpy as np

from card_envs.contract import Action, Actions, Parameter, Target
from card_envs.games.swim_for_your_life.cards import ANIMAL_NAMES, LAID_DOWN, NUM_ROWS, ROW_OF
from card_envs.games.swim_for_your_life.text import in_words

CARDS = Parameter(
    [in_words(cards) for cards in LAID_DOWN],
    # Every card that is laid down: the first of an animal, the second, ...
    features=(LAID_DOWN[:, :, None] > np.arange(NUM_ROWS)).reshape(len(LAID_DOWN), -1),
    cards=(ANIMAL_NAMES, LAID_DOWN),
)

ACTIONS = Actions(
    Action(
        "exchange",
        "exchange row {row}: lay down {cards}",
        row=range(1, NUM_ROWS + 1),
        cards=CARDS,
        combinations=np.stack([ROW_OF, np.arange(len(ROW_OF))], axis=1),
        groups="row",
        features=("row", "cards", ("row", "cards")),
        points=(Target("row {row}"), Target("hand", seat=0, cards="cards")),
    ),
    Action("tap", "tap"),
)
ACT = ACTIONS.offsets()
