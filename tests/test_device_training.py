"""Games and rollouts on a device are those of the CPU, which stands for a GPU here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from helpers import ALL_GAMES, SCRIPTED, kit_of, needs_training
from random_policies import policy_file, random_network
from tiny_runs import tiny_run

from card_envs.agents import NetworkAgent
from card_envs.contract.game import Game
from card_envs.engine.seeds import consecutive_seeds
from training.games.device import DeviceGames
from training.games.device_rollout import DeviceRollout
from training.games.host import HostGames
from training.games.tables import LEARNER
from training.ppo import PPO, Rollout
from training.runs import checkpoint
from training.runs.run import Run
from training.train import make_learner, train

pytestmark = [needs_training, pytest.mark.usefixtures("on_one_core")]
HERE = Path("unused")


def learners(game: Game, *overrides: str) -> tuple[PPO, PPO]:
    """The same learner on the host and on a device, their games begun."""
    both = [
        make_learner(tiny_run(game, HERE, *overrides, f"rollouts={where}"))
        for where in ("host", "device")
    ]
    for learner in both:
        learner.begin()
    assert isinstance(both[0].games, HostGames)
    assert isinstance(both[1].games, DeviceGames)
    return both[0], both[1]


def random_actions(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(mask.shape) * mask).argmax(axis=1)


#: Their kernels take long to compile.
GAMES = [
    pytest.param(game, id=game.id, marks=[] if game is SCRIPTED else pytest.mark.slow)
    for game in ALL_GAMES
    if game.write_state is not None
]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(
    "options", [{"max_steps": 40}, pytest.param({"reward": "score"}, marks=pytest.mark.slow)]
)
def test_the_same_actions_make_the_same_games(game, options):
    given = {**kit_of(game).short_options, **options}
    host, device = learners(game, f"environment.options={given}")
    ours, theirs, rng = device.games, host.games, np.random.default_rng(1)
    ended = cut = 0
    for step in range(150):
        units = torch.cat([ours.observation, ours.state], dim=1) / ours.scale
        np.testing.assert_allclose(
            units.numpy(),
            theirs.observe(),
            rtol=0,
            atol=1e-6,
            equal_nan=False,
            err_msg=f"step {step}",
        )
        mask = theirs.arena.action_mask
        assert (ours.action_mask.numpy() == mask).all()
        assert (ours.players.numpy() == theirs.players).all()
        assert (ours.waiting == LEARNER).all()
        actions = random_actions(mask, rng)
        outcome = theirs.step(actions)
        ours.step(torch.from_numpy(actions), torch.Generator())
        assert (ours.rewards.numpy() == outcome.rewards).all()
        assert np.flatnonzero(ours.ended.numpy()).tolist() == outcome.ended.tolist()
        assert (ours.seating == theirs.seating).all()
        ended += len(outcome.ended)
        cut += int(ours.cut.sum())
    if "max_steps" in options:
        assert ended >= cut > 5


class Draws:
    """Random actions that depend on nothing but their order, for either kind of rollout."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(5)

    def __call__(self, inputs, legal) -> tuple[torch.Tensor, torch.Tensor]:
        mask = legal if isinstance(legal, torch.Tensor) else legal.to_dense()
        actions = torch.from_numpy(random_actions(mask.numpy(), self._rng))
        return actions, -(actions.float() + 1.0) / 7.0


def learned_from(learner: PPO, gamma: float, lam: float) -> np.ndarray:
    """What there is to learn from, a row (6,) a decision, in an order of its own."""
    rollout = learner.rollout
    places, advantages, returns = rollout.advantages(gamma, lam)
    inputs, legal = learner.rows(places)
    if isinstance(rollout, Rollout):
        inputs, legal = (torch.as_tensor(rows.to_dense()) for rows in (inputs, legal))
    weights = [torch.sin(torch.arange(rows.shape[1]) + 1.0) for rows in (inputs, legal)]
    columns = [*rollout.decided(places), returns, advantages]
    columns += [
        rows.double() @ w.double() for rows, w in zip((inputs, legal), weights, strict=True)
    ]
    rows = np.column_stack([np.asarray(column, np.float64) for column in columns])
    return rows[np.lexsort(np.round(rows, 3).T)]


