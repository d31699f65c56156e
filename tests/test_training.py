"""Training: configurations, imitation, runs that resume, export, shipping."""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from contextlib import suppress
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from helpers import ALL_GAMES, EACH_GAME, SCRIPTED, SHIPPED, SMALL, kit_of
from random_policies import policy_file, random_network
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_runs import TINY, tiny_config, tiny_run

import training
from benchmarks.tables import TABLES, committed
from benchmarks.tables.keys import config_table
from benchmarks.tables.overview import overview
from card_envs.agents import NetworkAgent, choose, make_agent, shipped
from card_envs.agents.identity import hash_of_agent
from card_envs.agents.network import write_policy
from card_envs.contract.agent import turn_of
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.envs.aec import CardEnv
from card_envs.evaluation import MatchResults, deal_seeds, estimate_mean
from card_envs.evaluation.display import write_picture
from training import best_response, ship, study, train
from training.imitation import Teacher, imitate
from training.improvement.config import ImprovementConfig
from training.networks.sparse import SparseRows
from training.ppo import PPO
from training.runs import checkpoint, evaluation
from training.runs import keys as config_module
from training.runs import run as run_module
from training.runs.config import Config
from training.runs.evaluation import plot_learning_curve
from training.runs.records import commit_of, predecessors
from training.runs.run import Run, use_threads
from training.train import Session, make_learner

ROOT = Path(__file__).parent.parent
SCRIPTED_GAMES = [pytest.param(g, id=g.id) for g in ALL_GAMES if g.heuristic is not None]
HERE = Path("unused")


# ---------------------------------------------------------------------------------------------
# Configurations
# ---------------------------------------------------------------------------------------------


def test_what_training_needs_is_what_its_group_and_the_extra_install():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = [
        *project["dependency-groups"]["train"],
        *project["project"]["optional-dependencies"]["evaluation"],
    ]
    wanted = {re.split("[ >]", line)[0] for line in lines} - {"onnx", "onnxscript"}  # for exports
    sources = packages_distributions()
    found = [
        name.lower().replace("_", "-")
        for module in training._NEEDED
        for name in set(sources[module])
    ]
    assert sorted(found) == sorted(wanted)


def test_a_training_runs_configuration_is_read_in_few_files():
    """Those that training/README.md names; other commands and rooms have their own."""
    folder = ROOT / "training"
    commands = {"best_response", "improve", "ship", "study"}
    found = {
        path.relative_to(folder).as_posix()
        for path in [*folder.glob("*.py"), *folder.glob("*/*.py")]
        if path.stem not in commands and path.parent.name != "improvement"
        if re.search(r"\bconfig\.|Section\b", path.read_text())
    }
    assert "runs/keys.py" in found
    assert len(found) <= 8
    text = (folder / "README.md").read_text()
    assert all(f"`{name}`" in text for name in found), found


def test_configurations_are_read_without_torch():
    """The site lists their keys, and its environment has no torch."""
    code = (
        "import sys; sys.modules['torch'] = None; "
        "import benchmarks.leaderboard, benchmarks.tables, training.improvement.config"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_is_valid(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    run = Run(config_module.load(Config, path), HERE)
    if path.stem != "quickstart":
        assert run.game.id == path.stem
        assert run.config.evaluation.players == tuple(run.game.table_sizes)
        assert run.config.opponents.own == 1  # pure self-play, from random weights
        assert not run.config.imitation.decisions


@pytest.mark.parametrize("game", EACH_GAME)
def test_a_game_alone_is_a_configuration(game):
    """What is not said follows from the game."""
    config = config_module.check(Config, {"game": game.id, "decisions": 1}, "here")
    assert config.environment.num_players == (game.min_players, game.max_players)
    assert config.evaluation.players == tuple(game.table_sizes)
    names = {*config.opponents.agents, *config.evaluation.against, config.imitation.agent}
    assert names == {"random"} | ({"heuristic"} if game.heuristic else set())
    run = Run(config, HERE)
    assert set(run.agents) == names
    assert run.view == View()


@pytest.mark.parametrize("model", [Config, ImprovementConfig])
def test_the_tables_of_keys_are_the_codes(model):
    """All keys are in them, with what they mean."""
    table = config_table(model)
    rows = [line.split(" | ") for line in table.splitlines()[2:]]
    keys = [row[0].removeprefix("| ").strip("`") for row in rows]
    data = {"game": SMALL.id, "agent": "ppo", "decisions": 1}
    given = {name: value for name, value in data.items() if name in model.model_fields}
    config = config_module.check(model, given, "here").model_dump()
    expected = [
        f"{name}.{key}" if isinstance(value, dict) else name
        for name, value in config.items()
        for key in (value if isinstance(value, dict) else [""])
    ]
    assert sorted(keys) == sorted(expected)
    assert all(row[3].removesuffix(" |") for row in rows)
    by_key = dict(zip(keys, rows, strict=True))
    assert by_key["threads"][1:3] == ["whole number ≥ 1, ≤ 512 or null", "`null`"]
    assert by_key["game"][2] == "(required)"
    if model is Config:
        assert by_key["ppo.clip_range"][1:3] == ["number > 0, ≤ 1000", "`0.2`"]
        assert by_key["network.critic"][1] == "`observation` or `state` or `both`"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("ppo.gama=0.9", "unknown key 'ppo.gama' (did you mean 'gamma'?); allowed here are "),
        ("speed=1", "unknown key 'speed' (did you mean 'seed'?); allowed here are game, seed, "),
        ("game=chess", "there is no game 'chess'; the games are "),
        ("game=null", "game: a game's id is needed"),
        (f"environment.num_players={SMALL.max_players + 1}", f"to {SMALL.max_players} players"),
        ("network.ablated_fields=[nothing]", "no observation field 'nothing'; it has "),
        ("environment.table_weights=[]", "environment.table_weights: one number of at least 0 for"),
        ("environment.table_weights=[0]", "one of them above 0"),
        ("environment.options={max_steps: 0}", "max_steps must be a whole number from 1"),
        ("environment.options={colour: red}", "no option 'colour'"),
        ("environment.options={memory: some}", "memory must be 'perfect' or 'none'"),
        ("environment=[]", "environment: a section of keys and values is needed, got []"),
        ("decisions=1e5", "decisions: a whole number is needed, got '1e5'"),
        ("decisions=1.5", "decisions: a whole number is needed, got 1.5"),
        ("decisions=true", "decisions: true and false are not allowed here, got true"),
        ("opponents.same_agent=false", "same_agent: true and false are not allowed here, got fal"),
        ("network.hidden=[64, true]", "network.hidden: true and false are not allowed here, got"),
        ("opponents.agents.random=true", "opponents.agents: true and false are not allowed here,"),
        ("network.hidden=64", "network.hidden: a list is needed, got 64"),
        ("evaluation.against=ppo", "evaluation.against: a list is needed, got 'ppo'"),
        ("ppo.gamma=much", "ppo.gamma: a number is needed, got 'much'"),
        ("ppo={gamma: 1, gamma: 0.9}", "is not YAML"),
        ("evaluation.players=[1]", f"is for {SMALL.min_players} to"),
        ("evaluation.players=[]", "evaluation.players"),
        ("evaluation.against=[]", "evaluation.against"),
        ("network.hidden=[-1]", "network.hidden.0"),
        ("network.hidden=[0]", "network.hidden.0"),
        ("network.logits=parts", "network.logits"),
        ("ppo.kl_decay=1", "ppo.kl_decay: Input should be less than 1"),
        ("decisions=0", "decisions and imitation.decisions must not both be 0"),
        ("ppo.batch_size=1", "ppo.batch_size"),
        ("name=v2/ppo", "name"),
        *(
            (
                f"name={name}",
                f"must not be one of random, heuristic, agents, checkpoint, measured, got '{name}'",
            )
            for name in ("agents", "random", "measured")
        ),
        ("name=checkpoint", "agents, checkpoint, measured, got 'checkpoint'"),
        ("opponents.agents.random=-1", "opponents.agents.random"),
        ("opponents={pool: 0, agents: {random: 0}}", "pool or one of agents must be above 0"),
        ("opponents.self=2", "opponents.self: Input should be less than or equal to 1"),
        ("opponents.selfish=1", "allowed here are pool, agents, same_agent, self, block_size, "),
        (
            "imitation={copy_weights: true, decisions: 0}",
            "copy_weights: decisions must be at least 1",
        ),
        ("decisions=many", "decisions"),
        ("environment.num_envs=100000000", "environment.num_envs: Input should be less than"),
        ("network.hidden=[100000000]", "network.hidden.0: Input should be less than"),
        ("network.hidden=[65536, 65536, 65536]", "GiB of memory at least, this machine has"),
        ("threads=1000000", "threads: Input should be less than or equal to 512"),
        ("ppo.learning_rate=.inf", "ppo.learning_rate: Input should be"),
        ("ppo.learning_rate=1e+30", "ppo.learning_rate: Input should be less than or equal to 1"),
        ("ppo.gae_lambda=.nan", "ppo.gae_lambda: Input should be"),
        ("ppo.vf_coef=.inf", "ppo.vf_coef: Input should be"),
        ("opponents.agents.random=.nan", "opponents.agents.random: Input should be"),
        ("opponents.pool=.inf", "opponents.pool: Input should be"),
        ("environment.table_weights=[.nan]", "environment.table_weights.0: Input should be"),
        ("seed=!!timestamp foo", "is not YAML"),
        ("seed=!!bool foo", "is not YAML"),
        ("seed=" + 5000 * "[", "is not YAML"),
        ("no_equals_sign", "changes are KEY=VALUE"),
        ("ppo..n_steps=1", "changes are KEY=VALUE"),
        ("name=a/b", "name: a name of letters, digits and underscores is needed, got 'a/b'"),
        ("evaluation.deals=1000000000", "evaluation.deals: Input should be less than"),
        ("decisions.x=1", "'decisions' has no keys of its own"),
        ("seed=[", "is not YAML"),
    ],
)
def test_wrong_configurations_name_the_mistake(override, message, capsys, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        tiny_run(SMALL, tmp_path / "run", override)
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps({"game": SMALL.id, **TINY}))  # JSON is YAML
    arguments = [str(path), "--out", str(tmp_path / "run"), "--set", override]
    assert train.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_of_many_mistakes_the_first_are_told(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps({"game": SMALL.id, **TINY, **{f"key_{k}": k for k in range(8)}}))
    with pytest.raises(ValueError, match=r"'key_4'; allowed here are [^;]*; and 3 more mistakes$"):
        config_module.load(Config, path)


