"""``python -m training.tournament``: the same as ``card-envs tournament``."""

from functools import partial

from card_envs.commands.evaluation import tournament_main

main = partial(tournament_main, program="training.tournament")

if __name__ == "__main__":
    raise SystemExit(main())