@pytest.mark.parametrize("truncation", ["bootstrap", "loss", "draw"])
@pytest.mark.parametrize("options", ["reward: score, max_steps: 31", "reward: rank, max_steps: 31"])
@pytest.mark.parametrize("critic", ["state", "observation", "both"])
def test_the_same_decisions_have_the_same_advantages(truncation, options, critic):
    given = [f"environment.options={{{options}}}", f"truncation={truncation}"]
    host, device = learners(SCRIPTED, *given, f"network.critic={critic}")
    draws = Draws(), Draws()
    for _ in range(6):
        for learner, choose in zip((host, device), draws, strict=True):
            learner.collect(choose)
        for gamma, lam in ((1.0, 0.9), (0.9, 1.0), (0.95, 0.0)):
            expected, found = (learned_from(learner, gamma, lam) for learner in (host, device))
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4, equal_nan=False)
        rollout = device.rollout
        assert isinstance(rollout, DeviceRollout)
        assert ((rollout.open >= 0).numpy() == (host.rollout.open >= 0)).all()
    assert len(found) > 40


# ---------------------------------------------------------------------------------------------
# Opponents
# ---------------------------------------------------------------------------------------------


def test_in_blocks_everybody_decides_for_themselves(tmp_path):
    """Scripted opponents within a step; networks, one of them sampled, with rows of their own."""
    path = policy_file(SCRIPTED, tmp_path / "fixed.safetensors", seed=3)
    opponents = (
        f"opponents={{self: 0.25, pool: 1, agents: {{random: 0.5, heuristic: 0.5, {path}: 2}},"
        " block_size: 4, pool_size: 2}"
    )
    run = tiny_run(SCRIPTED, HERE, opponents, "environment.num_envs=64", "rollouts=device")
    learner = make_learner(run)
    learner.begin()
    games, generator = learner.games, torch.Generator().manual_seed(2)
    assert isinstance(games, DeviceGames)
    assert (games.seating[:16] == LEARNER).all()
    fixed = next(k for k, agent in enumerate(games.agents) if agent and agent.name == path)
    rng, asked = np.random.default_rng(0), {}
    for step in range(300):
        if step % 30 == 0:
            games.add_snapshot(random_network(SCRIPTED, seed=step))
        mask = games.action_mask.numpy().copy()
        assert (mask.sum(axis=1) > 1).all()  # forced moves are made
        waiting, seating = games.waiting.numpy().copy(), games.seating
        assert (seating[np.arange(64), games.players.numpy()] == waiting).all()
        for k in waiting:
            asked[k] = asked.get(k, 0) + 1
        given = random_actions(mask, rng)
        expected = given.copy()
        network = games.agents[fixed].network
        seen = (games.observation / games.scale[: games.observation.shape[1]]).numpy()
        logits = np.where(mask, network.logits(seen), -np.inf)
        expected[waiting == fixed] = logits.argmax(axis=1)[waiting == fixed]
        games.step(torch.from_numpy(given), generator)
        taken = games._tensors["actions"].numpy()
        exact = (waiting == LEARNER) | (waiting == fixed)
        assert (taken[exact] == expected[exact]).all()
        assert mask[np.arange(64), taken].all()
    scripted = {k for k, agent in enumerate(games.agents) if agent and agent.kernel is not None}
    assert len(scripted) == 2
    assert not scripted & asked.keys()
    assert {LEARNER, fixed} < asked.keys()  # and snapshots
    assert len({tuple(row) for row in games.seating[16:].tolist()}) > 6
    games.check()


