"""The vector environment resets games as Gymnasium's own do, and takes its wrappers."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers
from helpers import FEW_GAMES, SEARCHED, kit_of, mean_length

from card_envs.contract.game import Game
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.envs.single_seat_vector import SingleSeatVectorEnv

COUNT = 4

few_games = pytest.mark.parametrize("game", FEW_GAMES)
each_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
each_mask = pytest.mark.parametrize("mask", ["info", "observation"])


def settings_of(game: Game) -> list[dict[str, Any]]:
    """Games that end soon, and games that are cut off."""
    sizes = (game.min_players, game.max_players)
    short = {"opponents": "random", "num_players": sizes, **kit_of(game).short_options}
    max_steps = max(2, min(12, int(mean_length(game, game.min_players)) // 2))
    return [{**short, "reward": "score"}, {**short, "max_steps": max_steps, "skip_forced": True}]


def pair_of(
    game: Game, mode: AutoresetMode, **options: Any
) -> tuple[SingleSeatVectorEnv, SyncVectorEnv]:
    """The vector environment, and Gymnasium's of single ones."""
    makers = [partial(SingleSeatEnv, game.name, **options)] * COUNT
    vector = SingleSeatVectorEnv(game.name, COUNT, autoreset_mode=mode, **options)
    return vector, SyncVectorEnv(makers, autoreset_mode=mode)


