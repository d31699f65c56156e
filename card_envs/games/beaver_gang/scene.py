"""The table of Beaver Gang as data, as one player may know it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract import (
    MEMORY_PERFECT,
    Card,
    Grid,
    Scene,
    Seat,
    Zone,
    capitalized,
    clockwise,
    counted,
    is_over,
    label_of,
    request,
    scene_of,
    seat_of,
)
from card_envs.games.beaver_gang.cards import (
    DRAW_TWO,
    KIND_NAMES,
    NO_CARD,
    NUM_KINDS,
    PEEK,
    SWAP,
)
from card_envs.games.beaver_gang.knowledge import drawn_card_is_hidden, unseen_count
from card_envs.games.beaver_gang.state import (
    KNOCK,
    OVER,
    SLOTS,
    TURN,
    may_knock_after,
    may_take,
)
from card_envs.games.beaver_gang.text import a_card, slot_of, turn_name

# Marks of cards in the rows, and of the player who knocked.
_IS_NUMBER, _KNOWN_TO_OWNER, _KNOWN_TO_ALL, _OLDER, _KNOCKED = "#", "*", "+", "'", "K"


def scene(
    states: NDArray[np.void], i: int, player: int, memory: int, is_open: bool = False
) -> Scene:
    """The table of ``states[i]``: all that the player can know, and nothing else.

    With ``is_open`` everybody's cards are face up.
    """
    s = states[i]
    seats = [_seat(s, player, q, memory, is_open) for q in clockwise(s, player)]
    notes = [] if is_over(s) else [_knocking(s, player)]
    grids = []
    if memory == MEMORY_PERFECT and s["phase"] != OVER:
        notes += _known_to_others(s, player)
        grids.append(_counts(s, player))
    if s["round"] > 0:
        grids.append(_last_round(s, player, memory))
    return scene_of(
        s,
        player,
        title=f"Beaver Gang, round {min(s['round'] + 1, s['rounds'])} of {s['rounds']}",
        seats=seats,
        zones=(_draw_pile(s), _discard_pile(s)),
        grids=grids,
        notes=notes,
        legend=_legend(s, seats, memory),
        prompt=_prompt,
        results=[str(score) for score in s["scores"]],
        wins="the lowest total",
    )


# ---------------------------------------------------------------------------------------------
# Cards
# ---------------------------------------------------------------------------------------------


def _draw_pile(s: Any) -> Zone:
    cards = (Card(count=int(s["draw_size"])),) if s["draw_size"] > 0 else ()
    return Zone("draw pile", cards, "pile", highlight=_is_choosing(s))


def _discard_pile(s: Any) -> Zone:
    """The top card; what lies below it can be known, but not in which order."""
    if s["discard_top"] == NO_CARD:
        return Zone("discard pile", (), "pile")
    can_be_taken = _is_choosing(s) and bool(may_take(s))
    below = int(s["discard_size"]) - 1
    return Zone(
        "discard pile",
        (Card(KIND_NAMES[s["discard_top"]], highlight=can_be_taken),),
        "pile",
        note=f"on top of {counted(below, 'card')}" if below else "",
        highlight=can_be_taken,
    )


def _is_choosing(s: Any) -> bool:
    """Whether the player to move decides between the piles."""
    return bool(s["phase"] == TURN) and not is_over(s)


def _seat(s: Any, observer: int, q: int, memory: int, is_open: bool) -> Seat:
    zones = [Zone("slot", _row(s, observer, q, memory, is_open), "slots")]
    if s["drawn"] != NO_CARD and s["current_player"] == q:
        zones.append(_drawn_card(s, observer, is_open))
    if s["draw_twos"] > 0 and s["current_player"] == q:
        draw_twos = Card(KIND_NAMES[DRAW_TWO], int(s["draw_twos"]), "draw twos")
        zones.append(Zone("cards under way", (draw_twos,)))
    other_card = slot_of(int(s["swapped_with"][q]), int(s["swapped_slot"][q]), observer)
    return seat_of(
        s,
        q,
        observer,
        mark=_KNOCKED if s["knocker"] == q else "",
        counters=[("total", int(s["scores"][q]))],
        zones=zones,
        note=turn_name(int(s["last_turn"][q]), other_card),
    )


def _drawn_card(s: Any, observer: int, is_open: bool) -> Zone:
    is_hidden = not is_open and drawn_card_is_hidden(s, observer)
    name = "" if is_hidden else KIND_NAMES[s["drawn"]]
    is_decided_on = not is_over(s)
    return Zone(
        "drawn card",
        (Card(name, highlight=is_decided_on),),
        note="the first of two" if s["first_of_pair"] else "",
        highlight=is_decided_on,
    )


def _row(s: Any, observer: int, owner: int, memory: int, is_open: bool) -> tuple[Card, ...]:
    """A player's cards as the observer knows them, with marks that say what else is known."""
    visible = s["known"] if memory == MEMORY_PERFECT else s["in_view"]
    has_marks = memory == MEMORY_PERFECT and s["phase"] != OVER
    cards = []
    for slot in range(SLOTS):
        is_visible = is_open or visible[observer] >> SLOTS * owner + slot & 1
        name = KIND_NAMES[s["row"][owner, slot]] if is_visible else ""
        cards.append(Card(name, marks=_marks(s, observer, owner, slot) if has_marks else ""))
    return tuple(cards)


