"""Information-set Monte Carlo tree search (Cowling, Powley and Whitehouse, 2012).

Single observer, UCB1 with availability counts, every player for themselves (max^n).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.search.rollouts import DECISIONS, WORLDS, hash_observation, play_on
from card_envs.contract.outcome import RANK
from card_envs.engine.seeds import random_action
from card_envs.kernels.jit import jit
from card_envs.kernels.perceptron import LOGITS, most_probable
from card_envs.kernels.portable_math import log
from card_envs.kernels.rng import mix, seed_in

# A path in a tree is followed this far.
MAX_DEPTH = 200

# Two kinds of nodes take turns: what the observer knows, and an action there. A node: its action or
# what the observer then sees, the first of its children, the next one of its parent's, how often it
# was visited, and how often it could have been.
KEY, CHILD, SIBLING, VISITS, AVAILABLE = range(5)
NODE_SIZE = 5

_KEY_BITS = np.uint64(2**31 - 1)


class TreeSettings(NamedTuple):
    """What ``search_by_tree`` needs for M games: the arrays are overwritten."""

    exploration: float  #: the weight of the second term of UCB1
    nodes: NDArray[np.int32]  #: (M, 2 * rollouts + 1, NODE_SIZE)
    totals: NDArray[np.float64]  #: (M, 2 * rollouts + 1), summed returns of who chose the action
    paths: NDArray[np.int64]  #: (M, MAX_DEPTH, 2)


def search_by_tree(states, i, j, policy, rollouts, seed, worlds, room, gains, found, settings):
    """Choose an action in game ``i`` by a tree over the players' decisions: the most visited one,
    the better one of a tie. Each of ``rollouts`` worlds has one rollout.

    The arguments are those of ``search_one`` in ``search_games``, with ``TreeSettings``.
    """
    nodes, totals, path = settings.nodes[j], settings.totals[j], settings.paths[j]
    observation, action_mask, scratch, streams = room
    means, visits, _, seeds, work = found
    observer = np.int64(states[i].current_player)
    if legal_action_mask(states, i, action_mask) == 1:
        return most_probable(scratch[LOGITS], action_mask)
    views = policy.views
    observe(states, i, observer, views[0, 0], views[0, 1], observation)
    seeds[0] = stream = mix(seed ^ hash_observation(observation))
    nodes[0] = 0
    size = 1
    for rollout in range(rollouts):
        world_seed = seed_in(stream, rollout)
        worlds[j] = states[i]
        worlds[j].reward_mode = RANK
        determinize(worlds, j, observer, world_seed)
        work[WORLDS] += 1
        streams[j] = world_seed
        s = worlds[j]
        number = round_of(worlds, j)
        gains[:] = 0.0
        node = depth = 0
        is_new = False
        while depth < MAX_DEPTH and not (is_new or s.terminated or s.truncated):
            if policy.to_round and round_of(worlds, j) != number:
                break
            if depth > 0:
                observe(worlds, j, observer, views[0, 0], np.int64(0), observation)
                node, size = outcome(nodes, node, size, hash_observation(observation))
            path[depth, 1] = s.current_player
            legal_action_mask(worlds, j, action_mask)
            node, size, is_new = descend(
                nodes, totals, node, size, action_mask, settings.exploration, streams, j
            )
            path[depth, 0] = node
            depth += 1
            step(worlds, j, np.int64(nodes[node, KEY]))
            work[DECISIONS] += 1
            for player in range(s.num_players):
                gains[player] += s.rewards[player]
        play_on(worlds, j, np.int64(-1), number, policy, room, gains, work)
        for k in range(depth):
            nodes[path[k, 0], VISITS] += 1
            totals[path[k, 0]] += gains[path[k, 1]]
    best = child = nodes[0, CHILD]
    while child:
        more = nodes[child, VISITS] - nodes[best, VISITS]
        if more > 0 or (more == 0 and totals[child] > totals[best]):
            best = child
        visits[nodes[child, KEY]] = nodes[child, VISITS]
        means[nodes[child, KEY]] = totals[child] / nodes[child, VISITS]
        child = nodes[child, SIBLING]
    return nodes[best, KEY]


@jit
def outcome(nodes, node, size, seen):
    """The node below an action for what the observer sees, and the number of nodes."""
    key = np.int32(seen & _KEY_BITS)
    child = nodes[node, CHILD]
    while child:
        if nodes[child, KEY] == key:
            return child, size
        child = nodes[child, SIBLING]
    nodes[size] = 0
    nodes[size, KEY] = key
    nodes[size, SIBLING] = nodes[node, CHILD]
    nodes[node, CHILD] = size
    return size, size + 1


@jit
def descend(nodes, totals, node, size, action_mask, exploration, streams, j):
    """The child to descend to: a new one for a legal action without a child, else the best by UCB1.

    The mask is overwritten. Returns the child, the number of nodes, and whether it is new.
    """
    best = 0
    highest = 0.0
    untried = 0
    for action in range(len(action_mask)):
        untried += action_mask[action]
    child = nodes[node, CHILD]
    while child:
        if action_mask[nodes[child, KEY]]:
            action_mask[nodes[child, KEY]] = 0
            untried -= 1
            nodes[child, AVAILABLE] += 1
            visits = nodes[child, VISITS]
            bound = totals[child] / visits
            bound += exploration * math.sqrt(log(float(nodes[child, AVAILABLE])) / visits)
            if best == 0 or bound > highest:
                best, highest = child, bound
        child = nodes[child, SIBLING]
    if untried == 0:
        return best, size, False
    nodes[size] = 0
    nodes[size, KEY] = random_action(streams, j, action_mask, untried)
    nodes[size, SIBLING] = nodes[node, CHILD]
    nodes[size, AVAILABLE] = 1
    totals[size] = 0.0
    nodes[node, CHILD] = size
    return size, size + 1, True