def test_only_the_learners_decisions_are_learned_from():
    opponents = "opponents={self: 0.5, pool: 1, agents: {}, block_size: 2}"
    given = (opponents, "environment.num_envs=200", "ppo.n_steps=20", "rollouts=device")
    learner = make_learner(tiny_run(SCRIPTED, HERE, *given))
    learner.begin()
    for _ in range(3):
        before = learner.decisions
        learner.collect()
        # As many as asked for, about: a rollout is longer, since opponents decide in it too.
        assert learner.decisions - before == pytest.approx(200 * 20, rel=0.1)
        rollout, games = learner.rollout, learner.games
        assert isinstance(rollout, DeviceRollout)
        places, *_ = rollout.advantages(1.0, 0.95)
        assert rollout.is_own.view(-1)[places].all()
        in_blocks = (places % 200) >= 100
        assert 0.15 < in_blocks.float().mean() < 0.45
        assert (rollout.open[100:] >= 0).sum(dim=1).max() <= 1
        learner.update()
        games.add_snapshot(learner.policy())


# ---------------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------------


def test_a_run_on_a_device_learns_and_is_resumed_with_other_games(tmp_path):
    opponents = "opponents={self: 0.5, pool: 0.5, agents: {heuristic: 0.5}, snapshot_every: 1}"
    given = ("rollouts=device", opponents, "opponents.pool_size=2")
    run = tiny_run(SCRIPTED, tmp_path / "run", *given)
    policy = train(run, quiet=True)
    assert policy.exists()
    evaluated = [entry["decisions"] for entry in run.progress]
    assert evaluated[0] == 0
    assert len(evaluated) == 4
    assert (np.diff(evaluated) > 0).all()
    longer = Run.reopen(run.folder, ["decisions=400"])
    train(longer, resume=True, quiet=True)
    assert longer.is_finished
    learner = make_learner(longer)
    checkpoint.load(longer.checkpoint_path, learner)
    assert learner.decisions >= 400
    begun = make_learner(longer).networks.state_dict()
    for name, weights in learner.networks.state_dict().items():
        assert "bias" not in name or not torch.equal(weights, begun[name]), name
    assert isinstance(learner.games, DeviceGames)
    assert len(learner.games.pool) == 2
    first = set(consecutive_seeds(longer.config.seed * 8, 8).tolist())
    assert not first & set(learner.games._seeds.tolist())
    host = make_learner(tiny_run(SCRIPTED, run.folder, *given[1:], "rollouts=host"))
    with pytest.raises(ValueError, match=r"played on the device \(cpu\), .* plays .* the host;"):
        checkpoint.load(longer.checkpoint_path, host)


def test_copied_weights_play_on_a_device(tmp_path):
    path = policy_file(SCRIPTED, tmp_path / "teacher.safetensors", hidden=(16,))
    imitation = f"imitation={{agent: {path}, copy_weights: true, decisions: 128}}"
    run = tiny_run(SCRIPTED, tmp_path / "run", imitation, "rollouts=device", "decisions=0")
    learned = NetworkAgent.from_file(train(run, quiet=True), SCRIPTED).network
    taught = NetworkAgent.from_file(path, SCRIPTED).network
    for layer, other in zip(learned.layers, taught.layers, strict=True):
        for one, another in zip(layer, other, strict=True):
            assert one == pytest.approx(another, abs=1e-5)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["imitation={agent: heuristic, decisions: 100}"], "imitation without copy_weights asks"),
        (["network.critic_playout=true"], "critic_playout is computed by the CPU"),
        (["environment.options.memory=none", "opponents={agents: {POLICY: 1}}"], "another view"),
    ],
)
def test_what_a_device_cannot_play_is_refused(overrides, message, tmp_path):
    path = policy_file(SCRIPTED, tmp_path / "policy.safetensors")
    overrides = [override.replace("POLICY", path) for override in overrides]
    with pytest.raises(ValueError, match=f"rollouts: these games cannot .* device: .*{message}"):
        make_learner(tiny_run(SCRIPTED, HERE, *overrides, "rollouts=device"))
    assert isinstance(make_learner(tiny_run(SCRIPTED, HERE, *overrides)).games, HostGames)


def test_games_that_end_before_a_decision_are_told():
    given = ("environment={num_envs: 64, options: {max_steps: 1}}", "rollouts=device")
    run = tiny_run(SCRIPTED, HERE, *given, "opponents={agents: {random: 1}, block_size: 4}")
    with pytest.raises(ValueError, match=r"before the learner's first decision: max_steps=1 is"):
        make_learner(run).begin()
