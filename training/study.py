"""What limits a policy? Short runs that differ from a base in one setting each, over some seeds.

    python -m training.study configs/studies/beaver_gang.yaml [--out DIR] [--jobs N] [--readme]

Each run ends with its policy alone among each of some agents, on the same deals at every table
size. A finished run is not made again. The results go to ``training/results/``, and with
``--readme`` into the tables of ``training/README.md``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
from pydantic import Field, field_validator

from card_envs.agents import make_agent
from card_envs.docs import markdown_table
from card_envs.games import load_game
from training import command
from training.config import Config, Part, check, read_yaml, with_overrides
from training.evaluate import deal_seeds, play_among, rules_of
from training.records import identity, with_tables, write_json
from training.train import train_or_resume

README = Path(__file__).with_name("README.md")
RESULTS = Path(__file__).with_name("results")
# The deals on which policies are compared are not those of a run's own evaluations.
_DEALS_SEED = 2_000_003


class Study(Part):
    """A base, and settings that differ from it."""

    question: str  #: the table's heading
    seeds: Annotated[tuple[int, ...], Field(min_length=3)]
    deals: int = Field(500, ge=2)  #: of each table size
    among: Annotated[tuple[str, ...], Field(min_length=1)]  #: agents
    base: dict[str, Any]  #: a configuration
    settings: dict[str, tuple[str, ...]]  #: by name, as ``KEY=VALUE``

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
                raise ValueError(f"a setting's name is of a-z, 0-9 and _, not {name!r}")
            for change in changes:
                if change.partition("=")[0] in ("game", "name", "seed"):
                    raise ValueError(f"{name}: game, name and seed are no settings, got {change!r}")
        return settings

    def configs(self, path: Path) -> dict[tuple[str, int], Config]:
        """The configuration of each setting and seed; ValueError if one is wrong."""
        settings = {"base": (), **self.settings}
        return {
            (name, seed): check(
                Config, with_overrides(self.base, [*changes, f"seed={seed}"]), f"{path}, {name}"
            )
            for seed in self.seeds
            for name, changes in settings.items()
        }


def load_study(path: Path) -> Study:
    """Read a study; ValueError if it cannot be read or something in it is wrong."""
    return check(Study, read_yaml(path), path)


def run_one(
    config: Config, folder: Path, among: Sequence[str], deals: int, sizes: range
) -> dict[str, Any]:
    """Train, unless that is done, and measure: the policy alone among each of some agents.

    Args:
        config: The run.
        folder: Where it is, or will be.
        among: The agents.
        deals: How many at each table size.
        sizes: The numbers of players.

    Returns:
        ``decisions``, ``hours``, ``machine``, ``deals``, and ``among``: for each agent the rank
        reward at every table size.
    """
    policy = train_or_resume(config, folder)
    finished = folder / "measured.json"
    game = load_game(config.game)
    how = {"deals": deals, "sizes": [*sizes], "agents": [identity(name, game) for name in among]}
    if finished.exists():
        noted = json.loads(finished.read_text(encoding="utf-8"))
        if noted["how"] == how:
            return noted["measured"]
    card = json.loads(policy.with_suffix(".json").read_text(encoding="utf-8"))
    measured = {
        "decisions": card["decisions"],
        "hours": card["hours"],
        "machine": card["machine"],
        "deals": deals,
        "among": ranks_among(config, str(policy), among, deals, sizes),
    }
    write_json(finished, {"how": how, "measured": measured})
    return measured


def ranks_among(
    config: Config, agent: str, among: Sequence[str], deals: int, sizes: range
) -> dict[str, dict[str, float]]:
    """The agent's rank reward alone among each of some agents, at each table size, by the rules of
    a run."""
    game = load_game(config.game)
    measured = make_agent(agent, game)
    seeds = deal_seeds(_DEALS_SEED, deals)
    ranks: dict[str, dict[str, float]] = {name: {} for name in among}
    for name in among:
        opponent = make_agent(name, game)
        for players, played in play_among(game, measured, opponent, sizes, seeds, rules_of(config)):
            ranks[name][str(players)] = float(played.rank[..., 0].mean())
    return ranks


def run_study(path: Path, out: Path, jobs: int) -> dict[str, Any]:
    """Make all runs that are missing, ``jobs`` at a time, and return what is written as JSON."""
    study = load_study(path)
    configs = study.configs(path)
    game = load_game(study.base["game"])
    for agent in study.among:
        make_agent(agent, game)
    base = configs["base", study.seeds[0]]
    low, high = game.check_player_range(base.environment.num_players)
    sizes = range(low, high + 1)  # of all settings, whatever they play in training
    measured = joblib.Parallel(n_jobs=jobs)(
        joblib.delayed(run_one)(config, out / name / str(seed), study.among, study.deals, sizes)
        for (name, seed), config in configs.items()
    )
    settings = {"base": (), **study.settings}
    by_setting: dict[str, Any] = {
        name: {"changes": list(changes), "runs": []} for name, changes in settings.items()
    }
    for (name, seed), run in zip(configs, measured, strict=True):
        by_setting[name]["runs"].append({"seed": seed, **run})
    imitated = base.imitation.agent
    return {
        "question": study.question,
        "game": game.id,
        "command": f"python -m training.study {path}",
        "deals": study.deals,
        "base": study.base,
        "imitated": imitated,
        "imitated_among": ranks_among(base, imitated, study.among, study.deals, sizes),
        "settings": by_setting,
    }


def study_table(result: dict[str, Any]) -> str:
    """The study as a Markdown table: the mean over seeds and table sizes, and the seeds' range."""
    agents = list(result["settings"]["base"]["runs"][0]["among"])
    header = ["setting", "changes", *(f"among `{a}`" for a in agents)]
    imitated = [np.mean(list(result["imitated_among"][agent].values())) for agent in agents]
    cells = [f"{rank:+z.3f}" for rank in imitated]
    entries = [[f"`{result['imitated']}` itself", "", *cells]]
    for name, setting in result["settings"].items():
        cells = []
        for agent in agents:
            by_seed = [np.mean(list(run["among"][agent].values())) for run in setting["runs"]]
            cells.append(f"{np.mean(by_seed):+.3f} ({min(by_seed):+.3f} … {max(by_seed):+.3f})")
        changes = ", ".join(f"`{change}`" for change in setting["changes"])
        entries.append([name, changes, *cells])
    runs = result["settings"]["base"]["runs"]
    return (
        f"{result['question']}\n\n{markdown_table(header, entries, len(agents))}\n\n"
        f"Rank reward of one among others, the mean over table sizes and {len(runs)} seeds (lowest "
        f"… highest seed), {result['deals']} deals in all seatings at each size. The base makes "
        f"{runs[0]['decisions']:,} decisions: `{result['command']}`, on {runs[0]['machine']}."
    )


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.study", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("study", type=Path, help="a YAML file, see configs/studies")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/<the study's name>")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="default: all cores")
    parser.add_argument("--readme", action="store_true", help="rewrite training/README.md's tables")
    args = parser.parse_args(argv)
    result = run_study(args.study, args.out or Path("runs") / args.study.stem, args.jobs)
    print(study_table(result))
    write_json(RESULTS / f"study_{args.study.stem}.json", result)
    if args.readme:
        text = README.read_text(encoding="utf-8")
        README.write_text(with_tables(text, "study", RESULTS, study_table), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.study``; returns the exit status."""
    return command.run("training.study", _main, argv)


if __name__ == "__main__":
    raise SystemExit(main())
