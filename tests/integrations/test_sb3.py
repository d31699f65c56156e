"""Stable-Baselines3: the documentation's page, ``CardVecEnv``, agents and the callback."""

from __future__ import annotations

import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch
from helpers import ALL_GAMES, FEW_GAMES, needs_training
from integrations.pages import run_page
from sb3_contrib import MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.callbacks import StopTrainingOnRewardThreshold
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

from card_envs import export_policy
from card_envs.agents import NetworkAgent
from card_envs.contract.options import View
from card_envs.envs.single_seat import SingleSeatEnv
from card_envs.evaluation import evaluate
from card_envs.integrations.sb3 import DealsEvalCallback, as_agent, make_vec_env

GAME = ALL_GAMES[0]

TABLE = {"num_players": 3, "opponents": "random"}
TINY = {"policy_kwargs": {"net_arch": [16]}, "seed": 0}


@pytest.fixture(autouse=True)
def _without_side_effects(monkeypatch):
    monkeypatch.setattr(gymnasium.logger, "min_level", gymnasium.logger.ERROR)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def masked_actions(env, rng):
    masks = get_action_masks(env)
    return (rng.random(masks.shape) * masks).argmax(axis=1)


# ---------------------------------------------------------------------------------------------
# The page, and the script
# ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_trains_a_model_that_beats_random(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = run_page("sb3")
    assert page["result"].agents[0].rank.low > 0.2
    assert page["evaluation"].best_mean_reward > 0.2
    assert (tmp_path / "runs" / "sb3" / "best_model.zip").exists()
    page["stronger"].reset()
    processes, rng = page["make_processes"](), np.random.default_rng(0)
    try:
        assert processes.reset().shape[0] == 2
        for _ in range(5):
            _, rewards, dones, _ = processes.step(masked_actions(processes, rng))
            assert (rewards[~dones] == 0).all()
    finally:
        processes.close()


@needs_training
@pytest.mark.parametrize("game", FEW_GAMES)
def test_the_script_leaves_the_models_policy(game, tmp_path, capsys):
    from training import sb3_ppo

    words = ["--game", game.id, "--decisions", "1", "--deals", "5", "--out", str(tmp_path)]
    assert sb3_ppo.main([*words, "--opponents", "random"]) == 0
    printed = capsys.readouterr().out
    assert "4,096 decisions, " in printed
    assert "against random: rank " in printed
    agent = NetworkAgent.from_file(tmp_path / "policy.safetensors", game)
    model, _ = sb3_ppo.train(game.id, game.default_players, "random", 1, 0)
    assert model.policy.optimizer.param_groups[0]["lr"] >= 0
    export_policy(model, game, tmp_path / "again.safetensors")
    written = [path.read_bytes() for path in sorted(tmp_path.glob("*.safetensors"))]
    assert written[0] == written[1]
    envs = model.get_env()
    observation = envs.reset()
    masks = get_action_masks(envs)
    expected, _ = model.predict(observation, action_masks=masks, deterministic=True)
    assert (agent.network.act(observation, masks.astype(np.int8)) == expected).all()
    assert sb3_ppo.main([*words, "--opponents", "nobody"]) == 2
    assert "there is no agent 'nobody'" in capsys.readouterr().err
    (tmp_path / "file").touch()
    for wrong in (["--decisions", "0"], ["--deals", "1"], ["--seed", "-1"]):
        assert sb3_ppo.main([*words, *wrong]) == 2
    with pytest.raises(SystemExit):  # nothing is trained for a folder that cannot be written
        sb3_ppo.main([*words, "--out", str(tmp_path / "file")])
    assert f"{tmp_path / 'file'} is not a folder" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# CardVecEnv
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("legal", [True, False])
def test_the_batch_is_sb3s_own_vector_of_single_seats(legal):
    """Step by step, also through truncations and illegal actions."""
    arguments = {**TABLE, "max_steps": 30, "reward": "score"}
    batch = make_vec_env(GAME.id, 4, **arguments)
    single = DummyVecEnv([lambda: SingleSeatEnv(GAME.id, **arguments)] * 4)
    assert batch.observation_space == single.observation_space
    assert batch.action_space == single.action_space
    rng = np.random.default_rng(0)
    ended = dict.fromkeys((True, False), 0)
    for seed in (5, None):
        if seed is not None:
            assert batch.seed(seed) == single.seed(seed)
        assert (batch.reset() == single.reset()).all()
        for _ in range(150):
            assert (get_action_masks(batch) == get_action_masks(single)).all()
            for name in ("game_seed", "seat"):
                assert batch.get_attr(name) == single.get_attr(name)
            actions = masked_actions(single, rng)
            if not legal:
                actions[rng.random(4) < 0.02] = 96
            observation, rewards, dones, infos = batch.step(actions)
            expected, *others, expected_infos = single.step(actions)
            assert (observation == expected).all()
            assert rewards.dtype == np.float32
            assert (rewards == others[0]).all()
            assert (dones == others[1]).all()
            for info, one, done in zip(infos, expected_infos, dones, strict=True):
                assert bool(info) == done
                if done:
                    assert info["TimeLimit.truncated"] == one["TimeLimit.truncated"]
                    assert (info["terminal_observation"] == one["terminal_observation"]).all()
                    for name in ("place", "num_players"):
                        assert info.get(name) == one.get(name)
                    ended[info["TimeLimit.truncated"]] += 1
    assert min(ended.values()) > 2


