"""Records of what was done: the command, the machine, the agents, JSON files and their tables."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from card_envs.agents import make_agent, policy_path
from card_envs.docs import with_section
from card_envs.engine.game import Game


def command_as_typed(module: str, *words: str) -> str:
    """The command as one would type it."""
    return shlex.join(["python", "-m", module, *words])


def cpu_model() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def machine() -> str:
    """Processor and number of cores, for a record of where something was done."""
    return f"{cpu_model()}, {os.cpu_count()} cores"


def identity(name: str, game: Game) -> str:
    """An agent's name, and of a policy also what is in its file.

    Raises:
        ValueError: There is no such agent.
    """
    make_agent(name, game)
    path = policy_path(name, game)
    return name if path is None else f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write a JSON file, or leave the old one if that fails; folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    new.replace(path)


def with_tables(text: str, kind: str, results: Path, table: Callable[[dict[str, Any]], str]) -> str:
    """The text with its tables of one kind written anew, from the folder ``results``.

    What stands behind the comment ``<!-- kind:name -->`` becomes the table of ``kind_name.json``.
    """
    for name in re.findall(rf"<!-- {kind}:(\w+) -->", text):
        result = json.loads((results / f"{kind}_{name}.json").read_text(encoding="utf-8"))
        text = with_section(text, f"{kind}:{name}", table(result))
    return text
