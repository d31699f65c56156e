"""Pictures: what they show, what they must not show, and the tools that take them.

Run as a script, this file writes ``tests/pictures.json``: ``python tests/test_pictures.py``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import subprocess
import sys
from dataclasses import astuple, replace
from pathlib import Path
from xml.etree import ElementTree

import gymnasium
import numpy as np
import pytest
from helpers import EACH_GAME, FEW_GAMES, kit_of, mid_game

import card_envs
from card_envs.contract.observing import MEMORY_MODES, MEMORY_NONE, MEMORY_PERFECT
from card_envs.contract.scene import Card, Grid, Scene, Seat, Zone
from card_envs.contract.style import Face, Style
from card_envs.engine.history import Replay
from card_envs.envs.parallel import ParallelCardEnv
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.render import glyphs, picture, text
from card_envs.render.cards import draw_card
from card_envs.render.colours import PAPER, THEMES, contrast, look_of, mixed, on, player_colour
from card_envs.render.drawing import Drawing, Text
from card_envs.render.renderer import FPS, TableRenderer
from card_envs.render.video import write_video
from card_envs.render.window import Window
from card_envs.utils.extras import MissingExtraError

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)
OWN = [param for param in EACH_GAME if kit_of(param.values[0]).is_own]
SHAPE = (picture.HEIGHT, picture.WIDTH, 3)


def positions(game, count, **options):
    """Environments in the middle of games, at the smallest and the largest table."""
    for number in range(count):
        num_players = (game.min_players, game.max_players)[number % 2]
        yield mid_game(game, num_players, decisions=3 + 11 * number, **options)


def scene_of(env, is_open=False):
    """The table as the player to move sees it."""
    player = env.possible_agents.index(env.agent_selection)
    return env.game.scene(env.states, 0, player, 0, is_open)


def framed(scene, style):
    return picture.draw(scene, style, height=picture.HEIGHT).pixels()


def picture_of(env, player, is_open=False):
    return framed(env.game.scene(env.states, 0, player, 0, is_open), env.game.style)


@few_games
def test_a_picture_of_every_position(game):
    for env in positions(game, 8):
        image = picture_of(env, 0)
        assert image.shape == SHAPE
        assert image.dtype == np.uint8
        assert len(np.unique(image @ np.array([1, 256, 65536]))) > 20  # colors


@each_game
def test_what_is_hidden_is_not_in_it(game):
    """Another arrangement of what a player cannot know gives them the same picture."""
    varied = 0
    for env in positions(game, 6):
        player = env.possible_agents.index(env.agent_selection)
        own, open_table = picture_of(env, player), picture_of(env, player, is_open=True)
        for seed in range(3):
            other = env.unwrapped.clone()
            other.determinize(env.agent_selection, seed)
            assert (picture_of(other, player) == own).all()
            varied += (picture_of(other, player, is_open=True) != open_table).any()
    assert varied


@each_game
def test_what_is_public_is_in_it(game):
    """Every move changes what the one who made it sees."""
    for env in positions(game, 4):
        player = env.possible_agents.index(env.agent_selection)
        before = picture_of(env, player)
        env.step(env.legal_actions()[-1])
        assert (picture_of(env, player) != before).any()


@each_game
def test_an_open_table_shows_every_players_cards(game):
    for env in positions(game, 6):
        scene = game.scene(env.states, 0, 0, 0, True)
        closed = game.scene(env.states, 0, 0, 0, False)
        for seat, other in zip(scene.seats, closed.seats, strict=True):
            assert all(card.name for zone in seat.zones for card in zone.cards)
            assert sum(zone.size for zone in seat.zones) == sum(z.size for z in other.zones)


@pytest.mark.parametrize("game", OWN)
def test_every_card_has_a_face(game):
    for env in positions(game, 10):
        scene = game.scene(env.states, 0, 0, 0, True)
        zones = [*scene.zones, *(zone for seat in scene.seats for zone in seat.zones)]
        names = {card.name for zone in zones for card in zone.cards if card.name}
        assert names <= set(game.style.faces)
    faces = game.style.faces.values()
    looks = {(face.symbol, face.label, face.badge) for face in faces}
    assert len(looks) == len(set(faces)), "two cards cannot be told apart but by their colours"
    for face in faces:
        for symbol in (face.symbol, face.badge):
            assert symbol.isascii() or ord(symbol) in glyphs.characters(glyphs.SYMBOLS), symbol


def a_scene(*cards, **changes):
    seats = tuple(
        Seat(player, "you" if player == 0 else f"player {player}", "", zones=(Zone("hand", cards),))
        for player in range(2)
    )
    return replace(Scene("A Game", 0, seats), **changes)


@pytest.mark.parametrize(
    ("scene", "other"),
    [
        (a_scene(Card("lion")), a_scene(Card("bear"))),
        (a_scene(Card("lion")), a_scene(Card("lion", 2))),
        (a_scene(Card("lion")), a_scene(Card("lion", marks="*"))),
        (a_scene(Card("lion")), a_scene(Card("lion", highlight=True))),
        (a_scene(Card("lion")), a_scene(Card())),
        (a_scene(), a_scene(title="Another Game")),
        (a_scene(), a_scene(prompt="Your turn.")),
        (a_scene(), a_scene(notes=("Nobody knocked.",))),
        (a_scene(), a_scene(legend=(("*", "known"),))),
        (a_scene(), a_scene(zones=(Zone("trick"),))),
    ],
)
def test_each_part_of_a_scene_is_drawn(scene, other):
    for style in (Style(), Style(faces={"lion": Face("🦁", "#b8860b")})):
        assert (framed(scene, style) != framed(other, style)).any()
        assert (framed(scene, style) == framed(scene, style)).all()
        assert picture.draw(scene, style).svg() != picture.draw(other, style).svg()


# ---------------------------------------------------------------------------------------------
# The layout
# ---------------------------------------------------------------------------------------------


def placed(drawing, left=0.0, top=0.0):
    """All that is drawn, with its place on the whole."""
    for x, y, part in drawing.parts:
        yield left + x, top + y, part
        if isinstance(part, Drawing):
            yield from placed(part, left + x, top + y)


def check_inside(drawing):
    """Nothing is cut at an edge of the picture, nor of a card."""
    for left, top, part in placed(drawing):
        low, high = min(part.width, 0), max(part.width, 0)
        assert left + low >= -1, part
        assert left + high <= drawing.width + 1, part
        assert top + min(part.height, 0) >= -1, part
        assert top + max(part.height, 0) <= drawing.height + 1, part
        if isinstance(part, Drawing) and part.is_kept:
            check_inside(part)


def words_of(scene):
    """All words of a scene, but those of cards, whose names need not be written on them."""
    zones = [*scene.zones, *(zone for seat in scene.seats for zone in seat.zones)]
    texts = [scene.title, scene.prompt, *scene.notes, scene.standing_title]
    texts += [zone.name for zone in zones if zone.layout != "slots"]
    texts += [zone.note for zone in zones] + [seat.note for seat in scene.seats]
    texts += [card.marks for zone in zones for card in zone.cards]
    texts += [str(value) for seat in scene.seats for _, value in seat.counters if value != "-"]
    texts += [cell for grid in scene.grids for row in grid.rows for cell in row[1:] if cell]
    texts += [meaning for sign, meaning in scene.legend if sign not in (".", "?")]
    texts += [word for place in scene.standing for word in (place.label, place.result)]
    return words(" ".join(map(str, texts)))


def words_in(picture):
    texts = [part.text for *_, part in placed(picture.drawing) if isinstance(part, Text)]
    return words(" ".join(texts))


def words(written):
    return set(written.replace(":", " ").lower().split())


@each_game
def test_nothing_is_cut_at_any_size(game):
    for env in positions(game, 6):
        scene = scene_of(env)
        for width in (330, 480, 960, 1600):
            drawn = picture.draw(scene, game.style, width, caption="A move.")
            check_inside(drawn.drawing)
            assert words_of(scene) <= words_in(drawn)


@each_game
def test_a_picture_of_any_size(game):
    scene = scene_of(next(positions(game, 1)))
    for width, height in ((320, 240), (480, 720), (1600, 400)):
        for theme in THEMES:
            drawn = picture.draw(scene, game.style, width, height, theme=theme)
            assert drawn.pixels().shape == (height, width, 3)
            check_inside(drawn.drawing)
    assert picture.draw(scene, game.style, 700).pixels().shape[1] == 700
    with pytest.raises(ValueError, match="theme must be 'dark' or 'light', got 'grey'"):
        picture.draw(scene, game.style, theme="grey")
    for wrong in (0, -5, 5.5, "480", None):
        with pytest.raises(ValueError, match="width must be a whole number of at least 1, got"):
            picture.draw(scene, game.style, wrong)
        with pytest.raises(ValueError, match="width must be a whole number of at least 150, got"):
            picture.strip([scene] * 3, [""] * 3, game.style, wrong)
    with pytest.raises(ValueError, match="at least 150, got 149: each of 3 tables needs 50"):
        picture.strip([scene] * 3, [""] * 3, game.style, 149)
    with pytest.raises(ValueError, match="scenes must be at least one table"):
        picture.strip([], [], game.style)
    assert not [*picture.frames([], [], game.style)]
    with pytest.raises(ValueError, match="height must be a whole number of at least 1, got 0"):
        picture.draw(scene, game.style, 480, 0)


@each_game
def test_players_sit_round_the_table_in_playing_order(game):
    """Clockwise on the picture: from oneself at the bottom to the left, above and to the right."""
    for num_players in range(game.min_players, game.max_players + 1):
        scene = scene_of(mid_game(game, num_players, decisions=3))
        for width in (480, 960):
            drawn = picture.draw(scene, game.style, width).drawing
            places = {
                part.text: (left, top)
                for left, top, part in placed(drawn)
                if isinstance(part, Text) and part.size == 15
            }
            seats = [places[seat.label.capitalize()] for seat in scene.seats]
            middle = (drawn.width * 0.45, (min(y for _, y in seats) + max(y for _, y in seats)) / 2)
            angles = [math.atan2(x - middle[0], y - middle[1]) % math.tau for x, y in seats[1:]]
            # Counted from below, against the clock: the first on the left has the greatest.
            assert angles == sorted(angles, reverse=True), (num_players, width)


@pytest.mark.parametrize("player", [0, 1])
def test_more_cards_than_there_is_room_for(player):
    """They wrap, and in a frame they shrink; nothing is left out."""
    cards = tuple(Card(f"animal {k}", marks="*+#'2", count=1 + k % 2) for k in range(60))
    seats = list(a_scene().seats)
    seats[player] = replace(seats[player], zones=(Zone("hand", cards),))
    scene = a_scene(seats=tuple(seats), grids=(Grid("known", ("", "cards"), (("none", 0),)),))
    for height in (None, picture.HEIGHT):
        drawing = picture.draw(scene, Style(), height=height).drawing
        check_inside(drawing)
        assert sum(isinstance(p, Drawing) and p.is_kept for *_, p in placed(drawing)) == 60
    assert framed(scene, Style()).shape == SHAPE


def test_signs_of_the_table_in_words_are_explained_only_if_they_are_drawn():
    def explains(*cards, value=0):
        scene = a_scene(*cards, legend=((".", "nothing"), ("?", "unknown"), ("*", "known")))
        seats = [replace(seat, counters=(("points", value),)) for seat in scene.seats]
        written = words_in(picture.draw(replace(scene, seats=tuple(seats)), Style()))
        assert "known" in written
        assert "nothing" not in written
        return "unknown" in written

    assert not explains(Card())
    assert explains(Card(marks="?"))
    assert explains(value="?")


def test_a_word_that_is_too_long_makes_its_card_wider():
    look = look_of(Style(), "dark")
    short, long = (draw_card(Card(name), look, 46).width for name in ("bear", "hippopotamuses"))
    assert short == 46
    assert long > 90


def test_a_word_that_is_too_long_makes_the_picture_wider():
    word = "w" * 40
    seat = Seat(0, "you", "", True, "m", ((word, 1),), (Zone(word, (Card(),)),), word)
    grid = Grid(word, ("", word), ((word, 1),))
    for changes in (
        {"seats": (seat, replace(seat, player=1, label="player 1"))},
        {"title": word},
        {"prompt": word},
        {"notes": (word,)},
        {"legend": ((word, word),)},
        {"grids": (grid,)},
        {"zones": (Zone(word, (Card(),), note=word, highlight=True),)},
    ):
        drawing = picture.draw(a_scene(**changes), Style(), 330).drawing
        assert drawing.width > 330
        check_inside(drawing)


@each_game
@pytest.mark.parametrize("theme", THEMES)
def test_everything_can_be_read(game, theme):
    """The contrast that WCAG 2 asks of text, on whatever it stands."""
    look = look_of(game.style, theme)
    for colour in (look.ink, look.muted, look.accent):
        for ground in (look.table, look.panel, look.ground):
            assert contrast(colour, ground) >= 4.5, (colour, ground)
    for text_colour, ground in (
        (look.ink, look.pill),
        (look.panel, look.accent),
        (look.panel, look.ink),
        *((on(player_colour(player)), player_colour(player)) for player in range(7)),
    ):
        assert contrast(text_colour, ground) >= 4.5, (text_colour, ground)
    for name, face in game.style.faces.items():
        drawing = draw_card(Card(name), look, 64)
        ground = mixed(face.colour, PAPER, 0.86)
        for *_, part in placed(drawing):
            if isinstance(part, Text):
                assert contrast(part.colour, ground) >= 4.5, (name, part)


def test_contrast_is_that_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


# ---------------------------------------------------------------------------------------------
# SVG
# ---------------------------------------------------------------------------------------------

FILE = Path(__file__).parent / "pictures.json"


def digest(value):
    return hashlib.sha256(value.encode()).hexdigest()[:16]


def digests(game):
    """Hashes of scenes and of their pictures; those of PNG files vary with the libraries."""
    found = {}
    for number, env in enumerate(positions(game, 6)):
        scene = scene_of(env)
        theme = THEMES[number // 2 % 2]
        svg = picture.draw(scene, game.style, (960, 480)[number % 2], theme=theme).svg()
        found[f"{env.num_players} players, {number}"] = [digest(repr(astuple(scene))), digest(svg)]
    return found


@each_game
def test_scenes_and_pictures_are_the_same_everywhere(game):
    assert digests(game) == json.loads(FILE.read_text(encoding="utf-8"))[game.name]


@each_game
def test_svg_needs_nothing_else(game):
    """It is well-formed, names only what it defines, and tells the table in words."""
    for env in positions(game, 4):
        scene = scene_of(env)
        root = ElementTree.fromstring(picture.draw(scene, game.style).svg())
        space = "{http://www.w3.org/2000/svg}"
        assert root.find(f"{space}title").text == scene.title
        assert root.find(f"{space}desc").text == text.draw(scene)
        defined = {element.get("id") for element in root.iter() if element.get("id")}
        used = {element.get("href")[1:] for element in root.iter(f"{space}use")}
        assert used == defined
        assert {element.tag.removeprefix(space) for element in root.iter()} <= {
            "svg", "title", "desc", "defs", "g", "path", "rect", "use"
        }  # fmt: skip


@few_games
def test_svg_of_every_kind_of_environment(game):
    env = card_envs.make(game.name, render_mode="svg")
    assert env._repr_svg_() is None
    env.reset(seed=1)
    assert env.render() == env._repr_svg_() == picture.draw(scene_of(env), game.style).svg()
    assert Replay.of(env)._repr_svg_() == env.render()
    parallel = ParallelCardEnv(game.name)
    parallel.reset(seed=1)
    assert parallel._repr_svg_() == env.render()
    seat = SingleSeatEnv(game.name, render_mode="svg")
    assert seat._repr_svg_() is None
    seat.reset(seed=1)
    vector = SingleSeatVectorEnv(game.name, 2, render_mode="svg")
    vector.reset(seed=1)
    assert seat._repr_svg_() == seat.render() == vector.render()[0]


@each_game
def test_pictures_are_of_what_the_environment_shows(game):
    """Without memory they show what can be seen now, not what has been seen."""
    differ = 0
    for memory in (MEMORY_PERFECT, MEMORY_NONE):
        options = {"memory": MEMORY_MODES[memory], "render_mode": "svg"}
        env = card_envs.make(game.name, **options)
        seat, vector = (
            SingleSeatEnv(game.name, seat=0, **options),
            SingleSeatVectorEnv(game.name, 1, seat=0, **options),
        )
        env.reset(seed=1)
        _, info = seat.reset(seed=1)
        vector.reset(seed=1)
        for _ in range(12):
            player = env.possible_agents.index(env.agent_selection)
            scene, other = (
                game.scene(env.states, 0, player, m, False) for m in (memory, 1 - memory)
            )
            assert env.render() == env._repr_svg_() == picture.draw(scene, game.style).svg()
            differ += scene != other
            states = seat._games.arena.states
            expected = picture.draw(game.scene(states, 0, 0, memory, False), game.style).svg()
            assert seat.render() == seat._repr_svg_() == vector.render()[0] == expected
            env.step(env.legal_actions()[0])
            action = int(info["action_mask"].argmax())
            *_, terminated, truncated, info = seat.step(action)
            vector.step([action])
            if terminated or truncated or env.terminations[env.agent_selection]:
                break
    assert differ or not kit_of(game).is_own  # the smallest has nothing to remember


def test_without_the_extra_notebooks_show_no_picture(monkeypatch):
    game = EACH_GAME[0].values[0]
    env = card_envs.make(game.name, render_mode="svg")
    env.reset(seed=1)
    monkeypatch.setattr("card_envs.render.layout.page", _missing)
    assert env._repr_svg_() is None
    with pytest.raises(MissingExtraError):
        env.render()


def _missing(*args, **options):
    raise MissingExtraError("fontTools is not installed")


@few_games
def test_a_strip_of_tables(game):
    scenes = [scene_of(env) for env in positions(game, 6)]
    captions = [f"{letter})" for letter in "abcdef"]
    strip = picture.strip(scenes, captions, game.style)
    check_inside(strip.drawing)
    tops = {
        part.text: round(top) for _, top, part in placed(strip.drawing) if isinstance(part, Text)
    }
    assert len({tops[caption] for caption in captions}) == 1
    assert strip.pixels().shape == (strip.height, strip.width, 3)
    assert ElementTree.fromstring(strip.svg()) is not None


# ---------------------------------------------------------------------------------------------
# The environments
# ---------------------------------------------------------------------------------------------


@few_games
def test_rgb_array_of_every_kind_of_environment(game):
    env = card_envs.make(game.name, render_mode="rgb_array")
    env.reset(seed=1)
    player = env.possible_agents.index(env.agent_selection)
    assert (env.render() == picture_of(env, player)).all()

    seat = gymnasium.make(game.gymnasium_id, render_mode="rgb_array")
    seat.reset(seed=1)
    assert seat.render().shape == SHAPE
    vector = SingleSeatVectorEnv(game.name, 2, render_mode="rgb_array")
    vector.reset(seed=1)
    first, second = vector.render()
    assert (first == seat.render()).all()
    assert second.shape == SHAPE


@each_game
def test_perspectives(game):
    last = game.default_players - 1
    for mode in ("ansi", "rgb_array"):
        renders = {}
        for perspective in (None, 0, last, "all"):
            env = card_envs.make(game.name, render_mode=mode, render_perspective=perspective)
            env.reset(seed=1)
            env.step(env.legal_actions()[0])
            renders[perspective] = env.render()
        mover = env.possible_agents.index(env.agent_selection)
        scenes = {
            None: game.scene(env.states, 0, mover, 0, False),
            0: game.scene(env.states, 0, 0, 0, False),
            last: game.scene(env.states, 0, last, 0, False),
            "all": game.scene(env.states, 0, 0, 0, True),
        }
        for perspective, scene in scenes.items():
            if mode == "rgb_array":
                assert (renders[perspective] == framed(scene, game.style)).all()
            else:
                assert renders[perspective] == text.draw(scene)


@few_games
@pytest.mark.parametrize("perspective", [-1, 99, "player_0", 1.5, True, ""])
def test_wrong_perspectives(game, perspective):
    allowed = rf"render_perspective must be None, 'all' or a seat from 0 to \d, got {perspective!r}"
    for make in (
        lambda **options: card_envs.make(game.name, **options),
        lambda **options: gymnasium.make(game.gymnasium_id, **options),
        lambda **options: SingleSeatVectorEnv(game.name, 2, **options),
    ):
        with pytest.raises(ValueError, match=allowed):
            make(render_mode="rgb_array", render_perspective=perspective)


@few_games
def test_nothing_is_needed_before_it_is_rendered(game):
    registration = (
        ""
        if kit_of(game).is_own
        else f"""
