"""What an agent is, so that a result can be told to be of the same one: a hash of its file."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from card_envs.agents import policy_path
from card_envs.agents.imported import is_imported
from card_envs.agents.programs import is_program
from card_envs.agents.programs.names import read_name
from card_envs.agents.search.names import is_search, policies_of, policy_in, words_of
from card_envs.agents.shipped import POLICY_SUFFIXES, shipped_path
from card_envs.contract.game import Game
from card_envs.utils.files import hash_of


def names_a_policy_file(name: str) -> bool:
    """Whether an agent's name is a policy file's; that of a search or a program may end as one."""
    return name.endswith(POLICY_SUFFIXES) and not (is_search(name) or is_program(name))


def hash_of_agent(name: str, game: Game) -> str | None:
    """The SHA-256 of the file of the agent of that name: of a policy's, of the Python file that is
    imported, of the files that a program's command names, or of those of a search's policies, who
    proposes before who plays the rollouts. Of one file it is as ``sha256sum`` prints it, of several
    as ``hash_of`` makes it. None where no file is named, as for ``heuristic``.

    Raises:
        ValueError: The name of a program or a search cannot be read.
        OSError: A file cannot be read.
    """
    files = _files_of(name, game)
    if len(files) == 1:
        return hashlib.sha256(files[0].read_bytes()).hexdigest()
    return hash_of(files) if files else None


def _files_of(name: str, game: Game) -> list[Path]:
    if is_search(name):
        policies = [policy for policy in policies_of(name, game) if policy is not None]
        return [path for policy in dict.fromkeys(policies) for path in _files_of(policy, game)]
    if is_program(name):
        return [Path(word) for word in read_name(name)[0] if os.path.isfile(word)]
    if is_imported(name):
        where = name.rpartition(":")[0]
        if where.endswith(".py"):
            return [Path(where)]
        source = _source_of(where)
        return [] if source is None else [source]
    path = policy_path(name, game)
    return [] if path is None else [path]


def _source_of(module: str) -> Path | None:
    """The file of a module; of one that is not imported, found without importing the packages that
    it lies in."""
    if module in sys.modules:
        file = getattr(sys.modules[module], "__file__", None)
        return None if file is None else Path(file)
    first, *rest = module.split(".")
    spec = importlib.util.find_spec(first)
    for depth in range(len(rest)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        name = ".".join([first, *rest[: depth + 1]])
        spec = PathFinder.find_spec(name, spec.submodule_search_locations)
    return None if spec is None or not spec.has_location else Path(str(spec.origin))


def name_without_folders(name: str, game: Game) -> str:
    """An agent's name as it is from the folder that holds its file. A program's stays as it is."""
    if is_program(name):
        return name
    if is_search(name):
        return ",".join(
            re.sub(r"=.*[/\\]", "=", word) if policy_in(word) else word for word in words_of(name)
        )
    if is_imported(name):
        where, _, thing = name.rpartition(":")
        return f"{os.path.basename(where)}:{thing}"
    if shipped_path(name, game):
        return name
    path = policy_path(name, game)
    return name if path is None else path.name
