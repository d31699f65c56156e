"""Nobody sees what he cannot know: ``determinize`` redraws it, and no observation changes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    MEMORY_MODES,
    TABLES,
    UNIFORM,
    agents_of,
    begin,
    is_over,
    mask_of,
    module_of,
    observation_of,
    play_on,
    snapshot,
    some_positions,
    state_of,
    table_sizes,
    walk,
)
from hidden import (
    HIDING,
    SEEDS,
    check_hidden_parts_vary,
    check_views_unchanged,
    redrawn,
    variants,
)

from card_envs.engine.game import Game

POSITIONS = 320  # of each table and memory mode

memory_modes = pytest.mark.parametrize("memory", MEMORY_MODES)
tables = pytest.mark.parametrize(("game", "num_players"), TABLES)


@cache
def positions_of(game: Game, num_players: int, memory: str) -> tuple[np.ndarray, ...]:
    return tuple(some_positions(game, num_players, POSITIONS, memory=memory))


# ---------------------------------------------------------------------------------------------
# The first half: what the player sees does not change
# ---------------------------------------------------------------------------------------------


@memory_modes
@tables
def test_what_a_player_sees_is_the_same_for_all_that_he_holds_possible(game, num_players, memory):
    for states in positions_of(game, num_players, memory):
        for player in range(num_players):
            check_views_unchanged(game, states, player, game.observe, game.rules.determinize)


@tables
def test_a_leak_of_any_part_of_the_full_state_is_caught(game, num_players):
    weights = np.sqrt(np.arange(game.state_fields.size))

    def leak(states, i, player, out):
        game.observe(states, i, player, out)
        out[0] = np.dot(state_of(game, states), weights) % 1.0

    caught = 0
    for states in positions_of(game, num_players, "perfect")[:30]:
        for player in range(num_players):
            try:
                check_views_unchanged(game, states, player, leak, game.rules.determinize)
            except AssertionError:
                caught += 1
            else:  # nothing to tell: all of the redrawn states were the true one
                redraws = variants(game, states, player, game.rules.determinize, SEEDS)
                expected = state_of(game, states).tobytes()
                assert {state_of(game, other).tobytes() for other in redraws} == {expected}
    assert caught > 20 * num_players


@tables
def test_a_leak_of_one_value_is_caught(game, num_players):
    """One number out of what only the next player may see."""

    def leaking(place):
        def leak(states, i, player, out):
            game.observe(states, i, (player + 1) % num_players, out)
            value = out[place]
            game.observe(states, i, player, out)
            out[place] = value

        return leak

    positions = positions_of(game, num_players, "perfect")
    private = np.zeros(game.fields.size, bool)
    for states in positions:
        other = redrawn(game, states, 0, 1, game.rules.determinize)
        private |= observation_of(game, states, 1) != observation_of(game, other, 1)
    assert private.any()
    for place in np.flatnonzero(private)[:: max(1, private.sum() // 4)]:
        leak = leaking(place)
        with pytest.raises(AssertionError, match="observation"):  # noqa: PT012
            for states in positions:
                check_views_unchanged(game, states, 0, leak, game.rules.determinize)


@memory_modes
@tables
def test_the_table_in_words_is_the_same_for_all_that_he_holds_possible(game, num_players, memory):
    checked = 0
    for states in positions_of(game, num_players, memory)[::8]:
        for player in range(num_players):
            text = game.describe(states, 0, player)
            for seed in range(2):
                other = redrawn(game, states, player, seed, game.rules.determinize)
                assert game.describe(other, 0, player) == text
                checked += 1
    assert checked == POSITIONS // 8 * num_players * 2


@memory_modes
@tables
def test_rendering_shows_no_more_than_the_observation(game, num_players, memory):
    env = module_of(game).env(num_players=num_players, memory=memory, render_mode="ansi")
    changed = 0
    for seed in range(12):
        env.reset(seed=seed)
        play_on(env, seed, 3 * seed + 1)
        if not env.legal_actions():
            continue
        text, view = env.render(), env.last()[0]
        before = env.state()
        env.determinize(env.agent_selection, seed)
        assert env.render() == text
        assert env.last()[0]["observation"].tobytes() == view["observation"].tobytes()
        assert env.last()[0]["action_mask"].tobytes() == view["action_mask"].tobytes()
        changed += not np.array_equal(before, env.state())
    assert changed > 3


# ---------------------------------------------------------------------------------------------
# The second half: all that is hidden does vary
# ---------------------------------------------------------------------------------------------


@memory_modes
@tables
def test_every_hidden_card_is_redrawn_and_no_other(game, num_players, memory):
    checked = []
    for states in positions_of(game, num_players, memory):
        for player in range(num_players):
            checked.append(check_hidden_parts_vary(game, states, player, game.rules.determinize))
    assert np.mean(checked) > HIDING[game.id].usual
    assert np.count_nonzero(checked) > 0.6 * len(checked)


@tables
def test_a_determinize_that_does_nothing_is_caught(game, num_players):
    def nothing(states, i, player, seed):
        pass

    with pytest.raises(AssertionError, match="never redrawn"):
        check_hidden_parts_vary(game, begin(game, num_players, 1), 0, nothing)


@pytest.mark.parametrize(
    ("game", "forgotten"),
    [
        pytest.param(game, part, id=f"{game.id}-{part}")
        for game in ALL_GAMES
        for part in HIDING[game.id].parts
    ],
)
def test_a_determinize_that_forgets_a_part_is_caught(game, forgotten):
    def forgetful(states, i, player, seed):
        kept = states[forgotten].copy()
        game.rules.determinize(states, i, player, seed)
        states[forgotten] = kept

    with pytest.raises(AssertionError, match="never redrawn"):  # noqa: PT012
        for num_players in reversed(table_sizes(game)):
            for states in positions_of(game, num_players, "perfect"):
                check_hidden_parts_vary(game, states, 0, forgetful)


@tables
def test_a_determinize_that_redraws_known_cards_is_caught(game, num_players):
    def careless(states, i, player, seed):
        game.rules.determinize(states, i, (player + 1) % num_players, seed)

    positions = positions_of(game, num_players, "perfect")

    def is_exchanged(states):
        try:
            check_hidden_parts_vary(game, states, 0, careless)
        except AssertionError as error:
            return "was exchanged" in str(error)
        return False

    assert any(map(is_exchanged, positions))
    with pytest.raises(AssertionError, match="observation"):  # noqa: PT012
        for states in positions:
            check_views_unchanged(game, states, 0, game.observe, careless)


@tables
def test_a_determinize_that_changes_what_everybody_sees_is_caught(game, num_players):
    def careless(states, i, player, seed):
        game.rules.determinize(states, i, player, seed)
        states["standing"][i, 0] += 1

    with pytest.raises(AssertionError, match="something else"):
        check_hidden_parts_vary(game, begin(game, num_players, 1), 0, careless)


# ---------------------------------------------------------------------------------------------
# What is redrawn is a game like any other
# ---------------------------------------------------------------------------------------------


@memory_modes
@tables
def test_redrawn_states_are_sound_and_can_be_played_to_the_end(game, num_players, memory):
    rng = np.random.default_rng(num_players)
    for number, states in enumerate(positions_of(game, num_players, memory)):
        player = number % num_players
        other = redrawn(game, states, player, number, game.rules.determinize)
        assert game.rules.is_sound(other, 0)
        same = redrawn(game, states, player, number, game.rules.determinize)
        assert other.tobytes() == same.tobytes(), "the same seed must redraw the same"
        if number % 8:
            continue
        while not is_over(other):
            legal = np.flatnonzero(mask_of(game, other))
            game.rules.step(other, 0, int(rng.choice(legal)))
            assert game.rules.is_sound(other, 0)


# ---------------------------------------------------------------------------------------------
# memory="none"
# ---------------------------------------------------------------------------------------------


@tables
def test_without_memory_the_remembered_fields_are_empty(game, num_players):
    remembered = [field.name for field in game.fields if field.doc.endswith("perfect memory")]
    seen = set()
    for states in positions_of(game, num_players, "perfect"):
        for player in range(num_players):
            parts = game.fields.unflatten(observation_of(game, states, player))
            seen |= {name for name in remembered if parts[name].any()}
    for states in positions_of(game, num_players, "none"):
        for player in range(num_players):
            parts = game.fields.unflatten(observation_of(game, states, player))
            assert not any(parts[name].any() for name in remembered)
    hiding = HIDING[game.id]
    longest = max(s["steps"][0] for s in positions_of(game, num_players, "perfect"))
    assert longest > hiding.long_game
    fewest = hiding.fewest
    assert seen == {name for name in remembered if num_players >= fewest.get(name, 0)}


@tables
def test_both_memory_modes_play_the_same_game(game, num_players):
    for seed in range(6):
        pair = zip(
            walk(game, num_players, UNIFORM + 4 * seed, memory="perfect"),
            walk(game, num_players, UNIFORM + 4 * seed, memory="none"),
            strict=True,
        )
        for remembering, forgetting in pair:
            assert mask_of(game, remembering).tobytes() == mask_of(game, forgetting).tobytes()
            assert state_of(game, remembering).tobytes() == state_of(game, forgetting).tobytes()
        assert is_over(remembering)


@pytest.mark.parametrize("game", EACH_GAME)
def test_the_environment_redraws_as_the_rules_do(game):
    num_players = game.min_players
    env = module_of(game).env(num_players=num_players)
    with pytest.raises(AssertionError, match="reset"):
        env.determinize("player_0", 0)
    env.reset(seed=3)
    play_on(env, 3, 4)
    for player, agent in enumerate(agents_of(game, num_players)):
        before = snapshot(env)
        expected = redrawn(game, env.states, player, 9, game.rules.determinize)
        env.determinize(agent, 9)
        assert env.states.tobytes() == expected.tobytes()
        after = snapshot(env)
        assert after[0] == before[0]
        assert env.observe(agent)["observation"].tobytes() == before[3 + player]
    with pytest.raises(ValueError, match="seed"):
        env.determinize("player_0", -1)
    with pytest.raises(TypeError, match="seed"):
        env.determinize("player_0", 1.5)


@tables
def test_after_redrawing_the_mask_is_that_of_the_redrawn_state(game, num_players):
    """Redrawn for another agent, the agent to move holds other cards, and may do other things."""
    env = module_of(game).raw_env(num_players=num_players)
    changed = 0
    for seed in range(0, 40, 4):
        env.reset(seed=seed)
        for number in range(60):
            legal = env.legal_actions()
            if not legal:
                break
            for agent in env.agents:
                env.determinize(agent, number)
                assert env.legal_actions() == np.flatnonzero(mask_of(game, env.states)).tolist()
                assert env.last()[0]["action_mask"].tobytes() == mask_of(game, env.states).tobytes()
            changed += env.legal_actions() != legal
            env.step(env.legal_actions()[number % len(env.legal_actions())])
            assert game.rules.is_sound(env.states, 0)
    assert changed > 0