from {game.package} import GAME
card_envs.register(GAME)
"""
    )
    program = f"""
import sys
import card_envs, gymnasium
sys.modules["PIL"] = sys.modules["pygame"] = None  # as if they were not installed
{registration}
env = card_envs.make({game.name!r}, render_mode="rgb_array")
gymnasium.make({game.gymnasium_id!r}, render_mode="human")
envs = gymnasium.make_vec({game.gymnasium_id!r}, num_envs=2, render_mode="rgb_array")
env.reset(seed=1)
env.step(env.legal_actions()[0])
envs.reset(seed=1)
try:
    env.render()
except card_envs.utils.extras.MissingExtraError as error:
    print(error)
"""
    path = os.pathsep.join(map(str, sys.path))
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    ways = "pip install 'card_envs[render]', or in a clone pip install -e '.[render]'"
    assert run.stdout == f"PIL is not installed: {ways}\n", run.stderr


def test_a_missing_window_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'card_envs\[render\]'"):
        Window("A game", 2).show(np.zeros(SHAPE, np.uint8))


# ---------------------------------------------------------------------------------------------
# Windows
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def pygame(monkeypatch):
    """pygame without a screen."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("card_envs.render.renderer.FPS", 1000)
    module = pytest.importorskip("pygame")
    yield module
    assert not module.display.get_init(), "a window was left open"


