"""Beaver Gang in words: the actions, and the table as one player sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.outcome import MEMORY_PERFECT
from card_envs.games.beaver_gang.rules import (
    CARRY_OUT_DRAW_TWO,
    DECK,
    DISCARD,
    DISCARDED,
    DO_NOT_KNOCK,
    DRAW,
    DRAW_TWO,
    DRAWN,
    EXCHANGE,
    EXCHANGED,
    KIND_NAMES,
    KNOCK,
    KNOCK_NOW,
    NO_CARD,
    NO_TURN,
    NUM_ACTIONS,
    NUM_KINDS,
    OVER,
    PEEK,
    PEEK_AT,
    PEEKED,
    SLOTS,
    SWAP,
    SWAP_CARD,
    SWAPPED,
    TAKE,
    TOOK,
    TURN,
)
from card_envs.render import counted, last_lap, name_of, seats, standing, table

# A card in a row or as the head of a column: short.
_CELLS = (*KIND_NAMES[:DRAW_TWO], "draw2")


def action_name(action: int) -> str:
    """An action in words; ValueError if there is none of that number."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action < DRAW:
        return f"take the discard into slot {action - TAKE}"
    if EXCHANGE <= action < SWAP_CARD:
        return f"exchange the drawn card for slot {action - EXCHANGE}"
    if SWAP_CARD <= action < PEEK_AT:
        slot, target = divmod(action - SWAP_CARD, 20)
        places, other_slot = divmod(target, SLOTS)
        return f"swap slot {slot} with slot {other_slot} of the player {places + 1} to the left"
    if PEEK_AT <= action < CARRY_OUT_DRAW_TWO:
        return f"peek at slot {action - PEEK_AT}"
    return {
        DRAW: "draw",
        DISCARD: "discard the drawn card",
        CARRY_OUT_DRAW_TWO: "carry out draw two",
        KNOCK_NOW: "knock",
        DO_NOT_KNOCK: "do not knock",
    }[action]


def public_action_name(states: NDArray[np.void], i: int, action: int) -> str:
    """What the player to move does, as the others learn it: no action hides anything."""
    return action_name(action)


def describe(states: NDArray[np.void], i: int, player: int) -> str:
    """The table of ``states[i]`` in words: all that the player can know, and nothing else.

    With ``memory="none"`` it is what he sees at this moment. No line passes 100 characters.
    """
    s = states[i]
    parts = [_piles(s), _rows(s, player), _legend(s, player)]
    if s["memory"] == MEMORY_PERFECT and s["phase"] != OVER:
        parts.append(_counts(s, player))
    if s["round"] > 0:
        parts.append(_last_round(s, player))
    if s["terminated"] or s["truncated"]:
        totals = [str(score) for score in s["scores"][: s["num_players"]]]
        parts.append(standing(s, player, totals, wins="the lowest total", align=">"))
    else:
        parts.append(_knocking(s, player) + "\n" + _decision(s, player))
    return "\n\n".join(part for part in parts if part)


def _a(kind: int) -> str:
    return f"{'an' if kind == 8 else 'a'} {KIND_NAMES[kind]}"


def _piles(s: Any) -> str:
    number = min(s["round"] + 1, s["rounds"])
    discards = "no discard pile"
    if s["discard_top"] != NO_CARD:
        discards = (
            f"discard pile: {counted(s['discard_size'], 'card')}, {_a(s['discard_top'])} on top"
        )
    return (
        f"Beaver Gang, round {number} of {s['rounds']}. "
        f"Draw pile: {counted(s['draw_size'], 'card')}, {discards}."
    )


# ---------------------------------------------------------------------------------------------
# The rows
# ---------------------------------------------------------------------------------------------


def _rows(s: Any, player: int) -> str:
    """The players' rows, with their totals and last turns."""

    def cells(owner: int) -> list[str]:
        row = [_cell(s, player, owner, slot) for slot in range(SLOTS)]
        return [str(s["scores"][owner]), *row, _last_turn(s, player, owner)]

    head = ["total", *(f"slot {slot}" for slot in range(SLOTS)), "last turn"]
    return seats(s, player, head, cells, marked=s["knocker"], mark="K")


def _cell(s: Any, player: int, owner: int, slot: int) -> str:
    """A card as the player knows it, with marks that say who else knows it."""
    place = SLOTS * owner + slot
    if s["memory"] != MEMORY_PERFECT:
        return _CELLS[s["row"][owner, slot]] if s["in_view"][player] >> place & 1 else "?"
    if s["known"][player] >> place & 1:
        text = _CELLS[s["row"][owner, slot]]
    else:
        text = "n" if s["is_number"] >> place & 1 else "?"
    if s["phase"] == OVER:
        return text
    if all(s["known"][knower] >> place & 1 for knower in range(s["num_players"])):
        text += "+"
    elif owner != player and s["known"][owner] >> place & 1:
        text += "*"
    if s["filling_of"][owner, slot] != s["filling"]:
        text += "'"
    return text


