"""The texts hold what an observation holds: what changes one changes the other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from helpers import FEW_TABLES, copy_of, is_over, kit_of, mask_of, observation_of, positions_of

from card_envs.render.text import describe


def text_of(game, states, player):
    """What a player reads: the table, and their legal actions. None: no such table can be told."""
    is_mover = player == states["current_player"][0] and not is_over(states)
    legal = np.flatnonzero(mask_of(game, states)).tolist() if is_mover else []
    try:
        return describe(game, states, 0, player), legal
    except (KeyError, IndexError):  # a phase in which no game is over, an answer to no request
        return None


def changes_in(game, num_players):
    """Changes that are observed: the fields that differ, and whether the text does too.

    A change gives one number of a position the value that it has in another position.
    """
    rng = np.random.default_rng(num_players)
    positions = positions_of(game, num_players)[::10]
    # A table has its size, and players count decisions themselves.
    entries = [name for name in game.state_dtype.names if name not in ("num_players", "steps")]
    for number, states in enumerate(positions):
        player = number % num_players
        other = positions[rng.integers(len(positions))]
        observation, text = observation_of(game, states, player), text_of(game, states, player)
        for name in entries:
            places = np.argwhere(states[name] != other[name])
            for place in map(tuple, rng.permutation(places)[:3]):
                changed = copy_of(game, states)
                changed[name][place] = other[name][place]
                differs = observation_of(game, changed, player) != observation
                if differs.any():
                    fields = game.fields.unflatten(differs)
                    names = {name for name, values in fields.items() if values.any()}
                    yield names, text_of(game, changed, player) != text


@pytest.mark.parametrize(("game", "num_players"), FEW_TABLES)
def test_what_changes_an_observation_changes_the_text(game, num_players):
    """Mostly: some entries of a record follow from others, which the text shows in their place."""
    found, told = Counter(), Counter()
    for fields, is_told in changes_in(game, num_players):
        found.update(fields)
        told.update(fields if is_told else ())
    kit = kit_of(game)
    skipped = {*kit.beyond_words, *kit.follow_in_words, *(f.name for f in game.fields if f.derived)}
    untold = {
        name: f"{told[name]} of {count}"
        for name, count in found.items()
        if count >= 16 and told[name] < count / 2 and name not in skipped
    }
    assert not untold
    assert sum(told.values()) > 20
