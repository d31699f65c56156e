"""Pictures: what they show, what they must not show, and the tools that take them."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from helpers import EACH_GAME, FEW_GAMES, kit_of, mid_game

import card_envs
from card_envs.contract.scene import Card, Scene, Seat, Zone
from card_envs.contract.style import Face, Style
from card_envs.envs.parallel import ParallelCardEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv
from card_envs.render import picture, sprites, text
from card_envs.render.renderer import TableRenderer
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


def picture_of(env, player, is_open=False):
    return picture.draw(env.game.scene(env.states, 0, player, 0, is_open), env.game.style)


@each_game
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
            assert symbol.isascii() or ord(symbol) in sprites.symbols(), symbol


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
        assert (picture.draw(scene, style) != picture.draw(other, style)).any()
        assert (picture.draw(scene, style) == picture.draw(scene, style)).all()


@pytest.mark.parametrize("player", [0, 1])
def test_more_cards_than_there_is_room_for(player):
    """They shrink, then become lines of text; nothing is drawn outside their seat."""
    cards = tuple(Card(f"animal {k}") for k in range(60))
    seats = a_scene().seats

    def drawn(count):
        seat = replace(seats[player], zones=(Zone("hand", cards[:count]),))
        both = (seat, seats[1]) if player == 0 else (seats[0], seat)
        return picture.draw(a_scene(seats=both), Style())

    few, many = drawn(3), drawn(60)
    assert many.shape == SHAPE
    rows = np.flatnonzero((many != few).any(axis=(1, 2)))
    # One's own seat is in the lower half, the others' are in the upper one.
    own_half = range(picture.HEADER, SHAPE[0] // 2) if player else range(SHAPE[0] // 2, SHAPE[0])
    assert rows[0] in own_half
    assert rows[-1] in own_half


# ---------------------------------------------------------------------------------------------
# The environments
# ---------------------------------------------------------------------------------------------


@each_game
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
                assert (renders[perspective] == picture.draw(scene, game.style)).all()
            else:
                assert renders[perspective] == text.draw(scene)


@each_game
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
    assert run.stdout == "PIL is not installed: pip install 'card_envs[render]'\n", run.stderr


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


@each_game
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


@each_game
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
    from card_envs.commands.cli import main

    imageio = pytest.importorskip("imageio.v3")
    path = tmp_path / f"game{suffix}"
    decisions = len(json.loads(replay_file.read_text())["actions"])
    assert main(["replay", str(replay_file), "--video", str(path), *perspective]) == 0
    assert f"{decisions + 1} pictures" in capsys.readouterr().out
    frames = list(imageio.imiter(path))
    assert len(frames) == decisions + 1
    assert frames[0].shape[:2] == SHAPE[:2]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["game.json", path.name])


def test_wrong_videos(replay_file, tmp_path, capsys):
    from card_envs.commands.cli import main

    for arguments, message in (
        (["--video", str(tmp_path / "game.avi")], "ends in .mp4 or .gif"),
        (["--video", str(tmp_path)], "is a folder"),
        (["--perspective", "99"], "render_perspective must be None, 'all' or a seat"),
    ):
        try:
            status = main(["replay", str(replay_file), *arguments])
        except SystemExit as stop:
            status = stop.code
        assert status == 2
        assert message in capsys.readouterr().err


def test_a_renderer_names_the_modes():
    game = EACH_GAME[0].values[0]
    with pytest.raises(ValueError, match="render_mode must be None, 'ansi' or 'human', got 'rgb'"):
        TableRenderer(game, "rgb", None, ("ansi", "human"), 2)


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
