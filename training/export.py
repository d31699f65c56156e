"""From a torch policy to a policy file: safetensors, and beside it a JSON card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from card_envs.agents.network import FORMAT, METADATA_KEY, Network
from card_envs.engine.game import Game
from training.policy import PartsLayer, actor_layers
from training.records import write_json

Layers = list[tuple[NDArray[np.float32], NDArray[np.float32]]]


def policy_layers(policy: MaskableActorCriticPolicy) -> Layers:
    """Copies of weight (out, in) and bias (out,) of the layers from observation to logits."""
    linear = [
        layer.as_linear() if isinstance(layer, PartsLayer) else (layer.weight, layer.bias)
        for layer in actor_layers(policy)
    ]
    return [
        (weight.detach().cpu().numpy().copy(), bias.detach().cpu().numpy().copy())
        for weight, bias in linear
    ]


def policy_network(policy: MaskableActorCriticPolicy, activation: str) -> Network:
    """The policy as a NumPy network."""
    return Network(policy_layers(policy), activation)


def export_policy(
    policy: MaskableActorCriticPolicy,
    game: Game,
    activation: str,
    folder: Path,
    card: dict[str, Any],
) -> Path:
    """Write ``<name>.safetensors`` and ``<name>.json`` (the card) and return the former's path."""
    layers = policy_layers(policy)
    names = [*(f"hidden.{k}" for k in range(len(layers) - 1)), "action"]
    tensors = {}
    for name, (weight, bias) in zip(names, layers, strict=True):
        tensors[f"{name}.weight"] = weight
        tensors[f"{name}.bias"] = bias
    path = folder / f"{card['name']}.safetensors"
    # One key only: safetensors writes several in no particular order, and the same policy is to
    # give the same bytes.
    about = {"format": FORMAT, "game": game.name, "activation": activation}
    # The policy file last, and whole: a run that has one is finished.
    new = path.with_suffix(".new")
    save_file(tensors, new, {METADATA_KEY: json.dumps(about, sort_keys=True)})
    write_json(path.with_suffix(".json"), card)
    new.replace(path)
    return path
