"""The learner's sparse rows: the same numbers as dense rows and SB3's own buffer give."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from tiny_runs import SCRIPTED, SMALL, tiny_run
from torch import nn

from training.distribution import MaskedCategorical
from training.networks.layers import InputLayer, Linear
from training.learner import make_learner
from training.networks.legal_actions import divergences, draw_actions, evaluate_actions
from training.rollouts import SparseRolloutBuffer
from training.selfplay import make_env
from training.networks.sparse import SparseRows, SparseRowsBuffer, as_dense

HERE = Path("unused")


def random_rows(shape, density, seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=shape) * (rng.random(shape) < density)
    return dense.astype(np.float32)


# An empty row, a full one, one row alone, and none of the columns that are looked at.
MATRICES = {
    "usual": random_rows((40, 61), 0.3),
    "empty": np.zeros((3, 5), np.float32),
    "full": random_rows((2, 70), 1.0),
    "one_row": random_rows((1, 33), 0.5),
    "an_empty_row": np.concatenate([np.zeros((1, 20), np.float32), random_rows((4, 20), 0.9)]),
    "one_column": random_rows((6, 1), 0.5),
}
EACH_MATRIX = pytest.mark.parametrize("dense", MATRICES.values(), ids=MATRICES)


@EACH_MATRIX
def test_sparse_rows_hold_the_matrix(dense):
    rows = SparseRows.of(dense)
    assert len(rows) == len(dense)
    assert (rows.to_dense().numpy() == dense).all()
    assert (as_dense(rows) == as_dense(torch.from_numpy(dense))).all()
    assert (rows.transposed.to_dense().numpy() == dense.T).all()
    order = np.random.default_rng(1).permutation(len(dense))[: len(dense) // 2 + 1]
    assert (rows.take(order).to_dense().numpy() == dense[order]).all()
    first, stop = dense.shape[1] // 3, dense.shape[1]
    for start, end in ((first, stop), (0, first + 1), (first, first)):
        columns = rows.between(start, end)
        assert (columns.to_dense().numpy() == dense[:, start:end]).all()
        assert (columns.transposed.to_dense().numpy() == dense[:, start:end].T).all()
    inner = rows.between(first, stop).between(0, stop - first)
    assert (inner.to_dense().numpy() == dense[:, first:stop]).all()


def test_a_buffer_grows_and_is_used_again():
    buffer = SparseRowsBuffer(12, 9)
    for seed in range(3):
        buffer.clear()
        parts = [random_rows((4, 9), 0.2 + 0.3 * seed, 10 * seed + k) for k in range(3)]
        for part in parts:
            assert (buffer.append(part).to_dense().numpy() == part).all()
        assert (buffer.rows.to_dense().numpy() == np.concatenate(parts)).all()


@pytest.mark.parametrize("outputs", [1, 3, 64])
@EACH_MATRIX
def test_input_layer_is_a_linear_layer(dense, outputs):
    """Outputs and gradients, also of a part of the columns."""
    torch.manual_seed(0)
    first = dense.shape[1] // 4
    layer = InputLayer(dense.shape[1] - first, outputs)
    reference = nn.Linear(dense.shape[1] - first, outputs).double()
    reference.load_state_dict(layer.state_dict())
    inputs = torch.from_numpy(dense[:, first:])
    expected = reference(inputs.double())
    slopes = torch.randn(len(dense), outputs)
    expected.backward(slopes.double())
    for x in (SparseRows.of(dense).between(first, dense.shape[1]), inputs):
        layer.zero_grad()
        found = layer(x)
        assert torch.allclose(found.double(), expected, atol=1e-5)
        found.backward(slopes)
        for name, parameter in layer.named_parameters():
            gradient = reference.get_parameter(name).grad
            assert torch.allclose(parameter.grad.double(), gradient, atol=1e-5), name


@pytest.mark.parametrize("size", [1, 2, 50])
def test_linear_layer_by_onednn_is_torchs(size):
    torch.manual_seed(0)
    layer = Linear(31, 17)
    reference = nn.Linear(31, 17)
    reference.load_state_dict(layer.state_dict())
    results = []
    for x in (layer, reference):
        inputs = torch.linspace(-1, 1, size * 31).reshape(size, 31).requires_grad_()
        outputs = x(inputs)
        (outputs**2).sum().backward()
        results.append((outputs, inputs.grad, x.weight.grad, x.bias.grad))
    for own, expected in zip(*results, strict=True):
        assert torch.allclose(own, expected, atol=1e-4)


def random_masks(size, actions, share, seed=0):
    """Masks of which each has a legal action; the first has no other."""
    rng = np.random.default_rng(seed)
    masks = (rng.random((size, actions)) < share).astype(np.int8)
    masks[np.arange(size), rng.integers(actions, size=size)] = 1
    masks[0] = 0
    masks[0, actions - 1] = 1
    return masks


@pytest.mark.parametrize("game", [SMALL, SCRIPTED], ids=lambda game: game.id)
@pytest.mark.parametrize("size", [1, 30])
def test_legal_actions_alone_give_what_all_actions_give(game, size):
    """Log probabilities, entropies, divergences and gradients with respect to feature logits."""
    torch.manual_seed(0)
    masks = random_masks(size, game.num_actions, 0.3)
    chosen = torch.from_numpy(masks.argmax(axis=1))
    features = torch.from_numpy(game.action_features).float()
    slopes = torch.randn(3, size)
    reference = torch.randn(size, features.shape[1])
    results = []
    for is_sparse in (True, False):
        logits = torch.linspace(-3, 3, size * features.shape[1]).reshape(size, -1).sin() * 3
        logits.requires_grad_()
        if is_sparse:
            rows = SparseRows.of(game.action_features), SparseRows.of(masks)
            log_prob, entropy = evaluate_actions(logits, *rows, chosen)
            divergence = divergences(logits, reference, *rows)
        else:
            own, other = (MaskedCategorical(game.num_actions) for _ in range(2))
            own.proba_distribution(logits @ features.T).apply_masking(masks)
            other.proba_distribution(reference @ features.T).apply_masking(masks)
            log_prob, entropy = own.log_prob(chosen), own.entropy()
            divergence = (own.probs * (own.log_probs - other.log_probs)).sum(dim=1)
        slopes_and_terms = zip(slopes, (log_prob, entropy, divergence), strict=True)
        sum((slope * term).sum() for slope, term in slopes_and_terms).backward()
        assert divergence[0] == 0  # one legal action
        results.append((log_prob, entropy, divergence, logits.grad))
    for own, expected in zip(*results, strict=True):
        assert torch.allclose(own, expected, atol=1e-5)


def test_legal_actions_are_drawn_as_often_as_they_are_said_to_be():
    torch.manual_seed(1)
    size = 40_000
    logits = torch.tensor([0.0, 1.0, -30.0, 2.0, 0.5]).repeat(size, 1)
    mask = np.tile(np.array([1, 1, 1, 0, 1], np.int8), (size, 1))
    features, legal = SparseRows.of(np.eye(5, dtype=np.float32)), SparseRows.of(mask)
    actions, log_prob = draw_actions(logits, features, legal)
    shares = torch.bincount(actions, minlength=5) / size
    assert shares[2:4].tolist() == [0.0, 0.0]
    expected = np.exp([0.0, 1.0, 0.5]) / np.exp([0.0, 1.0, 0.5]).sum()
    assert shares[[0, 1, 4]].numpy() == pytest.approx(expected, abs=0.01)
    again, _ = evaluate_actions(logits, features, legal, actions)
    assert torch.allclose(log_prob, again)


def test_the_buffers_minibatches_are_sb3s():
    """The same transitions with the same advantages and returns; only their order differs."""
    model = make_learner(run := tiny_run(SCRIPTED, HERE), make_env(run))
    own = model.rollout_buffer
    assert isinstance(own, SparseRolloutBuffer)
    arguments = (own.buffer_size, own.observation_space, own.action_space, "cpu", 0.8, 0.95)
    own.gae_lambda, own.gamma = 0.8, 0.95
    reference = MaskableRolloutBuffer(*arguments, n_envs=own.n_envs)
    rng = np.random.default_rng(0)
    for rollout in range(2):
        own.reset()
        reference.reset()
        for _ in range(own.buffer_size):
            step = (
                random_rows((own.n_envs, *own.obs_shape), 0.2, int(rng.integers(1000))),
                rng.integers(SCRIPTED.num_actions, size=(own.n_envs, 1)),
                rng.normal(size=own.n_envs),
                rng.random(own.n_envs) < 0.2,
                torch.from_numpy(rng.normal(size=(own.n_envs, 1))),
                torch.from_numpy(rng.normal(size=own.n_envs)),
            )
            masks = random_masks(own.n_envs, SCRIPTED.num_actions, 0.2, rollout)
            for buffer in (own, reference):
                buffer.add(*step, action_masks=masks)
        last = torch.from_numpy(rng.normal(size=(own.n_envs, 1)).astype(np.float32))
        dones = rng.random(own.n_envs) < 0.5
        for buffer in (own, reference):
            buffer.compute_returns_and_advantage(last, dones)
        np.testing.assert_array_equal(own.advantages, reference.advantages)
        batches = [list(buffer.get(24)) for buffer in (own, reference)]
        assert [len(batch.actions) for batch in batches[0]] == [24, 24, 16]
        for name in batches[0][0]._fields:
            columns = []
            for minibatches in batches:
                keys = torch.cat([batch.old_log_prob for batch in minibatches]).argsort()
                parts = [as_dense(getattr(batch, name)) for batch in minibatches]
                columns.append(torch.cat(parts)[keys].reshape(len(keys), -1))
            assert torch.equal(*(column.double() for column in columns)), name


class NoCallback(BaseCallback):
    def _on_step(self):
        return True


@pytest.mark.parametrize(
    "changes",
    [
        ["network={hidden: [16, 8]}"],
        ["network={hidden: [16], logits: actions}"],
        ["ppo.kl_coef=0.5", "ppo.n_epochs=3"],
    ],
    ids=str,
)
def test_an_update_is_that_of_dense_rows(changes, monkeypatch):
    """The same rollout in both buffers, as one minibatch: the same weights, but for rounding."""
    overrides = (*changes, "ppo.batch_size=64", "ppo.max_grad_norm=1e+6")
    models = []
    for is_sparse in (True, False):
        with monkeypatch.context() as patch:
            if not is_sparse:
                patch.setattr("training.learner.rollout_buffer_class", lambda config: None)
            run = tiny_run(SCRIPTED, HERE, *overrides)
            models.append(make_learner(run, make_env(run)))
    sparse, dense = models
    assert type(dense.rollout_buffer) is MaskableRolloutBuffer
    _, callback = sparse._setup_learn(64, NoCallback())
    dense._setup_learn(64, NoCallback())
    assert sparse.collect_rollouts(sparse.env, callback, sparse.rollout_buffer, sparse.n_steps)
    kept, other = sparse.rollout_buffer, dense.rollout_buffer
    other.observations = kept._inputs.rows.to_dense().numpy().reshape(other.observations.shape)
    other.action_masks = kept._legal.rows.to_dense().numpy().reshape(other.action_masks.shape)
    other.actions = kept.actions[..., None]
    for name in ("rewards", "returns", "values", "log_probs", "advantages"):
        setattr(other, name, getattr(kept, name).copy())
    other.full = True
    before = [parameter.detach().clone() for parameter in sparse.policy.parameters()]
    for model in models:
        model.train()
    pairs = zip(before, sparse.policy.parameters(), dense.policy.parameters(), strict=True)
    for old, own, expected in pairs:
        assert not torch.equal(old, own)
        assert torch.allclose(own, expected, atol=1e-6)


def test_a_kl_term_keeps_the_policy_near_to_its_anchor():
    """With a great weight of it an update changes the probabilities far less."""
    changes = []
    for kl_coef in (0, 100):
        run = tiny_run(SCRIPTED, HERE, f"ppo.kl_coef={kl_coef}", "ppo.n_epochs=20")
        model = make_learner(run, make_env(run))
        _, callback = model._setup_learn(64, NoCallback())
        buffer = model.rollout_buffer
        assert model.collect_rollouts(model.env, callback, buffer, model.n_steps)
        model.train()
        sample = next(buffer.get())
        _, log_prob, _ = model.policy.evaluate_actions(
            sample.observations, sample.actions, sample.action_masks
        )
        changes.append((log_prob - sample.old_log_prob).abs().mean().item())
    without, with_term = changes
    assert 0 < with_term < without / 3


def test_what_a_rollout_keeps_of_the_policy_is_what_the_policy_says():
    """The values and log probabilities of a rollout are those of its first minibatch's networks."""
    run = tiny_run(SCRIPTED, HERE)
    model = make_learner(run, make_env(run))
    _, callback = model._setup_learn(64, NoCallback())
    model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
    (batch,) = model.rollout_buffer.get()
    sparse = batch.observations, batch.action_masks
    for inputs, masks in (sparse, map(as_dense, sparse)):
        values, log_prob, _ = model.policy.evaluate_actions(inputs, batch.actions, masks)
        assert torch.allclose(values.flatten(), batch.old_values, atol=1e-5)
        assert torch.allclose(log_prob, batch.old_log_prob, atol=1e-5)
    advantages = model.rollout_buffer.advantages.copy()
    following = model.policy.predict_values(torch.from_numpy(model._last_obs)).detach()
    model.rollout_buffer.compute_returns_and_advantage(following, model._last_episode_starts)
    np.testing.assert_allclose(model.rollout_buffer.advantages, advantages, atol=1e-5)


@pytest.mark.parametrize("reward", ["score", "rank"])
def test_the_value_of_a_truncated_game_is_bootstrapped(reward, monkeypatch):
    run = tiny_run(SCRIPTED, HERE, f"environment.options={{reward: {reward}, max_steps: 40}}")
    model = make_learner(run, make_env(run))
    _, callback = model._setup_learn(64, NoCallback())
    monkeypatch.setattr(model, "values", lambda last: torch.full((len(last), 1), 50.0))
    found = False
    for _ in range(10):
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
        found |= bool((model.rollout_buffer.rewards > 40).any())
    assert found == (reward == "score")


@pytest.mark.parametrize(
    ("override", "is_sparse"), [("network.hidden=[4]", True), ("network.hidden=[]", False)]
)
def test_a_network_without_hidden_layers_has_dense_rows(override, is_sparse):
    run = tiny_run(SMALL, HERE, override)
    model = make_learner(run, make_env(run))
    assert isinstance(model.rollout_buffer, SparseRolloutBuffer) == is_sparse
    model.learn(64)
    assert model.num_timesteps == 64
