"""What holds in every position that can be reached."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    SITUATIONS,
    TABLES,
    UNIFORM,
    USUAL_LENGTH,
    begin,
    copy_of,
    is_over,
    mask_of,
    module_of,
    observation_of,
    option_sets,
    play_on,
    situations_in,
    snapshot,
    state_of,
    table_sizes,
    walk,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from card_envs.engine.game import DEFAULT_MAX_STEPS, Game

tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
each_game = pytest.mark.parametrize("game", EACH_GAME)

seeds = st.integers(0, 2**64 - 1)
player_seeds = st.integers(0, 10_000)


@tables
def test_walks_come_into_all_kinds_of_situations(game, num_players):
    """What the other tests rely on: much happens in them, and some games end early."""
    found: Counter[str] = Counter()
    lengths = []
    for seed in range(40):
        positions = [copy_of(game, states) for states in walk(game, num_players, seed)]
        found += situations_in(game, positions)
        if is_over(positions[-1]) and seed % 4 == UNIFORM:
            lengths.append(len(positions))
    possible = {name for name, (fewest, _) in SITUATIONS[game.id].items() if num_players >= fewest}
    assert possible <= set(found)
    assert len(lengths) == 10
    assert np.median(lengths) < USUAL_LENGTH.get(game.id, 150)


@tables
def test_every_position_is_sound(game, num_players):
    """All cards are there, the mask is empty at the end only, and each vector is in its space."""
    reached = []

    @settings(max_examples=40)
    @given(seed=player_seeds, options=st.sampled_from(option_sets(game)))
    def check(seed, options):
        count = 0
        for states in walk(game, num_players, seed, **options):
            assert game.rules.is_sound(states, 0)
            mask = mask_of(game, states)
            assert set(mask.tolist()) <= {0, 1}
            assert mask.any() == (not is_over(states))
            assert 0 <= states["current_player"][0] < num_players
            for player in range(num_players):
                observation = observation_of(game, states, player)
                assert ((observation >= 0) & (observation <= 1)).all()  # NaN is neither
            full = state_of(game, states)
            assert ((full >= 0) & (full <= 1)).all()
            count += 1
        reached.append(count)

    check()
    assert sum(reached) > 1000


@tables
def test_masks_are_exact(game, num_players):
    """raw_env takes every action of the mask, and refuses every other without any change."""
    accepted = []

    @settings(max_examples=12)
    @given(seed=seeds, player_seed=player_seeds, decisions=st.integers(0, 60))
    def check(seed, player_seed, decisions):
        env = module_of(game).raw_env(num_players=num_players)
        env.reset(seed=seed)
        play_on(env, player_seed, decisions)
        while 0 < len(env.legal_actions()) < 3:  # go on to where there is more to choose
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
                twin = copy.deepcopy(env)
                twin.step(action)
                assert snapshot(twin) != before
                assert game.rules.is_sound(twin.states, 0)
                accepted.append(action)
            else:
                with pytest.raises(ValueError, match=f"action {action} .*not legal"):
                    env.step(action)
        assert snapshot(env) == before

    check()
    assert len(set(accepted)) > 5


@tables
def test_a_step_is_a_function_of_state_and_action(game, num_players):
    compared = []

    @settings(max_examples=15)
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
            game.heuristic(states, 0)
            state_of(game, states)
            assert states.tobytes() == before

    check()
    assert len(compared) > 500


@pytest.mark.parametrize("reward", ["rank", "win", "score"])
@tables
def test_rewards(game, num_players, reward):
    """Paid at the end (or at a round's end) by the standing: zero-sum, or 1 in all."""
    n = num_players
    endings = set()

    @settings(max_examples=25)
    @given(seed=player_seeds, max_steps=st.sampled_from([DEFAULT_MAX_STEPS, 20, 3]))
    def check(seed, max_steps):
        total = np.zeros(n)
        for states in walk(game, n, seed, reward=reward, max_steps=max_steps):
            rewards = states["rewards"][0][:n]
            assert (np.abs(rewards) <= 1.0 + (reward == "score")).all()
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
    for seed in range(20):
        states = begin(game, num_players, seed)
        rng = np.random.default_rng(seed)
        while not is_over(states):
            if seed % 2:
                action = game.heuristic(states, 0)
            else:
                action = rng.choice(np.flatnonzero(mask_of(game, states)))
            game.rules.step(states, 0, int(action))
        assert states["terminated"][0]
        assert not states["truncated"][0]
        assert states["steps"][0] < DEFAULT_MAX_STEPS // 5


@tables
def test_max_steps_truncates_for_everybody(game, num_players):
    for max_steps in (1, 2, 5):
        env = module_of(game).env(num_players=num_players, max_steps=max_steps)
        for seed in range(3):
            env.reset(seed=seed)
            for _ in range(max_steps):
                assert not any(env.truncations.values())
                env.step(env.legal_actions()[0])
            assert all(env.truncations.values())
            assert not any(env.terminations.values())
            assert env.legal_actions() == []
            assert len(env.agents) == num_players
    env = module_of(game).env(num_players=num_players)
    env.reset(seed=4)
    play_on(env, UNIFORM, DEFAULT_MAX_STEPS)
    exact = int(env.states["steps"][0])
    # A game that ends with its last allowed decision has ended, and is not cut off.
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
    parts = layout.unflatten(numbers)
    assert list(parts) == [field.name for field in layout]
    flat = np.concatenate([part.ravel() for part in parts.values()])
    assert np.array_equal(flat, numbers)
    for field in layout:
        assert parts[field.name].shape == field.shape
        assert parts[field.name].ravel()[0] == layout.offset(field.name)
        assert np.shares_memory(parts[field.name], numbers)
        assert field.doc
        assert f"`{field.name}`" in layout.table()
    batch = layout.unflatten(np.stack([numbers, numbers + 1]))
    assert all(batch[field.name].shape == (2, *field.shape) for field in layout)
    for wrong in (numbers[:-1], np.float32(1.0), np.zeros((layout.size, 2))):
        with pytest.raises(ValueError, match=f"{layout.size} values"):
            layout.unflatten(wrong)


@tables
def test_env_unflatten_names_the_parts_of_an_observation(game, num_players):
    env = module_of(game).env(num_players=num_players)
    env.reset(seed=1)
    observation = env.last()[0]["observation"]
    parts = env.unflatten(observation)
    assert np.array_equal(np.concatenate([p.ravel() for p in parts.values()]), observation)
    assert parts["seats"].tolist() == [1.0] * num_players + [0.0] * (game.max_players - num_players)


def games_of_a_hoarder() -> Iterator[tuple[int, np.ndarray]]:
    """Swim for Your Life: player 0 gets all cards of an animal, or lays down whenever he has four.

    The others lay down what he wants.
    """
    from card_envs.games.swim_for_your_life.rules import LAID_DOWN, NUM_ANIMALS, ROW_OF, TAP

    (game,) = [game for game in ALL_GAMES if game.id == "swim_for_your_life"]
    for animal, (enough, expert) in itertools.product(
        range(NUM_ANIMALS), [(9, False), (9, True), (4, True)]
    ):
        states = begin(game, 5, animal, expert=expert)
        for _ in range(100):
            yield 5, states
            if is_over(states):
                break
            exchanges = np.flatnonzero(mask_of(game, states)[:TAP])
            gain = states["row"][0, ROW_OF[exchanges], animal] - LAID_DOWN[exchanges, animal]
            hoards = states["current_player"][0] == 0 and states["hand"][0, 0, animal] < enough
            best = np.argmax(gain) if hoards else np.argmin(gain)
            game.rules.step(states, 0, int(exchanges[best]))


def hands_of_one_animal() -> Iterator[tuple[int, np.ndarray]]:
    """Frank's Zoo: all cards of an animal in one hand, and nobody can beat them; one card of each
    animal; and the largest sets that there are."""
    from franks_zoo_table import Table

    from card_envs.games.franks_zoo.cards import IS_BEATEN_BY

    signs = "OECBLSFPHIMQ"
    for animal, sign in enumerate(signs):
        weaker = next(k for k in range(12) if k != animal and not IS_BEATEN_BY[animal, k])
        hands = [sign * (4 if sign == "Q" else 5), *signs[weaker] * 3]
        yield 4, Table.lay_out(*hands).states
    yield 4, Table.deal_out(signs, "", "", "").states
    for large_set in ("EEEEE", "EEEEEQ", "EEEEEQJ"):
        yield 4, Table.lay_out("F", "O", "C", "M", last=large_set, owner=0).states


def spied_cards_and_large_families() -> Iterator[tuple[int, np.ndarray]]:
    """Animalia: three cards of the draw pile are known while a gift follows; and two players with
    four or five of a family in each collection, and medals that a group lacks three of."""
    from animalia_table import ANIMALS, CARDS, GIVE, MEMBERS, Table

    for k in range(len(CARDS)):
        cards = CARDS[k:] + CARDS[:k]
        pile = ", ".join(cards[:3])
        more = {"phase": GIVE, "taken_into": 0, "pile": pile, "seen": {0: pile}}
        yield 6, Table.lay_out(cards[3], *[""] * 5, **more).states
    members = [member for member in MEMBERS if member != "cute"]
    for k, alike in itertools.product(range(len(ANIMALS)), (4, 5)):
        *animals, other = ANIMALS[k:] + ANIMALS[:k]
        rows = [
            ", ".join([f"{animal} {member}" for member in members[:alike]])
            + f", {other} {members[number]}" * (5 - alike)
            for number, animal in enumerate(animals)
        ]
        more = {"bonus": {1: "owl"}, "season": 3, "medals": [[4] * 5] * 2}
        yield 2, Table.lay_out(rows[:2], rows[2:], **more).states


#: Games, or positions, for values that hardly any other has.
SPECIAL_GAMES = {
    "swim_for_your_life": games_of_a_hoarder,
    "franks_zoo": hands_of_one_animal,
    "animalia": spied_cards_and_large_families,
}

#: How many values of a field are the same in all positions, if not just those of the seats that
#: every table has. Beaver Gang: nobody swaps a card with himself. The others: nobody has more cards
#: of an animal than there are; nobody is his own partner.
CONSTANT_VALUES = {
    "beaver_gang": {"seats": 2, "last_turn": 6},
    "swim_for_your_life": {"seats": 2, "hand": 30, "with_row": 28, "lead": 4},
    "franks_zoo": {
        "seats": 3,
        "partner": 7,
        "hand": 5,
        "group": 5,
        "elsewhere": 5,
        "unbeatable": 1,
    },
}


def positions_for_all_values(game: Game) -> Iterator[tuple[int, np.ndarray]]:
    """Many positions, each with its number of players: of all tables, and of special games."""
    for num_players in table_sizes(game):
        # About as many positions of each game, however long its games are.
        for seed in range(120 * 100 // max(100, USUAL_LENGTH.get(game.id, 0))):
            options = {
                option.name: bool(seed // 4 % 2)
                for option in game.own_options
                if isinstance(option.default, bool)
            }
            for number, states in enumerate(walk(game, num_players, seed, **options)):
                if number % 9 == 0 or is_over(states):
                    yield num_players, states
    if game.id in SPECIAL_GAMES:
        yield from SPECIAL_GAMES[game.id]()


@each_game
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
        name: int(part.sum()) for name, part in game.fields.unflatten(lowest == highest).items()
    }
    expected = CONSTANT_VALUES.get(game.id, {"seats": game.min_players})
    assert {name: count for name, count in constant.items() if count} == expected
