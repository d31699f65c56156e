"""Put a trained policy into the package, with its strength on its card.

    python -m training.ship runs/beaver_gang [--deals N] [--seed S]

One policy sits among heuristics, among randoms, and among each of the other shipped policies, at
every table size. The results go into ``card_envs/policies/<game>/<name>.json`` beside the weights.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import card_envs
from card_envs.agents import make_agent, shipped_policies
from card_envs.docs import markdown_table, with_section
from card_envs.engine.game import Game
from card_envs.games import load_game
from training import command
from training.config import Config, load_config
from training.evaluate import deal_seeds, mean_and_interval, play_among
from training.records import machine, write_json

README = Path(__file__).parent.parent / "README.md"


def alone_among(
    game: Game, policy: str, opponents: str, deals: int, seed: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """An agent, by name or policy file, alone among others: at every table size, and on average."""
    seeds = deal_seeds(seed, deals)
    agent = make_agent(policy, game, seed=seed)
    other = make_agent(opponents, game, seed=seed)
    about = {"name": Path(policy).stem, "opponents": opponents}
    rows, ranks = [], []
    sizes = range(game.min_players, game.max_players + 1)
    for players, played in play_among(game, agent, other, sizes, seeds, {}):
        rank, win = played.rank[..., 0].mean(axis=1), played.win[..., 0].mean(axis=1)
        rows.append(
            {**about, "num_players": players, **_measured("rank", rank), **_measured("win", win)}
        )
        ranks.append(rank)
    return rows, {**about, **_measured("rank", np.mean(ranks, axis=0))}


def _measured(key: str, values: NDArray[np.float64]) -> dict[str, Any]:
    mean, interval = mean_and_interval(values)
    return {key: mean, f"{key}_ci95": interval}


def strength(game_id: str, policy: str, deals: int, seed: int) -> dict[str, Any]:
    """The policy among heuristics, randoms and other shipped ones; the heuristic among randoms.

    Returns:
        ``results``: rank reward and win share at every table size; ``means``: the rank reward on
        average over table sizes; each with 95% intervals.
    """
    game = load_game(game_id)
    others = set(shipped_policies(game)) - {Path(policy).stem}
    opponents = ("heuristic", *sorted(others), "random")
    results, means = [], []
    for one, among in [*((policy, opponent) for opponent in opponents), ("heuristic", "random")]:
        rows, mean = alone_among(game, one, among, deals, seed)
        results += rows
        means.append(mean)
    return {"results": results, "means": means}


def _load(run: Path) -> tuple[Config, Path, dict[str, Any]]:
    """Configuration, policy file and card of a finished run."""
    config = load_config(run / "config.yaml")
    weights = run / f"{config.name}.safetensors"
    try:
        card = json.loads(weights.with_suffix(".json").read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"the run in {run} is not finished: {error}") from None
    return config, weights, card


def strength_table(card: dict[str, Any]) -> str:
    """The strength on a policy's card as a Markdown table, with the command that measured it."""
    rows = card["strength"]["results"]
    sizes = sorted({row["num_players"] for row in rows})
    header = ["one …", "among …", *(f"{n} players" for n in sizes), "mean"]
    entries = []
    for mean in card["strength"]["means"]:
        own = [row for row in rows if all(row[key] == mean[key] for key in ("name", "opponents"))]
        cells = [
            f"{row['rank']:+.3f} ({row['rank_ci95'][0]:+.3f} … {row['rank_ci95'][1]:+.3f})"
            for row in (*own, mean)
        ]
        entries.append([f"`{mean['name']}`", f"`{mean['opponents']}`", *cells])
    measured = card["strength"]
    return (
        f"{markdown_table(header, entries, len(sizes) + 1)}\n\n"
        f"Rank reward with its 95% interval over {measured['deals']} deals, each in all seatings: "
        f"`{measured['command']}`, on {measured['machine']}."
    )


def updated_readme(game_id: str, card: dict[str, Any]) -> str:
    """The README with the strength in the game's place; ValueError if it has none."""
    text = README.read_text(encoding="utf-8")
    return with_section(text, f"strength:{game_id}", strength_table(card))


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.ship", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("run", type=Path, help="the folder of a finished training run")
    parser.add_argument("--deals", type=int, default=2000, metavar="N", help="default: 2000")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    args = parser.parse_args(argv)
    config, weights, card = _load(args.run)
    card["strength"] = {
        "command": f"python -m training.ship RUN --deals {args.deals} --seed {args.seed}",
        "machine": machine(),
        "deals": args.deals,
        "seed": args.seed,
        **strength(config.game, str(weights), args.deals, args.seed),
    }
    readme = updated_readme(config.game, card) if config.name == "ppo" else None
    folder = Path(card_envs.__file__).parent / "policies" / config.game
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(weights, folder / weights.name)
    write_json(folder / f"{config.name}.json", card)
    if readme is not None:
        README.write_text(readme, encoding="utf-8")
    print(f"{config.name} is now a shipped policy of {config.game}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.ship``; returns the exit status."""
    return command.run("training.ship", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
