"""Tables of learning: algorithms, memory, studies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.tables.cells import half_width, origin, spread
from benchmarks.tables.games import title_of
from card_envs.evaluation.display import short_names
from card_envs.utils.markdown import markdown_table
from card_envs.utils.words import counted


def algorithms(measured: dict[str, Any]) -> str:
    """The methods that ``benchmarks.algorithms`` compares."""
    settings, methods = measured["settings"], measured["results"]["methods"]
    first, opponents = next(iter(methods)), settings["against"]
    titles = {game: title_of(game) for game in settings["games"]}
    rows, details = [], []
    for name, method in methods.items():
        found = [of_game["iqm"] for of_game in method["games"].values()]
        found += [method["iqm"]] if len(found) > 1 else []
        ahead = "" if name == first else _estimate(method["difference"])
        rows.append([f"`{name}`: {method['about']}", *map(_estimate, found), ahead])
        for game, of_game in method["games"].items():
            runs = of_game["runs"]
            tuned = ", ".join(f"`{at}` {found:+.3f}" for at, found in of_game["tuned"].items())
            learned = [_mean(runs, "decisions", ",.0f"), _mean(runs, "cpu_minutes", ".1f")]
            learned.append(_mean(runs, "minutes", ".1f"))
            among = [spread(run["against"][other]["rank"] for run in runs) for other in opponents]
            unfinished = max(m["truncated"] for run in runs for m in run["against"].values())
            of_run = [f"`{name}`", titles[game], tuned, *learned, *among, f"{unfinished:.1%}"]
            details.append(of_run)
    overall = ["all games"] if len(titles) > 1 else []
    header = ["method", *titles.values(), *overall, f"minus `{first}`"]
    of_details = ["method", "game", "configurations in tuning", "decisions", "CPU minutes"]
    of_details += ["minutes", *(f"among `{name}`" for name in opponents), "truncated games"]
    tuning, reported = settings["tuning"], settings["reported"]
    runs = [run for m in methods.values() for of in m["games"].values() for run in of["runs"]]
    matches = [match for run in runs for match in run["against"].values()]
    names = " and ".join(f"`{name}`" for name in opponents)
    sizes = " and ".join(f"{n} in {titles[game]}" for game, n in settings["games"].items())
    note = (
        f"Rank reward of one among copies of {names}, the mean over these; players: {sizes}. The "
        f"interquartile mean over {len(reported['seeds'])} seeds in each game, with its 95% "
        f"interval from a bootstrap over runs, stratified by game. All runs play the same "
        f"{reported['deals']} deals in all seatings, whose luck is not in the interval: it leaves "
        f"each run's reward among one opponent uncertain by {half_width(matches)} (95%)."
    )
    of_runs = (
        f"Each run has {settings['cpu_minutes']:g} CPU minutes for learning; CPU minutes and "
        f"minutes are those of the whole command, with its start. Configurations: each one's score "
        f"with {counted(len(tuning['seeds']), 'other seed')} on {tuning['deals']} other deals, the "
        f"selected one first. Among: the mean (lowest … highest seed). Cells were made on: "
        f"{'; '.join(sorted({run['machine'] for run in runs}))}; at the commits "
        f"{', '.join(sorted({run['commit'] or 'unknown' for run in runs}))}."
    )
    shown = [markdown_table(header, rows, len(header) - 1), note]
    shown += [markdown_table(of_details, details, len(of_details) - 3), of_runs]
    return "\n\n".join([*shown, origin(measured)])


def _estimate(found: list[float]) -> str:
    """A value with its interval."""
    value, low, high = found
    return f"{value:+.3f} ({low:+.3f} … {high:+.3f})"


def _mean(runs: list[dict[str, Any]], key: str, style: str) -> str:
    """The mean over the runs of which it is known; a dash if there are none, as of an agent that
    learns nothing."""
    found = [run[key] for run in runs if run[key] is not None]
    return f"{np.mean(found):{style}}" if found else "–"


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
    """The settings that ``training.study`` compares; ranges are over seeds if there are several."""
    agents = list(measured["settings"]["base"]["runs"][0]["against"])
    per_time = measured.get("cpu_minutes")  # then settings differ in how many decisions they make
    of_time = {}
    if per_time:
        of_time = {"decisions": ("decisions", ",.0f"), "CPU minutes": ("cpu_minutes", ".1f")}
    machines = {run["machine"] for s in measured["settings"].values() for run in s["runs"]}
    processor = ["processor"] if len(machines) > 1 else []  # a study may travel
    header = ["setting", "changes", *processor, *of_time]
    header += [f"against `{name}`" for name in short_names(agents)]
    rows = []
    if against := measured["imitated_against"]:
        cells = [f"{np.mean(list(against[agent].values())):+z.3f}" for agent in agents]
        itself = f"`{short_names([measured['imitated']])[0]}` itself"
        rows = [[itself, "", *[""] * len([*processor, *of_time]), *cells]]
    for name, setting in measured["settings"].items():
        changes = ", ".join(f"`{without_folders(change)}`" for change in setting["changes"])
        cells = [
            spread(np.mean(list(run["against"][agent].values())) for run in setting["runs"])
            for agent in agents
        ]
        learned = [_mean(setting["runs"], key, style) for key, style in of_time.values()]
        used = sorted({run["machine"].partition(",")[0] for run in setting["runs"]})
        where = [", ".join(used)] if processor else []
        rows.append([name, changes, *where, *learned, *cells])
    runs = measured["settings"]["base"]["runs"]
    seeds = f"{len(runs)} seeds (lowest … highest seed)" if len(runs) > 1 else "one seed"
    if any(len(entry["runs"]) < len(runs) for entry in measured["settings"].values()):
        seeds = f"up to {seeds}; a single number is one seed"
    took = (
        f"{per_time:g} minutes of one core" if per_time else f"{runs[0]['decisions']:,} decisions"
    )
    table = markdown_table(header, rows, len(header) - 2 - len(processor))
    return (
        f"{measured['question']}\n\n{table}\n\n"
        f"{_by_size(measured, agents)}"
        f"Rank reward of one against copies of the other, the mean over table sizes and {seeds}, "
        f"{measured['deals']} deals in all seatings at each size. The base makes "
        f"{took}: `{measured['command']}`, on {runs[0]['machine']}."
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
