"""The tables of README.md and of docs/: results, keys of configurations, games in words."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks import leaderboard
from benchmarks.tables import ROOT, committed, of_kind, texts
from benchmarks.tables.keys import config_table
from benchmarks.tables.overview import overview
from card_envs.utils.markdown import with_section
from training.improvement.config import ImprovementConfig
from training.runs.config import Config

#: README.md and all pages in docs/.
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

#: Where a page holds a table.
PLACE = re.compile(r"^<!-- table: (\w+) -->$", re.MULTILINE)

#: What is shown besides the tables of results.
OTHERS: dict[str, Callable[[], str]] = {
    "config": lambda: config_table(Config),
    "leaderboard": leaderboard.tables,
    "improvement": lambda: config_table(ImprovementConfig),
    "lengths": texts.lengths,
    "overview": lambda: overview(committed("policies"), committed("search")),
    "transcript": texts.transcript,
}


def with_tables(markdown: str, images: str | None = None) -> str:
    """The page with its tables renewed.

    Args:
        markdown: The page.
        images: The folder of the pictures of results, as the page names it, if it shows them.

    Raises:
        ValueError: There is no such table.
    """
    for name in PLACE.findall(markdown):
        content = OTHERS[name]() if name in OTHERS else of_kind(name, images)
        markdown = with_section(markdown, f"table: {name}", content)
    return markdown
