"""Load of the web server: many people at a time play against the shipped policy.

python -m benchmarks.web [--game GAME] [--games N …] [--think SECONDS] [--seconds S] [--json FILE]
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import Request, urlopen

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks import report
from card_envs.commands import arguments, running
from card_envs.games import load_game

PACKAGES = ("numpy", "starlette", "uvicorn", "websockets", "pydantic")
_AGENT = "ppo"
_BEGINNING = 3.0  # seconds within which all sit down


@dataclass
class _Measured:
    """What the people have seen: milliseconds, and errors in words."""

    first: list[float] = field(default_factory=list)
    turn: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    games: int = 0


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """A server of its own; its address and process."""
    words = [sys.executable, "-m", "card_envs.commands.cli", "serve", "--port", "0", "--tables"]
    with (
        tempfile.TemporaryDirectory() as tables,
        subprocess.Popen([*words, tables], stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        found = re.search(r"http://\S+(?=/)", process.stdout.readline())
        if found is None:
            raise OSError("the server has not begun")
        try:
            yield found[0], process.pid
        finally:
            process.terminate()


def _cpu_seconds(process: int) -> float:
    """The processor time that a process has used; 0 where the system does not tell it."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            times = file.read().rpartition(")")[2].split()[11:13]
    except OSError:
        return 0.0
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def _begin(address: str, game: str) -> str:
    players = load_game(game).default_players
    table = {"game": game, "seat": 0, "agents": [None, *[_AGENT] * (players - 1)]}
    headers = {"Origin": address, "Content-Type": "application/json"}
    with urlopen(Request(f"{address}/api/tables", json.dumps(table).encode(), headers)) as answer:
        name: str = json.load(answer)["table"]
    return name


async def _play(
    address: str, game: str, think: float, until: float, rng: random.Random, measured: _Measured
) -> None:
    """A person who plays game after game."""
    await asyncio.sleep(rng.random() * _BEGINNING)
    while time.monotonic() < until:
        try:
            table = await asyncio.to_thread(_begin, address, game)
            place = f"{address.replace('http', 'ws', 1)}/tables/{table}"
            async with connect(place, origin=address, compression=None) as page:  # type: ignore[arg-type]
                await _play_game(page, think, until, rng, measured)
            measured.games += 1
        except (OSError, WebSocketException, TimeoutError) as error:
            measured.errors.append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(1.0)


async def _play_game(
    page: ClientConnection, think: float, until: float, rng: random.Random, measured: _Measured
) -> None:
    state = json.loads(await asyncio.wait_for(page.recv(), 60))["state"]
    while time.monotonic() < until:
        while not state["legal"] and not state["is_over"]:
            state = json.loads(await asyncio.wait_for(page.recv(), 60))
        if state["is_over"]:
            return
        await asyncio.sleep(rng.expovariate(1.0 / think) if think else 0.0)
        action = rng.choice(state["legal"])["action"]
        begun = time.perf_counter()
        await page.send(json.dumps({"type": "act", "step": state["steps"], "action": action}))
        state = json.loads(await asyncio.wait_for(page.recv(), 60))
        if state["type"] != "state":
            measured.errors.append(str(state))
            return
        measured.first.append(1000.0 * (time.perf_counter() - begun))
        while not state["legal"] and not state["is_over"]:
            state = json.loads(await asyncio.wait_for(page.recv(), 60))
        measured.turn.append(1000.0 * (time.perf_counter() - begun))


def _measure_load(game: str, games: int, think: float, seconds: float) -> dict[str, Any]:
    """A number of people at a time for a number of seconds."""
    with server() as (address, process):
        _begin(address, game)  # its kernels are loaded

        async def play() -> tuple[_Measured, int, float]:
            measured = _Measured()
            await asyncio.sleep(1.0)
            used, until = _cpu_seconds(process), time.monotonic() + seconds

            async def count() -> tuple[int, float]:
                """Actions and the server's processor time until then; some answers come later."""
                await asyncio.sleep(until - time.monotonic())
                return len(measured.first), _cpu_seconds(process) - used

            people = (
                _play(address, game, think, until, random.Random(seed), measured)
                for seed in range(games)
            )
            counted = asyncio.create_task(count())
            await asyncio.gather(*people)
            return measured, *await counted

        measured, actions, used = asyncio.run(play())
    if len(measured.turn) < 2:
        errors = "; ".join(measured.errors[:3]) or "no errors"
        raise ValueError(f"{games} people at a time had too few turns to measure: {errors}")
    return {
        "games": games,
        "think_seconds": think,
        "actions_per_second": actions / seconds,
        "first_ms": _quantiles(measured.first),
        "turn_ms": _quantiles(measured.turn),
        "server_cores": used / seconds,
        "errors": len(measured.errors),
        "first_errors": measured.errors[:3],
    }


def _quantiles(times: Sequence[float]) -> list[float]:
    """The median, and what 1 in 20 exceeds."""
    return [statistics.median(times), statistics.quantiles(times, n=20)[-1]]


def measure(game: str, games: Sequence[int], think: float, seconds: float) -> dict[str, Any]:
    """Play at each number of tables at a time, with time to think; at the fewest also without."""
    loads = [(number, think) for number in games] + [(min(games), 0.0)]
    rows = [_measure_load(game, number, pause, seconds) for number, pause in loads]
    return report.document(
        "web",
        load_game(game).id,
        [
            *("--game", load_game(game).id),
            *("--games", *map(str, games)),
            *("--think", f"{think:g}"),
            *("--seconds", f"{seconds:g}"),
        ],
        PACKAGES,
        {"games": list(games), "think_seconds": think, "seconds": seconds, "agent": _AGENT},
        {"loads": rows},
    )


@running.command("benchmarks.web")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.web``."""
    parser = arguments.module_parser("benchmarks.web", __doc__)
    parser.add_argument(
        "--games", type=int, nargs="+", default=[200, 400], help="at a time; default: 200 400"
    )
    parser.add_argument(
        "--think", type=float, default=3.0, help="mean seconds before an action; default: 3"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="of each load; default: 30")
    args = report.parse_arguments(parser, argv)
    if min(args.games) < 1 or args.think < 0.0 or args.seconds < 2 * _BEGINNING:
        raise ValueError(
            f"--games must be at least 1, --think at least 0, --seconds at least {2 * _BEGINNING:g}"
        )
    report.finish(args, lambda: measure(args.game, args.games, args.think, args.seconds))


if __name__ == "__main__":
    raise SystemExit(main())
