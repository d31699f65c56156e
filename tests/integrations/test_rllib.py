"""RLlib learns a game, here and on two nodes; a Ray cluster plays the leaderboard."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import ray
import torch
from helpers import ALL_GAMES, kit_of
from integrations.learners import check_learner
from integrations.pages import run_page
from ray.cluster_utils import Cluster
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.tune.registry import ENV_CREATOR, _global_registry

import card_envs
from benchmarks import algorithms, strength
from card_envs.agents import make_agent
from card_envs.integrations.rllib import CardMultiAgentEnv, policy_function, register_game
from training import improve
from training.runs import tasks

GAME = ALL_GAMES[0]

ROOT = Path(__file__).parents[2]
NODE = {"num_cpus": 1, "object_store_memory": 100_000_000}


@pytest.fixture(scope="module")
def page():
    names = run_page("rllib")
    ray.shutdown()  # what the tests need of it is in this process
    return names


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of one CPU each, on this machine."""
    two_nodes = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    two_nodes.add_node(**NODE)
    two_nodes.wait_for_nodes()
    monkeypatch.setenv("RAY_ADDRESS", two_nodes.address)
    yield two_nodes
    ray.shutdown()
    two_nodes.shutdown()


# ---------------------------------------------------------------------------------------------
# The environment
# ---------------------------------------------------------------------------------------------


def travel(value):
    """It comes out of a pickle whose buffers may not be written."""
    buffers = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])


def test_environments_and_modules_can_be_pickled():
    env = CardMultiAgentEnv({"game": GAME.id})
    env.reset(seed=1)
    twin = travel(env)
    action = {env.env.agent_selection: env.env.legal_actions()[0]}
    (here, *others), (there, *same) = env.step(action), twin.step(action)
    assert others == same
    for agent, observed in here.items():
        for key, array in observed.items():
            assert there[agent][key].tobytes() == array.tobytes()
    function = policy_function(LastLegal())
    mask = np.array([[1, 1, 0], [1, 0, 0]], np.int8)
    observation = np.zeros((2, 4), np.float32)
    assert travel(function)(observation, mask).tolist() == [1, 0]


class LastLegal:
    """Stands for a trained module."""

    def forward_inference(self, batch):
        mask = batch["obs"]["action_mask"]
        return {"action_dist_inputs": mask * mask.new_tensor(range(mask.shape[1]))}


@pytest.mark.parametrize("game", card_envs.GAMES)
@pytest.mark.parametrize(
    "options",
    [{}, {"reward": "score"}, {"reward": "win"}, {"max_steps": 2}, {"max_steps": 31}],
    ids=str,
)
def test_agents_observe_in_their_turns_and_get_all_that_they_are_paid(game, options):
    """As in the AEC environment; RLlib's episodes have the sums of its rewards as returns."""
    loaded = card_envs.load_game(game)
    num_players = min(max(3, loaded.min_players), loaded.max_players)
    options = {"num_players": num_players, **options}
    env = CardMultiAgentEnv({"game": game, **options})
    aec = card_envs.make(game, **options)
    rng = np.random.default_rng(0)
    for seed in range(3):
        episode = MultiAgentEpisode(
            observation_space=env.observation_spaces, action_space=env.action_spaces
        )
        aec.reset(seed=seed)
        observations, infos = env.reset(seed=seed)
        episode.add_env_reset(observations=observations, infos=infos)
        paid = dict.fromkeys(env.possible_agents, 0.0)
        movers = set()
        while not episode.is_done:
            agent = aec.agent_selection
            assert list(observations) == [agent]
            seen = aec.observe(agent)
            assert env.observation_spaces[agent].contains(observations[agent])
            assert (observations[agent]["observations"] == seen["observation"]).all()
            assert (observations[agent]["action_mask"] == seen["action_mask"]).all()
            actions = {agent: int(rng.choice(np.flatnonzero(seen["action_mask"])))}
            aec.step(actions[agent])
            observations, rewards, terminated, truncated, infos = env.step(actions)
            episode.add_env_step(
                observations,
                actions,
                rewards,
                infos,
                terminateds=terminated,
                truncateds=truncated,
            )
            movers.add(agent)
            for name, reward in aec.rewards.items():
                paid[name] += reward
        assert set(observations) == set(env.possible_agents)
        # What has paid its standing is not bootstrapped.
        is_cut = aec.truncations[agent] and aec.options["reward"] == "score"
        everybody = [*aec.possible_agents, "__all__"]
        assert terminated == dict.fromkeys(everybody, not is_cut)
        assert truncated == dict.fromkeys(everybody, is_cut)
        returns = {name: own.get_return() for name, own in episode.agent_episodes.items()}
        assert returns == pytest.approx({name: paid[name] for name in movers})


