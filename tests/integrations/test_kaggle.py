"""Kaggle's environments: the same games, words that hide what they must, and its harness."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import subprocess
import sys

import kaggle_environments
import numpy as np
import pytest
from helpers import ALL_GAMES, FEW_GAMES, kit_of, reserved_arguments
from integrations.endpoint import legal_answer, serve_model
from integrations.pages import PAGES, run_page
from kaggle_environments.core_harness import create_agent_fn

import card_envs
from card_envs.integrations.kaggle import CardHarness, make_env
from card_envs.utils.extras import MissingExtraError

GAME = ALL_GAMES[0]
OPTIONS = kit_of(GAME).short_options


def test_no_option_can_have_the_name_of_an_argument():
    assert "configuration" in reserved_arguments(make_env)


def begin(env):
    """Deal: Kaggle does so in a first step, in which nobody decides anything."""
    env.reset()
    env.step([None] * len(env.state))


def play(env, choose):
    """Step to the end of the game: ``choose`` gives the action of the player to move."""
    begin(env)
    while not env.done:
        actions = [
            {"submission": choose(seat.observation)} if seat.status == "ACTIVE" else None
            for seat in env.state
        ]
        yield env.state
        env.step(actions)


def test_the_page():
    page = run_page("kaggle")
    assert sorted(state.status for state in page["env"].state) == ["DONE"] * 3
    assert sum(state.reward for state in page["env"].state) == pytest.approx(0)
    text = (PAGES / "kaggle.md").read_text(encoding="utf-8")
    assert f"kaggle-environments {kaggle_environments.__version__}" in text


def test_an_environment_that_runs_again_deals_again():
    """Also after a game that an illegal move ended, and beside another environment."""
    env, other = (make_env(GAME.name, num_players=GAME.min_players, **OPTIONS) for _ in range(2))
    histories, agents = [], ["random"] * GAME.min_players
    for _ in range(4):
        env.run(agents)
        histories.append(env.info["stateHistory"])
        assert env.info["actionHistory"]
    assert len({str(history[1]) for history in histories}) > 1
    env.run([lambda observation: {"submission": -5}, *agents[1:]])
    env.run(agents)
    assert env.done
    assert env.info["stateHistory"][0] == histories[0][0]
    assert other.info.get("stateHistory", [])[1:] == []
    seeded = make_env(GAME.name, configuration={"seed": 3}, **OPTIONS)
    first = [begin(seeded), copy.deepcopy(seeded.state)][1]
    begin(seeded)
    assert str(seeded.state) == str(first)


@pytest.mark.parametrize("game", [param for param in FEW_GAMES if not param.marks])
def test_a_game_is_that_of_the_environment(game):
    options = kit_of(game).short_options
    env = make_env(game.name, configuration={"seed": 7}, **options)
    aec = card_envs.make(game.name, on_illegal="raise", **options)
    aec.reset(seed=7)
    rng, chosen = np.random.default_rng(1), []

    def choose(observation):
        chosen.append(int(rng.choice(observation.legalActions)))
        return chosen[-1]

    for state in play(env, choose):
        (active,) = (k for k, seat in enumerate(state) if seat.status == "ACTIVE")
        assert f"player_{active}" == aec.agent_selection
        legal = aec.legal_actions()
        assert state[active].observation.legalActions == legal
        names = [aec.action_name(action) for action in legal]
        assert state[active].observation.legalActionStrings == names
        aec.step(chosen[-1])
    assert len(chosen) > 1
    assert not aec.legal_actions()
    rewards = [aec.rewards[agent] for agent in aec.possible_agents]
    assert [seat.reward for seat in env.state] == pytest.approx(rewards)


def test_the_seed_of_the_configuration_is_the_deal():
    def first(seed):
        env = make_env(GAME.id, configuration={"seed": seed}, **OPTIONS)
        begin(env)
        return [seat.observation.observationString for seat in env.state]

    assert first(3) == first(3) != first(4)


def test_an_environment_deals_the_cards_of_its_seed_in_every_game():
    env = make_env(GAME.id, configuration={"seed": 42}, **OPTIONS)
    deals = []
    for _ in range(2):
        begin(env)
        deals.append([seat.observation.observationString for seat in env.state])
    assert deals[0] == deals[1]


def test_copies_of_its_games_hide_what_they_must():
    env = make_env(GAME.id, configuration={"seed": 42}, **OPTIONS)
    begin(env)
    game, state = env.os_game, env.os_state
    for made in (copy.copy(game), copy.deepcopy(game), pickle.loads(pickle.dumps(game))):
        assert type(made) is type(game)
        assert made.get_parameters() == game.get_parameters()
        assert made.new_initial_state().hides_state_from_agents()
    for made in (state.clone(), pickle.loads(pickle.dumps(state))):
        assert made.hides_state_from_agents()
        assert made.observation_string(0) == state.observation_string(0)


def test_table_sizes_and_options_do_not_mix():
    three = make_env(GAME.id, num_players=3, configuration={"seed": 1}, **OPTIONS)
    two = make_env(GAME.id, num_players=2, configuration={"seed": 1}, **OPTIONS)
    for env, players in ((three, 3), (two, 2), (three, 3)):
        begin(env)
        assert len(env.state) == players
        assert env.os_game.num_players() == players


def test_words_hide_what_a_player_cannot_know():
    env = make_env(GAME.id, num_players=3, configuration={"seed": 2}, **OPTIONS)
    changed = 0
    states = play(env, lambda observation: observation.legalActions[0])
    for decision, state in enumerate(states):
        for player, seat in enumerate(state):
            assert "serializedGameAndState" not in seat.observation
            twin = env.os_state.clone()
            GAME.rules.determinize(twin.states, 0, player, np.uint64(decision))
            changed += twin.states.tobytes() != env.os_state.states.tobytes()
            assert twin.observation_string(player) == seat.observation.observationString
            is_asked = seat.status == "ACTIVE"
            assert ("Your legal actions" in seat.observation.observationString) == is_asked
    assert changed


def test_an_illegal_action_loses():
    env = make_env(GAME.id, num_players=3, configuration={"seed": 2}, **OPTIONS)
    for _ in play(env, lambda observation: 9999):
        pass
    assert sorted(seat.reward for seat in env.state) == [-1, 1, 1]


def test_the_harness_reads_answers_and_complains():
    harness = CardHarness(GAME.id)
    env = make_env(GAME.id, num_players=3, configuration={"seed": 2}, **OPTIONS)
    begin(env)
    (seat,) = (seat for seat in env.state if seat.status == "ACTIVE")
    names = seat.observation.legalActionStrings
    legal = harness.get_legal_moves(seat.observation)
    assert list(legal.values()) == names
    for action, name in legal.items():
        for answer in (f"[{action}]", f"I think: [{name}]"):
            parsed = harness.parse_response(answer, names, observation=seat.observation)
            assert parsed.legal_action == name
    parsed = harness.parse_response("[to fly]", names, observation=seat.observation)
    assert (parsed.legal_action, parsed.raw_action) == (None, "to fly")
    text = harness.make_prompt(seat.observation, [])
    assert text.startswith(f"You play {GAME.title} with 2 other players.")
    again = harness.make_prompt(seat.observation, [], "[to fly]", "to fly")
    assert again == f'"to fly" is none of your legal actions. Answer again.\n\n{text}'


def test_models_play_whole_games(monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    table = {"num_players": 2, "max_steps": 12, "configuration": {"seed": 1}}
    with serve_model() as address:
        model = "openai/model", {"api_base": address, "api_key": "none"}
        agents = [create_agent_fn(CardHarness(GAME.id), model_override=model) for _ in range(2)]
        env = make_env(GAME.id, **table)
        env.run(agents)
    assert [seat.status for seat in env.state] == ["DONE"] * 2
    twin = make_env(GAME.id, **table)
    for _ in play(twin, lambda seen: int(legal_answer(seen.observationString)[10:-1])):
        pass
    assert env.info["actionHistory"] == twin.info["actionHistory"]
    assert [seat.reward for seat in env.state] == [seat.reward for seat in twin.state]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"game": "no_such_game"}, ValueError, GAME.id),
        ({"num_players": 99}, ValueError, "num_players"),
        ({"no_such_option": 1}, TypeError, "no_such_option"),
        ({"reward": "gold"}, ValueError, "reward"),
        ({"configuration": {"seed": 2**31}}, ValueError, "seed must be from 0 to 2147483647"),
        ({"configuration": {"seed": -1}}, ValueError, "seed must be"),
        ({"configuration": {"seed": 1.5}}, TypeError, "seed must be"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        make_env(**{"game": GAME.id, **arguments})


def test_a_program_that_made_an_environment_ends_in_peace():
    """OpenSpiel's registry holds on to the game when Python is gone."""
    code = f"from card_envs.integrations.kaggle import make_env; make_env({GAME.id!r}).reset()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_without_the_tool_the_extra_is_named(monkeypatch):
    name = "card_envs.integrations.kaggle"
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kaggle_environments", None)
    with pytest.raises(MissingExtraError, match=r"card_envs\[kaggle\]"):
        importlib.import_module(name)
