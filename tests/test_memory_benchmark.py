"""What perfect recall is worth: the recurrent learner, and the benchmark."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers import SCRIPTED

from benchmarks import memory, tables
from benchmarks.recurrent_ppo import CORES, ActorCritic, _advantages, play
from training.runs.records import read_json

INPUTS, ACTIONS, HIDDEN = 7, 5, 6


def random_decisions(steps, games, seed=0):
    """Observations and masks with a legal action in each."""
    torch.manual_seed(seed)
    masks = torch.rand(steps, games, ACTIONS) < 0.5
    masks[..., 2] = True
    return torch.rand(steps, games, INPUTS), masks


@pytest.mark.parametrize("core", CORES)
def test_a_rollout_decision_by_decision_is_that_of_the_update(core):
    network = ActorCritic(INPUTS, ACTIONS, HIDDEN, core)
    observations, masks = random_decisions(9, 4)
    starts = (torch.rand(9, 4) < 0.3).float()
    state = torch.rand(4, HIDDEN)
    policy, values, last = network(observations, masks, starts, state)
    assert (policy.probs[~masks] == 0).all()
    for t in range(9):
        one = slice(t, t + 1)
        now, value, state = network(observations[one], masks[one], starts[one], state)
        assert torch.allclose(now.probs[0], policy.probs[t], atol=1e-6)
        assert torch.allclose(value[0], values[t], atol=1e-6)
    assert torch.allclose(state, last, atol=1e-6)


def test_a_recurrent_network_remembers_its_game_and_no_other():
    network = ActorCritic(INPUTS, ACTIONS, HIDDEN, "recurrent")
    observations, masks = random_decisions(5, 2)
    state = torch.zeros(2, HIDDEN)
    changed = observations.clone()
    changed[1] += 1.0
    for start, is_forgotten in ((3, True), (0, False)):
        starts = torch.zeros(5, 2)
        starts[start] = 1.0
        one, other = (network(x, masks, starts, state)[1] for x in (observations, changed))
        assert torch.equal(one[0], other[0])
        assert not torch.allclose(one[1:3], other[1:3])
        assert torch.equal(one[3:], other[3:]) == is_forgotten


def test_advantages_are_those_of_whole_games():
    """With lambda 1: what is paid until the game's end, less the value."""
    rewards = torch.tensor([[1.0], [2.0], [4.0], [8.0]])
    values = torch.tensor([[0.5], [0.25], [0.125], [1.0]])
    starts = torch.tensor([[1.0], [0.0], [1.0], [0.0]])
    found = _advantages(rewards, values, starts, torch.tensor([0.0]), torch.tensor([3.0]), 1.0)
    expected = torch.tensor([[3 - 0.5], [2 - 0.25], [15 - 0.125], [11 - 1.0]])
    assert torch.allclose(found, expected)
    # One decision each with lambda 0.
    found = _advantages(rewards, values, starts, torch.tensor([1.0]), torch.tensor([3.0]), 0.0)
    expected = torch.tensor([[1 + 0.25 - 0.5], [2 - 0.25], [4 + 1.0 - 0.125], [8 - 1.0]])
    assert torch.allclose(found, expected)


def test_what_a_learner_is_paid_is_its_rank_in_the_games():
    network = ActorCritic(SCRIPTED.fields.size, SCRIPTED.num_actions, HIDDEN, "recurrent")
    players = SCRIPTED.min_players
    found = play(network, SCRIPTED, players, "none", 20, seed=3)
    ahead = found * (players - 1)  # of how many, less those who are ahead
    assert np.allclose(ahead, np.round(ahead))
    assert (np.abs(ahead) < players).all()
    assert (found == play(network, SCRIPTED, players, "none", 20, seed=3)).all()


def test_the_benchmark_measures_all_learners(tmp_path, capsys):
    argv = ["--game", SCRIPTED.id, "--players", str(SCRIPTED.min_players), "--seeds", "1"]
    argv += ["--decisions", "1", "--games", "4", "--jobs", "1"]
    path = tmp_path / "memory.json"
    assert memory.main([*argv, "--json", str(path)]) == 0
    measured = read_json(path)
    rows = measured["results"]["learners"]
    assert [(row["memory"], row["core"]) for row in rows] == list(memory.LEARNERS)
    assert '| `memory="none"` | recurrent | ' in tables.TABLES["memory"](measured)
    assert memory.main([*argv, "--games", "1"]) == 2
    assert "--games at least 2" in capsys.readouterr().err
