"""Checkpoints: all that a run needs to resume bit for bit, without pickle.

A checkpoint is one safetensors file: the weights, the optimizer's moments, the records of the
running games, the opponent pool and the states of the random generators; its metadata hold the
numbers beside them, as JSON, and a checksum of everything. The records go back into compiled rules
as they are, so resume from your own checkpoints only: the checksum finds damage, not malice.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialize

from card_envs.agents.network import Network
from card_envs.utils.files import open_output
from training.learner import Learner
from training.selfplay import SelfPlayGames

FORMAT = "card_envs checkpoint 1"
_METADATA_KEY = "card_envs"
_Arrays = dict[str, NDArray[Any]]


@dataclass
class Progress:
    """How far a run has come, besides what the model itself counts."""

    iteration: int = 0
    next_evaluation: int = 0  #: in learner decisions, as the next two
    next_checkpoint: int = 0
    seconds: float = 0.0  #: of imitation and training


def save(path: Path, model: Learner, games: SelfPlayGames, progress: Progress) -> None:
    """Write a checkpoint atomically: at any moment a whole one exists, the new or the old.

    Args:
        path: The file.
        model: The learner.
        games: Its games.
        progress: How far the run has come.

    Raises:
        OSError: The file cannot be written.
    """
    arrays = _arrays(model, games)
    legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    state = {
        "format": FORMAT,
        "sources": games.game.sources,
        "progress": asdict(progress),
        "num_timesteps": model.num_timesteps,
        "n_updates": model._n_updates,
        "rng.numpy": {
            "pos": legacy["state"]["pos"],
            "has_gauss": legacy["has_gauss"],
            "gauss": legacy["gauss"],
        },
        "rng.games": games.rng.bit_generator.state,
    }
    state["checksum"] = _checksum(arrays, state)
    with open_output(path, sync=True) as file:
        file.write(serialize(arrays, {_METADATA_KEY: json.dumps(state)}))


def load(path: Path, model: Learner, games: SelfPlayGames, activation: str) -> Progress:
    """Bring a newly made model and its games to the checkpoint's state.

    Args:
        path: The file.
        model: The learner, as the run's configuration describes it.
        games: Its games.
        activation: Of the snapshots' hidden layers.

    Returns:
        How far the run had come.

    Raises:
        ValueError: The checkpoint is missing or damaged, or it was made with another configuration
            or other sources of the game; nothing has changed unless the configuration is another.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            state = json.loads((file.metadata() or {})[_METADATA_KEY])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        is_whole = state.pop("checksum") == _checksum(arrays, state)
    except OSError as error:
        raise ValueError(f"cannot resume from {path}: {error}") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"cannot resume from {path}, it is damaged: {error!r}") from None
    if not is_whole:
        raise ValueError(f"cannot resume from {path}, it is damaged: the checksum is wrong")
    if state["format"] != FORMAT:
        raise ValueError(f"cannot resume from {path}: its format is {state['format']!r}")
    if state["sources"] != games.game.sources:
        raise ValueError(
            f"cannot resume from {path}: it was made with other sources of {games.game.id}"
        )
    try:
        return _restore(arrays, state, model, games, activation)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"cannot resume from {path}, it is of another configuration: {error!r}"
        ) from None


def _checksum(arrays: _Arrays, state: dict[str, Any]) -> str:
    digest = hashlib.blake2b(json.dumps(state, sort_keys=True).encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _arrays(model: Learner, games: SelfPlayGames) -> _Arrays:
    arrays: dict[str, Any] = {
        f"policy.{name}": tensor.cpu().numpy() for name, tensor in model.policy.state_dict().items()
    }
    for index, state in model.policy.optimizer.state_dict()["state"].items():
        for name, tensor in state.items():
            arrays[f"optimizer.{index}.{name}"] = tensor.cpu().numpy()
    for kind, average in model.averages.items():
        for name, tensor in average.state_dict().items():
            arrays[f"{kind}.{name}"] = tensor.cpu().numpy()
    arrays.update(games.running())
    arrays["games.learner_seats"] = games.learner_seats
    arrays["games.seeds"] = games.game_seeds
    for k, snapshot in enumerate(games.pool):
        for j, (weight, bias) in enumerate(snapshot.network.layers):
            arrays[f"pool.{k}.{j}.weight"] = weight
            arrays[f"pool.{k}.{j}.bias"] = bias
    for name, last in (
        ("last_obs", model._last_obs),
        ("last_episode_starts", model._last_episode_starts),
    ):
        if last is not None:  # as after imitation alone
            arrays[name] = last.cpu().numpy() if isinstance(last, torch.Tensor) else last
    arrays["rng.torch"] = torch.get_rng_state().numpy()
    if model.device.type == "cuda":
        arrays["rng.cuda"] = torch.cuda.get_rng_state(model.device).numpy()
    legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    arrays["rng.numpy"] = legacy["state"]["key"]
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _restore(
    arrays: _Arrays,
    state: dict[str, Any],
    model: Learner,
    games: SelfPlayGames,
    activation: str,
) -> Progress:
    def those_of(prefix: str) -> _Arrays:
        return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

    policy: Any = model.policy
    policy.load_state_dict({k: torch.from_numpy(v) for k, v in those_of("policy.").items()})
    optimizer = policy.optimizer
    moments: dict[int, dict[str, Any]] = {}
    for name, array in those_of("optimizer.").items():
        index, key = name.split(".")
        moments.setdefault(int(index), {})[key] = torch.from_numpy(array)
    for k, parameter in enumerate(policy.parameters()):
        # The optimizer goes over weights and moments in the order in which they lie in memory.
        for key, moment in moments.get(k, {}).items():
            if moment.shape == parameter.shape:
                moments[k][key] = torch.empty_like(parameter).copy_(moment)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    for kind, average in model.averages.items():
        averaged = {k: torch.from_numpy(v) for k, v in those_of(f"{kind}.").items()}
        averaged["n_averaged"] = averaged["n_averaged"].reshape(())
        average.load_state_dict(averaged)
    games.learner_seats[:] = arrays["games.learner_seats"]
    games.game_seeds[:] = arrays["games.seeds"]
    games.restore({k: v for k, v in arrays.items() if k.startswith("arena.")})
    for k in range(len({name.split(".")[0] for name in those_of("pool.")})):
        layers = those_of(f"pool.{k}.")
        pairs = [(layers[f"{j}.weight"], layers[f"{j}.bias"]) for j in range(len(layers) // 2)]
        games.add_snapshot(Network(pairs, activation))
    if "last_obs" in arrays:
        model.resume_from(arrays["last_obs"], arrays["last_episode_starts"])
    model.num_timesteps = state["num_timesteps"]
    model._n_updates = state["n_updates"]
    games.rng.bit_generator.state = state["rng.games"]
    torch.set_rng_state(torch.from_numpy(arrays["rng.torch"]))
    if model.device.type == "cuda" and "rng.cuda" in arrays:
        torch.cuda.set_rng_state(torch.from_numpy(arrays["rng.cuda"]), model.device)
    np.random.set_state(  # noqa: NPY002
        {
            "bit_generator": "MT19937",
            "state": {"key": arrays["rng.numpy"], "pos": state["rng.numpy"]["pos"]},
            "has_gauss": state["rng.numpy"]["has_gauss"],
            "gauss": state["rng.numpy"]["gauss"],
        }
    )
    return Progress(**state["progress"])
