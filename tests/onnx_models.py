"""Small ONNX models, written without torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.agents.network import metadata_of
from card_envs.contract.game import Game
from card_envs.contract.options import View


def onnx_model(nodes, outputs, inputs=(), metadata=None, constants=None, domain=""):
    """The bytes of a model: nodes as (operator, inputs, outputs, attributes), inputs and outputs
    with types and shapes."""
    from onnx import TensorProto, checker, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node(o, i, out, domain=domain, **how) for o, i, out, how in nodes],
        "policy",
        [helper.make_tensor_value_info(n, getattr(TensorProto, t), s) for n, t, s in inputs],
        [helper.make_tensor_value_info(n, getattr(TensorProto, t), s) for n, t, s in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    imports_ = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=imports_, ir_version=9)
    if metadata:
        helper.set_model_props(model, metadata)
    if not domain:
        checker.check_model(model)
    return model.SerializeToString()


def counting(game: Game, kind: str = "FLOAT") -> bytes:
    """A model with a state that counts its decisions: its best actions go down with it."""
    size = game.num_actions
    return onnx_model(
        [
            ("Add", ["count", "one"], ["next_count"], {}),
            ("Mul", ["next_count", "weight"], ["logits"], {}),
        ],
        [("logits", "FLOAT", ["n", size]), ("next_count", kind, ["n", 1])],
        [("observation", "FLOAT", ["n", game.fields.size]), ("count", kind, ["n", 1])],
        metadata_of(game, "", View()),
        {"one": np.ones((1, 1), np.float32), "weight": -np.ones((1, size), np.float32)},
    )


def linear(game: Game, bias: Any, metadata: dict[str, str] | None, batch: Any = "n") -> bytes:
    """A model whose logits are this bias."""
    size, inputs = game.num_actions, game.fields.size
    return onnx_model(
        [("Gemm", ["observation", "weight", "bias"], ["logits"], {})],
        [("logits", "FLOAT", [batch, size])],
        [("observation", "FLOAT", [batch, inputs])],
        metadata,
        {"weight": np.zeros((inputs, size), np.float32), "bias": np.asarray(bias, np.float32)},
    )
