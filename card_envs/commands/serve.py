"""The command ``card-envs serve``."""

from __future__ import annotations

import argparse
import logging
import socket
from pathlib import Path
from typing import Any

import platformdirs

from card_envs.commands.arguments import AGENTS
from card_envs.utils.extras import import_extra
from card_envs.utils.files import check_writable

logger = logging.getLogger("card_envs")

_LIBRARIES = ("pydantic", "yaml", "starlette", "uvicorn", "websockets")
_SERVE = "play, watch and replay games in a browser"


def add_serve(commands: Any) -> None:
    """Add the subcommand ``serve``.

    Args:
        commands: What ``add_subparsers`` has returned.
    """
    parser: argparse.ArgumentParser = commands.add_parser("serve", help=_SERVE, description=_SERVE)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen on (default: 127.0.0.1, this machine alone)",
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="the port; 0: a free one (default: 8000)"
    )
    parser.add_argument(
        "--name",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="answer to these host names too, such as a proxy's; without port",
    )
    parser.add_argument(
        "--runs", type=Path, metavar="DIR", help="show the training runs in this folder"
    )
    parser.add_argument(
        "--policies", type=Path, metavar="DIR", help="offer the policy files in this folder"
    )
    parser.add_argument(
        "--agent",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help=f"offer these agents too: {AGENTS}",
    )
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="DIR",
        help="keep unfinished games in this folder (default: in the user's cache folder)",
    )
    parser.add_argument(
        "--open",
        action="store_true",
        help="begin open tables: all cards may be seen, and positions shared, in mid-game",
    )
    parser.set_defaults(run=_serve)


def _serve(args: argparse.Namespace) -> None:
    for library in _LIBRARIES:
        import_extra(library, "web")
    from card_envs.web.app import Settings, create_app
    from card_envs.web.guard import check_hostname
    from card_envs.web.server import serve

    if not 0 <= args.port < 2**16:
        raise ValueError(f"--port must be from 0 to {2**16 - 1}, got {args.port}")
    for name in args.name:
        try:
            check_hostname(name)
        except ValueError as error:
            raise ValueError(f"--name: {error}") from None
    settings = Settings(
        host=args.host,
        names=tuple(args.name),
        policies=args.policies,
        agents=tuple(args.agent),
        runs=args.runs,
        kept=_tables(args.tables),
        is_open=args.open,
    )
    app = create_app(settings)
    with _listening(args.host, args.port) as listener:
        port = listener.getsockname()[1]
        host = f"[{args.host}]" if ":" in args.host else args.host
        print(f"card_envs is at http://{host}:{port}/ (Ctrl-C ends it)", flush=True)
        if args.open:
            print("Tables are open: everyone who looks at one can see all cards.", flush=True)
        serve(app, listener, settings.limits.message_bytes)


def _tables(given: Path | None) -> Path:
    """The folder of unfinished games; an OSError if the one that was given cannot be written."""
    own = Path(platformdirs.user_cache_dir("card_envs", appauthor=False)) / "tables"
    folder = given or own
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_writable(folder)
    except OSError as error:
        why = f"--tables: {folder} cannot be written: {error.strerror}"
        if given is not None:
            raise OSError(why) from None
        logger.warning("unfinished games will not be kept: %s", why)
    return folder


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens; an address that is not there or taken is an OSError."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, reuse_port=False)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "this is no address"
        raise OSError(f"cannot listen to {host}, port {port}: {why}") from None