def test_a_run_needs_a_folder_that_has_a_name(tmp_path, capsys):
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps({"game": SMALL.id, **TINY}))
    assert train.main([str(path), "--out", "/"]) == 2
    assert "a run needs a folder of its own, got /" in capsys.readouterr().err


def test_imitation_needs_its_decisions(capsys, tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps({"game": SMALL.id, **TINY}))  # JSON is YAML
    arguments = [str(path), "--out", str(tmp_path / "run"), "--set"]
    assert train.main([*arguments, "imitation.agent=nobody"]) == 2
    assert "imitation.agent: without imitation.decisions nothing is" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    config_module.load(Config, path, ["imitation.agent=random", "imitation.decisions=0"])


def test_a_config_plays_itself_unless_it_names_others():
    opponents = {"{}": 1.0, "{pool_size: 3}": 1.0, "{pool: 1}": 0.0, "{agents: {random: 1}}": 0.0}
    for given, own in {**opponents, "{pool: 1, self: 0.5}": 0.5}.items():
        config = tiny_config(SMALL, f"opponents={given}")
        assert config.opponents.own == own
        # Where some are named nobody else takes a seat.
        pool, agents = config.opponents.pool, config.opponents.agents
        named = (pool > 0, *agents) if own < 1 else None
        assert named in (None, (True,), (False, "random"))
        assert config.model_dump(mode="json")["opponents"]["self"] == own
        again = config_module.check(Config, config.model_dump(mode="json"), "again")
        assert again == config


def test_by_default_the_other_seats_are_the_pools_and_those_of_the_games_agents():
    for game, agents in ((SCRIPTED, {"heuristic": 0.4, "random": 0.1}), (SMALL, {"random": 0.5})):
        opponents = tiny_config(game, "opponents={self: 0.5}").opponents
        assert (opponents.pool, opponents.agents) == (0.5, agents)


def test_a_policy_file_can_be_named_by_set(tmp_path):
    path = policy_file(SMALL, tmp_path / "an.other.safetensors")
    config = tiny_config(SMALL, f"opponents.agents.{path}=0.25")
    assert config.opponents.agents[str(path)] == 0.25


def test_a_critic_that_plays_out_needs_a_heuristic():
    for game in ALL_GAMES:
        if game.heuristic is None:
            with pytest.raises(ValueError, match=f"critic_playout: {game.id} has no heuristic"):
                tiny_config(game, "network.critic_playout=true")
        else:
            tiny_config(game, "network.critic_playout=true")


def test_unknown_agents_are_refused():
    for override in (
        "opponents.agents.nobody=1",
        "imitation={agent: nobody, decisions: 1}",
        "evaluation.against=[nobody]",
    ):
        with pytest.raises(ValueError, match=f"there is no agent 'nobody' for {SMALL.id}"):
            tiny_run(SMALL, HERE, override)


def test_unreadable_configurations(tmp_path):
    with pytest.raises(ValueError, match="cannot read the configuration"):
        config_module.load(Config, tmp_path / "missing.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("game: [unclosed")
    with pytest.raises(ValueError, match="cannot read the configuration"):
        config_module.load(Config, bad)
    bad.write_text("!!python/object/apply:os.system ['true']")
    with pytest.raises(ValueError, match="cannot read the configuration"):
        config_module.load(Config, bad)
    lots = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 10))
    for text, reason in (
        ("game: !!timestamp foo", "cannot read"),
        ("game: !!bool foo", "cannot read"),
        ("game: " + 5000 * "[" + 5000 * "]", "nested too deeply"),
        ("a0: &a0 lol\n" + lots, "aliases"),
    ):
        bad.write_text(text)
        with pytest.raises(ValueError, match=reason) as error:
            config_module.load(Config, bad)
        assert str(error.value).startswith(f"cannot read the configuration {bad}")
        assert "\n" not in str(error.value)
    bad.write_text("just a text")
    with pytest.raises(ValueError, match="must be a mapping of keys to values"):
        config_module.load(Config, bad)


# ---------------------------------------------------------------------------------------------
# The policy
# ---------------------------------------------------------------------------------------------


def test_a_run_that_no_device_can_make_leaves_no_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    run = tiny_run(SMALL, tmp_path / "run", "device=cuda")
    with pytest.raises(ValueError, match="device: there is no GPU that torch can use"):
        train.train(run, quiet=True)
    assert not run.folder.exists()


def test_named_agents_hold_seats_beside_the_pool(tmp_path):
    paths = [policy_file(SMALL, tmp_path / f"{k}.safetensors", seed=k) for k in range(2)]
    agents = ", ".join(f"{path}: 1" for path in paths)
    run = tiny_run(SMALL, HERE, f"opponents={{pool: 0, agents: {{{agents}, random: 1}}}}")
    learner = make_learner(run)
    assert [agent.name for agent in learner.games.arena.agents[1:]] == [*paths, "random"]
    assert len(set(run.identities.values())) == 3
    learner.begin()
    learner.collect()
    learner.games.add_snapshot(learner.policy())
    assert learner.games.pool == []
    assert learner.decisions == 64


def test_rows_are_not_measured_for_a_folder_that_is_not_empty(monkeypatch, tmp_path):
    run = tiny_run(SMALL, tmp_path / "run", "rows=fastest")
    run.folder.mkdir()
    (run.folder / "notes.txt").write_text("kept")
    monkeypatch.setattr(train, "decisions_a_second", None)
    with pytest.raises(ValueError, match="is not empty"):
        train.train(run, quiet=True)


@pytest.mark.parametrize("game", EACH_GAME)
def test_actions_differ_in_their_features(game):
    assert game.action_features.shape[0] == game.num_actions
    assert set(np.unique(game.action_features)) == {0.0, 1.0}
    assert len(np.unique(game.action_features, axis=0)) == game.num_actions


@pytest.mark.parametrize("hidden", [[16], []])
def test_policy_does_without_ablated_fields(tmp_path, hidden):
    """Imitation and PPO leave the policy blind to them, and only to them."""
    ablated = [field.name for field in SCRIPTED.fields][-2:]
    run = tiny_run(
        SCRIPTED,
        tmp_path / "run",
        f"network.ablated_fields=[{', '.join(ablated)}]",
        f"network.hidden={hidden}",
        "imitation={decisions: 64}",
    )
    agent = NetworkAgent.from_file(train.train(run, quiet=True), SCRIPTED)
    observation = np.random.default_rng(0).random((8, SCRIPTED.fields.size), np.float32)
    logits = agent.network.logits(observation)
    for field in SCRIPTED.fields:
        changed = observation.copy()
        SCRIPTED.fields.unflatten(changed)[field.name][...] += 1.0
        is_blind = (agent.network.logits(changed) == logits).all()
        assert is_blind == (field.name in ablated), field.name


