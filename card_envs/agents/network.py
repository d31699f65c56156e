"""Policies as networks: NumPy inference of a safetensors file, without torch.

A policy file holds a multilayer perceptron: tensors ``hidden.K.weight`` (out, in) and
``hidden.K.bias`` for K = 0, 1, ..., then ``action.weight`` and ``action.bias``, of float32, or of
float16, which is computed with as float32. Its metadata hold, as JSON under the key ``card_envs``:
the format, the game, the activation, the fingerprint of the observation's layout
(``Fields.fingerprint``), the view that it was made for (``memory``, ``features``), and whether the
policy samples its actions (``draws``; false if it is missing). Nothing in it is ever executed.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from card_envs.contract.agent import Agent, Turn
from card_envs.contract.game import Game, check_is_game
from card_envs.contract.options import View, check_view
from card_envs.engine.seeds import check_given_seed, check_seed, stream_of
from card_envs.kernels.perceptron import act_on_observations, drawing, make_scratch, pack
from card_envs.utils.checks import check_name
from card_envs.utils.files import write_output

FORMAT = "card_envs policy 2"
METADATA_KEY = "card_envs"
# The last two for a dtype that NumPy does not have.
_READING_ERRORS = (SafetensorError, OSError, ValueError, RecursionError, TypeError, AttributeError)
_KINDS = ("weight", "bias")
_NO_STREAM = np.zeros(1, np.uint64)


class Network:
    """The weights of a policy and their forward pass.

    Args:
        layers: float32 weight (out, in) and bias (out,) of each layer.
        activation: Between layers: ``"relu"`` or ``"tanh"``.

    Raises:
        ValueError: The layers do not fit each other, or there is no such activation.
        TypeError: A weight or a bias is not a NumPy array.
    """

    def __init__(
        self, layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]], activation: str
    ) -> None:
        _check_layers(layers)
        #: weight (out, in) and bias (out,) of each layer
        self.layers = layers
        self.activation = activation
        #: the network as kernels take it, see ``card_envs.kernels.perceptron``
        self.kernel = pack(layers, activation)
        self._transposed = [(np.ascontiguousarray(weight.T), bias) for weight, bias in layers]

    def __reduce__(self) -> tuple[Any, ...]:
        # The rest follows from the layers, which are only read.
        return Network, (self.layers, self.activation)

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of inputs and outputs."""
        return self.layers[0][0].shape[1], self.layers[-1][0].shape[0]

    def at_temperature(self, temperature: float) -> Network:
        """This network with its logits divided by a number."""
        *hidden, (weight, bias) = self.layers
        factor = np.float32(1.0 / temperature)
        return Network([*hidden, (weight * factor, bias * factor)], self.activation)

    def logits(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Unmasked logits (M, A) for observations (M, D).

        Raises:
            ValueError: The observations are whole units, which ``game.fields.scale`` divides.
        """
        _check_are_scaled(observation)
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
        streams: NDArray[np.uint64] | None = None,
        draw_seed: int | None = None,
        steps: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Legal actions (M,): the most probable, or sampled from the policy.

        They depend neither on the number of observations nor, with the activation relu, on the
        machine.

        Args:
            observation: float32 (M, D).
            action_mask: int8 (M, A).
            streams: uint64 (1,), the random stream that actions are drawn from.
            draw_seed: Draw actions that follow from this seed, the observation and the steps
                instead.
            steps: whole numbers (M,), the decisions that each game has taken; None: 0.

        Raises:
            ValueError: The shapes are not those of the network; or as for :meth:`logits`.
        """
        _check_are_scaled(observation)
        inputs, outputs = self.sizes
        count = len(observation)
        if observation.shape != (count, inputs) or action_mask.shape != (count, outputs):
            raise ValueError(
                f"observations (M, {inputs}) and masks (M, {outputs}) are needed, got "
                f"{observation.shape} and {action_mask.shape}"
            )
        observation = np.ascontiguousarray(observation, np.float32)
        weights, layout = self.kernel
        if draw_seed is not None:
            layout = drawing(layout, draw_seed)
        elif streams is not None:
            layout = drawing(layout)
        if streams is None:
            streams = _NO_STREAM
        if steps is None:
            steps = np.zeros(count, np.int32)
        scratch = make_scratch(layout[None])  # not kept: threads may share the network
        return act_on_observations(
            weights, layout, observation, action_mask, steps, streams, scratch
        )


def _check_are_scaled(observation: NDArray[Any]) -> None:
    if observation.dtype.kind != "f":
        raise ValueError(
            f"observations of {observation.dtype} are whole units: a network takes float32, these "
            "divided by game.fields.scale"
        )


def _check_layers(layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> None:
    """Check that the layers fit: kernels would read out of bounds."""
    before = None
    for k, (weight, bias) in enumerate(layers):
        if not (isinstance(weight, np.ndarray) and isinstance(bias, np.ndarray)):
            raise TypeError(
                f"layer {k}: NumPy arrays are needed, got {type(weight).__name__} and "
                f"{type(bias).__name__}"
            )
        if weight.ndim != 2 or bias.shape != weight.shape[:1]:
            raise ValueError(
                f"layer {k}: a weight (out, in) and a bias (out,) are needed, got {weight.shape} "
                f"and {bias.shape}"
            )
        if before not in (None, weight.shape[1]):
            raise ValueError(f"layer {k} takes {weight.shape[1]} values, the last gives {before}")
        if weight.dtype != np.float32 or bias.dtype != np.float32:
            raise ValueError(f"layer {k}: float32 is needed, got {weight.dtype} and {bias.dtype}")
        before = weight.shape[0]


def metadata_of(game: Game, activation: str, view: View, draws: bool = False) -> dict[str, str]:
    """The metadata of a policy file.

    A single key, because safetensors writes several in no particular order, and the same policy
    must give the same bytes.
    """
    about = {
        "format": FORMAT,
        "game": game.name,
        "activation": activation,
        "fields": game.fields.fingerprint,
        "memory": view.memory,
        "features": view.features,
        **({"draws": True} if draws else {}),
    }
    return {METADATA_KEY: json.dumps(about, sort_keys=True)}


def write_policy(
    path: str | Path, network: Network, game: Game, view: View = View(), draws: bool = False
) -> None:
    """Write a policy file atomically: if that fails, the old file is still there.

    Args:
        path: The safetensors file.
        network: Its weights; the sizes must be those of the game.
        game: The game that it is for.
        view: The view that it was made for.
        draws: Whether it samples its actions instead of taking the most probable ones.

    Raises:
        ValueError: The weights do not fit the game.
        TypeError: ``game`` is not a ``Game``, or ``view`` no ``View``.
        OSError: The file cannot be written.
    """
    check_is_game(game)
    check_view(view)
    depth = len(network.layers) - 1
    names = [*(f"hidden.{k}" for k in range(depth)), "action"]
    tensors = {}
    for name, (weight, bias) in zip(names, network.layers, strict=True):
        tensors[f"{name}.weight"] = np.ascontiguousarray(weight)
        tensors[f"{name}.bias"] = np.ascontiguousarray(bias)
    _check_fits(network, game, "it")
    _check_is_finite(network)
    write_output(path, save(tensors, metadata_of(game, network.activation, view, draws)))


def _read(path: Path, game: Game) -> tuple[Network, View, bool]:
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = json.loads((file.metadata() or {}).get(METADATA_KEY, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:  # also of one that cannot be opened
        if path.exists():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path)) from None
        raise ValueError(f"there is no file {path}") from None
    except _READING_ERRORS as error:
        raise ValueError(f"{path} is not a policy file, or it is damaged: {error}") from None
    view = view_in(metadata, path, game)
    try:
        network = Network(_layers(tensors), metadata.get("activation", ""))
        _check_fits(network, game, "it")
        _check_is_finite(network)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    draws = metadata.get("draws", False)
    if not isinstance(draws, bool):
        raise ValueError(f"{path}: draws must be true or false, got {draws!r}")
    return network, view, draws


def view_in(metadata: Any, path: Path, game: Game) -> View:
    """The view that a policy was made for, as its file's metadata say.

    Raises:
        ValueError: They are damaged, or of another format, game or observation.
    """
    found = metadata.get("format") if isinstance(metadata, dict) else None
    if found is None:
        raise ValueError(
            f"{path} is not a policy file, as card_envs.export_policy writes one: it does not say "
            "for which game and observation it is"
        )
    if found != FORMAT:
        raise ValueError(f"{path} is not a policy file of the format {FORMAT!r} but of {found!r}")
    if metadata.get("game") != game.name:
        raise ValueError(f"{path} is a policy for {metadata.get('game')!r}, not for {game.name!r}")
    if metadata.get("fields") != game.fields.fingerprint:
        raise ValueError(f"{path} was made for another observation of {game.name} than this one")
    try:
        return View(metadata.get("memory"), metadata.get("features"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _layers(tensors: dict[str, NDArray[Any]]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Weight and bias of each layer, in their order."""
    for name, tensor in tensors.items():
        if tensor.dtype not in (np.float16, np.float32):
            raise ValueError(f"{name}: float32 or float16 is needed, got {tensor.dtype}")
        tensors[name] = tensor.astype(np.float32, copy=False)
    depth = sum(name.endswith(".weight") for name in tensors) - 1
    layers = []
    for name in [*(f"hidden.{k}" for k in range(depth)), "action"]:
        weight, bias = (tensors.pop(f"{name}.{kind}", None) for kind in _KINDS)
        if weight is None or bias is None:
            raise ValueError(f"layer {name!r} needs a weight and a bias")
        layers.append((weight, bias))
    if tensors:
        raise ValueError(f"there is no place for {', '.join(map(repr, tensors))}")
    return layers


def _check_fits(network: Network, game: Game, name: str) -> None:
    """Raise a ValueError unless it takes the game's observations and chooses among its actions."""
    inputs, outputs = network.sizes
    if (inputs, outputs) != (game.fields.size, game.num_actions):
        raise ValueError(
            f"{name} does not fit {game.name} ({game.fields.size} observation values and "
            f"{game.num_actions} actions): it takes {inputs} values and chooses among {outputs} "
            "actions"
        )


def _check_is_finite(network: Network) -> None:
    for k, layer in enumerate(network.layers):
        if not all(np.isfinite(tensor).all() for tensor in layer):
            raise ValueError(f"layer {k} is not finite: it has NaN or infinite values")


class NetworkAgent(Agent):
    """A network as an agent; it takes the most probable legal action, or samples one.

    Args:
        network: The network.
        name: What to call it.
        view: How it observes.
        seed: Sample actions instead of taking the most probable one: when asked, from a stream of
            this seed; inside the compiled loop, from the games' own streams.
        draw_seed: Sample actions that follow from this seed, the observation and the number of
            decisions taken in the game: the same action at the same point of a game, alone or in a
            batch, but possibly another one if the position recurs.

    Raises:
        ValueError, TypeError: The name is no string, the view no ``View``, a seed no whole number
            in [0, 2**64).
    """

    def __init__(
        self,
        network: Network,
        name: str,
        view: View = View(),
        seed: int | None = None,
        draw_seed: int | None = None,
    ) -> None:
        check_view(view)
        self.network = network
        self.name = check_name(name)
        self.view = view
        self._streams = None if seed is None else stream_of(seed)
        draw_seed = None if draw_seed is None else check_seed(draw_seed)
        self._draw_seed = draw_seed
        weights, layout = network.kernel
        if seed is not None or draw_seed is not None:
            layout = drawing(layout, draw_seed)
        self._kernel = (weights, layout)
        self._game_name: str | None = None  # of the game that its file is for

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        game: Game,
        *,
        name: str | None = None,
        seed: int | None = None,
        draw_seed: int = 0,
    ) -> Self:
        """The agent of a policy file, in the view that it was made for.

        It takes the most probable legal action, or samples one if the file says that the policy
        does.

        Args:
            path: The safetensors file.
            game: The game that it plays.
            name: What to call it; the path unless given.
            seed: Sample actions in any case, as ``seed`` of the constructor does.
            draw_seed: The ``draw_seed`` of a policy that samples its actions.

        Raises:
            ValueError: There is no such file, it is damaged, or it does not fit the game.
            OSError: It cannot be read.
        """
        check_is_game(game)
        network, view, draws = _read(Path(path), game)
        draw_seed = check_given_seed(draw_seed)
        agent = cls(
            network, name or str(path), view, seed, draw_seed if draws and seed is None else None
        )
        agent._game_name = game.name
        return agent

    def check_game(self, game: Game) -> None:
        """Raise a ValueError if its file is for another game, or its network does not fit."""
        if self._game_name not in (None, game.name):
            raise ValueError(f"{self.name} is a policy for {self._game_name}, not for {game.name}")
        _check_fits(self.network, game, f"the network of {self.name}")

    @property
    def network_kernel(self) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
        """Its network, unless a subclass chooses otherwise."""
        return self._kernel if type(self).act is NetworkAgent.act else None

    @property
    def draws(self) -> bool:
        """Whether it samples its actions instead of taking the most probable ones."""
        return self._streams is not None or self._draw_seed is not None

    def act(self, turn: Turn) -> NDArray[np.int64]:
        """Legal actions (M,)."""
        steps = turn.states["steps"][turn.indices] if self._draw_seed is not None else None
        return self.network.act(
            turn.observation, turn.action_mask, self._streams, self._draw_seed, steps
        )

    def probabilities(self, turn: Turn) -> NDArray[np.float64]:
        """The policy's probabilities (M, A): a softmax over the legal actions, 0 for the others."""
        logits = self.network.logits(turn.observation).astype(np.float64)
        most = float(np.finfo(np.float32).max)  # huge weights overflow
        logits = np.nan_to_num(logits, nan=-most, posinf=most, neginf=-most)
        logits[turn.action_mask == 0] = -np.inf
        logits -= logits.max(axis=1, keepdims=True)
        weights = np.exp(logits)
        shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return shares
