"""All kernels compile to machine code for a GPU, which needs none; and what happens without one."""

from __future__ import annotations

import re
from types import SimpleNamespace

import gpu_templates
import numpy as np
import pytest
from helpers import ALL_GAMES, EACH_GAME
from numba import types
from numba.cuda import codegen, dispatcher
from numba.cuda.np.numpy_support import from_dtype

import card_envs
from card_envs.agents.search.gpu import compile_search_for_gpu
from card_envs.agents.search.halving import HalvingSettings, search_by_halving
from card_envs.agents.search.rollouts import Findings, RolloutPolicy, Room
from card_envs.engine import cuda_jit, templates
from card_envs.kernels import code_cache

# The oldest architecture that CUDA 13 knows (Turing), and Hopper.
OLDEST, NEW = (7, 5), (9, 0)

each_game = pytest.mark.parametrize("game", EACH_GAME)


@pytest.fixture(autouse=True)
def _gpu(monkeypatch, tmp_path):
    """All that compiling asks the GPU for; the code is linked, but not loaded."""
    monkeypatch.setattr(
        dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=NEW)
    )
    monkeypatch.setattr(codegen.CUDACodeLibrary, "_ensure_cc", lambda self, cc: cc or NEW)
    monkeypatch.setattr(codegen.JITCUDACodegen, "magic_tuple", lambda self: NEW)
    monkeypatch.setattr(dispatcher._Kernel, "bind", lambda self: self._codelibrary.get_cubin())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code_cache.cache_folder.cache_clear()
    cuda_jit.compile_for_gpu.cache_clear()
    compile_search_for_gpu.cache_clear()
    yield
    code_cache.cache_folder.cache_clear()
    cuda_jit.compile_for_gpu.cache_clear()
    compile_search_for_gpu.cache_clear()


def array(dtype, dimensions=1, order="C"):
    return types.Array(from_dtype(np.dtype(dtype)), dimensions, order)


def arguments_of(game, template, observation_dtype=np.float32):
    """The types of a template's arguments."""
    numbers, tables = array(np.int64), array(np.int64, 2)
    whole = types.int64
    by_name = {
        "states": array(game.state_dtype),
        "rooms": array(game.state_dtype),
        "scratch": array(np.float32, 2),
        "seating": tables,
        "views": tables,
        "histories": tables,
        "returns": array(np.float64, 2),
        "skip_forced": types.boolean,
        "is_followed": array(np.bool_),
        "out": array(np.float32) if template is templates.play_out else array(np.uint8, 2, "F"),
        "options": types.UniTuple(whole, len(game.options)),
        "observation": array(observation_dtype, 2, "F"),
        "action_mask": array(np.int8, 2, "F"),
        "rewards": array(np.float64, 2, "F"),
        "terminated": array(np.bool_),
        "truncated": array(np.bool_),
        "low": whole,
        "high": whole,
        "memory": whole,
        "features": whole,
        "seed": types.uint64,
        "seeds": array(np.uint64),
        "streams": array(np.uint64),
        "tables": array(np.int64, 2, "F"),
        "is_present": array(np.bool_),
        "ended": array(np.bool_),
        "cut": array(np.bool_),
        "resets": whole,
        "weights": array(np.float32),
        "layouts": tables,
    }
    if template is templates.decide_and_restart:
        by_name["seating"] = by_name["tables"]
    if template is gpu_templates.choose_by_networks:
        by_name["scratch"] = array(np.float32, 3)
    names = template.__code__.co_varnames[: template.__code__.co_argcount]
    return tuple(by_name.get(name, numbers) for name in names)


def compiled(game, template, observation_dtype=np.float32, observes=True):
    """The kernel for the new architecture."""
    loop = cuda_jit.compile_for_gpu(game, template, observes)
    return loop.kernel.compile(arguments_of(game, template, observation_dtype))


def check(kernel, architectures=(NEW,), *, allowed=frozenset()):
    """It is linked for the new architecture, and its code is exact; also for others, if named."""
    library = kernel._codelibrary
    assert len(library.get_cubin().code) > 1000
    for architecture in architectures:
        with cuda_jit.compiler_settings():
            code = library.get_asm_str(cc=architecture)
        assert code.count(".target sm_{}{}".format(*architecture)) == 1
        # Products and sums are rounded as the CPU rounds them: neither joined nor left to be.
        assert set(re.findall(r"\bfma\.\S*|\b(?:mul|add|sub)\.f\d+", code)) <= allowed
        assert set(re.findall(r"\b(?:div|sqrt)\.(?:approx|full)\S*", code)) == set()