@few_games
def test_a_window_shows_what_rgb_array_gives(game, pygame):
    env = card_envs.make(game.name, render_mode="human")
    env.reset(seed=1)
    for _ in range(3):
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
        player = env.possible_agents.index(env.agent_selection)
        assert (shown == picture_of(env, player)).all()
        if env.legal_actions():
            env.step(env.legal_actions()[0])
    env.close()
    env.close()

    seat = gymnasium.make(game.gymnasium_id, render_mode="human")
    _, info = seat.reset(seed=1)
    assert pygame.display.get_surface().get_size() == (picture.WIDTH, picture.HEIGHT)
    seat.step(int(info["action_mask"].argmax()))
    seat.close()


@few_games
def test_copies_have_windows_of_their_own(game, pygame):
    env = card_envs.make(game.name, render_mode="human")
    env.reset(seed=1)
    shown = pygame.surfarray.array3d(pygame.display.get_surface())
    twin, copied = env.clone(), pickle.loads(pickle.dumps(env))
    twin.step(twin.legal_actions()[0])
    assert (pygame.surfarray.array3d(pygame.display.get_surface()) == shown).all()
    twin.close()
    copied.close()
    assert pygame.display.get_init()
    twin.render()  # takes the window over
    assert (pygame.surfarray.array3d(pygame.display.get_surface()) != shown).any()
    twin.close()
    env.render()
    assert (pygame.surfarray.array3d(pygame.display.get_surface()) == shown).all()
    env.close()