@pytest.mark.parametrize("reward", ["rank", "win", "score"])
def test_only_what_a_truncated_game_has_not_paid_is_bootstrapped(reward):
    env = make_vec_env(GAME.id, 4, **TABLE, max_steps=30, reward=reward)
    env.seed(1)
    env.reset()
    rng = np.random.default_rng(0)
    flags = []
    for _ in range(100):
        flags += [
            info["TimeLimit.truncated"] for info in env.step(masked_actions(env, rng))[3] if info
        ]
    assert len(flags) > 10
    assert any(flags) == (reward == "score")


def test_seeds():
    env = make_vec_env(GAME.id, 4, **TABLE)
    env.seed(3)
    first = env.reset()
    assert env.games.game_seeds.tolist() == [3, 4, 5, 6]
    assert (env.reset() != first).any()  # a seed is used once
    env.seed(3)
    assert (env.reset() == first).all()
    other = make_vec_env(GAME.id, 4, **TABLE)
    assert (other.reset() != first).any()
    other = make_vec_env(GAME.id, 4, seed=3, **TABLE)
    assert (other.reset() == first).all()
    assert (other.reset() != first).any()
    for wrong in (-1, 1.5):
        with pytest.raises((ValueError, TypeError), match="seed must be"):
            env.seed(wrong)
        with pytest.raises((ValueError, TypeError), match="seed must be"):
            make_vec_env(GAME.id, 4, seed=wrong, **TABLE)
    assert (env.reset() != first).any()


def test_attributes_and_methods():
    env = make_vec_env(
        GAME.id, 4, num_players=(GAME.min_players, GAME.max_players), opponents="random"
    )
    env.seed(1)
    env.reset()
    rng = np.random.default_rng(0)
    while (env.games.arena.action_mask[1] == env.games.arena.action_mask[3]).all():
        env.step(masked_actions(env, rng))
    assert is_masking_supported(env)
    assert env.get_attr("num_players") == env.games.arena.states["num_players"].tolist()
    assert env.get_attr("game", 1) == [env.games.game]
    assert env.get_attr("render_mode") == [None] * 4
    assert env.get_attr("view", 2) == [View()]
    assert env.get_attr("observation_space", 2) == [env.observation_space]
    assert env.get_attr("action_space", 1) == [env.action_space]
    assert env.get_attr("options", [0]) == [env.games.arena.options]
    assert not env.has_attr("difficulty")
    env.set_attr("difficulty", 3, indices=[1, 2])
    assert env.get_attr("difficulty") == [None, 3, 3, None]
    for name in ("seat", "render_mode"):
        with pytest.raises(AttributeError, match=f"'{name}' cannot be set"):
            env.set_attr(name, 1, indices=[1])
    masks = get_action_masks(env)
    assert masks.dtype == np.int8
    given = env.env_method("action_masks", indices=[1, 3])
    assert (np.stack(given) == masks[[1, 3]]).all()
    assert (env.get_attr("action_masks", [3])[0]() == masks[3]).all()
    while (env.games.arena.action_mask == masks).all():
        env.step(masked_actions(env, rng))
    assert (np.stack(given) == masks[[1, 3]]).all()  # the caller's own
    assert env.env_is_wrapped(Monitor) == [False] * 4
    for call in (lambda: env.get_attr("seed_of_luck"), lambda: env.env_method("jump")):
        with pytest.raises(AttributeError, match="action_masks"):
            call()
    env.close()


