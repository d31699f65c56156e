"""Make the pictures of the documentation: a table of each game, played by its shipped policy.

python docs/pictures.py
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

import card_envs
from card_envs.agents import choose, make_agent
from card_envs.contract.game import Game
from card_envs.render.picture import HEIGHT, WIDTH, draw

IMAGES = Path(__file__).parent / "images"

# The number of players, the seed, and how many decisions have been made: moments with much to see.
MOMENTS = {
    "beaver_gang": (4, 3, 104),
    "swim_for_your_life": (4, 1, 33),
    "franks_zoo": (4, 2, 112),
    "animalia": (4, 1, 96),
}


def table_of(game: Game, num_players: int, seed: int, decisions: int) -> Image.Image:
    """The table as the player to move sees it."""
    env = card_envs.make(game.name, num_players=num_players)
    env.reset(seed=seed)
    agent = make_agent("ppo", game, seed)
    for _ in range(decisions):
        env.step(choose(agent, game, env.states))
    player = env.possible_agents.index(env.agent_selection)
    return Image.fromarray(draw(game.scene(env.states, 0, player, 0, False), game.style))


def main() -> None:
    """Write ``images/<game>.png``, and all four together for the README."""
    IMAGES.mkdir(exist_ok=True)
    together = Image.new("RGB", (2 * WIDTH, 2 * HEIGHT))
    for k, (name, moment) in enumerate(MOMENTS.items()):
        image = table_of(card_envs.load_game(name), *moment)
        image.quantize(256).save(IMAGES / f"{name}.png", optimize=True)
        together.paste(image, (k % 2 * WIDTH, k // 2 * HEIGHT))
    together = together.resize((1440, 1080), Image.Resampling.LANCZOS)
    together.quantize(256).save(IMAGES / "tables.png", optimize=True)


if __name__ == "__main__":
    main()
