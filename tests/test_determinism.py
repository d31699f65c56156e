"""The same seed and actions play out the same: on every machine, in every batch, forever.

Run as a script, this file prints the digests of the frozen games, for their kits:
``python tests/test_determinism.py [GAME ...]``.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    MASK_64,
    MEMORY_MODES,
    TABLES,
    Chooser,
    begin,
    finish,
    is_over,
    kinds_of_actions,
    kit_of,
    mask_of,
    mean_length,
    module_of,
    observation_of,
    option_sets,
    play_on,
    situations_in,
    snapshot,
)

import card_envs
from card_envs.contract.game import Game
from card_envs.engine import seeds
from card_envs.kernels import rng

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)


# ---------------------------------------------------------------------------------------------
# Frozen games
# ---------------------------------------------------------------------------------------------


def variants_of(game: Game) -> dict[str, dict[str, Any]]:
    """How each game is played: as usual, and with each of its own yes-or-no options reversed."""
    variants: dict[str, dict[str, Any]] = {"usual": {}}
    for option in game.own_options:
        if isinstance(option.default, bool):
            variants[option.name] = {option.name: not option.default}
    return variants


FROZEN_GAMES = [
    pytest.param(game, num_players, variant, id=f"{game.id}-{num_players}-{variant}")
    for game in ALL_GAMES
    for num_players in game.table_sizes
    for variant in variants_of(game)
]


def frozen_game(game: Game, num_players: int, variant: str) -> Iterator[np.ndarray]:
    """The record at every decision and at the end; always the same array."""
    chooser = Chooser(num_players)
    seed = kit_of(game).frozen_seed + num_players
    states = begin(game, num_players, seed, reward="score", **variants_of(game)[variant])
    while True:
        yield states
        if is_over(states):
            return
        game.rules.step(states, 0, chooser.choose(mask_of(game, states)))


def digest_of_course(game: Game, num_players: int, variant: str) -> str:
    """SHA-256 of a game's course: who may do what, and what it brings."""
    digest = hashlib.sha256()
    for states in frozen_game(game, num_players, variant):
        digest.update(mask_of(game, states).tobytes())
        for name in ("current_player", "rewards", "terminated", "truncated", "standing"):
            digest.update(np.ascontiguousarray(states[name]).tobytes())
    return digest.hexdigest()


def digest_of_observations(game: Game, num_players: int, variant: str) -> str:
    """SHA-256 of what all players observe, with perfect recall and with none."""
    digest = hashlib.sha256()
    for states in frozen_game(game, num_players, variant):
        for player in range(num_players):
            for memory in MEMORY_MODES:
                digest.update(observation_of(game, states, player, memory).tobytes())
    return digest.hexdigest()


def assert_frozen(game: Game, frozen: Any, key: tuple[int, str], digest: str) -> None:
    if not frozen and not kit_of(game).is_own:
        pytest.skip("the kit has no digests")
    assert key in frozen, f"a new game needs its digests in its kit: {key}: {digest!r}"
    assert digest == frozen[key]


@pytest.mark.parametrize(("game", "num_players", "variant"), FROZEN_GAMES)
def test_a_game_plays_out_as_it_always_has(game, num_players, variant):
    """Another digest is another game: it needs a new version (``-v1``), never a new digest."""
    digest = digest_of_course(game, num_players, variant)
    assert_frozen(game, kit_of(game).frozen, (num_players, variant), digest)


@pytest.mark.parametrize(("game", "num_players", "variant"), FROZEN_GAMES)
def test_a_game_looks_as_it_always_has(game, num_players, variant):
    """Before the first release, an observation may change if that is meant; then not any more."""
    frozen = kit_of(game).frozen_observations
    digest = digest_of_observations(game, num_players, variant)
    assert_frozen(game, frozen, (num_players, variant), digest)


@each_game
def test_every_frozen_game_is_played(game):
    played = {param.values[1:] for param in FROZEN_GAMES if param.values[0] is game}
    for frozen in (kit_of(game).frozen, kit_of(game).frozen_observations):
        assert set(frozen) <= played


