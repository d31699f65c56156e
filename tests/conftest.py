"""What all tests share: hypothesis searches the same examples in every run, without a deadline."""

from __future__ import annotations

import helpers  # noqa: F401  # before any test's module: it loads the kits, which may import it
import pytest
from hypothesis import HealthCheck, settings
from pettingzoo.utils.env_logger import EnvLogger

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
