"""The arguments of a learner, and how it leaves its policy."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from card_envs.agents.network import Network, write_policy
from card_envs.commands import arguments
from card_envs.contract.game import Game
from card_envs.games import load_game

#: Units of the two hidden layers, with ReLU, as in ``configs/algorithms``.
HIDDEN = (128, 128)


def parse_arguments(module: str, doc: str) -> tuple[argparse.Namespace, Game]:
    """A learner's arguments, those of the process, and the game.

    Args:
        module: The learner's module.
        doc: Its docstring.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=doc.split("\n")[0])
    parser.add_argument("--game", required=True, help="the game's id")
    parser.add_argument("--players", type=int, required=True, help="number of players")
    parser.add_argument("--seed", type=int, required=True, help="of weights, deals and actions")
    parser.add_argument("--decisions", type=int, required=True, help="to learn from")
    parser.add_argument("--out", type=Path, required=True, help="the folder of policy.safetensors")
    parser.add_argument(
        "--draws", action="store_true", help="let the policy draw its actions when it plays"
    )
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, None)
    return args, load_game(args.game)


def network_of(layers: Iterable[Any]) -> Network:
    """Linear layers with ReLU between them as a network; the weights are copies.

    Args:
        layers: Modules, of which the ``nn.Linear`` ones lead from the observation to a number for
            each action.
    """
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    return Network([(_copied(layer.weight), _copied(layer.bias)) for layer in linear], "relu")


def _copied(tensor: Any) -> NDArray[np.float32]:
    copy: NDArray[np.float32] = tensor.detach().cpu().numpy().copy()
    return copy


def write_layers(args: argparse.Namespace, layers: Iterable[Any], game: Game) -> None:
    """Write linear layers as a policy file.

    Args:
        args: The learner's arguments.
        layers: As for :func:`network_of`.
        game: The game.

    Raises:
        ValueError: They do not fit the game.
    """
    args.out.mkdir(parents=True, exist_ok=True)
    network = network_of(layers)
    write_policy(args.out / "policy.safetensors", network, game, draws=args.draws)