@each_game
def test_much_happens_in_the_frozen_games(game):
    kit = kit_of(game)
    assert set(kit.not_frozen) <= set(variants_of(game))
    if not kit.frozen:
        return
    for variant in variants_of(game):
        found = Counter[str]()
        for num_players in game.table_sizes:
            found += situations_in(game, frozen_game(game, num_players, variant))
        assert set(found) == set(kit.situations) - set(kit.not_frozen.get(variant, ()))


# ---------------------------------------------------------------------------------------------
# Seeds and streams
# ---------------------------------------------------------------------------------------------

# The published values for the seed 1234567.
SPLITMIX64 = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]
GAMMA = 0x9E3779B97F4A7C15


def test_the_stream_is_splitmix64():
    values = [int(rng.mix(np.uint64(1234567 + k * GAMMA & MASK_64))) for k in range(5)]
    assert values == SPLITMIX64


def test_numbers_are_drawn_from_the_high_half_of_the_stream():
    for bound in (1, 2, 66, 1000, 2**31 - 1):
        streams = np.array([5, 1234567], np.uint64)
        drawn = [int(rng.draw_below_from(streams, 1, bound)) for _ in range(5)]
        assert drawn == [(value >> 32) * bound >> 32 for value in SPLITMIX64]
        assert streams.tolist() == [5, 1234567 + 5 * GAMMA & MASK_64]


@each_game
def test_a_state_draws_from_its_own_stream(game):
    states = game.new_states(2)
    states["rng"] = [5, 1234567]
    drawn = [int(rng.draw_below(states[1], 1000)) for _ in range(5)]
    assert drawn == [(value >> 32) * 1000 >> 32 for value in SPLITMIX64]
    assert states["rng"].tolist() == [5, 1234567 + 5 * GAMMA & MASK_64]


def test_tables_and_seats_are_drawn_evenly():
    numbers = np.arange(6000, dtype=np.uint64)
    players = np.empty(len(numbers), np.int64)
    seats = np.empty(len(numbers), np.int64)
    seeds.draw_tables(numbers, 2, 6, players, seats)
    assert np.bincount(players)[2:].min() > 1000
    assert np.bincount(players).tolist()[:2] == [0, 0]
    for n in range(2, 7):
        of_table = np.bincount(seats[players == n], minlength=n)
        assert len(of_table) == n
        assert of_table.min() > 0.8 * 1000 / n
    assert [int(seeds.players_of(s, 2, 6)) for s in numbers[:50]] == players[:50].tolist()
    found = [int(seeds.learner_seat_of(s, n)) for s, n in zip(numbers[:50], players, strict=False)]
    assert found == seats[:50].tolist()
    assert len(set(seeds.next_seeds(numbers).tolist())) == len(numbers)


@tables
def test_reset_with_a_seed_begins_the_same_run_again(game, num_players):
    env = module_of(game).env(num_players=num_players)
    half = min(10, math.ceil(mean_length(game, num_players) / 2))
    runs = []
    for _ in range(2):
        env.reset(seed=2**64 - 1)
        runs.append([])
        for number in range(4):
            runs[-1].append(snapshot(env))
            play_on(env, number, half + 300 * (number % 2))
            runs[-1].append(snapshot(env))
            if not env.legal_actions():
                finish(env)
            env.reset()
    assert runs[0] == runs[1]
    records = {snap[1] for snap in runs[0][::2]}
    assert len(records) == 4
    env.reset(seed=2**64 - 1)
    env.reset()
    after_none = snapshot(env)
    env.reset(seed=int(seeds.next_seed(np.uint64(2**64 - 1))))
    assert snapshot(env) == after_none


@few_games
def test_without_any_seed_games_differ(game):
    def deal():
        env = module_of(game).env()
        env.reset()
        return env.state().tobytes()

    # So many that a small game's few deals are not the same by chance.
    assert len({deal() for _ in range(40)}) > 1
    assert len({card_envs.make_vec(game.name, 64).reset()[0].tobytes() for _ in range(2)}) > 1


