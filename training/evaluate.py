"""``python -m training.evaluate``: the same as ``card-envs evaluate``."""

from __future__ import annotations

from collections.abc import Sequence

from card_envs.commands.evaluation import evaluate_main


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m training.evaluate``; returns the exit status."""
    return evaluate_main(argv, "training.evaluate")


if __name__ == "__main__":
    raise SystemExit(main())
