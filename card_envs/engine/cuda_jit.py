"""Templates compiled for an NVIDIA GPU: one thread for each game.

The source is the CPU's. A template's loop over games, ``prange``, becomes a loop over the games of
one thread. Importing this module needs the extra ``cuda``, or Numba's
simulator (``NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1``), where kernels run as plain Python.

Results are those of the CPU, byte for byte, but for ``tanh``. A GPU's compiler would join a product
and a sum into one operation that rounds once (fused multiply-add), which the CPU's does not: here
it is told not to.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numba
import numpy as np
from numpy.typing import DTypeLike

from card_envs.contract.game import Game
from card_envs.kernels.code_cache import cache_folder
from card_envs.kernels.jit import COMPILED, cache_in, in_namespace, package_of
from card_envs.utils.extras import import_extra

_config: Any = numba.config

#: Whether Numba simulates the GPU.
SIMULATED = bool(_config.ENABLE_CUDASIM)

if not SIMULATED:
    import_extra("numba_cuda", "cuda")
cuda: Any = importlib.import_module("numba.cuda")

THREADS_PER_BLOCK = 128


def check_gpu() -> None:
    """Check that there is a GPU to compute on.

    Raises:
        ValueError: There is none, or kernels do not run as the simulator needs it; the message says
            why.
    """
    if SIMULATED and COMPILED:
        raise ValueError("Numba's CUDA simulator also needs NUMBA_DISABLE_JIT=1")
    if not cuda.is_available():
        reason = " ".join(str(cuda.cuda_error() or "").split())
        raise ValueError(f"device='cuda': Numba finds no GPU; use device='cpu'. {reason}".strip())


def _own_games(count: int) -> range:
    return range(cuda.grid(1), count, cuda.gridsize(1))


#: ``own_games(count)``: those of the games that are the present thread's own.
own_games = cuda.jit(device=True)(_own_games)


@dataclass(frozen=True)
class GpuLoop:
    """A template compiled for one game; called with the number of games and its own arguments.

    Arrays among these are on the GPU. A call returns at once: the GPU works through what it is
    given in order.
    """

    kernel: Any

    def __call__(self, count: int, *arguments: Any) -> None:
        """Run it in at least this many threads."""
        if count == 0:
            return  # a driver refuses a grid without blocks
        blocks = -(-count // THREADS_PER_BLOCK)
        self.kernel[blocks, min(count, THREADS_PER_BLOCK)](*arguments)


def _nothing(*_arguments: Any) -> int:
    return 0


_nothing_there = cuda.jit(device=True)(_nothing)


@cache
def compile_for_gpu(game: Game, template: Callable[..., Any], observes: bool = True) -> GpuLoop:
    """The template compiled for one game; the same loop for the same arguments.

    Args:
        game: The game.
        template: The template.
        observes: Whether it writes observations and masks; without that it takes fewer registers.
    """
    namespace = game.namespace
    name = f"{template.__name__}_cuda"
    if not observes:
        nothing = {"observe": _nothing_there, "legal_action_mask": _nothing_there}
        namespace = {**namespace, **nothing}
        name += "_unobserved"
    return compile_loop(template, namespace, name)


def compile_loop(template: Callable[..., Any], namespace: Mapping[str, Any], name: str) -> GpuLoop:
    """A template in a namespace, as a loop of this name: another one at each call."""
    names = {**namespace, "prange": own_games}
    return GpuLoop(_dispatcher(in_namespace(template, names, name)))


def _dispatcher(function: Callable[..., Any]) -> Any:
    if SIMULATED:
        return cuda.jit(function)
    # Optimized at link time, products and sums would be joined after all.
    dispatcher = cuda.jit(function, lto=False)
    compile_joined = dispatcher.compile
    module = importlib.import_module("numba.cuda.dispatcher")

    def compile_exactly(signature: Any) -> Any:
        with module.global_compiler_lock, compiler_settings():
            return compile_joined(signature)

    dispatcher.compile = compile_exactly
    package = package_of(function.__module__)
    if package is not None:
        cache_in(cache_folder(package), dispatcher, module.CUDACache)
    return dispatcher


@contextmanager
def compiler_settings() -> Iterator[None]:
    """A context in which Numba compiles kernels with two settings for which it has no option.

    There is no fused multiply-add. And a game's tables are in global memory: they can be larger
    than all constant memory, whose accesses also wait for each other where threads look up
    different entries. Both are set for all threads, so the compiler's lock must be held.
    """
    nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")
    compile_ir, constant = nvvm.compile_ir, nvvm.ADDRSPACE_CONSTANT
    nvvm.compile_ir = lambda *args, **options: compile_ir(*args, **options, fma=0)
    nvvm.ADDRSPACE_CONSTANT = nvvm.ADDRSPACE_GLOBAL
    try:
        yield
    finally:
        nvvm.compile_ir, nvvm.ADDRSPACE_CONSTANT = compile_ir, constant


def on_gpu(array: Any) -> Any:
    """The same array as one of Numba's, if it is on the GPU; else None."""
    if hasattr(array, "copy_to_host"):
        return array
    return cuda.as_cuda_array(array) if hasattr(array, "__cuda_array_interface__") else None


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
    """An array of zeros on the GPU; of a matrix each column is contiguous (Fortran order).

    Neighboring threads, which write neighboring rows, then write to neighboring addresses.
    """
    return cuda.to_device(np.zeros(shape, dtype, order="F"))
