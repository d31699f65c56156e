"""Our PPO: ``training.train`` with a base configuration, for as many decisions as the time allows.

How many these are is measured when it begins, by ``training.train.lasting``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.learners.arguments import learner_parser, leave_note, parse_arguments
from card_envs.commands import running
from training.runs.config import Config
from training.runs.keys import load
from training.runs.records import command_as_typed, read_json
from training.runs.run import Run, add_set_argument
from training.train import lasting, train_or_resume

BASE = Path(__file__).parents[2] / "configs" / "algorithms" / "ppo.yaml"


@running.command("benchmarks.learners.ppo")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.learners.ppo``."""
    parser = learner_parser("ppo", __doc__)
    add_set_argument(parser)
    args, game = parse_arguments(parser, argv)
    table = [f"environment.num_players={args.players}", f"evaluation.players=[{args.players}]"]
    own = ["name=policy", f"game={game.id}", f"seed={args.seed}", *table]
    run = Run(load(Config, BASE, [*args.set, *own]), args.out)
    words = ["--set", *args.set] if args.set else []
    command = command_as_typed("benchmarks.learners.ppo", *words, games_from=args.games_from)
    run = lasting(run, args.cpu_minutes)
    train_or_resume(run, command)
    leave_note(args.out, read_json(run.card_path)["decisions"])


if __name__ == "__main__":
    raise SystemExit(main())
