"""The games in OpenSpiel: the same games, information sets kept, search and CFR that work."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pyspiel
import pytest
from helpers import (
    ALL_GAMES,
    EACH_GAME,
    TABLES,
    agents_of,
    kit_of,
    mid_game,
    reserved_arguments,
)
from integrations.pages import run_page
from kuhn_poker import GAME as KUHN
from open_spiel.python.algorithms import cfr, exploitability, ismcts, mcts
from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

import card_envs
from card_envs.integrations.openspiel import load_game
from card_envs.render.text import describe

GAME = ALL_GAMES[0]

# Seeds of the six deals of Kuhn poker.
KUHN_DEALS = (0, 2, 4, 6, 8, 30)
OWN_GAMES = [pytest.param(game, id=game.id) for game in ALL_GAMES if kit_of(game).is_own]


def begin(game, deal=0):
    """A state after the deal."""
    state = game.new_initial_state()
    state.apply_action(deal)
    return state


def entries(states):
    """All entries of the record, without the padding between them."""
    return {name: states[name].tobytes() for name in states.dtype.names}


def random_states(game, seed, most=300):
    """A state after each decision of a random game, the deal first; always the same one."""
    rng = np.random.default_rng(seed)
    state = begin(game)
    for _ in range(most):
        yield state
        if state.is_terminal():
            return
        state.apply_action(rng.choice(state.legal_actions()))


@pytest.fixture(scope="module")
def page():
    return run_page("openspiel")


def test_no_option_can_have_the_name_of_an_argument():
    assert "deals" in reserved_arguments(load_game)


def test_search_beats_random_players(page):
    assert page["result"].low > 0


def test_cfr_finds_the_value_of_kuhn_poker(page):
    assert len(page["seeds"]) == 6
    assert page["value"] == pytest.approx(-1 / 18, abs=1e-3)
    assert 0 <= page["gap"] < 3e-3


def test_a_learning_environment_plays_whole_games(page):
    assert page["time_step"].last()
    assert sorted(set(page["time_step"].rewards)) == sorted(set(page["env"].get_state.returns()))


def test_cfr_takes_the_same_course_as_in_openspiels_kuhn_poker():
    games = (
        load_game("kuhn_poker", reward="score", deals=KUHN_DEALS),
        pyspiel.load_game("kuhn_poker"),
    )
    curves = []
    for game, chips in zip(games, (1 / KUHN.score_scale, 1.0), strict=True):
        solver = cfr.CFRSolver(game)
        curve = []
        for _ in range(20):
            solver.evaluate_and_update_policy()
            curve.append(chips * exploitability.exploitability(game, solver.average_policy()))
        curves.append(curve)
    assert curves[0] == pytest.approx(curves[1], abs=1e-12)
    assert curves[0][-1] < curves[0][0] / 5


@pytest.mark.parametrize(("game", "num_players"), TABLES)
@pytest.mark.parametrize("reward", ["rank", "win", "score"])
def test_a_game_is_that_of_the_environment(game, num_players, reward):
    options = {**kit_of(game).short_options, "num_players": num_players, "reward": reward}
    seed = 7 + num_players
    spiel = load_game(game.name, seed=seed, **options)
    env = card_envs.make(game.name, on_illegal="raise", **options)
    forgetful = card_envs.make(game.name, memory="none", on_illegal="raise", **options)
    env.reset(seed=seed)
    forgetful.reset(seed=seed)
    rng = np.random.default_rng(seed)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    state = begin(spiel)
    agents = agents_of(game, num_players)
    while env.legal_actions():
        assert agents[state.current_player()] == env.agent_selection
        assert state.legal_actions() == env.legal_actions()
        if rng.random() < 0.1:
            for player, agent in enumerate(agents):
                expected = env.observe(agent)["observation"]
                assert (np.float32(state.information_state_tensor(player)) == expected).all()
                expected = forgetful.observe(agent)["observation"]
                assert (np.float32(state.observation_tensor(player)) == expected).all()
        action = int(rng.choice(env.legal_actions()))
        assert state.action_to_string(action) == env.action_name(action)
        state.apply_action(action)
        env.step(action)
        forgetful.step(action)
        assert state.rewards() == list(env.rewards.values())
        for agent, paid in env.rewards.items():
            totals[agent] += paid
        assert state.returns() == pytest.approx(list(totals.values()))
    assert state.is_terminal()
    assert state.legal_actions() == []
    assert sum(state.returns()) == pytest.approx(spiel.utility_sum())
    assert spiel.min_utility() <= min(state.returns())
    assert max(state.returns()) <= spiel.max_utility()


@pytest.mark.parametrize("game", EACH_GAME)
def test_openspiels_own_check_passes(game):
    spiel = load_game(game.name, seed=1, **kit_of(game).short_options)
    pyspiel.random_sim_test(spiel, num_sims=2, serialize=False, verbose=False)


def test_random_deals_follow_from_the_seed_as_in_environments():
    game, env = load_game(GAME.id, seed=5), card_envs.make(GAME.id)
    assert game.get_type().chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
    env.reset(seed=5)
    for _ in range(3):
        state = begin(game)
        assert entries(state.states) == entries(env.states)
        env.reset()


def test_listed_deals_are_the_outcomes_of_the_chance_node():
    game = load_game(GAME.id, deals=(3, 9, 9, 2**64 - 1))
    assert game.get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    root = game.new_initial_state()
    assert root.chance_outcomes() == [(k, 0.25) for k in range(4)]
    env = card_envs.make(GAME.id)
    for outcome, seed in enumerate((3, 9, 9, 2**64 - 1)):
        env.reset(seed=seed)
        assert entries(begin(game, outcome).states) == entries(env.states)
    names = [root.action_to_string(-1, outcome) for outcome in range(4)]
    assert names == ["deal 0", "deal 1", "deal 2", "deal 3"]
    assert [root.string_to_action(-1, name) for name in names] == [0, 1, 2, 3]
    pyspiel.random_sim_test(game, num_sims=2, serialize=False, verbose=False)


@pytest.mark.parametrize("game", EACH_GAME)
def test_clones_and_serialized_states_go_on_alike_and_apart(game):
    spiel = load_game(game.name, seed=2)
    for number, state in enumerate(random_states(spiel, seed=3, most=30)):
        if state.is_terminal() or number % 5:
            continue
        twins = [
            state.clone(),
            spiel.deserialize_state(state.serialize()),
            copy.copy(state),
            copy.deepcopy(state),
            travel(state),
        ]
        before = entries(state.states)
        for twin in twins:
            assert entries(twin.states) == before
            assert twin.history() == state.history()
            for _ in range(4):
                if not twin.is_terminal():
                    twin.apply_action(twin.legal_actions()[0])
        assert entries(state.states) == before
        assert state.returns() != twins[0].returns() or not twins[0].is_terminal()
        assert all(entries(twin.states) == entries(twins[0].states) for twin in twins)


def travel(value):
    """It comes out of a pickle whose buffers may not be written."""
    buffers = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])


@pytest.mark.parametrize("game", EACH_GAME)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, travel])
def test_games_and_observers_are_copied_and_pickled(game, copied):
    spiel = load_game(game.name, seed=2)
    twin = copied(spiel)
    state, other = begin(spiel), begin(twin)
    assert entries(state.states) == entries(other.states)
    assert str(copied(spiel.new_initial_state())) == "before the deal"
    observer = spiel.make_py_observer()
    observer.set_from(state, 0)
    again = copied(observer)
    assert again.tensor.tolist() == observer.tensor.tolist()
    again.set_from(state, 1)
    observer.set_from(state, 1)
    assert all((again.dict[name] == field).all() for name, field in observer.dict.items())


@pytest.mark.parametrize("is_dealt", [False, True])
def test_states_of_other_tables_are_refused(is_dealt):
    tables = [
        load_game(GAME.id, num_players=3, seed=1),
        load_game(GAME.id, num_players=5, seed=1),
        load_game(GAME.id, num_players=3, seed=1, reward="win"),
        load_game(ALL_GAMES[1].id, num_players=3, seed=1),
    ]
    for spiel in tables:
        state = begin(spiel) if is_dealt else spiel.new_initial_state()
        data = state.serialize()
        assert spiel.deserialize_state(data).returns() == state.returns()
        for other in tables:
            if other is not spiel:
                with pytest.raises(ValueError, match=r"a state of .* is needed, got '"):
                    other.deserialize_state(data)
        for damaged in ("", "nonsense", data.partition("\n")[2]):
            with pytest.raises(ValueError, match=r"a state of .* is needed, got "):
                spiel.deserialize_state(damaged)


@pytest.mark.parametrize("game", EACH_GAME)
def test_resampling_keeps_what_a_player_knows_and_redraws_the_rest(game):
    spiel = load_game(game.name, seed=4, **kit_of(game).short_options)
    cells = kit_of(game).cells
    sampler = pyspiel.UniformProbabilitySampler(1, 0.0, 1.0)
    has_varied = False
    for number, state in enumerate(random_states(spiel, seed=5, most=60)):
        if number % 6 or state.is_terminal():
            continue
        for player in range(spiel.num_players()):
            worlds = [state.resample_from_infostate(player, sampler) for _ in range(8)]
            for world in worlds:
                known = state.information_state_string(player)
                assert world.information_state_string(player) == known
                assert world.current_player() == state.current_player()
                if player == state.current_player():
                    assert world.legal_actions() == state.legal_actions()
            found = {cells(world.states).tobytes() for world in worlds}
            has_varied |= len(found) > 1
    assert has_varied


@pytest.mark.parametrize("game", OWN_GAMES)
def test_search_plays_in_every_game(game):
    spiel = load_game(game.name, num_players=3, seed=6)
    rng = np.random.RandomState(7)
    evaluator = mcts.RandomRolloutEvaluator(1, rng, max_length=40)
    bot = ismcts.ISMCTSBot(spiel, evaluator, 1.0, max_simulations=12, random_state=rng)
    state = begin(spiel)
    choices = 0
    while not state.is_terminal() and choices < 12:
        choices += len(state.legal_actions()) > 1
        state.apply_action(bot.step(state))  # an illegal one raises
    assert choices


@pytest.mark.parametrize("game", EACH_GAME)
def test_an_information_state_is_that_of_one_player_and_one_observation(game):
    spiel = load_game(game.name, seed=8, **kit_of(game).short_options)
    observer = make_observation(spiel, INFO_STATE_OBS_TYPE)
    root = spiel.new_initial_state()
    assert root.information_state_string(0) != root.information_state_string(1)
    for state in random_states(spiel, seed=9, most=80):
        for player in range(spiel.num_players()):
            observer.set_from(state, player)
            observation = observer.tensor.copy()
            string = observer.string_from(state, 0 if player else 1)
            assert (observer.tensor == observation).all(), "the string overwrites the tensor"
            assert string != observer.string_from(state, player)
            units = state.information_state_string(player).removeprefix(f"player {player}: ")
            units = np.frombuffer(bytes.fromhex(units), np.uint8)
            assert (units.astype(np.float32) / game.fields.scale == observation).all()
    fields = game.fields.unflatten(observer.tensor)
    assert {name: view.shape for name, view in fields.items()} == {
        name: view.shape for name, view in observer.dict.items()
    }


def test_games_are_described_by_their_options():
    game = load_game(GAME.id, num_players=5, reward="win", max_steps=50)
    assert (game.num_players(), game.num_distinct_actions()) == (5, GAME.num_actions)
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (0.0, 1.0, 1.0)
    assert game.max_game_length() == 50
    assert game.max_history_length() == 51
    *_, last = random_states(game, seed=10)
    assert last.is_terminal()
    assert last.move_number() == 51
    kinds = pyspiel.GameType
    for reward, utility, model in [
        ("rank", kinds.Utility.ZERO_SUM, kinds.RewardModel.TERMINAL),
        ("win", kinds.Utility.CONSTANT_SUM, kinds.RewardModel.TERMINAL),
        ("score", kinds.Utility.ZERO_SUM, kinds.RewardModel.REWARDS),
    ]:
        game_type = load_game(ALL_GAMES[1].id, reward=reward).get_type()
        assert (game_type.utility, game_type.reward_model) == (utility, model)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_players": 9}, ValueError, "2 to 6 players"),
        ({"reward": "chips"}, ValueError, "'rank' or 'win' or 'score'"),
        ({"cards": 3}, TypeError, "no option 'cards'.*num_players, deals, seed"),
        ({"memory": "none"}, TypeError, "option of an observer"),
        ({"deals": []}, ValueError, "one deal or more"),
        ({"deals": [1.5]}, TypeError, "whole number"),
        ({"deals": [None]}, TypeError, "whole number"),
        ({"deals": [-1]}, ValueError, "from 0 to"),
        ({"deals": [1], "seed": 1}, ValueError, "not both"),
        ({"seed": "x"}, TypeError, "whole number"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        load_game(GAME.id, **arguments)


@pytest.mark.parametrize("action", [-2, 97, 10**9])
def test_illegal_actions_are_refused_and_change_nothing(action):
    game = load_game(GAME.id, seed=0)
    for state in (game.new_initial_state(), begin(game)):
        with pytest.raises(ValueError, match="not legal; legal actions"):
            state.apply_action(action)
        assert state.history() == begin(game).history()[: len(state.history())]
    state = begin(game)
    before = entries(state.states)
    illegal = next(a for a in range(97) if a not in state.legal_actions())
    with pytest.raises(ValueError, match=f"action {illegal} is not legal"):
        state.apply_action(illegal)
    assert entries(state.states) == before
    assert state.move_number() == 1


def test_players_and_observers_that_do_not_exist_are_refused():
    game = load_game(GAME.id, num_players=3, seed=0)
    state, sampler = begin(game), pyspiel.UniformProbabilitySampler(0.0, 1.0)
    with pytest.raises(ValueError, match="players are from 0 to 2, got 3"):
        state.resample_from_infostate(3, sampler)
    with pytest.raises(ValueError, match="players are from 0 to 2, got -1"):
        make_observation(game).set_from(state, -1)
    with pytest.raises(ValueError, match="before the deal"):
        game.new_initial_state().resample_from_infostate(0, sampler)
    everything = pyspiel.IIGObservationType(
        perfect_recall=True, private_info=pyspiel.PrivateInfoType.ALL_PLAYERS
    )
    with pytest.raises(ValueError, match="SINGLE_PLAYER"):
        make_observation(game, everything)


def test_the_table_is_shown_as_the_player_to_move_sees_it():
    game = load_game(GAME.id, num_players=3, seed=0)
    assert str(game.new_initial_state()) == "before the deal"
    state = begin(game)
    player = state.current_player()
    assert str(state) == describe(game.card_game, state.states, 0, player)
    assert game.new_initial_state().action_to_string(0) == "deal"
    env = mid_game(game.card_game, 3)
    assert env.action_name(1) == state.action_to_string(1)


_CPP_BOT = """
import pyspiel
import open_spiel.python.games.kuhn_poker

game = pyspiel.load_game("python_kuhn_poker")
evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
bots = {
    "MCTSBot": lambda: pyspiel.MCTSBot(game, evaluator, 1.0, 20, 10, False, 0, False),
    "ISMCTSBot": lambda: pyspiel.ISMCTSBot(0, evaluator, 1.0, 20),
}
state = game.new_initial_state()
state.apply_action(0)
state.apply_action(1)
bots[%r]().step(state)
"""


@pytest.mark.parametrize("bot", ["MCTSBot", "ISMCTSBot"])
def test_the_page_is_right_that_search_in_cpp_crashes_on_openspiels_own_python_games(bot):
    done = subprocess.run([sys.executable, "-c", _CPP_BOT % bot], capture_output=True)
    assert done.returncode < 0, "it was killed by a signal"
