"""Tests of the server, where the extra ``web`` is installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("starlette") else ["test_*.py"]
