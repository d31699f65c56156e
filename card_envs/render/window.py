"""A window that shows pictures: ``render_mode="human"``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.utils.extras import import_extra


class Window:
    """A window of the desktop; it opens with the first picture.

    There is one at a time, pygame's: another ``Window`` takes it over by showing a picture.

    Args:
        title: What its frame says.
        fps: Pictures a second at most: showing one waits for its time.
    """

    _owner: Window | None = None  # whose pictures are shown

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
        try:
            # Others may have closed it.
            if Window._owner is not self or pygame.display.get_surface() is not self._surface:
                self._open(pygame, picture)
            pygame.surfarray.blit_array(self._surface, picture.swapaxes(0, 1))
            pygame.display.flip()
            pygame.event.pump()  # or the desktop takes the window for hung
        except pygame.error as error:
            raise OSError(f"a window cannot be opened ({error})") from None
        self._clock.tick(self._fps)

    def _open(self, pygame: Any, picture: NDArray[np.uint8]) -> None:
        height, width, _ = picture.shape
        pygame.display.init()
        pygame.display.set_caption(self._title)
        self._surface = pygame.display.set_mode((width, height))
        self._clock = self._clock or pygame.time.Clock()
        Window._owner = self

    def close(self) -> None:
        """Close the window, if it is this one's."""
        if Window._owner is self:
            import_extra("pygame", "render").display.quit()
            Window._owner = self._surface = None
