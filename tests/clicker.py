"""A person at the page in a browser, for tests: begins games, points, waits."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from helpers import kit_of

TURN = ".decide.yours"
TARGETS = '.board [data-key][role="button"], .board button.handle'


def begin(page, game, agent="random", options=None, **checks):
    """Fill in the form and begin a game."""
    page.locator(f"#game-{game.id}").check(force=True)
    for select in page.locator(".agents select").all():
        select.select_option(agent)
    values = kit_of(game).short_options if options is None else options
    if values:
        page.locator("details.options > summary").click()
    for name, value in values.items():
        control = page.locator(f"#option-{name}")
        if control.evaluate("control => control.tagName") == "SELECT":
            control.select_option(str(value).lower() if isinstance(value, bool) else str(value))
        else:
            control.fill(str(value))
    for name, value in checks.items():
        page.locator(f"#{name}").set_checked(value)
    page.locator("#begin").click()
    page.locator(".board .table").wait_for(timeout=90_000)  # the rules may have to be compiled


def step_of(page):
    """How many decisions are in the list of moves."""
    return page.locator(".moves li").count()


def settle(page):
    """Wait until the person is to decide, or the game is over.

    Random opponents may play hundreds of decisions before that.
    """
    page.locator(f"{TURN}, .board .standing").first.wait_for(timeout=60_000)


def is_over(page):
    return page.locator(".board .standing").count() > 0


# What lies in a fan shows its left edge alone.
LEFT = {"x": 4, "y": 12}


def click_left(target):
    target.click(position=LEFT)


def tap_left(target):
    target.tap(position=LEFT)


def take_turn(page, rng, click):
    """Point at things until that is an action, or choose it from the list."""
    before = step_of(page)
    for _ in range(20):
        main = page.locator(f"{TURN} > .choices > button.main")
        ready = page.locator(f"{TURN} > .choices > button[data-action]")
        targets = page.locator(TARGETS).all()
        unpressed = [t for t in targets if t.get_attribute("aria-pressed") == "false"]
        if main.count() and (not unpressed or rng.random() < 0.7):
            click(main.first)
        elif unpressed and rng.random() < 0.7:
            click(rng.choice(unpressed))
        elif ready.count():
            click(ready.nth(rng.randrange(ready.count())))
        elif unpressed:
            click(rng.choice(unpressed))
        elif page.locator(f"{TURN} details").count():
            page.locator(f"{TURN} details.all > summary").click()
            page.locator(f"{TURN} details details > summary").last.click()
            click(page.locator(f"{TURN} details details[open] button").last)
        page.wait_for_function(
            "before => document.querySelectorAll('.moves li').length > before "
            "|| document.querySelector('.decide.yours')",
            arg=before,
        )
        if step_of(page) > before:
            return
    raise AssertionError("no action came about")


def check_fits(page):
    """Nothing is wider than the page, and what is known in words no wider than its box."""
    wide = page.evaluate(
        "() => document.documentElement.scrollWidth <= innerWidth ? [] :"
        "[...document.querySelectorAll('body *')]"
        ".filter((element) => element.getBoundingClientRect().right > innerWidth)"
        ".map((element) => element.outerHTML.slice(0, 100))"
    )
    assert not wide, f"the page can be scrolled sideways: {wide}"
    assert page.evaluate(
        "() => [...document.querySelectorAll('.known .scroll:has(.words)')]"
        ".every((box) => box.scrollWidth <= box.clientWidth)"
    )


def check_hints_cover_no_name(page):
    """Where a hint is on a zone or a card, the zone's name can still be read."""
    covered = page.evaluate(
        "() => [...document.querySelectorAll('.table [data-hint]')].filter((e) => {"
        "  const name = e.closest('.zone').querySelector('h3:not(:empty)');"
        "  const { position, top } = getComputedStyle(e, '::after');"
        "  return name && position === 'absolute' &&"
        "    e.getBoundingClientRect().top + parseFloat(top) < name.getBoundingClientRect().bottom;"
        "}).map((e) => e.outerHTML.slice(0, 100))"
    )
    assert not covered


def check_accessible(page):
    # The order of headings is that of the table: a seat's is below the game's.
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
