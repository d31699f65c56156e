"""Play every game with all indices checked: ``python tests/check_bounds.py [GAME ...]``.

Compiled kernels do not check indices. This runs itself again with ``NUMBA_BOUNDSCHECK=1``, where
they do, over thousands of decisions of each game; an index out of bounds is an IndexError. What is
compiled for it is kept in a cache of its own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numba
import numpy as np
import platformdirs
from helpers import (
    ALL_GAMES,
    VIEWS,
    Chooser,
    begin,
    is_over,
    kinds_of_actions,
    mask_of,
    observation_of,
    option_sets,
    state_of,
)

from card_envs.contract.game import Game
from card_envs.contract.observing import index
from card_envs.kernels.code_cache import cache_folder
from card_envs.kernels.jit import jit, package_of

DECISIONS = 4000  # of each game


@jit
def write(out, place):
    """Numba checks ``place``."""
    out[index(place)] = 1.0


def check_that_indices_are_checked() -> None:
    for place in (3, -1):
        try:
            write(np.zeros(3, np.float32), place)
        except IndexError:
            continue
        raise AssertionError("this Numba does not check indices")


def play(game: Game) -> int:
    """Returns the number of decisions."""
    decisions = number = 0
    sets = option_sets(game, most=12)
    sizes = game.table_sizes
    other = game.new_states(1)
    while decisions < DECISIONS:
        # Every second game is one of the heuristic, or of what it would rather do.
        follows = number % 2 and game.heuristic is not None
        chooser = Chooser(number, kinds_of_actions(game) if number % 3 else None)
        n = sizes[number % len(sizes)]
        states = begin(game, n, number, **sets[number % len(sets)])
        while decisions < DECISIONS + 1000:
            view = VIEWS[decisions % len(VIEWS)]
            for player in range(n):
                observation_of(game, states, player, view.memory, view.features)
            state_of(game, states, decisions % n)
            mask = mask_of(game, states)
            if is_over(states):
                break
            action = chooser.choose(mask)
            if game.heuristic is not None:
                choice = int(game.heuristic(states, 0))
                action = choice if follows and chooser.below(4) else action
            other[0] = states[0]
            game.rules.determinize(other, 0, decisions % n, np.uint64(decisions))
            game.rules.step(other, 0, chooser.choose(mask_of(game, other)))
            observation_of(game, other, decisions % n, view.memory, view.features)
            game.rules.step(states, 0, action)
            decisions += 1
        number += 1
    return decisions


def main() -> None:
    """Play the games that are named, or all."""
    if not numba.config.BOUNDSCHECK:
        cache = Path(platformdirs.user_cache_dir("card_envs", appauthor=False)) / "bounds"
        more = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1", "XDG_CACHE_HOME": str(cache)}
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | more)
    check_that_indices_are_checked()
    names = sys.argv[1:] or [game.id for game in ALL_GAMES]
    for game in (game for game in ALL_GAMES if game.id in names):
        folder = cache_folder(package_of(game.rules.__name__))
        assert Path(os.environ["XDG_CACHE_HOME"]) in folder.parents, "kernels without checks"
        print(f"{game.id}: {play(game)} decisions, all indices in bounds", flush=True)


if __name__ == "__main__":
    main()
