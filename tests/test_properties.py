"""What holds in every position that can be reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
import pytest
from helpers import (
    EACH_GAME,
    FEW_GAMES,
    FEW_TABLES,
    MEMORY_MODES,
    TABLES,
    UNIFORM,
    begin,
    check_invariants,
    copy_of,
    is_over,
    kit_of,
    mask_of,
    mean_length,
    module_of,
    observation_of,
    option_sets,
    play_on,
    situations_in,
    snapshot,
    state_of,
    units_of,
    walk,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from card_envs.contract.game import Game
from card_envs.contract.options import DEFAULT_MAX_STEPS

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
few_tables = pytest.mark.parametrize(("game", "num_players"), FEW_TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)

seeds = st.integers(0, 2**64 - 1)
player_seeds = st.integers(0, 10_000)


@few_tables
def test_walks_come_into_all_kinds_of_situations(game, num_players):
    """What the other tests rely on: much happens in them, and some games end early."""
    kit = kit_of(game)
    found: Counter[str] = Counter()
    lengths = []
    for seed in range(32):
        positions = [copy_of(game, states) for states in walk(game, num_players, seed)]
        found += situations_in(game, positions)
        if is_over(positions[-1]) and seed % 4 == UNIFORM:
            lengths.append(len(positions))
    possible = {name for name, (fewest, _) in kit.situations.items() if num_players >= fewest}
    assert possible <= set(found)
    assert len(lengths) == 8
    assert np.median(lengths) < kit.usual_length


@tables
def test_every_position_is_possible(game, num_players):
    """All cards are there, the mask is empty at the end only, all values are whole units."""
    reached = []

    @settings(max_examples=8)
    @given(seed=player_seeds, options=st.sampled_from(option_sets(game)))
    def check(seed, options):
        count = 0
        for states in walk(game, num_players, seed, **options):
            check_invariants(game, states)
            mask = mask_of(game, states)
            assert set(mask.tolist()) <= {0, 1}
            assert mask.any() == (not is_over(states))
            assert 0 <= states["current_player"][0] < num_players
            views = [
                observation_of(game, states, player, memory)
                for player in range(num_players)
                for memory in MEMORY_MODES
            ]
            units_of(np.array(views), game.fields.scale)
            units_of(state_of(game, states, count % num_players), game.state_fields.scale)
            count += 1
        reached.append(count)

    check()
    assert sum(reached) > min(200, 4 * mean_length(game, num_players))


@tables
def test_masks_are_exact(game, num_players):
    """raw_env takes every action of the mask, and refuses every other without any change."""
    accepted = []

    @settings(max_examples=10)
    @given(
        seed=seeds,
        player_seed=player_seeds,
        decisions=st.integers(0, min(60, ceil(mean_length(game, num_players)) - 1)),
    )
    def check(seed, player_seed, decisions):
        env = module_of(game).raw_env(num_players=num_players)
        env.reset(seed=seed)
        play_on(env, player_seed, decisions)
        enough = min(2 + player_seed % 2, game.num_actions)
        while 0 < len(env.legal_actions()) < enough:  # go on to where there is more to choose
            play_on(env, player_seed, 1)
        if not env.legal_actions():
            return
        before = snapshot(env)
        legal = set(env.legal_actions())
        observation = env.last()[0]
        assert set(np.flatnonzero(observation["action_mask"]).tolist()) == legal
        assert env.observation_space(env.agent_selection).contains(observation)
        for action in range(game.num_actions):
            if action in legal:
                twin = env.clone()
                twin.step(action)
                assert snapshot(twin) != before
                check_invariants(game, twin.states)
                accepted.append(action)
            else:
                with pytest.raises(ValueError, match=r"^action \d+ .*not legal") as error:
                    env.step(action)
                assert str(error.value).startswith(f"action {action} ")
        assert snapshot(env) == before

    check()
    assert len(set(accepted)) >= min(6, game.num_actions)


@tables
def test_a_step_is_a_function_of_state_and_action(game, num_players):
    compared = []

    @settings(max_examples=8)
    @given(seed=player_seeds)
    def check(seed):
        for states in walk(game, num_players, seed, decisions=100):
            if is_over(states):
                break
            before = states.tobytes()
            for action in np.flatnonzero(mask_of(game, states))[:3]:
                results = set()
                for _ in range(2):
                    other = copy_of(game, states)
                    game.rules.step(other, 0, int(action))
                    results.add(other.tobytes())
                assert len(results) == 1
                assert results != {before}
                compared.append(action)
            for player in range(num_players):  # looking changes nothing
                observation_of(game, states, player)
            if game.heuristic is not None:
                game.heuristic(states, 0)
            state_of(game, states)
            assert states.tobytes() == before

    check()
    assert len(compared) > min(250, 10 * mean_length(game, num_players))


@pytest.mark.parametrize("reward", ["rank", "win", "score"])
@tables
def test_rewards(game, num_players, reward):
    """Paid at the end (or at a round's end) by the standing: zero-sum, or 1 in all."""
    n = num_players
    most = kit_of(game).largest_score if reward == "score" else 1.0
    endings = set()

    @settings(max_examples=15)
    @given(seed=player_seeds, max_steps=st.sampled_from([DEFAULT_MAX_STEPS, 20, 3, 1]))
    def check(seed, max_steps):
        total = np.zeros(n)
        for states in walk(game, n, seed, reward=reward, max_steps=max_steps):
            rewards = states["rewards"][0][:n]
            assert (np.abs(rewards) <= most).all()
            assert not states["rewards"][0][n:].any()
            if reward == "score":
                assert rewards.sum() == pytest.approx(0.0, abs=1e-9)
            elif not is_over(states):
                assert not rewards.any()
            total += rewards
        if not is_over(states):
            return
        endings.add(bool(states["truncated"][0]))
        standing = states["standing"][0][:n]
        if reward == "rank":
            expected = np.sign(standing[:, None] - standing[None, :]).sum(axis=1) / (n - 1)
            assert rewards == pytest.approx(expected)
            assert rewards.sum() == pytest.approx(0.0, abs=1e-9)
        elif reward == "win":
            best = standing == standing.max()
            assert rewards == pytest.approx(best / best.sum())
            assert rewards.sum() == pytest.approx(1.0)
        else:
            assert total.sum() == pytest.approx(0.0, abs=1e-9)

    check()
    assert endings == {False, True}


@tables
def test_games_end(game, num_players):
    """Uniformly random players and the heuristic come to an end long before ``max_steps``."""
    for seed in range(10):
        states = begin(game, num_players, seed)
        rng = np.random.default_rng(seed)
        while not is_over(states):
            if seed % 2 and game.heuristic is not None:
                action = game.heuristic(states, 0)
            else:
                action = rng.choice(np.flatnonzero(mask_of(game, states)))
            game.rules.step(states, 0, int(action))
        assert states["terminated"][0]
        assert not states["truncated"][0]
        assert states["steps"][0] < DEFAULT_MAX_STEPS // 5


def play_first_actions(env) -> int:
    """To the end of the game; returns the number of decisions."""
    decisions = 0
    while env.legal_actions():
        assert not any(env.truncations.values())
        env.step(env.legal_actions()[0])
        decisions += 1
    return decisions


@tables
def test_max_steps_truncates_for_everybody(game, num_players):
    usual = module_of(game).env(num_players=num_players)
    truncated = []
    for max_steps in (1, 5):
        env = module_of(game).env(num_players=num_players, max_steps=max_steps)
        for seed in range(2):
            usual.reset(seed=seed)
            env.reset(seed=seed)
            length = play_first_actions(usual)
            assert play_first_actions(env) == min(length, max_steps)
            truncated.append(length > max_steps)
            assert set(env.truncations.values()) == {truncated[-1]}
            assert set(env.terminations.values()) == {not truncated[-1]}
            assert len(env.agents) == num_players
    assert truncated[:2] == [True] * 2
    usual.reset(seed=4)
    play_on(usual, UNIFORM, DEFAULT_MAX_STEPS)
    exact = int(usual.states["steps"][0])
    # A game that ends with its last allowed decision has ended, and is not truncated.
    for max_steps, terminated in ((exact, True), (exact - 1, False)):
        env = module_of(game).env(num_players=num_players, max_steps=max_steps)
        env.reset(seed=4)
        play_on(env, UNIFORM, DEFAULT_MAX_STEPS)
        assert set(env.terminations.values()) == {terminated}
        assert set(env.truncations.values()) == {not terminated}


@each_game
@pytest.mark.parametrize("which", ["fields", "state_fields"])
def test_unflatten_covers_the_whole_vector_without_overlap(game, which):
    layout = getattr(game, which)
    numbers = np.arange(layout.size, dtype=np.float32)
    fields = layout.unflatten(numbers)
    assert list(fields) == [field.name for field in layout]
    flat = np.concatenate([values.ravel() for values in fields.values()])
    assert np.array_equal(flat, numbers)
    offsets = layout.offsets()._asdict()
    assert list(offsets) == list(fields)
    for field in layout:
        values = fields[field.name]
        assert values.shape == field.shape
        assert values.ravel()[0] == layout.offset(field.name) == offsets[field.name]
        assert np.shares_memory(values, numbers)
        assert field.doc
        assert f"`{field.name}`" in layout.table()
        scale = layout.unflatten(layout.scale)[field.name]
        assert np.array_equal(scale, np.broadcast_to(np.float32(field.scale), field.shape))
    assert layout.scale.dtype == np.float32
    assert ((layout.scale >= 1) & (layout.scale <= 255)).all()
    batch = layout.unflatten(np.stack([numbers, numbers + 1]))
    assert all(batch[field.name].shape == (2, *field.shape) for field in layout)
    for wrong in (numbers[:-1], np.float32(1.0), np.zeros((layout.size, 2))):
        with pytest.raises(ValueError, match=f"{layout.size} values"):
            layout.unflatten(wrong)
    with pytest.raises(
        TypeError, match=r"such as observation\['observation'\], got a dict of a, b"
    ):
        layout.unflatten({"a": numbers, "b": numbers})


@tables
def test_env_unflatten_names_the_fields_of_an_observation(game, num_players):
    env = module_of(game).env(num_players=num_players)
    env.reset(seed=1)
    observation = env.last()[0]["observation"]
    fields = env.unflatten(observation)
    assert np.array_equal(np.concatenate([f.ravel() for f in fields.values()]), observation)
    if "seats" in fields:
        empty = game.max_players - num_players
        assert fields["seats"].tolist() == [1.0] * num_players + [0.0] * empty


def positions_for_all_values(game: Game) -> Iterator[tuple[int, np.ndarray]]:
    """Many positions, each with its number of players: of all tables, and special ones."""
    kit = kit_of(game)
    every = 9 if kit.usual_length > 20 else 1
    for num_players in game.table_sizes:
        # About as many positions of each game, however long its games are.
        for seed in range(120 * 100 // max(100, kit.usual_length)):
            options: dict[str, Any] = {
                option.name: bool(seed // 4 % 2)
                for option in game.own_options
                if isinstance(option.default, bool)
            }
            if seed % 10 == 9:
                for option in game.own_options:
                    if option.maximum:
                        small = option.minimum + seed // 10 % 2
                        options[option.name] = min(small, option.maximum)
            for number, states in enumerate(walk(game, num_players, seed, **options)):
                if number % every == 0 or is_over(states):
                    yield num_players, states
    yield from kit.special_positions()


@few_games
def test_every_observation_value_is_used(game):
    """No value is the same in all positions of all tables: it would be forgotten or useless."""
    lowest = np.full(game.fields.size, np.inf)
    highest = np.full(game.fields.size, -np.inf)
    for num_players, states in positions_for_all_values(game):
        for player in range(num_players):
            observation = observation_of(game, states, player)
            np.minimum(lowest, observation, out=lowest)
            np.maximum(highest, observation, out=highest)
    constant = {
        name: int(values.sum()) for name, values in game.fields.unflatten(lowest == highest).items()
    }
    assert {name: count for name, count in constant.items() if count} == kit_of(game).constant