def test_bad_actions_and_arguments_are_refused():
    env = make_vec_env(GAME.id, 2, **TABLE, on_illegal="raise")
    for name in ("num_players", "seat"):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            env.get_attr(name)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(2, int))
    env.reset()
    with pytest.raises(gymnasium.error.ResetNeeded, match="step_async"):
        env.step_wait()
    env.set_options()
    for options in ({"num_players": 2}, [{}, {"num_players": 2}]):
        with pytest.raises(ValueError, match="takes no options, got 'num_players'"):
            env.set_options(options)
    for actions in (np.zeros(2), np.zeros(3, int), np.zeros((2, 1), int)):
        with pytest.raises(ValueError, match=r"whole numbers of shape \(2,\)"):
            env.step(actions)
    with pytest.raises(ValueError, match="actions are whole numbers from 0 to 96, got 97"):
        env.step(np.full(2, 97))
    with pytest.raises(ValueError, match="is not legal in game 0"):
        env.step(get_action_masks(env).argmin(axis=1))
    with pytest.raises(ValueError, match="num_envs must be"):
        make_vec_env(GAME.id, 0)
    with pytest.raises(TypeError, match="oponents"):
        make_vec_env(GAME.id, 2, oponents="random")


@pytest.mark.parametrize(
    "wrap",
    [VecMonitor, VecNormalize, lambda env: VecFrameStack(env, 2)],
    ids=["VecMonitor", "VecNormalize", "VecFrameStack"],
)
def test_wrappers(wrap):
    env = wrap(make_vec_env(GAME.id, 8, **TABLE, max_steps=60))
    model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=128, n_epochs=1, **TINY)
    model.learn(512)
    rng, ended = np.random.default_rng(0), []
    env.reset()
    for _ in range(40):
        observation, _, dones, infos = env.step(masked_actions(env, rng))
        ended += [infos[i] for i in np.flatnonzero(dones)]
    assert ended
    assert all(info["terminal_observation"].shape == observation[0].shape for info in ended)
    if isinstance(env, VecMonitor):
        assert len(model.ep_info_buffer) > 3
        assert all(abs(info["episode"]["r"]) <= 1 for info in ended)
    if not isinstance(env, VecFrameStack):
        evaluate(GAME.id, [as_agent(model), "random"], deals=2)


# ---------------------------------------------------------------------------------------------
# Agents and the callback
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [MaskablePPO, PPO, A2C, DQN])
def test_models_play_whole_games_without_an_illegal_action(algorithm):
    """And take what they hold to be best, if it is legal."""
    env = make_vec_env(GAME.id, 8, **TABLE)
    model = algorithm("MlpPolicy", env, **TINY)
    agent = as_agent(model, "mine")
    result = evaluate(GAME.id, [agent, "random", "random"], deals=20)
    assert result.agents[0].name == "mine"
    everything = np.ones((8, 97), np.int8)
    observation = env.reset()
    best = model.predict(observation, deterministic=True)[0]
    function = agent._function
    assert (function(observation, everything) == best).all()
    everything[np.arange(8), best] = 0
    second = function(observation, everything)
    assert (second != best).all()


