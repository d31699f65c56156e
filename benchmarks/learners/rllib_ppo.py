"""RLlib's PPO by self-play: one module plays in all seats, and learns from all of them.

    .venvs/rllib/bin/python -m benchmarks.learners.rllib_ppo --game beaver_gang --players 4 \
        --seed 1 --decisions 500000 --out DIR
"""

from __future__ import annotations

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from benchmarks.learners.arguments import HIDDEN, parse_arguments, write_layers
from card_envs.integrations.rllib import register_game

BATCH = 4096


def main() -> None:
    """Train, and write the policy."""
    args, game = parse_arguments("benchmarks.learners.rllib_ppo", __doc__ or "")
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
            env_config={"num_players": args.players, "max_steps": 1000, "reward": "score"},
            disable_env_checking=True,  # the check acts at random, without the mask
        )
        .env_runners(num_env_runners=0, num_envs_per_env_runner=128)
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
            lr=5e-4,
            gamma=1.0,
            lambda_=0.95,
            entropy_coeff=0.01,
            grad_clip=0.5,
        )
        .debugging(seed=args.seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    sampled = 0
    while sampled < args.decisions:
        results = algorithm.train()["env_runners"]
        sampled = int(results["num_env_steps_sampled_lifetime"])
        print(f"{sampled} decisions", flush=True)
    module = algorithm.get_module("shared")
    layers = [*module.encoder.actor_encoder.modules(), *module.pi.modules()]
    write_layers(args, layers, game)
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
