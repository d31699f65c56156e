"""A game's templates on the device of a training run, with tensors as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from card_envs.contract.game import Game
from card_envs.engine.templates import compile_for
from training.config import Config


def has_games_on_device(config: Config) -> bool:
    """Whether a run's games are on its device, and not only its networks."""
    return config.device == "cuda"


def device_of(config: Config) -> str:
    """The device of a run's networks, as torch and SB3 call it.

    Raises:
        ValueError: There is no such device.
    """
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device: there is no GPU that torch can use; use auto or cpu")
    return config.device


class DeviceLoops:
    """A game's templates on a device, and arrays for them that torch shares.

    On a GPU they are compiled for it. Everything else is the same on a CPU, where they are those of
    any other batch; this is how it is tested without a GPU, as is Numba's simulator of one.

    Args:
        game: The game.
        device: Where records and tensors are.

    Raises:
        ValueError: There is no GPU that Numba can use.
        MissingExtraError: The extra ``cuda`` is not installed.
    """

    def __init__(self, game: Game, device: str) -> None:
        self.game = game
        self.device = torch.device(device)
        self._gpu: Any = None
        if self.device.type == "cuda" or numba.config.ENABLE_CUDASIM:  # type: ignore[attr-defined]
            from card_envs.engine import cuda_jit

            cuda_jit.check_gpu()
            self._gpu = cuda_jit

    def run(self, template: Callable[..., Any], count: int, *arguments: Any) -> None:
        """Run a template's loop over ``count`` games; arrays and tensors are on the device."""
        arrays = [self._as_array(argument) for argument in arguments]
        if self._gpu is None:
            compile_for(self.game, template)(*arrays)
        else:
            self._gpu.compile_for_gpu(self.game, template)(count, *arrays)

    def _as_array(self, argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            return argument
        if argument.device.type == "cpu":
            return argument.numpy()
        return self._gpu.cuda.as_cuda_array(argument)  # the same memory

    def new_states(self, count: int) -> Any:
        """Blank records (count,) on the device."""
        if self._gpu is None:
            return self.game.new_states(count)
        return self._gpu.zeros(count, self.game.state_dtype)

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        """An array of zeros on the device, for kernels alone."""
        return np.zeros(shape, dtype) if self._gpu is None else self._gpu.zeros(shape, dtype)

    def array(self, array: NDArray[Any]) -> Any:
        """The same array on the device, for kernels alone."""
        return array if self._gpu is None else self._gpu.cuda.to_device(array)

    def tensor(self, array: NDArray[Any]) -> torch.Tensor:
        """The same array on the device, for kernels and torch."""
        return torch.from_numpy(array).to(self.device)

    def to_host(self, array: Any) -> NDArray[Any]:
        """An array of :meth:`zeros` or :meth:`new_states`, copied to the CPU."""
        host: NDArray[Any] = np.asarray(array).copy() if self._gpu is None else array.copy_to_host()
        return host
