"""Checkpoints: all that a run needs to resume bit for bit, without pickle.

A checkpoint is one safetensors file: the weights, their averages, the optimizer's moments, each
seat's open decision, the records of the running games, their tables and seeds, the opponents'
snapshots and the states of the random generators; its metadata hold the numbers beside them, as
JSON, and a checksum of everything. The records go back into compiled rules as they are, so resume
from your own checkpoints only: the checksum finds damage, not malice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialize

from card_envs.utils.files import open_output
from training.games.device import DeviceGames
from training.ppo import PPO

FORMAT = "card_envs checkpoint 3"
_METADATA_KEY = "card_envs"
_NETWORKS = ("networks", "average", "anchor")
_Arrays = dict[str, NDArray[Any]]
# What reading a damaged file may raise, besides an OSError.
_DAMAGE = SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError


@dataclass
class Progress:
    """How far a run has come, besides what the learner itself counts."""

    next_evaluation: int = 0  #: in learner decisions, as the next one
    next_checkpoint: int = 0
    seconds: float = 0.0  #: of imitation and training


def save(path: Path, learner: PPO, progress: Progress) -> None:
    """Write a checkpoint atomically: at any moment a whole one exists, the new or the old.

    Raises:
        ValueError: Weights are no finite numbers any more.
    """
    if not all(torch.isfinite(weight).all() for weight in learner.networks.parameters()):
        raise ValueError(
            f"after {learner.decisions} decisions weights are infinite or not a number, so {path} "
            "stays as it was; a lower ppo.learning_rate may help"
        )
    nested = {
        "generator": learner.generator.get_state().numpy(),
        "optimizer": {str(k): own for k, own in learner.optimizer.state_dict()["state"].items()},
        "rollout": learner.rollout.arrays(),
        "games": learner.games.arrays(),
        **{kind: getattr(learner, kind).state_dict() for kind in _NETWORKS},
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in _flat(nested)}
    state = {
        "format": FORMAT,
        "sources": learner.games.game.sources,
        "place": _place(learner),
        "progress": asdict(progress),
        "decisions": learner.decisions,
        "iteration": learner.iteration,
        "tables": learner.games.tables.rng.bit_generator.state,
    }
    state["checksum"] = _checksum(arrays, state)
    with open_output(path, sync=True) as file:
        file.write(serialize(arrays, {_METADATA_KEY: json.dumps(state)}))


def load(path: Path, learner: PPO) -> Progress:
    """Bring a newly made learner and its games to the checkpoint's state, and say how far the run
    had come.

    Raises:
        ValueError: The checkpoint is missing or damaged, or it was made by another trainer, with
            another configuration or other sources of the game; nothing has changed unless the
            configuration is another.
    """
    refused = f"cannot resume from {path}"
    try:
        with safe_open(path, framework="numpy") as file:
            state = json.loads((file.metadata() or {})[_METADATA_KEY])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if state.pop("checksum") != _checksum(arrays, state):
            raise ValueError("the checksum is wrong")
    except OSError as error:
        raise ValueError(f"{refused}: {error}") from None
    except _DAMAGE as error:
        raise ValueError(f"{refused}, it is damaged: {error!r}") from None
    if state["format"] != FORMAT:
        raise ValueError(
            f"{refused}: it is of another version of the trainer, whose runs can only be begun "
            f"again (its format is {state['format']!r}, this one's {FORMAT!r})"
        )
    if state["sources"] != learner.games.game.sources:
        raise ValueError(f"{refused}: it was made with other sources of {learner.games.game.id}")
    if state["place"] != _place(learner):
        raise ValueError(
            f"{refused}: its games were played on the {state['place']}, this run plays them on the "
            f"{_place(learner)}; device and rollouts say where"
        )
    try:
        _restore(arrays, state, learner)
        return Progress(**state["progress"])
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ValueError(f"{refused}, it is of another configuration: {error!r}") from None


def _place(learner: PPO) -> str:
    """Where games are played and actions drawn, which decides what there is to restore."""
    on_device = isinstance(learner.games, DeviceGames)
    return f"device ({learner.device.type})" if on_device else "host"


def _checksum(arrays: _Arrays, state: dict[str, Any]) -> str:
    digest = hashlib.blake2b(json.dumps(state, sort_keys=True).encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _flat(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays by their names, those of the dictionaries around them in front."""
    for name, value in nested.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}/")
        else:
            is_tensor = isinstance(value, torch.Tensor)
            yield prefix + name, value.cpu().numpy() if is_tensor else value


def _restore(arrays: _Arrays, state: dict[str, Any], learner: PPO) -> None:
    nested: dict[str, Any] = {}
    for path, array in arrays.items():
        *parents, last = path.split("/")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = array
    for kind in _NETWORKS:
        weights = {name: torch.from_numpy(array) for name, array in nested[kind].items()}
        getattr(learner, kind).load_state_dict(weights)
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for k, parameter in enumerate(learner.networks.parameters()):
        for key, array in nested.get("optimizer", {}).get(str(k), {}).items():
            moment = torch.from_numpy(array)
            # The optimizer goes over weights and moments in the order in which they lie in memory.
            if moment.shape == parameter.shape:
                moment = torch.empty_like(parameter).copy_(moment)
            moments.setdefault(k, {})[key] = moment
    learner.optimizer.load_state_dict({**learner.optimizer.state_dict(), "state": moments})
    learner.generator.set_state(torch.from_numpy(nested["generator"]))
    learner.rollout.restore(nested.get("rollout", {}))
    learner.games.restore(nested["games"], learner.networks.actor.activation)
    learner.games.tables.rng.bit_generator.state = state["tables"]
    learner.decisions, learner.iteration = state["decisions"], state["iteration"]
