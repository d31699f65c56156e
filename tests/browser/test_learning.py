"""What helps to learn a game, and where one is found again."""

from __future__ import annotations

import random
import re

import pytest
from clicker import (
    TURN,
    begin,
    check_accessible,
    check_fits,
    click_left,
    settle,
    step_of,
    take_turn,
)
from helpers import ALL_GAMES, kit_of

from card_envs.agents import make_agent
from card_envs.datasets import Recording
from card_envs.games import load_game

GAME = ALL_GAMES[0]
BUTTONS = f"{TURN} > .choices > button[data-action], {TURN} .kinds button"


def focused(page):
    """What has the focus: its key, or its class."""
    return page.evaluate(
        "() => document.activeElement.dataset.key ?? document.activeElement.className"
    )


def wait_for_step(page, step):
    page.wait_for_function(
        "step => document.querySelector('.transport output').value.startsWith(`${step} /`)",
        arg=step,
    )


def press_until_the_others_have_moved(page, key):
    before = step_of(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.querySelectorAll('.moves li').length > before", arg=before
    )
    settle(page)


def test_numbers_arrows_and_enter_play_and_the_focus_stays(visit, serve):
    page = visit(serve())
    begin(page, GAME)
    settle(page)
    page.keyboard.press("1")
    first = focused(page)
    assert first.startswith("action-")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("() => document.activeElement.matches('.board [data-key]')")
    page.keyboard.press("1")
    for _ in range(2):
        press_until_the_others_have_moved(page, "Enter")
        assert focused(page).startswith("action-")
    page.keyboard.press("?")
    assert "Enter" in page.locator("dialog .keys").inner_text()
    check_accessible(page)
    before = step_of(page)
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert step_of(page) == before
    assert focused(page).startswith("action-")


def test_keys_of_one_character_can_be_switched_off(visit, serve):
    page = visit(serve(), settings={"keys": False})
    begin(page, GAME)
    settle(page)
    for key in ("r", "?", "1"):
        page.keyboard.press(key)
    assert not page.locator("dialog").count()
    assert focused(page) == "board"
    page.keyboard.press("ArrowUp")  # which is no character
    assert focused(page) != "board"
    page.locator("details.switches > summary").click()
    page.locator("#switch-keys").check()
    page.locator("h1").click()
    page.keyboard.press("?")
    page.locator("dialog .keys").wait_for()


def test_one_is_told_where_one_is_and_once_what_to_decide(visit, serve):
    page = visit(serve())
    begin(page, GAME)
    settle(page)
    assert focused(page) == "board"
    page.get_by_role("region", name=page.locator("h1").inner_text()).wait_for()
    page.keyboard.press("c")  # draws the table again
    page.keyboard.press("c")
    prompt = page.locator(".prompt").inner_text()
    assert page.locator("#spoken p").all_inner_texts().count(prompt) == 1


def test_the_focus_is_on_what_is_seen_where_there_are_too_many_choices_for_buttons(visit, serve):
    page = visit(serve())
    begin(page, max(ALL_GAMES, key=lambda game: game.num_actions))
    settle(page)
    for _ in range(2):
        take_turn(page, random.Random(0), click_left)
        settle(page)
        assert page.locator(f"{TURN} details.all").count()
        assert page.evaluate(
            "() => document.activeElement.matches("
            "'.decide > .choices > button[data-action], .board [data-key]')"
        )


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_rules_are_one_key_away_and_begin_with_what_matters_now(visit, serve, screenshot, size):
    page = visit(serve(), size)
    begin(page, GAME, practice=True)
    settle(page)
    page.keyboard.press("r")
    assert page.locator("dialog .now p").count()
    assert page.locator("dialog .guide h3").count() > 3
    check_accessible(page)
    check_fits(page)
    screenshot(page, f"rules-{size}")
    page.get_by_role("button", name="Close").click()
    guide = page.request.get(f"{serve()}api/games/{GAME.id}/guide").text()
    coach = page.locator(".coach p").first.inner_text()
    assert coach.startswith("Coach: ")
    assert coach.removeprefix("Coach: ") in " ".join(re.sub("[*`]", "", guide).split())
    page.keyboard.press("c")
    assert not page.locator(".coach").count()


