"""Tables of speed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.tables.cells import origin, three_digits
from card_envs.utils.markdown import markdown_table


def throughput(measured: dict[str, Any]) -> str:
    """The decisions a second that ``benchmarks.throughput`` writes."""
    settings, results = measured["settings"], measured["results"]
    ratios = " and ".join(
        f"`{interface}` makes **{three_digits(entry['ratio'])} times** as many decisions a "
        f"second as `{entry['compared_to']}.{interface}`"
        for interface, entry in results["ratios"].items()
    )
    startup = results["startup_seconds"]
    stages = list(startup["empty_cache"])
    seconds = [
        [cache.replace("_", " "), *(f"{row[stage]:.2f}" for stage in stages)]
        for cache, row in startup.items()
    ]
    header = ["seconds in a fresh process", *(stage.replace("_", " ") for stage in stages)]
    sizes = results["sizes"]
    return "\n\n".join(
        [
            _rates(results["decisions_per_second"]),
            f"Medians of {settings['repetitions']} repetitions of {settings['seconds']:g} s, "
            f"{settings['num_players']} players. {ratios}, the faster of the two card games "
            "of PettingZoo measured.",
            markdown_table(header, seconds, 3),
            f"A state takes {sizes['state_bytes']} bytes, an observation has "
            f"{sizes['observation_values']} values, and there are {sizes['actions']} actions.",
            origin(measured),
        ]
    )


def gpu(measured: dict[str, Any]) -> str:
    """What ``benchmarks.gpu`` has measured, a table for each stage."""
    results = dict(measured["results"])
    lines = [f"{results.pop('gpu')}, commit {measured['settings']['commit']}."]
    for stage, rows in results.items():
        header = list(dict.fromkeys(key for row in rows for key in row))
        cells = [[_cell(row.get(key, "")) for key in header] for row in rows]
        numbers = sum("decisions" not in key and "second" not in key for key in header)
        lines += [
            f"`{stage}`",
            markdown_table([k.replace("_", " ") for k in header], cells, numbers),
        ]
    return "\n\n".join([*lines, origin(measured)])


def _cell(value: Any) -> str:
    return f"{value:,}" if type(value) is int else str(value)


def _rates(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        [
            row["environment"],
            row["interface"],
            f"{row['games']:,}",
            str(row["threads"]),
            three_digits(row["median"]),
            three_digits(row["best"]),
        ]
        for row in rows
    ]
    header = ["environment", "interface", "games", "threads", "decisions a second", "best"]
    return markdown_table(header, cells, 4)


def decision(measured: dict[str, Any]) -> str:
    """Where the time of a decision goes, which ``benchmarks.decision`` writes."""
    results = measured["results"]
    kernels = [[name, three_digits(value)] for name, value in results["kernels"].items()]
    steps = []
    for size in dict.fromkeys(row["games"] for row in results["steps"]):
        rows = [row for row in results["steps"] if row["games"] == size]
        steps.append([f"{size:,}", *(three_digits(row["median"]) for row in rows)])
    header = ["games at a time"]
    for row in results["steps"][: len(steps[0]) - 1]:
        header.append(f"{row['dtype']}{'' if row['features'] else ', features=False'}")
    written = dict(results["bytes"])
    state, speed = written.pop("state"), results["copied_bytes_per_second"]
    return "\n\n".join(
        [
            markdown_table(["kernel, rows in cache", "ns"], kernels, 1),
            markdown_table(header, steps, len(header) - 1),
            "Whole steps in ns a decision, medians. A decision writes "
            + " or ".join(f"{size:,} bytes ({dtype})" for dtype, size in written.items())
            + f" and changes a record of {state:,}; one core copies "
            f"{speed / 1e9:.1f} GB a second, so that copying as much takes "
            + " or ".join(f"{1e9 * size / speed:.0f} ns" for size in written.values())
            + f". {measured['settings']['num_players']} players.",
            origin(measured),
        ]
    )


def training(measured: dict[str, Any]) -> str:
    """The speed of training beside a yardstick's or, with ``--against``, another checkout's."""
    settings, results = measured["settings"], measured["results"]
    if "commits" in settings:
        return _of_two_checkouts(measured)
    speeds = dict(results["decisions_per_second"])
    rows = [(f"{measured['game']}, self-play", speeds.pop("card_envs"))]
    rows += [(f"{name}, one environment", speed) for name, speed in speeds.items()]
    ppo = settings["config"]["ppo"]
    return "\n\n".join(
        [
            _training_rates("learner decisions a second", [*rows, ("ratio", results["ratios"])]),
            f"Medians over rollouts ({settings['rollouts']}) of "
            f"{settings['num_envs'] * settings['n_steps']:,} decisions (self-play: "
            f"{settings['num_envs']:,} games, {settings['n_steps']} decisions each), "
            f"{ppo['n_epochs']} epochs in minibatches of {ppo['batch_size']:,}, hidden layers "
            f"{settings['config']['network']['hidden']}, "
            f"{settings['torch_threads']} torch threads.",
            origin(measured),
        ]
    )


def _of_two_checkouts(measured: dict[str, Any]) -> str:
    settings, results = measured["settings"], measured["results"]
    rows = [
        (f"{name} ({settings['commits'][name] or 'unknown commit'})", speed)
        for name, speed in results["decisions_per_second"].items()
    ]
    config = settings["config"]
    envs, ppo = config["environment"]["num_envs"], config["ppo"]
    first = f"{measured['game']}: learner decisions a second"
    return "\n\n".join(
        [
            _training_rates(first, [*rows, ("ratio", results["ratios"])]),
            f"Medians over rollouts ({settings['rollouts']}) of {envs * ppo['n_steps']:,} "
            f"decisions, {ppo['n_epochs']} epochs in minibatches of {ppo['batch_size']:,}, hidden "
            f"layers {config['network']['hidden']}, on one core.",
            origin(measured),
        ]
    )


def _training_rates(first: str, rows: Iterable[tuple[str, Mapping[str, float]]]) -> str:
    cells = [
        [name, three_digits(row["collecting"]), three_digits(row["whole"])] for name, row in rows
    ]
    return markdown_table([first, "collecting rollouts", "whole training"], cells, 2)


def rendering(measured: dict[str, Any]) -> str:
    """The time of a ``render()`` that ``benchmarks.rendering`` writes."""
    rows = [
        [
            row["environment"],
            str(row["num_players"]),
            row["render_mode"],
            three_digits(row["median"]),
            three_digits(row["worst_of_20"]),
        ]
        for row in measured["results"]["milliseconds"]
    ]
    header = ["environment", "players", "render mode", "milliseconds", "1 in 20 takes more than"]
    return "\n\n".join([markdown_table(header, rows, 2), origin(measured)])


def text(measured: dict[str, Any]) -> str:
    """The speed of games in words, which ``benchmarks.text`` writes."""
    results = measured["results"]
    speed = [
        [row["interface"], str(row["num_players"]), f"{row['per_second']:,.0f}"]
        for row in results["decisions_per_second"]
    ]
    return "\n\n".join(
        [
            markdown_table(["interface", "players", "decisions a second"], speed, 2),
            origin(measured),
        ]
    )


def evaluation(measured: dict[str, Any]) -> str:
    """How long an evaluation takes, which ``benchmarks.evaluation`` measures."""
    settings, rows = measured["settings"], measured["results"]["agents"]
    forms = dict.fromkeys(row["agent"] for row in rows)
    cells = [
        [form, *(f"{r['cpu_seconds']:.1f}" for r in rows if r["agent"] == form)] for form in forms
    ]
    header = ["the network as", "in 1 seat, s", "in 2 seats, s"]
    deals, players = settings["deals"], settings["num_players"]
    return "\n\n".join(
        [
            markdown_table(header, cells, 2),
            f"CPU time of {deals:,} deals of {players} players in all seatings: in one seat among "
            f"`heuristic`, and in two beside `ppo` and `heuristic`. The network has hidden layers "
            f"of {' and '.join(map(str, settings['hidden']))} units.",
            origin(measured),
        ]
    )


def web(measured: dict[str, Any]) -> str:
    """People at tables in the browser, which ``benchmarks.web`` simulates."""
    rows = [
        [
            str(row["games"]),
            f"{row['think_seconds']:g} s",
            three_digits(row["actions_per_second"]),
            *map(three_digits, (*row["first_ms"], *row["turn_ms"])),
            three_digits(row["server_cores"]),
            str(row["errors"]),
        ]
        for row in measured["results"]["loads"]
    ]
    header = ["games at a time", "time to think", "actions a second"]
    header += ["answer, ms", "1 in 20 takes more than"]
    header += ["own turn again, ms", "1 in 20 takes more than", "server's cores", "errors"]
    return "\n\n".join([markdown_table(header, rows, 8), origin(measured)])


def page(measured: dict[str, Any]) -> str:
    """The page of a watched game, which ``benchmarks.page`` opens in a browser."""
    results = measured["results"]
    painted = statistics.median(results["first_paint_ms"])
    rows = [
        [
            str(game["moves"]),
            three_digits(game["moves_per_second"]),
            three_digits(game["frames_per_second"]),
            three_digits(game["longest_frame_ms"]),
        ]
        for game in results["watched"]
    ]
    header = ["moves of the game", "moves a second", "frames a second", "longest frame, ms"]
    sentence = f"The start page is painted after {painted:.0f} ms (median)."
    return "\n\n".join([sentence, markdown_table(header, rows, 4), origin(measured)])
