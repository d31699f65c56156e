"""Expert iteration: labels, the fit, and a run that resumes."""

import contextlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from helpers import EACH_GAME, SCRIPTED, SMALL, mid_game, network_of
from random_policies import policy_file, random_network

from card_envs.agents import NetworkAgent, SearchAgent, make_agent
from card_envs.agents.network import write_policy
from card_envs.contract.agent import turn_of
from card_envs.contract.game import Game
from card_envs.contract.options import View
from training import improve, ship
from training.games.host import HostGames
from training.improve import ImprovementRun, shards_of
from training.improvement.config import FitSection, ImprovementConfig
from training.improvement.fitting import _advantages, fit_policy, log_probs_of
from training.improvement.labels import (
    _AT_ONCE,
    Labels,
    join_labels,
    label_positions,
    read_labels,
    write_labels,
)
from training.networks.actor import Actor
from training.runs.keys import check, with_overrides
from training.runs.run import Run

pytestmark = pytest.mark.slow


def tiny_config(game: Game, folder: Path, *overrides: str) -> ImprovementConfig:
    """A run that takes a moment, from a policy of random weights."""
    data = {
        "game": game.id,
        "agent": policy_file(game, folder / "first.safetensors"),
        "iterations": 2,
        "environment": {"num_envs": 16},
        "opponents": {"agents": {"random": 1.0}, "pool": 1.0},
        "labels": {
            "count": 120,
            "shard": 40,
            "worlds": 2,
            "candidates": 3,
            "min_probability": 0.0,
        },
        "fit": {"epochs": 2, "batch_size": 16},
        "evaluation": {"deals": 2, "players": [game.min_players], "against": ["random"]},
    }
    return check(ImprovementConfig, with_overrides(data, overrides), "here")


def tiny_run(game: Game, folder: Path, *overrides: str) -> ImprovementRun:
    """Such a run; nothing of it is written yet."""
    return ImprovementRun(tiny_config(game, folder, *overrides), folder / "run")


def some_labels(game: Game, tmp_path: Path, count: int = 200) -> tuple[NetworkAgent, Labels]:
    """Labels of a policy of random weights, and the policy."""
    run = tiny_run(game, tmp_path, f"labels.count={2 * count}", f"labels.shard={count}")
    policy = run.agents[run.config.agent]
    return policy, label_positions(0, run, policy, 1)


