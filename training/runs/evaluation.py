"""Periodic evaluation of a run's policy: one learner against copies of some agents (1 vs n-1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.agents import Agent
from card_envs.evaluation import deal_seeds, estimate_mean, play_one_against
from card_envs.evaluation.display import short_names
from training.runs.run_folder import RunFolder

# Evaluations during training are on deals of their own, the same ones every time.
_EVALUATION_SEED = 1_000_003


def evaluate_learner(run: RunFolder[Any], learner: Agent) -> dict[str, Any]:
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
    entry["truncated"] = float(np.mean(truncated))
    return entry
