"""One agent among copies of another at one table size, as results and model cards record it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from card_envs.agents import AgentLike
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds, estimate_mean, play_one_against


def one_against(
    game: Game,
    agent: AgentLike,
    others: AgentLike,
    num_players: int,
    deals: int,
    seed: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Play one agent among copies of another (1 vs n-1).

    Args:
        game: The game.
        agent: The one.
        others: The agent in all other seats.
        num_players: The number of players.
        deals: How many deals, each in all seatings.
        seed: The deals' seed.
        options: The game's options except ``reward``.

    Returns:
        ``rank`` and ``rank_ci95``, the one's rank reward; ``truncated``, the share of truncated
        games.

    Raises:
        ValueError, TypeError: As for ``card_envs.evaluation.play_deals``.
    """
    seeds = deal_seeds(seed, deals)
    [(_, played)] = play_one_against(
        game, agent, others, [num_players], seeds, options, agent_seed=seed
    )
    rank = estimate_mean(played.rank[..., 0].mean(axis=1))
    return {**rank.to_json("rank"), "truncated": played.truncated_share}
