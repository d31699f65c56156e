"""Random play of many games, as templates: compiled for a game as those of
``card_envs.engine.templates``."""

from __future__ import annotations

import numpy as np
from numba import prange

from card_envs.engine.seeds import next_seed, players_of, random_action


def choose_actions(streams, action_mask, actions):
    """A random legal action in each game."""
    for i in prange(len(actions)):
        count = 0
        for action in range(action_mask.shape[1]):
            count += action_mask[i, action]
        actions[i] = random_action(streams, i, action_mask[i], count)


def play_random(
    states, streams, decisions, low, high, options, memory, features, observation, action_mask
):
    """Random play without leaving the compiled loop: the speed of the rules themselves."""
    for k in prange(len(states)):
        i = np.int64(k)
        out, mask = observation[i], action_mask[i]
        for _ in range(decisions):
            observe(states, i, np.int64(states[i].current_player), memory, features, out)
            count = legal_action_mask(states, i, mask)
            step(states, i, random_action(streams, i, mask, count))
            if states[i].terminated or states[i].truncated:
                seed = next_seed(states[i].seed)
                reset(states, i, seed, players_of(seed, low, high), *options)