def _last_turn(s: Any, player: int, owner: int) -> str:
    turn = int(s["last_turn"][owner])
    if turn == NO_TURN:
        return "none yet"
    if turn < EXCHANGED:
        return f"took the discard into slot {turn - TOOK}"
    if turn < SWAPPED:
        return f"exchanged slot {turn - EXCHANGED}"
    if turn < PEEKED:
        other = int(s["swapped_with"][owner])
        whose = "your" if other == player else f"player {other}'s"
        return f"swapped slot {turn - SWAPPED}, {whose} slot {s['swapped_slot'][owner]}"
    if turn < DISCARDED:
        return f"peeked at slot {turn - PEEKED}"
    return "discarded the drawn card"


def _legend(s: Any, player: int) -> str:
    """What the signs mean that occur in the rows."""
    if s["phase"] == OVER:
        return ""
    cells = "".join(
        _cell(s, player, owner, slot) for owner in range(s["num_players"]) for slot in range(SLOTS)
    )
    signs = ["> to move"]
    if s["knocker"] >= 0:
        signs.append("K knocked")
    if "?" in cells:
        signs.append("? unknown to you")
    if "n" in cells:
        signs.append("n unknown, a number")
    if "*" in cells:
        signs.append("* known to its owner")
    if "+" in cells:
        signs.append("+ known to all")
    text = ", ".join(signs)
    if "'" in cells:
        text += "\n' in a row since before the last reshuffle"
    return f"({text})"


# ---------------------------------------------------------------------------------------------
# What else is known
# ---------------------------------------------------------------------------------------------


def _counts(s: Any, player: int) -> str:
    """How many cards of each kind lie in the discard pile, and how many are yet unseen.

    After a reshuffle it is known of each card that is unseen whether it came into a row before.
    """
    unseen = np.array(DECK) - s["discard_counts"]
    unseen[DRAW_TWO] -= s["draw_twos"]
    if s["drawn"] != NO_CARD and s["current_player"] == player:
        unseen[s["drawn"]] -= 1
    older = np.zeros(NUM_KINDS, np.int64)
    for owner in range(s["num_players"]):
        for slot in range(SLOTS):
            kind = s["row"][owner, slot]
            if s["known"][player] >> SLOTS * owner + slot & 1:
                unseen[kind] -= 1
            elif s["filling_of"][owner, slot] != s["filling"]:
                older[kind] += 1
    rows = [["", *_CELLS], ["in the discard pile", *map(str, s["discard_counts"])]]
    if older.any():
        rows.append(["unseen, marked '", *map(str, older)])
        rows.append(["other unseen cards", *map(str, unseen - older)])
    else:
        rows.append(["unseen by you", *map(str, unseen)])
    return table(rows, align="<" + ">" * NUM_KINDS)


def _last_round(s: Any, player: int) -> str:
    """The rows as they were counted at the end of the last round, and its scores."""
    lines = [
        [
            f"  {name_of(owner, player)}",
            " + ".join(map(str, s["revealed"][owner])) + f" = {s['round_scores'][owner]}",
        ]
        for owner in range(s["num_players"])
    ]
    return f"Round {s['round']}, as it was counted (each special replaced by a number):\n" + table(
        lines
    )


def _knocking(s: Any, player: int) -> str:
    if s["knocker"] >= 0:
        return last_lap(s["knocker"], player, "knocked")
    # The present turn counts, and in the phase KNOCK it has been counted already.
    if s["phase"] == KNOCK or s["turns"] + 1 >= s["num_players"]:
        return "Nobody has knocked; whoever ends his turn now may."
    return "Nobody may knock before everybody has had a turn."


def _decision(s: Any, player: int) -> str:
    """What is to be decided, and by whom."""
    is_own = s["current_player"] == player
    phase = s["phase"]
    if not is_own:
        what = {
            TURN: "is to take the discard or draw",
            DRAWN: "has drawn a card and decides what to do with it",
            KNOCK: "decides whether to knock",
        }[int(phase)]
        text = f"Player {s['current_player']} {what}."
    elif phase == TURN:
        top = s["discard_top"]
        if top == NO_CARD:
            text = "Your turn: draw; there is no discard to take."
        elif top >= SWAP:
            text = f"Your turn: draw; {_a(top)} cannot be taken from the discard pile."
        else:
            text = f"Your turn: take the {KIND_NAMES[top]} from the discard pile, or draw."
    elif phase == KNOCK:
        text = "Your turn is done: knock, or not?"
    else:
        drawn = s["drawn"]
        use = {
            SWAP: "swap one of your cards with another player's",
            PEEK: "peek at one of your cards",
            DRAW_TWO: "carry it out",
        }.get(int(drawn), "exchange it for one of your cards")
        text = f"You have drawn {_a(drawn)}: {use}, or discard it."
    if s["first_of_pair"]:
        text += "\nIt is the first of two cards: if it is discarded, the second is drawn."
    if s["draw_twos"] > 0:
        text += f"\nDraw-two cards under way: {s['draw_twos']}."
    return text
