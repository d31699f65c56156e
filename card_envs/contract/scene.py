"""A table as a player sees it, as plain data, described once for all renderers.

A game's ``scene.py`` fills it in. It holds nothing hidden, so renderers may show all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from card_envs.contract.outcome import is_over, places_of
from card_envs.utils.words import counted


@dataclass(frozen=True)
class Card:
    """A card, or several that look the same.

    Args:
        name: The card in words, singular, such as ``"bear"``; empty: it lies face down.
        count: How many there are.
        plural: The name of several; empty: the name with an s.
        marks: Signs of the scene's legend that say what else is known of it.
        highlight: Whether the current decision is about it.
    """

    name: str = ""
    count: int = 1
    plural: str = ""
    marks: str = ""
    highlight: bool = False


@dataclass(frozen=True)
class Zone:
    """A place for cards, such as a hand, a row, a pile or a trick.

    Args:
        name: What it is called, such as ``"draw pile"``; a seat's zone omits the owner.
        cards: What is known of its cards, in the order in which they lie.
        layout: ``"row"`` (side by side), ``"pile"`` (on top of each other) or ``"slots"`` (each
            card has its own number).
        note: Further information, such as ``"elegance 3"``.
        highlight: Whether the present decision is about it.
        stands_for: The parameter of an action and the value that stands for this zone; only where
            that depends on the table (``Target.value_of``).
    """

    name: str
    cards: tuple[Card, ...] = ()
    layout: str = "row"
    note: str = ""
    highlight: bool = False
    stands_for: tuple[str, int | str] | None = None

    @property
    def size(self) -> int:
        """Number of cards."""
        return sum(card.count for card in self.cards)


@dataclass(frozen=True)
class Seat:
    """A player's place at the table.

    Args:
        player: The player's number.
        label: What the observer calls them: ``"you"`` or ``"player 2"``.
        place: Where they sit relative to the observer: ``"you"`` or ``"2 left"``.
        to_move: Whether it is their turn.
        mark: A sign of the scene's legend; empty: none.
        counters: Points, lives and the like, by name; the same names for all seats.
        zones: Their cards.
        note: What they did last.
    """

    player: int
    label: str
    place: str
    to_move: bool = False
    mark: str = ""
    counters: tuple[tuple[str, str | int], ...] = ()
    zones: tuple[Zone, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Grid:
    """Numbers in rows and columns: what is known of cards, or how a round was scored.

    Args:
        title: Its heading; empty: none.
        head: The columns' heads, that of the rows' labels first.
        rows: Each row's label and cells; a 0 is shown as a dot.
        text_columns: How many of the last columns hold words.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]
    text_columns: int = 0


@dataclass(frozen=True)
class RankedPlayer:
    """A player's rank in the standing; tied players share one.

    Args:
        place: The rank, from 1.
        label: What the observer calls the player.
        result: The player's result, such as ``"25"``.
    """

    place: int
    label: str
    result: str


