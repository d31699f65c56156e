"""What games are like: how long, how many choices, how much luck, and who wins them.

    python -m benchmarks.games [--game GAME] [--games N] [--deals N] [--json FILE]

All games are played with the default rules, to their ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from card_envs.agents import Agent, make_agent, shipped_policies
from card_envs.commands import arguments, running
from card_envs.contract.agent import checked_actions, turn_of
from card_envs.contract.game import Game
from card_envs.contract.outcome import places
from card_envs.evaluation import deal_seeds, play_deals, random_orders
from card_envs.games import load_game
from card_envs.utils.checks import check_whole_number

PACKAGES = ("numba", "numpy")

#: The difference in rank reward for which the deals that show it are counted.
DIFFERENCE = 0.05
# Normal quantiles: a 95% interval that does not hold 0 with a probability of 80%.
_SHOWN = (1.96 + 0.84) ** 2
_DEALS_SEED = 7


@dataclass(frozen=True)
class Played:
    """Some games, played to their ends by copies of an agent.

    Attributes:
        decisions: int64 (N,), of each game.
        rounds: int64 (N,), of each game.
        legal: int64 (K,), the legal actions at each decision of all games.
        again: The share of the decisions with a choice at which their player observed what some
            player observes at another one of them.
        truncated: bool (N,), the game ended at ``max_steps``.
    """

    decisions: NDArray[np.int64]
    rounds: NDArray[np.int64]
    legal: NDArray[np.int64]
    again: float
    truncated: NDArray[np.bool_]


def play(game: Game, agent: Agent, num_players: int, seeds: NDArray[np.uint64]) -> Played:
    """Play games among copies of an agent.

    Args:
        game: The game.
        agent: Who holds all seats.
        num_players: The number of players.
        seeds: uint64 (N,), one for each game.
    """
    states = game.new_states(len(seeds))
    encoded = game.encode_options({})
    for k, seed in enumerate(seeds):
        game.rules.reset(states, k, seed, num_players, *encoded)
    running = np.arange(len(seeds))
    rounds = np.ones(len(seeds), np.int64)
    legal: list[int] = []
    observed: dict[bytes, int] = {}
    while len(running):
        turn = turn_of(game, states, running, agent.view)
        counts = turn.action_mask.sum(axis=1, dtype=np.int64)
        legal += counts.tolist()
        for row in turn.observation[counts > 1]:
            key = row.tobytes()
            observed[key] = observed.get(key, 0) + 1
        actions = checked_actions(agent, turn, agent.act)
        for i, action in zip(running.tolist(), actions.tolist(), strict=True):
            before = game.round_of(states, i)
            game.rules.step(states, i, action)
            is_over = states["terminated"][i] or states["truncated"][i]
            rounds[i] += not is_over and game.round_of(states, i) != before
        running = np.flatnonzero((states["terminated"] | states["truncated"]) == 0)
    times = np.array(list(observed.values()))
    return Played(
        states["steps"].astype(np.int64),
        rounds,
        np.array(legal),
        float(times[times > 1].sum() / times.sum()),
        states["truncated"].astype(np.bool_),
    )


def lengths_and_choices(game: Game, name: str, num_players: int, games: int) -> dict[str, Any]:
    """A row on games among copies of an agent."""
    played = play(game, make_agent(name, game), num_players, deal_seeds(0, games))
    choices = played.legal[played.legal > 1]
    return {
        "agent": name,
        "players": num_players,
        "decisions": float(played.decisions.mean()),
        "decisions_spread": np.percentile(played.decisions, [5, 95]).tolist(),
        "rounds": float(played.rounds.mean()),
        "forced": float((played.legal == 1).mean()),
        "legal_actions": float(choices.mean()),
        "median_legal_actions": float(np.median(choices)),
        "legal_actions_99": float(np.percentile(choices, 99)),
        "most_legal_actions": int(choices.max()),
        "seen_again": played.again,
        "truncated": float(played.truncated.mean()),
    }


def luck(
    game: Game, name: str, others: str, num_players: int, seeds: NDArray[np.uint64]
) -> dict[str, Any]:
    """A row on how much of one agent's rank reward among copies of another is luck.

    ``explained`` is the share of the variance of single games that replaying each deal in all
    seatings removes, beyond what as many games of different deals would.
    """
    rank = play_deals(game, [name, *[others] * (num_players - 1)], seeds).rank[..., 0]
    of_game, of_deal = float(rank.var(ddof=1)), float(rank.mean(axis=1).var(ddof=1))
    deals = math.ceil(_SHOWN * of_deal / DIFFERENCE**2)
    by_seat = play_deals(game, [others] * num_players, seeds).rank[:, 0].mean(axis=0)
    return {
        "agent": name,
        "others": others,
        "players": num_players,
        "rank": float(rank.mean()),
        "deviation": math.sqrt(of_game),
        "explained": 1.0 - num_players * of_deal / of_game if of_game else None,
        "deals": deals,
        "games_of_deals": num_players * deals,
        "games": math.ceil(_SHOWN * of_game / DIFFERENCE**2),
        "by_seat": by_seat.tolist(),
    }


def against_one_another(
    game: Game, agents: Sequence[str], seeds: NDArray[np.uint64]
) -> list[dict[str, Any]]:
    """A row on each agent of one table: its places, its rank reward, its points."""
    orders = random_orders(_DEALS_SEED, len(seeds), len(agents))
    played = play_deals(game, agents, seeds, orders=orders)
    place = places(played.standing)
    return [
        {
            "agent": name,
            "rank": float(played.rank[..., k].mean()),
            "places": [float((place[..., k] == p).mean()) for p in range(1, len(agents) + 1)],
            "score": np.percentile(played.score[..., k], [5, 50, 95]).tolist(),
        }
        for k, name in enumerate(agents)
    ]


def measure(game_id: str, games: int, deals: int, search: str) -> dict[str, Any]:
    """What a game is like at each table size.

    Args:
        game_id: The game.
        games: How many games of each agent at each table size.
        deals: How many deals for luck, and for the agents against one another.
        search: The agent that joins the others at the table of one of each.

    Raises:
        ValueError: There are fewer than 2 games or deals, or there is no such game or agent.
    """
    game = load_game(game_id)
    make_agent(search, game)
    shipped = [name for name in ("ppo",) if name in shipped_policies(game)]
    sizes = game.table_sizes
    seeds = deal_seeds(_DEALS_SEED, deals)
    best, second = ([*shipped, *game.scripted, "random"] * 2)[:2]
    table = ["random", *game.scripted, *shipped, search]
    size = min(max(len(table), game.min_players), game.max_players)
    table = [table[k % len(table)] for k in range(-1, size - 1)]
    return report.document(
        "games",
        game.id,
        ["--game", game.id, "--games", str(games), "--deals", str(deals), "--search", search],
        PACKAGES,
        {"games": games, "deals": deals, "difference": DIFFERENCE},
        {
            "rows": [
                lengths_and_choices(game, name, players, games)
                for name in ([*game.scripted, *shipped] or ["random"])
                for players in sizes
            ],
            "luck": [luck(game, best, second, players, seeds) for players in sizes],
            "table": against_one_another(game, table, seeds),
        },
    )


@running.command("benchmarks.games")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.games``."""
    parser = arguments.module_parser("benchmarks.games", __doc__)
    parser.add_argument(
        "--games",
        type=int,
        default=500,
        metavar="N",
        help="games of each agent at each table size (default: 500)",
    )
    parser.add_argument(
        "--deals",
        type=int,
        default=1000,
        metavar="N",
        help="deals for luck and for agents against one another (default: 1000)",
    )
    parser.add_argument(
        "--search",
        default="search:16",
        metavar="AGENT",
        help="the agent that searches (default: search:16)",
    )
    args = report.parse_arguments(parser, argv)
    check_whole_number("--games", args.games, 2)
    check_whole_number("--deals", args.deals, 2)
    report.finish(args, lambda: measure(args.game, args.games, args.deals, args.search))


if __name__ == "__main__":
    raise SystemExit(main())
