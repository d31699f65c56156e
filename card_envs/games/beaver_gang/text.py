"""Beaver Gang in words: the actions, and the words of the scene."""

from __future__ import annotations

from card_envs.games.beaver_gang.cards import KIND_NAMES
from card_envs.games.beaver_gang.state import (
    CARRY_OUT_DRAW_TWO,
    DISCARD,
    DISCARDED,
    DO_NOT_KNOCK,
    DRAW,
    EXCHANGE,
    EXCHANGED,
    KNOCK_NOW,
    NO_TURN,
    NUM_ACTIONS,
    PEEK_AT,
    PEEKED,
    SLOTS,
    SWAP_CARD,
    SWAPPED,
    TAKE,
    TARGETS,
    TOOK,
)


def action_name(action: int) -> str:
    """An action in words; ValueError if there is none of that number."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"actions are from 0 to {NUM_ACTIONS - 1}, got {action}")
    if action < DRAW:
        return f"take the discard into slot {action - TAKE}"
    if EXCHANGE <= action < SWAP_CARD:
        return f"exchange the drawn card for slot {action - EXCHANGE}"
    if SWAP_CARD <= action < PEEK_AT:
        slot, target = divmod(action - SWAP_CARD, TARGETS)
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


def turn_name(turn: int, other_card: str) -> str:
    """A player's last turn in words.

    Args:
        turn: One of ``NO_TURN``, ``TOOK``, … ``DISCARDED``, plus the slot.
        other_card: The other card of a swap, in words.
    """
    if turn == NO_TURN:
        return "none yet"
    if turn < EXCHANGED:
        return f"took the discard into slot {turn - TOOK}"
    if turn < SWAPPED:
        return f"exchanged slot {turn - EXCHANGED}"
    if turn < PEEKED:
        return f"swapped slot {turn - SWAPPED} with {other_card}"
    if turn < DISCARDED:
        return f"peeked at slot {turn - PEEKED}"
    return "discarded the drawn card"


def a_card(kind: int) -> str:
    """A card with its article."""
    return f"{'an' if kind == 8 else 'a'} {KIND_NAMES[kind]}"


def slot_of(owner: int, slot: int, observer: int) -> str:
    """A card in a row, such as ``your slot 1``."""
    whose = "your" if owner == observer else f"player {owner}'s"
    return f"{whose} slot {slot}"
