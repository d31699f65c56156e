"""How the shipped policies are made; run the modules with ``python -m training.<name>``."""

import sys
from importlib.util import find_spec

from card_envs.utils.interrupts import say_interrupted

# What the dependency group and the extra install, as it is imported.
_NEEDED = (
    "joblib",
    "matplotlib",
    "pydantic",
    "rich",
    "sb3_contrib",
    "scipy",
    "stable_baselines3",
    "tensorboard",
    "threadpoolctl",
    "torch",
    "yaml",
)

if sys.argv[0] == "-m":  # run as a command: no traceback
    say_interrupted()
    _missing = [name for name in _NEEDED if find_spec(name) is None]
    if _missing:
        raise SystemExit(
            f"training needs {', '.join(_missing)}: "
            "pip install --editable '.[evaluation]' --group train (pip 25.1 or later)"
        )
