"""A game's rules in plain English, as its RULES.md has them by number."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from card_envs.contract.game import Game
from card_envs.games import rules_file

_HEADING = re.compile(r"^## ", re.MULTILINE)
_NUMBERED = re.compile(r"^\*\*[A-Z]{2}-\d+\b", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})(?=[^\s*])([^*]+)\1(?![\w*])")
_SEAT = re.compile(r"`player_(\d)`")
_COLUMNS = re.compile(r"^\|(?: *:?-+:? *\|)+\n", re.MULTILINE)
# Signs that have no equivalent to take apart.
_SIGNS = str.maketrans(
    {"−": "-", "–": "-", "—": "-", "×": "x", "·": "*", "’": "'", "“": '"', "”": '"', "…": "..."}
)


@cache
def rules_in_words(game: Game) -> str:
    """The rules for a player, in ASCII.

    They are what stands before the first section of the game's RULES.md, and each section that has
    numbered rules; who knows what, the options and the tables of indices are in the others.

    Raises:
        FileNotFoundError: The game's package has no RULES.md.
    """
    file = rules_file(game)
    if not file.is_file():
        raise FileNotFoundError(f"the game in words needs its rules, but there is no {file}")
    introduction, *sections = _HEADING.split(file.read_text(encoding="utf-8"))
    parts = [introduction, *(part for part in sections if _NUMBERED.search(part))]
    return as_ascii(_plain("## ".join(parts)).strip())


def _plain(markdown: str) -> str:
    """Markdown without links and emphasis; headings, lists and tables can be read as they are."""
    text = _SEAT.sub(r"player \1", _LINK.sub(r"\1", _COLUMNS.sub("", markdown)))
    return re.sub(r"\n{3,}", "\n\n", _EMPHASIS.sub(r"\2", text).replace("`", ""))


def as_ascii(text: str) -> str:
    """The text in printable ASCII and ends of lines: letters without their accents, and a question
    mark for what is left."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    apart = unicodedata.normalize("NFKD", text.translate(_SIGNS))
    bare = "".join(c for c in apart if not unicodedata.combining(c))
    found = bare.encode("ascii", "replace").decode()
    return "".join(c if c == "\n" or c.isprintable() else "?" for c in found)
