"""Search by rollouts, as templates: compiled for each game as those of ``templates``.

A decision is searched in worlds that the player to move holds possible: copies of the record,
redrawn with ``determinize``. Everything else follows from what they observe.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

from card_envs.engine.game import Game
from card_envs.engine.jit import jit, specialize
from card_envs.engine.likely_worlds import (
    add_up,
    draw_world,
    log_likelihood,
    log_probability,
    no_look_back,
    weigh_worlds,
)
from card_envs.engine.outcome import RANK
from card_envs.engine.perceptron import (
    LAYERS,
    choose_by_network,
    exp,
    log,
    most_probable,
    write_logits,
)
from card_envs.engine.rng import mix, seed_in, unit_of
from card_envs.engine.seeds import random_action
from card_envs.engine.templates import HEURISTIC, NETWORK

# A path in a tree is followed this far.
MAX_DEPTH = 200

# What a search counts: worlds drawn, decisions in them, evaluations of the network.
WORLDS, DECISIONS, EVALUATIONS = range(3)
NUM_COUNTS = 3

_20 = np.uint64(20)

# What a world that was not seen may add to the variance of a few that say the same.
_LEAST_VARIANCE = 0.1
_LEAST_WORTH = 0.1


@jit
def hash_of(observation):
    """A number that follows from an observation, uint8 (D,)."""
    value = np.uint64(0)
    for k in range(len(observation)):
        if observation[k]:
            value = mix(value ^ np.uint64(observation[k]) << _20 ^ np.uint64(k))
    return value


def play_on(worlds, j, action, number, policy, room, gains, work):
    """Take an action in a world and play on by the rollouts' policy, in the round ``number``.

    What each player gets is added to ``gains``; a negative action is none, and the policy begins.
    """
    kind, weights, layouts, views, to_round, max_decisions, unfinished = policy
    observation, action_mask, scratch, streams = room
    s = worlds[j]
    for _ in range(max_decisions):
        if action >= 0:
            step(worlds, j, action)
            work[DECISIONS] += 1
            for player in range(s.num_players):
                gains[player] += s.rewards[player]
        if s.terminated or s.truncated:
            return
        if to_round and round_of(worlds, j) != number:
            break
        if kind == HEURISTIC:
            action = heuristic(worlds, j)
        else:
            count = legal_action_mask(worlds, j, action_mask)
            if count == 1:
                action = most_probable(scratch[2], action_mask)
            elif kind == NETWORK:
                player = np.int64(s.current_player)
                observe(worlds, j, player, views[1, 0], views[1, 1], observation)
                work[EVALUATIONS] += 1
                action = choose_by_network(
                    weights,
                    layouts[1],
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
            gains[player] += unfinished
    for player in range(s.num_players):
        gains[player] += outlook(worlds, j, player)


def propose(states, i, policy, room, candidates, min_probability):
    """Write the actions to be tried, the proposed one first; returns how many there are.

    They are the network's likeliest, of no smaller probability; without a network, the heuristic's
    action and then the legal actions in their order.
    """
    _, weights, layouts, views, _, _, _ = policy
    observation, action_mask, scratch, _ = room
    count = legal_action_mask(states, i, action_mask)
    player = np.int64(states[i].current_player)
    observe(states, i, player, views[0, 0], views[0, 1], observation)
    logits = scratch[2]
    if layouts[0, LAYERS] > 0:
        write_logits(weights, layouts[0], observation, SCALE, action_mask, scratch)
    else:
        for action in range(len(action_mask)):
            logits[action] = -action
        if HAS_HEURISTIC and count > 1:
            logits[heuristic(states, i)] = 1.0
    likely = count
    if layouts[0, LAYERS] > 0 and min_probability > 0.0:
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
    total = 0.0
    for action in range(len(action_mask)):
        if action_mask[action]:
            total += exp(logits[action] - highest)
    likely = 0
    for action in range(len(action_mask)):
        if action_mask[action]:
            likely += exp(logits[action] - highest) >= min_probability * total
    return max(likely, 1)


def search_one(
    states,
    i,
    j,
    policy,
    rollouts,
    caution,
    is_halving,
    seed,
    origins,
    worlds,
    room,
    gains,
    found,
    min_probability,
    candidates,
    memory,
    values,
):
    """Choose an action in game ``i``: sequential halving over the same worlds for all candidates.

    The proposed action stays to the end, and is kept unless another one is ahead of it by
    ``caution`` standard errors.
    """
    means, visits, work = found
    player = np.int64(states[i].current_player)
    tried = propose(states, i, policy, room, candidates, min_probability)
    if tried == 1:
        return candidates[0]
    observation, _, _, streams = room
    stream = mix(seed ^ hash_of(observation))
    phases = 1
    while is_halving and 1 << phases < tried:
        phases += 1
    # Without halving there are as many worlds as there would be for all candidates.
    left, done, racing = rollouts if is_halving else rollouts // len(candidates) * tried, 0, tried
    used = count_worlds(left, phases, racing)
    total = weigh_worlds(states, i, j, stream, policy, room, origins, memory, used, work)
    sums, slots, counts = memory[4:]
    place = unit_of(stream)
    for phase in range(phases):
        for _ in range(worlds_of_phase(left, phases - phase, racing)):
            world = done
            if total > 0.0:
                world, place = draw_world(sums, total, place, slots, counts, done)
                if world < 0:
                    break
            else:
                counts[done] = 1.0
            origins[j] = states[i]
            origins[j].reward_mode = RANK
            determinize(origins, j, player, seed_in(stream, world))
            work[WORLDS] += 1
            for c in range(racing):
                worlds[j] = origins[j]
                streams[j] = seed_in(stream, done)
                gains[:] = 0.0
                play_on(worlds, j, candidates[c], round_of(worlds, j), policy, room, gains, work)
                values[c, done] = gains[player]
                visits[candidates[c]] += 1
            done += 1
            left -= racing
        racing = keep_best(candidates, values, counts, racing, done)
    for c in range(tried):
        count = visits[candidates[c]]
        if count > 0:
            means[candidates[c]] = weighted_mean(values[c], counts, count)
    return decide(candidates, values, counts, done, caution)


@jit
def worlds_of_phase(left, phases, racing):
    """How many worlds the next of ``phases`` takes, of ``left`` rollouts."""
    return min(max(1, left // (phases * racing)), left // racing)


@jit
def count_worlds(left, phases, racing):
    """How many worlds all phases take."""
    worlds = 0
    for phase in range(phases):
        now = worlds_of_phase(left, phases - phase, racing)
        worlds += now
        left -= now * racing
        racing = half_of(racing)
    return worlds


@jit
def half_of(racing):
    """How many candidates stay: the proposed one and another at least."""
    return max(2, (racing + 1) // 2)


@jit
def weighted_mean(values, counts, done):
    """The mean over the first worlds, each as often as it counts."""
    total = weight = 0.0
    for w in range(done):
        total += counts[w] * float(values[w])
        weight += counts[w]
    return total / weight if weight > 0.0 else 0.0


@jit
def keep_best(candidates, values, counts, racing, done):
    """Sort the candidates behind the proposed one by their means; returns how many stay."""
    for c in range(1, racing):
        k = c
        mean = weighted_mean(values[k], counts, done)
        while k > 1 and mean > weighted_mean(values[k - 1], counts, done):
            candidates[k], candidates[k - 1] = candidates[k - 1], candidates[k]
            for w in range(done):
                values[k, w], values[k - 1, w] = values[k - 1, w], values[k, w]
            k -= 1
    return half_of(racing)


@jit
def decide(candidates, values, counts, done, caution):
    """The proposed action, or the best other one if it is surely better.

    Worlds that count more than others are worth fewer equal ones: ``worth``.
    """
    if done < 2:
        return candidates[0]
    total = squares = mean = 0.0
    for w in range(done):
        total += counts[w]
        squares += counts[w] * counts[w]
        mean += counts[w] * (float(values[1, w]) - float(values[0, w]))
    mean /= total
    variance = 0.0
    for w in range(done):
        ahead = float(values[1, w]) - float(values[0, w]) - mean
        variance += counts[w] * ahead * ahead / total
    worth = total * total / squares
    error = math.sqrt((variance + _LEAST_VARIANCE / worth) / max(worth - 1.0, _LEAST_WORTH))
    if mean > caution * error and mean > 0.0:
        return candidates[1]
    return candidates[0]


def search_games(
    states,
    indices,
    policy,
    rollouts,
    seed,
    worlds,
    room,
    gains,
    actions,
    found,
    caution,
    is_halving,
    origins,
    min_probability,
    candidates,
    past,
    past_actions,
    bounds,
    recalled,
    log_weights,
    slots,
    counts,
    values,
):
    """Choose an action in each of the games ``indices`` by rollouts of a few candidates.

    Args:
        states: The games; they do not change.
        indices: int64 (M,), those in which to choose.
        policy: Who proposes and who plays the rollouts: the rollouts' kind (``RANDOM``,
            ``HEURISTIC`` or ``NETWORK``); weights and layouts (2, LAYOUT_SIZE) as from
            ``perceptron.join``, the proposer's first, without layers where there is no network;
            int64 (2, 2), memory and features of their observations; whether rollouts end with
            the round, or with the game; after how many decisions a rollout is cut, and what each
            player then gets.
        rollouts: How many rollouts for a decision.
        seed: Of all random choices.
        worlds: Records (M,), to be overwritten, as is all that follows.
        room: uint8 (M, D), int8 (M, A), float32 (M, SCRATCH_ROWS, width), uint64 (M,):
            observations, masks, the networks' layers, random streams.
        gains: float64 (M, max_players).
        actions: int64 (M,), the result.
        found: What there is to know besides: float64 (M, A), the mean of each action's rollouts;
            int64 (M, A), their number; int64 (M, NUM_COUNTS), to which the worlds that were drawn
            are added, the decisions in rollouts, and the network's evaluations.
        caution: Standard errors by which another action must be ahead of the proposed one.
        is_halving: Whether half of the candidates are dropped again and again.
        origins: Records (M,).
        min_probability: Actions that the proposer, a network, gives a smaller one are not tried.
        candidates: int64 (M, K), for the K actions that are tried at most; K <= rollouts.
        past: Records (H,): the games before earlier decisions of others, see ``likely_worlds``.
        past_actions: int64 (H,), what they did.
        bounds: int64 (M + 1,): those from ``bounds[j]`` to ``bounds[j + 1]`` are game j's.
        recalled: Records (M,).
        log_weights: float64 (M, W), for the W worlds that are weighed; 0: they are not.
        slots: int64 (M, W).
        counts: float64 (M, rollouts).
        values: float32 (M, K, rollouts).
    """
    observation, action_mask, scratch, streams = room
    means, visits, work = found
    for j in prange(len(indices)):
        actions[j] = search_one(
            states,
            indices[j],
            j,
            policy,
            rollouts,
            caution,
            is_halving,
            seed,
            origins,
            worlds,
            (observation[j], action_mask[j], scratch[j], streams),
            gains[j],
            (means[j], visits[j], work[j]),
            min_probability,
            candidates[j],
            (past, past_actions, bounds, recalled, log_weights[j], slots[j], counts[j]),
            values[j],
        )


# ---------------------------------------------------------------------------------------------
# Information-set Monte Carlo tree search (Cowling, Powley and Whitehouse, 2012): single observer,
# UCB1 with availability counts, every player for themselves (max^n)
# ---------------------------------------------------------------------------------------------

# Two kinds of nodes take turns: what the observer knows, and an action there. A node: its action or
# what the observer then sees, the first of its children, the next one of its parent's, how often it
# was visited, and how often it could have been.
KEY, CHILD, SIBLING, VISITS, AVAILABLE = range(5)
NODE_SIZE = 5

_KEY_BITS = np.uint64(2**31 - 1)


def search_tree(
    states,
    indices,
    policy,
    rollouts,
    seed,
    worlds,
    room,
    gains,
    actions,
    found,
    exploration,
    nodes,
    totals,
    path,
):
    """Choose an action in each of the games ``indices`` by a tree over the players' decisions.

    Args:
        states: The games; they do not change.
        indices: int64 (M,), those in which to choose.
        policy: Who plays the rollouts.
        rollouts: How many worlds are searched, each with one rollout.
        seed: Of all random choices.
        worlds: Records (M,).
        room: As for ``search_games``.
        gains: float64 (M, max_players).
        actions: int64 (M,), the result: the most visited one.
        found: As for ``search_games``.
        exploration: The weight of the second term of UCB1.
        nodes: int32 (M, 2 * rollouts + 1, NODE_SIZE).
        totals: float64 (M, 2 * rollouts + 1): what the player who chose the action got, summed up.
        path: int64 (M, MAX_DEPTH, 2).
    """
    observation, action_mask, scratch, streams = room
    means, visits, work = found
    for j in prange(len(indices)):
        actions[j] = grow_tree(
            states,
            indices[j],
            j,
            policy,
            rollouts,
            exploration,
            seed,
            worlds,
            (observation[j], action_mask[j], scratch[j], streams),
            gains[j],
            (means[j], visits[j], work[j]),
            nodes[j],
            totals[j],
            path[j],
        )


def grow_tree(
    states,
    i,
    j,
    policy,
    rollouts,
    exploration,
    seed,
    worlds,
    room,
    gains,
    found,
    nodes,
    totals,
    path,
):
    """Search game ``i`` and return the most visited action."""
    _, _, _, views, to_round, _, _ = policy
    observation, action_mask, scratch, streams = room
    means, visits, work = found
    observer = np.int64(states[i].current_player)
    if legal_action_mask(states, i, action_mask) == 1:
        return most_probable(scratch[2], action_mask)
    observe(states, i, observer, views[0, 0], views[0, 1], observation)
    stream = mix(seed ^ hash_of(observation))
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
            if to_round and round_of(worlds, j) != number:
                break
            if depth > 0:
                observe(worlds, j, observer, views[0, 0], np.int64(0), observation)
                node, size = outcome(nodes, node, size, hash_of(observation))
            path[depth, 1] = s.current_player
            legal_action_mask(worlds, j, action_mask)
            node, size, is_new = descend(
                nodes, totals, node, size, action_mask, exploration, streams, j
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
        if nodes[child, VISITS] > nodes[best, VISITS]:
            best = child
        visits[nodes[child, KEY]] = nodes[child, VISITS]
        means[nodes[child, KEY]] = totals[child] / nodes[child, VISITS]
        child = nodes[child, SIBLING]
    return nodes[best, KEY]


@jit
def outcome(nodes, node, size, seen):
    """The node below an action where the observer sees this, and the number of nodes."""
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
    """The child to follow: a new one for a legal action that has none, else the best by UCB1.

    The mask is used up. Returns the child, the number of nodes, and whether it is new.
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


@jit
def no_round(states, i):
    """For a game without rounds."""
    return 0


@jit
def no_outlook(states, i, player):
    """For a game that does not say what a standing is worth."""
    return 0.0


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
