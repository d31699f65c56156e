"""The program ``card-envs``: list, describe, play, evaluate and serve games, and show replays."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from card_envs.commands import running
from card_envs.commands.arguments import add_games_argument, parse_arguments
from card_envs.commands.benchmark import add_benchmark
from card_envs.commands.compilation import add_compile
from card_envs.commands.evaluation import add_evaluate, add_tournament
from card_envs.commands.info import add_info
from card_envs.commands.play import add_play
from card_envs.commands.record import add_record
from card_envs.commands.replay import add_replay
from card_envs.commands.serve import add_serve
from card_envs.utils.extras import import_extra
from card_envs.utils.version import VERSION
from card_envs.utils.words import did_you_mean

_PROGRAM = "card-envs"


class _Parser(argparse.ArgumentParser):
    """A parser that proposes a choice for one that there is not."""

    def error(self, message: str) -> NoReturn:
        """Print the error and leave."""
        wrong = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        hint = did_you_mean(wrong[1], re.findall(r"[\w-]+", wrong[2])) if wrong else ""
        super().error(message + hint)


@running.command(_PROGRAM)
def main(argv: Sequence[str] | None) -> int | None:
    """The program ``card-envs``."""
    parser = _Parser(
        prog=_PROGRAM,
        description="Card games with hidden information, in the terminal and the browser.",
    )
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {VERSION}")
    add_games_argument(parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_info(commands)
    add_play(commands)
    add_replay(commands)
    add_compile(commands)
    add_evaluate(commands)
    add_tournament(commands)
    add_benchmark(commands)
    add_record(commands)
    add_serve(commands)
    for command in commands.choices.values():
        add_games_argument(command)
    if "_ARGCOMPLETE" in os.environ:  # the shell asks
        import_extra("argcomplete", "completion").autocomplete(parser)
    args = parse_arguments(parser, argv, commands.choices.values())
    status: int | None = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