def _marks(s: Any, observer: int, owner: int, slot: int) -> str:
    place = SLOTS * owner + slot
    if _known_to_all(s) >> place & 1:
        marks = _KNOWN_TO_ALL
    else:
        is_known_to_owner = owner != observer and s["known"][owner] >> place & 1
        marks = _IS_NUMBER if s["is_number"] >> place & 1 else ""
        marks += _KNOWN_TO_OWNER if is_known_to_owner else ""
    return marks + _older(_age(s, owner, slot))


def _known_to_all(s: Any) -> int:
    """The set of places of cards that everybody knows."""
    return int(np.bitwise_and.reduce(s["known"][: s["num_players"]]))


def _age(s: Any, owner: int, slot: int) -> int:
    """How many reshuffles there have been since the card came into the rows."""
    return int(s["filling"]) - int(s["filling_of"][owner, slot])


def _older(age: int) -> str:
    """The mark of cards that were in the rows before the last reshuffle, or the last several."""
    return ("", _OLDER)[age] if age < 2 else f"{_OLDER}{age}"


def _legend(s: Any, seats: list[Seat], memory: int) -> list[tuple[str, str]]:
    """What the marks that occur mean."""
    cards = [card for seat in seats for card in seat.zones[0].cards]
    unknown = "unknown to you" if memory == MEMORY_PERFECT else "not in view"
    meanings = (
        (_KNOCKED, "knocked"),
        ("?", unknown),
        (_IS_NUMBER, "known to all to be a number"),
        (_KNOWN_TO_OWNER, "known to its owner"),
        (_KNOWN_TO_ALL, "known to all"),
    )
    marks = "".join([*(seat.mark for seat in seats), *(card.marks for card in cards)])
    marks += "" if all(card.name for card in cards) else "?"
    legend = [(mark, meaning) for mark, meaning in meanings if mark in marks]
    if _OLDER in marks:
        ages = {_age(s, seat.player, slot) for seat in seats for slot in range(SLOTS)}
        for age in sorted(ages - {0}):
            reshuffles = "the last reshuffle" if age == 1 else f"the last {age} reshuffles"
            legend.append((_older(age), f"in a row since before {reshuffles}"))
    return legend


# ---------------------------------------------------------------------------------------------
# What else is known
# ---------------------------------------------------------------------------------------------


