"""The colours of a picture, which follow from a game's style and a theme."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from card_envs.contract.style import Style

#: Dark: on the game's table, as in the browser. Light: on white, for print.
THEMES = ("dark", "light")

INK, PAPER, WHITE, BLACK = "#1d2326", "#fdfaf2", "#ffffff", "#000000"
_GOLD, _AMBER = "#ffc533", "#8f4700"
# Colours of players that people with any colour vision can tell apart (Okabe and Ito).
_PLAYERS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1")
_READABLE = 4.5  # contrast of text, by WCAG 2


@dataclass(frozen=True, eq=False)
class Look:
    """What a picture is drawn with: the game's style, and colours by their use."""

    style: Style
    ground: str
    table: str
    panel: str
    line: str
    pill: str
    ink: str
    muted: str
    accent: str


@lru_cache(64)
def look_of(style: Style, theme: str) -> Look:
    """The colours of a game in a theme.

    Raises:
        ValueError: There is no such theme.
    """
    if theme not in THEMES:
        raise ValueError(f"theme must be {' or '.join(map(repr, THEMES))}, got {theme!r}")
    if theme == "dark":
        table = readable(style.table, WHITE)
        panel = mixed(table, BLACK, 0.26)
        return Look(
            style,
            ground=mixed(table, BLACK, 0.5),
            table=table,
            panel=panel,
            line=mixed(table, BLACK, 0.45),
            pill=mixed(panel, BLACK, 0.4),
            ink=WHITE,
            muted=readable(mixed(WHITE, table, 0.2), table),
            accent=readable(_GOLD, table),
        )
    table = mixed(style.table, WHITE, 0.86)
    return Look(
        style,
        ground=WHITE,
        table=table,
        panel=WHITE,
        line=mixed(style.table, WHITE, 0.55),
        pill=table,
        ink=INK,
        muted=readable(mixed(INK, WHITE, 0.3), table),
        accent=readable(_AMBER, table),
    )


def player_colour(player: int) -> str:
    """The colour of a player's number."""
    return _PLAYERS[player % len(_PLAYERS)]


@lru_cache(1024)
def mixed(colour: str, other: str, share: float) -> str:
    """A colour with a share of another one."""
    pairs = zip(_rgb(colour), _rgb(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


@lru_cache(1024)
def readable(colour: str, ground: str) -> str:
    """The colour, darkened or lightened until it can be read on the ground."""
    end = max(BLACK, WHITE, key=lambda other: contrast(other, ground))
    share = 0.0
    while contrast(mixed(colour, end, share), ground) < _READABLE and share < 1:
        share += 0.05
    return mixed(colour, end, min(share, 1))


def on(ground: str) -> str:
    """Black or white, whichever is easier to read on the ground."""
    return max(BLACK, WHITE, key=lambda colour: contrast(colour, ground))


def contrast(colour: str, other: str) -> float:
    """The contrast of two colours by WCAG 2, from 1 to 21."""
    low, high = sorted(map(_luminance, (colour, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in _rgb(colour))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))
