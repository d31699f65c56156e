"""What limits a policy? Short runs that differ from a base in one setting each, over some seeds.

    python -m training.study configs/studies/beaver_gang.yaml [--out DIR] [--jobs N] [--json FILE]

Each run ends with its policy against copies of each of some agents, on the same deals at every
table size. A finished run is not repeated. The result is written as JSON.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import joblib
from pydantic import Field, field_validator

from card_envs.agents import AgentLike, make_agent
from card_envs.commands import arguments, running
from card_envs.commands.arguments import output_file
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds, play_one_against
from card_envs.utils.files import write_json
from training.runs.config import Config
from training.runs.keys import Section, check, read_yaml, with_overrides
from training.runs.records import command_as_typed, identity, read_json, versions, write_or_print
from training.runs.run import Run
from training.runs.tasks import add_jobs_argument, do_calls
from training.train import train_or_resume

# The deals on which policies are compared are not those of a run's own evaluations.
_DEALS_SEED = 2_000_003


class Study(Section):
    """A base, and settings that differ from it."""

    question: str = Field(description="above the table")
    seeds: Annotated[tuple[int, ...], Field(min_length=3)] = Field(description="of the runs")
    deals: int = Field(500, ge=2, description="at each table size")
    against: Annotated[tuple[str, ...], Field(min_length=1)] = Field(description="agents")
    base: dict[str, Any] = Field(description="a configuration")
    settings: dict[str, tuple[str, ...]] = Field(description="by name, as KEY=VALUE")

    @field_validator("seeds")
    @classmethod
    def _differ(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) != len(seeds):
            raise ValueError(f"seeds must be different, got {list(seeds)}")
        return seeds

    @field_validator("settings")
    @classmethod
    def _are_names(cls, settings: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, changes in settings.items():
            if not re.fullmatch(r"[a-z0-9_]+", name) or name == "base":
                raise ValueError(f"a setting's name is made of a-z, 0-9 and _, not {name!r}")
            for change in changes:
                if change.partition("=")[0] in ("game", "name", "seed"):
                    raise ValueError(f"{name}: game, name and seed cannot be set, got {change!r}")
        return settings

    def configs(self, path: Path) -> dict[tuple[str, int], Config]:
        """The configuration of each setting and seed.

        Args:
            path: The study's file, for errors.

        Raises:
            ValueError: One is wrong.
        """
        settings = {"base": (), **self.settings}
        return {
            (name, seed): check(
                Config, with_overrides(self.base, [*changes, f"seed={seed}"]), f"{path}, {name}"
            )
            for seed in self.seeds
            for name, changes in settings.items()
        }


def load_study(path: Path) -> Study:
    """Read a study.

    Raises:
        ValueError: It cannot be read, or something in it is wrong.
    """
    return check(Study, read_yaml(path), path)


def run_one(
    game: Game,
    config: Config,
    folder: Path,
    against: Sequence[str],
    deals: int,
    sizes: Sequence[int],
    command_line: str,
) -> dict[str, Any]:
    """Train, unless that is done, and measure the policy against copies of each of some agents.

    Args:
        game: The game, so that a process that does not know it yet learns of it.
        config: The run's configuration.
        folder: Where it is, or will be.
        against: The agents.
        deals: How many at each table size.
        sizes: The numbers of players.
        command_line: The command that asks for it, for the record.

    Returns:
        ``decisions``, ``hours``, ``machine``, ``deals``, and ``against``: for each agent the rank
        reward at every table size.

    Raises:
        ValueError: The folder holds another run, or a damaged one.
    """
    run = Run.open(config, folder)
    policy = train_or_resume(run, command_line)
    finished = folder / "measured.json"
    how = {"deals": deals, "sizes": [*sizes], "agents": [identity(name, game) for name in against]}
    if finished.exists():
        noted = read_json(finished)
        if noted["how"] == how:
            return dict(noted["measured"])
    card = read_json(run.card_path)
    measured = {
        "decisions": card["decisions"],
        "hours": card["hours"],
        "machine": card["machine"],
        "deals": deals,
        "against": ranks_against(run, str(policy), against, deals, sizes),
    }
    write_json(finished, {"how": how, "measured": measured})
    return measured


def ranks_against(
    run: Run, agent: AgentLike, against: Sequence[str], deals: int, sizes: Sequence[int]
) -> dict[str, dict[str, float]]:
    """An agent's rank reward against copies of each of some agents, by the rules of a run.

    Args:
        run: The run.
        agent: The agent.
        against: The other agents.
        deals: How many at each table size.
        sizes: The numbers of players.

    Returns:
        For each of the other agents the rank reward by number of players.
    """
    seeds = deal_seeds(_DEALS_SEED, deals)
    return {
        name: {
            str(players): float(played.rank[..., 0].mean())
            for players, played in play_one_against(run.game, agent, name, sizes, seeds, run.rules)
        }
        for name in against
    }


def run_study(path: Path, out: Path, jobs: int, games_from: Sequence[str] = ()) -> dict[str, Any]:
    """Train all missing runs, and return what is written as JSON.

    Args:
        path: The study's file.
        out: The folder of its runs.
        jobs: Runs at a time; -1: as many as there are cores.
        games_from: Modules with games, for the record.

    Raises:
        ValueError: The study is wrong, or a folder holds another run.
    """
    study = load_study(path)
    configs = study.configs(path)
    runs = {key: Run.open(config, out / key[0] / str(key[1])) for key, config in configs.items()}
    base = runs["base", study.seeds[0]]
    game = base.game
    for agent in study.against:
        make_agent(agent, game)
    low, high = game.check_player_range(base.config.environment.num_players)
    sizes = range(low, high + 1)  # of all settings, whatever they play in training
    command_line = command_as_typed("training.study", str(path), games_from=games_from)
    how = (study.against, study.deals, sizes, command_line)
    calls = [joblib.delayed(run_one)(game, run.config, run.folder, *how) for run in runs.values()]
    measured = do_calls(calls, "runs", jobs)
    settings = {"base": (), **study.settings}
    by_setting: dict[str, Any] = {
        name: {"changes": list(changes), "runs": []} for name, changes in settings.items()
    }
    for (name, seed), result in zip(runs, measured, strict=True):
        by_setting[name]["runs"].append({"seed": seed, **result})
    imitated = base.config.imitation.agent
    return {
        "question": study.question,
        "game": game.id,
        "command": command_line,
        "versions": versions(("numba", "numpy", "torch")),
        "deals": study.deals,
        "base": study.base,
        "imitated": imitated,
        "imitated_against": ranks_against(base, imitated, study.against, study.deals, sizes),
        "settings": by_setting,
    }


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.study", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("study", type=Path, help="a YAML file, see configs/studies")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder of the runs (default: runs/<the study's name>)",
    )
    add_jobs_argument(parser, "runs")
    parser.add_argument(
        "--json", type=output_file, metavar="FILE", help="write the result to FILE; default: print"
    )
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    out = args.out or Path("runs") / args.study.stem
    result = run_study(args.study, out, args.jobs, args.games_from)
    write_or_print(args.json, result)


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.study``; returns the exit status."""
    return running.run("training.study", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
