"""The learner's games, rollouts and labels in Numba's simulator, compared with those on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("pydantic")

import torch
from helpers import SCRIPTED
from random_policies import policy_file
from tiny_runs import tiny_run

from training.games import device
from training.improve import ImprovementRun
from training.improvement import labels
from training.improvement.config import ImprovementConfig
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


def test_labels_are_those_of_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(labels, "_BURN_IN", 3)
    monkeypatch.setitem(labels._AT_ONCE, "cuda", 6)
    made = []
    for where in ("cpu", "cuda"):
        config = {
            "game": SCRIPTED.id,
            "agent": policy_file(SCRIPTED, tmp_path / "first.safetensors"),
            "environment": {"num_envs": 16},
            "opponents": {"agents": {"random": 1.0}, "pool": 1.0},
            "labels": {"count": 8, "shard": 4, "worlds": 1, "candidates": 2, "device": where},
        }
        run = ImprovementRun(ImprovementConfig.model_validate(config), tmp_path / where)
        made.append(labels.label_positions(0, run, run.agents[run.config.agent], 1))
    ours, theirs = map(vars, made)
    assert len(made[0]) == 4
    for name, array in ours.items():
        assert array.tobytes() == theirs[name].tobytes(), name
