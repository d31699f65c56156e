"""Put a trained policy into the package, with its strength on its card.

    python -m training.ship runs/beaver_gang [--deals N] [--seed S]

One policy sits among heuristics, and one among randoms, at every table size. The results go into
``card_envs/policies/<game>/<name>.json`` beside the weights.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import card_envs
from card_envs.games import load_game
from training import command
from training.config import load_config
from training.evaluate import evaluate


def strength(game_id: str, agent: str, deals: int, seed: int) -> list[dict[str, Any]]:
    """One row for each kind of opponents and table size: the agent alone among them."""
    game = load_game(game_id)
    rows = []
    for opponent in ("heuristic", "random"):
        for players in range(game.min_players, game.max_players + 1):
            result = evaluate(game, [agent, *[opponent] * (players - 1)], deals, seed)
            own = {k: v for k, v in result["agents"][0].items() if k != "name"}
            rows.append({"opponents": opponent, "num_players": players, **own})
    return rows


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.ship", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("run", type=Path, help="the folder of a finished training run")
    parser.add_argument("--deals", type=int, default=2000, metavar="N", help="default: 2000")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    args = parser.parse_args(argv)
    config = load_config(args.run / "config.yaml")
    weights = args.run / f"{config.name}.safetensors"
    card = json.loads(weights.with_suffix(".json").read_text(encoding="utf-8"))
    card["strength"] = {
        "command": f"python -m training.ship {args.run} --deals {args.deals} --seed {args.seed}",
        "deals": args.deals,
        "seed": args.seed,
        "results": strength(config.game, str(weights), args.deals, args.seed),
    }
    folder = Path(card_envs.__file__).parent / "policies" / config.game
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(weights, folder / weights.name)
    text = json.dumps(card, indent=2) + "\n"
    (folder / f"{config.name}.json").write_text(text, encoding="utf-8")
    print(f"{config.name} is now a shipped policy of {config.game}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.ship``; returns the exit status."""
    return command.run("training.ship", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
