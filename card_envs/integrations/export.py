"""``export_policy``: a trained torch model of any library as a policy file."""

from __future__ import annotations

import copy
import io
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.network import METADATA_KEY, Network, metadata_of, write_policy
from card_envs.agents.onnx import FREE, NEXT, TRIED, OnnxModel
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.games import as_game
from card_envs.utils.checks import check_flag
from card_envs.utils.extras import MissingExtraError
from card_envs.utils.files import write_output

try:
    import torch
except ModuleNotFoundError:
    raise MissingExtraError("export_policy writes models of torch: pip install torch") from None
from torch import nn
from torch.utils._pytree import tree_leaves

_OTHERS = "any other model can be written to a file that ends in .onnx"


def export_policy(
    model: Any,
    game: Game | str,
    path: str | os.PathLike[str],
    *,
    memory: str | None = None,
    features: bool | None = None,
    states: Mapping[str, tuple[int, ...]] | None = None,
    draws: bool = False,
) -> None:
    """Write a model as a policy file, an agent wherever one is expected.

    The agent takes the highest legal logit, or the actions that the model returns, or with
    ``draws`` a legal action with the probability that the logits give it. ``.safetensors`` holds
    multilayer perceptrons, which play inside the compiled loop; ``.onnx`` holds any model, and
    needs ``onnx``, ``onnxscript`` and the extra ``onnx``.

    Args:
        model: A model of Stable-Baselines3 or sb3-contrib (PPO, A2C, TRPO, MaskablePPO,
            RecurrentPPO, DQN), with its VecNormalize; an ``RLModule`` of RLlib; or a torch module:
            ``module(observation)`` or ``module(observation, action_mask, *states)`` for float32
            (N, D) and int8 (N, A) returns logits (N, A) or integers (N,), and after them the next
            states, if it is recurrent. A second argument that has a default, and no "mask" in its
            name, keeps it. It is computed in float32, and is not changed.
        game: The game that it plays, or its name.
        path: Its ending names the form: ``.safetensors`` or ``.onnx``.
        memory: What the model was trained to observe: ``"perfect"`` recall, or ``"none"``; None:
            what a Stable-Baselines3 model's environment shows, else perfect recall, with a warning
            for such a model.
        features: Whether derived fields were written in training, or left 0; None: likewise, else
            written.
        states: Of a recurrent module, the name and the shape of each state without the batch, such
            as ``{"hidden": (64,)}``; they begin at zero.
        draws: Whether the agent samples its actions; only of a ``.safetensors`` file.

    Raises:
        ValueError: The model does not fit the game or the form that the ending names, its weights
            are not finite, it observes in another view than the given one, or there is no such
            form.
        TypeError: It is no such model, or the shape of a state is no tuple.
        MissingExtraError: Something that writing ONNX needs is not installed.
        OSError: The file cannot be written.
    """
    game, path, states = as_game(game), Path(path), dict(states or {})
    for name, shape in states.items():
        if not isinstance(shape, (tuple, list)):
            raise TypeError(f"states: a tuple is needed for {name!r}, such as (64,), got {shape!r}")
    module, view = model, View(**given_view(memory, features))
    if hasattr(model, "policy") and hasattr(model, "get_vec_normalize_env"):
        module, view = _Sb3Policy(model), view_of(model, memory, features)
        states = module.states
        module = module if module.beside else module.head
    elif hasattr(model, "forward_inference"):
        module = _RllibPolicy(model)
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"export_policy takes a torch module or a model, got {type(model).__name__}"
        )
    for part in module.modules():
        if isinstance(part, torch.jit.ScriptModule) or hasattr(part, "_orig_mod"):
            raise TypeError(
                "export_policy takes the eager module, not what torch.jit or torch.compile made of "
                f"it, got {type(part).__name__}"
            )
    if path.suffix == ".safetensors":
        network = _network_of(module)
        if states:
            raise ValueError(f"the model takes no states, got {', '.join(states)}")
        write_policy(path, network, game, view, check_flag("draws", draws))
    elif path.suffix == ".onnx" and check_flag("draws", draws):
        raise ValueError("draws: an ONNX file cannot sample its actions, a .safetensors file can")
    elif path.suffix == ".onnx":
        write_output(path, _onnx_of(module, game, view, states))
    else:
        raise ValueError(f"{path}: a policy file ends in .safetensors or .onnx")


