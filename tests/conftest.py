"""What all tests share: hypothesis searches the same examples in every run, without a deadline."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import gymnasium
import helpers  # before any test's module: it loads the kits, which may import it
import pytest
from hypothesis import HealthCheck, settings
from pettingzoo.utils.env_logger import EnvLogger

from card_envs.games import GAMES

# What only the repository can run is tested where its dependency groups are installed.
_NEEDS_GROUPS = re.compile(r"^(from|import) (benchmarks|tiny_runs|torch)\b", re.MULTILINE)
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("test_*.py")
    if not helpers.HAS_TRAINING and _NEEDS_GROUPS.search(path.read_text(encoding="utf-8"))
]

settings.register_profile(
    "card_envs",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("card_envs")


@pytest.fixture(autouse=True)
def _empty_warning_queue():
    """PettingZoo's logger keeps its warnings in a list of the class."""
    EnvLogger.flush()
    yield
    EnvLogger.flush()


@pytest.fixture(autouse=True)
def _empty_learning_curves(monkeypatch):
    """Files of pictures with nothing in them: to draw it would take half of a tiny run."""
    if evaluation := sys.modules.get("training.runs.evaluation"):
        write_picture = evaluation.write_picture

        def write_empty_picture(figure, picture):
            figure.clear()
            write_picture(figure, picture)

        monkeypatch.setattr(evaluation, "write_picture", write_empty_picture)


@pytest.fixture
def registries(monkeypatch):
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(GAMES, "_loaders", dict(GAMES._loaders))
    monkeypatch.setattr(GAMES, "_loaded", dict(GAMES._loaded))
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.fixture
def on_one_core():
    """torch's threads, which a run may set, are one."""
    from training.runs.run import use_threads

    use_threads(1)
    yield
    use_threads(None)
