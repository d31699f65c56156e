"""What perfect recall is worth: learners that are given it, that have none, and that remember.

    python -m benchmarks.memory --game beaver_gang --json FILE

The same PPO learns in one seat among scripted players: with ``memory="perfect"``, with
``memory="none"``, and with ``memory="none"`` and a recurrent network, which may remember what it
has seen at its own decisions. Each then plays the same games, taking its most probable actions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import joblib
import torch

from benchmarks import report
from benchmarks.recurrent_ppo import Hyperparameters, play, train
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation import estimate_mean
from card_envs.games import load_game
from training.runs.tasks import add_jobs_argument, do_calls

PACKAGES = ("numba", "numpy", "torch")

#: What is compared: memory, and the network's core.
LEARNERS = (("perfect", "feedforward"), ("none", "feedforward"), ("none", "recurrent"))

# Games that nothing is learned from: a run's begin with 256 times its seed.
_GAMES_SEED = 10**9
_MAX_SEED = 10**6


def measure_learner(
    game: Game, num_players: int, memory: str, core: str, decisions: int, games: int, seed: int
) -> dict[str, Any]:
    """Train a learner with one seed, and let it play.

    Returns:
        ``seed``, ``rank``, ``rank_ci95`` (over games) and ``seconds`` of training.
    """
    torch.set_num_threads(1)
    begun = time.monotonic()
    network = train(game, num_players, memory, core, decisions, seed)
    seconds = time.monotonic() - begun
    rank = estimate_mean(play(network, game, num_players, memory, games, _GAMES_SEED))
    return {"seed": seed, **rank.to_json("rank"), "seconds": round(seconds, 1)}


def measure(
    game_id: str,
    *,
    players: int | None,
    decisions: int,
    games: int,
    seeds: Sequence[int],
    jobs: int,
) -> dict[str, Any]:
    """Train and measure all learners.

    Args:
        game_id: The game.
        players: The number of players; None: the game's default.
        decisions: Learner decisions of each run.
        games: Games that each learner then plays.
        seeds: Of the runs of each learner.
        jobs: Runs at a time; -1: as many as there are cores.

    Returns:
        The document that is written as JSON.

    Raises:
        ValueError: A number is not allowed.
    """
    game = load_game(game_id)
    table_size = game.check_num_players(players)
    tasks = [(memory, core, seed) for memory, core in LEARNERS for seed in seeds]
    calls = [
        joblib.delayed(measure_learner)(game, table_size, memory, core, decisions, games, seed)
        for memory, core, seed in tasks
    ]
    measured = do_calls(calls, "runs", jobs)
    rows = [
        {
            "memory": memory,
            "core": core,
            "runs": [
                result
                for task, result in zip(tasks, measured, strict=True)
                if task[:2] == (memory, core)
            ],
        }
        for memory, core in LEARNERS
    ]
    settings = {
        "num_players": table_size,
        "decisions": decisions,
        "games": games,
        "seeds": list(seeds),
        "opponents": game.default_opponent,
        "hyperparameters": vars(Hyperparameters()),
    }
    arguments = ["--game", game.id, "--players", str(table_size), "--decisions", str(decisions)]
    arguments += ["--games", str(games), "--seeds", *map(str, seeds)]
    return report.document("memory", game.id, arguments, PACKAGES, settings, {"learners": rows})


@running.command("benchmarks.memory")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.memory``."""
    parser = arguments.module_parser("benchmarks.memory", __doc__)
    parser.add_argument(
        "--players", type=int, metavar="N", help="number of players; default: the game's"
    )
    parser.add_argument(
        "--seeds",
        nargs="+",
        type=int,
        default=[1, 2, 3],
        metavar="S",
        help="seeds of the runs (default: 1 2 3)",
    )
    add_jobs_argument(parser, "runs")
    parser.add_argument(
        "--decisions", type=int, default=1_000_000, metavar="N", help="default: 1,000,000"
    )
    parser.add_argument("--games", type=int, default=4000, metavar="N", help="default: 4,000")
    args = report.parse_arguments(parser, argv)
    if (
        len(set(args.seeds)) != len(args.seeds)
        or not 0 <= min(args.seeds) <= max(args.seeds) <= _MAX_SEED
    ):
        raise ValueError(
            f"--seeds must be different numbers from 0 to {_MAX_SEED}, got {args.seeds}"
        )
    if args.decisions < 1 or args.games < 2:
        raise ValueError("--decisions must be at least 1, and --games at least 2")
    report.finish(
        args,
        lambda: measure(
            args.game,
            players=args.players,
            decisions=args.decisions,
            games=args.games,
            seeds=args.seeds,
            jobs=args.jobs,
        ),
    )


if __name__ == "__main__":
    raise SystemExit(main())
