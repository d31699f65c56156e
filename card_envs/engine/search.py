"""Search by rollouts: templates that are compiled for each game as those of ``templates``.

A decision is searched in worlds that the player to move holds possible: copies of the record,
redrawn with ``determinize``. Everything else follows from what they observe.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

from card_envs.engine.game import Game
from card_envs.engine.jit import specialize
from card_envs.engine.likely_worlds import (
    add_up,
    draw_world,
    log_likelihood,
    log_probability,
    no_look_back,
    weigh_worlds,
)
from card_envs.engine.outcome import RANK
from card_envs.engine.perceptron import LAYERS, choose_by_network, most_probable, write_logits
from card_envs.engine.rng import mix, seed_in, unit_of
from card_envs.engine.search_halving import (
    count_worlds,
    decide,
    keep_best,
    search_one,
    weighted_mean,
    worlds_of_phase,
)
from card_envs.engine.search_rollouts import (
    DECISIONS,
    EVALUATIONS,
    WORLDS,
    count_likely,
    hash_of,
    no_outlook,
    no_round,
    play_on,
    propose,
)
from card_envs.engine.search_tree import (
    CHILD,
    KEY,
    MAX_DEPTH,
    SIBLING,
    VISITS,
    descend,
    grow_tree,
    outcome,
)
from card_envs.engine.seeds import random_action
from card_envs.engine.templates import HEURISTIC, NETWORK


@cache
def compile_search(
    game: Game, template: Callable[..., Any], parallel: bool = False
) -> Callable[..., Any]:
    """``search_games`` or ``search_tree`` compiled for a game; always the same function."""
    namespace = {
        "np": np,
        "prange": numba.prange,
        **game.namespace,
        "round_of": game.round_of or no_round,
        "outlook": game.outlook or no_outlook,
        "look_back": game.look_back or no_look_back,
        "HAS_HEURISTIC": game.heuristic is not None,
        "LAYERS": LAYERS,
        "WORLDS": WORLDS,
        "DECISIONS": DECISIONS,
        "EVALUATIONS": EVALUATIONS,
        "RANK": RANK,
        "HEURISTIC": HEURISTIC,
        "NETWORK": NETWORK,
        "mix": mix,
        "seed_in": seed_in,
        "hash_of": hash_of,
        "random_action": random_action,
        "choose_by_network": choose_by_network,
        "most_probable": most_probable,
        "write_logits": write_logits,
        "MAX_DEPTH": MAX_DEPTH,
        "KEY": KEY,
        "CHILD": CHILD,
        "SIBLING": SIBLING,
        "VISITS": VISITS,
        "descend": descend,
        "outcome": outcome,
        "add_up": add_up,
        "draw_world": draw_world,
        "log_probability": log_probability,
        "count_likely": count_likely,
        "count_worlds": count_worlds,
        "worlds_of_phase": worlds_of_phase,
        "weighted_mean": weighted_mean,
        "unit_of": unit_of,
        "keep_best": keep_best,
        "decide": decide,
    }
    for part in (play_on, propose, log_likelihood, weigh_worlds, search_one, grow_tree):
        namespace[part.__name__] = specialize(part, dict(namespace))
    return specialize(template, namespace, parallel=parallel)
