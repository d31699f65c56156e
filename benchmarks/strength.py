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
import inspect
import json
import logging
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from threadpoolctl import threadpool_limits

import card_envs
from benchmarks import leaderboard, report
from card_envs import command
from card_envs.agents import (
    Agent,
    NetworkAgent,
    make_agent,
    network,
    policy_path,
    scripted,
    shipped_policies,
)
from card_envs.engine.game import Game
from card_envs.evaluation import MatchResults, deal_seeds, play_deals, random_orders, summarize
from card_envs.evaluation.tournament import check_entrants, tables_of, track
from card_envs.games import load_game
from training.records import command_as_typed, identity, predecessors

logger = logging.getLogger("card_envs")

# How long a Ray cluster may take to answer, and to finish another table before it is reported, and
# given up. A worker's first table may have to compile the game.
_SECONDS_TO_CONNECT = 10
_SECONDS_TO_REPORT = 60
_SECONDS_TO_GIVE_UP = 1800


def play_table(
    game: Game, names: Sequence[str], policies: Mapping[str, bytes], deals: int, seed: int
) -> MatchResults:
    """Play one table, perhaps on another machine, which gets the policies' files.

    Args:
        game: The game.
        names: The table's agents.
        policies: What is in the files of those that are policies.
        deals: How many deals.
        seed: The deals' seed.
    """
    agents: dict[str, Agent] = {}
    with TemporaryDirectory() as folder:
        for name in names:
            if name in policies:
                file = Path(folder, "policy.safetensors")
                file.write_bytes(policies[name])
                agents[name] = NetworkAgent(file, game, name=name)
            else:
                agents[name] = make_agent(name, game, seed=seed)
    try:
        with threadpool_limits(1, "blas"):  # several threads sum in an order of their own
            return play_deals(
                game,
                [agents[name] for name in names],
                deal_seeds(seed, deals),
                orders=random_orders(seed, deals, len(names)),
            )
    finally:
        for agent in agents.values():
            agent.close()


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
        players = hashlib.sha256()
        for source in (network, scripted, MatchResults, play_deals):
            players.update(inspect.getsource(source).encode())
        # Old results must not pass for those of new rules, observations or agents.
        self._about = [game.sources, players.hexdigest(), deals, seed]

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
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(table)
        new = path.with_suffix(".new")
        arrays = {"standing": played.standing, "score": played.score, "truncated": played.truncated}
        save_file(arrays, new)
        new.replace(path)


def measure(
    game_id: str,
    names: Sequence[str],
    deals: int,
    seed: int,
    *,
    cache: Path,
    jobs: int,
    backend: str,
) -> dict[str, Any]:
    """Play what has not been played, and return what ``--json`` writes.

    Args:
        game_id: The game.
        names: Two or more different agents.
        deals: Deals of every table, each played in all cyclic seatings; at least 2.
        seed: The deals' seed.
        cache: The folder of finished tables.
        jobs: Tables at a time; -1: as many as there are cores.
        backend: ``loky`` (this machine) or ``ray`` (a cluster).

    Raises:
        ValueError: An agent or a number is wrong, or a finished table is damaged.
    """
    game = load_game(game_id)
    check_entrants(names)
    deal_seeds(seed, deals)
    for name in names:
        make_agent(name, game)
    paths = {name: policy_path(name, game) for name in names}
    policies = {name: path.read_bytes() for name, path in paths.items() if path is not None}
    finished = Cache(cache, game, names, deals, seed)
    sizes = range(game.min_players, game.max_players + 1)
    tables = [table for players in sizes for table in tables_of(len(names), players)]
    played: dict[tuple[int, ...], MatchResults] = {}
    for table in tables:
        result = finished.load([names[k] for k in table])
        if result is not None:
            played[table] = result
    missing = [table for table in tables if table not in played]
    seated = [[names[k] for k in table] for table in missing]
    play = _play_on_ray if backend == "ray" else _play_here
    results = play(game, seated, policies, deals, seed, jobs)
    # Table by table, so that what is finished is kept when the rest is not.
    for _, (i, result) in zip(track(range(len(missing)), "tables"), results, strict=True):
        finished.save(seated[i], result)
        played[missing[i]] = result
    by_size = {}
    with threadpool_limits(1, "blas"):
        for players in sizes:
            own = [table for table in tables if len(table) == players]
            summary = summarize(names, own, [played[t] for t in own], seed)
            by_size[str(players)] = summary.to_json()
        overall = summarize(names, tables, [played[t] for t in tables], seed).to_json()
    del overall["tables"]  # they are with their sizes
    return {
        "benchmark": "strength",
        "game": game_id,
        "command": command_as_typed(
            "benchmarks.strength",
            "--game",
            game_id,
            "--agents",
            *names,
            *("--deals", str(deals)),
            *("--seed", str(seed)),
        ),
        "agents": [finished.identities[name] for name in names],
        "deals": deals,
        "seed": seed,
        "overall": overall,
        "by_num_players": by_size,
    }


