"""Worlds for agents that search: a turn's games, with all that their seat cannot know redrawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.contract.agent import Turn
from card_envs.contract.options import View, check_view
from card_envs.contract.outcome import REWARD_MODES, is_over
from card_envs.engine.batch import BatchEngine
from card_envs.engine.seeds import check_given_seed
from card_envs.envs.aec import CardEnv
from card_envs.kernels.rng import mix, seed_in
from card_envs.utils.checks import check_whole_number


class WorldBatch(BatchEngine):
    """The batch of :func:`worlds`: ``reset`` draws new worlds of the same turn."""

    def __init__(
        self, turn: Turn, i: int, n: int, seed: int, view: View, repeat: int, reward: str
    ) -> None:
        record, options = _record(turn, i, reward)
        players = int(record["num_players"][0])
        super().__init__(
            turn.game, n * repeat, players, memory=view.memory, features=view.features, **options
        )
        self._record, self._repeat = record, repeat
        self.reset(seed)

    def _begin(self, seeds: NDArray[np.uint64]) -> None:
        """Draw the worlds, whose seeds follow from the first of these: those of calls with
        consecutive seeds have none in common."""
        self._states[:] = self._record
        player, stream = int(self._record["current_player"][0]), np.uint64(mix(seeds[0]))
        each = self._repeat
        own = np.array([seed_in(stream, k) for k in range(self.num_envs // each)], np.uint64)
        #: uint64 (N,): ``world`` makes the world of index k with the seed ``seeds[k]``.
        self.seeds = np.repeat(own, each)
        for k, seed in zip(range(0, self.num_envs, each), own, strict=True):
            self.game.rules.determinize(self._states, k, player, seed)
            self._states[k + 1 : k + each] = self._states[k]


def world(turn: Turn, i: int, seed: int, view: View = View(), *, reward: str = "rank") -> CardEnv:
    """A game of a turn as a running AEC environment, in a world that its seat thinks possible.

    All that the player to move cannot know is redrawn, uniformly over what agrees with their
    knowledge, future cards included; they know all that they have seen, whatever the turn's view
    is. Its options are those in force, but for ``reward``; a number that the game chose for
    ``None`` stands in its place. It cannot be saved: it has no history until ``reset`` begins
    another game.

    Args:
        turn: The turn.
        i: Which of its games, from 0 to ``len(turn) - 1``.
        seed: A whole number in [0, 2**64), from which the world follows, and from what they know.
        view: How the environment observes.
        reward: The game's option: what the world pays, whatever the game does. Evaluations and
            tournaments rank agents by ``"rank"``.

    Raises:
        ValueError: There is no such game, it is over, the seed is out of range, or there is no such
            reward.
        TypeError: The seed is not a whole number, ``turn`` is no ``Turn``, or ``view`` no ``View``.
    """
    check_view(view)
    (record, options), seed = _record(turn, i, reward), check_given_seed(seed)
    env = CardEnv(
        turn.game.name,
        num_players=int(record["num_players"][0]),
        memory=view.memory,
        features=view.features,
        **options,
    )
    env.reset(seed)
    now = env._ongoing
    now.states[:] = record
    now.select_mover()
    now.redraw(int(record["current_player"][0]), seed)
    now.seed = None
    return env


def worlds(
    turn: Turn,
    i: int,
    n: int,
    seed: int,
    view: View = View(),
    *,
    repeat: int = 1,
    reward: str = "rank",
) -> WorldBatch:
    """``n`` worlds of a game of a turn as a batch, for fast rollouts.

    Its ``observation`` and ``action_mask`` are those of the player to move; from then on it is a
    batch as any other: a game that ends is followed by a new one, so a rollout is over where
    ``terminated`` or ``truncated`` is true. The world of index k is that of
    ``world(turn, i, seeds[k])``, by its attribute ``seeds``.

    Args:
        turn: The turn.
        i: Which of its games, from 0 to ``len(turn) - 1``.
        n: The number of worlds.
        seed: A whole number in [0, 2**64), from which the worlds follow, and from what they know.
        view: How the batch observes.
        repeat: How often each world is there, in succession: as often as there are actions to try
            in the same worlds. The batch holds ``n * repeat`` games.
        reward: As for :func:`world`.

    Raises:
        ValueError: There is no such game, it is over, a number is out of range, or there is no such
            reward.
        TypeError: The seed is not a whole number, ``turn`` is no ``Turn``, or ``view`` no ``View``.
    """
    n, repeat = check_whole_number("n", n, 1), check_whole_number("repeat", repeat, 1)
    check_view(view)
    return WorldBatch(turn, i, n, check_given_seed(seed), view, repeat, reward)


def _record(turn: Turn, i: int, reward: str) -> tuple[NDArray[np.void], dict[str, Any]]:
    """A copy of a game's record (1,) that pays this reward, and its options."""
    if not isinstance(turn, Turn):
        raise TypeError(
            "a Turn is needed, such as turn_of(game, states, indices, view), got "
            f"{type(turn).__name__}"
        )
    index = int(turn.indices[check_whole_number("i", i, 0, len(turn) - 1)])
    if is_over(turn.states[index]):
        raise ValueError(f"game {i} of the turn is over")
    game = turn.game
    record = game.as_states(turn.states[index : index + 1]).copy()
    own = {o.name: o.decode(int(record[o.name][0])) for o in game.options if o.name != "reward"}
    options = game.check_options({**own, "reward": reward})
    record["reward_mode"] = REWARD_MODES.index(reward)
    return record, options
