"""Hidden-information card games as reinforcement-learning environments."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from card_envs.engine.game import gymnasium_id
from card_envs.games import GAMES, load_game

if TYPE_CHECKING:
    from card_envs.engine.batch import BatchEngine
    from card_envs.envs.aec import CardEnv

__all__ = ["GAMES", "load_game", "make", "make_vec"]

try:
    __version__ = version("card_envs")
except PackageNotFoundError:  # used from a source tree that is not installed
    __version__ = "0+unknown"


def make(game: str, **options: Any) -> CardEnv:
    """The game as a PettingZoo AEC environment: the same as ``card_envs.<game>_v0.env``.

    Args:
        game: A key of ``GAMES``.
        **options: ``num_players``, ``render_mode``, ``on_illegal`` and the game's options.
    """
    from card_envs.envs.aec import CardEnv

    return CardEnv(game, **options)


def make_vec(
    game: str, num_envs: int, num_players: int | tuple[int, int] = 4, **options: Any
) -> BatchEngine:
    """The raw batch: ``num_envs`` games that take a decision each at every step.

    Args:
        game: A key of ``GAMES``.
        num_envs: Number of games.
        num_players: One number, or a pair (low, high) to mix table sizes in one batch.
        **options: ``num_threads``, ``copy`` and the game's options. Unless ``copy=True`` the
            arrays returned are buffers that the next step overwrites.
    """
    from card_envs.engine.batch import BatchEngine

    return BatchEngine(load_game(game), num_envs, num_players, **options)


def _register() -> None:
    import gymnasium
    import pettingzoo

    for game_id in GAMES:
        name = gymnasium_id(game_id, 0)
        gymnasium.register(
            id=name,
            entry_point="card_envs.envs.seat:SeatEnv",
            vector_entry_point="card_envs.envs.vector:SeatVectorEnv",
            kwargs={"game": game_id},
        )
        if hasattr(pettingzoo, "register"):  # PettingZoo has a registry from 1.26 on
            pettingzoo.register("aec", id=name, entry_point=f"card_envs.{game_id}_v0:env")


_register()
