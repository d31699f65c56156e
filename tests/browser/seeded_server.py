"""``card-envs serve`` where all new games have one seed: a test meets the same cards each time."""

import sys

from card_envs.commands.cli import main
from card_envs.web import starting

if __name__ == "__main__":
    starting.check_seed = lambda _: 0
    sys.exit(main(["serve", *sys.argv[1:]]))
