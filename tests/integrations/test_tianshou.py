"""Tianshou: the code of its page, and the learner of ``benchmarks.algorithms``."""

from __future__ import annotations

import numpy as np
import pytest
from integrations.learners import check_learner
from integrations.pages import run_page
from tianshou.utils.torch_utils import policy_within_training_step


@pytest.fixture(scope="module")
def page():
    return run_page("tianshou")


@pytest.mark.parametrize("name", ["dqn_result", "ppo_result"])
def test_the_page_trains_agents_that_beat_random(page, name):
    result = page[name]
    assert result.deals >= 300
    assert result.agents[0].rank.interval[0] > 0


@pytest.mark.parametrize(
    ("collector", "policy"), [("collector", "policy"), ("ppo_collector", "ppo_policy")]
)
def test_the_agents_of_the_page_train_on_legal_actions_only(page, collector, policy):
    with policy_within_training_step(page[policy]):
        page[collector].collect(n_step=2048)
    buffer = page[collector].buffer
    taken = buffer[buffer.sample_indices(0)]
    legal = taken.obs.mask[np.arange(len(taken)), taken.act]
    assert len(taken) >= 2000
    assert legal.all()
    assert not taken.obs.mask.all()


def test_every_agent_of_the_page_is_paid_at_the_end(page):
    """What the page's long returns rely on: the last step of a game holds everybody's reward."""
    buffer = page["collector"].buffer
    taken = buffer[buffer.sample_indices(0)]
    assert (taken.rew[~taken.done] == 0).all()
    assert (taken.rew[taken.done] != 0).any(axis=1).mean() > 0.9
    assert np.allclose(taken.rew.sum(axis=1), 0)


def test_the_mask_of_the_seat_is_that_of_its_game(page):
    env = page["make_seat_env"]()
    observation, info = env.reset(seed=1)
    for _ in range(20):
        assert np.array_equal(observation["mask"], info["action_mask"] == 1)
        action = int(np.flatnonzero(observation["mask"])[0])
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            observation, info = env.reset()


def test_the_learner_leaves_a_policy(tmp_path):
    check_learner("tianshou_dqn", tmp_path / "out")
