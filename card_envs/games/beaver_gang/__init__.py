"""Beaver Gang, by Monty and Ann Stambler: four face-down cards, the lowest sum wins."""

from card_envs.engine.game import Game, Option
from card_envs.games.beaver_gang import rules
from card_envs.games.beaver_gang.heuristic import heuristic
from card_envs.games.beaver_gang.observation import FIELDS, STATE_FIELDS, observe, write_state
from card_envs.games.beaver_gang.parts import ACTION_PARTS
from card_envs.games.beaver_gang.text import action_name, describe, public_action_name

GAME = Game(
    id="beaver_gang",
    version=0,
    title="Beaver Gang",
    min_players=rules.MIN_PLAYERS,
    max_players=rules.MAX_PLAYERS,
    num_actions=rules.NUM_ACTIONS,
    state_dtype=rules.STATE,
    fields=FIELDS,
    own_options=(
        Option(
            "rounds",
            None,
            "rounds of a game; None: as many as players, four with two players",
            minimum=1,
            maximum=1_000_000,
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