def _play_here(
    game: Game,
    tables: Sequence[Sequence[str]],
    policies: Mapping[str, bytes],
    deals: int,
    seed: int,
    jobs: int,
) -> Iterator[tuple[int, MatchResults]]:
    """Play tables in this machine's processes: a table's index and results, one after another."""
    pool = joblib.Parallel(n_jobs=jobs, return_as="generator")
    yield from enumerate(
        pool(joblib.delayed(play_table)(game, table, policies, deals, seed) for table in tables)
    )


def _play_on_ray(
    game: Game,
    tables: Sequence[Sequence[str]],
    policies: Mapping[str, bytes],
    deals: int,
    seed: int,
    jobs: int,
) -> Iterator[tuple[int, MatchResults]]:
    """Play tables on a Ray cluster: a table's index and results, as they are finished.

    Raises:
        ValueError: Ray is missing, the cluster does not answer or cannot play, or it has not
            finished a table for too long.
    """
    try:
        import ray
    except ImportError:
        raise ValueError("--backend ray needs Ray: pip install --group cluster") from None
    if jobs < 1 and jobs != -1:
        raise ValueError(f"with --backend ray, jobs must be -1 or at least 1, got {jobs}")
    if not tables:
        return
    # Never Ray's default, the cluster that was last started on this machine: if that was killed,
    # Ray waits for it for a quarter of an hour.
    address = os.environ.get("RAY_ADDRESS") or "local"
    _check_answers(address)
    with ray.init(address, runtime_env={"py_modules": _packages(game)}):
        shared = ray.put(dict(policies))
        task = ray.remote(play_table)
        waiting = iter(range(len(tables)))
        running: dict[Any, int] = {}
        silent = 0.0
        while True:
            for i in islice(waiting, jobs - len(running) if jobs > 0 else None):
                running[task.remote(game, tables[i], shared, deals, seed)] = i
            if not running:
                return
            done, _ = ray.wait(list(running), timeout=_SECONDS_TO_REPORT)
            if done:
                silent = 0.0
                try:
                    result = ray.get(done[0])
                except ray.exceptions.RayError as error:
                    raise ValueError(f"the Ray cluster cannot play a table: {error}") from None
                yield running.pop(done[0]), result
                continue
            silent += _SECONDS_TO_REPORT
            free, total = ray.available_resources(), ray.cluster_resources()
            state = (
                f"no table was finished within {silent:.0f} s: {len(running)} are running or wait, "
                f"{free.get('CPU', 0):.0f} of the cluster's {total.get('CPU', 0):.0f} CPUs are free"
            )
            if silent >= _SECONDS_TO_GIVE_UP + deals:
                raise ValueError(state)
            logger.warning("%s", state)


def _check_answers(address: str) -> None:
    """Check that something listens at a cluster's address, if it is ``[ray://]host:port``.

    Raises:
        ValueError: Nothing does.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=_SECONDS_TO_CONNECT).close()
        except OSError as error:
            raise ValueError(f"no Ray cluster answers at RAY_ADDRESS={address}: {error}") from None


def _packages(game: Game) -> list[str]:
    """The folders of the packages that a worker imports: the repository's, and the game's own."""
    root = Path(__file__).parent.parent
    folders = {root / package for package in ("card_envs", "training", "benchmarks")}
    package = sys.modules[game.package.partition(".")[0]]
    if package is not card_envs:  # a game of another package
        folders.add(Path(str(package.__file__)).parent)
    return sorted(map(str, folders))


def default_agents(game: Game) -> list[str]:
    """Random, the heuristic if the game has one, and all policies of the game."""
    scripted_ones = ["heuristic"] if game.heuristic is not None else []
    return ["random", *scripted_ones, *shipped_policies(game), *predecessors(game)]


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.strength", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--agents",
        nargs="+",
        metavar="A",
        help="names or policy files; default: random, heuristic and all policies of the game",
    )
    parser.add_argument("--deals", type=int, default=100, metavar="N", help="default: 100")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="default: all cores")
    parser.add_argument(
        "--backend", choices=["loky", "ray"], default="loky", help="this machine, or a Ray cluster"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path("runs") / "strength",
        metavar="DIR",
        help="where finished tables are kept; default: runs/strength",
    )
    args = report.parse_arguments(parser, argv)
    game = load_game(args.game)
    names = args.agents or default_agents(game)
    report.finish(
        args,
        lambda: measure(
            args.game,
            names,
            args.deals,
            args.seed,
            cache=args.cache,
            jobs=args.jobs,
            backend=args.backend,
        ),
        "strength",
        leaderboard.table,
    )
    if args.readme:
        leaderboard.rewrite()


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m benchmarks.strength``; returns the exit status."""
    return command.run("benchmarks.strength", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
