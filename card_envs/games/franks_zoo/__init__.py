"""Frank's Zoo, by Doris Matthäus and Frank Nestel: a climbing game with changing partners."""

from card_envs.contract import Game, Option
from card_envs.games.franks_zoo import rules, state
from card_envs.games.franks_zoo.actions import ACTIONS, public_action_name
from card_envs.games.franks_zoo.heuristic import heuristic
from card_envs.games.franks_zoo.observation import (
    FIELDS,
    STATE_FIELDS,
    observe,
    write_state,
)
from card_envs.games.franks_zoo.outlook import look_back, outlook, round_of
from card_envs.games.franks_zoo.scene import scene
from card_envs.games.franks_zoo.style import STYLE

GAME = Game(
    id="franks_zoo",
    version=0,
    title="Frank's Zoo",
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
            "partners",
            True,
            "whether partners change from hand 2 on; three players never have any",
        ),
        Option(
            "target_score",
            state.TARGET_SCORE,
            "the points that two players (of three: one) must have for the game to end",
            minimum=1,
            maximum=state.MAX_TARGET_SCORE,
        ),
    ),
    score_scale=rules.SCORE_SCALE,
    heuristic=heuristic,
    state_fields=STATE_FIELDS,
    write_state=write_state,
    round_of=round_of,
    outlook=outlook,
    look_back=look_back,
    partners_from=4,
    style=STYLE,
)
