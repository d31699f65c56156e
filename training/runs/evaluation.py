"""One agent among copies of others (1 vs n-1): a run's periodic evaluations and their curve, and
one table as results record it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from card_envs.agents import Agent, AgentLike
from card_envs.contract.game import Game
from card_envs.evaluation import WIN_BOUNDS, MeanEstimate, deal_seeds, estimate_mean
from card_envs.evaluation import play_one_against as play
from card_envs.evaluation.display import short_names, write_picture
from training.runs.run import Run

# Evaluations during training are on deals of their own, the same ones every time.
_EVALUATION_SEED = 1_000_003


def against(
    game: Game,
    agent: AgentLike,
    others: AgentLike,
    sizes: Sequence[int],
    seeds: NDArray[np.uint64],
    options: Mapping[str, Any] | None = None,
    agent_seed: int = 0,
) -> tuple[list[dict[str, Any]], MeanEstimate]:
    """One agent among copies of another, as results and model cards record it.

    The arguments are those of ``card_envs.evaluation.play_one_against``, as are the errors.

    Returns:
        A row for each table size: ``num_players``, ``rank`` and ``rank_ci95``, the one's rank
        reward, ``win`` and ``win_ci95``, and ``truncated``, the share of truncated games; and the
        rank reward on average over the sizes.
    """
    rows, ranks = [], []
    for n, played in play(game, agent, others, sizes, seeds, options, agent_seed=agent_seed):
        rank, win = played.rank_by_deal[:, 0], played.win[..., 0].mean(axis=1)
        ranks.append(rank)
        means = {
            **estimate_mean(rank).to_json("rank"),
            **estimate_mean(win, WIN_BOUNDS).to_json("win"),
        }
        rows.append({"num_players": n, **means, "truncated": played.truncated_share})
    return rows, estimate_mean(np.mean(ranks, axis=0))


def one_against(
    game: Game,
    agent: AgentLike,
    others: AgentLike,
    num_players: int,
    deals: int,
    seed: int,
    options: Mapping[str, Any],
    agent_seed: int,
) -> dict[str, Any]:
    """The same at one table size: ``rank``, ``rank_ci95`` and ``truncated``."""
    seeds = deal_seeds(seed, deals)
    [row], _ = against(game, agent, others, [num_players], seeds, options, agent_seed)
    return {key: row[key] for key in ("rank", "rank_ci95", "truncated")}


def evaluate_learner(run: Run[Any], learner: Agent) -> dict[str, Any]:
    """Evaluate a run's learner at each configured table size.

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
        others, sizes = run.agents[name], evaluation.players
        rows, mean = against(run.game, learner, others, sizes, seeds, options)
        entry |= mean.to_json(f"vs_{short}")
        truncated += [row["truncated"] for row in rows]
    return {**entry, "truncated": float(np.mean(truncated))}


def plot_learning_curve(entries: Sequence[dict[str, Any]], picture: Path, title: str) -> None:
    """Draw a run's periodic evaluations, with their 95% intervals where they have some."""
    decisions = [entry["decisions"] / 1e6 for entry in entries]
    axes = Figure(figsize=(7, 4), layout="constrained").add_subplot()
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
    axes.set(
        xlabel="learner decisions (millions)",
        ylabel="rank reward of one learner",
        ylim=(-1.05, 1.05),
        title=f"{title}: learning curve{', 95% intervals' if has_intervals else ''}",
    )
    axes.legend(loc="lower right")
    write_picture(axes.get_figure(), picture)