def test_a_model_that_has_diverged_is_not_played():
    """As its export is not."""
    model = DQN("MlpPolicy", make_vec_env(GAME.id, 1, **TABLE), **TINY)
    for weights in model.q_net.parameters():
        weights.data.fill_(np.nan)
    with pytest.raises(ValueError, match="NaN where a legal action's score should be"):
        evaluate(GAME.id, [as_agent(model), "random", "random"], deals=2)


@pytest.mark.parametrize("model", ["model.zip", MaskablePPO])
def test_what_is_no_model_is_no_agent(model):
    with pytest.raises(TypeError, match=r"a model is needed, such as MaskablePPO\.load"):
        as_agent(model)


@pytest.mark.parametrize("num_envs", [1, 8])
def test_a_models_view_is_its_agents(num_envs, tmp_path):
    """That of its environment; one that has none is assumed to have seen all, with a warning."""
    view = View("none", False)
    options = {**TABLE, "memory": "none", "features": False}
    if num_envs == 1:
        env = gymnasium.make(GAME.gymnasium_id, **options).unwrapped
    else:
        env = VecNormalize(make_vec_env(GAME.id, num_envs, **options))
    model = MaskablePPO("MlpPolicy", env, **TINY)
    assert as_agent(model).view == view
    assert as_agent(model, memory="none", features=False).view == view
    for wrong in ({"features": True}, {"memory": "perfect"}):
        for call in (
            lambda given=wrong: as_agent(model, **given),
            lambda given=wrong: export_policy(model, GAME, tmp_path / "wrong.onnx", **given),
        ):
            with pytest.raises(ValueError, match=r"shows memory='none' and features=False, but"):
                call()
    model.save(tmp_path / "model")
    alone = MaskablePPO.load(tmp_path / "model")
    with pytest.warns(UserWarning, match="memory='perfect' and features=True are assumed"):
        assert as_agent(alone).view == View()
    with pytest.warns(UserWarning, match="memory='none' and features=True are assumed"):
        export_policy(alone, GAME, tmp_path / "alone.safetensors", memory="none")
    assert as_agent(alone, memory="none", features=False).view == view


def test_observations_are_normalized_as_in_training():
    env = VecNormalize(make_vec_env(GAME.id, 8, **TABLE))
    model = MaskablePPO("MlpPolicy", env, n_steps=64, **TINY)
    model.learn(512)
    observation = env.unwrapped.reset()
    masks = get_action_masks(env)
    expected, _ = model.predict(
        env.normalize_obs(observation), action_masks=masks, deterministic=True
    )
    assert (as_agent(model)._function(observation, masks) == expected).all()


@pytest.mark.parametrize("normalized", [False, True])
def test_a_model_of_units_gets_units(normalized):
    env = make_vec_env(GAME.id, 4, observation_dtype="uint8", **TABLE)
    units, masks = env.reset(), get_action_masks(env)
    assert env.observation_space.contains(units[0])
    scale = env.games.game.fields.scale
    if normalized:
        env = VecNormalize(env, norm_reward=False)
        env.reset()
    model = MaskablePPO("MlpPolicy", env, **TINY)
    agent = as_agent(model)
    seen = env.normalize_obs(units) if normalized else units
    expected = model.predict(seen, deterministic=True, action_masks=masks)[0]
    assert (agent._function((units / scale).astype(np.float32), masks) == expected).all()


@pytest.mark.parametrize("normalized", [False, True])
def test_a_model_that_observes_the_mask_gets_it(normalized):
    """Of an environment with ``mask="observation"``."""
    env = DummyVecEnv([lambda: SingleSeatEnv(GAME.id, mask="observation", **TABLE)])
    if normalized:
        env = VecNormalize(env, norm_obs_keys=["observation"], norm_reward=False)
    model = PPO("MultiInputPolicy", env, n_steps=32, batch_size=32, n_epochs=1)
    model.learn(64)
    seen = env.reset()
    masks = seen["action_mask"]
    plain = env.unnormalize_obs(seen) if normalized else seen
    with torch.no_grad():
        inputs, _ = model.policy.obs_to_tensor(seen)
        logits = model.policy.get_distribution(inputs).distribution.logits.numpy()
    expected = np.where(masks, logits, -np.inf).argmax(axis=1)
    agent = as_agent(model)
    assert agent._function(plain["observation"], masks).tolist() == expected.tolist()
    result = evaluate(GAME.id, [agent, "random", "random"], deals=4)
    assert result.agents[0].name == "model"


