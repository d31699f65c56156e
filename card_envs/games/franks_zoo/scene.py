"""The table of Frank's Zoo as data, as one player may know it."""

from __future__ import annotations

from collections.abc import Sequence
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
    cards_of,
    clockwise,
    count_of,
    counted,
    hand_of,
    is_over,
    label_of,
    request,
    scene_of,
    seat_of,
    to_move,
)
from card_envs.games.franks_zoo.cards import (
    ANIMAL_NAMES,
    BEATEN_BY,
    HEDGEHOG,
    JOKER,
    LAY_ANIMAL,
    LAY_CARDS,
    LAY_SIZE,
    LION,
    MAY_ASK,
    MAY_PLAY,
    NO_LAY,
    NUM_KINDS,
    TOGETHER,
)
from card_envs.games.franks_zoo.knowledge import count_elsewhere, known_of
from card_envs.games.franks_zoo.legal import holds, may_ask
from card_envs.games.franks_zoo.rules import first_leader
from card_envs.games.franks_zoo.state import (
    ANSWER,
    EXCHANGE,
    NO_CARD,
    NOBODY,
    TURN,
    counts_animals,
    has_pairs,
    packed,
)
from card_envs.games.franks_zoo.text import KIND_NAMES, PLURALS, in_words

_NONE = "-"


def scene(
    states: NDArray[np.void], i: int, player: int, memory: int, is_open: bool = False
) -> Scene:
    """The table of ``states[i]``: all that the player can know, and nothing else.

    With ``is_open`` everybody's cards are face up.
    """
    s = states[i]
    remembers = memory == MEMORY_PERFECT
    grids = [_kinds(s, player, remembers)]
    if s["last_place"].any():
        grids.append(_last_hand(s, player))
    return scene_of(
        s,
        player,
        title=_title(s),
        seats=[_seat(s, player, q, remembers, is_open) for q in clockwise(s, player)],
        zones=[] if s["terminated"] else _trick(s, player),
        grids=grids,
        notes=_course(s, player, remembers) + _knowledge(s, player, remembers),
        legend=((".", "none"),),
        prompt=_prompt,
        results=[counted(int(total), "point") for total in s["totals"]],
        wins="the highest total",
    )


def _title(s: Any) -> str:
    if s["terminated"]:
        return f"Frank's Zoo, after {counted(int(s['hand_number']), 'hand')}"
    return f"Frank's Zoo, hand {s['hand_number']}"


# ---------------------------------------------------------------------------------------------
# Seats
# ---------------------------------------------------------------------------------------------


def _cards(counts: Sequence[int] | NDArray[np.integer[Any]]) -> tuple[Card, ...]:
    return cards_of(counts, KIND_NAMES, PLURALS)


def _seat(s: Any, observer: int, q: int, remembers: bool, is_open: bool) -> Seat:
    counters: list[tuple[str, str | int]] = [
        ("points", int(s["totals"][q])),
        ("rank", int(s["rank"][q]) + 1),
    ]
    if has_pairs(s, s["hand_number"]):
        counters.append(("partner", _role(s, q, observer)))
    counters.append(("cards", int(s["hand_size"][q])))
    if counts_animals(s, s["hand_number"]) and remembers:
        captured = s["captured"][q]
        counters += [("lions", int(captured[LION])), ("hedgehogs", int(captured[HEDGEHOG]))]
    counters.append(("place", str(s["place"][q] or _NONE)))
    zones = _zones(s, observer, q, remembers, is_open)
    return seat_of(s, q, observer, counters=counters, zones=zones, note=_deed(s, q))


def _role(s: Any, q: int, observer: int) -> str:
    if s["partner"][q] == NOBODY:
        return "none"
    role = "senior" if s["is_senior"][q] else "junior"
    return f"{role} of {label_of(int(s['partner'][q]), observer)}"


def _deed(s: Any, q: int) -> str:
    """What a player has done in the trick, or before it."""
    if s["phase"] == EXCHANGE:
        return "has given" if s["given"][q].any() else ""
    if s["asker"] == q:
        return "asks for help"
    if s["owner"] == q:
        return "last set"
    return "passed" if s["has_passed"][q] else ""


def _zones(s: Any, observer: int, q: int, remembers: bool, is_open: bool) -> list[Zone]:
    """The hand, what a player without a partner has laid down, and what was captured."""
    zones = []
    if s["hand_size"][q]:
        zones.append(_hand(s, observer, q, remembers, is_open))
    laid_down = s["given"][q]
    if q == s["alone"] and laid_down.any():
        is_known = is_open or (q == observer and remembers)
        cards = _cards(laid_down) if is_known else (Card(count=2),)
        zones.append(Zone("cards laid down", cards, "pile", "they count as captured"))
    if remembers and s["captured"][q].any():
        zones.append(Zone("captured cards", _cards(s["captured"][q]), "pile"))
    return zones


