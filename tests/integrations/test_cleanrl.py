"""``docs/tutorials/ppo.py``: it learns, it is deterministic, and it plays every game."""

from __future__ import annotations

import runpy
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from helpers import EACH_GAME, needs_training

pytestmark = needs_training
SCRIPT = Path(__file__).parents[2] / "docs" / "tutorials" / "ppo.py"

TINY = {
    "decisions": 150,
    "num-envs": 8,
    "num-steps": 8,
    "hidden": 16,
    "minibatch-size": 32,
    "eval-every": 2,
    "deals": 5,
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the script with these arguments, and returns its names."""
    monkeypatch.chdir(tmp_path)

    def of(arguments):
        words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *words])
        return runpy.run_path(str(SCRIPT), run_name="__main__")

    return of


@pytest.mark.slow
def test_it_beats_random_after_seconds_and_logs_under_the_names_of_cleanrl(run, capsys):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    names = run({"decisions": 200_000, "eval-every": 1000, "out": "run"})
    logs = EventAccumulator("run")
    logs.Reload()
    assert logs.Scalars("evaluation/rank_vs_random")[-1].value > 0.8
    entropy = [event.value for event in logs.Scalars("losses/entropy")]
    assert 0.0 < entropy[-1] < entropy[0]
    assert {"charts/SPS", "losses/value_loss", "losses/approx_kl"} <= set(logs.Tags()["scalars"])
    assert f"{names['decisions']:,} decisions, " in capsys.readouterr().out


def test_advantages_are_those_of_each_seat_by_itself(run):
    """Random decisions, rewards and ends of games, in the order of the steps."""
    names = run(TINY)
    rng = np.random.default_rng(1)
    steps, chains, ended = [], defaultdict(list), []
    row = 0
    for _ in range(60):
        games = np.flatnonzero(rng.random(names["N"]) < 0.7)
        seats = rng.integers(3, size=len(games))
        rewards = rng.normal(size=(names["N"], names["P"]))
        done = rng.random(names["N"]) < 0.1
        steps.append((games, seats, rewards, done))
        for game, seat in zip(games, seats, strict=True):
            chains[game, seat].append([row, 0.0])
            row += 1
        for (game, seat), chain in list(chains.items()):
            chain[-1][1] += rewards[game, seat]
            if done[game]:
                ended.append(chains.pop((game, seat)))
    values = rng.normal(size=row).astype(np.float32)
    expected, is_open = np.zeros(row), np.zeros(row, bool)
    for chain in [*ended, *chains.values()]:
        following, later = 0.0, 0.0
        for place, (k, paid) in enumerate(reversed(chain)):
            if place == 0 and chain not in ended:
                is_open[k] = True
            else:
                later = expected[k] = paid + following - values[k] + 0.95 * later
            following = values[k]
    advantages, found_open, _ = names["estimate_advantages"](steps, values)
    np.testing.assert_allclose(advantages, expected, atol=1e-4)
    assert (found_open == is_open).all()
    # The same in two rollouts: what is open after the first one begins the second.
    count = sum(len(games) for games, *_ in steps[:25])
    _, is_open, owed = names["estimate_advantages"](steps[:25], values[:count])
    decided = (np.concatenate(arrays)[is_open] for arrays in [*zip(*steps[:25], strict=True)][:2])
    carried = (*decided, owed, np.zeros(names["N"], bool))
    rows = np.r_[np.flatnonzero(is_open), count : len(values)]
    later, _, _ = names["estimate_advantages"]([carried, *steps[25:]], values[rows])
    np.testing.assert_allclose(later, expected[rows], atol=1e-4)


@pytest.mark.parametrize("game", EACH_GAME)
def test_every_game_is_learned_and_the_same_seed_gives_the_same_policy(game, run):
    of_game = {**TINY, "game": game.id, "players": game.min_players}

    def policy(seed):
        out = run({**of_game, "seed": seed, "out": f"run{seed}"})["args"].out
        return (out / "policy.safetensors").read_bytes()

    first = policy(1)
    assert policy(1) == first
    assert policy(2) != first
