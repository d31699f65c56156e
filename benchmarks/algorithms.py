"""Algorithms compared: what their policies are worth after the same number of decisions.

    python -m benchmarks.algorithms --game beaver_gang --json FILE
    python -m benchmarks.algorithms --game beaver_gang --algorithms MINE.yaml --json FILE

A file lists algorithms, each as the commands that make a policy file; the default is
``configs/algorithms/list.yaml``. Every algorithm is run with several seeds at one table size, in
folders below ``--out``; finished runs are not repeated. Each policy then plays alone among copies
of other agents, on the same deals: the scripted player, ``ppo``, and each other algorithm's policy
of the same seed. Search with its own rollouts plays among its copies: what that gains is a lower
bound of its exploitability. Where ``--exact`` gives seeds of all deals, the exploitability itself
is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib

from benchmarks import report
from benchmarks.algorithm_runs import AlgorithmRun, load_algorithms, run_of
from benchmarks.exploitability import check_two_players, exploitability
from card_envs.agents import NetworkAgent, shipped_policies
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds
from card_envs.games import load_game
from training.runs.evaluation import check_search, one_against
from training.runs.records import identity
from training.runs.tasks import do_calls

PACKAGES = ("numba", "numpy", "sb3-contrib", "stable-baselines3", "torch")
ALGORITHMS = Path("configs") / "algorithms" / "list.yaml"

#: Games without an end among weak policies are truncated after this many decisions.
MAX_STEPS = 1000


def measure_run(
    run: AlgorithmRun,
    game: Game,
    players: int,
    opponents: Sequence[str],
    deals: int,
    search: str,
    search_deals: int,
    exact: Sequence[int],
) -> dict[str, Any]:
    """Train, unless that is done, and measure the policy.

    Args:
        run: The run.
        game: The game, so that a process that does not know it yet learns of it.
        players: The number of players.
        opponents: The agents that it plays among copies of.
        deals: Duplicate deals of these matches.
        search: The search agent's name without its policy.
        search_deals: Duplicate deals of the search; 0: it is left out.
        exact: Seeds of all deals, for the exact exploitability; none: it is left out.

    Returns:
        ``seconds``, ``identity``, ``against`` (by opponent: ``rank``, ``rank_ci95``, ``truncated``)
        and, where asked for, ``search`` (the same) and ``exploitability``.

    Raises:
        ValueError: A command of the run failed, or its policy file is damaged.
    """
    seconds = run.finish()
    policy = str(run.policy)
    measured: dict[str, Any] = {
        "seconds": round(seconds, 1),
        "identity": identity(policy, game).rpartition(" ")[2],
        "against": {name: _play(game, policy, name, players, deals) for name in opponents},
    }
    if search_deals:
        searcher = f"{search},policy={policy}"
        measured["search"] = _play(game, searcher, policy, players, search_deals)
    if exact:
        measured["exploitability"] = exploitability(
            game, exact, NetworkAgent.from_file(policy, game)
        )
    return measured


def _play(game: Game, one: str, others: str, players: int, deals: int) -> dict[str, Any]:
    """An agent among copies of another."""
    return one_against(game, one, others, players, deals, 0, {"max_steps": MAX_STEPS})


def cross_play(
    runs: Sequence[AlgorithmRun], game: Game, players: int, deals: int
) -> dict[str, dict[str, float]]:
    """The rank reward of each run's policy among copies of each other's.

    Args:
        runs: Finished runs of different algorithms.
        game: The game.
        players: The number of players.
        deals: Duplicate deals.

    Returns:
        By the one's name, and by the others'.
    """
    return {
        one.name: {
            other.name: _play(game, str(one.policy), str(other.policy), players, deals)["rank"]
            for other in runs
            if other is not one
        }
        for one in runs
    }


def measure(
    game_id: str,
    path: Path,
    *,
    players: int | None,
    seeds: Sequence[int],
    deals: int,
    search: str,
    search_deals: int,
    exact: Sequence[int],
    out: Path,
    jobs: int,
) -> dict[str, Any]:
    """Run and measure all algorithms of a file.

    Args:
        game_id: The game.
        path: The file.
        players: The number of players; None: the game's default.
        seeds: Of the runs of each algorithm.
        deals: As for :func:`measure_run`, and half of it in cross-play.
        search: As for :func:`measure_run`.
        search_deals: As for :func:`measure_run`.
        exact: As for :func:`measure_run`.
        out: The folder of the runs.
        jobs: Runs at a time; -1: as many as there are cores.

    Returns:
        The document that is written as JSON.

    Raises:
        ValueError: Something in the file or in the arguments is wrong, or a run failed.
    """
    game = load_game(game_id)
    table_size = game.check_num_players(players)
    listed = load_algorithms(path)
    deal_seeds(0, deals)
    runs = {
        (name, seed): run_of(listed, name, game, table_size, seed, out)
        for name in listed.algorithms
        for seed in seeds
    }
    # A mistake must not come up after hours.
    for run in runs.values():
        run.commands()
    check_search(search, search_deals, game)
    if exact:
        check_two_players(game)
    opponents = [game.default_opponent, *(n for n in shipped_policies(game) if n == "ppo")]
    how = (game, table_size, opponents, deals, search, search_deals, exact)
    calls = [joblib.delayed(measure_run)(run, *how) for run in runs.values()]
    measured = do_calls(calls, "runs", jobs)
    calls = [
        joblib.delayed(cross_play)(
            [runs[name, seed] for name in listed.algorithms], game, table_size, max(2, deals // 2)
        )
        for seed in seeds
    ]
    matrices = do_calls(calls, "cross-play", jobs)
    results: dict[str, Any] = {
        name: {"about": entry.about, "decisions": entry.decisions, "runs": []}
        for name, entry in listed.algorithms.items()
    }
    for (name, seed), result in zip(runs, measured, strict=True):
        results[name]["runs"].append({"seed": seed, **result})
    arguments = ["--game", game.id, "--algorithms", str(path), "--seeds", *map(str, seeds)]
    arguments += ["--deals", str(deals), "--search", search, "--search-deals", str(search_deals)]
    arguments += ["--players", str(table_size)]
    if exact:
        arguments += ["--exact", *map(str, exact)]
    return report.document(
        "algorithms",
        game.id,
        arguments,
        PACKAGES,
        {
            "num_players": table_size,
            "seeds": list(seeds),
            "deals": deals,
            "opponents": opponents,
            "search": search,
            "search_deals": search_deals,
            "max_steps": MAX_STEPS,
        },
        {"algorithms": results, "cross_play": matrices},
    )


@running.command("benchmarks.algorithms")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.algorithms``."""
    parser = arguments.module_parser("benchmarks.algorithms", __doc__)
    parser.add_argument(
        "--algorithms",
        type=Path,
        default=ALGORITHMS,
        metavar="FILE",
        help=f"the list of algorithms; default: {ALGORITHMS}",
    )
    report.add_run_arguments(parser)
    parser.add_argument(
        "--deals",
        type=int,
        default=500,
        metavar="N",
        help="deals of a match, each in all seatings (default: 500); half of it in cross-play",
    )
    parser.add_argument(
        "--search", default="search:64", metavar="AGENT", help="the exploiter; default: search:64"
    )
    parser.add_argument(
        "--search-deals",
        type=int,
        default=20,
        metavar="N",
        help="deals of the exploiter (default: 20); 0 leaves it out",
    )
    parser.add_argument(
        "--exact",
        nargs="+",
        type=int,
        default=[],
        metavar="SEED",
        help="seeds of all deals of a game for two, for the exact exploitability",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs") / "algorithms",
        metavar="DIR",
        help="the folder of the runs; default: runs/algorithms",
    )
    args = report.parse_arguments(parser, argv)
    report.check_seeds(args.seeds)
    report.finish(
        args,
        lambda: measure(
            args.game,
            args.algorithms,
            players=args.players,
            seeds=args.seeds,
            deals=args.deals,
            search=args.search,
            search_deals=args.search_deals,
            exact=args.exact,
            out=args.out,
            jobs=args.jobs,
        ),
    )


if __name__ == "__main__":
    raise SystemExit(main())
