"""Make the pictures of the page in the browser, and the short recorded game, for docs/web.md.

python docs/web_pictures.py

It needs what `make test-web` installs, and the extra `render`.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
GAME = "swim_for_your_life"
MOST_BYTES = 1_000_000
_TURN = ".decide.yours"
_TABLE = {"x": 0, "y": 48, "width": 680, "height": 720}


def reduced(data: bytes, width: int) -> Image.Image:
    """A screenshot in this width."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    height = round(image.height * width / image.width)
    return image.resize((width, height), Image.Resampling.LANCZOS)


def save(page: Page, name: str, width: int) -> None:
    """The page as ``images/web-<name>.png``."""
    image = reduced(page.screenshot(), width).quantize(256, kmeans=8, dither=Image.Dither.NONE)
    image.save(IMAGES / f"web-{name}.png", optimize=True)


def begin(page: Page, game: str, agent: str, practice: bool = False) -> None:
    """Begin a game."""
    page.locator(f"#game-{game}").check(force=True)
    for select in page.locator(".agents select").all():
        select.select_option(agent)
    if practice:
        page.locator("#practice").check()
    page.locator("#begin").click()
    page.locator(".board .table").wait_for(timeout=90_000)


def set_pace(page: Page, pace: str) -> None:
    """How fast the others' moves come; rounds follow each other without a pause."""
    page.evaluate(f"localStorage.setItem('setting-pace', '\"{pace}\"')")
    page.evaluate("localStorage.setItem('setting-pause', 'false')")


def follow_hint(page: Page) -> None:
    """Do what the adviser would."""
    page.locator(_TURN).wait_for()
    page.locator(".advice").wait_for(state="detached")
    page.get_by_role("button", name="Hint").click()
    words = page.locator(".advice em").inner_text()
    choice = page.locator(f"{_TURN} button[data-action]", has_text=re.compile(f"^{words}$", re.I))
    choice.first.evaluate("button => button.click()")


def take_pictures(page: Page) -> None:
    """All pictures."""
    save(page, "start", 960)
    set_pace(page, "instant")
    begin(page, GAME, "ppo", practice=True)
    for _ in range(4):
        follow_hint(page)
    page.locator(_TURN).wait_for()
    page.locator(".advice").wait_for(state="detached")
    page.get_by_role("button", name="Hint").click()
    page.locator(".advice").wait_for()
    page.locator(".own .place.can").first.click(position={"x": 5, "y": 20})
    save(page, "play", 1120)


def take_replay(page: Page) -> None:
    """An analysed decision of an open table."""
    begin(page, "franks_zoo", "ppo")
    for step in range(14):
        page.get_by_role("button", name="One decision forward").click()
        page.wait_for_function(f"() => document.querySelectorAll('.moves li').length > {step}")
    page.get_by_label("Ask the adviser about each decision").check()
    page.get_by_label("Adviser", exact=True).select_option("search:256")
    page.get_by_role("button", name="Most disputed decisions").click()
    page.locator(".disputes ol button").first.wait_for(timeout=90_000)
    page.locator(".disputes ol button").first.click()
    page.locator(".advice").wait_for()
    page.wait_for_timeout(500)
    save(page, "replay", 1120)


def record_game(page: Page) -> None:
    """A short game as ``images/web-game.gif``."""
    set_pace(page, "normal")
    begin(page, GAME, "heuristic", practice=True)
    frames: list[Image.Image] = []
    durations: list[int] = []

    def shoot(milliseconds: int) -> None:
        # One palette for all frames, so that what does not change takes no room.
        palette = frames[0] if frames else None
        image = reduced(page.screenshot(clip=_TABLE), 440)
        frame = image.quantize(256, kmeans=8, palette=palette, dither=Image.Dither.NONE)
        if frames and frame.tobytes() == frames[-1].tobytes():
            durations[-1] += milliseconds
        else:
            frames.append(frame)
            durations.append(milliseconds)

    for _ in range(2):
        page.locator(_TURN).wait_for()
        shoot(1500)
        follow_hint(page)
        for _ in range(30):
            shoot(220)
            if page.locator(_TURN).count():
                break
    path = IMAGES / "web-game.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(f"{path} has {size} bytes, more than {MOST_BYTES}")


def visit_closed(browser: Browser, address: str) -> None:
    """Pictures of a closed table."""
    page = open_page(browser, address, 1280, 900)
    take_pictures(page)
    phone = browser.new_page(viewport={"width": 360, "height": 740})
    phone.goto(page.url)
    phone.locator(_TURN).wait_for()
    phone.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
    phone.wait_for_timeout(1000)
    save(phone, "phone", 360)
    record_game(open_page(browser, address, 1040, 800))


def visit_open(browser: Browser, address: str) -> None:
    """Pictures of an open table."""
    take_replay(open_page(browser, f"{address}#watch", 1280, 900))


def open_page(browser: Browser, address: str, width: int, height: int) -> Page:
    """The page on which a game is begun."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(60_000)
    page.goto(address)
    page.locator("#begin").wait_for()
    return page


def main() -> None:
    """Write ``images/web-*``."""
    browser_path = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    words = [sys.executable, "-m", "card_envs.commands.cli", "serve", "--port", "0"]
    for open_table in (False, True):
        arguments = [*words, "--open"] if open_table else words
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                found = re.search(r"http://\S+/", process.stdout.readline())
                assert found is not None
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(
                        executable_path=browser_path, args=["--no-sandbox"]
                    )
                    (visit_open if open_table else visit_closed)(browser, found[0])
                    browser.close()
            finally:
                process.terminate()


if __name__ == "__main__":
    main()
