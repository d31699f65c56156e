"""What the cards of Swim for Your Life look like in pictures."""

from card_envs.contract import Face, Style
from card_envs.games.swim_for_your_life.cards import ANIMAL_NAMES, VALUES

_SYMBOLS = "🦒🐻🦡🐐🐑🐶🐇🐷🐱🐭"
_COLOURS = (
    "#b8860b",
    "#5d4037",
    "#424242",
    "#546e7a",
    "#00838f",
    "#8d5524",
    "#2e7d32",
    "#c2185b",
    "#d35400",
    "#6c5ce7",
)

STYLE = Style(
    table="#1f5f7a",
    faces={
        name: Face(symbol, colour, badge=str(value))
        for name, symbol, colour, value in zip(
            ANIMAL_NAMES, _SYMBOLS, _COLOURS, VALUES, strict=True
        )
    },
)