@dataclass(frozen=True)
class Scene:
    """The table as one player sees it.

    Args:
        title: The game and its progress, such as ``"Beaver Gang, round 1 of 4"``.
        observer: The observing player.
        seats: All seats, the observer's first, then clockwise.
        zones: Cards that belong to nobody, such as piles.
        grids: What is known or was scored, in numbers.
        notes: Sentences about this game or round, and about what else is known.
        legend: Signs and what they mean.
        prompt: What is to be decided and by whom; empty at the end.
        standing: The final standing, or that of a truncated game; empty while the game runs.
        standing_title: The heading of the standing.
    """

    title: str
    observer: int
    seats: tuple[Seat, ...]
    zones: tuple[Zone, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    prompt: str = ""
    standing: tuple[RankedPlayer, ...] = ()
    standing_title: str = ""

    @property
    def drawn_legend(self) -> tuple[tuple[str, str], ...]:
        """The signs of the legend that pictures have, too: unless they are marks or counters,
        ``"."`` is nothing and ``"?"`` a face-down card, in words alone."""
        zones = [*self.zones, *(zone for seat in self.seats for zone in seat.zones)]
        drawn = {value for seat in self.seats for _, value in seat.counters}
        drawn |= {sign for zone in zones for card in zone.cards for sign in card.marks}
        in_words = {".", "?"} - drawn
        return tuple(entry for entry in self.legend if entry[0] not in in_words)


# ---------------------------------------------------------------------------------------------
# What the scenes of all games say in the same way; ``s`` is a record of any game
# ---------------------------------------------------------------------------------------------


def label_of(player: int, observer: int) -> str:
    """What the observer calls a player."""
    return "you" if player == observer else f"player {player}"


def to_move(s: Any, player: int) -> bool:
    """Whether it is the player's turn."""
    return bool(player == s["current_player"]) and not is_over(s)


def clockwise(s: Any, observer: int) -> list[int]:
    """The players, the observer first."""
    n = int(s["num_players"])
    return [(observer + seat) % n for seat in range(n)]


def cards_of(
    counts: Iterable[int], names: Sequence[str], plurals: Sequence[str]
) -> tuple[Card, ...]:
    """A number of cards of each kind; kinds of which there is none are left out."""
    kinds = zip(names, counts, plurals, strict=True)
    return tuple(Card(name, int(count), plural) for name, count, plural in kinds if count)


def hand_of(known: tuple[Card, ...], size: int) -> Zone:
    """Another player's hand of this size: the cards that are known, the others face down."""
    hidden = size - sum(card.count for card in known)
    return Zone("hand", (*known, Card(count=hidden)) if hidden else known)


def seat_of(
    s: Any,
    player: int,
    observer: int,
    *,
    mark: str = "",
    counters: Iterable[tuple[str, str | int]] = (),
    zones: Iterable[Zone] = (),
    note: str = "",
) -> Seat:
    """A player's ``Seat``: what is given, and what the record says of every player."""
    return Seat(
        player=player,
        label=label_of(player, observer),
        place=f"{seat} left" if (seat := (player - observer) % int(s["num_players"])) else "you",
        to_move=to_move(s, player),
        mark=mark,
        counters=tuple(counters),
        zones=tuple(zones),
        note=note,
    )


def request(s: Any, observer: int, what: str) -> str:
    """A prompt: what the player to move is to do, such as ``"play a card"``."""
    if s["current_player"] == observer:
        return f"Your turn: {what}."
    return f"Player {s['current_player']} is to {what}."


def scene_of(
    s: Any,
    observer: int,
    *,
    title: str,
    seats: Iterable[Seat],
    zones: Iterable[Zone] = (),
    grids: Iterable[Grid] = (),
    notes: Iterable[str] = (),
    legend: Iterable[tuple[str, str]] = (),
    prompt: Callable[[Any, int], str],
    results: Sequence[str],
    wins: str,
) -> Scene:
    """A ``Scene``, with the standing when the game is over.

    Args:
        s: The record.
        observer: The observing player.
        title: As of ``Scene``, like the arguments up to the legend.
        seats: All seats.
        zones: Cards that belong to nobody.
        grids: What is known or was scored, in numbers.
        notes: Sentences.
        legend: Signs and what they mean.
        prompt: ``prompt(s, observer)``: what is to be decided; called while the game runs.
        results: What to say beside each player in the standing.
        wins: What wins a game, such as ``"the highest total"``.
    """
    heading, ranking = _standing(s, observer, results, wins) if is_over(s) else ("", ())
    return Scene(
        title=title,
        observer=observer,
        seats=tuple(seats),
        zones=tuple(zones),
        grids=tuple(grids),
        notes=tuple(notes),
        legend=tuple(legend),
        prompt="" if is_over(s) else prompt(s, observer),
        standing=ranking,
        standing_title=heading,
    )


def _standing(
    s: Any, observer: int, results: Sequence[str], wins: str
) -> tuple[str, tuple[RankedPlayer, ...]]:
    """The heading and the ranking by the record's ``standing``."""
    rows = tuple(
        RankedPlayer(place, label_of(player, observer), results[player])
        for place, player in sorted((place, player) for player, place in enumerate(places_of(s)))
    )
    if s["truncated"]:
        decisions = counted(int(s["steps"]), "decision")
        return f"The game was truncated after {decisions}. The standing so far:", rows
    return f"The game is over. The final standing ({wins} wins):", rows
