"""Objects travel into tasks of a Ray cluster, whose arrays are read-only: those of the table."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import ray
from helpers import ALL_GAMES
from travellers import arrive, depart, names_of

GAME = ALL_GAMES[0]
TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def results():
    """What each object of the table does in a task of its own, and here."""
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(TESTS.parent), str(TESTS), str(TESTS / "fixtures"), *sys.path]
    )
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000)
    names = names_of(GAME)
    travellers = [depart(GAME, *name) for name in names]
    task = ray.remote(arrive)
    handles = [
        task.remote(name, ray.put(value))
        for (name, _), value in zip(names, travellers, strict=True)
    ]
    there = ray.get(handles)
    ray.shutdown()
    here = [arrive(name, value) for (name, _), value in zip(names, travellers, strict=True)]
    return dict(zip(names, zip(there, here, strict=True), strict=True))


@pytest.mark.parametrize("name", names_of(GAME), ids=str)
def test_it_plays_on_in_a_task(results, name):
    there, here = results[name]
    assert there == here
