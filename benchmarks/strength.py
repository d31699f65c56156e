"""How strong each agent is: every agent against every other at every table size.

    python -m benchmarks.strength --game beaver_gang --json FILE

All tables that can be made of the agents are played, duplicate deals in all seatings, and rated as
in a tournament. A table that was played before with the same agents, deals and game is read from
``--cache``. With ``--backend ray`` the tables are played on the Ray cluster of ``RAY_ADDRESS``, or
on one that is started on this machine; the nodes need the package's dependencies. The results are
the same to the byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file, save

import card_envs
from benchmarks import report
from card_envs.agents import NetworkAgent, agent_names, policy_path
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation import MatchResults, deal_seeds, play_deals, random_orders, summarize
from card_envs.evaluation.deals import check_agent
from card_envs.evaluation.tournament import check_entrants, tables_of
from card_envs.games import load_game
from card_envs.utils.files import hash_of, write_output
from card_envs.utils.progress import track
from training.runs.records import command_as_typed, identity, predecessors, versions
from training.runs.tasks import add_arguments, do_tasks


def play_table(
    names: Sequence[str], game: Game, policies: Mapping[str, bytes], deals: int, seed: int
) -> MatchResults:
    """Play one table, perhaps on another machine, which gets the policies' files.

    Args:
        names: The table's agents.
        game: The game.
        policies: What is in the files of those that are policies.
        deals: How many deals.
        seed: The deals' seed.
    """
    agents: dict[str, NetworkAgent] = {}
    with TemporaryDirectory() as folder:
        file = Path(folder, "policy.safetensors")
        for name in policies.keys() & {*names}:
            file.write_bytes(policies[name])
            agents[name] = NetworkAgent.from_file(file, game, name=name, draw_seed=seed)
    return play_deals(
        game,
        [agents.get(name, name) for name in names],
        deal_seeds(seed, deals),
        orders=random_orders(seed, deals, len(names)),
        agent_seed=seed,
    )


class Cache:
    """The finished tables: a folder of files, named after all that they depend on.

    Args:
        folder: The folder; it is made when a table is saved.
        game: The game.
        names: The agents.
        deals: Deals of every table.
        seed: The deals' seed.
    """

    def __init__(self, folder: Path, game: Game, names: Sequence[str], deals: int, seed: int):
        self._folder = folder
        self.identities = {name: identity(name, game) for name in names}
        package = Path(card_envs.__file__).parent
        players = hash_of(
            [*sorted(package.glob("agents/**/*.py")), package / "evaluation/deals.py"]
        )
        # Old results must not pass for those of new rules, observations or agents.
        self._about = [game.sources, players, deals, seed]

    def _path(self, table: Sequence[str]) -> Path:
        key = json.dumps([*self._about, *(self.identities[name] for name in table)])
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.safetensors"

    def load(self, table: Sequence[str]) -> MatchResults | None:
        """The table's results, or None if they are not there: those of a program never are, whose
        name does not say what it does.

        Raises:
            ValueError: They are damaged.
        """
        path = self._path(table)
        if not path.exists():
            return None
        try:
            arrays = load_file(path)
            return MatchResults(arrays["standing"], arrays["score"], arrays["truncated"])
        except (SafetensorError, OSError, KeyError) as error:
            raise ValueError(f"the finished table {path} is damaged, delete it: {error}") from None

    def save(self, table: Sequence[str], played: MatchResults) -> None:
        """Keep the table's results, unless a program took part."""
        if played.programs:
            return
        arrays = {"standing": played.standing, "score": played.score, "truncated": played.truncated}
        write_output(self._path(table), save(arrays))


@dataclass(frozen=True)
class Matches:
    """How many games are played at each table, and where.

    Attributes:
        deals: Deals of every table, each played in all cyclic seatings; at least 2.
        seed: The deals' seed.
        cache: The folder of finished tables.
        jobs: Tables at a time; -1: as many as there are cores.
        backend: ``loky`` (this machine) or ``ray`` (a cluster).
    """

    deals: int
    seed: int
    cache: Path
    jobs: int
    backend: str

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser, deals: int) -> None:
        """Add the arguments.

        Args:
            parser: The command's.
            deals: The default number of deals.
        """
        how_many = f"default: {deals}"
        parser.add_argument("--deals", type=int, default=deals, metavar="N", help=how_many)
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
        add_arguments(parser, "tables")
        parser.add_argument(
            "--cache",
            type=Path,
            default=Path("runs") / "strength",
            metavar="DIR",
            help="where finished tables are kept; default: runs/strength",
        )

    @classmethod
    def of(cls, args: argparse.Namespace) -> Matches:
        """What the arguments say."""
        return cls(args.deals, args.seed, args.cache, args.jobs, args.backend)

    @property
    def words(self) -> list[str]:
        """The arguments that decide about the results."""
        return ["--deals", str(self.deals), "--seed", str(self.seed)]