def assert_same(value: Any, expected: Any, where: str = "") -> None:
    """Equal in type, shape, dtype and every value."""
    assert type(value) is type(expected), where
    if isinstance(value, dict):
        assert set(value) == set(expected), where
        for key in value:
            assert_same(value[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(value, (tuple, list)) or (
        isinstance(value, np.ndarray) and value.dtype == object
    ):
        assert len(value) == len(expected), where
        for k, (one, other) in enumerate(zip(value, expected, strict=True)):
            assert_same(one, other, f"{where}[{k}]")
    elif isinstance(value, np.ndarray):
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape), where
        np.testing.assert_array_equal(value, expected, where)
    else:
        assert value == expected, where


def masked(*games: int) -> np.ndarray:
    mask = np.zeros(COUNT, np.bool_)
    mask[list(games)] = True
    return mask


def draw_legal(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    """A legal action of each game; any action at all where a game is over."""
    noise = rng.random(masks.shape)
    return np.where(masks.any(axis=1, keepdims=True), masks * (noise + 1), noise).argmax(axis=1)


# ---------------------------------------------------------------------------------------------
# Side by side with Gymnasium's own vector environment
# ---------------------------------------------------------------------------------------------


@each_mask
@each_mode
@few_games
def test_trajectories_are_those_of_gymnasiums_vector(game, mode, mask):
    ended = cut = 0
    for setting in settings_of(game):
        vector, expected = pair_of(game, mode, mask=mask, **setting)
        assert vector.observation_space == expected.observation_space
        assert vector.single_observation_space == expected.single_observation_space
        rng = np.random.default_rng(1)
        assert_same(vector.reset(seed=30), expected.reset(seed=30))
        for number in range(60):
            actions = draw_legal(rng, vector.action_masks())
            with warnings.catch_warnings():
                if number % 15 == 14:  # an illegal one
                    actions[number % COUNT] = np.argmin(vector.action_masks()[number % COUNT])
                    warnings.filterwarnings("ignore", message=".*is not legal")
                result = vector.step(actions)
                assert_same(result, expected.step(actions), f"step {number}")
            assert vector.observation_space.contains(result[0])
            terminated, truncated = result[2:4]
            ended += terminated.sum()
            cut += truncated.sum()
            over = terminated | truncated
            if mode == AutoresetMode.DISABLED and over.any():
                resets = [
                    env.reset(options={"reset_mask": over.copy()}) for env in (vector, expected)
                ]
                assert_same(*resets)
            elif number % 20 == 10:  # some games, whatever has become of them
                chosen = masked(number // 20, COUNT - 1)
                seeds = [number, None, 7, 2**40]
                resets = [
                    env.reset(seed=seeds, options={"reset_mask": chosen.copy()})
                    for env in (vector, expected)
                ]
                assert_same(*resets)
        assert_same(vector.reset(), expected.reset())
    assert ended > 2
    assert cut > 2


@each_mode
@few_games
def test_attributes_are_those_of_gymnasiums_vector(game, mode):
    vector, expected = pair_of(
        game, mode, opponents="random", num_players=(game.min_players, game.max_players)
    )
    for env in (vector, expected):
        for name in ("game_seed", "num_players", "seat"):
            with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
                env.get_attr(name)
    vector.reset(seed=3)
    expected.reset(seed=3)
    rng = np.random.default_rng(3)
    vector.set_attr("level", [1, 2, 3, 4])
    expected.set_attr("level", [1, 2, 3, 4])
    for env in (vector, expected):
        env.set_attr("tag", "x")
    for _ in range(5):
        of_game = ("game_seed", "num_players", "seat", "game")
        of_all = ("render_mode", "observation_space", "action_space")
        for name in (*of_game, *of_all, "level", "tag"):
            assert_same(vector.get_attr(name), expected.get_attr(name), name)
        assert_same(vector.call("action_masks"), expected.call("action_masks"))
        assert_same(vector.call("action_name", 1), expected.call("action_name", 1))
        assert vector.call("action_name", action=0) == (game.action_name(0),) * COUNT
        assert vector.call("render") == (None,) * COUNT
        actions = draw_legal(rng, vector.action_masks())
        over = np.logical_or(*vector.step(actions)[2:4])
        expected.step(actions)
        if mode == AutoresetMode.DISABLED and over.any():
            vector.reset(options={"reset_mask": over.copy()})
            expected.reset(options={"reset_mask": over.copy()})
    vector.call("action_masks")[0][:] = 7  # the caller's own
    assert vector.action_masks().max() == 1


@few_games
def test_wrong_attributes(game):
    vector = SingleSeatVectorEnv(game.name, COUNT, render_mode="ansi")
    vector.reset(seed=1)
    assert vector.call("render") == vector.render()
    for call in (vector.call, vector.get_attr):
        for name in ("no_such_thing", "_games", "reset"):
            with pytest.raises(
                AttributeError, match=f"no attribute '{name}'; .*action_masks.*seat"
            ):
                call(name)
    for name in ("seat", "action_masks", "game"):
        with pytest.raises(AttributeError, match=f"'{name}' cannot be set"):
            vector.set_attr(name, 0)
    for values in ([1, 2, 3], ()):
        with pytest.raises(ValueError, match=f"{len(values)} values are given for {COUNT} games"):
            vector.set_attr("label", values)
    with pytest.raises(AttributeError):
        vector.get_attr("label")


# ---------------------------------------------------------------------------------------------
# Modes
# ---------------------------------------------------------------------------------------------


@each_mode
@few_games
def test_a_mode_is_a_member_a_name_or_a_value(game, mode):
    for given in (mode, mode.name, mode.value):
        vector = SingleSeatVectorEnv(game.name, COUNT, autoreset_mode=given)
        assert vector.autoreset_mode is vector.metadata["autoreset_mode"] is mode
        assert SingleSeatVectorEnv.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        made = gymnasium.make_vec(game.gymnasium_id, num_envs=2, autoreset_mode=given)
        assert made.metadata["autoreset_mode"] is mode
    default = SingleSeatVectorEnv(game.name, COUNT)
    assert default.autoreset_mode is AutoresetMode.SAME_STEP
    assert default.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    for wrong in ("next_step", "", None, 1, "SyncStep", ["SAME_STEP"]):
        with pytest.raises(
            ValueError, match=r"autoreset_mode must be .*'NEXT_STEP', 'SAME_STEP', 'DISABLED', got"
        ):
            SingleSeatVectorEnv(game.name, COUNT, autoreset_mode=wrong)


def play_to_an_end(vector: SingleSeatVectorEnv) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Step until some but not all of the games have ended.

    Two of them begin a step later than the others: there are games of always the same length.
    """
    for seed in range(50):
        vector.reset(seed=seed)
        rng = np.random.default_rng(seed)
        for number in itertools.count():
            result = vector.step(draw_legal(rng, vector.action_masks()))
            over = result[2] | result[3]
            if over.any():
                break
            if number == 0:
                vector.reset(seed=100 + seed, options={"reset_mask": masked(0, 1)})
        if not over.all():
            return over, result
    raise AssertionError("the games always end at once")


@few_games
def test_next_step_ignores_the_actions_of_games_that_are_over(game):
    setting = settings_of(game)[0]
    for wrong in (-1, game.num_actions, 2**40):
        vector = SingleSeatVectorEnv(
            game.name, COUNT, autoreset_mode="NEXT_STEP", on_illegal="raise", **setting
        )
        over, (observations, *_, infos) = play_to_an_end(vector)
        assert "final_obs" not in infos
        assert not infos["action_mask"][over].any()
        seeds = vector._games.game_seeds[over]
        actions = infos["action_mask"].argmax(axis=1)
        actions[over] = wrong
        after, rewards, terminated, truncated, infos = vector.step(actions)
        assert not rewards[over].any()
        assert not (terminated | truncated)[over].any()
        assert infos["action_mask"][over].any(axis=1).all()
        assert infos["_action_mask"].all()
        assert not np.array_equal(after[over], observations[over])
        assert not (vector._games.game_seeds[over] == seeds).any()


@few_games
def test_a_wrong_action_besides_games_that_are_over_changes_nothing(game):
    vector = SingleSeatVectorEnv(
        game.name, COUNT, autoreset_mode="NEXT_STEP", on_illegal="raise", **settings_of(game)[0]
    )
    over, (*_, infos) = play_to_an_end(vector)
    before = vector._games.arena.states.tobytes()
    running = int(np.argmin(over))
    actions = infos["action_mask"].argmax(axis=1)
    actions[running] = game.num_actions
    with pytest.raises(ValueError, match="actions are whole numbers from 0 to"):
        vector.step(actions)
    if not infos["action_mask"][running].all():
        actions[running] = np.argmin(infos["action_mask"][running])
        with pytest.raises(ValueError, match=f"is not legal in game {running};"):
            vector.step(actions)
    assert vector._games.arena.states.tobytes() == before
    actions[running] = infos["action_mask"][running].argmax()
    vector.step(actions)


@few_games
def test_without_autoreset_games_that_are_over_cannot_be_stepped(game):
    vector = SingleSeatVectorEnv(
        game.name, COUNT, autoreset_mode=AutoresetMode.DISABLED, **settings_of(game)[0]
    )
    over, (*_, infos) = play_to_an_end(vector)
    before = vector._games.arena.states.tobytes()
    actions = infos["action_mask"].argmax(axis=1)
    ended = np.flatnonzero(over).tolist()
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"are over: call reset.*reset_mask") as e:
        vector.step(actions)
    assert str(ended) in str(e.value)
    if len(ended) > 1:  # all of them must be reset
        vector.reset(options={"reset_mask": masked(ended[0])})
        with pytest.raises(gymnasium.error.ResetNeeded, match=str(ended[1])):
            vector.step(actions)
    else:
        assert vector._games.arena.states.tobytes() == before
    vector.reset(options={"reset_mask": over})
    vector.step(vector.action_masks().argmax(axis=1))


@each_mode
@few_games
def test_copies_keep_the_mode_and_what_is_over(game, mode):
    vector = SingleSeatVectorEnv(game.name, COUNT, autoreset_mode=mode, **settings_of(game)[0])
    over, (*_, infos) = play_to_an_end(vector)
    vector.set_attr("label", [1, 2, 3, 4])
    actions = infos["action_mask"].argmax(axis=1)
    for twin in (copy.deepcopy(vector), pickle.loads(pickle.dumps(vector))):
        assert twin.autoreset_mode is mode
        assert twin.get_attr("label") == (1, 2, 3, 4)
        if mode == AutoresetMode.DISABLED:
            with pytest.raises(gymnasium.error.ResetNeeded):
                twin.step(actions)
        else:
            assert_same(twin.step(actions), copy.deepcopy(vector).step(actions))
    assert over.any()


# ---------------------------------------------------------------------------------------------
# Resets
# ---------------------------------------------------------------------------------------------


@each_mode
@few_games
def test_a_mask_resets_exactly_its_games(game, mode):
    vector = SingleSeatVectorEnv(game.name, COUNT, autoreset_mode=mode, opponents="random")
    before, _ = vector.reset(seed=5)
    records = [vector._games.arena.states[i].tobytes() for i in range(COUNT)]
    options = {"reset_mask": masked(1, 3)}
    after, infos = vector.reset(seed=90, options=options)
    assert options["reset_mask"].tolist() == [False, True, False, True]  # the caller's own
    for i in range(COUNT):
        if i in (1, 3):
            single, info = SingleSeatEnv(game.name, opponents="random").reset(seed=90 + i)
            assert after[i].tobytes() == single.tobytes()
            assert infos["seat"][i] == info["seat"]
            assert infos["action_mask"][i].tobytes() == info["action_mask"].tobytes()
        else:
            assert after[i].tobytes() == before[i].tobytes()
            assert vector._games.arena.states[i].tobytes() == records[i]
            assert not infos["action_mask"][i].any()
        assert infos["_action_mask"][i] == infos["_seat"][i] == (i in (1, 3))
    assert vector.action_masks().any(axis=1).all()


@each_mode
@few_games
def test_wrong_masks_change_nothing(game, mode):
    vector = SingleSeatVectorEnv(game.name, COUNT, autoreset_mode=mode)
    with pytest.raises(gymnasium.error.ResetNeeded, match="the first reset"):
        vector.reset(seed=1, options={"reset_mask": masked(0)})
    vector.reset(seed=1, options={"reset_mask": np.ones(COUNT, np.bool_)})
    before = vector._games.arena.states.tobytes()
    for wrong in ([True] * COUNT, None, 1, np.ones(COUNT), np.ones(COUNT, np.int8)):
        with pytest.raises(TypeError, match=rf"reset_mask'\] must be an array of {COUNT} bools"):
            vector.reset(options={"reset_mask": wrong})
    for wrong in (
        np.ones(COUNT + 1, np.bool_),
        np.ones((COUNT, 1), np.bool_),
        np.ones((), np.bool_),
        masked(),
    ):
        with pytest.raises(ValueError, match=rf"reset_mask'\] must be an array of {COUNT} bools"):
            vector.reset(options={"reset_mask": wrong})
    assert vector._games.arena.states.tobytes() == before


@few_games
def test_a_seed_for_each_game(game):
    vector = SingleSeatVectorEnv(game.name, COUNT, opponents="random")
    first, _ = vector.reset(seed=[8, 3, 2**64 - 1, 3])
    for i, seed in enumerate((8, 3, 2**64 - 1, 3)):
        # Gymnasium takes only seeds of 63 bits for a single environment.
        if seed < 2**63:
            single, _ = SingleSeatEnv(game.name, opponents="random").reset(seed=seed)
            assert first[i].tobytes() == single.tobytes()
    assert first[1].tobytes() == first[3].tobytes()
    following, _ = vector.reset()
    vector.reset(seed=(8, 3, 2**64 - 1, 3))
    assert vector.reset(seed=[None] * COUNT)[0].tobytes() == following.tobytes()
    mixed, _ = vector.reset(seed=np.array([1, 2, 3, 4], np.uint64))
    assert mixed.tobytes() == vector.reset(seed=1)[0].tobytes()
    before = vector._games.arena.states.tobytes()
    with pytest.raises(ValueError, match=f"one for each of {COUNT} games, got 2"):
        vector.reset(seed=[1, 2])
    with pytest.raises(ValueError, match=r"seed must be from 0 to 2\*\*64 - 1, got -1"):
        vector.reset(seed=[1, 2, 3, -1])
    for wrong in (1.5, True, "1"):
        with pytest.raises(TypeError, match="seed must be None or a whole number, got"):
            vector.reset(seed=[1, 2, 3, wrong])
    assert vector._games.arena.states.tobytes() == before
    fresh = SingleSeatVectorEnv(game.name, COUNT)
    observations, _ = fresh.reset(seed=[None, 1, None, 1])
    assert observations[1].tobytes() == observations[3].tobytes()
    assert len(set(fresh._games.game_seeds.tolist())) == 3


# ---------------------------------------------------------------------------------------------
# Gymnasium's wrappers
# ---------------------------------------------------------------------------------------------

# What the wrappers support.
NOT_SAME_STEP = [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED]
NOT_DISABLED = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]

WRAPPERS = {
    "NormalizeObservation": (wrappers.NormalizeObservation, [AutoresetMode.NEXT_STEP], "info"),
    "FlattenObservation": (wrappers.FlattenObservation, NOT_SAME_STEP, "observation"),
    "DtypeObservation": (
        lambda env: wrappers.DtypeObservation(env, np.float64),
        NOT_SAME_STEP,
        "info",
    ),
    "NormalizeReward": (wrappers.NormalizeReward, NOT_DISABLED, "info"),
    "RecordEpisodeStatistics": (wrappers.RecordEpisodeStatistics, NOT_DISABLED, "info"),
    "DictInfoToList": (wrappers.DictInfoToList, AutoresetMode, "info"),
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")  # in its Box
@pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param(name, mode, id=f"{name}-{mode.name}")
        for name, (_, modes, _) in WRAPPERS.items()
        for mode in modes
    ],
)
@few_games
def test_gymnasiums_wrappers_do_as_with_gymnasiums_vector(game, name, mode):
    wrap, _, mask = WRAPPERS[name]
    ended = 0
    vector, expected = pair_of(game, mode, mask=mask, **settings_of(game)[0])
    rng = np.random.default_rng(4)
    wrapped, wrapped_expected = wrap(vector), wrap(expected)
    assert_same(wrapped.reset(seed=2), wrapped_expected.reset(seed=2))
    for _ in range(40):
        actions = draw_legal(rng, vector.action_masks())
        result, other = wrapped.step(actions), wrapped_expected.step(actions)
        for infos in (result[-1], other[-1]):
            if "episode" in infos:
                assert infos["episode"].pop("t").shape == (COUNT,)  # measured time
                ended += 1
        assert_same(result, other)
        over = result[2] | result[3]
        if mode == AutoresetMode.DISABLED and over.any():
            for env in (wrapped, wrapped_expected):
                env.reset(options={"reset_mask": over.copy()})
    if name == "RecordEpisodeStatistics" and game in SEARCHED:  # the others' games are longer
        assert ended > 10
