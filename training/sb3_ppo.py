"""Train MaskablePPO of Stable-Baselines3 on the compiled ``VecEnv``, and write a policy file.

    python -m training.sb3_ppo --game beaver_gang --decisions 500000 --out runs/sb3_ppo

The model learns in one seat, drawn for each game, against given opponents. DIR gets
policy.safetensors, an agent wherever one is expected. At the end the command says how many
decisions a second were learned from, and what the policy's rank reward is: one among copies of the
opponent, and of random.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from sb3_contrib import MaskablePPO
from torch import nn

from card_envs import export_policy
from card_envs.agents import make_agent
from card_envs.commands import arguments, running
from card_envs.evaluation import deal_seeds, evaluate
from card_envs.evaluation.display import with_interval
from card_envs.games import load_game
from card_envs.integrations.sb3 import make_vec_env
from training.runs.run import use_threads

#: Games played at a time, and decisions of each in a rollout.
NUM_ENVS, N_STEPS = 256, 16


def make_model(
    game: str,
    num_players: int,
    opponents: str,
    seed: int,
    hidden: Sequence[int] = (128, 128),
    max_steps: int = 2000,
) -> MaskablePPO:
    """A model with hidden layers of these sizes, which learns in one seat among the opponents.

    Raises:
        ValueError: The seed is not below 2**24, or as for ``make_vec_env``.
    """
    if seed * NUM_ENVS >= 2**32:
        raise ValueError(f"seed must be below 2**24, got {seed}: NumPy's seeds end at 2**32")
    envs = make_vec_env(
        game,
        NUM_ENVS,
        num_players=num_players,
        opponents=opponents,
        reward="score",
        skip_forced=True,
        max_steps=max_steps,
    )
    return MaskablePPO(
        "MlpPolicy",
        envs,
        learning_rate=lambda left: 1e-3 * left,
        n_steps=N_STEPS,
        batch_size=1024,
        n_epochs=4,
        gamma=1.0,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [*hidden], "activation_fn": nn.ReLU},
        seed=seed * NUM_ENVS,  # game i has this plus i, so that runs play other deals
        device="cpu",
    )


def train(
    game: str, num_players: int, opponents: str, decisions: int, seed: int
) -> tuple[MaskablePPO, float]:
    """Train a model in a game of that id; returns it, and learner decisions a second. Decisions are
    rounded up to whole rollouts."""
    model = make_model(game, num_players, opponents, seed)
    begun = time.perf_counter()
    rollouts = -(-decisions // (NUM_ENVS * N_STEPS))
    model.learn(rollouts * NUM_ENVS * N_STEPS)  # beyond the end the learning rate would be negative
    speed = model.num_timesteps / (time.perf_counter() - begun)
    return model, speed


def _policy_in(folder: str) -> Path:
    return arguments.output_file(str(Path(folder) / "policy.safetensors"))


@running.command("training.sb3_ppo")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m training.sb3_ppo``."""
    parser = arguments.module_parser("training.sb3_ppo", __doc__)
    add = parser.add_argument
    add("--game", default="beaver_gang", help="the game's id; default: %(default)s")
    add("--players", type=int, metavar="N", help="default: the game's own")
    about = "the agent in all other seats; default: the game's own"
    add("--opponents", metavar="A", help=about)
    about = "learner decisions, rounded up to whole rollouts; default: %(default)s"
    add("--decisions", type=int, default=500_000, metavar="N", help=about)
    about = "of weights, deals and actions; default: %(default)s"
    add("--seed", type=int, default=0, metavar="S", help=about)
    about = "of the evaluation; default: %(default)s"
    add("--deals", type=int, default=500, metavar="N", help=about)
    about = "the folder of policy.safetensors; default: %(default)s"
    add("--out", type=_policy_in, default="runs/sb3_ppo", metavar="DIR", help=about)
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    game = load_game(args.game)
    players = game.check_num_players(args.players)
    opponents = args.opponents or game.default_opponent
    make_agent(opponents, game)
    if args.decisions < 1:
        raise ValueError(f"--decisions must be at least 1, got {args.decisions}")
    deal_seeds(args.seed, args.deals)
    use_threads(1)
    model, speed = train(game.id, players, opponents, args.decisions, args.seed)
    export_policy(model, game, args.out)
    print(f"{model.num_timesteps:,} decisions, {speed:,.0f} a second; the policy is in {args.out}")
    for other in dict.fromkeys((opponents, "random")):
        table = [str(args.out), *[other] * (players - 1)]
        rank = evaluate(game.id, table, args.deals, args.seed).agents[0].rank
        print(f"against {other}: rank {with_interval(rank.to_json('rank'), 'rank')}")


if __name__ == "__main__":
    raise SystemExit(main())