@pytest.mark.parametrize("logits", ["features", "actions"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_exported_policy_equals_the_trained_one(activation, logits, tmp_path):
    run = tiny_run(
        SCRIPTED,
        tmp_path,
        f"network={{activation: {activation}, hidden: [24, 16], logits: {logits}}}",
        "environment.options={memory: none, features: false}",
    )
    learner = make_learner(run)
    actor = learner.average.actor
    for parameter in actor.parameters():  # far from the symmetry of the beginning
        torch.nn.init.normal_(parameter, std=0.3)
    run.export(learner.policy(), "cpu", True)
    agent = NetworkAgent.from_file(run.policy_path, SCRIPTED)
    assert agent.view == View("none", False)
    assert json.loads(run.card_path.read_text())["memory"] == "none"
    rng = np.random.default_rng(0)
    observation = rng.random((500, SCRIPTED.fields.size), np.float32)
    action_mask = (rng.random((500, SCRIPTED.num_actions)) < 0.2).astype(np.int8)
    action_mask[:, 4] = 1
    features = torch.from_numpy(actor.action_features)
    expected = (actor(torch.from_numpy(observation)) @ features.T).numpy()
    assert np.allclose(agent.network.logits(observation), expected, rtol=1e-4, atol=1e-4)
    best = np.where(action_mask, expected, -np.inf).argmax(axis=1)
    assert (agent.network.act(observation, action_mask) == best).mean() > 0.99


# ---------------------------------------------------------------------------------------------
# Imitation
# ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_imitation_makes_the_policy_do_what_the_heuristic_does():
    run = tiny_run(
        SCRIPTED,
        HERE,
        "environment.num_envs=64",
        "ppo.batch_size=64",
        "imitation={decisions: 40_000, learning_rate: 3.0e-3}",
    )
    learner = make_learner(run)
    learner.begin()
    games = learner.games

    def agreement() -> float:
        network = learner.networks.actor.network()
        same = []
        for _ in range(40):
            actions = network.act(games.arena.observation, games.arena.action_mask)
            expected = [SCRIPTED.heuristic(games.arena.states, i) for i in games.all]
            same.append((actions == expected).mean())
            games.step(np.array(expected))
        return float(np.mean(same))

    before = agreement()
    imitate(learner, run.agents["heuristic"], quiet=True)
    assert agreement() > max(0.6, before + 0.2)
    assert learner.decisions == 0
    assert (learner.rollout.open == -1).all()  # nothing of it is learned from later


def copying(path: str, *others: str) -> list[str]:
    words = ", ".join([f"agent: {path}", "copy_weights: true", "decisions: 64", *others])
    return [f"imitation={{{words}}}"]


@pytest.mark.parametrize("logits", ["features", "actions"])
@pytest.mark.parametrize("game", EACH_GAME)
@pytest.mark.slow
def test_copied_weights_play_the_same_in_a_larger_network(game, logits, tmp_path):
    """To begin with, and after the value has learned; the value does learn."""
    path = policy_file(game, tmp_path / "other.safetensors", (12, 20))
    run = tiny_run(
        game,
        HERE,
        "network.hidden=[14, 25]",
        f"network.logits={logits}",
        *copying(path, "temperature: 2"),
    )
    learner = make_learner(run)
    learner.begin()
    value = learner.networks.critic[-1].weight.detach().clone()
    imitate(learner, run.agents[path], quiet=True)
    observation = np.random.default_rng(0).random((32, game.fields.size), np.float32)
    copied = learner.policy().logits(observation)
    original = run.agents[path].network.logits(observation)
    np.testing.assert_allclose(2 * copied, original, rtol=0, atol=2e-3)
    assert original.std() > 0.1
    assert (learner.networks.critic[-1].weight != value).any()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["imitation.agent=random"], "imitation.copy_weights: 'random' is not a policy"),
        (["network.hidden=[12, 6]"], "[12, 6] with relu has no room for "),
        (["network.hidden=[20]"], "[20] with relu has no room for "),
        (["network.activation=tanh"], "which has hidden layers of [12, 8] with relu"),
        (["environment.options={memory: none}"], "observes with View(memory='perfect', features="),
    ],
)
def test_weights_that_cannot_be_copied_are_refused(overrides, message, tmp_path):
    path = policy_file(SMALL, tmp_path / "other.safetensors", (12, 8))
    begin = [*copying(path), "network.hidden=[12, 8]"]
    tiny_run(SMALL, HERE, *begin)
    with pytest.raises(ValueError, match=re.escape(message)):
        tiny_run(SMALL, HERE, *begin, *overrides)
    with pytest.raises(ValueError, match=r"imitation\.temperature: 'random' is not a policy"):
        tiny_run(SMALL, HERE, "imitation={agent: random, decisions: 1, temperature: 2}")


def test_weights_of_which_logits_are_no_sums_leave_no_folder(tmp_path):
    network = random_network(SCRIPTED)
    weight = network.layers[-1][0]
    weight[:] = np.random.default_rng(0).random(weight.shape)
    path = tmp_path / "other.safetensors"
    write_policy(path, network, SCRIPTED, View())
    tiny_run(SCRIPTED, HERE, *copying(str(path)), "network={hidden: [16], logits: actions}")
    with pytest.raises(ValueError, match="logits are not sums over action features"):
        tiny_run(SCRIPTED, HERE, *copying(str(path)))


def test_what_is_imitated_of_a_policy_are_its_probabilities(tmp_path):
    """They are learned, not its best actions alone, and what it does is drawn from them."""
    path = policy_file(SCRIPTED, tmp_path / "other.safetensors")
    run = tiny_run(SCRIPTED, HERE, "environment.num_envs=256")
    agent = make_agent(path, SCRIPTED)
    learner = make_learner(run)
    learner.begin()
    games, arena = learner.games, learner.games.arena
    legal = SparseRows.of(arena.action_mask)
    inputs = SparseRows.of(games.observe())

    def probabilities_of(temperature: float) -> np.ndarray:
        teacher = Teacher(agent, games, temperature, seed=0)
        return teacher.targets(inputs, legal, np.zeros(256, np.int64)).numpy()

    probabilities = probabilities_of(1)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(256), abs=1e-5)
    assert not probabilities[arena.action_mask == 0].any()
    best = agent.act(turn_of(SCRIPTED, arena.states, games.all, agent.view))
    assert (probabilities.argmax(axis=1) == best).all()
    own = Teacher(agent, games, 1, seed=0)
    drawn = np.array([own.act() for _ in range(200)])
    in_doubt = probabilities.max(axis=1) < 0.9
    assert in_doubt.sum() > 10
    shares = (drawn == best).mean(axis=0)
    assert shares[in_doubt] == pytest.approx(probabilities.max(axis=1)[in_doubt], abs=0.15)
    assert shares.mean() == pytest.approx(probabilities.max(axis=1).mean(), abs=0.01)
    roots = np.sqrt(probabilities)
    expected = roots / roots.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probabilities_of(2), expected, atol=1e-5)


def test_a_teacher_observes_in_its_own_view(tmp_path):
    """What is learned of a policy that sees something else than the learner are its actions."""
    path = policy_file(SCRIPTED, tmp_path / "other.safetensors")
    run = tiny_run(
        SCRIPTED,
        HERE,
        "environment={num_envs: 64, options: {memory: none, features: false}}",
        f"imitation={{agent: {path}, decisions: 64}}",
    )
    learner = make_learner(run)
    learner.begin()
    agent = run.agents[path]
    games, arena = learner.games, learner.games.arena
    for _ in range(12):  # until there is something to remember
        games.step(arena.action_mask.argmax(axis=1))
    seen = turn_of(SCRIPTED, arena.states, games.all, agent.view)
    assert (seen.observation != arena.observation).any()
    teacher = Teacher(agent, games, 1e-9, seed=0)  # it takes the best actions
    assert (teacher.act() == agent.act(seen)).all()
    actions = teacher.act()
    rows = SparseRows.of(games.observe()), SparseRows.of(arena.action_mask)
    targets = teacher.targets(*rows, actions).numpy()
    assert (targets.argmax(axis=1) == actions).all()
    assert (targets.sum(axis=1) == 1).all()


def test_a_policy_is_imitated_whatever_the_rows_are(tmp_path):
    path = policy_file(SMALL, tmp_path / "other.safetensors")
    for rows in ("sparse", "dense", "bfloat16"):
        imitation = f"imitation={{agent: {path}, decisions: 64, temperature: 1.0}}"
        learner = make_learner(run := tiny_run(SMALL, HERE, f"rows={rows}", imitation))
        learner.begin()
        before = copy.deepcopy(learner.networks.actor.state_dict())
        imitate(learner, run.agents[path], quiet=True)
        after = learner.networks.actor.state_dict()
        assert all(weights.isfinite().all() for weights in after.values())
        assert not all(torch.equal(weights, before[name]) for name, weights in after.items())


@pytest.mark.parametrize(
    ("overrides", "algorithm"),
    [
        ([], "PPO, self-play"),
        (["imitation.decisions=64"], "PPO, self-play, after imitation of random"),
        (["opponents.self=0.5"], "PPO, self-play in 50% of the games"),
        (["opponents={self: 0, agents: {random: 1.0}}"], "PPO, against other agents"),
    ],
)
def test_a_card_says_who_the_learner_played(tmp_path, overrides, algorithm):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64", *overrides)
    train.train(run, quiet=True)
    assert json.loads(run.card_path.read_text())["algorithm"] == algorithm


