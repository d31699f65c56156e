"""Stable-Baselines3's MaskablePPO, as ``training.sb3_ppo`` makes it: one seat, others given."""

from __future__ import annotations

from collections.abc import Sequence

from stable_baselines3.common.callbacks import BaseCallback

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
from training.sb3_ppo import make_model


class WithinBudget(BaseCallback):
    """Ends the training when the time is over."""

    def __init__(self, budget: CpuBudget) -> None:
        super().__init__()
        self._budget = budget

    def _on_step(self) -> bool:
        return self._budget.left > 0


@running.command("benchmarks.learners.sb3_ppo")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.learners.sb3_ppo``."""
    parser = learner_parser("sb3_ppo", __doc__)
    parser.add_argument("--opponents", help="the agent in all other seats; default: the game's")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="it falls to 0")
    args, game = parse_arguments(parser, argv)
    opponents = args.opponents or game.default_opponent
    model = make_model(game.id, args.players, opponents, args.seed, HIDDEN, MAX_STEPS)
    budget = CpuBudget(args.cpu_minutes)
    model.lr_schedule = lambda _: args.learning_rate * budget.left
    model.learn(10**12, callback=WithinBudget(budget))
    policy = model.policy
    layers = [*policy.mlp_extractor.policy_net, policy.action_net]
    leave(args.out, network_of(layers), game, model.num_timesteps)


if __name__ == "__main__":
    raise SystemExit(main())