def test_processes_of_a_cluster_get_a_game_of_another_package():
    """It is registered here alone."""
    game = next(game for game in ALL_GAMES if not kit_of(game).is_own)
    name = register_game(game.name)
    create = ray.cloudpickle.dumps(_global_registry.get(ENV_CREATOR, name))
    program = (
        "import sys, ray\n"
        f"env = ray.cloudpickle.loads({create!r})({{}})\n"
        "print(env.reset(seed=1)[0].keys(), env.env.game.name)"
    )
    folders = os.pathsep.join([str(ROOT / "tests" / "fixtures"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": folders}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f" {name}\n")


def test_it_renders_and_closes():
    env = CardMultiAgentEnv({"game": GAME.id, "render_mode": "ansi"})
    env.reset(seed=1)
    assert env.render_mode == "ansi"
    assert GAME.title in env.render()
    env.close()


def test_a_module_that_masks_nothing_plays_the_best_legal_action():
    class Unmasked:
        def forward_inference(self, batch):
            size = batch["obs"]["action_mask"].shape
            return {"action_dist_inputs": torch.arange(size[1]).expand(size).float()}

    mask = np.zeros((2, GAME.num_actions), np.int8)
    mask[0, 3] = mask[0, 1] = mask[1, 0] = 1
    seen = np.zeros((2, GAME.fields.size), np.float32)
    assert policy_function(Unmasked())(seen, mask).tolist() == [3, 0]


def test_returns_of_sampled_games_are_the_rank_rewards(page):
    """By the final places, of vectorized games that RLlib's own runner plays."""
    register_game(GAME.id)  # the page's own went with its cluster
    config = page["algorithm"].config.copy(copy_frozen=False)
    runner = MultiAgentEnvRunner(config=config.env_runners(num_envs_per_env_runner=4))
    episodes = runner.sample(num_episodes=20)
    runner.stop()
    assert len(episodes) >= 20
    returns = []
    for episode in episodes:
        place = {name: own.get_infos(-1)["place"] for name, own in episode.agent_episodes.items()}
        assert len(place) == 3
        for name, own in episode.agent_episodes.items():
            others = [place[other] for other in place if other != name]
            rank = np.mean(np.sign(np.subtract(others, place[name])))
            assert own.get_return() == pytest.approx(rank)
            returns.append(rank)
    assert len(set(returns)) > 1


def test_an_illegal_action_ends_the_game():
    env = CardMultiAgentEnv({"game": GAME.id, "num_players": 3})
    observations, _ = env.reset(seed=0)
    (agent,) = observations
    illegal = int(observations[agent]["action_mask"].argmin())
    _, rewards, terminated, truncated, _ = env.step({agent: illegal})
    assert rewards == {**dict.fromkeys(env.possible_agents, 0.0), agent: -1.0}
    assert terminated["__all__"]
    assert not truncated["__all__"]


def test_wrong_input_names_the_mistake():
    with pytest.raises(ValueError, match="chess"):
        register_game("chess")
    with pytest.raises(ValueError, match="needs the key 'game'"):
        CardMultiAgentEnv({"num_players": 3})
    with pytest.raises(ValueError, match="takes no 'mask'"):
        CardMultiAgentEnv({"game": GAME.id, "mask": "info"})
    with pytest.raises(ValueError, match="num_players=99"):
        CardMultiAgentEnv({"game": GAME.id, "num_players": 99})
    env = CardMultiAgentEnv({"game": GAME.id, "num_players": 3})
    (agent,) = env.reset(seed=0)[0]
    with pytest.raises(ValueError, match=f"it is the turn of {agent} alone, got actions of \\[\\]"):
        env.step({})


# ---------------------------------------------------------------------------------------------
# Learning
# ---------------------------------------------------------------------------------------------


def test_ppo_beats_random(page):
    low, _ = page["result"].agents[0].rank.interval
    assert low > 0


def test_the_learned_policy_plays_whole_games(page):
    """Without an illegal action, at another table size as well."""
    for num_players in (3, 5):
        env = card_envs.make(GAME.id, num_players=num_players, on_illegal="raise")
        for seed in range(10):
            env.reset(seed=seed)
            while not all(env.terminations.values()):
                seen = env.observe(env.agent_selection)
                actions = page["learned"](seen["observation"][None], seen["action_mask"][None])
                env.step(int(actions[0]))


def test_the_exported_policy_is_the_module(page, tmp_path):
    module = page["algorithm"].get_module("shared")
    card_envs.export_policy(module, GAME, tmp_path / "policy.onnx")
    rng = np.random.default_rng(1)
    observation = rng.random((50, GAME.fields.size), np.float32)
    mask = (rng.random((50, GAME.num_actions)) < 0.5).astype(np.int8)
    mask[:, 0] = 1
    exported = make_agent(tmp_path / "policy.onnx", GAME)
    actions, _ = exported.model.act(observation, mask, {})
    assert actions.tolist() == policy_function(module)(observation, mask).tolist()


def test_training_on_two_nodes(page, cluster):
    ray.init(cluster.address, log_to_driver=False)
    algorithm = page["train"](iterations=1)
    nodes = algorithm.env_runner_group.foreach_env_runner(
        lambda runner: ray.get_runtime_context().get_node_id(), local_env_runner=False
    )
    assert len(set(nodes)) == 2
    sampled = algorithm.metrics.peek(("env_runners", "num_env_steps_sampled_lifetime"))
    assert sampled >= 2000
    algorithm.stop()


# ---------------------------------------------------------------------------------------------
# The leaderboard
# ---------------------------------------------------------------------------------------------


WORDS = ("--game", GAME.id, "--agents", "random", "heuristic", "ppo", "--deals", "3")


def _leaderboard(folder: Path, *words: str) -> bytes:
    """The bytes of a small leaderboard's JSON."""
    path = folder / "strength.json"
    argv = [*WORDS, "--json", str(path), "--cache", str(folder / "cache"), *words]
    assert strength.main(argv) == 0
    return path.read_bytes()


@pytest.fixture(scope="module")
def played_here(tmp_path_factory):
    return _leaderboard(tmp_path_factory.mktemp("here"), "--jobs", "1")


@pytest.mark.parametrize("jobs", ["-1", "1"])
def test_two_nodes_give_the_same_bytes(jobs, played_here, cluster, tmp_path):
    assert _leaderboard(tmp_path, "--backend", "ray", "--jobs", jobs) == played_here
    assert not ray.is_initialized()


def test_a_cluster_that_is_gone_is_not_waited_for(played_here, tmp_path):
    """Ray remembers the last one in a file, and would wait for it without an address."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a short path, for Ray's sockets
        Path(folder, "ray").mkdir()
        Path(folder, "ray", "ray_current_cluster").write_text("127.0.0.1:1")
        environment = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"}
        path = tmp_path / "strength.json"
        words = [*WORDS, "--backend", "ray", "--json", path, "--cache", tmp_path / "cache"]
        subprocess.run(
            [sys.executable, "-m", "benchmarks.strength", *words],
            env={**environment, "RAY_TMPDIR": folder},
            cwd=ROOT,
            check=True,
            timeout=180,
        )
    assert json.loads(path.read_bytes()) == json.loads(played_here)


def test_clusters_that_cannot_play_name_the_mistake(tmp_path, monkeypatch, capsys, caplog):
    argv = ["--game", GAME.id, "--agents", "random", "heuristic", "--deals", "2"]
    argv += ["--cache", str(tmp_path), "--backend", "ray"]
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert strength.main(argv) == 2
    assert "no Ray cluster answers at RAY_ADDRESS=127.0.0.1:1" in capsys.readouterr().err
    head = {**NODE, "num_cpus": 0, "include_dashboard": False}
    without_cpus = Cluster(initialize_head=True, head_node_args=head)
    monkeypatch.setenv("RAY_ADDRESS", without_cpus.address)
    monkeypatch.setattr(tasks, "_SECONDS_TO_REPORT", 1)
    monkeypatch.setattr(tasks, "_SECONDS_TO_GIVE_UP", 0)
    assert strength.main(argv) == 2
    without_cpus.shutdown()
    assert "no task was finished within 1 s: " in caplog.text
    stalled = "no task was finished within 2 s: 15 are running or wait, 0 of the cluster's 0 CPUs"
    assert stalled in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# Methods compared
# ---------------------------------------------------------------------------------------------


def test_the_learner_leaves_a_policy(tmp_path):
    check_learner("rllib_ppo", tmp_path / "out")


def test_a_cluster_makes_cells(cluster, tmp_path):
    """Also of learners that run in a process of their own, in the clone."""
    learner = {"about": "x", "command": "python -m benchmarks.learners.dmc", "configs": {"a": ""}}
    comparison = {
        "games": {GAME.id: 3},
        "cpu_minutes": 0.01,
        "against": ["random"],
        "tuning": {"seeds": [10], "deals": 5, "deals_seed": 1},
        "reported": {"seeds": [1, 2], "deals": 5, "deals_seed": 2},
        "methods": {"dmc": learner},
    }
    path, results = tmp_path / "comparison.yaml", tmp_path / "results.json"
    path.write_text(json.dumps(comparison))
    words = ["--comparison", str(path), "--cells", str(tmp_path), "--backend", "ray"]
    assert algorithms.main([*words, "--json", str(results)]) == 0
    methods = json.loads(results.read_text())["results"]["methods"]
    assert [run["seed"] for run in methods["dmc"]["games"][GAME.id]["runs"]] == [1, 2]


# ---------------------------------------------------------------------------------------------
# Expert iteration
# ---------------------------------------------------------------------------------------------


def test_a_cluster_makes_the_same_policy(cluster, tmp_path):
    config = {
        "game": GAME.id,
        "agent": "ppo",
        "iterations": 1,
        "environment": {"num_envs": 8, "num_players": 2},
        "labels": {"count": 60, "shard": 20, "worlds": 1, "candidates": 2},
        "fit": {"epochs": 1},
        "evaluation": {"deals": 2, "players": [2], "against": ["random"]},
    }
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps(config))
    made = []
    for backend in ("loky", "ray"):
        folder = tmp_path / backend
        words = [str(path), "--out", str(folder), "--jobs", "1", "--backend", backend]
        assert improve.main(words) == 0
        shards = sorted((folder / "labels").iterdir())
        assert len(shards) == 3
        made.append([x.read_bytes() for x in (*shards, folder / "ppo.safetensors")])
    assert made[0] == made[1]
