"""The page, driven like a person drives it."""

from __future__ import annotations

import json
import random
import re

import pytest
import yaml
from clicker import (
    TARGETS,
    TURN,
    begin,
    check_accessible,
    check_fits,
    check_hints_cover_no_name,
    click_left,
    is_over,
    settle,
    step_of,
    take_turn,
    tap_left,
)
from helpers import ALL_GAMES, EACH_GAME

each_game = pytest.mark.parametrize("game", EACH_GAME)
GAME = ALL_GAMES[0]
POINTED_TURNS = 8  # by pointing at cards; further ones are chosen from the list
MOST_TURNS = 400


# ---------------------------------------------------------------------------------------------
# Play
# ---------------------------------------------------------------------------------------------


@each_game
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_whole_game(visit, serve, screenshot, game, size):
    page = visit(serve(), size)
    begin(page, game)
    rng = random.Random(0)

    click = tap_left if size == "phone" else click_left
    settle(page)
    turns = 0
    while not is_over(page):
        assert turns < MOST_TURNS
        if turns < POINTED_TURNS:
            take_turn(page, rng, click)
            check_fits(page)
        else:  # the last kind of action is often what ends a round
            buttons = f"{TURN} > .choices > button[data-action], {TURN} .kinds button"
            chosen = -1 if rng.random() < 0.5 else rng.randrange(page.locator(buttons).count())
            page.locator(buttons).nth(chosen).evaluate("button => button.click()")
        settle(page)
        turns += 1
        if turns == 4:
            screenshot(page, f"play-{game.id}-{size}")
            check_accessible(page)
    screenshot(page, f"end-{game.id}-{size}")
    check_accessible(page)
    check_fits(page)
    assert "game over" in page.locator(".badges").inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download replay").click()
    replay = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert replay["game"] == game.name
    assert len(replay["actions"]) == step_of(page)


@each_game
def test_a_turn_by_keyboard_alone(visit, serve, game):
    page = visit(serve())
    begin(page, game)
    settle(page)
    before = step_of(page)
    for _ in range(300):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "() => { const f = document.activeElement;"
            "return f.closest('.decide') && (f.dataset.action ? 'action' : f.tagName) }"
        )
        if focused == "SUMMARY":
            page.keyboard.press("Enter")
        elif focused == "action":
            page.keyboard.press("Enter")
            break
    page.wait_for_function(
        "before => document.querySelectorAll('.moves li').length > before", arg=before
    )
    assert page.locator("#spoken p").count()  # what happened is told to screen readers


@each_game
def test_a_target_by_keyboard(visit, serve, game):
    """What can be clicked can be pressed too, and says what it is."""
    page = visit(serve())
    begin(page, game)
    settle(page)
    for _ in range(20):
        if page.locator(TARGETS).count() or is_over(page):
            break
        take_turn(page, random.Random(0), click_left)
        settle(page)
    if not page.locator(TARGETS).count():
        pytest.skip("this game's actions name nothing on the table")
    before = step_of(page)
    target = page.locator(TARGETS).first
    assert target.get_attribute("aria-label") or target.inner_text()
    target.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "before => document.querySelectorAll('.moves li').length > before"
        "|| document.querySelector('.board [aria-pressed=true]')",
        arg=before,
    )


def test_a_card_can_be_dragged(visit, serve):
    """To a place that an action names together with it."""
    cards = ".own .kind .place.can, .own .as-row .place.can"
    for game in ALL_GAMES:
        page = visit(serve())
        begin(page, game)
        settle(page)
        row = page.locator(".middle .zone[data-key]").first
        if page.locator(cards).count() and row.count():
            break
    before = step_of(page)
    name = row.locator("h3").inner_text().lower()
    for k in range(page.locator(cards).count()):
        page.locator(cards).nth(k).drag_to(row, source_position={"x": 5, "y": 20})
        page.wait_for_timeout(500)
        if step_of(page) > before:
            break
        page.get_by_role("button", name="Clear").click()  # that one cannot be laid down there
    assert name in page.locator(".moves li").nth(before).inner_text()


@each_game
def test_a_reload_in_mid_game_changes_nothing(visit, serve, game):
    page = visit(serve())
    begin(page, game)
    settle(page)
    for _ in range(3):
        if not is_over(page):
            take_turn(page, random.Random(1), click_left)
            settle(page)
    before = [page.locator(part).inner_text() for part in (".board", ".decide", ".moves")]
    page.reload()
    settle(page)
    assert [page.locator(part).inner_text() for part in (".board", ".decide", ".moves")] == before


