"""What the tests of programs share: their names, and whether processes are left."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

PLAYER = Path(__file__).parent.parent / "fixtures" / "programs" / "player.py"
EXAMPLES = Path(__file__).parent.parent.parent / "docs" / "examples"
#: The examples that are programs.
PROGRAMS = [EXAMPLES / "counting.js", EXAMPLES / "first_legal.py"]


def program(behaviour, *arguments, **limits):
    """The name of the agent that behaves like this."""
    words = [sys.executable, str(PLAYER), behaviour, *map(str, arguments)]
    keys = "".join(f",{key}={value}" for key, value in limits.items())
    return f"cmd{keys}:{shlex.join(words)}"


def processes(mark):
    """The ids of the processes whose command line or environment holds a mark."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                about = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in about and state != "Z":
                found.append(int(folder.name))
    return found


def none_left(mark, seconds=10.0):
    """Whether soon no process with a mark is left."""
    until = time.monotonic() + seconds
    while processes(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
