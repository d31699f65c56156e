"""How exploitable is an agent? Train a best response to it, and measure what it gains.

    python -m training.best_response configs/beaver_gang.yaml [--against A …] [--players N …]

The learner holds one seat, the frozen agent all others. It starts with what the agent does, or with
what ``--start`` does, and continues with PPO, whose settings are the same for all policies and
games. What it then gains over many duplicate deals is a lower bound of the agent's exploitability;
among copies of itself every agent gains exactly 0. Finished runs are not repeated. A search whose
rollouts the agent plays is another exploiter: the larger gain is the better bound.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib

from card_envs.agents import NetworkAgent, make_agent, policy_path, shipped_policies
from card_envs.commands import arguments, running
from card_envs.commands.arguments import output_file
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds
from card_envs.evaluation.display import interval, short_names
from card_envs.evaluation.statistics import FEWEST_VALUES, NO_INTERVAL
from card_envs.games import load_game
from card_envs.utils.files import write_json
from training.runs.arguments import add_set_argument, check_search
from training.runs.config import Config, PoolSection, load_config
from training.runs.keys import check, read_yaml, with_overrides
from training.runs.one_against import one_against
from training.runs.records import command_as_typed, identity, predecessors, read_json, versions
from training.runs.run import Run
from training.runs.tasks import add_jobs_argument, do_calls
from training.train import train_or_resume

#: What responses learn with: of the settings that were tried, those that gained most. Nothing of
#: the policy's own run decides about them, its seed included.
SEED = 0
NUM_ENVS = 1024
PPO = {
    "n_steps": 32,
    "batch_size": 2048,
    "n_epochs": 1,
    "learning_rate": 1e-3,
    "final_learning_rate": 1e-5,
    "gae_lambda": 0.8,
    "ent_coef": 0.005,
}


def response_config(
    path: Path, against: str, players: int, start: str, overrides: Sequence[str]
) -> Config:
    """The game's configuration, changed into one against a frozen agent.

    Args:
        path: The game's configuration.
        against: The agent that holds all other seats.
        players: The number of players.
        start: The agent to start with: a policy's weights are copied, others are imitated.
        overrides: ``KEY=VALUE``, as for ``training.train``.

    Raises:
        ValueError: The file cannot be read, or something in it or in the arguments is wrong.
    """
    game = load_game(load_config(path).game)
    data = read_yaml(path)
    data["name"] = "best_response"
    data["seed"] = SEED
    data["decisions"] = 10_000_000
    data["checkpoint_every"] = 1_000_000
    data["ema_decay"] = 0.9
    data["ppo"] = PPO
    data["draws"] = False
    data.pop("truncation", None)
    data["environment"] = {
        **data.get("environment", {}),
        "num_envs": NUM_ENVS,
        "num_players": players,
    }
    data["environment"].pop("table_weights", None)
    data["opponents"] = {"pool": 0, "agents": {against: 1}}
    data["imitation"] = {
        "agent": start,
        "copy_weights": isinstance(make_agent(start, game), NetworkAgent),
        "decisions": 1_000_000,
        "learning_rate": 2e-3,
    }
    data["evaluation"] = {
        "every": 2_000_000,
        "deals": 200,
        "players": [players],
        "against": [against],
    }
    config = check(Config, with_overrides(data, overrides), path)
    expected = PoolSection.model_validate({"self": 0, "pool": 0, "agents": {against: 1}})
    opponents = config.opponents
    if (config.game, config.environment.num_players, opponents) != (game.id, players, expected):
        raise ValueError("--set: the table is chosen by --against and --players")
    return config


def respond(
    game: Game,
    config: Config,
    against: str,
    players: int,
    folder: Path,
    deals: int,
    search: str,
    search_deals: int,
    seed: int,
    command_line: str,
) -> dict[str, Any]:
    """Train, unless that is done, and measure what the response gains.

    Args:
        game: The game, so that a process that does not know it yet learns of it.
        config: As from :func:`response_config`.
        against: The agent.
        players: The number of players.
        folder: Where the run is, or will be.
        deals: How many deals.
        search: The search without its policy, such as ``"search:64"``.
        search_deals: How many deals it plays; 0: none.
        seed: The deals' seed.
        command_line: The command that asks for it, for the record.

    Returns:
        ``against`` and its ``identity``, ``num_players``, ``start``, ``decisions``, ``hours``,
        ``machine``, ``gain`` and ``gain_ci95``: the response's rank reward over ``deals`` deals,
        ``truncated``: the share of games that ended at ``max_steps``; and ``search``: the
        ``agent`` and the same of a search, None if the agent is none whose rollouts it can play.

    Raises:
        ValueError: The folder holds another run, or a damaged one.
    """
    run = Run.open(config, folder)
    policy = train_or_resume(run, command_line)
    card = read_json(run.card_path)
    return {
        "against": against,
        "identity": identity(against, game),
        "num_players": players,
        "start": config.imitation.agent,
        "decisions": card["decisions"],
        "hours": card["hours"],
        "machine": card["machine"],
        **_gain(game, run, str(policy), against, players, deals, seed),
        "search": _gain_of_search(game, run, against, players, search, search_deals, seed),
    }


def _gain_of_search(
    game: Game, run: Run, against: str, players: int, search: str, deals: int, seed: int
) -> dict[str, Any] | None:
    """What a search gains whose rollouts the agent plays."""
    is_policy = against in ("heuristic", "random") or policy_path(against, game) is not None
    if deals == 0 or not is_policy:
        return None
    agent = f"{search},policy={against}"
    return {"agent": agent, **_gain(game, run, agent, against, players, deals, seed)}


def _gain(
    game: Game, run: Run, agent: str, against: str, players: int, deals: int, seed: int
) -> dict[str, Any]:
    """What an agent gains among copies of another, by the rules of the run."""
    found = one_against(game, agent, against, players, deals, seed, run.rules)
    return {
        "gain": found["rank"],
        "gain_ci95": found["rank_ci95"],
        "truncated": found["truncated"],
    }


def measure(
    path: Path,
    against: Sequence[str],
    players: Sequence[int],
    *,
    start: str | None,
    overrides: Sequence[str],
    deals: int,
    search: str,
    search_deals: int,
    seed: int,
    out: Path,
    jobs: int,
    games_from: Sequence[str] = (),
) -> dict[str, Any]:
    """A response to each agent at each table size, as ``--json`` writes it.

    Args:
        path: The game's configuration.
        against: The agents.
        players: The numbers of players.
        start: The agent to start with; None: a policy's response starts with that policy, others
            with the game's ``ppo``, or its default opponent.
        overrides: ``KEY=VALUE``, as for ``training.train``.
        deals: How many deals of each table.
        search: The search that also responds, without its policy.
        search_deals: How many deals of each table it plays; 0: none.
        seed: The deals' seed.
        out: The folder of the runs.
        jobs: Runs at a time; -1: as many as there are cores.
        games_from: Modules with games, for the record.

    Raises:
        ValueError: Something in the file or in the arguments is wrong.
    """
    deal_seeds(seed, deals)
    game = load_game(load_config(path).game)
    check_search(search, search_deals, game)
    configs = {
        (agent, n): response_config(path, agent, n, start or _start(agent, game), overrides)
        for agent in against
        for n in players
    }
    runs = {
        (agent, n): Run.open(config, out / _folder(agent, n))
        for (agent, n), config in configs.items()
    }
    command_line = command_as_typed(
        "training.best_response",
        str(path),
        *("--against", *against),
        *("--players", *map(str, players)),
        *(("--start", start) if start else ()),
        *(("--set", *overrides) if overrides else ()),
        *("--deals", str(deals)),
        *("--search", search),
        *("--search-deals", str(search_deals)),
        *("--seed", str(seed)),
        games_from=games_from,
    )
    calls = [
        joblib.delayed(respond)(
            game, run.config, agent, n, run.folder, deals, search, search_deals, seed, command_line
        )
        for (agent, n), run in runs.items()
    ]
    responses = do_calls(calls, "responses", jobs)
    return {
        "game": game.id,
        "command": command_line,
        "versions": versions(("numba", "numpy", "torch")),
        "deals": deals,
        "search": search,
        "search_deals": search_deals,
        "seed": seed,
        "responses": responses,
    }


def _start(agent: str, game: Game) -> str:
    if policy_path(agent, game) is not None:
        return agent
    return "ppo" if "ppo" in shipped_policies(game) else game.default_opponent


def _folder(agent: str, players: int) -> str:
    return re.sub(r"[^\w.-]+", "_", f"{agent}_{players}")


def show(result: dict[str, Any]) -> None:
    """Print the gains that :func:`measure` returns."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{result['game']}: what a best response gains, {result['deals']} deals")
    for heading in ("against", "players", "learner", "95% interval", result["search"]):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    for row in result["responses"]:
        table.add_row(
            short_names([row["against"]])[0],
            str(row["num_players"]),
            f"{row['gain']:+.3f}",
            interval(row, "gain"),
            f"{row['search']['gain']:+.3f}" if row["search"] else "–",
        )
    console = Console()
    console.print(table)
    if result["deals"] < FEWEST_VALUES:
        console.print(NO_INTERVAL)


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.best_response", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("config", type=Path, help="the game's YAML file, see configs/")
    parser.add_argument(
        "--against",
        nargs="+",
        metavar="A",
        help="agents, names or policy files; default: heuristic, the last predecessor of ppo and "
        "ppo, if the game has them",
    )
    parser.add_argument(
        "--players",
        nargs="+",
        type=int,
        metavar="N",
        help="table sizes; default: the game's smallest, and its default",
    )
    parser.add_argument(
        "--start",
        metavar="A",
        help="the agent to start with; default: the agent itself if it is a policy, otherwise ppo "
        "or the game's default opponent",
    )
    add_set_argument(parser)
    parser.add_argument(
        "--deals",
        type=int,
        default=2000,
        metavar="N",
        help="deals, each in all seatings (default: 2000)",
    )
    parser.add_argument(
        "--search",
        default="search:64",
        metavar="NAME",
        help="the search that also responds, with the agent's rollouts; default: search:64",
    )
    parser.add_argument(
        "--search-deals",
        type=int,
        default=100,
        metavar="N",
        help="deals that the search plays; 0: no search; default: 100",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="the deals' seed (default: 0)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder of the runs (default: runs/response_<config>)",
    )
    add_jobs_argument(parser, "runs")
    parser.add_argument(
        "--json", type=output_file, metavar="FILE", help="write the result here as well"
    )
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    game = load_game(load_config(args.config).game)
    shipped = [name for name in shipped_policies(game) if name == "ppo"]
    result = measure(
        args.config,
        args.against or [game.default_opponent, *predecessors(game)[-1:], *shipped],
        args.players or sorted({game.min_players, game.default_players}),
        start=args.start,
        overrides=args.set,
        deals=args.deals,
        search=args.search,
        search_deals=args.search_deals,
        seed=args.seed,
        out=args.out or Path("runs") / f"response_{args.config.stem}",
        jobs=args.jobs,
        games_from=args.games_from,
    )
    if args.json:
        write_json(args.json, result)
    show(result)


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.best_response``; returns the exit status."""
    return running.run("training.best_response", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