def test_no_display(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "no such driver")
    with pytest.raises(OSError, match="a window cannot be opened"):
        Window("A game", 2).show(np.zeros(SHAPE, np.uint8))
    assert not pygame.display.get_init()


# ---------------------------------------------------------------------------------------------
# Wrappers and videos
# ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*Overwriting existing videos:UserWarning")
@pytest.mark.slow
@few_games
def test_gymnasiums_wrappers(game, pygame, tmp_path):
    from gymnasium.wrappers import HumanRendering, RecordVideo, RenderCollection

    def make():
        return gymnasium.make(game.gymnasium_id, render_mode="rgb_array")

    def play(env, decisions=4):
        _, info = env.reset(seed=1)
        for _ in range(decisions):
            *_, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
            if terminated or truncated:
                break
        return env

    frames = play(RenderCollection(make())).render()
    assert {frame.shape for frame in frames} == {SHAPE}
    env = HumanRendering(make())
    env.metadata["render_fps"] = 1000
    play(env).close()
    play(RecordVideo(make(), str(tmp_path), episode_trigger=lambda _: True)).close()
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]


@pytest.mark.skipif(
    not hasattr(gymnasium.wrappers.vector, "RecordVideo"), reason="not in this Gymnasium"
)
@pytest.mark.filterwarnings(
    "ignore:.*Recorded episodes will not contain the last frame:UserWarning"
)
@pytest.mark.filterwarnings("ignore:.*Overwriting existing videos:UserWarning")
@pytest.mark.slow
@few_games
def test_the_vector_environments_video(game, tmp_path):
    from gymnasium.wrappers.vector import RecordVideo

    envs = gymnasium.make_vec(game.gymnasium_id, num_envs=2, render_mode="rgb_array")
    envs = RecordVideo(envs, str(tmp_path), step_trigger=lambda step: step == 0, video_length=3)
    _, infos = envs.reset(seed=1)
    for _ in range(5):
        *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
    envs.close()
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]


