"""The cells of ``benchmarks.algorithms``: the file that lists them, and how one is made.

A cell is a method with one of its configurations, a game and a seed. Its policy is learned, and
then plays alone among copies of each of some agents. What was measured is one small JSON file; a
cell whose file is there is not made again.
"""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from benchmarks.learners.arguments import MAX_STEPS
from card_envs.agents.identity import hash_of_agent
from card_envs.contract.game import Game
from card_envs.evaluation.deals import check_agent
from card_envs.games import load_game
from card_envs.utils.files import hash_of
from training.runs.evaluation import one_against
from training.runs.keys import Section
from training.runs.records import checked_out, identity, machine, read_json

_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]
_Seed = Annotated[int, Field(ge=0, lt=2**31)]


class Stage(Section):
    """A part of the comparison."""

    seeds: Annotated[tuple[_Seed, ...], Field(min_length=1)]
    """of the runs"""
    deals: Annotated[int, Field(ge=2)]
    """on which policies play, in all seatings"""
    deals_seed: _Seed
    """which deals these are"""


class Method(Section):
    """A method, and the configurations between which is chosen."""

    about: str
    """what it is, for the table"""
    command: str | None = None
    """what learns a policy, ``python`` being the present one, with the files that it reads; null:
    the configurations are agents, which learn nothing"""
    configs: dict[_Name, str]
    """by name: words that are added to the command, or the agent's name"""


class Comparison(Section):
    """What is compared."""

    games: Annotated[dict[str, int], Field(min_length=1)]
    """the number of players by game"""
    cpu_minutes: Annotated[float, Field(gt=0)]
    """of one core, for learning"""
    against: Annotated[tuple[str, ...], Field(min_length=1)]
    """the agents among copies of which a policy plays"""
    tuning: Stage
    """in which each method's configuration is selected"""
    reported: Stage
    """what is shown of the selected ones"""
    methods: Annotated[dict[_Name, Method], Field(min_length=1)]
    """the methods by name"""

    @field_validator("games")
    @classmethod
    def _are_for_so_many(cls, games: dict[str, int]) -> dict[str, int]:
        for name, players in games.items():
            load_game(name).check_num_players(players)
        return games

    @model_validator(mode="after")
    def _is_fair(self) -> Self:
        tuning, reported = self.tuning, self.reported
        every = [*tuning.seeds, *reported.seeds]
        if len(set(every)) != len(every):
            raise ValueError(f"the seeds of tuning and reported must be different, got {every}")
        if tuning.deals_seed == reported.deals_seed:
            raise ValueError("the deals_seed of tuning and reported must be different")
        if len(reported.seeds) < 2:
            raise ValueError("reported.seeds must be at least two, for an interval")
        counts = {name: len(method.configs) for name, method in self.methods.items()}
        if len(set(counts.values())) > 1 or 0 in counts.values():
            listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
            raise ValueError(f"methods must have equally many configs, at least one: {listed}")
        return self

    def cells(self, root: Path, stage: Stage) -> list[Cell]:
        """The cells of a stage, with every configuration. Methods take turns, so that a machine
        whose speed changes changes it for all."""
        return [
            Cell(self, load_game(game), name, config, seed, root)
            for game in self.games
            for seed in stage.seeds
            for name, method in self.methods.items()
            for config in method.configs
        ]


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        comparison: What it is part of.
        game: The game.
        method: The method's name.
        config: The configuration's.
        seed: The run's seed, which says whether it is for tuning or reported.
        root: The folder of all cells.
    """

    comparison: Comparison
    game: Game
    method: str
    config: str
    seed: int
    root: Path

    @property
    def name(self) -> str:
        """What tells it from the others: game, method, configuration and seed."""
        return f"{self.game.id}/{self.method}/{self.config}/{self.seed}"

    @property
    def path(self) -> Path:
        """The JSON file; the run's folder is beside it, without the suffix."""
        return self.root / f"{self.name}.json"

    @property
    def stage(self) -> Stage:
        """That of the seed."""
        comparison = self.comparison
        is_for_tuning = self.seed in comparison.tuning.seeds
        return comparison.tuning if is_for_tuning else comparison.reported

    @property
    def asked(self) -> dict[str, Any]:
        """What decides about the result, apart from the seed and the code."""
        comparison, stage = self.comparison, self.stage
        method = comparison.methods[self.method]
        config = method.configs[self.config]
        # The first is the program, which is another file on another machine.
        words = self._words[1:] if method.command else []
        files = [word for word in words if os.path.isfile(word)]
        return {
            "game": self.game.name,
            "command": method.command,
            "files": {word: hash_of([Path(word)]) for word in files},
            "config": config if method.command else identity(config, self.game),
            "cpu_minutes": comparison.cpu_minutes if method.command else None,
            "players": comparison.games[self.game.id],
            "against": [identity(name, self.game) for name in comparison.against],
            "deals": stage.deals,
            "deals_seed": stage.deals_seed,
        }

    @property
    def _words(self) -> list[str]:
        """Those of the method's command with the configuration."""
        method = self.comparison.methods[self.method]
        return shlex.split(f"{method.command} {method.configs[self.config]}")

    def result(self) -> dict[str, Any] | None:
        """What was measured; None: it has not been made.

        Raises:
            ValueError: The file is damaged, or of something else.
        """
        if not self.path.exists():
            return None
        found = read_json(self.path)
        asked = self.asked
        noted = found.get("asked") if isinstance(found, dict) else None
        if not isinstance(noted, dict) or "against" not in found:
            raise ValueError(f"{self.path} is damaged: it is no cell")
        changed = [key for key in asked if noted.get(key) != asked[key]]
        if changed:
            raise ValueError(
                f"{self.path} is of another {', '.join(changed)}: remove it, or choose another "
                "folder with --cells"
            )
        return dict(found)

    def command(self, games_from: Sequence[str]) -> list[str]:
        """The words that learn the policy."""
        comparison = self.comparison
        first, *words = self._words
        own = {
            "--game": self.game.id,
            "--players": comparison.games[self.game.id],
            "--seed": self.seed,
            "--cpu-minutes": comparison.cpu_minutes,
            "--out": self.path.with_suffix(""),
        }
        words += [str(word) for pair in own.items() for word in pair]
        words += [word for name in games_from for word in ("--games-from", name)]
        return [sys.executable if first == "python" else first, *words]


