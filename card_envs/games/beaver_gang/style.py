"""What the cards of Beaver Gang look like in pictures."""

from card_envs.contract import Face, Style
from card_envs.games.beaver_gang.cards import DRAW_TWO, KIND_NAMES, PEEK, SWAP

# From low numbers, which are good, to high ones.
_COLOURS = (
    "#1b7837",
    "#2e8b57",
    "#2a8f8d",
    "#3b7ea1",
    "#4059ad",
    "#6a4c93",
    "#a23b72",
    "#c0392b",
    "#b5541c",
    "#7f1d1d",
)

STYLE = Style(
    table="#5a4632",
    back="#3d5a73",
    faces={
        **{
            name: Face(name, colour, "")
            for name, colour in zip(KIND_NAMES[:SWAP], _COLOURS, strict=True)
        },
        KIND_NAMES[SWAP]: Face("🔄", "#00695c"),
        KIND_NAMES[PEEK]: Face("👁", "#4527a0"),
        KIND_NAMES[DRAW_TWO]: Face("🎴", "#ad1457"),
    },
)
