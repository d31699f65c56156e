"""Tables of learning: algorithms, memory, studies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.tables.cells import half_width, origin, spread
from card_envs.evaluation.display import short_names
from card_envs.utils.markdown import markdown_table


def algorithms(measured: dict[str, Any]) -> str:
    """The comparison that ``benchmarks.algorithms`` writes."""
    settings = measured["settings"]
    compared = measured["results"]["algorithms"]
    runs_of = {name: result["runs"] for name, result in compared.items()}
    first = next(iter(runs_of.values()))[0]
    truncated = {
        name: max(
            match["truncated"]
            for run in runs
            for match in (*run["against"].values(), *([run["search"]] if "search" in run else []))
        )
        for name, runs in runs_of.items()
    }
    opponents = settings["opponents"]
    header = ["algorithm", "decisions", *(f"among `{name}`" for name in opponents)]
    header += ["unfinished games"] * any(truncated.values())
    header += [f"gain of `{settings['search']}`"] * ("search" in first)
    header += ["exploitability"] * ("exploitability" in first)
    header.append("minutes")
    rows = []
    for name, runs in runs_of.items():
        cells = [f"`{name}`: {compared[name]['about']}", f"{compared[name]['decisions']:,}"]
        cells += [spread(run["against"][other]["rank"] for run in runs) for other in opponents]
        if any(truncated.values()):
            cells.append(f"{truncated[name]:.1%}")
        if "search" in first:
            cells.append(spread(run["search"]["rank"] for run in runs))
        if "exploitability" in first:
            cells.append(spread((run["exploitability"] for run in runs), sign=""))
        cells.append(f"{np.mean([run['seconds'] for run in runs]) / 60:.1f}")
        rows.append(cells)
    every_run = [run for runs in runs_of.values() for run in runs]
    matches = [run["against"][name] for run in every_run for name in opponents]
    note = (
        f"{settings['num_players']} players, {len(settings['seeds'])} seeds: the mean (lowest … "
        f"highest). Rank rewards over {settings['deals']} deals in all seatings, which leave each "
        f"seed's uncertain by {half_width(matches)} (95%)"
    )
    if searches := [run["search"] for run in every_run if "search" in run]:
        note += f"; of the search over {settings['search_deals']}, by {half_width(searches)}"
    note += "."
    if any(truncated.values()):
        note += " Unfinished: the largest share of all matches."
    return "\n\n".join([markdown_table(header, rows, len(header) - 1), note, origin(measured)])


def memory(measured: dict[str, Any]) -> str:
    """The learners that ``benchmarks.memory`` writes."""
    settings = measured["settings"]
    learners = measured["results"]["learners"]
    rows = [
        [f'`memory="{row["memory"]}"`', row["core"], spread(run["rank"] for run in row["runs"])]
        for row in learners
    ]
    note = (
        f"{settings['num_players']} players, among `{settings['opponents']}`; "
        f"{settings['decisions']:,} decisions of training; the mean over {len(settings['seeds'])} "
        f"seeds (lowest … highest). All play the same {settings['games']:,} games, which leave "
        f"each seed's uncertain by {half_width([r for row in learners for r in row['runs']])} "
        "(95%)."
    )
    table = markdown_table(["observation", "network", "rank reward"], rows, 1)
    return "\n\n".join([table, note, origin(measured)])


def study(measured: dict[str, Any]) -> str:
    """The settings that ``training.study`` compares: ranges are over seeds."""
    agents = list(measured["settings"]["base"]["runs"][0]["against"])
    per_time = measured.get("cpu_minutes")  # then settings differ in how many decisions they make
    header = ["setting", "changes", *["decisions"] * bool(per_time)]
    header += [f"against `{name}`" for name in short_names(agents)]
    rows = []
    if against := measured["imitated_against"]:
        cells = [f"{np.mean(list(against[agent].values())):+z.3f}" for agent in agents]
        itself = f"`{short_names([measured['imitated']])[0]}` itself"
        rows = [[itself, "", *[""] * bool(per_time), *cells]]
    for name, setting in measured["settings"].items():
        changes = ", ".join(f"`{without_folders(change)}`" for change in setting["changes"])
        cells = [
            spread(np.mean(list(run["against"][agent].values())) for run in setting["runs"])
            for agent in agents
        ]
        decisions = np.mean([run["decisions"] for run in setting["runs"]])
        rows.append([name, changes, *[f"{decisions:,.0f}"] * bool(per_time), *cells])
    runs = measured["settings"]["base"]["runs"]
    took = (
        f"{per_time:g} minutes of one core" if per_time else f"{runs[0]['decisions']:,} decisions"
    )
    return (
        f"{measured['question']}\n\n{markdown_table(header, rows, len(header) - 2)}\n\n"
        f"{_by_size(measured, agents)}"
        f"Rank reward of one against copies of the other, the mean over table sizes and "
        f"{len(runs)} seeds (lowest … highest seed), {measured['deals']} deals in all seatings at "
        f"each size. The base makes {took}: `{measured['command']}`, "
        f"on {runs[0]['machine']}."
    )


def _by_size(measured: dict[str, Any], agents: Sequence[str]) -> str:
    """The same at each table size, where settings differ in the sizes at which they train."""
    of_settings = measured["settings"]
    if not any("num_players=" in c for entry in of_settings.values() for c in entry["changes"]):
        return ""
    sections = []
    for agent, short in zip(agents, short_names(agents), strict=True):
        sizes = list(of_settings["base"]["runs"][0]["against"][agent])
        rows = [
            [name, *(spread(r["against"][agent][size] for r in entry["runs"]) for size in sizes)]
            for name, entry in of_settings.items()
        ]
        header = [f"against `{short}`", *(f"{size} players" for size in sizes)]
        sections.append(f"{markdown_table(header, rows, len(sizes))}\n\n")
    return "".join(sections)


def without_folders(change: str) -> str:
    """A change with policy files named by their stems."""
    return re.sub(r"[\w./-]*/(\w+)\.safetensors", r"\1", change)
