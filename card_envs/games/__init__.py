"""The games: one folder each. This table is the only list of them."""

from __future__ import annotations

import copyreg
import importlib
from functools import cache

from card_envs.engine.game import Game

#: Game id to title; the folder of the same name holds ``GAME``.
GAMES = {
    "beaver_gang": "Beaver Gang",
    "swim_for_your_life": "Swim for Your Life",
    "franks_zoo": "Frank's Zoo",
    "animalia": "Animalia",
}


@cache
def load_game(game_id: str) -> Game:
    """The game of that id; its rules are compiled when they are first used.

    Raises:
        ValueError: There is no such game; the message lists them.
    """
    if game_id not in GAMES:
        raise ValueError(f"there is no game {game_id!r}; the games are {', '.join(GAMES)}")
    game = importlib.import_module(f"card_envs.games.{game_id}").GAME
    assert isinstance(game, Game)
    return game


# A game travels as its id: whatever holds one can be copied and pickled.
copyreg.pickle(Game, lambda game: (load_game, (game.id,)))
