"""Independent tasks, done by this machine or by a Ray cluster; the results are the same."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import joblib

import card_envs
from card_envs.contract.game import Game
from card_envs.utils.progress import track

logger = logging.getLogger("card_envs")

# How long a Ray cluster may take to answer, and to finish another task before it is reported, and
# given up. A worker's first task may have to compile the game.
_SECONDS_TO_CONNECT = 10
_SECONDS_TO_REPORT = 60
_SECONDS_TO_GIVE_UP = 1800

_JOBS = "must be -1 or at least 1"


def add_jobs_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--jobs``; ``what`` is done in parallel, for its help."""
    about = f"{what} at a time (default: as many as there are cores)"
    parser.add_argument("--jobs", type=_number_of_jobs, default=-1, metavar="N", help=about)


def _number_of_jobs(text: str) -> int:
    """The type of ``--jobs``: a wrong number must not leave a folder."""
    try:
        jobs = int(text)
        _check_jobs(jobs)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{_JOBS}, got {text!r}") from None
    return jobs


def add_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--jobs`` and ``--backend``; ``what`` is done in parallel, for their help."""
    add_jobs_argument(parser, what)
    about = "loky: this machine; ray: a Ray cluster"
    parser.add_argument("--backend", choices=("loky", "ray"), default="loky", help=about)


def do_calls(calls: Sequence[Any], text: str, jobs: int) -> list[Any]:
    """The results of calls (``joblib.delayed``), made by this machine, at most ``jobs`` at a time
    (-1: as many as there are cores), with a progress bar."""
    return list(track(_pool(jobs, "generator")(calls), text, len(calls)))


def _check_jobs(jobs: int) -> None:
    """Raise a ValueError unless this many tasks can be done at a time."""
    if jobs < 1 and jobs != -1:
        raise ValueError(f"jobs {_JOBS}, got {jobs}")


def _pool(jobs: int, return_as: str) -> joblib.Parallel:
    _check_jobs(jobs)
    return joblib.Parallel(n_jobs=jobs, return_as=return_as)


def check_backend(jobs: int, backend: str) -> None:
    """Raise a ValueError if ``jobs`` is wrong, or Ray is asked for and missing."""
    _check_jobs(jobs)
    if backend == "ray":
        _import_ray()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ValueError("--backend ray needs Ray: pip install --group cluster") from None
    return ray


def do_tasks(
    function: Callable[..., Any],
    tasks: Sequence[Any],
    shared: Sequence[Any],
    games: Collection[Game],
    *,
    jobs: int,
    backend: str,
    patience: float = 0.0,
) -> Iterator[tuple[int, Any]]:
    """Do tasks: each one's place and ``function(task, *shared)``, as they are finished.

    Args:
        function: A module's own, which workers import.
        tasks: The tasks.
        shared: What all of them get.
        games: Their games, so that workers of a cluster can import them.
        jobs: How many at a time; -1: as many as there are cores.
        backend: ``"loky"``: this machine's processes; ``"ray"``: the cluster of ``RAY_ADDRESS``, or
            one that is started on this machine. Its nodes need the package's dependencies.
        patience: Seconds beyond half an hour that a cluster may take for a task.

    Raises:
        ValueError: A number is wrong, Ray is missing, or the cluster does not answer, cannot do a
            task, or has not finished one for too long.
    """
    pool = _pool(jobs, "generator_unordered")
    if backend == "ray":
        return _on_ray(function, tasks, shared, games, jobs, patience)
    numbered = joblib.delayed(_numbered)
    return iter(pool(numbered(function, i, task, *shared) for i, task in enumerate(tasks)))


_Function = Callable[..., Any]
_Values = Sequence[Any]


def _numbered(function: _Function, i: int, *values: Any) -> tuple[int, Any]:
    return i, function(*values)


def _on_ray(
    function: _Function,
    tasks: _Values,
    shared: _Values,
    games: Collection[Game],
    jobs: int,
    patience: float,
) -> Iterator[tuple[int, Any]]:
    ray = _import_ray()
    if not tasks:
        return
    # Never Ray's default, the cluster that was last started on this machine: if that was killed,
    # Ray waits for it for a quarter of an hour.
    address = os.environ.get("RAY_ADDRESS") or "local"
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=_SECONDS_TO_CONNECT).close()
        except OSError as error:
            raise ValueError(f"no Ray cluster answers at RAY_ADDRESS={address}: {error}") from None
    # What a worker imports: the repository's packages, and those of the games.
    root = Path(__file__).parent.parent.parent
    folders = {root / package for package in ("card_envs", "training", "benchmarks")}
    packages = {game.package.partition(".")[0] for game in games} - {card_envs.__name__}
    folders |= {Path(str(sys.modules[package].__file__)).parent for package in packages}
    with ray.init(address, runtime_env={"py_modules": sorted(map(str, folders))}):
        arguments = [ray.put(value) for value in shared]
        remote = ray.remote(function)
        waiting = iter(range(len(tasks)))
        running: dict[Any, int] = {}
        silent = 0.0
        while True:
            for i in islice(waiting, jobs - len(running) if jobs > 0 else None):
                running[remote.remote(tasks[i], *arguments)] = i
            if not running:
                return
            done, _ = ray.wait(list(running), timeout=_SECONDS_TO_REPORT)
            if done:
                silent = 0.0
                try:
                    result = ray.get(done[0])
                except ray.exceptions.RayError as error:
                    raise ValueError(f"the Ray cluster cannot do a task: {error}") from None
                yield running.pop(done[0]), result
                continue
            silent += _SECONDS_TO_REPORT
            free, total = ray.available_resources(), ray.cluster_resources()
            state = (
                f"no task was finished within {silent:.0f} s: {len(running)} are running or wait, "
                f"{free.get('CPU', 0):.0f} of the cluster's {total.get('CPU', 0):.0f} CPUs are free"
            )
            if silent >= _SECONDS_TO_GIVE_UP + patience:
                raise ValueError(state)
            logger.warning("%s", state)
