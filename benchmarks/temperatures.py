"""How a policy's actions are best taken, the most probable or sampled; and how fast networks are.

    python -m benchmarks.temperatures --game beaver_gang [--deals N] [--json FILE]

The shipped ``ppo`` takes its most probable actions, or samples them at some temperatures: one
among ``ppo`` as it ships and among the game's default opponent, at all table sizes. Networks of
several sizes, of random weights, choose actions for positions of games among ``ppo``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from card_envs.agents import NetworkAgent, make_agent
from card_envs.agents.network import Network
from card_envs.commands import arguments, running
from card_envs.contract.agent import Turn
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds, evaluate
from card_envs.games import load_game
from card_envs.utils.progress import track
from training.runs.evaluation import against

PACKAGES = ("numba", "numpy")

#: 0 stands for the most probable action.
TEMPERATURES = (0.0, 0.25, 0.5, 1.0)
#: Hidden layers of the networks that are timed.
SIZES = ((128, 128), (192, 192), (256, 256), (512, 512), (256, 256, 256))

_BATCH = 1024  # positions at a time
_REPETITIONS = 5


def at_temperature(policy: NetworkAgent, temperature: float) -> NetworkAgent:
    """The policy's network, sampled at a temperature, or greedy at 0."""
    name = f"{policy.name} at {temperature:g}"
    if temperature == 0.0:
        return NetworkAgent(policy.network, name, policy.view)
    network = policy.network.at_temperature(temperature)
    return NetworkAgent(network, name, policy.view, draw_seed=0)


class _Recorder(NetworkAgent):
    """A policy that keeps what it has seen."""

    def __init__(self, policy: NetworkAgent) -> None:
        super().__init__(policy.network, policy.name, policy.view)
        self.seen: list[tuple[NDArray[np.float32], NDArray[np.int8]]] = []

    def act(self, turn: Turn) -> NDArray[np.int64]:
        self.seen.append((turn.observation.copy(), turn.action_mask.copy()))
        return super().act(turn)


def positions(game: Game, policy: NetworkAgent) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Observations and masks of a batch of positions in games among the policy."""
    recorder = _Recorder(policy)
    evaluate(game, [recorder, *[policy] * (game.default_players - 1)], 20, seed=1)
    observations, masks = (np.concatenate(arrays) for arrays in zip(*recorder.seen, strict=True))
    kept = np.random.default_rng(0).choice(len(observations), _BATCH)
    return observations[kept], masks[kept]


def speed(game: Game, policy: NetworkAgent) -> list[dict[str, Any]]:
    """Decisions a second of CPU time of networks of several sizes: the median of repetitions in
    which they take turns."""
    observations, masks = positions(game, policy)
    rng = np.random.default_rng(0)
    networks = []
    for hidden in SIZES:
        shapes = pairwise((game.fields.size, *hidden, game.num_actions))
        layers = [
            (rng.normal(0.0, 0.1, (wide, deep)).astype(np.float32), np.zeros(wide, np.float32))
            for deep, wide in shapes
        ]
        networks.append(Network(layers, "relu"))
    seconds = np.zeros((_REPETITIONS + 1, len(networks)))
    for repetition in seconds:  # the first may compile
        for k, network in enumerate(networks):
            begun = time.process_time()
            network.act(observations, masks)
            repetition[k] = time.process_time() - begun
    rates = _BATCH / np.median(seconds[1:], axis=0)
    return [
        {
            "hidden": list(hidden),
            "decisions_per_second": float(rate),
            "weights": sum(weight.size + bias.size for weight, bias in network.layers),
        }
        for hidden, network, rate in zip(SIZES, networks, rates, strict=True)
    ]


def measure(game_id: str, deals: int) -> dict[str, Any]:
    """Play at each temperature, and time networks.

    Args:
        game_id: The game, which has a shipped ``ppo``.
        deals: How many deals at each table size, each in all seatings.

    Returns:
        The document that is written as JSON.

    Raises:
        ValueError: The game lacks a ``ppo``, or there are fewer than two deals.
    """
    game = load_game(game_id)
    sizes, seeds = game.table_sizes, deal_seeds(0, deals)
    policy = make_agent("ppo", game)
    assert isinstance(policy, NetworkAgent)
    pairs = [(t, others) for t in TEMPERATURES for others in ("ppo", game.default_opponent)]
    rows = []
    for temperature, others in track(pairs, "tables"):
        results, mean = against(game, at_temperature(policy, temperature), others, sizes, seeds)
        rows.append(
            {
                "temperature": temperature,
                "opponents": others,
                **mean.to_json("rank"),
                "truncated": float(np.mean([row["truncated"] for row in results])),
            }
        )
    return report.document(
        "temperatures",
        game.id,
        ["--game", game.id, "--deals", str(deals)],
        PACKAGES,
        {"deals": deals, "draws": policy.draws, "num_players": [*sizes]},
        {"temperatures": rows, "networks": speed(game, policy)},
    )


@running.command("benchmarks.temperatures")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.temperatures``."""
    parser = arguments.module_parser("benchmarks.temperatures", __doc__)
    parser.add_argument("--deals", type=int, default=500, metavar="N", help="default: 500")
    args = report.parse_arguments(parser, argv)
    report.finish(args, lambda: measure(args.game, args.deals))


if __name__ == "__main__":
    raise SystemExit(main())
