"""Writes the tables of every game's RULES.md from the code: ``python -m card_envs.docs``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from card_envs.engine.game import Game, Option
from card_envs.games import GAMES, load_game
from card_envs.render import kind_of

_GAMES = Path(__file__).parent / "games"
_NUMBER = re.compile(r"\d+")


def rules_file(game_id: str) -> Path:
    """The game's RULES.md."""
    return _GAMES / game_id / "RULES.md"


def action_table(game: Game) -> str:
    """The actions as a Markdown table: one row for consecutive actions of one kind."""
    rows = ["| index | action |", "| --- | --- |"]
    names = {action: game.action_name(action) for action in range(game.num_actions)}
    for _, actions in groupby(names, key=lambda action: kind_of(names[action])):
        run = [(action, names[action]) for action in actions]
        rows += _rows_of_examples(run) if ": " in run[0][1] else _rows_of_numbers(run)
    return "\n".join(rows)


def _rows_of_examples(run: list[tuple[int, str]]) -> list[str]:
    """One row for actions that differ in what follows a colon: the first two and the last."""
    (first, name), (last, _) = run[0], run[-1]
    head = name.partition(": ")[0]
    examples = [name.partition(": ")[2] for _, name in run]
    if len(run) > 3:
        examples[2:-1] = ["…"]
    index = f"{first}..{last}" if last > first else f"{first}"
    return [f"| {index} | {head}: {'; '.join(examples)} |"]


def _rows_of_numbers(run: list[tuple[int, str]]) -> list[str]:
    """One row for actions that differ in numbers, with the formula where two numbers vary.

    Where the index is no linear function of the numbers, every action gets a row of its own.
    """
    first, name = run[0]
    numbers = [[int(number) for number in _NUMBER.findall(text)] for _, text in run]
    ranges = [(min(column), max(column)) for column in zip(*numbers, strict=True)]
    varying = [k for k, (low, high) in enumerate(ranges) if low < high]
    strides = {k: _stride(numbers, k) for k in varying}
    start = [low for low, _ in ranges]
    is_linear = numbers[0] == start and all(
        action == first + sum(strides[k] * (values[k] - start[k]) for k in varying)
        for (action, _), values in zip(run, numbers, strict=True)
    )
    if len(run) == 1 or not is_linear:
        return [f"| {action} | {text} |" for action, text in run]
    spans = {k: f"{ranges[k][0]}..{ranges[k][1]}" for k in varying}
    letters = dict(zip(varying, "abcdefgh", strict=False)) if len(varying) > 1 else {}
    words = iter(range(len(ranges)))

    def word(match: re.Match[str]) -> str:
        k = next(words)
        return f"*{letters[k]}*" if k in letters else spans.get(k, match[0])

    text = _NUMBER.sub(word, name)
    if letters:
        terms = [_term(strides[k], letters[k], start[k]) for k in varying]
        where = ", ".join(f"*{letters[k]}* {spans[k]}" for k in varying)
        text += f": {' + '.join([str(first), *terms])} ({where})"
    return [f"| {first}..{run[-1][0]} | {text} |"]


def _stride(numbers: list[list[int]], k: int) -> int:
    """By how much the index grows with the k-th number; 0 where it never grows alone."""
    first = numbers[0]
    for index, values in enumerate(numbers):
        if values[k] == first[k] + 1 and values[:k] + values[k + 1 :] == first[:k] + first[k + 1 :]:
            return index
    return 0


def _term(stride: int, letter: str, low: int) -> str:
    factor = f"{stride}·" if stride > 1 else ""
    return f"{factor}(*{letter}* − {low})" if low else f"{factor}*{letter}*"


def options_table(game: Game) -> str:
    """The options as a Markdown table."""
    players = Option(
        "num_players", 4, "number of players", minimum=game.min_players, maximum=game.max_players
    )
    rows = ["| option | default | values | meaning |", "| --- | --- | --- | --- |"]
    for option in (players, *game.options):
        rows.append(f"| `{option.name}` | `{option.default!r}` | {option.allowed} | {option.doc} |")
    return "\n".join(rows)


def with_tables(text: str, game: Game) -> str:
    """The text with its generated tables renewed.

    A table stands between the lines ``<!-- name -->`` and ``<!-- end -->``; the names are
    actions, observation and options.

    Raises:
        ValueError: A table has no place in the text, or more than one.
    """
    tables = {
        "actions": action_table(game),
        "observation": game.fields.table(),
        "options": options_table(game),
    }
    for name, table in tables.items():
        text = with_section(text, name, table)
    return text


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> str:
    """A Markdown table whose last ``numbers`` columns are aligned to the right."""
    rule = ["---"] * (len(header) - numbers) + ["---:"] * numbers
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def with_section(text: str, name: str, content: str) -> str:
    """The text with what stands between ``<!-- name -->`` and the next ``<!-- end -->`` renewed.

    Raises:
        ValueError: The text has no such place, or more than one.
    """
    before, marker, rest = text.partition(f"<!-- {name} -->\n")
    old, end, after = rest.partition("<!-- end -->\n")
    if not marker or not end or "<!--" in old or marker in after:
        raise ValueError(f"the text needs one place for a table: <!-- {name} --> … <!-- end -->")
    return f"{before}{marker}\n{content}\n\n{end}{after}"


def main() -> None:
    """Renew the tables of every game."""
    for game_id in GAMES:
        path = rules_file(game_id)
        text = path.read_text(encoding="utf-8")
        path.write_text(with_tables(text, load_game(game_id)), encoding="utf-8")


if __name__ == "__main__":
    main()
