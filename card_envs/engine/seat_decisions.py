"""The decisions of one seat in finished games: templates, compiled like those of ``templates``."""

from __future__ import annotations


def count_decisions(states, actions, lengths, seats, counts):
    """Play the games (N,) and count the decisions of one seat of each.

    The games have just begun; the first ``lengths[i]`` of ``actions[i]`` are those of all players
    in game i, all legal.
    """
    for i in range(len(states)):
        counts[i] = 0
        for k in range(lengths[i]):
            counts[i] += states[i].current_player == seats[i]
            step(states, i, actions[i, k])


def write_decisions(
    states,
    actions,
    lengths,
    seats,
    rows,
    memory,
    features,
    observation,
    action_mask,
    chosen,
    rewards,
):
    """Play the games (N,) and write each decision of one seat of each.

    Game i's decisions are written from row ``rows[i]`` on: what the seat observes and may do, what
    they do, and their rewards from then until their next decision or the end of the game. One row
    more holds what they observe at the end, if they had a decision.
    """
    for i in range(len(states)):
        s = states[i]
        seat, first = seats[i], rows[i]
        row = first - 1
        for k in range(lengths[i]):
            if s.current_player == seat:
                row += 1
                observe(states, i, seat, memory, features, observation[row])
                legal_action_mask(states, i, action_mask[row])
                chosen[row] = actions[i, k]
                rewards[row] = 0.0
            step(states, i, actions[i, k])
            if row >= first:
                rewards[row] += s.rewards[seat]
        if row >= first:
            observe(states, i, seat, memory, features, observation[row + 1])
            action_mask[row + 1] = 0
