"""Cross-play: each of some agents alone among copies of each other one, at one table size.

    python -m benchmarks.cross_play --game G --agents A B … [--players N] [--deals N] [--json FILE]

For agents that one recipe has trained with different seeds it shows whether they fit each other.
Copies of one agent get 0 among themselves. With two players the mean over all pairs is 0, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import report
from card_envs.agents.identity import hash_of_agent
from card_envs.commands import arguments, running
from card_envs.evaluation import deal_seeds, estimate_mean, play_one_against
from card_envs.evaluation.deals import check_agent
from card_envs.games import load_game
from card_envs.utils.progress import track

PACKAGES = ("numba", "numpy")


def measure(game_id: str, agents: Sequence[str], players: int | None, deals: int) -> dict[str, Any]:
    """Play every agent among copies of every other one.

    Args:
        game_id: The game.
        agents: The agents, at least two.
        players: The table size; None: the game's default.
        deals: How many deals, each in all seatings; the same ones for all pairs.

    Returns:
        The document that is written as JSON. ``results``: ``agents``, each with its ``sha256`` and
        a row for each other agent that it is ``among``; and the mean over all pairs.

    Raises:
        ValueError: The game, an agent or a number is wrong.
    """
    game = load_game(game_id)
    players = game.check_num_players(players)
    if len({*agents}) != len(agents) or len(agents) < 2:
        raise ValueError(f"--agents must be at least two different ones, got {list(agents)}")
    for agent in agents:
        check_agent(agent, [game], 0)
    seeds = deal_seeds(0, deals)
    pairs = [(one, others) for one in agents for others in agents if one != others]
    rows: dict[str, list[dict[str, Any]]] = {agent: [] for agent in agents}
    ranks = []
    for one, others in track(pairs, game.title):
        [(_, played)] = play_one_against(game, one, others, [players], seeds)
        ranks.append(played.rank_by_deal[:, 0])
        means = estimate_mean(ranks[-1]).to_json("rank")
        rows[one].append({"among": others, **means, "truncated": played.truncated_share})
    return report.document(
        "cross_play",
        game.id,
        ["--game", game.id, "--agents", *agents, "--players", str(players), "--deals", str(deals)],
        PACKAGES,
        {"num_players": players, "deals": deals},
        {
            "agents": [
                {"name": agent, "sha256": hash_of_agent(agent, game), "among": rows[agent]}
                for agent in agents
            ],
            **estimate_mean(np.mean(ranks, axis=0)).to_json("rank"),
        },
    )


@running.command("benchmarks.cross_play")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.cross_play``."""
    parser = arguments.module_parser("benchmarks.cross_play", __doc__)
    add = parser.add_argument
    about = f"at least two; {arguments.AGENTS}"
    add("--agents", nargs="+", required=True, metavar="A", help=about)
    add("--players", type=int, metavar="N", help="players at a table; default: the game's")
    add("--deals", type=int, default=1000, metavar="N", help="in all seatings; default: 1000")
    args = report.parse_arguments(parser, argv)
    report.finish(args, lambda: measure(args.game, args.agents, args.players, args.deals))


if __name__ == "__main__":
    raise SystemExit(main())
