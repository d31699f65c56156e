"""Nobody sees what he cannot know: ``determinize`` redraws it, and no observation changes.

The checks are functions of the kernels that they check, so that the same functions can be shown
to catch kernels that leak, and a ``determinize`` that does not redraw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    MEMORY_MODES,
    TABLES,
    agents_of,
    begin,
    copy_of,
    is_over,
    mask_of,
    module_of,
    observation_of,
    play_on,
    snapshot,
    some_positions,
    state_of,
    walk,
)

from card_envs.engine.game import Game

POSITIONS = 400  # of each table and memory mode
STRIDE = 61  # decisions between two of them
SEEDS = 6
MORE_SEEDS = 4000

memory_modes = pytest.mark.parametrize("memory", MEMORY_MODES)
tables = pytest.mark.parametrize(("game", "num_players"), TABLES)


@cache
def positions_of(game: Game, num_players: int, memory: str) -> tuple[np.ndarray, ...]:
    return tuple(some_positions(game, num_players, POSITIONS, stride=STRIDE, memory=memory))


def redrawn(
    game: Game, states: np.ndarray, player: int, seed: int, determinize: Callable[..., None]
) -> np.ndarray:
    copy = copy_of(game, states)
    determinize(copy, 0, player, np.uint64(seed))
    return copy


# ---------------------------------------------------------------------------------------------
# The first half: what the player sees does not change
# ---------------------------------------------------------------------------------------------


def check_views_unchanged(
    game: Game,
    states: np.ndarray,
    player: int,
    observe: Callable[..., None],
    determinize: Callable[..., None],
) -> None:
    """Observation, mask, and the scripted player's choice: the same in all redrawn states."""

    def views(states: np.ndarray) -> tuple[bytes, bytes, int]:
        observation = np.full(game.fields.size, np.nan, np.float32)
        observe(states, 0, player, observation)
        if is_over(states) or states["current_player"][0] != player:
            return observation.tobytes(), b"", -1
        return observation.tobytes(), mask_of(game, states).tobytes(), game.heuristic(states, 0)

    expected = views(states)
    for seed in range(SEEDS):
        found = views(redrawn(game, states, player, seed, determinize))
        assert found[0] == expected[0], "the observation shows what the player cannot know"
        assert found[1] == expected[1], "the mask shows what the player cannot know"
        assert found[2] == expected[2], "the heuristic uses what its seat cannot know"


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


def variants(
    game: Game, states: np.ndarray, player: int, determinize: Callable[..., None], count: int
) -> Iterator[np.ndarray]:
    for seed in range(count):
        yield redrawn(game, states, player, seed, determinize)


def card_cells(states: np.ndarray) -> np.ndarray:
    """Beaver Gang: every place of a card, hidden or not: the slots, the drawn card, the pile."""
    s = states[0]
    return np.concatenate([s["row"].ravel(), [s["drawn"]], s["draw_pile"]])


