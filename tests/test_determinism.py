"""The same seed and actions play out the same: on every machine, in every batch, forever."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    MASK_64,
    MEMORY_MODES,
    SHORT_GAMES,
    SITUATIONS,
    TABLES,
    USUAL_LENGTH,
    Chooser,
    begin,
    finish,
    is_over,
    kinds_of_actions,
    mask_of,
    module_of,
    observation_of,
    option_sets,
    play_on,
    situations_in,
    snapshot,
    table_sizes,
)

import card_envs
from card_envs.engine import rng, seeds
from card_envs.engine.game import Game

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)


# ---------------------------------------------------------------------------------------------
# Frozen games
# ---------------------------------------------------------------------------------------------

#: The seeds of the games that are frozen, less the number of players: such that much happens.
FROZEN_SEEDS = {"beaver_gang": 20240, "swim_for_your_life": 700, "franks_zoo": 0, "animalia": 60}

#: What does not happen in them, by game and variant.
NOT_FROZEN = {
    ("beaver_gang", "perfect"): {"reshuffle"},
    ("beaver_gang", "none"): {"reshuffle"},
    ("franks_zoo", "partners"): {
        "gifts given",
        "cards laid down by a player alone",
        "request",
        "help",
        "refusal",
        "refusal that ends the trick",
    },
}

#: SHA-256 of whole games. A change of any of these is a change of the game: it needs a new version
#: of it (``-v1``), never a new number here. Run as a script, this file prints those of all games.
FROZEN = {
    ("beaver_gang_v0", 2, "perfect"): (
        "7af9b61545d3ae1bbaf83fec53f6f4443ad7aefd431b379b57d4e428707fe8af"
    ),
    ("beaver_gang_v0", 2, "none"): (
        "19c8998de3dd9da076cc75ad15568bab7111d9438d20847a898d2c66e6be2e46"
    ),
    ("beaver_gang_v0", 3, "perfect"): (
        "efa72c805ac51c1488cd30545c9948c5763a407bc5aa92adc8408f7008cf1303"
    ),
    ("beaver_gang_v0", 3, "none"): (
        "e4e50713b0ae306c58260901dba0748b2a6f4d7f1e7c3e4d4104133322797210"
    ),
    ("beaver_gang_v0", 4, "perfect"): (
        "07c013f2c1bf37b1ca92b593a90f465abf34bfff43c17f34708498645f357862"
    ),
    ("beaver_gang_v0", 4, "none"): (
        "513a2cf6bc405f5e4fed84e4632866c0433b8e2ed2b44d0489f53ad1c263145f"
    ),
    ("beaver_gang_v0", 5, "perfect"): (
        "ec18fe2a26c276e0100a97c5402f90269bdd7f43c4d59f58c935ea54fbabed89"
    ),
    ("beaver_gang_v0", 5, "none"): (
        "29b0ad7cb676dab9d282233a43b72b0834a5d8b018b0d229cfb7d75b3c0d7b57"
    ),
    ("beaver_gang_v0", 6, "perfect"): (
        "4701698cd18a76c81b180fd45f7f594b50021840a2b3ab9a71854f3144a57cc8"
    ),
    ("beaver_gang_v0", 6, "none"): (
        "2b44f55ad4e4e4f408eba05169fd223c79e2da703dfd35b164be94c1b7f8ac4c"
    ),
    ("swim_for_your_life_v0", 2, "perfect"): (
        "f95509ee5a86f6bcbb1dbb39c0367eadde64b30a0ba0231bbf774e5d2a430e2c"
    ),
    ("swim_for_your_life_v0", 2, "none"): (
        "e9ddaef89cfdbee757c4cad92786949d5fcedab64eb6b44e24fa1b5d4188ad2f"
    ),
    ("swim_for_your_life_v0", 2, "expert"): (
        "3d19671e19254bb38c2c8a4547d9f85310ac89c78d7979b58bf41768bbdbca1f"
    ),
    ("swim_for_your_life_v0", 3, "perfect"): (
        "c88c7f7f28718915e7d2b8e636cbc9f6425e4156d30b8b2f862c96fb58f13e49"
    ),
    ("swim_for_your_life_v0", 3, "none"): (
        "fbf41407b18c90cf6543cc0481e8d5811e95b72095465d227a631e5b77895ce0"
    ),
    ("swim_for_your_life_v0", 3, "expert"): (
        "36e4e74b75afb05b8794581c9ac926b658dfb75e4b70d3c9c8602f871c1052ad"
    ),
    ("swim_for_your_life_v0", 4, "perfect"): (
        "3d67200004c60abb31d73a2df73fe3b40d8ab0cd9fea68e6e8f2a0455091a786"
    ),
    ("swim_for_your_life_v0", 4, "none"): (
        "27e4767472bf577866471de7cd6654edc162fff0f8f5e8325cb11ae9fe76c7f1"
    ),
    ("swim_for_your_life_v0", 4, "expert"): (
        "ad8bdf45127728bd55bd4bf9524514c1a162ed84901010f2921b3c23353bcd39"
    ),
    ("swim_for_your_life_v0", 5, "perfect"): (
        "4f192d3fdfe8dad9d37353e764fd50bf015e15335e2a6a4f78bb9043700c8025"
    ),
    ("swim_for_your_life_v0", 5, "none"): (
        "3758152ee487268542a23b309f1b31b24d2a871aff6b1f32897ab8976aa20d61"
    ),
    ("swim_for_your_life_v0", 5, "expert"): (
        "f21fe801b25a7cfe8f6f422547fd700ed219fab092d90f5d18836707e8faee37"
    ),
    ("franks_zoo_v0", 3, "perfect"): (
        "70b65dcc4dcd437e7a70ac3a1edf0637d38fb2ed89232430b754e41215665c92"
    ),
    ("franks_zoo_v0", 3, "none"): (
        "91044de6c3d19106035a569e4c68e5d446bcb110e58f56681165873ba32d800a"
    ),
    ("franks_zoo_v0", 3, "partners"): (
        "3747045cc362cc1c98c4eb7a5803efa6fbdf82117f8fa303f710fb271f07fc01"
    ),
    ("franks_zoo_v0", 4, "perfect"): (
        "37a6b89c0b657fab33ce162707e2c9fba9ad9f2f4ae80a3b33c9d682f2a718f7"
    ),
    ("franks_zoo_v0", 4, "none"): (
        "4891ab4394d55fe6d4af0d182bdd2910beba08727f6f6f3a3ab1f662b41c4525"
    ),
    ("franks_zoo_v0", 4, "partners"): (
        "4eb2dfafc80a2b3d3a913088b77d547a908b004680359dc52960d2c9481a2743"
    ),
    ("franks_zoo_v0", 5, "perfect"): (
        "abede191e16398621bdb3d425cc79aaf90a6d982a5c60548a0199d6a39867af0"
    ),
    ("franks_zoo_v0", 5, "none"): (
        "f3ddddfe3151aebdab4f00a1db29a711a213f6d0d08fb55abea475b354dde199"
    ),
    ("franks_zoo_v0", 5, "partners"): (
        "c2c2044ca75080a6decabc38fe01627bf0f98a1dbccce92f1e9cfa5888e2457c"
    ),
    ("franks_zoo_v0", 6, "perfect"): (
        "b9eb37a496cfb17daa17c4e165f77f7919a45629a710b7ebc36a295722a2acb0"
    ),
    ("franks_zoo_v0", 6, "none"): (
        "d6a8ff064623070c765bd149d728572f2c3dcd060f8d71a1406f65038d4f45fb"
    ),
    ("franks_zoo_v0", 6, "partners"): (
        "2e640460b277d15f1c1184408a6a0c110fc4e82a5838cde711239e43c42d5b31"
    ),
    ("franks_zoo_v0", 7, "perfect"): (
        "a0eba3c6a7733655459f980c71ae879c0da25929e99520223da09e2ac887c2c7"
    ),
    ("franks_zoo_v0", 7, "none"): (
        "4b1b4767711f86f00c6bfe2d71663e175ad8dd5bec8b7979955556dfc7e8f6f3"
    ),
    ("franks_zoo_v0", 7, "partners"): (
        "d50aa4b964f9be62c76e0abcd5b3cb35393fd748325990d049e297494f17bead"
    ),
    ("animalia_v0", 2, "perfect"): (
        "ca3946d37d1c772597402e4b7e367e1ffde9c2b6028eb2dab37eda6949f69f5e"
    ),
    ("animalia_v0", 2, "none"): (
        "a016dfd53880bed6c8e85fdaded8acbfa73e99d65ffd7ea945843bc25785ef91"
    ),
    ("animalia_v0", 3, "perfect"): (
        "de624a818816c58aa0461c55f35fe616f6cafd64e7d96dc2527545598d114d9d"
    ),
    ("animalia_v0", 3, "none"): (
        "81a6fad3d569965b2e19e50866a012179fbcffcbe608e70899df9cff2e42726e"
    ),
    ("animalia_v0", 4, "perfect"): (
        "a75bff15e5349277a27e9a291cfbd47931b2b40faf747e78576ad6412e034f20"
    ),
    ("animalia_v0", 4, "none"): (
        "5b4917e5c1677b04a71ed4e9f35732a8cb14b9228835d058f218ea9dc4957b4b"
    ),
    ("animalia_v0", 5, "perfect"): (
        "52368dddca702ab2cda7644c7cc90c25b6744a45915a9c42212549e212db41b6"
    ),
    ("animalia_v0", 5, "none"): (
        "3af926aaa874d0cd0738389cb481553b093cee92a6b0b9624c547af0c0b315c8"
    ),
    ("animalia_v0", 6, "perfect"): (
        "dd302b333039b0d65db4075966d0ae283af99b89273c95a4d74c8ebc957028ae"
    ),
    ("animalia_v0", 6, "none"): (
        "205435d4f2b2f546d17061ef68506a7e8f31c361778a456bf170d2b67f09fa81"
    ),
}


def variants_of(game: Game) -> dict[str, dict[str, Any]]:
    """How each game is played: with and without memory, and with each of its own variants."""
    variants: dict[str, dict[str, Any]] = {memory: {"memory": memory} for memory in MEMORY_MODES}
    for option in game.own_options:
        if isinstance(option.default, bool):
            variants[option.name] = {option.name: not option.default}
    return variants


FROZEN_GAMES = [
    pytest.param(game, num_players, variant, id=f"{game.id}-{num_players}-{variant}")
    for game in ALL_GAMES
    for num_players in table_sizes(game)
    for variant in variants_of(game)
]


def frozen_game(game: Game, num_players: int, variant: str) -> Iterator[np.ndarray]:
    """The record at every decision and at the end; always the same array."""
    chooser = Chooser(num_players)
    seed = FROZEN_SEEDS[game.id] + num_players
    states = begin(game, num_players, seed, reward="score", **variants_of(game)[variant])
    while True:
        yield states
        if is_over(states):
            return
        game.rules.step(states, 0, chooser.choose(mask_of(game, states)))


def digest_of_game(game: Game, num_players: int, variant: str) -> str:
    digest = hashlib.sha256()
    for states in frozen_game(game, num_players, variant):
        # The state's fields one by one: what lies between them in memory is nobody's promise.
        for name in game.state_dtype.names or ():
            digest.update(np.ascontiguousarray(states[name]).tobytes())
        for player in range(num_players):
            digest.update(observation_of(game, states, player).tobytes())
        digest.update(mask_of(game, states).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize(("game", "num_players", "variant"), FROZEN_GAMES)
def test_a_game_plays_out_as_it_always_has(game, num_players, variant):
    digest = digest_of_game(game, num_players, variant)
    key = (game.name, num_players, variant)
    assert key in FROZEN, f"a new game needs its digests here: {key}: {digest!r}"
    assert digest == FROZEN[key]


def test_every_frozen_game_is_played():
    played = {(p.values[0].name, *p.values[1:]) for p in FROZEN_GAMES}
    assert set(FROZEN) == played


@each_game
def test_much_happens_in_the_frozen_games(game):
    for variant in variants_of(game):
        found = Counter[str]()
        for num_players in table_sizes(game):
            found += situations_in(game, frozen_game(game, num_players, variant))
        assert set(found) == set(SITUATIONS[game.id]) - NOT_FROZEN.get((game.id, variant), set())


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
    assert [int(seeds.seat_of(s, n)) for s, n in zip(numbers[:50], players, strict=False)] == (
        seats[:50].tolist()
    )
    assert len(set(seeds.next_seeds(numbers).tolist())) == len(numbers)


@tables
def test_reset_with_a_seed_begins_the_same_run_again(game, num_players):
    env = module_of(game).env(num_players=num_players)
    runs = []
    for _ in range(2):
        env.reset(seed=2**64 - 1)
        runs.append([])
        for number in range(4):
            runs[-1].append(snapshot(env))
            play_on(env, number, 10 + 300 * (number % 2))
            runs[-1].append(snapshot(env))
            if not env.legal_actions():
                finish(env)
            env.reset()
    assert runs[0] == runs[1]
    begun = [run[1] for run in runs[0][::2]]
    assert len(set(begun)) == 4
    env.reset(seed=2**64 - 1)
    env.reset()
    after_none = snapshot(env)
    env.reset(seed=int(seeds.next_seed(np.uint64(2**64 - 1))))
    assert snapshot(env) == after_none


@each_game
def test_without_any_seed_games_differ(game):
    deals = set()
    for _ in range(5):
        env = module_of(game).env()
        env.reset()
        deals.add(env.state().tobytes())
    assert len(deals) > 1
    assert len({card_envs.make_vec(game.id, 1).reset()[0].tobytes() for _ in range(5)}) > 1


# ---------------------------------------------------------------------------------------------
# The batch
# ---------------------------------------------------------------------------------------------


@each_game
def test_the_batch_plays_as_the_aec_environment(game):
    """Step by step: observations, masks, rewards, flags, and the games that begin anew."""
    mixed = (game.min_players, game.max_players)
    for number, options in enumerate(option_sets(game)):
        sizes = (
            mixed if number % 2 == 0 else list(table_sizes(game))[number % len(table_sizes(game))]
        )
        count, seed = 5, 2**64 - 3 if number == 0 else 10 * number
        steps = max(160, USUAL_LENGTH.get(game.id, 0))
        batch = card_envs.make_vec(game.id, count, sizes, **options)
        observation, mask = batch.reset(seed=seed)
        low, high = game.check_player_range(sizes)
        game_seeds = [(seed + i) % 2**64 for i in range(count)]

        def begin_env(game_seed, low=low, high=high, options=options):
            n = int(seeds.players_of(np.uint64(game_seed), low, high))
            env = module_of(game).env(num_players=n, **options)
            env.reset(seed=game_seed)
            return env

        envs = [begin_env(game_seed) for game_seed in game_seeds]
        chooser = Chooser(number, kinds_of_actions(game))
        ended = 0
        for _ in range(steps):
            assert batch.game_seeds.tolist() == game_seeds
            for i, env in enumerate(envs):
                view = env.last()[0]
                assert observation[i].tobytes() == view["observation"].tobytes()
                assert mask[i].tobytes() == view["action_mask"].tobytes()
                assert env.possible_agents[batch.current_player[i]] == env.agent_selection
                assert batch.num_players[i] == env.num_players
                assert batch.states[i].tobytes() == env.states[0].tobytes()
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
                    envs[i] = begin_env(game_seeds[i])
        assert ended > 0


def run_batch(game, count, sizes, num_threads, steps=120, seed=3, **options):
    """Everything that a batch returns in the first games of it, and their final records."""
    batch = card_envs.make_vec(game.id, count, sizes, num_threads=num_threads, copy=True, **options)
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


@each_game
def test_the_number_of_threads_changes_nothing(game):
    """With every number of threads that this machine has; with one that is the same run twice."""
    sizes = (game.min_players, game.max_players)
    more: dict[str, Any] = SHORT_GAMES.get(game.id, {})
    steps = max(120, USUAL_LENGTH.get(game.id, 0) // 2)
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


@each_game
def test_returned_arrays_are_the_same_buffers_unless_copies_are_asked_for(game):
    batch = card_envs.make_vec(game.id, 4)
    first = batch.reset(seed=1)
    kept = first[0].copy()
    second = batch.step(first[1].argmax(axis=1))
    assert np.shares_memory(first[0], second[0])
    assert not np.array_equal(first[0], kept)
    for array in second:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for array in (batch.current_player, batch.num_players, batch.game_seeds):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    copying = card_envs.make_vec(game.id, 4, copy=True)
    first = copying.reset(seed=1)
    facts = [copying.current_player, copying.num_players, copying.game_seeds]
    before = [fact.tolist() for fact in facts]
    second = copying.step(first[1].argmax(axis=1))
    for _ in range(20):
        second = copying.step(second[1].argmax(axis=1))
    assert [fact.tolist() for fact in facts] == before
    assert copying.current_player.tolist() != before[0]
    assert np.array_equal(first[0], kept)
    assert not np.shares_memory(first[0], second[0])
    second[0][:] = 0.5
    third = copying.step(second[1].argmax(axis=1))
    assert not (third[0] == 0.5).all()


def main() -> None:
    for param in FROZEN_GAMES:
        game, num_players, variant = param.values
        digest = digest_of_game(game, num_players, variant)
        print(f'    ("{game.name}", {num_players}, "{variant}"): (\n        "{digest}"\n    ),')


if __name__ == "__main__":
    main()
