# %% [markdown]
"""
# A figure for a paper

Two algorithms, five seeds each, equal budgets, two games: from the configurations to the picture.
The measure is the interquartile mean (IQM) over all runs with a 95% stratified bootstrap interval,
as [Agarwal et al. (2021)](https://arxiv.org/abs/2108.13264) recommend for few seeds; `scipy.stats`
has both.

The question here: does a policy learn more from all seats of games with itself, or from one seat
among its own past and the scripted player?
"""

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import card_envs
from training.study import main as study

# %% tags=["parameters"]
GAMES = ["beaver_gang", "franks_zoo"]
PLAYERS = 3
SEEDS = [1, 2, 3, 4, 5]
DECISIONS = 50_000  # a short run; a paper's would be a hundred times as long
NUM_ENVS = 256
DEALS = 200
RESAMPLES = 10_000
JOBS = -1  # as many as there are cores
OUT = Path("runs/paper_figure")

# %% [markdown]
"""
## The configurations

A [study](../training.md#studies) is a base configuration, settings that change it, and
seeds. Both algorithms take the same number of decisions, forced ones not counted, with the same
networks and the same settings of PPO. These were not tuned for either of them; a paper says how
its own were chosen, and on which seeds.
"""

# %%
STUDY = """
question: All seats, or one seat among opponents?
seeds: {seeds}
deals: {deals}
against: [heuristic]
base:
  game: {game}
  decisions: {decisions}
  threads: 1
  environment: {{num_envs: {num_envs}, num_players: {players}, options: {{reward: score}}}}
  network: {{hidden: [128, 128]}}
  ppo: {{n_steps: 16, batch_size: 512, n_epochs: 3, learning_rate: 1.0e-3, gamma: 1.0}}
  evaluation: {{every: 1_000_000_000, deals: 2, players: [{players}]}}
settings:
  opponents: ["opponents={{pool: 0.5, agents: {{heuristic: 0.5}}, snapshot_every: 4}}"]
"""
LABELS = {"base": "all seats", "opponents": "one seat among opponents"}

# %% [markdown]
"""
## The runs

Every run ends with its policy alone among copies of `heuristic`, on the same deals for all.
Finished runs are not repeated, so the same call resumes an interrupted study.
On the command line this is `python -m training.study FILE`.
"""

# %%
OUT.mkdir(parents=True, exist_ok=True)
for game in GAMES:
    path = OUT / f"{game}.yaml"
    settings = {"seeds": SEEDS, "deals": DEALS, "decisions": DECISIONS, "num_envs": NUM_ENVS}
    path.write_text(STUDY.format(game=game, players=PLAYERS, **settings))
    results = OUT / f"{game}.json"
    study([str(path), "--out", str(OUT / game), "--json", str(results), "--jobs", str(JOBS)])

# %% [markdown]
"""
## The statistics

Scores are rank rewards: +1 ahead of everybody, 0 as strong as `heuristic`. The IQM drops the lowest
and the highest quarter of all runs of an algorithm and averages the others. The bootstrap is
stratified: it resamples the seeds within each game, and never the games, which are no sample of
others. `scipy.stats.bootstrap` does so if it is given one sample for each game. Whether one
algorithm is ahead is seen in the interval of the difference, not in whether two intervals overlap.
"""

# %%
scores = {}
for name in LABELS:
    results = [json.loads((OUT / f"{game}.json").read_text())["settings"] for game in GAMES]
    scores[name] = [
        np.array([run["against"]["heuristic"][str(PLAYERS)] for run in result[name]["runs"]])
        for result in results
    ]


def iqm(*samples, axis=-1):
    """The interquartile mean over the runs of all games."""
    return stats.trim_mean(np.concatenate(samples, axis=axis), 0.25, axis=axis)


def difference(*samples, axis=-1):
    """By how much the first algorithm is ahead; its games come first."""
    return iqm(*samples[: len(GAMES)], axis=axis) - iqm(*samples[len(GAMES) :], axis=axis)


def with_interval(statistic, samples):
    """A statistic and its 95% interval."""
    options = {"n_resamples": RESAMPLES, "method": "percentile", "rng": np.random.default_rng(0)}
    interval = stats.bootstrap(samples, statistic, vectorized=True, **options).confidence_interval
    return float(statistic(*samples)), float(interval.low), float(interval.high)


estimates = {name: with_interval(iqm, samples) for name, samples in scores.items()}
for name, (mean, low, high) in estimates.items():
    print(f"{LABELS[name]}: IQM {mean:+.3f} ({low:+.3f} … {high:+.3f})")
mean, low, high = with_interval(difference, [*scores["base"], *scores["opponents"]])
print(f"difference: {mean:+.3f} ({low:+.3f} … {high:+.3f})")

# %% [markdown]
"""
## The figure

The picture shows what the numbers rest on: every run as a point, the IQM and its interval beside
them.

![The runs of both algorithms in both games, and the IQM over all](output/paper_figure/figure.png)

It comes from short runs, 50,000 decisions for each of the twenty policies. It shows what such a
figure looks like, and says nothing of what the two algorithms are worth at a budget of millions.
"""

# %%
figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
columns = [*(card_envs.load_game(game).title for game in GAMES), "both: IQM, 95% interval"]
for k, (name, label) in enumerate(LABELS.items()):
    shift = 0.24 * k - 0.12
    for column, runs in enumerate(scores[name]):
        axes.plot(np.full(len(runs), column + shift), runs, "o", color=f"C{k}", alpha=0.6)
    mean, low, high = estimates[name]
    errors = [[mean - low], [high - mean]]
    axes.errorbar(len(GAMES) + shift, mean, errors, fmt="D", color=f"C{k}", capsize=4, label=label)
axes.axhline(0.0, color="gray", linewidth=0.8)
axes.set_xticks(range(len(columns)), columns)
axes.set_ylabel("rank reward of one among heuristic")
axes.set_title(f"{len(SEEDS)} seeds, {DECISIONS:,} decisions each, {PLAYERS} players", fontsize=10)
axes.legend(fontsize=8)
figure.savefig(OUT / "figure.png", dpi=150)
plt.close(figure)

# %% [markdown]
"""
More algorithms, other people's libraries among them, and what else to report:
[comparing algorithms](../comparing_algorithms.md).
"""
