"""Objects that travel between processes: those of the table in ``travellers``."""

from __future__ import annotations

import copy
import importlib
import inspect
import io
import pickle
import pkgutil
from typing import is_typeddict

import joblib
import numpy as np
import pytest
from helpers import ALL_GAMES, begin, network_of
from travellers import TRAVELLERS, arrive, depart, names_of

import card_envs
from card_envs.agents import FunctionAgent, NetworkAgent, SearchAgent
from card_envs.engine.arena import Arena
from card_envs.envs.aec import CardEnv
from card_envs.kernels.jit import COMPILED
from card_envs.utils.extras import MissingExtraError
from card_envs.utils.portable import Undivided

# What stays where it is: servers, the program of the command line, the cache of compiled code, and
# programs that run.
STAY = (
    "card_envs.commands.cli",
    "card_envs.kernels.code_cache",
    "card_envs.agents.programs.process",
    "card_envs.web",
)
# Likewise: open files and windows, what a process has one of, a callback (it belongs to a training
# loop), a loop over the agents to move, tables that are being played, what a search's kernel is
# given for one call, what it found there, the folder of a run, and the colours of a picture.
STAYING = {
    "AgentIterable",
    "BenchmarkTables",
    "DealsEvalCallback",
    "Evidence",
    "Findings",
    "Found",
    "GameRegistry",
    "HalvingSettings",
    "Look",
    "MinariWriter",
    "Room",
    "RunFolder",
    "Sb3Input",
    "SearchedDecisions",
    "TreeSettings",
    "Window",
}

GAME = ALL_GAMES[0]
# One of another package with it.
BOTH = [
    pytest.param(GAME, id=GAME.id),
    pytest.param(ALL_GAMES[-1], id=ALL_GAMES[-1].id, marks=pytest.mark.slow),
]


def pickled(value, buffers):
    """A pickle whose arrays are elsewhere, as Ray and Dask send them."""
    return pickle.dumps(value, protocol=5, buffer_callback=buffers.append)


@pytest.mark.parametrize("name", TRAVELLERS)
@pytest.mark.parametrize("game", BOTH)
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


def test_a_shallow_copy_has_games_of_its_own():
    found = set()
    for name, is_begun in names_of(GAME):
        original = depart(GAME, name, is_begun)
        if isinstance(original, (CardEnv, Undivided)):
            results = [arrive(name, copy.copy(original)) for _ in range(2)]
            assert results[0] == results[1] == arrive(name, original), name
            found.add(type(original).__name__)
    assert len(found) > 8


@pytest.mark.slow
def test_joblib_takes_it_to_other_processes():
    """Arrays are read-only mappings of files there."""
    names = names_of(GAME)
    travellers = [depart(GAME, *name) for name in names]
    parallel = joblib.Parallel(n_jobs=2, max_nbytes=0)
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
                and not getattr(each, "_is_protocol", False)
                and not is_typeddict(each)
                and not issubclass(each, Exception)
            ):
                yield each


def test_the_table_holds_every_public_class():
    witness = Witness()
    for name in names_of(GAME):
        witness.dump(depart(GAME, *name))
    for game in ALL_GAMES:
        witness.dump(depart(game, "data of a game", False))
        if game.look_back is not None:  # whose searches remember decisions
            policy = NetworkAgent(network_of(game), "mine")
            follower = SearchAgent(game, policy=policy).follow({})
            follower.watch(begin(game, game.min_players, 1), 0, 0)
            witness.dump(follower)
    names = {kind.__name__ for each in witness.classes for kind in each.__mro__}
    missing = {each.__name__ for each in classes_of_the_package()} - names
    assert sorted(missing - STAYING) == []


# ---------------------------------------------------------------------------------------------
# Records and arrays that may not be written, wherever they come from
# ---------------------------------------------------------------------------------------------


def frozen(states):
    """The records in memory that may not be written."""
    return np.frombuffer(states.tobytes(), states.dtype)


@pytest.mark.skipif(not COMPILED, reason="NumPy refuses to write into them by itself")
def test_no_kernel_is_entered_with_records_that_may_not_be_written():
    env = card_envs.make(GAME.name)
    env.reset(seed=1)
    before = frozen(env.states)
    legal = env.legal_actions()
    mask = np.zeros(GAME.num_actions, np.int8)
    observation = np.zeros(GAME.fields.size, np.float32)
    kernels = {
        "step": lambda states: GAME.rules.step(states, 0, legal[0]),
        "reset": lambda states: GAME.rules.reset(
            states, 0, np.uint64(1), 4, *GAME.encode_options({})
        ),
        "determinize": lambda states: GAME.rules.determinize(states, 0, 0, np.uint64(1)),
        "legal_action_mask": lambda states: GAME.rules.legal_action_mask(states, 0, mask),
        "observe": lambda states: GAME.observe(states, 0, 0, 1, 1, observation),
    }
    for name, kernel in kernels.items():
        with pytest.raises(ValueError, match=f"{name} was given records that may not be written"):
            kernel(before)
        kernel(frozen(before).copy())
    env.states.flags.writeable = False
    with pytest.raises(ValueError, match="records that may not be written"):
        env.step(legal[0])
    with pytest.raises(ValueError, match="records that may not be written"):
        env.determinize("player_0", 1)
    assert env.states.tobytes() == before.tobytes()
    env.states.flags.writeable = True
    env.step(legal[0])
    with pytest.raises(AttributeError):
        env.states = before


@pytest.mark.skipif(not COMPILED, reason="NumPy refuses to write into them by itself")
def test_records_that_are_put_into_an_arena_are_looked_at():
    arena = Arena(GAME, 2, [None, "random"])
    games = np.arange(2)
    arena.agents[1] = card_envs.agents.make_agent("random", GAME)
    begin = (games, np.ones(2, np.uint64), np.full(2, 4), np.ones((2, GAME.max_players), np.int64))
    arena.states = frozen(arena.states)
    with pytest.raises(ValueError, match="records that may not be written"):
        arena.start(*begin)
    arena.states = arena.states.copy()
    arena.start(*begin)
    assert arena.states["steps"].all()


def test_what_cannot_travel_is_named():
    for opponent in (lambda observation, action_mask: 0, FunctionAgent("own", lambda *_: 0)):
        env = card_envs.envs.single_seat.SingleSeatEnv(GAME.name, opponents=opponent)
        with pytest.raises((pickle.PicklingError, AttributeError), match="<lambda>"):
            pickle.dumps(env)
