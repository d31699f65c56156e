"""What all learners share: their arguments, the time they may use, and what they leave."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from card_envs.agents.network import Network, write_policy
from card_envs.commands import arguments
from card_envs.commands.compilation import compile_game
from card_envs.contract.game import Game
from card_envs.games import load_game
from card_envs.utils.files import write_json

#: Units of the two hidden layers, with ReLU; behind them is one number for each action.
HIDDEN = (128, 128)

#: Games are truncated after this many decisions, when a learner plays and when it is measured.
MAX_STEPS = 1000


class CpuBudget:
    """The processor's time that this process may use from now on."""

    def __init__(self, minutes: float) -> None:
        self._seconds, self._begun = 60 * minutes, time.process_time()

    @property
    def left(self) -> float:
        """The share that is left, from 1 to 0."""
        return max(0.0, 1 - (time.process_time() - self._begun) / self._seconds)


def learner_parser(module: str, doc: str | None) -> argparse.ArgumentParser:
    """The parser of ``python -m benchmarks.learners.<module>``, with what every learner takes."""
    parser = arguments.module_parser(f"benchmarks.learners.{module}", doc)
    add = parser.add_argument
    add("--game", required=True, help="the game's id")
    add("--players", type=int, required=True, metavar="N", help="number of players")
    add("--seed", type=int, required=True, metavar="S", help="of weights, deals and actions")
    about = "the processor's time for learning, without what comes before it"
    add("--cpu-minutes", type=float, required=True, metavar="M", help=about)
    about = "an empty folder, for policy.safetensors and learned.json"
    add("--out", type=Path, required=True, metavar="DIR", help=about)
    arguments.add_games_argument(parser)
    return parser


def parse_arguments(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None
) -> tuple[argparse.Namespace, Game]:
    """The arguments, and the game, whose rules are compiled; torch computes on one thread.

    Raises:
        ValueError: There is no such game, or a number is out of range.
    """
    args = arguments.parse_arguments(parser, argv)
    game = load_game(args.game)
    game.check_num_players(args.players)
    if args.seed < 0 or not args.cpu_minutes > 0:
        raise ValueError("--seed must be at least 0, and --cpu-minutes above 0")
    compile_game(game)
    torch.set_num_threads(1)  # after the first use of Numba's threads, which changes torch's
    return args, game


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


def leave(out: Path, network: Network, game: Game, decisions: int) -> None:
    """Write the policy, and from how many decisions it was learned.

    Raises:
        ValueError: The network does not fit the game.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_policy(out / "policy.safetensors", network, game)
    write_json(out / "learned.json", {"decisions": decisions})
