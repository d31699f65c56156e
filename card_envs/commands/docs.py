"""Writes the tables that are generated from a game into its RULES.md.

    python -m card_envs.commands.docs [--games-from MODULE …]

Without ``--games-from`` it does so for the games of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from card_envs.commands import running
from card_envs.commands.arguments import (
    add_games_argument,
    import_games,
    module_parser,
    parse_arguments,
)
from card_envs.contract.actions import Action, Actions, Parameter, examples
from card_envs.contract.game import Game
from card_envs.contract.options import VIEW_OPTIONS, Option
from card_envs.games import GAMES, is_of_this_package, load_game, rules_file
from card_envs.utils.files import write_text
from card_envs.utils.markdown import markdown_table, with_section


def action_rows(game: Game) -> list[tuple[str, str, str]]:
    """Index, kind and words of each group of actions."""
    rows = []
    for _, run in groupby(range(game.num_actions), key=game.actions.group):
        first, *others = run
        index = f"{first}..{others[-1]}" if others else f"{first}"
        kind, _ = game.actions.decode(first)
        rows.append((index, kind, _in_words(game.actions, [first, *others])))
    return rows


def action_table(game: Game) -> str:
    """The actions as a Markdown table."""
    rows = [(index, f"`{kind}`", words) for index, kind, words in action_rows(game)]
    return markdown_table(("index", "kind", "action"), rows)


def _in_words(actions: Actions, group: list[int]) -> str:
    """The actions of a group, with examples or a range in place of the parameter that varies, or
    with the formula of the index where several parameters of a product do."""
    kind = actions[actions.decode(group[0])[0]]
    shown = actions.words_of(group[0])
    columns = {name: [actions.words_of(action)[name] for action in group] for name in shown}
    varying = [name for name, column in columns.items() if len(set(column)) > 1]
    if len(varying) == 1:
        (name,) = varying
        shown[name] = _span(kind.parameters[name], columns[name])
    elif varying and not kind.is_product:
        return examples([actions.names[action] for action in group], "; ")
    elif varying:
        shown |= {name: f"*{name}*" for name in varying}
    words = kind.words.format(**shown)
    return f"{words}: {_formula(kind, group[0], varying)}" if len(varying) > 1 else words


def _span(parameter: Parameter, words: Sequence[str]) -> str:
    """The words for some of a parameter's values, e.g. ``0..3`` or ``cats; horses; …; parrots``."""
    return f"{words[0]}..{words[-1]}" if parameter.is_number else examples(words, "; ")


def _formula(kind: Action, first: int, varying: list[str]) -> str:
    """The index of an action in a product, from the strides of the parameters that vary."""
    terms, where = [str(first)], []
    for name in varying:
        parameter, stride = kind.parameters[name], kind.stride(name)
        low = parameter.values[0] if parameter.is_range else 0
        term = f"(*{name}* − {low})" if low else f"*{name}*"
        terms.append(f"{stride}·{term}" if stride > 1 else term)
        span = _span(parameter, parameter.words)
        if not parameter.is_range:
            span = f"counted from 0 in {span}"
        elif not parameter.is_number:
            span = f"{parameter.allowed} for {span}"
        where.append(f"*{name}* {span}")
    return f"{' + '.join(terms)} ({', '.join(where)})"


def options_table(game: Game) -> str:
    """Every option, ``num_players`` among them, as a Markdown table."""
    players = Option(
        "num_players",
        game.default_players,
        "number of players",
        minimum=game.min_players,
        maximum=game.max_players,
    )
    rows = [
        (f"`{option.name}`", f"`{option.default!r}`", option.allowed, option.doc)
        for option in (players, *game.options, *VIEW_OPTIONS)
    ]
    return markdown_table(("option", "default", "values", "meaning"), rows)


def with_generated_tables(text: str, game: Game) -> str:
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


@running.command("card_envs.commands.docs")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m card_envs.commands.docs``."""
    parser = module_parser("card_envs.commands.docs", __doc__)
    add_games_argument(parser)
    args = parse_arguments(parser, argv)
    games = import_games(args.games_from) or [
        game for game in map(load_game, GAMES.names) if is_of_this_package(game)
    ]
    for game in games:
        path = rules_file(game)
        old = path.read_text(encoding="utf-8")
        new = with_generated_tables(old, game)
        if new != old:
            write_text(path, new)


if __name__ == "__main__":
    raise SystemExit(main())
