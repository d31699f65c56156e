"""Templates of games whose records stay on a device; see ``card_envs.engine.templates``."""

from __future__ import annotations

from numba import prange

from card_envs.engine.seeds import next_seed


def begin_games(
    states, indices, seeds, num_players, options, new_seating, seating, streams, returns
):
    """Begin the games ``indices`` (M,) with these agents at their tables."""
    for j in prange(len(indices)):
        i = indices[j]
        reset(states, i, seeds[j], num_players[j], *options)
        streams[i] = next_seed(seeds[j])
        for player in range(seating.shape[1]):
            seating[i, player] = new_seating[j, player]
            returns[i, player] = 0.0


def copy_ends(states, terminated, truncated):
    """Write which games are over."""
    for i in prange(len(states)):
        terminated[i] = states[i].terminated
        truncated[i] = states[i].truncated


def observe_players(states, indices, players, memory, features, observation):
    """Write what one player of each of the games ``indices`` observes."""
    for j in prange(len(indices)):
        i = indices[j]
        observe(states, i, players[j], memory, features, observation[i])
