"""Put a trained policy into the package, with its strength on its card.

    python -m training.ship runs/beaver_gang [--deals N] [--seed S] [--replace]
    python -m training.ship --readme        # only rewrites README.md's table of results

One policy plays against copies of the heuristic, of random, and of each other policy of the game,
at every table size. The results go into ``card_envs/policies/<game>/<name>.json`` beside the
weights, those of ``ppo`` at a glance into ``README.md``.
The policies of a game of another package go into the folder ``policies`` of that package.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from card_envs.agents import shipped_policies
from card_envs.agents.shipped import policies_folder
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation import WIN_BOUNDS, deal_seeds, estimate_mean, play_one_against
from card_envs.evaluation.display import short_names, with_interval
from card_envs.games import GAMES, is_of_this_package, load_game
from card_envs.utils.files import write_json, write_output, write_text
from card_envs.utils.markdown import markdown_table, with_section
from training.improve import ImprovementRun
from training.improvement.config import load_improvement_config
from training.runs.config import load_config
from training.runs.keys import read_yaml
from training.runs.records import machine, predecessors, read_json
from training.runs.run import Run
from training.runs.run_folder import RunFolder

README = Path(__file__).parent.parent / "README.md"


def measure_against(
    game: Game, agent: str, others: str, deals: int, seed: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """An agent against copies of another.

    Args:
        game: The game.
        agent: The one, a name or a policy file.
        others: The agent in all other seats.
        deals: How many at each table size.
        seed: The deals' seed.

    Returns:
        A row for each table size, and one with the mean over them: ``name``, ``opponents``,
        ``rank`` and ``rank_ci95``; the former also ``num_players``, ``win``, ``win_ci95`` and
        ``truncated``.

    Raises:
        ValueError: There is no such agent.
    """
    about = {"name": Path(agent).stem, "opponents": others}
    rows, ranks = [], []
    sizes = range(game.min_players, game.max_players + 1)
    for players, played in play_one_against(game, agent, others, sizes, deal_seeds(seed, deals)):
        rank, win = played.rank[..., 0].mean(axis=1), played.win[..., 0].mean(axis=1)
        rows.append(
            {
                **about,
                "num_players": players,
                **estimate_mean(rank).to_json("rank"),
                **estimate_mean(win, WIN_BOUNDS).to_json("win"),
                "truncated": played.truncated_share,
            }
        )
        ranks.append(rank)
    return rows, {**about, **estimate_mean(np.mean(ranks, axis=0)).to_json("rank")}


def strength(game: Game, policy: str, deals: int, seed: int) -> dict[str, Any]:
    """A policy against the game's other agents, and its heuristic against random.

    Args:
        game: The game.
        policy: The policy, a name or a file.
        deals: How many at each table size.
        seed: The deals' seed.

    Returns:
        ``results``: rank reward, share of victories and share of truncated games at every table
        size; ``means``: the rank reward on average over table sizes; each with 95% intervals.
    """
    scripted = ["heuristic"] if game.heuristic is not None else []
    others = [
        name
        for name in (*shipped_policies(game), *predecessors(game))
        if Path(name).stem != Path(policy).stem
    ]
    pairs = [(policy, other) for other in (*scripted, *others, "random")]
    pairs += [(name, "random") for name in scripted]
    results, means = [], []
    for one, rest in pairs:
        rows, mean = measure_against(game, one, rest, deals, seed)
        results += rows
        means.append(mean)
    return {"results": results, "means": means}


def summary_table(cards: Mapping[str, dict[str, Any]]) -> str:
    """The shipped policies' mean strength over table sizes as a Markdown table.

    Args:
        cards: The policies' cards by the game's id.
    """
    rows = []
    columns: list[str] = []
    for game_id, card in cards.items():
        means = {
            short_names([mean["opponents"]])[0]: with_interval(mean, "rank")
            for mean in card["strength"]["means"]
            if mean["name"] == card["name"]
        }
        columns += [name for name in means if name not in columns]
        rows.append((load_game(game_id).title, means))
    columns.sort(key=lambda name: (name == "random", name))
    return markdown_table(
        ["one `ppo` against …", *(f"`{name}`" for name in columns)],
        [[title, *(means.get(name, "–") for name in columns)] for title, means in rows],
        len(columns),
    )


def shipped_cards() -> dict[str, dict[str, Any]]:
    """The cards of the shipped policies ``ppo`` of this package's games, by the game's id."""
    games = [game for game in map(load_game, GAMES) if is_of_this_package(game)]
    return {
        game.id: read_json(policies_folder(game) / "ppo.json")
        for game in games
        if "ppo" in shipped_policies(game)
    }


def updated_readme(cards: Mapping[str, dict[str, Any]]) -> str:
    """README.md with its table of results renewed.

    Args:
        cards: The policies' cards by the game's id.

    Raises:
        ValueError: It has no place for the table.
    """
    return with_section(README.read_text(encoding="utf-8"), "results", summary_table(cards))


def open_run(folder: Path) -> RunFolder[Any]:
    """The run in a folder, of training or of expert iteration.

    Raises:
        ValueError: The folder holds no run.
    """
    path = folder / "config.yaml"
    if "iterations" in read_yaml(path):
        return ImprovementRun.open(load_improvement_config(path), folder)
    return Run.open(load_config(path), folder)


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.ship", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("run", type=Path, nargs="?", help="the folder of a finished training run")
    parser.add_argument("--readme", action="store_true", help="only rewrite README.md's table")
    parser.add_argument(
        "--deals",
        type=int,
        default=2000,
        metavar="N",
        help="deals at each table size, each in all seatings (default: 2000)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="the deals' seed (default: 0)"
    )
    parser.add_argument(
        "--replace", action="store_true", help="replace the shipped policy of the same name"
    )
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    if args.readme:
        write_text(README, updated_readme(shipped_cards()))
        return
    if args.run is None:
        raise ValueError("give the folder of a finished training run, or --readme")
    run = open_run(args.run)
    if not run.is_finished:
        raise ValueError(f"the run in {args.run} is not finished: it has yet to leave its policy")
    folder = policies_folder(run.game)
    shipped = folder / run.policy_path.name
    if shipped.exists() and not args.replace:
        raise ValueError(
            f"{run.game.id} already has a shipped policy {run.config.name!r}: --replace replaces "
            "it; `name` in a configuration names another one"
        )
    card = read_json(run.card_path)
    card["strength"] = {
        "command": f"python -m training.ship RUN --deals {args.deals} --seed {args.seed}",
        "machine": machine(),
        "deals": args.deals,
        "seed": args.seed,
        **strength(run.game, str(run.policy_path), args.deals, args.seed),
    }
    readme = None
    if run.config.name == "ppo" and is_of_this_package(run.game):
        readme = updated_readme({**shipped_cards(), run.game.id: card})
    folder.mkdir(parents=True, exist_ok=True)
    write_output(shipped, run.policy_path.read_bytes())
    write_json(folder / run.card_path.name, card)
    if readme is not None:
        write_text(README, readme)
    print(f"{run.config.name} is now a shipped policy of {run.game.id}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.ship``; returns the exit status."""
    return running.run("training.ship", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
