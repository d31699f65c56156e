"""Policies by name: those that come with a game, in ``card_envs/policies/<id>`` for the games of
this package, in the folder ``policies`` of its own package for any other; their versions, in
half precision, in the folder ``pool`` there; files and runs by path.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from card_envs.contract.game import Game, check_is_game
from card_envs.games import folder_of, is_of_this_package
from card_envs.kernels.jit import package_of

_PACKAGE = Path(__file__).parent.parent
_CONFIG = "config.yaml"

#: The endings of policy files.
POLICY_SUFFIXES = (".safetensors", ".onnx")


def policies_folder(game: Game) -> Path:
    """The folder of the game's shipped policies, which need not exist."""
    own = is_of_this_package(game)
    return _PACKAGE / "policies" / game.id if own else folder_of(game) / "policies"


def pool_folder(game: Game) -> Path:
    """The folder of the versions of shipped policies, such as ``ppo_v1``, that are opponents of
    benchmarks."""
    return policies_folder(game) / "pool"


def shipped_policies(game: Game) -> list[str]:
    """The names of the policies that come with the game."""
    check_is_game(game)
    if package_of(game.rules.__name__) is None:  # a notebook's cells
        return []
    return sorted(path.stem for path in policies_folder(game).glob("*.safetensors"))


def policy_versions(game: Game) -> list[str]:
    """The names of these versions, such as ``ppo_v1``."""
    if not is_of_this_package(game):
        return []
    return sorted(path.stem for path in pool_folder(game).glob("*.safetensors"))


def policy_path(name: str, game: Game) -> Path | None:
    """The file of the policy of that name, which comes with the game or is a version of such a one;
    the file at that path; or the newest policy of the training run in that folder. None: none of
    these.

    Raises:
        ValueError: It is the folder of a run that has no policy yet.
    """
    if name in shipped_policies(game):
        return policies_folder(game) / f"{name}.safetensors"
    if name.isidentifier() and is_of_this_package(game):
        version = pool_folder(game) / f"{name}.safetensors"
        if os.path.isfile(version):  # Path's own raises for long names
            return version
    if os.path.isfile(os.path.join(name, _CONFIG)):
        return _policy_of_run(Path(name))
    return Path(name) if os.path.isfile(name) else None


def _policy_of_run(folder: Path) -> Path:
    # The run has written its configuration itself: a key a line.
    text = (folder / _CONFIG).read_text(encoding="utf-8", errors="replace")
    named = re.search(r"^name:\s*['\"]?(\w+)", text, re.MULTILINE)
    path = folder / f"{named[1] if named else 'ppo'}.safetensors"
    if not path.is_file():
        raise ValueError(f"the run in {folder} has no policy yet: there is no {path}")
    return path
