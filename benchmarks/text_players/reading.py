"""Takes a table in words apart, as anybody can who reads it: ``read_table``. It knows no game."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_COLUMNS = re.compile(r" {2,}")
_SEAT = re.compile(r"^(.)  player (\d+) +(you|\d+ left)\b")
_COUNTED = re.compile(r"^(\d+) (.+)$")
_ZONE = re.compile(r"^(.+?): (.*?)(?: \((.*)\))?\.$")
_HEADS_TO_SKIP = ("What the others have done", "Your legal actions")


@dataclass
class Zone:
    """Cards in words, such as ``2 bears``, and the note beside them."""

    cards: list[str]
    note: str = ""

    def counts(self, names: dict[str, int]) -> list[int]:
        """How many cards of each kind there are, by all names of the kinds, one card and several;
        face-down cards are not counted."""
        counts = [0] * (max(names.values()) + 1)
        for card in self.cards:
            match = _COUNTED.match(card)
            number, name = (int(match[1]), match[2]) if match else (1, card)
            if name in names:
                counts[names[name]] += number
        return counts

    @property
    def hidden(self) -> int:
        """Number of face-down cards."""
        return sum(int(card.split()[0]) for card in self.cards if "face-down" in card)


@dataclass
class SeatRow:
    """A line of the table of seats."""

    player: int
    sign: str
    cells: dict[str, str]


@dataclass
class GridInWords:
    """Numbers in rows and columns; a dot is a 0."""

    title: str
    rows: dict[str, list[str]]


@dataclass
class TableInWords:
    """What a table in words says."""

    title: str
    me: int
    mover: int
    seats: list[SeatRow]
    zones: dict[str, Zone]
    grids: list[GridInWords]
    sentences: list[str]
    prompt: str = field(default="")

    def seat(self, player: int) -> SeatRow:
        """A player's line."""
        return next(seat for seat in self.seats if seat.player == player)

    def zone(self, player: int, name: str) -> Zone:
        """A zone of a player's, empty if it is not there."""
        owner = "Your" if player == self.me else f"Player {player}'s"
        return self.zones.get(f"{owner} {name}", Zone([]))

    def player(self, label: str) -> int:
        """Who is called ``you``, ``yours`` or ``player 2``."""
        found = re.search(r"player (\d)", label, re.IGNORECASE)
        return int(found[1]) if found else self.me

    def find(self, pattern: str) -> re.Match[str] | None:
        """The first sentence in which a pattern occurs."""
        found = (re.search(pattern, sentence) for sentence in self.sentences)
        return next((match for match in found if match), None)


def number(cell: str) -> int:
    """A cell's number."""
    return 0 if cell == "." else int(cell)


def read_table(text: str) -> TableInWords:
    """The table of a text; what stands around it is skipped."""
    paragraphs = [part.splitlines() for part in text.split("\n\n") if part.strip()]
    seats_at = next(k for k, lines in enumerate(paragraphs) if any(map(_SEAT.match, lines)))
    title, *first_zones = _sentences(paragraphs[seats_at - 1])
    seats, you = _seats(paragraphs[seats_at])
    mover = next((seat.player for seat in seats if seat.sign == ">"), you)
    table = TableInWords(title, you, mover, seats, {}, [], [])
    _add_zones(table, first_zones)
    for lines in paragraphs[seats_at + 1 :]:
        if lines[0].startswith(_HEADS_TO_SKIP):
            continue
        if lines[0].startswith(" ") or (lines[0].endswith(":") and len(lines) > 1):
            table.grids.append(_grid(lines))
            continue
        sentences = _sentences(lines)
        if sentences[0].startswith("("):  # the legend
            continue
        table.sentences += sentences
        _add_zones(table, sentences)
        table.prompt = sentences[0]  # the last one counts
    return table


def _sentences(lines: list[str]) -> list[str]:
    """Lines as they were before they were wrapped."""
    sentences: list[str] = []
    for line in lines:
        if line.startswith("  ") and sentences:
            sentences[-1] += f" {line.strip()}"
        else:
            sentences.append(line)
    return sentences


def _add_zones(table: TableInWords, sentences: list[str]) -> None:
    for sentence in sentences:
        match = _ZONE.match(sentence)
        if match:
            cards = [] if match[2] == "empty" else match[2].split(", ")
            table.zones[match[1]] = Zone(cards, match[3] or "")


def _seats(lines: list[str]) -> tuple[list[SeatRow], int]:
    """The seats, and the player who reads."""
    head = _COLUMNS.split(lines[0].strip())
    seats: list[SeatRow] = []
    you = 0
    for line in lines[1:]:
        match = _SEAT.match(line)
        if match is None:  # the last cell goes on
            seats[-1].cells[head[-1]] += f" {line.strip()}"
            continue
        cells = _COLUMNS.split(line[3:].strip())
        cells += [""] * (len(head) - len(cells))
        seats.append(SeatRow(int(match[2]), match[1], dict(zip(head, cells, strict=True))))
        if match[3] == "you":
            you = int(match[2])
    return seats, you


def _grid(lines: list[str]) -> GridInWords:
    title = lines[0][:-1] if lines[0].endswith(":") else ""
    rows = {}
    for line in lines[1:] if not title else lines[2:]:
        label, *cells = _COLUMNS.split(line.strip())
        rows[label] = cells
    return GridInWords(title, rows)
