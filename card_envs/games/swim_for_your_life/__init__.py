"""Swim for Your Life, by Lorenz Kutschke: majorities of animals, and lives that run out."""

from card_envs.contract import Game, Option
from card_envs.games.swim_for_your_life import rules, state
from card_envs.games.swim_for_your_life.actions import ACTIONS
from card_envs.games.swim_for_your_life.heuristic import heuristic
from card_envs.games.swim_for_your_life.observation import (
    FIELDS,
    STATE_FIELDS,
    observe,
    write_state,
)
from card_envs.games.swim_for_your_life.outlook import look_back, outlook, round_of
from card_envs.games.swim_for_your_life.scene import scene
from card_envs.games.swim_for_your_life.style import STYLE

GAME = Game(
    id="swim_for_your_life",
    version=0,
    title="Swim for Your Life",
    min_players=state.MIN_PLAYERS,
    max_players=state.MAX_PLAYERS,
    state_dtype=state.STATE,
    fields=FIELDS,
    rules=rules,
    observe=observe,
    scene=scene,
    actions=ACTIONS,
    own_options=(
        Option(
            "expert",
            False,
            "whether the expert variant is played: cats cause no sudden death, and a player who "
            "causes one gains a life",
        ),
    ),
    score_scale=rules.SCORE_SCALE,
    heuristic=heuristic,
    state_fields=STATE_FIELDS,
    write_state=write_state,
    round_of=round_of,
    outlook=outlook,
    look_back=look_back,
    style=STYLE,
)
