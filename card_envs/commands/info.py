"""The commands ``list`` and ``info`` of ``card-envs``."""

from __future__ import annotations

import argparse
import json
from typing import Any

from card_envs.agents import names_with_versions, shipped_policies
from card_envs.commands.arguments import add_game_argument
from card_envs.contract.description import describe_game
from card_envs.contract.game import Game
from card_envs.contract.options import VIEW_OPTIONS
from card_envs.games import about, how_to_play, load_game, load_games
from card_envs.utils.words import filled, ranges, table

_LIST = "list the games"
_INFO = "options, actions, observation and agents of a game"


def add_info(commands: Any) -> None:
    """Add the commands ``list`` and ``info`` to a program; the parsed arguments hold ``run``.

    Args:
        commands: What ``ArgumentParser.add_subparsers`` returned.
    """
    listing = commands.add_parser("list", help=_LIST, description=_LIST)
    listing.set_defaults(run=_run_list)

    info = commands.add_parser("info", help=_INFO, description=_INFO)
    add_game_argument(info)
    info.add_argument("--json", action="store_true", help="the same as JSON")
    info.set_defaults(run=_run_info)


def _run_list(args: argparse.Namespace) -> None:
    rows = [["game", "title", "players", "actions", "observation", "policies"]]
    for game in load_games():
        rows.append(
            [
                game.id,
                game.title,
                f"{game.min_players}-{game.max_players}",
                str(game.num_actions),
                str(game.fields.size),
                ", ".join(shipped_policies(game)) or "-",
            ]
        )
    print(table(rows, align="<<>>>"))


def _run_info(args: argparse.Namespace) -> None:
    game = load_game(args.game)

    if args.json:
        about = {**describe_game(game), "agents": names_with_versions(game)}
        print(json.dumps(about, indent=2))
    else:
        print(_describe_game(game))


def _describe_game(game: Game) -> str:
    players = f"{game.min_players} to {game.max_players}, by default {game.default_players}"
    summary = [
        ["players", players],
        ["actions", str(game.num_actions)],
        ["observation", f"{game.fields.size} values from 0 to 1"],
        ["how to play", str(how_to_play(game))],
        ["agents", ", ".join(names_with_versions(game))],
        ["PettingZoo", f'card_envs.make("{game.id}", num_players={game.default_players})'],
        ["Gymnasium", f'gymnasium.make("card_envs:{game.gymnasium_id}")'],
    ]
    options = [["option", "default", "allowed", "meaning"]]
    options += [[o.name, repr(o.default), o.allowed, o.doc] for o in (*game.options, *VIEW_OPTIONS)]
    actions = [["index", "action (# a number, ... more words)"]]
    groups = game.actions.groups(range(game.num_actions))
    actions += [[ranges(numbers), group] for group, numbers in groups.items()]
    fields = [("index", "field", "shape", "scale", "meaning"), *game.fields.rows()]
    return "\n\n".join(
        [
            f"{game.title} ({game.name})",
            *filter(None, [filled(about(game), indent="")]),
            table(summary),
            "Options (--option KEY=VALUE)\n" + table(options),
            "Actions\n" + table(actions),
            "A player's observation (seats are relative: their own is 0, then clockwise)\n"
            + table(fields),
        ]
    )