# ---------------------------------------------------------------------------------------------
# The batch
# ---------------------------------------------------------------------------------------------


@each_game
def test_the_batch_plays_as_the_aec_environment(game):
    """Step by step: observations, masks, rewards, flags, and the games that follow (autoreset)."""
    mixed = (game.min_players, game.max_players)
    for number, options in enumerate(option_sets(game, views=True)):
        sizes = mixed if number % 2 == 0 else list(game.table_sizes)[number % len(game.table_sizes)]
        count, seed = 5, 2**64 - 3 if number == 0 else 10 * number
        steps = max(160, kit_of(game).usual_length)
        batch = card_envs.make_vec(game.name, count, sizes, **options)
        observation, mask = batch.reset(seed=seed)
        low, high = game.check_player_range(sizes)
        game_seeds = [(seed + i) % 2**64 for i in range(count)]
        if number % 2:  # each game has its own
            game_seeds.reverse()
            observation, mask = batch.reset(game_seeds)

        made = {}

        def begin_env(i, game_seed, low=low, high=high, options=options, made=made):
            n = int(seeds.players_of(np.uint64(game_seed), low, high))
            if (i, n) not in made:
                made[i, n] = module_of(game).env(num_players=n, **options)
            made[i, n].reset(seed=game_seed)
            return made[i, n]

        envs = [begin_env(i, game_seed) for i, game_seed in enumerate(game_seeds)]
        chooser = Chooser(number, kinds_of_actions(game))
        ended = 0
        for _ in range(steps):
            assert batch.game_seeds.tolist() == game_seeds
            full_states = batch.state()
            for i, env in enumerate(envs):
                view = env.last()[0]
                assert observation[i].tobytes() == view["observation"].tobytes()
                assert mask[i].tobytes() == view["action_mask"].tobytes()
                assert env.possible_agents[batch.current_player[i]] == env.agent_selection
                assert batch.num_players[i] == env.num_players
                assert batch.states[i].tobytes() == env.states[0].tobytes()
                assert full_states[i].tobytes() == env.state().tobytes()
            actions = [chooser.choose(m) for m in mask]
            observation, mask, rewards, terminated, truncated = batch.step(actions)
            for i, env in enumerate(envs):
                env.step(actions[i])
                expected = [*env.rewards.values(), *[0.0] * (game.max_players - env.num_players)]
                assert rewards[i].tolist() == expected
                assert terminated[i] == all(env.terminations.values())
                assert truncated[i] == all(env.truncations.values())
                if terminated[i] or truncated[i]:
                    ended += 1
                    game_seeds[i] = int(seeds.next_seed(np.uint64(game_seeds[i])))
                    envs[i] = begin_env(i, game_seeds[i])
        assert ended > 0


def run_batch(game, count, sizes, num_threads, steps=120, seed=3, **options):
    """Everything that a batch returns in the first games of it, and their final records."""
    batch = card_envs.make_vec(
        game.name, count, sizes, num_threads=num_threads, copy=True, **options
    )
    choosers = [Chooser(i, kinds_of_actions(game)) for i in range(count)]
    outputs = [batch.reset(seed=seed)]
    for _ in range(steps):
        actions = [chooser.choose(m) for chooser, m in zip(choosers, outputs[-1][1], strict=True)]
        outputs.append(batch.step(np.array(actions)))
    return outputs, batch.states


def assert_same_games(first, second, count):
    for some, others in zip(first[0], second[0], strict=True):
        for one, other in zip(some, others, strict=True):
            assert one[:count].tobytes() == other[:count].tobytes()
    assert first[1][:count].tobytes() == second[1][:count].tobytes()