@pytest.fixture
def replay_file(tmp_path):
    game = EACH_GAME[0].values[0]
    env = mid_game(game, game.default_players, decisions=6)
    path = tmp_path / "game.json"
    path.write_bytes(env.unwrapped.save())
    return path


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_video_without_pictures_is_refused(suffix, tmp_path):
    pytest.importorskip("imageio.v3")
    path = tmp_path / f"game{suffix}"
    path.write_bytes(b"an earlier one")
    with pytest.raises(ValueError, match="a video needs at least one picture"):
        write_video(path, [], 10)
    assert path.read_bytes() == b"an earlier one"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("suffix", "perspective"),
    [(".gif", ()), (".mp4", ("--perspective", "all")), (".gif", ("--perspective", "1"))],
)
def test_a_replay_as_a_video(replay_file, suffix, perspective, tmp_path, capsys):
    imageio = pytest.importorskip("imageio.v3")
    path = tmp_path / f"game{suffix}"
    decisions = len(json.loads(replay_file.read_text())["actions"])
    assert replayed(replay_file, "--video", path, *perspective) == 0
    assert f"{decisions + 1} pictures" in capsys.readouterr().out
    frames = list(imageio.imiter(path))
    assert len(frames) == decisions + 1
    assert frames[0].shape[:2] == SHAPE[:2]
    if suffix == ".gif":
        assert imageio.immeta(path)["duration"] == 1000 / FPS
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["game.json", path.name])


