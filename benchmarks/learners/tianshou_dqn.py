"""Tianshou's DQN by self-play: it learns in one seat, and its newest weights hold all others.

They are renewed before each collection of transitions. It runs in the environment
``.venvs/tianshou``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from benchmarks.learners.arguments import (
    HIDDEN,
    MAX_STEPS,
    CpuBudget,
    learner_parser,
    leave,
    network_of,
    parse_arguments,
)
from card_envs.agents import NetworkAgent
from card_envs.commands import running

#: Games played at a time, transitions kept, and transitions of a collection.
GAMES, BUFFER, COLLECTED = 32, 200_000, 32 * 64


class MaskInObservation(gymnasium.ObservationWrapper):
    """Observations as Tianshou reads them: ``obs`` and ``mask``."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        mask_space = gymnasium.spaces.MultiBinary(int(env.action_space.n))  # type: ignore[attr-defined]
        self.observation_space = gymnasium.spaces.Dict(obs=env.observation_space, mask=mask_space)

    def observation(self, observation: Any) -> dict[str, Any]:
        """The observation with the mask of legal actions."""
        return {"obs": observation, "mask": self.unwrapped.action_masks() == 1}  # type: ignore[attr-defined]


class Newest(NetworkAgent):
    """The opponents: a network that may be replaced, and plays inside the compiled loop."""

    @property
    def network_kernel(self) -> Any:
        """That of the present network."""
        return self.network.kernel


@running.command("benchmarks.learners.tianshou_dqn")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.learners.tianshou_dqn``."""
    parser = learner_parser("tianshou_dqn", __doc__)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--n-step", type=int, default=3, help="steps before it bootstraps")
    args, game = parse_arguments(parser, argv)
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 (Tianshou's generator)
    net = Net(
        state_shape=(game.fields.size,),
        action_shape=game.num_actions,
        hidden_sizes=list(HIDDEN),
    )

    newest = Newest(network_of(net.modules()), "newest")

    def renew_opponents(epoch: int, env_step: int) -> None:
        newest.network = network_of(net.modules())

    def make_env() -> Any:
        return MaskInObservation(
            gymnasium.make(
                game.gymnasium_id,
                num_players=args.players,
                opponents=newest,
                max_steps=MAX_STEPS,
                reward="score",
                skip_forced=True,
            )
        )

    envs = DummyVectorEnv([make_env for _ in range(GAMES)])
    envs.seed([args.seed * GAMES + k for k in range(GAMES)])
    policy = DiscreteQLearningPolicy(
        model=net,
        action_space=envs.action_space[0],
        eps_training=0.1,
    )
    algorithm = DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=args.learning_rate),
        gamma=1.0,
        n_step_return_horizon=args.n_step,
        target_update_freq=1000,
    )
    collector: Any = Collector(
        algorithm, envs, VectorReplayBuffer(BUFFER, GAMES), exploration_noise=True
    )
    collector.reset()
    trainer = algorithm.create_trainer(
        OffPolicyTrainerParams(
            training_collector=collector,
            epoch_num_steps=COLLECTED,
            collection_step_num_env_steps=COLLECTED,
            update_step_num_gradient_steps_per_sample=1 / 16,
            batch_size=256,
            training_fn=renew_opponents,
            show_progress=False,
            verbose=False,
        )
    )
    budget = CpuBudget(args.cpu_minutes)
    trainer.reset(reset_collectors=False)
    while budget.left:
        trainer.execute_epoch()
    leave(args.out, network_of(net.modules()), game, collector.collect_step)


if __name__ == "__main__":
    raise SystemExit(main())
