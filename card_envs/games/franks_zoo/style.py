"""What the cards of Frank's Zoo look like in pictures."""

from card_envs.contract import Face, Style
from card_envs.games.franks_zoo.cards import ANIMAL_NAMES

_SYMBOLS = "🐋🐘🐊🐻🦁🦭🦊🐠🦔🐟🐭🦟"
_COLOURS = (
    "#27496d",
    "#5c6370",
    "#2e7d32",
    "#3b7ea1",
    "#b8860b",
    "#455a64",
    "#c8501e",
    "#8e44ad",
    "#6d4c41",
    "#00838f",
    "#757575",
    "#ad1457",
)
_FACES = {
    name: Face(symbol, colour)
    for name, symbol, colour in zip(ANIMAL_NAMES, _SYMBOLS, _COLOURS, strict=True)
}

STYLE = Style(
    table="#2f5d50",
    faces={
        **_FACES,
        "joker": Face("🃏", "#b71c1c"),
        # The counters of captured animals.
        "lions": _FACES["lion"],
        "hedgehogs": _FACES["hedgehog"],
    },
)
