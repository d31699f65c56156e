"""What the site's builder does to a page: see ``hooks`` in mkdocs.yml."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

#: Files of the repository that a page of the site includes as a whole.
_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "training/README.md": "training.md",
}
_RULES = re.compile(r"card_envs/games/(\w+)/RULES\.md")
_LINK = re.compile(r"(!?)(\[[^\]]*\]\()(\.\.?/[^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Lead links to files outside the site to the pages that include them, or the repository."""
    docs = Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent

    def link(match: re.Match[str]) -> str:
        mark, text, target, anchor = match.groups(default="")
        path = Path(os.path.normpath(folder / target))
        if path.is_relative_to(docs) or not path.exists():  # a wrong link: the builder warns of it
            return match[0]
        name = path.relative_to(docs.parent).as_posix()
        included_in = _RULES.sub(r"games/\1.md", _PAGES.get(name, name))
        if included_in != name:
            return f"{mark}{text}{os.path.relpath(docs / included_in, folder)}{anchor})"
        view = "raw" if mark else "tree" if path.is_dir() else "blob"
        return f"{mark}{text}{config.repo_url}/{view}/main/{name}{anchor})"

    return _LINK.sub(link, markdown)
