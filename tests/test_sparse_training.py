"""The learner's sparse rows: the same numbers as dense rows and torch's own distribution give."""

import numpy as np
import pytest
import torch
from helpers import SCRIPTED, SMALL
from torch import nn
from torch.distributions import Categorical, kl_divergence

from training.networks import layers
from training.networks.layers import InputLayer, Linear, OutputLayer
from training.networks.legal_actions import draw_actions, evaluate_actions
from training.networks.sparse import SparseRows, SparseRowsBuffer, as_dense


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
    assert (rows.to_dense(torch.bfloat16) == torch.from_numpy(dense).bfloat16()).all()
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


def test_bfloat16_rows_are_rounded_as_torch_rounds():
    halfway = (np.arange(1, 64, dtype=np.uint32) << 23 | 0x8000).view(np.float32)  # to even: down
    around = [np.nextafter(halfway, 0), halfway, np.nextafter(halfway, np.inf), 3 * halfway]
    dense = np.concatenate([*around, [np.finfo(np.float32).max]]).astype(np.float32)
    dense = np.stack([dense, -dense])
    expected = torch.from_numpy(dense).bfloat16()
    assert (SparseRows.of(dense).to_dense(torch.bfloat16) == expected).all()


def test_a_buffer_grows_and_is_used_again():
    buffer = SparseRowsBuffer(12, 9)
    for seed in range(3):
        buffer.clear()
        parts = [random_rows((4, 9), 0.2 + 0.3 * seed, 10 * seed + k) for k in range(3)]
        for part in parts:
            assert (buffer.append(part).to_dense().numpy() == part).all()
        whole = np.concatenate(parts)
        assert (buffer.rows.to_dense().numpy() == whole).all()
        other = SparseRowsBuffer(12, 9)
        other.restore(buffer.arrays())
        assert (other.rows.to_dense().numpy() == whole).all()


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


@pytest.mark.parametrize("has_faster_onednn", [True, False])
@pytest.mark.parametrize("outputs", [1, 17])
@pytest.mark.parametrize("size", [1, 2, 50])
def test_linear_layer_is_torchs(size, outputs, has_faster_onednn, monkeypatch):
    monkeypatch.setattr(layers, "_has_faster_onednn", lambda: has_faster_onednn)
    torch.manual_seed(0)
    layer = Linear(31, outputs)
    reference = nn.Linear(31, outputs)
    reference.load_state_dict(layer.state_dict())
    results = []
    for x in (layer, reference):
        inputs = torch.linspace(-1, 1, size * 31).reshape(size, 31).requires_grad_()
        outcome = x(inputs)
        (outcome**2).sum().backward()
        results.append((outcome, inputs.grad, x.weight.grad, x.bias.grad))
    for own, expected in zip(*results, strict=True):
        assert torch.allclose(own, expected, atol=1e-4)


@pytest.mark.parametrize("outputs", [1, 17])
def test_what_the_last_layer_gives_is_not_rounded(outputs):
    """Of bfloat16 activations: its factors may be, which is all that changes."""
    torch.manual_seed(0)
    layer, reference = OutputLayer(31, outputs), nn.Linear(31, outputs)
    reference.load_state_dict(layer.state_dict())
    slopes = torch.randn(50, outputs)
    inputs = torch.randn(50, 31).bfloat16().requires_grad_()
    exact = inputs.detach().float().requires_grad_()
    found, expected = layer(inputs), reference(exact)
    found.backward(slopes)
    expected.backward(slopes)
    assert found.dtype == torch.float32
    assert inputs.grad.dtype == torch.bfloat16
    assert (found != found.bfloat16()).any()
    # Factors are rounded by at most one part in 256.
    most = exact.detach().abs() @ layer.weight.abs().t() / 128
    assert ((found - expected).abs() <= most).all()
    for name, parameter in layer.named_parameters():
        of_factors = slopes.abs().t() @ exact.detach().abs() / 128
        error = (parameter.grad - reference.get_parameter(name).grad).abs()
        assert (error <= (of_factors if name == "weight" else 1e-5)).all(), name
    error = (inputs.grad.float() - exact.grad).abs()
    assert (error <= slopes.abs() @ layer.weight.abs() / 64).all()
    assert torch.get_float32_matmul_precision() == "highest"


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
    legal = torch.from_numpy(masks)
    slopes = torch.randn(3, size)
    reference = torch.randn(size, features.shape[1])
    results = []
    for is_sparse in (True, False):
        logits = torch.linspace(-3, 3, size * features.shape[1]).reshape(size, -1).sin() * 3
        logits.requires_grad_()
        rows = SparseRows.of(game.action_features), SparseRows.of(masks)
        if not is_sparse:
            rows = tuple(map(as_dense, rows))
        log_prob, entropy, divergence = evaluate_actions(logits, *rows, chosen, reference)
        expected = Categorical(logits=(logits @ features.T).masked_fill(legal == 0, -1e9))
        other = Categorical(logits=(reference @ features.T).masked_fill(legal == 0, -1e9))
        assert torch.allclose(log_prob, expected.log_prob(chosen), atol=1e-5)
        assert torch.allclose(entropy, expected.entropy(), atol=1e-5)
        assert torch.allclose(divergence, kl_divergence(expected, other), atol=1e-5)
        slopes_and_terms = zip(slopes, (log_prob, entropy, divergence), strict=True)
        sum((slope * term).sum() for slope, term in slopes_and_terms).backward()
        assert divergence[0] == 0  # one legal action
        results.append((log_prob, entropy, divergence, logits.grad))
    for own, expected in zip(*results, strict=True):
        assert torch.allclose(own, expected, atol=1e-5)


@pytest.mark.parametrize("is_sparse", [True, False])
def test_legal_actions_are_drawn_as_often_as_they_are_said_to_be(is_sparse):
    size = 40_000
    logits = torch.tensor([0.0, 1.0, -30.0, 2.0, 0.5]).repeat(size, 1)
    mask = np.tile(np.array([1, 1, 1, 0, 1], np.int8), (size, 1))
    rows = SparseRows.of(np.eye(5, dtype=np.float32)), SparseRows.of(mask)
    features, legal = rows if is_sparse else map(as_dense, rows)
    numbers = torch.rand(size, generator=torch.Generator().manual_seed(1))
    actions, log_prob = draw_actions(logits, features, legal, numbers)
    shares = torch.bincount(actions, minlength=5) / size
    assert shares[2:4].tolist() == [0.0, 0.0]
    expected = np.exp([0.0, 1.0, 0.5]) / np.exp([0.0, 1.0, 0.5]).sum()
    assert shares[[0, 1, 4]].numpy() == pytest.approx(expected, abs=0.01)
    again, _, divergence = evaluate_actions(logits, features, legal, actions)
    assert torch.allclose(log_prob, again)
    assert not divergence.any()  # without an anchor
    almost = torch.full((size,), 1.0 - 2.0**-24)  # never beyond the last legal action
    assert (draw_actions(logits, features, legal, almost)[0] == 4).all()
