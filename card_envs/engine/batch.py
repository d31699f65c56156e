"""``BatchEngine``: many games of one kind, stepped together in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numba
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from card_envs.contract.fields import check_observation_dtype
from card_envs.contract.game import Game, repr_of
from card_envs.contract.options import View, arguments_of
from card_envs.engine.seeds import check_seeds, consecutive_seeds, draw_tables, next_seeds
from card_envs.engine.templates import (
    compile_for,
    find_illegal,
    observe_games,
    reset_games,
    step_games,
    write_full_states,
)
from card_envs.kernels.jit import COMPILED, in_threads
from card_envs.utils.checks import (
    check_actions,
    check_flag,
    check_has_begun,
    check_whole_number,
    memory_for,
)
from card_envs.utils.threads import OneThread, one_thread_at_a_time

#: Observations (N, D) of either ``observation_dtype``.
Observations: TypeAlias = NDArray[np.float32] | NDArray[np.uint8]


class BatchEngine(OneThread):
    """``num_envs`` games of one kind, with autoreset: the raw batch.

    In every step each game takes one decision, that of its player to move (``current_player``).
    Finished games are reset in the same step (autoreset): the rewards and flags returned are those
    of the game that ended, the observation and mask those of the next one.

    Game ``i`` of ``reset(seed)`` has the seed ``seed + i`` and plays out exactly as the AEC
    environment after ``reset(seed + i)``; a game with seed s is followed by one with
    ``card_envs.engine.seeds.next_seed(s)``. Seeds of runs that are to share no game must therefore
    be at least ``num_envs`` apart. Results depend neither on the batch's size nor on the
    number of threads. A batch serves one thread at a time: concurrent calls raise a
    RuntimeError.

    The arrays returned, and those of ``current_player``, ``num_players`` and ``game_seeds``, are
    **the same buffers in every call**, read-only and overwritten by the next ``reset`` or
    ``step``; ``copy=True`` returns fresh ones instead.

    Args:
        game: The game.
        num_envs: Number of games, at least 1.
        num_players: One number, or a pair (low, high): each game then draws its own, uniformly.
            None: the game's default.
        memory: What observations hold: ``"perfect"`` recall, or ``"none"``.
        features: Whether derived fields are written, or left 0.
        observation_dtype: ``"float32"``: values in [0, 1]; ``"uint8"``: the same in whole units,
            ``value * game.fields.scale``.
        num_threads: Threads that share the games. With more than one, batches in several Python
            threads wait for each other, and forking after the first use is not safe.
        copy: Whether to return fresh arrays.
        **options: The game's options (reward, max_steps and its own).

    Raises:
        ValueError, TypeError: An argument or an option is wrong; the message says what is allowed.
        MemoryError: There is not enough memory for this many games.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        num_players: int | tuple[int, int] | None = None,
        *,
        memory: str = "perfect",
        features: bool = True,
        observation_dtype: str = "float32",
        num_threads: int = 1,
        copy: bool = False,
        **options: Any,
    ) -> None:
        self.game = game
        self.num_envs = check_whole_number("num_envs", num_envs, 1)
        threads = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        why = f"; {threads} is the number of this machine's cores, or NUMBA_NUM_THREADS"
        self.num_threads = check_whole_number("num_threads", num_threads, 1, threads, why=why)
        self.player_range = game.check_player_range(num_players)
        self._options = game.check_options(options, arguments_of(BatchEngine))
        self.view = View(memory, features)
        self._encoded = game.encode_options(options)
        self._copy = check_flag("copy", copy)
        self._ready = False
        dtype = check_observation_dtype(observation_dtype)
        with memory_for(self.num_envs):
            self._allocate(dtype)

    def __repr__(self) -> str:
        numbers = {"num_envs": self.num_envs, "num_players": self.player_range}
        return repr_of(self, self.game, self.options, **numbers)

    def _allocate(self, dtype: np.dtype[Any]) -> None:
        game, zeros = self.game, self._zeros
        self._states: NDArray[np.void] = self._new_states()
        self._all = np.arange(self.num_envs)
        self._observation = zeros((self.num_envs, game.fields.size), dtype)
        self._action_mask = zeros((self.num_envs, game.num_actions), np.int8)
        self._rewards = zeros((self.num_envs, game.max_players), np.float64)
        self._terminated = zeros(self.num_envs, np.bool_)
        self._truncated = zeros(self.num_envs, np.bool_)

    def _zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        return np.zeros(shape, dtype)

    def _new_states(self) -> Any:
        return self.game.new_states(self.num_envs)

    def _run(self, template: Callable[..., None], *arguments: Any) -> None:
        """Run a loop over all games."""
        loop = compile_for(self.game, template, COMPILED and self.num_threads > 1)
        with in_threads(self.num_threads):
            loop(*arguments)

    def _observe(self) -> None:
        seen = self._observation, self._action_mask
        self._run(observe_games, self._states, *self.view.codes, *seen)

    def _decide(self, *arguments: Any) -> None:
        self._run(step_games, *arguments)

    def _placed(self, array: NDArray[Any]) -> Any:
        """An array where the loops need it."""
        return array

    @property
    def options(self) -> dict[str, Any]:
        """The game's options."""
        return dict(self._options)

    @property
    def states(self) -> NDArray[np.void]:
        """The games' records (N,), of dtype ``game.state_dtype``: a live view, not to be written
        to, since masks and observations would not follow."""
        return self._states

    @property
    def observation(self) -> Observations:
        """What the player to move observes in each game (N, D), as :meth:`step` returns it."""
        check_has_begun(self._ready, "observation")
        return self._give(self._observation)

    @property
    def action_mask(self) -> NDArray[np.int8]:
        """The legal actions of the player to move in each game, int8 (N, A)."""
        check_has_begun(self._ready, "action_mask")
        return self._give(self._action_mask)

    @property
    def current_player(self) -> NDArray[np.int8]:
        """The player to move in each game, int8 (N,)."""
        check_has_begun(self._ready, "current_player")
        return self._give(self._states["current_player"])

    @property
    def num_players(self) -> NDArray[np.int8]:
        """The number of players of each game, int8 (N,); where a step has ended a game, that of the
        next one."""
        check_has_begun(self._ready, "num_players")
        return self._give(self._states["num_players"])

    @property
    def game_seeds(self) -> NDArray[np.uint64]:
        """The seed of each game, uint64 (N,), which deals the same cards in the AEC environment;
        where a step has ended a game, that of the next one."""
        check_has_begun(self._ready, "game_seeds")
        return self._give(self._states["seed"])

    @one_thread_at_a_time
    def reset(
        self, seed: int | Sequence[int | None] | None = None
    ) -> tuple[Observations, NDArray[np.int8]]:
        """Begin all games.

        Args:
            seed: Game i gets the seed ``seed + i``. Or one for each game, which may be None. None:
                each game gets the seed that follows that of the game before; the first ones are
                drawn from the operating system.

        Returns:
            observation: float32 (N, D) in [0, 1], or uint8 (N, D), of the player to move in each
            game.
            action_mask: int8 (N, A), 1 for each legal action.

        Raises:
            ValueError, TypeError: A seed is out of range, or no whole number, or they are not as
                many as the games.
            RuntimeError: Another thread is using the batch.
        """
        self._begin(self._seeds_from(seed))
        self._observe()
        self._ready = True
        return self._give(self._observation), self._give(self._action_mask)

    def _seeds_from(self, seed: Any) -> NDArray[np.uint64]:
        """The seeds of all games; errors are those of :meth:`reset`."""
        if seed is not None and np.ndim(seed) == 0:
            return consecutive_seeds(seed, self.num_envs)
        seeds = self._next_seeds() if self._ready else consecutive_seeds(None, self.num_envs)
        return seeds if seed is None else check_seeds(seed, seeds)

    def _begin(self, seeds: NDArray[np.uint64]) -> None:
        """Deal the games with these seeds."""
        counts = np.empty(self.num_envs, np.int64)
        draw_tables(seeds, *self.player_range, counts, np.empty_like(counts))
        tables = map(self._placed, (self._all, seeds, counts))
        self._run(reset_games, self._states, *tables, self._encoded)

    def _next_seeds(self) -> NDArray[np.uint64]:
        seeds: NDArray[np.uint64] = next_seeds(np.array(self._states["seed"]))
        return seeds

    @one_thread_at_a_time
    def state(self) -> Any:
        """The true full states, hidden cards included: for critics, never for a policy's input.

        Returns:
            A new array, float32 (N, S) in [0, 1]: each game's ``state()`` in the AEC environment.

        Raises:
            RuntimeError: ``reset`` was not called first, or another thread is using the batch.
        """
        self._check_reset("state")
        return self._full_states(self._states)

    def _check_reset(self, what: str) -> None:
        if not self._ready:
            raise RuntimeError(f"reset() needs to be called before {what}")

    def _full_states(self, states: NDArray[np.void]) -> Any:
        out = np.empty((self.num_envs, self.game.state_fields.size), np.float32)
        write_full_states(self.game, states, self._all, np.zeros_like(self._all), out)
        return out

    @one_thread_at_a_time
    def step(
        self, actions: ArrayLike
    ) -> tuple[
        Observations,
        NDArray[np.int8],
        NDArray[np.float64],
        NDArray[np.bool_],
        NDArray[np.bool_],
    ]:
        """Take one decision in every game.

        Args:
            actions: Whole numbers (N,), each legal for its game's player to move.

        Returns:
            observation: float32 or uint8 (N, D). action_mask: int8 (N, A).
            rewards: float64 (N, max_players), of the players by number (0 for seats that do not
            exist). terminated, truncated: bool (N,).

        Raises:
            ValueError: An action is not legal, or the array's shape or dtype is wrong; no game
                has changed.
            RuntimeError: ``reset`` was not called first, or another thread is using the batch.
        """
        self._check_reset("step")
        self._decide(
            self._states,
            self._legal(actions),
            *self.player_range,
            self._encoded,
            *self.view.codes,
            self._observation,
            self._action_mask,
            self._rewards,
            self._terminated,
            self._truncated,
        )
        return (
            self._give(self._observation),
            self._give(self._action_mask),
            self._give(self._rewards),
            self._give(self._terminated),
            self._give(self._truncated),
        )

    def _legal(self, actions: Any) -> Any:
        """The actions as the loop takes them; errors are those of :meth:`step`."""
        array = np.asarray(actions)
        check_actions(array, self.num_envs)
        array = np.ascontiguousarray(array, np.int64)
        illegal = compile_for(self.game, find_illegal)(array, self._all, self._action_mask)
        if illegal >= 0:
            legal = np.flatnonzero(self._action_mask[illegal]).tolist()
            raise ValueError(
                f"action {array[illegal]} is not legal in game {illegal}; legal actions: {legal}"
            )
        return array

    def _give(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self._copy else _read_only(array)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
