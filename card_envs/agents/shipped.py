"""Policies that come with a game: in ``card_envs/policies/<id>`` for the games of this package, in
the folder ``policies`` of its own package for any other."""

from __future__ import annotations

import os
from pathlib import Path

from card_envs.contract.game import Game, check_is_game
from card_envs.games import folder_of, is_of_this_package
from card_envs.kernels.jit import package_of

_POLICIES = Path(__file__).parent.parent / "policies"


def policies_folder(game: Game) -> Path:
    """The folder of the game's shipped policies, which need not exist."""
    return _POLICIES / game.id if is_of_this_package(game) else folder_of(game) / "policies"


def shipped_policies(game: Game) -> list[str]:
    """The names of the policies that come with the game."""
    check_is_game(game)
    if package_of(game.rules.__name__) is None:  # a notebook's cells
        return []
    return sorted(path.stem for path in policies_folder(game).glob("*.safetensors"))


def policy_path(name: str, game: Game) -> Path | None:
    """The file of the shipped policy of that name, or the file at that path; None: neither."""
    if name in shipped_policies(game):
        return policies_folder(game) / f"{name}.safetensors"
    return Path(name) if os.path.isfile(name) else None  # Path's own raises for long names
