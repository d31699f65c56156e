"""Results as tables in the terminal and as pictures, made from their JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.agents.identity import names_a_policy_file
from card_envs.agents.programs.reports import COUNTED
from card_envs.evaluation.statistics import FEWEST_VALUES, NO_INTERVAL
from card_envs.utils.extras import import_extra
from card_envs.utils.files import write_output

#: The share of truncated games above which an evaluation warns.
MUCH_TRUNCATION = 0.01


def short_names(names: Sequence[str]) -> list[str]:
    """Agents' names; a policy file is shortened to its stem, with as many folders as are needed to
    tell it apart."""
    short = []
    for name in names:
        others, depth = {*names} - {name}, 1
        while depth < len(Path(name).parts) and any(
            _with_folders(name, depth) == _with_folders(other, depth) for other in others
        ):
            depth += 1
        short.append(_with_folders(name, depth))
    return short


def _with_folders(name: str, depth: int) -> str:
    """The last ``depth`` parts of a policy file's path; other names as they are."""
    if not names_a_policy_file(name):
        return name
    return "/".join(Path(name).with_suffix("").parts[-depth:])


def rating_interval(agent: Mapping[str, Any]) -> str:
    """The interval of an agent's rating as text, from its entry in a tournament's JSON; a dash if
    there is none."""
    if agent["rating_ci95"] is None:
        return "–"
    low, high = ("open" if end is None else f"{end:+.0f}" for end in agent["rating_ci95"])
    return "open" if low == high == "open" else f"{low} … {high}"


def interval(row: Mapping[str, Any], key: str, style: str = "+.3f") -> str:
    """The interval of a mean in words, from the JSON that has it as ``key``; a dash where there is
    none."""
    ends = row[f"{key}_ci95"]
    return "–" if ends is None else " … ".join(f"{end:{style}}" for end in ends)


def with_interval(row: Mapping[str, Any], key: str, style: str = "+.3f") -> str:
    """A mean with its interval in words; a dash, and why, where there is none."""
    ends = interval(row, key, style)
    return f"{row[key]:{style}} ({ends if ends != '–' else f'–, fewer than {FEWEST_VALUES} deals'})"


def check_display() -> None:
    """Raise a MissingExtraError if tables cannot be printed, before any games are played."""
    import_extra("rich.table", "evaluation")


def show_evaluation(result: Mapping[str, Any]) -> None:
    """Print an evaluation.

    Args:
        result: What ``EvaluationResult.to_json`` gives.

    Raises:
        MissingExtraError: rich is not installed.
    """
    table = results_table(
        f"{result['game']}, {result['num_players']} players, {result['deals']} deals "
        f"in {result['num_players']} seatings each",
        ("agent", "rank reward", "95% interval", "win share", "95% interval", "score"),
    )
    names = [as_typed(row["name"]) for row in result["agents"]]  # which can be typed as they are
    for name, row in zip(names, result["agents"], strict=True):
        table.add_row(
            name,
            f"{row['rank']:+.3f}",
            interval(row, "rank"),
            f"{row['win']:.3f}",
            interval(row, "win", ".3f"),
            f"{row['score']:+.3f}",
        )
    print_content(table)
    _print_no_intervals(result)
    print_truncated(result)
    print_programs(result)


def show_tournament(result: Mapping[str, Any]) -> None:
    """Print the ratings and the pairwise results of a tournament.

    Args:
        result: What ``TournamentResult.to_json`` gives.

    Raises:
        MissingExtraError: rich is not installed.
    """
    table = results_table(
        f"{result['game']}, {result['num_players']} players, {result['deals']} deals a table",
        ("agent", "rating", "95% interval", "deviation", "rank reward", "95% interval"),
    )
    names = [as_typed(row["name"]) for row in result["agents"]]  # which can be typed as they are
    by_rating = sorted(
        zip(names, result["agents"], strict=True), key=lambda pair: -pair[1]["rating"]
    )
    for name, row in by_rating:
        table.add_row(
            name,
            f"{row['rating']:+.0f}",
            rating_interval(row),
            f"{row['deviation']:+.3f}",
            f"{row['rank']:+.3f}",
            interval(row, "rank"),
        )
    print_content(table)
    _print_no_intervals(result)
    matrix = _pairwise_table(result, names, names)
    if not _fits(matrix):  # numbers at the head of columns
        numbers = [str(k + 1) for k in range(len(names))]
        numbered = [f"{k} {name}" for k, name in zip(numbers, names, strict=True)]
        matrix = _pairwise_table(result, numbered, numbers)
    print_content(matrix)
    print_truncated(result)
    print_programs(result)


