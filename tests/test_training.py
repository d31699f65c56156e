"""Training: configurations, the self-play environment, resuming, export, evaluation, tournament."""

import json
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from helpers import TINY_LEARNER
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from stable_baselines3.common.callbacks import BaseCallback
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import training
from card_envs.agents import NetworkAgent, make_agent
from card_envs.agents.network import Network
from card_envs.envs.aec import CardEnv
from card_envs.games import GAMES, load_game
from training import evaluate, imitation, ship, tournament, train
from training.config import Config, Imitation, load_config
from training.distribution import MaskedCategorical
from training.export import export_policy, policy_layers, policy_network
from training.imitation import _Teacher, imitate
from training.learner import make_learner
from training.policy import PartsLayer
from training.selfplay import SelfPlayGames, SelfPlayVecEnv, make_env

ROOT = Path(__file__).parent.parent
TINY = [
    *TINY_LEARNER,
    "opponents.snapshot_every=1",
    "opponents.pool_size=2",
    "checkpoint_every=64",
    "evaluation.every=64",
    "evaluation.deals=2",
    "evaluation.players=[3]",
]


def tiny_config(*overrides: str) -> Config:
    return load_config(ROOT / "configs" / "quickstart.yaml", [*TINY, *overrides])


def test_what_training_needs_is_what_its_extra_installs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [re.split("[ >]", line)[0] for line in project["optional-dependencies"]["train"]]
    sources = packages_distributions()
    found = [
        name.lower().replace("_", "-")
        for module in training._NEEDED
        for name in set(sources[module])
    ]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_configuration_is_valid(path):
    assert load_config(path).game in GAMES


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("ppo.gama=0.9", "unknown key 'ppo.gama'; allowed here are n_steps, "),
        ("speed=1", "unknown key 'speed'; allowed here are game, seed, "),
        ("game=chess", "there is no game 'chess'; the games are beaver_gang"),
        ("environment.num_players=9", "2 to 6 players"),
        ("imitation.temperature=2", "imitation.temperature: 'heuristic' is not a policy"),
        ("network.without_fields=[hand]", "no observation field 'hand'; it has seats, phase, "),
        ("environment.table_weights=[1,2]", "one number of at least 0 for each of 2 to 6 players"),
        ("environment.table_weights=[0,0,0,0,0]", "one of them above 0"),
        ("environment.options={rounds: 0}", "rounds must be None or a whole number from 1"),
        ("environment.options={colour: red}", "no option 'colour'"),
        ("evaluation.players=[1]", "2 to 6 players"),
        ("evaluation.players=[]", "evaluation.players"),
        ("network.hidden=[-1]", "network.hidden.0"),
        ("network.hidden=[0]", "network.hidden.0"),
        ("ppo.batch_size=1", "ppo.batch_size"),
        ("ppo.batch_size=63", "batches of 63 leave a batch of one"),
        ("name=v2/ppo", "name"),
        ("name=agents", "name must not be one of random, heuristic, agents, got 'agents'"),
        ("name=random", "name must not be one of random, heuristic, agents, got 'random'"),
        ("opponents.agents.heuristic=-1", "opponents.agents.heuristic"),
        ("opponents={snapshots: 1, agents: {random: 0}}", "one of agents must be above 0"),
        ("decisions=many", "decisions"),
        ("no_equals_sign", "--set takes KEY=VALUE"),
        ("seed.x=1", "'seed' has no keys of its own"),
    ],
)
def test_wrong_configurations_name_the_mistake(override, message, capsys):
    with pytest.raises(ValueError, match=re.escape(message)):
        tiny_config(override)
    arguments = [str(ROOT / "configs" / "quickstart.yaml"), "--set", *TINY, override]
    assert train.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_unreadable_configurations(tmp_path):
    with pytest.raises(ValueError, match="cannot read the configuration"):
        load_config(tmp_path / "missing.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("game: [unclosed")
    with pytest.raises(ValueError, match="cannot read the configuration"):
        load_config(bad)
    bad.write_text("!!python/object/apply:os.system ['true']")
    with pytest.raises(ValueError, match="cannot read the configuration"):
        load_config(bad)
    bad.write_text("just a text")
    with pytest.raises(ValueError, match="keys and values"):
        load_config(bad)


def test_learner_gets_what_the_others_moves_bring_it():
    """Every game's rewards add up to what the AEC environment pays that seat."""
    config = tiny_config("environment.options={reward: score}", "environment.num_envs=4")
    games = SelfPlayGames(load_game(config.game), config)
    env = SelfPlayVecEnv(games)
    env.seed(3)
    env.reset()
    rng = np.random.default_rng(0)
    returns = np.zeros(4)
    checked = 0
    for _ in range(3000):
        masks = np.stack(env.env_method("action_masks"))
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        scores_before = games.arena.states["scores"].copy()
        seats, players = games.learner_seats.copy(), games.arena.states["num_players"].copy()
        _, rewards, dones, _ = env.step(actions)
        returns += rewards
        for i in np.flatnonzero(~dones):
            # Within a game the learner's returns so far are its totals relative to the table's.
            n, seat = players[i], seats[i]
            scores = games.arena.states["scores"][i, :n]
            assert returns[i] == pytest.approx((scores.mean() - scores[seat]) / 36, abs=1e-5)
            checked += int((scores != scores_before[i, :n]).any())
        returns[dones] = 0.0
    assert checked > 50


@pytest.mark.parametrize("reward", ["score", "rank", "win"])
def test_what_follows_a_cut_game_is_estimated_unless_its_end_was_paid(reward, monkeypatch):
    """By PPO and by imitation alike: a standing that was paid is no beginning of more."""
    config = tiny_config(
        f"environment.options={{reward: {reward}, max_steps: 40}}", "imitation.decisions=400"
    )
    env = make_env(config)
    env.seed(1)
    env.reset()
    cut = 0
    for _ in range(60):
        *_, dones, infos = env.step(env.games.arena.action_mask.argmax(axis=1))
        assert not any(infos[i] for i in np.flatnonzero(~dones))
        for info in (infos[i] for i in np.flatnonzero(dones)):
            cut += "TimeLimit.truncated" in info
            assert ("TimeLimit.truncated" in info) == ("terminal_observation" in info)
    assert (cut > 3) == (reward == "score")
    model = make_learner(config, env)
    monkeypatch.setattr(
        imitation, "_values", lambda model, observation: torch.full((len(observation),), 50.0)
    )
    imitate(model, env, config.imitation, quiet=True)
    assert (model.rollout_buffer.rewards > 40).any() == (reward == "score")


def test_runs_of_different_seeds_play_different_deals():
    dealt = []
    for seed in (0, 1, 2, 3):
        env = make_env(tiny_config())
        env.seed(seed)
        env.reset()
        dealt.append(set(env.games.game_seeds.tolist()))
    assert dealt[1] == set(range(1, 9))
    assert len(set.union(*dealt)) == 4 * 8


def test_a_gpu_that_is_not_there_is_not_replaced_in_silence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    config = tiny_config("device=cuda")
    with pytest.raises(ValueError, match="device: there is no GPU that torch can use"):
        make_learner(config, make_env(config))


@pytest.mark.parametrize("game_id", GAMES)
def test_critic_is_told_what_would_be_paid_next(game_id):
    """The plain loop says the same, and no game has changed by it."""
    game = load_game(game_id)
    config = load_config(ROOT / "configs" / f"{game_id}.yaml", TINY_LEARNER)
    games = SelfPlayGames(game, config)
    env = SelfPlayVecEnv(games, with_playout=True)
    env.seed(5)
    observation = env.reset()
    rng = np.random.default_rng(0)
    paid = 0
    for _ in range(12):
        assert (observation[:, :-1] == games.arena.observation).all()
        before = games.arena.states.copy()
        for i in range(env.num_envs):
            played = before[i : i + 1].copy()
            played["rewards"] = 0  # of the move before
            while not (played["rewards"].any() or played["terminated"] or played["truncated"]):
                game.rules.step(played, 0, game.heuristic(played, 0))
            assert observation[i, -1] == np.float32(played["rewards"][0, games.learner_seats[i]])
            paid += bool(observation[i, -1])
        assert (games.arena.states == before).all()
        masks = games.arena.action_mask
        observation = env.step((rng.random(masks.shape) * masks).argmax(axis=1))[0]
    assert paid


@pytest.mark.parametrize("hidden", [[16], []])
def test_policy_does_without_fields(tmp_path, hidden):
    """Imitation and PPO leave the policy blind to them, and only to them."""
    config = tiny_config(
        "network.without_fields=[last_turn, discarded]",
        f"network.hidden={hidden}",
        "imitation={decisions: 64}",
    )
    game = load_game(config.game)
    agent = NetworkAgent(train.train(config, tmp_path / "run", quiet=True), game)
    observation = np.random.default_rng(0).random((8, game.fields.size), np.float32)
    logits = agent.network.logits(observation)
    for field in game.fields:
        changed = observation.copy()
        game.fields.unflatten(changed)[field.name][...] += 1.0
        is_blind = (agent.network.logits(changed) == logits).all()
        assert is_blind == (field.name in config.network.without_fields), field.name


@pytest.mark.parametrize("critic", ["observation", "state"])
def test_what_the_critic_sees_beyond_the_observation_is_not_the_actors(critic):
    config = tiny_config(f"network={{critic: {critic}, critic_plays_out: true}}")
    env = make_env(config)
    model = make_learner(config, env)
    env.seed(1)
    inputs = torch.from_numpy(env.reset())
    observed = load_game(config.game).fields.size
    others = inputs.clone()
    others[:, observed:] += 1
    extractor = model.policy.mlp_extractor
    assert (extractor.forward_actor(inputs) == extractor.forward_actor(others)).all()
    assert (extractor.forward_critic(inputs) != extractor.forward_critic(others)).any()
    others = inputs.clone()
    others[:, :observed] += 1
    sees = (extractor.forward_critic(inputs) != extractor.forward_critic(others)).any()
    assert bool(sees) == (critic == "observation")


def test_named_agents_sit_among_the_learners_past(tmp_path):
    path = str(ROOT / "card_envs" / "policies" / "beaver_gang" / "ppo_v1.safetensors")
    config = tiny_config(f"opponents={{snapshots: 0, agents: {{ppo: 1, {path}: 1}}}}")
    games = SelfPlayGames(load_game(config.game), config)
    assert [agent.name for agent in games.arena.agents[1:]] == ["ppo", path]
    model = make_learner(config, make_env(config))
    model.learn(64)
    assert model.num_timesteps == 64
    with pytest.raises(ValueError, match="there is no agent 'nobody' for beaver_gang"):
        tiny_config("opponents.agents.nobody=1")
    with pytest.raises(ValueError, match="there is no agent 'nobody'"):
        tiny_config("imitation.agent=nobody")
    with pytest.raises(ValueError, match="there is no agent 'nobody'"):
        tiny_config("evaluation.among=[nobody]")


def test_a_run_that_ended_before_its_policy_was_written_needs_no_more_training(tmp_path):
    config = tiny_config()
    path = train.train(config, tmp_path / "run", quiet=True)
    before, card = path.read_bytes(), json.loads(path.with_suffix(".json").read_text())
    path.unlink()
    path.with_suffix(".json").unlink()
    assert train.train_or_resume(config, tmp_path / "run") == path
    assert path.read_bytes() == before
    again = json.loads(path.with_suffix(".json").read_text())
    assert again["decisions"] == card["decisions"] == 192
    assert again["last_evaluation"] == card["last_evaluation"]


def test_a_run_does_not_go_on_with_other_agents_of_the_same_names(tmp_path):
    policies = ROOT / "card_envs" / "policies" / "beaver_gang"
    opponent = tmp_path / "opponent.safetensors"
    opponent.write_bytes((policies / "ppo_v1.safetensors").read_bytes())
    config = tiny_config(f"opponents={{agents: {{{opponent}: 1}}}}")
    path = train.train_or_resume(config, tmp_path / "run")
    assert train.train_or_resume(config, tmp_path / "run") == path
    with opponent.open("rb+") as file:
        file.seek(-4, 2)
        file.write(np.float32(0.5).tobytes())
    with pytest.raises(ValueError, match="was begun with other rules or agents"):
        train.train_or_resume(config, tmp_path / "run")
    with pytest.raises(ValueError, match="was begun with other agents under the same names"):
        train.train(config, tmp_path / "run", resume=True)
    with pytest.raises(ValueError, match="is of another configuration; choose another folder"):
        train.train_or_resume(tiny_config("seed=5"), tmp_path / "run")


def test_a_finished_run_is_not_taken_for_one_by_other_rules(tmp_path, monkeypatch):
    train.train_or_resume(tiny_config(), tmp_path / "run")
    monkeypatch.setattr(train, "cache_folder", lambda game_id: Path(f"{game_id}-other"))
    with pytest.raises(ValueError, match="was begun with other rules or agents"):
        train.train_or_resume(tiny_config(), tmp_path / "run")


def test_a_run_goes_on_from_the_checkpoint_before_if_the_new_one_is_not_in_its_place(tmp_path):
    out = tmp_path / "run"
    straight = train.train(tiny_config(), tmp_path / "straight", quiet=True).read_bytes()
    train.train(tiny_config("decisions=128"), out, quiet=True)
    (out / "ppo.safetensors").unlink()
    (out / "checkpoint").rename(out / "checkpoint.old")
    (out / "checkpoint.new").mkdir()
    config = train.extended(out, ["decisions=192"])
    path = train.train(config, out, resume=True, quiet=True)
    assert sorted(p.name for p in out.glob("checkpoint*")) == ["checkpoint"]
    assert len(path.read_bytes()) == len(straight)
    path.unlink()
    (out / "checkpoint").rename(out / "checkpoint.old")
    assert train.train_or_resume(config, out) == path  # not begun anew
    assert (out / "checkpoint.old").exists()


@pytest.mark.parametrize("alike", [0.0, 0.4])
def test_seats_are_held_in_the_configured_proportions(alike):
    config = tiny_config(
        "opponents={snapshots: 0.5, agents: {heuristic: 0.3, random: 0.2}, pool_size: 2}",
        f"opponents.alike={alike}",
        "environment.num_envs=1",
    )
    games = SelfPlayGames(load_game(config.game), config)
    layers = [(np.zeros((97, games.game.fields.size), np.float32), np.zeros(97, np.float32))]
    for _ in range(3):
        games.add_snapshot(Network(layers, "relu"))
    assert len(games.snapshots) == 2
    seats = games._seat_opponents(np.full(4000, 6), np.zeros(4000))
    counts = np.bincount(seats.ravel())
    assert counts / counts.sum() == pytest.approx([0, 0.3, 0.2, 0.25, 0.25], abs=0.02)
    are_alike = (seats == seats[:, :1]).all(axis=1)
    assert are_alike.mean() == pytest.approx(alike, abs=0.03)


@pytest.mark.parametrize("game_id", GAMES)
def test_actions_differ_in_their_parts(game_id):
    game = load_game(game_id)
    assert game.action_parts.shape[0] == game.num_actions
    assert set(np.unique(game.action_parts)) == {0.0, 1.0}
    assert len(np.unique(game.action_parts, axis=0)) == game.num_actions


def test_distribution_is_sb3s_own():
    """The same log probabilities, entropies, gradients and choices, all from fewer passes."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(64, 1001, generator=generator)
    legal = torch.rand(64, 1001, generator=generator) < 0.1
    actions = torch.multinomial(legal.float(), 1, generator=generator).flatten()
    results = []
    for distribution in (MaskedCategorical(1001), MaskableCategoricalDistribution(1001)):
        given = logits.clone().requires_grad_()
        distribution.proba_distribution(given).apply_masking(legal.float().numpy())
        log_prob, entropy = distribution.log_prob(actions), distribution.entropy()
        (log_prob.sum() + 0.1 * entropy.sum()).backward()
        assert given.grad is not None
        mode = distribution.mode()
        distribution.apply_masking(None)
        unmasked = distribution.log_prob(actions)
        results.append((log_prob, entropy, given.grad, mode, unmasked))
    for own, reference in zip(*results, strict=True):
        assert torch.allclose(own, reference, atol=1e-5)


def test_distribution_draws_legal_actions_as_often_as_it_says():
    torch.manual_seed(1)
    logits = torch.tensor([0.0, 1.0, -30.0, 2.0, 0.5]).repeat(40_000, 1)
    mask = np.array([1, 1, 1, 0, 1], np.int8)
    distribution = MaskedCategorical(5).proba_distribution(logits)
    distribution.apply_masking(np.tile(mask, (40_000, 1)))
    shares = torch.bincount(distribution.sample(), minlength=5) / 40_000
    assert shares[2:4].tolist() == [0.0, 0.0]
    expected = np.exp([0.0, 1.0, 0.5]) / np.exp([0.0, 1.0, 0.5]).sum()
    assert shares[[0, 1, 4]].numpy() == pytest.approx(expected, abs=0.01)


def test_imitation_makes_the_policy_do_what_the_heuristic_does():
    config = tiny_config(
        "environment.num_envs=64",
        "ppo.batch_size=64",
        "imitation={decisions: 40_000, learning_rate: 3.0e-3}",
    )
    game = load_game(config.game)
    env = make_env(config)
    model = make_learner(config, env)

    def agreement() -> float:
        env.seed(9)
        observation = env.reset()
        same = []
        for _ in range(40):
            actions, _ = model.predict(
                observation, action_masks=env.games.arena.action_mask, deterministic=True
            )
            states = env.games.arena.states
            expected = np.array([game.heuristic(states, i) for i in range(env.num_envs)])
            same.append((actions == expected).mean())
            observation = env.step(expected)[0]
        return float(np.mean(same))

    before = agreement()
    imitate(model, env, config.imitation, quiet=True)
    assert agreement() > max(0.6, before + 0.2)


@pytest.mark.parametrize("logits", ["parts", "actions"])
@pytest.mark.parametrize("game_id", GAMES)
def test_copied_weights_play_the_same_in_a_larger_network(game_id, logits):
    """To begin with, and after the value has learned; the value does learn."""
    config = load_config(
        ROOT / "configs" / f"{game_id}.yaml",
        [
            *TINY_LEARNER,
            "network.hidden=[140, 150]",
            f"network.logits={logits}",
            "imitation={agent: ppo_v1, copy_weights: true, temperature: 2, decisions: 64}",
        ],
    )
    env = make_env(config)
    model = make_learner(config, env)
    value = model.policy.value_net.weight.detach().clone()
    imitate(model, env, config.imitation, quiet=True)
    observation = np.random.default_rng(0).random((32, env.games.game.fields.size), np.float32)
    shipped = make_agent("ppo_v1", env.games.game)
    logits = policy_network(model.policy, "relu").logits(observation)
    np.testing.assert_allclose(2 * logits, shipped.network.logits(observation), rtol=0, atol=2e-3)
    assert (model.policy.value_net.weight != value).any()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["imitation.agent=heuristic"], "imitation.copy_weights: 'heuristic' is not a policy"),
        (["network.hidden=[128, 64]"], "[128, 64] with relu has no room for 'ppo_v1'"),
        (["network.hidden=[256]"], "[256] with relu has no room for 'ppo_v1'"),
        (["network.activation=tanh"], "which has hidden layers of [128, 128] with relu"),
        (["imitation.decisions=0"], "imitation: copy_weights: decisions must be at least 1"),
    ],
)
def test_weights_that_cannot_be_copied_are_refused(overrides, message):
    begin = [
        "imitation={agent: ppo_v1, copy_weights: true, decisions: 64}",
        "network.hidden=[128, 128]",
    ]
    tiny_config(*begin)
    with pytest.raises(ValueError, match=re.escape(message)):
        tiny_config(*begin, *overrides)


def test_weights_that_are_no_sums_over_parts_are_refused():
    config = tiny_config("network.hidden=[]")
    game = load_game(config.game)
    weight = np.random.default_rng(0).random((game.num_actions, game.fields.size), np.float32)
    network = Network([(weight, np.zeros(game.num_actions, np.float32))], "relu")
    policy = make_learner(config, make_env(config)).policy
    with pytest.raises(ValueError, match="not sums over parts"):
        policy.take_over(network)


def test_best_policy_is_the_moving_average_of_the_weights():
    config = tiny_config("ema_decay=0.75", "decisions=256")
    model = make_learner(config, make_env(config))
    weights, averages = [], []

    class Watch(BaseCallback):
        def _on_step(self):
            return True

        def _on_rollout_start(self):
            weights.append([x for layer in policy_layers(model.policy) for x in layer])
            averages.append([x for layer in policy_layers(model.best_policy) for x in layer])

    model.learn(config.decisions, callback=Watch())
    assert len(weights) > 3
    expected = weights[1]  # the first update's
    for now, average in zip(weights[2:], averages[2:], strict=True):
        expected = [0.75 * e + 0.25 * x for e, x in zip(expected, now, strict=True)]
        for array, e in zip(average, expected, strict=True):
            np.testing.assert_allclose(array, e, rtol=1e-4, atol=1e-6)
    assert (averages[-1][0] != weights[-1][0]).any()


def test_what_is_imitated_of_a_policy_are_its_probabilities():
    """They are learned, not its best actions alone, and what it does is drawn from them."""
    config = tiny_config("environment.num_envs=256", "imitation={agent: ppo, decisions: 64}")
    game = load_game(config.game)
    env = make_env(config)
    env.reset()
    teacher = _Teacher(Imitation(agent="ppo"), env, np.random.default_rng(0))
    arena = env.games.arena
    batch = SimpleNamespace(
        observations=torch.from_numpy(arena.observation),
        actions=torch.zeros(256),
        action_masks=torch.from_numpy(arena.action_mask.astype(np.float32)),
    )
    probabilities = teacher.probabilities(batch).numpy()
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(256), abs=1e-5)
    assert not probabilities[arena.action_mask == 0].any()
    best = make_agent("ppo", game).act(arena.observation, arena.action_mask)
    assert (probabilities.argmax(axis=1) == best).all()
    drawn = np.array([teacher.act() for _ in range(200)])
    in_doubt = probabilities.max(axis=1) < 0.9
    assert in_doubt.sum() > 10
    shares = (drawn == best).mean(axis=0)
    assert shares[in_doubt] == pytest.approx(probabilities.max(axis=1)[in_doubt], abs=0.15)
    assert shares.mean() == pytest.approx(probabilities.max(axis=1).mean(), abs=0.01)
    warmer = _Teacher(Imitation(agent="ppo", temperature=2), env, np.random.default_rng(0))
    roots = np.sqrt(probabilities)
    expected = roots / roots.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(warmer.probabilities(batch).numpy(), expected, atol=1e-5)


def test_a_run_that_begins_with_imitation_says_so_and_goes_on_without(tmp_path, monkeypatch):
    config = tiny_config("decisions=64", "imitation.decisions=64")
    calls = []
    monkeypatch.setattr(train, "imitate", lambda *args: calls.append(args[2]))
    path = train.train(config, tmp_path / "run", quiet=True)
    assert "imitation" in json.loads(path.with_suffix(".json").read_text())["algorithm"]
    config = train.extended(tmp_path / "run", ["decisions=128"])
    train.train(config, tmp_path / "run", resume=True, quiet=True)
    assert calls == [config.imitation]


@pytest.mark.parametrize("logits", ["parts", "actions"])
def test_logits_of_parts_or_of_actions(logits):
    config = tiny_config(f"network.logits={logits}")
    model = make_learner(config, make_env(config))
    layer = model.policy.action_net
    assert isinstance(layer, PartsLayer) == (logits == "parts")
    actions, parts = load_game(config.game).action_parts.shape
    assert layer.weight.shape[0] == (parts if logits == "parts" else actions)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_numpy_network_equals_the_trained_policy(activation, tmp_path):
    config = tiny_config(
        f"network={{activation: {activation}, hidden: [24, 16], critic: observation}}"
    )
    game = load_game(config.game)
    model = make_learner(config, make_env(config))
    for parameter in model.policy.parameters():  # far from the symmetry of the beginning
        torch.nn.init.normal_(parameter, std=0.3)
    path = export_policy(model.policy, game, activation, tmp_path, {"name": "ppo"})
    network = NetworkAgent(path, game).network
    rng = np.random.default_rng(0)
    observation = rng.random((500, game.fields.size), np.float32)
    action_mask = (rng.random((500, game.num_actions)) < 0.2).astype(np.int8)
    action_mask[:, 4] = 1
    with torch.no_grad():
        hidden = model.policy.mlp_extractor.forward_actor(torch.as_tensor(observation))
        logits = model.policy.action_net(hidden).numpy()
    assert np.allclose(network.logits(observation), logits, rtol=1e-4, atol=1e-4)
    expected, _ = model.predict(observation, action_masks=action_mask, deterministic=True)
    assert (network.act(observation, action_mask) == expected).all()


def test_training_leaves_all_that_it_promises(tmp_path, capsys):
    out = tmp_path / "run"
    arguments = [str(ROOT / "configs" / "quickstart.yaml"), "--set", *TINY, "--out", str(out)]
    assert train.main(arguments) == 0
    assert "The policy is in" in capsys.readouterr().out
    game = load_game("beaver_gang")
    agent = NetworkAgent(out / "ppo.safetensors", game)
    env = CardEnv("beaver_gang", num_players=3, on_illegal="raise")
    env.reset(seed=1)
    for _ in range(30):
        if not env._is_over:
            env.step(agent.choose(env.states, 0))
    card = json.loads((out / "ppo.json").read_text())
    assert card["decisions"] == 192
    assert card["game"] == "beaver_gang_v0"
    assert card["config"] == load_config(out / "config.yaml").model_dump(mode="json")
    progress = [json.loads(line) for line in (out / "progress.jsonl").read_text().splitlines()]
    assert [entry["decisions"] for entry in progress] == [0, 64, 128, 192]
    assert (out / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    events = EventAccumulator(str(out / "tensorboard"))
    events.Reload()
    shown = events.Scalars("evaluation/rank_vs_random")
    assert [event.step for event in shown] == [0, 64, 128, 192]
    values = [entry["vs_random"] for entry in progress]
    assert [event.value for event in shown] == pytest.approx(values, abs=1e-6)
    # A folder in use is not overwritten.
    assert train.main(arguments) == 2
    assert "is not empty" in capsys.readouterr().err
    # The policy goes into no package with damaged weights, and evaluations know it by its path.
    names = [str(out / "ppo.safetensors"), "heuristic"]
    result = evaluate.evaluate(game, names, 3, 0)
    assert [row["name"] for row in result["agents"]] == names


def test_tables_are_played_as_often_as_their_weights_say():
    config = tiny_config("environment.num_envs=600", "environment.table_weights=[3,0,1,0,0]")
    games = SelfPlayGames(load_game(config.game), config)
    games.reset(0)
    counts = np.bincount(games.arena.states["num_players"], minlength=7)
    assert counts[[3, 5, 6]].sum() == 0
    assert abs(counts[2] - 450) < 5 * np.sqrt(600 * 0.75 * 0.25)
    for players in (2, 4):  # and all seats are the learner's
        seats = games.learner_seats[games.arena.states["num_players"] == players]
        assert set(seats) == set(range(players))


@pytest.mark.parametrize("ema_decay", [0, 0.5])
def test_resumed_run_is_the_same_run(tmp_path, monkeypatch, ema_decay):
    begun = tiny_config(f"ema_decay={ema_decay}")
    straight = train.train(begun, tmp_path / "straight", quiet=True)
    save = train.Periodically.save

    def save_and_be_interrupted(self):
        save(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train.Periodically, "save", save_and_be_interrupted)
        with pytest.raises(KeyboardInterrupt):
            train.train(begun, tmp_path / "halves", quiet=True)
    config = load_config(tmp_path / "halves" / "config.yaml")
    assert config == begun
    resumed = train.train(config, tmp_path / "halves", resume=True, quiet=True)
    assert resumed.read_bytes() == straight.read_bytes()
    runs = []
    for name in ("straight", "halves"):
        lines = (tmp_path / name / "progress.jsonl").read_text().splitlines()
        runs.append([{**json.loads(line), "seconds": 0} for line in lines])
    assert runs[0] == runs[1]
    with pytest.raises(ValueError, match="is finished"):
        train.train(config, tmp_path / "halves", resume=True, quiet=True)


def test_a_run_can_be_given_more_decisions_and_nothing_else(tmp_path, capsys):
    out = tmp_path / "run"
    train.train(tiny_config("decisions=64"), out, command_line="the first", quiet=True)
    assert train.main(["--resume", str(out), "--set", "decisions=128"]) == 0
    card = json.loads((out / "ppo.json").read_text())
    assert card["decisions"] == card["config"]["decisions"] == 128
    assert card["commands"][0] == "the first"
    assert card["commands"][1].endswith("--set decisions=128")
    assert train.main(["--resume", str(out), "--set", "decisions=192", "seed=5"]) == 2
    assert "more decisions, and nothing else" in capsys.readouterr().err
    assert train.main(["--resume", str(out), "--set", "decisions=64"]) == 2
    assert "more decisions, and nothing else" in capsys.readouterr().err
    (out / "checkpoint" / "state.json").write_text("{}")
    assert train.main(["--resume", str(out), "--set", "decisions=192"]) == 2
    assert load_config(out / "config.yaml").decisions == 128


def test_damaged_checkpoints_are_refused(tmp_path, capsys):
    out = tmp_path / "run"
    train.train(tiny_config("decisions=64"), out, quiet=True)
    arrays = out / "checkpoint" / "arrays.safetensors"
    whole = arrays.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"\x80\x04" + whole):
        arrays.write_bytes(damaged)
        assert train.main(["--resume", str(out)]) == 2
        assert "cannot resume from" in capsys.readouterr().err
    assert train.main(["--resume", str(tmp_path / "nowhere")]) == 2
    assert "cannot read the configuration" in capsys.readouterr().err


def test_evaluation_keeps_its_contract(tmp_path):
    files = []
    for name in ("a", "b"):
        files.append(tmp_path / name)
        arguments = ["beaver_gang", "--agents", "heuristic", "random", "random", "--deals", "20"]
        arguments += ["--seed", "5", "--option", "rounds=2", "--json", str(files[-1])]
        assert evaluate.main(arguments) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    result = json.loads(files[0].read_text())
    assert list(result) == ["game", "num_players", "deals", "seed", "options", "agents"]
    assert result["options"]["rounds"] == 2
    assert [row["name"] for row in result["agents"]] == ["heuristic", "random", "random"]
    for row in result["agents"]:
        assert list(row) == ["name", "rank", "rank_ci95", "win", "win_ci95", "score"]
        assert row["rank_ci95"][0] <= row["rank"] <= row["rank_ci95"][1]
    assert sum(row["rank"] for row in result["agents"]) == pytest.approx(0)
    assert sum(row["win"] for row in result["agents"]) == pytest.approx(1)
    assert sum(row["score"] for row in result["agents"]) == pytest.approx(0)
    assert result["agents"][0]["rank_ci95"][0] > 0


def test_evaluation_equals_games_played_one_by_one():
    game = load_game("beaver_gang")
    names = ["heuristic", "heuristic", "heuristic"]
    agents = [make_agent(name, game) for name in names]
    seeds = evaluate.deal_seeds(3, 4)
    played = evaluate.play_deals(game, agents, seeds, {"rounds": 2})
    for deal, seed in enumerate(seeds):
        env = CardEnv("beaver_gang", num_players=3, rounds=2)
        env.reset(seed=int(seed))
        while not env._is_over:
            env.step(agents[0].choose(env.states, 0))
        by_seat = [env._cumulative_rewards[agent] for agent in env.possible_agents]
        for seating in range(3):
            expected = [by_seat[(k + seating) % 3] for k in range(3)]
            assert played.rank[deal, seating].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess", "--agents", "random", "random"], "there is no game 'chess'"),
        (["beaver_gang", "--agents", "random"], "2 to 6 players"),
        (["beaver_gang", "--agents", "random", "alphago"], "there is no agent 'alphago'"),
        (["beaver_gang", "--agents", "random", "random", "--deals", "1"], "at least 2"),
        (["beaver_gang", "--agents", "random", "random", "--option", "rounds"], "KEY=VALUE"),
        (["beaver_gang", "--agents", "random", "random", "--option", "x=1"], "no option 'x'"),
        (
            ["beaver_gang", "--agents", "random", "random", "--option", "reward=win"],
            "rank, win and score at once",
        ),
    ],
)
def test_wrong_evaluations_name_the_mistake(arguments, message, capsys):
    assert evaluate.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_tournament(tmp_path):
    files = []
    for name in ("a", "b"):
        files.append(tmp_path / name)
        arguments = ["beaver_gang", "--agents", "random", "heuristic", "--players", "3"]
        arguments += ["--deals", "10", "--json", str(files[-1]), "--plot", str(tmp_path / "p.png")]
        assert tournament.main(arguments) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads(files[0].read_text())
    assert len(result["tables"]) == 2
    random, heuristic = result["agents"]
    assert heuristic["rating_ci95"][0] > random["rating_ci95"][1]
    assert result["pairwise"][1][0] > 0.75
    assert result["pairwise"][1][0] + result["pairwise"][0][1] == pytest.approx(1)


def test_wrong_tournaments_name_the_mistake(capsys):
    for agents, message in (
        (["random", "random"], "different agents"),
        (["random"], "different agents"),
        (["random", "nobody"], "there is no agent 'nobody'"),
    ):
        assert tournament.main(["beaver_gang", "--agents", *agents, "--players", "3"]) == 2
        assert message in capsys.readouterr().err


def test_shipping_puts_strength_on_the_card(tmp_path, monkeypatch, capsys):
    train.train(tiny_config("decisions=64"), tmp_path / "one", command_line="one", quiet=True)
    monkeypatch.setattr(ship.card_envs, "__file__", str(tmp_path / "package" / "__init__.py"))
    readme = tmp_path / "README.md"
    readme.write_text("no place for a table")
    monkeypatch.setattr(ship, "README", readme)
    one = str(tmp_path / "one")
    folder = tmp_path / "package" / "policies" / "beaver_gang"
    assert ship.main([one, "--deals", "2", "--seed", "5"]) == 2
    assert "needs one place for a table" in capsys.readouterr().err
    assert not folder.exists()
    readme.write_text("<!-- strength:beaver_gang -->\n<!-- end -->\n")
    assert ship.main([one, "--deals", "2", "--seed", "5"]) == 0
    assert (folder / "ppo.safetensors").read_bytes() == Path(one, "ppo.safetensors").read_bytes()
    card = json.loads((folder / "ppo.json").read_text())
    assert card["commands"] == ["one"]
    assert card["strength"]["command"].endswith("ship RUN --deals 2 --seed 5")
    assert ship.strength_table(card) in readme.read_text()
    rows = card["strength"]["results"]
    assert [row["num_players"] for row in rows] == 4 * [2, 3, 4, 5, 6]
    tables = [(row["name"], row["opponents"]) for row in rows[::5]]
    among = ["heuristic", "ppo_v1", "random"]
    assert tables == [*(("ppo", name) for name in among), ("heuristic", "random")]
    assert ship.main([str(tmp_path / "nowhere")]) == 2
    Path(one, "ppo.json").unlink()
    assert ship.main([one]) == 2
    assert "is not finished" in capsys.readouterr().err


@pytest.mark.parametrize("game_id", GAMES)
def test_shipped_policies_have_their_cards_and_hold_what_they_say(game_id):
    """Few deals here: a policy must not be weaker than the intervals on its card allow."""
    folder = ROOT / "card_envs" / "policies" / game_id
    game = load_game(game_id)
    card = json.loads((folder / "ppo.json").read_text())
    assert {"config", "seed", "commands", "decisions", "versions", "strength"} <= set(card)
    assert (folder / "ppo.safetensors").stat().st_size < 2_000_000
    Config.model_validate(card["config"])
    rows = card["strength"]["results"]
    sizes = list(range(game.min_players, game.max_players + 1))
    assert [row["num_players"] for row in rows] == 4 * sizes
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert ship.strength_table(card) in text
    measured = ship.strength(game_id, "ppo", 40, 77)["results"]
    for row, again in zip(rows, measured, strict=True):
        assert again["rank_ci95"][1] > row["rank_ci95"][0] - 0.02
        assert again["rank_ci95"][0] < row["rank_ci95"][1] + 0.02


def test_orders_say_who_sits_where():
    game = load_game("beaver_gang")
    a, b, c = (make_agent(name, game) for name in ("heuristic", "random", "ppo"))
    seeds = evaluate.deal_seeds(3, 5)

    def played(agents, order):
        orders = np.tile(np.array(order), (5, 1))
        return evaluate.play_deals(game, agents, seeds, {}, orders).standing

    given = evaluate.play_deals(game, [a, b, c], seeds, {}).standing
    assert (played([a, b, c], [0, 1, 2]) == given).all()
    assert (played([a, b, c], [1, 2, 0]) == given[:, [1, 2, 0]]).all()  # one seating further
    swapped = evaluate.play_deals(game, [a, c, b], seeds, {}).standing[..., [0, 2, 1]]
    assert (played([a, b, c], [0, 2, 1]) == swapped).all()
    assert (swapped != given).any()
    orders = evaluate.random_orders(0, 600, 3)
    assert len(np.unique(orders, axis=0)) == 6
    for order in np.unique(orders, axis=0):
        assert 70 < (orders == order).all(axis=1).sum() < 130
