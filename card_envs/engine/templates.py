"""Templates: loops over games that are compiled for each game.

They are never called directly. ``compile_for`` gives each a copy in which ``reset``, ``step``,
``legal_action_mask``, ``determinize``, ``observe``, ``write_state`` and ``heuristic`` are a game's
kernels, and ``SCALE`` is that of its observation (``Game.namespace``). They are
always called with int64 numbers, since Numba would compile them again for another type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from card_envs.contract.full_state import write_bytes
from card_envs.contract.game import MOST_PLAYERS, Game
from card_envs.contract.outcome import begin_step
from card_envs.engine.seeds import next_seed, players_of, random_action
from card_envs.kernels.jit import specialize
from card_envs.kernels.perceptron import choose_by_network

# What step_and_observe returns: the player to move, and these flags.
PAID, OVER = MOST_PLAYERS, 2 * MOST_PLAYERS

# How an agent comes to its action in advance_to_decision: it is asked for it, or it is a kernel.
ASKED, RANDOM, HEURISTIC, NETWORK = 0, 1, 2, 3

# What advance_to_decision writes for a game that waits for nobody, for one in which a kernel's
# action is to be carried out by the caller, and for one for which a history has no room.
NOBODY, CHOSEN, FULL = -1, -2, -3


@cache
def compile_for(
    game: Game, template: Callable[..., Any], parallel: bool = False
) -> Callable[..., Any]:
    """The template compiled for one game; the same function for the same arguments."""
    return specialize(template, game.namespace, parallel=parallel)


def reset_games(states, indices, seeds, num_players, options):
    """Begin the games ``indices``, with seeds and numbers of players in the same order."""
    for j in prange(len(indices)):
        reset(states, indices[j], seeds[j], num_players[j], *options)


def observe_games(states, memory, features, observation, action_mask):
    """Write every game's observation and mask for the player to move."""
    for k in prange(len(states)):
        i = np.int64(k)
        observe(states, i, np.int64(states[i].current_player), memory, features, observation[i])
        legal_action_mask(states, i, action_mask[i])


def step_and_observe(states, i, action, memory, features, observation, action_mask):
    """Take one decision and observe for the next player; returns the player to move and flags."""
    step(states, i, action)
    s = states[i]
    result = np.int64(s.current_player)
    observe(states, i, result, memory, features, observation)
    legal_action_mask(states, i, action_mask)
    for player in range(s.num_players):
        if s.rewards[player] != 0.0:
            result |= PAID
    if s.terminated or s.truncated:
        result |= OVER
    return result


def write_states(states, indices, players, out):
    """Write the full state of the games ``indices``, seats relative to one of its players."""
    for j in prange(len(indices)):
        write_state(states, indices[j], players[j], out[j])


def play_out(states, indices, players, rooms, out):
    """A player's next reward in each game if all players use the heuristic.

    The games ``indices`` are copied to ``rooms`` (one record, or on a GPU one for each game) and do
    not change. The reward is 0 if none is left.
    """
    for j in prange(len(indices)):
        room = j % len(rooms)
        rooms[room] = states[indices[j]]
        s = rooms[room]
        is_paid = False
        begin_step(s)
        while not (is_paid or s.terminated or s.truncated):
            step(rooms, room, heuristic(rooms, room))
            for player in range(s.num_players):
                is_paid |= s.rewards[player] != 0.0
        out[j] = s.rewards[players[j]]


def find_illegal(actions, indices, action_mask):
    """The first place of an action that is illegal in its game, one of ``indices``, or -1."""
    for j in range(len(actions)):
        action = actions[j]
        if not 0 <= action < action_mask.shape[1] or action_mask[indices[j], action] == 0:
            return j
    return -1


def replace_illegal(actions, action_mask, legal_actions, refused):
    """Copy the actions, with the lowest legal action in place of an illegal one.

    ``refused[0]`` is set to one of the games with an illegal action, if there are any.
    """
    for i in prange(len(actions)):
        action = actions[i]
        if not 0 <= action < action_mask.shape[1] or action_mask[i, action] == 0:
            refused[0] = i
            action = 0
            while action_mask[i, action] == 0 and action < action_mask.shape[1] - 1:
                action += 1
        legal_actions[i] = action


def copy_tables(states, current_player, num_players, seeds):
    """Write each game's player to move, its number of players and its seed."""
    for i in prange(len(states)):
        current_player[i] = states[i].current_player
        num_players[i] = states[i].num_players
        seeds[i] = states[i].seed


def step_games(
    states,
    actions,
    low,
    high,
    options,
    memory,
    features,
    observation,
    action_mask,
    rewards,
    terminated,
    truncated,
):
    """One decision in every game; finished games are reset in the same step (autoreset)."""
    for k in prange(len(states)):
        i = np.int64(k)
        step(states, i, actions[i])
        s = states[i]
        for player in range(s.num_players):
            rewards[i, player] = s.rewards[player]
        for player in range(s.num_players, rewards.shape[1]):
            rewards[i, player] = 0.0
        terminated[i] = s.terminated
        truncated[i] = s.truncated
        if s.terminated or s.truncated:
            seed = next_seed(s.seed)
            reset(states, i, seed, players_of(seed, low, high), *options)
        observe(states, i, np.int64(s.current_player), memory, features, observation[i])
        legal_action_mask(states, i, action_mask[i])


