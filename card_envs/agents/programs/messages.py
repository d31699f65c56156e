"""The protocol: what a program is told and what it answers, one JSON object a line.

All messages are built and read here. ``docs/programs.md`` documents them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.programs.faults import ILLEGAL, NO_ANSWER, NO_START, ProgramFault
from card_envs.agents.programs.names import Limits
from card_envs.agents.programs.process import MAX_LINE
from card_envs.contract.actions import Actions
from card_envs.contract.description import describe_game
from card_envs.contract.game import Game
from card_envs.contract.outcome import places, rank_rewards, standing_after_forfeit
from card_envs.render.text import describe
from card_envs.utils.words import printable

PROTOCOL = "card_envs program"
VERSION = 1

#: What a program may ask for in its answer to the hello.
OBSERVATIONS = ("values", "text")


def hello(game: Game, limits: Limits) -> dict[str, Any]:
    """The first message: the game and the limits, before any game is played."""
    about = describe_game(game)
    about["observation"]["scale"] = game.fields.scale.astype(int).tolist()
    return {
        "type": "hello",
        "protocol": PROTOCOL,
        "version": VERSION,
        "game": about,
        "limits": {**asdict(limits), "line_bytes": MAX_LINE},
    }


def decide(
    number: int,
    player: int,
    num_players: int,
    options: Mapping[str, Any] | None,
    events: Sequence[Mapping[str, Any]],
    legal: Sequence[int],
    actions: Actions,
    seen: Mapping[str, Any],
) -> dict[str, Any]:
    """A decision to be made.

    Args:
        number: Of the seat in this game.
        player: The seat's player.
        num_players: How many play.
        options: The game's options except ``reward``; None: unknown.
        events: What has happened since the last message about this game.
        legal: The legal actions.
        actions: All actions of the game.
        seen: What :func:`values` or :func:`text` gives.
    """
    return {
        "type": "decide",
        "game": number,
        "player": player,
        "num_players": num_players,
        "options": None if options is None else dict(options),
        "events": list(events),
        "legal": [
            {
                "action": action,
                "words": actions.name(action),
                "structured": actions.to_dict(action),
            }
            for action in legal
        ],
        **seen,
    }


def values(
    game: Game, observation: NDArray[np.float32], action_mask: NDArray[np.int8]
) -> dict[str, Any]:
    """The observation in whole units of its scale, and the mask."""
    units = np.rint(observation * game.fields.scale).astype(np.int64)
    return {"observation": units.tolist(), "mask": action_mask.tolist()}


def text(game: Game, states: NDArray[np.void], i: int) -> dict[str, Any]:
    """The table in words, as the player to move sees it."""
    return {"text": describe(game, states, i, int(states["current_player"][i]))}


def own_event(player: int, action: int, actions: Actions) -> dict[str, Any]:
    """What the seat itself did."""
    return {
        "player": player,
        "action": action,
        "words": actions.name(action),
        "structured": actions.to_dict(action),
    }


def public_event(player: int, words: str) -> dict[str, Any]:
    """What another player did, in public words; an action's number or structured form might reveal
    more."""
    return {"player": player, "words": words}


def end(
    number: int,
    events: Sequence[Mapping[str, Any]],
    states: NDArray[np.void] | None = None,
    i: int = 0,
    loser: int | None = None,
) -> dict[str, Any]:
    """The end of a game; without states it was abandoned, and nobody has won or lost.

    Args:
        number: Of the seat in this game.
        events: What has happened since the last message about it.
        states: The games' records.
        i: Which of them it is.
        loser: The player who has forfeited it.
    """
    result = None
    if states is not None:
        num_players = int(states["num_players"][i])
        standing = states["standing"][i, :num_players]
        if loser is not None:
            standing = standing_after_forfeit(num_players, loser)
        result = {
            "places": places(standing).tolist(),
            "rewards": rank_rewards(standing).tolist(),
            "truncated": bool(states["truncated"][i]),
            "forfeited_by": loser,
        }
    return {"type": "end", "game": number, "events": list(events), "result": result}


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as a line of JSON, in ASCII."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


# ---------------------------------------------------------------------------------------------
# From the program
# ---------------------------------------------------------------------------------------------


def read_hello(line: bytes) -> str:
    """What the program wants to observe: ``"values"`` or ``"text"``.

    Raises:
        ProgramFault: It does not answer the hello, or is of another version.
    """
    answer = _read(line, NO_START)
    version, observation = answer.get("version"), answer.get("observation")
    if type(version) is not int or version != VERSION:
        raise ProgramFault(
            NO_START, f"its version of the protocol must be {VERSION}, got {_brief(version)}"
        )
    if observation not in OBSERVATIONS:
        allowed = " or ".join(map(repr, OBSERVATIONS))
        raise ProgramFault(NO_START, f"observation must be {allowed}, got {_brief(observation)}")
    return str(observation)


def read_action(line: bytes, number: int, legal: Sequence[int], actions: Actions) -> int:
    """The action of an answer: its number, its words (case and spacing do not matter), or its
    structured form.

    Args:
        line: The answer.
        number: Of the seat in the game that the program was asked about.
        legal: The legal actions.
        actions: All actions of the game.

    Raises:
        ProgramFault: It is not an answer to this question, or the action is not legal.
    """
    answer = _read(line, NO_ANSWER)
    if type(answer.get("game")) is not int or answer["game"] != number:
        raise ProgramFault(
            NO_ANSWER, f"it was asked about game {number}, and answers {_brief(answer.get('game'))}"
        )
    action = answer.get("action")
    if isinstance(action, str):
        for known in legal:
            if _folded(actions.name(known)) == _folded(action):
                return known
    elif isinstance(action, dict):
        try:
            known = actions.from_dict(action)
        except (ValueError, RecursionError) as error:
            raise ProgramFault(ILLEGAL, printable(str(error))[:200], is_fatal=False) from None
        if known in legal:
            return known
    elif type(action) is not int:
        raise ProgramFault(
            NO_ANSWER,
            f"action must be a number, words or an object, got {_brief(action)}",
            is_fatal=False,
        )
    elif action in legal:
        return action
    raise ProgramFault(ILLEGAL, f"{_brief(action)} is not legal there", is_fatal=False)


def _read(line: bytes, kind: str) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):  # ValueError: also of bytes that are no text
        answer = None
    if not isinstance(answer, dict):
        raise ProgramFault(kind, f"an answer is a JSON object, got {_brief(line)}")
    return answer


def _folded(words: str) -> str:
    return " ".join(words.split()).casefold()


def _brief(value: Any) -> str:
    """The beginning of something that a program wrote."""
    shown = printable(
        value[:80].decode(errors="replace") if isinstance(value, bytes) else repr(value)
    )
    return shown[:80]
