"""Time to draw a table: each game's picture, SVG and text, and pictures of PettingZoo's card games.

python -m benchmarks.rendering [--game GAME] [--pictures N] [--json FILE]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pettingzoo
from pettingzoo.classic import leduc_holdem_v4, texas_holdem_no_limit_v6

import card_envs
from benchmarks import report
from card_envs.commands import arguments, running

PACKAGES = ("fonttools", "numpy", "pettingzoo", "pillow", "pygame")
_OTHERS = {
    "leduc_holdem_v4": leduc_holdem_v4,
    "texas_holdem_no_limit_v6": texas_holdem_no_limit_v6,
}


def _milliseconds(env: pettingzoo.AECEnv, number: int) -> list[float]:
    """The CPU time of each call of ``render()``, along games of random legal actions."""
    times: list[float] = []
    for _ in _decisions(env, number):
        begun = time.process_time()
        env.render()
        times.append(1000 * (time.process_time() - begun))
    return times


def _decisions(env: pettingzoo.AECEnv, number: int) -> Iterator[int]:
    env.reset(seed=0)
    for k in range(number):
        yield k
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.reset(seed=k)
            continue
        space = env.action_space(env.agent_selection)
        env.step(space.sample(observation["action_mask"]))


def measure(game: str, pictures: int) -> dict[str, Any]:
    """Draw ``pictures`` pictures of each kind."""
    rows = []
    loaded = card_envs.load_game(game)
    for num_players in (loaded.min_players, loaded.max_players):
        for mode in ("rgb_array", "svg", "ansi"):
            env = card_envs.make(game, num_players=num_players, render_mode=mode)
            times = _milliseconds(env, pictures)
            rows.append(_row(game, num_players, mode, times))
    for name, module in _OTHERS.items():
        env = module.env(render_mode="rgb_array")
        rows.append(_row(name, 2, "rgb_array", _milliseconds(env, pictures)))
        env.close()
    return report.document(
        "rendering",
        loaded.id,
        ["--game", loaded.id, "--pictures", str(pictures)],
        PACKAGES,
        {"pictures": pictures},
        {"milliseconds": rows},
    )


def _row(game: str, num_players: int, mode: str, times: list[float]) -> dict[str, Any]:
    return {
        "environment": game,
        "num_players": num_players,
        "render_mode": mode,
        "median": statistics.median(times),
        "worst_of_20": statistics.quantiles(times, n=20)[-1],
    }


@running.command("benchmarks.rendering")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.rendering``."""
    parser = arguments.module_parser("benchmarks.rendering", __doc__)
    parser.add_argument("--pictures", type=int, default=300, help="of each kind; default: 300")
    args = report.parse_arguments(parser, argv)
    if args.pictures < 2:
        raise ValueError("--pictures must be at least 2")
    report.finish(args, lambda: measure(args.game, args.pictures))


if __name__ == "__main__":
    raise SystemExit(main())