def test_models_of_continuous_actions_are_no_agents():
    with pytest.raises(TypeError, match=r"must have discrete actions.*SAC"):
        as_agent(SAC("MlpPolicy", "Pendulum-v1", buffer_size=10))


def learner(tmp_path, **arguments):
    env = make_vec_env(GAME.id, 8, **TABLE)
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=64, **TINY)
    model.set_logger(configure(str(tmp_path / "log"), ["csv"]))
    callback = DealsEvalCallback(GAME.id, ["random", "random"], deals=5, **arguments)
    return model, callback


def test_callback_evaluates_on_the_same_deals_and_keeps_the_best_model(
    tmp_path, monkeypatch, capsys
):
    model, callback = learner(
        tmp_path, eval_freq=16, best_model_save_path=tmp_path / "best", options={"max_steps": 99}
    )
    seen = []

    def watched(*arguments):
        result = evaluate(*arguments)
        seen.append((arguments[2:], result.agents[0].rank, model.num_timesteps))
        return result

    monkeypatch.setattr("card_envs.integrations.sb3_evaluation.evaluate", watched)
    saved = []
    monkeypatch.setattr(model, "save", lambda path: saved.append((path, model.num_timesteps)))
    model.learn(640, callback=callback)
    assert [steps for *_, steps in seen] == [128, 256, 384, 512, 640]
    assert len({repr(deals) for deals, *_ in seen}) == 1
    assert seen[0][0][-1]["max_steps"] == 99
    means = [rank.mean for _, rank, _ in seen]
    assert callback.last_mean_reward == means[-1]
    assert callback.best_mean_reward == max(means)
    new_bests = [k for k, mean in enumerate(means) if mean > max([-np.inf, *means[:k]])]
    assert saved == [(str(tmp_path / "best" / "best_model"), 128 * (k + 1)) for k in new_bests]
    logged = np.genfromtxt(tmp_path / "log" / "progress.csv", delimiter=",", names=True)
    rows = logged[~np.isnan(logged["evalrank"])]
    assert rows["evalrank"] == pytest.approx(means)
    assert rows["evalrank_low"] == pytest.approx([rank.low for _, rank, _ in seen])
    assert rows["evalrank_high"] == pytest.approx([rank.high for _, rank, _ in seen])
    assert "rank reward" not in capsys.readouterr().out


def test_a_verbose_callback_prints_every_evaluation(tmp_path, capsys):
    model, callback = learner(tmp_path, eval_freq=8, verbose=1)
    model.learn(128, callback=callback)
    lines = re.findall(
        r"^([\d,]+) timesteps: rank reward ([+-]\d\.\d{3}) \(.+ … .+\)$",
        capsys.readouterr().out,
        re.MULTILINE,
    )
    assert [timesteps for timesteps, _ in lines] == ["64", "128"]
    assert float(lines[-1][1]) == pytest.approx(callback.last_mean_reward, abs=5e-4)


@pytest.mark.parametrize("is_batch", [True, False])
def test_the_callback_plays_with_the_options_of_training(monkeypatch, is_batch):
    options = {"max_steps": 77, "reward": "score"}
    if is_batch:
        env = make_vec_env(GAME.id, 8, **TABLE, **options)
    else:
        env = DummyVecEnv([lambda: SingleSeatEnv(GAME.id, **TABLE, **options)] * 2)
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=16, **TINY)
    played = []

    def watched(*arguments):
        played.append(arguments[-1])
        return evaluate(*arguments)

    monkeypatch.setattr("card_envs.integrations.sb3_evaluation.evaluate", watched)
    model.learn(16, callback=DealsEvalCallback(GAME.id, ["random"] * 2, deals=2, eval_freq=1))
    assert played
    for chosen in played:
        assert chosen["max_steps"] == 77
        assert "reward" not in chosen


