"""Policies as networks: NumPy inference of a safetensors file, without torch.

A policy file holds a multilayer perceptron: float32 tensors ``hidden.K.weight`` (out, in) and
``hidden.K.bias`` for K = 0, 1, ..., then ``action.weight`` and ``action.bias``. Its metadata hold,
as JSON under the key ``card_envs``, the format, the game and the activation. Nothing in it is ever
executed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from card_envs.engine.game import Game

FORMAT = "card_envs policy 1"
METADATA_KEY = "card_envs"
_ACTIVATIONS = ("relu", "tanh")
# The last two for a dtype that NumPy does not have.
_READING_ERRORS = (SafetensorError, OSError, ValueError, RecursionError, TypeError, AttributeError)
_LOWEST = np.finfo(np.float32).min


class Network:
    """The weights of a policy and their forward pass."""

    def __init__(
        self, layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]], activation: str
    ) -> None:
        #: weight (out, in) and bias (out,) of each layer
        self.layers = layers
        if activation not in _ACTIVATIONS:
            raise ValueError(f"unknown activation {activation!r}, known are {_ACTIVATIONS}")
        self.activation = activation
        self._transposed = [(np.ascontiguousarray(weight.T), bias) for weight, bias in layers]

    def logits(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Unmasked logits (M, A) for observations (M, D)."""
        x = observation
        for weight, bias in self._transposed[:-1]:
            x = x @ weight
            x += bias
            if self.activation == "relu":
                np.maximum(x, 0.0, out=x)
            else:
                np.tanh(x, out=x)
        weight, bias = self._transposed[-1]
        return x @ weight + bias

    def act(
        self,
        observation: NDArray[np.float32],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator | None = None,
    ) -> NDArray[np.int64]:
        """Legal actions (M,): the likeliest, or with ``rng`` drawn from the policy."""
        logits = self.logits(observation)
        if rng is not None:  # the Gumbel-max trick
            logits -= np.log(rng.standard_exponential(logits.shape, np.float32) + 1e-20)
        np.maximum(logits, _LOWEST, out=logits)  # weights may be so large that logits overflow
        logits[action_mask == 0] = -np.inf
        return logits.argmax(axis=1)


def _read(path: Path, game: Game) -> Network:
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = json.loads((file.metadata() or {}).get(METADATA_KEY, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except _READING_ERRORS as error:
        raise ValueError(f"{path} is not a policy file, or it is damaged: {error}") from None
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ValueError(f"{path} is not a policy file of the format {FORMAT!r}")
    if metadata.get("game") != game.name:
        raise ValueError(f"{path} is a policy for {metadata.get('game')!r}, not for {game.name!r}")
    depth = sum(name.endswith(".weight") for name in tensors) - 1
    names = [*(f"hidden.{k}" for k in range(depth)), "action"]
    size = game.fields.size
    layers = []
    for name in names:
        weight, bias = tensors.pop(f"{name}.weight", None), tensors.pop(f"{name}.bias", None)
        if (
            weight is None
            or bias is None
            or weight.ndim != 2
            or weight.shape[1] != size
            or bias.shape != weight.shape[:1]
            or weight.dtype != np.float32
            or bias.dtype != np.float32
            or not (np.isfinite(weight).all() and np.isfinite(bias).all())
        ):
            raise ValueError(
                f"{path}: layer {name!r} is missing or does not fit; {game.name} has "
                f"{game.fields.size} observation values and {game.num_actions} actions"
            )
        size = weight.shape[0]
        layers.append((weight, bias))
    if tensors or size != game.num_actions:
        raise ValueError(f"{path} does not fit {game.name}: {game.num_actions} actions expected")
    try:
        return Network(layers, metadata.get("activation", ""))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


class NetworkAgent:
    """A policy file as an agent; it takes the likeliest legal action, or draws one.

    Args:
        path: The safetensors file.
        game: The game that it is to play.
        name: What to call it; the path unless given.
        rng: Draw actions from the policy with this generator instead of taking the likeliest.

    Raises:
        ValueError: The file is damaged, or it does not fit the game.
    """

    def __init__(
        self,
        path: str | Path,
        game: Game,
        *,
        name: str | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.name = name or str(path)
        self._game = game
        self._rng = rng
        self.network = _read(Path(path), game)

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]
    ) -> NDArray[np.int64]:
        """Actions (M,) for observations (M, D) and masks (M, A)."""
        return self.network.act(observation, action_mask, self._rng)

    def choose(self, states: NDArray[np.void], i: int) -> int:
        """A legal action of the player to move in ``states[i]``."""
        observation = np.zeros((1, self._game.fields.size), np.float32)
        action_mask = np.zeros((1, self._game.num_actions), np.int8)
        self._game.observe(states, i, states["current_player"][i], observation[0])
        self._game.rules.legal_action_mask(states, i, action_mask[0])
        return int(self.act(observation, action_mask)[0])