def _hand(s: Any, observer: int, q: int, remembers: bool, is_open: bool) -> Zone:
    """The observer's own hand, or what they know of another; at the end all are shown."""
    if q == observer or is_open:
        return Zone("hand", _cards(s["hand"][q]), highlight=to_move(s, q))
    is_known = remembers or s["terminated"]
    known = [known_of(s, observer, q, kind) if is_known else 0 for kind in range(NUM_KINDS)]
    return hand_of(_cards(known), int(s["hand_size"][q]))


# ---------------------------------------------------------------------------------------------
# The trick
# ---------------------------------------------------------------------------------------------


def _trick(s: Any, observer: int) -> list[Zone]:
    """The last set with what would beat it, the cards beneath it, and a request."""
    if s["phase"] == EXCHANGE:
        return []
    last_set = int(s["last_set"])
    if last_set == NO_LAY:
        return [Zone("trick")]
    cards = LAY_CARDS[last_set]
    is_asked = s["asker"] != NOBODY
    is_decided_on = not is_asked and not is_over(s)
    zones = [Zone("last set", _cards(cards), note=_last_set(s, observer), highlight=is_decided_on)]
    if (s["trick"] > cards).any():
        zones.append(Zone("trick beneath it", _cards(s["trick"] - cards), "pile"))
    if is_asked:
        junior = label_of(int(s["asker"]), observer)
        senior = label_of(int(s["partner"][s["asker"]]), observer)
        note = f"{junior} {_verb(junior, 'ask')} {senior} for help"
        request = _cards(LAY_CARDS[s["request"]])
        zones.append(Zone("request", request, note=note, highlight=not is_over(s)))
    return zones


def _last_set(s: Any, observer: int) -> str:
    """Whose the last set is, what it counts as (FZ-6), and what may be played on it (FZ-8)."""
    last_set = int(s["last_set"])
    animal, size = int(LAY_ANIMAL[last_set]), int(LAY_SIZE[last_set])
    owner = label_of(int(s["owner"]), observer)
    text = "yours" if owner == "you" else f"of {owner}"
    if LAY_CARDS[last_set, animal] < size:
        text += f"; counts as {_animals(animal, size)}"
    sets = np.flatnonzero(MAY_PLAY[last_set])
    better = dict.fromkeys(zip(LAY_ANIMAL[sets].tolist(), LAY_SIZE[sets].tolist(), strict=True))
    if not better:
        return f"{text}; nothing beats it"
    *others, last = (_animals(*beater) for beater in better)
    return f"{text}; beaten by {', '.join(others)}{' or ' if others else ''}{last}"


def _animals(animal: int, count: int) -> str:
    return counted(count, ANIMAL_NAMES[animal], PLURALS[animal])


def _verb(name: str, verb: str) -> str:
    return verb if name == "you" else verb + "s"


# ---------------------------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------------------------


def _kinds(s: Any, observer: int, remembers: bool) -> Grid:
    """Where the cards of each kind are, if the observer knows it, and what beats them."""
    head = (
        "",
        "your hand",
        "trick",
        *(("played", "elsewhere") if remembers else ("out of sight",)),
    )
    elsewhere = int(count_elsewhere(s, observer, packed(s["hand"], observer), remembers))
    rows: list[tuple[str | int, ...]] = []
    for kind, name in enumerate(KIND_NAMES):
        counts = [s["hand"][observer, kind], s["trick"][kind]]
        if remembers:
            counts.append(s["played"][kind])
        beaters = "like what it is added to"
        if kind != JOKER:
            beaters = ", ".join(BEATEN_BY[name]) or "nothing"
        rows.append((name, *map(int, counts), count_of(elsewhere, kind), beaters))
    return Grid("", (*head, "beaten by"), tuple(rows), text_columns=1)


def _last_hand(s: Any, observer: int) -> Grid:
    """FZ-12, FZ-21 to FZ-23: how the last hand ended, and what it brought."""
    number = int(s["hand_number"]) - (0 if s["terminated"] else 1)
    columns = {"place": "last_place", "for places": "place_points"}
    if counts_animals(s, number):
        columns |= {"lions": "lion_points", "hedgehogs": "hedgehog_points"}
    columns |= {"points": "hand_points", "total": "totals"}
    rows: list[tuple[str | int, ...]] = []
    for q in clockwise(s, observer):
        rows.append((label_of(q, observer), *(int(s[name][q]) for name in columns.values())))
    return Grid(f"hand {number}, as it ended", ("", *columns), tuple(rows))


