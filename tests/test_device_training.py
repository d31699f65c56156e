"""Training with games on a device: on the CPU, and in Numba's CUDA simulator, in place of a GPU.

Run as a script, ``python tests/test_device_training.py FOLDER``, this file trains a tiny policy.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium import spaces
from helpers import needs_training
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from tiny_runs import SCRIPTED, SMALL, policy_file, tiny_run

from benchmarks import cuda
from training import device_selfplay, learner, train
from training.callback import SelfPlayCallback
from training.runs.config import load_config
from training.device_rollouts import DeviceRolloutBuffer
from training.device_selfplay import make_device_env
from training.runs.run import Run
from training.selfplay import make_env

pytestmark = needs_training
NEW = Path("no folder is made")


def put_cpu_in_place_of_gpu(patch):
    for module in (device_selfplay, learner, train):
        patch.setattr(module, "device_of", lambda config: "cpu")


@pytest.fixture
def on_device(monkeypatch):
    put_cpu_in_place_of_gpu(monkeypatch)
    return "device=cuda"


def check_same_games(game, on_device, *overrides, steps=60):
    """Games on the device are those on the CPU; returns how many ended, and were bootstrapped."""
    device = make_device_env(tiny_run(game, NEW, on_device, *overrides))
    cpu = make_env(tiny_run(game, NEW, *overrides))
    rng = np.random.default_rng(1)
    seen = []
    for env in (device, cpu):
        env.seed(5)
        seen.append(env.reset())
    ended = cut = 0
    for _ in range(steps):
        mask = cpu.games.arena.action_mask
        assert (seen[0].numpy() == seen[1]).all()
        assert (device.games.on_device.action_mask.numpy() == mask).all()
        actions = (mask * rng.random(mask.shape)).argmax(axis=1)
        one, rewards, dones, (indices, last) = device.step_on_device(torch.from_numpy(actions))
        other, expected, over, infos = cpu.step(actions)
        assert (rewards.numpy() == expected).all()
        assert (dones.numpy() == over).all()
        with_last = [i for i, info in enumerate(infos) if "terminal_observation" in info]
        truncated = [i for i in with_last if infos[i]["TimeLimit.truncated"]]
        assert indices.tolist() == truncated
        for i, row in zip(truncated, last.numpy(), strict=True):
            assert (row == infos[i]["terminal_observation"]).all()
        seen = [one.clone(), other]
        ended += int(over.sum())
        cut += len(truncated)
    assert (device.games.learner_seats == cpu.games.learner_seats).all()
    return ended, cut


@pytest.mark.parametrize("game", [SMALL, SCRIPTED], ids=lambda game: game.id)
def test_games_on_a_device_are_those_of_the_cpu(game, on_device):
    agents = "heuristic: 0.5, random: 0.5" if game.heuristic is not None else "random: 1"
    overrides = [f"opponents.agents={{{agents}}}", "opponents.pool=0"]
    critic = "observation" if game.write_state is None else "state"
    overrides.append(f"network.critic={critic}")
    if game.heuristic is not None:
        overrides.append("network.critic_playout=true")
    options = "environment.options={reward: score, max_steps: 40}"
    ended, cut = check_same_games(game, on_device, options, *overrides)
    assert ended > 3
    assert game is SMALL or cut > 0


@pytest.mark.parametrize("truncation", ["draw", "loss"])
def test_what_a_truncated_game_pays_is_the_same(on_device, truncation):
    options = "environment.options={reward: rank, max_steps: 30}"
    pool = ["opponents.agents={random: 1}", "opponents.pool=0"]
    ended, _ = check_same_games(SCRIPTED, on_device, options, f"truncation={truncation}", *pool)
    assert ended > 3


def test_policies_play_as_on_the_cpu(on_device, tmp_path):
    """But for rounding, which changes none of these actions."""
    agents = [policy_file(SCRIPTED, tmp_path / f"{seed}.safetensors", seed=seed) for seed in (1, 2)]
    table = f"opponents.agents={{{agents[0]}: 0.5, {agents[1]}: 0.4, heuristic: 0.1}}"
    ended, _ = check_same_games(SCRIPTED, on_device, table, "opponents.pool=0", steps=40)
    assert ended > 0


def test_the_benchmark_trains_on_both(on_device, monkeypatch):
    monkeypatch.setattr(cuda, "load_config", lambda path, changes=(): small_config(path, changes))
    trainers = {device: cuda.make_trainer(SCRIPTED, device, 16) for device in ("cuda", "cpu")}
    measured = cuda.measure_training(trainers, 2)
    assert list(measured) == ["cuda", "cpu"]
    for speeds in measured.values():
        assert 0 < speeds["whole"] < speeds["collecting"]


def small_config(path, changes):
    """A shipped configuration with a few games, a small pool and short rollouts."""
    smaller = ["opponents.pool_size=1", "ppo.n_steps=4", "network.hidden=[8]"]
    return load_config(path, [*changes, *smaller])


def test_agents_that_play_on_the_cpu_alone_are_refused(on_device):
    run = tiny_run(SCRIPTED, NEW, on_device, "opponents.agents={'search:2': 1}", "opponents.pool=0")
    with pytest.raises(ValueError, match=r"'search:2' cannot play on a GPU; policies, random and"):
        make_device_env(run).reset()


def test_returns_and_minibatches_are_those_of_sb3():
    shape = spaces.Box(-1, 1, (3,)), spaces.Discrete(4)
    arguments = {"gae_lambda": 0.9, "gamma": 0.95, "n_envs": 5, "device": "cpu"}
    buffers = [
        kind(6, *shape, **arguments) for kind in (MaskableRolloutBuffer, DeviceRolloutBuffer)
    ]
    rng = np.random.default_rng(1)
    for buffer in buffers:
        buffer.reset()
    for _ in range(6):
        step = (
            rng.random((5, 3), np.float32),
            rng.integers(4, size=(5, 1)),
            rng.random(5, np.float32),
            rng.random(5) < 0.3,
            torch.from_numpy(rng.random((5, 1), np.float32)),
            torch.from_numpy(rng.random(5, np.float32)),
        )
        for buffer in buffers:
            buffer.add(*step, action_masks=np.ones((5, 4)))
    last, dones = torch.from_numpy(rng.random((5, 1), np.float32)), rng.random(5) < 0.5
    for buffer in buffers:
        buffer.compute_returns_and_advantage(last, dones)
    np.testing.assert_allclose(buffers[1].returns, buffers[0].returns, rtol=1e-5)
    np.testing.assert_array_equal(buffers[1].values, buffers[0].values)
    rows = []
    for buffer in buffers:
        batches = list(buffer.get(7))
        assert [len(batch.actions) for batch in batches] == [7, 7, 7, 7, 2]
        columns = [
            torch.cat([batch[k].reshape(len(batch[k]), -1) for batch in batches]) for k in range(7)
        ]
        table = torch.cat([column.double() for column in columns], dim=1).numpy()
        rows.append(table[np.lexsort(table.T)])
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-5)


def train_tiny(game, folder, *overrides):
    """The bytes of the policy."""
    run = tiny_run(game, folder, "device=cuda", *overrides)
    train.train(run, quiet=True)
    return run.policy_path.read_bytes()


def test_a_resumed_run_is_the_same_run(on_device, tmp_path, monkeypatch):
    straight = train_tiny(SCRIPTED, tmp_path / "straight")
    run = tiny_run(SCRIPTED, tmp_path / "halves", on_device)
    save, calls = SelfPlayCallback.save, []

    def interrupted_save(self):
        calls.append(self)
        save(self)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SelfPlayCallback, "save", interrupted_save)
        with pytest.raises(KeyboardInterrupt):
            train.train(run, quiet=True)
    train.train(Run.reopen(run.folder), resume=True, quiet=True)
    assert run.policy_path.read_bytes() == straight


def test_a_run_on_a_device_may_begin_with_imitation(on_device, tmp_path):
    imitation = ["imitation.agent=heuristic", "imitation.decisions=64"]
    policies = {train_tiny(SCRIPTED, tmp_path / str(k), *imitation) for k in range(2)}
    assert len(policies) == 1
    assert policies != {train_tiny(SCRIPTED, tmp_path / "without")}


def test_the_simulator_trains_the_same_policy(on_device, tmp_path):
    pytest.importorskip("numba.cuda", reason="this Numba has no simulator of its own")
    simulated = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    simulated["PYTHONPATH"] = os.pathsep.join([os.getcwd(), str(Path(__file__).parent)])
    command = [sys.executable, __file__, str(tmp_path / "simulated")]
    policy = subprocess.run(command, check=True, env=simulated, stdout=subprocess.PIPE).stdout
    assert policy == train_tiny(SMALL, tmp_path / "compiled", *SHORT)


#: Plain Python is slow.
SHORT = ("decisions=128", "evaluation.every=1000", "network.critic=observation")


if __name__ == "__main__":
    put_cpu_in_place_of_gpu(pytest.MonkeyPatch())
    sys.stdout.buffer.write(train_tiny(SMALL, Path(sys.argv[1]), *SHORT))
