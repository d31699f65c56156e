"""Our PPO: the learner of ``training.ppo`` with a configuration, until the time is over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.learners.arguments import CpuBudget, learner_parser, leave, parse_arguments
from card_envs.commands import running
from training.runs.config import Config
from training.runs.keys import load
from training.runs.run import Run, add_set_argument, use_threads
from training.train import make_learner


@running.command("benchmarks.learners.ppo")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.learners.ppo``."""
    parser = learner_parser("ppo", __doc__)
    parser.add_argument("config", type=Path, help="a YAML file")
    add_set_argument(parser)
    args, game = parse_arguments(parser, argv)
    table = f"environment.num_players={args.players}"
    config = load(Config, args.config, [*args.set, f"game={game.id}", f"seed={args.seed}", table])
    use_threads(config.threads)
    run = Run(config, args.out)
    warm = make_learner(run)  # what it does is compiled before the time begins
    warm.begin()
    warm.iterate()

    learner, budget = make_learner(run), CpuBudget(args.cpu_minutes)
    learner.share_done = lambda: 1 - budget.left
    learner.begin()
    while budget.left:
        learner.iterate()
    leave(args.out, learner.policy(), game, learner.decisions)


if __name__ == "__main__":
    raise SystemExit(main())
