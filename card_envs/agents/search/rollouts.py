"""Shared by all searches: the loop over games, worlds, rollouts in them, and the actions to try.

Templates like those of ``templates``; ``compilation.compile_search`` compiles them for a game.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from card_envs.engine.seeds import random_action
from card_envs.engine.templates import HEURISTIC, NETWORK
from card_envs.kernels.jit import jit
from card_envs.kernels.perceptron import (
    LAYERS,
    LOGITS,
    choose_by_network,
    most_probable,
    total_of,
    write_logits,
)
from card_envs.kernels.portable_math import exp
from card_envs.kernels.rng import mix

# What a search counts: worlds drawn, decisions in them, evaluations of the network.
WORLDS, DECISIONS, EVALUATIONS = range(3)
NUM_COUNTS = 3

_20 = np.uint64(20)


class RolloutPolicy(NamedTuple):
    """The proposer of actions, the policy of the rollouts, and the horizon.

    Entry 0 of ``layouts`` and ``views`` is the proposer's, entry 1 that of the rollouts.
    """

    kind: int  #: of the rollouts' player: ``RANDOM``, ``HEURISTIC`` or ``NETWORK``
    weights: NDArray[np.float32]  #: of both networks, as from ``perceptron.join``
    layouts: NDArray[np.int64]  #: (2, LAYOUT_SIZE), without layers where there is no network
    views: NDArray[np.int64]  #: (2, 2), memory and features of their observations
    to_round: bool  #: whether rollouts end with the round, or with the game
    max_decisions: int  #: after which a rollout is cut
    unfinished: float  #: what each player gets besides where it is cut


class Room(NamedTuple):
    """Buffers that every decision of a rollout overwrites: for M games, or except for the streams
    for one."""

    observation: NDArray[np.uint8]  #: (M, D)
    action_mask: NDArray[np.int8]  #: (M, A)
    scratch: NDArray[np.float32]  #: (M, SCRATCH_ROWS, width), the networks' layers
    streams: NDArray[np.uint64]  #: (M,), of random numbers


class Findings(NamedTuple):
    """The results besides the chosen actions, for M games or for one."""

    means: NDArray[np.float64]  #: (M, A), of each action's rollouts
    visits: NDArray[np.int64]  #: (M, A), their number
    errors: NDArray[np.float64]  #: (M, A), the means' standard errors
    seeds: NDArray[np.uint64]  #: (M, 1), of the worlds
    work: NDArray[np.int64]  #: (M, NUM_COUNTS), to which is added


class Found(NamedTuple):
    """What a search has found in M positions; where only one action is legal it does not search."""

    actions: NDArray[np.int64]  #: (M,), the chosen ones
    values: NDArray[np.float64]  #: (M, A), the mean rank reward of an action's rollouts, or NaN
    visits: NDArray[np.int64]  #: (M, A), the number of rollouts
    errors: NDArray[np.float64]  #: (M, A), the values' standard errors; NaN: unknown, as in trees
    seeds: NDArray[np.uint64]  #: (M,), world k is what ``determinize`` draws from ``seed_in(s, k)``

    def candidates(self, most: int) -> NDArray[np.int64]:
        """The actions that were tried (M, most), in the order of their numbers; -1: no more."""
        order = np.argsort(self.visits == 0, axis=1, kind="stable")[:, :most]
        return np.where(np.take_along_axis(self.visits, order, axis=1) > 0, order, -1)


def search_games(
    states, indices, policy, rollouts, seed, worlds, room, gains, actions, found, settings
):
    """Choose an action in each of the games ``indices``.

    ``search_one``, which a method gives, does it for one of them: it gets the same arguments for
    this game alone, with entry ``j`` of the arrays for all games, but ``settings`` as they are.

    Args:
        states: The games; they do not change.
        indices: int64 (M,), those in which to choose.
        policy: A ``RolloutPolicy``.
        rollouts: How many rollouts for a decision.
        seed: The seed of all random choices.
        worlds: Records (M,), to be overwritten, as is all that follows.
        room: A ``Room``.
        gains: float64 (M, max_players).
        actions: int64 (M,), the result.
        found: ``Findings``, the result too.
        settings: What the method alone needs, a named tuple.
    """
    observation, action_mask, scratch, streams = room
    means, visits, errors, seeds, work = found
    for j in prange(len(indices)):
        actions[j] = search_one(
            states,
            indices[j],
            j,
            policy,
            rollouts,
            seed,
            worlds,
            Room(observation[j], action_mask[j], scratch[j], streams),
            gains[j],
            Findings(means[j], visits[j], errors[j], seeds[j], work[j]),
            settings,
        )


@jit
def hash_observation(observation):
    """A number that follows from an observation, uint8 (D,)."""
    value = np.uint64(0)
    for k in range(len(observation)):
        if observation[k]:
            value = mix(value ^ np.uint64(observation[k]) << _20 ^ np.uint64(k))
    return value


def play_on(worlds, j, action, number, policy, room, gains, work):
    """Take an action in a world and continue with the rollout policy, in round ``number``.

    Each player's return is added to ``gains``; with a negative action the policy moves first.
    """
    observation, action_mask, scratch, streams = room
    s = worlds[j]
    for _ in range(policy.max_decisions):
        if action >= 0:
            step(worlds, j, action)
            work[DECISIONS] += 1
            for player in range(s.num_players):
                gains[player] += s.rewards[player]
        if s.terminated:
            return
        if s.truncated:
            for player in range(s.num_players):
                gains[player] += policy.unfinished
            return
        if policy.to_round and round_of(worlds, j) != number:
            break
        if policy.kind == HEURISTIC:
            action = heuristic(worlds, j)
        else:
            count = legal_action_mask(worlds, j, action_mask)
            if count == 1:
                action = most_probable(scratch[LOGITS], action_mask)
            elif policy.kind == NETWORK:
                player = np.int64(s.current_player)
                observe(worlds, j, player, policy.views[1, 0], policy.views[1, 1], observation)
                work[EVALUATIONS] += 1
                action = choose_by_network(
                    policy.weights,
                    policy.layouts[1],
                    observation,
                    SCALE,
                    action_mask,
                    s.steps,
                    streams,
                    j,
                    scratch,
                )
            else:
                action = random_action(streams, j, action_mask, count)
    else:
        for player in range(s.num_players):
            gains[player] += policy.unfinished
    for player in range(s.num_players):
        gains[player] += outlook(worlds, j, player)


def propose(states, i, policy, room, candidates, min_probability):
    """Write the actions to be tried, the proposed one first; returns how many there are.

    They are the network's most probable actions above the minimum probability; without a network,
    the heuristic's action and then the legal actions in order.
    """
    observation, action_mask, scratch, _ = room
    layout = policy.layouts[0]
    count = legal_action_mask(states, i, action_mask)
    player = np.int64(states[i].current_player)
    observe(states, i, player, policy.views[0, 0], policy.views[0, 1], observation)
    logits = scratch[LOGITS]
    if layout[LAYERS] > 0:
        write_logits(policy.weights, layout, observation, SCALE, action_mask, scratch)
    else:
        for action in range(len(action_mask)):
            logits[action] = -action
        if HAS_HEURISTIC and count > 1:
            logits[heuristic(states, i)] = 1.0
    likely = count
    if layout[LAYERS] > 0 and min_probability > 0.0:
        likely = count_likely(logits, action_mask, min_probability)
    tried = min(likely, len(candidates))
    for k in range(tried):
        candidates[k] = most_probable(logits, action_mask)
        action_mask[candidates[k]] = 0
    return tried


@jit
def count_likely(logits, action_mask, min_probability):
    """How many legal actions have at least this probability; the most probable one counts."""
    highest = float(logits[most_probable(logits, action_mask)])
    total = total_of(logits, action_mask, highest)
    likely = 0
    for action in range(len(action_mask)):
        if action_mask[action]:
            likely += exp(logits[action] - highest) >= min_probability * total
    return max(likely, 1)


@jit
def no_outlook(states, i, player):
    """The placeholder for a game without ``outlook``."""
    return 0.0
