"""Search on an NVIDIA GPU: one thread for each position. Importing this module needs the extra
``cuda``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from card_envs.agents.search.compilation import names_of
from card_envs.agents.search.rollouts import search_games
from card_envs.contract.game import Game
from card_envs.engine.cuda_jit import SIMULATED, GpuLoop, compile_loop, cuda


@cache
def compile_search_for_gpu(game: Game, search_one: Callable[..., Any]) -> GpuLoop:
    """``search_games`` by a method, compiled for a game; always the same loop."""
    return compile_loop(search_games, names_of(game, search_one), "search_games_cuda")


def search_on_gpu(
    game: Game,
    search_one: Callable[..., Any],
    states: Any,
    indices: Any,
    policy: Any,
    rollouts: int,
    seed: Any,
    *buffers: Any,
) -> None:
    """``search_games`` by a method, for arrays on the CPU: what it writes to ``actions`` and
    ``found`` is the same byte for byte, but for networks with ``tanh``."""
    count = len(indices)
    *given, actions, found, settings = buffers
    results = _put((actions, found))
    compile_search_for_gpu(game, search_one)(
        count,
        *map(_put, (states[indices], np.arange(count), policy)),
        rollouts,
        seed,
        *map(_put, given),
        *results,
        _put(settings),
    )
    for here, there in zip((actions, *found), (results[0], *results[1]), strict=True):
        here[...] = np.asarray(there)


def _put(value: Any) -> Any:
    """A copy on the GPU of what is given to ``search_games``. Matrices are in Fortran order: what
    neighboring threads write lies next to each other."""
    if isinstance(value, np.ndarray):
        copy = np.array(value, order="F", subok=True)
        # The simulator does not see what is in a tuple: it takes plain arrays there.
        return copy if SIMULATED else cuda.to_device(copy)
    if isinstance(value, tuple):
        own = map(_put, value)
        return type(value)._make(own) if hasattr(value, "_make") else tuple(own)
    return value