def plot_evaluation(result: Mapping[str, Any], picture: str | Path, title: str) -> None:
    """Draw the rank rewards and the shares of victories of an evaluation, with their intervals.

    Args:
        result: What ``EvaluationResult.to_json`` gives.
        picture: The file to write; its extension selects the format.
        title: The picture's title.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OSError: The file cannot be written.
        ValueError: There is no such format.
    """
    figures = import_extra("matplotlib.figure", "evaluation")
    rows = result["agents"]
    figure = figures.Figure(figsize=(9, 2.0 + 0.4 * len(rows)), layout="constrained")
    for axes, key, label, level in zip(
        figure.subplots(1, 2, sharey=True),
        ("rank", "win"),
        ("rank reward", "win share"),
        (0.0, 1.0 / len(rows)),
        strict=True,
    ):
        axes.axvline(level, color="0.8")
        draw_means(axes, rows, key, range(len(rows)), fmt="o", capsize=4)
        axes.set_xlabel(f"{label} (95% interval)" if rows[0][f"{key}_ci95"] else label)
    axes.set_yticks(range(len(rows)), short_names([row["name"] for row in rows]))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    figure.suptitle(title)
    write_picture(figure, picture)


def draw_means(
    axes: Any, rows: Sequence[Mapping[str, Any]], key: str, places: Sequence[float], **style: Any
) -> None:
    """Draw means from JSON at these heights, with their intervals where these are closed."""
    means = np.array([row[key] for row in rows])
    ends = [
        [row[key] if end is None else end for end in row[f"{key}_ci95"] or [None] * 2]
        for row in rows
    ]
    axes.errorbar(means, places, xerr=np.abs(np.array(ends) - means[:, None]).T, **style)


def plot_ratings(result: Mapping[str, Any], picture: str | Path, title: str) -> None:
    """Draw ratings and pairwise results.

    Args:
        result: What ``TournamentSummary.to_json`` or ``TournamentResult.to_json`` gives.
        picture: The file to write; its extension selects the format.
        title: The picture's title.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OSError: The file cannot be written.
        ValueError: There is no such format.
    """
    figures = import_extra("matplotlib.figure", "evaluation")
    order = np.argsort([-row["rating"] for row in result["agents"]], kind="stable")
    rows = [result["agents"][k] for k in order]
    names = short_names([row["name"] for row in rows])
    size = (5 + 1.1 * len(rows), 3.2 + 0.4 * len(rows))
    figure = figures.Figure(figsize=size, layout="constrained")
    left, right = figure.subplots(1, 2)
    ratings = np.array([row["rating"] for row in rows])
    draw_means(left, rows, "rating", range(len(rows)), fmt="o", capsize=4)
    limits = rating_limits(rows)
    if limits is not None:
        left.set_xlim(limits)
        low, high = limits
        for k in np.flatnonzero((ratings < low) | (ratings > high)):
            edge, marker = (low, "<") if ratings[k] < low else (high, ">")
            left.plot([edge], [k], marker, color="C0", markersize=10, clip_on=False)
    left.set_yticks(range(len(rows)), names)
    left.set_ylim(len(rows) - 0.5, -0.5)  # the strongest at the top
    has_intervals = any(row["rating_ci95"] for row in rows)
    left.set_xlabel(f"rating (Elo scale{', 95% interval' if has_intervals else ''})")
    pairwise = np.array(result["pairwise"], float)[np.ix_(order, order)]
    texts = pairwise_cells(result, ".2f")
    _draw_shares(right, names, pairwise, [[texts[a][b] for b in order] for a in order])
    right.set_title("how often the row is ahead of the column", fontsize="medium")
    figure.suptitle(title)
    write_picture(figure, picture)


def rating_limits(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """The ends of the axis of ratings.

    Ratings with an open interval are uncertain: one far from all closed ends would squeeze the
    others, and is drawn as an arrow at the edge.

    Args:
        rows: The agents, with ``rating`` and ``rating_ci95``.

    Returns:
        The limits; None if no rating needs to be cut off.
    """
    ends = [end for row in rows for end in row["rating_ci95"] or [] if end is not None]
    margin = 0.1 * (max(ends) - min(ends)) if ends else 0.0
    if margin == 0.0:
        return None
    low, high = min(ends) - margin, max(ends) + margin
    return None if all(low <= row["rating"] <= high for row in rows) else (low, high)


def _draw_shares(
    axes: Any, names: Sequence[str], shares: NDArray[np.float64], texts: Sequence[Sequence[str]]
) -> None:
    """Draw a share and its text for each pair of agents, in colors from red to green; the diagonal
    is left empty."""
    np.fill_diagonal(shares, np.nan)
    axes.imshow(shares, cmap="RdYlGn", vmin=0.0, vmax=1.0)
    for a in range(len(names)):
        for b in range(len(names)):
            if a != b:
                is_dark = abs(shares[a, b] - 0.5) > 0.375
                color = "white" if is_dark else "black"
                two_lines = "\n" in texts[a][b]
                axes.text(
                    *(b, a, texts[a][b]),
                    ha="center",
                    va="center",
                    color=color,
                    fontsize="xx-small" if two_lines else "medium",
                )
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), names)


