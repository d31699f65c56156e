"""``python -m training.evaluate``: the same as ``card-envs evaluate``."""

import sys
from collections.abc import Sequence

from card_envs.commands import cli


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    return cli.main(["evaluate", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    raise SystemExit(main())