@pytest.mark.parametrize("game", FEW_GAMES)
def test_the_number_of_threads_changes_nothing(game):
    """With every number of threads that this machine has; with one that is the same run twice."""
    sizes = (game.min_players, game.max_players)
    more = kit_of(game).short_options
    steps = max(120, kit_of(game).usual_length // 2)
    expected = run_batch(game, 37, sizes, 1, steps, **more)
    for num_threads in range(1, numba.config.NUMBA_NUM_THREADS + 1):
        assert_same_games(expected, run_batch(game, 37, sizes, num_threads, steps, **more), 37)
    assert any((terminated | truncated).any() for *_, terminated, truncated in expected[0][1:])


@each_game
def test_the_size_of_the_batch_changes_nothing(game):
    sizes = (game.min_players, game.max_players)
    expected = run_batch(game, 64, sizes, 1)
    for count in (1, 2, 7):
        assert_same_games(expected, run_batch(game, count, sizes, 1), count)
    shifted = run_batch(game, 3, sizes, 1, seed=5)
    assert shifted[0][0][0].tobytes() == expected[0][0][0][2:5].tobytes()


@few_games
def test_a_batch_without_a_seed_plays_the_games_that_follow(game):
    batch = card_envs.make_vec(game.name, 3)
    for name in ("observation", "action_mask", "current_player", "num_players", "game_seeds"):
        assert not hasattr(batch, name)
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(batch, name)
    first = batch.reset(seed=7)[0].copy()
    following = seeds.next_seeds(batch.game_seeds)
    second = batch.reset()[0].copy()
    assert np.array_equal(batch.game_seeds, following)
    assert not np.array_equal(first, second)
    assert np.array_equal(batch.reset(seed=7)[0], first)
    assert np.array_equal(batch.reset()[0], second)


@few_games
def test_returned_arrays_are_the_same_buffers_unless_copies_are_asked_for(game):
    batch = card_envs.make_vec(game.name, 4)
    first = batch.reset(seed=1)
    kept = first[0].copy()
    second = batch.step(first[1].argmax(axis=1))
    assert np.shares_memory(first[0], second[0])
    assert not np.array_equal(first[0], kept)
    for array in second:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert np.shares_memory(batch.observation, second[0])
    assert np.shares_memory(batch.action_mask, second[1])
    for array in (batch.current_player, batch.num_players, batch.game_seeds):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    copying = card_envs.make_vec(game.name, 4, copy=True)
    first = copying.reset(seed=1)
    facts = [copying.current_player, copying.num_players, copying.game_seeds]
    before = [fact.tolist() for fact in facts]
    second = copying.step(first[1].argmax(axis=1))
    movers = []
    for _ in range(20):
        second = copying.step(second[1].argmax(axis=1))
        movers.append(copying.current_player.tolist())
    assert [fact.tolist() for fact in facts] == before
    assert any(current != before[0] for current in movers)
    assert np.array_equal(first[0], kept)
    assert not np.shares_memory(first[0], second[0])
    second[0][:] = 0.5
    third = copying.step(second[1].argmax(axis=1))
    assert not (third[0] == 0.5).all()
    sizes = game.min_players, game.max_players
    mixed = card_envs.make_vec(game.name, 32, num_players=sizes, copy=True)
    mixed.reset(seed=1)
    kept = mixed.num_players
    before = kept.tolist()
    mixed.reset(seed=2)
    assert kept.tolist() == before
    if len(set(sizes)) > 1:
        assert mixed.num_players.tolist() != before


def main() -> None:
    """Print the digests as a kit holds them."""
    names = sys.argv[1:] or [game.id for game in ALL_GAMES]
    for game in (game for game in ALL_GAMES if game.id in names):
        keys = [param.values[1:] for param in FROZEN_GAMES if param.values[0] is game]
        for name, digest_of in (
            ("FROZEN", digest_of_course),
            ("FROZEN_OBSERVATIONS", digest_of_observations),
        ):
            print(f"# {game.name}\n{name} = {{")
            for num_players, variant in keys:
                digest = digest_of(game, num_players, variant)
                print(f'    ({num_players}, "{variant}"): "{digest}",')
            print("}")


if __name__ == "__main__":
    main()
