"""What the cards of Animalia look like in pictures."""

from card_envs.contract import Face, Style
from card_envs.games.animalia.cards import FAMILY_NAMES, MEMBER_NAMES, NUM_MEMBERS, OWL
from card_envs.games.animalia.text import card_name

_FAMILIES = (
    Face("🐱", "#c0561b"),
    Face("🐴", "#6d4c41"),
    Face("🐶", "#3b6ea5"),
    Face("🐰", "#8e3b8e"),
    Face("🦜", "#2e7d32"),
)
_MEMBERS = "🏆🎀💖🕷💰👁🎭"

STYLE = Style(
    table="#44475a",
    back="#7a4a2b",
    faces={
        **{
            card_name(NUM_MEMBERS * family + member): Face(face.symbol, face.colour, name, badge)
            for family, face in enumerate(_FAMILIES)
            for member, (name, badge) in enumerate(zip(MEMBER_NAMES, _MEMBERS, strict=True))
        },
        card_name(OWL): Face("🦉", "#37474f"),
        # The counters of medals.
        **dict(zip(FAMILY_NAMES, _FAMILIES, strict=True)),
    },
)
