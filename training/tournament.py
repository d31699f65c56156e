"""``python -m training.tournament``: the same as ``card-envs tournament``."""

from __future__ import annotations

from collections.abc import Sequence

from card_envs.commands.evaluation import tournament_main


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.tournament``; returns the exit status."""
    return tournament_main(argv, "training.tournament")


if __name__ == "__main__":
    raise SystemExit(main())
