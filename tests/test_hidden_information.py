"""Nobody sees what they cannot know: ``determinize`` redraws it, and no observation changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    FEW_GAMES,
    FEW_TABLES,
    MEMORY_MODES,
    TABLES,
    agents_of,
    begin,
    check_invariants,
    is_over,
    kit_of,
    mask_of,
    mean_length,
    module_of,
    observation_of,
    play_on,
    positions_of,
    snapshot,
    stacked,
    state_of,
)
from hidden import (
    SEEDS,
    check_hidden_parts_do_not_matter,
    check_hidden_parts_vary,
    check_redraws_are_uniform,
    check_table_tells_what_is_observed,
    check_views_unchanged,
    open_cells,
    redrawn,
    variants,
)

from card_envs.agents import agent_names, make_agent
from card_envs.contract.agent import turn_of

memory_modes = pytest.mark.parametrize("memory", MEMORY_MODES)
tables = pytest.mark.parametrize(("game", "num_players"), TABLES)
few_tables = pytest.mark.parametrize(("game", "num_players"), FEW_TABLES)
WITH_SMALL_POSITIONS = [
    param for param in EACH_GAME if any(kit_of(*param.values).small_positions())
]


# ---------------------------------------------------------------------------------------------
# The first half: what the player sees does not change
# ---------------------------------------------------------------------------------------------


@tables
def test_what_a_player_sees_is_the_same_for_all_that_they_hold_possible(game, num_players):
    for states in positions_of(game, num_players):
        for player in range(num_players):
            check_views_unchanged(game, states, player, game.observe, game.rules.determinize)


@tables
def test_agents_choose_by_what_their_seat_can_know(game, num_players):
    """Every named agent: the same choices in all worlds that the player to move holds possible."""
    asked = [states for states in positions_of(game, num_players) if not is_over(states)]
    indices = np.arange(len(asked))
    worlds = [stacked(game, asked)]
    for seed in range(SEEDS):
        movers = [int(states["current_player"][0]) for states in asked]
        others = [
            redrawn(game, states, mover, seed, game.rules.determinize)
            for states, mover in zip(asked, movers, strict=True)
        ]
        worlds.append(stacked(game, others))
    for name in agent_names(game):
        choices = set()
        for states in worlds:
            agent = make_agent(name, game, seed=1)
            turn = turn_of(game, states, indices, agent.view)
            choices.add(np.asarray(agent.act(turn)).tobytes())
        assert len(choices) == 1, f"{name} uses what its seat cannot know"


@tables
def test_a_leak_of_any_part_of_the_full_state_is_caught(game, num_players):
    weights = np.sqrt(np.arange(game.state_fields.size))

    def leak(states, i, player, memory, features, out):
        game.observe(states, i, player, memory, features, out)
        out[0] = np.dot(state_of(game, states), weights) % 1.0

    caught = hidden = 0
    for states in positions_of(game, num_players)[:30]:
        for player in range(num_players):
            hidden += open_cells(game, states, player)[0].any()
            try:
                check_views_unchanged(game, states, player, leak, game.rules.determinize)
            except AssertionError:
                caught += 1
            else:  # nothing to tell: all of the redrawn states were the true one
                redraws = variants(game, states, player, game.rules.determinize, SEEDS)
                expected = state_of(game, states).tobytes()
                assert {state_of(game, other).tobytes() for other in redraws} == {expected}
    assert caught > 0.8 * hidden > 0


@tables
def test_a_leak_of_one_value_is_caught(game, num_players):
    """One number out of what only the next player may see."""

    def leaking(place):
        def leak(states, i, player, memory, features, out):
            game.observe(states, i, (player + 1) % num_players, memory, features, out)
            value = out[place]
            game.observe(states, i, player, memory, features, out)
            out[place] = value

        return leak

    positions = positions_of(game, num_players)
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
def test_the_table_is_the_same_for_all_that_they_hold_possible(game, num_players, memory):
    """The scene, which every rendering is made from."""
    code = MEMORY_MODES.index(memory)
    for number, states in enumerate(positions_of(game, num_players)[::3]):
        for player in range(number % 2, num_players, 2):
            scene = game.scene(states, 0, player, code)
            other = redrawn(game, states, player, number, game.rules.determinize)
            assert game.scene(other, 0, player, code) == scene


@memory_modes
@tables
def test_rendering_shows_no_more_than_the_observation(game, num_players, memory):
    env = module_of(game).env(num_players=num_players, memory=memory, render_mode="ansi")
    changed = 0
    for seed in range(12):
        env.reset(seed=seed)
        play_on(env, seed, (3 * seed + 1) % math.ceil(mean_length(game, num_players)))
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


@pytest.mark.parametrize("game", FEW_GAMES)
def test_the_table_in_words_tells_what_is_observed(game):
    check_table_tells_what_is_observed(game, game.max_players, game.observe)


# ---------------------------------------------------------------------------------------------
# The second half: all that is hidden does vary
# ---------------------------------------------------------------------------------------------


@few_tables
def test_every_hidden_card_is_redrawn_and_no_other(game, num_players):
    checked = []
    running = []
    for states in positions_of(game, num_players):
        for player in range(num_players):
            number = check_hidden_parts_vary(game, states, player, game.rules.determinize)
            checked.append(number)
            running += [] if is_over(states) else [number]
    assert np.mean(checked) > kit_of(game).usually_open
    assert np.count_nonzero(running) > 0.6 * len(running)


@tables
def test_what_is_redrawn_follows_from_what_the_player_knows_and_the_seed(game, num_players):
    for states in positions_of(game, num_players):
        for player in range(num_players):
            check_hidden_parts_do_not_matter(game, states, player, game.rules.determinize)


@tables
def test_a_determinize_that_does_nothing_is_caught(game, num_players):
    def nothing(states, i, player, seed):
        pass

    with pytest.raises(AssertionError, match="never redrawn"):
        check_hidden_parts_vary(game, begin(game, num_players, 1), 0, nothing)
    with pytest.raises(AssertionError, match="the random stream"):
        check_hidden_parts_do_not_matter(game, begin(game, num_players, 1), 0, nothing)


@tables
def test_a_determinize_that_begins_with_the_true_cards_is_caught(game, num_players):
    """As one does that redraws now and then only."""

    def reluctant(states, i, player, seed):
        if seed == 1:
            states["rng"] = states["seed"] = seed
        else:
            game.rules.determinize(states, i, player, seed)

    with pytest.raises(AssertionError, match="what was hidden before"):  # noqa: PT012
        for states in positions_of(game, num_players):
            check_hidden_parts_do_not_matter(game, states, 0, reluctant)


@pytest.mark.parametrize(
    ("game", "forgotten"),
    [
        pytest.param(game, name, id=f"{game.id}-{name}")
        for game in ALL_GAMES
        for name in kit_of(game).hidden
    ],
)
def test_a_determinize_that_forgets_hidden_cards_is_caught(game, forgotten):
    def forgetful(states, i, player, seed):
        kept = states[forgotten].copy()
        game.rules.determinize(states, i, player, seed)
        states[forgotten] = kept

    with pytest.raises(AssertionError, match="never redrawn"):  # noqa: PT012
        for num_players in reversed(game.table_sizes):
            for states in positions_of(game, num_players):
                check_hidden_parts_vary(game, states, 0, forgetful)


@tables
def test_a_determinize_that_redraws_known_cards_is_caught(game, num_players):
    def careless(states, i, player, seed):
        game.rules.determinize(states, i, (player + 1) % num_players, seed)

    positions = positions_of(game, num_players)

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


@pytest.mark.parametrize("game", EACH_GAME)
def test_redraws_are_uniform(game):
    """In the positions whose worlds the kit lists."""
    for states, player, worlds in kit_of(game).small_positions():
        check_redraws_are_uniform(game, states, player, worlds, game.rules.determinize)


@pytest.mark.parametrize("game", WITH_SMALL_POSITIONS)
def test_a_determinize_that_prefers_some_worlds_is_caught(game):
    def biased(states, i, player, seed):
        """Of two redraws the one with the lower cells."""
        game.rules.determinize(states, i, player, seed)
        other = redrawn(game, states, player, int(seed) + 10**6, game.rules.determinize)
        if kit_of(game).cells(other).tolist() < kit_of(game).cells(states).tolist():
            states[i] = other[0]

    with pytest.raises(AssertionError, match="not uniform"):  # noqa: PT012
        for states, player, worlds in kit_of(game).small_positions():
            check_redraws_are_uniform(game, states, player, worlds, biased)


# ---------------------------------------------------------------------------------------------
# What is redrawn is a game like any other
# ---------------------------------------------------------------------------------------------


@tables
def test_redrawn_states_are_possible_and_can_be_played_to_the_end(game, num_players):
    rng = np.random.default_rng(num_players)
    for number, states in enumerate(positions_of(game, num_players)):
        player = number % num_players
        other = redrawn(game, states, player, number, game.rules.determinize)
        check_invariants(game, other)
        if number % 16:
            continue
        while not is_over(other):
            legal = np.flatnonzero(mask_of(game, other))
            game.rules.step(other, 0, int(rng.choice(legal)))
            check_invariants(game, other)


@pytest.mark.parametrize("game", EACH_GAME)
def test_the_environment_redraws_as_the_rules_do(game):
    num_players = game.min_players
    env = module_of(game).env(num_players=num_players)
    with pytest.raises(AssertionError, match="reset"):
        env.determinize("player_0", 0)
    env.reset(seed=3)
    play_on(env, 3, 1)
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
    with pytest.raises(KeyError, match="player_99"):
        env.determinize("player_99", 1)


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
            check_invariants(game, env.states)
    assert changed > 0 or not masks_depend_on_hidden_cards(game, num_players)


def masks_depend_on_hidden_cards(game, num_players):
    for states in positions_of(game, num_players):
        other = (int(states["current_player"][0]) + 1) % num_players
        redraws = variants(game, states, other, game.rules.determinize, SEEDS)
        mask = mask_of(game, states)
        if any((mask_of(game, redraw) != mask).any() for redraw in redraws):
            return True
    return False
