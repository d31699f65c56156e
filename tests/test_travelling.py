"""Objects that travel between processes: those of the table in ``travellers``."""

from __future__ import annotations

import importlib
import inspect
import io
import pickle
import pkgutil
import warnings

import joblib
import numpy as np
import pytest
from helpers import ALL_GAMES, EACH_GAME
from travellers import TRAVELLERS, arrive, depart, names_of, plain

import card_envs
from card_envs.agents import FunctionAgent
from card_envs.engine.arena import Arena
from card_envs.engine.jit import COMPILED
from card_envs.extras import MissingExtraError

each_game = pytest.mark.parametrize("game", EACH_GAME)
each_name = pytest.mark.parametrize("name", TRAVELLERS)

# Rooms whose objects stay where they are: a server, programs of the command line, compilation.
STAY = (
    "card_envs.web",
    "card_envs.cli",
    "card_envs.engine.code_cache",
    "card_envs.programs.process",
)
# Classes of others: windows and files that are open, the one registry of a process, what kernels
# take and leave in one call, and a callback, which belongs to a training loop.
STAYING = {
    "DealsEvalCallback",
    "Evidence",
    "Findings",
    "GameRegistry",
    "Grid",
    "MinariWriter",
    "Room",
    "Window",
}


def pickled(value, buffers):
    """A pickle whose arrays are elsewhere, as Ray and Dask send them."""
    return pickle.dumps(value, protocol=5, buffer_callback=buffers.append)


@each_name
@each_game
def test_it_plays_on_where_it_arrives(game, name):
    """Its buffers may not be written, and stay as they were; nor does it share them."""
    for is_begun in [begun for known, begun in names_of(game) if known == name]:
        original = depart(game, name, is_begun)
        buffers = []
        data = pickled(original, buffers)
        handed = [bytes(buffer) for buffer in buffers]
        before = [bytearray(buffer) for buffer in handed]
        shared = [bytearray(buffer) for buffer in handed]
        expected = arrive(name, original)
        for given in (handed, shared, shared):
            assert arrive(name, pickle.loads(data, buffers=given)) == expected
        assert handed == shared == before


@pytest.mark.parametrize("max_nbytes", [0, None], ids=["mapped", "sent"])
def test_joblib_takes_it_to_other_processes(max_nbytes):
    """Arrays are read-only mappings of files there, or arrive with the rest."""
    game = ALL_GAMES[0]
    names = names_of(game)
    travellers = [depart(game, *name) for name in names]
    parallel = joblib.Parallel(n_jobs=2, max_nbytes=max_nbytes)
    results = parallel(
        joblib.delayed(arrive)(name, value)
        for (name, _), value in zip(names, travellers, strict=True)
    )
    for (name, _), value, result in zip(names, travellers, results, strict=True):
        assert result == arrive(name, value), name


class Witness(pickle.Pickler):
    """Notes the classes of all objects that are pickled."""

    def __init__(self):
        super().__init__(io.BytesIO(), protocol=5, buffer_callback=lambda buffer: False)
        self.classes = set()

    def reducer_override(self, value):
        self.classes.add(type(value))
        return NotImplemented


def classes_of_the_package():
    """The public classes in all modules that can be imported here."""
    for module in pkgutil.walk_packages(card_envs.__path__, "card_envs."):
        if module.name.startswith(STAY) or module.name.endswith("__main__"):
            continue
        try:
            names = vars(importlib.import_module(module.name))
        except MissingExtraError:  # its tests have a table of their own
            continue
        for name, each in names.items():
            if (
                inspect.isclass(each)
                and each.__module__ == module.name
                and not name.startswith("_")
                and not inspect.isabstract(each)
                and not issubclass(each, Exception)
            ):
                yield each


def test_the_table_holds_every_public_class():
    witness = Witness()
    for game in ALL_GAMES[:1]:
        for name in names_of(game):
            witness.dump(depart(game, *name))
    names = {kind.__name__ for each in witness.classes for kind in each.__mro__}
    missing = {each.__name__ for each in classes_of_the_package()} - names
    assert sorted(missing - STAYING) == []
