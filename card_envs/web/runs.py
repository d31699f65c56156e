"""Training runs and results of evaluations in a folder, read again for each request.

A run is a folder with ``config.yaml`` and ``progress.jsonl``, as ``python -m training.train`` makes
it; a leaderboard is a file that ``--json`` of ``evaluate`` or ``tournament`` has written. Whatever
cannot be read is left out: a run may be writing at this moment. Only regular files of bounded size
are opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, Field

from card_envs.utils.files import modified_at, read_regular
from card_envs.utils.run_folder import PROGRESS, RunFolder
from card_envs.web.agents import RUN, policy_left_by
from card_envs.web.messages import shown_name

_DEPTH = 3  # folders within folders that are searched
_MOST_FILES = 1000  # the newest, which a request looks at
_MOST_RUNS = 100
_MOST_BYTES = 4_000_000
_MOST_YAML_BYTES = 1 << 16  # a run's config has a few thousand; YAML is slow to read
_MOST_NESTED = 50  # values within values of a config
# libyaml's, where there is one, takes a tenth of the time.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CI = "_ci95"
_Found = TypeVar("_Found", bound=BaseModel)
# What reading a file of another kind, or one that is being written, may raise.
_READING_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
    yaml.YAMLError,
)


# Beyond this the page's chart would have no end.
_Rank = Annotated[float, Field(ge=-2, le=2)]


class Curve(BaseModel):
    """A run's evaluations against one agent.

    Args:
        against: The agent's name.
        mean: The mean rank reward at each evaluation.
        interval: Its 95% interval; None: too few deals.
    """

    against: str
    mean: list[_Rank]
    interval: list[tuple[_Rank, _Rank] | None]


class TrainingRun(BaseModel):
    """The progress of a training run.

    Args:
        name: Its path in the folder.
        game: The game's id.
        state: Whether it is done, in training, or neither.
        decisions: How many the learner has made.
        target: How many it is to make.
        seconds: How long that took.
        rate: Decisions a second since the evaluation before; None: not known yet.
        seconds_left: At that rate.
        at: The decisions made at each evaluation.
        curves: The evaluations.
        truncated: The share of truncated games at the last one.
        agent: The label of its policy among the agents; None: it has left none yet.
    """

    name: str
    game: str
    state: Literal["finished", "training", "stopped"]
    decisions: int
    target: int
    seconds: float
    rate: float | None
    seconds_left: float | None
    at: list[int]
    curves: list[Curve]
    truncated: float
    agent: str | None


class Standing(BaseModel):
    """An agent on a leaderboard; intervals are of 95%, None with too few deals, and an open end of
    one is None."""

    name: str
    rank: float
    rank_ci95: tuple[float, float] | None
    rating: float | None = None
    rating_ci95: tuple[float | None, float | None] | None = None
    win: float | None = None


class Leaderboard(BaseModel):
    """How strong agents are.

    Args:
        name: The file's path in the folder.
        game: The game's id.
        num_players: At tables of this size; None: of several.
        deals: How many deals were played.
        agents: The strongest first.
    """

    name: str
    game: str
    num_players: int | None = None
    deals: int
    agents: list[Standing]


class RunsFolder(BaseModel):
    """All that a folder of runs has to show."""

    runs: list[TrainingRun]
    leaderboards: list[Leaderboard]


def read_runs(folder: Path) -> RunsFolder:
    """All runs, those that changed last first, and all leaderboards."""
    runs: list[TrainingRun] = []
    leaderboards: list[Leaderboard] = []
    paths = sorted(_files(folder), key=modified_at, reverse=True)
    for path in paths[:_MOST_FILES]:
        name = path.relative_to(folder)
        try:
            if path.name == PROGRESS and len(runs) < _MOST_RUNS:
                runs.append(_sendable(_read_run(path.parent, shown_name(name.parent.as_posix()))))
            elif path.suffix == ".json" and len(leaderboards) < _MOST_RUNS:
                board = _read_leaderboard(path, shown_name(name.as_posix()))
                leaderboards.append(_sendable(board))
        except _READING_ERRORS:
            continue
    return RunsFolder(runs=runs, leaderboards=leaderboards)


def _sendable(found: _Found) -> _Found:
    """What was found, if it can be sent: JSON can name characters that UTF-8 does not have."""
    found.model_dump_json()
    return found


def _files(folder: Path) -> Iterator[Path]:
    """Files that may be shown; folders that cannot be read are left out."""
    for place, folders, names in os.walk(folder, followlinks=True):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(f for f in folders if depth < _DEPTH and not f.startswith("."))
        for name in sorted(names):
            if name == PROGRESS or (name.endswith(".json") and not name.startswith(".")):
                yield Path(place, name)


def _text(path: Path, most: int = _MOST_BYTES) -> str:
    return read_regular(path, most).decode()


def _read_config(path: Path) -> Any:
    text = _text(path, _MOST_YAML_BYTES)
    # A few lines of aliases can stand for any amount of data, and the loader written in C goes into
    # nested data until it crashes; no run writes either.
    depth = 0
    for event in yaml.parse(text, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _MOST_NESTED:
            raise ValueError(f"{path} has aliases, or is nested too deeply")
    return yaml.load(text, _Loader)


def _read_run(folder: Path, name: str) -> TrainingRun:
    run = RunFolder(folder)
    config = _read_config(run.config)
    # Behind the last line end is what is being written.
    lines = _text(run.progress).split("\n")[:-1]
    entries: list[dict[str, Any]] = [json.loads(line) for line in lines]
    last = entries[-1] if entries else {}
    decisions, target = int(last.get("decisions", 0)), int(config["decisions"])
    rate = _rate(entries)
    left = max(target - decisions, 0)
    return TrainingRun(
        name=name,
        game=config["game"],
        state=_state(run, config),
        decisions=decisions,
        target=target,
        seconds=last.get("seconds", 0.0),
        rate=rate,
        seconds_left=left / rate if rate else None,
        at=[entry["decisions"] for entry in entries],
        curves=_curves(entries),
        truncated=last.get("truncated", 0.0),
        agent=f"{RUN}{name}" if policy_left_by(folder) else None,
    )


def _rate(entries: list[dict[str, Any]]) -> float | None:
    """Decisions a second between the last two evaluations; the clock stands still at a pause."""
    for before, after in pairwise(reversed(entries)):
        seconds = before["seconds"] - after["seconds"]
        if seconds > 0.0:
            return float((before["decisions"] - after["decisions"]) / seconds)
    return None


def _state(run: RunFolder, config: dict[str, Any]) -> Literal["finished", "training", "stopped"]:
    if run.is_locked():
        return "training"
    # A run that was given more decisions has its old policy until they are made.
    return "finished" if run.is_finished(config) else "stopped"


def _curves(entries: list[dict[str, Any]]) -> list[Curve]:
    keys = [
        k
        for k in (entries[-1] if entries else {})
        if k.startswith("vs_") and k + _CI in entries[-1]
    ]
    return [
        Curve(
            against=key.removeprefix("vs_"),
            mean=[entry[key] for entry in entries],
            interval=[entry[key + _CI] for entry in entries],
        )
        for key in keys
    ]


def _read_leaderboard(path: Path, name: str) -> Leaderboard:
    data = json.loads(_text(path))
    agents = data["overall"]["agents"] if "overall" in data else data["agents"]
    found = Leaderboard.model_validate({**data, "name": name, "agents": agents})
    if len(found.agents) < 2:
        raise ValueError(f"{path} compares no agents")
    found.agents.sort(key=lambda agent: -(agent.rank if agent.rating is None else agent.rating))
    return found
