"""``docs/examples/ppo.py``: it learns, it is deterministic, and it plays every game."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import ALL_GAMES, EACH_GAME, needs_training

GAME = ALL_GAMES[1]  # not the default

pytestmark = needs_training
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)


@pytest.mark.slow
def test_the_page_trains_a_policy_that_beats_random():
    from integrations.pages import run_page
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    names = run_page("cleanrl")
    assert names["result"].agents[0].rank.low > 0.15
    logs = EventAccumulator(str(names["path"].parent))
    logs.Reload()
    returns = [event.value for event in logs.Scalars("charts/episodic_return")]
    assert returns[-1] > returns[0] + 0.1
    assert logs.Scalars("evaluation/rank_vs_random")[-1].value > 0.15
    explained = [event.value for event in logs.Scalars("losses/explained_variance")]
    assert explained[-1] > 0.1 > explained[0]
    assert {"charts/SPS", "losses/entropy", "losses/approx_kl"} <= set(logs.Tags()["scalars"])


def tiny(game, **changes):
    import ppo

    values = {
        "game": game.id,
        "num_players": game.min_players,
        "opponents": game.default_opponent,
        "total_timesteps": 64,
        "num_envs": 8,
        "num_steps": 4,
        "hidden": 16,
        "num_minibatches": 2,
        "eval_deals": 2,
    }
    return ppo.train(ppo.Args(**{**values, **changes}))


@pytest.mark.parametrize("game", EACH_GAME)
def test_every_game_is_learned_and_the_same_seed_gives_the_same_policy(game):
    first = tiny(game).read_bytes()
    assert tiny(game).read_bytes() == first
    assert tiny(game, seed=2).read_bytes() != first


def test_command_line(capsys):
    import ppo

    args = ppo.parse_args(["--game", GAME.id, "--no-anneal-lr", "--learning-rate", "0.01"])
    assert args == ppo.Args(game=GAME.id, anneal_lr=False, learning_rate=0.01)
    for words, message in (
        (["--total-timesteps", "100"], "--total-timesteps must be at least 4096, a rollout"),
        (["--num-minibatches", "0"], "--num-minibatches must be from 1 to 2048"),
        (["--num-minibatches", "5000"], "--num-minibatches must be from 1 to 2048"),
        (["--seed", "x"], "argument --seed: invalid int value"),
        (["--seed", "-1"], "--seed must be from 0 to 2147483647"),
        (["--eval-deals", "1"], "--eval-deals must be from 2 to"),
        (["--threads", "0"], "--threads must be from 1 to"),
        (["--update-epochs", "0"], "--update-epochs must be from 1 to"),
        (["--hidden", "0"], "--hidden must be from 1 to"),
        (["--num-envs", "0"], "--num-envs must be from 1 to"),
    ):
        with pytest.raises(SystemExit):
            ppo.parse_args(words)
        assert message in capsys.readouterr().err
    assert ppo.main(["--opponents", "nobody"]) == 2
    assert "there is no agent 'nobody'" in capsys.readouterr().err
