"""Put a trained policy into the package, with its strength on its card.

    python -m training.ship runs/beaver_gang [--deals N] [--seed S]
    python -m training.ship --readme        # only rewrites the README's tables from the cards

One policy plays against copies of the heuristic, of random, and of each other policy of the game,
at every table size. The results go into ``card_envs/policies/<game>/<name>.json`` beside the
weights.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import card_envs
from card_envs import command
from card_envs.agents import policy_path, shipped_policies
from card_envs.command import write_json
from card_envs.docs import markdown_table, with_section
from card_envs.engine.game import Game
from card_envs.evaluation import deal_seeds, estimate_mean, play_one_against
from card_envs.evaluation.display import short_names
from card_envs.games import GAMES, load_game
from training.config import load_config
from training.records import machine, predecessors, read_json
from training.run import Run

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
                **_measured("rank", rank),
                **_measured("win", win),
                "truncated": played.truncated_share,
            }
        )
        ranks.append(rank)
    return rows, {**about, **_measured("rank", np.mean(ranks, axis=0))}


def _measured(key: str, values: NDArray[np.float64]) -> dict[str, Any]:
    estimate = estimate_mean(values)
    return {key: estimate.mean, f"{key}_ci95": estimate.interval}


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


def strength_table(card: dict[str, Any]) -> str:
    """The strength on a policy's card as a Markdown table, with the command that measured it."""
    rows = card["strength"]["results"]
    sizes = sorted({row["num_players"] for row in rows})
    header = ["one …", "against …", *(f"{n} players" for n in sizes), "mean"]
    entries = []
    for mean in card["strength"]["means"]:
        own = [row for row in rows if all(row[key] == mean[key] for key in ("name", "opponents"))]
        cells = [
            f"{row['rank']:+.3f} ({row['rank_ci95'][0]:+.3f} … {row['rank_ci95'][1]:+.3f})"
            for row in (*own, mean)
        ]
        entries.append(
            [*(f"`{x}`" for x in short_names([mean["name"], mean["opponents"]])), *cells]
        )
    measured = card["strength"]
    return (
        f"{markdown_table(header, entries, len(sizes) + 1)}\n\n"
        f"Rank reward with its 95% interval over {measured['deals']} deals, each in all seatings: "
        f"`{measured['command']}`, on {measured['machine']}."
    )


def updated_readme(text: str, game_id: str, card: dict[str, Any]) -> str:
    """The README's text with the strength on a card in the game's place.

    Raises:
        ValueError: It has no such place.
    """
    return with_section(text, f"strength:{game_id}", strength_table(card))


def rewrite_readme() -> None:
    """Rewrite the README's tables from the cards of the shipped policies.

    Raises:
        ValueError: It has no place for one.
    """
    text = README.read_text(encoding="utf-8")
    for game_id in GAMES:
        path = policy_path("ppo", load_game(game_id))
        if path is not None:
            text = updated_readme(text, game_id, read_json(path.with_suffix(".json")))
    README.write_text(text, encoding="utf-8")


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.ship", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("run", type=Path, nargs="?", help="the folder of a finished training run")
    parser.add_argument("--readme", action="store_true", help="only rewrite the README's tables")
    parser.add_argument("--deals", type=int, default=2000, metavar="N", help="default: 2000")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    command.add_games_argument(parser)
    args = command.parse_arguments(parser, argv)
    if args.readme:
        rewrite_readme()
        return
    if args.run is None:
        raise ValueError("give the folder of a finished training run, or --readme")
    run = Run.open(load_config(args.run / "config.yaml"), args.run)
    if not (run.card_path.exists() and run.policy_path.exists()):
        raise ValueError(f"the run in {args.run} is not finished: there is no {run.policy_path}")
    card = read_json(run.card_path)
    card["strength"] = {
        "command": f"python -m training.ship RUN --deals {args.deals} --seed {args.seed}",
        "machine": machine(),
        "deals": args.deals,
        "seed": args.seed,
        **strength(run.game, str(run.policy_path), args.deals, args.seed),
    }
    readme = None
    if run.config.name == "ppo":
        readme = updated_readme(README.read_text(encoding="utf-8"), run.game.id, card)
    folder = Path(card_envs.__file__).parent / "policies" / run.game.id
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run.policy_path, folder / run.policy_path.name)
    write_json(folder / run.card_path.name, card)
    if readme is not None:
        README.write_text(readme, encoding="utf-8")
    print(f"{run.config.name} is now a shipped policy of {run.game.id}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.ship``; returns the exit status."""
    return command.run("training.ship", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
