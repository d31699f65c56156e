"""The learner's games and rollouts in Numba's simulator, compared with those on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("pydantic")

import torch
from tiny_runs import SCRIPTED, tiny_run

from training.games import device
from training.train import make_learner


class OnSimulatedGpu(device.OnGpu):
    """The simulator's arrays, and torch's on the CPU."""

    device = torch.device("cpu")

    def tensor(self, array):
        return torch.from_numpy(array._ary)


def test_a_rollout_and_an_update_are_those_of_the_cpu(monkeypatch):
    made = []
    overrides = (
        "rollouts=device",
        "environment.options.max_steps=25",
        "opponents={self: 0.5, pool: 0.5, agents: {random: 0.2, heuristic: 0.3}, block_size: 2}",
    )
    for place in (device.OnCpu, OnSimulatedGpu):
        monkeypatch.setattr("training.train.OnCpu", place)
        learner = make_learner(tiny_run(SCRIPTED, Path("unused"), *overrides))
        learner.begin()
        for _ in range(3):
            learner.collect()
            learner.update()
            learner.games.add_snapshot(learner.policy())
        made.append(learner)
    ours, theirs = made
    assert ours.decisions == theirs.decisions > 100
    for name, tensor in ours.games._tensors.items():
        assert torch.equal(tensor, theirs.games._tensors[name]), name
    for weight, other in zip(ours.networks.parameters(), theirs.networks.parameters(), strict=True):
        assert torch.equal(weight, other)
