"""Records of what was done: the command, the machine, the agents."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import card_envs
from card_envs.agents.identity import hash_of_agent
from card_envs.contract.game import Game
from card_envs.utils.files import write_text

_TRAINING = Path(__file__).parent.parent


def predecessors(game: Game) -> list[str]:
    """The files of the game's earlier policies, as paths from the current folder."""
    folder = _TRAINING / "policies" / game.id
    return [os.path.relpath(path) for path in sorted(folder.glob("*.safetensors"))]


def command_as_typed(module: str, *words: str, games_from: Sequence[str] = ()) -> str:
    """The command as one would type it, with a ``--games-from`` for each of the modules given."""
    games = [word for name in games_from for word in ("--games-from", name)]
    return shlex.join(["python", "-m", module, *words, *games])


def cpu_model() -> str:
    """The processor's name, if the system tells it."""
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def machine() -> str:
    """Processor and number of cores."""
    return f"{cpu_model()}, {os.cpu_count()} cores"


def checked_out(checkout: Path = _TRAINING) -> str | None:
    """The commit that is checked out in a folder, if Git can tell, with ``-dirty`` if a file
    differs from it; the default is this code's folder."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def commit_of(checkout: Path = _TRAINING) -> str | None:
    """What was checked out when this process first asked, as :func:`checked_out` tells.

    What takes hours asks before it begins: other commits may follow while it runs.
    """
    return checked_out(checkout)


def trainer() -> dict[str, str]:
    """What the numbers of a training run depend on beside its game and its configuration: a hash
    of this package's sources, and the version of torch."""
    sources = sorted(_TRAINING.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return {"sources": digest[:16], "torch": version("torch")}


def versions(packages: Sequence[str] = ("numba", "numpy", "torch")) -> dict[str, str]:
    """The versions of card_envs and of other packages, by default those that training's results
    depend on."""
    others = {package: version(package) for package in packages}
    return {"card_envs": card_envs.__version__, **others}


def identity(name: str, game: Game) -> str:
    """An agent's name, and a SHA-256 if there is one: see ``hash_of_agent``, as for errors."""
    digest = hash_of_agent(name, game)
    return name if digest is None else f"{name} {digest}"


def read_json(path: Path) -> Any:
    """What a JSON file holds; ValueError if it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def write_or_print(path: Path | None, result: dict[str, Any]) -> None:
    """Write a command's result as JSON; print it if there is no file, or it cannot be written."""
    text = json.dumps(result, indent=2)
    try:
        if path is not None:
            write_text(path, f"{text}\n")
    except OSError:
        print(text)
        raise
    if path is None:
        print(text)