# ---------------------------------------------------------------------------------------------
# The two forms
# ---------------------------------------------------------------------------------------------


def _network_of(module: nn.Module) -> Network:
    """A module as a network of NumPy arrays, which are copies."""
    if isinstance(module, _Sb3Policy):
        raise ValueError(f"a safetensors file cannot hold {module.beside}; {_OTHERS}")
    steps: list[Any] = [*_steps(module)]
    linear, between = steps[::2], steps[1::2]
    kinds = {type(step) for step in between}
    if (
        not all(isinstance(step, nn.Linear) and step.bias is not None for step in linear)
        or len(linear) != len(between) + 1
        or len(kinds) > 1
        or not kinds <= {nn.ReLU, nn.Tanh}
    ):
        raise ValueError(
            "a safetensors file holds linear layers with biases, and ReLU or Tanh alone between "
            f"them; {_OTHERS}"
        )
    arrays = [
        [x.detach().cpu().float().numpy().copy() for x in (step.weight, step.bias)]
        for step in linear
    ]
    network = Network(
        [(weight, bias) for weight, bias in arrays], "tanh" if nn.Tanh in kinds else "relu"
    )
    # A subclass of torch's classes may compute something else.
    seen = np.random.default_rng(0).random((16, linear[0].in_features), np.float32)
    try:
        with torch.no_grad():
            logits = copy.deepcopy(module).cpu().float().eval()(torch.from_numpy(seen))
        np.testing.assert_allclose(logits, network.logits(seen), rtol=1e-3, atol=1e-3)
    except (AssertionError, RuntimeError):
        raise ValueError(f"the model computes something else than its layers; {_OTHERS}") from None
    return network


def _steps(module: nn.Module) -> Iterator[nn.Module]:
    """The steps of nested sequences, but for those that change nothing here."""
    if isinstance(module, nn.Sequential):
        for step in module:
            yield from _steps(step)
    elif not isinstance(module, (nn.Identity, nn.Flatten, nn.Dropout)):
        yield module


def _onnx_of(
    module: nn.Module, game: Game, view: View, states: Mapping[str, tuple[int, ...]]
) -> bytes:
    """A module as an ONNX file that fits the game."""
    module = copy.deepcopy(module).cpu().float().eval()
    _check_plays(module, game, states)
    _check_is_finite(module)
    inputs = _inputs_of(module, game, states, 2)
    try:
        with _silenced():
            program: Any = torch.onnx.export(
                module,
                tuple(inputs.values()),
                input_names=[*inputs],
                output_names=["action", *(NEXT + name for name in states)],
                dynamic_shapes=tuple({0: torch.export.Dim("batch")} for _ in inputs),
                dynamo=True,
                verbose=False,
            )
    except ImportError as error:
        raise MissingExtraError(
            f"writing ONNX needs {error.name}: pip install onnx onnxscript"
        ) from None
    except Exception as error:  # torch's are of many classes
        cause = str(error.__cause__ or error).strip().splitlines()[0]
        raise ValueError(f"torch cannot write this model as ONNX: {cause}") from error
    proto = program.model_proto
    (text,) = metadata_of(game, "", view).values()
    proto.metadata_props.add(key=METADATA_KEY, value=text)
    data: bytes = proto.SerializeToString()
    OnnxModel(data).check(game)
    return data


def _inputs_of(
    module: nn.Module, game: Game, states: Mapping[str, tuple[int, ...]], n: int
) -> dict[str, torch.Tensor]:
    """What a module is called with for ``n`` games."""
    inputs = {
        "observation": torch.zeros(n, game.fields.size),
        "action_mask": torch.ones(n, game.num_actions, dtype=torch.int8),
        **{name: torch.zeros(n, *shape) for name, shape in states.items()},
    }
    if not states and not _takes_mask(module):
        del inputs["action_mask"]
    return inputs


