"""Search by sequential halving: a few candidates are played out in the same worlds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.search.likely_worlds import Evidence, draw_world, weigh_worlds
from card_envs.agents.search.rollouts import WORLDS, hash_observation, play_on, propose
from card_envs.contract.outcome import RANK
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import mix, seed_in, unit_of

# What a world that was not seen may add to the variance of a few that say the same.
_LEAST_VARIANCE = 0.1
_LEAST_WORTH = 0.1


class HalvingSettings(NamedTuple):
    """What ``search_by_halving`` needs for M games, with room for what it overwrites.

    ``past`` to ``slots`` become an ``Evidence``: threads are given no tuples in tuples.
    """

    caution: float  #: standard errors by which another action must be ahead of the proposed one
    is_halving: bool  #: whether half of the candidates are repeatedly dropped
    min_probability: float  #: actions to which the proposer, a network, gives less are not tried
    also: NDArray[np.int64]  #: (M,), an action that is tried in any case; -1: none
    origins: NDArray[np.void]  #: records (M,)
    candidates: NDArray[np.int64]  #: (M, K), for the K <= rollouts actions that are tried at most
    values: NDArray[np.float32]  #: (M, K, rollouts)
    past: NDArray[np.void]  #: records (H,)
    past_actions: NDArray[np.int64]  #: (H,)
    bounds: NDArray[np.int64]  #: (M + 1,)
    recalled: NDArray[np.void]  #: records (M,)
    log_weights: NDArray[np.float64]  #: (M, W), for the W worlds that are weighed; 0: they are not
    slots: NDArray[np.int64]  #: (M, W)
    counts: NDArray[np.float64]  #: (M, rollouts), how often each world counts


def search_by_halving(states, i, j, policy, rollouts, seed, worlds, room, gains, found, settings):
    """Choose an action in game ``i``: sequential halving over the same worlds for all candidates.

    The proposed action is never dropped, and is chosen unless another one is better by ``caution``
    standard errors. The arguments are those of ``search_one`` in ``search_games``, with a
    ``HalvingSettings``.
    """
    candidates, values = settings.candidates[j], settings.values[j]
    sums, slots, counts = settings.log_weights[j], settings.slots[j], settings.counts[j]
    origins, is_halving = settings.origins, settings.is_halving
    evidence = Evidence(
        settings.past, settings.past_actions, settings.bounds, settings.recalled, sums, slots
    )
    means, visits, errors, seeds, work = found
    player = np.int64(states[i].current_player)
    tried = propose(states, i, policy, room, candidates, settings.min_probability)
    tried = include(candidates, tried, settings.also[j])
    if tried == 1:
        return candidates[0]
    observation, _, _, streams = room
    seeds[0] = stream = mix(seed ^ hash_observation(observation))
    phases = 1
    while is_halving and 1 << phases < tried:
        phases += 1
    # Without halving there are as many worlds as there would be for all candidates.
    left, done, racing = rollouts if is_halving else rollouts // len(candidates) * tried, 0, tried
    used = count_worlds(left, phases, racing)
    total = weigh_worlds(states, i, j, stream, policy, room, origins, evidence, used, work)
    point = unit_of(stream)
    for phase in range(phases):
        for _ in range(worlds_of_phase(left, phases - phase, racing)):
            world = done
            if total > 0.0:
                world, point = draw_world(sums, total, point, slots, counts, done)
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
            errors[candidates[c]] = standard_error(values[c], counts, count)
    return decide(candidates, values, counts, done, settings.caution)


@jit
def include(candidates, tried, action):
    """Put an action, unless it is -1, among the first ``tried`` candidates, at the place of the
    least probable one if there is no other; returns how many there are."""
    for c in range(tried):
        if candidates[c] == action:
            return tried
    if action >= 0:
        tried = min(tried + 1, len(candidates))
        candidates[tried - 1] = action
    return tried


@jit
def worlds_of_phase(left, phases, racing):
    """The number of worlds of the next of ``phases``, given ``left`` rollouts."""
    return min(max(1, left // (phases * racing)), left // racing)


@jit
def count_worlds(left, phases, racing):
    """The number of worlds of all phases."""
    worlds = 0
    for phase in range(phases):
        now = worlds_of_phase(left, phases - phase, racing)
        worlds += now
        left -= now * racing
        racing = half_of(racing)
    return worlds


@jit
def half_of(racing):
    """The number of candidates that remain: at least the proposed one and one other."""
    return max(2, (racing + 1) // 2)


@jit
def weighted_mean(values, counts, done):
    """The mean over the first worlds, weighted by their counts."""
    total = weight = 0.0
    for w in range(done):
        total += counts[w] * float(values[w])
        weight += counts[w]
    return total / weight if weight > 0.0 else 0.0


@jit
def standard_error(values, counts, done):
    """The standard error of ``weighted_mean``, in which worlds of more weight count as one; NaN:
    there are not two."""
    mean = weighted_mean(values, counts, done)
    total = squares = variance = 0.0
    for w in range(done):
        total += counts[w]
        squares += counts[w] * counts[w]
        variance += counts[w] * (float(values[w]) - mean) ** 2
    worth = total * total / squares if squares > 0.0 else 0.0
    return math.sqrt(variance / total / (worth - 1.0)) if worth > 1.0 else math.nan


@jit
def keep_best(candidates, values, counts, racing, done):
    """Sort the candidates after the proposed one by their means; returns how many remain."""
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
    """The proposed action, or the best other one if it is significantly better.

    ``worth`` is the effective number of worlds, which is smaller if some count more than others.
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