def test_moves_of_others_can_be_skipped(visit, serve):
    page = visit(serve(), settings={"pace": "slow"})
    game = max(ALL_GAMES, key=lambda game: game.max_players)
    page.locator(f"#game-{game.id}").check(force=True)
    page.locator("#players").select_option(str(game.max_players))
    begin(page, game)
    skip = page.locator("button", has_text=re.compile(r"^Skip \d+ moves$"))
    skip.or_(page.locator(TURN)).first.wait_for()
    if not skip.count():  # the person is the first to decide
        take_turn(page, random.Random(0), click_left)
        skip.wait_for()
    before, skipped = step_of(page), int(skip.inner_text().split()[1])
    skip.click()
    assert step_of(page) >= before + skipped
    # It goes on: until the person's turn others may play hundreds of moves, slowly.
    skip.or_(page.locator(f"{TURN}, .board .standing")).first.wait_for()


@each_game
def test_hint_and_undo(visit, serve, screenshot, game):
    page = visit(serve())
    begin(page, game, practice=True)
    settle(page)
    assert "practice" in page.locator(".badges").inner_text()
    page.get_by_role("button", name="Hint").click()
    page.locator(".advice").wait_for()
    check_accessible(page)
    check_hints_cover_no_name(page)
    screenshot(page, f"hint-{game.id}")
    before = [page.locator(part).inner_text() for part in (".board .table", ".decide")]
    moves = step_of(page)
    take_turn(page, random.Random(2), click_left)
    settle(page)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function(
        "moves => document.querySelectorAll('.moves li').length === moves", arg=moves
    )
    settle(page)
    assert [page.locator(part).inner_text() for part in (".board .table", ".decide")] == before


def test_cards_fly_unless_motion_is_unwanted(visit, serve):
    for motion in ("no-preference", "reduce"):
        page = visit(serve(), settings={"pace": "slow"}, reduced_motion=motion)
        page.evaluate(
            "new MutationObserver(() => { if (document.querySelector('.air .card'))"
            "document.body.dataset.flew = 'yes' }).observe(document.body, {childList: true})"
        )
        begin(page, GAME)
        page.wait_for_timeout(500)
        settle(page)
        take_turn(page, random.Random(0), click_left)
        page.wait_for_timeout(2500)
        flew = page.evaluate("document.body.dataset.flew ?? 'no'")
        assert flew == ("yes" if motion == "no-preference" else "no")


def test_undo_while_others_decide(visit, serve):
    """What they did is not seen to its end, and asks nothing of the person."""
    page = visit(serve(), settings={"pace": "slow"})
    game = max(ALL_GAMES, key=lambda game: game.max_players)
    page.locator(f"#game-{game.id}").check(force=True)
    page.locator("#players").select_option(str(game.max_players))
    begin(page, game, practice=True)
    for _ in range(3):
        settle(page)
        before = step_of(page)
        take_turn(page, random.Random(0), click_left)
        page.get_by_role("button", name="Undo").click()
        page.wait_for_function(
            "moves => document.querySelectorAll('.moves li').length === moves", arg=before
        )
    assert not page.locator("#alert").inner_text()


def test_opinions_are_of_the_cards_that_lie_there(visit, serve):
    """After an undo they are others, at the same decision."""
    page = visit(serve())
    begin(page, GAME, practice=True)
    for adviser in ("random", "heuristic"):
        settle(page)
        page.get_by_label("Adviser").select_option(adviser)
        page.get_by_role("button", name="Hint").click()
        page.locator(".advice", has_text=adviser).wait_for()
        assert "agree" not in page.locator(".opinion").inner_text()
        take_turn(page, random.Random(2), click_left)
        settle(page)
        page.get_by_role("button", name="Undo").click()
        page.wait_for_function("() => document.querySelector('.opinion').hidden")


def test_a_game_that_is_begun_takes_nobody_from_another_page(visit, serve):
    page = visit(serve())
    page.route(
        re.compile("/api/tables$"), lambda route: (page.wait_for_timeout(500), route.continue_())
    )
    page.locator("#begin").click()
    page.evaluate("location.hash = '#watch'")
    page.locator("h1", has_text="Watch and replay").wait_for()
    page.wait_for_timeout(2000)
    assert page.url.endswith("#watch")


