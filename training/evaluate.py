"""``python -m training.evaluate``: the same as ``card-envs evaluate``."""

from functools import partial

from card_envs.commands.evaluation import evaluate_main

main = partial(evaluate_main, program="training.evaluate")

if __name__ == "__main__":
    raise SystemExit(main())
