"""Make the README's moving picture: moves of the games that the guides tell.

python docs/pictures.py
"""

from __future__ import annotations

from pathlib import Path

import guides
from PIL import Image

from card_envs.games import load_games
from card_envs.render import picture

GIF = Path(__file__).parent / "images" / "games.gif"

#: Which moves: the first and the last, counted from 1.
MOVES = {
    "beaver_gang": (6, 9),
    "swim_for_your_life": (4, 7),
    "franks_zoo": (101, 104),
    "animalia": (23, 26),
}
_SIZE = (720, 540)
_COLOURS = 48
_MILLISECONDS = 1600


def main() -> None:
    """Write ``images/games.gif``."""
    frames = []
    for game in load_games():
        first, last = MOVES[game.id]
        palette = None  # one for each game, so that what does not change takes no room
        for scene, _ in list(guides.scenes(game))[first - 1 : last]:
            image = Image.fromarray(picture.draw(scene, game.style))
            image = image.resize(_SIZE, Image.Resampling.LANCZOS)
            frames.append(image.quantize(_COLOURS, palette=palette, dither=Image.Dither.NONE))
            palette = frames[-1]
    frames[0].save(
        GIF, save_all=True, append_images=frames[1:], duration=_MILLISECONDS, loop=0, optimize=True
    )


if __name__ == "__main__":
    main()
