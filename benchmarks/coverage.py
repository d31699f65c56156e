"""Do 95% intervals hold? Their coverage and width for skewed results and few deals, simulated.

    python -m benchmarks.coverage [--simulations N] [--played N] [--json FILE]

Each case is a distribution of a deal's result, whose mean is known: mostly equal deals, rank
rewards that are means over seatings, wins, differences, and results of deals that were played for
this. Deals are drawn from each many times, and it is counted how often the intervals of
``estimate_mean`` and Student's t contain the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from card_envs.agents import shipped_policies
from card_envs.commands import arguments, running
from card_envs.evaluation import (
    DIFFERENCE_BOUNDS,
    RANK_BOUNDS,
    WIN_BOUNDS,
    deal_seeds,
    estimate_mean,
    play_one_against,
)
from card_envs.evaluation.statistics import student
from card_envs.games import GAMES, load_game
from card_envs.utils.progress import track

PACKAGES = ("numba", "numpy", "scipy")
DEALS = (5, 10, 20, 50, 100, 1000)

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
# Deals whose results are the population of a case are not those of evaluations.
_PLAYED_SEED = 3_000_003


@dataclass(frozen=True)
class Case:
    """A distribution of a deal's result.

    Attributes:
        name: What it is.
        bounds: The possible range.
        values: float64 (values,).
        shares: float64 (values,), how probable each is.
    """

    name: str
    bounds: tuple[float, float]
    values: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        name: str,
        bounds: tuple[float, float],
        values: NDArray[Any] | Sequence[float],
        shares: NDArray[Any] | Sequence[float],
    ) -> Case:
        """The case; equal values are put together, and shares are scaled to a sum of 1."""
        distinct, index = np.unique(np.round(values, 9), return_inverse=True)
        weights = np.bincount(index, shares)
        return cls(name, bounds, distinct, weights / weights.sum())

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.values @ self.shares)

    def to_json(self) -> dict[str, Any]:
        """The case as JSON data."""
        return {
            "case": self.name,
            "bounds": list(self.bounds),
            "values": self.values.tolist(),
            "shares": self.shares.tolist(),
        }


def made_cases() -> list[Case]:
    """Skewed cases that need no games."""
    cases = []
    for p in _SHARES:
        shares = f"{1 - p:.0%}"
        # Name, range, the value of most deals, and the others with their shares of the rest.
        shapes: list[tuple[str, tuple[float, float], float, list[float], list[float]]] = [
            ("wins: {} are 1, others 0", WIN_BOUNDS, 1.0, [0.0], [1.0]),
            ("ranks: {} are +1, others −1", RANK_BOUNDS, 1.0, [-1.0], [1.0]),
            ("ranks: {} are 0, others +1", RANK_BOUNDS, 0.0, [1.0], [1.0]),
            ("ranks: {} are 0, others ±1", RANK_BOUNDS, 0.0, [1.0, -1.0], [0.5, 0.5]),
            ("ranks: {} are +1, others ⅔", RANK_BOUNDS, 1.0, [2 / 3], [1.0]),
            (
                "ranks: {} are +1, others ½, 0, −1 (6 : 3 : 1)",
                RANK_BOUNDS,
                1.0,
                [0.5, 0.0, -1.0],
                [0.6, 0.3, 0.1],
            ),
            (
                "differences: {} are 0, others ½, −2 (4 : 1)",
                DIFFERENCE_BOUNDS,
                0.0,
                [0.5, -2.0],
                [0.8, 0.2],
            ),
        ]
        for name, bounds, most, others, of_rest in shapes:
            rest = [p * share for share in of_rest]
            cases.append(Case.of(name.format(shares), bounds, [most, *others], [1 - p, *rest]))
    for players in (2, 3, 4, 6):
        for ahead in (0.5, 0.9, 0.97):
            cases.append(_of_seatings(players, ahead))
        name = f"ranks: {players} players, all places alike, one seating"
        cases.append(Case.of(name, RANK_BOUNDS, np.linspace(-1, 1, players), np.ones(players)))
    grid = np.linspace(-1, 1, 201)
    cases.append(Case.of("ranks: uniform", RANK_BOUNDS, grid, np.ones(201)))
    bell = np.exp(-((grid / 0.2) ** 2) / 2)
    cases.append(Case.of("ranks: normal, deviation 0.2", RANK_BOUNDS, grid, bell))
    falling = np.exp(-8.0 * (1.0 - grid))
    cases.append(Case.of("ranks: exponential below +1, mean ⅞", RANK_BOUNDS, grid, falling))
    return cases


def _of_seatings(players: int, ahead: float) -> Case:
    """Rank rewards, means over cyclic seatings, of an agent that is level with an opponent in 5% of
    the games, and otherwise ahead with a probability; independently of all else."""
    # Of each opponent in each seating: behind, level, ahead.
    once = np.array([(1 - ahead) * 0.95, 0.05, ahead * 0.95])
    sums = np.array([1.0])
    comparisons = players * (players - 1)
    for _ in range(comparisons):
        sums = np.convolve(sums, once)
    name = f"ranks: {players} players, mean over seatings, {ahead:.0%} ahead"
    return Case.of(name, RANK_BOUNDS, np.arange(len(sums)) / comparisons - 1.0, sums)


def played_cases(played: int) -> list[Case]:
    """Results of one ``ppo`` among copies of another agent, in all games that have one.

    Args:
        played: How many deals are played for each.
    """
    cases = []
    for game in (load_game(game_id) for game_id in GAMES):
        if "ppo" not in shipped_policies(game):
            continue
        for others in dict.fromkeys(("random", game.default_opponent)):
            seeds = deal_seeds(_PLAYED_SEED, played)
            sizes = [game.default_players]
            [(players, results)] = play_one_against(game, "ppo", others, sizes, seeds)
            name = f"{game.title}, {players} players: ppo among {others}"
            for metric, bounds, values in (
                ("ranks", RANK_BOUNDS, results.rank),
                ("wins", WIN_BOUNDS, results.win),
            ):
                deals = values[..., 0].mean(axis=1)
                cases.append(Case.of(f"{metric}: {name}", bounds, deals, np.ones(played)))
    return cases


def simulate(case: Case, deals: int, simulations: int, seed: int) -> dict[str, Any]:
    """How the intervals of a case do.

    Args:
        case: The case.
        deals: How many deals are drawn for an interval.
        simulations: How many intervals are made.
        seed: Of the draws.

    Returns:
        ``deals``; ``coverage`` and ``width`` (the mean) of the intervals; ``student_coverage`` and
        ``student_width``, those of Student's t; ``outside`` and ``empty``: how many intervals leave
        the range, or have width 0.
    """
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(deals, case.shares, simulations)
    rows, repeats = np.unique(counts, axis=0, return_counts=True)
    ends = np.array([_interval(case, row) for row in rows])
    means = rows @ case.values / deals
    errors = np.sqrt(np.maximum(rows @ case.values**2 / deals - means**2, 0.0) / (deals - 1))
    half = student(deals - 1) * errors
    of_student = np.stack([means - half, means + half], axis=1)
    low, high = case.bounds
    outside = (ends[:, 0] < low) | (ends[:, 1] > high)
    empty = ends[:, 0] >= ends[:, 1]
    return {
        "deals": deals,
        "coverage": _coverage(ends, case.mean, repeats),
        "width": float(np.average(ends[:, 1] - ends[:, 0], weights=repeats)),
        "student_coverage": _coverage(of_student, case.mean, repeats),
        "student_width": float(np.average(2.0 * half, weights=repeats)),
        "outside": int(repeats[outside].sum()),
        "empty": int(repeats[empty].sum()),
    }


def _interval(case: Case, counts: NDArray[np.int64]) -> list[float]:
    ends = estimate_mean(np.repeat(case.values, counts), case.bounds).interval
    assert ends is not None  # there are 5 deals or more
    return ends


def _coverage(ends: NDArray[np.float64], mean: float, weights: NDArray[np.int64]) -> float:
    contains = (ends[:, 0] <= mean + 1e-12) & (mean - 1e-12 <= ends[:, 1])
    return float(np.average(contains, weights=weights))


def measure(simulations: int, played: int, seed: int) -> dict[str, Any]:
    """Play and simulate.

    Args:
        simulations: For each case and number of deals.
        played: Deals that are played for the cases of real results.
        seed: Of the simulations.

    Returns:
        The document that is written as JSON.
    """
    rows = []
    for k, case in enumerate(track([*made_cases(), *played_cases(played)], "cases")):
        found = [simulate(case, deals, simulations, seed + k) for deals in DEALS]
        rows.append({**case.to_json(), "intervals": found})
    return report.document(
        "coverage",
        "all",
        ["--simulations", str(simulations), "--played", str(played), "--seed", str(seed)],
        PACKAGES,
        {"simulations": simulations, "played": played, "seed": seed},
        {"cases": rows},
    )


@running.command("benchmarks.coverage")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.coverage``."""
    parser = arguments.module_parser("benchmarks.coverage", __doc__)
    for name, default, what in (
        ("simulations", 10_000, "for each case and number of deals"),
        ("played", 4000, "deals played for each case of real results"),
        ("seed", 0, "of the simulations"),
    ):
        words = f"{what} (default: {default})"
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=words)
    args = report.parse_arguments(parser, argv, of_one_game=False)
    if args.simulations < 1 or args.seed < 0:
        raise ValueError("--simulations must be at least 1 and --seed at least 0")
    deal_seeds(_PLAYED_SEED, args.played)
    report.finish(args, lambda: measure(args.simulations, args.played, args.seed))


if __name__ == "__main__":
    raise SystemExit(main())
