"""Swim for Your Life, by Lorenz Kutschke: majorities of animals, and lives that run out."""

from card_envs.engine.game import Game, Option
from card_envs.games.swim_for_your_life import rules
from card_envs.games.swim_for_your_life.heuristic import heuristic
from card_envs.games.swim_for_your_life.observation import (
    FIELDS,
    STATE_FIELDS,
    observe,
    write_state,
)
from card_envs.games.swim_for_your_life.parts import ACTION_PARTS
from card_envs.games.swim_for_your_life.text import action_name, describe, public_action_name

GAME = Game(
    id="swim_for_your_life",
    version=0,
    title="Swim for Your Life",
    min_players=rules.MIN_PLAYERS,
    max_players=rules.MAX_PLAYERS,
    num_actions=rules.NUM_ACTIONS,
    state_dtype=rules.STATE,
    fields=FIELDS,
    own_options=(
        Option(
            "expert",
            False,
            "the expert variant: no sudden death by cats, and sudden death gains a life",
        ),
    ),
    rules=rules,
    observe=observe,
    state_fields=STATE_FIELDS,
    write_state=write_state,
    heuristic=heuristic,
    action_parts=ACTION_PARTS,
    action_name=action_name,
    public_action_name=public_action_name,
    describe=describe,
)