def make(cell: Cell, games_from: Sequence[str], folder: Path) -> dict[str, Any]:
    """Learn a cell's policy, and measure it.

    Args:
        cell: The cell.
        games_from: Modules of other packages' games.
        folder: Where its command is run; on another machine it is the same one.

    Returns:
        What is written as JSON: the cell, what was ``asked``, ``decisions``, ``cpu_minutes`` and
        ``minutes`` of the whole command (None of an agent that learns nothing), the agent's
        ``sha256``, and ``against``: by opponent ``rank``, ``rank_ci95`` and ``truncated``.

    Raises:
        ValueError: The command failed, or left no policy; or the agent is wrong.
    """
    game, comparison = cell.game, cell.comparison
    commit = checked_out()  # another may follow while it learns
    learned: dict[str, Any] = {"decisions": None, "cpu_minutes": None, "minutes": None}
    agent = comparison.methods[cell.method].configs[cell.config]
    if comparison.methods[cell.method].command:
        learned = _learn(cell, games_from, folder)
        agent = str(cell.path.with_suffix("") / "policy.safetensors")
    return {
        "game": game.id,
        "method": cell.method,
        "config": cell.config,
        "seed": cell.seed,
        "asked": cell.asked,
        **learned,
        "sha256": hash_of_agent(agent, game),
        "against": {name: _play(cell, agent, name) for name in comparison.against},
        "machine": machine(),
        "commit": commit,
    }


def _play(cell: Cell, agent: str, others: str) -> dict[str, Any]:
    """The agent among copies of another one: what it draws follows from the cell's seed."""
    stage, players = cell.stage, cell.comparison.games[cell.game.id]
    options = {"max_steps": MAX_STEPS}
    deals = stage.deals, stage.deals_seed
    return one_against(cell.game, agent, others, players, *deals, options, cell.seed)


def _learn(cell: Cell, games_from: Sequence[str], folder: Path) -> dict[str, Any]:
    """Run a cell's command, which writes to a new folder."""
    out = cell.path.with_suffix("")
    shutil.rmtree(out, ignore_errors=True)  # of a run that was interrupted
    out.parent.mkdir(parents=True, exist_ok=True)
    words, log = cell.command(games_from), out.with_suffix(".log")
    # One core; and RLlib's own cluster, where Ray runs the cells.
    outside = {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}
    environment = {**outside, "OMP_NUM_THREADS": "1"}
    begun, used = time.monotonic(), _seconds_of_children()
    with log.open("w") as file:
        try:
            failed = subprocess.run(
                words,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=folder,
                check=False,
            ).returncode
        except OSError as error:
            raise ValueError(f"{cell.name}: cannot run {words[0]}: {error}") from None
    if failed:
        raise ValueError(f"{cell.name}: {shlex.join(words)} failed, see {log}")
    for name in ("policy.safetensors", "learned.json"):
        if not (out / name).exists():
            raise ValueError(f"{cell.name}: {shlex.join(words)} left no {name} in {out}, see {log}")
    return {
        "decisions": int(read_json(out / "learned.json")["decisions"]),
        "cpu_minutes": round((_seconds_of_children() - used) / 60, 2),
        "minutes": round((time.monotonic() - begun) / 60, 2),
    }


def _seconds_of_children() -> float:
    """The processor's time that finished children of this process have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check_agents(comparison: Comparison) -> None:
    """Raise a ValueError if an agent is none, which must not come up after hours."""
    methods = [method for method in comparison.methods.values() if method.command is None]
    for agent in (*comparison.against, *(name for m in methods for name in m.configs.values())):
        check_agent(agent, map(load_game, comparison.games), 0)
