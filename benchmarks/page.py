"""The page in the browser: how soon it is painted, and games between agents as they are watched.

python -m benchmarks.page [--game GAME] [--games N] [--json FILE]

It needs what `make test-web` installs, and a chromium, or the browser that $CHROMIUM names.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarks import report
from benchmarks.web import server
from card_envs.commands import arguments, running
from card_envs.games import load_game

PACKAGES = ("playwright", "starlette", "uvicorn", "websockets")
_AGENT = "ppo"
_VISITS = 5
_SIZE = {"width": 1280, "height": 900}
_MOST_MS = 600_000  # of a game
# Notes when each move is shown, and every frame that the browser draws.
_WATCHING = """() => {
  window.shown = [];
  window.frames = [];
  let step = -1;
  const frame = (now) => {
    window.frames.push(now);
    const output = document.querySelector(".transport output")?.value;
    if (output && output !== step) window.shown.push(now);
    step = output ?? step;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


def _first_paint(browser: Any, address: str) -> float:
    """Milliseconds until something is painted, without anything in the browser's cache."""
    context = browser.new_context(viewport=_SIZE)
    page = context.new_page()
    page.goto(address)
    page.locator("main h1").first.wait_for()
    painted = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)"
    )
    context.close()
    return float(painted[0])


def _watch(browser: Any, address: str, game: str) -> dict[str, Any]:
    """A whole game between agents at the highest speed."""
    context = browser.new_context(viewport=_SIZE)
    page = context.new_page()
    page.goto(f"{address}/#watch")
    for name, value in (("speed", "30 a second"), ("pause", False)):
        page.evaluate(f"localStorage.setItem('setting-{name}', {json.dumps(json.dumps(value))})")
    page.reload()
    page.locator(f"#game-{game}").check(force=True)
    for select in page.locator(".agents select").all():
        select.select_option(_AGENT)
    page.evaluate(_WATCHING)
    page.locator("#begin").click()
    page.locator(".board .standing").wait_for(timeout=_MOST_MS)
    shown, frames = page.evaluate("[window.shown, window.frames]")
    context.close()
    gaps = [after - before for before, after in pairwise(frames)]
    return {
        "moves": len(shown) - 1,
        "moves_per_second": 1000.0 * (len(shown) - 1) / (shown[-1] - shown[0]),
        "frames_per_second": 1000.0 / statistics.mean(gaps),
        "longest_frame_ms": max(gaps),
    }


def measure(game: str, games: int) -> dict[str, Any]:
    """Open the start page a few times, and watch whole games."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0  # its sandbox does not work for root
    with server() as (address, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if as_root else []
        )
        paints = [_first_paint(browser, address) for _ in range(_VISITS)]
        watched = [_watch(browser, address, game) for _ in range(games)]
        browser.close()
    return report.document(
        "page",
        game,
        ["--game", game, "--games", f"{games}"],
        PACKAGES,
        {"games": games, "agent": _AGENT, "players": load_game(game).default_players},
        {"first_paint_ms": paints, "watched": watched},
    )


@running.command("benchmarks.page")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.page``."""
    parser = arguments.module_parser("benchmarks.page", __doc__)
    parser.add_argument("--games", type=int, default=2, help="that are watched; default: 2")
    args = report.parse_arguments(parser, argv)
    if args.games < 1:
        raise ValueError("--games must be at least 1")
    report.finish(args, lambda: measure(args.game, args.games))


if __name__ == "__main__":
    raise SystemExit(main())