def open_cells_of_beaver_gang(states: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Which places may hold another card for all that the player knows, and which surely do not.

    He knows of a hidden card: from which filling of the draw pile it came, all cards that he has
    not seen of that filling, and of some that they are numbers. So a place is open if its card
    can change places with a different one of its filling.
    """
    s = states[0]
    players, slots = s["row"].shape
    cards = card_cells(states)
    hidden = np.zeros(len(cards), bool)
    filling = np.full(len(cards), s["filling"], np.int64)
    is_number = np.zeros(len(cards), bool)
    for owner in range(s["num_players"]):
        for slot in range(slots):
            place = owner * slots + slot
            hidden[place] = not s["known"][player] >> place & 1
            filling[place] = s["filling_of"][owner, slot]
            is_number[place] = s["is_number"] >> place & 1
    drawn = players * slots
    hidden[drawn] = s["drawn"] >= 0 and s["current_player"] != player
    hidden[drawn + 1 : drawn + 1 + s["draw_size"]] = True
    fits = ~is_number[:, None] | (cards < 10)[None, :]  # [place, place of the new card]
    exchangeable = (
        (hidden[:, None] & hidden[None, :])
        & (filling[:, None] == filling[None, :])
        & (cards[:, None] != cards[None, :])
        & fits
        & fits.T
    )
    beyond = np.zeros(len(cards), bool)  # the array's unused end
    beyond[drawn + 1 + s["draw_size"] :] = True
    is_open = exchangeable.any(axis=1)
    return is_open, ~is_open & ~beyond


#: For each game: all its places of cards, and which of them are open for the player. A game that
#: is not here is held to ``check_something_varies`` alone.
OPEN_CELLS = {"beaver_gang": (card_cells, open_cells_of_beaver_gang)}
GAMES_WITH_CELLS = [game for game in ALL_GAMES if game.id in OPEN_CELLS]
tables_with_cells = pytest.mark.parametrize(
    ("game", "num_players"), [p for p in TABLES if p.values[0].id in OPEN_CELLS]
)


def check_hidden_parts_vary(
    game: Game, states: np.ndarray, player: int, determinize: Callable[..., None]
) -> int:
    """Every open place takes more than one value, and every other keeps its card.

    Returns:
        How many places are open.
    """
    cells, open_cells = OPEN_CELLS[game.id]
    is_open, is_fixed = open_cells(states, player)
    original = cells(states)
    missing = is_open.copy()
    for count, variant in enumerate(variants(game, states, player, determinize, MORE_SEEDS)):
        changed = cells(variant) != original
        assert not (changed & is_fixed).any(), "a card that the player knows was exchanged"
        missing &= ~changed
        if count >= SEEDS and not missing.any():
            break
    assert not missing.any(), f"hidden but never redrawn: {np.flatnonzero(missing)}"
    return int(is_open.sum())


def check_something_varies(
    game: Game, states: np.ndarray, player: int, determinize: Callable[..., None]
) -> bool:
    """Whether the full state differs between the redrawn ones."""
    redraws = variants(game, states, player, determinize, SEEDS)
    return len({state_of(game, states).tobytes() for states in redraws}) > 1


@memory_modes
@tables_with_cells
def test_every_hidden_card_is_redrawn_and_no_other(game, num_players, memory):
    checked = 0
    for states in positions_of(game, num_players, memory):
        for player in range(num_players):
            checked += check_hidden_parts_vary(game, states, player, game.rules.determinize)
    assert checked > 20 * POSITIONS * num_players


@memory_modes
@tables
def test_something_is_redrawn_in_nearly_every_position(game, num_players, memory):
    running = [s for s in positions_of(game, num_players, memory) if not is_over(s)]
    varies = [
        check_something_varies(game, states, player, game.rules.determinize)
        for states in running
        for player in range(num_players)
    ]
    assert len(varies) > POSITIONS // 2
    assert np.mean(varies) > 0.9


@tables
def test_a_determinize_that_does_nothing_is_caught(game, num_players):
    def nothing(states, i, player, seed):
        pass

    states = begin(game, num_players, 1)
    assert check_something_varies(game, states, 0, game.rules.determinize)
    assert not check_something_varies(game, states, 0, nothing)
    if game.id in OPEN_CELLS:
        with pytest.raises(AssertionError, match="never redrawn"):
            check_hidden_parts_vary(game, states, 0, nothing)


@pytest.mark.parametrize("forgotten", ["row", "drawn", "draw_pile"])
def test_a_determinize_that_forgets_a_part_is_caught(forgotten):
    (game,) = [game for game in GAMES_WITH_CELLS if game.id == "beaver_gang"]

    def forgetful(states, i, player, seed):
        kept = states[forgotten].copy()
        game.rules.determinize(states, i, player, seed)
        states[forgotten] = kept

    with pytest.raises(AssertionError, match="never redrawn"):  # noqa: PT012
        for states in positions_of(game, 3, "perfect"):
            check_hidden_parts_vary(game, states, 0, forgetful)


def test_a_determinize_that_redraws_known_cards_is_caught():
    (game,) = [game for game in GAMES_WITH_CELLS if game.id == "beaver_gang"]

    def careless(states, i, player, seed):
        game.rules.determinize(states, i, (player + 1) % 3, seed)

    with pytest.raises(AssertionError, match="was exchanged"):
        check_hidden_parts_vary(game, begin(game, 3, 1), 0, careless)
    with pytest.raises(AssertionError, match="observation"):
        check_views_unchanged(game, begin(game, 3, 1), 0, game.observe, careless)


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


def test_redrawing_is_uniform_over_all_that_the_player_holds_possible():
    """Beaver Gang: uniform random play says nothing about hidden cards beyond the rules.

    So among many positions of such play the true hidden cards and the redrawn ones must be
    distributed alike, in every class of places. The differences of paired counts are compared
    with their own spread.
    """
    (game,) = [game for game in GAMES_WITH_CELLS if game.id == "beaver_gang"]
    _, open_cells = OPEN_CELLS[game.id]
    kinds = 13
    differences: dict[str, list[np.ndarray]] = {}
    for seed in range(400):
        n = 2 + seed % 5
        states = begin(game, n, seed)
        rng = np.random.default_rng(seed)
        for number in range(200):
            legal = np.flatnonzero(mask_of(game, states))
            legal = legal[legal != 95] if len(legal) > 1 else legal  # long rounds
            if number % 3:
                legal = legal[legal >= 4]  # take less, draw more: BG-17 comes sooner
            game.rules.step(states, 0, int(rng.choice(legal)))
            if number % 50 != 49 or is_over(states):
                continue
            player = seed % n
            is_open, _ = open_cells(states, player)
            s = states[0]
            slots = np.arange(24)
            number_slot = np.array([bool(s["is_number"] >> p & 1) for p in slots])
            older = np.zeros(24, bool)
            older[: 4 * n] = s["filling_of"][:n].ravel() != s["filling"]
            classes = {
                "number": slots[is_open[:24] & number_slot],
                "any": slots[is_open[:24] & ~number_slot & ~older],
                "older": slots[is_open[:24] & ~number_slot & older],
                "drawn": np.array([24])[is_open[24:25]],
                "top": np.array([24 + s["draw_size"]])[: int(s["draw_size"] > 0)],
            }
            other = redrawn(game, states, player, seed, game.rules.determinize)
            true, drawn = card_cells(states), card_cells(other)
            for name, places in classes.items():
                if len(places):
                    counts = np.bincount(true[places], minlength=kinds)
                    differences.setdefault(name, []).append(
                        counts - np.bincount(drawn[places], minlength=kinds)
                    )
    assert {name: len(of) > 60 for name, of in differences.items()} == dict.fromkeys(
        ["number", "any", "older", "drawn", "top"], True
    ), {name: len(of) for name, of in differences.items()}
    for name, of in differences.items():
        paired = np.array(of, float)
        error = np.sqrt((paired**2).sum(axis=0)).clip(1.0)
        assert np.abs(paired.sum(axis=0) / error).max() < 4.0, name
        assert (paired != 0).any(), name


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
    long_games = any(s["steps"][0] > 150 for s in positions_of(game, num_players, "perfect"))
    assert long_games
    assert seen == set(remembered)


@tables
def test_both_memory_modes_play_the_same_game(game, num_players):
    for seed in range(6):
        pair = zip(
            walk(game, num_players, 4 * seed, memory="perfect"),
            walk(game, num_players, 4 * seed, memory="none"),
            strict=True,
        )
        for remembering, forgetting in pair:
            assert mask_of(game, remembering).tobytes() == mask_of(game, forgetting).tobytes()
            assert state_of(game, remembering).tobytes() == state_of(game, forgetting).tobytes()
        assert is_over(remembering)


@pytest.mark.parametrize("num_players", range(2, 7))
def test_without_memory_beaver_gang_shows_what_is_visible_at_this_moment(num_players):
    """The rules file: outer cards in the first observation of a round, the drawn card while its
    player decides on it, a peeked card in his next observation, and then no more."""
    (game,) = [game for game in ALL_GAMES if game.id == "beaver_gang"]
    shown = {"outer": 0, "peeked": 0, "drawn": 0, "nothing": 0}
    for seed in range(40):
        visible: list[dict[int, str]] = []
        this_round = -1
        states = begin(game, num_players, seed, memory="none", rounds=3)
        rng = np.random.default_rng(seed)
        while not is_over(states):
            s = states[0]
            if s["round"] != this_round:
                this_round = int(s["round"])
                visible = [{4 * p: "outer", 4 * p + 3: "outer"} for p in range(num_players)]
            mover = int(s["current_player"])
            for player in range(num_players):
                parts = game.fields.unflatten(observation_of(game, states, player))
                for place in range(4 * num_players):
                    owner, slot = divmod(place, 4)
                    card = int(s["row"][owner, slot])
                    look = parts["rows"][(owner - player) % num_players, slot]
                    is_visible = place in visible[player]
                    expected = np.zeros(4, np.float32)
                    if is_visible:
                        expected[:] = (1.0, card / 9, 0.0, 0.0)
                        if card >= 10:
                            expected[:] = (1.0, 0.0, 1.0, (card - 10) / 2)
                        shown[visible[player][place]] += 1
                    assert np.array_equal(look, expected)
                    if owner == player:
                        own = np.zeros(14, np.float32)
                        own[card if is_visible else 13] = 1.0
                        assert np.array_equal(parts["own_row"][slot], own)
                drawn = np.zeros(14, np.float32)
                drawn[s["drawn"] + 1 if player == mover else 0] = 1.0
                assert np.array_equal(parts["drawn"], drawn)
                shown["drawn"] += player == mover and s["drawn"] >= 0
                shown["nothing"] += not visible[player]
            action = int(rng.choice(np.flatnonzero(mask_of(game, states))))
            visible[mover] = {}  # he has had this observation
            if action < 4 or 6 <= action < 10:
                gone = 4 * mover + (action if action < 4 else action - 6)
                for view in visible:
                    view.pop(gone, None)
            elif 10 <= action < 90:
                slot, target = divmod(action - 10, 20)
                here = 4 * mover + slot
                there = 4 * ((mover + 1 + target // 4) % num_players) + target % 4
                moved = {here: there, there: here}
                visible = [{moved.get(p, p): why for p, why in view.items()} for view in visible]
            elif 90 <= action < 94:
                visible[mover][4 * mover + action - 90] = "peeked"
            game.rules.step(states, 0, action)
    assert min(shown.values()) > 20, shown


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
    assert changed > 0 or game.id != "beaver_gang"
