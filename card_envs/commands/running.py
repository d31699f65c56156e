"""How every command runs: errors without a traceback, interrupts, output of any encoding.

The commands are those of the program ``card-envs``, and the repository's ``python -m training.…``
and ``python -m benchmarks.…``.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from types import FrameType

from card_envs.agents.imported import place_in
from card_envs.agents.programs import ProgramReport
from card_envs.contract import agent as agent_contract
from card_envs.utils.extras import MissingExtraError
from card_envs.utils.words import printable

_PACKAGE = str(Path(__file__).parent.parent)
_ASKING = str(agent_contract.__file__)  # agents are called there

#: The signals that stop a command; the last is POSIX's.
STOPPING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]

# After which a lost interrupt is repeated.
_REPEAT_SECONDS = 0.1

#: What a command does with its arguments; None: those of the process.
_Main = Callable[[Sequence[str] | None], int | None]


@contextmanager
def handling(
    handler: Callable[[int, FrameType | None], None], numbers: Iterable[int]
) -> Iterator[None]:
    """A context in which these signals call the handler; outside the main thread it changes
    nothing."""
    before = {}
    for number in numbers:
        with suppress(ValueError):  # signals are the main thread's
            before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextmanager
def _stopping_interrupts() -> Iterator[None]:
    """What stops the process, such as a batch queue or the end of a terminal's session, interrupts
    the command as Ctrl-C does.

    LLVM's compiler calls Python functions whose exceptions get lost, interrupts among them: a lost
    one is repeated, and what fails until then has been interrupted.
    """
    came: list[int] = []
    repeats: list[threading.Timer] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    def repeat_interrupt(lost: sys.UnraisableHookArgs) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            show(lost)
        elif came:
            repeats.append(threading.Timer(_REPEAT_SECONDS, signal.raise_signal, came[-1:]))
            repeats[-1].start()

    numbers = [n for n in STOPPING if signal.getsignal(n) != signal.SIG_IGN]  # nohup
    show, sys.unraisablehook = sys.unraisablehook, repeat_interrupt
    try:
        with handling(interrupt, numbers):
            try:
                yield
            finally:
                for repeat in repeats:
                    repeat.cancel()
    except Exception:
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        sys.unraisablehook = show


@contextmanager
def _printing_anything() -> Iterator[None]:
    """A context in which a character that the encoding of the output lacks is printed as another
    one."""
    before: list[tuple[io.TextIOWrapper, str | None]] = []
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            before.append((stream, stream.errors))
            stream.reconfigure(errors=errors)
    try:
        yield
    finally:
        for stream, errors_before in before:
            with suppress(OSError, ValueError):  # it cannot be written any more, or is closed
                stream.reconfigure(errors=errors_before)


def run(program: str, main: Callable[[], int | None]) -> int:
    """Run a command; wrong input gives one line on stderr instead of a traceback, which
    ``CARD_ENVS_TRACEBACK=1`` shows as well.

    Args:
        program: What the command is called in errors.
        main: The command; it may return an exit status.

    Returns:
        The exit status: that of ``main`` or 0; 2 after wrong input (ValueError, TypeError, OSError,
        MissingExtraError) or a MemoryError, 1 if an agent failed or the output's reader is gone,
        130 if it was interrupted.
    """
    message = ""  # printed once the error's frames are gone, and progress bars with them
    try:
        with _printing_anything(), _stopping_interrupts():
            status = main() or 0
            if sys.stdout is not None:  # it is closed
                sys.stdout.flush()
    except KeyboardInterrupt:
        status, message = 130, "interrupted"
    except Exception as error:
        agents = agent_contract.notes_of_agents(error)
        if isinstance(error, BrokenPipeError) and not agents:
            # The reader has seen enough, as in `| head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        wrong = (ValueError, TypeError, OSError, MissingExtraError, MemoryError)
        if not agents and not isinstance(error, wrong):
            raise
        if os.environ.get("CARD_ENVS_TRACEBACK") == "1":
            traceback.print_exc()
        status, message = 1 if agents else 2, f"error: {_in_words(error, agents)}"
    if message:
        # What a file holds may stand in it.
        shown = "\n".join(map(printable, message.split("\n")))
        print(f"{program}: {shown}", file=sys.stderr)
    return status


def command(program: str) -> Callable[[_Main], Callable[..., int]]:
    """A decorator: the function is what the command does, which :func:`run` runs."""

    def decorated(main: _Main) -> Callable[..., int]:
        @wraps(main)
        def called(argv: Sequence[str] | None = None) -> int:
            return run(program, lambda: main(argv))

        return called

    return decorated


def _in_words(error: Exception, agents: list[str]) -> str:
    """What an error says, and where it was raised if that is in a user's agent."""
    text = str(error)
    if isinstance(error, MemoryError):
        text = "out of memory"
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if not agents:
        return text
    frames = traceback.extract_tb(error.__traceback__)
    asked = [k for k, frame in enumerate(frames) if frame.filename == _ASKING]
    inner = frames[asked[-1] :] if asked else []
    own = [frame for frame in inner if not frame.filename.startswith(_PACKAGE)]
    if not own:
        # What cannot be called at all has no frame of its own.
        return f"{text} ({agents[0]})" if isinstance(error, TypeError) else text
    return f"{type(error).__name__}: {text} ({place_in(own)}; {agents[0]})"


def check_answers(reports: Iterable[ProgramReport]) -> None:
    """Raise a ValueError, for which :func:`run` returns 1, if a program that has played never gave
    a legal answer."""
    silent = [report.name for report in reports if report.is_silent]
    if silent:
        error = ValueError(f"{', '.join(silent)} never gave a legal answer")
        error.add_note(agent_contract.note_of(silent[0]))
        raise error
