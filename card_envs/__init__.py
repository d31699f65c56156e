"""Hidden-information card games as reinforcement-learning environments."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from card_envs.games import GAMES, OWN_GAMES, load_game, register
from card_envs.utils.version import VERSION as __version__

if TYPE_CHECKING:
    from card_envs.agents.table import Table
    from card_envs.contract import Action, Actions, Field, Fields, Game, Option, Scene, View
    from card_envs.engine.batch import BatchEngine
    from card_envs.engine.history import Replay
    from card_envs.envs.aec import CardEnv
    from card_envs.envs.parallel import ParallelCardEnv
    from card_envs.integrations.export import export_policy as write_model
    from card_envs.text.env import TextEnv

    class _GameModule(Protocol):
        """A game's module: its functions' arguments are checked where it is imported by name."""

        def env(self, **options: Any) -> CardEnv: ...
        def raw_env(self, **options: Any) -> CardEnv: ...
        def parallel_env(self, **options: Any) -> ParallelCardEnv: ...


__all__ = [
    "GAMES",
    "Action",
    "Actions",
    "Field",
    "Fields",
    "Game",
    "Option",
    "Replay",
    "Scene",
    "Table",
    "View",
    "__version__",
    "export_policy",
    "load_game",
    "make",
    "make_text",
    "make_vec",
    "register",
]


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _takes_arguments_of(
    constructor: Callable[[], Callable[_P, _T]],
) -> Callable[[Callable[..., _T]], Callable[_P, _T]]:
    """For type checkers: the function takes the arguments of ``constructor()``, which is never
    called, so that nothing is imported for it."""
    return lambda function: function


@_takes_arguments_of(lambda: CardEnv)
def make(game: str, **options: Any) -> CardEnv:
    """The game as a PettingZoo AEC environment: the same as ``card_envs.<game>_vN.env``.

    Args:
        game: An id of ``GAMES`` (its newest version), or a versioned name.
        **options: The arguments of ``card_envs.envs.aec.CardEnv``.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """
    from card_envs.envs.aec import CardEnv

    return CardEnv(game, **options)


def make_vec(
    game: str,
    num_envs: int,
    num_players: int | tuple[int, int] | None = None,
    *,
    memory: str = "perfect",
    features: bool = True,
    observation_dtype: str = "float32",
    num_threads: int = 1,
    copy: bool = False,
    device: str = "cpu",
    **options: Any,
) -> BatchEngine:
    """The raw batch: ``num_envs`` games that take a decision each at every step.

    Args:
        game: An id of ``GAMES`` (its newest version), or a versioned name.
        num_envs: Number of games.
        num_players: One number, or a pair (low, high) to mix table sizes in one batch. None: the
            game's default.
        memory: As in ``card_envs.envs.options.EnvOptions``.
        features: As there.
        observation_dtype: ``"float32"``: values in [0, 1]; ``"uint8"``: the same in whole units,
            ``value * game.fields.scale``: a quarter of the memory, and faster in large batches.
        num_threads: Threads that share the games.
        copy: Whether to return fresh arrays, not buffers that the next step overwrites.
        device: ``"cpu"``, or ``"cuda"``: the games and all arrays are on an NVIDIA GPU
            (``card_envs.engine.cuda_batch.CudaBatchEngine``, with the extra ``cuda``).
        **options: The game's options.

    Raises:
        ValueError, TypeError: An argument is wrong, or there is no GPU; the message says what is
            allowed.
    """
    from card_envs.contract.options import arguments_of
    from card_envs.utils.checks import check_device

    check_device(device, num_threads=num_threads)
    loaded = load_game(game)
    loaded.check_options(options, arguments_of(make_vec))  # which names device, unlike the batch
    arguments = {
        "memory": memory,
        "features": features,
        "observation_dtype": observation_dtype,
        "copy": copy,
        **options,
    }
    if device == "cuda":
        from card_envs.engine.cuda_batch import CudaBatchEngine

        return CudaBatchEngine(loaded, num_envs, num_players, **arguments)
    from card_envs.engine.batch import BatchEngine

    return BatchEngine(loaded, num_envs, num_players, num_threads=num_threads, **arguments)


@_takes_arguments_of(lambda: TextEnv)
def make_text(game: str, **options: Any) -> TextEnv:
    """The game in words, with the calls of TextArena: players read texts and answer with texts.

    Args:
        game: An id of ``GAMES`` (its newest version), or a versioned name.
        **options: The arguments of ``card_envs.text.env.TextEnv``.

    Raises:
        ValueError, TypeError: An argument is wrong; the message says what is allowed.
    """
    from card_envs.text.env import TextEnv

    return TextEnv(game, **options)


@_takes_arguments_of(lambda: write_model)
def export_policy(*args: Any, **kwargs: Any) -> None:
    """Write a trained model as a policy file, safetensors or ONNX, which is an agent anywhere.

    The arguments are those of ``card_envs.integrations.export.export_policy``:
    ``export_policy(model, game, path)``. It needs torch.

    Raises:
        ValueError, TypeError, MissingExtraError, OSError: As there.
    """
    from card_envs.integrations.export import export_policy

    export_policy(*args, **kwargs)


_PACKAGES = ("agents", "datasets", "envs", "evaluation", "integrations")
_CLASSES = {"Replay": "engine.history", "Table": "agents.table"}


def __getattr__(name: str) -> _GameModule:
    """What is imported at its first use: a game's module, such as ``card_envs.beaver_gang_v0``,
    packages and classes."""
    found: _GameModule
    if name in OWN_GAMES or name in _PACKAGES:
        found = importlib.import_module(f"{__name__}.{name}")
    elif name in _CLASSES:
        found = getattr(importlib.import_module(f"{__name__}.{_CLASSES[name]}"), name)
    elif name in __all__:
        found = getattr(importlib.import_module("card_envs.contract"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *OWN_GAMES, *_PACKAGES})
