"""What the site's builder does to a page: see ``hooks`` in mkdocs.yml."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import guides
import tutorial_pages

from benchmarks import tables
from benchmarks.tables.pages import with_tables
from card_envs.games import GAMES, load_game, load_games

_IMAGES = "images/results"
_GUIDES = "images/games"

#: Files of the repository that a page of the site includes as a whole.
_PAGES = {"CHANGELOG.md": "changelog.md"}
_RULES = re.compile(r"card_envs/games/(\w+)/(?:RULES|GUIDE)\.md")
#: A relative one: of a target that is not an address or an anchor.
_LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?!\w+:)([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """Add the pictures of results and of the games' guides, and the pages of tutorials."""
    from mkdocs.structure.files import File  # the tests go without

    for game in load_games():
        for name, content in guides.pictures(game):
            files.append(File.generated(config, f"{_GUIDES}/{name}", content=content))
    with TemporaryDirectory() as folder:
        tables.draw_all(Path(folder))
        for path in sorted(Path(folder).iterdir()):
            content = path.read_bytes()
            files.append(File.generated(config, f"{_IMAGES}/{path.name}", content=content))
    for script in tutorial_pages.SCRIPTS:
        source = f"{config.repo_url}/blob/main/docs/tutorials/{script.name}"
        content = f"{tutorial_pages.page(script)}\n[The script]({source})\n"
        files.append(File.generated(config, f"tutorials/{script.stem}.md", content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Add the pictures of results to their tables, and lead links to files outside the site to the
    pages that include them, or the repository.
    """
    docs = Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent
    game = re.fullmatch(r"games/(\w+)\.md", page.file.src_uri)
    if game and game[1] in GAMES:
        markdown = guides.completed(markdown, load_game(game[1]), f"../{_GUIDES}")

    def link(match: re.Match[str]) -> str:
        mark, text, target, anchor = match.groups(default="")
        path = Path(os.path.normpath(folder / target))
        if path in tutorial_pages.SCRIPTS:
            return f"{mark}{text}{os.path.relpath(path.with_suffix('.md'), folder)}{anchor})"
        if path.is_relative_to(docs) or not path.exists():  # a wrong link: the builder warns of it
            return match[0]
        name = path.relative_to(docs.parent).as_posix()
        included_in = _RULES.sub(r"games/\1.md", _PAGES.get(name, name))
        if included_in != name:
            return f"{mark}{text}{os.path.relpath(docs / included_in, folder)}{anchor})"
        view = "raw" if mark else "tree" if path.is_dir() else "blob"
        return f"{mark}{text}{config.repo_url}/{view}/main/{name}{anchor})"

    return _LINK.sub(link, with_tables(markdown, _IMAGES))