def test_a_gpus_rollouts_take_none_of_the_machines_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 2**12)  # 16 MiB
    large = ["environment.num_envs=65536", "ppo.n_steps=64", "ppo.batch_size=65536"]
    large += ["network.critic=observation", "device=cpu"]
    tiny_config(SMALL, *large).check_memory(with_rollout=False)
    for place in ("host", "device"):  # the device is the CPU
        run = tiny_run(SMALL, tmp_path / place, *large, f"rollouts={place}")
        with pytest.raises(ValueError, match="GiB of memory at least, this machine has 0"):
            train.train(run, quiet=True)
        assert not run.folder.exists()


def test_the_learning_rate_of_imitation_decays_to_0(monkeypatch):
    imitation = "imitation={decisions: 256, learning_rate: 1.0e-2}"  # four rollouts
    run = tiny_run(SMALL, HERE, imitation)
    learner = make_learner(run)
    learner.begin()
    rates = []
    monkeypatch.setattr(
        PPO, "descend", lambda self, loss, optimizer: rates.append(optimizer.param_groups[0]["lr"])
    )
    imitate(learner, run.agents["random"], quiet=True)
    assert [*dict.fromkeys(rates)] == pytest.approx([1e-2, 7.5e-3, 5e-3, 2.5e-3])


def test_imitation_alone_leaves_a_policy_and_a_run_that_can_go_on(tmp_path):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=0", "imitation.decisions=64")
    assert train.train(run, quiet=True) == run.policy_path
    imitated = run.policy_path.read_bytes()
    with pytest.raises(ValueError, match="is finished: 0 decisions"):
        train.train(Run.reopen(run.folder), resume=True, quiet=True)
    longer = Run.reopen(run.folder, ["decisions=64"])
    assert train.train(longer, resume=True, quiet=True) == run.policy_path
    assert run.policy_path.read_bytes() != imitated
    card = run.card_path.read_text()
    assert json.loads(card)["decisions"] == 64
    with pytest.raises(ValueError, match="is finished: 64 decisions; with --set decisions=N"):
        train.train(Run.reopen(run.folder, ["decisions=32"]), resume=True, quiet=True)
    assert run.card_path.read_text() == card


