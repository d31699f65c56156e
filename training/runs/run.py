"""A run: its configuration, its game and agents, and the folder that it writes and resumes from."""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import torch
import yaml
from filelock import FileLock, Timeout

from card_envs.agents import NetworkAgent, make_agent, runs_code
from card_envs.agents.network import Network, write_policy
from card_envs.commands import arguments
from card_envs.games import load_game
from card_envs.utils.files import (
    check_writable,
    followed,
    left_beside,
    write_json,
    write_output,
    write_text,
)
from card_envs.utils.run_folder import RunFolder
from card_envs.utils.words import counted
from training.runs import records
from training.runs.config import Config, GameConfig
from training.runs.keys import load, read_yaml

logger = logging.getLogger("card_envs")

_Config = TypeVar("_Config", bound=GameConfig)

# What torch decides, whatever a run of this process has set.
_DEFAULT_THREADS = torch.get_num_threads()


def use_threads(threads: int | None) -> None:
    """Set torch's CPU threads; None: as many as torch decided at the start."""
    torch.set_num_threads(threads or _DEFAULT_THREADS)


class Run(Generic[_Config]):
    """A run of training or of expert iteration in a folder; making one writes nothing.

    Attributes:
        game: The game.
        options: The game's options with defaults filled in, ``reward`` among them.
        view: How the learner observes.
        agents: The agents that take part, by the names that the configuration uses.
        identities: The same agents as ``training.runs.records.identity`` tells them apart.
        policy_path: The policy so far.
        card_path: Its card, which is written after it.
        progress_path: The periodic evaluations, one JSON object a line.
        checkpoint_path: The checkpoint from which the run resumes.

    Raises:
        ValueError: There is no such agent, or one cannot do its part.
    """

    def __init__(self, config: _Config, folder: Path) -> None:
        self.config, self.folder = config, folder
        self._commit = records.commit_of()
        self.game = load_game(config.game)
        self.options, self.view = self.game.split_options(config.environment.options)
        names = sorted(config.agent_names)
        self.agents = {name: make_agent(name, self.game) for name in names}
        self.identities = {name: records.identity(name, self.game) for name in names}
        config.check_agents(self.agents, self.view)
        self._files = RunFolder(folder)
        self.policy_path = self._files.policy(config.name)
        self.card_path = self._files.card(config.name)
        self.progress_path = self._files.progress
        self.checkpoint_path = folder / "checkpoint.safetensors"
        # What the run began with: its configuration but for the length, and what it depends on.
        self._origin_path = folder / "agents.json"
        self._config_path = self._files.config
        self._commands_path = folder / "command.txt"

    def __getstate__(self) -> dict[str, Any]:
        # Another process imports an agent's code itself: it does not know the module.
        kept = {name: agent for name, agent in self.agents.items() if not runs_code(name)}
        return {**vars(self), "agents": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for name in self.identities.keys() - self.agents.keys():
            self.agents[name] = make_agent(name, self.game)

    @classmethod
    def reopen(
        cls,
        folder: Path,
        overrides: Sequence[str] = (),
        model: type[_Config] = Config,  # type: ignore[assignment]
    ) -> Self:
        """The run in a folder, perhaps with another length (``decisions=N``, or ``iterations=N`` of
        expert iteration), and then with its schedules; :meth:`check_resumable` refuses more."""
        return cls(load(model, RunFolder(folder).config, overrides), folder)

    @property
    def rules(self) -> dict[str, Any]:
        """The run's options that are rules of the game: neither ``reward`` nor ``max_steps``."""
        return {k: v for k, v in self.options.items() if k not in ("reward", "max_steps")}

    def learner(self, network: Network) -> NetworkAgent:
        """The learner with this network, playing as its policy will be exported."""
        draw_seed = 0 if self.config.draws else None
        return NetworkAgent(network, "learner", self.view, draw_seed=draw_seed)

    @property
    def is_finished(self) -> bool:
        """Whether the policy is there, and is that of the whole configuration."""
        return self._files.is_finished(self.config.model_dump(mode="json"))

    @property
    def was_finished(self) -> bool:
        """Whether the policy is there, and is that of the whole run, perhaps at another length."""
        return self._files.finished_config(self.config.name) is not None

    def export(self, network: Network, device: str, finished: bool, **own: Any) -> None:
        """Write the policy file and its card, each atomically.

        Args:
            network: The policy.
            device: What torch computes on.
            finished: Whether it is that of the whole run.
            **own: What only this kind of run has: ``algorithm``, ``hours`` and so on.
        """
        config, progress = self.config, self.progress
        threads = counted(torch.get_num_threads(), "thread")
        card = {
            "name": config.name,
            "game": self.game.name,
            "memory": self.view.memory,
            "features": self.view.features,
            "draws": config.draws,
            "agents": list(self.identities.values()),
            "commands": self.commands,
            "commit": self._commit,
            "config": config.model_dump(mode="json"),
            "seed": config.seed,
            "finished": finished,
            **own,
            "machine": f"{records.machine()}; {threads}, {device}",
            "versions": {"python": platform.python_version(), **records.versions()},
            "last_evaluation": progress[-1] if progress else None,
        }
        write_policy(self.policy_path, network, self.game, self.view, config.draws)
        write_json(self.card_path, card)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder; ValueError if it belongs to another process, which the message names."""
        folder = followed(self.folder)
        if not folder.name:
            raise ValueError(f"a run needs a folder of its own, got {self.folder}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        owner = self._files.owner
        if self._files.lock.is_symlink():  # opening a lock may empty what it leads to
            raise ValueError(f"{self._files.lock} is a link, which no run has made: remove it")
        lock = FileLock(self._files.lock, is_singleton=True)
        try:
            lock.acquire(timeout=1)  # the page of runs holds it for a moment
        except Timeout:
            process = owner.read_text(encoding="utf-8") if owner.exists() else "unknown"
            raise ValueError(
                f"{self.folder} belongs to another process, which is training in it: {process}"
            ) from None
        try:
            owner.unlink(missing_ok=True)
            with owner.open("x", encoding="utf-8") as file:
                file.write(str(os.getpid()))
            yield
        finally:
            owner.unlink(missing_ok=True)
            lock.release()

    def check_unused(self) -> list[Path]:
        """Check that the run can begin in its folder.

        Returns:
            What a beginning that was interrupted has left half written.

        Raises:
            ValueError: The folder is not empty.
            OSError: The names of files to come are too long for it.
        """
        for path in (self.policy_path, self.card_path):
            followed(path)
        noted = [self._origin_path, self._commands_path, self._config_path]
        half_written = [path for place in noted for path in left_beside(place)]
        if self.folder.exists() and {*self.folder.iterdir()} - {*noted[:2], *half_written}:
            resume = f", or --resume {self.folder}" if self._is_of_this_configuration() else ""
            raise ValueError(f"{self.folder} is not empty; choose another folder{resume}")
        return half_written

    def begin(self, command_line: str) -> None:
        """Create the folder, unless :meth:`check_unused` refuses it, and note what the run begins
        with. The configuration comes last: without it there is no run, however this is interrupted.
        """
        half_written = self.check_unused()
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in half_written:
            path.unlink()
        origin = {
            "game": self.game.sources,
            "agents": self.identities,
            # The sums of torch's kernels depend on how many threads share them.
            "threads": torch.get_num_threads(),
            "trainer": records.trainer(),
            "config": _fixed(self.config),
        }
        write_json(self._origin_path, origin)
        self._note([command_line])

    def noted(self, key: str, otherwise: Any) -> Any:
        """What the folder's configuration says of a key, if there is one."""
        path = self._config_path
        return read_yaml(path).get(key, otherwise) if path.exists() else otherwise

    def has_begun(self) -> bool:
        """Whether the folder holds this run; ValueError if it is one of another configuration, or
        as :meth:`check_resumable` says."""
        if not self._config_path.exists():
            return False
        if not self._is_noted():
            raise ValueError(
                f"the run in {self.folder} is of another configuration; choose another folder"
            )
        self.check_resumable()
        return True

    def check_resumable(self) -> None:
        """Raise a ValueError if the run was started with other rules, other agents of the same
        names, or another configuration, or if its folder cannot be written; warn if it will not be
        the same bit for bit."""
        try:
            check_writable(self.folder)
        except OSError as error:
            raise ValueError(f"{self.folder} cannot be written: {error.strerror}") from None
        noted, now = records.read_json(self._origin_path), _fixed(self.config)
        threads = torch.get_num_threads()
        if (
            not isinstance(noted, dict)
            or not isinstance(noted.get("config", {}), dict)
            or type(noted.get("threads", threads)) is not int
        ):
            raise ValueError(f"{self._origin_path} is damaged: it does not say how the run began")
        changed = [
            f"{key}: {json.dumps(now.get(key))} was {json.dumps(value)}"
            for key, value in noted.get("config", {}).items()  # without keys that were added since
            if json.dumps(now.get(key)) != json.dumps(value)
        ]
        if changed:
            raise ValueError(
                f"of a resumed run {self.config.LENGTH} can be changed, and nothing else; of "
                f"{self.folder}, {', '.join(changed)}"
            )
        about = f"the run in {self.folder} was started with other"
        if noted.get("agents") != self.identities:
            raise ValueError(f"{about} agents under the same names")
        if noted.get("game") != self.game.sources:
            raise ValueError(f"{about} sources of {self.game.id}")
        trainer = records.trainer()
        if noted.get("trainer", trainer) != trainer:
            logger.warning(
                "the run in %s began with other sources of training/ or another version of torch, "
                "so it may differ from one that was not interrupted",
                self.folder,
            )
        if noted.get("threads", threads) != threads:
            logger.warning(
                "the run in %s began with %s of torch and resumes with %d, so it will differ from "
                "one that was not interrupted; OMP_NUM_THREADS=%d resumes it bit for bit",
                self.folder,
                counted(noted["threads"], "thread"),
                threads,
                noted["threads"],
            )

    @property
    def commands(self) -> list[str]:
        """The commands that began the run, or gave it another length."""
        path = self._commands_path
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        return text.splitlines()

    def note_if_changed(self, command_line: str) -> None:
        """Note the command if it changes the configuration."""
        if not self._is_noted():
            before = self.commands
            # It was noted already if this was interrupted.
            self._note(before if before[-1:] == [command_line] else [*before, command_line])

    def _is_of_this_configuration(self) -> bool:
        """Whether the folder holds a run of this configuration, perhaps of another length."""
        try:
            noted = load(type(self.config), self._config_path)
        except (OSError, ValueError):
            return False
        return _fixed(noted) == _fixed(self.config)

    def _is_noted(self) -> bool:
        """Whether the folder holds this configuration, its agents in the same order."""
        noted = load(type(self.config), self._config_path)
        return noted.model_dump_json() == self.config.model_dump_json()

    def _note(self, commands: Sequence[str]) -> None:
        write_text(self._commands_path, "".join(f"{line}\n" for line in commands))
        # Agents stay in their order: who sits where is drawn by it.
        text = yaml.safe_dump(self.config.model_dump(mode="json"), sort_keys=False)
        write_text(self._config_path, text)

    @property
    def progress(self) -> list[dict[str, Any]]:
        """The periodic evaluations so far; ValueError if the file holds something else."""
        path = self.progress_path
        if not path.exists():
            return []
        try:
            *lines, last = path.read_text(encoding="utf-8").split("\n")
            entries = [json.loads(line) for line in lines]
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        if last:  # its writer was interrupted
            logger.warning("ignoring the last line of %s, which is not complete", path)
        for number, entry in enumerate(entries, 1):
            if not _is_evaluation(entry, entries[0], self.config.LOGGED):
                raise ValueError(f"{path} is damaged: line {number} is no evaluation")
        return entries

    def add_progress(self, entry: dict[str, Any]) -> None:
        """Append a periodic evaluation, in the place of one that is not complete."""
        with self.progress_path.open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(json.dumps(entry).encode() + b"\n")

    def forget_after(self, decisions: int) -> None:
        """Forget the evaluations after these decisions; the run makes them again."""
        kept = [entry for entry in self.progress if entry["decisions"] <= decisions]
        lines = "".join(json.dumps(entry) + "\n" for entry in kept)
        write_output(self.progress_path, lines.encode())


def _is_evaluation(entry: Any, first: Any, needed: Sequence[str]) -> bool:
    """Whether a line of progress.jsonl is one: numbers, and intervals of two numbers, with the keys
    that are needed, and those that the first one shows all to have."""
    if not isinstance(entry, dict) or not set(needed) <= entry.keys():
        return False
    for key, value in entry.items():
        is_interval = key.endswith("_ci95")
        if is_interval and value is None:
            continue
        numbers = value if is_interval else [value]
        if not isinstance(numbers, list) or len(numbers) != 1 + is_interval:
            return False
        if not all(isinstance(number, int | float) for number in numbers):
            return False
    always = ("decisions", "iteration", "seconds", "epoch", "vs_")
    return {key for key in first if key.startswith(always)} <= entry.keys()


def _fixed(config: Any) -> dict[str, Any]:
    """A run's configuration without its length, each section's keys as ``"section.key"``."""
    fixed: dict[str, Any] = {}
    for name, value in config.model_dump(mode="json", exclude={config.LENGTH}).items():
        is_section = isinstance(value, dict)
        fixed |= {f"{name}.{k}": v for k, v in value.items()} if is_section else {name: value}
    return fixed


def add_run_arguments(parser: argparse.ArgumentParser, prefix: str) -> None:
    """Add the arguments of a run that can be resumed, for :func:`run_of`; the default folder's name
    begins with the prefix."""
    parser.add_argument("config", nargs="?", help="a YAML file")
    add_set_argument(parser)
    about = f"the run's folder; default: runs/{prefix}<config's name>"
    parser.add_argument("--out", type=Path, metavar="DIR", help=about)
    parser.add_argument("--resume", type=Path, metavar="DIR", help="resume the run in DIR")
    parser.set_defaults(prefix=prefix)
    arguments.add_games_argument(parser)


def add_set_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--set KEY=VALUE …``."""
    about = "override a key of the configuration, such as ppo.learning_rate=1e-4"
    more: Any = {"nargs": "+", "action": "extend", "default": [], "metavar": "KEY=VALUE"}
    parser.add_argument("--set", help=about, **more)


def run_of(
    args: argparse.Namespace, module: str, model: type[_Config]
) -> tuple[Run[_Config], dict[str, Any]]:
    """The run that a module's arguments ask for, and what is said of it: ``resume`` and
    ``command_line``; ValueError if it cannot be made."""
    if args.resume:
        if args.config or args.out:
            raise ValueError("--resume DIR takes its configuration from DIR: give no other")
        run = Run.reopen(args.resume, args.set, model)
        words = ["--resume", str(args.resume)]
    elif args.config:
        folder = args.out or Path("runs") / f"{args.prefix}{Path(args.config).stem}"
        run = Run(load(model, args.config, args.set), folder)
        words = [args.config]
    else:
        raise ValueError("give a configuration, a YAML file, or --resume DIR")
    changes = ["--set", *args.set] if args.set else []
    line = records.command_as_typed(module, *words, *changes, games_from=args.games_from)
    return run, {"resume": args.resume is not None, "command_line": line}
