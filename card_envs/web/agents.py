"""The agents that the page offers by label; only the command line says which."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from card_envs.agents import (
    Agent,
    NetworkAgent,
    ProgramAgent,
    agent_names,
    make_agent,
)
from card_envs.agents.search.agents import Searcher
from card_envs.agents.shipped import POLICY_SUFFIXES
from card_envs.contract.game import Game
from card_envs.utils.extras import MissingExtraError
from card_envs.utils.files import is_regular
from card_envs.utils.run_folder import RunFolder
from card_envs.web.messages import MAX_LABEL, shown_name

logger = logging.getLogger("card_envs")

#: Searches that are offered for every game.
_SEARCHES = ("search:64", "search:256")
_MOST_POLICY_BYTES = 1 << 28
#: Begins the label of a training run's policy.
RUN = "run:"

# Of an agent that is shared: game, label, and the time at which a run's policy was written.
_Key = tuple[str, str, int]


class NoAgentError(ValueError):
    """A label stands for no agent of a game, or for one that cannot be loaded any more."""


class AgentMenu:
    """Agents by game and label.

    Args:
        games: The games.
        policies: A folder of policy files, searched with its subfolders; None: no further ones.
            A label that is taken gets the folder's name in front. A file that cannot be offered is
            left out with a warning.
        names: Names of further agents, as ``make_agent`` takes them.
        runs: A folder of training runs: the policies that they leave are agents with the label
            ``run:NAME``, by the run's path in it.

    Raises:
        ValueError: A name stands for an agent of none of the games.
        OSError: The folder is not there.
    """

    def __init__(
        self,
        games: Sequence[Game],
        policies: Path | None = None,
        names: Sequence[str] = (),
        runs: Path | None = None,
    ) -> None:
        self._runs = runs
        self._names: dict[str, dict[str, str]] = {}
        self._shared: dict[_Key, Agent] = {}
        self._advisers: dict[_Key, Agent] = {}
        files = list(_policy_files(policies))
        folder = shown_name(policies.resolve().name) if policies is not None else ""
        too_long: set[str] = set()
        errors: dict[str, str] = {}
        fitting: set[str] = set()
        for game in games:
            offered = {name: name for name in (*agent_names(game), *_SEARCHES)}
            for name in names:
                if len(name) > MAX_LABEL:
                    raise ValueError(f"--agent {name}: a name has at most {MAX_LABEL} characters")
                try:
                    make_agent(name, game)
                except ValueError as error:
                    errors.setdefault(name, str(error))
                else:
                    fitting.add(name)
                    offered[shown_name(name)] = name
            for label, path in files:
                try:
                    make_agent(path, game)
                except OSError as error:
                    logger.warning("--policies: %s is left out: %s", label, error.strerror)
                    continue
                except (ValueError, MissingExtraError):
                    continue  # of another game, a training checkpoint, or it needs onnxruntime
                while label in offered:
                    label = f"{folder}/{label}"
                if len(label) <= MAX_LABEL:
                    offered[label] = str(path)
                else:
                    too_long.add(label)
            self._names[game.name] = offered
        for label in sorted(too_long):
            logger.warning(
                "--policies: %s is left out: a label has at most %d characters", label, MAX_LABEL
            )
        for name in names:
            if name not in fitting:
                raise ValueError(f"--agent {name}: it fits none of the games: {errors[name]}")

    def labels(self, game: Game) -> list[str]:
        """The labels of the agents for a game."""
        return list(self._names[game.name])

    def adviser(self, label: str, game: Game) -> Agent:
        """An agent that is asked for its opinion, made once; errors are those of :meth:`make`.

        A program that advises has a process of its own, and says nothing rather than anything.
        """
        name, written = self._found(label, game)
        adviser = self._advisers.get((game.name, label, written))
        if adviser is None:
            adviser = self.make(label, game)
            if isinstance(adviser, ProgramAgent):
                adviser = make_agent(name, game)
            adviser = _share(self._advisers, (game.name, label, written), adviser)
        return adviser

    def make(self, label: str, game: Game, seed: int = 0) -> Agent:
        """The agent of that label.

        Args:
            label: One of :meth:`labels`.
            game: The game.
            seed: For agents that choose at random.

        Raises:
            NoAgentError: There is no such label for this game; the message lists them. Or its file
                cannot be read any more, as the log says.
        """
        name, written = self._found(label, game)
        key = game.name, label, written
        shared = self._shared.get(key)
        if shared is not None:
            return shared
        try:
            agent = make_agent(name, game, seed)
        except (ValueError, OSError) as error:
            logger.warning("%s: %s", label, error)  # pages need not know where files are
            raise NoAgentError(f"the agent {label!r} cannot be loaded any more") from None
        if type(agent) is NetworkAgent:
            # All tables share it, so the first one's seed must not count; and the first one stays,
            # should two threads have made one.
            draw_seed = 0 if agent.draws else None
            shared = NetworkAgent(agent.network, label, agent.view, draw_seed=draw_seed)
            return _share(self._shared, key, shared)
        if isinstance(agent, Searcher):  # its networks take megabytes
            return _share(self._shared, key, make_agent(name, game))
        if isinstance(agent, ProgramAgent):
            # One process for all tables; a game that a person plays goes on without it.
            agent.limits = replace(agent.limits, on_fault="random")
            return _share(self._shared, key, agent)
        return agent

    def _found(self, label: str, game: Game) -> tuple[str, int]:
        """The agent's name, and when it was written if it is a run's policy, else 0."""
        if name := self._names[game.name].get(label):
            return name, 0
        with suppress(OSError):
            if path := self._policy_of_run(label):
                return str(path), path.stat().st_mtime_ns
        raise NoAgentError(
            f"there is no agent {label!r} for {game.id}; "
            f"the agents are {', '.join(self.labels(game))}"
        )

    def _policy_of_run(self, label: str) -> Path | None:
        """The policy file of the run that the label names; None: it names none."""
        if self._runs is None or not label.startswith(RUN):
            return None
        parts = label.removeprefix(RUN).split("/")
        if not all(part and part.strip(".") and not re.search(r"[\\:\0]", part) for part in parts):
            return None
        return policy_left_by(self._runs.joinpath(*parts))


def _share(agents: dict[_Key, Agent], key: _Key, agent: Agent) -> Agent:
    """The agent that all share; earlier ones of a run's policy make room."""
    for other in [other for other in list(agents) if other[:2] == key[:2] and other != key]:
        agents.pop(other, None)
    return agents.setdefault(key, agent)


def policy_left_by(folder: Path) -> Path | None:
    """The policy file that a training run has left, with its card; None: there is none."""
    run = RunFolder(folder)
    try:
        name = run.policy_name()
    except (OSError, ValueError):
        return None
    path = run.policy(name)
    return path if run.card(name).is_file() and is_regular(path, _MOST_POLICY_BYTES) else None


def _policy_files(folder: Path | None) -> Iterator[tuple[str, Path]]:
    """The label and the path of policy files: the path within the folder, without the suffix."""
    if folder is None:
        return
    if not folder.is_dir():
        raise NotADirectoryError(f"--policies: there is no folder {folder}")
    files = [path for ending in POLICY_SUFFIXES for path in folder.rglob(f"*{ending}")]
    for path in sorted(files):
        label = shown_name(path.relative_to(folder).with_suffix("").as_posix())
        if is_regular(path, _MOST_POLICY_BYTES):
            yield label, path
        elif not os.path.isdir(path):
            logger.warning(
                "--policies: %s is left out: it is no regular file of at most %d MiB",
                label,
                _MOST_POLICY_BYTES >> 20,
            )
