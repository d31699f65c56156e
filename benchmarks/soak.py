"""Random play with all invariants checked: what a billion decisions find.

    python -m benchmarks.soak [--decisions N] [--seed S] [--json FILE]

The decisions are shared out among all games, table sizes and several sets of options. Checked at
every decision, in the compiled loop: each value of the observation is in [0, 1]; the mask is 0 or 1
and has as many legal actions as it says, one at least; rewards are zero-sum (with ``reward="win"``
they sum to 1 at the end). Checked at samples: the game's ``check_invariants`` (cards conserved,
knowledge consistent), whole units in all observations, and hiding: what every player observes, and
the mask of the player to move, are the same after ``determinize``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from benchmarks import report
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.contract.options import View
from card_envs.engine.seeds import check_given_seed, next_seed, players_of, random_action
from card_envs.engine.templates import compile_for, reset_games
from card_envs.games import GAMES, load_game
from card_envs.utils.progress import track

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from helpers import kit_of, option_sets  # type: ignore[import-not-found]

PACKAGES = ("numba", "numpy")
GAMES_AT_ONCE = 256
CHUNK = 1000  # decisions of each game between two samples
SAMPLES = 16  # positions of a sample
CHECKS = ("observation", "mask", "rewards", "invariants", "units", "hiding")


def soak_games(
    states,
    streams,
    decisions,
    low,
    high,
    options,
    pays_win,
    memory,
    features,
    observation,
    action_mask,
    found,
    ended,
):
    """Random decisions in every game, a template; counts violations in ``found`` (N, 3)."""
    for i in prange(len(states)):
        out, mask = observation[i], action_mask[i]
        s = states[i]
        for _ in range(decisions):
            observe(states, i, s.current_player, memory, features, out)
            for k in range(len(out)):
                found[i, 0] += not 0.0 <= out[k] <= 1.0
            count = legal_action_mask(states, i, mask)
            legal = 0
            for action in range(len(mask)):
                legal += mask[action] == 1
                found[i, 1] += mask[action] != 0 and mask[action] != 1
            found[i, 1] += legal != count or count < 1
            step(states, i, random_action(streams, i, mask, count))
            is_over = s.terminated or s.truncated
            total = 0.0
            for player in range(s.num_players):
                total += s.rewards[player]
            if pays_win and is_over:
                total -= 1.0
            found[i, 2] += abs(total) > 1e-9
            if is_over:
                ended[i] += 1
                seed = next_seed(s.seed)
                reset(states, i, seed, players_of(seed, low, high), *options)


class Soak:
    """Random play of one game under one set of options, and what was found.

    Args:
        game: The game.
        num_players: The number of players.
        options: The game's options.
        seed: Of the deals, the choices and the samples.
    """

    def __init__(self, game: Game, num_players: int, options: dict[str, Any], seed: int) -> None:
        self.game = game
        self.found = dict.fromkeys(CHECKS, 0)
        self.games = 0
        self.samples = 0
        self._num_players = num_players
        self._encoded = game.encode_options(options)
        self._pays_win = options.get("reward") == "win"
        self._rng = np.random.default_rng([seed, num_players])
        self._kit = kit_of(game)
        self._states = game.new_states(GAMES_AT_ONCE)
        seeds = self._rng.integers(0, 2**64, GAMES_AT_ONCE, np.uint64)
        self._streams = self._rng.integers(0, 2**64, GAMES_AT_ONCE, np.uint64)
        self._observation = np.zeros((GAMES_AT_ONCE, game.fields.size), np.float32)
        self._action_mask = np.zeros((GAMES_AT_ONCE, game.num_actions), np.int8)
        sizes = np.full(GAMES_AT_ONCE, num_players)
        compile_for(game, reset_games)(
            self._states, np.arange(GAMES_AT_ONCE), seeds, sizes, self._encoded
        )

    def play(self, decisions: int) -> None:
        """Play this many decisions in each game, then check a sample of the positions."""
        found = np.zeros((GAMES_AT_ONCE, 3), np.int64)
        ended = np.zeros(GAMES_AT_ONCE, np.int64)
        view = View(("perfect", "none")[int(self._rng.integers(2))], bool(self._rng.integers(2)))
        compile_for(self.game, soak_games)(
            self._states,
            self._streams,
            decisions,
            self._num_players,
            self._num_players,
            self._encoded,
            self._pays_win,
            *view.codes,
            self._observation,
            self._action_mask,
            found,
            ended,
        )
        self.games += int(ended.sum())
        for check, count in zip(CHECKS, found.sum(axis=0).tolist(), strict=False):
            self.found[check] += count
        for i in self._rng.choice(GAMES_AT_ONCE, SAMPLES, replace=False).tolist():
            self._check_position(self._states[i : i + 1])
            self.samples += 1

    def _check_position(self, states: NDArray[np.void]) -> None:
        try:
            self._kit.check_invariants(states, 0)
        except AssertionError:
            self.found["invariants"] += 1
        for player in range(self._num_players):
            before = self._looks(states, player)
            units = before[0] * self.game.fields.scale
            self.found["units"] += int((np.abs(units - np.rint(units)) > 1e-3).any())
            redrawn = self.game.new_states(1)
            redrawn.view(np.ndarray).view(np.uint8)[:] = states.view(np.ndarray).view(np.uint8)
            seed = self._rng.integers(0, 2**64, dtype=np.uint64)
            self.game.rules.determinize(redrawn, 0, player, seed)
            after = self._looks(redrawn, player)
            same = all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))
            self.found["hiding"] += not same

    def _looks(self, states: NDArray[np.void], player: int) -> list[NDArray[Any]]:
        """What the player observes in both memory modes, and their mask if they are to move."""
        looks: list[NDArray[Any]] = []
        for memory in (0, 1):
            out = np.zeros(self.game.fields.size, np.float32)
            self.game.observe(states, 0, player, memory, 1, out)
            looks.append(out)
        if states["current_player"][0] == player:
            mask = np.zeros(self.game.num_actions, np.int8)
            self.game.rules.legal_action_mask(states, 0, mask)
            looks.append(mask)
        return looks


def soak(games: Sequence[Game], decisions: int, seed: int) -> dict[str, Any]:
    """Play about ``decisions`` decisions over all games; returns a row for each game."""
    rows = {}
    share = decisions / len(games)
    for game in games:
        sizes = game.table_sizes
        plays = [
            Soak(game, n, options, seed + k)
            for n in sizes
            for k, options in enumerate(option_sets(game))
        ]
        rounds = max(1, round(share / (len(plays) * GAMES_AT_ONCE * CHUNK)))
        begun = time.monotonic()
        for _ in track(range(rounds), game.id):
            for play in plays:
                play.play(CHUNK)
        rows[game.id] = {
            "decisions": rounds * len(plays) * GAMES_AT_ONCE * CHUNK,
            "games": sum(play.games for play in plays),
            "samples": sum(play.samples for play in plays),
            "seconds": round(time.monotonic() - begun, 1),
            "found": {check: sum(play.found[check] for play in plays) for check in CHECKS},
        }
    return rows


@running.command("benchmarks.soak")
def main(argv: Sequence[str] | None) -> int:
    """The command ``python -m benchmarks.soak``; status 1 if an invariant was violated."""
    parser = arguments.module_parser("benchmarks.soak", __doc__)
    parser.add_argument("--decisions", type=int, default=10**8, metavar="N", help="default: 10^8")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    args = report.parse_arguments(parser, argv, of_one_game=False)
    if args.decisions < 1:
        raise ValueError(f"--decisions must be at least 1, got {args.decisions}")
    check_given_seed(args.seed)
    games = [load_game(game_id) for game_id in GAMES]
    violations = 0

    def measure() -> dict[str, Any]:
        nonlocal violations
        results = soak(games, args.decisions, args.seed)
        violations = sum(sum(row["found"].values()) for row in results.values())
        return report.document(
            "soak",
            "all",
            ["--decisions", str(args.decisions), "--seed", str(args.seed)],
            PACKAGES,
            {"decisions": args.decisions, "seed": args.seed},
            results,
        )

    report.finish(args, measure)
    return 1 if violations else 0


if __name__ == "__main__":
    raise SystemExit(main())
