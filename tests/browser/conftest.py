"""Tests of the page in a real browser: ``make test-web``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from helpers import ALL_GAMES, kit_of

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]

_ROOT = Path(__file__).parent.parent.parent
SIZES = {"desktop": (1280, 900), "phone": (360, 740)}


def _browser() -> str:
    """The browser's path."""
    found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if found is None:
        pytest.exit(
            "there is no browser: install Debian's package chromium (apt-get install chromium), "
            "or name one with CHROMIUM=/path/of/it",
            returncode=2,
        )
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = _browser()
    # Chromium's sandbox does not work for root, as in a container.
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if as_root else []
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Begins a server with these arguments, or finds the one that was; gives its address."""
    foreign = [game.package for game in ALL_GAMES if not kit_of(game).is_own]
    games = [word for package in foreign for word in ("--games-from", package)]
    begun: dict[tuple[str, ...], tuple[subprocess.Popen[str], str]] = {}

    def begin(*arguments: str) -> str:
        if arguments not in begun:
            process = subprocess.Popen(
                [
                    sys.executable,
                    str(Path(__file__).with_name("seeded_server.py")),
                    "--port",
                    "0",
                    "--tables",
                    str(tmp_path_factory.mktemp("tables")),
                    *games,
                    *arguments,
                ],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            assert process.stdout is not None
            found = re.search(r"http://\S+/", process.stdout.readline())
            assert found
            begun[arguments] = process, found[0]
        return begun[arguments][1]

    yield begin
    for process, _ in begun.values():
        process.terminate()
        process.wait(20)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages of a size; whatever they write to the console as an error fails the test."""
    contexts = []
    errors: list[str] = []

    def listen(message: Any) -> None:
        # What the server refuses is told to the person, and to the console by the browser.
        if message.type == "error" and "Failed to load resource" not in message.text:
            errors.append(message.text)

    def open_page(
        address: str, size: str = "desktop", settings: Any = (), **context_settings: Any
    ) -> Any:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height},
            has_touch=size == "phone",
            **context_settings,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", listen)
        page.goto(address)
        for name, value in {"pace": "instant", "pause": False, **dict(settings)}.items():
            page.evaluate(
                "([name, value]) => localStorage.setItem(`setting-${name}`, JSON.stringify(value))",
                [name, value],
            )
        page.locator("main h1, main h2").first.wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors


@pytest.fixture(scope="session")
def screenshot() -> Callable[[Any, str], None]:
    """Keeps a picture of a page, for people to look at."""
    folder = _ROOT / ".venvs" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)

    def take(page: Any, name: str) -> None:
        page.screenshot(path=folder / f"{name}.png", full_page=True)

    return take