def _counts(s: Any, observer: int) -> Grid:
    """How many cards of each kind lie in the discard pile, and how many are hidden.

    It is known of each hidden card before which reshuffles it came into a row.
    """
    older: dict[int, NDArray[np.int64]] = {}
    for owner in range(s["num_players"]):
        for slot in range(SLOTS):
            age = _age(s, owner, slot)
            if age and not s["known"][observer] >> SLOTS * owner + slot & 1:
                older.setdefault(age, np.zeros(NUM_KINDS, np.int64))[s["row"][owner, slot]] += 1
    others = np.array([unseen_count(s, observer, kind) for kind in range(NUM_KINDS)])
    others -= sum(older.values())
    rows: list[tuple[str | int, ...]] = [
        ("in the discard pile", *s["discard_counts"].tolist()),
        *((f"unseen, marked {_older(age)}", *older[age].tolist()) for age in sorted(older)),
        ("other unseen cards" if older else "unseen by you", *others.tolist()),
    ]
    return Grid("", ("", *KIND_NAMES), tuple(rows))


def _known_to_others(s: Any, observer: int) -> list[str]:
    """Who knows cards of other players that not everybody knows."""
    sentences = []
    for q in clockwise(s, observer)[1:]:
        known = int(s["known"][q]) & ~_known_to_all(s)
        cards = [
            slot_of(owner, slot, observer)
            for owner in clockwise(s, observer)
            for slot in range(SLOTS)
            if owner != q and known >> SLOTS * owner + slot & 1
        ]
        if cards:
            sentences.append(f"Player {q} also knows {', '.join(cards)}.")
    return sentences


def _last_round(s: Any, observer: int, memory: int) -> Grid:
    """The scores of the last round, with the rows as they were counted."""
    title, slots = f"round {s['round']}, as it was counted", range(0)
    if memory == MEMORY_PERFECT:
        title, slots = f"{title} (each special replaced by a number)", range(SLOTS)
    rows = []
    for q in clockwise(s, observer):
        cards = [str(s["revealed"][q, slot]) for slot in slots]
        scores = str(s["round_scores"][q]), str(s["scores"][q])
        rows.append((label_of(q, observer), *cards, *scores))
    return Grid(title, ("", *(f"slot {slot}" for slot in slots), "score", "total"), tuple(rows))


# ---------------------------------------------------------------------------------------------
# What is to be decided
# ---------------------------------------------------------------------------------------------


def _knocking(s: Any, observer: int) -> str:
    if s["knocker"] >= 0:
        who = capitalized(label_of(int(s["knocker"]), observer))
        return f"{who} knocked: the last lap, one turn for each of the others."
    if may_knock_after(s, s["turns"] + 1):  # the present turn counts
        return "Nobody has knocked; a player whose turn ends now may knock."
    return "Nobody may knock before everybody has had a turn."


def _prompt(s: Any, observer: int) -> str:
    phase, is_own = s["phase"], s["current_player"] == observer
    if phase == TURN:
        return request(s, observer, _choice(int(s["discard_top"])))
    if phase == KNOCK:
        other = f"Player {s['current_player']} decides whether to knock."
        return "Your turn is done: knock, or not?" if is_own else other
    if not is_own:
        return f"Player {s['current_player']} has drawn a card and decides what to do with it."
    card = a_card(s["drawn"])
    use = {
        SWAP: "swap one of your cards with another player's",
        PEEK: "peek at one of your cards",
        DRAW_TWO: "carry it out",
    }.get(int(s["drawn"]), "exchange it for one of your cards")
    if s["first_of_pair"]:
        return f"You have drawn {card}, the first of two: {use}, or discard it and draw the second."
    return f"You have drawn {card}: {use}, or discard it."


def _choice(top: int) -> str:
    """What a player can do at the beginning of their turn, by the top discard."""
    if top == NO_CARD:
        return "draw; there is no discard to take"
    if top >= SWAP:
        return f"draw; {a_card(top)} cannot be taken from the discard pile"
    return f"take the {KIND_NAMES[top]} from the discard pile, or draw"
