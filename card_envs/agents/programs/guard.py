"""Runs a program and ends it, with all its descendants, when the process that started it is gone.

    python -I -S guard.py LIFELINE MEMORY PROGRAM ARGS …

LIFELINE is the reading end of a pipe whose other end only the starter holds: its end of file means
that the starter has closed it or has ended, however that came about. MEMORY is the limit of the
program's data in bytes, on Linux; 0 is none. The guard's exit status is the program's own, or 128
and the signal that ended it. It needs nothing of the package, so that it starts quickly.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_IS_LINUX = sys.platform == "linux"
_IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def main(argv: list[str]) -> int:
    """Run the program; returns its exit status."""
    lifeline, memory, program = int(argv[0]), int(argv[1]), argv[2:]
    for number in _IGNORED:  # it ends with the lifeline, and not before the program
        signal.signal(number, signal.SIG_IGN)
    # One guard within another: if either is killed or stopped, the other one ends the program.
    outer = os.getpid()
    outers_end, held = os.pipe()  # no process but the outer guard keeps `held`

    def run_inner() -> None:
        os.close(held)
        os.setsid()  # a signal to the outer guard's group is not for this one
        status = _guard(lambda: _become(program, memory, lifeline), (lifeline, outers_end), 0.0)
        if os.getppid() == outer:
            _kill(os.kill, outer, signal.SIGCONT)
        os._exit(status)

    return _guard(run_inner, (lifeline,), 1.0)


def _guard(run: Callable[[], None], lifelines: tuple[int, ...], grace: float) -> int:
    """Run a child until it ends, or a lifeline does; then end what it leaves behind.

    Args:
        run: What the child does.
        lifelines: Reading ends of pipes.
        grace: Seconds that the child has to end by itself when a lifeline ends.

    Returns:
        The child's exit status.
    """
    # Orphans become the guard's own children, so that none is out of reach.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wakeup, waker = os.pipe()
    for end in (wakeup, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = os.fork()
    if child == 0:
        try:
            run()
        finally:
            os._exit(126)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    poller = select.poll()  # select() takes no descriptor above 1023
    for end in (*lifelines, wakeup):
        poller.register(end, select.POLLIN)
    status = None
    while status is None:
        ready = [end for end, _ in poller.poll()]
        if ready != [wakeup]:
            break
        os.read(wakeup, 1024)
        status = _reap(child)
    if status is None:
        _kill(os.kill, child, signal.SIGCONT)  # it may have been stopped
        until = time.monotonic() + grace
        while status is None and time.monotonic() < until:
            time.sleep(0.002)
            status = _reap(child)
    if status is None:
        _kill(os.kill, child, signal.SIGKILL)
    _end_all(child)
    return 128 + signal.SIGKILL if status is None else status


def _become(program: list[str], memory: int, lifeline: int) -> None:
    """In the child: become the program."""
    try:
        os.setsid()  # a group of its own, which can be ended as a whole
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if memory and _IS_LINUX:
            # Address space is reserved far more generously than used: data is what counts.
            _, most = resource.getrlimit(resource.RLIMIT_DATA)
            memory = memory if most == resource.RLIM_INFINITY else min(memory, most)
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, *_IGNORED):
            signal.signal(number, signal.SIG_DFL)
        os.close(lifeline)
        os.execvp(program[0], program)
    except (OSError, ValueError) as error:
        os.write(2, f"{program[0]}: {error}\n".encode())
    finally:
        os._exit(126)


def _prctl(option: int, value: int) -> None:
    if _IS_LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _reap(child: int) -> int | None:
    """Collect those that have ended; the program's exit status, once it has."""
    found = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return found
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                found = code if code >= 0 else 128 - code
    except ChildProcessError:
        return found


def _end_all(child: int) -> None:
    """Kill the child's group and all descendants until none is left, for a few seconds at most."""
    until = time.monotonic() + 5.0
    while time.monotonic() < until:
        _kill(os.killpg, child, signal.SIGKILL)
        for pid in _children():
            _kill(os.kill, pid, signal.SIGKILL)
        _reap(child)
        if not _has_children():
            return
        time.sleep(0.002)


def _kill(send: Callable[[int, int], None], number: int, signal_number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        send(number, signal_number)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    """The guard's children, orphans of the program among them; elsewhere than on Linux unknown."""
    if not _IS_LINUX:
        return []
    found = []
    own = str(os.getpid())
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    parent = file.read().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if parent == own:
                found.append(int(entry))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
