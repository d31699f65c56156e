"""On a GPU: every byte is the CPU's, over ten million decisions of each game."""

from __future__ import annotations

import re
from pathlib import Path

import gpu_templates
import numpy as np
import pytest
from helpers import EACH_GAME, network_of

import card_envs
from card_envs.agents import NetworkAgent, SearchAgent
from card_envs.contract.agent import turn_of
from card_envs.engine.cuda_jit import compile_for_gpu, cuda
from card_envs.engine.templates import compile_for

pytestmark = pytest.mark.skipif(not cuda.is_available(), reason="Numba finds no GPU")

GAME = next(iter(card_envs.GAMES))
NUM_ENVS, STEPS = 10_000, 1_000
SAMPLE = 50  # every how many steps records and the heuristic's choices are compared


@pytest.mark.parametrize("game", EACH_GAME)
def test_ten_million_decisions_are_those_of_the_cpu(game):
    arguments = {"num_players": (game.min_players, game.max_players), "reward": "score"}
    gpu, cpu = (
        card_envs.make_vec(game.name, NUM_ENVS, device=device, **arguments)
        for device in ("cuda", "cpu")
    )
    ours, theirs = gpu.reset(seed=1), cpu.reset(seed=1)
    rng = np.random.default_rng(1)
    for step in range(STEPS):
        for one, other in zip(ours, theirs, strict=True):
            assert one.copy_to_host().tobytes() == other.tobytes(), f"step {step}"
        mask = theirs[1]
        if step % SAMPLE == 0:
            records = gpu.states.copy_to_host()
            for name in game.state_dtype.names:
                assert records[name].tobytes() == cpu.states[name].tobytes(), f"{name}, step {step}"
            chosen = [np.zeros(NUM_ENVS, np.int64) for _ in range(2)]
            if game.heuristic is not None:
                compile_for(game, gpu_templates.choose_by_heuristic)(cpu.states, chosen[0])
                there = cuda.to_device(chosen[1])
                compile_for_gpu(game, gpu_templates.choose_by_heuristic)(
                    NUM_ENVS, gpu.states, there
                )
                assert there.copy_to_host().tobytes() == chosen[0].tobytes(), f"step {step}"
        count = (rng.random(NUM_ENVS) * mask.sum(axis=1)).astype(np.int64)
        actions = (mask.cumsum(axis=1, dtype=np.int64) > count[:, None]).argmax(axis=1)
        ours, theirs = gpu.step(actions), cpu.step(actions)
    gpu.check_actions()


@pytest.mark.parametrize("game", EACH_GAME)
def test_searches_are_those_of_the_cpu(game):
    """In the middle of games, in worlds that are weighed by what others did."""
    count, policy = 200, NetworkAgent(network_of(game, activation="relu"), "policy")
    batch = card_envs.make_vec(game.name, count, num_players=game.max_players)
    _, mask = batch.reset(seed=1)
    rng = np.random.default_rng(1)
    agents = [
        SearchAgent(game, policy=policy, proposer=policy, device=device)
        for device in ("cuda", "cpu")
    ]
    follower = agents[0].follow(None)
    for _ in range(20):
        actions = (rng.random(mask.shape) * mask).argmax(axis=1)
        for i, action in enumerate(actions.tolist()):
            follower.watch(batch.states, i, action)
        _, mask, *_ = batch.step(actions)
    turn = turn_of(game, batch.states, np.arange(count), policy.view)
    past = follower.past(turn)
    assert any(past) == (game.look_back is not None)
    ours, theirs = (agent.search_after(turn, past) for agent in agents)
    assert ours.visits.any()
    for name, array, other in zip(ours._fields, ours, theirs, strict=True):
        assert array.tobytes() == other.tobytes(), name
    assert (agents[0].work == agents[1].work).all()


@pytest.mark.parametrize("game", EACH_GAME)
def test_a_learners_games_are_those_of_the_cpu(game):
    torch = pytest.importorskip("torch")
    pytest.importorskip("pydantic")
    from training.games.device import DeviceGames, OnCpu, OnGpu
    from training.runs.config import Config

    if game.write_state is None:
        pytest.skip("the game does not write its full state")
    data = {"game": game.id, "decisions": 1, "environment": {"num_envs": 2000}}
    config = Config.model_validate({**data, "opponents": {"self": 1}})
    given = config.environment, config.opponents, {}, 0
    gpu, cpu = (DeviceGames(place, game, *given, critic="state") for place in (OnGpu(), OnCpu()))
    for games in (gpu, cpu):
        games.redraw()
        games._start_all()
    generator = torch.Generator().manual_seed(1)
    for step in range(300):
        for name, tensor in cpu._tensors.items():
            assert torch.equal(gpu._tensors[name].cpu(), tensor), f"{name}, step {step}"
        chances = torch.rand(cpu.action_mask.shape, generator=generator) * cpu.action_mask
        actions = chances.argmax(dim=1)
        gpu.step(actions.cuda(), generator)
        cpu.step(actions, generator)


def test_a_learner_on_a_gpu_learns(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("pydantic")
    from training.games.device import DeviceGames
    from training.runs.config import Config
    from training.runs.run import Run
    from training.train import make_learner

    data = {
        "game": GAME,
        "decisions": 10_000_000,
        "rows": "bfloat16",
        "environment": {"num_envs": 1024},
        "opponents": {"self": 0.5, "pool": 0.5, "agents": {"random": 0.5}},
        "ppo": {"batch_size": 8192, "n_steps": 8},
    }
    learner = make_learner(Run(Config.model_validate(data), tmp_path))
    assert isinstance(learner.games, DeviceGames)
    learner.begin()
    before = [weight.clone() for weight in learner.networks.parameters()]
    for _ in range(4):
        learner.collect()
        assert torch.isfinite(torch.tensor(list(learner.update().values()))).all()
        learner.games.add_snapshot(learner.policy())
    assert learner.decisions > 10_000
    for weight, old in zip(learner.networks.parameters(), before, strict=True):
        assert weight.is_cuda
        assert not torch.equal(weight, old)


def test_tensors_share_the_memory_of_the_batch():
    torch = pytest.importorskip("torch")
    batch = card_envs.make_vec(GAME, 64, device="cuda")
    observation, action_mask = batch.reset(seed=1)
    tensors = [torch.as_tensor(array, device="cuda") for array in (observation, action_mask)]
    again = torch.from_dlpack(torch.utils.dlpack.to_dlpack(tensors[0]))
    batch.step(tensors[1].argmax(dim=1))  # actions that are on the GPU already
    batch.check_actions()
    for tensor, array in zip(
        [*tensors, again], [observation, action_mask, observation], strict=True
    ):
        assert (tensor.cpu().numpy() == array.copy_to_host()).all()


def test_the_code_of_the_page_runs():
    pytest.importorskip("torch")
    page = Path(__file__).parent.parent.parent / "docs" / "gpu.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    exec(compile("\n".join(blocks), page.name, "exec"), {"__name__": "page"})
