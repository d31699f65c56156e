"""Checkpoints: all that a run needs to go on as the same run, without pickle.

``arrays.safetensors`` holds the weights, the optimizer's moments, the games under way, the pool
and the states of the random generators; ``state.json`` holds the numbers beside them.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from card_envs.agents.network import Network
from training.learner import Learner
from training.selfplay import SelfPlayGames

if TYPE_CHECKING:
    from training.train import Periodically

_ARENA_ARRAYS = ("seats", "waiting", "observation", "action_mask", "returns", "_streams")


def _arrays(model: Learner, games: SelfPlayGames) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        f"policy.{name}": tensor.cpu().numpy() for name, tensor in model.policy.state_dict().items()
    }
    for index, state in model.policy.optimizer.state_dict()["state"].items():
        for name, tensor in state.items():
            arrays[f"optimizer.{index}.{name}"] = tensor.cpu().numpy()
    if model.average is not None:
        for name, tensor in model.average.state_dict().items():
            arrays[f"average.{name}"] = tensor.cpu().numpy()
    arena = games.arena
    arrays["arena.states"] = np.frombuffer(arena.states.tobytes(), np.uint8)
    for name in _ARENA_ARRAYS:
        arrays[f"arena.{name}"] = getattr(arena, name)
    arrays["games.learner_seats"] = games.learner_seats
    arrays["games.seeds"] = games.game_seeds
    for k, snapshot in enumerate(games.snapshots):
        for j, (weight, bias) in enumerate(snapshot.network.layers):
            arrays[f"snapshot.{k}.{j}.weight"] = weight
            arrays[f"snapshot.{k}.{j}.bias"] = bias
    arrays["last_obs"] = model._last_obs
    arrays["last_episode_starts"] = model._last_episode_starts
    arrays["rng.torch"] = torch.get_rng_state().numpy()
    if model.device.type == "cuda":
        arrays["rng.cuda"] = torch.cuda.get_rng_state(model.device).numpy()
    arrays["rng.numpy"] = np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def save(folder: Path, model: Learner, games: SelfPlayGames, periodically: Periodically) -> None:
    """Write a checkpoint; at any moment a whole one is there, the new one or the one before."""
    new = folder.with_name(folder.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    save_file(_arrays(model, games), new / "arrays.safetensors")
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002
    state = {
        "num_timesteps": model.num_timesteps,
        "n_updates": model._n_updates,
        "rng.numpy": {
            "pos": legacy["state"]["pos"],
            "has_gauss": legacy["has_gauss"],
            "gauss": legacy["gauss"],
        },
        "rng.games": games.rng.bit_generator.state,
        "iteration": periodically.iteration,
        "next_evaluation": periodically.next_evaluation,
        "next_checkpoint": periodically.next_checkpoint,
        "seconds": periodically.elapsed,
    }
    (new / "state.json").write_text(json.dumps(state, indent=1), encoding="utf-8")
    before = _before(folder)
    if folder.exists():
        shutil.rmtree(before, ignore_errors=True)
        os.replace(folder, before)
    os.replace(new, folder)
    shutil.rmtree(before, ignore_errors=True)


def exists(folder: Path) -> bool:
    """Whether there is a checkpoint, or the one before that was to be replaced."""
    return folder.exists() or _before(folder).exists()


def _before(folder: Path) -> Path:
    return folder.with_name(folder.name + ".old")


def load(folder: Path, model: Learner, games: SelfPlayGames, periodically: Periodically) -> None:
    """Bring a newly made model, its games and its callback to the checkpoint's state.

    Raises:
        ValueError: The checkpoint is missing or damaged, or of another configuration.
    """
    if not folder.exists() and exists(folder):
        folder = _before(folder)
    try:
        arrays = load_file(folder / "arrays.safetensors")
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        _restore(arrays, state, model, games, periodically)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ValueError(f"cannot resume from {folder}: {error!r}") from None


def _restore(
    arrays: dict[str, Any],
    state: dict[str, Any],
    model: Learner,
    games: SelfPlayGames,
    periodically: Periodically,
) -> None:
    def part(prefix: str) -> dict[str, Any]:
        return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

    model.policy.load_state_dict({k: torch.from_numpy(v) for k, v in part("policy.").items()})
    optimizer = model.policy.optimizer
    moments: dict[int, dict[str, Any]] = {}
    for name, array in part("optimizer.").items():
        index, key = name.split(".")
        moments.setdefault(int(index), {})[key] = torch.from_numpy(array)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    if model.average is not None:
        averaged = {k: torch.from_numpy(v) for k, v in part("average.").items()}
        averaged["n_averaged"] = averaged["n_averaged"].reshape(())
        model.average.load_state_dict(averaged)
    arena = games.arena
    arena.states.view(np.ndarray).view(np.uint8)[:] = arrays["arena.states"]
    for name in _ARENA_ARRAYS:
        getattr(arena, name)[:] = arrays[f"arena.{name}"]
    games.learner_seats[:] = arrays["games.learner_seats"]
    games.game_seeds[:] = arrays["games.seeds"]
    if not all(games.game.rules.is_sound(arena.states, i) for i in range(games.num_envs)):
        raise ValueError("the games under way are damaged")
    for k in range(len({name.split(".")[0] for name in part("snapshot.")})):
        layers = part(f"snapshot.{k}.")
        games.add_snapshot(
            Network(
                [(layers[f"{j}.weight"], layers[f"{j}.bias"]) for j in range(len(layers) // 2)],
                games.activation,
            )
        )
    model._last_obs = arrays["last_obs"]
    model._last_episode_starts = arrays["last_episode_starts"]
    model.num_timesteps = state["num_timesteps"]
    model._n_updates = state["n_updates"]
    periodically.iteration = state["iteration"]
    periodically.next_evaluation = state["next_evaluation"]
    periodically.next_checkpoint = state["next_checkpoint"]
    periodically.seconds = state["seconds"]
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
