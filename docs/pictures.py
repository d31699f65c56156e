"""Make the pictures of the documentation: a table of each game, played by its shipped policy.

python docs/pictures.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import card_envs
from card_envs.agents import choose, make_agent
from card_envs.contract.game import Game
from card_envs.contract.scene import Scene
from card_envs.render import picture

IMAGES = Path(__file__).parent / "images"

# The number of players, the seed, and how many decisions have been made: moments with much to see.
MOMENTS = {
    "beaver_gang": (4, 3, 104),
    "swim_for_your_life": (4, 1, 33),
    "franks_zoo": (4, 2, 112),
    "animalia": (4, 1, 96),
}
# The game, the number of players and the seed of the strip, and the decisions before its tables.
STRIP = ("beaver_gang", 3, 5, (1, 5, 11, 17, 20, 23))


def tables_of(game: Game, num_players: int, seed: int) -> Iterator[tuple[Scene, Scene, str]]:
    """The table before each decision, as its player and as player 0 sees it, and the decision."""
    env = card_envs.make(game.name, num_players=num_players)
    env.reset(seed=seed)
    agent = make_agent("ppo", game, seed)
    while env.legal_actions():
        action = choose(agent, game, env.states)
        player = env.possible_agents.index(env.agent_selection)
        seen = [game.scene(env.states, 0, observer, 0, False) for observer in (player, 0)]
        yield seen[0], seen[1], f"player {player}: {env.action_name(action)}"
        env.step(action)


def save(pixels: NDArray[np.uint8], name: str) -> None:
    """Write a picture as ``images/<name>.png``."""
    image = Image.fromarray(pixels).quantize(256, dither=Image.Dither.NONE)
    image.save(IMAGES / f"{name}.png", optimize=True)


def main() -> None:
    """Write ``images/<game>.png``, all four together for the README, and ``images/strip.svg``."""
    IMAGES.mkdir(exist_ok=True)
    drawn = []
    for name, (num_players, seed, decisions) in MOMENTS.items():
        game = card_envs.load_game(name)
        scene = [seen for seen, _, _ in tables_of(game, num_players, seed)][decisions]
        save(picture.draw(scene, game.style).pixels(), name)
        drawn.append(picture.draw(scene, game.style, 720, 600).pixels())
    rows = [np.concatenate(drawn[k : k + 2], axis=1) for k in (0, 2)]
    save(np.concatenate(rows), "tables")

    name, num_players, seed, places = STRIP
    game = card_envs.load_game(name)
    tables = list(tables_of(game, num_players, seed))
    scenes = [tables[place][1] for place in places]
    captions = [f"Decision {place + 1}, {tables[place][2]}" for place in places]
    svg = picture.strip(scenes, captions, game.style).svg()
    (IMAGES / "strip.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
