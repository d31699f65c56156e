"""Tests of other tools; each is collected only where its tool is installed."""

from __future__ import annotations

from importlib.util import find_spec

# The module that a tool is imported as.
_TOOLS = {
    "agilerl": "agilerl",
    "kaggle": "kaggle_environments",
    "openenv": "openenv",
    "openspiel": "pyspiel",
    "rllib": "ray",
    "ray": "ray",
    "sb3": "stable_baselines3",
    "supersuit": "supersuit",
    "tianshou": "tianshou",
    "torchrl": "torchrl",
    "verifiers": "verifiers",
}

collect_ignore = [f"test_{tool}.py" for tool, module in _TOOLS.items() if find_spec(module) is None]