def decide_and_restart(
    states,
    actions,
    tables,
    num_players,
    is_present,
    seating,
    kernels,
    options,
    streams,
    resets,
    rewards,
    ended,
    truncated,
    waiting,
    players,
    action_mask,
):
    """One decision in every game, and what follows until an agent must be asked again: forced
    moves, and those of the agents that are kernels. Games that end are reset, with the next seed;
    nothing is observed.

    No action is taken where ``actions`` (N,) is below 0. ``tables`` (N, P) says who sits in a game
    once it is reset, and ``num_players`` (N,) how many do; ``is_present`` (N,) is then set;
    ``seating`` (N, P) says who sits there now. Of agents ``kernels`` tells ``RANDOM`` and
    ``HEURISTIC`` from the others.

    Written are ``rewards`` (N, P), what each seat got until its game ended, or until now; ``ended``
    and ``truncated`` (N,), whether a game ended, and whether it was truncated; ``players`` (N,),
    who is to move, and ``waiting`` (N,), the agent that is: ``NOBODY`` after too many ``resets`` in
    a row.
    """
    for k in prange(len(states)):
        i = np.int64(k)
        s = states[i]
        for player in range(rewards.shape[1]):
            rewards[i, player] = 0.0
        ended[i], truncated[i], waiting[i] = False, False, NOBODY
        action, left = actions[i], resets
        while left >= 0:
            if s.terminated or s.truncated:
                if not ended[i]:
                    ended[i], truncated[i] = True, s.truncated
                seed, left = next_seed(s.seed), left - 1
                for player in range(seating.shape[1]):
                    seating[i, player] = tables[i, player]
                reset(states, i, seed, num_players[i], *options)
                is_present[i], streams[i], action = True, next_seed(seed), -1
                continue
            if action < 0:
                agent = seating[i, s.current_player]
                if kernels[agent] == HEURISTIC:
                    action = heuristic(states, i)
                else:
                    count = legal_action_mask(states, i, action_mask[i])
                    if count > 1 and kernels[agent] != RANDOM:
                        waiting[i] = agent
                        break
                    action = random_action(streams, i, action_mask[i], count)
            step(states, i, action)
            action = -1
            if not ended[i]:
                for player in range(s.num_players):
                    rewards[i, player] += s.rewards[player]
        players[i] = s.current_player


def take_actions(states, indices, actions, returns):
    """Carry out the actions in the games ``indices`` and add up the rewards."""
    for j in prange(len(indices)):
        i = indices[j]
        step(states, i, actions[j])
        for player in range(states[i].num_players):
            returns[i, player] += states[i].rewards[player]


def advance_to_decision(
    states,
    indices,
    seating,
    kernels,
    views,
    weights,
    layouts,
    scratch,
    streams,
    skip_forced,
    is_followed,
    chosen,
    returns,
    waiting,
    observation,
    action_mask,
    histories,
):
    """Advance the games ``indices`` until an agent must be asked, or they are over.

    Agents observe by their own ``views[agent]``: memory and features. Networks are those of
    ``perceptron.join``. Where a game is followed, a kernel's action is not carried out but written
    to ``chosen``. Actions are written to ``histories`` (N, decisions) unless it is empty; a game
    that has no room left there stops.
    """
    keeps = histories.size > 0
    for j in prange(len(indices)):
        i = indices[j]
        s = states[i]
        while True:
            if s.terminated or s.truncated:
                waiting[i] = NOBODY
                break
            if keeps and s.steps >= histories.shape[1]:
                waiting[i] = FULL
                break
            agent = seating[i, s.current_player]
            if kernels[agent] == HEURISTIC:
                action = heuristic(states, i)
            else:
                count = legal_action_mask(states, i, action_mask[i])
                if kernels[agent] == RANDOM:
                    action = random_action(streams, i, action_mask[i], count)
                elif count == 1 and (skip_forced or kernels[agent] == NETWORK):
                    action = np.argmax(action_mask[i])
                else:
                    memory, features = views[agent, 0], views[agent, 1]
                    player = np.int64(s.current_player)
                    observe(states, i, player, memory, features, observation[i])
                    if kernels[agent] != NETWORK:
                        waiting[i] = agent
                        break
                    action = choose_by_network(
                        weights,
                        layouts[agent],
                        observation[i],
                        SCALE,
                        action_mask[i],
                        s.steps,
                        streams,
                        i,
                        scratch,
                    )
            if is_followed[i]:
                chosen[i] = action
                waiting[i] = CHOSEN
                break
            if keeps:
                histories[i, s.steps] = action
            step(states, i, action)
            for player in range(s.num_players):
                returns[i, player] += s.rewards[player]


def write_full_states(
    game: Game,
    states: NDArray[np.void],
    indices: NDArray[np.int64],
    players: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Write the full state of the games ``indices``, float32 (M, S).

    Seats are relative to one of each game's players, if the game has a ``write_state``.
    """
    if game.write_state is None:
        write_bytes(states, indices, out)
    else:
        compile_for(game, write_states)(states, indices, players, out)
