"""A run's folder: what every long run writes, notes and resumes from."""

from __future__ import annotations

import json
import logging
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch
import yaml
from filelock import FileLock, Timeout

from card_envs.agents import Agent, NetworkAgent, make_agent
from card_envs.agents.network import Network, write_policy
from card_envs.contract.game import Game, View
from card_envs.games import load_game
from card_envs.utils.files import followed, left_beside, write_json, write_output, write_text
from card_envs.utils.words import counted
from training.runs.config import GameConfig
from training.runs.keys import Section, check, read_yaml
from training.runs.records import commit_of, identity, machine, read_json, versions

logger = logging.getLogger("card_envs")

_Config = TypeVar("_Config", bound=GameConfig)

# What a run began with: the configuration without its length, and what it depends on besides.
_ORIGIN = "agents.json"
_CONFIG = "config.yaml"
_COMMANDS = "command.txt"


# What torch decides, whatever a run of this process has set.
_DEFAULT_THREADS = torch.get_num_threads()


def use_threads(threads: int | None) -> None:
    """Set torch's CPU threads; None: as many as torch decided at the start."""
    torch.set_num_threads(threads or _DEFAULT_THREADS)


def load_resumed(
    load: Callable[[Path, Sequence[str]], _Config],
    folder: Path,
    overrides: Sequence[str],
    length: str,
) -> _Config:
    """The configuration in a run's folder, perhaps with a greater length.

    Args:
        load: Reads a configuration, with overrides.
        folder: The folder.
        overrides: ``LENGTH=N`` or nothing.
        length: The key that may grow, such as ``"decisions"``.

    Raises:
        ValueError: The folder holds no run, or something else is asked for.
    """
    path = folder / _CONFIG
    before, config = load(path, ()), load(path, overrides)
    old = getattr(before, length)
    if getattr(config, length) < old or config.model_copy(update={length: old}) != before:
        raise ValueError(f"a resumed run can be given more {length}, and nothing else")
    return config


