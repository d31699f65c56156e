"""Put a trained policy into the package, with its strength on its card.

    python -m training.ship runs/beaver_gang [--quick | --deals N] [--seed S] [--replace]

One policy plays against copies of the heuristic, of random, and of each other policy of the game,
at every table size. The results, and the evaluations during the run, go into
``card_envs/policies/<game>/<name>.json`` beside the weights; ``python -m benchmarks.tables
--pages`` then shows those of ``ppo`` in ``README.md`` and in ``docs/``. The policies of a game of
another package go into the folder ``policies`` of that package.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from card_envs.agents import shipped_policies
from card_envs.agents.identity import hash_of_agent
from card_envs.agents.shipped import policies_folder, policy_versions
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds
from card_envs.evaluation.display import short_names
from card_envs.utils.files import write_json, write_output
from card_envs.utils.progress import track
from card_envs.utils.run_folder import RunFolder
from training.improvement.config import ImprovementConfig
from training.runs.config import Config
from training.runs.evaluation import against
from training.runs.keys import read_yaml
from training.runs.records import machine, predecessors, read_json
from training.runs.run import Run

#: Deals at each table size: for a card, and to see how it goes.
DEALS, QUICK_DEALS = 2000, 100


def strength(
    game: Game, policy: str, deals: int, seed: int, rules: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A policy, a name or a file, against the game's other agents, and its heuristic against
    random, on this many deals at each table size, by the default rules or others.

    Returns:
        ``results``: rank reward, share of victories and share of truncated games at every table
        size; ``means``: the rank reward on average over table sizes; each with 95% intervals.
    """
    sizes, seeds = game.table_sizes, deal_seeds(seed, deals)
    pairs = _pairs(game, policy)
    results, means = [], []
    for one, rest in track(pairs, "opponents", len(pairs)):
        about = {"name": Path(one).stem, "opponents": rest}
        rows, mean = against(game, one, rest, sizes, seeds, rules)
        results += [{**about, **row} for row in rows]
        means.append({**about, **mean.to_json("rank")})
    return {"results": results, "means": means}


def _pairs(game: Game, policy: str) -> list[tuple[str, str]]:
    """Who plays against copies of whom."""
    policies = [*shipped_policies(game), *predecessors(game)]
    others = [name for name in policies if Path(name).stem != Path(policy).stem]
    pairs = [(policy, other) for other in (*game.scripted, *others, "random")]
    return pairs + [(name, "random") for name in game.scripted]


def open_run(folder: Path) -> Run[Any]:
    """The run in a folder, of training or of expert iteration."""
    is_improvement = "iterations" in read_yaml(RunFolder(folder).config)
    return Run.reopen(folder, (), ImprovementConfig if is_improvement else Config)


def _shippable(folder: Path, replace: bool) -> tuple[Run[Any], Path]:
    """The run in a folder, and where its policy goes; whatever can be refused is, with a
    ValueError, before anything is measured."""
    run = open_run(folder)
    if not run.is_finished:
        raise ValueError(
            f"the run in {folder} is not finished: --resume finishes it, and with --set "
            f"{run.config.LENGTH}=N as short as you like"
        )
    if run.config.name in policy_versions(run.game):
        raise ValueError(
            f"{run.config.name} is an opponent of the benchmark, which never changes: `name` in a "
            "configuration names another policy"
        )
    shipped = policies_folder(run.game) / run.policy_path.name
    if shipped.exists() and not replace:
        raise ValueError(
            f"{run.game.id} already has a shipped policy {run.config.name!r}: --replace replaces "
            "it; `name` in a configuration names another one"
        )
    try:
        arguments.output_file(str(shipped))
    except argparse.ArgumentTypeError as error:
        raise ValueError(str(error)) from None
    return run, shipped


@running.command("training.ship")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m training.ship``."""
    parser = arguments.module_parser("training.ship", __doc__)
    add = parser.add_argument
    add("run", type=Path, help="the folder of a finished training run")
    about = f"deals at each table size, each in all seatings (default: {DEALS})"
    add("--deals", type=int, default=DEALS, metavar="N", help=about)
    about = f"measure with {QUICK_DEALS} deals, in less than a minute"
    add("--quick", action="store_const", dest="deals", const=QUICK_DEALS, help=about)
    add("--seed", type=int, default=0, metavar="S", help="the deals' seed (default: 0)")
    add("--replace", action="store_true", help="replace the shipped policy of the same name")
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    deal_seeds(args.seed, args.deals)
    run, shipped = _shippable(args.run, args.replace)
    with run.lock():  # it could be resumed meanwhile
        _ship(run, shipped, args.deals, args.seed)


def _ship(run: Run[Any], shipped: Path, deals: int, seed: int) -> None:
    """Measure a run's policy, and write it to the shipped ones, with its card."""
    game, policy = run.game, str(run.policy_path)
    others = ", ".join(short_names([rest for one, rest in _pairs(game, policy) if one == policy]))
    print(
        f"Measuring one {run.config.name} against {others} at {game.min_players} to "
        f"{game.max_players} players, {deals} deals each in all seatings; then {shipped} is "
        "written."
    )
    card = read_json(run.card_path)
    card.pop("finished", None)
    card["curve"] = run.progress
    card["strength"] = {
        "command": f"python -m training.ship RUN --deals {deals} --seed {seed}",
        "machine": machine(),
        "sha256": hash_of_agent(policy, game),
        "deals": deals,
        "seed": seed,
        **strength(game, policy, deals, seed, run.rules),
    }
    shipped.parent.mkdir(parents=True, exist_ok=True)
    write_output(shipped, run.policy_path.read_bytes())
    write_json(shipped.with_suffix(".json"), card)
    print(f"{run.config.name} is now a shipped policy of {game.id}.")


if __name__ == "__main__":
    raise SystemExit(main())
