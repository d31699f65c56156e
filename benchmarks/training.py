"""Learner decisions a second of our self-play, and PettingZoo's way of training as a yardstick.

    python -m benchmarks.training [--game beaver_gang] [--decisions N] [--json FILE]
    python -m benchmarks.training --against DIR [--game beaver_gang] [--decisions N] [--json FILE]

``--against`` compares training by ``configs/<game>.yaml`` with that of the checkout in DIR
(``benchmarks.training_speedup``). Otherwise the yardstick is one ``connect_four_v3`` in which the
learner moves for both sides, stepped through Stable-Baselines3's DummyVecEnv, with its MaskablePPO.
Both have networks of the same size, the same hyperparameters, and rollouts of the same size; they
take turns, rollout by rollout.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from pettingzoo.classic import connect_four_v3
from pettingzoo.utils.env import AECEnv
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from benchmarks import report, training_speedup
from benchmarks.training_worker import learner_of, take_turn
from card_envs.commands import arguments, running
from training.runs.config import Config
from training.runs.keys import load

PACKAGES = (
    "gymnasium",
    "numba",
    "numpy",
    "pettingzoo",
    "sb3-contrib",
    "stable-baselines3",
    "torch",
)
CONFIGS = Path(__file__).parent.parent / "configs"
NUM_ENVS, N_STEPS = 1024, 16
OURS, YARDSTICK = "card_envs", "connect_four_v3"


class BothSidesEnv(gymnasium.Env[NDArray[Any], int]):
    """An AEC environment as a single-agent one: the learner decides for all agents."""

    def __init__(self, env: AECEnv[str, Any, Any]) -> None:
        self.env = env
        agent = env.possible_agents[0]
        self.observation_space = env.observation_space(agent)["observation"]
        self.action_space = env.action_space(agent)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin a new game."""
        super().reset(seed=seed)
        self.env.reset(seed=seed)
        return self._look(), {}

    def step(self, action: int) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Move for the agent to move; the reward is theirs."""
        mover = self.env.agent_selection
        self.env.step(action)
        return (
            self._look(),
            self.env.rewards[mover],
            self.env.terminations[mover],
            self.env.truncations[mover],
            {},
        )

    def _look(self) -> NDArray[Any]:
        seen = self.env.observe(self.env.agent_selection)
        self.action_mask = seen["action_mask"]
        return np.asarray(seen["observation"])


class Stopwatch(BaseCallback):
    """Seconds spent in collecting the last rollout."""

    def _on_rollout_start(self) -> None:
        self._begun = time.perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.collecting = time.perf_counter() - self._begun


def make_config(game_id: str, num_envs: int, n_steps: int) -> Config:
    """A game's configuration with hidden layers of (64, 64), without imitation."""
    return load(
        Config,
        CONFIGS / f"{game_id}.yaml",
        [
            "device=cpu",
            "threads=null",
            "network.hidden=[64, 64]",
            "imitation={}",
            f"environment.num_envs={num_envs}",
            f"ppo.n_steps={n_steps}",
        ],
    )


def yardstick(config: Config) -> training_speedup.Turn:
    """The turns of SB3's learner in one game of Connect Four, with rollouts of the same size."""
    ppo = config.ppo

    def make() -> gymnasium.Env[Any, Any]:
        env = BothSidesEnv(connect_four_v3.env())
        return ActionMasker(env, lambda _: env.action_mask)

    hidden = list(config.network.hidden)
    activation = nn.ReLU if config.network.activation == "relu" else nn.Tanh
    model = MaskablePPO(
        "MlpPolicy",
        DummyVecEnv([make]),
        policy_kwargs={"net_arch": {"pi": hidden, "vf": hidden}, "activation_fn": activation},
        learning_rate=ppo.learning_rate,
        n_steps=config.environment.num_envs * ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.ent_coef,
        vf_coef=ppo.vf_coef,
        max_grad_norm=ppo.max_grad_norm,
        seed=config.seed,
        device=config.device,
    )
    size, stopwatch = model.n_steps * model.n_envs, Stopwatch()

    def turn() -> dict[str, float]:
        begun = time.perf_counter()
        model.learn(size, callback=stopwatch, reset_num_timesteps=False)
        whole = time.perf_counter() - begun
        return {"decisions": size, "collecting": stopwatch.collecting, "whole": whole}

    return turn


def measure(game_id: str, decisions: int, num_envs: int, n_steps: int) -> dict[str, Any]:
    """Measure both.

    Args:
        game_id: The game.
        decisions: Learner decisions of each, rounded up to whole rollouts.
        num_envs: Games at a time.
        n_steps: Decisions of each game between two updates.

    Returns:
        The document that is written as JSON.

    Raises:
        ValueError: The game has no configuration.
    """
    config = make_config(game_id, num_envs, n_steps)
    ours: training_speedup.Turn = partial(take_turn, learner_of(config))
    turns = {OURS: ours, YARDSTICK: yardstick(config)}
    rollouts = -(-decisions // (num_envs * n_steps))
    results = training_speedup.compare(turns, rollouts)
    arguments = ["--game", game_id, "--decisions", str(decisions)]
    if (num_envs, n_steps) != (NUM_ENVS, N_STEPS):
        arguments += ["--num-envs", str(num_envs), "--n-steps", str(n_steps)]
    return report.document(
        "training",
        game_id,
        arguments,
        PACKAGES,
        {
            "num_envs": num_envs,
            "n_steps": n_steps,
            "rollouts": rollouts,
            "torch_threads": torch.get_num_threads(),
            "config": config.model_dump(
                mode="json", include={"environment", "opponents", "network", "ppo"}
            ),
        },
        results,
    )


@running.command("benchmarks.training")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.training``."""
    parser = arguments.module_parser("benchmarks.training", __doc__)
    parser.add_argument(
        "--decisions",
        type=int,
        default=81_920,
        help="learner decisions to measure with each, rounded up to whole rollouts; default: 81920",
    )
    parser.add_argument("--num-envs", type=int, help=f"games at a time; default: {NUM_ENVS}")
    parser.add_argument("--n-steps", type=int, help=f"decisions of each; default: {N_STEPS}")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="DIR",
        help="compare with the checkout of this repository in DIR, not with the yardstick",
    )
    args = report.parse_arguments(parser, argv)
    if args.against and (args.num_envs or args.n_steps):
        raise ValueError("--against takes neither --num-envs nor --n-steps")
    num_envs = NUM_ENVS if args.num_envs is None else args.num_envs
    n_steps = N_STEPS if args.n_steps is None else args.n_steps
    if min(args.decisions, num_envs, n_steps) < 1:
        raise ValueError("--decisions, --num-envs and --n-steps must be at least 1")
    if args.against:
        report.finish(
            args,
            lambda: training_speedup.measure(args.game, args.decisions, args.against),
        )
        return
    report.finish(
        args,
        lambda: measure(args.game, args.decisions, num_envs, n_steps),
    )


if __name__ == "__main__":
    raise SystemExit(main())
