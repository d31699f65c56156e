"""Deep Monte-Carlo, as in DouZero (Zha et al., 2021): learned values of actions, in all seats.

One network has a value for each action. In all seats of many games the best legal action is taken,
or now and then a random one, and when a game is over the values of the actions taken in it are
moved towards what their seats have got from then on. Nothing is bootstrapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import card_envs
from benchmarks.learners.arguments import (
    HIDDEN,
    MAX_STEPS,
    CpuBudget,
    learner_parser,
    leave,
    network_of,
    parse_arguments,
)
from card_envs.agents.function import best_legal
from card_envs.commands import running

#: Games played at a time, decisions that are shuffled, and those of a minibatch.
GAMES, SHUFFLED, BATCH = 256, 8192, 256


class Episodes:
    """The decisions of running games; those of a finished game are given back with their returns.

    A return is what the seat is paid from the decision on until the game's end.
    """

    def __init__(self, num_games: int, max_players: int) -> None:
        self._paid = np.zeros((num_games, max_players))  # in the running game, so far
        self._open: list[list[tuple[NDArray[np.uint8], int, int, float]]] = [
            [] for _ in range(num_games)
        ]

    def decide(
        self,
        games: NDArray[np.int64],
        seats: NDArray[np.int8],
        observations: NDArray[np.uint8],
        actions: NDArray[np.int64],
    ) -> None:
        """Keep a decision of one seat in each of some games."""
        before = self._paid[games, seats]
        decided = zip(games, observations, actions, seats, before, strict=True)
        for game, observation, action, seat, paid in decided:
            self._open[game].append((observation, action, seat, paid))

    def pay(
        self, rewards: NDArray[np.float64], is_over: NDArray[np.bool_]
    ) -> list[tuple[NDArray[np.uint8], int, float]]:
        """Pay the seats (N, P); returns the decisions of finished games: observation, action and
        return."""
        self._paid += rewards
        finished = []
        for game in np.flatnonzero(is_over):
            paid = self._paid[game]
            finished += [
                (seen, action, paid[s] - before) for seen, action, s, before in self._open[game]
            ]
            self._open[game] = []
            paid[:] = 0.0
        return finished


def explore(
    values: NDArray[np.float32],
    action_mask: NDArray[np.int8],
    epsilon: float,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """The legal actions of the highest values (M, A), and random ones in a share ``epsilon``."""
    is_random = rng.random((len(values), 1)) < epsilon
    wanted = np.where(is_random, rng.random(values.shape), values)
    return best_legal(wanted, action_mask)


@running.command("benchmarks.learners.dmc")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.learners.dmc``."""
    parser = learner_parser("dmc", __doc__)
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="Adam's; it falls to 0")
    parser.add_argument("--epsilon", type=float, default=0.05, help="share of random actions")
    args, game = parse_arguments(parser, argv)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    sizes = [game.fields.size, *HIDDEN]
    layers = [m for k in range(2) for m in (nn.Linear(sizes[k], sizes[k + 1]), nn.ReLU())]
    net = nn.Sequential(*layers, nn.Linear(sizes[-1], game.num_actions))
    optimizer = torch.optim.Adam(net.parameters(), lr=args.learning_rate)
    scale = torch.from_numpy(game.fields.scale)

    options: dict[str, Any] = {"reward": "score", "max_steps": MAX_STEPS}
    options["observation_dtype"] = "uint8"  # whole units
    batch = card_envs.make_vec(game.id, GAMES, args.players, **options)
    _, action_mask = batch.reset(args.seed * GAMES)
    batch.step(action_mask.argmax(axis=1))  # what it does is compiled before the time begins
    observation, action_mask = batch.reset(args.seed * GAMES)
    episodes, finished, decisions = Episodes(GAMES, game.max_players), [], 0
    budget = CpuBudget(args.cpu_minutes)
    while budget.left:
        # A forced action is taken, and nothing is learned from it.
        games = np.flatnonzero(action_mask.sum(axis=1) > 1)
        seen: Any = observation[games]
        actions = action_mask.argmax(axis=1)
        with torch.no_grad():
            values = net(torch.from_numpy(seen) / scale).numpy()
        actions[games] = explore(values, action_mask[games], args.epsilon, rng)
        episodes.decide(games, batch.current_player[games], seen, actions[games])
        observation, action_mask, rewards, terminated, truncated = batch.step(actions)
        finished += episodes.pay(rewards, terminated | truncated)
        decisions += len(games)
        if len(finished) < SHUFFLED:
            continue
        optimizer.param_groups[0]["lr"] = args.learning_rate * budget.left
        order = rng.permutation(len(finished))
        for first in range(0, len(order), BATCH):
            rows = [finished[k] for k in order[first : first + BATCH]]
            observations, taken, returns = map(np.array, zip(*rows, strict=True))
            values = net(torch.from_numpy(observations) / scale)
            of_taken = values.gather(1, torch.from_numpy(taken)[:, None])[:, 0]
            loss = nn.functional.mse_loss(of_taken, torch.from_numpy(returns).float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        finished = []
    leave(args.out, network_of(net), game, decisions)


if __name__ == "__main__":
    raise SystemExit(main())