def test_a_run_that_starts_with_imitation_says_so_and_resumes_without(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64", "imitation.decisions=64")
    calls = []
    monkeypatch.setattr(train, "imitate", lambda *args: calls.append(args[1].name))
    train.train(run, quiet=True)
    assert "imitation of random" in json.loads(run.card_path.read_text())["algorithm"]
    train.train(Run.reopen(run.folder, ["decisions=128"]), resume=True, quiet=True)
    assert calls == ["random"]


# ---------------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------------


def test_training_leaves_all_that_it_promises(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("training.runs.evaluation.write_picture", write_picture)  # drawn for once
    config = tmp_path / "tiny.yaml"
    config.write_text(json.dumps({"game": SCRIPTED.id, **TINY}))
    out = tmp_path / "run"
    players = f"evaluation.players=[{SCRIPTED.min_players}]"
    arguments = [str(config), "--set", players, "--out", str(out)]
    assert train.main(arguments) == 0
    printed = capsys.readouterr()
    assert "The policy is in" in printed.out
    assert "192" in printed.err  # the progress bar
    agent = NetworkAgent.from_file(out / "ppo.safetensors", SCRIPTED)
    env = CardEnv(SCRIPTED.id, on_illegal="raise")
    env.reset(seed=1)
    for _ in range(30):
        if env.legal_actions():
            env.step(choose(agent, SCRIPTED, env.states))
    card = json.loads((out / "ppo.json").read_text())
    assert card["decisions"] == 192
    assert (card["game"], card["memory"], card["features"]) == (SCRIPTED.name, "perfect", True)
    assert card["config"] == config_module.load(Config, out / "config.yaml").model_dump(mode="json")
    assert card["commit"] == commit_of(ROOT)
    progress = [json.loads(line) for line in (out / "progress.jsonl").read_text().splitlines()]
    assert [entry["decisions"] for entry in progress] == [0, 64, 128, 192]
    assert all(0.0 <= entry["truncated"] <= 1.0 for entry in progress)
    assert (out / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    events = EventAccumulator(str(out / "tensorboard"))
    events.Reload()
    shown = events.Scalars("evaluation/rank_vs_random")
    assert [event.step for event in shown] == [0, 64, 128, 192]
    values = [entry["vs_random"] for entry in progress]
    assert [event.value for event in shown] == pytest.approx(values, abs=1e-6)
    # A folder in use is not overwritten.
    for change, resume in (
        ("decisions=256", f"choose another folder, or --resume {out}"),
        ("ppo.n_epochs=2", "choose another folder"),  # to resume it would continue another run
    ):
        assert train.main([*arguments, "--set", players, change]) == 2
        assert f"{out} is not empty; {resume}\n" in capsys.readouterr().err


@pytest.mark.parametrize("deals", [4, 5])
def test_a_learning_curve_has_a_band_where_there_are_intervals(deals, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "training.runs.evaluation.write_picture", lambda figure, path: drawn.append(figure)
    )
    values = estimate_mean(np.linspace(-0.5, 0.5, deals)).to_json("vs_random")
    entries = [{"decisions": k, **values} for k in range(3)]
    plot_learning_curve(entries, tmp_path / "curve.png", "A game")
    (axes,) = drawn[0].axes
    assert len(axes.collections) == (deals >= 5)
    assert ("95% intervals" in axes.get_title()) is (deals >= 5)
    assert len(axes.get_lines()) == 2  # the curve, and 0


def test_policy_files_are_read_once(tmp_path, monkeypatch):
    """Not at each evaluation again, and evaluations call them by their short names."""
    path = policy_file(SMALL, tmp_path / "other.safetensors")
    reads = []
    read = NetworkAgent.from_file
    monkeypatch.setattr(
        NetworkAgent, "from_file", lambda path, *a, **k: reads.append(path) or read(path, *a, **k)
    )
    overrides = [f"evaluation.against=[{path}]", f"opponents.agents={{{path}: 1}}"]
    run = tiny_run(
        SMALL, tmp_path / "run", *overrides, f"imitation={{agent: {path}, decisions: 64}}"
    )
    train.train(run, quiet=True)
    assert list(map(str, reads)) == [path]
    assert {"vs_other", "vs_other_ci95"} < set(run.progress[-1])


def contents(run: Run) -> tuple[bytes, list, dict]:
    """What a finished run has left, apart from the time that it took."""
    card = json.loads(run.card_path.read_text())
    for entry in (card, card["last_evaluation"]):
        entry.pop("hours", None)
        entry.pop("seconds", None)
    progress = [{**entry, "seconds": 0} for entry in run.progress]
    return run.policy_path.read_bytes(), progress, card


@pytest.mark.parametrize("saves", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    ("game", "overrides"),
    [
        pytest.param(SMALL, [], id="small", marks=pytest.mark.slow),
        pytest.param(SCRIPTED, ["ema_decay=0.5", "ppo.kl_coef=0.1"], id="averages"),
        pytest.param(
            SCRIPTED,
            [
                "opponents={self: 0.5, pool: 0.5, agents: {random: 0.1, heuristic: 0.4}}",
                "opponents.snapshot_every=1",
                "opponents.pool_size=1",
                "opponents.block_size=2",
                "ppo.ent_power=0.5",
                "network.critic=both",
            ],
            id="blocks",
        ),
    ],
)
def test_resumed_run_is_the_same_run(tmp_path, monkeypatch, game, overrides, saves):
    """To the byte, whether it was interrupted behind a checkpoint or just before the next one."""
    straight = tiny_run(game, tmp_path / "straight", *overrides, "decisions=256")
    train.train(straight, quiet=True)
    run = tiny_run(game, tmp_path / "halves", *overrides, "decisions=256")
    save = Session._save
    calls = []

    def interrupted_save(self):
        calls.append(self)
        if len(calls) <= 2:  # the pool is not empty in the second one
            save(self)
        if len(calls) >= saves:  # it is killed: the interruption saves nothing either
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_save", interrupted_save)
        with pytest.raises(KeyboardInterrupt):
            train.train(run, quiet=True)
    assert [entry["decisions"] for entry in run.progress] == [0, 64, 128, 192][: saves + 1]
    assert json.loads(run.card_path.read_text())["decisions"] == 128
    assert not run.is_finished
    resumed = Run.reopen(run.folder)
    assert resumed.config == run.config
    train.train(resumed, resume=True, quiet=True)
    assert contents(resumed) == contents(straight)
    with pytest.raises(ValueError, match="is finished"):
        train.train(resumed, resume=True, quiet=True)


def test_a_resumed_run_forgets_evaluations_after_its_checkpoint(tmp_path):
    run = tiny_run(SMALL, tmp_path)
    run.begin("begun")
    for decisions in (0, 64, 128, 192):
        run.add_progress({"decisions": decisions})
    run.forget_after(128)
    assert [entry["decisions"] for entry in run.progress] == [0, 64, 128]


def test_an_evaluation_that_was_half_written_is_replaced(tmp_path):
    run = tiny_run(SMALL, tmp_path)
    run.begin("begun")
    run.add_progress({"decisions": 0})
    with run.progress_path.open("a") as file:
        file.write('{"decisions": 6')
    run.add_progress({"decisions": 64})
    assert [entry["decisions"] for entry in run.progress] == [0, 64]


@pytest.mark.parametrize("moment", ["serialize", "fsync", "replace"])
@pytest.mark.slow
def test_an_interrupted_save_leaves_the_checkpoint_before(tmp_path, monkeypatch, moment):
    """Whenever it is interrupted; and the run resumes from that one as if nothing had been."""
    straight = tiny_run(SMALL, tmp_path / "straight")
    train.train(straight, quiet=True)
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    train.train(run, quiet=True)
    before = run.checkpoint_path.read_bytes()
    run.policy_path.unlink()
    longer = Run.reopen(run.folder, ["decisions=192"])

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if moment == "serialize":
            patch.setattr(checkpoint, "serialize", interrupt)
        elif moment == "fsync":
            patch.setattr(os, "fsync", interrupt)
        else:
            replace = os.replace  # which Path.replace calls

            def interrupted_replace(source, target):
                if "checkpoint" in Path(target).name:
                    interrupt()
                replace(source, target)

            patch.setattr(os, "replace", interrupted_replace)
        with pytest.raises(KeyboardInterrupt):
            train.train(longer, resume=True, quiet=True)
    assert run.checkpoint_path.read_bytes() == before
    train.train(longer, resume=True, quiet=True)
    assert contents(longer)[:2] == contents(straight)[:2]
    assert sorted(path.name for path in run.folder.glob("checkpoint*")) == [
        "checkpoint.safetensors"
    ]


@pytest.mark.slow
def test_a_run_without_a_checkpoint_starts_over(tmp_path, monkeypatch):
    overrides = ["checkpoint_every=1_000", "decisions=192"]
    straight = tiny_run(SMALL, tmp_path / "straight", *overrides)
    train.train(straight, quiet=True)
    run = tiny_run(SMALL, tmp_path / "run", *overrides)
    evaluate = Session._evaluate

    def interrupt(self, writer):
        if self._learner.decisions >= 128:
            raise RuntimeError("the power is off")
        evaluate(self, writer)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_evaluate", interrupt)
        with pytest.raises(RuntimeError, match="power"):
            train.train(run, command_line="begun", quiet=True)
    assert run.progress
    assert not run.checkpoint_path.exists()
    assert train.main(["--resume", str(run.folder)]) == 0
    assert contents(run)[:2] == contents(straight)[:2]
    assert run.commands == ["begun"]
    assert len([*(run.folder / "tensorboard").iterdir()]) == 1


def test_a_run_that_was_killed_at_its_first_checkpoint_starts_over(tmp_path, monkeypatch):
    """When its evaluation there is written already."""
    overrides = ["decisions=128", "checkpoint_every=64", "evaluation.every=64"]
    straight = tiny_run(SMALL, tmp_path / "straight", *overrides)
    train.train(straight, quiet=True)
    run = tiny_run(SMALL, tmp_path / "run", *overrides)

    def kill(*args):
        raise RuntimeError("the power is off")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", kill)
        with pytest.raises(RuntimeError, match="power"):
            train.train(run, command_line="begun", quiet=True)
    assert [entry["decisions"] for entry in run.progress] == [0, 64]
    assert train.main(["--resume", str(run.folder)]) == 0
    assert contents(run)[:2] == contents(straight)[:2]


def test_an_evaluation_that_was_due_is_made_once(tmp_path, monkeypatch):
    """Also where a run is killed behind it that was interrupted before it."""
    run = tiny_run(SMALL, tmp_path / "run", "decisions=192", "checkpoint_every=1000")
    evaluate = Session._evaluate

    def interrupt(self, writer):
        if self._learner.decisions == 128:
            raise KeyboardInterrupt
        evaluate(self, writer)

    def kill(self, writer):
        evaluate(self, writer)
        if self._learner.decisions == 128:
            raise RuntimeError("the power is off")

    for instead, error in ((interrupt, KeyboardInterrupt), (kill, RuntimeError)):
        with monkeypatch.context() as patch:
            patch.setattr(Session, "_evaluate", instead)
            with pytest.raises(error):
                train.train(run, resume=run.checkpoint_path.exists(), quiet=True)
    assert [entry["decisions"] for entry in run.progress] == [0, 64, 128]
    train.train(run, resume=True, quiet=True)
    assert [entry["decisions"] for entry in run.progress] == [0, 64, 128, 192]


def test_weights_that_are_no_numbers_are_not_saved(tmp_path, monkeypatch, capsys):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=128", "checkpoint_every=64")
    update = PPO.update

    def break_down(self):
        found = update(self)
        if self.decisions == 128:
            with torch.no_grad():
                self.networks.actor.linear[0].bias[0] = torch.nan
        return found

    with monkeypatch.context() as patch:
        patch.setattr(PPO, "update", break_down)
        with pytest.raises(ValueError, match=r"after 128 decisions weights are infinite or not a "):
            train.train(run, quiet=True)
    assert train.main(["--resume", str(run.folder)]) == 0
    assert run.is_finished


def test_damaged_checkpoints_are_refused(tmp_path, capsys):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    policy = train.train(run, quiet=True).read_bytes()
    run.policy_path.unlink()
    whole = run.checkpoint_path.read_bytes()

    def flipped(place: int) -> bytes:
        return whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]

    steps = whole.index(b'decisions\\": 64') + len(b'decisions\\": 6')
    damaged = [b"", whole[: len(whole) // 2], b"\x80\x04" + whole, whole[:-1]]
    damaged += [flipped(place) for place in (-2 % len(whole), len(whole) // 2, steps, 20)]
    for data in damaged:
        run.checkpoint_path.write_bytes(data)
        assert train.main(["--resume", str(run.folder)]) == 2
        error = capsys.readouterr().err
        assert f"cannot resume from {run.checkpoint_path}, it is damaged" in error
        assert not run.policy_path.exists()
    run.checkpoint_path.unlink()
    run.policy_path.write_bytes(policy)  # without it the run would start over
    assert train.main(["--resume", str(run.folder)]) == 2
    assert f"cannot resume from {run.checkpoint_path}: No such file" in capsys.readouterr().err
    run.policy_path.unlink()
    run.checkpoint_path.write_bytes(whole)
    assert train.main(["--resume", str(run.folder)]) == 0
    assert train.main(["--resume", str(tmp_path / "nowhere")]) == 2
    assert "cannot read the configuration" in capsys.readouterr().err


def test_checkpoints_of_other_rules_or_configurations_are_refused(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    train.train(run, quiet=True)
    for override in ("network.hidden=[24]", "environment.num_envs=16", "network.critic=both"):
        other = make_learner(tiny_run(SMALL, run.folder, override))
        with pytest.raises(ValueError, match="it is of another configuration"):
            checkpoint.load(run.checkpoint_path, other)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "FORMAT", "another")
        with pytest.raises(ValueError, match="it is of another version of the trainer, whose runs"):
            checkpoint.load(run.checkpoint_path, make_learner(run))
    monkeypatch.setattr(Game, "sources", "changed")
    with pytest.raises(ValueError, match=f"made with other sources of {SMALL.id}"):
        checkpoint.load(run.checkpoint_path, make_learner(run))
    with pytest.raises(ValueError, match=f"was started with other sources of {SMALL.id}"):
        train.train(Run.reopen(run.folder, ["decisions=128"]), resume=True, quiet=True)


def test_a_run_can_be_given_more_decisions_and_nothing_else(tmp_path, capsys):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    out = str(run.folder)
    train.train(run, command_line="the first", quiet=True)
    assert train.main(["--resume", out, "--set", "decisions=128"]) == 0
    card = json.loads(run.card_path.read_text())
    assert card["decisions"] == card["config"]["decisions"] == 128
    assert card["commands"][0] == "the first"
    assert card["commands"][1].endswith("--set decisions=128")
    capsys.readouterr()
    for words, message in (
        (
            ["--set", "decisions=192", "seed=5"],
            "of a resumed run decisions can be changed, and nothing else",
        ),
        (["--out", out], "give no other"),
    ):
        assert train.main(["--resume", out, *words]) == 2
        assert message in capsys.readouterr().err
    assert train.main([]) == 2
    assert "give a configuration" in capsys.readouterr().err
    run.checkpoint_path.write_bytes(b"")
    assert train.main(["--resume", out, "--set", "decisions=192"]) == 2
    assert config_module.load(Config, run.folder / "config.yaml").decisions == 128


def test_a_run_without_its_policy_needs_no_more_training(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run")
    path = train.train(run, quiet=True)
    before = contents(run)
    path.unlink()
    run.card_path.unlink()
    monkeypatch.setattr(Session, "_evaluate", None)
    assert train.train_or_resume(run, "one") == path
    assert contents(run) == before


def test_a_policy_whose_checkpoint_is_lost_is_not_trained_over(tmp_path, capsys):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64", "checkpoint_every=1000")
    before = train.train(run, quiet=True).read_bytes()
    run.checkpoint_path.unlink()
    assert train.main(["--resume", str(run.folder), "--set", "decisions=128"]) == 2
    assert "cannot resume from" in capsys.readouterr().err
    assert run.policy_path.read_bytes() == before


def test_a_run_that_was_given_more_decisions_is_not_finished_before_they_are_made(
    tmp_path, monkeypatch
):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    first = train.train(run, quiet=True).read_bytes()
    longer = Run.reopen(run.folder, ["decisions=128"])

    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_evaluate", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train.train(longer, resume=True, quiet=True)
    assert not longer.is_finished
    assert train.train_or_resume(longer, "one").read_bytes() != first
    assert longer.is_finished


def test_a_run_is_not_resumed_with_other_agents_of_the_same_names(tmp_path):
    opponent = policy_file(SMALL, tmp_path / "opponent.safetensors", seed=1)
    override = f"opponents={{agents: {{{opponent}: 1}}}}"
    run = tiny_run(SMALL, tmp_path / "run", override)
    path = train.train_or_resume(run, "one")
    assert train.train_or_resume(tiny_run(SMALL, run.folder, override), "one") == path
    policy_file(SMALL, tmp_path / "opponent.safetensors", seed=2)
    changed = tiny_run(SMALL, run.folder, override)
    with pytest.raises(ValueError, match="was started with other agents under the same names"):
        train.train_or_resume(changed, "one")
    with pytest.raises(ValueError, match="was started with other agents under the same names"):
        train.train(changed, resume=True, quiet=True)
    with pytest.raises(ValueError, match="is of another configuration; choose another folder"):
        train.train_or_resume(tiny_run(SMALL, run.folder, override, "seed=5"), "one")


def test_a_run_is_not_resumed_with_its_agents_in_another_order(tmp_path):
    """Seats are drawn by it."""
    override = "opponents.agents={{{}: 1, {}: 1}}"
    run = tiny_run(SCRIPTED, tmp_path / "run", override.format("random", "heuristic"))
    train.train_or_resume(run, "one")
    other = tiny_run(SCRIPTED, run.folder, override.format("heuristic", "random"))
    assert other.config == run.config
    assert run.is_finished
    assert not other.is_finished
    with pytest.raises(ValueError, match="is of another configuration; choose another folder"):
        train.train_or_resume(other, "one")


def test_damaged_files_of_a_run_are_named(tmp_path):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    train.train_or_resume(run, "one")
    run.progress_path.write_text('{"decisions": 0}\n{\n{"decisions": 64}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"progress\.jsonl is damaged"):
        run.progress  # noqa: B018
    for text in ("{}", "[]"):
        run.card_path.write_text(text, encoding="utf-8")
        assert not run.is_finished


def test_files_of_a_run_that_hold_other_things_are_refused(tmp_path, capsys):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    train.train(run, quiet=True)
    progress, origin = run.progress_path.read_text(), run.folder / "agents.json"
    begun = json.loads(origin.read_text())
    for file, text in (
        (run.progress_path, '{"iteration": 1}\n'),
        (run.progress_path, "[" * 100_000 + "\n"),
        (origin, json.dumps({**begun, "threads": "two"})),
    ):
        before = file.read_text()
        file.write_text(text)
        assert train.main(["--resume", str(run.folder), "--set", "decisions=128"]) == 2
        assert f"{file} is damaged" in capsys.readouterr().err
        file.write_text(before)
    assert run.progress_path.read_text() == progress


def test_an_agent_that_forfeits_is_not_imitated(tmp_path, capsys):
    path = tmp_path / "config.yaml"
    given = "imitation={agent: 'cmd:cat', decisions: 64}"
    path.write_text(json.dumps({"game": SMALL.id, **TINY}))
    out = str(tmp_path / "run")
    assert train.main([str(path), "--out", out, "--set", given]) == 2
    assert "imitation.agent: 'cmd:cat' forfeits, which is no move" in capsys.readouterr().err


def test_a_run_that_ended_while_it_began_is_begun_again(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")

    def interrupt(self, command_line):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_note", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train.train_or_resume(run, "one")
    assert train.train_or_resume(run, "one").exists()


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("written", range(8))
def test_a_run_can_be_killed_at_any_moment_of_its_beginning(
    written, resumed, tmp_path, monkeypatch
):
    """Nothing is cleaned up then. The next one begins the same run, or resumes it."""
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    if resumed:
        run.begin("the first")
        run = Run.reopen(run.folder, ["decisions=128"])
    calls = []

    def step(function):
        def killed(*args, **kwargs):
            calls.append(args)
            if len(calls) > written:
                raise KeyboardInterrupt
            return function(*args, **kwargs)

        return killed

    def write():
        if resumed:
            run.note_if_changed("the next")
        else:
            run.begin("the first")

    with monkeypatch.context() as patch:
        # Each file: it is written, then moved. What a killed process has written stays.
        patch.setattr(Path, "open", step(Path.open))
        patch.setattr(os, "replace", step(os.replace))
        patch.setattr(os, "unlink", lambda *args, **kwargs: None)
        with suppress(KeyboardInterrupt):
            write()
    commands = ["the first", "the next"] if resumed else ["the first"]
    if resumed or not run.has_begun():
        write()
    assert run.has_begun()
    assert run.commands == commands
    assert config_module.load(Config, run.folder / "config.yaml") == run.config
    if not resumed:
        assert {path.name for path in run.folder.iterdir()} == {
            "agents.json",
            "command.txt",
            "config.yaml",
        }


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "config.yaml", "ppo.safetensors"])
def test_a_run_does_not_begin_where_anything_else_is(name, tmp_path):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    run.folder.mkdir()
    (run.folder / name).write_text("kept")
    with pytest.raises(ValueError, match="is not empty"):
        run.begin("one")
    assert [path.name for path in run.folder.iterdir()] == [name]


def test_a_run_whose_files_names_are_too_long_does_not_begin(tmp_path, capsys):
    config = tmp_path / "tiny.yaml"
    config.write_text(json.dumps({"game": SMALL.id, **TINY, "name": "a" * 250}))
    words = [str(config), "--out", str(tmp_path / "run")]
    assert train.main(words) == 2
    assert "File name too long" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_an_edited_configuration_is_not_resumed(tmp_path, capsys):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    train.train(run, quiet=True)
    config = run.folder / "config.yaml"
    text, before = config.read_text(), run.checkpoint_path.read_bytes()
    for old, new, message in (
        ("seed: 0", "seed: 1", "seed: 1 was 0"),
        ("n_epochs: 1", "n_epochs: 2", "ppo.n_epochs: 2 was 1"),
        ("reward: score", "reward: win", 'environment.options: {"reward": "win"} was'),
    ):
        assert old in text
        config.write_text(text.replace(old, new))
        assert train.main(["--resume", str(run.folder), "--set", "decisions=128"]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert "of a resumed run decisions can be changed, and nothing else" in error
        assert run.checkpoint_path.read_bytes() == before
    config.write_text(text)
    assert train.main(["--resume", str(run.folder), "--set", "decisions=128"]) == 0


def test_a_run_of_before_its_configuration_was_noted_is_resumed(tmp_path):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    run.begin("one")
    noted = json.loads((run.folder / "agents.json").read_text())
    (run.folder / "agents.json").write_text(json.dumps({k: noted[k] for k in ("game", "agents")}))
    run.check_resumable()
    for damaged in ("[1]", '{"config": 3}'):
        (run.folder / "agents.json").write_text(damaged)
        with pytest.raises(ValueError, match=r"agents\.json is damaged"):
            run.check_resumable()


@pytest.mark.parametrize(
    "lines",
    [
        *("[1, 2]", "1", "null", "{}"),
        *('{"decisions": "many"}', '{"decisions": 0, "vs_random": [1]}'),
        *('{"decisions": 0, "vs_a_ci95": 1}', '{"decisions": 0, "vs_a_ci95": [1]}'),
        '{"decisions": 0, "vs_random": 0.5}\n{"decisions": 64}',
    ],
)
def test_a_progress_of_other_json_is_named(lines, tmp_path, capsys):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    run.begin("one")
    run.progress_path.write_text(f"{lines}\n", encoding="utf-8")
    assert train.main(["--resume", str(run.folder)]) == 2
    assert "progress.jsonl is damaged: line " in capsys.readouterr().err
    run.progress_path.write_bytes(b"\xff\n")
    assert train.main(["--resume", str(run.folder)]) == 2
    assert "progress.jsonl is damaged: " in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_not_resumed_in(tmp_path, capsys, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    run.begin("one")

    def refuse(**where):
        raise OSError(30, "Read-only file system", where["dir"])

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert train.main(["--resume", str(run.folder)]) == 2
    error = capsys.readouterr().err
    assert f"{run.folder} cannot be written: Read-only file system" in error
    assert not (run.folder / "tensorboard").exists()


def test_a_folder_that_is_a_circle_of_links_is_refused(tmp_path, capsys):
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    config = tmp_path / "tiny.yaml"
    config.write_text(json.dumps({"game": SMALL.id, **TINY}))
    for words in ([str(config), "--out"], ["--resume"]):
        assert train.main([*words, str(tmp_path / "one")]) == 2
        assert "symbolic links" in capsys.readouterr().err


def test_another_trainer_is_told_in_one_line(tmp_path, monkeypatch, caplog):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    train.train(run, quiet=True)
    with caplog.at_level("WARNING", "card_envs"):
        train.train(Run.reopen(run.folder, ["decisions=128"]), resume=True, quiet=True)
        assert not caplog.records
        monkeypatch.setattr("training.runs.records.trainer", dict)
        train.train(Run.reopen(run.folder, ["decisions=192"]), resume=True, quiet=True)
    (record,) = caplog.records
    assert "other sources of training/ or another version of torch" in record.getMessage()
    origin = run.folder / "agents.json"  # a run that began before this was noted
    noted = json.loads(origin.read_text())
    del noted["trainer"]
    origin.write_text(json.dumps(noted))
    caplog.clear()
    with caplog.at_level("WARNING", "card_envs"):
        train.train(Run.reopen(run.folder, ["decisions=256"]), resume=True, quiet=True)
    assert not caplog.records


def test_a_commit_is_that_of_the_beginning_and_says_if_files_differ(tmp_path):
    def git(*words):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", tmp_path, *name, *words], check=True, capture_output=True)

    assert commit_of(tmp_path / "nowhere") is None
    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "first")
    first = commit_of(tmp_path)
    assert re.fullmatch("[0-9a-f]{7,}", first)
    git("commit", "--allow-empty", "-m", "second")
    assert commit_of(tmp_path) == first
    commit_of.cache_clear()
    (tmp_path / "file").write_text("two")
    assert re.fullmatch("[0-9a-f]{7,}-dirty", commit_of(tmp_path))
    commit_of.cache_clear()


def test_another_number_of_threads_is_told_in_one_line(tmp_path, monkeypatch, caplog):
    """Torch's sums depend on it."""
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64", "threads=null")
    monkeypatch.setattr(run_module, "_DEFAULT_THREADS", 1)
    train.train(run, quiet=True)
    with caplog.at_level("WARNING", "card_envs"):
        train.train(Run.reopen(run.folder, ["decisions=128"]), resume=True, quiet=True)
        assert not caplog.records
        monkeypatch.setattr(run_module, "_DEFAULT_THREADS", 2)
        train.train(Run.reopen(run.folder, ["decisions=192"]), resume=True, quiet=True)
    (record,) = caplog.records
    assert "began with 1 thread of torch and resumes with 2" in record.getMessage()
    assert "OMP_NUM_THREADS=1" in record.getMessage()
    fixed = tiny_run(SMALL, tmp_path / "fixed", "decisions=64", "threads=1")
    train.train(fixed, quiet=True)
    monkeypatch.setattr(run_module, "_DEFAULT_THREADS", 3)
    train.train(Run.reopen(fixed.folder, ["decisions=128"]), resume=True, quiet=True)
    use_threads(3)  # of another run
    train.train_or_resume(Run.reopen(fixed.folder), "")
    assert len(caplog.records) == 1
    use_threads(1)


def test_threads_that_a_run_has_set_are_not_left_to_the_next_one():
    before = torch.get_num_threads()
    use_threads(None)
    default = torch.get_num_threads()
    use_threads(default + 1)
    assert torch.get_num_threads() == default + 1
    use_threads(None)
    assert torch.get_num_threads() == default
    torch.set_num_threads(before)


def test_a_finished_run_is_not_taken_for_one_by_other_rules(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")
    train.train_or_resume(run, "one")
    monkeypatch.setattr(Game, "sources", "changed")
    with pytest.raises(ValueError, match="was started with other sources of"):
        train.train_or_resume(run, "one")


def test_a_run_that_ended_before_its_first_checkpoint_is_begun_again(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "run", "decisions=64")

    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_evaluate", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train.train_or_resume(run, "one")
    train.train_or_resume(run, "one")
    assert [entry["decisions"] for entry in run.progress] == [0, 64]


@pytest.mark.slow
def test_games_of_other_packages_can_be_trained(tmp_path):
    """By a fresh process, which knows them from --games-from alone."""
    package = sys.modules[SMALL.package]
    folder = Path(package.__file__).parent.parent
    config = tmp_path / "tiny.yaml"
    config.write_text(json.dumps({"game": SMALL.id, **TINY, "decisions": 64}))
    words = [str(config), "--games-from", SMALL.package, "--out", str(tmp_path / "run")]
    subprocess.run(
        [sys.executable, "-m", "training.train", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])},
        check=True,
        capture_output=True,
    )
    card = json.loads((tmp_path / "run" / "ppo.json").read_text())
    assert f"--games-from {SMALL.package}" in card["commands"][0]


# ---------------------------------------------------------------------------------------------
# Evaluations
# ---------------------------------------------------------------------------------------------

#: What stands for the rules of a run.
RULES = {"any": "rule"}


@pytest.fixture
def asked(monkeypatch):
    """What ``against`` is asked for, call by call; nothing is played."""
    calls = []

    def noted(game, agent, others, sizes, seeds, options=None, agent_seed=0):
        calls.append((agent, others, [*sizes], seeds.tolist(), options, agent_seed))
        row = {"rank": 0.0, "rank_ci95": None, "truncated": 0.0}
        return [{"num_players": n, **row} for n in sizes], estimate_mean(np.zeros(2))

    monkeypatch.setattr(evaluation, "against", noted)
    return calls


def test_a_run_is_evaluated_by_its_options():
    run = tiny_run(SMALL, HERE, "environment.options.max_steps=1")
    found = evaluation.evaluate_learner(run, run.learner(random_network(SMALL)))
    assert found["truncated"] == 1


def test_runs_and_studies_are_evaluated_on_deals_of_their_own(asked):
    """Neither are the other's, or those of a tournament with the default seed."""
    run = tiny_run(SMALL, HERE, "evaluation={deals: 500, against: [random]}")
    evaluation.evaluate_learner(run, run.learner(random_network(SMALL)))
    study.ranks_against(run, "random", ["random"], 500, [SMALL.min_players])
    of_run, of_study = (set(seeds) for _, _, _, seeds, *_ in asked)
    assert len(of_run | of_study | {*deal_seeds(0, 500).tolist()}) == 1500


def test_one_agent_is_measured_on_the_given_deals_by_the_given_rules(asked):
    found = evaluation.one_against(SMALL, "one", "others", 4, 3, 5, RULES, 7)
    assert asked == [("one", "others", [4], deal_seeds(5, 3).tolist(), RULES, 7)]
    assert found == {"rank": 0.0, "rank_ci95": None, "truncated": 0.0}


def test_shares_of_victories_of_one_who_always_loses_begin_at_0(monkeypatch):
    def play(game, agent, others, sizes, seeds, options, *, agent_seed):
        standing = np.tile([0.0, 1.0], (len(seeds), 2, 1))
        cut = np.zeros((len(seeds), 2), bool)
        return [(n, MatchResults(standing, np.zeros_like(standing), cut)) for n in sizes]

    monkeypatch.setattr(evaluation, "play", play)
    [row], _ = evaluation.against(SMALL, "one", "others", [2], deal_seeds(0, 10))
    assert row["win"] == row["win_ci95"][0] == 0.0 < row["win_ci95"][1]


def test_a_study_measures_by_the_rules_of_the_run(asked, monkeypatch):
    monkeypatch.setattr(Run, "rules", RULES)
    found = study.ranks_against(tiny_run(SMALL, HERE), "one", ["this", "that"], 3, [2, 4])
    assert [(*names, sizes) for *names, sizes, _, _, _ in asked] == [
        ("one", "this", [2, 4]),
        ("one", "that", [2, 4]),
    ]
    assert all(options == RULES for *_, options, _ in asked)
    assert found == {name: {"2": 0.0, "4": 0.0} for name in ("this", "that")}


def test_a_response_is_measured_by_the_rules_of_the_run(asked, monkeypatch, tmp_path):
    """Its policy and the search, on the deals of the seed that the command names."""
    n = SMALL.min_players
    against = f"environment.num_players={n}", "opponents={pool: 0, agents: {random: 1}}"
    config = tiny_config(SMALL, "decisions=64", *against)
    args = SimpleNamespace(seed=5, deals=3, search="search:8", search_deals=4)
    monkeypatch.setattr(Run, "rules", RULES)
    best_response.respond(SMALL, config, tmp_path / "run", args, "")
    policy = str(tmp_path / "run" / "ppo.safetensors")
    assert asked[-2:] == [
        (policy, "random", [n], deal_seeds(5, 3).tolist(), RULES, 5),
        ("search:8,policy=random", "random", [n], deal_seeds(5, 4).tolist(), RULES, 5),
    ]


# ---------------------------------------------------------------------------------------------
# Shipped policies
# ---------------------------------------------------------------------------------------------


def test_shipping_puts_strength_on_the_card(tmp_path, monkeypatch, capsys):
    run = tiny_run(SMALL, tmp_path / "one", "decisions=64")
    train.train(run, command_line="one", quiet=True)
    folder = tmp_path / "package" / "policies"
    for module in (ship, shipped):
        monkeypatch.setattr(module, "policies_folder", lambda game: folder)
    earlier = policy_file(SMALL, tmp_path / "ppo_v1.safetensors")
    monkeypatch.setattr(ship, "predecessors", lambda game: [earlier])
    one = str(run.folder)
    measured = ship.strength

    def strength(*args):
        """Nobody can train in the folder meanwhile."""
        assert int(run._files.owner.read_text()) == os.getpid()
        return measured(*args)

    monkeypatch.setattr(ship, "strength", strength)
    assert ship.main([one, "--deals", "2", "--seed", "5"]) == 0
    assert not run._files.owner.exists()
    monkeypatch.setattr(ship, "strength", measured)
    assert (folder / "ppo.safetensors").read_bytes() == run.policy_path.read_bytes()
    card = json.loads((folder / "ppo.json").read_text())
    assert card["commands"] == ["one"]
    assert card["curve"] == run.progress
    assert "| 0 | " in TABLES["policies"](card)  # the decisions before the first evaluation
    assert card["strength"]["command"].endswith("ship RUN --deals 2 --seed 5")
    assert card["strength"]["sha256"] == hash_of_agent(str(run.policy_path), SMALL)
    assert "| `ppo` | `ppo_v1` |" in TABLES["policies"](card)
    assert f"\n| {SMALL.title} | " in overview({SMALL.id: card}, {})
    rows = card["strength"]["results"]
    scripted = ["heuristic"] if SMALL.heuristic else []
    tables = [*(("ppo", name) for name in [*scripted, earlier, "random"])]
    tables += [(name, "random") for name in scripted]
    assert [(row["name"], row["opponents"], row["num_players"]) for row in rows] == [
        (*table, players) for table in tables for players in SMALL.table_sizes
    ]
    assert all(row["truncated"] == 0 for row in rows)
    with pytest.raises(TypeError, match="houses"):  # the run's rules are those that are measured
        ship.strength(SMALL, "ppo", 2, 5, {"houses": 9})
    first = (folder / "ppo.json").read_bytes()
    capsys.readouterr()
    assert ship.main([one, "--deals", "3"]) == 2
    assert "already has a shipped policy 'ppo': --replace replaces it" in capsys.readouterr().err
    assert (folder / "ppo.json").read_bytes() == first
    assert ship.main([one, "--deals", "3", "--replace"]) == 0
    assert json.loads((folder / "ppo.json").read_text())["strength"]["deals"] == 3
    assert ship.main([str(tmp_path / "nowhere")]) == 2
    run.card_path.unlink()
    assert ship.main([one]) == 2
    assert "is not finished" in capsys.readouterr().err


def test_a_policy_of_another_packages_game_is_shipped_into_that_package(tmp_path, monkeypatch):
    run = tiny_run(SMALL, tmp_path / "one", "decisions=64")
    train.train(run, command_line="one", quiet=True)
    folder = tmp_path / "package"
    monkeypatch.setattr(shipped, "folder_of", lambda game: folder)
    assert shipped.shipped_policies(SMALL) == []
    assert ship.main([str(run.folder), "--deals", "2"]) == 0
    assert shipped.shipped_policies(SMALL) == ["ppo"]
    assert make_agent("ppo", SMALL).name == "ppo"
    assert (folder / "policies" / "ppo.json").exists()


@pytest.mark.parametrize("game", SHIPPED)
@pytest.mark.slow
def test_shipped_policies_have_their_cards_and_hold_what_they_say(game, monkeypatch):
    """Few deals here: a policy must not be weaker than the intervals on its card allow."""
    monkeypatch.chdir(ROOT)
    folder = ROOT / "card_envs" / "policies" / game.id
    card = json.loads((folder / "ppo.json").read_text())
    assert {"config", "seed", "commands", "decisions", "versions", "strength"} <= set(card)
    assert (folder / "ppo.safetensors").stat().st_size < 2_000_000
    agent = make_agent("ppo", game)
    assert agent.view == View(card["memory"], card["features"])
    Config.model_validate(card["config"])
    rows = card["strength"]["results"]
    sizes = list(game.table_sizes)
    others = [*(["heuristic"] if game.heuristic else []), *predecessors(game), "random"]
    pairs = [("ppo", other) for other in others]
    pairs += [("heuristic", "random")] * (game.heuristic is not None)
    assert [(row["name"], row["num_players"]) for row in rows] == [
        (name, n) for name, _ in pairs for n in sizes
    ]
    measured = ship.strength(game, "ppo", 100, 77)["results"]
    for row, again in zip(rows, measured, strict=True):
        assert again["rank_ci95"][1] > row["rank_ci95"][0] - 0.02
        assert again["rank_ci95"][0] < row["rank_ci95"][1] + 0.02


def test_the_overview_is_of_the_cards():
    cards, searches = committed("policies"), committed("search")
    assert set(cards) == {param.id for param in SHIPPED}
    rows = overview(cards, searches).splitlines()
    for (game,) in (param.values for param in SHIPPED):
        means = {
            m["opponents"]: m for m in cards[game.id]["strength"]["means"] if m["name"] == "ppo"
        }
        row = next(row for row in rows if row.startswith(f"| {game.title} | +"))
        assert f"| {means['heuristic']['rank']:+.3f} (" in row
        for table in searches[game.id]["results"]["tables"]:
            shown = f"{table['num_players']} players {table['rank']:+.3f} ("
            assert (shown in row) == (table["agent"] == "search:64")


# ---------------------------------------------------------------------------------------------
# A folder belongs to one process
# ---------------------------------------------------------------------------------------------


def test_links_beside_a_run_lead_to_nothing_that_it_writes(tmp_path):
    run, victim = tiny_run(SMALL, tmp_path / "run"), tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".run.pid").symlink_to(victim)
    with run.lock():
        assert (tmp_path / ".run.pid").read_text() == str(os.getpid())
    assert not (tmp_path / ".run.pid").exists()
    (tmp_path / ".run.lock").unlink(missing_ok=True)
    (tmp_path / ".run.lock").symlink_to(victim)
    with pytest.raises(ValueError, match=r"\.run\.lock is a link"), run.lock():
        pass
    assert victim.read_text() == "precious"


@pytest.mark.slow
def test_a_second_process_is_refused(tmp_path, capsys):
    run = tiny_run(SMALL, tmp_path / "run")
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps({"game": SMALL.id, **TINY}))
    code = "import sys; from training.train import main; sys.exit(main(sys.argv[1:]))"
    new, resumed = [str(path), "--out", str(run.folder)], ["--resume", str(run.folder)]
    games = [word for g in (SMALL,) if not kit_of(g).is_own for word in ("--games-from", g.package)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with run.lock():
        for arguments in (new, resumed):
            if arguments is resumed:
                run.begin("training.train")
            second = subprocess.run(
                [sys.executable, "-c", code, *arguments, *games],
                capture_output=True,
                text=True,
                env=environment,
            )
            assert second.returncode == 2
            assert second.stderr.splitlines()[-1] == (
                f"training.train: error: {run.folder} belongs to another process, which is "
                f"training in it: {os.getpid()}"
            )
    assert train.train_or_resume(run, "one").exists()
    assert not list(tmp_path.glob(".*.pid"))


def test_a_last_line_that_is_not_complete_is_ignored(tmp_path, caplog):
    run = tiny_run(SMALL, tmp_path / "run")
    run.begin("training.train")
    run.add_progress({"decisions": 0})
    with run.progress_path.open("a", encoding="utf-8") as file:
        file.write('{"decis')
    with caplog.at_level("WARNING", "card_envs"):
        assert run.progress == [{"decisions": 0}]
    assert str(run.progress_path) in caplog.text
    run.forget_after(0)
    assert run.progress_path.read_text(encoding="utf-8") == '{"decisions": 0}\n'


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path, monkeypatch, capsys):
    run = tiny_run(SMALL, tmp_path / "run")
    train.train(run, quiet=True)
    before = run.checkpoint_path.read_bytes()
    run.policy_path.unlink()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert train.main(["--resume", str(run.folder), "--set", "decisions=256"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("No space left on device")
    assert run.checkpoint_path.read_bytes() == before
    assert not list(run.folder.glob(".*"))