# ---------------------------------------------------------------------------------------------
# The course of the game, what is known, and what is to be decided
# ---------------------------------------------------------------------------------------------


def _course(s: Any, observer: int, remembers: bool) -> list[str]:
    if s["terminated"]:
        return []
    enough = "a player has" if s["num_players"] == 3 else "two players have"
    notes = [f"The game ends when {enough} {counted(int(s['target_score']), 'point')}."]
    if counts_animals(s, s["hand_number"]):
        numbers = " A player's numbers are those captured in tricks." if remembers else ""
        notes.append(f"Lions and hedgehogs count in this hand.{numbers}")
    elif s["partners"]:
        notes.append("The first hand: no partners, and lions and hedgehogs do not count.")
    else:
        notes.append("The simple game: no partners, and lions and hedgehogs do not count.")
    if s["phase"] == EXCHANGE:
        leader = label_of(int(first_leader(s)), observer)
        notes.append(f"Cards are exchanged; then {leader} {_verb(leader, 'lead')} the first trick.")
    return notes


def _knowledge(s: Any, observer: int, remembers: bool) -> list[str]:
    """FZ-18: the gifts between the observer and a partner; what others know of the own hand."""
    if not remembers:
        return []
    notes = []
    partner = int(s["partner"][observer])
    if partner != NOBODY and s["given"][observer].any():
        notes.append(f"You gave {in_words(s['given'][observer])} to player {partner}.")
    if partner != NOBODY and s["given"][partner].any():
        notes.append(f"Player {partner} gave you {in_words(s['given'][partner])}.")
    if s["alone"] not in (NOBODY, observer) and s["given"][s["alone"]].any():
        notes.append(f"What player {s['alone']} has laid down is counted as elsewhere.")
    if s["known"][observer].any() and not s["terminated"]:
        notes.append(f"Everybody knows that you hold {in_words(s['known'][observer])}.")
    return notes


def _prompt(s: Any, observer: int) -> str:
    """What is to be decided, and by whom."""
    decision = {EXCHANGE: _gift, TURN: _turn, ANSWER: _answer}[int(s["phase"])]
    return request(s, observer, decision(s, observer))


def _gift(s: Any, observer: int) -> str:
    """FZ-18: what the player to move gives away, and to whom."""
    mover = int(s["current_player"])
    number = "first" if s["gift"] == NO_CARD else "second"
    what = f"give away the {number} of two cards, to nobody (they count as captured)"
    if s["partner"][mover] != NOBODY:
        partner = label_of(int(s["partner"][mover]), observer)
        what = f"give away the {number} of two cards, to {partner}"
    if mover == observer and s["gift"] != NO_CARD:
        what += f"; the first is 1 {KIND_NAMES[s['gift']]}"
    return what


def _turn(s: Any, observer: int) -> str:
    """FZ-7, FZ-8, FZ-19: to lead or to follow."""
    mover = int(s["current_player"])
    if s["last_set"] == NO_LAY:
        if mover == observer and s["hand_size"][mover] == s["hand"][mover, JOKER]:
            return "pass; the joker alone cannot lead"
        return "lead with any set"
    last_set = int(s["last_set"])
    beaten = _animals(int(LAY_ANIMAL[last_set]), int(LAY_SIZE[last_set]))
    ways = []
    if mover != observer or _holds_one_of(s, MAY_PLAY[last_set]):
        ways.append(f"beat {beaten}")
    if may_ask(s, mover) and (mover != observer or _holds_one_of(s, MAY_ASK[last_set])):
        senior = label_of(int(s["partner"][mover]), observer)
        ways.append(f"ask {senior} for help")
    if not ways:
        return f"pass; you hold nothing that beats {beaten}"
    return ", ".join([*ways, "or pass"])


def _answer(s: Any, observer: int) -> str:
    """FZ-19: to complete a set or to refuse."""
    asker = label_of(int(s["asker"]), observer)
    may_play = np.append(MAY_PLAY[s["last_set"]], False)  # where lays make no set: NO_LAY
    completes = may_play[TOGETHER[s["request"]]]
    if s["current_player"] == observer and not _holds_one_of(s, completes):
        return f"pass; you hold nothing that helps {asker}"
    return f"help {asker} with cards that complete the set, or refuse: pass"


def _holds_one_of(s: Any, lays: NDArray[np.bool_]) -> bool:
    """Whether the player to move holds the cards of one of the lays that are marked (129,)."""
    hand = packed(s["hand"], int(s["current_player"]))
    return any(holds(hand, lay) for lay in np.flatnonzero(lays).tolist())
