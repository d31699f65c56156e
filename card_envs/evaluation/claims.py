"""Claims, the JSON files of ``card-envs benchmark``: read, and played again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import chdir, nullcontext
from pathlib import Path
from typing import Any

from card_envs.agents import runs_code
from card_envs.agents.identity import name_without_folders, names_a_policy_file
from card_envs.evaluation.benchmark import BenchmarkResult, about, claim, run_benchmark
from card_envs.evaluation.deals import check_agent
from card_envs.evaluation.protocol import Protocol
from card_envs.games import load_game
from card_envs.utils.files import read_regular
from card_envs.utils.words import printable

_MOST_BYTES = 2**20


def read_claim(path: Path) -> dict[str, Any]:
    """What of a claim is read before it is played again.

    Raises:
        ValueError: It is none, or damaged.
        OSError: It cannot be read.
    """
    text = read_regular(path, _MOST_BYTES)
    try:
        data = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:  # JSON's and Unicode's are ValueErrors
        raise ValueError(f"{path} is no JSON: {error}") from None
    kinds = {"protocol": str, "agent": str, "quick": bool, "games": list}
    if (
        not isinstance(data, dict)
        or not all(isinstance(data.get(key), kind) for key, kind in kinds.items())
        or not data["games"]
        or not all(isinstance(g, dict) and isinstance(g.get("game"), str) for g in data["games"])
    ):
        raise ValueError(f"{path} is no claim, which card-envs benchmark --json writes")
    return data


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def difference_from_play(path: Path, agent: str | None = None, *, progress: bool = False) -> str:
    """Play a claim again.

    A policy file is looked for in the claim's folder. A claim that names code does not run it: the
    caller names the agent.

    Args:
        path: The claim.
        agent: The agent, which may have been given another name since; None: as the claim says.
        progress: Whether to show a progress bar on stderr.

    Returns:
        The first difference in words; "" if there is none.

    Raises:
        ValueError: It is no claim, there is no such protocol, game or agent, or the claim names
            code and no agent is given.
        OSError: A file cannot be read.
    """
    claimed = read_claim(path)
    protocol = Protocol.load(claimed["protocol"])
    name = claimed["agent"]
    if agent is None and runs_code(name):
        raise ValueError(
            f"{path} names {name!r}, which runs code: give it with --agent if you trust it"
        )
    games = [load_game(entry["game"]) for entry in claimed["games"]]
    if agent is None and names_a_policy_file(name) and not (path.parent / name).is_file():
        raise ValueError(
            f"{path} names {name!r}, which is not beside it: put it there, or give it with --agent"
        )
    results: list[BenchmarkResult] = []
    with chdir(path.parent) if agent is None else nullcontext():
        check_agent(agent or name, games, protocol.seed)
        own = name if agent is not None else name_without_folders(name, games[0])
        heads = [about(protocol, game, agent or name, claimed["quick"]) for game in games]
        pairs = zip(heads, claimed["games"], strict=True)
        difference = first_difference(  # before anything is played
            {**claimed, "games": [_part(entry, head) for head, entry in pairs]},
            {**claim(protocol, own, claimed["quick"], []), "games": heads},
        )
        if difference:
            return difference
        for game in games:
            results.append(
                run_benchmark(
                    game, agent or name, protocol, quick=claimed["quick"], progress=progress
                )
            )
            played = claim(protocol, own, claimed["quick"], results)
            so_far = {**claimed, "games": claimed["games"][: len(results)]}
            difference = first_difference(so_far, played)
            if difference:
                return difference
    return ""


def _part(entry: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: entry[key] for key in keys if key in entry}


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()  # in the place of a key that is not there: null is something


def first_difference(claimed: Any, played: Any, place: str = "") -> str:
    """Where two JSON values differ, and how, in words; "" if they are equal."""
    if isinstance(claimed, dict) and isinstance(played, dict):
        keys = [*played, *(key for key in claimed if key not in played)]
        pairs = [
            (
                printable(f"{place}.{key}".lstrip(".")),
                claimed.get(key, _NOTHING),
                played.get(key, _NOTHING),
            )
            for key in keys
        ]
    elif isinstance(claimed, list) and isinstance(played, list) and len(claimed) == len(played):
        pairs = [
            (f"{place}[{k}]", *pair) for k, pair in enumerate(zip(claimed, played, strict=True))
        ]
    else:
        is_same = claimed == played and isinstance(claimed, bool) == isinstance(played, bool)
        return "" if is_same else f"{place}: claimed {claimed!r}, played {played!r}"
    return next(filter(None, (first_difference(a, b, where) for where, a, b in pairs)), "")