@dataclass(frozen=True)
class RunFolder(Generic[_Config]):
    """A run: its configuration, game, agents and folder, each resolved once.

    Attributes:
        LENGTH: The key of the configuration that may grow when a run is resumed.
        config: The configuration.
        game: The game.
        options: The game's options with defaults filled in, ``reward`` among them.
        view: How the learner observes.
        agents: The agents that take part, by the names that the configuration uses.
        identities: The same agents as ``training.runs.records.identity`` tells them apart.
        folder: Where the run's files are, or will be.
    """

    LENGTH: ClassVar[str]

    config: _Config
    game: Game
    options: dict[str, Any]
    view: View
    agents: dict[str, Agent]
    identities: dict[str, str]
    folder: Path

    @classmethod
    def _resolve(cls, config: _Config, folder: Path, others: list[str]) -> Self:
        """The run of a configuration, in which these agents take part besides its opponents."""
        game = load_game(config.game)
        options, view = game.split_options(config.environment.options)
        names = sorted({*config.opponents.agents, *others, *config.evaluation.against})
        agents = {name: make_agent(name, game) for name in names}
        identities = {name: identity(name, game) for name in names}
        return cls(config, game, options, view, agents, identities, folder)

    def learner(self, network: Network) -> NetworkAgent:
        """The learner with this network, playing as its policy will be exported."""
        draw_seed = 0 if self.config.draws else None
        return NetworkAgent(network, "learner", self.view, draw_seed=draw_seed)

    def _read_config(self) -> _Config:
        """The configuration in the folder."""
        path = self.folder / _CONFIG
        return check(type(self.config), read_yaml(path), path)

    @property
    def rules(self) -> dict[str, Any]:
        """The run's options that are rules of the game: neither ``reward`` nor ``max_steps``."""
        return {k: v for k, v in self.options.items() if k not in ("reward", "max_steps")}

    @property
    def policy_path(self) -> Path:
        """The exported policy."""
        return self.folder / f"{self.config.name}.safetensors"

    @property
    def is_finished(self) -> bool:
        """Whether the policy is there, and is that of the whole configuration."""
        if not (self.policy_path.exists() and self.card_path.exists()):
            return False
        card = read_json(self.card_path)
        made = card.get("config") if isinstance(card, dict) else None
        return json.dumps(made) == json.dumps(self.config.model_dump(mode="json"))

    @property
    def card_path(self) -> Path:
        """The exported policy's card, which is the last file that a run leaves."""
        return self.policy_path.with_suffix(".json")

    @property
    def progress_path(self) -> Path:
        """The periodic evaluations, one JSON object a line."""
        return self.folder / "progress.jsonl"

    @property
    def checkpoint_path(self) -> Path:
        """The checkpoint from which the run resumes."""
        return self.folder / "checkpoint.safetensors"

    def card(self, packages: Sequence[str], device: str, **own: Any) -> dict[str, Any]:
        """What is noted of the exported policy.

        Args:
            packages: Those whose versions matter.
            device: What torch computes on.
            **own: What only this kind of run has: ``algorithm``, ``hours`` and so on.
        """
        config = self.config
        threads = counted(torch.get_num_threads(), "thread")
        return {
            "name": config.name,
            "game": self.game.name,
            "memory": self.view.memory,
            "features": self.view.features,
            "draws": config.draws,
            "agents": list(self.identities.values()),
            "commands": self.commands,
            "commit": commit_of(),
            "config": config.model_dump(mode="json"),
            "seed": config.seed,
            **own,
            "machine": f"{machine()}; {threads}, {device}",
            "versions": {"python": platform.python_version(), **versions(packages)},
            "last_evaluation": self.progress[-1],
        }

    def export(self, network: Network, card: dict[str, Any]) -> None:
        """Write the policy file and its card.

        The card comes last: a run that has one of its configuration is finished.

        Raises:
            OSError: A file cannot be written.
        """
        write_policy(self.policy_path, network, self.game, self.view, self.config.draws)
        write_json(self.card_path, card)

    @property
    def commands(self) -> list[str]:
        """The commands that began the run, or gave it more decisions."""
        path = self.folder / _COMMANDS
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    @property
    def progress(self) -> list[dict[str, Any]]:
        """The periodic evaluations so far.

        Raises:
            ValueError: The file holds something else.
        """
        if not self.progress_path.exists():
            return []
        try:
            *lines, last = self.progress_path.read_text(encoding="utf-8").split("\n")
            entries = [json.loads(line) for line in lines]
        except ValueError as error:
            raise ValueError(f"{self.progress_path} is damaged: {error}") from None
        if last:  # its writer was interrupted
            logger.warning(
                "ignoring the last line of %s, which is not complete", self.progress_path
            )
        for number, entry in enumerate(entries, 1):
            if not _is_evaluation(entry) or not _always(entries[0]) <= entry.keys():
                raise ValueError(f"{self.progress_path} is damaged: line {number} is no evaluation")
        return entries

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder: it belongs to one process at a time.

        Raises:
            ValueError: Another process holds it; the message names both.
        """
        folder = followed(self.folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        owner = folder.with_name(f".{folder.name}.pid")
        lock = FileLock(folder.with_name(f".{folder.name}.lock"), is_singleton=True)
        try:
            lock.acquire(timeout=1)  # the page of runs holds it for a moment
        except Timeout:
            process = owner.read_text(encoding="utf-8") if owner.exists() else "unknown"
            raise ValueError(
                f"{self.folder} belongs to another process, which is training in it: {process}"
            ) from None
        try:
            owner.write_text(str(os.getpid()), encoding="utf-8")
            yield
        finally:
            owner.unlink(missing_ok=True)
            lock.release()

    def has_begun(self) -> bool:
        """Whether the folder holds this run.

        Raises:
            ValueError: It holds one of another configuration, other rules or other agents.
        """
        if not (self.folder / _CONFIG).exists():
            return False
        if not self._is_noted():
            raise ValueError(
                f"the run in {self.folder} is of another configuration; choose another folder"
            )
        self.check_origin()
        return True

    def begin(self, command_line: str) -> None:
        """Create the folder, and note what the run begins with.

        The configuration comes last: without it there is no run, however this is interrupted.

        Raises:
            ValueError: The folder is not empty.
            OSError: It cannot be written, or the names of files to come are too long for it.
        """
        for path in (self.policy_path, self.card_path):
            followed(path)
        noted = [self.folder / name for name in (_ORIGIN, _COMMANDS, _CONFIG)]
        half_written = [path for place in noted for path in left_beside(place)]
        if self.folder.exists() and {*self.folder.iterdir()} - {*noted[:2], *half_written}:
            raise ValueError(
                f"{self.folder} is not empty; choose another folder, or --resume {self.folder}"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in half_written:
            path.unlink()
        write_json(self.folder / _ORIGIN, self._origin())
        self._note([command_line])

    def check_resumable(self) -> None:
        """Raise a ValueError as :meth:`check_origin` does, or if the folder cannot be written."""
        self.check_origin()
        try:
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise ValueError(f"{self.folder} cannot be written: {error.strerror}") from None

    def check_origin(self) -> None:
        """Raise a ValueError if the run was started with other rules, other agents of the same
        names, or another configuration; warn if it will not be the same bit for bit."""
        noted = self._noted()
        edited = self._edited(noted.get("config", {}))
        if edited:
            raise ValueError(
                f"{self.folder / _CONFIG} was edited since the run began: {', '.join(edited)}; a "
                f"resumed run can be given more {self.LENGTH}, and nothing else"
            )
        if noted.get("agents") != self.identities:
            raise ValueError(
                f"the run in {self.folder} was started with other agents under the same names"
            )
        if noted.get("game") != self.game.sources:
            raise ValueError(
                f"the run in {self.folder} was started with other sources of {self.game.id}"
            )
        threads = torch.get_num_threads()
        if noted.get("threads", threads) != threads:
            logger.warning(
                "the run in %s began with %s of torch and resumes with %d, so it will differ from "
                "one that was not interrupted; OMP_NUM_THREADS=%d resumes it bit for bit",
                self.folder,
                counted(noted["threads"], "thread"),
                threads,
                noted["threads"],
            )

    def _edited(self, before: dict[str, Any]) -> list[str]:
        """What is no longer as it was when the run began, such as ``"seed: 1 was 0"``."""
        now = self._fixed_config()
        # Keys that were added since are not there.
        return [
            f"{key}: {json.dumps(now.get(key))} was {json.dumps(value)}"
            for key, value in before.items()
            if json.dumps(now.get(key)) != json.dumps(value)
        ]

    def _fixed_config(self) -> dict[str, Any]:
        """The configuration without its length, each section's keys as ``"section.key"``."""
        fixed: dict[str, Any] = {}
        for name, value in self.config.model_dump(mode="json", exclude={self.LENGTH}).items():
            is_section = isinstance(getattr(self.config, name), Section)
            fixed |= {f"{name}.{k}": v for k, v in value.items()} if is_section else {name: value}
        return fixed

    def resume(self, command_line: str, decisions: int) -> None:
        """Note the command if it changes the configuration, and forget later evaluations.

        Args:
            command_line: The command.
            decisions: Those of the checkpoint; the run makes later evaluations again.
        """
        kept = [entry for entry in self.progress if entry["decisions"] <= decisions]
        lines = "".join(json.dumps(entry) + "\n" for entry in kept)
        write_output(self.progress_path, lines.encode())
        self.note_if_changed(command_line)

    def note_if_changed(self, command_line: str) -> None:
        """Note the command if it changes the configuration."""
        if not self._is_noted():
            before = self.commands
            # It was noted already if this was interrupted.
            self._note(before if before[-1:] == [command_line] else [*before, command_line])

    def _is_noted(self) -> bool:
        """Whether the folder holds this configuration, its agents in the same order."""
        return self._read_config().model_dump_json() == self.config.model_dump_json()

    def add_progress(self, entry: dict[str, Any]) -> None:
        """Append a periodic evaluation, in the place of one that is not complete."""
        with self.progress_path.open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(json.dumps(entry).encode() + b"\n")

    def _note(self, commands: Sequence[str]) -> None:
        write_text(self.folder / _COMMANDS, "".join(f"{line}\n" for line in commands))
        # Agents stay in their order: who sits where is drawn by it.
        text = yaml.safe_dump(self.config.model_dump(mode="json"), sort_keys=False)
        write_text(self.folder / _CONFIG, text)

    def _origin(self) -> dict[str, Any]:
        """What a run depends on, but for its length.

        The sums of torch's kernels depend on how many threads share them.
        """
        return {
            "game": self.game.sources,
            "agents": self.identities,
            "threads": torch.get_num_threads(),
            "config": self._fixed_config(),
        }

    def _noted(self) -> dict[str, Any]:
        path = self.folder / _ORIGIN
        noted = read_json(path) if path.exists() else {}
        if not isinstance(noted, dict):
            raise ValueError(f"{path} is damaged: it holds no JSON object")
        return noted


def _is_evaluation(entry: Any) -> bool:
    """Whether a line of progress.jsonl is one: numbers, and intervals of two numbers."""
    return (
        isinstance(entry, dict)
        and any(isinstance(entry.get(key), int) for key in ("decisions", "iteration"))
        and all(
            (value is None or _is_interval(value))
            if key.endswith("_ci95")
            else isinstance(value, int | float)
            for key, value in entry.items()
        )
    )


def _always(entry: dict[str, Any]) -> set[str]:
    """The keys that all evaluations of a run have, as an evaluation shows."""
    others = ("decisions", "iteration", "seconds", "epoch")
    return {key for key in entry if key.startswith("vs_") or key in others}


def _is_interval(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2
    return is_pair and all(isinstance(end, int | float) for end in value)
