"""Templates that call what the batch does not; ``compile_for_gpu`` compiles them for a game."""

from __future__ import annotations

from numba import prange

from card_envs.kernels.perceptron import choose_by_network


def choose_by_heuristic(states, actions):
    for i in prange(len(states)):
        actions[i] = heuristic(states, i)


def redraw(states, players, seed):
    for i in prange(len(states)):
        determinize(states, i, players[i], seed)


def choose_by_networks(weights, layouts, observation, action_mask, streams, scratch, actions):
    for i in prange(len(observation)):
        actions[i] = choose_by_network(
            weights, layouts[0], observation[i], SCALE, action_mask[i], 0, streams, i, scratch[i]
        )
