"""RLlib's PPO by self-play: one module plays in all seats, and learns from all of them.

It runs in the environment ``.venvs/rllib``.
"""

from __future__ import annotations

from collections.abc import Sequence

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from benchmarks.learners.arguments import (
    HIDDEN,
    MAX_STEPS,
    CpuBudget,
    learner_parser,
    leave,
    network_of,
    parse_arguments,
)
from card_envs.commands import running
from card_envs.integrations.rllib import register_game

GAMES = 128
BATCH = 4096


@running.command("benchmarks.learners.rllib_ppo")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.learners.rllib_ppo``."""
    parser = learner_parser("rllib_ppo", __doc__)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    args, game = parse_arguments(parser, argv)
    ray.init(
        address="local",
        num_cpus=1,
        object_store_memory=100_000_000,
        include_dashboard=False,
        log_to_driver=False,
    )
    config = (
        PPOConfig()
        .environment(
            register_game(game.id),
            env_config={"num_players": args.players, "max_steps": MAX_STEPS, "reward": "score"},
            disable_env_checking=True,  # the check acts at random, without the mask
        )
        .env_runners(num_env_runners=0, num_envs_per_env_runner=GAMES)
        .multi_agent(
            policies={"shared"},
            policy_mapping_fn=lambda agent_id, episode, **kwargs: "shared",
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule,
                model_config={"fcnet_hiddens": list(HIDDEN), "fcnet_activation": "relu"},
            )
        )
        .training(
            train_batch_size_per_learner=BATCH,
            minibatch_size=500,
            num_epochs=4,
            lr=args.learning_rate,
            gamma=1.0,
            lambda_=0.95,
            entropy_coeff=0.01,
            grad_clip=0.5,
        )
        # RLlib gives game i the seed plus i: other runs are to play other games.
        .debugging(seed=args.seed * GAMES, log_level="ERROR")
    )
    algorithm = config.build_algo()
    budget, sampled = CpuBudget(args.cpu_minutes), 0
    while budget.left:
        results = algorithm.train()["env_runners"]
        sampled = int(results["num_env_steps_sampled_lifetime"])
        print(f"{sampled} decisions", flush=True)
    module = algorithm.get_module("shared")
    layers = [*module.encoder.actor_encoder.modules(), *module.pi.modules()]
    leave(args.out, network_of(layers), game, sampled)
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    raise SystemExit(main())
