"""Results as tables in Markdown: those of the pages, and of any file that ``--json`` wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.tables import games, intervals, learning, speed, strength
from benchmarks.tables.games import title_of
from benchmarks.tables.pictures import PICTURES
from card_envs.games import GAMES
from training.runs.records import read_json

ROOT = Path(__file__).parents[2]

#: The tables of a result, by its kind: the module of ``benchmarks`` or ``training`` that wrote it;
#: ``policies``: the model cards that ``training.ship`` has written; ``recipe``: studies that begin
#: with random weights, ``best_recipes`` the longer ones of the best settings; ``table_sizes``:
#: those that train at some table sizes only.
TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "algorithms": learning.algorithms,
    "all_agents": strength.all_agents,
    "best_recipes": learning.study,
    "best_response": strength.best_response,
    "coverage": intervals.coverage,
    "cross_play": strength.cross_play,
    "decision": speed.decision,
    "evaluation": speed.evaluation,
    "games": games.games,
    "gpu": speed.gpu,
    "memory": learning.memory,
    "page": speed.page,
    "partners": strength.partners,
    "policies": strength.policy,
    "recipe": learning.study,
    "rendering": speed.rendering,
    "search": strength.search,
    "soak": games.soak,
    "strength": strength.strength,
    "study": learning.study,
    "table_sizes": learning.study,
    "temperatures": strength.temperatures,
    "text": speed.text,
    "throughput": speed.throughput,
    "training": speed.training,
    "web": speed.web,
}


def kind_of(measured: Any) -> str:
    """What a result is of.

    Raises:
        ValueError: No command of this repository writes such a file.
    """
    if isinstance(measured, dict):
        for kind, key in (("best_response", "responses"), ("study", "question")):
            if key in measured:
                return kind
        if isinstance(benchmark := measured.get("benchmark"), str) and benchmark in TABLES:
            return benchmark
    raise ValueError("neither a benchmark nor training.study or training.best_response wrote this")


def committed(kind: str) -> dict[str, dict[str, Any]]:
    """The results of one kind in the repository, by game: those of the package come first."""
    paths = {path.parent.name: path for path in ROOT.glob("card_envs/policies/*/ppo.json")}
    if kind != "policies":
        found = ROOT.glob(f"*/results/{kind}_*.json")
        paths = {path.stem.removeprefix(f"{kind}_"): path for path in found}
    order = [*(game for game in GAMES if game in paths), *sorted(paths.keys() - set(GAMES))]
    return {game: read_json(paths[game]) for game in order}


def of_kind(kind: str, images: str | None = None) -> str:
    """A section for each game of which there are committed results.

    Args:
        kind: One of ``TABLES``.
        images: The folder, as a page names it, of the pictures that :func:`draw_all` makes, if they
            are shown.

    Raises:
        ValueError: There are none.
    """
    results = committed(kind)
    if not results:
        raise ValueError(f"there are no committed results of {kind!r}")
    sections = []
    for game, measured in results.items():
        lines = [] if game == "all" else [f"### {title_of(game)}"]
        lines.append(TABLES[kind](measured))
        if images is not None and kind in PICTURES:
            lines.append(f"![{PICTURES[kind].about}]({images}/{kind}_{game}.png)")
        sections.append("\n\n".join(lines))
    return "\n\n".join(sections)


def draw_all(folder: Path) -> None:
    """Draw all committed results of which there are pictures, as ``<kind>_<game>.png``."""
    for kind, picture in PICTURES.items():
        for game, measured in committed(kind).items():
            picture.draw(measured, folder / f"{kind}_{game}.png", title_of(game))