def _takes_mask(module: nn.Module) -> bool:
    """Whether its second argument is one: it has no default, or is called a mask."""
    parameters = signature(module.forward).parameters.values()
    given = [p for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return len(given) > 1 and (given[1].default is given[1].empty or "mask" in given[1].name)


def _check_plays(module: nn.Module, game: Game, states: Mapping[str, tuple[int, ...]]) -> None:
    """Raise a ValueError unless a module plays the game, in any number of games at once."""
    faults = [(n, _fault_of(module, game, states, n)) for n in TRIED]
    wrong = [(n, fault) for n, fault in faults if fault is not None]
    if wrong:
        n, fault = wrong[0]
        size = f"{FREE}, but N = {n} fails: " if len(wrong) < len(TRIED) else ""
        raise ValueError(f"the model does not fit {game.name}: {size}{fault}")


def _fault_of(
    module: nn.Module, game: Game, states: Mapping[str, tuple[int, ...]], n: int
) -> str | None:
    """What is wrong with what a module returns for ``n`` games; None: nothing."""
    inputs = _inputs_of(module, game, states, n)
    following = [tuple(inputs[name].shape) for name in states]
    logits = (n, game.num_actions)
    try:
        with torch.no_grad():
            found = [tuple(x.shape) for x in tree_leaves(module(*inputs.values()))]
    except Exception as error:  # of many classes
        got = f"fails: {type(error).__name__}: {error}"
    else:
        if found in ([logits, *following], [(n,), *following]):
            return None
        got = f"returns {', '.join(map(str, found))}"
    given = ", ".join(f"{name} {tuple(x.shape)}" for name, x in inputs.items())
    wanted = [f"logits {logits} or integers ({n},)"]
    wanted += [f"{NEXT}{name} {shape}" for name, shape in zip(states, following, strict=True)]
    return f"given {given} in float32 it must return {', '.join(wanted)}, but {got}"


def _check_is_finite(module: nn.Module) -> None:
    broken = [name for name, x in module.named_parameters() if not x.isfinite().all()]
    broken += [name for name, x in module.named_buffers() if x.isnan().any()]  # masks have -inf
    if broken:
        raise ValueError(f"the model's weights are not finite: {', '.join(broken)}")


@contextmanager
def _silenced() -> Iterator[None]:
    """Without what torch tells of an export, whose errors are raised."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


# ---------------------------------------------------------------------------------------------
# Models of libraries
# ---------------------------------------------------------------------------------------------


def given_view(memory: str | None, features: bool | None) -> dict[str, Any]:
    """Those of a view's two options that are not None."""
    view = {"memory": memory, "features": features}
    return {name: value for name, value in view.items() if value is not None}


def view_of(model: Any, memory: str | None, features: bool | None) -> View:
    """How a model of Stable-Baselines3 observes: as its environment shows, else as is given, else
    with perfect recall and features, with a warning.

    Raises:
        ValueError: What is given is not allowed, or not what its environment shows.
    """
    given = given_view(memory, features)
    view = View(**given)
    env = model.get_env()
    shown = env.get_attr("view")[0] if env is not None and env.has_attr("view") else None
    if isinstance(shown, View):
        if replace(shown, **given) != shown:
            raise ValueError(
                f"the model's environment shows memory={shown.memory!r} and "
                f"features={shown.features}, but the arguments are memory={memory!r} and "
                f"features={features}"
            )
        return shown
    if len(given) < 2:
        warnings.warn(
            f"the model has no environment that tells its view: memory={view.memory!r} and "
            f"features={view.features} are assumed; give memory and features as in training",
            stacklevel=3,
        )
    return view


class Sb3Input(NamedTuple):
    """How a model of Stable-Baselines3 observes, in this order."""

    units: NDArray[np.uint8] | None  #: (D,), by which observations are multiplied; None: they stay
    has_mask: bool  #: whether a Dict with the mask is observed
    normalize: Any  #: its VecNormalize, if that normalizes observations, or None

    @classmethod
    def of(cls, model: Any) -> Sb3Input:
        """How a model observes."""
        normalize, seen, box = _sb3_spaces(model)
        if normalize is not None and not normalize.norm_obs:
            normalize = None
        return cls(box.high if box.dtype == np.uint8 else None, seen is not box, normalize)


def _sb3_spaces(model: Any) -> tuple[Any, Any, Any]:
    """A model's VecNormalize or None, what is observed, and the Box in it."""
    normalize = model.get_vec_normalize_env()
    seen = (model if normalize is None else normalize.venv).observation_space
    return normalize, seen, seen["observation"] if hasattr(seen, "spaces") else seen


def check_sb3_input(model: Any) -> None:
    """Raise a ValueError if a model observes through a wrapper that changes values."""
    _, _, box = _sb3_spaces(model)
    # Without bounds nothing is known.
    is_other = np.isfinite(box.low) & (box.low != 0)
    if box.dtype != np.uint8:
        is_other |= np.isfinite(box.high) & (box.high != 1)
    if is_other.any():
        raise ValueError(
            "the model observes through a wrapper that changes values: they must be from 0 to "
            f"1, or whole units, got {box}; of SB3's wrappers VecNormalize can be used"
        )


class _Sb3Policy(nn.Module):
    """The logits, or Q-values, of a model of Stable-Baselines3 or sb3-contrib."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        policy = model.policy
        if hasattr(policy, "q_net"):
            self.extractor, self.head = policy.q_net.features_extractor, policy.q_net.q_net
        elif hasattr(policy, "mlp_extractor"):
            self.extractor = policy.pi_features_extractor
            self.head = nn.Sequential(policy.mlp_extractor.policy_net, policy.action_net)
        else:
            raise TypeError(
                f"a model must have an actor-critic policy or a q_net, got {type(model).__name__}"
            )
        self.lstm: Any = getattr(policy, "lstm_actor", None)
        size = None if self.lstm is None else (self.lstm.num_layers, self.lstm.hidden_size)
        self.states = {} if size is None else {"hidden": size, "cell": size}
        check_sb3_input(model)
        units, self._has_mask, self._normalize = Sb3Input.of(model)
        self._units = None if units is None else torch.from_numpy(units)
        kind = type(self.extractor).__name__
        steps = {
            "its VecNormalize": self._normalize is not None,
            "the mask in its observation": self._has_mask,
            "its LSTM": self.lstm is not None,
            "observations in whole units": self._units is not None,
            f"its {kind}": kind != "FlattenExtractor",
        }
        #: What there is beside the head, in words.
        self.beside = ", ".join(step for step, is_there in steps.items() if is_there)

    def forward(
        self, observation: Any, action_mask: Any, hidden: Any = None, cell: Any = None
    ) -> Any:
        if self._units is not None:
            observation = torch.round(observation * self._units)
        seen: Any = observation
        if self._has_mask:
            seen = {"observation": observation, "action_mask": action_mask.float()}
        if self._normalize is not None:
            seen = self._normalized(seen)
        x = self.extractor(seen)
        if hidden is None:
            return self.head(x)
        before = tuple(state.transpose(0, 1).contiguous() for state in (hidden, cell))
        x, after = self.lstm(x.unsqueeze(0), before)
        return self.head(x.squeeze(0)), *(state.transpose(0, 1) for state in after)

    def _normalized(self, seen: Any) -> Any:
        normalize = self._normalize
        if not isinstance(seen, dict):
            return _scaled(seen, normalize.obs_rms, normalize)
        return {
            key: _scaled(x, normalize.obs_rms[key], normalize)
            if key in normalize.norm_obs_keys
            else x
            for key, x in seen.items()
        }


def _scaled(x: Any, rms: Any, normalize: Any) -> Any:
    mean, scale = (
        torch.tensor(values, dtype=torch.float32)
        for values in (rms.mean, np.sqrt(rms.var + normalize.epsilon))
    )
    return ((x - mean) / scale).clamp(-normalize.clip_obs, normalize.clip_obs)


class _RllibPolicy(nn.Module):
    """The logits of an ``RLModule`` that observes as ``CardMultiAgentEnv`` lets it."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def forward(self, observation: Any, action_mask: Any) -> Any:
        return rllib_logits(self.module, observation, action_mask)


def rllib_logits(module: Any, observation: torch.Tensor, action_mask: torch.Tensor) -> Any:
    """The logits (M, A) of an ``RLModule`` that observes as ``CardMultiAgentEnv`` lets it."""
    seen = {"observations": observation, "action_mask": action_mask.float()}
    return module.forward_inference({"obs": seen})["action_dist_inputs"]
