"""Which requests the server answers: its own pages', and nobody else's."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_UNSAFE = ("POST", "PUT", "PATCH", "DELETE")

# Nothing from elsewhere, nothing inline, and no frame of another site around it.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class SameOriginMiddleware:
    """Answers requests to the server's own names, and changes only for its own pages.

    The name protects from a page of another site whose name was made to lead to this machine, the
    origin from one that calls this machine by its own name.

    Args:
        app: The application.
        host: What the server listens to.
        names: Further names of the server, such as a proxy's.
    """

    def __init__(self, app: ASGIApp, host: str, names: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = {*_LOOPBACK, host.lower(), *(name.lower() for name in names)}
        self._is_for_all = host in ("0.0.0.0", "::")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on and add the headers of a safe answer."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._problem(scope, headers)
        if problem and scope["type"] == "websocket":
            await WebSocketClose(1008, problem)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answered[name] = value
                # After an upgrade the browser must not keep the old page.
                answered.setdefault("Cache-Control", "no-cache")
            await send(message)

        if problem:
            answer = JSONResponse({"problem": problem}, status_code=403)
            await answer(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _problem(self, scope: Scope, headers: Headers) -> str:
        host = headers.get("host", "")
        if not self._is_own_name(_hostname(f"//{host}")):
            return "unknown host name; start the server with --name HOST to allow it"
        is_change = scope["type"] == "websocket" or scope["method"] in _UNSAFE
        is_own = headers.get("origin", "").lower() in (
            f"http://{host.lower()}",
            f"https://{host.lower()}",
        )
        return "" if is_own or not is_change else "only this server's own pages may ask for that"

    def _is_own_name(self, name: str) -> bool:
        if name in self._hosts:
            return True
        return self._is_for_all and _is_address(name)


def check_hostname(name: str) -> None:
    """Raise a ValueError for what no request's host could be called."""
    if _hostname(f"//{name}") != name.lower():
        raise ValueError(f"{name!r} is no host name: it has no scheme, port or path")


def _hostname(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
