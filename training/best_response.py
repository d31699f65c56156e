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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
from rich.console import Console
from rich.table import Table

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
from training.runs.evaluation import one_against
from training.runs.keys import check, read_yaml, with_overrides
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
    """A game's configuration, changed into one against an agent in all other seats.

    The weights of ``start`` are copied if it is a policy; it is imitated otherwise.

    Raises:
        ValueError: The file cannot be read, or something in it or in the arguments is wrong.
    """
    game = load_game(load_config(path).game)
    data = read_yaml(path)
    data.pop("truncation", None)
    data |= {
        "name": "best_response",
        "seed": SEED,
        "decisions": 10_000_000,
        "checkpoint_every": 1_000_000,
        "ema_decay": 0.9,
        "ppo": PPO,
        "draws": False,
    }
    environment = {**data.get("environment", {}), "num_envs": NUM_ENVS, "num_players": players}
    environment.pop("table_weights", None)
    data["environment"] = environment
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


@dataclass(frozen=True)
class Measurement:
    """How gains are measured.

    Attributes:
        deals: How many deals a response plays.
        search: The search that also responds, without its policy, such as ``"search:64"``.
        search_deals: How many deals it plays; 0: none.
        seed: The deals' seed.
    """

    deals: int
    search: str
    search_deals: int
    seed: int

    def gain(self, run: Run[Config], agent: str, against: str, deals: int) -> dict[str, Any]:
        """What an agent gains among copies of another, by the rules of the run."""
        players: Any = run.config.environment.num_players
        found = one_against(run.game, agent, against, players, deals, self.seed, run.rules)
        return {
            "gain": found["rank"],
            "gain_ci95": found["rank_ci95"],
            "truncated": found["truncated"],
        }

    def gain_of_search(self, run: Run[Config], against: str) -> dict[str, Any] | None:
        """What the search gains whose rollouts the agent plays; None: it can play none."""
        is_policy = against in ("heuristic", "random") or policy_path(against, run.game) is not None
        if self.search_deals == 0 or not is_policy:
            return None
        agent = f"{self.search},policy={against}"
        return {"agent": agent, **self.gain(run, agent, against, self.search_deals)}


def respond(
    game: Game, config: Config, folder: Path, how: Measurement, command_line: str
) -> dict[str, Any]:
    """Train, unless that is done, and measure what the response gains.

    The game is there so that a process that does not know it yet learns of it.

    Returns:
        ``against`` and its ``identity``, ``num_players``, ``start``, ``decisions``, ``hours``,
        ``machine``, ``gain`` and ``gain_ci95``: the response's rank reward over the deals,
        ``truncated``: the share of games that ended at ``max_steps``; and ``search``: the
        ``agent`` and the same of a search, or None.

    Raises:
        ValueError: The folder holds another run, or a damaged one.
    """
    run = Run(config, folder)
    (against,) = config.opponents.agents
    policy = train_or_resume(run, command_line)
    card = read_json(run.card_path)
    return {
        "against": against,
        "identity": identity(against, game),
        "num_players": config.environment.num_players,
        "start": config.imitation.agent,
        **{key: card[key] for key in ("decisions", "hours", "machine")},
        **how.gain(run, str(policy), against, how.deals),
        "search": how.gain_of_search(run, against),
    }


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """A response to each agent at each table size, as ``--json`` writes it.

    Raises:
        ValueError: Something in the file or in the arguments is wrong.
    """
    game = load_game(load_config(args.config).game)
    shipped = [name for name in shipped_policies(game) if name == "ppo"]
    against = args.against or [game.default_opponent, *predecessors(game)[-1:], *shipped]
    sizes = args.players or sorted({game.min_players, game.default_players})
    how = Measurement(args.deals, args.search, args.search_deals, args.seed)
    deal_seeds(how.seed, how.deals)
    check_search(how.search, how.search_deals, game)
    out = args.out or Path("runs") / f"response_{args.config.stem}"
    runs = []
    for agent in against:
        is_policy = policy_path(agent, game) is not None
        start = args.start or (agent if is_policy else [*shipped, game.default_opponent][0])
        for n in sizes:
            config = response_config(args.config, agent, n, start, args.set)
            runs.append(Run(config, out / re.sub(r"[^\w.-]+", "_", f"{agent}_{n}")))
    command_line = command_as_typed(
        "training.best_response",
        *(str(args.config), "--against", *against, "--players", *map(str, sizes)),
        *(("--start", args.start) if args.start else ()),
        *(("--set", *args.set) if args.set else ()),
        *("--deals", str(how.deals), "--search", how.search),
        *("--search-deals", str(how.search_deals), "--seed", str(how.seed)),
        games_from=args.games_from,
    )
    calls = [
        joblib.delayed(respond)(game, run.config, run.folder, how, command_line) for run in runs
    ]
    return {
        "game": game.id,
        "command": command_line,
        "versions": versions(("numba", "numpy", "torch")),
        "deals": how.deals,
        "search": how.search,
        "search_deals": how.search_deals,
        "seed": how.seed,
        "responses": do_calls(calls, "responses", args.jobs),
    }


def show(result: dict[str, Any]) -> None:
    """Print the gains that :func:`measure` returns."""
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
    add = parser.add_argument
    add("config", type=Path, help="the game's YAML file, see configs/")
    about = (
        "agents, names or policy files; default: heuristic, the last predecessor of ppo, and ppo"
    )
    add("--against", nargs="+", metavar="A", help=about)
    about = "table sizes; default: the game's smallest, and its default"
    add("--players", nargs="+", type=int, metavar="N", help=about)
    about = (
        "the agent to start with; default: the agent itself if it is a policy, otherwise ppo or "
    )
    add("--start", metavar="A", help=f"{about}the game's default opponent")
    add_set_argument(parser)
    add("--deals", type=int, default=2000, metavar="N", help="in all seatings; default: 2000")
    about = "the search that also responds, with the agent's rollouts; default: search:64"
    add("--search", default="search:64", metavar="NAME", help=about)
    about = "deals that the search plays; 0: no search; default: 100"
    add("--search-deals", type=int, default=100, metavar="N", help=about)
    add("--seed", type=int, default=0, metavar="S", help="the deals' seed; default: 0")
    about = "folder of the runs; default: runs/response_<config>"
    add("--out", type=Path, metavar="DIR", help=about)
    add_jobs_argument(parser, "runs")
    add("--json", type=output_file, metavar="FILE", help="write the result here as well")
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    result = measure(args)
    if args.json:
        write_json(args.json, result)
    show(result)


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.best_response``; returns the exit status."""
    return running.run("training.best_response", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
