"""Games in words: how strong a player who reads is, decisions a second, and lengths of texts.

python -m benchmarks.text [--game GAME] [--deals N] [--seconds S] [--json FILE]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import card_envs
from benchmarks import report
from benchmarks.text_players import TextPlayer
from card_envs.commands import running
from card_envs.contract.game import Game
from card_envs.evaluation import DIFFERENCE_BOUNDS, estimate_mean
from card_envs.text.seat import TextSeatEnv

PACKAGES = ("gymnasium", "numba", "numpy")


# ---------------------------------------------------------------------------------------------
# How strong a player who reads is
# ---------------------------------------------------------------------------------------------


def _strength(game: Game, num_players: int, deals: int) -> dict[str, Any]:
    """One player who reads among scripted players, and a scripted player in the same seat.

    The seat goes round from deal to deal; the rank rewards of the same deal are compared.
    """
    reader = TextPlayer(game)
    heuristic = game.heuristic
    assert heuristic is not None
    env = card_envs.make_text(game.name, num_players=num_players)
    differences: list[float] = []
    rewards: list[float] = []
    decisions = different = 0
    for deal in range(deals):
        seat = deal % num_players
        env.reset(seed=deal)
        done = False
        while not done:
            action = int(heuristic(env.aec.states, 0))
            if env.aec.agent_selection != f"player_{seat}":
                done, _ = env.step(f"[{action}]")
                continue
            _, text = env.get_observation()
            done, info = env.step(reader(text))
            decisions += 1
            different += info["action"] != action
        rewards.append(env.close()[seat])
        differences.append(rewards[-1] - _scripted_reward(game, num_players, deal, seat))
    difference = estimate_mean(np.array(differences), DIFFERENCE_BOUNDS)
    return {
        "num_players": num_players,
        "decisions": decisions,
        "different_actions": different,
        "rank": float(np.mean(rewards)),
        **difference.to_json("difference"),
    }


def _scripted_reward(game: Game, num_players: int, seed: int, seat: int) -> float:
    """The rank reward of a seat where all are scripted players, through the kernels."""
    heuristic = game.heuristic
    assert heuristic is not None
    states = game.new_states(1)
    options = game.encode_options({})
    game.rules.reset(states, 0, np.uint64(seed), num_players, *options)
    reward = 0.0
    while not (states["terminated"][0] or states["truncated"][0]):
        game.rules.step(states, 0, int(heuristic(states, 0)))
        reward += float(states["rewards"][0, seat])
    return reward


# ---------------------------------------------------------------------------------------------
# Speed and lengths
# ---------------------------------------------------------------------------------------------


def _play_text(game: Game, num_players: int, lengths: dict[str, list[int]]) -> Callable[[], int]:
    """A game of ``TextEnv`` by the scripted players' actions, read and answered in words."""
    env = card_envs.make_text(game.name, num_players=num_players)
    heuristic = game.heuristic
    assert heuristic is not None
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


def measure(game_id: str, deals: int, seconds: float) -> dict[str, Any]:
    """Play all table sizes for strength, and the smallest and the largest for speed and lengths."""
    game = card_envs.load_game(game_id)
    sizes = range(game.min_players, game.max_players + 1)
    speed = []
    lengths = []
    for num_players in sorted({sizes[0], sizes[-1]}):
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
        ["--game", game.id, "--deals", str(deals), "--seconds", f"{seconds:g}"],
        PACKAGES,
        {"deals": deals, "seconds": seconds},
        {
            "strength": [_strength(game, n, deals) for n in sizes],
            "decisions_per_second": speed,
            "characters": lengths,
        },
    )


def _main(argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.text", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--deals", type=int, default=100, help="for strength, at each table size; default: 100"
    )
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="for the speed of each interface; default: 5"
    )
    args = report.parse_arguments(parser, argv)
    if args.deals < 2:
        raise ValueError("--deals must be at least 2")
    if not (math.isfinite(args.seconds) and args.seconds > 0):
        raise ValueError("--seconds must be a positive number")
    report.finish(args, lambda: measure(args.game, args.deals, args.seconds))


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m benchmarks.text``; returns the exit status."""
    return running.run("benchmarks.text", lambda: _main(argv))


if __name__ == "__main__":
    raise SystemExit(main())
