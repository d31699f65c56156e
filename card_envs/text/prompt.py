"""What a player reads when they are to move: instructions, what has happened, table, actions.

All of it is pure ASCII, and every piece has a length that it never exceeds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from card_envs.contract.game import Game
from card_envs.text.rules import as_ascii, rules_in_words
from card_envs.utils.words import counted, filled

#: With more legal actions than this, one of each kind is shown as an example.
MOST_LISTED = 40
#: What has happened since a player's last turn is told in at most this many characters; where that
#: is not enough, the first decisions are only counted.
MOST_NEWS = 4_000
#: The table is not longer than this: the package's games stay far below (docs/text.md).
MOST_TABLE = 10_000

_QUOTED = 100  # characters of an answer that a message repeats
_CANDIDATES = 8  # actions that a message names
_SENTENCES = 300  # its own words
_NEWS_HEAD = "What has been done since:"
_ACTIONS_HEAD = "Your legal actions, by number and in words:"
_KINDS_HEAD = "Your legal actions, with an example of each kind:"

_REWARDS = {
    "rank": "at the end of the game +1 for each opponent you are ahead of, 0 for each you are "
    "level with, -1 for each you are behind, divided by the number of opponents",
    "win": "at the end of the game 1, shared by the winners, and 0 for all others",
    "score": "after each round, how much better you did in it than the mean of the table, scaled",
}


def instructions(
    game: Game, num_players: int, player: int, options: Mapping[str, object], memory: str
) -> str:
    """The rules, the options in force, and how to answer: what the first text begins with."""
    opponents = counted(num_players - 1, "other player")
    own = [
        filled(f"- {option.name} = {options[option.name]}: {option.doc}")
        for option in game.options
        if option.name != "reward"
    ]
    table = (
        "The table that you are shown holds all that you have been able to learn so far."
        if memory == "perfect"
        else "The table that you are shown holds what you can see now; what you have seen before "
        "is yours to remember."
    )
    example = game.action_name(game.num_actions - 1)
    form = json.dumps(game.actions.to_dict(game.num_actions - 1))
    pieces = [
        f"You play {game.title} with {opponents}. You are player {player}.",
        rules_in_words(game),
        "\n".join(
            [
                "## This game",
                "",
                f"- players: {num_players}, player 0 to player {num_players - 1}, seated clockwise",
                filled(f"- reward = {options['reward']}: {_REWARDS[str(options['reward'])]}"),
                *own,
            ]
        ),
        "## How to answer",
        filled(
            f"{table} Answer with one of your legal actions in square brackets, by its number, in "
            f"its words, or as JSON: [{game.num_actions - 1}], [{example}] or [{form}], where that "
            "is legal. You may write whatever you like before it; the last brackets count.",
            indent="",
        ),
        "\n".join(
            [
                "As JSON, an action is one of these, with one of the values that are given:",
                *(f"- {kind.form}" for kind in game.actions),
            ]
        ),
    ]
    return "\n\n".join(map(as_ascii, pieces))


def _left_out(decisions: int) -> str:
    return f"(left out: {counted(decisions, 'earlier decision')})"


def news(turns: Sequence[tuple[int, Sequence[str]]], reader: int) -> str:
    """What was done, turn by turn; the earliest decisions are only counted if it gets too long.

    Args:
        turns: Players, and their actions in words.
        reader: The player who reads it.
    """
    lines: list[str] = []
    all_left_out = _left_out(sum(len(names) for _, names in turns))  # the longest line of its kind
    room = MOST_NEWS - len(_NEWS_HEAD) - len(all_left_out) - 1
    left_out = 0
    for player, names in reversed(turns):
        who = "You" if player == reader else f"Player {player}"
        line = as_ascii(f"{who}: {'; '.join(names)}.")
        room -= len(line) + 1
        if room < 0:
            left_out += len(names)
        else:
            lines.append(line)
    if left_out:
        lines.append(_left_out(left_out))
    return "\n".join([_NEWS_HEAD, *reversed(lines)]) if lines else ""


def table(text: str, game: Game) -> str:
    """The table in words.

    Raises:
        ValueError: It is longer than ``MOST_TABLE``.
    """
    if len(text) > MOST_TABLE:
        raise ValueError(
            f"the table of {game.id} takes {len(text)} characters, and at most {MOST_TABLE} are "
            "given as the bound"
        )
    return as_ascii(text)


def legal_actions(game: Game, names: Mapping[int, str]) -> str:
    """The legal actions, a line each, or one of each kind."""
    if len(names) <= MOST_LISTED:
        return as_ascii("\n".join([_ACTIONS_HEAD, *(_line(a, name) for a, name in names.items())]))
    lines = []
    for actions in game.actions.groups(names).values():
        line = _line(actions[0], names[actions[0]])
        lines.append(f"{line} ({counted(len(actions), 'action')} of this kind)")
    return as_ascii("\n".join([_KINDS_HEAD, *lines]))


def longest_actions(game: Game) -> int:
    """The most characters that :func:`legal_actions` takes."""
    names = game.actions.names
    lines = sorted((len(_line(a, name)) + 1 for a, name in enumerate(names)), reverse=True)
    most = sum(lines[:MOST_LISTED])
    if len(names) > MOST_LISTED:
        groups = len(game.actions.groups(range(len(names))))
        most = max(most, groups * (lines[0] + len(f" ({len(names)} actions of this kind)")))
    return most + max(len(_ACTIONS_HEAD), len(_KINDS_HEAD))


def _line(action: int, name: str) -> str:
    return f"{action:>5}  {name}"


def complaint(
    answer: str,
    candidates: Sequence[int],
    legal: Mapping[int, str],
    forbidden: Sequence[str],
    what_follows: str,
) -> str:
    """What is said to an answer that is not one legal action.

    Args:
        answer: The answer as it was found.
        candidates: The legal actions that it may mean: none or several.
        legal: The names of the legal actions.
        forbidden: The actions that it may mean but that are not legal now.
        what_follows: A sentence on further tries.
    """
    said = as_ascii(" ".join(answer.split()))
    said = f'"{said[:_QUOTED]}{"..." if len(said) > _QUOTED else ""}"'
    if not answer.strip():
        text = "Your answer names no action."
    elif candidates:
        shown = "; ".join(legal[action] for action in candidates[:_CANDIDATES])
        more = len(candidates) - _CANDIDATES
        text = f"{said} could mean: {shown}{f'; and {more} more' if more > 0 else ''}."
    elif len(forbidden) == 1:
        named = "" if answer == forbidden[0] else f" ({forbidden[0]})"
        text = f"{said} is not legal now{named}."
    else:
        text = f"{said} is none of your legal actions."
    return as_ascii(f"{text} {what_follows}")


def longest_complaint(game: Game) -> int:
    """The most characters of :func:`complaint` with one sentence on further tries, and of that
    with the name of an action after it."""
    longest = max(map(len, game.actions.names))
    return 2 * _QUOTED + _SENTENCES + (_CANDIDATES + 1) * (longest + len("; "))
