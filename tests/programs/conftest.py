"""Tests of programs as agents: every process that a test starts must be gone when it ends."""

from __future__ import annotations

import os
import sys
import uuid
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

collect_ignore_glob = ["test_*.py"] if os.name != "posix" else []


@pytest.fixture(autouse=True)
def mark(monkeypatch):
    """A mark in the environment of all processes that the test starts; none may be left."""
    mark = f"mark-{uuid.uuid4()}"
    monkeypatch.setenv("CARD_ENVS_TEST", mark)
    yield mark
    if sys.platform == "linux":
        from programs import none_left

        assert none_left(mark)
