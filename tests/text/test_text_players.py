"""The texts hold all that the scripted player needs, and what an observation holds.

Players of ``benchmarks.text_players`` rebuild a record from a text. The scripted player does the
same there as at the real table, and an observation of it is the same.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import TABLES, Habits, kit_of, observation_of

import card_envs
from benchmarks.text_players import TextPlayer

# Readers are written for the scripted players of this package.
SCRIPTED = [
    param
    for param in TABLES
    if kit_of(param.values[0]).is_own and param.values[0].heuristic is not None
]
scripted_tables = pytest.mark.parametrize(("game", "num_players"), SCRIPTED)


def positions(game, num_players, seed, decisions=60):
    """Texts and records along a habitual game; every third seed with the options turned round."""
    options = dict(kit_of(game).short_options)
    if seed % 3 == 2:
        own = game.own_options
        options |= {o.name: not o.default for o in own if isinstance(o.default, bool)}
    env = card_envs.make_text(game.name, num_players=num_players, **options)
    env.reset(seed=seed)
    habits = Habits(game, seed)
    for _ in range(decisions):
        player, text = env.get_observation()
        yield player, text, env.aec.states
        if env.step(f"[{habits.choose(env.aec.states)}]")[0]:
            return


@scripted_tables
def test_a_player_who_reads_plays_as_the_scripted_one(game, num_players):
    reader = TextPlayer(game)
    for seed in range(3):
        for _, text, states in positions(game, num_players, seed):
            action = int(game.heuristic(states, 0))
            assert reader(text) == f"I choose [{game.action_name(action)}].", text


@scripted_tables
def test_what_an_observation_holds_is_in_the_text(game, num_players):
    reader = TextPlayer(game)
    differences = set()
    for seed in range(2):
        for player, text, states in positions(game, num_players, seed):
            told = observation_of(game, reader.record(text), player)
            seen = observation_of(game, states, player)
            for field in game.fields:
                first = game.fields.offset(field.name)
                last = first + int(np.prod(field.shape))
                if not np.array_equal(told[first:last], seen[first:last]):
                    differences.add(field.name)
    assert differences <= set(kit_of(game).beyond_words)


@scripted_tables
def test_what_is_hidden_follows_from_the_text_as_well(game, num_players):
    """A record from a text can be redrawn like the real one, where that is how it is made."""
    reader = TextPlayer(game)
    for _, text, states in positions(game, num_players, 1, 40):
        player = int(states["current_player"][0])
        record = reader.record(text)
        before = observation_of(game, record, player)
        game.rules.determinize(record, 0, player, np.uint64(3))
        assert np.array_equal(observation_of(game, record, player), before)
