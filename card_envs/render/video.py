"""Videos of pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from card_envs.utils.extras import import_extra
from card_envs.utils.files import replacement

#: What a video file may end in.
SUFFIXES = (".mp4", ".gif")


def check_video_name(path: str | Path) -> None:
    """Check what a video file's name ends in.

    Raises:
        ValueError: It does not end in .mp4 or .gif.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ValueError(f"the name of a video ends in {' or '.join(SUFFIXES)}, got {path}")


def write_video(path: str | Path, frames: Iterable[NDArray[np.uint8]], fps: float) -> None:
    """Write pictures, uint8 (H, W, 3), as a video; an old file stays until it is complete.

    Raises:
        ValueError: The file's name does not end in .mp4 or .gif, or there are no pictures.
        MissingExtraError: The extra ``render`` is not installed.
        OSError: The file cannot be written.
    """
    check_video_name(path)
    path = Path(path)
    imageio = import_extra("imageio.v2", "render")
    is_gif = path.suffix.lower() == ".gif"
    options = {"duration": 1000 / fps, "loop": 0} if is_gif else {"fps": fps}
    with replacement(path) as new:
        is_empty = True
        with imageio.get_writer(new, **options) as writer:
            for frame in frames:
                writer.append_data(frame)
                is_empty = False
        if is_empty:
            raise ValueError(f"{path}: a video needs at least one picture")