# ---------------------------------------------------------------------------------------------
# Watch, look back, replay
# ---------------------------------------------------------------------------------------------


def test_a_watched_game_goes_on_after_one_has_looked_back(visit, serve):
    """At a closed table, and with open cards."""
    for address in (f"{serve()}#watch", f"{serve('--open')}#watch"):
        page = visit(address, settings={"speed": "30 a second"})
        begin(page, GAME, options={})
        page.locator(".moves li").nth(5).wait_for()
        for _ in range(3):
            page.get_by_role("button", name="One decision back").click()
        before = step_of(page)
        page.locator(".transport .run").click()
        page.wait_for_function(
            "before => document.querySelectorAll('.moves li').length > before + 5", arg=before
        )
        jumps = page.locator(".moves button")
        (jumps.nth(1) if jumps.count() else page.locator(".transport .run")).click()
        page.wait_for_timeout(500)
        assert page.locator(".transport .run").inner_text() == "Play"


def test_the_focus_stays_where_a_watched_round_ends(visit, serve):
    page = visit(f"{serve()}#watch", settings={"speed": "30 a second"})
    begin(page, GAME, options={})
    page.locator(".transport .run").focus()
    page.get_by_label("Jump to").wait_for(timeout=60_000)
    assert page.evaluate("document.activeElement.name") == "run"
    page.locator(".transport .run").click()
    page.locator("output", has_text="/").wait_for()
    before = page.locator(".transport output").inner_text()
    assert page.get_by_label("Jump to").locator("option").first.is_disabled()
    page.wait_for_timeout(300)
    assert page.locator(".transport output").inner_text() == before


def forward(page):
    page.get_by_role("button", name="One decision forward").click()


@each_game
def test_watch_agents(visit, serve, screenshot, game):
    page = visit(f"{serve()}#watch")
    assert "null" not in page.locator("main").inner_text()
    begin(page, game)
    page.locator(".transport").wait_for()
    assert "null" not in page.locator("main").inner_text()
    assert "player 0's view" in page.locator(".badges").inner_text()
    page.get_by_label("Speed").select_option("5×")
    page.wait_for_function(  # by itself
        "() => document.querySelectorAll('.moves li').length > 2"
        "|| document.querySelector('.standing')"
    )
    page.get_by_role("button", name="One decision back").click()  # which stops it
    before = page.locator(".transport output").inner_text()
    page.keyboard.press(".")
    page.wait_for_function(
        "before => document.querySelector('.transport output').value !== before", arg=before
    )
    screenshot(page, f"watch-{game.id}")
    check_accessible(page)


@each_game
def test_an_open_table_is_sent_as_a_link_and_analysed(visit, serve, screenshot, game):
    address = serve("--open")
    page = visit(address)
    assert "are open" in page.locator(".notice").inner_text()
    begin(page, game)
    settle(page)
    assert "open table" in page.locator(".badges").inner_text()
    for _ in range(3):
        if not is_over(page):
            take_turn(page, random.Random(3), click_left)
            settle(page)
    words = page.locator(".moves").inner_text()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    page.get_by_role("button", name="Copy link").click()
    link = page.locator("input.link").input_value()
    assert link.startswith(f"{address}#replay=")

    other = visit(link)
    other.locator(".transport").wait_for()
    assert other.locator(".moves").inner_text() == words
    other.wait_for_function(
        "() => document.querySelector('.transport output').value.startsWith('0 /')"
    )
    other.locator(".advice").wait_for()  # beside each decision
    other.get_by_label("Adviser", exact=True).select_option("search:64")
    other.wait_for_function(
        "() => document.querySelector('.advice figcaption')?.innerText.startsWith('search:64')",
        timeout=90_000,  # the search of this game may have to be compiled
    )
    forward(other)
    other.get_by_label("Whose eyes").select_option("mover")
    other.get_by_role("button", name="Most disputed decisions").click()
    other.locator(".opinion .disputes ol, .opinion > p").first.wait_for()
    screenshot(other, f"replay-{game.id}")
    check_hints_cover_no_name(other)
    check_accessible(other)
    jump = other.locator(".disputes ol button")
    if jump.count():
        jump.first.click()
        other.locator(".decide .decision").wait_for()


