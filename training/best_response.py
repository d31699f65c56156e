"""How exploitable is an agent? Train one against it alone, and measure how much that one gains.

    python -m training.best_response configs/beaver_gang.yaml [--against A …] [--players N …]

The learner holds one seat, the frozen agent all others. It begins with what the agent ``--start``
does and learns on by the configuration's PPO. What it then gains over many duplicate deals is a
lower bound of what can be gained: an agent that is its own best response would lose nothing, and
among copies of itself every agent gains exactly 0. Finished runs are not made again.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib

from card_envs.agents import NetworkAgent, make_agent
from card_envs.games import load_game
from training import command
from training.config import Config, Opponents, check, load_config, read_yaml, with_overrides
from training.evaluate import deal_seeds, evaluate, rules_of
from training.records import command_as_typed, identity, write_json
from training.train import train_or_resume


def response_config(
    path: Path, against: str, players: int, start: str, overrides: Sequence[str]
) -> Config:
    """The game's configuration, made into one against a frozen agent.

    Args:
        path: The game's configuration.
        against: The agent that holds all other seats.
        players: The number of players.
        start: The agent to begin with: a policy's weights are copied, others are imitated.
        overrides: ``KEY=VALUE``, as for ``training.train``.

    Raises:
        ValueError: The file cannot be read, or something in it or in the arguments is wrong.
    """
    game = load_game(load_config(path).game)
    data = read_yaml(path)
    data["name"] = "best_response"
    data["decisions"] = 2_000_000
    data["ema_decay"] = 0.9
    data["environment"] = {**data.get("environment", {}), "num_players": players}
    data["environment"].pop("table_weights", None)
    data["opponents"] = {"snapshots": 0, "agents": {against: 1}}
    data["imitation"] = {
        "agent": start,
        "copy_weights": isinstance(make_agent(start, game), NetworkAgent),
        "decisions": 1_000_000,
        "learning_rate": 2e-3,
    }
    data["evaluation"] = {
        "every": 1_000_000,
        "deals": 200,
        "players": [players],
        "among": [against],
    }
    config = check(Config, with_overrides(data, overrides), path)
    if (config.game, config.environment.num_players, config.opponents) != (
        *(game.id, players),
        Opponents(snapshots=0, agents={against: 1}),
    ):
        raise ValueError("--set: who sits at the table is said by --against and --players")
    return config


def respond(
    config: Config, against: str, players: int, folder: Path, deals: int, seed: int
) -> dict[str, Any]:
    """Train, unless that is done, and measure what the response gains.

    Returns:
        ``against`` and its ``identity``, ``num_players``, ``start``, ``decisions``, ``hours``,
        ``machine``, ``gain`` and ``gain_ci95``: the rank reward of one response among others, over
        ``deals`` deals.
    """
    policy = train_or_resume(config, folder)
    card = json.loads(policy.with_suffix(".json").read_text(encoding="utf-8"))
    game = load_game(config.game)
    table = [str(policy), *[against] * (players - 1)]
    row = evaluate(game, table, deals, seed, rules_of(config))["agents"][0]
    return {
        "against": against,
        "identity": identity(against, game),
        "num_players": players,
        "start": config.imitation.agent,
        "decisions": card["decisions"],
        "hours": card["hours"],
        "machine": card["machine"],
        "gain": row["rank"],
        "gain_ci95": row["rank_ci95"],
    }


def measure(
    path: Path,
    against: Sequence[str],
    players: Sequence[int],
    *,
    start: str,
    overrides: Sequence[str],
    deals: int,
    seed: int,
    out: Path,
    jobs: int,
) -> dict[str, Any]:
    """A response to each agent at each table size, ``jobs`` at a time, as ``--json`` writes it."""
    deal_seeds(seed, deals)
    configs = {
        (agent, n): response_config(path, agent, n, start, overrides)
        for agent in against
        for n in players
    }
    responses = joblib.Parallel(n_jobs=jobs)(
        joblib.delayed(respond)(config, agent, n, out / _folder(agent, n), deals, seed)
        for (agent, n), config in configs.items()
    )
    return {
        "game": next(iter(configs.values())).game,
        "command": command_as_typed(
            "training.best_response",
            str(path),
            *("--against", *against),
            *("--players", *map(str, players)),
            *("--start", start),
            *(("--set", *overrides) if overrides else ()),
            *("--deals", str(deals)),
            *("--seed", str(seed)),
        ),
        "deals": deals,
        "seed": seed,
        "responses": responses,
    }


def _folder(agent: str, players: int) -> str:
    return re.sub(r"[^\w.-]+", "_", f"{agent}_{players}")


def show(result: dict[str, Any]) -> None:
    """Print the gains for people."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{result['game']}: what a best response gains, {result['deals']} deals")
    for heading in ("against", "players", "rank reward", "95% interval", "decisions"):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    for row in result["responses"]:
        table.add_row(
            row["against"],
            str(row["num_players"]),
            f"{row['gain']:+.3f}",
            "{:+.3f} … {:+.3f}".format(*row["gain_ci95"]),
            f"{row['decisions']:,}",
        )
    Console().print(table)


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.best_response", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("config", type=Path, help="the game's YAML file, see configs/")
    parser.add_argument(
        "--against",
        nargs="+",
        default=["heuristic", "ppo"],
        metavar="A",
        help="agents, names or policy files; default: heuristic ppo",
    )
    parser.add_argument(
        "--players",
        nargs="+",
        type=int,
        metavar="N",
        help="table sizes; default: the game's smallest, and 4",
    )
    parser.add_argument(
        "--start", default="ppo", metavar="A", help="the agent to begin with; default: ppo"
    )
    command.add_set_argument(parser)
    parser.add_argument("--deals", type=int, default=2000, metavar="N", help="default: 2000")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/response_<config>")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="default: all cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result here as well")
    args = parser.parse_args(argv)
    result = measure(
        args.config,
        args.against,
        args.players or sorted({load_game(load_config(args.config).game).min_players, 4}),
        start=args.start,
        overrides=args.set,
        deals=args.deals,
        seed=args.seed,
        out=args.out or Path("runs") / f"response_{args.config.stem}",
        jobs=args.jobs,
    )
    show(result)
    if args.json:
        write_json(args.json, result)


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.best_response``; returns the exit status."""
    return command.run("training.best_response", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
