"""Put a trained policy into the package, with its strength on its card.

    python -m training.ship runs/beaver_gang [--deals N] [--seed S]

One policy sits among heuristics, among randoms, and among each of the other shipped policies, at
every table size. The results go into
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
from card_envs.agents import shipped_policies
from card_envs.docs import with_section
from card_envs.games import load_game
from training import command
from training.config import Config, load_config
from training.evaluate import evaluate

README = Path(__file__).parent.parent / "README.md"


def alone_among(
    game_id: str, agent: str, opponents: str, deals: int, seed: int
) -> list[dict[str, Any]]:
    """One agent, by name or policy file, alone among others, at every table size."""
    game = load_game(game_id)
    rows = []
    for players in range(game.min_players, game.max_players + 1):
        table = [agent, *[opponents] * (players - 1)]
        row = evaluate(game, table, deals, seed)["agents"][0]
        rows.append(
            {**row, "name": Path(agent).stem, "opponents": opponents, "num_players": players}
        )
    return rows


def strength(game_id: str, policy: str, deals: int, seed: int) -> list[dict[str, Any]]:
    """The policy among heuristics, randoms and other shipped ones; the heuristic among randoms."""
    others = set(shipped_policies(load_game(game_id))) - {Path(policy).stem}
    opponents = ("heuristic", *sorted(others), "random")
    tables = [*((policy, opponent) for opponent in opponents), ("heuristic", "random")]
    return [row for table in tables for row in alone_among(game_id, *table, deals, seed)]


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
    lines = [
        "| one … | among … | " + " | ".join(f"{n} players" for n in sizes) + " | mean |",
        "| --- | --- | " + " | ".join(["---:"] * (len(sizes) + 1)) + " |",
    ]
    for name, opponents in dict.fromkeys((row["name"], row["opponents"]) for row in rows):
        own = [row for row in rows if (row["name"], row["opponents"]) == (name, opponents)]
        cells = [
            f"{row['rank']:+.3f} ({row['rank_ci95'][0]:+.3f} … {row['rank_ci95'][1]:+.3f})"
            for row in own
        ]
        mean = sum(row["rank"] for row in own) / len(own)
        # The sizes' deals are independent.
        half = sum((row["rank_ci95"][1] - row["rank"]) ** 2 for row in own) ** 0.5 / len(own)
        cells.append(f"{mean:+.3f} ({mean - half:+.3f} … {mean + half:+.3f})")
        lines.append(f"| `{name}` | `{opponents}` | {' | '.join(cells)} |")
    measured = card["strength"]
    lines += [
        "",
        f"Rank reward with its 95% interval over {measured['deals']} deals, each in all seatings: "
        f"`{measured['command']}`, on {measured['machine']}.",
    ]
    return "\n".join(lines)


def update_readme(game_id: str, card: dict[str, Any]) -> None:
    """Write the strength into the README, where it has a place for the game's."""
    text = README.read_text(encoding="utf-8")
    text = with_section(text, f"strength:{game_id}", strength_table(card))
    README.write_text(text, encoding="utf-8")


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
        "machine": command.machine(),
        "deals": args.deals,
        "seed": args.seed,
        "results": strength(config.game, str(weights), args.deals, args.seed),
    }
    folder = Path(card_envs.__file__).parent / "policies" / config.game
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(weights, folder / weights.name)
    text = json.dumps(card, indent=2) + "\n"
    (folder / f"{config.name}.json").write_text(text, encoding="utf-8")
    update_readme(config.game, card)
    print(f"{config.name} is now a shipped policy of {config.game}.")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.ship``; returns the exit status."""
    return command.run("training.ship", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