@each_game
def test_whole_decisions_compile(game):
    check(compiled(game, templates.step_games, observes=False), (OLDEST, NEW))


@each_game
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_observations_compile(game, dtype):
    check(compiled(game, templates.observe_games, dtype), (OLDEST, NEW))


@each_game
@pytest.mark.parametrize(
    "template",
    [
        templates.reset_games,
        templates.decide_and_restart,
        templates.copy_tables,
        templates.replace_illegal,
        gpu_templates.redraw,
        templates.write_states,
    ],
    ids=lambda template: template.__name__,
)
def test_kernels_compile(game, template):
    if template is templates.write_states and not game.write_state:
        pytest.skip("the game does not write its full state")
    check(compiled(game, template))


@each_game
def test_games_of_a_learner_compile(game):
    """With the scripted players, and with networks: products and sums are joined in tanh alone."""
    check(compiled(game, templates.advance_to_decision), allowed={"fma.rn.f32"})


@pytest.mark.parametrize("template", [templates.play_out, templates.take_actions])
def test_loops_that_hold_nothing_new_compile(template):
    """They are made of what the loops above are made of."""
    scripted = next(game for game in ALL_GAMES if game.heuristic is not None)
    check(compiled(scripted, template))


def test_networks_compile():
    """Products and sums are joined in CUDA's own tanh alone, which is not the CPU's either."""
    check(compiled(ALL_GAMES[0], gpu_templates.choose_by_networks), allowed={"fma.rn.f32"})


def named(kind, *arguments):
    return types.NamedTuple(arguments, kind)


@each_game
def test_searches_compile(game):
    whole, real, flag = types.int64, types.float64, types.boolean
    numbers, records, reals = array(np.int64), array(game.state_dtype), array(np.float64, 2, "F")
    tables, weights = array(np.int64, 2, "F"), array(np.float32)
    values, units = array(np.float32, 3, "F"), array(np.uint8, 2, "F")
    # What is contiguous in either order, (M, 1) or (M, 0), counts as C.
    legal, seeds = array(np.int8, 2, "F"), array(np.uint64, 2)
    order = "C" if game.look_back is None else "F"
    weighed = array(np.float64, 2, order), array(np.int64, 2, order)
    policy = named(RolloutPolicy, whole, weights, tables, tables, flag, whole, real)
    room = named(Room, units, legal, values, array(np.uint64))
    found = named(Findings, reals, tables, reals, seeds, tables)
    evidence = records, numbers, numbers, records, *weighed, reals
    settings = named(HalvingSettings, real, flag, real, numbers, records, tables, values, *evidence)
    loop = compile_search_for_gpu(game, search_by_halving)
    given = records, numbers, policy, whole, types.uint64, records, room, reals, numbers
    check(loop.kernel.compile((*given, found, settings)), allowed={"fma.rn.f32"})


def test_a_compiled_kernel_is_found_in_the_cache(monkeypatch):
    """As on a GPU, but for loading it there."""
    game = ALL_GAMES[0]
    kernel = compiled(game, templates.copy_tables)
    cuda_jit.compile_for_gpu.cache_clear()
    monkeypatch.setattr(dispatcher._Kernel, "__init__", None)  # it is not compiled again
    again = compiled(game, templates.copy_tables)
    assert again is not kernel
    assert again._codelibrary.get_cubin().code == kernel._codelibrary.get_cubin().code


def test_a_loop_over_no_games_launches_nothing():
    """A driver refuses an empty grid; the simulator does not."""
    launches = {}
    loop = cuda_jit.GpuLoop(launches)
    loop(0, "arguments")
    with pytest.raises(KeyError):  # the grid is asked for
        loop(1, "arguments")


def test_without_a_gpu_there_is_one_clear_error():
    if cuda_jit.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match="device='cuda': Numba finds no GPU; use device='cpu'"):
        card_envs.make_vec(ALL_GAMES[0].id, 2, device="cuda")
