"""From a torch policy to a policy file: safetensors, and beside it a JSON card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from card_envs.agents.network import Network, write_policy
from card_envs.utils.files import write_json
from training.policy import ActionFeaturesLayer, actor_layers
from training.run_folder import RunFolder


def policy_network(policy: MaskableActorCriticPolicy, activation: str) -> Network:
    """The actor as a NumPy network; the weights are copies.

    Args:
        policy: The torch policy.
        activation: Of its hidden layers: ``"relu"`` or ``"tanh"``.
    """
    return network_of(actor_layers(policy), activation)


def network_of(layers: Sequence[Any], activation: str) -> Network:
    """Torch's linear layers as a NumPy network; the weights are copies.

    Args:
        layers: From the observation to the logits.
        activation: Of the hidden layers: ``"relu"`` or ``"tanh"``.
    """
    linear = [
        layer.as_linear() if isinstance(layer, ActionFeaturesLayer) else (layer.weight, layer.bias)
        for layer in layers
    ]
    return Network(
        [
            (weight.detach().cpu().numpy().copy(), bias.detach().cpu().numpy().copy())
            for weight, bias in linear
        ],
        activation,
    )


def export_policy(network: Network, run: RunFolder[Any], card: dict[str, Any]) -> None:
    """Write a run's policy file and its card.

    The card comes last: a run that has one of its configuration is finished.

    Args:
        network: The policy.
        run: The run.
        card: What is known of the policy.

    Raises:
        OSError: A file cannot be written.
    """
    write_policy(run.policy_path, network, run.game, run.view, run.config.draws)
    write_json(run.card_path, card)
