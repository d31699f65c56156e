"""What makes a policy stronger? Short runs, each with another setting, over some seeds.

    python -m training.study STUDY.yaml [--settings NAME …] [--out DIR] [--jobs N] [--json FILE]

Each run ends with its policy against copies of each of some agents, on the same deals at every
table size. The result is written as JSON. A finished run is not repeated, nor is one that the JSON
already holds: a study can be made in pieces, also on several machines. A folder or a JSON of
another study is refused.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import joblib
from pydantic import Field, field_validator

from card_envs.agents import AgentLike, make_agent
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds
from card_envs.utils.files import write_json
from card_envs.utils.words import did_you_mean
from training.runs import evaluation, keys, records
from training.runs.config import Config, Deals
from training.runs.run import Run
from training.runs.tasks import add_jobs_argument, do_calls
from training.train import lasting, train_or_resume

# The deals on which policies are compared are not those of a run's own evaluations.
_DEALS_SEED = 2_000_003


class Study(keys.Section):
    """A base, and settings that differ from it."""

    question: str
    """above the table"""
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    """of the runs"""
    cpu_minutes: Annotated[float, Field(ge=0.001, le=1e5)] | None = None
    """each setting makes as many decisions as take this long, measured at its beginning; null:
    those of the configuration"""
    deals: Deals = 500
    """at each table size"""
    against: Annotated[tuple[str, ...], Field(min_length=1)]
    """agents"""
    base: dict[str, Any]
    """a configuration"""
    settings: dict[str, tuple[str, ...]]
    """by name, as KEY=VALUE"""

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


def run_one(
    game: Game, config: Config, folder: Path, study: Study, sizes: Sequence[int], command_line: str
) -> dict[str, Any]:
    """Train, unless that is done, and measure the policy.

    The game is there so that a process that does not know it yet learns of it.

    Returns:
        ``decisions``, ``hours``, ``cpu_minutes`` (None if this process has not made the whole run),
        ``machine``, ``commit``, ``deals``, and ``against``: for each agent the rank reward at every
        table size.

    Raises:
        ValueError: The folder holds another run, or a damaged one.
    """
    finished, run = folder / "measured.json", Run(config, folder)
    has_begun = run.noted("decisions", None) is not None
    if study.cpu_minutes is not None:
        run = lasting(run, study.cpu_minutes)
    begin = time.process_time()
    policy = train_or_resume(run, command_line)
    used = time.process_time() - begin
    agents = [records.identity(name, game) for name in study.against]
    how = {"deals": study.deals, "sizes": [*sizes], "agents": agents}
    if finished.exists():
        before = records.read_json(finished)
        if isinstance(before, dict) and before.get("how") == how and "measured" in before:
            return dict(before["measured"])
    card = records.read_json(run.card_path)
    measured = {
        "decisions": card["decisions"],
        "hours": card["hours"],
        "cpu_minutes": None if has_begun else round(used / 60, 1),
        "machine": card["machine"],
        "commit": card["commit"],
        "deals": study.deals,
        "against": ranks_against(run, str(policy), study.against, study.deals, sizes),
    }
    write_json(finished, {"how": how, "measured": measured})
    return measured


def _check_same(where: str, study: dict[str, Any], found: Any) -> None:
    """Raise a ValueError where the runs of another study are."""
    for key, value in study.items():
        if key != "question" and (not isinstance(found, dict) or found.get(key) != value):
            raise ValueError(f"{where} holds runs of another study: {key} differs; choose another")


def _runs_before(
    before: Any,
    study: dict[str, Any],
    settings: Mapping[str, Sequence[str]],
    seeds: Collection[int],
) -> dict[tuple[str, int], dict[str, Any]]:
    """By setting and seed the runs in what was written before; those of settings that have changed
    since are left out.

    Raises:
        ValueError: It is of another study, or damaged, or holds runs that this study has not.
    """
    _check_same("the JSON file", study, before)
    try:
        found = {
            (name, run["seed"]): (entry["changes"], run)
            for name, entry in before["settings"].items()
            for run in entry["runs"]
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the JSON file is damaged: {error!r}") from None
    for name, seed in found:
        if name not in settings or seed not in seeds:
            raise ValueError(
                f"the JSON file holds a run of {name} with the seed {seed}, which this study has "
                "not: choose another"
            )
    return {key: run for key, (made, run) in found.items() if made == list(settings[key[0]])}


def ranks_against(
    run: Run[Config], agent: AgentLike, against: Sequence[str], deals: int, sizes: Sequence[int]
) -> dict[str, dict[str, float]]:
    """An agent's rank reward among copies of each of some agents, by the rules of a run: for each
    of these by number of players."""
    seeds = deal_seeds(_DEALS_SEED, deals)
    found = {}
    for name in against:
        rows, _ = evaluation.against(run.game, agent, name, sizes, seeds, run.rules)
        found[name] = {str(row["num_players"]): row["rank"] for row in rows}
    return found


def run_study(
    path: Path,
    out: Path,
    jobs: int = 1,
    games_from: Sequence[str] = (),
    chosen: Sequence[str] = (),
    before: Any = None,
) -> dict[str, Any]:
    """Train all missing runs of a study's file in a folder, and return what is written as JSON.

    Args:
        path: The file.
        out: The folder.
        jobs: How many runs at a time; -1: as many as there are cores.
        games_from: Modules of other packages' games.
        chosen: Settings that are made beside the base; none: all of them.
        before: What was written before: its runs are kept if all but the settings is the same.

    Raises:
        ValueError: The study is wrong, or a folder holds another run.
    """
    study = keys.load(Study, path)
    settings = {"base": (), **study.settings}
    for name in chosen:
        if name not in settings:
            hint = did_you_mean(name, settings)
            raise ValueError(f"{path} has no setting {name!r}{hint}, but {', '.join(settings)}")
    runs = {}
    for name, changes in settings.items():
        for seed in study.seeds:
            try:
                data = keys.with_overrides(study.base, [*changes, f"seed={seed}"])
            except ValueError as error:
                raise ValueError(f"{path}, {name}: {error}") from None
            keys.refuse_code(data, path)  # which was a part of a text until now
            config = keys.check(Config, data, f"{path}, {name}")
            runs[name, seed] = Run(config, out / name / str(seed))
    base = runs["base", study.seeds[0]]
    game, against, imitation = base.game, study.against, base.config.imitation
    for agent in against:
        make_agent(agent, game)
    low, high = game.check_player_range(base.config.environment.num_players)
    sizes = range(low, high + 1)  # for all settings, whatever they play in training
    result: dict[str, Any] = {
        "question": study.question,
        "game": game.id,
        "cpu_minutes": study.cpu_minutes,
        "deals": study.deals,
        "agents": [records.identity(name, game) for name in against],
        "base": study.base,
    }
    known = {} if before is None else _runs_before(before, result, settings, study.seeds)
    noted = out / "study.json"
    if noted.exists():
        _check_same(str(out), {"cpu_minutes": study.cpu_minutes}, records.read_json(noted))
    out.mkdir(parents=True, exist_ok=True)
    write_json(noted, {"cpu_minutes": study.cpu_minutes})
    command_line = records.command_as_typed("training.study", str(path), games_from=games_from)
    wanted = {"base", *(chosen or settings)}
    missing = [key for key in runs if key[0] in wanted and key not in known]
    how = study, sizes, command_line
    calls = [
        joblib.delayed(run_one)(game, runs[key].config, runs[key].folder, *how) for key in missing
    ]
    made = do_calls(calls, "runs", jobs)
    known |= {key: {"seed": key[1], **found} for key, found in zip(missing, made, strict=True)}
    by_setting = {
        name: [known[name, seed] for seed in study.seeds if (name, seed) in known]
        for name in settings
    }
    imitated = imitation.agent if imitation.decisions else None
    return {
        **result,
        "command": command_line,
        "versions": records.versions(),
        "imitated": imitated,
        "imitated_against": imitated and ranks_against(base, imitated, against, study.deals, sizes),
        "settings": {
            name: {"changes": list(settings[name]), "runs": of_setting}
            for name, of_setting in by_setting.items()
            if of_setting
        },
    }


@running.command("training.study")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m training.study``."""
    parser = arguments.module_parser("training.study", __doc__)
    add = parser.add_argument
    add("study", type=Path, help="a YAML file, see configs/studies")
    about = "settings that are made beside the base (default: all of them)"
    add("--settings", nargs="+", default=[], metavar="NAME", help=about)
    about = "folder of the runs (default: runs/<the study's name>)"
    add("--out", type=Path, metavar="DIR", help=about)
    add_jobs_argument(parser, "runs")
    about = "write the result to FILE, which keeps what it holds of this study; default: print"
    add("--json", type=arguments.output_file, metavar="FILE", help=about)
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    out = args.out or Path("runs") / args.study.stem
    before = records.read_json(args.json) if args.json and args.json.exists() else None
    result = run_study(args.study, out, args.jobs, args.games_from, args.settings, before)
    records.write_or_print(args.json, result)


if __name__ == "__main__":
    # Other processes find a study's class by the name of its module, which here is __main__.
    from training import study

    raise SystemExit(study.main(None))
