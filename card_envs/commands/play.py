"""The command ``play`` of ``card-envs``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from card_envs.agents import Agent, GameForfeitedError, ProgramAgent
from card_envs.agents.table import Table
from card_envs.commands.arguments import (
    AGENTS,
    add_game_argument,
    add_options_argument,
    output_file,
)
from card_envs.commands.running import check_answers
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.engine.history import Replay
from card_envs.games import how_to_play, load_game
from card_envs.render.text import describe
from card_envs.text.answers import meant, near
from card_envs.utils.words import counted, ranges

_RULE = "-" * 80
# Of more actions than this only their kinds are shown, so that the table stays on the screen.
_SCREENFUL = 20
_PLAY = "play a game against agents"


def add_play(commands: Any) -> None:
    """Add the command ``play`` to a program; the parsed arguments hold ``run``.

    Args:
        commands: What ``ArgumentParser.add_subparsers`` returned.
    """
    play = commands.add_parser("play", help=_PLAY, description=_PLAY)
    add_game_argument(play)
    play.add_argument(
        "--players", type=int, metavar="N", help="number of players (default: the game's)"
    )
    play.add_argument("--seat", type=int, default=0, metavar="K", help="your seat (default: 0)")
    play.add_argument(
        "--opponents",
        nargs="+",
        default=[],
        metavar="A",
        help=f"an agent for all other seats, or one for each from your left: {AGENTS} (default: "
        "heuristic, if the game has one)",
    )
    play.add_argument(
        "--seed", type=int, metavar="S", help="the game's seed (default: a random one)"
    )
    add_options_argument(play, "options of the game or of your view")
    play.add_argument(
        "--save", type=output_file, metavar="FILE", help="write a replay file at the end"
    )
    play.set_defaults(run=_run_play)


def _run_play(args: argparse.Namespace) -> None:
    game = load_game(args.game)
    num_players = game.check_num_players(args.players)
    options, view = game.split_options(game.parse_options(args.option))
    if not 0 <= args.seat < num_players:
        raise ValueError(f"--seat must be from 0 to {num_players - 1}, got {args.seat}")
    agents = _by_seat(game, args.opponents, num_players, args.seat)
    table = Table(game.name, agents, seed=args.seed, **options)
    _Session(table, args.seat, view, args.save).play()


def _by_seat(game: Game, names: Sequence[str], num_players: int, seat: int) -> list[str | None]:
    """The opponents' names by seat, which are given from the person's left; None for the person's
    own."""
    others = num_players - 1
    if len(names) < 2:
        names = [*names, game.default_opponent][:1] * others
    if len(names) != others:
        raise ValueError(
            f"--opponents must be one name, or one for each of the {others} other seats, "
            f"got {len(names)}"
        )
    around = [None, *names]
    return [around[(player - seat) % num_players] for player in range(num_players)]


def _unused(path: Path) -> Path:
    """The path, or one beside it if that is a file: a game that was not finished replaces none."""
    others = (path.with_stem(f"{path.stem}-{k}") for k in count(1))
    return next(other for other in chain([path], others) if not other.is_file())


class _Session:
    """A game between a person and agents."""

    def __init__(self, table: Table, seat: int, view: View, path: Path | None) -> None:
        self._table = table
        self._seat = seat
        self._view = view
        self._path = path
        # What the others did since the person's last decision, as they may know it: player and
        # actions in words.
        self._story: list[tuple[int, list[str]]] = []

    def play(self) -> None:
        """Play to the end, or until the person quits or interrupts."""
        try:
            self._play()
        except KeyboardInterrupt:  # an opponent thinks, or the table is shown
            print("\nYou left the game.")
        finally:
            self._table.close()
            if self._path is not None:  # an opponent may have failed
                path = self._path if self._table.is_over else _unused(self._path)
                Replay.of(self._table).save(path)
                print(f"The replay is in {path}.")
        programs = [agent for _, agent in self._opponents() if isinstance(agent, ProgramAgent)]
        check_answers(program.take_report() for program in programs)

    def _play(self) -> None:
        self._introduce()
        while not self._table.is_over:
            player = self._table.player
            if player == self._seat:
                action = self._ask()
                if action is None:
                    print("You left the game.")
                    return
            else:
                try:
                    action = self._table.choose()
                except GameForfeitedError as error:
                    print(f"The game is over. Player {player}, {error}.")
                    self._table.forfeit(player)
                    return
                self._remember(player, action)
            self._table.step(action)
        self._show_table()
        self._show_result()

    def _opponents(self) -> list[tuple[int, Agent]]:
        """Players and their agents."""
        return [(k, agent) for k, agent in enumerate(self._table.agents) if agent is not None]

    def _introduce(self) -> None:
        seed, _ = self._table.history
        print(f"{self._table.game.title}, seed {seed}. You are player {self._seat}.")
        for player, agent in self._opponents():
            print(f"Player {player} is {agent.name}.")
        print(f"How it is played: {how_to_play(self._table.game)}")

    def _remember(self, player: int, action: int) -> None:
        if not self._story or self._story[-1][0] != player:
            self._story.append((player, []))
        name = self._table.game.public_action_name(self._table.states, 0, action)
        self._story[-1][1].append(name)

    def _show_table(self) -> None:
        print(_RULE)
        for player, actions in self._story:
            print(f"Player {player}: {'; '.join(actions)}.")
        if self._story:
            print()
        self._story.clear()
        table = self._table
        print(describe(table.game, table.states, 0, self._seat, self._view.codes[0]))

    def _ask(self) -> int | None:
        """The person's action; None if they quit."""
        game = self._table.game
        names = {action: game.action_name(action) for action in self._table.legal_actions()}
        self._show_table()
        groups = game.actions.groups(names)
        is_long = len(names) > _SCREENFUL
        print(f"\n{_grouped(groups, names) if is_long else _listed(names, names)}")
        while True:
            try:
                answer = input("Your action (number or words, ? for all, q to quit): ").strip()
            except (EOFError, KeyboardInterrupt, RuntimeError):  # the last: there is no stdin
                print()
                return None
            except UnicodeDecodeError:
                answer = "this"
            if answer.lower() == "q":
                return None
            found = meant(answer, names, game.actions)
            if len(found) == 1:
                print(f"You: {names[found[0]]}.")
                return found[0]
            print(_explain(answer, found, names))

    def _show_result(self) -> None:
        places = self._table.places
        own = places[self._seat]
        shared = " (shared)" if places.count(own) > 1 else ""
        print(f"\nYour place: {own} of {len(places)}{shared}.")


def _listed(actions: Iterable[int], names: Mapping[int, str]) -> str:
    """Actions with their numbers, a line each."""
    return "\n".join(f"{action:>5}  {names[action]}" for action in actions)


def _grouped(groups: Mapping[str, Sequence[int]], names: Mapping[int, str]) -> str:
    """The groups of actions, a line each."""
    return "\n".join(
        _listed(actions, names)
        if len(actions) == 1
        else f"{'':>5}  {group} ({counted(len(actions), 'action')})"
        for group, actions in groups.items()
    )


def _explain(answer: str, found: Sequence[int], names: Mapping[int, str]) -> str:
    """What to say to an answer that is not one action."""
    if answer == "?":
        return _listed(names, names)
    if found:
        return f"{_listed(found, names)}\n{answer!r} could mean any of these."
    if others := near(answer, names):
        return f"{_listed(others, names)}\n{answer!r} has the words of these, but in another order."
    possible = "what ? shows" if len(names) > _SCREENFUL else ranges(list(names))
    return f"{answer!r} is not possible here; you can enter {possible}, or q to quit."
