"""What ``CardEnv`` says of wrong actions: PettingZoo's words, the action, and what is allowed."""

from __future__ import annotations

from typing import Any

from pettingzoo.utils.env_logger import EnvLogger

from card_envs.contract.game import Game
from card_envs.utils.words import capitalized


def not_in_space(action: Any, num_actions: int) -> AssertionError:
    """The error for an action outside the action space, as of AssertOutOfBoundsWrapper."""
    return AssertionError(
        f"action is not in action space: got {action!r} ({type(action).__name__}); actions are "
        f"whole numbers from 0 to {num_actions - 1}"
    )


def not_legal(game: Game, action: int, agent: str, legal: list[int]) -> str:
    """What is said of an action in the space that the rules do not allow."""
    name = game.action_name(action)
    return f"action {action} ({name}) is not legal for {agent}; legal actions: {legal}"


def warn_of_illegal_move(about: str) -> None:
    """The warning of TerminateIllegalWrapper."""
    EnvLogger._generic_warning(
        "[WARNING]: Illegal move made, game terminating with current player losing. "
        + capitalized(about)
    )
