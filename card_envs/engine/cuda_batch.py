"""``CudaBatchEngine``: the raw batch on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from card_envs.contract.game import Game
from card_envs.engine.batch import BatchEngine
from card_envs.engine.cuda_jit import check_gpu, compile_for_gpu, cuda, on_gpu, zeros
from card_envs.engine.seeds import next_seeds
from card_envs.engine.templates import copy_tables, replace_illegal, step_games
from card_envs.utils.checks import check_actions as check_shape_of_actions
from card_envs.utils.checks import check_has_begun
from card_envs.utils.threads import one_thread_at_a_time

_NOBODY = -1  # no game's action was refused


class CudaBatchEngine(BatchEngine):
    """The raw batch on an NVIDIA GPU: a ``BatchEngine`` whose arrays are all there.

    Cards, observations, masks, rewards and all seeds are those of the CPU's batch, byte for byte.
    What is different:

    - All arrays returned are arrays of Numba on the GPU, with ``__cuda_array_interface__``:
      ``torch.as_tensor(array, device="cuda")`` is a tensor of the same memory, without a copy, and
      ``array.copy_to_host()`` a NumPy array. They can be written to, but must not be. Matrices are
      in Fortran order: neighboring games lie next to each other.
    - ``step`` takes actions on the GPU as they are: any whole numbers with
      ``__cuda_array_interface__``, such as a tensor. Others are copied there first.
    - ``state`` copies the records to the CPU and writes the full states there.
    - Calls return before the GPU has done the work, which it does in order (on the default stream,
      as PyTorch's usual work). Nothing waits for it, so ``step`` raises no error for an illegal
      action: the game's lowest legal one is taken instead, and :meth:`check_actions` reports that.

    Args:
        game: The game.
        num_envs: Number of games, at least 1.
        num_players: As for ``BatchEngine``.
        memory: As for ``BatchEngine``.
        features: As for ``BatchEngine``.
        observation_dtype: As for ``BatchEngine``.
        copy: As for ``BatchEngine``.
        **options: The game's options (reward, max_steps and its own).

    Raises:
        ValueError, TypeError: An argument or an option is wrong; the message says what is allowed.
            Or there is no GPU.
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
        copy: bool = False,
        **options: Any,
    ) -> None:
        check_gpu()
        super().__init__(
            game,
            num_envs,
            num_players,
            memory=memory,
            features=features,
            observation_dtype=observation_dtype,
            copy=copy,
            **options,
        )

    def _zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        return zeros(shape, dtype)

    def _new_states(self) -> Any:
        return zeros(self.num_envs, self.game.state_dtype)

    def _allocate(self, dtype: np.dtype[Any]) -> None:
        super()._allocate(dtype)
        count = self.num_envs
        self._legal_actions = zeros(count, np.int64)
        self._refused = cuda.to_device(np.array([_NOBODY]))
        self._current_player = zeros(count, np.int8)
        self._num_players = zeros(count, np.int8)
        self._seeds = zeros(count, np.uint64)

    def _run(self, template: Callable[..., None], *arguments: Any) -> None:
        compile_for_gpu(self.game, template)(self.num_envs, *arguments)

    def _decide(self, *arguments: Any) -> None:
        # In two kernels: together faster than one that does both.
        compile_for_gpu(self.game, step_games, observes=False)(self.num_envs, *arguments)
        self._observe()

    def _placed(self, array: NDArray[Any]) -> Any:
        return cuda.to_device(array)

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value if on_gpu(value) is None else _OnTheHost(value.copy_to_host())
            for name, value in super().__getstate__().items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(
            {
                name: cuda.to_device(value.array) if isinstance(value, _OnTheHost) else value
                for name, value in state.items()
            }
        )

    @property
    def current_player(self) -> Any:
        """The player to move in each game, int8 (N,)."""
        return self._tables("current_player")[0]

    @property
    def num_players(self) -> Any:
        """The number of players of each game, int8 (N,)."""
        return self._tables("num_players")[1]

    @property
    def game_seeds(self) -> Any:
        """The seed of each game, uint64 (N,)."""
        return self._tables("game_seeds")[2]

    def _next_seeds(self) -> NDArray[np.uint64]:
        seeds: NDArray[np.uint64] = next_seeds(self.game_seeds.copy_to_host())
        return seeds

    def _tables(self, what: str) -> list[Any]:
        check_has_begun(self._ready, what)
        tables = [self._current_player, self._num_players, self._seeds]
        self._run(copy_tables, self._states, *tables)
        return [self._give(table) for table in tables]

    def _legal(self, actions: Any) -> Any:
        """The actions on the GPU, the lowest legal one in place of one that is not legal."""
        given = on_gpu(actions)
        array = np.asarray(actions) if given is None else given
        check_shape_of_actions(array, self.num_envs)
        if given is None:
            array = self._placed(np.ascontiguousarray(array, np.int64))
        legal, refused = self._legal_actions, self._refused
        self._run(replace_illegal, array, self._action_mask, legal, refused)
        return legal

    def _full_states(self, states: Any) -> Any:
        records = self.game.new_states(self.num_envs)
        states.copy_to_host(records)
        return cuda.to_device(super()._full_states(records))

    @one_thread_at_a_time
    def check_actions(self) -> None:
        """Wait for the GPU, and report whether all actions since the last call were legal.

        Raises:
            ValueError: One was not, and its game's lowest legal action was taken instead; the
                message names one such game.
        """
        refused = int(self._refused.copy_to_host()[0])
        if refused != _NOBODY:
            self._refused = cuda.to_device(np.array([_NOBODY]))
            raise ValueError(
                f"an action was not legal in game {refused}: its lowest legal action was taken "
                "instead"
            )

    def _give(self, array: Any) -> Any:
        if not self._copy:
            return array
        copy = cuda.device_array(array.shape, array.dtype, order="F")
        copy.copy_to_device(array)
        return copy


class _OnTheHost:
    """A GPU array while its batch is pickled or copied."""

    def __init__(self, array: Any) -> None:
        self.array = array
