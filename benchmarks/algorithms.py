"""Methods of learning compared: as much tuning for each, several seeds, ten minutes of a core.

    python -m benchmarks.algorithms --game G --method M --config C --seed S    # one cell
    python -m benchmarks.algorithms --json FILE --plot FILE.png    # all missing ones, the results

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
from card_envs.utils.files import write_json
from card_envs.utils.progress import track
from card_envs.utils.words import did_you_mean
from training.runs.keys import load
from training.runs.tasks import add_arguments, check_backend, do_tasks

PACKAGES = ("numba", "numpy", "sb3-contrib", "scipy", "stable-baselines3", "torch")
COMPARISON = Path(__file__).parents[1] / "configs" / "algorithms" / "comparison.yaml"
_RESAMPLES = 10_000

# What names a cell.
_OF_A_CELL = ("game", "method", "config", "seed")

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
        missing[0].game,
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
        selected one first), its ``runs``, and ``iqm``, an estimate; the ``iqm`` over all games, and
        its ``difference`` to the first method (None of this one).

    Raises:
        ValueError: A cell is missing, or is of something else.
    """
    tuned = selected(comparison, root)
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in tuned}
    for cell in reported(comparison, root, tuned):
        runs[cell.game.id, cell.method].append(_made(cell))
    scores = {
        name: [np.array([score(run) for run in runs[game, name]]) for game in comparison.games]
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


def one_cell(comparison: Comparison, root: Path, args: Any) -> Cell:
    """The cell that the arguments name.

    Raises:
        ValueError: There is none.
    """
    stages = comparison.tuning, comparison.reported
    cells = [cell for stage in stages for cell in comparison.cells(root, stage)]
    for place, key in enumerate(_OF_A_CELL):
        wanted, names = getattr(args, key), [cell.name.split("/")[place] for cell in cells]
        if wanted not in names:
            known = list(dict.fromkeys(names))
            hint = did_you_mean(wanted, known)
            raise ValueError(f"--{key}: there is no {wanted!r}{hint}, but {', '.join(known)}")
        cells = [cell for cell, name in zip(cells, names, strict=True) if name == wanted]
    return cells[0]


@running.command("benchmarks.algorithms")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.algorithms``."""
    parser = arguments.module_parser("benchmarks.algorithms", __doc__)
    add = parser.add_argument
    about = f"the games, methods and configurations; default: {COMPARISON.name}"
    add("--comparison", type=Path, default=COMPARISON, metavar="FILE", help=about)
    for name in _OF_A_CELL:
        add(f"--{name}", metavar=name[0].upper(), help="of one cell, with the other three")
    about = "the folder of the cells; default: runs/algorithms"
    add("--cells", type=Path, default=Path("runs") / "algorithms", metavar="DIR", help=about)
    add_arguments(parser, "cells")
    about = "write the results of all cells to FILE; default: show them as a table"
    add("--json", type=arguments.output_file, metavar="FILE", help=about)
    add("--plot", type=arguments.picture_file, metavar="FILE", help="draw them")
    arguments.add_games_argument(parser)
    args = arguments.parse_arguments(parser, argv)
    comparison = load(Comparison, args.comparison)
    check_agents(comparison)
    check_backend(args.jobs, args.backend)
    root, given = args.cells.resolve(), [key for key in _OF_A_CELL if getattr(args, key)]
    how = args.games_from, args.jobs, args.backend
    if given:
        missing = [f"--{key}" for key in _OF_A_CELL if key not in given]
        if missing or args.json or args.plot:
            raise ValueError(
                "one cell is named by --game, --method, --config and --seed, and makes no table"
            )
        make_missing([one_cell(comparison, root, args)], *how)
        return
    make_missing(comparison.cells(root, comparison.tuning), *how)
    make_missing(reported(comparison, root, selected(comparison, root)), *how)
    words = [] if args.comparison == COMPARISON else ["--comparison", str(args.comparison)]
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
