"""``Process``: a program that is queried line by line, with limits, and never outlives its user."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from card_envs.agents.programs.faults import CRASHED, TOO_MUCH, TOO_SLOW, ProgramFault
from card_envs.utils.words import printable

#: The most bytes of a line that a program writes, its end included.
MAX_LINE = 1 << 16

_GUARD = Path(__file__).with_name("guard.py")
_CHUNK = 1 << 16
_KEPT_OF_ERRORS = 1 << 13
_LAST_LINES = 20
_MOST_OF_A_LINE = 500  # characters
_MOST_ERRORS = 1 << 24  # bytes of standard error while one question waits for its answer
_MOST_AT_ONCE = 3600.0  # seconds: systems do not wait for months
_TO_END = 2.0  # seconds for a program to end by itself once its input is at its end
_TO_BE_KILLED = 3.0  # seconds for its guards to end it, after which they are ended themselves


class Process:
    """A running program.

    It is started by guards (``guard.py``), which end it with all its descendants as soon as this
    object is closed or collected, or the present process ends, in whatever way.

    Args:
        argv: The program and its arguments.
        memory: The limit of its data in bytes, on Linux; 0: none.

    Raises:
        OSError: Its guard cannot be started, which is not the program's fault: too many files are
            open, for example, or there are too many processes.
    """

    def __init__(self, argv: Sequence[str], memory: int) -> None:
        with ExitStack() as undo:
            try:
                self._selector = undo.enter_context(selectors.DefaultSelector())
                lifeline, held = os.pipe()
                undo.callback(os.close, held)
                try:
                    self._guard = subprocess.Popen(
                        [
                            sys.executable,
                            "-I",
                            "-S",
                            str(_GUARD),
                            str(lifeline),
                            str(memory),
                            *argv,
                        ],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        bufsize=0,
                        pass_fds=(lifeline,),
                        start_new_session=True,  # Ctrl-C is for the run, which ends it
                    )
                finally:
                    os.close(lifeline)
            except OSError as error:
                raise OSError(f"{argv[0]} cannot be started: {error.strerror}") from None
            undo.pop_all()
        guard = self._guard
        assert guard.stdin is not None
        assert guard.stdout is not None
        assert guard.stderr is not None
        self._stdin, self._stdout, self._stderr = guard.stdin, guard.stdout, guard.stderr
        self._in, self._out, self._err = (
            stream.fileno() for stream in (self._stdin, self._stdout, self._stderr)
        )
        for end in (self._in, self._out, self._err):
            os.set_blocking(end, False)
        for end in (self._out, self._err):
            self._selector.register(end, selectors.EVENT_READ)
        self._read = b""
        self._errors = b""
        self._errors_read = 0
        self._owner = os.getpid()
        self._let_go = weakref.finalize(self, _let_go, guard, held, self._owner)

    @property
    def is_own(self) -> bool:
        """Whether the current process started it, rather than one that it was forked from."""
        return self._owner == os.getpid()

    def ask(self, data: bytes, seconds: float) -> bytes:
        """Write lines, and read the one line that the program answers.

        Raises:
            ProgramFault: It has ended, it does not answer in time, it writes something else than
                one line of at most ``MAX_LINE`` bytes, or more than 16 MiB to its standard error.
                It must be closed then.
        """
        self._errors_read = 0
        until = time.monotonic() + seconds
        if self._read or self._drain(self._out):
            raise ProgramFault(TOO_MUCH, f"it wrote without being asked: {_shown(self._read)}")
        rest = memoryview(data)
        rest = rest[self._write(rest) :]
        if rest:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        try:
            while b"\n" not in self._read:
                left = until - time.monotonic()
                if left <= 0.0:
                    raise ProgramFault(TOO_SLOW, f"it did not answer within {seconds:.3g} seconds")
                for key, _ in self._selector.select(min(left, _MOST_AT_ONCE)):
                    if key.fd == self._in:
                        rest = rest[self._write(rest) :]
                        if not rest:
                            self._selector.unregister(self._in)
                    else:
                        self._drain(key.fd)
                if self._errors_read > _MOST_ERRORS:
                    raise ProgramFault(
                        TOO_MUCH, f"it wrote {_MOST_ERRORS >> 20} MiB to its standard error"
                    )
                if b"\n" not in self._read and len(self._read) >= MAX_LINE:
                    raise ProgramFault(
                        TOO_MUCH, f"it wrote {MAX_LINE} bytes without the end of a line"
                    )
        finally:
            if rest and self._in in self._selector.get_map():
                self._selector.unregister(self._in)
        line, _, more = self._read.partition(b"\n")
        if len(line) >= MAX_LINE:
            raise ProgramFault(TOO_MUCH, f"it wrote a line of {MAX_LINE} bytes or more")
        if more:
            raise ProgramFault(
                TOO_MUCH,
                f"it wrote more than one line, {_shown(line)} and {_shown(more)}: standard output "
                "is for answers alone",
            )
        if rest:
            raise ProgramFault(TOO_MUCH, "it answered before it had read the message")
        self._read = b""
        return line

    def _write(self, data: memoryview) -> int:
        """Write as much as fits; returns the number of bytes."""
        try:
            return os.write(self._in, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise self._ended() from None

    def _drain(self, end: int) -> bool:
        """Read once from one of its outputs; returns whether there was anything."""
        try:
            data = os.read(end, _CHUNK)
        except BlockingIOError:
            return False
        if end == self._err:
            self._errors_read += len(data)
            self._errors = (self._errors + data)[-_KEPT_OF_ERRORS:]
            if not data:
                self._selector.unregister(end)
            return bool(data)
        if not data:
            raise self._ended()
        self._read += data
        return True

    def _drain_errors(self) -> bool:
        """Read once from its standard error unless closed; returns whether there was anything."""
        return self._err in self._selector.get_map() and self._drain(self._err)

    def _ended(self) -> ProgramFault:
        """The fault of a program whose input or output is closed."""
        with suppress(subprocess.TimeoutExpired):
            status = self._guard.wait(1.0)
            if status == 0:
                return ProgramFault(CRASHED, "it ended")
            if status > 128:
                with suppress(ValueError):
                    name = signal.Signals(status - 128).name
                    return ProgramFault(CRASHED, f"it was ended by {name}")
            return ProgramFault(CRASHED, f"it ended with exit status {status}")
        return ProgramFault(CRASHED, "it closed its standard input or output")

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of its standard error."""
        for _ in range(_LAST_LINES):  # one that goes on writing is not read forever
            if not self._drain_errors():
                break
        text = self._errors.decode(errors="replace")
        return tuple(_cut(printable(line)) for line in text.splitlines()[-_LAST_LINES:])

    def close(self, data: bytes = b"", *, at_once: bool = False) -> None:
        """End it.

        Args:
            data: The last lines to be written.
            at_once: Whether to kill it without giving it time to exit.
        """
        if self.is_own and not at_once:
            self._end_input(data)
        self._let_go()
        self._selector.close()
        for stream in (self._stdin, self._stdout, self._stderr):
            with suppress(OSError):
                stream.close()

    def _end_input(self, data: bytes) -> None:
        """Write the last lines, close its input, and wait briefly for it to exit."""
        until = time.monotonic() + _TO_END
        rest = memoryview(data)
        is_closed = False
        with suppress(ProgramFault):
            while time.monotonic() < until:
                if rest:
                    rest = rest[self._write(rest) :]
                if not rest and not is_closed:
                    self._stdin.close()
                    is_closed = True
                if is_closed and self._guard.poll() is not None:
                    return
                self._drain_errors()
                if self._drain(self._out):  # nobody is interested in it any more
                    self._read = b""
                time.sleep(0.002)


def _let_go(guard: subprocess.Popen[bytes], held: int, owner: int) -> None:
    """Close the lifeline: the guards then end the program and themselves."""
    with suppress(OSError):
        os.close(held)
    if os.getpid() != owner:
        return
    guard.send_signal(signal.SIGCONT)  # it may have been stopped
    try:
        guard.wait(_TO_BE_KILLED)
    except subprocess.TimeoutExpired:
        guard.kill()  # the inner guard ends the program


def _cut(line: str) -> str:
    return line if len(line) <= _MOST_OF_A_LINE else f"{line[:_MOST_OF_A_LINE]}…"


def _shown(data: bytes) -> str:
    """The beginning of what a program wrote."""
    text = printable(data[:60].decode(errors="replace").splitlines()[0] if data.strip() else "")
    return repr(text)
