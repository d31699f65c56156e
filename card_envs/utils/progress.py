"""The progress bar of long commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from card_envs.utils.extras import import_extra


def track(
    items: Iterable[Any], description: str, total: int | None = None, *, quiet: bool = False
) -> Iterable[Any]:
    """The items with a progress bar on stderr.

    Args:
        items: What is gone through.
        description: What it is.
        total: How many items there are; None: as many as ``len`` says.
        quiet: Whether to show nothing.

    Raises:
        MissingExtraError: rich is not installed.
    """
    console = import_extra("rich.console", "evaluation").Console(stderr=True)
    bar = import_extra("rich.progress", "evaluation")
    tracked: Iterable[Any] = bar.track(items, description, total, console=console, disable=quiet)
    return tracked
