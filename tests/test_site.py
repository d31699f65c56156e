"""The documentation's site: its code runs, its pages are in the navigation, its links resolve.

``make docs`` builds it, with every warning an error; what it includes from elsewhere, anchors among
it, is checked there.
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import EACH_GAME, kit_of, needs_training
from PIL import Image, ImageSequence

from benchmarks import tables
from card_envs.games import about, guide_file

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")

#: Documents whose relative links must lead to files of the repository.
DOCUMENTS = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
DOCUMENTS += [ROOT / "training" / "README.md", ROOT / "benchmarks" / "README.md"]

#: Pages of tools run in environments of their own: tests/integrations. That of the GPU needs one:
#: tests/cuda.
WITH_CODE = [
    page
    for page in PAGES
    if page.parent.name != "tools"
    and page.name != "gpu.md"
    and "```python" in page.read_text(encoding="utf-8")
]
OWN_GAMES = [param for param in EACH_GAME if kit_of(param.values[0]).is_own]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def without_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def relative_links(text):
    """Targets of links and pictures, without anchors, that are no addresses."""
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(text))
    return [t.partition("#")[0] for t in targets if not re.match(r"\w+:|#", t)]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=name_of(page),
            marks=[pytest.mark.slow] * ('"search:' in page.read_text(encoding="utf-8"))
            + [needs_training] * ("import torch" in page.read_text(encoding="utf-8")),
        )
        for page in WITH_CODE
    ],
)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT)
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == text.count("```python")
    modules = set(sys.modules)
    exec(compile("\n".join(blocks), page.name, "exec"), {"__name__": "page"})
    unasked = {"torch", "ray"} - {*re.findall(r"^import (\w+)$", "".join(blocks), re.MULTILINE)}
    assert not {name.partition(".")[0] for name in set(sys.modules) - modules} & unasked


def test_every_page_is_in_the_navigation_once():
    navigation = CONFIG.partition("\nnav:\n")[2].partition("\n\n")[0]
    tutorials = [script.with_suffix(".md") for script in (DOCS / "tutorials").glob("*.py")]
    assert sorted(re.findall(r"[\w/]+\.md", navigation)) == sorted(
        page.relative_to(DOCS).as_posix() for page in [*PAGES, *tutorials]
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_relative_links_resolve(document):
    text = document.read_text(encoding="utf-8")
    for target in relative_links(text):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if d not in PAGES], ids=name_of)
def test_anchors_in_documents_outside_the_site_exist(document):
    """Those of its own pages are checked by the builder."""
    links = re.findall(r"\]\(([\w./]+\.md)?#([^)]+)\)", without_code(document.read_text("utf-8")))
    for target, anchor in links:
        path = document.parent / target if target else document
        headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_includes_is_there_once(page):
    """Where a file has several ends, the plugin takes what follows every second one as well."""
    for target, limits in re.findall(
        r'{%\s+include(?:-markdown)? "([^"]+)"(.*?)%}', page.read_text("utf-8"), re.DOTALL
    ):
        included = (page.parent / target).read_text(encoding="utf-8")
        for limit in re.findall(r'(?:start|end)="([^"]+)"', limits):
            assert included.count(limit) == 1, limit


# ---------------------------------------------------------------------------------------------
# Tables, and what only the site shows
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def hooks(monkeypatch):
    """What the builder runs, with docs/ on its path."""
    pytest.importorskip("pydantic")
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("hooks")


@pytest.fixture
def page_tables():
    """The tables of the pages."""
    pytest.importorskip("pydantic")
    return importlib.import_module("benchmarks.tables.pages")


@pytest.fixture
def guides(monkeypatch):
    """What is generated of the pages of games."""
    pytest.importorskip("PIL")
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("guides")


def test_every_table_is_on_one_page(page_tables):
    """Every kind of committed results, and whatever else pages show."""
    texts = [page.read_text("utf-8") for page in page_tables.PAGES]
    names = [name for text in texts for name in page_tables.PLACE.findall(text)]
    committed = [kind for kind in tables.TABLES if tables.committed(kind)]
    assert sorted(names) == sorted([*committed, *page_tables.OTHERS])
    folders = ("benchmarks", "training")  # a built site has a folder of this name, too
    files = {path.stem for name in folders for path in (ROOT / name / "results").glob("*.json")}
    shown = {f"{kind}_{game}" for kind in committed for game in tables.committed(kind)}
    assert files == {name for name in shown if not name.startswith("policies_")}


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=name_of)
def test_pages_hold_the_tables_of_what_is_committed_now(page_tables, page):
    """After a change: ``python -m benchmarks.tables --pages``."""
    text = page.read_text("utf-8")
    assert page_tables.with_tables(text) == text


def test_a_page_shows_the_tables_of_all_results(page_tables):
    page = (DOCS / "results.md").read_text("utf-8")
    for kind in ("policies", "strength", "all_agents", "best_response"):
        for game, measured in tables.committed(kind).items():
            table = tables.TABLES[kind](measured)
            assert f"\n### {tables.title_of(game)}\n\n{table}\n" in page
    old = page.replace("| `ppo` |", "| `nobody` |")
    assert page_tables.with_tables(old) == page != old
    with pytest.raises(ValueError, match="no committed results of 'nothing'"):
        page_tables.with_tables("<!-- table: nothing -->\n<!-- end -->\n")
    with pytest.raises(ValueError, match="needs one place for a table"):
        page_tables.with_tables("<!-- table: overview -->\nand no end")


def test_links_lead_to_pages_of_the_site_or_to_the_repository(hooks):
    repository = "https://example.org/cards"
    config = SimpleNamespace(docs_dir=str(DOCS), repo_url=repository)
    page = SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))
    targets = {
        "tutorials/ppo.py": "tutorials/ppo.md",
        "./tutorials/ppo.py#more": "tutorials/ppo.md#more",
        "../CHANGELOG.md": "changelog.md",
        "../Makefile": f"{repository}/blob/main/Makefile",
        "../tests": f"{repository}/tree/main/tests",
        "api/aec.md": "api/aec.md",
        "#here": "#here",
        "https://example.org/x": "https://example.org/x",
    }
    for target, expected in targets.items():
        shown = hooks.on_page_markdown(f"[x]({target})", page=page, config=config)
        assert shown == f"[x]({expected})"


def test_every_picture_that_pages_show_of_results_is_drawn(hooks, tmp_path, monkeypatch):
    """One of each kind, here: each takes a moment."""
    results = {}
    for kind in filter(tables.committed, tables.PICTURES):
        text = tables.of_kind(kind, "images")
        found = re.findall(rf"^!\[.+\]\(images/({kind}_\w+\.png)\)$", text, re.MULTILINE)
        assert found == [f"{kind}_{game}.png" for game in tables.committed(kind)]
        results[kind] = dict([*tables.committed(kind).items()][:1])
    monkeypatch.setattr(tables, "committed", lambda kind: results.get(kind, {}))
    tables.draw_all(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{kind}_{game}.png" for kind, games in results.items() for game in games
    }
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------
# Pages of games, tools and the API
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", OWN_GAMES)
def test_a_guide_tells_the_recorded_game(guides, game):
    """After a change: ``python docs/guides.py``."""
    guide = guide_file(game).read_text(encoding="utf-8")
    assert guides.with_round(guide, game) == guide
    assert guide.startswith(f"# {game.title}\n\n{game.title} is ")
    moves = [(int(first), int(last)) for first, last, *_ in guides.PLACE.findall(guide) if first]
    assert all(first == last + 1 for (_, last), (first, _) in pairwise(moves))
    assert moves[-1][1] + 1 == len(list(guides.scenes(game)))
    changed = guide.replace("- **Player", "- **Nobody", 1)
    assert guides.with_round(changed, game) == guide != changed
    (result,) = re.findall(r"^<!-- result (\d+) -->$", guide, re.MULTILINE)
    assert int(result) == moves[-1][1] + 1


def test_pictures_show_what_is_drawn_now(guides, tmp_path):
    """After a change: ``python docs/pictures.py``. A palette changes colours a little."""
    pictures = importlib.import_module("pictures")
    pictures.draw_strip(tmp_path / "strip.svg")
    strip = (tmp_path / "strip.svg").read_text(encoding="utf-8")
    assert strip == (pictures.IMAGES / "strip.svg").read_text(encoding="utf-8")
    tables = [table for param in OWN_GAMES for table in pictures.tables(param.values[0])]
    with Image.open(pictures.IMAGES / "games.gif") as moving:
        frames = [np.asarray(frame.convert("RGB"), int) for frame in ImageSequence.Iterator(moving)]
    worst = [np.abs(frame - table).max() for frame, table in zip(frames, tables, strict=True)]
    assert max(worst) < 32, worst


@pytest.mark.parametrize("game", OWN_GAMES)
def test_the_page_of_a_game_holds_its_guide_its_spaces_and_its_rules(guides, game):
    page = (DOCS / "games" / f"{game.id}.md").read_text(encoding="utf-8")
    for name in ("GUIDE", "RULES"):
        assert f"card_envs/games/{game.id}/{name}.md" in page
    guide = guide_file(game).read_text(encoding="utf-8")
    shown = guides.completed(page + guide, game, "pictures")
    assert "<!-- table" not in shown
    assert f"| action space | `Discrete({game.num_actions})` |" in shown
    pictures = dict(guides.pictures(game))
    assert pictures.keys() == set(re.findall(r"\(pictures/([\w-]+\.svg)\)", shown))
    assert all(content.startswith(b"<svg ") for content in pictures.values())


@pytest.mark.parametrize("game", OWN_GAMES)
def test_what_a_game_is_about_opens_its_module_and_its_page(game):
    paragraph = about(game)
    assert paragraph in " ".join(guide_file(game).read_text(encoding="utf-8").split())
    documented = importlib.import_module(f"card_envs.{game.name}").__doc__
    assert " ".join(documented.split()).startswith(paragraph)


def test_the_overview_of_tools_has_every_page_with_its_version():
    text = (DOCS / "tools" / "index.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[[^\]]+\]\((\w+)\.md\) \| (.*) \|$", text, re.MULTILINE))
    assert set(rows) == {page.stem for page in (DOCS / "tools").glob("*.md")} - {"index"}
    extras = PROJECT["project"]["optional-dependencies"]
    for tool, row in rows.items():
        page = (DOCS / "tools" / f"{tool}.md").read_text(encoding="utf-8")
        version = row.partition(" | ")[0]
        assert version in page.replace("\n", " ")
        installed = re.findall(r"card_envs\[(\w+)\]", row)
        assert installed == [tool] * (tool in extras)


def test_every_module_and_function_of_the_api_exists():
    """The builder reads sources; users import."""
    for page in (DOCS / "api").glob("*.md"):
        for path in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, _, name = path.rpartition(".")
            package = __import__(module, fromlist=[name])
            assert hasattr(package, name), path


# ---------------------------------------------------------------------------------------------
# On the package index
# ---------------------------------------------------------------------------------------------


def test_addresses_agree():
    urls = PROJECT["project"]["urls"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"repo_url: {urls['Homepage']}\n" in CONFIG
    assert f"site_url: {urls['Documentation']}\n" in CONFIG
    assert f"repository-code: {urls['Homepage']}\n" in citation
    assert f"\nurl: {urls['Documentation']}\n" in citation
    assert f"\nversion: {PROJECT['project']['version']}\n" in citation
    assert f"]({urls['Documentation']})" in README
    assert f"version = {{{PROJECT['project']['version']}}}" in README
    assert urls["Issues"] == f"{urls['Homepage']}/issues"
    assert urls["Changelog"] == f"{urls['Documentation']}changelog/"


def test_the_index_shows_the_readme_with_absolute_links():
    """As hatch-fancy-pypi-readme makes them: by ``re.sub``."""
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    text = README
    for substitution in hook["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    text = text.replace("$HFPR_VERSION", "1.2.3")
    assert not relative_links(text)
    assert relative_links(README)
    start = f"{PROJECT['project']['urls']['Homepage']}/blob/v1.2.3/"
    for target in relative_links(README):
        assert f"]({start}{target}" in text
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures
    own = [target for target in pictures if target.startswith(start)]
    assert len(own) == len(re.findall(r"!\[[^\]]*\]\((?!https:)", README))
    assert all(target.endswith("?raw=true") for target in own)
