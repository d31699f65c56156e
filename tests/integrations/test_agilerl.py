"""AgileRL: the code of its page."""

from __future__ import annotations

import pytest
import torch
from integrations.pages import run_page


@pytest.fixture(scope="module")
def page():
    return run_page("agilerl")


def test_ppo_of_the_page_beats_random(page):
    result = page["ppo_result"]
    assert result.deals >= 300
    assert result.agents[0].rank.interval[0] > 0


def test_dqn_of_the_page_plays_legally(page):
    """An illegal action is an error, in training (``on_illegal="raise"``) and in evaluation."""
    assert page["env"].on_illegal == "raise"
    result = page["dqn_result"]
    assert result.deals >= 300
    assert result.agents[0].rank.mean > -0.2


def test_the_games_of_dqn_pay_every_seat_once(page):
    taken = page["memory"].storage[: len(page["memory"])]
    over = taken["done"].flatten() == 1
    rewards = taken["reward"].flatten()
    assert (rewards[~over] == 0).all()
    assert abs(int(over.sum()) - 3 * page["games"]) <= 3
    assert abs(rewards.sum()) < 3


def test_ppo_of_the_page_learned_from_legal_actions_only(page):
    buffer = page["ppo"].rollout_buffer.get_tensor_batch()
    masks, actions = buffer["action_masks"], buffer["actions"].long()
    assert masks.bool().gather(-1, actions).all()
    assert not masks.bool().all()
    assert torch.isfinite(buffer["returns"]).all()
