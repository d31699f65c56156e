"""Time and rewards: the entries that every game's record begins with, and their helpers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.kernels.jit import jit
from card_envs.kernels.scratch import clear

#: Values of a record's ``reward_mode``, and their names as an option.
RANK, WIN, SCORE = 0, 1, 2
REWARD_MODES = ("rank", "win", "score")


def common_dtype(max_players: int) -> list[tuple[Any, ...]]:
    """The entries that every game's record begins with.

    The game updates ``standing``, which decides the rewards: higher is better, equal is a tie.
    """
    return [
        ("rng", np.uint64),
        ("seed", np.uint64),
        ("rewards", np.float64, (max_players,)),
        ("standing", np.int32, (max_players,)),
        ("steps", np.int32),
        ("max_steps", np.int32),
        ("num_players", np.int8),
        ("current_player", np.int8),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
        ("reward_mode", np.int8),
    ]


@jit
def begin(s, seed, num_players, reward_mode, max_steps):
    """Begin a new game: set the common entries, and all others to 0."""
    clear(s)
    s.seed = seed
    s.num_players = num_players
    s.reward_mode = reward_mode
    s.max_steps = max_steps


@jit
def begin_step(s):
    """Clear the rewards of the previous step."""
    for player in range(s.num_players):
        s.rewards[player] = 0.0


@jit
def pay_points(s, points, scale, in_round):
    """``reward="score"``: points relative to the mean of those in the round, times ``scale``.

    ``in_round`` is a set of players (bit p is player p); all others get nothing.
    """
    if s.reward_mode == SCORE:
        total, count = 0.0, 0
        for player in range(s.num_players):
            if in_round >> player & 1:
                total += points[player]
                count += 1
        mean = total / count
        for player in range(s.num_players):
            if in_round >> player & 1:
                s.rewards[player] += (points[player] - mean) * scale


@jit
def pay_standing(s):
    """``"rank"``: the mean of +1, 0, -1 over the opponents. ``"win"``: the winners share 1."""
    n = s.num_players
    if s.reward_mode == RANK:
        for player in range(n):
            balance = 0
            for other in range(n):
                balance += s.standing[player] > s.standing[other]
                balance -= s.standing[player] < s.standing[other]
            s.rewards[player] = balance / (n - 1)
    elif s.reward_mode == WIN:
        best = s.standing[0]
        for player in range(1, n):
            best = max(best, s.standing[player])
        winners = 0
        for player in range(n):
            winners += s.standing[player] == best
        for player in range(n):
            s.rewards[player] = (s.standing[player] == best) / winners


def rank_rewards(standing: NDArray[Any]) -> NDArray[np.float64]:
    """What ``pay_standing`` pays with ``"rank"``, float64 (..., players), for standings of that
    shape."""
    own, others = standing[..., :, None], standing[..., None, :]
    balance = (own > others).sum(axis=-1) - (own < others).sum(axis=-1)
    return np.asarray(balance / (standing.shape[-1] - 1))


def win_rewards(standing: NDArray[Any]) -> NDArray[np.float64]:
    """What ``pay_standing`` pays with ``"win"``, likewise."""
    best = standing == standing.max(axis=-1, keepdims=True)
    return np.asarray(best / best.sum(axis=-1, keepdims=True))


def places(standing: NDArray[Any]) -> NDArray[np.int64]:
    """Each player's rank (..., players) by standings of that shape, from 1; level players share
    it."""
    return np.asarray(1 + (standing[..., None, :] > standing[..., :, None]).sum(axis=-1))


def places_of(s: Any) -> list[int]:
    """Each player's rank by the record's ``standing``, from 1; level players share it."""
    found: list[int] = places(s["standing"][: s["num_players"]]).tolist()
    return found


def standing_after_forfeit(num_players: int, loser: int) -> NDArray[np.int32]:
    """The standing (players,) where a player has forfeited: they are last, the others level."""
    standing: NDArray[np.int32] = -np.eye(num_players, dtype=np.int32)[loser]
    return standing


@jit
def end_step(s):
    """Count the decision, truncate the game at ``max_steps``, pay a game that is over."""
    s.steps += 1
    if not s.terminated and s.steps >= s.max_steps:
        s.truncated = True
    if s.terminated or s.truncated:
        pay_standing(s)


def is_over(s: Any) -> bool:
    """Whether the game has ended or was truncated."""
    return bool(s["terminated"] or s["truncated"])


def mover(s: Any) -> int:
    """The player to move; player 0 when the game is over."""
    return 0 if is_over(s) else int(s["current_player"])