def replayed(*arguments):
    from card_envs.commands.cli import main

    try:
        return main(["replay", *map(str, arguments)])
    except SystemExit as stop:
        return stop.code


def test_wrong_videos_and_pictures(replay_file, tmp_path, capsys):
    svg = tmp_path / "game.svg"
    for arguments, message in (
        (["--video", tmp_path / "game.avi"], "ends in .mp4 or .gif"),
        (["--video", tmp_path], "is a folder"),
        (["--perspective", "99"], "--perspective must be 'all' or a seat from 0 to"),
        (["--svg", svg, "--video", tmp_path / "game.gif"], "not allowed with argument"),
        (["--svg", tmp_path / "game.png"], "game.png must end in .svg"),
        (["--png", svg], "game.svg must end in .png"),
        (["--at", "1"], "--at is for --svg and --png"),
        (["--width", "480"], "--width is for --svg and --png"),
        (["--theme", "light"], "--theme is for --svg, --png and --video"),
        (["--svg", svg, "--at", "8"], "--at must be from 1 to 7, which is the end, got 8"),
        (["--svg", svg, "--at", "1", "0"], "--at must be from 1 to 7, which is the end, got 0"),
        (["--svg", svg, "--width", "10"], "--width must be from 100 to 10000, got 10"),
    ):
        assert replayed(replay_file, *arguments) == 2
        assert message in capsys.readouterr().err
        assert not svg.exists()


