"""The server process: bounded connections, a bounded log, and an end within seconds."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
import time
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

_MOST_CONNECTIONS = 1000
_BACKLOG = 1024
_MOST_WAITING = 10.0  # seconds that a connection may take until a request has begun
_MOST_ANSWERING = 300.0  # seconds for a request and its answer: a game may have to be compiled
_MOST_UNHEARD = 60.0  # seconds that a peer may leave a ping, or on Linux anything, unacknowledged
_MOST_UNREAD = 4_000_000  # bytes that wait for a peer to read them
_MOST_PIECES = 64  # of a message
_TO_FINISH = 1  # seconds for what is being done when the server ends
_THREADS_TO_FINISH = 0.5


class Connection(H11Protocol):
    """A connection that does not wait for ever, and makes room for others while it waits.

    uvicorn limits the time between two requests; this limits the time until one has come, and that
    of a request with its answer. Once ``limit_concurrency`` connections are open, a new one takes
    the place of the one that has waited longest.
    """

    _since = 0.0  # when it began to wait

    @property
    def _is_waiting(self) -> bool:
        is_answering = self.cycle is not None and not self.cycle.response_complete
        return not is_answering and not self.transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._end_in_time()
        opened = [c for c in self.connections if not c.transport.is_closing()]
        if self.limit_concurrency is not None and len(opened) >= self.limit_concurrency:
            waiting = [c for c in opened if isinstance(c, Connection) and c._is_waiting]
            longest = min(waiting, key=lambda connection: connection._since, default=self)
            longest.transport.abort()

    def on_response_complete(self) -> None:
        """Begin to wait for another request."""
        self._since = self.loop.time()
        super().on_response_complete()

    def _end_in_time(self) -> None:
        if self not in self.connections:
            return  # it has ended, or it is a WebSocket now, which has a timeout of its own
        most = _MOST_WAITING if self._is_waiting else _MOST_ANSWERING
        if self.loop.time() - self._since > most:
            self.transport.abort()
        else:
            self.loop.call_later(1.0, self._end_in_time)


class Talk(WebSocketsSansIOProtocol):
    """A WebSocket whose peer cannot fill memory: with answers to pings, which are sent without
    waiting for who reads, or with the pieces of a message that never ends."""

    _pieces = 0  # of the present message, but for the first

    def data_received(self, data: bytes) -> None:
        """Take what has come, unless its sender reads nothing."""
        if self.transport.get_write_buffer_size() > _MOST_UNREAD:
            self.transport.abort()
        else:
            super().data_received(data)

    def handle_cont(self, event: Frame) -> None:
        """Take a further piece of a message."""
        self._pieces = 0 if event.fin else self._pieces + 1
        if self._pieces > _MOST_PIECES:
            self.transport.abort()
        else:
            super().handle_cont(event)


class Server(uvicorn.Server):
    """A server that ends quietly."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(_BACKLOG)  # asyncio has made it as short as what it accepts at once

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what is being done; that it is cut off is no error."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


class OnceAMinute(logging.Filter):
    """Lets a message through once a minute: one that comes with every request fills a disk."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to show it."""
        error = record.exc_info[1] if record.exc_info else None
        key = (str(record.msg).partition("\n")[0], repr(type(error)))
        now = time.monotonic()
        if now - self._last.get(key, -60.0) < 60.0:
            return False
        self._last[key] = now
        return True


def serve(app: ASGIApp, listener: socket.socket, message_bytes: int) -> None:
    """Answer requests until the process is told to end.

    Args:
        app: The application.
        listener: A socket that listens.
        message_bytes: The most bytes of a message over a WebSocket.
    """
    most = _most_connections()
    config = uvicorn.Config(
        app,
        http=Connection,
        log_level="error",
        use_colors=False,  # or it asks standard output, which may be closed
        server_header=False,
        ws=Talk,
        ws_max_size=message_bytes,
        ws_ping_timeout=_MOST_UNHEARD,
        ws_per_message_deflate=False,  # on the same machine it costs more than it saves
        limit_concurrency=most,
        backlog=max(most // 8, 1),  # asyncio accepts this many before any of them is counted
        timeout_keep_alive=int(_MOST_WAITING),
        timeout_graceful_shutdown=_TO_FINISH,
    )
    for name in ("uvicorn.error", "asyncio", "card_envs.web"):
        logging.getLogger(name).addFilter(OnceAMinute())
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = int(1000 * _MOST_UNHEARD)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    try:
        Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        print()
    _end_threads()


def _most_connections() -> int:
    """Half of the files that may be open: the rest is for files, programs and new connections."""
    with suppress(ImportError):
        import resource  # of POSIX

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            return min(_MOST_CONNECTIONS, max(files // 2, 1))
    return _MOST_CONNECTIONS


def _end_threads() -> None:
    """End the process if a thread is still busy: Python would wait for a program or a search."""
    until = time.monotonic() + _THREADS_TO_FINISH
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join(max(until - time.monotonic(), 0.0))
            if thread.is_alive():
                sys.stdout.flush()
                os._exit(0)