# ---------------------------------------------------------------------------------------------
# Configurations
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("labels.worlds=0", "labels.worlds: "),
        ("labels.worlds=1000000", "labels.worlds: "),
        ("labels.candidates=1000000", "labels.worlds times labels.candidates must be at most"),
        ("labels.max_decisions=10000000000000000000000", "labels.max_decisions: "),
        (
            "labels.shard=120",
            "labels.count: 120 must be a multiple of labels.shard, 120, and at least",
        ),
        ("labels.shard=50", "labels.count: 120 must be a multiple of labels.shard, 50"),
        ("labels.rollouts=5", "unknown key 'labels.rollouts'; allowed here are count, shard"),
        ("ppo.gamma=1", "unknown key 'ppo'; allowed here are game, seed, name"),
        ("name=heuristic", "name must not be one of"),
        ("environment.num_players=77", "num_players"),
        ("environment.options={reward: score}", "reward must be rank: the labels are made from it"),
        ("opponents={pool: 0, agents: {random: 0}}", "pool or one of agents must be above 0"),
    ],
)
def test_wrong_keys_and_values(override, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        tiny_config(SMALL, tmp_path, override)


def test_the_policy_may_be_the_only_opponent(tmp_path):
    config = tiny_config(SMALL, tmp_path, "opponents={pool: 1, agents: {random: 0}}")
    assert config.opponents.pool == 1.0


def test_a_policy_without_hidden_layers_is_refused(tmp_path):
    path = tmp_path / "flat.safetensors"
    write_policy(path, random_network(SMALL, hidden=()), SMALL)
    with pytest.raises(ValueError, match="has no hidden layer, it needs at least one"):
        tiny_run(SMALL, tmp_path, f"agent={path}")


def test_it_begins_with_a_policy_of_its_own_view(tmp_path):
    with pytest.raises(ValueError, match="agent: 'random' is not a policy"):
        tiny_run(SMALL, tmp_path, "agent=random")
    with pytest.raises(ValueError, match=r"agent: .* observes with .*, environment\.options say"):
        tiny_run(SMALL, tmp_path, "environment.options={memory: none}")


# ---------------------------------------------------------------------------------------------
# Labels
# ---------------------------------------------------------------------------------------------


def test_a_run_that_no_device_can_make_leaves_no_folder(tmp_path, monkeypatch):
    gpu = SimpleNamespace(check_gpu=Mock(side_effect=ValueError("no GPU")))
    monkeypatch.setitem(sys.modules, "card_envs.engine.cuda_jit", gpu)
    run = tiny_run(SMALL, tmp_path, "labels.device=cuda")
    for backend, message in (("loky", "no GPU"), ("ray", "cuda is for --backend loky, got 'ray'")):
        with pytest.raises(ValueError, match=message):
            improve.improve(run, backend=backend, quiet=True)
        assert not run.folder.exists()


@pytest.mark.parametrize("game", EACH_GAME)
def test_labels_are_what_rollouts_of_the_likeliest_actions_gave(game, tmp_path):
    policy, labels = some_labels(game, tmp_path, 40)
    assert len(labels) == 40
    assert labels.observation.dtype == np.uint8
    assert labels.action_mask.shape == (40, game.num_actions)
    tried = labels.actions >= 0
    assert (tried.sum(axis=1) == np.minimum(labels.action_mask.sum(axis=1), 3)).all()
    assert (labels.values[~tried] == 0).all()
    assert np.isfinite(labels.values).all()
    assert (labels.values[:, 1:] != labels.values[:, :1])[tried[:, 1:]].any()
    logits = policy.network.logits(labels.observation / game.fields.scale)
    for k in range(40):
        legal = np.flatnonzero(labels.action_mask[k])
        assert len(legal) > 1  # a forced move teaches nothing
        likeliest = legal[np.argsort(-logits[k][legal], kind="stable")][:3]
        assert sorted(likeliest) == labels.actions[k][tried[k]].tolist()


def test_labels_do_not_depend_on_how_many_are_made_at_a_time(tmp_path, monkeypatch):
    _, alone = some_labels(SMALL, tmp_path, 40)
    monkeypatch.setitem(_AT_ONCE, "cpu", 30)
    _, together = some_labels(SMALL, tmp_path, 40)
    for name, array in vars(alone).items():
        assert np.array_equal(array, vars(together)[name]), name


@pytest.mark.parametrize("game", EACH_GAME)
def test_unlikely_actions_are_not_tried(game, tmp_path):
    run = tiny_run(game, tmp_path, "labels.candidates=30", "labels.min_probability=0.05")
    first = run.agents[run.config.agent].network.at_temperature(0.1)
    labels = label_positions(0, run, run.learner(first), 1)
    assert len(labels) == 40
    logits = first.logits(labels.observation / game.fields.scale).astype(np.float64)
    logits[labels.action_mask == 0] = -np.inf
    probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    is_likely = probabilities >= 0.05
    assert (is_likely.sum(axis=1) > 1).all()
    if game.num_actions > 2:
        assert (is_likely.sum(axis=1) < labels.action_mask.sum(axis=1)).any()
    for likely, actions in zip(is_likely, labels.actions, strict=True):
        assert np.flatnonzero(likely).tolist() == actions[actions >= 0].tolist()


def test_a_policy_that_is_always_sure_cannot_be_labeled(tmp_path):
    run = tiny_run(SMALL, tmp_path, "labels.min_probability=0.4")
    sure = run.agents[run.config.agent].network.at_temperature(1e-6)
    with pytest.raises(
        ValueError, match=r"labels\.min_probability: there was no position in which"
    ):
        label_positions(0, run, run.learner(sure), 1)


@pytest.mark.parametrize("drawn", [0, 1])
def test_the_learners_actions_are_drawn_or_its_likeliest(drawn, tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path, f"labels.drawn={drawn}")
    policy = run.agents[run.config.agent]
    step, likeliest = HostGames.step, []

    def noted(games, actions):
        best = policy.network.act(games.arena.observation, games.arena.action_mask)
        likeliest.append((actions == best).mean())
        return step(games, actions)

    monkeypatch.setattr(HostGames, "step", noted)
    label_positions(0, run, policy, 1)
    share = np.mean(likeliest)
    assert share < 0.9 if drawn else share == 1


def test_four_worlds_are_weighed_for_each_that_is_played(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path, "labels.worlds=3", "labels.candidates=2")
    made = []

    def searcher(game, **keys):
        made.append((keys["worlds"], keys["rollouts"]))
        return SearchAgent(game, **keys)

    monkeypatch.setattr("training.improvement.labels.SearchAgent", searcher)
    label_positions(0, run, run.agents[run.config.agent], 1)
    assert made == [(4 * 3, 3 * 2)]


def test_decisions_with_rare_actions_are_labeled_more_often(tmp_path):
    found = {}
    for times in (1, 8):
        folder = tmp_path / str(times)
        folder.mkdir()
        run = tiny_run(
            SCRIPTED, folder, f"labels.rare={times}", "labels.count=1200", "labels.shard=600"
        )
        labels = label_positions(0, run, run.agents[run.config.agent], 1)
        found[times] = labels.action_mask != 0
    usual = found[1].mean(axis=0)
    once, often = (mask[:, usual < 0.03].any(axis=1).mean() for mask in found.values())
    assert 0 < 2 * once < often


def test_labels_follow_from_the_run_and_the_shard(tmp_path):
    run = tiny_run(SMALL, tmp_path)
    policy = run.agents[run.config.agent]
    again = tiny_run(SMALL, tmp_path)
    labels = label_positions(0, run, policy, 1)
    for other, is_same in ((again, True), (tiny_run(SMALL, tmp_path, "seed=5"), False)):
        found = label_positions(0, other, policy, 1)
        assert (found.values.tobytes() == labels.values.tobytes()) == is_same
    for place in ((1, 1), (2, 0)):
        assert (
            label_positions(place[1], run, policy, place[0]).values.tobytes()
            != labels.values.tobytes()
        )


def test_shards_are_files_without_code(tmp_path):
    _, labels = some_labels(SMALL, tmp_path, 20)
    path = tmp_path / "shard.npz"
    write_labels(path, labels)
    assert [path.name] == [p.name for p in tmp_path.glob("shard*")]
    found = join_labels([read_labels(path), labels])
    assert len(found) == 40
    for name in ("observation", "action_mask", "actions", "values"):
        array = getattr(found, name)
        assert array[:20].tobytes() == array[20:].tobytes() == getattr(labels, name).tobytes()
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"x" * 100):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"shard\.npz is damaged, delete it"):
            read_labels(path)
    errors = set()
    for at in range(0, len(whole), len(whole) // 100):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(ValueError):  # some bytes, such as those of times, are not read
            read_labels(path)
            continue
        errors.add(at)
    assert len(errors) > 50
    objects = np.empty(1, object)
    np.savez(path, **{**labels.__dict__, "values": objects}, allow_pickle=True)
    with pytest.raises(ValueError, match="is damaged"):
        read_labels(path)


@pytest.mark.parametrize("game", EACH_GAME)
def test_an_unfinished_rollout_costs_what_was_said(game):
    """All rollouts are cut after one decision: the values differ by the cost alone."""
    policy = NetworkAgent(network_of(game), "policy")

    def values(cost, max_decisions, rollouts=policy, is_last=False):
        games = mid_game(game, game.default_players, decisions=0).states
        if is_last:
            games["max_steps"] = games["steps"] + 1
        turn = turn_of(game, games, np.zeros(1, np.int64), View())
        agent = SearchAgent(
            game,
            rollouts=8,
            policy=rollouts,
            proposer=policy,
            candidates=2,
            halving=False,
            max_decisions=max_decisions,
            unfinished=cost,
        )
        _, found, visits, *_ = agent.search(turn)
        assert visits[visits > 0].tolist() == [4, 4]
        return found[visits > 0]

    assert values(-0.5, 1) == pytest.approx(values(0.0, 1) - 0.5)
    # Random play ends all games.
    assert values(-0.5, 10_000, "random") == pytest.approx(values(0.0, 10_000, "random"))
    # The game's own limit cuts a rollout as well.
    assert values(-0.5, 400, is_last=True) == pytest.approx(values(0.0, 400, is_last=True) - 0.5)


# ---------------------------------------------------------------------------------------------
# The fit
# ---------------------------------------------------------------------------------------------


def test_advantages():
    """Against the policy's own mean; what was not tried counts as the worst that was."""
    labels = Labels(
        np.zeros((2, 1), np.uint8),
        np.ones((2, 4), np.int8),
        np.array([[0, 2, -1], [0, 1, 3]], np.int16),
        np.array([[0.5, 1.0, 0.0], [0.0, 0.0, 1.0]], np.float32),
    )
    shares = torch.tensor([[0.6, 0.1, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
    found = _advantages(labels, np.arange(2), shares.log())
    mean = (0.6 * 0.5 + 0.2 * 1.0) / 0.8
    worst = 0.5 - mean
    assert found[0].numpy() == pytest.approx([worst, worst, 1.0 - mean, worst])
    assert found[1].numpy() == pytest.approx([-1 / 3, -1 / 3, -1 / 3, 2 / 3])
    assert _advantages(labels, np.array([1]), shares.log()[1:]).equal(found[1:])


@pytest.mark.parametrize("game", EACH_GAME)
@pytest.mark.parametrize("sums", [True, False])
def test_the_torch_policy_is_the_network(game, sums, tmp_path):
    network = random_network(game) if sums else network_of(game, activation="relu")
    _, labels = some_labels(game, tmp_path, 20)
    actor = Actor.of(network, game)
    features = game.action_features
    by_features = sums or np.linalg.matrix_rank(features) == game.num_actions
    assert len(actor.linear[-1].weight) == (features.shape[1] if by_features else game.num_actions)
    batch = improvement_inputs(labels, game)
    with torch.no_grad():
        found = log_probs_of(actor, *batch).exp().numpy()
    expected = network.logits(labels.observation / game.fields.scale).astype(np.float64)
    expected[labels.action_mask == 0] = -np.inf
    expected = np.exp(expected - expected.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert found == pytest.approx(expected, abs=1e-4)


def improvement_inputs(labels, game):
    from training.networks.sparse import SparseRows

    rows = SparseRows.of(labels.observation / game.fields.scale)
    return rows, torch.from_numpy(labels.action_mask)


@pytest.fixture(scope="module")
def preferring(tmp_path_factory):
    """A policy, and labels of which the action with the greatest number is the best."""
    policy, labels = some_labels(SCRIPTED, tmp_path_factory.mktemp("labels"), 300)
    best = labels.actions == labels.actions.max(axis=1, keepdims=True)
    return policy, replace(labels, values=best.astype(np.float32))


def fitted(preferring, **keys):
    policy, labels = preferring
    rest = replace(labels, **{k: v[:100] for k, v in labels.__dict__.items()})
    fit = FitSection(learning_rate=5e-3, batch_size=64, **keys)
    return fit_policy(policy.network, SCRIPTED, labels, rest, fit, 0)


def test_the_policy_learns_what_is_better(preferring):
    policy, labels = preferring
    network, found = fitted(preferring)
    assert found["gain_held_out"] > 0.3
    assert found["gain_greedy"] > 0.3
    assert found["epoch"] > 1
    logits = [
        np.where(labels.action_mask, n.logits(labels.observation / SCRIPTED.fields.scale), -np.inf)
        for n in (policy.network, network)
    ]
    before, after = ((x.argmax(axis=1) == labels.actions.max(axis=1)).mean() for x in logits)
    assert after > before + 0.3


def test_a_policy_that_stays_the_same_gains_nothing(preferring):
    _, found = fitted(preferring, kl_coef=1000.0, epochs=1)
    assert abs(found["gain_held_out"]) < 0.02


def test_the_policy_stays_near_to_itself(preferring):
    _, free = fitted(preferring, kl_coef=0.0)
    _, held = fitted(preferring, kl_coef=0.5)
    _, bound = fitted(preferring, kl_coef=50.0)
    assert free["kl"] > 2 * held["kl"] > 2 * bound.get("kl", 0.0)


def test_what_does_not_hold_elsewhere_is_not_learned(preferring):
    """On what is held out the opposite is true: no epoch is kept."""
    policy, labels = preferring
    opposite = replace(labels, values=-labels.values)
    fit = FitSection(learning_rate=5e-3, batch_size=64)
    network, found = fit_policy(policy.network, SCRIPTED, labels, opposite, fit, 0)
    assert network is policy.network
    assert found == {"epoch": 0, "gain_held_out": 0.0}


def test_noise_is_hardly_ever_learned(preferring):
    """By chance some epoch is above 0 on what is held out, but seldom by two standard errors."""
    policy, labels = preferring
    all_tried = np.zeros_like(labels.action_mask)
    rows, tried = np.nonzero(labels.actions >= 0)
    all_tried[rows, labels.actions[rows, tried]] = 1
    fit = FitSection(learning_rate=1e-3, batch_size=64)
    learned = 0
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(size=labels.values.shape)
        noisy = replace(labels, values=noise.astype(np.float32), action_mask=all_tried)
        given, rest = (
            replace(noisy, **{k: v[half::2] for k, v in noisy.__dict__.items()}) for half in (0, 1)
        )
        network, _ = fit_policy(policy.network, SCRIPTED, given, rest, fit, 0)
        learned += network is not policy.network
    assert learned <= 2


def test_the_learning_rate_of_the_fit_decays_to_0(preferring, monkeypatch):
    rates = []

    class Noted(torch.optim.Adam):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "Adam", Noted)
    fitted(preferring, epochs=2)  # of five minibatches
    assert rates == pytest.approx([5e-3 * (1 - k / 10) for k in range(10)])


# ---------------------------------------------------------------------------------------------
# A run
# ---------------------------------------------------------------------------------------------


def test_a_run_leaves_an_agent(tmp_path):
    run = tiny_run(SCRIPTED, tmp_path)
    path = improve.improve(run, command_line="python -m training.improve X", quiet=True)
    agent = make_agent(str(path), SCRIPTED)
    assert agent.view == View()
    card = json.loads(run.card_path.read_text())
    assert card["commands"] == ["python -m training.improve X"]
    assert card["labels"] == 120 * card["iterations"]
    assert [entry["iteration"] for entry in run.progress] == list(range(1, card["iterations"] + 1))
    assert all("vs_random" in entry for entry in run.progress)
    kept = {path.name.split("_")[0] for path in shards_of(run, 1)[0].parent.iterdir()}
    assert kept == {str(entry["iteration"]) for entry in run.progress[-run.config.fit.window :]}
    with pytest.raises(ValueError, match="is not empty; choose another folder, or --resume"):
        improve.improve(run, quiet=True)
    found = ship.open_run(run.folder)
    assert (found.config, found.identities) == (run.config, run.identities)


def test_a_run_begins_with_the_policy_at_a_temperature(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path, "temperature=2.0")
    seen = []

    def labeled(shard, run, policy, iteration):
        seen.append((iteration, policy.network.layers[-1]))
        return label_positions(shard, run, policy, iteration)

    monkeypatch.setattr(improve, "label_positions", labeled)
    improve.improve(run, quiet=True)
    weight, bias = run.agents[run.config.agent].network.layers[-1]
    for iteration, (found_weight, found_bias) in seen:
        is_first = np.array_equal(found_weight, weight / 2) and np.array_equal(found_bias, bias / 2)
        assert is_first == (iteration == 1)


def test_a_policy_is_fitted_to_the_labels_of_the_last_iterations(tmp_path, monkeypatch):
    """The first shard of the latest is held out."""
    run = tiny_run(SMALL, tmp_path, "iterations=3", "fit.window=2")
    seen = []

    def labeled(shard, run, policy, iteration):
        """One label, whose values tell where it is from."""
        return Labels(*(np.full((1, 1), 10 * iteration + shard) for _ in range(4)))

    def fit(network, game, labels, held_out, *rest):
        seen.append((held_out.values.ravel().tolist(), labels.values.ravel().tolist()))
        return network, {"epoch": 1, "gain_held_out": 0.1}

    monkeypatch.setattr(improve, "label_positions", labeled)
    monkeypatch.setattr(improve, "fit_policy", fit)
    improve.improve(run, quiet=True)
    assert seen == [
        ([10], [11, 12]),
        ([20], [21, 22, 10, 11, 12]),
        ([30], [31, 32, 20, 21, 22]),
    ]


def test_a_finished_run_can_be_given_more_iterations(tmp_path):
    folders = [tmp_path / name for name in ("whole", "more")]
    for folder in folders:
        folder.mkdir()
    whole, begun = (
        tiny_run(SMALL, folder, f"iterations={k}")
        for folder, k in zip(folders, (3, 1), strict=True)
    )
    expected = improve.improve(whole, quiet=True).read_bytes()
    first = improve.improve(begun, command_line="one", quiet=True).read_bytes()
    assert first != expected
    other = Run.reopen(begun.folder, ["fit.epochs=1"], ImprovementConfig)
    with pytest.raises(
        ValueError, match="of a resumed run iterations can be changed, and nothing else"
    ):
        improve.improve(other, resume=True, quiet=True)
    more = Run.reopen(begun.folder, ["iterations=3"], ImprovementConfig)
    assert (
        improve.improve(more, resume=True, command_line="two", quiet=True).read_bytes() == expected
    )
    assert more.commands == ["one", "two"]


def test_a_run_that_ended_early_says_so(tmp_path, monkeypatch, capsys):
    """Further iterations are not made where nothing is gained any more."""
    run = tiny_run(SMALL, tmp_path, "iterations=1")
    improve.improve(run, quiet=True)
    monkeypatch.setattr(improve, "_is_done", lambda entries, window: True)
    words = ["--resume", str(run.folder), "--set", "iterations=3", "--jobs", "1"]
    assert improve.main(words) == 0
    assert "ended after iteration 1 of 3: " in capsys.readouterr().out


def test_a_run_is_not_resumed_with_other_rules(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path, "iterations=1")
    improve.improve(run, quiet=True)
    more = Run.reopen(run.folder, ["iterations=2"], ImprovementConfig)
    monkeypatch.setattr(Game, "sources", "changed")
    with pytest.raises(ValueError, match=f"was started with other sources of {SMALL.id}"):
        improve.improve(more, resume=True, quiet=True)


@pytest.mark.parametrize("after", ["labels", "fit"])
def test_a_run_resumes_bit_for_bit(after, tmp_path, monkeypatch):
    whole, broken = (tmp_path / name for name in ("whole", "broken"))
    for folder in (whole, broken):
        folder.mkdir()
    expected = improve.improve(tiny_run(SMALL, whole), quiet=True).read_bytes()
    run = tiny_run(SMALL, broken)
    name = {"labels": "fit_policy", "fit": "evaluate_learner"}[after]

    def interrupted(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(improve, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            improve.improve(run, quiet=True)
    shard = shards_of(run, 1)[0]
    assert shard.exists()
    labels = shard.read_bytes()
    shard.write_bytes(labels[:50])
    with pytest.raises(ValueError, match="is damaged, delete it to make it again"):
        improve.improve(run, resume=True, quiet=True)
    shard.write_bytes(labels)
    shards_of(run, 1)[1].unlink()
    monkeypatch.setattr(improve, "label_positions", counted := Counted(improve.label_positions))
    resumed = improve.improve(run, resume=True, quiet=True)
    assert resumed.read_bytes() == expected
    assert counted.shards == [(1, 1), *((2, k) for k in range(3))]


class Counted:
    """A function that notes which shards it labeled."""

    def __init__(self, function):
        self.function = function
        self.shards = []

    def __call__(self, shard, run, policy, iteration):
        self.shards.append((iteration, shard))
        return self.function(shard, run, policy, iteration)


def test_jobs_change_nothing(tmp_path):
    found = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        run = tiny_run(SMALL, folder, "iterations=1")
        found.append(improve.improve(run, jobs=jobs, quiet=True).read_bytes())
    assert found[0] == found[1]


def test_code_may_sit_among_the_opponents_in_each_process(tmp_path):
    code = tmp_path / "code.py"  # as a whole: the processes may have another current folder
    code.write_text(
        "from card_envs.agents import Agent\n\n\n"
        "class First(Agent):\n"
        "    def __init__(self, game, seed=0): self.name = 'first'\n"
        "    def act(self, turn): return turn.action_mask.argmax(axis=1)\n"
    )
    change = f"opponents={{pool: 0, agents: {{'{code}:First': 1}}}}"
    found = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        run = tiny_run(SMALL, folder, change, "iterations=1")
        found.append(improve.improve(run, jobs=jobs, quiet=True).read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a configuration"),
        (["nowhere.yaml"], "cannot read the configuration nowhere.yaml"),
        (["--resume", "nowhere"], "cannot read the configuration nowhere"),
        (["x.yaml", "--resume", "nowhere"], "--resume DIR takes its configuration from DIR"),
    ],
)
def test_wrong_commands_give_one_line(words, message, capsys):
    assert improve.main(words) != 0
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_a_wrong_number_of_jobs_leaves_no_folder(tmp_path, monkeypatch):
    run = tiny_run(SCRIPTED, tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    for arguments, message in (
        ({"jobs": 0}, "jobs must be -1 or at least 1"),
        ({"backend": "ray"}, "needs Ray"),
    ):
        with pytest.raises(ValueError, match=message):
            improve.improve(run, quiet=True, **arguments)
        assert not run.folder.exists()
