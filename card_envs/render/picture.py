"""Pictures of scenes. They know no game: what cards look like is the game's ``Style``."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.scene import Scene
from card_envs.contract.style import Style
from card_envs.render import layout, raster, svg, text
from card_envs.render.colours import Look, look_of
from card_envs.render.drawing import Drawing, Rect, boxed, column, flow, wrapped
from card_envs.utils.checks import check_whole_number

#: Pixels of the pictures of environments, windows and videos.
WIDTH, HEIGHT = 960, 720

# Widths at which a table is tried that has to fit a frame; up to the second number with all that
# is known in numbers, which is left out where there is no room.
_WIDTHS, _FULL = (560, 640, 720, 800, 880, 960, 1040, 1160, 1280, 1440, 1600), 1040
_STRIP = 330  # the width of one of its tables


@dataclass(frozen=True)
class Picture:
    """A picture, which notebooks show.

    Args:
        drawing: What is on it.
        width: Its width in pixels.
        height: Its height.
        ground: The colour around the drawing.
        scenes: What it shows, which an SVG also has in words, for those who cannot see it.
    """

    drawing: Drawing
    width: int
    height: int
    ground: str
    scenes: tuple[Scene, ...]

    def svg(self) -> str:
        """The text of an SVG file; the same for the same scene, with every release of a library."""
        words = "\n\n".join(map(text.draw, self.scenes))
        return svg.write(self.drawing, self.width, self.scenes[0].title, words)

    _repr_svg_ = svg

    def pixels(self) -> NDArray[np.uint8]:
        """The picture as uint8 (height, width, 3).

        Raises:
            MissingExtraError: Pillow, of the extra ``render``, is not installed.
        """
        return raster.paint(self.drawing, self.width, self.height, self.ground)

    def png(self) -> bytes:
        """The content of a PNG file."""
        file = io.BytesIO()
        raster.pillow("Image").fromarray(self.pixels()).save(file, "PNG", optimize=True)
        return file.getvalue()


def draw(
    scene: Scene,
    style: Style,
    width: int = WIDTH,
    height: int | None = None,
    *,
    theme: str = "dark",
    caption: str = "",
) -> Picture:
    """The table as a picture.

    Args:
        scene: The table.
        style: The game's style.
        width: Its width in pixels. The narrower it is, the more stands below each other.
        height: Its height; None: what the content needs, all of which is then shown as large as at
            any other width. In a frame of a given height everything is as large as fits.
        theme: ``"dark"`` or ``"light"``, for print.
        caption: A line below the table, such as the move before it.

    Raises:
        ValueError: There is no such theme, or a size is no whole number of at least 1.
        MissingExtraError: fontTools, of the extra ``render``, is not installed.
    """
    look = look_of(style, theme)
    width = check_whole_number("width", width, 1)
    if height is None:
        drawing = layout.page(scene, look, width, grids=scene.grids, caption=caption)
        height = round(width * drawing.height / drawing.width)
    else:
        height = check_whole_number("height", height, 1)
        ratio = height / width
        drawing = _framed(scene, look, ratio, caption, *_fit([(scene, caption)], look, ratio))
    return Picture(drawing, width, height, look.ground, (scene,))


def frames(
    scenes: Sequence[Scene], captions: Sequence[str], style: Style, *, theme: str = "dark"
) -> Iterator[NDArray[np.uint8]]:
    """The pictures of a video, uint8 (720, 960, 3), all of one scale.

    Args:
        scenes: The tables.
        captions: A line below each.
        style: The game's style.
        theme: As for :func:`draw`.

    Raises:
        ValueError, MissingExtraError: As for :func:`draw`.
    """
    look, ratio = look_of(style, theme), HEIGHT / WIDTH
    shown = list(zip(scenes, captions, strict=True))
    width, count = _fit(shown, look, ratio)
    for scene, caption in shown:
        drawing = _framed(scene, look, ratio, caption, width, count)
        yield Picture(drawing, WIDTH, HEIGHT, look.ground, (scene,)).pixels()


def _framed(
    scene: Scene, look: Look, ratio: float, caption: str, width: int, count: int
) -> Drawing:
    """The table in a frame of this ratio of height to width, with some of the numbers known."""
    grids = scene.grids[:count]
    return layout.page(scene, look, width, width * ratio, grids=grids, caption=caption)


def _fit(shown: Sequence[tuple[Scene, str]], look: Look, ratio: float) -> tuple[int, int]:
    """The least width at which tables fit into a frame, and how many of their grids do."""

    def fits(width: int) -> bool:
        drawings = (
            layout.page(scene, look, width, grids=scene.grids[:count], caption=caption)
            for scene, caption in shown
        )
        return all(
            drawing.width <= width + 1 and drawing.height <= width * ratio + 1
            for drawing in drawings
        )

    for count in range(max((len(scene.grids) for scene, _ in shown), default=0), -1, -1):
        widths = [width for width in _WIDTHS if width <= _FULL or not count]
        place = bisect_left(widths, True, key=fits)
        if place < len(widths):
            return widths[place], count
    return _WIDTHS[-1], 0


#: Pixels of a table in a row.
_LEAST_WIDTH = 50


def strip(
    scenes: Sequence[Scene],
    captions: Sequence[str],
    style: Style,
    width: int = 2 * WIDTH,
    *,
    theme: str = "dark",
) -> Picture:
    """Several tables in a row, such as the course of a round, for papers.

    Args:
        scenes: The tables, without numbers and sentences.
        captions: What stands below each.
        style: The game's style.
        width: The width in pixels, at least 50 for each table.
        theme: As for :func:`draw`.

    Raises:
        ValueError: There are no tables, or as for :func:`draw`.
        MissingExtraError: As for :func:`draw`.
    """
    if not scenes:
        raise ValueError("scenes must be at least one table")
    look = look_of(style, theme)
    why = f": each of {len(scenes)} tables needs {_LEAST_WIDTH}"
    width = check_whole_number("width", width, _LEAST_WIDTH * len(scenes), why=why)
    tallest = max(layout.page(scene, look, _STRIP, is_brief=True).height for scene in scenes)
    tables = [
        column(
            [
                layout.page(scene, look, _STRIP, tallest, is_brief=True),
                wrapped(caption, 15, look.ink, _STRIP, is_bold=True),
            ],
            4,
        )
        for scene, caption in zip(scenes, captions, strict=True)
    ]
    drawing = boxed(flow(tables, 1e9, 10, 0), Rect(0, 0, look.ground), 8)
    height = round(width * drawing.height / drawing.width)
    return Picture(drawing, width, height, look.ground, tuple(scenes))
