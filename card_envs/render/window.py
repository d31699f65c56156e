"""A window that shows pictures: ``render_mode="human"``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.extras import import_extra


class Window:
    """A window of the desktop; it opens with the first picture.

    Args:
        title: What its frame says.
        fps: Pictures a second at most: showing one waits for its time.
    """

    def __init__(self, title: str, fps: float) -> None:
        self._title = title
        self._fps = fps
        self._surface: Any = None
        self._clock: Any = None

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture, uint8 (H, W, 3).

        Raises:
            MissingExtraError: pygame, of the extra ``render``, is not installed.
            OSError: There is no display.
        """
        pygame = import_extra("pygame", "render")
        if self._surface is None:
            height, width, _ = picture.shape
            try:
                pygame.display.init()
                pygame.display.set_caption(self._title)
                self._surface = pygame.display.set_mode((width, height))
            except pygame.error as error:
                raise OSError(f"a window cannot be opened ({error})") from None
            self._clock = pygame.time.Clock()
        pygame.surfarray.blit_array(self._surface, picture.swapaxes(0, 1))
        pygame.display.flip()
        pygame.event.pump()  # or the desktop takes the window for hung
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._surface is not None:
            import_extra("pygame", "render").display.quit()
            self._surface = None
