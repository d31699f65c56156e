"""Methods of learning compared: as much tuning for each, several seeds, ten minutes of a core.

    python -m benchmarks.algorithms --game G --method M --config C --seed S    # one cell
    python -m benchmarks.algorithms --json FILE --plot FILE.png    # all missing ones, the results
    python -m benchmarks.algorithms --game G --method M1 M2        # the same of a part

``configs/algorithms/comparison.yaml`` lists games, methods and their configurations. Of each method
and game the configuration that is best with the seeds and on the deals for tuning is selected; with
the other seeds and on other deals it is reported. Cells, one JSON file each, may be made on several
machines, by Ray or by hand; the table needs only their files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks import report
from benchmarks.algorithm_cells import Cell, Comparison, check_agents, make
from benchmarks.tables.learning import algorithms as table
from benchmarks.tables.pictures import PICTURES
from card_envs.commands import arguments, running
from card_envs.games import load_game
from card_envs.utils.files import write_json
from card_envs.utils.progress import track
from card_envs.utils.words import did_you_mean
from training.runs.keys import load
from training.runs.records import commit_of
from training.runs.tasks import add_arguments, check_backend, do_tasks

PACKAGES = ("numba", "numpy", "sb3-contrib", "scipy", "stable-baselines3", "torch")
COMPARISON = Path(__file__).parents[1] / "configs" / "algorithms" / "comparison.yaml"
CELLS = Path("runs") / "algorithms"
_RESAMPLES = 10_000

#: A value and its 95% interval.
Estimate = tuple[float, float, float]


# ---------------------------------------------------------------------------------------------
# Cells
# ---------------------------------------------------------------------------------------------


def make_missing(cells: Sequence[Cell], games_from: Sequence[str], jobs: int, backend: str) -> None:
    """Make the cells whose files are not there, and write these.

    Raises:
        ValueError: A file is of something else, a cell cannot be made, or as for ``do_tasks``.
    """
    missing = [cell for cell in cells if cell.result() is None]
    if not missing:
        return
    patience = 60 * missing[0].comparison.cpu_minutes
    made = do_tasks(
        make,
        missing,
        (games_from, Path.cwd()),
        {cell.game for cell in missing},
        jobs=jobs,
        backend=backend,
        patience=patience,
    )
    # Cell by cell, so that what is finished is kept when the rest is not.
    for _, (i, result) in zip(track(range(len(missing)), "cells"), made, strict=True):
        write_json(missing[i].path, result)


def selected(comparison: Comparison, root: Path) -> dict[tuple[str, str], dict[str, float]]:
    """The scores of the configurations in tuning, the selected one first, by game and method.

    Raises:
        ValueError: A cell is missing.
    """
    scores: dict[tuple[str, str], dict[str, list[float]]] = {}
    for cell in comparison.cells(root, comparison.tuning):
        of_method = scores.setdefault((cell.game.id, cell.method), {})
        of_method.setdefault(cell.config, []).append(score(_made(cell)))
    return {
        key: dict(
            sorted(
                ((config, float(np.mean(found))) for config, found in of_method.items()),
                key=lambda entry: -entry[1],
            )
        )
        for key, of_method in scores.items()
    }


def reported(
    comparison: Comparison, root: Path, tuned: dict[tuple[str, str], dict[str, float]]
) -> list[Cell]:
    """The cells of the selected configurations."""
    return [
        cell
        for cell in comparison.cells(root, comparison.reported)
        if cell.config == next(iter(tuned[cell.game.id, cell.method]))
    ]


def score(result: dict[str, Any]) -> float:
    """A cell's rank reward, the mean over opponents."""
    return float(np.mean([match["rank"] for match in result["against"].values()]))


def _made(cell: Cell) -> dict[str, Any]:
    result = cell.result()
    if result is None:
        raise ValueError(f"the cell {cell.name} is missing in {cell.root}")
    return result


# ---------------------------------------------------------------------------------------------
# Statistics
# ---------------------------------------------------------------------------------------------


def iqm(*games: NDArray[np.float64], axis: int = -1) -> Any:
    """The interquartile mean over the runs of all games."""
    return stats.trim_mean(np.concatenate(games, axis=axis), 0.25, axis=axis)


def difference(*games: NDArray[np.float64], axis: int = -1) -> Any:
    """By how much the first method's IQM is ahead of the second's, whose games come last."""
    half = len(games) // 2
    return iqm(*games[:half], axis=axis) - iqm(*games[half:], axis=axis)


