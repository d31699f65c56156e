# %% [markdown]
"""
# Train your first agent

From a configuration to an agent that plays, in a few minutes, most of them spent on training. You
need a [clone](../../README.md) with what `make demo` installs, and no GPU.
"""

# %%
import json
from pathlib import Path

import yaml

import card_envs
from card_envs.agents import agent_names
from card_envs.evaluation import evaluate
from training.train import main as train

# %% tags=["parameters"]
CONFIG = Path("configs/quickstart.yaml")
OUT = Path("runs/first_agent")
CHANGES = []  # such as ["--set", "seed=2", "decisions=500_000"]
DEALS = 500
MOVES = 20

# %% [markdown]
"""
## The configuration

A YAML file describes a run: the game, the number of decisions, who sits at the table, the networks
and the settings of PPO. [All keys](../training.md#keys-of-a-configuration) but the game and the
number of decisions have defaults.
"""

# %%
print(CONFIG.read_text())

# %% [markdown]
"""
## Training

On the command line this is
`python -m training.train configs/quickstart.yaml --out runs/first_agent`. Ctrl-C stops it, and
`--resume runs/first_agent` resumes it.
"""

# %%
train([str(CONFIG), "--out", str(OUT), *CHANGES])

# %% [markdown]
"""
## The learning curve

At intervals the run evaluates its policy: alone among copies of an agent, on the same deals every
time, each played in all seatings with the same cards ([how much this helps](../evaluation.md)
depends on the game). The number is the *rank reward*: +1 is ahead of everybody, 0 as strong as the
others, −1 behind everybody. `tensorboard --logdir runs` shows the same during the run, with losses
and entropy.

![Rank reward over decisions](output/first_agent/learning_curve.png)
"""

# %%
for line in (OUT / "progress.jsonl").read_text().splitlines():
    entry = json.loads(line)
    ranks = [f"{entry[key]:+.3f} {key}" for key in entry if f"{key}_ci95" in entry]
    print(f"{entry['decisions']:>9,} decisions: {', '.join(ranks)}")

# %% [markdown]
"""
## How strong is it?

The run's folder is an agent wherever one is named: it stands for the run's newest policy. On deals
that training has not seen it plays alone among copies of each of the game's own agents: `random`,
the scripted player (`heuristic`), and the policy that comes with the package (`ppo`). The interval
is a 95% confidence interval over deals: if it lies above 0, the agent is stronger than the others.
"""

# %%
config = yaml.safe_load(CONFIG.read_text())
game = card_envs.load_game(config["game"])
players = config["evaluation"]["players"][0]
for opponent in agent_names(game):
    table = [OUT, *[opponent] * (players - 1)]
    rank = evaluate(game, table, deals=DEALS, seed=1).agents[0].rank
    print(
        f"1 among {players - 1} {opponent}: {rank.mean:+.3f} ({rank.low:+.3f} … {rank.high:+.3f})"
    )

# %% [markdown]
"""
The same on the command line, for all agents at one table:
`card-envs evaluate GAME --agents runs/first_agent ppo heuristic --deals 500`.
[Evaluation](../evaluation.md) explains the numbers.

## See it play

Your agent is player 0, the others are scripted. It looks better in the browser:
`card-envs serve --runs runs` puts the policies of runs at a table, where you can play with
them and see what they think of their actions.
"""

# %%
table = card_envs.Table(game.id, [OUT, *["heuristic"] * (players - 1)], seed=1)
while not table.is_over and len(table.history[1]) < MOVES:
    player = table.player
    print(
        f"{'Your agent' if player == 0 else f'Player {player}'}: {game.action_name(table.step())}"
    )
while not table.is_over:
    table.step()
print(f"At the end of the game player 0 is number {table.places[0]} of {players}.")

# %% [markdown]
"""
## What next

- More decisions give a stronger agent:
  `python -m training.train --resume runs/first_agent --set decisions=10_000_000` takes the run
  further.
- [Training](../training.md) explains what a configuration can also have, such as an opponent pool
  or imitation; `configs/<game>.yaml` has a longer run of each game.
- [Your own algorithm](ppo.md) can take the learner's place, or [Stable-Baselines3's](sb3.md).
"""