def test_a_replay_file_is_opened(visit, serve, tmp_path):
    page = visit(f"{serve()}#watch")
    file = tmp_path / "damaged.json"
    file.write_text("{}", encoding="utf-8")
    with page.expect_response(re.compile("/api/replays")):
        page.locator("#file").set_input_files(file)
    page.locator("#alert", has_text="format").wait_for()


# ---------------------------------------------------------------------------------------------
# When something goes wrong
# ---------------------------------------------------------------------------------------------


def test_the_link_past_the_head_leaves_the_table_there(visit, serve):
    page = visit(serve())
    begin(page, GAME)
    settle(page)
    address = page.url
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.tagName") == "MAIN"
    assert page.url == address
    assert page.locator(".board .table").count()


def test_a_browser_that_keeps_nothing_can_play(visit, serve):
    page = visit(serve())
    page.add_init_script(
        "for (const area of ['localStorage', 'sessionStorage']) Object.defineProperty("
        "window, area, { get() { throw new DOMException('blocked', 'SecurityError'); } })"
    )
    page.reload()
    begin(page, GAME, practice=True)
    settle(page)
    coach = page.locator(".coach").count()
    page.keyboard.press("c")  # a setting
    assert page.locator(".coach").count() != coach


def test_a_game_is_played_without_its_guide_which_is_asked_for_again(visit, serve):
    page = visit(serve())
    guide = re.compile("/guide$")
    page.route(guide, lambda route: route.abort())
    page.reload()
    begin(page, GAME)
    settle(page)
    page.keyboard.press("r")
    page.locator("dialog", has_text="did not come").wait_for()
    page.keyboard.press("Escape")
    page.unroute(guide)
    page.keyboard.press("r")
    page.locator("dialog .guide h3").first.wait_for()


def test_after_an_interruption_one_looks_at_the_same_decision(visit, serve):
    page = visit(f"{serve()}#watch", settings={"speed": "5×"})
    page.add_init_script(
        "window.sockets = []; window.WebSocket = class extends WebSocket {"
        "constructor(...all) { super(...all); sockets.push(this); } }"
    )
    page.reload()

    def interrupt():
        page.evaluate("sockets.at(-1).close()")
        page.locator("#alert", has_text="lost").wait_for()
        page.wait_for_function("() => !document.querySelector('#alert').textContent")

    begin(page, GAME)
    page.locator(".moves li").nth(3).wait_for(timeout=60_000)
    interrupt()
    assert page.locator(".transport .run").inner_text() == "Pause"  # it goes on
    page.locator(".transport .run").click()
    page.get_by_role("button", name="To the beginning").click()
    page.locator("output", has_text=re.compile("^0 /")).wait_for()
    interrupt()
    page.wait_for_timeout(500)
    assert page.locator(".transport .run").inner_text() == "Play"
    assert page.locator("output").inner_text().startswith("0 /")


def test_a_hint_that_comes_late_gives_no_second_choice(visit, serve):
    page = visit(serve(), settings={"forced": False})
    late = []

    def hold(socket):
        server = socket.connect_to_server()
        socket.on_message(lambda text: None if '"act"' in text else server.send(text))
        server.on_message(
            lambda text: late.append((socket, text)) if '"advice"' in text else socket.send(text)
        )

    page.route_web_socket(re.compile("/tables/"), hold)
    begin(page, GAME, practice=True)
    settle(page)
    page.keyboard.press("h")
    for _ in range(600):  # the policy has to be loaded
        page.wait_for_timeout(100)
        if late:
            break
    page.locator(".decide button[data-action]").first.evaluate("button => button.click()")
    (socket, text), *_ = late
    socket.send(text)
    page.wait_for_timeout(500)
    assert not page.locator(".decide button[data-action], .advice").count()


def test_a_round_that_is_undone_can_not_be_jumped_to(visit, serve):
    page = visit(serve())
    begin(page, GAME, options={}, practice=True)
    settle(page)
    title = page.locator("h1").inner_text()
    while page.locator("h1").inner_text() == title:
        take_turn(page, random.Random(0), click_left)
        settle(page)
    jump = page.get_by_label("Jump to")
    page.get_by_role("button", name="Look back").click()
    jump.wait_for()
    page.get_by_role("button", name="Back to the game").click()
    while page.locator("h1").inner_text() != title:
        moves = step_of(page)
        page.get_by_role("button", name="Undo").click()
        page.wait_for_function(
            "moves => document.querySelectorAll('.moves li').length < moves", arg=moves
        )
        settle(page)
    page.get_by_role("button", name="Look back").click()
    page.locator(".transport").wait_for()
    assert not jump.count()


