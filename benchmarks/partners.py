"""How agents do with partners whom they do not know, in games whose pairs change.

    python -m benchmarks.partners --game franks_zoo [--agents A …] [--deals N] [--json FILE]

Each agent plays whole games in which its partner of each hand plays as one member of the pool of
``card-envs benchmark``, and everybody else as ``ppo``. With each partner it is told what share of
the others an agent leaves behind, divided by the share that the best of these agents does: a lower
bound of what that partner's best response reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from card_envs.agents.identity import name_without_folders
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation.deals import check_agent, deal_seeds
from card_envs.evaluation.partners import play_with_partner, sizes_with_partners
from card_envs.evaluation.protocol import Protocol
from card_envs.evaluation.statistics import MeanEstimate, estimate_mean
from card_envs.games import load_game
from card_envs.utils.progress import track

PACKAGES = ("numba", "numpy")
OPPONENTS = "ppo"

_WHOLE = MeanEstimate(1.0, None, None)

_Ranks = Mapping[tuple[str, str], NDArray[np.float64]]  # (sizes, deals), by agent and partner


def measure(game_id: str, agents: Sequence[str], deals: int) -> dict[str, Any]:
    """Play every agent with every partner on the protocol's deals.

    Raises:
        ValueError: The game has no partners or no pool, or something else is wrong.
    """
    game = load_game(game_id)
    protocol = Protocol.load()
    members = protocol.pool(game).members
    sizes = sizes_with_partners(game)
    seed = protocol.seed
    seeds = deal_seeds(seed, deals)
    agents = agents or members
    for agent in agents:
        check_agent(agent, [game], seed)
    ranks, truncated = {}, []
    cells = [(agent, partner) for agent in agents for partner in members]
    for agent, partner in track(cells, game.title):
        # Each table has new agents, so that none depends on those before it.
        played = [
            play_with_partner(game, agent, partner, OPPONENTS, n, seeds, agent_seed=seed)
            for n in sizes
        ]
        ranks[agent, partner] = np.array([results.rank_by_deal[:, 0] for results in played])
        truncated += [results.truncated_share for results in played]
    return report.document(
        "partners",
        game.id,
        ["--game", game.id, "--agents", *agents, "--deals", str(deals)],
        PACKAGES,
        {"protocol": protocol.name, "deals": deals, "num_players": sizes, "opponents": OPPONENTS},
        {
            "truncated": float(np.mean(truncated)),
            "partners": [*members],
            "agents": [
                {
                    "name": name_without_folders(agent, game),
                    **_of_agent(game, ranks, agent, members, sizes),
                }
                for agent in agents
            ],
        },
    )


def _of_agent(
    game: Game, ranks: _Ranks, agent: str, members: Sequence[str], sizes: Sequence[int]
) -> dict[str, Any]:
    """An agent with every partner, and the mean over partners of its shares of the best: where it
    is the best itself its share is 1, which needs no interval."""
    rows, shares = [], []
    for partner in members:
        own = ranks[agent, partner]
        found = {a: r.mean(axis=0) for (a, p), r in ranks.items() if p == partner}
        best = max(found, key=lambda a: float(found[a].mean()))
        if agent == best:
            share, values, bounds = _WHOLE, np.ones(own.shape[1]), (1.0, 1.0)
        else:
            share, values, bounds = share_of_best(found[agent], found[best])
        shares.append((values, bounds))
        rows.append(
            {
                "partner": partner,
                **estimate_mean(own.mean(axis=0)).to_json("rank"),
                "by_num_players": [
                    {"num_players": n, **estimate_mean(r).to_json("rank")}
                    for n, r in zip(sizes, own, strict=True)
                ],
                "best": name_without_folders(best, game),
                **share.to_json("share"),
            }
        )
    low, high = np.mean([b for _, b in shares], axis=0)
    values = np.mean([v for v, _ in shares], axis=0)
    mean = estimate_mean(values, (low, high)) if low < high else _WHOLE
    return {**mean.to_json("share"), "with": rows}


def share_of_best(
    own: NDArray[np.float64], best: NDArray[np.float64]
) -> tuple[MeanEstimate, NDArray[np.float64], tuple[float, float]]:
    """The share of the others that an agent leaves behind, divided by that of the best agent.

    Args:
        own: The agent's rank rewards (deals,).
        best: Those of the best agent on the same deals.

    Returns:
        The ratio of the means, 1 if both are 0, with the interval of its linearization; the values
        (deals,) whose mean it is; and their bounds.
    """
    ahead, most = (1.0 + own) / 2.0, (1.0 + best) / 2.0
    mean = float(most.mean())
    if mean == 0.0:
        values, bounds = np.ones(len(own)), (0.0, 1.0)
        return estimate_mean(values, bounds), values, bounds
    ratio = float(ahead.mean()) / mean
    values = ratio + (ahead - ratio * most) / mean
    bounds = (ratio - ratio / mean, ratio + 1.0 / mean)
    return estimate_mean(values, bounds), values, bounds


@running.command("benchmarks.partners")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.partners``."""
    parser = arguments.module_parser("benchmarks.partners", __doc__)
    about = f"default: the pool's; {arguments.AGENTS}"
    parser.add_argument("--agents", nargs="+", default=[], metavar="A", help=about)
    about = "deals at each table size, in all seatings; default: 50"
    parser.add_argument("--deals", type=int, default=50, metavar="N", help=about)
    args = report.parse_arguments(parser, argv)
    report.finish(args, lambda: measure(args.game, args.agents, args.deals))


if __name__ == "__main__":
    raise SystemExit(main())
