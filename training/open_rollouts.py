"""What actions bring with all cards as they lie: rollouts that may look, for training alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.agents.search import Searcher


def roll_out_openly(
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
    min_probability,
    candidates,
):
    """Try the likely actions in each of the games ``indices``, one rollout for each.

    It is a template of searches (``card_envs.engine.search``): the arguments are theirs, and the
    result is the best action.
    """
    observation, action_mask, scratch, streams = room
    means, visits, work = found
    for j in prange(len(indices)):
        i = indices[j]
        player = states[i].current_player
        own_room = observation[j], action_mask[j], scratch[j], streams
        tried = propose(states, i, policy, own_room, candidates[j], min_probability)
        stream = mix(seed ^ hash_of(observation[j]))
        best = candidates[j, 0]
        for c in range(tried):
            action = candidates[j, c]
            worlds[j] = states[i]
            worlds[j].reward_mode = RANK
            streams[j] = stream
            gains[j, :] = 0.0
            number = round_of(worlds, j)
            play_on(worlds, j, action, number, policy, own_room, gains[j], work[j])
            means[j, action] = gains[j, player]
            visits[j, action] = 1
            if means[j, action] > means[j, best]:
                best = action
        actions[j] = best


class OpenRollouts(Searcher):
    """Tries a policy's likely actions in the games as they are, hidden cards included.

    It is no agent to play with. Where the players of a game have come to a position, its hidden
    cards are a fair draw of what can be there, more exactly so than any world that is redrawn: on
    average over many positions its values are those of the actions. One world says little of one
    position; it takes one rollout for an action.

    Args:
        policy: Who proposes, and who plays the rollouts.
        candidates: How many of its likeliest actions are tried at most.
        min_probability: Actions of a smaller probability are not tried.
        **arguments: As for ``SearchAgent``: ``game``, ``max_decisions``, ``unfinished``, ``seed``.
    """

    _template = staticmethod(roll_out_openly)

    def __init__(
        self, policy: Any, *, candidates: int, min_probability: float, **arguments: Any
    ) -> None:
        self._candidates = candidates
        self._min_probability = min_probability
        super().__init__(
            name="open rollouts",
            rollouts=candidates,
            policy=policy,
            proposer=policy,
            horizon=None,
            threads=1,
            **arguments,
        )

    def _settings(self, count: int) -> tuple[Any, ...]:
        return self._min_probability, np.empty((count, self._candidates), np.int64)