def test_the_best_model_is_kept_with_the_statistics_that_normalize_its_observations(tmp_path):
    env = VecNormalize(make_vec_env(GAME.id, 8, **TABLE))
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=64, **TINY)
    best = tmp_path / "best"
    callback = DealsEvalCallback(
        GAME.id,
        ["random", "random"],
        deals=4,
        seed=3,
        eval_freq=16,
        best_model_save_path=best,
    )
    model.learn(128, callback=callback)
    venv = make_vec_env(GAME.id, 8, **TABLE)
    loaded = MaskablePPO.load(
        best / "best_model", env=VecNormalize.load(best / "vec_normalize.pkl", venv)
    )
    table = [as_agent(loaded), "random", "random"]
    again = evaluate(GAME.id, table, 4, 3).agents[0].rank
    assert again.mean == callback.best_mean_reward


@pytest.mark.parametrize("when", ["callback_on_new_best", "callback_after_eval"])
def test_callbacks_of_the_callback_can_end_the_training(tmp_path, when):
    for threshold, expected in ((-2.0, 128), (2.0, 640)):
        stop = StopTrainingOnRewardThreshold(threshold)
        model, callback = learner(tmp_path, eval_freq=16, **{when: stop})
        model.learn(640, callback=callback)
        assert model.num_timesteps == expected


@pytest.mark.parametrize(
    ("game", "opponents", "arguments", "message"),
    [
        (
            GAME.id,
            ["random"],
            {"eval_freq": 0},
            "eval_freq must be a whole number of at least 1, got 0",
        ),
        ("chess", ["random"], {}, "there is no game 'chess'"),
        (GAME.id, ["nobody"], {}, "there is no agent 'nobody'"),
        (GAME.id, ["random"] * 99, {}, f"is for {GAME.min_players} to {GAME.max_players} players"),
        (GAME.id, ["random"], {"deals": 1}, "deals must be at least 2"),
        (GAME.id, ["random"], {"options": {"reward": "rank"}}, "option reward"),
        (GAME.id, ["random"], {"memory": "prefect"}, "memory"),
    ],
)
def test_the_callbacks_arguments_are_checked_before_training(game, opponents, arguments, message):
    with pytest.raises(ValueError, match=message):
        DealsEvalCallback(game, opponents, **arguments)


def test_the_callbacks_opponents_are_a_list():
    with pytest.raises(TypeError, match="opponents must be a list, with an agent for each other"):
        DealsEvalCallback(GAME.id, "random")


def test_models_that_cannot_be_evaluated_are_refused_before_training():
    def env(game=GAME):
        return DummyVecEnv([lambda: gymnasium.make(game.gymnasium_id).unwrapped])

    other = next(game for game in ALL_GAMES if game.fields.size != GAME.fields.size)
    recurrent = RecurrentPPO("MlpLstmPolicy", env(), seed=0)
    for model, error, message in (
        (recurrent, TypeError, r"RecurrentPPO, is an agent as a file that export_policy writes"),
        (PPO("MlpPolicy", VecFrameStack(env(), 2)), ValueError, "not stacked"),
        (
            PPO("MlpPolicy", env(other)),
            ValueError,
            f"the model does not fit {GAME.id}, whose observations",
        ),
    ):
        with pytest.raises(error, match=message):
            model.learn(64, callback=DealsEvalCallback(GAME.id, ["random"]))
        assert model.num_timesteps == 0
    with pytest.raises(ValueError, match=f"the model does not fit {GAME.id}, whose observations"):
        evaluate(GAME.id, [as_agent(PPO("MlpPolicy", env(other))), "random"], deals=2)


def test_the_extra_is_named_where_sb3_is_missing():
    code = """
import importlib, sys
sys.modules["stable_baselines3"] = None
from card_envs.utils.extras import MissingExtraError
for module in ("sb3", "sb3_evaluation"):
    try:
        importlib.import_module(f"card_envs.integrations.{module}")
    except MissingExtraError as error:
        print(error)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'card_envs[sb3]'") == 2
