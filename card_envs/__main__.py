"""The program ``card-envs``, also as ``python -m card_envs``."""

from __future__ import annotations

import sys

from card_envs.utils.interrupts import say_interrupted


def main() -> int:
    """Run the program."""
    say_interrupted()  # before the imports that take long
    from card_envs.commands.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