def write_picture(figure: Any, picture: str | Path) -> None:
    """Write a matplotlib figure atomically.

    Args:
        figure: The figure.
        picture: The file to write; its extension selects the format.

    Raises:
        OSError: The file cannot be written.
        ValueError: There is no such format.
    """
    texts = import_extra("matplotlib.text", "evaluation")
    for text in figure.findobj(texts.Text):
        text.set_parse_math(False)  # an agent's name may have dollar signs
    data = BytesIO()
    figure.savefig(data, format=Path(picture).suffix.removeprefix("."), dpi=120)
    write_output(picture, data.getvalue())


def check_picture_name(path: Path) -> None:
    """Raise a ValueError if pictures cannot be written in the format that the extension names."""
    figures = import_extra("matplotlib.figure", "evaluation")
    formats = set(figures.Figure().canvas.get_supported_filetypes()) - {"pgf"}  # it runs LaTeX
    if path.suffix.removeprefix(".") not in formats:
        raise ValueError(f"{path}: the extension must be one of {', '.join(sorted(formats))}")


def results_table(title: str, headings: Sequence[str]) -> Any:
    """A table with a first column of names, and all others aligned to the right."""
    table = import_extra("rich.table", "evaluation").Table(title=title)
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="right" if k else "left", overflow="fold")
    return table


def _pairwise_table(
    result: Mapping[str, Any], names: Sequence[str], headings: Sequence[str]
) -> Any:
    about = "how often the row is ahead of the column (level: half)"
    if result["pairwise_ci95"]:
        about += ", with 95% intervals"
    table = results_table(about, ("", *headings))
    cells = pairwise_cells(result, ".3f")
    for a, name in enumerate(names):
        table.add_row(name, *("" if a == b else cell for b, cell in enumerate(cells[a])))
    return table


def pairwise_cells(result: Mapping[str, Any], style: str) -> list[list[str]]:
    """How often agents are ahead of each other, as text: each with its interval on a second line,
    if there is one.

    Args:
        result: What ``TournamentSummary.to_json`` gives.
        style: The numbers' format, such as ``".2f"``.
    """
    cells = [[f"{share:{style}}" for share in row] for row in result["pairwise"]]
    # Results that were written before there were intervals have none.
    for row, ends in zip(cells, result.get("pairwise_ci95") or (), strict=False):
        for k, (low, high) in enumerate(ends):
            row[k] += f"\n{low:.2f}–{high:.2f}".replace("0.", ".")  # as narrow as can be
    return cells


def as_typed(name: str) -> str:
    """An agent's name, in which brackets are not markup."""
    return str(import_extra("rich.markup", "evaluation").escape(name))


def print_content(content: Any) -> None:
    """Print a table or a line to the standard output."""
    console = import_extra("rich.console", "evaluation").Console()
    if not console.is_terminal:  # a file or a pipe is as wide as need be
        console.width = max(console.width, _width(content))
    console.print(content)


def _fits(table: Any) -> bool:
    console = import_extra("rich.console", "evaluation").Console()
    return not console.is_terminal or _width(table) <= console.width


def _width(content: Any) -> int:
    """Its width in characters if there is room."""
    console = import_extra("rich.console", "evaluation").Console(width=10_000)
    return int(console.measure(content).maximum)


def _print_no_intervals(result: Mapping[str, Any]) -> None:
    if any(row["rank_ci95"] is None for row in result["agents"]):
        print_content(NO_INTERVAL)


def print_truncated(result: Mapping[str, Any]) -> None:
    """Print the share of truncated games, if there are any."""
    if result["truncated"]:
        warning = "Warning: " if result["truncated"] > MUCH_TRUNCATION else ""
        print_content(
            f"{warning}{result['truncated']:.1%} of the games were truncated at max_steps."
        )


def print_programs(result: Mapping[str, Any]) -> None:
    """Print the reports on programs, if any took part, and a table of their faults."""
    programs = result.get("programs", [])
    if not programs:
        return
    counted = [key.replace("_", " ") for key in COUNTED]
    table = results_table("programs", ("program", "decisions", "time per decision", *counted))
    for row in programs:
        seconds = row["seconds_per_decision"]
        table.add_row(
            as_typed(row["name"]),
            str(row["decisions"]),
            "-" if seconds is None else f"{1000 * seconds:.2f} ms",
            *(str(row[key]) for key in COUNTED),
        )
    print_content(table)
    if not any(row["faults"] for row in programs):
        return
    faults = results_table("faults of programs", ("program", "fault", "count", "first"))
    for row in programs:
        cost = "games lost" if row["on_fault"] == "lose" else "random actions"
        for fault in row["faults"]:
            words = "\n".join([fault["first"], *fault["last_words"][-3:]])
            faults.add_row(
                as_typed(row["name"]), fault["fault"], f"{fault['count']} {cost}", as_typed(words)
            )
    print_content(faults)
