"""Tests of the server, where the extra ``web`` is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("starlette") else ["test_*.py"]


@pytest.fixture
def visit() -> Iterator[Callable[..., Any]]:
    """Makes clients, each of a server of its own with these settings."""
    from visitor import new_client

    with ExitStack() as stack:
        # Entered, a client has one event loop for all that it asks, as a server has.
        yield lambda **settings: stack.enter_context(new_client(**settings))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a server with the default settings."""
    from visitor import new_client

    with new_client() as client:
        yield client