def play_tables(
    game: Game, names: Sequence[str], tables: Sequence[tuple[int, ...]], matches: Matches
) -> tuple[list[MatchResults], dict[str, str]]:
    """Play what has not been played.

    Args:
        game: The game.
        names: Two or more different agents.
        tables: The agents at each table's places, as indices of ``names``.
        matches: How many games, and where.

    Returns:
        The tables' results, and the agents' identities by name.

    Raises:
        ValueError: An agent or a number is wrong, or a finished table is damaged.
    """
    deals, seed = matches.deals, matches.seed
    check_entrants(names)
    deal_seeds(seed, deals)
    for name in names:
        check_agent(name, [game], seed)
    paths = {name: policy_path(name, game) for name in names}
    policies = {name: path.read_bytes() for name, path in paths.items() if path is not None}
    finished = Cache(matches.cache, game, names, deals, seed)
    played: dict[tuple[int, ...], MatchResults] = {}
    for table in tables:
        result = finished.load([names[k] for k in table])
        if result is not None:
            played[table] = result
    missing = [table for table in tables if table not in played]
    seated = [[names[k] for k in table] for table in missing]
    results = do_tasks(
        play_table,
        seated,
        (game, policies, deals, seed),
        [game],
        jobs=matches.jobs,
        backend=matches.backend,
        patience=deals,
    )
    # Table by table, so that what is finished is kept when the rest is not.
    for _, (i, result) in zip(track(range(len(missing)), "tables"), results, strict=True):
        finished.save(seated[i], result)
        played[missing[i]] = result
    return [played[table] for table in tables], finished.identities


def measure(game_id: str, names: Sequence[str], matches: Matches) -> dict[str, Any]:
    """Play all tables, and return what ``--json`` writes.

    Args:
        game_id: The game.
        names: Two or more different agents; the results do not depend on their order.
        matches: How many games, and where.

    Raises:
        ValueError: As for :func:`play_tables`.
    """
    game = load_game(game_id)
    sizes = game.table_sizes
    tables = [table for players in sizes for table in tables_of(len(names), players)]
    ordered = sorted(names)
    played, identities = play_tables(game, ordered, tables, matches)
    seed = matches.seed
    by_size = {}
    for players in sizes:
        own = [k for k, table in enumerate(tables) if len(table) == players]
        summary = summarize(ordered, [tables[k] for k in own], [played[k] for k in own], seed)
        by_size[str(players)] = summary.listed(names).to_json()
    overall = summarize(ordered, tables, played, seed).listed(names).to_json()
    del overall["tables"]  # they are with their sizes
    words = ["--game", game_id, "--agents", *names, *matches.words]
    return {
        "benchmark": "strength",
        "game": game_id,
        "command": command_as_typed("benchmarks.strength", *words),
        "versions": versions(("numba", "numpy")),
        "agents": [identities[name] for name in names],
        "deals": matches.deals,
        "seed": seed,
        "overall": overall,
        "by_num_players": by_size,
    }


def default_agents(game: Game) -> list[str]:
    """Random, the heuristic if the game has one, and all policies of the game."""
    return [*agent_names(game), *predecessors(game)]


@running.command("benchmarks.strength")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.strength``."""
    parser = arguments.module_parser("benchmarks.strength", __doc__)
    parser.add_argument(
        "--agents",
        nargs="+",
        metavar="A",
        help="names or policy files; default: random, heuristic and all policies of the game",
    )
    Matches.add_arguments(parser, deals=100)
    args = report.parse_arguments(parser, argv)
    game = load_game(args.game)
    names = args.agents or default_agents(game)
    report.finish(
        args,
        lambda: measure(args.game, names, Matches.of(args)),
    )


if __name__ == "__main__":
    raise SystemExit(main())
