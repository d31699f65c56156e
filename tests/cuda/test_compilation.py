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
from card_envs.engine import code_cache, cuda_jit, templates

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
    yield
    code_cache.cache_folder.cache_clear()
    cuda_jit.compile_for_gpu.cache_clear()


def array(dtype, dimensions=1):
    return types.Array(from_dtype(np.dtype(dtype)), dimensions, "C")


def arguments_of(game, template, observation_dtype=np.float32):
    """The types of a template's arguments."""
    numbers, floats = array(np.int64), array(np.float32, 2)
    whole = types.int64
    by_name = {
        "states": array(game.state_dtype),
        "scratch": floats,
        "options": types.UniTuple(whole, len(game.options)),
        "observation": array(observation_dtype, 2),
        "action_mask": array(np.int8, 2),
        "rewards": array(np.float64, 2),
        "terminated": array(np.bool_),
        "truncated": array(np.bool_),
        "low": whole,
        "high": whole,
        "memory": whole,
        "features": whole,
        "seed": types.uint64,
        "seeds": array(np.uint64),
        "streams": array(np.uint64),
        "weights": array(np.float32),
        "layouts": array(np.int64, 2),
    }
    if template is gpu_templates.choose_by_networks:
        by_name["scratch"] = array(np.float32, 3)
    names = template.__code__.co_varnames[: template.__code__.co_argcount]
    return tuple(by_name.get(name, numbers) for name in names)


def compiled(game, template, observation_dtype=np.float32):
    """The kernel for the new architecture."""
    loop = cuda_jit.compile_for_gpu(game, template)
    return loop.kernel.compile(arguments_of(game, template, observation_dtype))


def check(kernel, *, allowed=frozenset()):
    library = kernel._codelibrary
    assert len(library.get_cubin().code) > 1000
    with cuda_jit.compiler_settings():
        codes = [library.get_asm_str(cc=cc) for cc in (OLDEST, NEW)]
    assert [
        code.count(f".target sm_{target}") for code, target in zip(codes, (75, 90), strict=True)
    ] == [1, 1]
    for code in codes:
        # Products and sums are rounded as the CPU rounds them: neither joined nor left to be.
        assert set(re.findall(r"\bfma\.\S*|\b(?:mul|add|sub)\.f\d+", code)) <= allowed
        assert set(re.findall(r"\b(?:div|sqrt)\.(?:approx|full)\S*", code)) == set()


@each_game
def test_whole_decisions_compile(game):
    check(compiled(game, templates.step_games))


@each_game
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_observations_compile(game, dtype):
    check(compiled(game, templates.observe_games, dtype))


@each_game
@pytest.mark.parametrize(
    "template",
    [
        templates.reset_games,
        templates.copy_tables,
        templates.replace_illegal,
        gpu_templates.redraw,
        gpu_templates.choose_by_heuristic,
    ],
    ids=lambda template: template.__name__,
)
def test_kernels_compile(game, template):
    if template is gpu_templates.choose_by_heuristic and game.heuristic is None:
        pytest.skip("the game has no heuristic")
    check(compiled(game, template))


def test_networks_compile():
    """Products and sums are joined in CUDA's own tanh alone, which is not the CPU's either."""
    check(compiled(ALL_GAMES[0], gpu_templates.choose_by_networks), allowed={"fma.rn.f32"})


def test_a_compiled_kernel_is_found_in_the_cache(monkeypatch):
    """As on a GPU, but for loading it there."""
    game = ALL_GAMES[0]
    kernel = compiled(game, templates.copy_tables)
    cuda_jit.compile_for_gpu.cache_clear()
    monkeypatch.setattr(dispatcher._Kernel, "__init__", None)  # it is not compiled again
    again = compiled(game, templates.copy_tables)
    assert again is not kernel
    assert again._codelibrary.get_cubin().code == kernel._codelibrary.get_cubin().code


def test_without_a_gpu_there_is_one_clear_error():
    if cuda_jit.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match="device='cuda': Numba finds no GPU; take device='cpu'"):
        card_envs.make_vec("beaver_gang", 2, device="cuda")
