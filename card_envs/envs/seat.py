"""``SeatEnv``: what the environments with one seat share, ``SingleSeatEnv`` and ``TextSeatEnv``."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.core import ActType, ObsType

from card_envs.contract.game import Game, repr_of
from card_envs.engine.seeds import check_seed
from card_envs.envs.learner_games import LearnerGames
from card_envs.envs.options import RENDER_MODES
from card_envs.render.renderer import FPS, TableRenderer
from card_envs.utils.checks import check_has_begun, check_reset_options
from card_envs.utils.portable import Undivided


class SeatEnv(Undivided, gymnasium.Env[ObsType, ActType]):
    """A learner's game, one at a time, and its renderer.

    Args:
        game: The game.
        render_mode: As in ``card_envs.envs.options.EnvOptions``.
        render_perspective: As there.
        **arguments: Those of ``LearnerGames``.
    """

    metadata: dict[str, Any] = {
        "render_modes": [*RENDER_MODES],
        "render_fps": FPS,
    }

    def __init__(
        self,
        game: Game,
        render_mode: str | None,
        render_perspective: int | str | None,
        **arguments: Any,
    ) -> None:
        self.render_mode = render_mode
        self.game = game
        self._games = LearnerGames(game, 1, **arguments)
        self._renderer = TableRenderer(
            game,
            self._games.player_range[0],
            mode=render_mode,
            modes=self.metadata["render_modes"],
            perspective=render_perspective,
        )
        self._is_over = False

    @property
    def num_players(self) -> int:
        """The number of players of the current game."""
        check_has_begun(self._games.has_begun, "num_players")
        return int(self._games.arena.states["num_players"][0])

    @property
    def seat(self) -> int:
        """The learner's seat in the current game."""
        check_has_begun(self._games.has_begun, "seat")
        return int(self._games.learner_seats[0])

    @property
    def game_seed(self) -> int:
        """The seed of the current game: ``reset(seed=game_seed)`` deals it again."""
        check_has_begun(self._games.has_begun, "game_seed")
        return int(self._games.game_seeds[0])

    @property
    def options(self) -> dict[str, Any]:
        """The game's options."""
        return dict(self._games.arena.options)

    def _place(self) -> dict[str, int]:
        """The learner's place and of how many, for the info at the end of a game that was played to
        it."""
        place = int(self._games.places()[0]) if self._is_over else 0
        return {"place": place, "num_players": self.num_players} if place else {}

    def __repr__(self) -> str:
        return repr_of(self, self.game, self.options, num_players=self._games.player_range)

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Begin a game; without a seed it has the one that follows that of the game before."""
        check_reset_options(options)
        if seed is not None:
            seed = check_seed(seed)
        gymnasium.Env.reset(self, seed=seed)  # seeds ``np_random``
        self._games.reset(seed)
        self._is_over = False
        self._show()

    def _check_running(self) -> None:
        if not self._games.has_begun:
            raise gymnasium.error.ResetNeeded("reset() needs to be called before step")
        if self._is_over:
            raise gymnasium.error.ResetNeeded("the game is over: call reset()")

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """Return the table in words or as a picture, or show it in a window, by ``render_mode``.

        Raises:
            MissingExtraError: ``pip install 'card_envs[render]'`` is needed.
            OSError: There is no display for the window.
        """
        if self.render_mode is None or not self._games.has_begun:
            return None
        arena = self._games.arena
        return self._renderer.render(arena.states, 0, self.seat, arena.view.codes[0])

    def _repr_svg_(self) -> str | None:
        """What notebooks show: the table as the learner sees it, whatever ``render_mode`` is."""
        if not self._games.has_begun:
            return None
        arena = self._games.arena
        return self._renderer.svg(arena.states, 0, self.seat, arena.view.codes[0])

    def close(self) -> None:
        """Close the window, if there is one, and end the opponents' programs."""
        self._renderer.close()
        self._games.close()
