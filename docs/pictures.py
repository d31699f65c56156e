"""Make the README's moving picture, and a strip: moves of the games that the guides tell.

python docs/pictures.py
"""

from __future__ import annotations

from pathlib import Path

import guides
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from card_envs.commands.cli import main
from card_envs.contract.game import Game
from card_envs.games import load_games
from card_envs.render import picture

IMAGES = Path(__file__).parent / "images"

#: Which moves: the first and the last, counted from 1.
MOVES = {
    "beaver_gang": (6, 9),
    "swim_for_your_life": (4, 7),
    "franks_zoo": (101, 104),
    "animalia": (23, 26),
}
#: Moves before which the strip shows the table of Beaver Gang; the last one is the end.
STRIP = (1, 3, 5, 7, 10, 13)
_SIZE = (720, 640)
_COLOURS = 256
_MILLISECONDS = 1600


def tables(game: Game) -> list[NDArray[np.uint8]]:
    """The game's moves in the moving picture, as pixels."""
    first, last = MOVES[game.id]
    return [
        picture.draw(scene, game.style, *_SIZE).pixels()
        for scene, _ in list(guides.scenes(game))[first - 1 : last]
    ]


def draw() -> None:
    """Write ``images/games.gif`` and ``images/strip.svg``."""
    frames = []
    for game in load_games():
        images = list(map(Image.fromarray, tables(game)))
        # One palette for each game, so that what does not change takes no room.
        together = Image.fromarray(np.concatenate(images))
        palette = together.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=2)
        frames += [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    frames[0].save(
        IMAGES / "games.gif",
        save_all=True,
        append_images=frames[1:],
        duration=_MILLISECONDS,
        loop=0,
        optimize=True,
    )
    draw_strip(IMAGES / "strip.svg")


def draw_strip(path: Path) -> None:
    """Write the strip."""
    recorded = guides.RECORDED / "beaver_gang.json"
    main(["replay", *map(str, [recorded, "--svg", path, "--at", *STRIP]), "--theme", "light"])


if __name__ == "__main__":
    draw()
