"""The bytes of a saved game: a header in JSON, the State's record, and a checksum."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Game

_MAGIC = b"card_envs save 1\n"
_DIGEST_SIZE = 16


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest()


def pack(header: dict[str, Any], states: NDArray[np.void]) -> bytes:
    """Magic line, header length (4 bytes), header, record, checksum of all before it."""
    text = json.dumps(header).encode()
    data = _MAGIC + len(text).to_bytes(4, "little") + text + states.tobytes()
    return data + _digest(data)


def unpack(data: bytes, game: Game) -> tuple[dict[str, Any], NDArray[np.void]]:
    """Header and record; ValueError if the bytes are foreign or damaged."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise ValueError(f"a saved game is bytes, got {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(_MAGIC):
        raise ValueError("these bytes are not a saved game of card_envs")
    body, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    if _digest(body) != digest:
        raise ValueError("this saved game is damaged: its checksum is wrong")
    start = len(_MAGIC) + 4
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    try:
        header = json.loads(body[start:end])
    except (ValueError, RecursionError):
        raise ValueError("this saved game is damaged: its header cannot be read") from None
    if not isinstance(header, dict):
        raise ValueError("this saved game is damaged: its header cannot be read")
    check_same("game", header.get("game"), game.name)
    if len(body) - end != game.state_dtype.itemsize:
        raise ValueError("this saved game is damaged: its record has the wrong size")
    # Of a bytearray the record may be written to; copy() would leave its padding undefined.
    return header, np.frombuffer(bytearray(body[end:]), game.state_dtype)


def check_same(what: str, found: Any, expected: Any) -> None:
    """ValueError unless the saved value is the environment's own."""
    if found != expected:
        raise ValueError(f"this game was saved with {what} {found!r}, not with {expected!r}")


def check_record(states: NDArray[np.void], game: Game, fresh: NDArray[np.void]) -> None:
    """ValueError unless the record can be a state of a game that began like ``fresh``."""
    dtype = game.state_dtype
    names = {"num_players", "reward_mode", *(option.name for option in game.options)}
    fields = dtype.names or ()
    bools = [name for name in fields if dtype[name].base == np.bool_]
    if (
        any((states[name].view(np.uint8) > 1).any() for name in bools)
        or any((states[name] != fresh[name]).any() for name in names.intersection(fields))
        or not game.rules.is_sound(states, 0)
    ):
        raise ValueError("this saved game is damaged: it does not hold a possible state")


def check_header(header: dict[str, Any], possible_agents: list[str], states: Any) -> None:
    """ValueError unless the bookkeeping is complete, of the right kind and fits the state."""
    agents: Any = header.get("agents")
    is_over = header.get("is_over")
    seed = header.get("next_seed")
    sound = (
        isinstance(agents, list)
        and agents == [agent for agent in possible_agents if agent in agents]
        and header.get("agent_selection") in possible_agents
        and header.get("skip_agent_selection") in (None, *possible_agents)
        and isinstance(is_over, bool)
        and type(seed) is int
        and 0 <= seed < 2**64
    )
    kinds: dict[str, type | tuple[type, ...]] = {
        "rewards": (int, float),
        "cumulative_rewards": (int, float),
        "terminations": bool,
        "truncations": bool,
        "infos": dict,
    }
    for name, kind in kinds.items():
        values = header.get(name)
        sound = (
            sound
            and isinstance(values, dict)
            and list(values) == agents
            and all(isinstance(value, kind) for value in values.values())
            and (kind is bool or kind is dict or all(abs(v) < 1e9 for v in values.values()))
        )
    if sound and is_over:
        over = [header["terminations"][a] or header["truncations"][a] for a in agents]
        sound = all(over) and (not agents or header["agent_selection"] == agents[0])
    elif sound:
        sound = (
            agents == possible_agents
            and not any(header["terminations"].values())
            and not any(header["truncations"].values())
            and not (states["terminated"][0] or states["truncated"][0])
            and header["agent_selection"] == possible_agents[states["current_player"][0]]
        )
    if not sound:
        raise ValueError("this saved game is damaged: its header is incomplete or does not fit")
