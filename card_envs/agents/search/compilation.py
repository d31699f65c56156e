"""Search by rollouts: templates compiled for each game like those of ``templates``.

A decision is searched in worlds that are possible for the player to move: copies of the record,
redrawn with ``determinize``. Everything else depends only on what they observe.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from card_envs.agents.search.likely_worlds import log_likelihood, no_look_back, weigh_worlds
from card_envs.agents.search.rollouts import no_outlook, play_on, propose, search_games
from card_envs.contract.game import Game
from card_envs.kernels.jit import specialize


@cache
def compile_search(
    game: Game, search_one: Callable[..., Any], parallel: bool = False
) -> Callable[..., Any]:
    """``search_games`` by a method, compiled for a game; always the same function."""
    return specialize(search_games, names_of(game, search_one), parallel=parallel)


def names_of(game: Game, search_one: Callable[..., Any]) -> dict[str, Any]:
    """What the names in ``search_games`` stand for, for a game and a method."""
    namespace = {
        **game.namespace,
        "round_of": game.round_of,
        "outlook": game.outlook or no_outlook,
        "look_back": game.look_back or no_look_back,
        "HAS_HEURISTIC": game.heuristic is not None,
    }
    for part in (play_on, propose, log_likelihood, weigh_worlds):
        namespace[part.__name__] = specialize(part, namespace)
    return {**namespace, "search_one": specialize(search_one, namespace)}