def estimate(statistic: Callable[..., Any], games: Sequence[NDArray[np.float64]]) -> Estimate:
    """A statistic with its 95% interval: a stratified bootstrap, which resamples the runs within
    each game."""
    found = stats.bootstrap(
        games,
        statistic,
        n_resamples=_RESAMPLES,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(statistic(*games)), float(found.low), float(found.high)


def summarize(comparison: Comparison, root: Path) -> dict[str, Any]:
    """What the cells say of each method.

    Returns:
        By method ``about``; ``games``: by game what was ``tuned`` (the configurations' scores, the
        selected one first), its ``runs``, each with its ``score``, and ``iqm``, an estimate; the
        ``iqm`` over all games, and its ``difference`` to the first method (None of this one).

    Raises:
        ValueError: A cell is missing, or is of something else.
    """
    tuned = selected(comparison, root)
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in tuned}
    for cell in reported(comparison, root, tuned):
        made = _made(cell)
        runs[cell.game.id, cell.method].append({**made, "score": score(made)})
    scores = {
        name: [np.array([run["score"] for run in runs[game, name]]) for game in comparison.games]
        for name in comparison.methods
    }
    first = next(iter(comparison.methods))
    return {
        name: {
            "about": method.about,
            "games": {
                game: {
                    "tuned": tuned[game, name],
                    "runs": runs[game, name],
                    "iqm": estimate(iqm, [of_game]),
                }
                for game, of_game in zip(comparison.games, scores[name], strict=True)
            },
            "iqm": estimate(iqm, scores[name]),
            "difference": None
            if name == first
            else estimate(difference, [*scores[name], *scores[first]]),
        }
        for name, method in comparison.methods.items()
    }


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


def part_of(
    comparison: Comparison, games: Sequence[str] | None, methods: Sequence[str] | None
) -> Comparison:
    """The comparison of these games and methods only; None: of all.

    Raises:
        ValueError: There is no such one.
    """
    update = {}
    for key, names in (("game", games), ("method", methods)):
        known = getattr(comparison, f"{key}s")
        for name in names or ():
            _check_is_one("--" + key, name, [*known])
        if names:
            update[f"{key}s"] = {name: known[name] for name in known if name in names}
    return comparison.model_copy(update=update)


def one_cell(comparison: Comparison, config: str | None, seed: str | None, root: Path) -> Cell:
    """The cell of a comparison of one game and one method.

    Raises:
        ValueError: There is none, or it is not named.
    """
    if config is None or seed is None or len(comparison.games) * len(comparison.methods) > 1:
        raise ValueError("one cell is named by one --game, one --method, --config and --seed")
    [game], [method] = comparison.games, comparison.methods
    seeds = [*comparison.tuning.seeds, *comparison.reported.seeds]
    _check_is_one("--config", config, [*comparison.methods[method].configs])
    _check_is_one("--seed", seed, [str(known) for known in seeds])
    return Cell(comparison, load_game(game), method, config, int(seed), root)


def _check_is_one(argument: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        hint = did_you_mean(name, known)
        raise ValueError(f"{argument}: there is no {name!r}{hint}, but {', '.join(known)}")


@running.command("benchmarks.algorithms")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.algorithms``."""
    parser = arguments.module_parser("benchmarks.algorithms", __doc__)
    add = parser.add_argument
    about = f"the games, methods and configurations; default: {COMPARISON.name}"
    add("--comparison", type=Path, default=COMPARISON, metavar="FILE", help=about)
    add("--game", nargs="+", metavar="G", help="these games only")
    add("--method", nargs="+", metavar="M", help="these methods only")
    add("--config", metavar="C", help="with --seed: one cell only, of one game and method")
    add("--seed", metavar="S", help="see --config")
    about = f"the folder of the cells; default: {CELLS}"
    add("--cells", type=Path, default=CELLS, metavar="DIR", help=about)
    add_arguments(parser, "cells")
    about = "write the results of all cells to FILE; default: show them as a table"
    add("--json", type=arguments.output_file, metavar="FILE", help=about)
    add("--plot", type=arguments.picture_file, metavar="FILE", help="draw them")
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    commit_of()  # of the code that runs, before hours of it
    comparison = part_of(load(Comparison, args.comparison), args.game, args.method)
    check_agents(comparison)
    check_backend(args.jobs, args.backend)
    root, how = args.cells.resolve(), (args.games_from, args.jobs, args.backend)
    if args.config or args.seed:
        if args.json or args.plot:
            raise ValueError("one cell makes no table: leave out --json and --plot")
        make_missing([one_cell(comparison, args.config, args.seed, root)], *how)
        return
    make_missing(comparison.cells(root, comparison.tuning), *how)
    make_missing(reported(comparison, root, selected(comparison, root)), *how)
    words = [] if args.comparison == COMPARISON else ["--comparison", str(args.comparison)]
    words += [] if args.cells == CELLS else ["--cells", str(args.cells)]
    words += ["--game", *args.game] if args.game else []
    words += ["--method", *args.method] if args.method else []
    words += [word for name in args.games_from for word in ("--games-from", name)]
    settings = comparison.model_dump(mode="json")
    results = {"methods": summarize(comparison, root)}
    measured = report.document("algorithms", "all", words, PACKAGES, settings, results)
    if args.plot:
        PICTURES["algorithms"].draw(measured, args.plot, "")
    if args.json:
        write_json(args.json, measured)
    else:
        print(table(measured))


if __name__ == "__main__":
    raise SystemExit(main())
