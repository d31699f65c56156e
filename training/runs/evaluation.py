"""One agent among copies of others (1 vs n-1): a run's periodic evaluations and their curve, and
one table as results record it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from card_envs.agents import Agent, AgentLike
from card_envs.contract.game import Game
from card_envs.evaluation import deal_seeds, estimate_mean, play_one_against
from card_envs.evaluation.display import short_names, write_picture
from training.runs.run import Run

# Evaluations during training are on deals of their own, the same ones every time.
_EVALUATION_SEED = 1_000_003


def evaluate_learner(run: Run[Any], learner: Agent) -> dict[str, Any]:
    """Evaluate a run's learner at each configured table size.

    Args:
        run: The run.
        learner: The learner as it is now.

    Returns:
        For each configured agent A ``vs_A``, the mean rank reward over the table sizes, and
        ``vs_A_ci95``, None below 5 deals; ``truncated``: the share of truncated games.
    """
    evaluation = run.config.evaluation
    options = {name: value for name, value in run.options.items() if name != "reward"}
    seeds = deal_seeds(_EVALUATION_SEED, evaluation.deals)
    entry: dict[str, Any] = {}
    truncated = []
    for name, short in zip(evaluation.against, short_names(evaluation.against), strict=True):
        agent = run.agents[name]
        tables = play_one_against(run.game, learner, agent, evaluation.players, seeds, options)
        played = [results for _, results in tables]
        ranks = [results.rank[..., 0].mean(axis=1) for results in played]
        entry |= estimate_mean(np.mean(ranks, axis=0)).to_json(f"vs_{short}")
        truncated += [results.truncated_share for results in played]
    return {**entry, "truncated": float(np.mean(truncated))}


def one_against(
    game: Game,
    agent: AgentLike,
    others: AgentLike,
    num_players: int,
    deals: int,
    seed: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """One agent among copies of another at one table size, as results and model cards record it.

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


def plot_learning_curve(entries: Sequence[dict[str, Any]], picture: Path, title: str) -> None:
    """Draw the periodic evaluations of a run with their 95% intervals, where they have some.

    Args:
        entries: The lines of progress.jsonl.
        picture: The file to write.
        title: The game's title.
    """
    decisions = [entry["decisions"] / 1e6 for entry in entries]
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    measured = [key for key in entries[0] if key.startswith("vs_") and f"{key}_ci95" in entries[0]]
    has_intervals = False
    for k, key in enumerate(measured):
        means = [entry[key] for entry in entries]
        ends = np.array([entry[f"{key}_ci95"] or [np.nan, np.nan] for entry in entries])
        label = f"against {key.removeprefix('vs_')}"
        axes.plot(decisions, means, color=f"C{k}", marker=".", label=label)
        if not np.isnan(ends).all():
            has_intervals = True
            axes.fill_between(decisions, ends[:, 0], ends[:, 1], color=f"C{k}", alpha=0.2)
    axes.axhline(0.0, color="gray", linewidth=0.8)
    axes.set_xlabel("learner decisions (millions)")
    axes.set_ylabel("rank reward of one learner")
    axes.set_ylim(-1.05, 1.05)
    axes.set_title(f"{title}: learning curve{', 95% intervals' if has_intervals else ''}")
    axes.legend(loc="lower right")
    write_picture(figure, picture)
