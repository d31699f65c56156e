"""What the cards of a game look like in pictures: data in the game's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Face:
    """The front of a card.

    Args:
        symbol: An emoji of the font in ``fonts/``, or a few letters.
        colour: The card's colour as ``"#rrggbb"``, dark enough for white text.
        label: What is written on the card; None: the card's name.
        badge: A second symbol, or a few letters, in the corner; empty: none.
    """

    symbol: str
    colour: str
    label: str | None = None
    badge: str = ""

    def lettering(self, name: str) -> str:
        """What is written on a card of this name."""
        return name if self.label is None else self.label


@dataclass(frozen=True, eq=False)
class Style:
    """How a game is drawn.

    Args:
        table: The table's colour as ``"#rrggbb"``.
        back: The colour of the cards' backs.
        faces: Faces by the names that the scene gives to cards. Counters of a seat of the same name
            get the symbol too.
    """

    table: str = "#2f5d50"
    back: str = "#34495e"
    faces: Mapping[str, Face] = field(default_factory=dict)

    def face(self, name: str) -> Face:
        """The face of a card; by default it shows the card's name."""
        return self.faces.get(name) or Face("", "#4a4a4a")