def test_pictures_of_a_replay(replay_file, tmp_path, capsys):
    from PIL import Image

    replay = Replay.load(replay_file)
    game = card_envs.load_game(replay.game)
    svg, png = tmp_path / "game.svg", tmp_path / "game.png"
    states = replay.play()
    mover = int(states["current_player"][0])
    last = game.scene(states, 0, mover, 0, False)
    assert replayed(replay_file, "--svg", svg) == 0
    assert svg.read_text(encoding="utf-8") == picture.draw(last, game.style).svg()
    assert replayed(replay_file, "--png", png, "--width", 480, "--theme", "light") == 0
    drawn = picture.draw(last, game.style, 480, theme="light")
    assert f"{png}: 480 x {drawn.height} pixels." in capsys.readouterr().out
    assert (np.array(Image.open(png)) == drawn.pixels()).all()

    scenes = []
    for number, (now, _) in enumerate(replay.steps(), 1):
        scenes.append(game.scene(now, 0, 1, 0, False))
        assert replayed(replay_file, "--svg", svg, "--at", number, "--perspective", 1) == 0
        assert picture.draw(scenes[-1], game.style).svg() == svg.read_text(encoding="utf-8")
    assert replayed(replay_file, "--svg", svg, "--at", 2, 5, "--perspective", 1) == 0
    strip = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    told = "\n\n".join(text.draw(scenes[k]) for k in (1, 4))
    assert strip.find("{http://www.w3.org/2000/svg}desc").text == told