def test_a_card_is_explained_on_hover_and_touch(visit, serve):
    tip = "#tip:visible"
    page = visit(serve())
    begin(page, GAME)
    settle(page)
    page.locator(".seat:not(.own) [data-tip]").first.hover()
    page.locator(tip).wait_for()
    page.locator(".seat.own .place").first.hover()
    page.wait_for_function("() => document.querySelector('.own [aria-describedby=tip]')")
    assert page.locator(tip).inner_text()
    # After a forced draw another player's card may be a button, which a tap would press.
    phone = visit(serve(), "phone", settings={"forced": False})
    begin(phone, GAME)
    settle(phone)
    phone.wait_for_load_state("networkidle")  # the guide draws the table once more
    phone.locator(".seat:not(.own) .place").first.tap()
    phone.locator(tip).wait_for()


def test_a_tip_stays_where_a_table_is_drawn_anew_and_goes_where_it_is_scrolled(visit, serve):
    tip = "#tip:visible"
    phone = visit(serve(), "phone", settings={"forced": False})
    begin(phone, GAME)
    settle(phone)
    place = phone.locator(".seat:not(.own) .place").first
    drawn = place.element_handle()
    place.tap()
    phone.locator(tip).wait_for()
    phone.keyboard.press("c")  # the coach, which is further down
    phone.wait_for_function("drawn => !drawn.isConnected", arg=drawn)
    phone.evaluate("() => dispatchEvent(new Event('scroll'))")
    assert phone.locator(tip).count()
    phone.evaluate("() => scrollBy(0, scrollY ? -20 : 20)")
    phone.locator(tip).wait_for(state="hidden")


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_end_of_a_round_pauses_and_shows_the_results(visit, serve, screenshot, size):
    page = visit(serve(), size, settings={"pause": True})
    begin(page, GAME, options={})
    rng = random.Random(0)
    title = page.locator("h1").inner_text()
    go_on = page.get_by_role("button", name="Continue")
    page.locator(TURN).or_(go_on).first.wait_for()
    while not go_on.count():
        buttons = page.locator(BUTTONS)
        if buttons.count():
            buttons.nth(rng.randrange(buttons.count())).evaluate("button => button.click()")
        page.wait_for_timeout(50)
        page.locator(TURN).or_(go_on).first.wait_for()
    assert page.locator(".round-end tbody tr").count() == GAME.default_players
    assert page.locator("h1").inner_text() == title  # the table of the round that is over
    check_accessible(page)
    check_fits(page)
    screenshot(page, f"round-end-{size}")
    page.keyboard.press("Enter")  # the focus is there
    page.wait_for_function("title => document.querySelector('h1').innerText !== title", arg=title)


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_seats_are_in_playing_order_and_choices_below_the_hand(visit, serve, size):
    page = visit(serve(), size)
    game = max(ALL_GAMES, key=lambda game: game.max_players)
    for players in sorted({game.min_players, 4, game.max_players}):
        page.goto(serve())
        page.reload()
        page.locator(f"#game-{game.id}").check(force=True)
        page.locator("#players").select_option(str(players))
        begin(page, game, options={})
        settle(page)
        check_fits(page)
        boxes = [
            page.locator(f'.seat[data-player="{player}"]').bounding_box()
            for player in range(players)
        ]
        bar = page.locator(TURN).bounding_box()
        assert boxes[0]["y"] + boxes[0]["height"] <= bar["y"]
        assert all(box["y"] + box["height"] <= boxes[0]["y"] for box in boxes[1:])
        if players > 2:  # clockwise: from the left side to the right one
            assert boxes[1]["x"] < boxes[-1]["x"]
        order = page.locator(".seat").evaluate_all("all => all.map((s) => +s.dataset.player)")
        assert order == [*range(1, players), 0]


def test_the_last_move_is_marked_and_hints_are_on_the_cards(visit, serve):
    page = visit(serve())
    begin(page, GAME, practice=True, agent="heuristic")
    settle(page)
    for _ in range(8):  # a move may touch no card
        take_turn(page, random.Random(0), click_left)
        settle(page)
        assert page.locator(".table .moved").count() == 1
        if page.locator(".table .touched").count():
            break
    assert page.locator(".table .touched").count()
    page.keyboard.press("h")
    page.locator(".hinted").first.wait_for()
    page.get_by_label("Adviser", exact=True).select_option("search:64")
    page.locator(".advice", has_text="visits").wait_for(timeout=90_000)
    assert page.locator(".advice .note", has_text="agrees").count()


