"""Beaver Gang, by Monty and Ann Stambler: four face-down cards, the lowest sum wins."""

from card_envs.contract import Game, Option
from card_envs.games.beaver_gang import rules, state
from card_envs.games.beaver_gang.actions import ACTIONS
from card_envs.games.beaver_gang.heuristic import heuristic
from card_envs.games.beaver_gang.observation import FIELDS, STATE_FIELDS, observe, write_state
from card_envs.games.beaver_gang.outlook import outlook, round_of
from card_envs.games.beaver_gang.scene import scene
from card_envs.games.beaver_gang.style import STYLE

GAME = Game(
    id="beaver_gang",
    version=0,
    title="Beaver Gang",
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
            "rounds",
            None,
            "rounds of a game; None: as many as players, four with two players",
            minimum=1,
            maximum=1_000_000,
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
