"""How exploitable is an agent? Train a best response to it, and measure what it gains.

    python -m training.best_response configs/beaver_gang.yaml [--against A …] [--players N …]

The learner holds one seat, the frozen agent all others. It starts with what the agent does, or with
what ``--start`` does, and continues with PPO, whose settings are the same for all policies and
games. What it then gains over many duplicate deals is a lower bound of the agent's exploitability;
among copies of itself every agent gains exactly 0. Finished runs are not repeated. A search whose
rollouts the agent plays is another exploiter: the larger gain is the better bound. The result is
written as JSON, which ``python -m benchmarks.tables FILE`` shows as a table.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib

from card_envs.agents import NetworkAgent, make_agent, policy_path, shipped_policies
from card_envs.agents.search.agents import Searcher
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds
from card_envs.evaluation.deals import MOST_DEALS
from card_envs.games import load_game
from training.runs import keys, records
from training.runs.config import Config, PoolSection
from training.runs.evaluation import one_against
from training.runs.run import Run, add_set_argument
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
    game = load_game(keys.load(Config, path).game)
    data = keys.read_yaml(path)
    environment = {**data.get("environment", {}), "num_envs": NUM_ENVS, "num_players": players}
    environment.pop("table_weights", None)
    data.pop("truncation", None)
    opponents = {"self": 0, "pool": 0, "agents": {against: 1}}
    data |= {
        "name": "best_response",
        "seed": SEED,
        "decisions": 10_000_000,
        "checkpoint_every": 1_000_000,
        "ema_decay": 0.9,
        "ppo": PPO,
        "draws": False,
        "environment": environment,
        "opponents": opponents,
        "imitation": {
            "agent": start,
            "copy_weights": isinstance(make_agent(start, game), NetworkAgent),
            "decisions": 1_000_000,
            "learning_rate": 2e-3,
        },
        "evaluation": {
            "every": 2_000_000,
            "deals": 200,
            "players": [players],
            "against": [against],
        },
    }
    config = keys.check(Config, keys.with_overrides(data, overrides), path)
    chosen = config.game, config.environment.num_players, config.opponents
    if chosen != (game.id, players, PoolSection.model_validate(opponents)):
        raise ValueError("--set: the table is chosen by --against and --players")
    return config


def respond(
    game: Game, config: Config, folder: Path, args: argparse.Namespace, command_line: str
) -> dict[str, Any]:
    """Train, unless that is done, and measure what the response gains.

    The game is there so that a process that does not know it yet learns of it.

    Returns:
        ``against`` and its ``identity``, ``num_players``, ``start``, ``decisions``, ``hours``,
        ``machine``, ``gain`` and ``gain_ci95``: the response's rank reward over the deals,
        ``truncated``: the share of games that ended at ``max_steps``; and ``search``: the
        ``agent`` and the same of the search whose rollouts the agent plays, or None.

    Raises:
        ValueError: The folder holds another run, or a damaged one.
    """
    run = Run(config, folder)
    [against] = config.opponents.agents
    players: Any = config.environment.num_players

    def gain(agent: str, deals: int) -> dict[str, Any]:
        found = one_against(game, agent, against, players, deals, args.seed, run.rules, args.seed)
        return {key.replace("rank", "gain"): value for key, value in found.items()}

    policy = train_or_resume(run, command_line)
    card = records.read_json(run.card_path)
    searcher = f"{args.search},policy={against}"
    return {
        "against": against,
        "identity": records.identity(against, game),
        "num_players": players,
        "start": config.imitation.agent,
        **{key: card[key] for key in ("decisions", "hours", "machine", "commit")},
        **gain(str(policy), args.deals),
        "search": {"agent": searcher, **gain(searcher, args.search_deals)}
        if args.search_deals and _can_be_made(searcher, game)
        else None,
    }


def _can_be_made(searcher: str, game: Game) -> bool:
    """Whether a search plays rollouts with its agent: with a program or a model it cannot."""
    try:
        make_agent(searcher, game)
    except ValueError:
        return False
    return True


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """A response to each agent at each table size, as ``--json`` writes it.

    Raises:
        ValueError: Something in the file or in the arguments is wrong.
    """
    game = load_game(keys.load(Config, args.config).game)
    shipped = [name for name in shipped_policies(game) if name == "ppo"]
    against = args.against or [game.default_opponent, *records.predecessors(game)[-1:], *shipped]
    sizes = args.players or sorted({game.min_players, game.default_players})
    deal_seeds(args.seed, args.deals)
    _check_search(args.search, args.search_deals, game)
    out = args.out or Path("runs") / f"response_{args.config.stem}"
    how = {name: getattr(args, name) for name in ("deals", "search", "search_deals", "seed")}
    command_line = records.command_as_typed(
        "training.best_response",
        *(str(args.config), "--against", *against, "--players", *map(str, sizes)),
        *(("--start", args.start) if args.start else ()),
        *(("--set", *args.set) if args.set else ()),
        *(w for k, v in how.items() for w in (f"--{k.replace('_', '-')}", str(v))),
        games_from=args.games_from,
    )
    calls = []
    for agent in against:
        is_policy = policy_path(agent, game) is not None
        start = args.start or (agent if is_policy else [*shipped, game.default_opponent][0])
        for n in sizes:
            config = response_config(args.config, agent, n, start, args.set)
            run = Run(config, out / re.sub(r"[^\w.-]+", "_", f"{agent}_{n}"))  # or it is refused
            calls.append(joblib.delayed(respond)(game, config, run.folder, args, command_line))
    return {
        "game": game.id,
        "command": command_line,
        "versions": records.versions(),
        **how,
        "responses": do_calls(calls, "responses", args.jobs),
    }


def _check_search(name: str, deals: int, game: Game) -> None:
    """Raise a ValueError unless ``--search`` names a search agent, without its policy, and
    ``--search-deals`` are 0 (none) or enough."""
    if deals == 0:
        return
    if not 2 <= deals <= MOST_DEALS:
        raise ValueError(f"--search-deals must be 0, or at least 2 and at most {MOST_DEALS}")
    if not isinstance(make_agent(name, game), Searcher):
        raise ValueError(f"--search: {name!r} is not a search agent, such as search:64")
    if "policy=" in name:
        raise ValueError(f"--search: {name!r} names a policy; here it is that which is measured")


@running.command("training.best_response")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m training.best_response``."""
    parser = arguments.module_parser("training.best_response", __doc__)
    add = parser.add_argument
    add("config", type=Path, help="the game's YAML file, see configs/")
    about = "names or policy files; default: heuristic, the last predecessor of ppo, and ppo"
    add("--against", nargs="+", metavar="A", help=about)
    about = "table sizes; default: the game's smallest, and its default"
    add("--players", nargs="+", type=int, metavar="N", help=about)
    about = "the agent to start with; default: that which is responded to, if it is a policy, "
    add("--start", metavar="A", help=f"{about}otherwise ppo or the game's default opponent")
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
    about = "write the result to FILE; default: print"
    add("--json", type=arguments.output_file, metavar="FILE", help=about)
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    records.write_or_print(args.json, measure(args))


if __name__ == "__main__":
    raise SystemExit(main())