def test_practice_is_for_the_first_game_and_cards_may_be_open(visit, serve):
    page = visit(serve())
    assert page.locator("#practice").is_checked()
    begin(page, GAME, open_cards=True)
    assert "open table" in page.locator(".badges").inner_text()
    page.goto(serve())
    assert not page.locator("#practice").is_checked()


def test_an_unfinished_game_is_gone_on_with(visit, serve):
    page = visit(serve())
    begin(page, GAME)
    settle(page)
    before = page.locator(".moves").inner_text()
    page.goto(serve())
    page.locator(".unfinished a").click()
    settle(page)
    assert page.locator(".moves").inner_text() == before


def test_a_surprise_is_a_game(visit, serve):
    page = visit(serve())
    page.locator("#surprise").click()
    page.locator(".board .table").wait_for(timeout=90_000)


@pytest.mark.parametrize("is_dataset", [False, True], ids=["file", "dataset"])
def test_a_game_of_a_recording_and_a_moment_of_it(visit, serve, tmp_path, is_dataset):
    game = load_game(GAME.id)
    agents = [make_agent("random", game) for _ in range(game.default_players)]
    options = kit_of(GAME).short_options
    recording = Recording(game.id, agents, games=3, seed=1, options=options)
    lines = [replay.to_json() for batch in recording for replay in batch.replays()]
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "games.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "data" / "main_data.hdf5").write_bytes(b"not read")
    page = visit(f"{serve()}#watch")
    if is_dataset:
        page.locator("#dataset").set_input_files(tmp_path)
    else:
        page.locator("#file").set_input_files(file)
    page.locator("#number").fill("2")
    page.get_by_role("button", name="Look at it").click()
    page.locator(".board .table").wait_for()
    wait_for_step(page, 0)
    page.keyboard.press(".")
    wait_for_step(page, 1)
    page.get_by_label("Whose eyes").select_option("1")
    page.wait_for_function("() => document.querySelector('.seat.own').dataset.player === '1'")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    page.get_by_role("button", name="Copy link").click()
    other = visit(page.locator("input.link").input_value())
    other.locator('.seat.own[data-player="1"]').wait_for()
    wait_for_step(other, 1)
    jump = other.get_by_label("Jump to")
    if jump.count():
        jump.select_option(index=1)
        wait_for_step(other, 0)


def test_a_tip_says_what_the_coach_has_not_said_and_covers_no_question(visit, serve):
    """An action's tip is no repetition, and lies below its button."""
    page = visit(serve())
    begin(page, GAME, practice=True)
    settle(page)
    page.keyboard.press("1")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("1")
    button = page.locator(f"{TURN} > .choices > button").first
    assert not page.locator("#tip:visible").count()  # the coach has said it
    assert button.get_attribute("aria-describedby") is None
    button.evaluate("button => { button.dataset.tip = 'knock'; button.blur(); button.focus(); }")
    tip = page.locator("#tip:visible")
    tip.wait_for()
    assert not tip.inner_text().startswith("You may")
    assert tip.bounding_box()["y"] > button.bounding_box()["y"]


def test_a_slow_answer_is_announced(visit, serve):
    """The first move of a game may compile its rules, for which the page has to wait."""
    # In a third of the deals the first decision is forced, and would be made at once.
    page = visit(serve(), settings={"forced": False})

    def hold(socket):
        server = socket.connect_to_server()
        socket.on_message(lambda _: None)  # nothing that is said reaches the server
        server.on_message(lambda message: socket.send(message))

    page.route_web_socket(re.compile("/tables/"), hold)
    begin(page, GAME)
    settle(page)
    page.locator(BUTTONS).first.evaluate("button => button.click()")
    page.locator(".decide .waiting", has_text="Waiting for the server").wait_for()


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_pictures_of_games_stay_in_their_tiles(visit, serve, size):
    page = visit(serve(), size)
    outside = page.locator(".tile .card").evaluate_all(
        "all => all.filter((card) => {"
        "  const [a, b] = [card, card.closest('.tile')].map((e) => e.getBoundingClientRect());"
        "  return a.left < b.left || a.right > b.right || a.top < b.top || a.bottom > b.bottom;"
        "}).length"
    )
    assert not outside
