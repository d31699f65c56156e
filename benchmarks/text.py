"""Games in words: decisions a second, and lengths of texts.

python -m benchmarks.text [--game GAME] [--seconds S] [--json FILE]
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import card_envs
from benchmarks import report
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.text.seat import TextSeatEnv

PACKAGES = ("gymnasium", "numba", "numpy")


def _play_text(game: Game, num_players: int, lengths: dict[str, list[int]]) -> Callable[[], int]:
    """A game of ``TextEnv`` by the scripted players' actions, read and answered in words."""
    env = card_envs.make_text(game.name, num_players=num_players)
    heuristic = game.heuristic
    if heuristic is None:
        raise ValueError(f"{game.id} has no heuristic, whose actions are told in words")
    seeds = iter(range(10**9))

    def play() -> int:
        env.reset(seed=next(seeds))
        done, decisions = False, 0
        per_player = [0] * num_players
        while not done:
            player, text = env.get_observation()
            lengths["first" if not per_player[player] else "later"].append(len(text))
            per_player[player] += len(text)
            action = int(heuristic(env.aec.states, 0))
            done, _ = env.step(f"[{game.action_name(action)}]")
            decisions += 1
        lengths["game"] += per_player
        return decisions

    return play


def _play_seat(game: Game, num_players: int) -> Callable[[], int]:
    """A game of ``TextSeatEnv`` by random legal answers, against scripted players."""
    env = TextSeatEnv(game.name, num_players=num_players, opponents="heuristic")
    rng = np.random.default_rng(0)
    env.reset(seed=0)

    def play() -> int:
        _, info = env.reset()
        over, decisions = False, 0
        while not over:
            legal = info["legal_actions"]
            _, _, terminated, truncated, info = env.step(f"[{legal[rng.integers(len(legal))]}]")
            over = terminated or truncated
            decisions += 1
        return decisions

    return play


def _decisions_a_second(play: Callable[[], int], seconds: float) -> float:
    """Whole games for so long, in CPU time."""
    play()
    begun, decisions = time.process_time(), 0
    while time.process_time() - begun < seconds:
        decisions += play()
    return decisions / (time.process_time() - begun)


def measure(game_id: str, seconds: float) -> dict[str, Any]:
    """Play at the smallest and the largest table."""
    game = card_envs.load_game(game_id)
    speed = []
    lengths = []
    for num_players in sorted({game.min_players, game.max_players}):
        found: dict[str, list[int]] = {"first": [], "later": [], "game": []}
        players = {
            "TextEnv": _play_text(game, num_players, found),
            "TextSeatEnv": _play_seat(game, num_players),
        }
        for name, play in players.items():
            rate = _decisions_a_second(play, seconds)
            speed.append({"interface": name, "num_players": num_players, "per_second": rate})
        env = card_envs.make_text(game.name, num_players=num_players)
        lengths.append(
            {
                "num_players": num_players,
                **{
                    f"{name}_{word}": float(value(found[name]))
                    for name in found
                    for word, value in (("mean", np.mean), ("most", np.max))
                },
                "bound": env.max_chars,
            }
        )
    return report.document(
        "text",
        game.id,
        ["--game", game.id, "--seconds", f"{seconds:g}"],
        PACKAGES,
        {"seconds": seconds},
        {
            "decisions_per_second": speed,
            "characters": lengths,
        },
    )


@running.command("benchmarks.text")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.text``."""
    parser = arguments.module_parser("benchmarks.text", __doc__)
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="for the speed of each interface; default: 5"
    )
    args = report.parse_arguments(parser, argv)
    if not (math.isfinite(args.seconds) and args.seconds > 0):
        raise ValueError("--seconds must be a positive number")
    report.finish(args, lambda: measure(args.game, args.seconds))


if __name__ == "__main__":
    raise SystemExit(main())
