"""Which redrawn worlds a search looks at, as templates: compiled for each game with ``search``.

``determinize`` makes every arrangement of the hidden cards equally likely. But players' actions
tell something about their cards: worlds in which the rollout policy would have acted in the same
way should be chosen more often. So worlds are drawn, weighted by the likelihood of the observed
decisions, and resampled in proportion to their weights. A world that is drawn again is not played
again but counts more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.search.rollouts import EVALUATIONS, WORLDS
from card_envs.kernels.jit import jit
from card_envs.kernels.perceptron import LOGITS, most_probable, total_of, write_logits
from card_envs.kernels.portable_math import exp, log
from card_envs.kernels.rng import seed_in

# Players are assumed to choose any legal action at this rate, whatever the policy says.
_SLIP = 1.0 / 20

# What happens in a world in which what was seen cannot be.
_IMPOSSIBLE = -30.0

# Weights are evened out until they are worth as many equal ones as there will be worlds to play in,
# or as this share of those that are weighed: what a few worlds say would not be sure.
_LEAST_SHARE = 0.3
_BISECTIONS = 12

# After this many draws without a new world the search for worlds stops.
_MOST_DRAWS = 64

_GOLDEN = 0.6180339887498949


class Evidence(NamedTuple):
    """Earlier decisions of others, and room to weight worlds by them in one game.

    Where worlds are not weighed, H and W are 0.
    """

    past: NDArray[np.void]  #: records (H,): the games before these decisions
    actions: NDArray[np.int64]  #: (H,), what they did
    bounds: NDArray[np.int64]  #: (M + 1,): from ``bounds[j]`` to ``bounds[j + 1]`` are game j's
    recalled: NDArray[np.void]  #: records (M,), to be overwritten, as is all that follows
    log_weights: NDArray[np.float64]  #: (W,), of the worlds that are weighed
    slots: NDArray[np.int64]  #: (W,), of ``draw_world``


def weigh_worlds(states, i, j, stream, policy, room, origins, evidence, used, work):
    """Weight worlds for a decision in game ``i``, of which about ``used`` will be played.

    Returns the sum of their weights; 0: all worlds are equally likely.
    """
    past, actions, bounds, recalled, log_weights, slots = evidence
    drawn = len(log_weights)
    player = np.int64(states[i].current_player)
    if drawn == 0 or bounds[j] == bounds[j + 1]:
        return 0.0
    slots[:] = -1
    for w in range(drawn):
        origins[j] = states[i]
        determinize(origins, j, player, seed_in(stream, w))
        work[WORLDS] += 1
        log_weights[w] = 0.0
        for k in range(bounds[j], bounds[j + 1]):
            recalled[j] = past[k]
            if look_back(recalled, j, states, i, origins, j):
                log_weights[w] += log_likelihood(recalled, j, actions[k], policy, room, work)
    return add_up(log_weights, used)


def log_likelihood(recalled, j, action, policy, room, work):
    """The log-probability with which the rollout policy takes the action in ``recalled[j]``."""
    observation, action_mask, scratch, _ = room
    count = legal_action_mask(recalled, j, action_mask)
    if count > 1 and action_mask[action]:
        player = np.int64(recalled[j].current_player)
        observe(recalled, j, player, policy.views[1, 0], policy.views[1, 1], observation)
        work[EVALUATIONS] += 1
        write_logits(policy.weights, policy.layouts[1], observation, SCALE, action_mask, scratch)
    return log_probability(scratch[LOGITS], action_mask, action, count)


@jit
def log_probability(logits, action_mask, action, count):
    """The log-probability of an action, given the logits of the legal ones if there are several."""
    if action_mask[action] == 0:
        return _IMPOSSIBLE
    if count == 1:
        return 0.0
    highest = float(logits[most_probable(logits, action_mask)])
    probability = exp(logits[action] - highest) / total_of(logits, action_mask, highest)
    return log((1.0 - _SLIP) * probability + _SLIP / count)


@jit
def add_up(log_weights, used):
    """Replace log-weights by cumulative sums of the weights; returns the last one."""
    highest = log_weights[0]
    for w in range(1, len(log_weights)):
        highest = max(highest, log_weights[w])
    evenness = evenness_of(log_weights, highest, min(used, _LEAST_SHARE * len(log_weights)))
    total = 0.0
    for w in range(len(log_weights)):
        total += exp(evenness * (log_weights[w] - highest))
        log_weights[w] = total
    return total


@jit
def draw_world(sums, total, point, slots, counts, done):
    """Draw worlds in proportion to their weights until one is new.

    Worlds that were drawn before count once more.

    Args:
        sums: float64 (W,), the sums of weights up to each world.
        total: The sum of all.
        point: Where the last draw was, in [0, 1).
        slots: int64 (W,), the entry in ``counts`` of each world that was drawn, otherwise -1.
        counts: float64, how often each of these was drawn.
        done: How many were drawn.

    Returns:
        The world, -1 if none is left, and where its draw was.
    """
    for _ in range(_MOST_DRAWS):
        point = (point + _GOLDEN) % 1.0  # any number of the first draws is spread evenly
        w = min(np.searchsorted(sums, point * total), len(sums) - 1)
        if slots[w] < 0:
            slots[w] = done
            counts[done] = 1.0
            return w, point
        counts[slots[w]] += 1.0
    return -1, point


@jit
def evenness_of(log_weights, highest, least):
    """The largest factor for the log-weights, at most 1, with which enough worlds have weight."""
    evenness, low, high = 1.0, 0.0, 1.0
    for _ in range(_BISECTIONS):
        total = squares = 0.0
        for w in range(len(log_weights)):
            weight = exp(evenness * (log_weights[w] - highest))
            total += weight
            squares += weight * weight
        if total * total < least * squares:
            high = evenness
        else:
            low = evenness
        if low == 1.0:
            break
        evenness = (low + high) / 2.0
    return low


@jit
def no_look_back(past, k, states, i, worlds, j):
    """The placeholder for a game without ``look_back``."""
    return False
