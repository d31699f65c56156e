"""The algorithms that ``benchmarks.algorithms`` compares: lists of them, and their runs."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

import card_envs
from card_envs.contract.game import Game
from card_envs.utils.files import hash_of, write_json
from training.runs.keys import Section, check, read_yaml
from training.runs.records import read_json

# Parts of the package that runs depend on besides the game.
_LEARNED_IN = ("agents", "envs", "integrations")


class Algorithm(Section):
    """An algorithm: the commands that make its policy."""

    about: str = Field(description="what it is, for the table")
    decisions: int = Field(
        ge=1, description="decisions that it may use, of which its commands are told"
    )
    commands: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="commands, one after the other, from the current folder; {python}, {game}, "
        "{players}, {seed}, {decisions}, {out} and the file's variables are replaced"
    )
    policy: str = Field(
        "{out}/policy.safetensors", description="the policy file that the commands leave"
    )


class AlgorithmsFile(Section):
    """Algorithms that are compared with each other."""

    variables: dict[str, dict[str, str | int]] = Field(
        default_factory=dict, description="further words of the commands, by name and game"
    )
    algorithms: Annotated[dict[str, Algorithm], Field(min_length=1)] = Field(
        description="the algorithms by name"
    )

    @field_validator("algorithms")
    @classmethod
    def _are_names(cls, algorithms: dict[str, Algorithm]) -> dict[str, Algorithm]:
        for name in algorithms:
            if not name.isidentifier():
                raise ValueError(f"a name is made of letters, digits and _, not {name!r}")
        return algorithms


def load_algorithms(path: Path) -> AlgorithmsFile:
    """Read a list of algorithms.

    Raises:
        ValueError: It cannot be read, or something in it is wrong.
    """
    return check(AlgorithmsFile, read_yaml(path), path)


@dataclass(frozen=True)
class AlgorithmRun:
    """One run of an algorithm: a game, a number of players and a seed.

    Attributes:
        name: The algorithm's.
        algorithm: The algorithm.
        game: The game.
        words: What its commands' placeholders stand for.
        folder: The run's folder; ``{out}`` is the folder ``run`` in it.
    """

    name: str
    algorithm: Algorithm
    game: Game
    words: Mapping[str, str]
    folder: Path

    @property
    def policy(self) -> Path:
        """The policy file."""
        return Path(self._filled(self.algorithm.policy, out=str(self.folder / "run")))

    def commands(self) -> list[list[str]]:
        """The words of each command.

        Raises:
            ValueError: A placeholder stands for nothing.
        """
        return [shlex.split(self._filled(text)) for text in self.algorithm.commands]

    def _filled(self, text: str, **other: str) -> str:
        try:
            return text.format_map({**self.words, **other})
        except KeyError as error:
            raise ValueError(
                f"{self.name}: nothing is known for {{{error.args[0]}}} in {text!r}; known are "
                f"{', '.join(self.words)}"
            ) from None

    def _files(self) -> dict[str, str]:
        """SHA-256 of the files that the commands name, and of the folders of their modules."""
        words = [word for command in self.commands() for word in command]
        found = {}
        for path in map(Path, sorted(set(words))):
            is_made = path.is_relative_to(self.folder)
            # An interpreter is a link, or elsewhere.
            if path.is_file() and not (is_made or path.is_absolute() or path.is_symlink()):
                found[str(path)] = hash_of([path])
        modules = [after for word, after in pairwise(words) if word == "-m"]
        folders = {Path(*module.split(".")[:-1]) for module in modules if "." in module}
        for folder in sorted(folders):
            found[str(folder)] = hash_of(sorted(folder.glob("*.py")))
        for part in _LEARNED_IN:
            found[part] = hash_of(
                sorted(Path(card_envs.__file__).parent.joinpath(part).rglob("*.py"))
            )
        return found

    def finish(self) -> float:
        """Run the commands, unless that is done with the same files and rules.

        Returns:
            How many seconds they took.

        Raises:
            ValueError: A command failed, or left no policy.
        """
        finished = self.folder / "finished.json"
        how = {"commands": self.commands(), "files": self._files(), "game": self.game.sources}
        if finished.exists() and self.policy.exists():
            noted = read_json(finished)
            if noted["how"] == how:
                return float(noted["seconds"])
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        log = self.folder / "log.txt"
        begun = time.monotonic()
        with log.open("w") as file:
            for words in self.commands():
                # Runs of several seeds go side by side: one core each.
                environment = {**os.environ, "OMP_NUM_THREADS": "1"}
                try:
                    failed = subprocess.run(
                        words, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False
                    ).returncode
                except OSError as error:
                    raise ValueError(f"{self.name}: cannot run {words[0]}: {error}") from None
                if failed:
                    raise ValueError(f"{self.name}: {shlex.join(words)} failed, see {log}")
        if not self.policy.exists():
            raise ValueError(f"{self.name}: its commands left no policy {self.policy}, see {log}")
        seconds = time.monotonic() - begun
        write_json(finished, {"how": how, "seconds": round(seconds, 1)})
        return seconds


def run_of(
    listed: AlgorithmsFile, name: str, game: Game, players: int, seed: int, root: Path
) -> AlgorithmRun:
    """The run of an algorithm.

    Args:
        listed: The file's algorithms.
        name: The algorithm's.
        game: The game.
        players: The number of players.
        seed: The run's seed.
        root: The folder of all runs.
    """
    algorithm = listed.algorithms[name]
    folder = root / game.id / name / str(seed)
    words: dict[str, Any] = {
        "python": shlex.quote(sys.executable),
        "game": game.id,
        "players": players,
        "seed": seed,
        "decisions": algorithm.decisions,
        "out": shlex.quote(str(folder / "run")),
        **{name: by[game.id] for name, by in listed.variables.items() if game.id in by},
    }
    return AlgorithmRun(name, algorithm, game, {k: str(v) for k, v in words.items()}, folder)
