"""Animalia, by Malcolm Braff, Bruno Cathala and Sébastien Pauchon: take the card, or pass it."""

from card_envs.contract import Game, Option
from card_envs.games.animalia import rules, state
from card_envs.games.animalia.actions import ACTIONS, public_action_name
from card_envs.games.animalia.fields import FIELDS, STATE_FIELDS
from card_envs.games.animalia.heuristic import heuristic
from card_envs.games.animalia.observation import observe, write_state
from card_envs.games.animalia.outlook import outlook, round_of
from card_envs.games.animalia.scene import scene
from card_envs.games.animalia.style import STYLE

GAME = Game(
    id="animalia",
    version=0,
    title="Animalia",
    min_players=state.MIN_PLAYERS,
    max_players=state.MAX_PLAYERS,
    state_dtype=state.STATE,
    fields=FIELDS,
    rules=rules,
    observe=observe,
    scene=scene,
    actions=ACTIONS,
    public_action_name=public_action_name,
    own_options=(
        Option(
            "seasons",
            state.SEASONS,
            "the number of seasons",
            minimum=1,
            maximum=state.MAX_SEASONS,
        ),
    ),
    score_scale=rules.SCORE_SCALE,
    heuristic=heuristic,
    state_fields=STATE_FIELDS,
    write_state=write_state,
    round_of=round_of,
    outlook=outlook,
    style=STYLE,
)
