"""How long an evaluation takes with a network of one's own: safetensors, ONNX, a function.

    python -m benchmarks.evaluation --game beaver_gang [--deals N] [--json FILE]

The network is a random perceptron of the shipped policies' size. Each form of it plays the same
deals against three heuristics, and at a table of itself twice, ``ppo`` and the heuristic.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import nn

from benchmarks import report
from card_envs import export_policy
from card_envs.agents import AgentLike, NetworkAgent, make_agent
from card_envs.commands import arguments, running
from card_envs.evaluation import evaluate
from card_envs.games import load_game

PACKAGES = ("numba", "numpy", "onnxruntime")
HIDDEN = 256


def measure(game_id: str, deals: int) -> dict[str, Any]:
    """Seconds of evaluations at four players.

    Args:
        game_id: The game, which has a shipped ``ppo`` and a heuristic.
        deals: How many deals, each in four seatings.

    Returns:
        The document that is written as JSON: for each form and table the seconds of the processor,
        and the network's rank reward.
    """
    game = load_game(game_id)
    torch.manual_seed(0)
    sizes = (game.fields.size, HIDDEN, HIDDEN, game.num_actions)
    steps = [
        step for before, after in pairwise(sizes) for step in (nn.Linear(before, after), nn.ReLU())
    ]
    module = nn.Sequential(*steps[:-1])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"policy.{ending}" for ending in ("safetensors", "onnx")]
        for file in files:
            export_policy(module, game, file)
        compiled = make_agent(files[0], game)
        assert isinstance(compiled, NetworkAgent)
        network = compiled.network

        def function(observation: Any, action_mask: Any) -> Any:
            return np.where(action_mask, network.logits(observation), -np.inf).argmax(axis=1)

        forms: dict[str, AgentLike] = {
            "safetensors": compiled,
            "onnx": make_agent(files[1], game),
            "function": function,
        }
        for form, agent in forms.items():
            for table in ([agent, *["heuristic"] * 3], [agent, agent, "ppo", "heuristic"]):
                evaluate(game, table, 2, seed=2)  # compiles
                begun = time.process_time()
                result = evaluate(game, table, deals, seed=1)
                rows.append(
                    {
                        "agent": form,
                        "seats": sum(other is agent for other in table),
                        "cpu_seconds": round(time.process_time() - begun, 2),
                        "rank": result.agents[0].rank.mean,
                    }
                )
    return report.document(
        "evaluation",
        game.id,
        ["--game", game.id, "--deals", str(deals)],
        PACKAGES,
        {"deals": deals, "num_players": 4, "hidden": [HIDDEN, HIDDEN]},
        {"agents": rows},
    )


@running.command("benchmarks.evaluation")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.evaluation``."""
    parser = arguments.module_parser("benchmarks.evaluation", __doc__)
    parser.add_argument("--deals", type=int, default=1000, metavar="N", help="default: 1000")
    args = report.parse_arguments(parser, argv)
    torch.set_num_threads(1)
    with threadpool_limits(1):  # NumPy's, which would wait for one another
        report.finish(args, lambda: measure(args.game, args.deals))


if __name__ == "__main__":
    raise SystemExit(main())