def test_a_link_is_not_copied_where_the_replay_did_not_come(visit, serve):
    page = visit(serve("--open"))
    begin(page, GAME)
    settle(page)
    page.route(re.compile("/replay$"), lambda route: route.fulfill(status=500))
    page.get_by_role("button", name="Copy link").click()
    page.locator("#alert", has_text="could not be made").wait_for()


def test_of_a_table_that_is_gone_nothing_is_left(visit, serve):
    page = visit(f"{serve()}#table=AAAAAAAAAAAAAAAAAAAAAA")
    page.locator("h1", has_text="gone").wait_for()
    for key in ("h", "u", "r", "c", "b", ",", ".", " ", "1", "ArrowUp", "Escape"):
        page.keyboard.press(key)
    assert not page.locator(".decide, dialog, .transport").count()
    check_accessible(page)


# ---------------------------------------------------------------------------------------------
# The other pages
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_first_pages(visit, serve, screenshot, size, scheme):
    for name in ("", "#watch"):
        page = visit(f"{serve()}{name}", size, color_scheme=scheme)
        check_fits(page)
        check_accessible(page)
        assert re.search(r"beats heuristic \d+% of the time", page.locator(".agents").inner_text())
        screenshot(page, f"start{name.replace('#', '-')}-{size}-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_runs(visit, serve, screenshot, tmp_path_factory, scheme):
    folder = tmp_path_factory.mktemp("runs")
    run = folder / "demo"
    run.mkdir()
    config = {"game": GAME.id, "decisions": 1_800_000, "name": "ppo"}
    (run / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    lines = ""
    for k in range(5):
        line = {"decisions": 300_000 * k, "seconds": 20.0 * k, "truncated": 0.0}
        for shift, agent in ((0.0, "heuristic"), (0.5, "random")):
            mean = min(0.9, -0.7 + shift + 0.25 * k)
            line |= {f"vs_{agent}": mean, f"vs_{agent}_ci95": [mean - 0.08, mean + 0.08]}
        lines += json.dumps(line) + "\n"
    (run / "progress.jsonl").write_text(lines, encoding="utf-8")
    names = ("random", "heuristic", "ppo")
    agents = [
        {"name": name, "rank": mean, "rank_ci95": [mean - 0.05, mean + 0.05], "win": 0.3}
        for name, mean in zip(names, (-0.6, 0.1, 0.5), strict=True)
    ]
    board = {"game": GAME.id, "num_players": 4, "deals": 100, "agents": agents}
    (folder / "evaluation.json").write_text(json.dumps(board), encoding="utf-8")
    ratings = ((-2000.0, [None, None]), (0.0, [-20.0, None]), (40.0, [10.0, 80.0]))
    rated = [
        {**agent, "rating": rating, "rating_ci95": ends}
        for agent, (rating, ends) in zip(agents, ratings, strict=True)
    ]
    tournament = json.dumps({**board, "agents": rated})
    (folder / "tournament.json").write_text(tournament, encoding="utf-8")
    address = serve("--runs", str(folder))
    page = visit(f"{address}#runs", color_scheme=scheme)
    page.locator('[data-run="demo"]').wait_for()
    assert "1,200,000 of 1,800,000" in page.locator(".facts").inner_text()
    whiskers = page.get_by_role("region", name="tournament.json").locator(".whisker")
    drawn = whiskers.evaluate_all(
        "(all, ends) => all.map(({ style }) => ends.map((end) => style.getPropertyValue(end)))",
        ["--low", "--mean", "--high"],
    )
    # The axis is from -20 to 80; an open end is not drawn, and an arrow stands for what is beyond.
    assert drawn == [["30%", "60%", "100%"], ["0%", "20%", "20%"], ["0%", "0%", "0%"]]
    assert [whisker.get_attribute("class") for whisker in whiskers.all()] == [
        "whisker",
        "whisker",
        "whisker below",
    ]
    check_accessible(page)
    check_fits(page)
    screenshot(page, f"runs-{scheme}")
    (run / "progress.jsonl").write_text(lines.replace("1200000", "1300000"), encoding="utf-8")
    page.wait_for_function("() => document.querySelector('.facts').innerText.includes('1,300,000')")
