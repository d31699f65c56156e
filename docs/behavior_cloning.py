"""Clone an agent, or the search that recorded values, from a dataset: behavior_cloning.py NAME."""

import sys

import minari
import numpy as np
import torch
from torch import nn

from card_envs import export_policy
from card_envs.agents import runs_code
from card_envs.evaluation import evaluate

name, epochs, deals = sys.argv[1], *map(int, sys.argv[2:] or (10, 1000))
torch.manual_seed(0)
torch.set_num_threads(1)

dataset = minari.load_dataset(name)
agents = (metadata := dataset.storage.metadata["card_envs"])["agents"]
if code := list(filter(runs_code, agents)):
    sys.exit(
        f"{name} names agents that run code, {', '.join(code)}: trust them, or do not evaluate"
    )

data = []
for episode in dataset.iterate_episodes():
    seen, legal = (episode.observations[key][:-1] for key in ("observation", "action_mask"))
    free = legal.sum(axis=1) > 1  # forced moves teach nothing
    wanted = (episode.infos or {}).get("choice", episode.actions)[: len(free)]
    data.append((seen[free], legal[free], wanted[free]))
seen, legal, actions = (torch.from_numpy(np.concatenate(c)) for c in zip(*data, strict=True))

network = nn.Sequential(nn.Linear(seen.shape[1], 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
network.append(nn.Linear(256, legal.shape[1]))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
batches = -(-len(actions) // 512)
decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, epochs * batches)
for epoch in range(1, epochs + 1):
    total = 0.0
    for rows in torch.randperm(len(actions)).chunk(batches):
        logits = network(seen[rows]).masked_fill(legal[rows] == 0, -torch.inf)
        loss = nn.functional.cross_entropy(logits, actions[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
        total += loss.item()
    print(f"epoch {epoch}: cross-entropy {total / batches:.4f}", flush=True)

export_policy(network, metadata["game"], "clone.safetensors", **metadata["view"])
options = {k: v for k, v in metadata["options"].items() if k not in ("num_players", "reward")}
for agent in ("clone.safetensors", agents[0]):  # on the same deals
    result = evaluate(metadata["game"], [agent, *agents[1:]], deals, 1, options)
    print(f"{result.agents[0].name}: rank reward {result.agents[0].rank}")
