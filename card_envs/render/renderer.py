"""``TableRenderer``: what the environments' ``render()`` gives, for every ``render_mode``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.game import Game
from card_envs.contract.scene import Scene
from card_envs.render import picture, text
from card_envs.render.window import Window
from card_envs.utils.checks import as_whole_number
from card_envs.utils.extras import MissingExtraError

#: Pictures a second, in windows and videos.
FPS = 2

_ALL = "all"


class TableRenderer:
    """Draws the tables of an environment.

    Args:
        game: The game.
        num_players: The number of players, or the least of them.
        mode: ``"ansi"``, ``"svg"``, ``"rgb_array"``, ``"human"``, or None.
        modes: The modes that the environment has, besides None.
        perspective: Whose eyes: a seat from 0 on, ``"all"`` for an open table (as player 0 sees it,
            all players' cards face up), or None: whom :meth:`render` is asked for.

    Raises:
        ValueError: The mode or the perspective is not allowed; the message says what is.
    """

    def __init__(
        self,
        game: Game,
        num_players: int,
        *,
        mode: str | None = None,
        modes: Sequence[str] = (),
        perspective: int | str | None = None,
    ) -> None:
        if mode is not None and mode not in modes:
            allowed = " or ".join(map(repr, modes))
            raise ValueError(f"render_mode must be None, {allowed}, got {mode!r}")
        self._game = game
        self._mode = mode
        self._perspective = perspective
        self.check_num_players(num_players)
        self._window = Window(game.title, FPS) if mode == "human" else None

    def check_num_players(self, num_players: int) -> None:
        """Raise a ValueError if the perspective is not a seat at a table of this size."""
        perspective = self._perspective
        seat = as_whole_number(perspective)
        is_seat = seat is not None and 0 <= seat < num_players
        if perspective is not None and not is_seat and perspective != _ALL:
            raise ValueError(
                f"render_perspective must be None, 'all' or a seat from 0 to {num_players - 1}, "
                f"got {perspective!r}"
            )

    def render(
        self, states: NDArray[np.void], i: int, player: int, memory: int
    ) -> str | NDArray[np.uint8] | None:
        """The table of ``states[i]``.

        Args:
            states: The records.
            i: The game's index.
            player: The observer, unless the perspective is another.
            memory: ``MEMORY_PERFECT`` or ``MEMORY_NONE``.

        Returns:
            Words (``"ansi"``), the text of an SVG file (``"svg"``), a picture as uint8
            (720, 960, 3) (``"rgb_array"``), or None.

        Raises:
            MissingExtraError: The extra ``render`` is needed and not installed.
            OSError: There is no display for the window.
        """
        scene = self.scene(states, i, player, memory)
        if self._mode == "ansi":
            return text.draw(scene)
        if self._mode == "svg":
            return picture.draw(scene, self._game.style).svg()
        image = picture.draw(scene, self._game.style, height=picture.HEIGHT).pixels()
        if self._window is None:
            return image
        self._window.show(image)
        return None

    def scene(self, states: NDArray[np.void], i: int, player: int, memory: int) -> Scene:
        """What :meth:`render` draws."""
        is_open = self._perspective == _ALL
        if self._perspective is not None:
            player = 0 if is_open else int(self._perspective)
        return self._game.scene(states, i, player, memory, is_open)

    def svg(self, states: NDArray[np.void], i: int, player: int, memory: int) -> str | None:
        """What notebooks show, whatever the mode; None without the extra ``render``."""
        try:
            return picture.draw(self.scene(states, i, player, memory), self._game.style).svg()
        except MissingExtraError:
            return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()

    def without_window(self) -> TableRenderer:
        """One of the same kind, for a copy of the environment: its window is its own."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if twin._window is not None:
            twin._window = Window(self._game.title, FPS)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return self.without_window().__dict__
