# %% [markdown]
"""
# Stable-Baselines3

MaskablePPO of sb3-contrib on the compiled `VecEnv`: it learns in one seat of each game against
given opponents, is evaluated on duplicate deals, and becomes a policy file that plays everywhere.
That takes the extras `sb3` and `evaluation`; what else works with Stable-Baselines3 is on
[its page](../tools/sb3.md).
"""

# %%
from pathlib import Path

import torch
from sb3_contrib import MaskablePPO
from torch import nn

import card_envs
from card_envs.evaluation import evaluate
from card_envs.integrations.sb3 import DealsEvalCallback, make_vec_env

# %% tags=["parameters"]
GAME = "beaver_gang"
PLAYERS = 3
OPPONENT = "heuristic"
DECISIONS = 500_000
DEALS = 500
NUM_ENVS, N_STEPS = 256, 16
OUT = Path("runs/sb3")

torch.set_num_threads(1)  # batches this small are computed faster by one

# %% [markdown]
"""
## The environment

`make_vec_env` is a `VecEnv` of Stable-Baselines3: 256 games in one compiled loop, opponents
included, and the action masks where MaskablePPO looks for them. The learner's seat is drawn for
each game. `reward="score"` pays the points of every round, so the learner is told more often what
was good than by the final rank; moves with a single legal action are made for the learner
(`skip_forced`).
"""

# %%
others = [OPPONENT] * (PLAYERS - 1)
envs = make_vec_env(
    GAME, NUM_ENVS, num_players=PLAYERS, opponents=OPPONENT, reward="score", skip_forced=True
)

# %% [markdown]
"""
## Learning

Games end, so `gamma` is 1. The callback plays the same deals every time, each in all seatings with
the same cards, and prints the mean *rank reward* of the model (+1: ahead of everybody, 0: as
strong as its opponents).
"""

# %%
model = MaskablePPO(
    "MlpPolicy",
    envs,
    learning_rate=lambda left: 1e-3 * left,
    n_steps=N_STEPS,
    batch_size=1024,
    n_epochs=4,
    gamma=1.0,
    ent_coef=0.01,
    policy_kwargs={"net_arch": [128, 128], "activation_fn": nn.ReLU},
    seed=1,
    device="cpu",
)
evaluation = DealsEvalCallback(
    GAME, others, eval_freq=DECISIONS // NUM_ENVS // 5, deals=100, verbose=1
)
model.learn(DECISIONS, callback=evaluation)

# %% [markdown]
"""
## A policy file

`model.save` stores a model with pickle, which only its author should load. A policy file holds the
weights of the policy network and nothing that is executed. It plays in the compiled loop, without
torch, and is an agent wherever one is named: on the command line, as an opponent of the next
learner, in the browser (`card-envs serve --policies runs/sb3`). A path that ends in `.onnx` takes
any other network.
"""

# %%
OUT.mkdir(parents=True, exist_ok=True)
policy = OUT / "policy.safetensors"
card_envs.export_policy(model, GAME, policy)

# %% [markdown]
"""
## How strong is it?

On deals that training has not seen, the policy plays alone among copies of its training opponent,
of `random` and of the package's own policy.
"""

# %%
for opponent in (OPPONENT, "random", "ppo"):
    rank = evaluate(GAME, [policy, *[opponent] * (PLAYERS - 1)], DEALS, seed=1).agents[0].rank
    print(
        f"1 among {PLAYERS - 1} {opponent}: {rank.mean:+.3f} ({rank.low:+.3f} … {rank.high:+.3f})"
    )

# %% [markdown]
"""
Half a million decisions make a policy that leaves `random` behind, but not yet the scripted player.
MaskablePPO learns from one seat, against opponents that stay as they are. In one run of as many
decisions a learner that plays [all seats](ppo.md) got further, among these opponents too
([measured](../tools/sb3.md#a-script)). With ten minutes of one core and five seeds MaskablePPO was
level with it in Beaver Gang, and behind it in Frank's Zoo
([compared](../comparing_algorithms.md#results)).
"""