@each_game
def test_what_a_video_shows(game, tmp_path, monkeypatch):
    """Always the same side of the table, the last decision as far as it is known there, rewards."""
    shown = []
    replay_file = tmp_path / "game.json"
    env = mid_game(game, game.default_players, decisions=40)
    replay_file.write_bytes(env.unwrapped.save())
    replay = Replay.load(replay_file)

    def frames(scenes, captions, style, theme):
        shown.extend(zip(scenes, captions, strict=True))
        return iter([np.zeros(SHAPE, np.uint8)])

    monkeypatch.setattr(picture, "frames", frames)
    for perspective in ("", "all", *range(env.num_players)):
        shown.clear()
        options = [] if perspective == "" else ["--perspective", perspective]
        assert replayed(replay_file, "--video", tmp_path / "game.gif", *options) == 0
        seat = perspective if isinstance(perspective, int) else 0
        assert {scene.observer for scene, _ in shown} == {seat}
        assert shown[0][1] == ""
        for (_, caption), (number, (states, action)) in zip(
            shown[1:], enumerate(replay.steps(), 1), strict=True
        ):
            player = int(states["current_player"][0])
            name = game.action_name_at(states, 0, action)
            if perspective != "all" and player != seat:
                name = game.public_action_name(states, 0, action)
            assert caption.startswith(f"Decision {number}, player_{player}: {name}.")
            assert caption.endswith("No reward.") or "Rewards: " in caption


def test_frames_of_a_video_are_of_one_size():
    """A table with more on it does not shrink one picture alone."""
    few = a_scene(Card("lion"))
    many = a_scene(*(Card(f"animal {k}") for k in range(40)))
    alone = picture.draw(few, Style(), height=picture.HEIGHT).pixels()
    first, _ = picture.frames([few, many], ["", ""], Style())
    assert first.shape == SHAPE
    assert (first != alone).any()


def test_a_renderer_names_the_modes():
    game = EACH_GAME[0].values[0]
    with pytest.raises(ValueError, match="render_mode must be None, 'ansi' or 'human', got 'rgb'"):
        TableRenderer(game, 2, mode="rgb", modes=("ansi", "human"))


@pytest.mark.slow
@few_games
def test_pettingzoos_wrappers(game, tmp_path):
    wrappers = pytest.importorskip("pettingzoo.utils.wrappers.record_video")
    parallel = pytest.importorskip("pettingzoo.utils.wrappers.record_video_parallel")

    env = wrappers.RecordVideo(
        card_envs.make(game.name, render_mode="rgb_array"),
        str(tmp_path / "aec"),
        episode_trigger=lambda _: True,
    )
    env.reset(seed=1)
    for _ in range(4):
        observation, _, terminated, truncated, _ = env.last()
        is_over = terminated or truncated
        env.step(None if is_over else int(observation["action_mask"].argmax()))
        if is_over:
            break
    env.close()
    env = parallel.RecordVideoParallel(
        ParallelCardEnv(game.name, render_mode="rgb_array"),
        str(tmp_path / "parallel"),
        episode_trigger=lambda _: True,
    )
    observations, _ = env.reset(seed=1)
    for _ in range(4):
        masks = {agent: observations[agent]["action_mask"] for agent in env.agents}
        observations, *_ = env.step({agent: int(mask.argmax()) for agent, mask in masks.items()})
        if not env.agents:
            break
    env.close()
    assert {path.parent.name for path in tmp_path.rglob("*.mp4")} == {"aec", "parallel"}


if __name__ == "__main__":
    known = {game.name: digests(game) for game in (param.values[0] for param in EACH_GAME)}
    FILE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
