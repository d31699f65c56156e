"""Policies by name: those that come with a game, in ``card_envs/policies/<id>`` for the games of
this package, in the folder ``policies`` of its own package for any other; versions of this
package's, in float16, in the folder ``pool`` there; files and runs by path.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from safetensors import SafetensorError, safe_open

from card_envs.agents.network import METADATA_KEY
from card_envs.agents.scripted import SCRIPTED
from card_envs.contract.game import Game, check_is_game
from card_envs.games import folder_of, is_of_this_package
from card_envs.kernels.jit import package_of
from card_envs.utils.run_folder import RunFolder

_PACKAGE = Path(__file__).parent.parent

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
    """The names of the policies that come with this version of the game."""
    check_is_game(game)
    if package_of(game.rules.__name__) is None:  # a notebook's cells
        return []
    return _policies_in(policies_folder(game), game)


def policy_versions(game: Game) -> list[str]:
    """The names of these versions, such as ``ppo_v1``."""
    return _policies_in(pool_folder(game), game) if is_of_this_package(game) else []


def _policies_in(folder: Path, game: Game) -> list[str]:
    """A folder's policies, without those for another version of the game."""
    paths = sorted(folder.glob("*.safetensors"))
    return [path.stem for path in paths if _game_of(path) in (None, game.name)]


def _game_of(path: Path) -> str | None:
    """The game that a policy file says it is for; None: it cannot be read, as loading it says."""
    try:
        with safe_open(path, framework="numpy") as file:
            name = json.loads((file.metadata() or {})[METADATA_KEY])["game"]
    except (SafetensorError, OSError, ValueError, TypeError, KeyError):
        return None
    return str(name)


def shipped_path(name: str, game: Game) -> Path | None:
    """The file of the policy of that name which comes with the game, or is a version of such a one;
    None: there is none."""
    if name in shipped_policies(game):
        return policies_folder(game) / f"{name}.safetensors"
    if name in policy_versions(game):
        return pool_folder(game) / f"{name}.safetensors"
    return None


def policy_path(name: str, game: Game) -> Path | None:
    """The policy file that an agent's name stands for: that of :func:`shipped_path`, the file at
    that path, or the newest policy of the training run in that folder. None: none of these.

    Raises:
        ValueError: It is the folder of a run that has no policy yet.
        ValueError, OSError: It is one whose configuration cannot be read.
    """
    if name in SCRIPTED:
        return None
    if path := shipped_path(name, game):
        return path
    run = RunFolder(Path(name))
    if os.path.isfile(run.config):
        path = run.policy(run.policy_name())
        if not path.is_file():
            raise ValueError(f"the run in {name} has no policy yet: there is no {path}")
        return path
    return Path(name) if os.path.isfile(name) else None
